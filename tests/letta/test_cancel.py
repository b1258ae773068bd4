"""Cancel: what is written stops, and what waits is released where a server does that."""

from __future__ import annotations

import threading

import httpx
import pytest

import steer_nb
from steer_nb import errors
from tests.letta.stage import PATIENCE, asked_of, runs_of
from tests.letta.test_recover import copied, cut_behind, recover, settled
from tests.widgets.talking import press
from tests.widgets.test_decisions import Shown

STALLED = "stall type=stop_reason"
talks = pytest.mark.parametrize("talk", [None, "default"], ids=["its own", "default"])


def writing(serve, talk=None, **options):
    """A lane whose agent tells a story, slowly."""
    session, simulator = serve("story", speed=2, **options)
    lane = session.lane("a", agent=simulator.agent_id, conversation=talk)
    response = lane.create("Tell me a story.")
    session.until(lambda _: response.text or None, PATIENCE, lambda: "")
    return simulator, lane, response


def waiting(serve, talk="default", **options):
    session, simulator = serve(**options)
    lane = session.lane("a", agent=simulator.agent_id, conversation=talk)
    response = lane.create("delete /srv/old.log").wait(PATIENCE)
    assert lane.wait(PATIENCE) == "waiting_input"
    return simulator, lane, response


@talks
def test_what_is_written_stops(serve, talk):
    simulator, lane, response = writing(serve, talk)
    steer = lane.steer("And then?")
    assert Shown(lane).box.field.cancels
    assert lane.cancel() == response
    assert response.wait(PATIENCE).status == "cancelled"
    assert lane.wait(PATIENCE) == "idle"
    assert steer.state == "queued_here"  # it is not sent by itself into what was stopped
    assert steer.key in lane.session.status()["to_decide"]
    row = lane.session.trace.frames.responses.iloc[-1]
    assert (row.status, row.status_raw) == ("cancelled", "cancelled")
    simulator.service.speed = 0
    lane.create("Hello").wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    assert steer.state == "committed"


def test_other_conversations_of_the_agent_go_on(serve):
    simulator, lane, response = writing(serve, "default")
    other = lane.session.lane("b", agent=simulator.agent_id)
    more = other.create("Tell me another story.")
    lane.session.until(lambda _: more.text or None, PATIENCE, lambda: "")
    lane.cancel()
    assert response.wait(PATIENCE).status == "cancelled"
    simulator.service.speed = 0
    assert more.wait(PATIENCE).status == "completed"


def test_a_server_without_redis_says_that_it_cannot(serve):
    simulator, lane, response = writing(serve, faults=["no_redis"])
    with pytest.raises(errors.ServerRefused, match="No active runs to cancel") as caught:
        lane.cancel()
    assert caught.value.status == 409
    simulator.service.speed = 0
    assert response.wait(PATIENCE).status == "completed"
    assert lane.wait(PATIENCE) == "idle"  # the refusal is about no message


@talks
def test_a_cancel_that_comes_too_late_changes_nothing(serve, talk):
    session, simulator = serve(faults=[STALLED])
    lane = session.lane("a", agent=simulator.agent_id, conversation=talk)
    response = lane.create("Hello")
    run = session.until(lambda _: response.id, PATIENCE, lambda: "")
    until(lambda: not simulator.service.runs[run].active)
    assert response.status == "in_progress"
    assert lane.cancel() == response  # a server may say that it cancelled what had ended
    simulator.faults.clear()
    assert response.wait(PATIENCE).status == "completed"
    assert lane.wait(PATIENCE) == "idle"
    assert response.text.startswith("You said: “Hello”.")


def until(what):
    found = threading.Event()
    for _ in range(PATIENCE * 50):
        if what():
            return
        found.wait(0.02)
    raise AssertionError(what)


def test_a_cancel_that_is_asked_twice_is_one(serve):
    _, lane, response = writing(serve)
    said = []

    def click():
        try:
            said.append(lane.cancel())
        except errors.LaneBusy as error:  # it came when all was over
            said.append(str(error))

    clicks = [threading.Thread(target=click) for _ in range(3)]
    for one in clicks:
        one.start()
    for one in clicks:
        one.join(PATIENCE)
    assert response in said
    late = "Lane a: nothing is being written and nothing waits: there is nothing to cancel."
    assert set(said) <= {response, late}
    assert response.wait(PATIENCE).status == "cancelled"
    assert lane.wait(PATIENCE) == "idle"
    with pytest.raises(errors.LaneBusy, match="there is nothing to cancel"):
        lane.cancel()


def test_what_waits_is_released_in_the_default_conversation(serve):
    simulator, lane, response = waiting(serve, scenario="parallel")
    steer = lane.send("And then?")
    lane.fill(lane.required_input[0].key, approve=True)
    assert lane.cancel() == response
    assert (lane.state, lane.required_input) == ("idle", ())
    assert {one.state for one in response.required_input} == {"cancelled"}
    assert not runs_of(simulator)
    assert steer.state == "queued_here"
    frames = lane.session.trace.frames
    assert set(frames.tool_calls.result_kind) == {"cancelled"}
    assert set(frames.tool_calls.answered_in_response_id) == {response.id}
    assert set(frames.required_inputs.state) == {"cancelled"}
    with pytest.raises(errors.LaneBusy, match="there is nothing to cancel"):
        lane.cancel()
    lane.create("Hello").wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    assert steer.state == "committed"


def test_a_conversation_of_its_own_is_not_released(serve):
    simulator, lane, response = waiting(serve, None)
    with pytest.raises(errors.LaneBusy, match="deny all") as caught:
        lane.cancel()
    assert response.id in str(caught.value)
    assert not asked_of(simulator, "/cancel")
    lane.cancel_all()
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"


def test_a_server_that_cancels_and_waits_on_is_not_believed(serve):
    simulator, lane, response = waiting(serve, faults=["stuck_cancel"])
    with pytest.raises(errors.ServerRefused, match=r"says that it cancelled .* which waits on"):
        lane.cancel()
    assert lane.state == "waiting_input"
    assert [one.state for one in response.required_input] == ["open"]
    lane.fill(lane.required_input[0].key, approve=True)
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"
    assert len(runs_of(simulator)) == 1


def test_what_was_answered_elsewhere_is_not_cancelled(serve):
    simulator, lane, response = waiting(serve)
    place = f"/v1/agents/{simulator.agent_id}/messages"
    decided = {"type": "approval", "tool_call_id": lane.required_input[0].key, "approve": True}
    said = {"messages": [{"type": "approval", "approvals": [decided]}]}
    done = httpx.post(simulator.base_url + place, json=said, trust_env=False)
    assert done.status_code == 200
    lane.cancel()
    assert lane.wait(PATIENCE) == "idle"
    assert [one.state for one in response.required_input] == ["confirmed"]
    assert len(runs_of(simulator)) == 1


def test_answers_of_a_run_that_is_cancelled_are_what_the_history_says(serve):
    simulator, lane, first = waiting(serve, faults=["hold_tool seconds=5"])
    lane.fill(lane.required_input[0].key, approve=True)
    response = lane.send_continuation()
    lane.session.until(lambda _: response.id, PATIENCE, lambda: "")
    lane.cancel()
    assert response.wait(PATIENCE).status == "cancelled"
    word = lane.wait(PATIENCE)
    pending = simulator.service.agents[simulator.agent_id].own.pending is not None
    assert word == ("waiting_input" if pending else "idle")
    (asked,) = first.required_input
    assert asked.state == ("filled" if pending else "confirmed")
    if pending:
        lane.send_continuation()
        assert lane.wait(PATIENCE) == "idle"
    assert len(runs_of(simulator)) == 1


def test_a_cancel_whose_end_was_not_seen_is_seen_later(serve, tmp_path):
    _, lane, _ = waiting(serve, journal=tmp_path / "journals")
    lane.cancel()
    path = copied(lane.session, tmp_path)
    cut_behind(path, lambda one: one.get("kind") == "in" and "unproven" in str(one.get("data")))
    again = recover(path, name="again").lanes["a"]
    settled(again, "cancelled")
    assert again.state == "idle"


def test_nobody_there_is_told(serve):
    simulator, lane, _ = waiting(serve)
    simulator.stop()
    with pytest.raises(errors.ConnectionFailed, match="cannot be reached"):
        lane.cancel()
    assert lane.state == "waiting_input"


def test_the_responses_api_cancels_nothing():
    with steer_nb.connect(simulate="planner", journal=False, quiet=True) as session:
        lane = session.lane("a")
        with pytest.raises(errors.InvalidInput, match="cancels nothing on a WebSocket"):
            lane.cancel()


def test_a_button_below_the_lane_cancels_what_can_be(serve):
    _, lane, response = waiting(serve)
    shown = Shown(lane)
    until(lambda: shown.box.field.cancels)
    press(shown.box, "cancel")
    press(shown.box, "cancel", step=0)  # twice, as a person in a hurry
    until(lambda: "Asked the server to cancel run-" in shown.box.field.said)
    assert [one.state for one in response.required_input] == ["cancelled"]
    until(lambda: not shown.box.field.cancels)


def test_a_conversation_of_its_own_that_waits_has_no_such_button(serve):
    _, lane, _ = waiting(serve, None)
    assert not Shown(lane).box.field.cancels
