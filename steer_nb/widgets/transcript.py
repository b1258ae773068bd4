"""What was said on a lane, newest last, as blocks of HTML with a bound on their size.

The walk goes from the newest backwards and stops when the bound is reached, so that a transcript of
any length costs a page (and the I/O thread that draws it) the same.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger.state import RequestState
from steer_nb.widgets.calls import agent_of, answer_box, call_body, call_head
from steer_nb.widgets.reading import Window
from steer_nb.widgets.steers import decided, steer_line
from steer_nb.widgets.text import (
    CAP,
    clip,
    count,
    esc,
    esc_strict,
    first_text,
    paragraphs,
    seconds,
    size,
)
from steer_nb.widgets.words import elapsed, gone, input_text, part_tail, said_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.ledger.state import (
        ItemState,
        LaneState,
        RequiredInputState,
        ResponseState,
    )
    from steer_nb.widgets.reading import Reader

__all__ = ["LIVE_CAP", "Hidden", "Transcript", "response_blocks", "transcript"]

LIVE_CAP: Final = 16 * 1024
"""Most characters of what is being written: it is sent anew with each paint."""

_MAX_BLOCKS: Final = 200
_NEWEST: Final = 20
"""How many turns are looked at for what still changes."""

_SOURCES: Final = 8
_SUMMARY_CAP: Final = 8 * 1024
_ASK_CAP: Final = 2 * 1024
_ARGUMENTS_CAP: Final = 16 * 1024
_TEXT_CHANNELS: Final = (
    "text",
    "transcript",
    "refusal",
    "summary",
    "reasoning",
    "arguments",
    "code",
    "stdout",
    "stderr",
)
_REQUEST_WORDS: Final = {
    "sent": "waits for its turn",
    "failed": "refused",
    "unknown": "outcome unknown: the connection was lost",
    "unsent": "never left this machine",
}


@dataclass(frozen=True, slots=True)
class Hidden:
    """What a picture leaves out: characters of what it begins with, and whole turns before that."""

    characters: int = 0
    turns: int = 0

    def __str__(self) -> str:
        parts = [f"{size(self.characters)} characters"] if self.characters else []
        if self.turns:
            parts.append(count(self.turns, "earlier turn"))
        return " and ".join(parts)

    def note(self) -> str:
        """Say it as HTML; empty where nothing is left out."""
        if not str(self):
            return ""
        text = f"… {self} are not shown here; lane.responses has everything"
        return f'<p class="snb-note" role="note">{text}</p>'


@dataclass(frozen=True, slots=True)
class Transcript:
    """Blocks of HTML, oldest first: those that are finished, and those that still change."""

    done: list[str]
    live: list[str]
    hidden: Hidden
    """What is left out before the finished ones."""
    unseen: Hidden
    """What is left out before the others."""


def transcript(lane: LaneState, now: float, cap: int, reader: Reader) -> Transcript:
    """Draw what was said on a lane.

    Parameters
    ----------
    lane : LaneState
        The lane.
    now : float
        Seconds since the trace began.
    cap : int
        Most characters of what is finished.
    reader : Reader
        What was drawn before.
    """
    turns = _turns(lane)
    newest = list(islice(turns, _NEWEST))
    # Whatever still changes, and all behind it, stands apart: the rest can be left alone.
    last = max((place for place, turn in enumerate(newest) if _moves(turn)), default=-1)
    live: list[str] = []
    unseen = 0
    for place in range(last + 1):
        turn, room = newest[place], _MAX_BLOCKS // 2 - len(live)
        left = LIVE_CAP - sum(map(len, live))
        if left > 0 and room > 0:
            start = _boundary(turn) if place == last else None
            more, dropped = _blocks(turn, now, left, reader, room=room, start=start)
            live += more
            unseen += dropped
    blocks: list[str] = []
    characters = 0
    shown, left = last + 1, cap
    for place, turn in enumerate(chain(newest, turns)):
        if place < last or (place == last and isinstance(turn, RequestState)):
            continue
        if left <= 0 or len(blocks) >= _MAX_BLOCKS:
            break
        end = _boundary(turn) if place == last else None
        more, dropped = _blocks(turn, now, left, reader, room=_MAX_BLOCKS - len(blocks), end=end)
        blocks += more
        characters += dropped
        left -= sum(map(len, more))
        shown = max(shown, place + 1)
    total = len(lane.responses) + sum(_is_lone(request) for request in lane.requests)
    return Transcript(blocks[::-1], live[::-1], Hidden(characters, total - shown), Hidden(unseen))


def _moves(turn: ResponseState | RequestState) -> bool:
    if isinstance(turn, RequestState):
        return turn.state == "sent"
    return turn.is_live or any(steer.live for steer in turn.steers)


def _boundary(turn: ResponseState | RequestState) -> int:
    """Index of the first item that still changes; behind the last where only steers do."""
    if isinstance(turn, RequestState):
        return 0
    behind = max(turn.items, default=-1) + 1
    if not turn.is_live:
        return behind
    return min((index for index, item in turn.items.items() if item.done is None), default=behind)


def _blocks(
    turn: ResponseState | RequestState,
    now: float,
    cap: int,
    reader: Reader,
    *,
    room: int,
    start: int | None = None,
    end: int | None = None,
) -> tuple[list[str], int]:
    if isinstance(turn, RequestState):
        return [_lone_request(turn)], 0
    return response_blocks(turn, now, cap, reader, room=room, start=start, end=end)


def _is_lone(request: RequestState) -> bool:
    return request.state in _REQUEST_WORDS


def _turns(lane: LaneState) -> Iterator[ResponseState | RequestState]:
    """Responses, and requests that got none, newest first; only as far as anybody looks."""
    responses: Iterator[tuple[int, ResponseState | RequestState]]
    requests: Iterator[tuple[int, ResponseState | RequestState]]
    responses = ((-r.started.seq, r) for r in reversed(lane.responses))
    requests = ((-r.sent.seq, r) for r in reversed(lane.requests) if _is_lone(r))
    return (thing for _, thing in heapq.merge(responses, requests, key=lambda turn: turn[0]))


def _lone_request(request: RequestState) -> str:
    word = _REQUEST_WORDS[request.state]
    # By the clock on the wall: it has no turn in which seconds could be counted.
    when = "sent" if request.state == "unsent" else said_at(request.sent, "sent")
    detail = ": ".join(part for part in (request.error_code, request.error_message) if part)
    css = "snb-now" if request.state == "sent" else "snb-bad"
    why = f": {esc(clip(detail, 400))}" if detail else ""
    if request.undecided:
        why += "; send again or drop"
    after = ""
    if request.decision is not None:
        css = "snb-done"
        after = f" → {esc_strict(decided(request.decision, request.again_key))}"
    trail = (
        f'<div class="snb-trail"><span class="snb-done">{when}</span> → '
        f'<span class="{css}">{word}{why}</span>{after}</div>'
    )
    return _ask(request, trail)


def _ask(request: RequestState, trail: str = "") -> str:
    text = input_text(request.own_input)
    answers = count(len(request.answers), "answer") if request.answers else ""
    if not text and not answers and not trail:
        return ""
    said = f'<span class="snb-soft">{answers}</span>'
    if text:
        said = f"<bdi>{esc(clip(text, _ASK_CAP))}</bdi>"
    label = "You:" if text else "You sent"
    return f'<div class="snb-ask"><b>{label}</b> {said}{trail}</div>'


def response_blocks(
    response: ResponseState,
    now: float,
    cap: int,
    reader: Reader,
    *,
    room: int = _MAX_BLOCKS,
    start: int | None = None,
    end: int | None = None,
) -> tuple[list[str], int]:
    """Blocks of one response, newest first, and how many characters were left out.

    Where `end` is given, only what stands before that item; where `start` is, only what begins
    with that one.
    """
    blocks: list[str] = []
    if end is None:
        blocks += [steer_line(steer) for steer in reversed(response.steers[-room:])]
        if ending := _ending(response):
            blocks.append(ending)
    left = cap
    hidden = 0
    for index in sorted(response.items, reverse=True):
        if (start is not None and index < start) or (end is not None and index >= end):
            continue
        item = response.items[index]
        if left <= 0 or len(blocks) >= room:
            hidden += sum(part_tail(item, channel, 0)[1] for channel in _TEXT_CHANNELS)
            continue
        html, dropped = _item(response, item, now, left, reader)
        html = _by_agent(item, html)
        hidden += dropped
        left -= len(html)
        if html:
            blocks.append(html)
    if start is None and response.request is not None and left > 0:
        blocks += [ask] if (ask := _ask(response.request)) else []
    return blocks, hidden


def _ending(response: ResponseState) -> str:
    """Why a response stopped, where that was not its own decision or a steer's."""
    if response.status == "truncated":
        text = "The connection was lost here; the rest of this answer did not arrive."
        return f'<div class="snb-error"><b>Cut off.</b> {text}</div>'
    if response.status in ("failed", "error"):
        code = esc_strict(clip(response.error_code or response.status, 120))
        message = esc(clip(response.error_message or "the service gave no reason", 2000))
        return f'<div class="snb-error"><b>Failed:</b> {code}: <bdi>{message}</bdi></div>'
    if response.status == "cancelled":
        return '<p class="snb-note">The service cancelled this response.</p>'
    if response.status == "incomplete" and response.incomplete_reason != "steered":
        why = esc_strict(clip(response.incomplete_reason or "no reason given", 120))
        return f'<p class="snb-note">Stopped before its end: {why}</p>'
    return ""


def _by_agent(item: ItemState, html: str) -> str:
    """Put the agent's name above what it wrote; a call has it in its own head."""
    name = item.agent_name
    if not html or name is None or (item.type.endswith("_call") and agent_of(item.data)):
        return html
    return f'<p class="snb-agent"><bdi>{esc_strict(clip(name, 120))}</bdi></p>{html}'


def _between_agents(item: ItemState) -> tuple[str, int]:
    """What one agent says to another: to whom, and the words, if they can be read at all."""
    to = esc_strict(clip(first_text([item.data.get("recipient")]) or "another agent", 120))
    text, hidden = part_tail(item, "message", _SUMMARY_CAP)
    said = f"<div>{paragraphs(text)}</div>" if text else ""
    sealed = "" if text else ", encrypted"
    return f'<p class="snb-note">message to <bdi>{to}</bdi>{sealed}</p>{said}', hidden


def _item(
    response: ResponseState, item: ItemState, now: float, cap: int, reader: Reader
) -> tuple[str, int]:
    kind = item.type or (
        "message" if any(key[0] in ("text", "transcript") for key in item.parts) else ""
    )
    if kind == "message":
        return _message(response, item, cap, reader)
    if kind == "reasoning":
        return _reasoning(response, item, now, reader)
    if kind == "agent_message":
        return _between_agents(item)
    if kind.endswith("_output") or kind == "mcp_approval_response":
        return _output(item), 0
    call = item.data or {"type": kind}
    # Which text a call is made of depends on its kind; one of them at most has any.
    arguments, hidden = "", 0
    for channel in ("arguments", "code", "command"):
        if not arguments:
            arguments, hidden = part_tail(item, channel, _ARGUMENTS_CAP)
    asked = _asked(response, item)
    answer = answer_box(asked.item) if asked is not None and asked.item is not None else ""
    return call_head(call) + call_body(call, arguments) + answer + _answer_note(
        asked, gone(response.lane)
    ), hidden


def _output(item: ItemState) -> str:
    """What a call gave; of a hosted shell, what it has written so far."""
    written = [part_tail(item, name, _ARGUMENTS_CAP)[0] for name in ("stdout", "stderr")]
    if item.source == "added" and any(written):
        return answer_box({"output": "\n".join(text for text in written if text)})
    return answer_box(item.data)


def _asked(response: ResponseState, item: ItemState) -> RequiredInputState | None:
    key = first_text([item.data.get("call_id"), item.data.get("id")])
    return response.required.get(key)


def _answer_note(asked: RequiredInputState | None, too_late: bool) -> str:
    if asked is None:
        return ""
    run = asked.tool
    parts = []
    if run is not None and run.finished is None:
        parts.append(f"{clip(run.name, 80)} is running")
    elif run is not None:
        took = "" if run.duration_s is None else f" in {seconds(run.duration_s)}"
        edited = ", then edited" if asked.filled_by == "user" else ""
        why = (run.error or "an error").removeprefix(f"{run.name} raised ")
        ran = f"ran{took}" if run.ok else f"raised {clip(why, 200)}"
        parts.append(ran + edited)
    words = {
        "open": "optional, not answered" if asked.optional else "waits for your answer",
        "filled": "answered, not sent" if too_late else "answered, not sent yet",
        "sent": "answer sent",
        "confirmed": "answer injected" if asked.injected else "",
        "stale": "not answered; the conversation went on",
        "cancelled": "no longer asked for",
    }
    if too_late and not asked.optional:
        words["open"] = "not answered"
    if words.get(asked.state):
        parts.append(words[asked.state])
    css = "snb-wait" if words.get(asked.state) == "waits for your answer" else "snb-soft"
    text = " · ".join(parts)
    return f'<p class="snb-note {css}">{esc(text)}</p>' if text else ""


def _writes(response: ResponseState, item: ItemState) -> bool:
    return item.done is None and response.is_live


def _message(response: ResponseState, item: ItemState, cap: int, reader: Reader) -> tuple[str, int]:
    most = LIVE_CAP if _writes(response, item) else CAP
    window = reader.window(item, "text", most)
    if not window.text:
        window = reader.window(item, "transcript", most)
    refusal, unsaid = part_tail(item, "refusal", cap)
    if not window.text and not refusal:
        text, refusal = _whole_content(item.data, cap)
        window = Window(most)
        window.feed(text)
    html, hidden = reader.markdown(window, cap)
    html = f'<div class="snb-md">{html}</div>' if html else ""
    if refusal:
        html += f'<div class="snb-refusal"><b>Refused:</b> <bdi>{esc(refusal)}</bdi></div>'
    if sources := _sources(item.data):
        html += f'<p class="snb-note">{sources}</p>'
    return html, hidden + unsaid


def _sources(data: dict[str, Any]) -> str:
    """What a message cites, by title and address: as text, since nobody asked to go there."""
    parts = [part for part in _listed(data.get("content")) if isinstance(part, dict)]
    found: dict[str, None] = {}
    for one in (note for part in parts for note in _listed(part.get("annotations"))):
        about = one if isinstance(one, dict) else {}
        named = [about.get(name) for name in ("title", "filename", "file_id")]
        words = [first_text([word]) for word in (first_text(named), about.get("url"))]
        found[" ".join(clip(word, 200) for word in words if word)] = None
    texts = [f"<bdi>{esc_strict(text)}</bdi>" for text in found if text]
    if not texts:
        return ""
    more = f" and {len(texts) - _SOURCES} more" if len(texts) > _SOURCES else ""
    return f"{'Source' if len(texts) == 1 else 'Sources'}: {', '.join(texts[:_SOURCES])}{more}"


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole_content(data: dict[str, Any], cap: int) -> tuple[str, str]:
    """Texts of a message that came whole, without deltas."""
    parts = data.get("content")
    shown = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    text = "\n\n".join(first_text([part.get("text")]) for part in shown if part.get("text"))
    refusal = "\n\n".join(first_text([part.get("refusal")]) for part in shown)
    return text[-cap:], refusal.strip()[-cap:]


def _reasoning(
    response: ResponseState, item: ItemState, now: float, reader: Reader
) -> tuple[str, int]:
    live = _writes(response, item)
    took = elapsed(item.added, item.done, now if live else None)
    word = "Thinking" if live else "Thought"
    line = word if took is None else f"{word} for {took:.1f} s"
    if item.interrupted:
        line += ", interrupted"
    said = ""
    for channel in ("summary", "reasoning"):
        window = reader.window(item, channel, _SUMMARY_CAP)
        html, hidden = reader.markdown(window, _SUMMARY_CAP)
        if html and said:
            said += '<p class="snb-note">The thoughts themselves:</p>'
        if hidden:
            said += f'<p class="snb-note">… {size(hidden)} characters before this</p>'
        said += html
    if not said:
        return f'<p class="snb-soft">{line}</p>', 0
    return f'<details><summary>{line}</summary><div class="snb-md">{said}</div></details>', 0
