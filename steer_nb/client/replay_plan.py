"""What a replay does, in order, and what must have come before each of its doings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from steer_nb.ledger import InjectState, Ledger, RequestState, SteerState
    from steer_nb.trace import Entry, Trace

__all__ = ["Act", "chosen_lanes", "counts_as", "lane_of", "plan"]

# What a session notes by itself; everything else was a person's doing, or a tool's.
_OWN = frozenset(
    {"session", "recovered", "connected", "connect_failed", "closed", "reconnecting", "gave_up",
     "problem"}
)  # fmt: skip
# What a session with a Letta server notes by itself besides, while it carries a message through.
_CARRIED = frozenset(
    {"stream_broke", "stream_lost", "stream_resumed", "request_found", "input_released"}
)
_ASKED = re.compile(r"/v1/conversations/[^/?]+")
"""Where a conversation is asked for when its lane is opened."""


@dataclass(slots=True)
class Act:
    """One recorded doing, and what must have come before it.

    `sent` is False for a request that never left; `reads` is True where a lane was opened with what
    its conversation had.
    """

    entry: Entry
    key: str
    lane: str | None
    needs: dict[str | None, int]
    losses: int
    connections: int
    after: float
    sent: bool = True
    reads: bool = False


def chosen_lanes(trace: Trace, lanes: Iterable[str] | None) -> set[str | None] | None:
    """Give the `stream_id`s of the lanes that are to be played; None is all of them.

    Raises
    ------
    InvalidInput
        The trace has no such lane.
    """
    if lanes is None:
        return None
    known = {lane.name: lane.stream_id for lane in trace.ledger.lanes.values()}
    chosen: set[str | None] = set()
    for name in (lanes,) if isinstance(lanes, str) else lanes:
        if name not in known:
            rule = f"one of {', '.join(known) or 'none'}"
            msg = f"The trace has no lane {name!r}: give {rule}."
            raise InvalidInput(msg, field="lanes", value=name, rule=rule)
        chosen.add(known[name])
    return chosen


def plan(
    trace: Trace, cuts: Collection[int], chosen: set[str | None] | None
) -> tuple[list[Act], Act | None]:
    """List what is to be done, and what has to have come before each.

    Parameters
    ----------
    trace : Trace
        The recording.
    cuts : collection of int
        The connections in it that were lost in the middle of something.
    chosen : set of (str or None), optional
        Only these lanes.
    """
    ledger, letta = trace.ledger, trace.header.dialect == "letta"
    own = _OWN | _CARRIED if letta else _OWN
    requests = {r.sent.seq: r for r in ledger.requests.values()}
    steers = {s.sent.seq: s for s in ledger.steers.values() if s.sent is not None}
    injects = {i.sent.seq: i for i in ledger.injects.values() if i.sent is not None}
    unsent = {str(e.data["key"]) for e in trace if e.note == "unsent" and e.data}
    ended = {r.ended.seq: r for r in ledger.responses.values() if r.ended is not None}
    counts: dict[str | None, int] = {}
    ends: dict[str, tuple[str | None, int]] = {}  # where each response ended, in its lane's events
    acts: list[Act] = []
    losses, last = 0, None

    def before(lane: str | None) -> dict[str | None, int]:
        """What had come: in its lane; of a Letta server in all, each of which is heard alone."""
        heard = {one: n for one, n in counts.items() if chosen is None or one in chosen}
        return {**(heard if letta else {}), lane: counts.get(lane, 0)}

    for entry in trace:
        if entry.kind == "in" and not (letta and _is_asked(entry, last)):
            if letta and _reads(entry, last):
                acts[-1].reads = True
            lane = lane_of(entry)
            counts[lane] = counts.get(lane, 0) + counts_as(entry)
        elif entry.note == "closed" and entry.connection in cuts:
            losses += 1
        elif (sent := _sent(entry, requests, steers, injects)) is not None:
            lane = None if sent.lane is None else sent.lane.stream_id
            needs = before(lane)
            parent, n = ends.get(getattr(sent, "previous_response_id", None) or "", (lane, 0))
            if chosen is None or parent in chosen:
                needs[parent] = max(n, needs.get(parent, 0))
            number = 1 + sum(cut < entry.connection for cut in cuts)
            act = Act(entry, sent.key, lane, needs, losses, number, _between(last, entry))
            act.sent = sent.key not in unsent
            if chosen is None or lane in chosen:
                acts.append(act)
        elif letta and (_is_asked(entry, last) or _is_opening(entry)):
            lane = lane_of(entry)
            act = Act(entry, _key(entry), lane, before(lane), losses, 1, 0.0)
            act.after = _between(last, entry)
            counts[lane] = counts.get(lane, 0) + (entry.kind == "in")
            if chosen is None or lane in chosen:
                acts.append(act)
        elif entry.note is not None and entry.note not in own and not _is_kept(entry, ledger):
            lane = _lane_of_note(ledger, entry.data or {})
            needs = before(lane)
            act = Act(entry, "", lane, needs, losses, 0, _between(last, entry))
            if chosen is None or lane in chosen:
                acts.append(act)
        else:
            continue
        last = entry
        response = ended.get(entry.seq)
        if response is not None:
            lane = response.lane.stream_id
            ends[response.id] = lane, counts.get(lane, 0)
    rest = {lane: n for lane, n in counts.items() if chosen is None or lane in chosen}
    return acts, Act(acts[-1].entry, "", None, rest, losses, 0, 0.0) if acts else None


def _sent(
    entry: Entry,
    requests: dict[int, RequestState],
    steers: dict[int, SteerState],
    injects: dict[int, InjectState],
) -> RequestState | SteerState | InjectState | None:
    """What an entry sent, if it sent something."""
    return requests.get(entry.seq) or steers.get(entry.seq) or injects.get(entry.seq)


def _lane_of_note(ledger: Ledger, data: dict[str, Any]) -> str | None:
    """The lane that a note is about: by its name, its response, or its message."""
    if "lane" in data:
        name = data["lane"]
        return name if isinstance(name, str) else None
    key = str(data.get("key"))
    about = (
        ledger.responses.get(str(data.get("parent")))
        or ledger.requests.get(key)
        or ledger.steers.get(key)
        or ledger.injects.get(key)
    )
    return None if about is None or about.lane is None else about.lane.stream_id


def _between(before: Entry | None, entry: Entry) -> float:
    if before is None or before.t is None or entry.t is None:
        return 0.0
    return max(0.0, entry.t - before.t)


def _key(entry: Entry) -> str:
    return str((entry.data or {}).get("key") or "")


def _is_opening(entry: Entry) -> bool:
    """Whether it asks a Letta server for a new conversation."""
    path = str((entry.data or {}).get("path") or "")
    return entry.kind == "out" and path.startswith("/v1/conversations/?")


def _is_asked(entry: Entry, last: Entry | None) -> bool:
    """Whether it is a conversation that a Letta server was asked for; nothing says that it was."""
    body = str((entry.data or {}).get("body") or "")
    return entry.kind == "in" and entry is not last and _ASKED.fullmatch(body) is not None


def _reads(entry: Entry, last: Entry | None) -> bool:
    """Whether it is the first of what a conversation had when its lane was opened."""
    data, before = entry.data or {}, None if last is None else last.data or {}
    opened = last is not None and last.note == "lane" and before is not None
    return opened and data.get("from") == "history" and data.get("lane") == (before or {})["lane"]


def _is_kept(entry: Entry, ledger: Ledger) -> bool:
    """Whether a session kept what a Letta server had refused: it will do so by itself."""
    return entry.note == "steer_queued" and (entry.data or {}).get("again") in ledger.requests


def counts_as(entry: Entry) -> int:
    """How much an entry counts by which it is told how far a lane is: pings come when they may."""
    return 0 if '"message_type":"ping"' in (entry.raw or "") else 1


def lane_of(entry: Entry) -> str | None:
    """The lane that a message names, or that is noted beside it."""
    lane = (entry.data or {}).get("lane", _fields(entry.raw).get("stream_id"))
    return lane if isinstance(lane, str) else None


def _fields(raw: str | None) -> dict[str, Any]:
    try:
        value = json.loads(raw or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
