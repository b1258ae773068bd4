"""Waiting for a response to begin.

A steer has to name it, and so has what continues from it; and a fork has to start before the lane
that it starts from goes on, where that is not stored.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from steer_nb.client.io import wait
from steer_nb.client.sending import NotYet
from steer_nb.errors import LaneBusy
from steer_nb.ledger import rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from steer_nb.client.session import Session
    from steer_nb.ledger import Ledger

    T = TypeVar("T")

__all__ = ["START_SECONDS", "soon"]

START_SECONDS = 5.0
"""How long a message waits for the beginning of the response that it is meant for."""


def soon(session: Session, stream_id: str | None, attempt: Callable[[], T]) -> T:
    """Try to send; where a response is about to begin that comes first, wait for it and try again.

    Parameters
    ----------
    attempt : callable
        Run on the I/O thread; raises `NotYet` where waiting may help.

    Raises
    ------
    LaneBusy
        If the response has not begun in `START_SECONDS`.
    """

    def begun(ledger: Ledger) -> bool | None:
        state = ledger.lanes.get(stream_id)
        if state is None:
            return True
        waits = state.current is None and rules.lane_word(state) == "queued"
        waits = waits or (state.current is None and session.core.line.works_on(stream_id))
        return None if waits or rules.fork_starting(ledger, state) is not None else True

    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return session.act(attempt)
        except NotYet as error:
            left = end - time.monotonic()
            if left <= 0:
                reason = str(error).partition(";")[0]
                msg = f"{reason}, after {START_SECONDS:g} seconds; try again later."
                raise LaneBusy(msg) from None
        future = session.watch(begun)
        try:
            wait(future, left)
        except TimeoutError:
            continue
        finally:
            future.cancel()
