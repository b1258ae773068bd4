"""Every message is a crash point; after each, nothing is lost and nothing happens twice.

All messages of all plans are more than a test run has time for: of each kind of crash some are
tried here, other ones each day. ``python -m tests.crash`` tries all; CI's sweep goes through them
after the tests.
"""

from __future__ import annotations

import functools
import json
import os
import shlex
import time
from collections import Counter

import pytest

from steer_nb.simulator import SCENARIOS, Simulator, list_options
from steer_nb.simulator.scenarios.failures import FAILURES
from steer_nb.wire.stub_kinds import STUB_KINDS
from tests.crash.__main__ import main
from tests.crash.invariants import broken
from tests.crash.person import POLICIES, Person, begin
from tests.crash.plans import PLANS
from tests.crash.proxy import Cut, Proxy
from tests.crash.sweep import (
    Point,
    count_messages,
    crash_twice,
    points_of,
    pool_of,
    run_point,
    today,
    workers,
)

posix = pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
CONNECTIONS, PROCESSES, TWICE = 120, 60, 60
"""So many points of each kind, spread over all plans; a tenth is too near the end for a second."""


@pytest.fixture(scope="module")
def pool():
    with pool_of(min(workers(), 4)) as pool:
        yield pool


@pytest.fixture(scope="module")
def messages(pool):
    return count_messages(PLANS, pool)


def some(points: list[Point], number: int) -> list[Point]:
    """So many of them, from all parts, and other ones each day."""
    every = len(points) // number
    return points[today() % every :: every]


@pytest.fixture
def crash(pool, capsys):
    return functools.partial(_crash, pool, capsys)


def _crash(pool, capsys, points: list[Point], words: str, share: float = 0.8) -> None:
    began = time.monotonic()
    outcomes = list(pool.map(run_point, points))
    failed = [outcome for outcome in outcomes if outcome.faults]
    reached = sum(outcome.reached for outcome in outcomes)
    with capsys.disabled():
        print(
            f"\n{len(points)} points tried ({words}), {reached} crashed, {len(failed)} failed, "
            f"{time.monotonic() - began:.0f} s"
        )
    lines = [f"{o.point.command}\n    " + "\n    ".join(o.faults) for o in failed]
    assert not failed, "\n" + "\n".join(lines)
    assert reached > share * len(points)


@pytest.mark.slow
def test_killed_connections(messages, crash):
    whole = [p for plan, count in messages.items() for p in points_of(plan, count, "connection")]
    crash(some(whole, CONNECTIONS), "killed connections")


@posix
@pytest.mark.slow
def test_killed_processes(messages, crash):
    whole = [p for plan, count in messages.items() for p in points_of(plan, count, "process")]
    crash(some(whole, PROCESSES), "killed processes")


@posix
@pytest.mark.slow
def test_killed_twice(messages, pool, crash):
    kills = ("connection", "process")
    whole = [
        point
        for plan, count in messages.items()
        for kill in kills
        for point in points_of(plan, count, kill)
    ]
    points = crash_twice(some(whole, TWICE), pool, kills, today())
    crash(points, "killed twice")


# -- what is tried ---------------------------------------------------------------------------------


def test_every_built_in_scenario_has_a_plan():
    played = {getattr(plan.scenario, "name", plan.scenario) for plan in PLANS.values()}
    assert played >= set(SCENARIOS)


def test_every_failure_has_a_plan():
    said = " ".join(text for plan in PLANS.values() for text in plan.texts).replace(" ", "_")
    assert [word for word in FAILURES if word not in said] == []


def test_every_position_on_an_open_question_has_a_plan():
    tried = {(o, v) for plan in PLANS.values() for o, v in plan.options.items()}
    for option in list_options():
        if not option.question:
            continue
        if option.choices:
            positions = set(option.choices) - {option.default}
            missing = {(option.name, position) for position in positions} - tried
            assert not missing, f"no plan with {missing}"
        else:
            others = {v for o, v in tried if o == option.name and v != option.default}
            assert others, f"no plan with another {option.name}"


def run(plan, directory, *cuts):
    """A plan followed to its end here: what the service and the line say, and the trace."""
    with (
        Simulator(plan.scenario, speed=0, **plan.options) as simulator,
        Proxy(simulator.url, *cuts, late=plan.late) as proxy,
        begin(plan, proxy.base_url, directory) as session,
    ):
        Person(session, plan, POLICIES["first-again"], directory).run()
        return simulator.account, proxy, session.trace


@pytest.mark.parametrize("name", ["kinds", "seven-lanes"])
def test_all_kinds_of_required_input_are_asked_for_in_several_lanes(name, tmp_path):
    _, _, trace = run(PLANS[name], tmp_path)
    asked = [
        (response.lane.name, stub.type)
        for response in trace.ledger.responses.values()
        for stub in response.required.values()
    ]
    official = {kind for kind in STUB_KINDS if kind != "local_shell_call_output"}
    assert {kind for _, kind in asked} == official
    assert len({lane for lane, _ in asked}) == len(PLANS[name].lanes) > 1


def test_a_continuation_goes_out_before_its_steer_is_acknowledged(tmp_path):
    _, proxy, _ = run(PLANS["early-continuation"], tmp_path)
    types = [json.loads(one.text)["type"] for one in proxy.passed]
    continued = [place for place, word in enumerate(types) if word == "response.create"][1]
    assert types.index("response.steer") < continued < types.index("response.steer.accepted")


def test_a_second_crash_is_counted_from_the_first(tmp_path):
    _, proxy, _ = run(PLANS["approval"], tmp_path, Cut(5, "before"), Cut(4, "after"))
    assert proxy.cuts_left == []
    arrived = Counter(one.connection for one in proxy.passed if one.arrived)
    assert (arrived[1], arrived[2]) == (4, 4)
    assert arrived[3] > 4


# -- the proof itself ------------------------------------------------------------------------------


def test_the_witnesses_notice_what_is_wrong(tmp_path):
    plan, policy = PLANS["early"], POLICIES["first-again"]
    account, proxy, trace = run(plan, tmp_path)
    passed = proxy.passed

    def check(account=account, passed=passed):
        return broken(plan, policy, account, passed, trace, tmp_path)

    assert check() == []
    assert any("are recorded" in fault for fault in check(passed=[*passed, passed[-1]]))
    steer = next(entry for entry in account if entry["kind"] == "steer")
    without = [{**e, "fate": "lost"} if e is steer else e for e in account]
    assert any("was not applied" in fault for fault in check(without))
    kinds = ("continuation", "successor")
    twice = account + [e | {"response_id": "r"} for e in account if e["kind"] in kinds]
    assert any("was continued 2 times" in fault for fault in check(twice))
    deaf = [e for e in account if "weather" not in str(e.get("body"))]
    assert any("never reached the service" in fault for fault in check(deaf))
    unheard = [e for e in account if "18 C" not in str(e.get("body"))]
    assert any("was never received" in fault for fault in check(unheard))
    with (tmp_path / "runs.txt").open("a") as file:
        file.write("Lisbon\n")
    assert any("begun in the journal" in fault for fault in check())


def test_a_point_that_fails_says_how_to_try_it_again():
    point = Point("seven", 12, "after", "process", "rebuild-drop")
    assert point.command == (
        "python -m tests.crash --plan 'seven' --point 12 --side after --kill process "
        "--policy rebuild-drop"
    )
    twice = Point("seven", 3, then=Cut(5, "after", "process"), fine=True)
    assert twice.command == (
        "python -m tests.crash --plan 'seven' --point 3 --side before --kill connection "
        "--then 5-after-process --policy first-again --fine"
    )
    assert run_point(Point("approval")).reached is False


def test_that_command_tries_it(capsys):
    point = Point("approval", 9, "after", then=Cut(2, "before"), policy="rebuild-again", fine=True)
    assert main(shlex.split(point.command)[3:]) == 0
    assert f"{point.command}: " in capsys.readouterr().out, "it was reached"
