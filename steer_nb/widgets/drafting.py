"""When what is typed is kept: a quiet moment after the last key, and in time before it is gone."""

from __future__ import annotations

import atexit
import threading
import time
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from steer_nb.widgets.ticker import guarded, ticker

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["QUIET_S", "Keeper"]

QUIET_S: Final = 0.4
"""How long nobody types before what was typed is kept."""

_LATEST_S: Final = 3.0
"""How long somebody who types without a pause goes unkept at most."""

_PER_SECOND: Final = 4_000_000
"""Characters that are written in a second at most, on average: a picture waits for the next."""


class Keeper:
    """Calls ``keep()`` after changes, never for each key, and at once where it has to be.

    Parameters
    ----------
    keep : callable
        Writes what stands in the controls now; returns about how many characters. It is called on
        the helper thread, or on that of the caller of `now`, never twice at a time.

    Examples
    --------
    >>> done = threading.Event()
    >>> keeper = Keeper(lambda: done.set() or 0)
    >>> keeper.touched()
    >>> done.wait(5)
    True
    """

    def __init__(self, keep: Callable[[], int]) -> None:
        self._keep = keep
        self.lock = threading.RLock()
        """Held while it is kept; the I/O thread never takes it."""
        self._not_before = 0.0
        self.pending = False
        """Whether something was changed since it was kept."""
        _keepers.add(self)

    def touched(self) -> None:
        """Something was changed."""
        self.pending = True
        pause = self._not_before - time.monotonic()
        ticker.later(("keep", self), max(QUIET_S, pause), self.now, restart=True)
        ticker.later(("keep at last", self), max(_LATEST_S, pause), self.now)

    def forget(self) -> None:
        """Do not keep what was changed."""
        ticker.drop(("keep", self))
        ticker.drop(("keep at last", self))
        self.pending = False

    def now(self) -> None:
        """Keep what was changed, if anything was. Not on the I/O thread."""
        with self.lock:
            if self.pending:
                self.forget()  # before: what is changed meanwhile counts
                self._not_before = time.monotonic() + self._keep() / _PER_SECOND


_keepers: WeakSet[Keeper] = WeakSet()


def _keep_all() -> None:
    for keeper in tuple(_keepers):
        guarded(keeper.now)


# Registered after that of the I/O thread, and so called before it.
atexit.register(_keep_all)
