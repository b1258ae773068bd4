"""Wall time in whole nanoseconds, from what a trace recorded, and from nothing else."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from steer_nb.trace import Trace
    from steer_nb.trace.entries import Entry

__all__ = ["Clock"]

_LAST_S: Final = 9.2e9  # nanoseconds since 1970 are a whole number of 64 bits


class Clock:
    """Tells when an entry happened: where the trace began, and monotonic seconds since.

    The wall clock of a computer may be set while a trace is recorded; what is between two entries
    of it is therefore taken from the monotonic one.

    Parameters
    ----------
    trace : Trace
        The trace; one without times has none.

    Examples
    --------
    >>> from steer_nb.trace import Entry, Header, Trace
    >>> trace = Trace(Header(1, "a" * 32), [Entry(0, 5.5, 0.5, "note", note="session")])
    >>> clock = Clock(trace)
    >>> clock.at(trace[0]), clock.after(1.0)
    (5500000000, 6000000000)
    """

    def __init__(self, trace: Trace) -> None:
        begun = trace.header.started_at
        both = (
            entry.at - entry.t
            for entry in trace
            if entry.at is not None and entry.t is not None and _usable(entry.at - entry.t)
        )
        start = next(both, begun)
        self._start = round(start * 1e9) if start is not None and _usable(start) else None

    def after(self, t: float | None) -> int | None:
        """So many seconds after the trace began."""
        if t is None or self._start is None or not abs(t) < _LAST_S:
            return None
        found = self._start + round(t * 1e9)
        return found if 0 < found < _LAST_S * 1e9 else None

    def at(self, entry: Entry | None) -> int | None:
        """When an entry happened; None where that was not recorded."""
        if entry is None:
            return None
        found = self.after(entry.t)
        if found is None and entry.at is not None and _usable(entry.at) and entry.at > 0:
            found = round(entry.at * 1e9) or None
        return found


def _usable(seconds: float) -> bool:
    return math.isfinite(seconds) and 0 <= seconds < _LAST_S
