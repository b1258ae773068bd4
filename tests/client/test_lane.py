"""What a lane sends, when, and with what: against a server driven by hand."""

from __future__ import annotations

import json
import threading

import pytest

from steer_nb import errors
from steer_nb.client import starting
from steer_nb.ledger import DEFAULT_LANE
from tests.client.stage import (
    accepted,
    created,
    delta,
    ended,
    error,
    function_call,
    head,
    steer_failed,
    steered,
    when,
)


def begin(stage, lane, response_id="resp_1", text="Hello."):
    """Create a response and let it begin."""
    response = lane.create(text)
    stage.expect("response.create")
    stage.send(created(response_id, lane=lane.stream_id))
    when(lane.session, lambda ledger: response_id in ledger.responses)
    return response


def finish(stage, lane, response_id="resp_1", *items):
    stage.send(ended(response_id, *items, lane=lane.stream_id))
    return lane.wait(10)


# -- create --------------------------------------------------------------------------------------


def test_a_create_returns_at_once_with_a_handle(stage, session):
    lane = session.lane("planner")
    response = lane.create("Plan a trip.")
    assert stage.expect() == {
        "type": "response.create",
        "stream_id": "planner",
        "model": "gpt-6-astra",
        "input": "Plan a trip.",
    }
    assert (response.key, response.id, response.status, response.text) == (
        "create-1",
        None,
        "sent",
        "",
    )
    assert lane.state == "queued"
    assert repr(response) == "<Response create-1 on planner, sent>"
    stage.send(created("resp_1", lane="planner"), delta("Hel", "planner"), delta("lo", "planner"))
    when(session, lambda ledger: ledger.responses.get("resp_1"))
    stage.send(ended("resp_1", lane="planner", usage={"total_tokens": 7}))
    assert response.wait(10) is response
    assert (response.id, response.status, response.text) == ("resp_1", "completed", "Hello")
    assert response.usage == {"total_tokens": 7}
    assert response.error is None
    assert response.lane is lane
    assert lane.text == "Hello"
    assert lane.response == response
    assert repr(response) == "<Response resp_1 on planner, completed: 'Hello'>"


def test_the_default_lane_has_no_stream_id(stage, session):
    lane = session.lane()
    assert (lane.name, lane.stream_id) == (DEFAULT_LANE, None)
    assert session.lane(DEFAULT_LANE) is lane
    begin(stage, lane)
    assert lane.response.lane is lane
    assert session[DEFAULT_LANE] is lane


def test_an_idle_lane_continues_from_its_last_response(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    finish(stage, lane)
    lane.create("More.")
    assert stage.expect()["previous_response_id"] == "resp_1"


def test_null_begins_a_new_conversation_and_an_id_or_handle_chooses(stage, session):
    lane = session.lane("a")
    first = begin(stage, lane)
    finish(stage, lane)
    begin(stage, lane, "resp_2")
    finish(stage, lane, "resp_2")
    lane.create("New.", previous_response_id=None)
    assert stage.expect()["previous_response_id"] is None
    stage.send(created("resp_3", lane="a"), ended("resp_3", lane="a"))
    lane.wait(10)
    lane.create("Old.", previous_response_id=first)
    assert stage.expect()["previous_response_id"] == "resp_1"
    stage.send(created("resp_4", lane="a"), ended("resp_4", lane="a"))
    lane.wait(10)
    lane.create("Old.", previous_response_id="resp_2")
    assert stage.expect()["previous_response_id"] == "resp_2"


def test_a_failed_response_is_not_continued(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    finish(stage, lane)
    begin(stage, lane, "resp_2")
    stage.send(ended("resp_2", status="failed", lane="a", error={"code": "x", "message": "y"}))
    assert lane.wait(10) == "failed"
    assert lane.response.error == {"code": "x", "message": "y"}
    lane.create("Again.")
    assert stage.expect()["previous_response_id"] == "resp_1"


def test_a_lane_bound_to_a_conversation_is_not_chained(stage, session):
    lane = session.lane("a", conversation="conv_1")
    begin(stage, lane)
    finish(stage, lane)
    lane.create("More.")
    assert "previous_response_id" not in stage.expect()


def test_settings_go_with_every_create_and_one_call_can_override_any(stage, session):
    def get_weather(city: str) -> str:
        """Weather."""
        return "18"

    lane = session.lane(
        "a",
        model="gpt-6-mini",
        instructions="Be brief.",
        tools=[get_weather, {"type": "web_search"}],
        temperature=0.5,
    )
    assert set(lane.tools) == {"get_weather"}
    begin(stage, lane)
    finish(stage, lane)
    lane.create("More.", instructions=None, temperature=1, model="gpt-6-astra", store=False)
    sent = stage.expect()
    assert (sent["model"], sent["temperature"], sent["store"]) == ("gpt-6-astra", 1, False)
    assert "instructions" not in sent
    assert [tool["type"] for tool in sent["tools"]] == ["function", "web_search"]
    assert lane.settings["model"] == "gpt-6-mini"
    assert lane.settings["instructions"] == "Be brief."


def test_opening_again_returns_the_lane_and_changes_its_settings(stage, session):
    lane = session.lane("a", instructions="One.", temperature=0.5)
    notes = len([entry for entry in session.trace if entry.note == "lane"])
    assert session.lane("a") is lane
    assert len([entry for entry in session.trace if entry.note == "lane"]) == notes
    assert session.lane("a", instructions="Two.", temperature=None) is lane
    lane.create("x")
    sent = stage.expect()
    assert sent["instructions"] == "Two."
    assert "temperature" not in sent


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"stream": True}, "streamed"),
        ({"background": True}, "background"),
        ({"temprature": 1}, "temperature"),
        ({"input": "x"}, "first argument"),
        ({"previous_response_id": "resp_1"}, "one request"),
        ({"tools": [3]}, r"tools\[0\]"),
        ({"temperature": "warm"}, "temperature"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_when_the_lane_is_opened(session, settings, words):
    with pytest.raises(errors.InvalidInput, match=words):
        session.lane("a", **settings)
    assert session.lanes == {}


@pytest.mark.parametrize("name", ["", "has space", "é", "x" * 257, "a/b"])
def test_names_that_the_service_refuses_are_refused_before(stage, session, name):
    with pytest.raises(errors.InvalidLane, match="lane name"):
        session.lane(name)
    assert stage.nothing_came()


def test_the_33rd_name_is_refused_and_the_default_lane_does_not_count(stage, session):
    session.lane().create("x")
    for number in range(32):
        session.lane(f"lane-{number}").create("x")
    with pytest.raises(errors.InvalidLane, match=r"lane name 33.*32 lane names"):
        session.lane("one-too-many")
    session["lane-0"].close()
    with pytest.raises(errors.InvalidLane):  # a name that went out is spent
        session.lane("one-too-many")
    session.lane("lane-0").create("y", previous_response_id=None)
    for _ in range(34):
        stage.expect("response.create")


def test_a_lane_that_was_never_used_spends_no_name(session):
    for number in range(32):
        session.lane(f"lane-{number}")
    session["lane-3"].close()
    session.lane("instead")


def test_17_in_flight_are_no_error(stage, session):
    for number in range(17):
        session.lane(f"lane-{number}").create("x")
    for number in range(17):
        assert stage.expect("response.create")["stream_id"] == f"lane-{number}"
    assert session.status()["queued"] == 17


def test_a_create_behind_one_that_has_no_id_yet_is_refused_or_waits(stage, session, monkeypatch):
    monkeypatch.setattr(starting, "START_SECONDS", 0.05)
    lane = session.lane("a")
    lane.create("x")
    with pytest.raises(errors.LaneBusy, match="has not started yet"):
        lane.create("y")
    lane.create("z", previous_response_id=None)  # said so, it may queue
    assert [stage.expect()["input"] for _ in range(2)] == ["x", "z"]


def test_a_create_waits_a_moment_for_the_id_to_continue_from(stage, session):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    results = []
    thread = threading.Thread(target=lambda: results.append(lane.create("y")))
    thread.start()
    stage.send(created("resp_1", lane="a"))
    thread.join(10)
    assert stage.expect()["previous_response_id"] == "resp_1"
    assert results[0].key == "create-2"


# -- steer and send ------------------------------------------------------------------------------


def test_a_steer_names_the_running_response_and_holds_nothing_else(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    steer = lane.steer("Keep it short, {please}.")
    assert stage.expect() == {
        "type": "response.steer",
        "previous_response_id": "resp_1",
        "input": "Keep it short, {please}.",
    }
    assert (steer.key, steer.id, steer.state, steer.response_id) == (
        "steer-2",
        None,
        "sent",
        "resp_1",
    )
    assert steer.text == steer.input == "Keep it short, {please}."
    stage.send(accepted("steer_1", "resp_1"))
    when(session, lambda ledger: ledger.steers["steer-2"].steer_id)
    assert (steer.id, steer.state) == ("steer_1", "accepted")
    assert lane.state == "running"
    stage.send(steered("resp_1", lane="a"))
    when(session, lambda ledger: ledger.lanes["a"].current is None)
    assert lane.state == "queued"
    assert lane.response.incomplete_reason == "steered"
    stage.send(created("resp_2", "resp_1", "a"))
    assert steer.wait(10).state == "committed"
    assert steer.successor_id == "resp_2"
    assert steer.successor.status == "in_progress"
    assert steer.lane is lane
    assert lane.steers == [steer] == lane.responses[0].steers
    assert lane.responses[0].successor == steer.successor == lane.response
    assert repr(steer) == "<Steer steer_1, committed: 'Keep it short, {please}.'>"
    finish(stage, lane, "resp_2")


def test_accepted_is_not_the_end_of_a_wait(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    steer = lane.steer("x")
    stage.expect()
    stage.send(accepted("steer_1", "resp_1"), ended("resp_1", lane="a"))
    when(session, lambda ledger: ledger.lanes["a"].current is None)
    with pytest.raises(errors.WaitTimeout, match="is still accepted, which is no refusal"):
        steer.wait(0.05)
    with pytest.raises(errors.WaitTimeout, match=r"Lane a is queued .*steer steer_1 accepted"):
        lane.wait(0.05)


def test_created_before_accepted_commits_when_both_are_there(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    steer = lane.steer("x")
    stage.expect()
    stage.send(steered("resp_1", lane="a"), created("resp_2", "resp_1", "a"))
    stage.send(accepted("steer_1", "resp_1"))
    assert steer.wait(10).state == "committed"
    assert steer.successor_id == "resp_2"


def test_a_refused_steer_says_why_and_gives_its_input_back(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    steer = lane.steer("x")
    stage.expect()
    stage.send(ended("resp_1", lane="a"), steer_failed("resp_1", "x"))
    assert steer.wait(10).state == "failed"
    assert (steer.failure_code, steer.failure_message) == (
        "response_already_completed",
        "Too late.",
    )
    assert repr(steer) == "<Steer steer-2, failed (response_already_completed): 'x'>"
    assert lane.wait(10) == "idle"


def test_a_steer_waits_for_the_response_to_begin(stage, session):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    results = []
    thread = threading.Thread(target=lambda: results.append(lane.steer("y")))
    thread.start()
    stage.send(created("resp_1", lane="a"))
    thread.join(10)
    assert stage.expect("response.steer")["previous_response_id"] == "resp_1"
    assert results[0].response_id == "resp_1"


def test_a_steer_does_not_wait_for_ever(stage, session, monkeypatch):
    monkeypatch.setattr(starting, "START_SECONDS", 0.05)
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    with pytest.raises(errors.LaneBusy, match=r"has not started yet, after 0\.05 seconds"):
        lane.steer("y")
    assert stage.nothing_came()


def test_a_steer_on_an_idle_lane_is_refused_with_the_reason(stage, session):
    lane = session.lane("a")
    with pytest.raises(errors.LaneBusy, match="nothing is being written"):
        lane.steer("x")
    begin(stage, lane)
    finish(stage, lane)
    with pytest.raises(errors.LaneBusy, match="send it as the next turn"):
        lane.steer("x")


def test_a_steer_on_a_lane_that_waits_for_input_says_so(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    assert finish(stage, lane, "resp_1", function_call("call_1")) == "waiting_input"
    with pytest.raises(errors.LaneBusy, match="waits for input"):
        lane.steer("x")
    with pytest.raises(errors.LaneBusy, match=r"waits for 1 answer \(call_1\)"):
        lane.send("x")


def test_send_does_the_right_one_of_the_two(stage, session):
    lane = session.lane("a")
    first = lane.send("x", temperature=0.5)
    assert stage.expect("response.create")["temperature"] == 0.5
    stage.send(created("resp_1", lane="a"))
    second = lane.send("y")
    stage.expect("response.steer")
    stage.send(steer_failed("resp_1", "y"), ended("resp_1", lane="a"))
    lane.wait(10)
    third = lane.send("z")
    assert stage.expect("response.create")["previous_response_id"] == "resp_1"
    assert [type(handle).__name__ for handle in (first, second, third)] == [
        "Response",
        "Steer",
        "Response",
    ]


def test_a_steer_cannot_change_settings(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    with pytest.raises(errors.InvalidInput, match=r"carries no settings \(temperature\)"):
        lane.send("x", temperature=0.5)
    with pytest.raises(errors.InvalidInput, match="previous_response_id"):
        lane.send("x", previous_response_id=None)
    assert stage.nothing_came()


def test_while_a_steer_is_queued_no_create_may_follow(stage, session, monkeypatch):
    monkeypatch.setattr(starting, "START_SECONDS", 0.05)
    lane = session.lane("a")
    begin(stage, lane)
    lane.steer("x")
    stage.expect()
    stage.send(accepted("steer_1", "resp_1"), ended("resp_1", lane="a"))
    when(session, lambda ledger: ledger.lanes["a"].current is None)
    with pytest.raises(errors.LaneBusy, match="successor comes by itself"):
        lane.create("y")
    with pytest.raises(errors.LaneBusy, match="not started yet"):
        lane.send("y")
    assert stage.nothing_came()


def test_overrides_that_belong_elsewhere_are_refused(session):
    lane = session.lane("a")
    with pytest.raises(errors.InvalidInput, match="lane's name"):
        lane.create("x", stream_id="b")
    with pytest.raises(errors.InvalidInput, match="give a response that has begun"):
        lane.create("x", previous_response_id=3)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("previous_response_not_found", "previous_response_id=None"),
        ("websocket_stream_limit_reached", "32 lane names"),
        ("model_not_found", "model's name"),
        ("rate_limit_exceeded", "wait a little"),
        ("something_new", ""),
    ],
)
def test_a_refused_create_raises_where_it_is_waited_for(stage, session, code, advice):
    lane = session.lane("a")
    response = lane.create("x")
    stage.expect()
    stage.send(error(code, "a", param="model"))
    with pytest.raises(errors.ServerRefused, match=code) as caught:
        response.wait(10)
    assert (caught.value.code, caught.value.param, caught.value.status) == (code, "model", 400)
    assert advice in str(caught.value)
    assert response.status == "refused"
    assert response.error == {"code": code, "message": "No."}
    assert lane.wait(10) == "failed"
    assert lane.response == response
    lane.create("again")
    stage.expect()


def test_a_refusal_without_a_code_is_told_by_its_type(stage, session):
    response = session.lane("a").create("x")
    stage.expect()
    stage.send(error(None, lane="a", status=429, type="usage_limit_reached"))
    with pytest.raises(errors.ServerRefused, match=r"usage_limit_reached.*plan's limit") as caught:
        response.wait(10)
    assert (caught.value.code, caught.value.status) == (None, 429)


async def test_awaiting_a_refused_create_raises_too(stage, session):
    response = session.lane("a").create("x")
    stage.expect()
    stage.send(error(None, "a", status=500))
    with pytest.raises(errors.ServerRefused, match="HTTP 500"):
        await response


def test_an_error_in_the_middle_ends_the_response_with_a_status(stage, session):
    lane = session.lane("a")
    response = begin(stage, lane)
    stage.send(delta("Half", "a"))
    stage.send(
        json.dumps({"sequence_number": 9, **json.loads(error("credit_balance_exhausted", "a"))})
    )
    assert response.wait(10).status == "error"
    assert response.text == "Half"
    assert response.error["code"] == "credit_balance_exhausted"
    assert lane.state == "failed"


# -- forks ---------------------------------------------------------------------------------------


def test_a_fork_continues_from_the_last_response_with_the_lanes_settings(stage, session):
    lane = session.lane("a", instructions="Be brief.")
    begin(stage, lane)
    with pytest.raises(errors.LaneBusy, match="still being written"):
        lane.fork("b")
    finish(stage, lane)
    fork = lane.fork("b", temperature=0.5)
    fork.create("Other way.")
    sent = stage.expect()
    assert sent["stream_id"] == "b"
    assert sent["previous_response_id"] == "resp_1"
    assert (sent["instructions"], sent["temperature"]) == ("Be brief.", 0.5)
    stage.send(created("resp_2", "resp_1", "b"), ended("resp_2", lane="b"))
    fork.wait(10)
    fork.create("On.")
    assert stage.expect()["previous_response_id"] == "resp_2"
    lane.create("On.")
    assert stage.expect()["previous_response_id"] == "resp_1"
    notes = [entry.data for entry in session.trace if entry.note == "lane"]
    assert [note["forked_from"] for note in notes] == [None, "resp_1"]


def test_a_fork_takes_no_open_lanes_place(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    finish(stage, lane)
    unused = session.lane("b", model="other")
    fork = lane.fork("b")
    assert fork is unused, "nothing was said on it"
    fork.create("x")
    assert stage.expect()["previous_response_id"] == "resp_1"
    for name in ("a", "b"):
        with pytest.raises(errors.LaneBusy, match=f"Lane {name} is open and has a conversation of"):
            lane.fork(name)
    stage.send(created("resp_2", "resp_1", "b"), ended("resp_2", lane="b"))
    fork.wait(10)
    fork.create("On.")
    assert stage.expect()["previous_response_id"] == "resp_2", "it goes on as before"
    stage.send(created("resp_3", "resp_2", "b"), ended("resp_3", lane="b"))
    fork.wait(10)
    fork.close()
    lane.fork("b").create("y")
    assert stage.expect()["previous_response_id"] == "resp_1"


def test_a_fork_that_was_refused_begins_from_the_same_place_again(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    finish(stage, lane)
    fork = lane.fork("b")
    fork.create("x")
    stage.expect()
    stage.send(error("server_error", "b"))
    fork.wait(10)
    fork.create("x")
    assert stage.expect()["previous_response_id"] == "resp_1"


@pytest.mark.parametrize("how", ["lane", "name", "response", "id"])
def test_forks_by_lane_name_response_and_id(stage, session, how):
    lane = session.lane("a", instructions="Be brief.")
    response = begin(stage, lane)
    finish(stage, lane)
    source = {"lane": lane, "name": "a", "response": response, "id": "resp_1"}[how]
    session.lane("b", fork=source).create("x")
    sent = stage.expect()
    assert (sent["previous_response_id"], sent["instructions"]) == ("resp_1", "Be brief.")


def test_a_fork_of_a_response_of_another_session_is_left_to_the_service(stage, session):
    session.lane("b", fork="resp_from_yesterday").create("x")
    assert stage.expect()["previous_response_id"] == "resp_from_yesterday"


def test_forks_that_cannot_be(stage, session):
    lane = session.lane("a")
    with pytest.raises(errors.NothingToContinue, match="no response yet"):
        lane.fork("b")
    with pytest.raises(errors.UnknownLane, match="no lane and no response 'nope'"):
        session.lane("b", fork="nope")
    response = lane.create("x")
    with pytest.raises(errors.LaneBusy, match="has not begun"):
        lane.fork("b", response)
    stage.expect()
    stage.send(created("resp_1", lane="a"), ended("resp_1", function_call("call_1"), lane="a"))
    lane.wait(10)
    with pytest.raises(errors.RequiredInputOpen, match="call_1") as caught:
        lane.fork("b")
    assert caught.value.keys == ("call_1",)
    assert set(session.lanes) == {"a"}


# -- closing, waiting, looking -------------------------------------------------------------------


def test_a_closed_lane_takes_nothing_and_can_be_opened_again(stage, session):
    lane = session.lane("a", instructions="Be brief.")
    begin(stage, lane)
    lane.close()
    lane.close()
    assert session.lanes == {}
    with pytest.raises(errors.UnknownLane, match="was closed"):
        lane.steer("x")
    with pytest.raises(errors.UnknownLane, match="Its lanes: none"):
        session["a"]
    stage.send(ended("resp_1", lane="a"))
    when(session, lambda ledger: ledger.lanes["a"].current is None)
    assert lane.response.status == "completed"
    again = session.lane("a")
    assert again is lane
    again.create("x")
    sent = stage.expect()
    assert (sent["previous_response_id"], sent["instructions"]) == ("resp_1", "Be brief.")
    assert [e.note for e in session.trace if e.note and "lane" in e.note] == [
        "lane",
        "lane_closed",
        "lane",
    ]


def test_events_of_a_lane_that_nobody_opened_are_kept(stage, session):
    stage.send({"type": "response.created", "stream_id": "ghost", "response": head("resp_9")})
    when(session, lambda ledger: ledger.responses.get("resp_9"))
    assert session.lanes == {}
    ghost = session.lane_object("ghost")
    assert ghost.response.id == "resp_9"
    assert ghost.response.lane is ghost
    assert "closed" in repr(ghost)
    assert session.lane("ghost") is ghost


def test_waiting_names_what_goes_on(stage, session):
    lane = session.lane("a")
    begin(stage, lane)
    stage.send(delta("Hello", "a"))
    response = lane.response
    with pytest.raises(
        errors.WaitTimeout, match=r"resp_1 is still in progress after 0\.05 seconds"
    ):
        response.wait(0.05)
    with pytest.raises(errors.WaitTimeout, match=r"Lane a is running .resp_1 in progress, "):
        lane.wait(0.05)
    with pytest.raises(TimeoutError, match="Lane a is running"):
        session.wait(0.05)
    finish(stage, lane)
    assert session.wait(10) == {"a": "idle"}


async def test_everything_can_be_awaited(stage, session):
    lane = session.lane("a")
    response = lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    steer = lane.steer("y")
    stage.expect()
    stage.send(accepted("s_1", "resp_1"), steered("resp_1", lane="a"))
    stage.send(created("resp_2", "resp_1", "a"), ended("resp_2", lane="a"))
    assert await response is response
    assert await steer is steer
    assert await lane.settled() == "idle"
    assert await session.settled() == {"a": "idle"}
    assert steer.state == "committed"


def test_handles_of_one_thing_are_equal(stage, session):
    lane = session.lane("a")
    response = begin(stage, lane)
    assert response == lane.response == lane.responses[0]
    assert len({response, lane.response}) == 1
    assert response != lane.steer("x")
    assert response != "create-1"


def test_output_items_and_refusals(stage, session):
    lane = session.lane("a")
    response = begin(stage, lane)
    message = {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "refusal", "refusal": "I cannot."}],
    }
    finish(stage, lane, "resp_1", message)
    assert response.output == [message]
    response.output[0]["content"] = None
    assert response.output == [message]  # a copy: nobody changes the record
    assert response.refusal == "I cannot."
    assert response.previous_response_id is None
