"""A recorded session played again: what a person sees, and what the tables say, is the same."""

from __future__ import annotations

import json
import re
import threading
import time

import pytest

import steer_nb
from steer_nb.errors import InvalidInput, ScenarioError, TraceError, WaitTimeout
from steer_nb.simulator import AwaitSteer, CallFunction, Say, Simulator, list_scenarios, scenario
from steer_nb.simulator.scenarios.failures import _STEERS_REFUSED, FAILURES
from steer_nb.trace import Entry, Header, Trace
from tests.support.replayed import again, assert_same_events, assert_same_tables
from tests.support.simulated import answer

OTHERS = ("planner", "failures", "agents")
CALLS = [s.name for s in list_scenarios() if s.name not in OTHERS]
# The first has its own test; the second a client takes for the end of its connection.
LOSSES = ("disconnect", "websocket_connection_limit_reached")
STEERED = (*_STEERS_REFUSED, "successor_creation_failed")


def record(play, which, speed=0, **options):
    """Play something live and give its trace."""
    simulator = Simulator(which, speed=speed, **options)
    session = steer_nb.connect(
        simulate=simulator, journal=False, quiet=True, reconnect=steer_nb.Reconnect()
    )
    try:
        play(session)
    finally:
        session.close()
    return session.trace


def fill_all(lane):
    for needed in lane.required_input:
        given = answer(needed.call)
        hidden = ("type", "id", "call_id", "approval_request_id", "execution")
        lane.fill(needed.key, **{k: v for k, v in given.items() if k not in hidden})


def assert_same(recorded, replayed):
    assert_same_tables(recorded, replayed)
    assert_same_events(recorded, replayed)


def steer_waiting(session, lane):
    """Steer a response that waits for input, as a client may that is not ours."""
    text = json.dumps(
        {"type": "response.steer", "previous_response_id": lane.response.id, "input": "In Porto."}
    )
    key, data = f"steer-{90 + len(lane.steers)}", {"lane": lane.name}
    session.act(lambda: session.core.outlet.repeat(key, text, data, sent=True))
    session.until(lambda ledger: True if ledger.steers[key].state == "pending" else None, 30, str)


def steer_planner(session):
    lane = session.lane("trip", instructions="Be brief.")
    lane.create("Plan a trip to Lisbon.")
    while lane.text.count(" ") < 20:
        time.sleep(0.005)
    lane.steer("Under 300 euros.").wait(30)
    while lane.text.count(" ") < 5:
        time.sleep(0.005)
    lane.steer("And by train.")
    lane.wait(30)
    other = lane.fork("other")
    other.create("Shorter.")
    lane.create("Thanks.").wait(30)
    session.wait(30)


@pytest.mark.parametrize("speed", [0, 3])
def test_steers_meet_the_same_word(speed):
    recorded = record(steer_planner, "planner", speed=20)
    assert len(recorded.frames.steers) == 2
    replayed = again(recorded, speed)
    assert_same(recorded, replayed)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("steered", [False, True])
def test_calls_of_every_kind(name, steered):
    def play(session):
        lane = session.lane("a")
        lane.create("What is the weather in Lisbon?")
        for _ in range(2):
            if lane.wait(30) != "waiting_input":
                break
            if steered:
                steer_waiting(session, lane)
            fill_all(lane)
            lane.send_continuation()
        assert lane.wait(30) == "idle"

    recorded = record(play, name)
    assert len(recorded.frames.required_inputs) >= 1
    assert len(recorded.frames.steers) >= steered
    assert_same(recorded, again(recorded))


@pytest.mark.parametrize("word", [w for w in FAILURES if w not in LOSSES])
def test_every_failure(word):
    def play(session):
        lane = session.lane()
        response = lane.create(f"Please do {word}.")
        if word in STEERED:
            while lane.text.count(" ") < 3:
                time.sleep(0.002)
            lane.steer("Now?").wait(30)
        lane.wait(30)
        lane.create("And now hello.", previous_response_id=None)
        lane.wait(30)
        assert response.status

    recorded = record(play, "failures")
    assert_same(recorded, again(recorded))


def test_a_lost_connection_is_lost_again():
    def play(session):
        lane = session.lane("a")
        lane.create("Hello.").wait(30)
        lane.create("Please disconnect.")
        session.until(lambda ledger: True if len(ledger.connections) == 2 else None, 30, str)
        lane.recover("continue")
        lane.create("Hello again.")
        lane.wait(30)

    recorded = record(play, "failures")
    assert len(recorded.frames.connections) == 2
    assert_same(recorded, again(recorded))


def test_lanes_side_by_side_and_only_some_of_them(tmp_path):
    def play(session):
        for name in ("a", "b", "c"):
            session.lane(name).create("Plan a trip to Rome.")
        session.wait(30)
        session["b"].create("More.")
        session.wait(30)

    recorded = record(play, "planner")
    file = tmp_path / "run.jsonl"
    recorded.save(file)
    assert_same(recorded, again(file))
    some = again(str(file), lanes=["b"])
    assert [r.lane.name for r in some.ledger.responses.values()] == ["b", "b"]
    with pytest.raises(InvalidInput, match="no lane 'd': give one of a, b, c"):
        steer_nb.replay(file, lanes="d")


def test_tools_are_not_run_again():
    ran = []

    def get_weather(city: str) -> str:
        """Look it up.

        Parameters
        ----------
        city : str
            Where.
        """
        ran.append(city)
        return "sunny"

    def play(session):
        lane = session.lane("a", tools=[steer_nb.tool(get_weather, policy="auto")])
        lane.create("What is the weather in Rome?")
        lane.wait(30)

    recorded = record(play, "weather")
    assert ran == ["Rome"]
    replayed = again(recorded)
    assert ran == ["Rome"]
    assert_same(recorded, replayed)


@scenario("slow", "Calls at once, speaks, and waits.")
def slow(turn):
    yield Say("One two three.")
    yield AwaitSteer(0)
    yield CallFunction("f", {})


def test_waiting_can_be_interrupted_and_the_replay_goes_on():
    def play(session):
        session.lane("a").create("Plan a trip.").wait(30)

    recorded = record(play, "planner", speed=20)
    playing = steer_nb.replay(recorded, speed=0.2, quiet=True)
    with pytest.raises(WaitTimeout, match="still goes on"):
        playing.wait(timeout=0.05)
    assert playing.state == "playing"
    assert re.search(r"playing, [012] of 2 recorded steps", repr(playing))
    playing.wait(timeout=30)
    assert playing.state == "ended"
    assert_same(recorded, playing.session.trace)
    playing.session.close()


def test_stopping_and_closing_end_it():
    def play(session):
        session.lane("a").create("Plan a trip.").wait(30)
        session.lane("a").create("More.").wait(30)

    recorded = record(play, "planner", speed=20)
    playing = steer_nb.replay(recorded, speed=0.01, quiet=True)
    playing.stop()
    assert playing.wait(10).state == "stopped"
    playing.session.close()
    closed = steer_nb.replay(recorded, speed=0.01, quiet=True)
    closed.session.close()
    assert closed.wait(10).state == "stopped"
    for thread in threading.enumerate():
        if thread.name == "steer-nb replay":
            thread.join(5)
            assert not thread.is_alive()


async def test_a_replay_can_be_awaited():
    def play(session):
        session.lane("a").create("Plan a trip.").wait(30)

    recorded = record(play, "planner")
    playing = await steer_nb.replay(recorded, speed=0, quiet=True)
    assert playing.state == "ended"
    playing.session.close()


def test_what_cannot_be_played(tmp_path):
    with pytest.raises(TraceError, match="cannot be read"):
        steer_nb.replay(tmp_path / "none.jsonl")
    empty = Trace(Header(1, "ab" * 16, 0.0), [Entry(0, 0.0, 0.0, "note", note="session", data={})])
    with pytest.raises(ScenarioError, match="holds no events of a service"):
        steer_nb.replay(empty)
    recorded = record(lambda session: session.lane().create("Hi.").wait(30), "weather")
    with pytest.raises(InvalidInput, match="0 or more, not -1"):
        steer_nb.replay(recorded, speed=-1)


@pytest.mark.parametrize("kind", ["yaml", "jsonl"])
def test_a_session_with_a_scenario_from_a_file_is_recovered_with_it(kind, tmp_path):
    file = tmp_path / f"mine.{kind}"
    if kind == "jsonl":
        record(lambda session: session.lane("a").create("Hi.").wait(30), "planner").save(file)
    else:
        file.write_text("name: other\nturns: [say: Hi.]", encoding="utf-8")
    session = steer_nb.connect(simulate=str(file), journal=tmp_path / "j", quiet=True)
    name = session.simulator.scenario.name
    session.close()
    recovered = steer_nb.recover(tmp_path / "j", quiet=True)
    assert recovered.simulator.scenario.name == name
    recovered.close()


def test_no_python_runs_because_a_journal_names_it(tmp_path):
    file = tmp_path / "mine.py"
    lines = ["from steer_nb.simulator import Say, scenario", "@scenario('mine', 'Mine.')"]
    file.write_text("\n".join([*lines, "def mine(turn):", "    yield Say('1')"]), "utf-8")
    session = steer_nb.connect(simulate=str(file), journal=tmp_path / "j", quiet=True)
    session.close()
    with pytest.raises(ScenarioError, match="There is no scenario 'mine'"):
        steer_nb.recover(tmp_path / "j", quiet=True)


@pytest.mark.parametrize("name", ["agents", "gallery"])
@pytest.mark.parametrize("acknowledge", ["at_once", "after_terminal"])
def test_several_agents_and_what_is_injected(name, acknowledge):
    simulator = Simulator(name, speed=0, inject_acknowledge=acknowledge)
    session = steer_nb.connect(simulate=simulator, multi_agent=True, journal=False, quiet=True)
    with session:
        lane = session.lane("team", multi_agent={"enabled": True})
        response = lane.create("Compare the weather in Lisbon and Porto.")
        other = session.lane("b").create("Begin elsewhere.")
        while lane.wait(30) == "waiting_input":
            fill_all(lane)
            lane.inject()
        lane.create("Thanks.").wait(30)
        other.wait(30)
    recorded = session.trace
    assert response.status == "completed"
    assert {inject.state for inject in recorded.ledger.injects.values()} == {"created"}
    replayed = again(recorded)
    assert_same(recorded, replayed)
    assert [inject.state for inject in replayed.ledger.injects.values()] == ["created"] * len(
        recorded.ledger.injects
    )
    assert "agent_name" in replayed.frames.items
    assert_same(replayed, again(replayed))


def test_only_the_lane_of_several_agents():
    session = steer_nb.connect(simulate="agents", multi_agent=True, journal=False, quiet=True)
    with session:
        session.lane("b").create("Hello.").wait(30)
        lane = session.lane("team", multi_agent={"enabled": True})
        lane.create("Compare the weather in Lisbon and Porto.")
        while lane.wait(30) == "waiting_input":
            fill_all(lane)
            lane.inject()
    replayed = again(session.trace, lanes=["team"])
    assert list(replayed.frames.responses["status"]) == ["completed"]
    assert len(replayed.ledger.injects) == len(session.trace.ledger.injects)
