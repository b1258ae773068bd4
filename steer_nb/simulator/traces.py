"""What is read from a trace that is served again, whichever service it is of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from steer_nb.errors import ScenarioError

if TYPE_CHECKING:
    from os import PathLike

    from steer_nb.trace import Entry, Trace

__all__ = ["opened", "seconds_between"]

_GAP_S: Final = 0.03
"""Seconds between two events where the recording has no times."""


def opened(
    source: Trace | str | PathLike[str], dialect: str, service: str
) -> tuple[Trace, str, str]:
    """Give a trace of that service, or that of a file, with its place and its name in words.

    Raises
    ------
    TraceError
        The file cannot be read.
    ScenarioError
        It is of another service.
    """
    from steer_nb.trace import Trace, load_trace

    trace = source if isinstance(source, Trace) else load_trace(source)
    where = trace.file or f"The trace {trace.trace_id[:8]}"
    if trace.header.dialect != dialect:
        msg = f"{where} is a recording of {trace.header.dialect!r}, not of {service}."
        raise ScenarioError(msg, path=trace.file or "")
    return trace, where, Path(trace.file).stem if trace.file else trace.trace_id[:8]


def seconds_between(before: Entry | None, entry: Entry) -> float:
    """Tell how long after another an entry was recorded; never negative, 0 where there is none."""
    if before is None:
        return 0.0
    if before.t is not None and entry.t is not None:
        return max(0.0, entry.t - before.t)
    if before.at is not None and entry.at is not None:
        return max(0.0, entry.at - before.at)
    return _GAP_S
