"""The one pass over a trace: its ledger, and what a ledger does not count."""

from __future__ import annotations

import gc
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb.frames.events import BATCH, GROUP_ROWS, GroupRows, Rows
from steer_nb.frames.growing import Growing
from steer_nb.frames.schema_stream import EventCore
from steer_nb.ledger import DEFAULT_LANE, Ledger, foreign_type, run_at
from steer_nb.ledger.letta_events import LettaEvent
from steer_nb.wire import SERVER_EVENT_TYPES, decode
from steer_nb.wire.catalogue import EXTRA_FAMILY, FAMILY
from steer_nb.wire.events import decode_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steer_nb.frames.keeping import Made, Row
    from steer_nb.ledger import ResponseState, Run
    from steer_nb.trace import Trace
    from steer_nb.trace.entries import Entry
    from steer_nb.trace.holding import Batch
    from steer_nb.wire import Event

__all__ = ["Fold", "LaneUse"]

_REQUESTS: Final = {
    "response.create": "lifecycle",
    "response.steer": "steer",
    "response.inject": "control",
}
# Families whose events need not be about a response: without a stream_id they are nobody's.
_OUTSIDE: Final = frozenset({"steer", "error", "control", "unknown"})


@dataclass(slots=True)
class LaneUse:
    """A lane on one connection: when it was first and last used there, and what was seen there.

    Attributes
    ----------
    asked : bool
        A request was sent on it.
    echoed : bool
        An event came that names it.
    """

    lane_id: str
    connection: int
    stream_id: str | None
    first: Entry
    last: Entry
    asked: bool = False
    echoed: bool = False


@contextmanager
def without_collector(much: bool) -> Iterator[None]:
    """Let the garbage collector rest where much is made that stays: it would find nothing."""
    if not (much and gc.isenabled()):
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Fold:
    """A ledger of its own over the entries of a trace, with the rows of the events table.

    It reads the entries that are new each time it is asked, on the asking thread, and never touches
    the ledger that a live session works with.

    Parameters
    ----------
    trace : Trace
        May be growing on another thread.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.trace_id = trace.trace_id
        self.ledger = Ledger(dialect=trace.header.dialect)
        self.position = 0
        self.events = Growing(EventCore)
        self.n_events: Counter[str] = Counter()
        self.n_unknown = 0
        self.item_bytes: Counter[tuple[str, int]] = Counter()
        self.bytes_in: Counter[int] = Counter()
        self.lane_uses: dict[tuple[int, str | None], LaneUse] = {}
        self.last: Entry | None = None
        self.memo: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        """What was computed for a response and holds until one of its events comes."""
        self.steers: Made = {}
        """Rows of the steers table, by the steer's key."""
        self.problems: list[Row] = []
        """Rows of the problems table; only its end grows."""
        self._groups: dict[str, GroupRows] = {}
        self._connection_ids: dict[int, str | None] = {0: None}
        self._item_ids: dict[str, str] = {}

    def catch_up(self) -> int:
        """Fold what is new, and return how many entries were folded in all."""
        entries = self.trace.entries
        end = len(entries)
        self.events.reserve(end - self.position)
        with without_collector(end - self.position > BATCH):
            rows = Rows(self.trace_id)
            try:
                for batch in entries.batches(self.position, end):
                    self._take(batch, rows)
                    if rows.done >= BATCH:
                        rows = self._written(rows)
            finally:
                self._written(rows)
        return self.position

    def group(self, name: str) -> GroupRows:
        """One of the further groups of the events table, up to where the fold is."""
        rows = self._groups.get(name)
        if rows is None:
            columns, read = GROUP_ROWS[name]
            rows = self._groups[name] = GroupRows(columns, read, self.ledger.dialect.event_of)
        rows.catch_up(self.trace.entries, self.position)
        return rows

    def connection_id(self, number: int) -> str | None:
        """Name a connection; None where there was none yet."""
        found = self._connection_ids.get(number, "")
        if found == "":
            found = self._connection_ids[number] = f"{self.trace_id}/{number}"
        return found

    def lane_id(self, connection: int, stream_id: str | None) -> str:
        """Name a lane on a connection."""
        use = self.lane_uses.get((connection, stream_id))
        if use is not None:
            return use.lane_id
        name = DEFAULT_LANE if stream_id is None else stream_id
        return f"{self.trace_id}/{connection}/{name}"

    def lane_id_of(self, response: ResponseState) -> str:
        """Name the lane of a response, on the connection that it came on."""
        return self.lane_id(response.connection, response.lane.stream_id)

    # -- one batch -----------------------------------------------------------------------------

    def _take(self, batch: Batch, rows: Rows) -> None:
        entries, events = batch.entries, self._events_of(batch)
        rows.take(batch, events)
        start, end = 0, len(events)
        while start < end:
            run = run_at(entries, events, start, batch.bare)
            if run is None:
                entry, event = entries[start], events[start]
                owner = self.ledger.apply(entry, event)
                start += 1
                self._folded(entry, owner, 1)
                self._row(rows, entry, event, owner)
            else:
                owner = self.ledger.apply_run(run)
                start += run.count
                self._folded(run.last, owner, run.count)
                self._row_of_run(rows, run, owner)

    def _events_of(self, batch: Batch) -> list[Event]:
        """Decode their messages."""
        event_of, plain = self.ledger.dialect.event_of, self.ledger.dialect.plain
        if plain and batch.bare:
            return decode_all(batch.raws)
        return [
            _NO_EVENT
            if entry.kind == "note"
            else decode(entry.raw or "")
            if entry.data is None and plain
            else event_of(entry)
            for entry in batch.entries
        ]

    def _written(self, rows: Rows) -> Rows:
        """Put rows into the table; give new ones to be filled."""
        if rows.lengths:
            self.events.extend(rows.columns())
        return Rows(self.trace_id)

    def _folded(self, last: Entry, owner: ResponseState | None, count: int) -> None:
        self.position += count
        self.last = last
        if owner is not None:
            self.memo.pop(owner.id, None)
        if self.ledger.touched:
            for other in self.ledger.touched:
                self.memo.pop(other, None)
            self.ledger.touched.clear()

    def _row(self, rows: Rows, entry: Entry, event: Event, owner: ResponseState | None) -> None:
        if entry.kind != "note":
            self._add(rows, entry, event, 1, owner, self._lane_of(entry, event, owner))
            return
        if entry.note == "lane":
            self._lane_note(entry)
        if entry.note == "closed":
            self._add(rows, entry, event, 1, None, None)
        else:
            rows.skip()

    def _row_of_run(self, rows: Rows, run: Run, owner: ResponseState | None) -> None:
        first, event = run.first, run.event
        lane = self._lane_of(first, event, owner)
        if lane is not None:  # all of them name the same one
            stream_id = run.fact.lane if owner is None else owner.lane.stream_id
            self.lane_uses[first.connection, stream_id].last = run.last
        self._add(rows, first, event, run.count, owner, lane)

    def _add(
        self,
        rows: Rows,
        entry: Entry,
        event: Event,
        count: int,
        owner: ResponseState | None,
        lane: str | None,
    ) -> None:
        """Add the rows of a run, or of one entry, told by its first: `Rows` knows the others."""
        item_id, index, connection = event.item_id, event.output_index, entry.connection
        start = rows.done
        size = rows.sizes[start] or 0 if count == 1 else sum(rows.sizes[start : start + count])
        if owner is not None:
            self.n_events[owner.id] += count
            if index is not None:
                self.item_bytes[owner.id, index] += size
                if item_id is None and index in owner.items:
                    item_id = owner.items[index].id
        kind, family, known = _kind(entry, event)
        if entry.kind == "in":
            self.bytes_in[connection] += size
            self.n_unknown += 0 if known else count
        rows.add(
            count,
            (
                self._connection_ids.get(connection) or self.connection_id(connection),
                lane,
                "close" if entry.kind == "note" else entry.kind,
                kind,
                family,
                known,
                None if owner is None else owner.id,
                # One object for all events of an item, instead of one each.
                None if item_id is None else self._item_ids.setdefault(item_id, item_id),
                index,
                event.content_index,
                event.agent_name,
            ),
        )

    def _lane_note(self, entry: Entry) -> None:
        stream_id = (entry.data or {}).get("lane")
        if stream_id is None or isinstance(stream_id, str):
            self._use(entry, stream_id)

    def _lane_of(self, entry: Entry, event: Event, owner: ResponseState | None) -> str | None:
        """Which lane a message travelled on, where that can be said."""
        if owner is not None:
            return self._use(entry, owner.lane.stream_id, event)
        family = _kind(entry, event)[1]
        if family == "error":
            errors = self.ledger.errors
            lane = errors[-1].lane if errors and errors[-1].entry is entry else None
            if lane is not None:
                return self._use(entry, lane.stream_id, event)
        if event.stream_id is None and family in _OUTSIDE:
            return None
        return self._use(entry, event.stream_id, event)

    def _use(self, entry: Entry, stream_id: str | None, event: Event | None = None) -> str:
        place = (entry.connection, stream_id)
        use = self.lane_uses.get(place)
        if use is None:
            lane_id = self.lane_id(*place)
            use = self.lane_uses[place] = LaneUse(lane_id, *place, entry, entry)
        else:
            use.last = entry
        if entry.kind == "out":
            use.asked = True
        elif event is not None and event.stream_id == stream_id and entry.data is None:
            use.echoed = True
        return use.lane_id


class _Kinds(dict[str, tuple[str | None, str, bool | None]]):
    """By type word: the word, its family, and whether it is known; filled as words are met."""

    def __init__(self, known: frozenset[str], families: Mapping[str, str]) -> None:
        super().__init__()
        self._known_words = known
        self._families = families

    def __missing__(self, word: str) -> tuple[str | None, str, bool | None]:
        family = self._families.get(word, "unknown")
        found = self[word] = (word or None, family, word in self._known_words)
        return found


_KINDS: Final[dict[str, dict[str, tuple[str | None, str, bool | None]]]] = {
    "in": _Kinds(SERVER_EVENT_TYPES, {**EXTRA_FAMILY, **FAMILY}),
    "out": _Kinds(frozenset(_REQUESTS), _REQUESTS),
    "note": {"": (None, "control", None)},  # the end of a connection
}


def _kind(entry: Entry, event: Event) -> tuple[str | None, str, bool | None]:
    """Its type word, its family, and whether that word is known."""
    if type(event) is LettaEvent:
        return event.type or None, event.family, event.known
    kind = _KINDS[entry.kind][event.type]
    if entry.data is None:
        return kind
    foreign = foreign_type(entry)
    if foreign is None:
        return kind
    # What a message of another service says decides its family; its reader knew how to read it.
    return foreign or None, kind[1] if event.type else "control", True


# What stands in the place of a message for the end of a connection.
_NO_EVENT: Final = decode("{}")
