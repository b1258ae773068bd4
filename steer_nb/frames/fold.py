"""The one pass over a trace: its ledger, and what a ledger does not count."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb.frames.arrays import utf8_length
from steer_nb.frames.events import GROUP_ROWS, CoreRows, GroupRows
from steer_nb.ledger import DEFAULT_LANE, Ledger
from steer_nb.wire import decode

if TYPE_CHECKING:
    from steer_nb.ledger import LaneState, ResponseState
    from steer_nb.trace import Trace
    from steer_nb.trace.entries import Entry
    from steer_nb.wire import Event

__all__ = ["Fold", "LaneUse"]

_REQUEST_FAMILY: Final = {"response.create": "lifecycle", "response.steer": "steer"}
# Families whose events need not be about a response: without a stream_id they are nobody's.
_OUTSIDE: Final = frozenset({"steer", "error", "control", "unknown"})


@dataclass(slots=True)
class LaneUse:
    """A lane on one connection: when it was first and last used there."""

    connection: int
    stream_id: str | None
    first: Entry
    last: Entry


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
        self.ledger = Ledger()
        self.position = 0
        self.events = CoreRows(trace.trace_id)
        self.n_events: Counter[str] = Counter()
        self.n_unknown = 0
        self.item_bytes: Counter[tuple[str, int]] = Counter()
        self.bytes_in: Counter[int] = Counter()
        self.lane_uses: dict[tuple[int, str | None], LaneUse] = {}
        self.first: Entry | None = None
        self.last: Entry | None = None
        self.memo: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        """What was computed for a response and holds until one of its events comes."""
        self._groups: dict[str, GroupRows] = {}
        self._lane_ids: dict[tuple[int, str | None], str] = {}
        self._connection_ids: dict[int, str] = {}
        self._words: dict[str, str] = {}

    def catch_up(self) -> int:
        """Fold what is new, and return how many entries were folded in all."""
        entries = self.trace.entries
        for entry in entries[self.position : len(entries)]:
            self._take(entry, self.ledger.apply(entry))
            self.position += 1
        return self.position

    def group(self, name: str) -> GroupRows:
        """One of the further groups of the events table, up to where the fold is."""
        rows = self._groups.get(name)
        if rows is None:
            rows = self._groups[name] = GroupRows(*GROUP_ROWS[name])
        rows.extend(self.trace.entries[rows.position : self.position], self.position)
        return rows

    def connection_id(self, number: int) -> str | None:
        """Name a connection; None where there was none yet."""
        if number == 0:
            return None
        found = self._connection_ids.get(number)
        if found is None:
            found = self._connection_ids[number] = f"{self.trace_id}/{number}"
        return found

    def lane_id(self, connection: int, stream_id: str | None) -> str:
        """Name a lane on a connection."""
        found = self._lane_ids.get((connection, stream_id))
        if found is None:
            name = DEFAULT_LANE if stream_id is None else stream_id
            found = f"{self.trace_id}/{connection}/{name}"
            self._lane_ids[connection, stream_id] = found
        return found

    def lane_id_of(self, response: ResponseState) -> str:
        """Name the lane of a response, on the connection that it came on."""
        return self.lane_id(response.connection, response.lane.stream_id)

    # -- one entry ---------------------------------------------------------------------------------

    def _take(self, entry: Entry, owner: ResponseState | None) -> None:
        self.first = self.first or entry
        self.last = entry
        if owner is not None:
            self.memo.pop(owner.id, None)
        if entry.kind == "note":
            self._take_note(entry)
            return
        raw = entry.raw or ""
        event = decode(raw)
        size = utf8_length(raw)
        kind = event.type
        if entry.kind == "in":
            family, known = event.family, event.known
            self.n_unknown += not known
            self.bytes_in[entry.connection] += size
        else:
            family = _REQUEST_FAMILY.get(kind, "unknown")
            known = kind in _REQUEST_FAMILY
        index, item_id, response_id = event.output_index, event.item_id, None
        if owner is not None:
            response_id = owner.id
            self.n_events[response_id] += 1
            if index is not None:
                self.item_bytes[response_id, index] += size
                if item_id is None:
                    item = owner.items.get(index)
                    item_id = None if item is None else item.id
        self.events.add(
            (
                entry.seq,
                entry.at,
                entry.t,
                entry.kind,
                kind or None,
                family,
                known,
                event.sequence_number,
                response_id,
                None if item_id is None else self._words.setdefault(item_id, item_id),
                index,
                event.content_index,
                size,
                self.connection_id(entry.connection),
                self._lane_of(entry, event, family, owner),
            )
        )

    def _take_note(self, entry: Entry) -> None:
        if entry.note == "closed":
            connection = self.connection_id(entry.connection)
            self.events.add(
                (entry.seq, entry.at, entry.t, "close", None, "control", *_CLOSE, connection, None)
            )
        elif entry.note == "lane":
            stream_id = (entry.data or {}).get("lane")
            if stream_id is None or isinstance(stream_id, str):
                self._use(entry, stream_id)

    def _lane_of(
        self, entry: Entry, event: Event, family: str, owner: ResponseState | None
    ) -> str | None:
        """Which lane a message travelled on, where that can be said."""
        lane: LaneState | None = None if owner is None else owner.lane
        if lane is None and family == "error":
            errors = self.ledger.errors
            lane = errors[-1].lane if errors and errors[-1].entry is entry else None
        stream_id = event.stream_id if lane is None else lane.stream_id
        if lane is None and stream_id is None and family in _OUTSIDE:
            return None
        return self._use(entry, stream_id)

    def _use(self, entry: Entry, stream_id: str | None) -> str:
        use = self.lane_uses.get((entry.connection, stream_id))
        if use is None:
            self.lane_uses[entry.connection, stream_id] = LaneUse(
                entry.connection, stream_id, entry, entry
            )
        else:
            use.last = entry
        return self.lane_id(entry.connection, stream_id)


# A close has none of the columns between family and connection.
_CLOSE: Final = (None,) * 7
