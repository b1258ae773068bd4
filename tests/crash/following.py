"""Following a plan: what all people have in common who go on until it has reached its end."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from steer_nb.errors import SteerError, WaitTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb import Ledger, Session

    Wish = tuple[str, Callable[[], Any]]

__all__ = ["Follower", "Stuck"]


class Stuck(AssertionError):
    """The person cannot go on, or would never end."""


class Follower:
    """Drives a session through a plan, and knows nothing that the session does not."""

    patience: ClassVar[float] = 12.0
    most_decisions: ClassVar[int] = 120
    glance: ClassVar[float] = 0.25
    """Seconds between two looks, where nothing happens that gives anything to do."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.log: list[str] = []
        self.refused: list[str] = []

    def wishes(self, ledger: Ledger) -> list[Wish]:
        """What can be done now, the most urgent first: words for it, and the act."""
        raise NotImplementedError

    def finished(self, ledger: Ledger) -> bool:
        """Whether nothing is left to say, to decide or to wait for."""
        raise NotImplementedError

    def run(self, patience: float | None = None) -> None:
        """Say and do everything, until every lane has reached its end."""
        end = time.monotonic() + (self.patience if patience is None else patience)
        decisions = 0
        while True:
            seen, wishes = self.session.read(lambda ledger: (ledger.version, self.wishes(ledger)))
            if self._do(wishes):
                decisions += 1
                if decisions > self.most_decisions:
                    raise Stuck(self._where("does not end"))
                continue
            if self.session.read(self.finished):  # now, as wishes may have been refused
                return
            if self.session.closed:
                raise Stuck(self._where("lost the session"))
            if time.monotonic() > end:
                raise Stuck(self._where("has waited too long"))
            with contextlib.suppress(WaitTimeout):
                self.session.until(
                    lambda ledger, seen=seen: self._wakes(ledger, seen), self.glance, str
                )

    def _wakes(self, ledger: Ledger, seen: int) -> Literal[True] | None:
        """Whether something happened that gives the person anything to do."""
        if ledger.version == seen:
            return None
        return True if self.finished(ledger) or self.wishes(ledger) else None

    def _do(self, wishes: list[Wish]) -> bool:
        """Do the first thing that can be done; whether anything was."""
        for words, act in wishes:
            try:
                act()
            except SteerError as error:
                # Not now: something happened since it was wished for, or comes first.
                self.refused.append(f"{words}: {type(error).__name__}: {error}")
                continue
            self.log.append(words)
            return True
        return False

    def _where(self, what: str) -> str:
        status = self.session.status()
        return f"the person {what}: {status}; did {self.log[-12:]}; was refused {self.refused[-6:]}"
