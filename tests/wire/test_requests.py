"""What we send: built from any field of the SDK, and checked strictly against it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.beta.beta_responses_client_event_param import (
    ResponseCreate as BetaResponseCreate,
)
from openai.types.responses.responses_client_event_param import ResponseCreate

from steer_nb.errors import InvalidInput, InvalidLane
from steer_nb.wire import (
    CREATE_FIELDS,
    check_stream_id,
    encode,
    fill_stub,
    response_create,
    response_steer,
)
from tests.support.strict import assert_client_event, param_fields
from tests.wire.samples import FILLS, STUBS

FULL: dict[str, Any] = {
    "access_programs": {"cyber": "standard"},
    "background_options": {"completion_window": "soonest"},
    "context_management": [{"type": "compaction", "compact_threshold": 1000}],
    "conversation": "conv_1",
    "generate": False,
    "image": {"context_compression": "auto"},
    "include": ["reasoning.encrypted_content"],
    "input": [
        {"role": "user", "content": "Plan"},
        {"type": "function_call_output", "call_id": "call_1", "output": "18 °C"},
        {"type": "item_reference", "id": "msg_1"},
    ],
    "instructions": "Be short.",
    "max_output_tokens": 400,
    "max_tool_calls": 2,
    "metadata": {"notebook": "trip"},
    "model": "gpt-6-astra",
    "moderation": {"model": "omni-moderation-latest"},
    "parallel_tool_calls": True,
    "prompt": {"id": "pmpt_1"},
    "prompt_cache_key": "k",
    "prompt_cache_options": {"mode": "implicit"},
    "prompt_cache_retention": "24h",
    "reasoning": {"effort": "low", "summary": "auto"},
    "safety_identifier": "s",
    "service_tier": "auto",
    "store": True,
    "stream_options": {"include_obfuscation": False},
    "temperature": 1,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": True}],
    "top_logprobs": 0,
    "top_p": 0.5,
    "truncation": "auto",
    "user": "u",
}


# -- response.create -------------------------------------------------------------------------------


def test_the_fields_are_those_of_the_sdk() -> None:
    ours = set(CREATE_FIELDS) | {"type", "stream_id", "stream", "background"}
    assert ours == set(param_fields(ResponseCreate)) | set(param_fields(BetaResponseCreate))


def test_the_sample_has_every_field() -> None:
    assert set(FULL) | {"previous_response_id", "multi_agent"} == set(CREATE_FIELDS)


def test_a_request_with_every_field_is_as_in_the_sdk() -> None:
    request = response_create(stream_id="planner", **FULL)
    assert request == {"type": "response.create", "stream_id": "planner", **FULL}
    assert_client_event(request)
    assert json.loads(encode(request)) == request


@pytest.mark.parametrize("name", sorted(FULL))
def test_each_field_alone(name: str) -> None:
    request = response_create(**{name: FULL[name]})
    assert request == {"type": "response.create", name: FULL[name]}
    assert_client_event(request)


@pytest.mark.parametrize("kind", sorted(STUBS))
def test_a_continuation_with_each_kind_of_answer(kind: str) -> None:
    answer = fill_stub(STUBS[kind], **FILLS[kind])
    request = response_create(
        stream_id="planner",
        previous_response_id="resp_1",
        input=[answer, {"role": "user", "content": "Go on"}],
    )
    assert_client_event(request)


def test_the_request_shares_nothing_with_what_was_given() -> None:
    items = [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]
    request = response_create(input=items)
    items[0]["content"] = "changed"
    assert request["input"][0]["content"] == [{"type": "input_text", "text": "a"}]


def test_none_is_left_out_except_for_an_explicit_new_chain() -> None:
    given = dict.fromkeys(CREATE_FIELDS)
    assert response_create(**given, stream=None, background=None, stream_id=None) == {
        "type": "response.create",
        "previous_response_id": None,
    }
    assert_client_event(response_create(previous_response_id=None))


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    ("name", "reason"),
    [("stream", "every response is streamed"), ("background", "not supported over a WebSocket")],
)
def test_stream_and_background_are_refused_with_the_reason(
    name: str, reason: str, value: bool
) -> None:
    with pytest.raises(InvalidInput, match=reason) as caught:
        response_create(**{name: value})
    assert (caught.value.field, caught.value.value) == (name, value)


def test_unknown_fields_are_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'instructions'") as caught:
        response_create(instruction="x")
    assert caught.value.field == "instruction"
    with pytest.raises(InvalidInput, match=r"response\.create takes access_programs"):
        response_create(zzzzzz=1)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"model": ""}, "model"),
        ({"model": 3}, "model"),
        ({"store": "yes"}, "store"),
        ({"store": 1}, "store"),
        ({"max_output_tokens": 1.5}, "max_output_tokens"),
        ({"max_output_tokens": True}, "max_output_tokens"),
        ({"max_output_tokens": -1}, "max_output_tokens"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"reasoning": "low"}, "reasoning"),
        ({"tool_choice": ""}, "tool_choice"),
        ({"tool_choice": 1}, "tool_choice"),
        ({"include": "all"}, "include"),
        ({"include": ["a", 1]}, "include[1]"),
        ({"tools": {}}, "tools"),
        ({"tools": ["f"]}, "tools[0]"),
        ({"tools": [{"name": "f"}]}, "tools[0].type"),
        ({"input": 3}, "input"),
        ({"input": {"role": "user"}}, "input"),
        ({"input": ["x"]}, "input[0]"),
        ({"input": [{"content": "x"}]}, "input[0].type"),
        ({"input": [{"type": None, "role": "user", "content": ""}]}, "input[0].type"),
        (
            {"input": [{"type": "message", "content": [{"x": float("inf")}]}]},
            "input[0].content[0].x",
        ),
        ({"input": "\ud83d"}, "input"),
        ({"metadata": ["a"]}, "metadata"),
        ({"metadata": {"a": 1}}, "metadata.a"),
        ({"metadata": {"a": "x" * 513}}, "metadata.a"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata"),
        ({"metadata": {"k" * 65: ""}}, "the metadata key '" + "k" * 58 + "…"),
        ({"type": "response.steer"}, "type"),
        ({"previous_response_id": ""}, "previous_response_id"),
        ({"previous_response_id": "resp_1", "conversation": "conv_1"}, "previous_response_id"),
    ],
)
def test_wrong_values_are_refused_by_path(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        response_create(**fields)
    assert caught.value.field == path
    assert str(caught.value).startswith(path)
    assert caught.value.rule
    assert "\n" not in str(caught.value)


def test_the_type_may_be_repeated() -> None:
    assert response_create(type="response.create") == {"type": "response.create"}


# -- lanes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "planner.2_B-c", "-", "x" * 256])
def test_good_lane_names(name: str) -> None:
    assert check_stream_id(name) == name
    assert response_create(stream_id=name)["stream_id"] == name


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "is empty"),
        ("x" * 257, "has 257 characters"),
        ("a b", "holds ' '"),
        ("planner\n", r"holds '\\n'"),
        ("café", "holds 'é'"),
        ("\u0661", "holds '\u0661'"),
        ("(default)", r"holds '\('"),
        (7, "is of type int"),
        (None, "is of type NoneType"),
    ],
)
def test_bad_lane_names(name: Any, fault: str) -> None:
    with pytest.raises(InvalidLane, match=fault) as caught:
        check_stream_id(name)
    assert caught.value.field == "stream_id"
    assert "1 to 256 letters, digits" in str(caught.value)


# -- response.steer --------------------------------------------------------------------------------

IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
FILE = {"type": "input_file", "file_id": "file_1", "filename": "a.pdf"}


@pytest.mark.parametrize(
    "given",
    [
        "Keep it under 300 euros",
        "  spaces and {braces} $dollars stay  ",
        [{"role": "user", "content": "a"}],
        [{"type": "message", "role": "user", "content": "a"}, {"role": "user", "content": "b"}],
        [{"role": "user", "content": [{"type": "input_text", "text": "a"}, IMAGE, FILE]}],
        [{"role": "user", "content": [IMAGE]}],
    ],
)
def test_a_steer_has_exactly_three_fields(given: Any) -> None:
    request = response_steer("resp_1", given)
    assert list(request) == ["type", "previous_response_id", "input"]
    assert_client_event(request)
    if isinstance(given, str):
        assert request["input"] == given
    else:
        assert [m["content"] for m in request["input"]] == [m["content"] for m in given]
        assert all(m["type"] == "message" and m["role"] == "user" for m in request["input"])


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("", "input"),
        (" \n\t", "input"),
        ([], "input"),
        (None, "input"),
        ({"role": "user", "content": "a"}, "input"),
        (["a"], "input[0]"),
        ([{"role": "user"}], "input[0].content"),
        ([{"content": "a"}], "input[0].role"),
        ([{"role": "user", "content": ""}], "input[0].content"),
        ([{"role": "user", "content": []}], "input[0].content"),
        ([{"role": "user", "content": 3}], "input[0].content"),
        ([{"role": "user", "content": [{"type": "input_text", "text": " "}]}], "input[0].content"),
        ([{"role": "system", "content": "a"}], "input[0].role"),
        ([{"role": "assistant", "content": "a"}], "input[0].role"),
        ([{"type": "function_call_output", "call_id": "c", "output": ""}], "input[0].type"),
        ([{"type": "reasoning"}], "input[0].type"),
        ([{"role": "user", "content": "a", "id": "msg_1"}], "input[0].id"),
        ([{"role": "user", "content": "a", "status": "completed"}], "input[0].status"),
        (
            [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "audio"}]}],
            "input[1].content[0].type",
        ),
        ([{"role": "user", "content": [{"type": "input_image"}]}], "input[0].content[0].image_url"),
        ([{"role": "user", "content": [IMAGE | {"alt": "x"}]}], "input[0].content[0].alt"),
        (float("nan"), "input"),
        ("\udc80", "input"),
    ],
)
def test_what_a_steer_may_not_hold_is_refused(given: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        response_steer("resp_1", given)
    assert caught.value.field == path
    assert str(caught.value).startswith(path)


@pytest.mark.parametrize("target", ["", None, 7])
def test_a_steer_names_its_response(target: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        response_steer(target, "go on")
    assert caught.value.field == "previous_response_id"
