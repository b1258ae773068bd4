"""Turning what came from anywhere into text that is safe to draw, and numbers into words."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Final

from steer_nb.wire.naming import short_id, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "CAP",
    "NONE",
    "age",
    "clip",
    "clock",
    "count",
    "esc",
    "esc_strict",
    "grouped",
    "paragraphs",
    "plain",
    "readable",
    "seconds",
    "short_id",
    "shortened",
    "size",
    "tail",
]

CAP: Final = 64 * 1024
"""Most characters of text in one picture of a lane."""

NONE: Final = "\u2013"
"""Stands where there is nothing to show."""

_MAX_PARAGRAPHS = 300
_SURROGATE = re.compile("[\ud800-\udfff]")


def _code(letter: str) -> str:
    return f"⟨U+{ord(letter):04X}⟩"


# Control characters become their printable pictures: a terminal escape is then something to see.
# The two direction overrides make letters run backwards; nothing honest needs them.
_PICTURES: Final = {
    **{chr(code): chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    "\r": "",
    "\x7f": "\u2421",
}
_ODD: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")

# In code, names and arguments nothing invisible may change what a person approves.
_ODD_IN_CODE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060"
    "\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)


def _shown(found: re.Match[str]) -> str:
    letter = found[0]
    return _PICTURES[letter] if letter in _PICTURES else _code(letter)


def _joined(text: str) -> str:
    # One emoji cut over two deltas arrives as two lone surrogates: join them before cleaning.
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def plain(text: str) -> str:
    r"""Make `text` safe for a terminal and for UTF-8: no controls, no lone surrogates.

    Examples
    --------
    >>> plain("a\x1b[31mb")
    'a␛[31mb'
    """
    return _ODD.sub(_shown, _joined(text))


def esc(text: str) -> str:
    """Escape `text` for HTML, as prose: direction marks of honest languages stay.

    Examples
    --------
    >>> esc("<script>")
    '&lt;script&gt;'
    """
    return html.escape(plain(text))


def esc_strict(text: str) -> str:
    r"""Escape `text` for HTML, as code: everything invisible is made visible.

    Examples
    --------
    >>> esc_strict("rm \u202etxt")
    'rm ⟨U+202E⟩txt'
    """
    return html.escape(_ODD_IN_CODE.sub(_shown, _joined(text)))


def clip(text: str, limit: int) -> str:
    """Shorten `text` to `limit` characters, with an ellipsis where something is cut.

    Examples
    --------
    >>> clip("Lisbon", 4)
    'Lis…'
    """
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def tail(pieces: Sequence[str], limit: int) -> str:
    """Join the last pieces that hold `limit` characters, without touching those before them.

    Examples
    --------
    >>> tail(["one ", "two ", "three"], 7)
    'o three'
    """
    chosen: list[str] = []
    left = limit
    for piece in reversed(pieces):
        if left <= 0:
            break
        chosen.append(piece if len(piece) <= left else piece[-left:])
        left -= len(piece)
    return "".join(reversed(chosen))


def paragraphs(text: str, css: str = "") -> str:
    r"""Prose as ``<p>`` elements: blank lines separate them, single line breaks are kept.

    Examples
    --------
    >>> paragraphs("one\n\ntwo")
    '<p dir="auto">one</p><p dir="auto">two</p>'
    """
    parts = [part for part in re.split(r"\n[ \t]*(?:\n[ \t]*)+", text.strip("\n")) if part.strip()]
    if len(parts) > _MAX_PARAGRAPHS:
        # Thousands of tiny elements would stall a page; the oldest share one.
        early = "\n\n".join(parts[:-_MAX_PARAGRAPHS])
        parts = [early, *parts[-_MAX_PARAGRAPHS:]]
    name = f' class="{css}"' if css else ""
    return "".join(f'<p{name} dir="auto">{esc(part)}</p>' for part in parts)


def readable(text: str) -> tuple[tuple[str, str], ...] | None:
    r"""Read JSON arguments as (name, value) pairs for people; None where they are no JSON object.

    The lines of a text stand below each other, each behind a mark: a text must not be able to look
    like an argument of its own.

    Examples
    --------
    >>> readable('{"city": "Lisbon", "days": 2}')
    (('city', '"Lisbon"'), ('days', '2'))
    >>> print(readable('{"note": "one\\ntwo"}')[0][1])
    "one
      │ two"
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return tuple((str(name), _value(part)) for name, part in value.items())


def _value(part: object) -> str:
    if isinstance(part, str) and "\n" in part:
        lines = [json.dumps(line, ensure_ascii=False)[1:-1] for line in part.split("\n")]
        return '"' + "\n  │ ".join(lines) + '"'
    return json.dumps(part, ensure_ascii=False, indent=1 if _nested(part) else None)


def age(value: float) -> str:
    """How long something has lasted, as exactly as one wants to know it.

    Examples
    --------
    >>> age(3.4), age(75), age(3700), age(200_000)
    ('3 s', '1 min', '1 h 1 min', '2 d 7 h')
    """
    whole = int(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def _nested(value: object) -> bool:
    return isinstance(value, (dict, list)) and len(json.dumps(value)) > 72


def seconds(value: float) -> str:
    """A moment or a duration in seconds, as in a steer's trail.

    Examples
    --------
    >>> seconds(3.1), seconds(75.0)
    ('3.10 s', '1:15')
    """
    return f"{value:.2f} s" if value < 60 else clock(value)


def clock(value: float) -> str:
    """Minutes and seconds.

    Examples
    --------
    >>> clock(42.3), clock(3605)
    ('0:42', '1:00:05')
    """
    whole = max(int(value), 0)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def grouped(number: int) -> str:
    """Whole number with thin spaces between the thousands.

    Examples
    --------
    >>> grouped(1204)
    '1\u202f204'
    """
    return f"{number:,}".replace(",", "\u202f")


def count(number: int, word: str, plural: str | None = None) -> str:
    """Number and noun.

    Examples
    --------
    >>> count(1, "answer"), count(3, "answer"), count(2, "reply", "replies")
    ('1 answer', '3 answers', '2 replies')
    """
    return f"{grouped(number)} {word if number == 1 else plural or word + 's'}"


def size(number: int) -> str:
    """Characters or bytes, rounded for reading.

    Examples
    --------
    >>> size(900), size(66_000), size(5_300_000)
    ('900', '64 K', '5.1 M')
    """
    if number < 1024:
        return str(number)
    if number < 1024 * 1024:
        return f"{number / 1024:.0f} K"
    return f"{number / 1024 / 1024:.1f} M"


def first_text(values: Iterable[object]) -> str:
    """Return the first non-empty string of `values`, or an empty one."""
    return next((value for value in values if isinstance(value, str) and value), "")
