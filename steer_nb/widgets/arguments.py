"""What a call was given: as lines where there is little room, as a table where a person decides."""

from __future__ import annotations

import json
from typing import Any, Final

from steer_nb.widgets.text import esc, esc_strict, readable, size

__all__ = ["ARGS_CAP", "arguments_table", "hidden", "json_text", "pairs", "scrolling"]

ARGS_CAP: Final = 16 * 1024
"""Most characters of one call's arguments that are drawn."""

_ONE_LINE: Final = 24
"""Longest name that is not broken."""

_TALL: Final = 1000
_TALL_LINES: Final = 12
"""A value that is longer than this scrolls in the table: what is decided stays in sight."""


def json_text(value: object, *, indent: int | None = 1) -> str:
    """`value` as JSON for reading; anything JSON cannot say, as its repr."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def hidden(number: int) -> str:
    """Say how much is not drawn."""
    return f'<span class="snb-k">{esc(size(number))} more characters are not shown</span>'


def scrolling(inner: str, css: str = "snb-call") -> str:
    """Put text into a box that scrolls; its line breaks stay where there is no style sheet, too."""
    # tabindex: a box that scrolls must be reachable without a mouse.
    return f'<pre class="{css}" dir="auto" tabindex="0">{inner}</pre>'


def pairs(text: str) -> str:
    """Arguments as ``name  value`` lines, or as they are while they are no JSON object yet."""
    if len(text) > ARGS_CAP:
        return f"{esc_strict(text[:ARGS_CAP])}…\n{hidden(len(text) - ARGS_CAP)}"
    found = readable(text)
    if found is None:
        return esc_strict(text)
    if not found:
        return '<span class="snb-k">no arguments</span>'
    width = min(max(len(name) for name, _ in found), _ONE_LINE)
    return "\n".join(
        f'<span class="snb-k">{esc_strict(name.ljust(width))}</span>  {esc_strict(value)}'
        for name, value in found
    )


def arguments_table(text: str) -> str:
    r"""Arguments as a table of names and values, with the JSON in a fold below.

    Text of several lines is shown as it reads; everything else as JSON. Where a name comes twice,
    which no table can show, or the text is no JSON object or very long, it is shown as it is.

    Examples
    --------
    >>> "<td>2</td>" in arguments_table('{"days": 2}')
    True
    >>> "<pre>one\ntwo</pre>" in arguments_table('{"text": "one\\ntwo"}')
    True
    """
    value = _object(text) if len(text) <= ARGS_CAP else {}
    if value is None:
        return scrolling(esc_strict(text)) if text else ""
    if not value:
        return scrolling(pairs(text))
    rows = "".join(f"<tr>{_head(name)}<td>{_cell(part)}</td></tr>" for name, part in value.items())
    head = '<thead><tr><th scope="col">argument</th><th scope="col">value</th></tr></thead>'
    whole = scrolling(esc_strict(json_text(value, indent=2)))
    return (
        f'<table class="snb-args" dir="auto">{head}<tbody>{rows}</tbody></table>'
        f'<details class="snb-fold"><summary>as JSON</summary>{whole}</details>'
    )


def _head(name: str) -> str:
    css = ' class="snb-long"' if len(name) > _ONE_LINE else ""
    return f'<th scope="row"{css}>{esc_strict(name)}</th>'


class _TwiceError(ValueError):
    """A name comes twice in one object."""


def _once(found: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(found)
    if len(value) != len(found):
        raise _TwiceError
    return value


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _cell(value: object) -> str:
    text = json_text(value, indent=None)
    lines = isinstance(value, dict | list) and len(text) > 72
    if isinstance(value, str) and "\n" in value.strip("\n"):
        text, lines = value, True
    elif lines:
        text = json_text(value, indent=2)
    if len(text) > _TALL or text.count("\n") > _TALL_LINES:
        return f'<pre tabindex="0">{esc_strict(text)}</pre>'  # as in `scrolling`
    return f"<pre>{esc_strict(text)}</pre>" if lines else esc_strict(text)
