"""Which output item asks for what, and who owns it (chapter 6)."""

from __future__ import annotations

from typing import Any

import pytest
from openai.types.responses.response_output_item import ResponseOutputItem
from openai.types.responses.response_steer_required_input import ResponseSteerRequiredInput

from steer_nb.errors import InvalidInput
from steer_nb.wire import STUB_KINDS, UNKNOWN_KIND, kind_of, stub_for, stub_key
from tests.support.strict import assert_output_item, assert_stub, type_words
from tests.wire.samples import CALLS, STUBS

OFFICIAL = sorted(set(STUBS) - {"local_shell_call_output"})


def test_the_table_has_the_official_seven_and_the_local_shell() -> None:
    assert type_words(ResponseSteerRequiredInput) == set(OFFICIAL)
    assert set(STUB_KINDS) == set(STUBS) == {*OFFICIAL, "local_shell_call_output"}


def test_every_call_type_is_an_output_item_of_the_sdk() -> None:
    known = type_words(ResponseOutputItem)
    assert {call for kind in STUB_KINDS.values() for call in kind.call_types} <= known


@pytest.mark.parametrize("kind", sorted(STUBS))
def test_each_call_asks_for_its_stub(kind: str) -> None:
    assert_output_item(CALLS[kind])
    assert stub_for(CALLS[kind]) == STUBS[kind]
    if kind in OFFICIAL:
        assert_stub(STUBS[kind])


@pytest.mark.parametrize("kind", sorted(STUBS))
def test_the_key_joins_stub_and_call(kind: str) -> None:
    table = STUB_KINDS[kind]
    assert stub_key(STUBS[kind]) == CALLS[kind][table.call_key] == STUBS[kind][table.key_field]
    assert kind_of(STUBS[kind]) is table


@pytest.mark.parametrize(
    "item",
    [
        CALLS["shell_call_output"] | {"environment": None},
        {k: v for k, v in CALLS["shell_call_output"].items() if k != "environment"},
    ],
)
def test_a_shell_without_a_container_is_the_clients(item: dict[str, Any]) -> None:
    assert stub_for(item) == STUBS["shell_call_output"]


@pytest.mark.parametrize(
    "item",
    [
        CALLS["shell_call_output"]
        | {"environment": {"type": "container_reference", "container_id": "cntr_1"}},
        CALLS["shell_call_output"] | {"environment": "elsewhere"},
        CALLS["tool_search_output"] | {"execution": "server"},
        {k: v for k, v in CALLS["tool_search_output"].items() if k != "execution"},
        CALLS["tool_search_output"] | {"call_id": None},
        CALLS["function_call_output"] | {"call_id": ""},
        CALLS["function_call_output"] | {"call_id": 3},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "file_search_call", "id": "fs_1"},
        {"type": "code_interpreter_call", "id": "ci_1"},
        {"type": "image_generation_call", "id": "ig_1"},
        {"type": "mcp_call", "id": "mcp_1"},
        {"type": "function_call_output", "call_id": "call_1", "output": ""},
        {"type": "message", "id": "msg_1"},
        {"type": "reasoning", "id": "rs_1"},
        {"type": "telepathy_call", "call_id": "call_1"},
        {"type": ["function_call"], "call_id": "call_1"},
        {},
    ],
)
def test_what_the_client_does_not_own_has_no_stub(item: dict[str, Any]) -> None:
    assert stub_for(item) is None


def test_a_function_call_without_a_name() -> None:
    assert stub_for({"type": "function_call", "call_id": "c"}) == {
        "type": "function_call_output",
        "call_id": "c",
    }


@pytest.mark.parametrize(
    ("stub", "key"),
    [
        ({"type": "dream_output", "call_id": "a", "id": "b"}, "a"),
        ({"type": "dream_output", "approval_request_id": "a", "id": "b"}, "a"),
        ({"type": "dream_output", "id": "b"}, "b"),
        ({"call_id": 3, "id": "b"}, "b"),
        ({"type": None, "call_id": "a"}, "a"),
    ],
)
def test_keys_of_unknown_kinds(stub: dict[str, Any], key: str) -> None:
    assert stub_key(stub) == key
    assert kind_of(stub) is UNKNOWN_KIND


@pytest.mark.parametrize(
    "stub",
    [{}, {"type": "dream_output"}, {"type": "mcp_approval_response", "call_id": "c"}],
)
def test_a_stub_without_a_key_is_refused(stub: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="nothing can answer it"):
        stub_key(stub)


def test_fields_are_looked_up_by_name() -> None:
    kind = STUB_KINDS["mcp_approval_response"]
    approve = kind.field("approve")
    assert approve is not None
    assert (approve.kind, approve.required) == ("flag", True)
    assert kind.field("output") is None
