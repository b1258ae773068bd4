"""The events table: its rows are built as entries come, and never again.

The core columns come with the fold. The other groups are read from the same entries when they are
first asked for, and go on from where they were the next time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.frames.arrays import frame_of, json_text
from steer_nb.frames.keeping import join
from steer_nb.frames.schema_stream import EventDelta, EventError, EventRaw
from steer_nb.ledger import event_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from steer_nb.frames.columns import Columns
    from steer_nb.trace.entries import Entry

__all__ = ["BATCH", "GROUP_ROWS", "GroupRows", "Growing", "core_rows", "is_row"]

BATCH: Final = 1 << 16
"""Rows that are turned into arrays at once: bounds what lives as Python objects meanwhile."""


def is_row(entry: Entry) -> bool:
    """Whether an entry has a row in the events table."""
    return entry.kind != "note" or entry.note == "closed"


class Growing:
    """A frame that grows at its end: new rows are built alone, then put behind the old ones."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._parts: list[pd.DataFrame] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def extend(self, values: Mapping[str, Sequence[Any]]) -> None:
        """Add rows, given as one list a column."""
        part = frame_of(self.columns, values)
        self._length += len(part)
        self._parts.append(part)

    def frame(self) -> pd.DataFrame:
        """Everything so far. The frame is shared: hand out copies."""
        if not self._parts:
            self._parts.append(frame_of(self.columns, {}))
        elif len(self._parts) > 1:
            self._parts = [join(self.columns.columns, self._parts)]
        return self._parts[0]


class GroupRows(Growing):
    """One of the other groups, read from the entries themselves."""

    def __init__(self, columns: Columns, read: Callable[[Entry], tuple[Any, ...]]) -> None:
        super().__init__(columns)
        self._read = read
        self._position = 0

    def catch_up(self, entries: Sequence[Entry], end: int) -> None:
        """Add the rows of the entries before `end` that are not here yet."""
        while self._position < end:
            stop = min(end, self._position + BATCH)
            rows = [self._read(entry) for entry in entries[self._position : stop] if is_row(entry)]
            if rows:
                self.extend(dict(zip(self.columns.names, zip(*rows, strict=True), strict=True)))
            self._position = stop


def core_rows(trace_id: str, entries: Sequence[Entry], **known: Sequence[Any]) -> dict[str, Any]:
    """Give the core columns of a batch, from its entries and what the fold knows of each."""
    return {
        "event_id": [f"{trace_id}/{entry.seq}" for entry in entries],
        "trace_id": [trace_id] * len(entries),
        "seq": [entry.seq for entry in entries],
        "recv_at": [entry.at for entry in entries],
        "t_s": [entry.t for entry in entries],
        "direction": ["close" if entry.kind == "note" else entry.kind for entry in entries],
        **known,
    }


def _delta(entry: Entry) -> tuple[Any, ...]:
    if entry.kind != "in":
        return (None, None, None, None)
    event = event_of(entry)
    delta = event.delta
    if isinstance(delta, str):
        return (delta, len(delta), None, None)
    return (None, None, event.done_text, None if delta is None else json_text(delta))


def _error(entry: Entry) -> tuple[Any, ...]:
    if entry.kind != "in":
        return _NO_ERROR
    event = event_of(entry)
    if event.family not in ("error", "lifecycle", "steer", "control", "unknown"):
        return _NO_ERROR
    found = event.error_fields
    return (found.code, found.message or None, found.param, found.type, found.status)


_NO_ERROR: Final = (None, None, None, None, None)


def _raw(entry: Entry) -> tuple[Any, ...]:
    return (entry.raw,)


GROUP_ROWS: Final[dict[str, tuple[Columns, Callable[[Entry], tuple[Any, ...]]]]] = {
    group.name: (group, read)
    for group, read in ((EventDelta, _delta), (EventError, _error), (EventRaw, _raw))
}
"""How to read the groups of the events table that are not core."""
