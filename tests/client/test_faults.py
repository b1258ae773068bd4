"""Our client against a simulator with faults on purpose: never lost, never doubled."""

from __future__ import annotations

import contextlib

import pytest

from steer_nb import errors
from steer_nb.simulator import AwaitSteer, CallFunction, Say, Simulator, scenario


@scenario("round", "A steer, a tool, an answer.")
def round_trip(turn):
    if turn.results:
        yield Say(f"It is {next(iter(turn.results.values())).text} there.")
    elif turn.steers:
        yield Say(f"As you say: {turn.steers[-1]}")
        yield CallFunction("get_weather", {"city": "Rome"})
    else:
        yield Say("One moment.")
        yield AwaitSteer(5)
        yield Say("Never said.")


def drive(session, name):
    """One person's work on a lane; gives what became of it."""
    lane = session.lane(name)
    lane.create("Plan a day.")
    steer = lane.steer("Shorter.")
    assert lane.wait(20) == "waiting_input"
    (needed,) = lane.required_input
    lane.fill(needed.key, output="18 °C")
    lane.send_continuation()
    assert lane.wait(20) == "idle"
    return {
        "steer": steer.state,
        "responses": [
            (response.status, response.incomplete_reason, response.text, len(response.output))
            for response in lane.responses
        ],
    }


@pytest.fixture(scope="module")
def right():
    with Simulator(round_trip, speed=0) as simulator, simulator_session(simulator) as session:
        return drive(session, "a")


def simulator_session(simulator):
    import steer_nb

    return steer_nb.connect(simulate=simulator, journal=False, quiet=True, name="faults")


@pytest.mark.parametrize(
    "fault",
    [
        "insert times=none",
        'insert side=before times=none event=\'{"type": "codex.rate_limits", "n": [1]}\'',
        "insert times=none event='{\"type\": null}'",
        "duplicate times=none",
        "duplicate times=none as_type=response.done",
        "duplicate times=none type=*",
        "reorder times=none behind=2",
        "reorder times=none type=response.steer.accepted behind=9",
        "enlarge times=none size=3000000",
        "stall times=none seconds=0.005",
        "stall times=none seconds=0.02 direction=in",
        "ignore_pings",
        "refuse_handshake at=2",
    ],
)
def test_what_it_bears(simulate, right, fault):
    session, simulator = simulate(round_trip, faults=[fault])
    assert drive(session, "a") == right
    problems = session.trace.frames.problems.kind.unique()
    if fault.startswith(("insert", "duplicate")):
        assert len(problems) > 0  # it is not hidden, either
    expected = 0 if fault.startswith(("ignore", "refuse")) else 1
    assert next(iter(simulator.faults))["struck"] >= expected


def test_other_lanes_are_left_alone_by_the_wrong_echo(simulate, right):
    """What goes astray is one lane's loss; nothing of it turns up on another."""
    session, _ = simulate(round_trip, faults=["relabel stream_id=a at=4 times=4 to=b"])
    lane = session.lane("a")
    lane.create("Plan a day.")
    assert drive(session, "b") == right
    strange = session.trace.frames.problems
    assert len(strange) > 0


@pytest.mark.parametrize("direction", ["in", "out"])
@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("number", [1, 2])
def test_a_drop(simulate, direction, side, number):
    """Nothing is sent again by itself, and nothing is taken for finished."""
    fault = f"drop direction={direction} side={side} at={number} code=1011"
    session, simulator = simulate(round_trip, faults=[fault])
    lane = session.lane("a")
    lane.create("Plan a day.")
    with contextlib.suppress(errors.SteerError):  # the connection may be gone already
        lane.steer("Shorter.")
    assert lane.wait(20) == "detached"
    for kind in ("request", "steer"):
        assert len([entry for entry in simulator.account if entry["kind"] == kind]) <= 1
    assert {response.status for response in lane.responses} <= {"truncated"}
    (fault,) = simulator.faults
    assert fault["struck"] == 1
