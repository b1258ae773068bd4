"""The events table: its rows are built as entries come, and never again.

The core columns come with the fold. The other groups are read from the same entries when they are
first asked for, and go on from where they were the next time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from steer_nb.frames.arrays import array_of, json_text
from steer_nb.frames.growing import Growing
from steer_nb.frames.schema_stream import EventCore, EventDelta, EventError, EventRaw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steer_nb.frames.columns import Columns
    from steer_nb.trace.entries import Entry
    from steer_nb.trace.holding import Batch
    from steer_nb.wire import Event

    EventOf: TypeAlias = Callable[[Entry], Event]
    Read: TypeAlias = Callable[[Entry, EventOf], tuple[Any, ...]]

__all__ = ["BATCH", "GROUP_ROWS", "GroupRows", "Rows", "is_row"]

BATCH: Final = 1 << 13
"""Rows that are turned into arrays at once: bounds what lives as Python objects meanwhile."""


def is_row(entry: Entry) -> bool:
    """Whether an entry has a row in the events table."""
    return entry.kind != "note" or entry.note == "closed"


class GroupRows(Growing):
    """One of the other groups, read from the entries themselves."""

    def __init__(self, columns: Columns, read: Read, event_of: EventOf) -> None:
        super().__init__(columns)
        self._read = read
        self._event_of = event_of
        self._position = 0

    def catch_up(self, entries: Sequence[Entry], end: int) -> None:
        """Add the rows of the entries before `end` that are not here yet."""
        self.reserve(end - self._position)
        while self._position < end:
            stop = min(end, self._position + BATCH)
            new = filter(is_row, entries[self._position : stop])
            rows = [self._read(entry, self._event_of) for entry in new]
            if rows:
                values = zip(*rows, strict=True)
                self.extend(
                    {
                        column.name: array_of(column, cells)
                        for column, cells in zip(self.columns, values, strict=True)
                    }
                )
            self._position = stop


_SHARED: Final = (
    "connection_id",
    "lane_id",
    "direction",
    "type",
    "family",
    "known",
    "response_id",
    "item_id",
    "output_index",
    "content_index",
    "agent_name",
)


class Rows:
    """New rows of the core columns: of a run, what all its entries share is kept once.

    Entries are taken in some at a time and let go of: only what goes into columns stays.
    """

    def __init__(self, trace_id: str) -> None:
        self.trace_id = trace_id
        self.sizes: list[Any] = []
        """The length of each message; None for what is none."""
        self.lengths: list[int] = []
        self.shared: list[tuple[Any, ...]] = []
        self.done = 0
        """So many entries were told of."""
        self._seqs: list[int] = []
        self._at: list[float | None] = []
        self._t: list[float | None] = []
        self._numbers: list[int | None] = []
        self._without: list[int] = []

    def take(self, batch: Batch, events: Sequence[Event]) -> None:
        """Take in the next entries, which are told of then."""
        self._seqs += batch.seqs
        self._at += batch.at
        self._t += batch.t
        self._numbers += [event.sequence_number for event in events]
        self.sizes += batch.sizes

    def add(self, count: int, shared: tuple[Any, ...]) -> None:
        """Say what the next so many entries have in the columns of `_SHARED`."""
        self.lengths.append(count)
        self.shared.append(shared)
        self.done += count

    def skip(self) -> None:
        """Say that the next entry has no row."""
        self._without.append(self.done)
        self.done += 1

    def columns(self) -> dict[str, Any]:
        """Give the arrays of the core columns, for the entries up to here."""
        trace_id, seqs = self.trace_id, self._chosen(self._seqs)
        prefix = f"{trace_id}/"
        each: dict[str, Sequence[Any]] = {
            "event_id": [prefix + str(seq) for seq in seqs],
            "seq": seqs,
            "recv_at": self._chosen(self._at),
            "t_s": self._chosen(self._t),
            "sequence_number": self._chosen(self._numbers),
            "bytes": self._chosen(self.sizes),
        }
        found = {name: array_of(EventCore[name], values) for name, values in each.items()}
        found["trace_id"] = array_of(EventCore["trace_id"], [trace_id]).repeat(len(seqs))
        lengths = np.array(self.lengths)
        for name, values in zip(_SHARED, zip(*self.shared, strict=True), strict=True):
            found[name] = array_of(EventCore[name], values).repeat(lengths)
        return found

    def _chosen(self, values: Sequence[Any]) -> Sequence[Any]:
        """Of one value for each entry, those of entries that have rows."""
        if not self._without:
            return values if self.done == len(values) else values[: self.done]
        left_out = set(self._without)
        return [v for place, v in enumerate(values[: self.done]) if place not in left_out]


def _delta(entry: Entry, event_of: EventOf) -> tuple[Any, ...]:
    if entry.kind != "in":
        return (None, None, None, None)
    event = event_of(entry)
    delta = event.delta
    if isinstance(delta, str):
        return (delta, len(delta), None, None)
    return (None, None, event.done_text, None if delta is None else json_text(delta))


def _error(entry: Entry, event_of: EventOf) -> tuple[Any, ...]:
    if entry.kind != "in":
        return _NO_ERROR
    event = event_of(entry)
    if event.family not in ("error", "lifecycle", "steer", "control", "unknown"):
        return _NO_ERROR
    found = event.error_fields
    return (found.code, found.message or None, found.param, found.type, found.status)


_NO_ERROR: Final = (None, None, None, None, None)


def _raw(entry: Entry, _: EventOf) -> tuple[Any, ...]:
    return (entry.raw,)


GROUP_ROWS: Final[dict[str, tuple[Columns, Read]]] = {
    group.name: (group, read)
    for group, read in ((EventDelta, _delta), (EventError, _error), (EventRaw, _raw))
}
"""How to read the groups of the events table that are not core."""
