"""A lost connection is made anew, with patience; what it carried is not sent again.

Which close codes are worth another try, and the waiting times, are those of the official SDK's
helper: 1001, 1005, 1006, 1011, 1012, 1013 and 1015; half a second, doubled up to eight, five times,
each shortened by up to a quarter at random so that many clients do not come back at once.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steer_nb.client.handshake import FAILURES, explain
from steer_nb.client.settling import all_idle
from steer_nb.errors import InvalidInput

if TYPE_CHECKING:
    from steer_nb.client.core import Core

__all__ = ["NEVER", "Reconnect", "Reconnector"]

LIMIT_SECONDS: Final = 2.0
"""How long nothing changes on a connection past its limit until it is replaced from here."""

RECOVERABLE: Final = frozenset({1001, 1005, 1006, 1011, 1012, 1013, 1015})


@dataclass(frozen=True, slots=True)
class Reconnect:
    """What a session does when its connection is lost.

    Attributes
    ----------
    attempts : int
        How often in a row; 0 never. The count begins anew once the service has sent an event.
    first_s, longest_s : float
        Seconds before the first attempt, doubled for each next one up to the longest.
    rotate_s : float or None
        Age in seconds at which an idle connection is replaced, before the service ends it at 60
        minutes. None: it is not.
    """

    attempts: int = 5
    first_s: float = 0.5
    longest_s: float = 8.0
    rotate_s: float | None = 55 * 60.0

    def __post_init__(self) -> None:
        for name in ("attempts", "first_s", "longest_s", "rotate_s"):
            value = getattr(self, name)
            if value is not None and value < 0:
                msg = f"reconnect: {name} is {value}; it cannot be below 0."
                raise InvalidInput(msg, field=name, value=value, rule="0 or more")

    def delay(self, attempt: int) -> float:
        """Seconds to wait before an attempt, the first of which is 1."""
        longest = min(self.first_s * 2 ** (attempt - 1), self.longest_s)
        return float(longest * random.uniform(0.75, 1.0))  # noqa: S311 - spreads clients, no secret


NEVER: Final = Reconnect(attempts=0, rotate_s=None)


class Reconnector:
    """Connects a session again. It lives on the I/O thread.

    Parameters
    ----------
    core : Core
        The session's insides.
    policy : Reconnect
        How often, and when.
    """

    def __init__(self, core: Core, policy: Reconnect) -> None:
        self.policy = policy
        self._core = core
        self._attempt = 0
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._rotation_due = False
        self._stopped = False

    @property
    def trying(self) -> bool:
        """Whether a new connection is being tried."""
        return self._task is not None and not self._task.done()

    def connected(self) -> None:
        """Begin to count towards the rotation."""
        self._rotation_due = False
        if self.policy.rotate_s is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.policy.rotate_s, self._due)

    def lost(self, code: int | None, by: str, why: str) -> bool:
        """Try again, if that can help; whether it does."""
        self._cancel_timer()
        core = self._core
        connection = core.ledger.connections.get(core.recorder.connection)
        if connection is not None and connection.n_in > self._errors(connection.number):
            self._attempt = 0  # the service spoke: this is another trouble than the last one
        rotated, self._rotation_due = self._rotation_due, False
        worth = by == "limit" or (by != "client" and code in RECOVERABLE) or rotated
        if self._stopped or not worth or not (self.policy.attempts or rotated):
            return False
        self._task = asyncio.create_task(self._try(why, at_once=rotated or by == "limit"))
        return True

    def _errors(self, number: int) -> int:
        return sum(error.entry.connection == number for error in self._core.ledger.errors)

    async def _try(self, why: str, *, at_once: bool) -> None:
        try:
            await self._attempts(why, at_once=at_once)
        finally:
            self._core.line.gone = not self._core.line.connected

    async def _attempts(self, why: str, *, at_once: bool) -> None:
        core, attempts = self._core, max(self.policy.attempts, 1)
        while self._attempt < attempts:
            self._attempt += 1
            delay = 0.0 if at_once and self._attempt == 1 else self.policy.delay(self._attempt)
            core.recorder.note(
                "reconnecting",
                attempt=self._attempt,
                attempts=attempts,
                delay_s=round(delay, 3),
                reason=why,
            )
            await asyncio.sleep(delay)
            try:
                await core.line.again()
            except FAILURES as error:
                failure = explain(error, core.endpoint)
                why = str(failure)
                core.recorder.note("connect_failed", url=core.endpoint.shown, error=why)
                if failure.status is not None and 400 <= failure.status < 500:
                    break  # it will say the same again
            else:
                return
        core.line.ended = f"Session {core.name} could not connect again: {why}"
        core.recorder.note("gave_up", reason=why)

    def _due(self) -> None:
        self._rotation_due = True
        self.look()

    def look(self) -> None:
        """Replace an old connection as soon as nothing goes on in any lane.

        One that the service calls too old is of no more use, also where somebody is waited for. The
        service ends most of them itself; it has time for that, and for what it still writes.
        """
        if not self._core.line.connected or self._stopped or self.trying:
            return
        if self._core.line.limit_reached:
            self._cancel_timer()
            if self.policy.attempts:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(LIMIT_SECONDS, self._outlived)
        elif self._rotation_due and all_idle(self._core):
            self._task = asyncio.create_task(self._rotate())

    async def _rotate(self) -> None:
        if all_idle(self._core):  # or something was said between the decision and now
            await self._core.line.rotate("rotated before the limit")

    def _outlived(self) -> None:
        """Nothing has changed for a while: if nothing is being written either, it is over."""
        core = self._core
        if core.line.connected and not any(lane.current for lane in core.ledger.lanes.values()):
            self._rotation_due = True
            self._task = asyncio.create_task(core.line.rotate("the limit was reached"))

    def stop(self) -> None:
        """Try no more: the session is being closed."""
        self._stopped = True
        self._cancel_timer()
        if self._task is not None:
            self._task.cancel()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
