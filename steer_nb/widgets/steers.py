"""One steer as a line: what was said, and the trail of its states with their times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.widgets.text import clip, count, esc, esc_strict, seconds
from steer_nb.widgets.words import input_text, moment, open_count, turn_start

if TYPE_CHECKING:
    from steer_nb.ledger.state import SteerState
    from steer_nb.trace.entries import Entry

__all__ = ["decided", "steer_line", "steer_plain", "steer_trail"]

_TEXT_CAP = 4 * 1024


def steer_line(steer: SteerState) -> str:
    """Draw a steer as HTML.

    ::

        You steered: Keep it under 300 euros
        sent 3.10 s → accepted 3.14 s → committed 4.02 s · 38 chunks were still written in between
    """
    text = input_text(steer.input)
    said = '<span class="snb-soft">(its text was not recorded)</span>'
    if text:
        # A direction of its own: the words before it are English.
        said = f"<bdi>{esc(clip(text, _TEXT_CAP))}</bdi>"
    steps = steer_trail(steer)
    last = len(steps) - 1
    drawn = []
    for number, step in enumerate(steps):
        css = "snb-done"
        if number == last and steer.live:
            css = "snb-now"
        elif number == last and steer.state in ("failed", "unknown") and steer.decision is None:
            css = "snb-bad"
        drawn.append(f'<span class="{css}">{esc_strict(step)}</span>')
    note = _note(steer)
    trail = ' <span aria-hidden="true">→</span> '.join(drawn)
    return (
        f'<div class="snb-steer"{_key(steer)}><b>You steered:</b> {said}'
        f'<div class="snb-trail" dir="ltr">{trail}{esc(note)}</div></div>'
    )


def _key(steer: SteerState) -> str:
    """Write by what a page knows it in the next picture; nothing where its sending is unknown."""
    said = steer.queued or steer.sent
    return "" if said is None else f' data-snb-key="{said.seq}"'


def steer_plain(steer: SteerState) -> str:
    """Write the trail as plain text."""
    return " → ".join(steer_trail(steer)) + _note(steer)


def steer_trail(steer: SteerState) -> list[str]:
    """States in the order they were reached, the last one explained.

    Each has its time in seconds of the turn that was steered, as the lane's own clock counts them.
    """
    start = _start(steer)
    reached = [
        (steer.queued, "queued here"),
        (steer.sent, "sent"),
        (steer.accepted, "accepted"),
        (steer.pending, "pending"),
        (steer.committed, "committed"),
        (steer.failed, "failed"),
    ]
    steps = [(entry.seq, _step(entry, word, start)) for entry, word in reached if entry is not None]
    # A commit can be read before its acknowledgement: the trail shows what came first.
    steps.sort(key=lambda step: step[0])
    trail = [text for _, text in steps] or ["sent"]
    if steer.state == "queued_here":
        trail[-1] += ", until you say something or send it" if steer.held else ", goes out next"
    elif steer.state == "sent" and steer.carrier is not None:
        trail[-1] += f" with {steer.carrier}"
    elif steer.state == "sent":
        trail[-1] += ", not acknowledged yet"
    elif steer.state == "accepted":
        trail[-1] += ", queued until this part is done"
    elif steer.state == "pending":
        trail[-1] += f", {_pending_reason(steer)}"
    elif steer.state == "failed":
        parts = [steer.failure_code, steer.failure_message]
        trail[-1] += ": " + ": ".join(clip(part, 400) for part in parts if part)
    elif steer.state == "unknown":
        trail.append(_unknown(steer))
    if steer.decision is not None:
        trail.append(decided(steer.decision, steer.again_key))
    return trail


def decided(decision: str, again_key: str | None) -> str:
    """What a person said shall become of a message that failed or whose outcome is unknown."""
    return "dropped" if decision == "dropped" else f"sent again as {again_key or 'another'}"


def _start(steer: SteerState) -> float | None:
    turn = None if steer.parent is None else moment(turn_start(steer.parent))
    return moment(steer.sent) if turn is None else turn


def _step(entry: Entry, word: str, start: float | None) -> str:
    when = moment(entry)
    return word if when is None or start is None else f"{word} {seconds(max(when - start, 0.0))}"


def _pending_reason(steer: SteerState) -> str:
    if steer.pending_reason not in (None, "waiting_for_required_input"):
        return clip(steer.pending_reason or "", 120).replace("_", " ")
    waits = 0 if steer.parent is None else open_count(steer.parent)
    return f"queued until {count(waits, 'answer')} {'is' if waits == 1 else 'are'} sent"


def _unknown(steer: SteerState) -> str:
    why = "the connection was lost"
    if steer.parent is not None and steer.parent.status == "error":
        why = "the response broke off with an error"
    rest = "; send again or drop" if steer.undecided else ""
    return f"outcome unknown: {why}{rest}"


def _note(steer: SteerState) -> str:
    if steer.state != "committed" or steer.sent is None or steer.deltas_after_send <= 0:
        return ""
    were = "was" if steer.deltas_after_send == 1 else "were"
    return f" · {count(steer.deltas_after_send, 'chunk')} {were} still written in between"
