"""What a model, a server or a tool writes is text on the screen and nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from steer_nb.widgets import render
from steer_nb.widgets.text import esc, esc_strict, plain
from tests.widgets.story import SEVEN, Story

HOSTILE = {
    "script": "<script>window.pwned=1</script>",
    "image": '"><img src=x onerror="window.pwned=1">',
    "style": "</style><style>*{display:none}</style>",
    "attribute": "\" onmouseover='window.pwned=1' x=\"",
    "comment": "--><svg onload=window.pwned=1>",
    "entity": "&lt;script&gt;&#x3c;b&#x3e;",
    "override": "approve\u202eyneD\u202c \u2066x\u2069",
    "terminal": "\x1b[2J\x1b]0;pwned\x07\x00\x9b31m",
    "surrogate": "half \ud83d of \ude00",
    "math": "$5 and $6 \\(x\\) $$y$$",
    "url": "javascript:window.pwned=1",
    "word": "ä" * 20_000,
    "template": "{{constructor.constructor('x')()}} ${1} %s %(a)s",
}
ALLOWED = {
    "style", "div", "span", "bdi", "b", "p", "details", "summary", "i", "code", "ins", "del",
    "table", "thead", "tbody", "tr", "th", "td",
    # what Markdown may become
    "a", "blockquote", "em", "hr", "li", "ol", "pre", "s", "strong", "ul",
}  # fmt: skip
EMPTY = {"hr"}
ATTRIBUTES = {
    "class", "dir", "role", "title", "aria-label", "aria-hidden", "style", "tabindex", "scope",
    "aria-level", "href", "rel", "start", "target", "data-snb-card", "data-snb-key",
    "data-snb-paint", "data-snb-show", "data-snb-title",
}  # fmt: skip


class Checker(HTMLParser):
    """Only our own elements and attributes may be there."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.styles = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        self.styles += tag == "style"
        if tag not in EMPTY:
            self.stack.append(tag)
        if tag == "a":
            assert dict(attrs).keys() == {"href", "rel", "target"}
        for name, value in attrs:
            assert name in ATTRIBUTES, (tag, name, value)
            if name == "style":
                assert re.fullmatch(r"animation-delay:-\d\.\d\ds", value or ""), value
            if name == "href":
                assert re.match(r"(?i)(https?://|mailto:)[!-~]*\Z", value or ""), value
            if name == "rel":
                assert "noopener" in (value or "")
            if name == "start":
                assert re.fullmatch(r"\d{1,9}", value or ""), value
            if name.startswith("data-"):
                assert re.fullmatch(r"[a-z0-9.]+", value or ""), value
            if name == "class":
                assert re.fullmatch(r"[a-z_0-9 -]+", value or ""), value

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


def check(html: str) -> None:
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.stack == []
    assert checker.styles == 1
    html.encode("utf-8")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]", html)


def poisoned(value: Any, text: str) -> Any:
    """Every string of a message replaced, but those that say what it is."""
    if isinstance(value, dict):
        keep = {"type", "id", "call_id", "stream_id", "environment", "execution", "status"}
        return {k: v if k in keep else poisoned(v, text) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(part, text) for part in value]
    return text if isinstance(value, str) else value


def hostile_story(text: str) -> Story:
    story = Story()
    story.create(0.1, text)
    story.created(0.2, "resp_1", model=text)
    story.item(0.3, 0, {"type": "reasoning", "id": "rs", "summary": []})
    story.event(
        0.3,
        "response.reasoning_summary_text.delta",
        output_index=0,
        summary_index=0,
        delta=text,
    )
    story.text(0.3, 1, text, f"\n\n{text}\n{text}")
    story.delta(0.4, 1, text, kind="refusal")
    calls: list[dict[str, Any]] = [
        *(poisoned(call, text) for call in SEVEN),
        {"type": text, "id": "odd", "x": text, text: text},
        {"type": "mcp_call", "id": "m", "name": text, "arguments": text, "output": text},
        {"type": "mcp_call", "id": "m2", "name": text, "arguments": json.dumps({text: text})},
        {"type": "web_search_call", "id": "w", "action": {"query": text}},
        {"type": "file_search_call", "id": "f", "queries": [text]},
        {"type": "code_interpreter_call", "id": "c", "code": text},
        {"type": "image_generation_call", "id": "i", "result": text},
        {"type": "mcp_list_tools", "id": "l", "tools": [{"name": text}]},
        {"type": "shell_call_output", "id": "so", "output": [{"stdout": text, "stderr": text}]},
        {"type": "function_call_output", "id": "fo", "output": text},
        {"type": "computer_call_output", "id": "co", "output": {"image_url": text}},
    ]
    for index, call in enumerate(calls):
        story.item(0.5, index + 2, call, done=0.6)
    story.steer(
        0.7, "resp_1", [{"role": "user", "content": [{"type": "input_text", "text": text}]}]
    )
    story.event(
        0.8,
        "response.steer.failed",
        steer={"previous_response_id": "resp_1", "input": text},
        error={"code": text, "message": text},
    )
    story.steer(0.81, "resp_1", text)
    story.accepted(0.82, "s2", "resp_1")
    story.event(
        0.83,
        "response.steer.pending",
        steer={"id": "s2", "previous_response_id": "resp_1"},
        reason=text,
        required_input=[{"type": text, "call_id": text, "name": text}],
    )
    return story


@pytest.mark.parametrize("name", HOSTILE)
def test_a_lane_is_text_and_nothing_else(name: str) -> None:
    text = HOSTILE[name]
    story = hostile_story(text)
    check(render.lane_card(story.ledger, story.lane, 1.0))
    check(render.board(story.ledger, 1.0))
    check(render.response_card(story.ledger.responses["resp_1"], 1.0))
    story.ended(0.9, "resp_1", "failed", error={"code": text, "message": text})
    check(render.lane_card(story.ledger, story.lane, 1.0))
    check(render.board(story.ledger, 1.0))
    story.event(1.0, "error", error={"code": text, "message": text, "param": text})
    check(render.lane_card(story.ledger, story.lane, 1.0))


@pytest.mark.parametrize("name", HOSTILE)
def test_answers_are_text_and_nothing_else(name: str) -> None:
    text = HOSTILE[name]
    story = hostile_story(text)
    story.ended(0.9, "resp_1")
    items = [
        {"type": "function_call_output", "call_id": "call_Qx1", "output": text},
        {
            "type": "custom_tool_call_output",
            "call_id": "call_Qx2",
            "output": [
                {"type": "input_text", "text": text},
                {"type": "input_image", "image_url": text},
                {"type": "input_file", "filename": text},
                {"type": text},
            ],
        },
        {"type": "tool_search_output", "call_id": "call_Qx6", "tools": [{"name": text}]},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_9", "reason": text},
        {"type": "apply_patch_call_output", "call_id": "call_Qx5", "status": text, "output": text},
    ]
    for item in items:
        key = item.get("call_id") or item["approval_request_id"]
        story.note(1.0, "filled", lane="planner", parent="resp_1", key=key, item=item, by="user")
    check(render.lane_card(story.ledger, story.lane, 1.0))


@pytest.mark.parametrize("name", HOSTILE)
def test_plain_text_holds_no_controls(name: str) -> None:
    story = hostile_story(HOSTILE[name])
    for text in (
        render.lane_plain(story.ledger, story.lane, 1.0),
        render.board_plain(story.ledger),
    ):
        text.encode("utf-8")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]", text)


def test_hostile_ends_of_lanes_names_and_patches() -> None:
    check(render.frame("", '"><script>'))
    story = Story(None)
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    check(render.lane_card(story.ledger, story.lane, 1.0))


def test_direction_marks_of_honest_languages_stay_in_prose_and_show_in_code() -> None:
    arabic = "اليوم\u200f الأول"
    assert esc(arabic) == arabic
    assert "⟨U+200F⟩" in esc_strict(arabic)
    assert esc("🇵🇹👨\u200d👩\u200d👧") == "🇵🇹👨\u200d👩\u200d👧"
    assert esc_strict("👨\u200d👩") == "👨\u200d👩"


def test_one_emoji_cut_over_two_deltas_is_whole_again() -> None:
    assert plain("\ud83d" + "\ude00") == "😀"
    assert plain("\ud83d!") == "\ufffd!"
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    story.text(0.3, 0, "\ud83d", "\ude00")
    assert "😀" in render.lane_card(story.ledger, story.lane, 1.0)


def test_formulas_are_left_alone() -> None:
    story = hostile_story("$5 and $6")
    html = render.lane_card(story.ledger, story.lane, 1.0)
    assert "tex2jax_ignore mathjax_ignore" in html
