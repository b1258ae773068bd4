"""What a server refuses, in the status, before the stream or in it: told apart, and never lost."""

from __future__ import annotations

import httpx
import pytest

from steer_nb import errors
from tests.letta.stage import PATIENCE, asked_of, runs_of


def elsewhere(simulator, lane, **body):
    """Another client of the same conversation says something."""
    place = f"{simulator.base_url}/v1/conversations/{lane.settings['conversation']}/messages"
    answer = httpx.post(place, json={"streaming": False, **body}, trust_env=False)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("faults", [[], ["early_conflict"]], ids=["in the stream", "before it"])
def test_a_message_to_an_agent_that_waits_shows_what_it_waits_for(serve, faults):
    session, simulator = serve(faults=faults)
    lane = session.lane("a", agent=simulator.agent_id)
    elsewhere(simulator, lane, input="delete /srv/old.log")
    response = lane.create("Hello")
    if faults:
        with pytest.raises(errors.ServerRefused, match="waiting for approval"):
            response.wait(PATIENCE)
    else:
        assert response.wait(PATIENCE).status == "failed"
    assert lane.wait(PATIENCE) == "waiting_input"
    assert "waiting for approval" in response.error["message"]
    (needed,) = lane.required_input
    assert needed.name == "delete_file"
    (steer,) = lane.steers  # what was said is not lost
    assert (steer.state, steer.text) == ("queued_here", "Hello")
    with pytest.raises(errors.LaneBusy, match=f"already sent again, as {steer.key}"):
        response.send_again()
    lane.fill(needed.key, approve=True)
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"
    assert steer.state == "committed"
    assert len(runs_of(simulator)) == 1
    assert "Hello" in lane.text


def test_what_was_refused_is_not_sent_again_where_the_history_is_out(serve):
    session, simulator = serve(faults=["early_conflict"])
    lane = session.lane("a", agent=simulator.agent_id)
    elsewhere(simulator, lane, input="delete /srv/old.log")
    simulator.faults.add("lose_answer type=conversations.messages.list times=2")
    with pytest.raises(errors.ServerRefused):
        lane.create("Hello").wait(PATIENCE)
    assert lane.wait(PATIENCE) == "waiting_input"
    assert len(asked_of(simulator, "/messages")) == 2  # theirs, and ours
    assert len([one for one in simulator.account if one["kind"] == "fault"]) == 3


def test_a_busy_conversation_refuses_and_the_text_can_go_out_again(serve):
    session, simulator = serve(faults=["busy"])
    lane = session.lane("a", agent=simulator.agent_id)
    response = lane.create("Hello")
    with pytest.raises(errors.ServerRefused, match="currently being processed") as caught:
        response.wait(PATIENCE)
    assert caught.value.status == 409
    assert lane.wait(PATIENCE) == "failed"
    again = response.send_again().wait(PATIENCE)
    assert again.status == "completed"
    assert lane.wait(PATIENCE) == "idle"


def test_answers_that_came_too_late_are_not_run_twice(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    key = lane.required_input[0].key
    decided = [{"type": "approval", "tool_call_id": key, "approve": True}]
    elsewhere(simulator, lane, messages=[{"type": "approval", "approvals": decided}])
    lane.fill(key, approve=False, reason="too late")
    lane.send_continuation().wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    assert len(runs_of(simulator)) == 1
    (asked,) = lane.responses[0].required_input
    assert asked.state == "confirmed"


def test_answers_to_what_is_not_asked_any_more_come_back(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id, conversation="default")
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    place = f"{simulator.base_url}/v1/agents/{simulator.agent_id}/reset-messages"
    assert httpx.patch(place, json={}, trust_env=False).status_code == 200
    steer = lane.send("And then?")
    lane.fill(lane.required_input[0].key, approve=True)
    response = lane.send_continuation().wait(PATIENCE)
    lane.wait(PATIENCE)
    assert response.status == "failed"
    assert "No tool call is currently awaiting approval" in response.error["message"]
    assert not runs_of(simulator)
    assert steer.state == "queued_here"
    assert (lane.state, lane.required_input) == ("failed", ())
    lane.create("Hello")
    assert lane.wait(PATIENCE) == "idle"
    assert steer.state == "committed"


@pytest.mark.parametrize("said", ["rate", "Look at the files."])
def test_a_model_that_fails_fails_the_run(serve, said):
    session, simulator = serve("failing")
    lane = session.lane("a", agent=simulator.agent_id)
    response = lane.create(said).wait(PATIENCE)
    assert lane.wait(PATIENCE) == "failed"
    assert response.status == "failed"
    assert response.error["message"]
    assert session.trace.frames.responses.status.iloc[-1] == "failed"


def test_an_unprocessable_body_is_told(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id, max_steps="many")
    response = lane.create("Hello")
    with pytest.raises(errors.ServerRefused, match="422"):
        response.wait(PATIENCE)
    assert lane.wait(PATIENCE) == "failed"


def test_a_wrong_key_is_told_and_shown_nowhere(serve, tmp_path):
    import steer_nb
    from steer_nb.simulator.letta import LettaSimulator

    key = "sk-let-very-secret"
    with LettaSimulator("files", speed=0, api_key=key) as simulator:
        for wrong in ("", "sk-let-wrong"):
            with pytest.raises(errors.AuthenticationFailed) as caught:
                steer_nb.connect(letta=simulator.base_url, api_key=wrong, journal=False)
            assert "wrong" not in str(caught.value)
        session = steer_nb.connect(
            letta=simulator.base_url, api_key=key, journal=tmp_path, quiet=True
        )
        lane = session.lane("a", agent=simulator.agent_id)
        lane.create("Hello").wait(PATIENCE)
        session.close()
        assert key not in repr((session, lane, session.core.endpoint, session.status()))
        assert key not in session.journal_path.read_text()


def test_nobody_there():
    import steer_nb

    with pytest.raises(errors.ConnectionFailed, match="simulate --dialect letta"):
        steer_nb.connect(letta="http://127.0.0.1:9", journal=False)
