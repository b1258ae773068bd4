"""The steers and required_inputs tables."""

from __future__ import annotations

import json

import pytest

from tests.frames.test_responses import rows
from tests.support.traces import TRACE_ID, TraceBuilder, call, message, stub


def steers(builder: TraceBuilder) -> list[dict]:
    return rows(builder.trace, "steers")


def running(step: float = 1.0) -> TraceBuilder:
    """A response with one delta; the next entry comes at 5 s."""
    return (
        TraceBuilder(step=step)
        .connect()
        .create("hi", lane="a", key="create-1")
        .created("r1", lane="a")
        .added(message(""), lane="a")
        .delta("one ", lane="a")
    )


def test_a_steer_that_was_committed():
    builder = (
        running()
        .steer("r1", "shorter", key="steer-1")  # 5
        .delta("two ", lane="a")  # 6
        .accepted("s1", "r1", lane="a")  # 7
        .delta("three", lane="a")  # 8
        .ended("r1", "incomplete", reason="steered", lane="a")  # 9
        .created("r2", previous="r1", lane="a")  # 10
        .added(message(""), lane="a")
        .delta("next", lane="a")
    )
    (row,) = steers(builder)
    assert row == {
        "steer_key": "steer-1",
        "trace_id": TRACE_ID,
        "lane_id": f"{TRACE_ID}/1/a",
        "steer_id": "s1",
        "parent_response_id": "r1",
        "input_text": "shorter",
        "input_json": '"shorter"',
        "n_parts": 1,
        "state": "committed",
        "failure_code": None,
        "failure_message": None,
        "successor_response_id": "r2",
        "successor_kind": "auto",
        "parent_outcome": "incomplete_steered",
        "order_in_parent": 0,
        "recovered_input": False,
        "sent_s": 5.0,
        "accepted_s": 7.0,
        "pending_s": None,
        "committed_s": 10.0,
        "failed_s": None,
        "ack_latency_s": 2.0,
        "commit_latency_s": 3.0,
        "deltas_after_send": 2,
        "characters_after_send": 9,
    }


def test_a_commit_may_come_before_the_acknowledgement():
    builder = (
        running()
        .steer("r1", key="steer-1")
        .ended("r1", "incomplete", reason="steered", lane="a")
        .created("r2", previous="r1", lane="a")
        .accepted("s1", "r1", lane="a")
    )
    (row,) = steers(builder)
    assert row["state"] == "committed"
    assert row["committed_s"] == 7.0 < row["accepted_s"] == 8.0
    assert row["commit_latency_s"] == -1.0


def test_a_steer_that_failed_gives_its_input_back():
    builder = running().steer("r1", "no", key="steer-1").failed("r1", "no", "response_not_active")
    (row,) = steers(builder)
    assert (row["state"], row["failure_code"]) == ("failed", "response_not_active")
    assert row["failure_message"] == "simulated response_not_active"
    assert (row["failed_s"], row["recovered_input"], row["steer_id"]) == (6.0, True, None)
    assert (row["parent_outcome"], row["accepted_s"]) == (None, None)


def test_a_steer_for_a_response_that_is_not_there():
    builder = running().steer("gone", "x", key="steer-1").failed("gone", "x", "response_not_found")
    (row,) = steers(builder)
    assert (row["parent_response_id"], row["lane_id"], row["state"]) == ("gone", None, "failed")
    assert row["deltas_after_send"] == 0


def test_a_lost_connection_leaves_it_unknown():
    (row,) = steers(running().steer("r1", key="steer-1").close())
    assert (row["state"], row["failed_s"], row["parent_outcome"]) == ("unknown", None, "other")


def test_acknowledgements_without_the_request():
    (row,) = steers(running().accepted("s1", "r1", lane="a"))
    assert (row["steer_id"], row["sent_s"], row["accepted_s"]) == ("s1", None, 5.0)
    assert (row["input_text"], row["input_json"], row["n_parts"]) == (None, None, None)
    assert row["deltas_after_send"] is None


@pytest.mark.parametrize(
    ("value", "text", "parts"),
    [
        ("x", "x", 1),
        ([{"role": "user", "content": "x"}, {"role": "user", "content": "y"}], "x\ny", 2),
        (
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "x"},
                        {"type": "input_image", "image_url": "data:,"},
                        {"type": "input_text", "text": "y"},
                    ],
                }
            ],
            "x\ny",
            3,
        ),
        ([{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}], None, 1),
        (7, None, None),
    ],
)
def test_what_was_said(value, text, parts):
    (row,) = steers(running().steer("r1", value, key="steer-1"))
    assert (row["input_text"], row["n_parts"]) == (text, parts)
    assert json.loads(row["input_json"]) == value


def test_two_steers_wait_for_one_answer():
    filled = {**stub(), "output": "18"}
    builder = (
        TraceBuilder(step=1.0)
        .connect()  # 0
        .create(key="create-1")  # 1
        .created("r1")  # 2
        .steer("r1", "a", key="steer-1")  # 3
        .steer("r1", "b", key="steer-2")  # 4
        .accepted("s1", "r1")  # 5
        .accepted("s2", "r1")  # 6
        .done(call())  # 7
        .ended("r1", output=[call()])  # 8
        .pending("s1", "r1", [stub()])  # 9
        .pending("s2", "r1", [stub()])  # 10
    )
    (row,) = rows(builder.trace, "required_inputs")
    assert (row["state"], row["n_steers_waiting"]) == ("open", 2)
    assert [r["pending_s"] for r in steers(builder)] == [9.0, 10.0]
    builder.note("filled", lane=None, parent="r1", key="call_1", item=filled, by="user")  # 11
    (row,) = rows(builder.trace, "required_inputs")
    assert (row["state"], row["filled_by"], row["filled_s"]) == ("filled", "user", 11.0)
    builder.create([filled], previous="r1", key="create-2")  # 12
    (row,) = rows(builder.trace, "required_inputs")
    assert (row["state"], row["continuation_response_id"]) == ("sent", None)
    builder.created("r2", previous="r1")  # 13
    (row,) = rows(builder.trace, "required_inputs")
    assert row == {
        "trace_id": TRACE_ID,
        "parent_response_id": "r1",
        "stub_key": "call_1",
        "lane_id": f"{TRACE_ID}/1/(default)",
        "stub_type": "function_call_output",
        "name": "get_weather",
        "server_label": None,
        "agent_name": None,
        "source": "response_completed",
        "n_steers_waiting": 2,
        "first_seen_s": 7.0,
        "filled_s": 11.0,
        "sent_s": 12.0,
        "tool_s": None,
        "value_json": json.dumps(filled, separators=(",", ":")),
        "approve": None,
        "reason": None,
        "state": "confirmed",
        "filled_by": "user",
        "continuation_response_id": "r2",
        "submit_key": "create-2",
        "sent_as": "continuation",
    }
    one, two = steers(builder)
    assert (one["order_in_parent"], two["order_in_parent"]) == (0, 1)
    for steer in (one, two):
        assert (steer["state"], steer["successor_kind"]) == ("committed", "explicit")
        assert (steer["successor_response_id"], steer["parent_outcome"]) == ("r2", "completed")


def test_decisions_have_columns_of_their_own():
    request = {
        "type": "mcp_approval_request",
        "id": "mcpr",
        "server_label": "mail",
        "name": "send",
        "arguments": "{}",
    }
    answer = {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr",
        "approve": False,
        "reason": "not now",
    }
    builder = TraceBuilder().create().created("r1").done(request).ended("r1", output=[request])
    builder.create([answer], previous="r1").created("r2", previous="r1")
    (row,) = rows(builder.trace, "required_inputs")
    assert (row["approve"], row["reason"]) == (False, "not now")
    assert (row["name"], row["server_label"]) == ("send", "mail")
    assert (row["filled_by"], row["filled_s"], row["state"]) == ("unknown", None, "confirmed")
    assert rows(builder.trace)[1]["origin"] == "approval_continuation"


def test_stubs_of_a_kind_from_the_future():
    odd = {"type": "dream_output", "call_id": "d1"}
    builder = TraceBuilder().create().created("r1").steer("r1").accepted("s1", "r1")
    builder.ended("r1").pending("s1", "r1", [odd])
    (row,) = rows(builder.trace, "required_inputs")
    assert (row["stub_type"], row["stub_key"], row["source"]) == (
        "dream_output",
        "d1",
        "steer_pending",
    )
