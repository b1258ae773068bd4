"""Markdown as a model writes it, drawn with a short list of elements and nothing else.

`markdown-it-py` reads it; what is emitted is written here, element by element, so that nothing can
come through that is not on the list. No raw HTML, no pictures, no link but to the web or to an
address of mail, and that with its address to be seen. Nothing that was written is left out: where
the grammar would drop something, the text is shown as it came.

A text is drawn in blocks, each by itself, because a streamed one is drawn ten times a second: only
its last block is new then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from steer_nb.widgets.text import clip, esc, esc_strict, paragraphs, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["Blocks", "fence_after", "markdown"]

_BLOCK: Final = 4 * 1024
"""Most characters that are read as Markdown at once: what is new in a paint costs no more."""

_MOST_TAGS: Final = 3_000
"""Most tags of one text; what is older than that is shown as it came."""

_KEPT: Final = 1024 * 1024
"""Most characters of drawn blocks that one view keeps, or twice that."""

_MOST_CELLS: Final = 2_000
_SCHEMES: Final = ("http://", "https://", "mailto:")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_FENCE: Final = re.compile(r"((?:[ \t]|[-*+] |\d{1,9}[.)] )*)(`{3,}(?=[^`]*$)|~{3,})(.*)")
_GOES_ON: Final = re.compile(r"[ \t]|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)")
_HALF_RULE: Final = re.compile(r"[ \t]*\|?[ \t:|-]*")

_PICTURE: Final = '<span class="snb-soft">picture:</span>'
_CODED: Final = re.compile("\u27e8U\\+[0-9A-F]{4,6}\u27e9")

# Elements that take no care: they are what the grammar says they are.
_PLAIN_TAGS: Final = {
    "ul": "ul",
    "li": 'li dir="auto"',
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "em": "em",
    "strong": "strong",
    "s": "s",
    "blockquote": 'blockquote dir="auto"',
}


@dataclass(slots=True)
class Blocks:
    """The blocks of texts that were drawn, kept from one paint to the next; the newest of them."""

    _drawn: dict[str, str] = field(default_factory=dict)
    _older: dict[str, str] = field(default_factory=dict)
    _size: int = 0

    def draw(self, source: str) -> str:
        """Draw one block, once."""
        html = self._drawn.get(source)
        if html is not None:
            return html
        if self._size > _KEPT:
            self._older, self._drawn, self._size = self._drawn, {}, 0
        html = self._older.get(source)
        if html is None:
            html = _draw(source)
        self._drawn[source] = html
        self._size += len(source) + len(html)
        return html


def markdown(text: str, fence: str = "", blocks: Blocks | None = None) -> str:
    r"""Draw a text, whole or half written, as Markdown.

    Parameters
    ----------
    text : str
        What a model wrote.
    fence : str
        The line that opened a fence before `text` begins, where it begins inside one.
    blocks : Blocks, optional
        What was drawn before.

    Returns
    -------
    str
        HTML of allowed elements only, everything foreign escaped.

    Examples
    --------
    >>> markdown("**Day 1** of [the plan](https://example.com)")[:40]
    '<p dir="auto"><strong>Day 1</strong> of '
    >>> markdown("<b onclick=x> _a")
    '<p dir="auto">&lt;b onclick=x&gt; _a</p>'
    """
    known = Blocks() if blocks is None else blocks
    shown: list[str] = []
    tags = 0
    for kind, source in reversed(list(_split(plain(text), fence))):
        if tags > _MOST_TAGS:
            html = f'<p dir="auto">{esc(source)}</p>' if source.strip() else ""
        elif kind == "fence":
            opening, _, body = source.partition("\n")
            html = _code(body, opening.strip("`~ \t"))
        else:
            source = source.strip("\n")
            html = known.draw(source) if len(source) <= 2 * _BLOCK else paragraphs(source)
        tags += html.count("<")
        shown.append(html)
    return "".join(reversed(shown))


def fence_after(text: str, fence: str = "") -> str:
    r"""Return the line that opened the fence that is open at the end of `text`, or nothing.

    Examples
    --------
    >>> fence_after("```py\nx = 1\n"), fence_after("```py\nx = 1\n```\n")
    ('```py', '')
    """
    if "```" not in text and "~~~" not in text:
        return fence
    for found in re.finditer(r"^.*(?:```|~~~).*$", text, re.MULTILINE):
        line = found[0]
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif opened := _FENCE.match(line):
            fence = opened[2] + clip(opened[3], 80)
    return fence


def _closes(line: str, fence: str) -> bool:
    mark = fence[0] * (len(fence) - len(fence.lstrip(fence[0])))
    shown = line.strip(" \t")
    return shown.startswith(mark) and not shown.strip(mark[0])


def _split(text: str, fence: str) -> Iterator[tuple[str, str]]:
    """Cut a text where Markdown begins anew: fences at a line's begin, and what is between them.

    A blank line ends a block where the next line cannot belong to a list that was begun before.
    """
    lines: list[str] = [fence] if fence else []
    kind, size, blank = ("fence" if fence else "text"), 0, False
    inner = ""  # the fence inside of a list's item
    for line in text.split("\n"):
        if kind == "fence":
            if _closes(line, fence):
                yield kind, "\n".join(lines)
                lines, kind, size, blank = [], "text", 0, False
            else:
                lines.append(line)
            continue
        found = None if inner else _FENCE.match(line)
        fresh = not inner and blank and line.strip() and not _GOES_ON.match(line)
        large = size + len(line) > _BLOCK and not (inner and size < 2 * _BLOCK)
        if lines and (fresh or large or (found and not found[1])):
            yield kind, "\n".join(lines)
            lines, size = [], 0
            if inner and not _closes(line, inner):  # too long to be drawn with its list
                kind, fence, inner = "fence", inner, ""
                lines = [fence, line]
                continue
        if found and not found[1]:
            kind, fence, lines = "fence", line, [line]
            continue
        if inner:
            inner = "" if _closes(line, inner) else inner
        elif found:
            inner = found[2] + found[3]
        blank = not line.strip()
        lines.append(line)
        size += len(line) + 1
    if lines:
        yield kind, "\n".join(lines)


@cache
def _reader() -> MarkdownIt:
    """Make the reader: loaded when the first text is drawn."""
    from markdown_it import MarkdownIt

    # Off: what would hide something (definitions of links, entities), what would let foreign HTML
    # in, and headings by underline, as which each list begins for a moment while it is streamed.
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    reader.disable(["reference", "html_block", "html_inline", "lheading", "entity"])
    vars(reader).update(normalizeLink=str, normalizeLinkText=str, validateLink=_may_link)
    return reader


def _may_link(url: str) -> bool:
    return url.lower().startswith(_SCHEMES) and not re.search(r"[\x00-\x20\x7f-\x9f]", url)


def _draw(source: str) -> str:
    if not source.strip():
        return ""
    source = _whole_rule(source)
    lines = source.strip("\n").split("\n")
    widest = max(line.count("|") for line in lines)
    if widest * len(lines) > _MOST_CELLS and any(map(_is_rule, lines)):
        return paragraphs(source)  # a few characters may ask for a hundred thousand cells
    html = _emit(_reader().parse(source))
    # What the grammar drops (cells that no column has, what is nested too deeply) must not be lost.
    return html if _said(source) == _said(_words(html)) else paragraphs(source)


def _said(text: str) -> str:
    return "".join(_LETTERS.findall(_CODED.sub("", text)))


def _words(html: str) -> str:
    from html import unescape

    return unescape(re.sub(r"<[^>]*>", "", html.replace(_PICTURE, "")))


def _is_rule(line: str) -> bool:
    return "-" in line and _HALF_RULE.fullmatch(line) is not None


def _whole_rule(source: str) -> str:
    """Complete the line under a table's head while it is written: it is a table already."""
    head, _, last = source.rpartition("\n")
    titles = head.rpartition("\n")[2].strip()
    if not titles.startswith("|") or "|" not in last or not _is_rule(last):
        return source
    columns = len(re.findall(r"(?<!\\)\|", titles.strip("|"))) + 1
    before = head.rstrip("\n").split("\n")
    if len(before) > 1 and "|" in before[-2]:
        return source  # a row like any other
    return f"{head}\n|{'---|' * columns}" if columns < 50 else source


def _emit(tokens: Sequence[Token]) -> str:
    """Write out what the reader found; kinds of tokens that are not known become text."""
    out: list[str] = []
    for token in tokens:
        kind, opens = token.type, token.nesting
        if token.hidden:
            continue
        if kind == "inline":
            out.append(_inline(token.children or ()))
        elif kind in ("paragraph_open", "paragraph_close"):
            out.append('<p dir="auto">' if opens == 1 else "</p>")
        elif kind in ("heading_open", "heading_close"):
            # Not `h1`: a notebook would list a model's headings among the person's own.
            level = min(max(int(token.tag[1:] or 1), 1), 6)
            head = (
                f'<div class="snb-h snb-h{level}" role="heading" aria-level="{level}" dir="auto">'
            )
            out.append(head if opens == 1 else "</div>")
        elif kind in ("fence", "code_block"):
            out.append(_code(token.content.removesuffix("\n"), token.info))
        elif kind == "hr":
            out.append("<hr>")
        elif kind in ("th_open", "td_open"):
            out.append(f'<{token.tag} dir="auto">')
        elif kind in ("th_close", "td_close"):
            out.append(f"</{token.tag}>")
        elif kind == "ordered_list_open":
            out.append(_numbered(token))
        elif kind == "ordered_list_close":
            out.append("</ol>")
        else:
            out.append(_tag(token))
    return "".join(out)


def _tag(token: Token) -> str:
    if token.tag in _PLAIN_TAGS and token.nesting:
        return f"<{_PLAIN_TAGS[token.tag]}>" if token.nesting == 1 else f"</{token.tag}>"
    return esc(token.content)


def _numbered(token: Token) -> str:
    start = token.attrGet("start")
    return f'<ol start="{int(start)}">' if start is not None else "<ol>"


def _code(body: str, info: str) -> str:
    # tabindex: a box that scrolls must be reachable without a mouse.
    name = f'<span class="snb-k">{esc_strict(info.strip())}</span>' if info.strip() else ""
    return f'<pre dir="ltr" tabindex="0">{name}<code>{esc_strict(body)}</code></pre>'


def _inline(tokens: Sequence[Token]) -> str:
    out: list[str] = []
    link = title = ""
    begins = 0
    for token in tokens:
        kind = token.type
        if kind in ("text", "text_special"):
            out.append(esc(token.content))
        elif kind in ("softbreak", "hardbreak"):
            out.append("\n")
        elif kind == "code_inline":
            out.append(f"<code>{esc_strict(token.content)}</code>")
        elif kind == "image":
            out.append(_picture(token))
        elif kind == "link_open":
            link, title = _attribute(token, "href"), _attribute(token, "title")
            begins = len(out) + 1
            out.append(_link(link))
        elif kind == "link_close":
            said = _words("".join(out[begins:]))
            out.append(f"</a>{_address(link, said)}")
            out.append(f" {esc_strict(title)}" if title else "")
        else:
            out.append(_tag(token))
    return "".join(out)


def _attribute(token: Token, name: str) -> str:
    value: Any = token.attrGet(name)
    return "" if value is None else str(value)


def _link(url: str) -> str:
    from markdown_it.common.normalize_url import normalizeLink

    # The whole address can be read beside it, too: what one points at is what opens.
    target = esc_strict(normalizeLink(url))
    return f'<a href="{target}" target="_blank" rel="noopener noreferrer nofollow">'


def _address(url: str, said: str) -> str:
    if said.strip() in (url, url.removeprefix("mailto:")):
        return ""
    return f' <span class="snb-soft">(<bdi>{esc_strict(url)}</bdi>)</span>'


def _picture(token: Token) -> str:
    """A picture is named, never loaded: that alone would tell somebody that it was looked at."""
    named = "".join(child.content for child in token.children or ()) or token.content
    about = [esc(named), *(esc_strict(_attribute(token, name)) for name in ("src", "title"))]
    return f"[{_PICTURE} {', '.join(part for part in about if part)}]"
