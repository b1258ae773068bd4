"""What is left of our HTML where a notebook is only looked at: no style sheet, no classes.

GitHub keeps the elements of prose and tables, and takes away styles, classes and roles.
"""

from __future__ import annotations

import html
import re

import nh3

__all__ = ["glued", "look", "sanitized"]

_BLOCK = (
    "div|p|tr|table|thead|tbody|pre|h[1-6]|ul|ol|li|details|summary|blockquote|dl|dt|dd|br|hr|td|th"
)
_INLINE_BETWEEN = re.compile(rf"(\S)((?:</?(?!(?:{_BLOCK})\b)[a-z][^>]*>)+)(\S)")


def sanitized(fragment: str) -> str:
    """The elements and the text that stay."""
    return nh3.clean(
        fragment,
        tags=nh3.ALLOWED_TAGS,
        attributes={"a": {"href"}},
        clean_content_tags={"style", "script"},
    )


def look(fragment: str) -> str:
    """What a person reads there: a line for each block, a bar between the cells of a table."""
    text, kept = "", 0
    for token in re.split(r"(<[^>]+>)", sanitized(fragment)):
        name = re.match(r"</?([a-z0-9]+)", token)
        if name is None:
            plain = html.unescape(token)
            text += plain if kept else re.sub(r"\s+", " ", plain)
            continue
        if name[1] == "pre":
            kept += -1 if token.startswith("</") else 1
        if name[1] in ("td", "th"):
            text += " | " if token.startswith("</") else ""
        elif re.fullmatch(_BLOCK, name[1]):
            text += "\n"
    return re.sub(r" *\n\s*", "\n", text).strip()


def glued(fragment: str) -> list[str]:
    """Places where two words stand in elements of their own and nothing parts them."""
    found = []
    clean = sanitized(fragment)
    for match in _INLINE_BETWEEN.finditer(clean):
        before, _, after = match.groups()
        if before not in "(\"'“>" and after not in ".,;:!?)\"'”<…":
            found.append(html.unescape(clean[max(match.start() - 30, 0) : match.end() + 30]))
    return found
