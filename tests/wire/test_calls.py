"""What a call asks for, in lines; whatever the model wrote."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steer_nb.wire import describe_call
from steer_nb.wire.calls import _DESCRIBERS
from tests.wire.samples import CALLS


@pytest.mark.parametrize(
    ("kind", "lines"),
    [
        ("function_call_output", [("city", '"Lisbon"'), ("days", "2")]),
        ("custom_tool_call_output", [("input", "select 1")]),
        (
            "computer_call_output",
            [("action", "click left at 10, 20"), ("safety check", "odd: Looks odd")],
        ),
        ("shell_call_output", [("$", "ls trips/"), ("$", "pwd"), ("timeout", "30 s")]),
        ("apply_patch_call_output", [("update file", "plan.md"), ("diff", "@@\n-a\n+b")]),
        ("tool_search_output", [("query", '"calendar"')]),
        (
            "mcp_approval_response",
            [("server", "calendar"), ("tool", "delete_event"), ("event_id", '"evt_55"')],
        ),
        ("local_shell_call_output", [("$", "ls -l 'my trips'"), ("environment", "A=1")]),
    ],
)
def test_each_kind(kind: str, lines: list[tuple[str, str]]) -> None:
    assert describe_call(CALLS[kind]) == lines


@pytest.mark.parametrize("kind", ["letta_approval_call", "letta_tool_call"])
def test_of_a_call_of_an_agent_its_arguments(kind: str) -> None:
    call = {"type": kind, "name": "delete_file", "otid": "message-1", "arguments": '{"path": "/a"}'}
    assert describe_call(call) == [("path", '"/a"')]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ("", []),
        ("{}", []),
        ('{"city', [("arguments", '{"city')]),
        ("[1]", [("arguments", "[1]")]),
        ('{"a":NaN}', [("a", "NaN")]),
        ('{"text":"two\\nlines"}', [("text", "two\nlines")]),
        ('{"é":{"x":["ö"]}}', [("é", '{"x": ["ö"]}')]),
        ({"a": 1}, [("a", "1")]),
        (["a"], [("arguments", '["a"]')]),
        (None, []),
    ],
)
def test_arguments(arguments: Any, lines: list[tuple[str, str]]) -> None:
    assert describe_call({"type": "function_call", "arguments": arguments}) == lines


def test_batches_of_actions_are_numbered() -> None:
    call = {
        "type": "computer_call",
        "actions": [
            {"type": "double_click", "x": 1, "y": 2, "keys": None},
            {"type": "scroll", "x": 1, "y": 2, "scroll_x": 0, "scroll_y": 5},
            {"type": "type", "text": "hello"},
            "odd",
        ],
    }
    assert describe_call(call) == [
        ("action 1", "double click at 1, 2"),
        ("action 2", "scroll at 1, 2 scroll x 0 scroll y 5"),
        ("action 3", 'type text "hello"'),
        ("action 4", '"odd"'),
    ]


def test_all_of_a_local_shell_call() -> None:
    action = {"command": "ls", "working_directory": "/tmp", "user": "me", "timeout_ms": 1500}
    assert describe_call({"type": "local_shell_call", "action": action}) == [
        ("$", "ls"),
        ("directory", "/tmp"),
        ("user", "me"),
        ("timeout", "1.5 s"),
    ]


def test_limits_of_a_shell_call() -> None:
    action = {"commands": ["ls"], "timeout_ms": "soon", "max_output_length": 100}
    assert describe_call({"type": "shell_call", "action": action}) == [
        ("$", "ls"),
        ("timeout", '"soon"'),
        ("output limit", "100 characters"),
    ]


def test_unknown_kinds_show_what_they_have() -> None:
    call = {"type": "dream_call", "id": "d", "call_id": "c", "mood": "calm", "arguments": '{"a":1}'}
    assert describe_call(call) == [("mood", '"calm"'), ("a", "1")]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(
    ["arguments", "input", "action", "actions", "operation", "pending_safety_checks", "name"]
)


@settings(deadline=None, max_examples=80)
@given(st.sampled_from([*_DESCRIBERS, "dream_call"]), st.dictionaries(NAMES, JSON, max_size=4))
def test_never_raises(kind: str, rest: dict[str, Any]) -> None:
    for label, text in describe_call({"type": kind, **rest}):
        assert isinstance(label, str)
        assert isinstance(text, str)


def test_values_too_large_or_deep_are_named_not_shown() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    [(label, text)] = describe_call({"type": "dream_call", "mood": deep})
    assert (label, text) == ("mood", "(list too large or too deep to show)")
