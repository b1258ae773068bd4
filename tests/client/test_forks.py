"""A fork of what is not stored has to start before its source lane goes on (chapter 3)."""

from __future__ import annotations

import threading

import pytest

from steer_nb import errors
from steer_nb.client import starting
from steer_nb.simulator import AwaitSteer, CallFunction, Say, scenario
from tests.client.stage import created, ended, error, when

IN_TIME = 0.3
"""Seconds that a fork takes to start in the simulator, and that a client has to wait."""


@pytest.fixture
def planner(simulate):
    def start(**options):
        session, simulator = simulate("planner", fork_start_s=IN_TIME, **options)
        lane = session.lane("a", store=False)
        lane.create("Plan Rome.").wait(20)
        return session, simulator, lane

    return start


def order(simulator):
    """The lanes of the responses, in the order in which they ended."""
    return [entry["lane"] for entry in simulator.account if entry["kind"] == "response"]


def test_the_source_lane_waits_until_the_fork_has_started(planner):
    _, simulator, lane = planner()
    fork = lane.fork("b")
    forked = fork.create("Shorter.")
    on = lane.create("Longer.")
    assert forked.wait(20).status == "completed"
    assert on.wait(20).status == "completed"
    assert forked.previous_response_id == on.previous_response_id
    started = [e["lane"] for e in simulator.account if e["kind"] == "request"]
    assert started == ["a", "b", "a"]


def test_it_waits_for_two_forks_and_for_a_new_conversation_too(planner):
    session, _, lane = planner()
    forks = [lane.fork(name).create(f"Plan {name}.") for name in ("b", "c")]
    lane.create("Something else.", previous_response_id=None)
    session.wait(20)
    assert [fork.status for fork in forks] == ["completed", "completed"]


def test_what_is_stored_needs_no_waiting(simulate):
    session, simulator = simulate("planner", fork_start_s=IN_TIME)
    lane = session.lane("a")
    lane.create("Plan Rome.").wait(20)
    lane.fork("b").create("Shorter.")
    lane.create("Longer.")
    session.wait(20)
    assert order(simulator) == ["a", "a", "b"]


def test_a_fork_that_waits_behind_another_response_holds_its_source_with_the_reason(simulate):
    @scenario("hold", "Holds on where it is told to.")
    def hold(turn):
        yield Say("Begun.")
        if turn.prompt == "Hold." and not turn.steers:
            yield AwaitSteer(20)
        yield Say("Done.")

    session, _ = simulate(hold)
    lane, other = session.lane("a", store=False), session.lane("b", store=False)
    base = lane.create("Begin.").wait(20)
    busy = other.create("Hold.")
    when(session, lambda ledger: ledger.lanes["b"].current is not None)
    forked = other.create("From there.", previous_response_id=base)
    with pytest.raises(errors.LaneBusy, match=f"not stored.*lane b.*waits behind {busy.id}"):
        lane.create("On.")
    other.steer("Go.")
    assert forked.wait(20).status == "completed"
    assert lane.create("On.").wait(20).previous_response_id == base.id


def test_a_continuation_waits_too(simulate):
    """The answer of an asynchronous call, which holds no fork back, is one that can meet a fork."""

    @scenario("report", "Asks for a report, and does not wait for it.")
    def report(turn):
        yield Say("Heard " + " ".join([*(r.text for r in turn.results.values()), turn.prompt]))
        if not turn.called():
            yield CallFunction("report", asynchronous=True)

    session, _ = simulate(report, fork_start_s=IN_TIME)
    lane = session.lane("a", store=False)
    lane.create("Begin.").wait(20)
    forked = lane.fork("b").create("Another way.")
    lane.fill(lane.required_input[0].key, output="18 degrees")
    continued = lane.send_continuation("Thanks.")
    assert forked.wait(20).text == "Heard Another way."
    assert continued.wait(20).text == "Heard 18 degrees Thanks."


# -- by hand: what exactly is waited for ---------------------------------------------------------


def in_progress(event):
    return {**event, "type": "response.in_progress"}


@pytest.fixture
def forked(stage, session):
    """A lane whose response is not stored, and a fork from it that is on its way."""
    lane = session.lane("a", store=False)
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), ended("resp_1", lane="a"))
    lane.wait(10)
    lane.fork("b").create("y")
    assert stage.expect()["previous_response_id"] == "resp_1"
    return lane


def attempt(lane):
    thread = threading.Thread(target=lambda: lane.create("z"))
    thread.start()
    return thread


@pytest.mark.parametrize("how", ["in_progress", "warm_up", "refused"])
def test_it_is_the_forks_in_progress_or_its_end_that_is_waited_for(stage, session, forked, how):
    thread = attempt(forked)
    if how != "refused":
        stage.send(created("resp_2", "resp_1", "b"))
        when(session, lambda ledger: "resp_2" in ledger.responses)
        thread.join(0.1)
        assert thread.is_alive()
    event = {
        "in_progress": in_progress(created("resp_2", "resp_1", "b")),
        "warm_up": ended("resp_2", lane="b"),
        "refused": error("server_error", "b"),
    }[how]
    stage.send(event)
    thread.join(10)
    sent = stage.expect()
    assert (sent["stream_id"], sent["previous_response_id"]) == ("a", "resp_1")


def test_it_does_not_wait_for_ever(stage, session, forked, monkeypatch):
    monkeypatch.setattr(starting, "START_SECONDS", 0.05)
    with pytest.raises(errors.LaneBusy, match=r"create-2 on lane b.*not started yet, after 0.05"):
        forked.create("z")
    assert stage.nothing_came()


def test_a_lost_connection_ends_the_waiting(stage, session, forked):
    stage.drop()
    when(session, lambda ledger: ledger.lanes["a"].detached)
    with pytest.raises(errors.SteerError, match="connect"):
        forked.create("z")
