"""Who waits for something in the ledger, and who is told of every change."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client.recorder import Recorder
    from steer_nb.ledger import Ledger

__all__ = ["Watchers"]


class Watchers:
    """Futures for what will become true, and callbacks. It lives on the I/O thread.

    Parameters
    ----------
    recorder : Recorder
        Has the ledger, and takes notes.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._watches: list[tuple[Callable[[Ledger], Any], Future[Any]]] = []
        self._subscribers: list[Callable[[], None]] = []
        self._fresh = False

    def watch(self, predicate: Callable[[Ledger], Any]) -> Future[Any]:
        """Return a future for the first value of `predicate` that is not None.

        It is asked after each batch of entries that changed more than text.
        """
        future: Future[Any] = Future()
        self._watches.append((predicate, future))
        if self._recorder.dirty:
            # Between an entry and its batch, tools that are about to run have not begun: ask after
            # the batch, also one of text alone.
            self._fresh = True
        else:
            self.settle()
        return future

    def take_fresh(self) -> bool:
        """Whether somebody began to wait since the last batch, and has not been asked for."""
        fresh, self._fresh = self._fresh, False
        return fresh

    def settle(self) -> None:
        """Ask every predicate once."""
        waiting, self._watches = self._watches, []
        for predicate, future in waiting:
            if future.cancelled():
                continue
            try:
                value, failure = predicate(self._recorder.ledger), None
            except Exception as error:  # noqa: BLE001 - it is raised where somebody waits
                value, failure = None, error
            if value is None and failure is None:
                self._watches.append((predicate, future))
            elif future.set_running_or_notify_cancel():
                if failure is not None:
                    future.set_exception(failure)
                else:
                    future.set_result(value)

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` after each batch, on this thread."""
        self._subscribers.append(callback)

    def unsubscribe(self, callback: Callable[[], None]) -> None:
        """Stop calling it."""
        with contextlib.suppress(ValueError):
            self._subscribers.remove(callback)

    def tell(self) -> None:
        """Call every subscriber."""
        for callback in tuple(self._subscribers):
            try:
                callback()
            except Exception as error:  # noqa: BLE001 - a view must not end the session
                self.unsubscribe(callback)  # or each note about it would call it again
                detail = f"a subscriber raised {error!r} and is no longer called"
                self._recorder.note("problem", kind="callback", detail=detail)

    def counts(self) -> dict[str, int]:
        """How many wait, and how many are told."""
        return {"watches": len(self._watches), "subscribers": len(self._subscribers)}
