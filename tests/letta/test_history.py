"""Histories of several hundred messages: what is far back is found; what is not there is not."""

from __future__ import annotations

import httpx
import pytest

from steer_nb import errors
from tests.letta.stage import PATIENCE, runs_of
from tests.letta.test_recover import copied, cut_behind, lose, recover, sent, settled
from tests.simulator.letta.test_compacting import full

ROUNDS = 130
"""Of another client; a round is two messages."""


def talk_on(simulator, lane, rounds=ROUNDS):
    """Another client goes on with the conversation, for long."""
    talk = lane.settings["conversation"]
    place = f"{simulator.base_url}/v1/conversations/{talk}/messages"
    with httpx.Client(trust_env=False) as client:
        for number in range(rounds):
            said = {"input": f"Hello {number}", "streaming": False}
            assert client.post(place, json=said).status_code == 200
    return len(simulator.service.conversations[talk].messages)


def pages_of(simulator):
    asked = (one for one in simulator.account if one["kind"] == "request")
    return sum(one["method"] == "GET" and "/messages?" in one["target"] for one in asked)


@pytest.fixture
def waiting(serve, tmp_path):
    """A lane that waits for an answer, of a session with a journal."""
    session, simulator = serve(journal=tmp_path / "journals", faults=["no_redis"])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    return session, simulator, lane


def test_a_request_is_found_far_back(serve, tmp_path):
    session, simulator = serve(journal=tmp_path / "journals", faults=["no_redis"])
    lane = session.lane("a", agent=simulator.agent_id)
    response = lane.create("Hello").wait(PATIENCE)
    path = copied(session, tmp_path)
    cut_behind(path, sent(response.key))
    assert talk_on(simulator, lane) > 250
    before = pages_of(simulator)
    again = recover(path, name="again").lanes["a"]
    assert again.wait(PATIENCE) == "idle"
    assert again.response.status == "completed"
    assert again.text == response.text
    assert pages_of(simulator) - before == 3
    assert len(again.responses) == 1  # what others said meanwhile is not this lane's


def test_answers_are_confirmed_from_far_back(waiting, tmp_path):
    session, simulator, lane = waiting
    lane.fill(lane.required_input[0].key, approve=False, reason="wrong file")
    lane.send_continuation()
    lane.wait(PATIENCE)
    path = copied(session, tmp_path)
    cut_behind(path, lambda entry: '"end_turn"' in (entry.get("raw") or ""))
    talk_on(simulator, lane)
    again = recover(path, name="again").lanes["a"]
    settled(again, "confirmed")
    assert again.session.trace.frames.tool_calls.result_kind.tolist() == ["denied"]


def test_what_was_answered_elsewhere_long_ago_is_seen(waiting, tmp_path):
    session, simulator, lane = waiting
    (needed,) = lane.required_input
    path = copied(session, tmp_path)
    decided = [{"type": "approval", "tool_call_id": needed.key, "approve": True}]
    talk = f"{simulator.base_url}/v1/conversations/{lane.settings['conversation']}/messages"
    said = {"messages": [{"type": "approval", "approvals": decided}], "streaming": False}
    assert httpx.post(talk, json=said, trust_env=False).status_code == 200
    talk_on(simulator, lane)
    again = recover(path, name="again").lanes["a"]
    settled(again, "confirmed")
    assert again.state == "idle"
    assert len(runs_of(simulator)) == 1


@pytest.mark.parametrize("most", [None, 2], ids=["to its start", "no further than that"])
def test_a_request_that_is_nowhere_never_arrived(serve, tmp_path, monkeypatch, most):
    session, simulator = serve(journal=tmp_path / "journals")
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("Hello").wait(PATIENCE)
    lane.wait(PATIENCE)
    path = copied(session, tmp_path)
    lose(path)
    talk_on(simulator, lane)
    if most is not None:
        monkeypatch.setattr("steer_nb.letta.history.MOST_PAGES", most)
    before = pages_of(simulator)
    again = recover(path, name="again").lanes["a"]
    again.wait(PATIENCE)
    assert again.response.key == "create-9"
    if most is None:
        assert again.response.status == "unsent"
        with pytest.raises(errors.NotConnected):
            again.response.wait(PATIENCE)
        assert pages_of(simulator) - before == 4  # the last one is empty: that is its start
    else:
        assert again.response.status == "unknown"
        told = again.session.trace.frames.problems.detail
        assert told.str.contains("only the newest 200 messages of a were looked at").any()


def test_a_long_conversation_is_opened_with_what_is_new_in_it(waiting):
    session, simulator, lane = waiting
    lane.cancel_all()
    lane.send_continuation()
    lane.wait(PATIENCE)
    talk_on(simulator, lane)
    lane.create("delete /srv/new.log")
    lane.wait(PATIENCE)
    talk = lane.settings["conversation"]
    lane.close()
    session.close()
    with recover_nothing(simulator) as other:
        again = other.lane("b", conversation=talk)
        assert again.wait(PATIENCE) == "waiting_input"
        assert len(again.responses) < ROUNDS
        again.fill(again.required_input[0].key, approve=True)
        again.send_continuation()
        assert again.wait(PATIENCE) == "idle"
        assert [one["name"] for one in runs_of(simulator)] == ["delete_file"]


def recover_nothing(simulator):
    import steer_nb

    return steer_nb.connect(letta=simulator.base_url, journal=False, quiet=True, name="later")


@pytest.mark.parametrize("page", [1, 2])
def test_what_stands_in_several_pages_is_one(serve, monkeypatch, page):
    monkeypatch.setattr("steer_nb.letta.history.PAGE", page)
    session, simulator = serve("parallel", faults=["phantom_call"])
    lane = session.lane("a", agent=simulator.agent_id, stream_tokens=True)
    lane.create("Go")
    assert lane.wait(PATIENCE) == "waiting_input"
    asked = {one.key for one in lane.required_input}
    assert len(lane.cancel_all()) == len(asked)
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"
    states = {one.key: one.state for one in lane.responses[0].required_input}
    assert {states[key] for key in asked} == {"confirmed"}
    later = recover_nothing(simulator)
    again = later.lane("b", conversation=lane.settings["conversation"])
    assert again.text == lane.text


def test_a_request_that_a_compaction_stands_behind_still_waits(serve, tmp_path):
    session, simulator = serve(full, journal=tmp_path / "journals")
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("Hello").wait(PATIENCE)
    lane.create("full delete")
    assert lane.wait(PATIENCE) == "waiting_input"
    behind = simulator.service.conversations[lane.settings["conversation"]].messages[-1]
    assert behind.summary is not None
    again = recover(copied(session, tmp_path), name="again").lanes["a"]
    assert again.wait(PATIENCE) == "waiting_input"
    assert [one.state for one in again.required_input] == ["open"]
    again.fill(again.required_input[0].key, approve=True)
    assert again.send_continuation().wait(PATIENCE).status == "completed"
    assert again.wait(PATIENCE) == "idle"
    assert not again.session.trace.frames.problems.kind.str.contains("history").any()
