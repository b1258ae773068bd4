"""Recordings of one Letta conversation in several files, folded together.

A stream, the stream that continues it and the history that was read later are often three files.
What they show of one run, of one call or of one answer belongs together, and stands in the tables
once. They are taken for one conversation only where something says so: they name the same run, the
same step, or the same agent or conversation. All else of a set stays apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.frames.base import Frames
from steer_nb.frames.events import is_row
from steer_nb.ledger import DEFAULT_LANE
from steer_nb.ledger.letta_events import is_translated
from steer_nb.trace.log import Trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from steer_nb.trace.entries import Entry

__all__ = ["JOINED_TABLES", "Joined"]

JOINED_TABLES: Final = (
    "responses",
    "items",
    "tool_calls",
    "required_inputs",
    "usage",
    "lanes",
)
"""The tables that are about what was said, not about files: the others stay trace by trace.

A lane has a row for each file, as it has one for each connection of a trace: what is counted in it
is what the other tables have under its `lane_id`, its state is that of the conversation where the
newest response began, and elsewhere it is detached.
"""

_ID: Final = "joined"
_NAMED: Final = ("agent-", "conv-")
# Moments that lie in another file than their row have another clock.
_ELSEWHERE: Final = {
    "tool_calls": ("answered_in_response_id", ("answered_s", "wait_s")),
    "required_inputs": ("continuation_response_id", ("sent_s", "filled_s")),
}

# Which columns of an event say what of the joined tables it is about.
_ABOUT: Final = ("response_id", "item_id", "output_index")

Row = dict[str, Any]
Place = tuple[int, "str | None"]
"""A trace, by its place in the set, and one of its lanes."""


class Joined:
    """The conversations of a set that lie in several of its traces.

    Parameters
    ----------
    traces : sequence of Trace
        The set.

    Attributes
    ----------
    members : frozenset of int
        Places of the traces that belong to such a conversation.
    """

    def __init__(self, traces: Sequence[Trace]) -> None:
        self._traces = traces
        letta = [n for n, trace in enumerate(traces) if _can_join(trace)]
        self._lanes = _conversations({n: _keys(traces[n]) for n in letta}) if letta[1:] else {}
        self.members = frozenset(n for n, _ in self._lanes)
        self._origins: list[tuple[int, int]] = []
        """By connection of the joined trace, from 1: the trace and its own connection."""
        self._spans: dict[int, tuple[int, int]] = {}
        """By trace: where its rows stand in the joined table of events."""
        self._frames: Frames | None = None

    @property
    def frames(self) -> Frames:
        """The tables of the conversations, in names of their own; see `rows` and `events`."""
        if self._frames is None:
            self._frames = Frames(Trace(self._header(), self._entries()))
        return self._frames

    def events(self, number: int, part: pd.DataFrame) -> pd.DataFrame:
        """Say in the events of a trace which rows of the joined tables they are about."""
        names = [name for name in _ABOUT if name in part.columns]
        if number not in self.members or not names:
            return part
        joined = self.frames.table("events", names)
        start, end = self._spans[number]
        own = joined.iloc[start:end].reset_index(drop=True)
        return part.assign(**{name: own[name] for name in names})

    def rows(self, name: str) -> dict[int, list[Row]]:
        """Give the rows of a table, by the place of the trace in which each begins."""
        if not self.members:
            return {}
        frames = self.frames
        found: dict[int, list[Row]] = {n: [] for n in self.members}
        homes = {row["response_id"]: self._home(row) for row in frames.rows("responses")}
        column, times = _ELSEWHERE.get(name, ("", ()))
        for row in frames.rows(name):
            number, connection = self._home(row)
            trace = self._traces[number]
            own: Row = {**row, "trace_id": trace.trace_id}
            if row.get("connection_id") is not None:
                own["connection_id"] = f"{trace.trace_id}/{connection}"
            if row.get("lane_id") is not None:
                _, _, lane = row["lane_id"].split("/", 2)
                name = self._own_name(number, lane)
                own["lane_id"] = f"{trace.trace_id}/{connection}/{name}"
                if "stream_id" in row:
                    own["stream_id"] = None if name == DEFAULT_LANE else name
            if homes.get(row.get(column), (number, 0))[0] != number:
                own.update(dict.fromkeys(times))
                if row.get("owner") == "server":
                    own["requested_s"] = None  # it may be the moment of an approval, in that file
            found[number].append(own)
        return found

    def _header(self) -> Any:
        first = self._traces[min(self.members)].header
        return msgspec.structs.replace(first, trace_id=_ID)

    def _home(self, row: Row) -> tuple[int, int]:
        lane_id = row.get("lane_id")
        if not isinstance(lane_id, str):
            return min(self.members), 0
        number = int(lane_id.split("/", 2)[1])
        return self._origins[number - 1] if number else (min(self.members), 0)

    def _own_name(self, number: int, name: str) -> str:
        """What a trace itself calls a lane of a conversation."""
        for (n, own), joined in self._lanes.items():
            if (n, joined) == (number, name):
                return own or DEFAULT_LANE
        return name

    def _entries(self) -> Iterator[Entry]:
        seq = row = 0
        for number in sorted(self.members, key=lambda n: _when(self._traces[n], n)):
            trace = self._traces[number]
            before = len(self._origins)
            most = max((entry.connection for entry in trace), default=0)
            self._origins += [(number, own) for own in range(1, most + 1)]
            start = row
            for entry in trace:
                row += is_row(entry)
                data = entry.data
                if data is not None and "lane" in data:
                    own_lane = data["lane"]
                    data = {**data, "lane": self._lanes.get((number, own_lane), own_lane)}
                yield msgspec.structs.replace(
                    entry,
                    seq=seq,
                    connection=entry.connection and before + entry.connection,
                    data=data,
                )
                seq += 1
            self._spans[number] = (start, row)


def _can_join(trace: Trace) -> bool:
    return trace.header.dialect == "letta" and not any(map(is_translated, trace))


def _keys(trace: Trace) -> dict[str | None, set[tuple[str, str]]]:
    """By lane: what says which conversation it is."""
    found: dict[str | None, set[tuple[str, str]]] = {}
    for lane in trace.ledger.lanes.values():
        name = lane.stream_id
        keys = found.setdefault(name, set())
        if name is not None and name.startswith(_NAMED):
            keys.add(("lane", name))
        for response in lane.responses:
            if "/" not in response.id:  # else the name is ours
                keys.add(("run", response.id))
            steps = (item.data.get("step_id") for item in response.items.values())
            keys |= {("step", step) for step in steps if isinstance(step, str)}
    return found


def _conversations(
    keys: dict[int, dict[str | None, set[tuple[str, str]]]],
) -> dict[Place, str]:
    """By place: the one name of its conversation, for all traces that share one."""
    groups: list[tuple[set[tuple[str, str]], list[Place]]] = []
    for number, lanes in keys.items():
        for lane, held in lanes.items():
            touched = [group for group in groups if group[0] & held]
            merged: tuple[set[tuple[str, str]], list[Place]] = (set(held), [(number, lane)])
            for group in touched:
                groups.remove(group)
                merged = (merged[0] | group[0], group[1] + merged[1])
            groups.append(merged)
    shared = [places for _, places in groups if len({n for n, _ in places}) > 1]
    joined = {n for places in shared for n, _ in places}
    found: dict[Place, str] = {}
    taken: set[str] = set()
    for _, places in groups:
        own = [place for place in places if place[0] in joined]
        if own:
            names = [lane or "" for _, lane in own]
            name = next((one for one in names if one.startswith(_NAMED)), names[0])
            while name in taken:
                name += "+"
            taken.add(name)
            found.update(dict.fromkeys(own, name))
    return found


def _when(trace: Trace, number: int) -> tuple[bool, str, int]:
    """Histories last: they hold all that streams do, but for how it came."""
    entries = [entry for entry in trace if entry.kind == "in" and entry.raw]
    history = all((entry.data or {}).get("from") == "history" for entry in entries)
    first = next((_date(entry.raw or "") for entry in entries), "")
    return history, first, number


def _date(raw: str) -> str:
    try:
        return msgspec.json.decode(raw, type=_Dated).date or ""
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return ""


class _Dated(msgspec.Struct):
    date: str | None = None
