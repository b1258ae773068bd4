"""The strict checker itself: it must find faults, or every contract test is worth nothing."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.strict import (
    assert_client_event,
    assert_input_item,
    assert_output_item,
    assert_server_event,
    assert_stub,
    server_event_classes,
)

RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1795996800,
    "status": "in_progress",
    "model": "gpt-6-astra",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "previous_response_id": None,
}
CREATED: dict[str, Any] = {
    "type": "response.created",
    "sequence_number": 0,
    "stream_id": "a",
    "response": RESPONSE,
}


def test_a_whole_event_passes() -> None:
    assert_server_event(CREATED)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("sequence_number",), "0", r"\$\.sequence_number"),
        (("sequence_number",), True, r"\$\.sequence_number"),
        (("surprise",), 1, "no field 'surprise'"),
        (("response", "surprise"), 1, r"\$\.response: Response has no field 'surprise'"),
        (("response", "status"), "done", r"\$\.response\.status"),
        (("response", "output"), {}, r"\$\.response\.output"),
        (("response", "output"), [{"type": "message"}], r"needs 'content'"),
        (("response", "output"), [{"type": "dream"}], "'dream'"),
        (("type",), "response.dreamt", "'response.dreamt'"),
    ],
)
def test_faults_are_found(path: tuple[str, ...], value: object, said: str) -> None:
    event = copy.deepcopy(CREATED)
    target = event
    for name in path[:-1]:
        target = target[name]
    target[path[-1]] = value
    with pytest.raises(AssertionError, match=said):
        assert_server_event(event)


@pytest.mark.parametrize("name", ["sequence_number", "response"])
def test_missing_fields_are_found(name: str) -> None:
    event = {key: value for key, value in CREATED.items() if key != name}
    with pytest.raises(AssertionError, match=f"needs '{name}'"):
        assert_server_event(event)


def test_requests_are_typed_dicts_and_checked_all_the_same() -> None:
    answer = {"type": "function_call_output", "call_id": "c", "output": "18 °C"}
    request = {"type": "response.create", "model": "m", "input": [answer]}
    assert_client_event(request)
    assert_input_item(answer)
    with pytest.raises(AssertionError, match="needs 'output'"):
        assert_input_item({"type": "function_call_output", "call_id": "c"})
    with pytest.raises(AssertionError, match="no field 'outputs'"):
        assert_client_event(request | {"input": [answer | {"outputs": 1}]})
    with pytest.raises(AssertionError, match="needs 'previous_response_id'"):
        assert_client_event({"type": "response.steer", "input": "x"})


def test_stubs_hold_identifying_fields_only() -> None:
    assert_stub({"type": "custom_tool_call_output", "call_id": "c"})
    with pytest.raises(AssertionError, match="no field 'output'"):
        assert_stub({"type": "custom_tool_call_output", "call_id": "c", "output": ""})


def test_output_items() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    assert_output_item(call)
    with pytest.raises(AssertionError, match="no field 'argument'"):
        assert_output_item(call | {"argument": 1})


def test_the_union_is_read_whole() -> None:
    classes = server_event_classes()
    assert len(classes) > 50
    assert {"error", "response.created", "response.steer.pending"} <= classes.keys()
