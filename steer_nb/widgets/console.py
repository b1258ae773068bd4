"""A lane and the board as plain text: for consoles, and beside HTML that nobody draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steer_nb.ledger import rules
from steer_nb.widgets.decisions import decisions_plain, line_plain, to_decide
from steer_nb.widgets.text import NONE, age, clip, plain
from steer_nb.widgets.words import (
    by_need,
    gone,
    lane_chip,
    lane_for,
    lane_hint,
    lane_meta,
    lane_now,
    lane_tokens,
    part_tail,
    steer_counts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.ledger import Ledger
    from steer_nb.ledger.state import LaneState, ResponseState

__all__ = ["NAME_CAP", "TITLES", "board_plain", "lane_plain", "plain_parts"]

NAME_CAP: Final = 80
"""Most characters of a lane's name on the board."""

TITLES: Final = ("lane", "state", "now", "steers", "tokens", "for")
"""Columns of the board."""

_PLAIN_CAP: Final = 4096


def lane_plain(ledger: Ledger, lane: LaneState, now: float) -> str:
    """Write a lane out as plain text, for consoles and for places without HTML."""
    head = f"{plain(lane.name)}  {lane_chip(ledger, lane)}  {lane_meta(lane, now)}".rstrip()
    return "\n".join(part for part in (head, *plain_parts(ledger, lane)) if part)


def plain_parts(ledger: Ledger, lane: LaneState) -> tuple[str, str, str]:
    """Write out the newest of what is finished, what is being written, and what is to do."""
    live = lane.current is not None and lane.current.is_live
    left = _PLAIN_CAP
    going, whole = "", True
    if live and lane.current is not None:
        going, whole = _newest_text([lane.current], left, writing=True)
        left -= len(going)
    done, all_done = _newest_text(lane.responses, left, writing=False) if left > 0 else ("", False)
    cut = "… what came before this is not shown here"
    finished = [*([] if all_done else [cut]), *([plain(done)] if done else [])]
    writing = [*([] if whole else [cut]), *([plain(going)] if going else [])]
    rest = []
    if rules.answerable(lane) is not None and not gone(lane):
        rest.append("%steer pending shows what it waits for")
    rest += [line for line in [line_plain(ledger)] if line]
    rest += decisions_plain(to_decide(ledger, lane))
    return "\n".join(finished), "\n".join(writing), "\n".join(rest)


def _newest_text(
    responses: Sequence[ResponseState], left: int, *, writing: bool
) -> tuple[str, bool]:
    """Return the end of what was written, or is being written, and whether that is all of it."""
    shown: list[str] = []
    whole = True
    for response in reversed(responses):
        for item in reversed(response.ordered):
            if (item.done is None and response.is_live) != writing:
                continue
            text, before = part_tail(item, "text", left)
            left -= len(text)
            whole = whole and not before
            if text:
                shown.append(text)
        if left <= 0:
            whole = whole and response is responses[0]
            break
    return "\n\n".join(text.strip("\n") for text in reversed(shown)), whole


def board_plain(ledger: Ledger, now: float | None = None) -> str:
    """Write the board out as plain text; without a clock it names no durations."""
    rows = [TITLES]
    for chip, lane in by_need(ledger):
        tokens = lane_tokens(lane)
        lasts = None if now is None else lane_for(ledger, lane, now)
        hint = lane_hint(ledger, lane)
        rows.append(
            (
                plain(clip(lane.name, NAME_CAP)),
                str(chip),
                " ".join(part for part in (lane_now(ledger, lane), hint and f"({hint})") if part),
                steer_counts(lane),
                NONE if tokens is None else str(tokens),
                NONE if lasts is None else age(lasts),
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
