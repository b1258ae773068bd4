"""What a lane's state is called, and the few numbers beside it: shared by card, board and forms."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger import InjectState, RequestState, SteerState, rules
from steer_nb.widgets.calls import call_title, picture
from steer_nb.widgets.text import NONE, clip, clock, count, first_text, grouped, plain, tail

if TYPE_CHECKING:
    from steer_nb.ledger import Ledger
    from steer_nb.ledger.contents import ItemState
    from steer_nb.ledger.state import ConnectionState, LaneState, ResponseState
    from steer_nb.trace.entries import Entry

__all__ = [
    "Chip",
    "by_need",
    "closed_by_person",
    "continued",
    "elapsed",
    "gone",
    "input_text",
    "lane_chip",
    "lane_elapsed",
    "lane_for",
    "lane_hint",
    "lane_model",
    "lane_now",
    "lane_tokens",
    "line_over",
    "line_trying",
    "moment",
    "open_count",
    "part_tail",
    "required_open",
    "said_at",
    "steer_counts",
    "to_type",
    "turn_start",
    "undecided",
    "working",
]

# A person looks for what needs them; the board is sorted by these.
_RANKS: Final = {"wait": 0, "fail": 1, "run": 2, "queue": 3, "idle": 4, "closed": 5}
_MANY_PIECES: Final = 20_000
_MARKS: Final = re.compile(r"[*`#|~]+|(?<!\S)[-+>]+(?!\S)")
"""Of Markdown: a glance at the newest words has no use for them."""
_NAME: Final = re.compile(r"[\w.-]{1,60}")


@dataclass(frozen=True, slots=True)
class Chip:
    """A state as a person sees it: a symbol, a word, and a colour that is not the only sign."""

    css: str
    symbol: str
    text: str
    rank: int

    def __str__(self) -> str:
        return f"{self.symbol} {self.text}"


def _chip(kind: str, symbol: str, text: str) -> Chip:
    css = {"queue": "run", "closed": "idle"}.get(kind, kind)
    return Chip(css=css, symbol=symbol, text=text, rank=_RANKS[kind])


def moment(entry: Entry | None) -> float | None:
    """Seconds since the trace began, where the recording has them."""
    return None if entry is None else entry.t


def said_at(entry: Entry, word: str) -> str:
    """A word with the time on the clock, where the recording has it."""
    if entry.at is None:
        return word
    return f"{word} at {time.strftime('%H:%M:%S', time.localtime(entry.at))}"


def elapsed(start: Entry | None, end: Entry | None, now: float | None = None) -> float | None:
    """Seconds from one entry to another, or to `now`; None where times are missing."""
    first, last = moment(start), moment(end) if end is not None else now
    return None if first is None or last is None else max(last - first, 0.0)


def required_open(lane: LaneState) -> int:
    """How many answers a person still owes before the lane can go on, the sent ones aside."""
    parent = rules.answerable(lane)
    return 0 if parent is None else open_count(parent)


def open_count(parent: ResponseState) -> int:
    """How many required answers of a response are not sent yet."""
    return sum(not stub.optional for stub in parent.waiting_for)


def working(lane: LaneState) -> bool:
    """Whether something goes on by itself: the clock runs, the progress sign moves."""
    # While an agent waits for a person, the others go on.
    return lane.current is not None or rules.lane_word(lane) in ("running", "queued")


def gone(lane: LaneState) -> bool:
    """Whether a lane is closed or lost its connection: nothing can be answered there any more."""
    return rules.lane_word(lane) == "detached"


def _newest(ledger: Ledger) -> ConnectionState | None:
    return ledger.connections.get(max(ledger.connections, default=0))


def line_trying(ledger: Ledger) -> bool:
    """Whether the connection was lost and a new one is being tried."""
    return ledger.reconnecting is not None


def line_over(ledger: Ledger) -> bool:
    """Whether the newest connection is gone and no new one is tried: nothing can be sent."""
    newest = _newest(ledger)
    return newest is not None and newest.closed is not None and not line_trying(ledger)


def closed_by_person(ledger: Ledger) -> bool:
    """Whether the session was closed, and not lost."""
    # An old connection that is replaced in time is closed by the client too, and then tried anew.
    newest = _newest(ledger)
    ended_by_us = newest is not None and newest.end_kind == "client"
    return ended_by_us and ledger.reconnecting is None


def _ended(ledger: Ledger) -> Chip:
    if line_trying(ledger):
        return _chip("queue", "◔", "connecting again")
    if closed_by_person(ledger):
        return _chip("closed", "○", "session closed")
    return _chip("fail", "▲", "connection lost")


def lane_chip(ledger: Ledger, lane: LaneState) -> Chip:
    """The lane's state in a symbol and a few words."""
    word = rules.lane_word(lane)
    if word == "running":
        return _chip("run", "●", _doing(lane.current))
    if word == "queued":
        ended = lane.tip is not None and not lane.queue
        return _chip("queue", "◔", "continues" if ended else "queued")
    if word == "waiting_input":
        return _chip("wait", "◐", f"waits for you: {count(required_open(lane), 'answer')}")
    if word == "failed":
        return _chip("fail", "▲", "failed")
    if word == "detached":
        if lane.closed is not None:
            return _chip("closed", "○", "closed")
        if undecided(lane) and not line_trying(ledger):
            return _chip("fail", "▲", "outcome unknown")
        return _ended(ledger)
    if line_over(ledger) or line_trying(ledger):
        return _ended(ledger)  # nothing was lost on it, but nothing can begin either
    return _chip("idle", "○", "idle")


def by_need(ledger: Ledger) -> list[tuple[Chip, LaneState]]:
    """List the lanes with their states, those first that need a person."""
    pairs = [(lane_chip(ledger, lane), lane) for lane in ledger.lanes.values()]
    return sorted(pairs, key=lambda pair: pair[0].rank)


def _doing(response: ResponseState | None) -> str:
    if response is None or not response.items:
        return "starting"
    item = response.items[max(response.items)]
    if item.type == "reasoning":
        return "thinking"
    if item.type == "message" or not item.type:
        return "writing"
    if item.type == "compaction":
        return "compacting"
    return f"calls {clip(plain(item.name or item.type.replace('_', ' ')), 40)}"


def undecided(lane: LaneState) -> list[SteerState | RequestState | InjectState]:
    """Messages whose outcome is unknown, and of which nobody said yet what becomes of them."""
    steers = [s for response in lane.responses for s in response.steers if s.undecided]
    injects = [i for response in lane.responses for i in response.injects if i.undecided]
    return [*steers, *(request for request in lane.requests if request.undecided), *injects]


def _counted(things: list[SteerState | RequestState | InjectState]) -> str:
    kinds = {SteerState: "steer", RequestState: "request", InjectState: "inject"}
    numbers = {word: sum(isinstance(one, kind) for one in things) for kind, word in kinds.items()}
    return " and ".join(count(number, word) for word, number in numbers.items() if number)


def lane_model(lane: LaneState) -> str:
    """The model that wrote last, or the one that the lane is set to."""
    models = [response.model for response in reversed(lane.responses)]
    return first_text([*models, lane.settings.get("model")])


def lane_tokens(lane: LaneState) -> int | None:
    """Tokens of all responses of the lane that reported them."""
    known = [response.tokens("total_tokens") for response in lane.responses]
    counted = [number for number in known if number is not None]
    return sum(counted) if counted else None


def turn_start(response: ResponseState) -> Entry:
    """Where the turn began that a response belongs to: automatic successors continue one turn."""
    if response.request is not None:
        return response.request.sent
    turns = response.lane.responses
    first, place = response, bisect_left(turns, response.started.seq, key=_place)
    for earlier in reversed(turns[:place]):
        if earlier.successor is first and earlier.id == first.previous_response_id:
            first = earlier
            if first.request is not None:
                return first.request.sent
    return first.started


def _place(response: ResponseState) -> int:
    return response.started.seq


def lane_elapsed(lane: LaneState, now: float) -> float | None:
    """How long the newest turn takes or took."""
    if lane.queue and lane.current is None:
        return elapsed(lane.queue[0].sent, None, now)
    if lane.tip is None:
        return None
    end = None if working(lane) else lane.tip.ended
    return elapsed(turn_start(lane.tip), end, now)


def _began(ledger: Ledger, lane: LaneState) -> float | None:
    """When the present state began, in seconds of the trace."""
    word = rules.lane_word(lane)
    if word == "detached":
        connection = ledger.connections.get(lane.connection)
        return moment(lane.closed or (connection.closed if connection is not None else None))
    if word == "running" and lane.current is not None:
        return moment(turn_start(lane.current))
    if word == "queued" and lane.queue:
        return moment(lane.queue[0].sent)
    if word == "waiting_input" and lane.current is not None:
        return moment(lane.current.waiting_for[0].first_seen)
    if lane.tip is not None:
        return moment(lane.tip.ended or lane.tip.last or lane.tip.started)
    return moment(lane.last or lane.opened)


def lane_for(ledger: Ledger, lane: LaneState, now: float) -> float | None:
    """How long the present state has lasted, in seconds; None where no time is known."""
    began = _began(ledger, lane)
    return None if began is None else max(now - began, 0.0)


def lane_now(ledger: Ledger, lane: LaneState) -> str:
    """What to know at a glance, as plain text: the newest words, or what is needed."""
    word = rules.lane_word(lane)
    if word == "waiting_input":
        return _asked(lane)
    if word == "detached":
        if line_trying(ledger):
            trying = ledger.reconnecting
            return "" if trying is None else f"attempt {trying.attempt} of {trying.attempts}"
        what = _counted(undecided(lane))
        if what:
            return f"connection lost; {what} to decide on"
        # Where nothing can be done, the state says it all.
        return "" if line_over(ledger) else "to decide: continue, rebuild or leave"
    if word == "failed":
        tip = lane.tip
        code = first_text([lane.error_code, tip.error_code if tip is not None else None])
        message = first_text([lane.error_message, tip.error_message if tip is not None else None])
        return plain(clip(": ".join(part for part in (code, message) if part), 80))
    if word == "running" and lane.current is not None:
        return _newest_words(lane.current)
    what = "" if line_over(ledger) or lane.closed is not None else _counted(undecided(lane))
    return f"{what} to decide on" if what else ""


def _asked(lane: LaneState) -> str:
    """How many answers are missing, and what for."""
    parent = rules.answerable(lane)
    stubs = [] if parent is None else [s for s in parent.waiting_for if not s.optional]
    names = [clip(plain(call_title(stub.call or stub.stub)), 40) for stub in stubs[:2]]
    more = ["…"] if len(stubs) > len(names) else []
    head = count(required_open(lane), "answer")
    return f"{head}: {', '.join([*names, *more])}" if names else head


def lane_hint(ledger: Ledger, lane: LaneState) -> str:
    """What to type next on a lane that needs a person; empty where none is needed."""
    word = rules.lane_word(lane)
    name = to_type(lane)
    if word == "waiting_input":
        return f"%steer pending{name}"
    if line_over(ledger) or line_trying(ledger) or lane.closed is not None:
        return ""
    if undecided(lane) or word == "detached":
        return f"%steer show{name}" if name else "%steer status"
    return ""


def to_type(lane: LaneState) -> str:
    """A lane's name as a word behind a magic; empty where it is none that one would type."""
    return f" {lane.name}" if _NAME.fullmatch(lane.name) else ""


def _newest_words(response: ResponseState) -> str:
    for item in reversed(response.ordered):
        for channel in ("text", "refusal", "summary"):
            words = _MARKS.sub(" ", part_tail(item, channel, 60)[0]).split()
            if words:
                kept = words[1:] if len(words) > 5 else words
                return f"“{plain(clip(' '.join(kept), 60))} …”"
    return "no words yet"


def part_tail(item: ItemState, channel: str, limit: int) -> tuple[str, int]:
    """Return the last `limit` characters of one of an item's texts, and how many come before.

    A text that is still being written lies in pieces; only its end is put together. Past some ten
    thousand pieces their length is estimated: a picture must not cost more the longer a text is.
    """
    shown: list[str] = []
    hidden = 0
    for key in sorted((key for key in item.parts if key[0] == channel), reverse=True):
        pieces = item.parts[key]
        left = limit - sum(map(len, shown))
        text = tail(pieces, left) if left > 0 else ""
        shown.append(text)
        if len(pieces) <= _MANY_PIECES:
            total = sum(map(len, pieces))
        else:
            total = sum(map(len, pieces[-_MANY_PIECES:])) * len(pieces) // _MANY_PIECES
        hidden += max(total - len(text), 0)
    return "".join(reversed(shown)), hidden


def steer_counts(lane: LaneState) -> str:
    """Steers by state, as in ``1 committed, 1 queued``; a dash where there are none."""
    counts: dict[str, int] = {}
    for response in lane.responses:
        for steer in response.steers:
            word = steer.state.replace("_", " ")
            word = "queued" if word in ("accepted", "pending") else word
            counts[word] = counts.get(word, 0) + 1
    return ", ".join(f"{number} {word}" for word, number in counts.items()) or NONE


def input_text(value: Any) -> str:
    """Write out what a person said in a request or a steer; pictures and files by their names."""
    if isinstance(value, str):
        return value
    lines: list[str] = []
    for item in value if isinstance(value, list) else ():
        if not isinstance(item, dict):
            continue
        content = item.get("content")
        if isinstance(content, str):
            lines.append(content)
        for part in content if isinstance(content, list) else ():
            about = part if isinstance(part, dict) else {}
            kind = first_text([about.get("type")])
            if kind == "input_image":
                where = first_text([about.get("image_url"), about.get("file_id")])
                lines.append(f"[{picture(where)}]")
            elif kind == "input_file":
                names = [about.get(name) for name in ("filename", "file_id", "file_url")]
                lines.append(f"[file {clip(first_text(names), 120)}]")
            else:
                lines.append(first_text([about.get("text")]))
    return "\n".join(line for line in lines if line)


def continued(response: ResponseState) -> ResponseState | None:
    """The response that its request answers, if that stands in the same lane."""
    parent_id = None if response.request is None else response.request.previous_response_id
    if parent_id is None:
        return None
    lane = reversed(response.lane.responses)
    return next((one for one in lane if one.id == parent_id), None)


def lane_meta(lane: LaneState, now: float, *, whole: bool = False) -> str:
    """Model, tokens and time, as plain text; a running time in `whole` seconds where it is told."""
    tokens, took = lane_tokens(lane), lane_elapsed(lane, now)
    parts = [clip(plain(lane_model(lane)), 60)]
    if tokens is not None:
        parts.append(f"{grouped(tokens)} tokens")
    if took is not None and took < 60:
        parts.append(f"{int(took)} s" if whole and working(lane) else f"{took:.1f} s")
    elif took is not None:
        parts.append(clock(took))
    return " · ".join(part for part in parts if part)
