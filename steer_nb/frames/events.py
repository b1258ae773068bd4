"""The events table: rows are appended as entries come, and never computed again.

The core columns come with the fold, one row for each message. The other groups are read from the
same entries when they are first asked for, and go on from where they were the next time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from steer_nb.frames.arrays import frame_of, json_text
from steer_nb.frames.schema_stream import EventCore, EventDelta, EventError, EventRaw
from steer_nb.wire import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from steer_nb.frames.columns import Columns
    from steer_nb.trace.entries import Entry

__all__ = ["GROUP_ROWS", "CoreRows", "GroupRows", "Growing", "is_row"]


def is_row(entry: Entry) -> bool:
    """Whether an entry has a row in the events table."""
    return entry.kind != "note" or entry.note == "closed"


class Growing:
    """A frame that grows at its end: new rows are built alone, then put behind the old ones."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._built = frame_of(columns, {})
        self._new: list[tuple[Any, ...]] = []

    def __len__(self) -> int:
        return len(self._built) + len(self._new)

    def add(self, row: tuple[Any, ...]) -> None:
        """Add one row, in the order of the columns."""
        self._new.append(row)

    def frame(self) -> pd.DataFrame:
        """Everything so far. The frame is shared: hand out copies."""
        if self._new:
            fresh = frame_of(self.columns, self._lists(self._new))
            self._new = []
            self._built = self._join(self._built, fresh) if len(self._built) else fresh
        return self._built

    def _lists(self, rows: Sequence[tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
        return dict(zip(self.columns.names, zip(*rows, strict=True), strict=True))

    def _join(self, old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
        for column in self.columns:
            if column.open and old[column.name].dtype != new[column.name].dtype:
                old, new = _same_words(column.name, old, new)
        return pd.concat([old, new], ignore_index=True)


def _same_words(
    name: str, old: pd.DataFrame, new: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Give both the words of both, the old ones first."""
    categories = list(
        dict.fromkeys((*old[name].cat.categories, *new[name].cat.categories)),
    )
    return (
        old.assign(**{name: old[name].cat.set_categories(categories)}),
        new.assign(**{name: new[name].cat.set_categories(categories)}),
    )


class CoreRows(Growing):
    """The core columns. A row is what `Fold` knows of an entry; the ids are made here.

    Rows are ``(seq, at, t, direction, type, family, known, sequence_number, response_id, item_id,
    output_index, content_index, bytes, connection, lane)``.
    """

    def __init__(self, trace_id: str) -> None:
        super().__init__(EventCore)
        self._trace_id = trace_id

    def _lists(self, rows: Sequence[tuple[Any, ...]]) -> dict[str, Sequence[Any]]:
        seq, at, t, *middle, connection, lane = zip(*rows, strict=True)
        trace_id = self._trace_id
        names = EventCore.names[EventCore.names.index("direction") :]
        return {
            "event_id": [f"{trace_id}/{number}" for number in seq],
            "trace_id": [trace_id] * len(rows),
            "connection_id": connection,
            "lane_id": lane,
            "seq": seq,
            "recv_at": at,
            "t_s": t,
            **dict(zip(names, middle, strict=True)),
        }


class GroupRows(Growing):
    """One of the other groups, read from the entries themselves."""

    def __init__(self, columns: Columns, read: Callable[[Entry], tuple[Any, ...]]) -> None:
        super().__init__(columns)
        self._read = read
        self.position = 0

    def extend(self, entries: Iterable[Entry], position: int) -> None:
        """Add the rows of `entries`, the ones up to `position`."""
        for entry in entries:
            if is_row(entry):
                self.add(self._read(entry))
        self.position = position


def _delta(entry: Entry) -> tuple[Any, ...]:
    if entry.kind != "in":
        return (None, None, None, None)
    event = decode(entry.raw or "")
    delta = event.delta
    if isinstance(delta, str):
        return (delta, len(delta), None, None)
    return (None, None, event.done_text, None if delta is None else json_text(delta))


def _error(entry: Entry) -> tuple[Any, ...]:
    if entry.kind != "in":
        return _NO_ERROR
    event = decode(entry.raw or "")
    if event.family not in ("error", "lifecycle", "steer", "unknown"):
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
