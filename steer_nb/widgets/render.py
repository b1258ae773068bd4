"""The ledger as HTML: a lane's card, the board, a response. Pure: state and a clock in, text out.

Everything that came from the wire is escaped, the amount of text is bounded, and nothing is ever
run, opened or fetched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.ledger import rules
from steer_nb.widgets.calls import call_title
from steer_nb.widgets.decisions import (
    decisions_html,
    decisions_plain,
    line_html,
    line_plain,
    to_decide,
)
from steer_nb.widgets.style import NO_MATH, STYLE, spin_delay
from steer_nb.widgets.text import (
    CAP,
    NONE,
    clip,
    clock,
    count,
    esc,
    esc_strict,
    grouped,
    plain,
)
from steer_nb.widgets.transcript import transcript
from steer_nb.widgets.words import (
    Chip,
    gone,
    lane_chip,
    lane_meta,
    lane_now,
    lane_since,
    lane_tokens,
    part_tail,
    steer_counts,
    working,
)

if TYPE_CHECKING:
    from steer_nb.ledger import Ledger
    from steer_nb.ledger.state import LaneState, ResponseState

__all__ = [
    "board",
    "board_plain",
    "card",
    "chip_html",
    "frame",
    "head_html",
    "lane_card",
    "lane_plain",
    "need",
]

_PLAIN_CAP = 4096


def frame(inner: str, label: str) -> str:
    """Put `inner` into the element that carries the style sheet and an accessible name."""
    return (
        f'{STYLE}<div class="steer-nb {NO_MATH}" role="region" aria-label="{esc_strict(label)}">'
        f"{inner}</div>"
    )


def chip_html(chip: Chip) -> str:
    """A state as an element: colour, symbol and word."""
    return (
        f'<span class="snb-chip snb-{chip.css}"><span aria-hidden="true">{chip.symbol}</span> '
        f"{esc(chip.text)}</span>"
    )


def card(name: str, chip: Chip, meta: str, *parts: str, busy: float | None = None) -> str:
    """Lay out a card: a head line, a progress sign while `busy` (its clock), and parts below."""
    bar = ""
    if busy is not None:
        bar = (
            '<div class="snb-bar" role="progressbar" aria-label="working">'
            f'<i style="{spin_delay(busy)}"></i></div>'
        )
    return f'<div class="snb-card">{head_html(name, chip, meta)}{bar}{"".join(parts)}</div>'


def head_html(name: str, chip: Chip, meta: str) -> str:
    """Lay out a head line; it reads as one without a style sheet, too."""
    return (
        f'<div class="snb-head"><b class="snb-name" dir="auto">{esc_strict(clip(name, 256))}</b> '
        f'{chip_html(chip)} <span class="snb-meta">{esc(meta)}</span></div>'
    )


def lane_card(ledger: Ledger, lane: LaneState, now: float, *, cap: int = CAP) -> str:
    """Draw a lane: its state, the newest of what was said, its steers, what it waits for.

    Parameters
    ----------
    ledger : Ledger
        What the lane belongs to.
    lane : LaneState
        The lane.
    now : float
        Seconds since the trace began.
    cap : int
        Most characters of text to draw; the oldest are left out, with a note.

    Returns
    -------
    str
        An HTML fragment.
    """
    chip = lane_chip(ledger, lane)
    blocks, hidden = transcript(lane, now, cap)
    body = "".join(blocks)
    if str(hidden):
        note = f"{hidden} are not shown here; lane.responses has everything"
        body = f'<p class="snb-note" role="note">… {note}</p>{body}'
    if not body:
        body = '<p class="snb-soft">Nothing has been sent on this lane yet.</p>'
    inner = card(
        lane.name,
        chip,
        lane_meta(lane, now),
        f'<div class="snb-body">{body}</div>',
        line_html(ledger),
        decisions_html(to_decide(ledger, lane)),
        need(lane),
        busy=now if working(lane) else None,
    )
    return frame(inner, f"Lane {lane.name}: {chip.text}")


def need(lane: LaneState) -> str:
    """What a lane waits for, and what to type; empty where it waits for nothing."""
    parent = rules.answerable(lane)
    if parent is None or gone(lane):
        return ""
    asked = [stub for stub in parent.waiting_for if not stub.optional]
    names = [clip(call_title(stub.call or stub.stub), 40) for stub in asked[:8]]
    more = f" and {len(asked) - 8} more" if len(asked) > 8 else ""
    if not asked:
        line = f"{count(len(parent.waiting_for), 'asynchronous call')} may be answered"
        head = f'<span class="snb-soft">{line}</span>'
    else:
        line = f"waits for you: {count(len(asked), 'answer')}"
        shown = esc_strict(", ".join(names)) + more
        head = (
            f'<span class="snb-chip snb-wait"><span aria-hidden="true">◐</span> {line}</span> '
            f'<span class="snb-soft" dir="auto">{shown}</span>'
        )
    hint = '<span class="snb-hint"><code>%steer pending</code></span>'
    return f'<div class="snb-need">{head} {hint}</div>'


def board(ledger: Ledger, now: float) -> str:  # noqa: ARG001 - drawn like the other pictures
    """All lanes at a glance; those that need a person come first."""
    rows = []
    for chip, lane in _sorted(ledger):
        tokens, since = lane_tokens(lane), lane_since(ledger, lane)
        state = Chip(chip.css, chip.symbol, chip.text.split(":")[0], chip.rank)
        cells = (
            f'<th scope="row" dir="auto">{esc_strict(clip(lane.name, 256))}</th>',
            f"<td>{chip_html(state)}</td>",
            f'<td dir="auto">{esc(lane_now(ledger, lane))}</td>',
            f"<td>{esc(steer_counts(lane))}</td>",
            f'<td class="snb-num">{NONE if tokens is None else grouped(tokens)}</td>',
            f'<td class="snb-num">{NONE if since is None else clock(since)}</td>',
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    if not rows:
        inner = (
            '<div class="snb-body"><p class="snb-soft">No lane is open yet. '
            "<code>%steer open NAME</code> opens one.</p></div>"
        )
    else:
        titles = ("lane", "state", "now", "steers", "tokens", "since")
        head = "".join(f'<th scope="col">{title}</th>' for title in titles)
        inner = (
            f'<table class="snb-board" aria-label="All lanes"><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table>"
        )
    return frame(f'<div class="snb-card">{inner}{line_html(ledger)}</div>', "All lanes")


def _sorted(ledger: Ledger) -> list[tuple[Chip, LaneState]]:
    pairs = [(lane_chip(ledger, lane), lane) for lane in ledger.lanes.values()]
    return sorted(pairs, key=lambda pair: pair[0].rank)


def lane_plain(ledger: Ledger, lane: LaneState, now: float) -> str:
    """Write a lane out as plain text, for consoles and for places without HTML."""
    head = f"{plain(lane.name)}  {lane_chip(ledger, lane)}  {lane_meta(lane, now)}".rstrip()
    text, whole = _newest_text(lane)
    lines = [head]
    if not whole:
        lines.append("… what came before this is not shown here")
    if text:
        lines.append(plain(text))
    if rules.answerable(lane) is not None and not gone(lane):
        lines.append("%steer pending shows what it waits for")
    lines += [line for line in [line_plain(ledger)] if line]
    lines += decisions_plain(to_decide(ledger, lane))
    return "\n".join(lines)


def _newest_text(lane: LaneState) -> tuple[str, bool]:
    """Return the end of what was written, and whether that is all of it."""
    shown: list[str] = []
    left, whole = _PLAIN_CAP, True
    for response in reversed(lane.responses):
        for index in sorted(response.items, reverse=True):
            text, before = part_tail(response.items[index], "text", left)
            left -= len(text)
            whole = whole and not before
            if text:
                shown.append(text)
        if left <= 0:
            whole = whole and response is lane.responses[0]
            break
    return "\n\n".join(text.strip("\n") for text in reversed(shown)), whole


def board_plain(ledger: Ledger) -> str:
    """Write the board out as plain text."""
    rows = [("lane", "state", "now", "steers", "tokens", "since")]
    for chip, lane in _sorted(ledger):
        tokens, since = lane_tokens(lane), lane_since(ledger, lane)
        rows.append(
            (
                plain(lane.name),
                str(chip),
                lane_now(ledger, lane),
                steer_counts(lane),
                NONE if tokens is None else str(tokens),
                NONE if since is None else clock(since),
            )
        )
    if len(rows) == 1:
        return "No lane is open yet. %steer open NAME opens one."
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    table = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(part for part in (table, line_plain(ledger)) if part)


def response_card(response: ResponseState, now: float) -> str:
    """Draw one response with its items and steers."""
    from steer_nb.widgets.transcript import response_blocks

    chip = response_chip(response)
    blocks, _ = response_blocks(response, now, CAP)
    tokens = response.tokens("total_tokens")
    meta = " · ".join(
        part
        for part in (
            plain(response.model or ""),
            "" if tokens is None else f"{grouped(tokens)} tokens",
            response.lane.name,
        )
        if part
    )
    body = "".join(reversed(blocks)) or '<p class="snb-soft">Nothing was written.</p>'
    inner = card(response.id, chip, meta, f'<div class="snb-body">{body}</div>')
    return frame(inner, f"Response {response.id}: {chip.text}")


def response_chip(response: ResponseState) -> Chip:
    """A response's status in a symbol and words."""
    word = response.status
    if response.is_live:
        return Chip("run", "●", "in progress", 2)
    if word == "incomplete":
        why = response.incomplete_reason
        text = "steered" if why == "steered" else f"incomplete: {clip(plain(why or '?'), 60)}"
        return Chip("idle" if why == "steered" else "wait", "◑", text, 3)
    if word == "completed":
        return Chip("idle", "✓", "completed", 4)
    return Chip("fail", "▲", word, 1)
