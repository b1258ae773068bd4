"""Every message is a crash point; after each, nothing is lost and nothing happens twice.

All messages of all plans are more than a test run has time for: the short plans are swept whole,
and of the long ones the points take turns, from day to day. ``python -m tests.crash`` tries all.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from typing import TYPE_CHECKING

import pytest

from tests.crash.invariants import broken
from tests.crash.person import POLICIES, Person, begin
from tests.crash.plans import PLANS
from tests.crash.proxy import Proxy
from tests.crash.sweep import Point, points_of, run_point, sweep

if TYPE_CHECKING:
    from tests.crash.sweep import Kill

pytestmark = pytest.mark.slow

WORKERS = min(os.cpu_count() or 1, 8)
SHORT = 60
CONNECTIONS_EVERY = 31
PROCESSES_EVERY = 97


@pytest.fixture(scope="module")
def messages():
    """How many messages each plan takes when nothing is lost; that already has to be right."""
    outcomes = list(sweep([Point(plan) for plan in PLANS], WORKERS))
    assert [o for o in outcomes if o.faults] == []
    return {outcome.point.plan: outcome.messages for outcome in outcomes}


def today(every: int) -> int:
    return dt.datetime.now(dt.UTC).timetuple().tm_yday % every


def rotating(messages: dict[str, int], kill: Kill, every: int) -> list[Point]:
    whole = [point for plan, count in messages.items() for point in points_of(plan, count, kill)]
    return whole[today(every) :: every]


def crash(points: list[Point], capsys: pytest.CaptureFixture[str], words: str) -> None:
    began = time.monotonic()
    outcomes = list(sweep(points, WORKERS))
    failed = [outcome for outcome in outcomes if outcome.faults]
    reached = sum(outcome.reached for outcome in outcomes)
    with capsys.disabled():
        print(
            f"\n{len(points)} points tried ({words}), {reached} crashed, {len(failed)} failed, "
            f"{time.monotonic() - began:.0f} s"
        )
    lines = [f"{o.point.command}\n    " + "\n    ".join(o.faults) for o in failed]
    assert not failed, "\n" + "\n".join(lines)
    assert reached > 0.8 * len(points)


def test_killed_connections(messages, capsys):
    short = [plan for plan, count in messages.items() if count <= SHORT and "@" not in plan]
    points = {p for plan in short for p in points_of(plan, messages[plan], "connection")}
    points |= set(rotating(messages, "connection", CONNECTIONS_EVERY))
    offset = today(CONNECTIONS_EVERY)
    words = f"connections; all of {', '.join(short)}; of the rest every {CONNECTIONS_EVERY}th"
    crash(sorted(points), capsys, f"{words} from {offset}")


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_killed_processes(messages, capsys):
    points = rotating(messages, "process", PROCESSES_EVERY)
    words = f"processes; every {PROCESSES_EVERY}th from {today(PROCESSES_EVERY)}"
    crash(points, capsys, words)


# -- the proof itself ------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path):
    """One undisturbed run, as the witnesses have it."""
    from steer_nb.simulator import Simulator

    plan, policy = PLANS["early"], POLICIES["first-again"]
    with (
        Simulator(plan.scenario, speed=0, **plan.options) as simulator,
        Proxy(simulator.url) as proxy,
        begin(plan, proxy.base_url, tmp_path, policy) as session,
    ):
        Person(session, plan, policy, tmp_path).run()
        trace = session.trace

    def check(account=None, passed=None):
        return broken(
            plan,
            policy,
            account or simulator.account,
            passed or proxy.passed,
            trace,
            tmp_path,
            died=False,
        )

    return simulator.account, proxy.passed, check, tmp_path


def test_the_witnesses_notice_what_is_wrong(run):
    account, passed, check, directory = run
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
    with (directory / "runs.txt").open("a") as file:
        file.write("Lisbon\n")
    assert any("begun in the journal" in fault for fault in check())


def test_a_point_that_fails_says_how_to_try_it_again():
    point = Point("seven", 12, "after", "process", "rebuild-drop")
    assert point.command == (
        "python -m tests.crash --plan 'seven' --point 12 --side after --kill process "
        "--policy rebuild-drop"
    )
    assert run_point(Point("approval")).reached is False
