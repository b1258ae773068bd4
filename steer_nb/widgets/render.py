"""The ledger as HTML: a lane's card, the board, a response. Pure: state and a clock in, text out.

Everything that came from the wire is escaped, the amount of text is bounded, and nothing is ever
run, opened or fetched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steer_nb.ledger import rules
from steer_nb.widgets.calls import call_title
from steer_nb.widgets.console import NAME_CAP, TITLES, board_plain, lane_plain, plain_parts
from steer_nb.widgets.decisions import (
    decisions_html,
    line_html,
    to_decide,
)
from steer_nb.widgets.reading import Reader
from steer_nb.widgets.style import NO_MATH, STYLE, spin_delay
from steer_nb.widgets.text import (
    CAP,
    NONE,
    age,
    clip,
    count,
    esc,
    esc_strict,
    grouped,
    plain,
)
from steer_nb.widgets.transcript import transcript
from steer_nb.widgets.words import (
    Chip,
    by_need,
    gone,
    lane_chip,
    lane_for,
    lane_hint,
    lane_meta,
    lane_now,
    lane_tokens,
    steer_counts,
    to_type,
    working,
)

if TYPE_CHECKING:
    from steer_nb.ledger import Ledger
    from steer_nb.ledger.state import LaneState, ResponseState

__all__ = [
    "LaneParts",
    "Piece",
    "as_of",
    "board",
    "board_again",
    "board_plain",
    "card",
    "chip_html",
    "frame",
    "framed_piece",
    "head_html",
    "lane_card",
    "lane_parts",
    "lane_plain",
    "need",
]


def frame(inner: str, label: str) -> str:
    """Put `inner` into the element that carries the style sheet and an accessible name."""
    return (
        f'{STYLE}<div class="steer-nb {NO_MATH}" role="region" aria-label="{esc_strict(label)}">'
        f"{inner}</div>"
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """One of the pictures that make up a card."""

    html: str
    """What stands inside the card's border."""
    text: str
    """The same for places without HTML."""
    label: str
    """Its accessible name."""
    key: object = None
    """What decides whether it is worth sending again, where that is not its content."""


@dataclass(frozen=True, slots=True)
class LaneParts:
    """A lane's card in the parts that change at different times.

    A picture is replaced whole, and with it what a person unfolded, selected or scrolled in it:
    what is finished is another picture than what is being written.
    """

    head: Piece
    done: Piece
    tail: Piece
    dated: Piece | None = None
    """The head with its time."""


def framed_piece(piece: Piece, css: str, **marks: str | int | None) -> str:
    """Put one piece of a card into an element of its own.

    Parameters
    ----------
    piece : Piece
        What stands in it.
    css : str
        Which piece it is: ``snb-top``, ``snb-middle`` or ``snb-end``.
    **marks : str or int, optional
        What it tells the box below: `paint`, the number of this picture; in the first piece also
        `card`, the card's own name, and `show`, the number of this showing of its lane.
    """
    head = ""
    if css == "snb-top":
        head = f' role="region" aria-label="{esc_strict(piece.label)}"'
    # One of the three brings the style sheet for all: no front end shows or saves one without the
    # others. The middle is sent anew when something is finished; the head each second, with its
    # clock, and a page reads all its styles again whenever a sheet is replaced.
    sheet = STYLE if css == "snb-middle" else ""
    told = "".join(f' data-snb-{name}="{n}"' for name, n in marks.items() if n is not None)
    part = f'<div class="steer-nb snb-part {css} {NO_MATH}" data-snb-key="{css[4:]}"{head}{told}>'
    return f'{sheet}{part}<div class="snb-card">{piece.html}</div></div>'


def chip_html(chip: Chip) -> str:
    """A state as an element: colour, symbol and word."""
    return (
        f'<span class="snb-chip snb-{chip.css}"><span aria-hidden="true">{chip.symbol}</span> '
        f"{esc(chip.text)}</span>"
    )


def card(name: str, chip: Chip, meta: str, *parts: str) -> str:
    """Lay out a card: a head line, and parts below."""
    return f'<div class="snb-card">{head_html(name, chip, meta)}{"".join(parts)}</div>'


def _bar(now: float) -> str:
    """Draw the sign that something goes on."""
    return (
        '<div class="snb-bar" role="progressbar" aria-label="working">'
        f'<i style="{spin_delay(now)}"></i></div>'
    )


def as_of(clock: str) -> str:
    """Say from when a picture is, where it may stand still without a word: after a reload."""
    return f'<span class="snb-hint">as of {esc(clock)}</span>'


def head_html(name: str, chip: Chip, meta: str, dated: str = "") -> str:
    """Lay out a head line; it reads as one without a style sheet, too."""
    return (
        f'<div class="snb-head"><b class="snb-name" dir="auto">{esc_strict(clip(name, 256))}</b> '
        f'{chip_html(chip)} <span class="snb-meta">{esc(meta)}</span>{dated}</div>'
    )


def _scroll(body: str, label: str, css: str = "snb-past") -> str:
    """Bound the height of what was said; the newest is in view, keys scroll to the rest."""
    return (
        f'<div class="snb-scroll {css}" data-snb-key="{css[4:]}" tabindex="0" role="group" '
        f'aria-label="{esc_strict(label)}"><div class="snb-body">{body}</div></div>'
    )


def lane_parts(
    ledger: Ledger,
    lane: LaneState,
    now: float,
    *,
    cap: int = CAP,
    reader: Reader | None = None,
    whole: bool = False,
    left: str = "",
    clock: str = "",
) -> LaneParts:
    """Draw a lane in parts, for a card that goes on changing.

    Parameters
    ----------
    ledger : Ledger
        What the lane belongs to.
    lane : LaneState
        The lane.
    now : float
        Seconds since the trace began.
    cap : int
        Most characters of finished text to draw; the oldest are left out, with a note.
    reader : Reader, optional
        What was drawn before.
    whole : bool
        Whether a running clock shows whole seconds: the head changes with each of them only.
    left : str
        The time on the clock since when nobody watches the lane any more.
    clock : str
        The time on the clock, for a card that says from when it is.
    """
    said = transcript(lane, now, cap, reader or Reader())
    chip, meta = lane_chip(ledger, lane), lane_meta(lane, now, whole=whole)
    busy = working(lane) and not left
    word, end = chip, ""
    if left:
        word = Chip("idle", "■", f"not watched since {left}", chip.rank)
        end = (
            f'<div class="snb-need snb-soft">This is how it stood at {left}: {esc(str(chip))}. '
            f'<span class="snb-hint"><code>%steer show{to_type(lane) or " NAME"}</code></span> '
            "watches it again.</div>"
        )
    heads = [
        head_html(lane.name, word, meta, dated) + (_bar(now) if busy else "")
        for dated in ("", as_of(clock) if clock and not left else "")
    ]
    done = said.hidden.note() + "".join(said.done)
    if not done and not said.live:
        done = '<p class="snb-soft">Nothing has been sent on this lane yet.</p>'
    live = said.unseen.note() + "".join(said.live)
    shown = clip(lane.name, 60)
    tail = [
        _scroll(live, f"What {shown} is writing", "snb-live") if live else "",
        line_html(ledger),
        *((end,) if left else (decisions_html(to_decide(ledger, lane)), need(lane))),
    ]
    name, state = f"Lane {lane.name}: {word.text}", f"{plain(lane.name)}  {word}  {meta}".rstrip()
    finished, going, rest = plain_parts(ledger, lane)
    head, dated = (Piece(html, state, name, key=(word, meta, busy)) for html in heads)
    return LaneParts(
        head,
        Piece(_scroll(done, f"What was said on {shown}") if done else "", finished, "Finished"),
        Piece("".join(tail), "\n".join(part for part in (going, rest) if part), "Newest"),
        dated,
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
        Most characters of finished text to draw; the oldest are left out, with a note.

    Returns
    -------
    str
        An HTML fragment.
    """
    parts = lane_parts(ledger, lane, now, cap=cap)
    inner = f'<div class="snb-card">{parts.head.html}{parts.done.html}{parts.tail.html}</div>'
    return frame(inner, parts.head.label)


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


def board(ledger: Ledger, now: float, *, left: str = "", dated: str = "") -> str:
    """All lanes at a glance; those that need a person come first.

    Where `left` is given, nobody watches them since that time. `dated` says from when it is.
    """
    rows = []
    for chip, lane in by_need(ledger):
        tokens, lasts = lane_tokens(lane), lane_for(ledger, lane, now)
        state = Chip(chip.css, chip.symbol, chip.text.split(":")[0], chip.rank)
        name, short = (esc_strict(clip(lane.name, most)) for most in (256, NAME_CAP))
        what = esc(lane_now(ledger, lane))
        if hint := lane_hint(ledger, lane):
            what = f"{what} " if what else ""
            what += f'<span class="snb-hint"><code>{esc_strict(hint)}</code></span>'
        small = (
            (TITLES[3], "", esc(steer_counts(lane))),
            (TITLES[4], " snb-num", NONE if tokens is None else grouped(tokens)),
            (TITLES[5], " snb-num", NONE if lasts is None else age(lasts)),
        )
        cells = (
            f'<th scope="row" dir="auto" title="{name}"><span class="snb-two">{short}</span></th>',
            f"<td>{chip_html(state)}</td>",
            f'<td dir="auto">{what}</td>',
            # Where there is little room each stands below its lane, and says itself what it is.
            *(
                f'<td class="{"snb-none" if said == NONE else "snb-some"}{css}" '
                f'data-snb-title="{title}">{said}</td>'
                for title, css, said in small
            ),
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    if not rows:
        inner = (
            '<div class="snb-body"><p class="snb-soft">No lane is open yet. '
            "<code>%steer open NAME</code> opens one.</p></div>"
        )
    else:
        head = "".join(f'<th scope="col">{title}</th>' for title in TITLES)
        inner = (
            f'<table class="snb-board" aria-label="All lanes"><thead><tr>{head}</tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table>"
        )
    below = line_html(ledger)
    if left:
        below += (
            f'<div class="snb-need snb-soft">■ not watched since {left}. '
            '<span class="snb-hint"><code>%steer lanes</code></span> watches them again.</div>'
        )
    below += f'<div class="snb-need">{dated}</div>' if dated else ""
    return frame(f'<div class="snb-card">{inner}{below}</div>', "All lanes")


def board_again(ledger: Ledger, now: float) -> float | None:
    """After how many seconds the board looks different although nothing happened."""
    lasting = [lane_for(ledger, lane, now) for lane in ledger.lanes.values()]
    known = [lasts for lasts in lasting if lasts is not None]
    if not known:
        return None
    return min(1.0 if lasts < 60 else 60 - lasts % 60 for lasts in known)


def response_card(response: ResponseState, now: float) -> str:
    """Draw one response with its items and steers."""
    from steer_nb.widgets.transcript import response_blocks

    chip = response_chip(response)
    blocks, _ = response_blocks(response, now, CAP, Reader())
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
    inner = card(response.id, chip, meta, _scroll(body, "What was written"))
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
