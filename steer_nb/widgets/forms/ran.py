"""What a run of a tool left besides its result, as HTML: for the person's eyes, never sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.client.displays import DISPLAYED_LIMIT
from steer_nb.widgets.answers import drawn
from steer_nb.widgets.arguments import scrolling
from steer_nb.widgets.text import clip, esc, esc_strict

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ran_html", "ran_text"]

_TEXT_CAP: Final = 16 * 1024


def ran_html(run: Mapping[str, Any] | None) -> str:
    """Draw what a tool printed and displayed and, in a fold, where it raised; else nothing."""
    if run is None:
        return ""
    parts = []
    if run["printed"]:
        named = f"printed by {esc(clip(run['name'], 80))} (not sent)"
        printed = scrolling(esc_strict(run["printed"].rstrip("\n")), "snb-call snb-printed")
        parts.append(f'<div class="snb-hint">{named}</div>{printed}')
    if run["displayed"]:
        parts.append(
            f'<div class="snb-hint">displayed by {esc(clip(run["name"], 80))} (not sent)</div>'
        )
        parts += [_output(output) for output in run["displayed"]]
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
    shown = {
        "printed": run["printed"],
        "displayed": "\n".join(_words(output) for output in run["displayed"]),
        "traceback": run["traceback"] or "",
    }
    return [f"{what} (not sent):\n{text.rstrip()}" for what, text in shown.items() if text]


def _output(output: Mapping[str, str]) -> str:
    """Draw one output: a picture that is in it, or its text; never its HTML."""
    for kind, data in output.items():
        shown = drawn(f"data:{kind};base64,{data}", "displayed", 2 * DISPLAYED_LIMIT)
        if shown:
            return f"<div>{shown}</div>"
    return scrolling(esc_strict(_words(output)), "snb-call snb-printed")


def _words(output: Mapping[str, str]) -> str:
    text = output.get("text/plain")
    return ", ".join(output) if text is None else clip(text, _TEXT_CAP)
