"""Markdown: whatever is written, only what is allowed comes out, and nothing of it is lost."""

from __future__ import annotations

import re
import time
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from steer_nb.ledger.contents import ItemState
from steer_nb.widgets import markdown as module
from steer_nb.widgets.markdown import Blocks, fence_after, markdown
from steer_nb.widgets.reading import LINES, Reader, Window
from steer_nb.widgets.text import plain
from tests.widgets.test_hostile import HOSTILE, Checker

if TYPE_CHECKING:
    from collections.abc import Callable

PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                *("*", "**", "_", "`", "```", "~~~", "~~", "#", "##", "> ", "- ", "1. ", "|", "\n"),
                *("|---|", "[", "](", ")", "![", "<", ">", "<script>", "</style>", "&lt;", "\\"),
                *("http://a.example/x", "javascript:x", "mailto:a@b", "\n\n", "    ", "\t", '"'),
                *("\u202e", "\x1b[2J", "\ud83d", "\x00", "\r", "--", "===", "onerror=x", "```py"),
            ]
        ),
        st.text(max_size=6),
    ),
    max_size=40,
)
TEXTS = PIECES.map("".join)


def check(html: str) -> None:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.stack == []
    assert "<style" not in html


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W\d_]+", re.sub(r"⟨U\+[0-9A-F]+⟩", "", text)))


def read(html: str) -> str:
    """What a reader sees."""
    return unescape(re.sub(r"<[^>]*>", "", html.replace(module._PICTURE, "")))


@settings(max_examples=400, deadline=None)
@given(TEXTS)
@example("| a |\n|---|\n| 1 | lost |")
@example("> " * 30 + "deep")
@example("- " * 30 + "deep")
@example('[a](http://x "shown") ![b](http://y "too") <mailto:a@b.example> <a@b.example>')
@example("[a]: http://x 'hidden'\n\n&amp; &#x41;\n\n<!-- hidden -->")
def test_whatever_is_written_is_read_and_nothing_else(text: str) -> None:
    html = markdown(text)
    check(html)
    assert letters(read(html)) == letters(plain(text))


@settings(max_examples=200, deadline=None)
@given(TEXTS, st.sampled_from(["```", "~~~~ sh"]))
def test_a_text_that_begins_in_a_fence_is_safe_too(text: str, fence: str) -> None:
    check(markdown(text, fence))


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_markdown_is_text(name: str) -> None:
    text = HOSTILE[name]
    frames: list[Callable[[str], str]] = [
        lambda t: f"# {t}\n\n**{t}**",
        lambda t: f"[{t}]({t})",
        lambda t: f"![{t}]({t})",
        lambda t: f"<{t}>",
        lambda t: f"```{t}\n{t}\n```",
        lambda t: f"| {t} |\n|---|\n| {t} |",
        lambda t: f"- {t}\n  1. {t}",
        lambda t: f"> {t}\n`{t}`",
        lambda t: f"[x](http://a.example/{t})",
        lambda t: f'[x](http://a.example "{t}")',
        lambda t: f"[x]: http://a.example '{t}'\n\n[x]",
    ]
    for frame in frames:
        html = markdown(frame(text))
        check(html)
        assert "<img" not in html
        assert letters(read(html)) == letters(plain(frame(text)))


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "&#106;avascript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "//a.example/x",
        "/lab/tree/x.ipynb",
        "http:\\\\a.example",
        "blob:x",
    ],
)
def test_only_the_web_and_mail_are_linked(url: str) -> None:
    for text in (f"[x]({url})", f"[x](<{url}>)", f"<{url}>"):
        assert "<a " not in markdown(text), text


def test_a_link_shows_where_it_leads() -> None:
    html = markdown("[https://bank.example](https://evil.example/ä?a=1&b=2)")
    assert 'href="https://evil.example/%C3%A4?a=1&amp;b=2"' in html
    assert 'rel="noopener noreferrer nofollow"' in html
    assert "(<bdi>https://evil.example/ä?a=1&amp;b=2</bdi>)" in html
    assert markdown("<https://a.example>").count("https://a.example") == 2, "itself, not twice"


def test_pictures_are_named_and_never_loaded() -> None:
    html = markdown('![a **cat**](https://a.example/x.png "mine")')
    assert read(html) == "[ a cat, https://a.example/x.png, mine]"
    assert "picture:" in html


SAMPLE = """# Two days

Take *tram 28*, **early**; ~~not late~~. `code`

1. Alfama

   more of it
2. Belém
   - pastéis
     ```sh
     ls

     pwd
     ```
   - tower

| day | cost |
|:----|-----:|
| 1 | 120 € |

```python
def f():

    return 1
```

> A quote.
> Its end.

---
Done.
"""


def test_drawn_in_blocks_it_is_the_same_as_drawn_at_once() -> None:
    whole = module._emit(module._reader().parse(SAMPLE))
    assert markdown(SAMPLE) == whole
    for tag in ("div", "ol", "ul", "li", "table", "pre", "code", "blockquote", "hr", "em", "s"):
        assert f"<{tag}" in whole


def test_half_written_it_never_looks_broken() -> None:
    for end in range(len(SAMPLE)):
        html = markdown(SAMPLE[:end])
        check(html)
        assert letters(read(html)) == letters(SAMPLE[:end])
    assert markdown("```py\nx = 1").startswith("<pre")
    assert "<table>" in markdown("| a | b |\n|--")
    assert "snb-h" not in markdown("One\n-"), "a list begins, no heading"


def test_a_paint_costs_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    real = module._draw

    def counted(source: str) -> str:
        drawn.append(source)
        return real(source)

    monkeypatch.setattr(module, "_draw", counted)
    blocks = Blocks()
    text = "".join(f"Paragraph {number} of *many*.\n\n" for number in range(100))
    markdown(text, blocks=blocks)
    drawn.clear()
    for word in ("And", " so", " on"):
        text += word
        markdown(text, blocks=blocks)
    assert len(drawn) == 3
    assert all(len(source) < 100 for source in drawn)


BAD = {
    "brackets": "[" * 60_000,
    "links": "[a](" * 15_000,
    "pictures": "![" * 30_000,
    "stars": "*a **b _c " * 6_000,
    "quotes": "> " * 30_000,
    "lists": "- " * 30_000,
    "cells": "|a" * 1_000 + "\n" + "|-" * 1_000 + "\n" + "|\n" * 20_000,
    "ticks": "".join("`" * number + " " for number in range(1, 340)),
    "lines": "- a\n" * 15_000,
    "tags": "*a* " * 15_000,
    "one line": "x" * 5_000_000,
    "fence": "```\n" + "x\n" * 30_000,
    "inner fence": "- ```\n" + "  x\n" * 15_000 + "```\n*a*",
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_made_to_be_slow_is_bounded(name: str) -> None:
    window = Window(64 * 1024)
    window.feed(BAD[name])
    start = time.process_time()
    html = markdown(window.text, window.fence)
    took = time.process_time() - start
    check(html)
    assert html.count("<") < 20_000
    assert len(html) < 1_500_000
    assert took < 5, "a hundred times what is usual"


def item(*pieces: str) -> ItemState:
    made = ItemState(0)
    made.parts["text", 0] = list(pieces)
    return made


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(alphabet="ab`~\n ", max_size=30), max_size=30), st.integers(8, 60))
def test_a_window_shows_the_end_and_counts_the_rest(pieces: list[str], cap: int) -> None:
    growing = item()
    window = Window(cap)
    for piece in pieces:
        growing.parts["text", 0].append(piece)
        window.follow(growing, "text")
    whole = "".join(pieces)
    assert window.text == whole[window.hidden :]
    assert len(window.text) <= cap
    if not window.hidden or whole[window.hidden - 1] == "\n":
        again = Window(cap)
        again.feed(whole)
        assert again.text == whole[again.hidden :]


def test_a_window_that_begins_in_a_fence_knows_it() -> None:
    window = Window(1000)
    window.feed("Look:\n```python\n")
    for number in range(LINES):
        window.feed(f"line {number}\n")
    assert window.fence == "```python"
    assert markdown(window.text, window.fence).startswith("<pre")
    window.feed("```\n*done*\n")
    assert "<em>done</em>" in markdown(window.text, window.fence)
    assert fence_after("- ```\n  x\n") == "```"
    assert fence_after("~~~\n```\n~~~\n") == ""


def test_a_window_begins_anew_where_a_text_is_replaced() -> None:
    growing = item("one ", "two")
    window = Window(100)
    window.follow(growing, "text")
    assert window.text == "one two"
    growing.parts["text", 0] = ["One, two."]
    window.follow(growing, "text")
    assert window.text == "One, two."
    growing.parts["text", 1] = ["Another part."]
    window.follow(growing, "text")
    assert window.text == "One, two.\n\nAnother part."
    growing.parts["text", 0].append("!")
    window.follow(growing, "text")
    assert window.text == "One, two.!\n\nAnother part."


def test_a_reader_forgets_what_it_does_not_need(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader()
    things = [item(f"text {number}") for number in range(3)]
    for thing in things:
        reader.window(thing, "text", 100)
    reader.turn()
    kept = reader.window(things[0], "text", 100)
    reader.turn()
    assert reader.window(things[0], "text", 100) is kept
    assert len(reader._older) == 1
    drawn: list[Any] = []
    monkeypatch.setattr("steer_nb.widgets.reading.markdown", lambda *a: drawn.append(a) or "<p>")
    for _ in range(3):
        reader.markdown(kept, 100)
    assert len(drawn) == 1, "a finished text is drawn once"
