"""What was said on a lane, newest last, as blocks of HTML with a bound on their size.

The walk goes from the newest backwards and stops when the bound is reached, so that a transcript of
any length costs a page (and the I/O thread that draws it) the same.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from steer_nb.ledger.state import RequestState
from steer_nb.widgets.items import LIVE_CAP, item_html
from steer_nb.widgets.steers import decided, steer_line
from steer_nb.widgets.text import clip, count, esc, esc_strict, size
from steer_nb.widgets.words import continued, input_text, part_tail, said_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.ledger.state import LaneState, ResponseState
    from steer_nb.widgets.reading import Reader

__all__ = ["Hidden", "Transcript", "response_blocks", "transcript"]

_MAX_BLOCKS: Final = 200
_NEWEST: Final = 20
"""How many turns are looked at for what still changes."""

_ASK_CAP: Final = 2 * 1024
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
    """Place of the first item that still changes; behind the last where only steers do."""
    if isinstance(turn, RequestState):
        return 0
    items = turn.ordered
    if not turn.is_live:
        return len(items)
    return next((place for place, item in enumerate(items) if item.done is None), len(items))


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


def _ask(request: RequestState, trail: str = "", before: ResponseState | None = None) -> str:
    text = input_text(request.own_input)
    for steer in before.steers if before is not None else ():  # those stand right above it
        if steer.key in request.steers:
            text = text.removeprefix(input_text(steer.input)).lstrip("\n")
    answers = count(len(request.answers), "answer") if request.answers else ""
    if not text and not answers and not trail:
        return ""
    said = f'<span class="snb-soft">{answers}</span>'
    if text:
        said = f"<bdi>{esc(clip(text, _ASK_CAP))}</bdi>"
    label = "You:" if text else "You sent"
    key = f'data-snb-key="{request.sent.seq}"'
    return f'<div class="snb-ask" {key}><b>{label}</b> {said}{trail}</div>'


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
    for place, item in reversed(list(enumerate(response.ordered))):
        if (start is not None and place < start) or (end is not None and place >= end):
            continue
        if left <= 0 or len(blocks) >= room:
            hidden += sum(part_tail(item, channel, 0)[1] for channel in _TEXT_CHANNELS)
            continue
        html, dropped = item_html(response, item, now, left, reader)
        hidden += dropped
        left -= len(html)
        if html:
            blocks.append(html)
    if start is None and response.request is not None and left > 0:
        blocks += [ask] if (ask := _ask(response.request, before=continued(response))) else []
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
