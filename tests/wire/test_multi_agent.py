"""The messages of the multi-agent beta (chapter 7): read, built, and refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steer_nb.errors import InvalidInput
from steer_nb.wire import (
    InjectFailure,
    ResponseInjectCreatedEvent,
    ResponseInjectFailedEvent,
    decode,
    describe_call,
    encode,
    fill_stub,
    response_create,
    response_inject,
    several_agents,
)
from tests.support.strict import (
    assert_beta_client_event,
    assert_beta_output_item,
    assert_beta_server_event,
)
from tests.wire.samples import FILLS, STUBS

ANSWER = {"type": "function_call_output", "call_id": "call_1", "output": "18 °C"}
CREATED = {"type": "response.inject.created", "response_id": "resp_1", "sequence_number": 7}
FAILED = {
    "type": "response.inject.failed",
    "response_id": "resp_1",
    "sequence_number": 8,
    "stream_id": "team",
    "input": [ANSWER],
    "error": {"code": "response_already_completed", "message": "Too late."},
}


def test_the_samples_are_as_in_the_sdk() -> None:
    for event in (CREATED, FAILED):
        assert_beta_server_event(event)


def test_an_inject_that_was_committed() -> None:
    event = decode(json.dumps(CREATED))
    assert isinstance(event, ResponseInjectCreatedEvent)
    assert (event.response_id, event.sequence_number, event.stream_id) == ("resp_1", 7, None)
    assert (event.family, event.known, event.problem) == ("control", True, None)


def test_an_inject_that_was_not_gives_its_input_back() -> None:
    event = decode(json.dumps(FAILED))
    assert isinstance(event, ResponseInjectFailedEvent)
    assert event.input == (ANSWER,)
    assert event.error == InjectFailure("response_already_completed", "Too late.")
    assert event.error_fields.code == "response_already_completed"
    assert "response_already_completed" in repr(event)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"input": None}, "input"),
        ({"input": ["x"]}, "input"),
        ({"error": None}, "error"),
        ({"error": {"code": 3, "message": "m"}}, "error.code"),
        ({"response_id": None}, "response_id"),
        ({"response_id": 4}, "response_id"),
    ],
)
def test_what_is_odd_is_said_and_nothing_is_lost(change: dict[str, Any], named: str) -> None:
    event = decode(json.dumps(FAILED | change))
    assert isinstance(event, ResponseInjectFailedEvent)
    assert event.problem == "odd_field"
    assert named in event.detail
    assert event.payload == FAILED | change


def test_every_event_says_which_agent_it_comes_from() -> None:
    delta = '{"type":"response.output_text.delta","delta":"Hi","agent":{"agent_name":"/root/a"}}'
    assert decode(delta).agent_name == "/root/a"
    assert decode('{"type":"response.output_text.delta","delta":"Hi"}').agent_name is None
    null = decode('{"type":"response.output_text.delta","delta":"Hi","agent":null}')
    assert (null.agent_name, null.problem) == (None, None)


@given(agent=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_an_odd_agent_costs_nothing_but_a_note(agent: Any) -> None:
    event = decode(json.dumps({"type": "response.queued", "sequence_number": 1, "agent": agent}))
    assert (event.type, event.sequence_number, event.agent_name) == ("response.queued", 1, None)
    assert event.problem == (None if agent is None else "odd_field")


# -- requests --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(STUBS))
def test_an_inject_holds_three_fields_and_each_kind_of_answer(kind: str) -> None:
    answer = fill_stub(STUBS[kind], **FILLS[kind])
    request = response_inject("resp_1", [answer])
    assert request == {"type": "response.inject", "response_id": "resp_1", "input": [answer]}
    assert_beta_client_event(request)
    assert json.loads(encode(request)) == request


def test_an_inject_shares_nothing_with_what_was_given() -> None:
    answer = {**ANSWER, "output": [{"type": "input_text", "text": "a"}]}
    request = response_inject("resp_1", [answer])
    answer["output"][0]["text"] = "changed"
    assert request["input"][0]["output"][0]["text"] == "a"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "filled stubs only"),
        ("18", "filled stubs only"),
        (["18"], r"input\[0\]"),
        ([{"type": "message", "role": "user", "content": "x"}], r"input\[0\]\.type"),
        ([{**ANSWER, "type": "multi_agent_call_output"}], r"input\[0\]\.type"),
        ([ANSWER, ANSWER], r"input\[1\].*answered once"),
        ([{"type": "function_call_output", "output": "x"}], "call_id"),
    ],
)
def test_an_inject_takes_nothing_else(value: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        response_inject("resp_1", value)


def test_a_request_for_several_agents_is_as_in_the_sdk() -> None:
    asked = {"enabled": True, "max_concurrent_subagents": 2}
    request = response_create(model="gpt-5.6-sol", input="x", multi_agent=asked)
    assert request["multi_agent"] == asked
    assert several_agents(request)
    assert_beta_client_event(request)
    assert not several_agents(response_create(multi_agent={"enabled": False}))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"multi_agent": True}, "multi_agent is True: it must be"),
        ({"multi_agent": {}}, "multi_agent.enabled is missing"),
        ({"multi_agent": {"enabled": "yes"}}, "multi_agent.enabled"),
        ({"multi_agent": {"enabled": True, "agents": 3}}, "multi_agent.agents is unknown"),
        (
            {"multi_agent": {"enabled": True, "max_concurrent_subagents": 0}},
            "max_concurrent_subagents",
        ),
        ({"multi_agent": {"enabled": True}, "max_tool_calls": 3}, "do not support it"),
        (
            {"multi_agent": {"enabled": True}, "reasoning": {"summary": "auto"}},
            "reasoning.summary is 'auto': multi-agent responses do not support it",
        ),
    ],
)
def test_what_the_beta_does_not_take_is_refused_here(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        response_create(**fields)


def test_its_limits_do_not_hold_for_a_single_agent() -> None:
    response_create(max_tool_calls=3, reasoning={"summary": "auto"})
    response_create(multi_agent={"enabled": False}, max_tool_calls=3)


def test_a_hosted_action_is_described() -> None:
    call = {
        "type": "multi_agent_call",
        "id": "mac_1",
        "action": "spawn_agent",
        "arguments": '{"task_name":"rome"}',
        "call_id": "call_1",
        "agent": {"agent_name": "/root"},
    }
    assert_beta_output_item(call)
    assert describe_call(call) == [("action", "spawn agent"), ("task_name", '"rome"')]
