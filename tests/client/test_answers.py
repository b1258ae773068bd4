"""Filling required input, and the one continuation."""

from __future__ import annotations

import dataclasses
import json

import pytest

from steer_nb import errors
from tests.client.stage import (
    accepted,
    approval,
    created,
    done,
    ended,
    error,
    function_call,
    pending,
    steered,
    when,
)


@pytest.fixture
def lane(stage, session):
    return session.lane("a", instructions="Be brief.")


def ask(stage, lane, *items, response_id="resp_1"):
    """Let a response end that asks for these items' results."""
    lane.create("x", previous_response_id=None)
    stage.expect("response.create")
    stage.send(created(response_id, lane="a"))
    stage.send(*(done(item, index, "a") for index, item in enumerate(items)))
    stage.send(ended(response_id, *items, lane="a"))
    assert lane.wait(10) == "waiting_input"


STUB = {"type": "function_call_output", "call_id": "call_1", "name": "get_weather"}


def test_what_is_asked_is_an_unchanging_snapshot(stage, lane):
    ask(stage, lane, function_call("call_1"), approval("mcpr_1"))
    first, second = lane.required_input
    assert (first.key, first.type, first.state, first.name) == (
        "call_1",
        "function_call_output",
        "open",
        "get_weather",
    )
    assert first.stub == STUB
    assert first.call == function_call("call_1")
    assert first.arguments == '{"city":"Lisbon"}'
    assert (first.parent_id, first.lane, first.source) == ("resp_1", "a", "response_completed")
    assert (first.item, first.tool, first.optional) == (None, None, False)
    assert (second.key, second.type, second.server_label) == (
        "mcpr_1",
        "mcp_approval_response",
        "files",
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.state = "filled"
    first.stub["call_id"] = "other"
    assert lane.required_input[0].stub == STUB
    assert repr(second) == "<RequiredInput mcpr_1: mcp_approval_response for delete, open>"
    assert lane.response.required_input == lane.required_input


def test_it_is_there_as_soon_as_the_call_is_complete(stage, lane):
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), done(function_call("call_1"), 0, "a"))
    session = lane.session
    when(session, lambda ledger: ledger.responses["resp_1"].required)
    assert [asked.key for asked in lane.required_input] == ["call_1"]
    assert lane.fill("call_1", output="18").state == "filled"
    with pytest.raises(errors.NothingToContinue, match="still being written"):
        lane.send_continuation()


def test_the_continuation_holds_filled_stubs_and_the_lanes_settings(stage, lane):
    ask(stage, lane, function_call("call_1"), approval("mcpr_1"))
    with pytest.raises(errors.RequiredInputOpen, match="2 answers still open") as caught:
        lane.send_continuation()
    assert caught.value.keys == ("call_1", "mcpr_1")
    filled = lane.fill("mcpr_1", approve=False, reason="Not today.")
    assert (filled.state, filled.filled_by) == ("filled", "user")
    with pytest.raises(errors.RequiredInputOpen, match="call_1"):
        lane.send_continuation()
    lane.fill("call_1", output="18 C", by="code")
    assert [asked.filled_by for asked in lane.required_input] == ["code", "user"]
    preview = lane.preview_continuation()
    response = lane.send_continuation()
    sent = stage.expect()
    assert json.loads(preview) == sent
    assert sent == {
        "type": "response.create",
        "stream_id": "a",
        "model": "gpt-6-astra",
        "instructions": "Be brief.",
        "previous_response_id": "resp_1",
        "input": [
            {**STUB, "output": "18 C"},
            {
                "type": "mcp_approval_response",
                "approval_request_id": "mcpr_1",
                "approve": False,
                "reason": "Not today.",
            },
        ],
    }
    assert lane.required_input == ()
    assert [asked.state for asked in lane.responses[0].required_input] == ["sent", "sent"]
    with pytest.raises(errors.NothingToContinue, match="already sent"):
        lane.send_continuation()
    with pytest.raises(errors.InvalidInput, match="already sent"):
        lane.fill("call_1", output="19 C")
    stage.send(created("resp_2", "resp_1", "a"), ended("resp_2", lane="a"))
    assert response.wait(10).status == "completed"
    assert [asked.state for asked in lane.responses[0].required_input] == ["confirmed"] * 2
    with pytest.raises(errors.NothingToContinue, match="asks for nothing"):
        lane.send_continuation()
    assert stage.nothing_came()


def test_the_preview_is_the_very_text_that_goes_out(stage, lane):
    ask(stage, lane, function_call("call_1"))
    lane.fill("call_1", output="18 °C, “dry”")
    preview = lane.preview_continuation("And Porto?", temperature=0.5)
    lane.send_continuation("And Porto?", temperature=0.5)
    stage.expect()
    (text,) = [e.raw for e in lane.session.trace if e.kind == "out"][-1:]
    assert text == preview
    body = json.loads(preview)
    assert body["temperature"] == 0.5
    assert body["input"][1] == {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "And Porto?"}],
    }


def test_a_preview_shows_what_is_there_so_far(stage, lane):
    with pytest.raises(errors.NothingToContinue, match="nothing was sent"):
        lane.preview_continuation()
    ask(stage, lane, function_call("call_1"))
    assert json.loads(lane.preview_continuation())["input"] == []


def test_a_value_can_be_changed_and_taken_back_until_it_is_sent(stage, lane):
    ask(stage, lane, function_call("call_1"))
    lane.fill("call_1", output="18")
    assert lane.fill("call_1", output="19").item["output"] == "19"
    assert lane.clear("call_1").state == "open"
    assert lane.clear("call_1").state == "open"
    with pytest.raises(errors.RequiredInputOpen):
        lane.send_continuation()
    notes = [e.note for e in lane.session.trace if e.note in ("filled", "cleared")]
    assert notes == ["filled", "filled", "cleared"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "output"),
        ({"output": float("nan")}, "output"),
        ({"output": {"a": [float("inf")]}}, "output.a[0]"),
        ({"outputs": "x"}, "outputs"),
        ({"output": "x", "call_id": "call_2"}, "call_id"),
    ],
)
def test_bad_values_are_refused_with_field_value_and_rule(stage, lane, fields, field):
    ask(stage, lane, function_call("call_1"))
    with pytest.raises(errors.InvalidInput) as caught:
        lane.fill("call_1", **fields)
    assert caught.value.field == field
    assert caught.value.rule
    assert lane.required_input[0].state == "open"
    assert not [e for e in lane.session.trace if e.note == "filled"]


def test_unknown_keys_are_refused_with_those_there_are(stage, lane):
    with pytest.raises(errors.InvalidInput, match="asks for nothing now"):
        lane.fill("call_9", output="x")
    ask(stage, lane, function_call("call_1"))
    for use in (lane.clear, lane.run_tool, lambda key: lane.fill(key, output="x")):
        with pytest.raises(errors.InvalidInput, match="'call_9'; it asks for call_1") as caught:
            use("call_9")
        assert caught.value.field == "key"


def test_answer_all_as_cancelled(stage, lane):
    ask(stage, lane, function_call("call_1"), approval("mcpr_1"), function_call("call_2"))
    lane.fill("call_2", output="kept")
    assert [done.key for done in lane.cancel_all()] == ["call_1", "mcpr_1"]
    assert lane.cancel_all() == ()
    lane.send_continuation()
    first, second, third = stage.expect()["input"]
    assert "cancelled" in first["output"].lower()
    assert second["approve"] is False
    assert third["output"] == "kept"


def test_ids_come_again_in_another_response_and_mean_the_newest(stage, lane):
    ask(stage, lane, function_call("call_1"))
    lane.fill("call_1", output="one")
    lane.send_continuation()
    stage.expect()
    again = function_call("call_1", arguments='{"city":"Porto"}')
    stage.send(created("resp_2", "resp_1", "a"), ended("resp_2", again, lane="a"))
    assert lane.wait(10) == "waiting_input"
    assert lane.fill("call_1", output="two").parent_id == "resp_2"
    lane.send_continuation()
    assert stage.expect()["input"][0]["output"] == "two"


def test_several_steers_on_one_parent_make_one_continuation(stage, lane):
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    steers = [lane.steer("one"), lane.steer("two")]
    stage.expect(), stage.expect()
    stage.send(accepted("s_1", "resp_1"), accepted("s_2", "resp_1"))
    stage.send(ended("resp_1", function_call("call_1"), lane="a"))
    stage.send(pending("s_1", "resp_1", STUB), pending("s_2", "resp_1", STUB))
    assert lane.wait(10) == "waiting_input"
    session = lane.session
    when(session, lambda g: g.steers["steer-3"].state == "pending")
    assert len(lane.required_input) == 1
    lane.fill("call_1", output="18")
    lane.send_continuation()
    assert stage.expect()["input"] == [{**STUB, "output": "18"}]  # the steers are not sent again
    stage.send(created("resp_2", "resp_1", "a"))
    assert [steer.wait(10).state for steer in steers] == ["committed", "committed"]
    assert {steer.successor_id for steer in steers} == {"resp_2"}


def test_an_early_continuation_and_a_late_pending_ask_nothing_again(stage, lane):
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    steer = lane.steer("one")
    stage.expect()
    stage.send(accepted("s_1", "resp_1"), ended("resp_1", function_call("call_1"), lane="a"))
    lane.wait(10)
    lane.fill("call_1", output="18")
    lane.send_continuation()
    stage.expect()
    stage.send(pending("s_1", "resp_1", STUB))
    session = lane.session
    when(session, lambda g: g.steers["steer-2"].state == "pending")
    assert lane.required_input == ()
    with pytest.raises(errors.NothingToContinue):
        lane.send_continuation()
    stage.send(created("resp_2", "resp_1", "a"))
    assert steer.wait(10).state == "committed"


def test_a_pending_that_never_comes_is_not_missed(stage, lane):
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    steer = lane.steer("one")
    stage.expect()
    stage.send(accepted("s_1", "resp_1"), ended("resp_1", function_call("call_1"), lane="a"))
    assert lane.wait(10) == "waiting_input"
    assert steer.state == "accepted"
    assert [asked.key for asked in lane.required_input] == ["call_1"]


def test_a_refused_continuation_can_be_edited_and_sent_again_by_hand(stage, lane):
    ask(stage, lane, function_call("call_1"))
    lane.fill("call_1", output="18")
    first = lane.send_continuation()
    stage.expect()
    stage.send(error("server_error", "a", status=500))
    with pytest.raises(errors.ServerRefused, match="server_error"):
        first.wait(10)
    assert lane.wait(10) == "waiting_input"
    assert [(asked.key, asked.state) for asked in lane.required_input] == [("call_1", "filled")]
    lane.fill("call_1", output="19")
    second = lane.send_continuation()
    assert second.key != first.key
    assert stage.expect()["input"][0]["output"] == "19"
    stage.send(created("resp_2", "resp_1", "a"))
    with pytest.raises(errors.NothingToContinue):
        lane.send_continuation()


def test_an_async_call_does_not_hold_the_continuation_back(stage, lane):
    slow = function_call("call_2", **{"async": True})
    ask(stage, lane, function_call("call_1"), slow)
    assert [asked.optional for asked in lane.required_input] == [False, True]
    assert "optional" in repr(lane.required_input[1])
    lane.fill("call_1", output="18")
    lane.send_continuation()
    assert [item["call_id"] for item in stage.expect()["input"]] == ["call_1"]


def test_what_a_continuation_may_not_say(stage, lane):
    ask(stage, lane, function_call("call_1"))
    lane.fill("call_1", output="18")
    with pytest.raises(errors.InvalidInput, match="belongs to the response that waits"):
        lane.send_continuation(previous_response_id="resp_0")
    assert stage.nothing_came()


def test_a_create_while_answers_wait_is_refused_unless_it_begins_anew(stage, lane):
    ask(stage, lane, function_call("call_1"))
    with pytest.raises(errors.LaneBusy, match="call_1"):
        lane.create("y")
    lane.fill("call_1", output="18")
    with pytest.raises(errors.LaneBusy, match="filled but not sent"):
        lane.create("y")
    lane.create("y", previous_response_id=None)
    stage.expect()


def test_the_calls_of_a_steered_response_are_set_aside_by_its_successor(stage, lane):
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), done(function_call("call_1"), 0, "a"))
    lane.steer("no tools, please")
    stage.expect()
    stage.send(accepted("s_1", "resp_1"), steered("resp_1", function_call("call_1"), lane="a"))
    session = lane.session
    when(session, lambda g: g.lanes["a"].current is None)
    assert lane.state == "queued"
    assert lane.required_input == ()
    with pytest.raises(errors.NothingToContinue, match="successor comes by itself"):
        lane.send_continuation()
    stage.send(created("resp_2", "resp_1", "a"), ended("resp_2", lane="a"))
    assert lane.wait(10) == "idle"
    assert lane.required_input == ()


def test_unknown_kinds_can_be_filled_as_raw_fields(stage, lane):
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    lane.steer("y")
    stage.expect()
    stub = {"type": "hologram_output", "call_id": "holo_1"}
    stage.send(accepted("s_1", "resp_1"), ended("resp_1", lane="a"), pending("s_1", "resp_1", stub))
    when(lane.session, lambda g: g.responses["resp_1"].required)
    lane.fill("holo_1", shape="cube")
    lane.send_continuation()
    assert stage.expect()["input"] == [{**stub, "shape": "cube"}]


def test_nothing_is_queued_behind_a_call_that_nobody_answers(stage, session):
    """The service would refuse it: the continuation comes first."""
    lane = session.lane("a")
    lane.create("go")
    stage.expect()
    stage.send(created("p", lane="a"), done(function_call("c1"), lane="a"))
    when(session, lambda ledger: "c1" in ledger.responses["p"].required)
    with pytest.raises(errors.LaneBusy, match="c1"):
        lane.create("next")
    assert lane.create("something else", previous_response_id=None).status == "sent"
