"""What is said while an agent writes or waits is kept here, and says so."""

from __future__ import annotations

import httpx
import pytest

from steer_nb import errors
from tests.letta.stage import PATIENCE, asked_of
from tests.widgets.forming import until
from tests.widgets.test_decisions import Shown


def said_to(simulator, lane):
    """What the server's history says that users said, in order."""
    conversation = simulator.service.conversations[lane.settings["conversation"]]
    return [one.content for one in conversation.messages if one.role == "user"]


def test_text_for_a_waiting_agent_goes_out_behind_the_answers(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    first, second = lane.send("Be quick."), lane.steer("And be careful.")
    assert [first.state, second.state] == ["queued_here", "queued_here"]
    assert lane.state == "waiting_input"
    assert "queued here" in repr(first)
    assert f"steer {first.key} is queued here and not committed" in lane.in_flight
    assert len(asked_of(simulator, "/messages")) == 1
    lane.fill(lane.required_input[0].key, approve=True)
    response = lane.send_continuation("Thank you.")
    assert first.wait(PATIENCE).state == "committed"
    assert second.wait(PATIENCE).successor == response
    assert lane.wait(PATIENCE) == "idle"
    assert said_to(simulator, lane) == [
        "delete /srv/old.log", "Be quick.", "And be careful.", "Thank you.",
    ]  # fmt: skip
    steers = session.trace.frames.steers
    assert list(steers.state) == ["committed", "committed"]
    assert set(steers.successor_response_id) == {response.id}


def test_text_for_a_running_agent_is_its_next_turn(serve):
    session, simulator = serve("story", faults=["stall type=stop_reason"])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("Tell me a story.")
    steer = lane.steer("Another one.")
    assert steer.state == "queued_here"
    simulator.faults.clear()
    assert lane.wait(PATIENCE) == "idle"
    assert steer.state == "committed"
    assert [one.status for one in lane.responses] == ["completed", "completed"]
    assert said_to(simulator, lane) == ["Tell me a story.", "Another one."]


def test_a_running_agent_is_not_asked_twice(serve):
    session, simulator = serve("story", faults=["stall type=stop_reason"])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("Tell me a story.")
    with pytest.raises(errors.LaneBusy, match="steer\\(\\) keeps this here"):
        lane.create("Another one.")
    simulator.faults.clear()
    lane.wait(PATIENCE)
    with pytest.raises(errors.LaneBusy, match="nothing is being written"):
        lane.steer("Too late.")


def test_what_is_queued_can_be_dropped(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    steer = lane.send("Never mind.")
    steer.drop()
    lane.cancel_all()
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"
    assert said_to(simulator, lane) == ["delete /srv/old.log"]


@pytest.fixture
def held(serve):
    """A lane whose run was cancelled by somebody else, and the text that was to follow it."""
    session, simulator = serve("story", speed=0.5)
    lane = session.lane("a", agent=simulator.agent_id)
    response = lane.create("Tell me a story.")
    steer = lane.steer("Another one.")
    place = f"{simulator.base_url}/v1/conversations/{lane.settings['conversation']}/cancel"
    assert httpx.post(place, json={}, trust_env=False).status_code == 200
    response.wait(PATIENCE)
    lane.wait(PATIENCE)
    assert (response.status, steer.state) == ("cancelled", "queued_here")
    assert steer.key in session.status()["to_decide"]
    simulator.service.speed = 0
    return session, simulator, lane, steer


def test_what_is_queued_is_held_where_the_run_ends_badly(held):
    _, simulator, lane, steer = held
    lane.create("Then this.")
    assert lane.wait(PATIENCE) == "idle"
    assert steer.state == "committed"
    assert said_to(simulator, lane)[-2:] == ["Another one.", "Then this."]


def test_held_text_can_be_sent_by_a_word(held):
    session, simulator, lane, steer = held
    response = steer.send_again().wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    assert response.status == "completed"
    assert said_to(simulator, lane)[-1:] == ["Another one."]
    assert not session.status()["to_decide"]


def test_held_text_is_offered_below_the_lane(held):
    _, simulator, lane, _ = held
    shown = Shown(lane)
    until(shown.buttons)
    shown.click(next(name for name in shown.buttons() if name.startswith("Send now")))
    until(lambda: len(lane.responses) == 2)
    assert lane.wait(PATIENCE) == "idle"
    assert said_to(simulator, lane)[-1:] == ["Another one."]
    until(lambda: not shown.buttons())
