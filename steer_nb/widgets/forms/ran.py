"""What a run of a tool left besides its result, as HTML: for the person's eyes, never sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.widgets.arguments import scrolling
from steer_nb.widgets.text import clip, esc, esc_strict

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ran_html", "ran_text"]


def ran_html(run: Mapping[str, Any] | None) -> str:
    """Draw what a tool printed and, in a fold, where it raised; empty where there is neither."""
    if run is None:
        return ""
    parts = []
    if run["printed"]:
        named = f"printed by {esc(clip(run['name'], 80))} (not sent)"
        printed = scrolling(esc_strict(run["printed"].rstrip("\n")), "snb-call snb-printed")
        parts.append(f'<div class="snb-hint">{named}</div>{printed}')
    if run["traceback"]:
        last = clip(run["traceback"].rpartition("\n")[2], 200)
        said = f'<span class="snb-fail">▲ {esc_strict(last)}</span> · traceback (not sent)'
        whole = scrolling(esc_strict(run["traceback"]))
        parts.append(f'<details class="snb-fold"><summary>{said}</summary>{whole}</details>')
    return "".join(parts)


def ran_text(run: Mapping[str, Any] | None) -> list[str]:
    """Write out the same as lines of text."""
    if run is None:
        return []
    return [
        f"{what} (not sent):\n{run[field].rstrip()}"
        for field, what in (("printed", "printed"), ("traceback", "traceback"))
        if run[field]
    ]
