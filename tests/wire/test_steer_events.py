"""The three steer events as values a person can use."""

from __future__ import annotations

import json
import pickle

import pytest

from steer_nb.wire import (
    Event,
    ResponseSteerAcceptedEvent,
    ResponseSteerFailedEvent,
    ResponseSteerPendingEvent,
    SteerFailure,
    SteerInfo,
    decode,
)
from tests.support.strict import assert_server_event
from tests.wire.samples import ACCEPTED, FAILED, PENDING

ALL = [ACCEPTED, PENDING, FAILED]


def test_accepted() -> None:
    event = decode(ACCEPTED)
    assert isinstance(event, ResponseSteerAcceptedEvent)
    assert event.steer == SteerInfo("steer_0123456789abcdef0123456789abcdef", "resp_1")
    assert (event.sequence_number, event.stream_id) == (4, None)


def test_pending() -> None:
    event = decode(PENDING)
    assert isinstance(event, ResponseSteerPendingEvent)
    assert event.reason == "waiting_for_required_input"
    assert event.required_input == (
        {
            "type": "function_call_output",
            "call_id": "call_project",
            "name": "get_project_status",
        },
    )
    assert event.stream_id == "planner"


def test_failed() -> None:
    event = decode(FAILED)
    assert isinstance(event, ResponseSteerFailedEvent)
    assert event.steer.id == "steer_456"
    assert event.steer.input == [{"type": "message", "role": "user", "content": "Keep it short"}]
    assert (event.error.code, event.error.type) == (
        "successor_creation_failed",
        "invalid_request_error",
    )
    assert event.error_fields.code == "successor_creation_failed"
    assert event.error_fields.message == event.error.message
    assert event.object("error") == json.loads(FAILED)["error"]


@pytest.mark.parametrize("raw", ALL)
def test_they_share_the_face_of_events(raw: str) -> None:
    assert_server_event(json.loads(raw))
    event = decode(raw)
    assert isinstance(event, Event)
    assert (event.family, event.known, event.problem) == ("steer", True, None)
    assert event.type == json.loads(raw)["type"]
    assert event.raw == raw


@pytest.mark.parametrize("raw", ALL)
def test_they_give_back_what_came_in(raw: str) -> None:
    body = json.loads(raw) | {"zz_new": {"deep": [1, None]}}
    body["steer"]["zz_new"] = 1
    text = json.dumps(body)
    event = decode(text)
    assert event.to_dict() == body
    assert event.to_json() == text
    assert decode(event.to_json()) == event
    assert decode(json.dumps(event.to_dict(), indent=2)) == event


@pytest.mark.parametrize("raw", ALL)
def test_equality_hash_and_pickle(raw: str) -> None:
    event = decode(raw)
    again = decode(json.dumps(json.loads(raw), indent=1))
    assert event == again
    assert hash(event) == hash(again)
    assert pickle.loads(pickle.dumps(event)) == event
    assert event != decode(raw.replace("resp_1", "resp_2"))
    others = [decode(other) for other in ALL if other != raw]
    assert event not in others


def test_repr() -> None:
    assert repr(decode(ACCEPTED)) == (
        "ResponseSteerAcceptedEvent(sequence_number=4, "
        "steer=SteerInfo(id='steer_0123456789abcdef0123456789abcdef', "
        "previous_response_id='resp_1'))"
    )
    assert "reason='waiting_for_required_input'" in repr(decode(PENDING))
    assert "successor_creation_failed" in repr(decode(FAILED))


def test_match_by_position() -> None:
    seen = []
    for raw in ALL:
        match decode(raw):
            case ResponseSteerAcceptedEvent(SteerInfo(_, parent)):
                seen.append(parent)
            case ResponseSteerPendingEvent(SteerInfo(steer_id), reason, [stub]):
                seen.append((steer_id, reason, stub["call_id"]))
            case ResponseSteerFailedEvent(steer, SteerFailure(code)):
                seen.append((steer.id, code))
    assert seen == [
        "resp_1",
        ("steer_1", "waiting_for_required_input", "call_project"),
        ("steer_456", "successor_creation_failed"),
    ]


def test_match_by_name() -> None:
    match decode(FAILED):
        case ResponseSteerFailedEvent(error=SteerFailure(code="successor_creation_failed")):
            pass
        case _:
            pytest.fail("no match")


def test_reasons_and_codes_are_open_words() -> None:
    pending = decode(PENDING.replace("waiting_for_required_input", "waiting_for_the_moon"))
    assert isinstance(pending, ResponseSteerPendingEvent)
    assert (pending.reason, pending.problem) == ("waiting_for_the_moon", None)
    failed = decode(FAILED.replace("successor_creation_failed", "misalignment_policy_violation"))
    assert isinstance(failed, ResponseSteerFailedEvent)
    assert (failed.error.code, failed.problem) == ("misalignment_policy_violation", None)


def test_a_failure_before_an_id_was_given() -> None:
    body = json.loads(FAILED)
    del body["steer"]["id"]
    event = decode(json.dumps(body))
    assert isinstance(event, ResponseSteerFailedEvent)
    assert (event.steer.id, event.problem) == (None, None)


@pytest.mark.parametrize("kind", ["accepted", "pending", "failed"])
@pytest.mark.parametrize(
    "rest",
    [
        {},
        {"steer": None},
        {"steer": "steer_1"},
        {"steer": {"id": 4, "previous_response_id": []}},
        {"steer": {}, "error": "no", "required_input": "call_1", "reason": 7},
        {"steer": {"id": "s", "previous_response_id": 3}, "error": {"code": 5, "message": None}},
    ],
)
def test_malformed_ones_do_not_raise(kind: str, rest: dict[str, object]) -> None:
    body = {"type": f"response.steer.{kind}", **rest}
    event = decode(json.dumps(body))
    assert type(event).__name__ == f"ResponseSteer{kind.title()}Event"
    assert isinstance(event.steer, SteerInfo)
    assert event.to_dict() == body
    assert repr(event)
    assert event.problem == "odd_field"
    assert event.detail.startswith("not as documented: ")


def test_odd_stubs_are_left_out_of_the_list_and_marked() -> None:
    body = json.loads(PENDING) | {"required_input": [None, {"type": "dream_output", "id": "d"}]}
    event = decode(json.dumps(body))
    assert isinstance(event, ResponseSteerPendingEvent)
    assert event.required_input == ({"type": "dream_output", "id": "d"},)
    assert event.problem == "odd_field"
    assert event.to_dict() == body


def test_half_a_character_in_the_input_that_came_back() -> None:
    event = decode(FAILED.replace("Keep it short", "\\ud83d"))
    assert isinstance(event, ResponseSteerFailedEvent)
    assert event.problem == "surrogate"
    assert event.steer.input[0]["content"] == "\ud83d"
    assert event.error.code == "successor_creation_failed"
