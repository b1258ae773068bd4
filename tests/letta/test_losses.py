"""Streams that break, answers that never come, servers that keep nothing: what becomes of it."""

from __future__ import annotations

import pytest

import steer_nb
from steer_nb import errors
from steer_nb.simulator.letta import LettaSimulator
from tests.letta.stage import PATIENCE, asked_of, runs_of

EVERY = 24
"""More frames than the stream of a request for approval has; its answer has a few less."""


def plain(response):
    """What a response says, without the ids that differ."""
    return [
        {k: v for k, v in item.items() if k in ("type", "name", "content", "arguments", "output")}
        for item in response.output
    ]


def rounds(lane, arm=lambda: None):
    """A request for approval, and its answer; what came of both."""
    arm()
    first = lane.create("delete /srv/old.log").wait(PATIENCE)
    assert lane.wait(PATIENCE) == "waiting_input"
    (needed,) = lane.required_input
    lane.fill(needed.key, approve=True)
    arm()
    second = lane.send_continuation().wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    assert [one.state for one in first.required_input] == ["confirmed"]
    return [(one.status, one.text, plain(one)) for one in (first, second)]


@pytest.fixture(scope="module")
def unbroken():
    with (
        LettaSimulator("files", speed=0) as simulator,
        steer_nb.connect(letta=simulator.base_url, journal=False, quiet=True, name="u") as session,
    ):
        return rounds(session.lane("a", agent=simulator.agent_id))


def test_a_stream_that_is_lost_at_any_frame_is_read_on(serve, unbroken):
    session, simulator = serve()
    for at in range(1, EVERY):
        side = "before" if at % 2 else "after"
        lane = session.lane(f"lane-{at}", agent=simulator.agent_id)
        drop = f"drop side={side} at={at} conversation={lane.settings['conversation']}"

        def arm(drop=drop):
            simulator.faults.clear()
            simulator.faults.add(drop)

        assert rounds(lane, arm) == unbroken, f"lost {side} frame {at}"
    assert len(runs_of(simulator)) == EVERY - 1
    struck = [one for one in simulator.account if one["kind"] == "fault"]
    assert len(struck) > EVERY + 5
    assert not session.trace.frames.problems.query("kind == 'local'").size


def test_a_request_whose_answer_is_lost_goes_out_under_its_own_id(serve, unbroken):
    session, simulator = serve(
        faults=["lose_answer type=conversations.messages.create times=4"],
        reconnect=steer_nb.Reconnect(attempts=5, first_s=0.01, longest_s=0.02),
    )
    lane = session.lane("a", agent=simulator.agent_id)
    assert rounds(lane) == unbroken
    assert len(runs_of(simulator)) == 1
    sent = [entry for entry in session.trace if entry.kind == "out" and "attempt" in entry.data]
    first = {entry.data["key"]: entry.raw for entry in session.trace if entry.kind == "out"}
    assert sent
    assert all(entry.raw == first[entry.data["key"]] for entry in sent)
    assert len(session.trace.frames.responses) == 2


def test_a_server_that_is_gone_leaves_the_outcome_unknown(serve):
    session, simulator = serve("story", faults=["stall type=stop_reason"])
    lane = session.lane("a", agent=simulator.agent_id)
    response = lane.create("Tell me a story.")
    lane.session.until(lambda _: response.id, PATIENCE, lambda: "")
    simulator.stop()
    response.wait(PATIENCE)
    assert response.status == "truncated"
    assert lane.wait(PATIENCE) == "idle"
    with pytest.raises(errors.SteerError):
        session.lane("b", agent=simulator.agent_id)


def test_a_request_that_never_left_is_unsent(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id)
    simulator.stop()
    response = lane.create("Hello")
    with pytest.raises(errors.NotConnected, match="never left"):
        response.wait(PATIENCE)
    assert response.status == "unsent"


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_gateway_that_is_out_is_asked_again_under_the_same_id(serve, unbroken, status):
    session, simulator = serve(
        faults=[f"refuse_request status={status} type=conversations.messages.create times=2"]
    )
    lane = session.lane("a", agent=simulator.agent_id)
    assert rounds(lane) == unbroken
    assert len(asked_of(simulator, "/messages")) == 4
    assert lane.session.core.line.background


def test_without_redis_runs_are_in_the_foreground(serve, unbroken):
    session, simulator = serve(faults=["no_redis"])
    lane = session.lane("a", agent=simulator.agent_id)
    assert rounds(lane) == unbroken
    assert len(asked_of(simulator, "/messages")) == 3  # asked once for the background
    assert len(runs_of(simulator)) == 1
    assert len(session.trace.frames.responses) == 2


@pytest.mark.parametrize("at", [1, 3, 8])
def test_a_stream_in_the_foreground_that_is_lost_is_no_ones_to_guess(serve, at):
    session, simulator = serve(faults=["no_redis"])
    lane = session.lane("a", agent=simulator.agent_id)
    simulator.faults.add(f"drop at={at}")
    response = lane.create("Hello")
    response.wait(PATIENCE)
    lane.wait(PATIENCE)
    assert response.status in ("completed", "failed", "cancelled", "truncated")
    assert len(asked_of(simulator, "/messages")) == 2  # never a third time
    again = lane.create("Hello again").wait(PATIENCE)
    assert again.status == "completed"


@pytest.mark.parametrize("fault", ["no_eof", "hang_resume"])
def test_a_body_that_does_not_end_is_left(serve, fault, monkeypatch):
    monkeypatch.setattr("steer_nb.letta.following.QUIET_S", 0.2)
    monkeypatch.setattr("steer_nb.letta.following.STALLED_S", 0.3)
    faults = [fault, "drop at=4"] if fault == "hang_resume" else [fault]
    session, simulator = serve(faults=faults, keepalive_s=0.2)
    lane = session.lane("a", agent=simulator.agent_id)
    response = lane.create("Hello").wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    assert response.status == "completed"
    assert response.text.startswith("You said: “Hello”.")


def test_a_history_that_is_lost_is_asked_for_again(serve):
    lost = "lose_answer type=conversations.messages.list times=2"
    session, simulator = serve(faults=["phantom_call", lost])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    assert lane.wait(PATIENCE) == "waiting_input"
    assert len(lane.required_input) == 1  # of two that were streamed
    assert len([one for one in simulator.account if one["kind"] == "fault"]) >= 3
    assert not session.trace.frames.problems.query("kind == 'local'").size


def test_a_second_click_sends_nothing(serve):
    session, simulator = serve(faults=["hold_tool seconds=0.3"])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    lane.fill(lane.required_input[0].key, approve=True)
    lane.send_continuation()
    with pytest.raises(errors.NothingToContinue, match="already sent"):
        lane.send_continuation()
    lane.wait(PATIENCE)
    with pytest.raises(errors.NothingToContinue):
        lane.send_continuation()
    assert len(runs_of(simulator)) == 1
