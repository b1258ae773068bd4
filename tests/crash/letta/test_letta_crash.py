"""Every message and frame between a client and a Letta server is a crash point.

Some are tried here, other ones each day; ``python -m tests.crash --letta`` tries all.
"""

from __future__ import annotations

import json
import os
import shlex
import time

import pytest

from steer_nb.simulator.letta import SCENARIOS, LettaSimulator
from tests.crash.__main__ import main
from tests.crash.letta.invariants import letta_broken, messages_sent
from tests.crash.letta.person import LettaPerson, begin
from tests.crash.letta.plans import PLANS
from tests.crash.letta.proxy import HttpProxy
from tests.crash.letta.sweep import LettaPoint, count_letta, letta_points, run_letta
from tests.crash.proxy import Cut
from tests.crash.sweep import pool_of, today, workers

posix = pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
CONNECTIONS, PROCESSES = 60, 24
"""So many points of each kind, spread over all plans."""


@pytest.fixture(scope="module")
def pool():
    with pool_of(min(workers(), 4)) as pool:
        yield pool


@pytest.fixture(scope="module")
def messages(pool):
    return count_letta(PLANS, pool)


def crash(pool, messages, kill, number, capsys):
    whole = [point for plan, count in messages.items() for point in letta_points(plan, count, kill)]
    every = len(whole) // number
    points, began = whole[today() % every :: every], time.monotonic()
    outcomes = list(pool.map(run_letta, points))
    failed = [outcome for outcome in outcomes if outcome.faults]
    reached = sum(outcome.reached for outcome in outcomes)
    with capsys.disabled():
        print(
            f"\n{len(points)} points tried (Letta, {kill}), {reached} crashed, {len(failed)} "
            f"failed, {time.monotonic() - began:.0f} s"
        )
    assert not failed, "\n".join(f"{o.point.command}\n    {o.faults}" for o in failed)
    assert reached > 0.9 * len(points)


@pytest.mark.slow
def test_lost_connections_to_a_letta_server(pool, messages, capsys):
    crash(pool, messages, "connection", CONNECTIONS, capsys)


@posix
@pytest.mark.slow
def test_killed_processes_of_a_letta_session(pool, messages, capsys):
    crash(pool, messages, "process", PROCESSES, capsys)


# -- what is tried ---------------------------------------------------------------------------------


def run(name, directory, *cuts):
    """A plan followed to its end here: the server, what passed on the line, and the trace."""
    plan = PLANS[name]
    with (
        LettaSimulator(plan.scenario, speed=0, faults=plan.faults) as simulator,
        HttpProxy(simulator.base_url, *cuts) as proxy,
        begin(plan, proxy.base_url, directory) as session,
    ):
        LettaPerson(session, plan, "again", simulator.agent_id).run()
        return simulator, proxy, session.trace


def test_every_way_to_answer_has_a_plan(tmp_path):
    _, proxy, _ = run("mixed-tokens-background", tmp_path)
    (answers,) = [
        body["messages"][0]["approvals"]
        for body in messages_sent(proxy.passed)
        if body["messages"][0]["type"] == "approval"
    ]
    assert {(one["type"], one.get("approve")) for one in answers} == {
        ("tool", None), ("approval", True), ("approval", False),
    }  # fmt: skip
    assert {"files", "parallel"} <= {plan.scenario.name for plan in PLANS.values()} & set(SCENARIOS)


def test_an_answer_that_is_lost_goes_out_with_the_same_bytes(tmp_path):
    _, whole, _ = run("mixed-steps-background", tmp_path / "whole")
    requests = [one.text if one.direction == "up" else "" for one in whole.passed]
    at = [number for number, text in enumerate(requests, 1) if '"approvals"' in text]
    (tmp_path / "cut").mkdir()
    simulator, proxy, _ = run("mixed-steps-background", tmp_path / "cut", Cut(at[0], "after"))
    posts = [body for body in messages_sent(proxy.passed) if "approvals" in body["messages"][0]]
    assert len(posts) == 2
    assert json.dumps(posts[0]) == json.dumps(posts[1])
    assert (tmp_path / "cut" / "runs.txt").read_text().count("\n") == 1
    assert [one["kind"] for one in simulator.account].count("replay") == 1


def test_a_second_cut_is_counted_from_the_first(tmp_path):
    _, proxy, _ = run("approve-steps-background", tmp_path, Cut(5, "before"), Cut(4, "after"))
    assert proxy.cuts_left == []
    arrived = [one.arrived for one in proxy.passed]
    assert arrived.index(False) == 4
    assert sum(arrived) > 8


# -- the proof itself ------------------------------------------------------------------------------


def test_the_witnesses_notice_what_is_wrong(tmp_path):
    simulator, proxy, trace = run("mixed-steps-background", tmp_path)
    plan = PLANS["mixed-steps-background"]

    def check(passed=proxy.passed):
        return letta_broken(plan, simulator, passed, trace, tmp_path)

    assert check() == []
    up = next(one for one in reversed(proxy.passed) if '"approvals"' in one.text)
    other = type(up)(up.connection, up.direction, up.text.replace("1 C", "2 C"), up.arrived)
    faults = check([*proxy.passed, other])
    assert any("went out as" in fault for fault in faults)
    assert any("was answered as" in fault for fault in faults)
    ran = next(one for one in simulator.account if one["kind"] == "tool")
    simulator.service.account.add(**ran)
    assert any("the server ran" in fault for fault in check())
    (conversation,) = (one for one in simulator.service.conversations.values() if one.messages)
    conversation.messages.append(
        next(one for one in conversation.messages if one.role == "approval_response")
    )
    assert any("was answered 2 times" in fault for fault in check())
    said = next(one for one in conversation.messages if one.role == "user")
    conversation.messages.append(said)
    assert any("was said 2 times" in fault for fault in check())
    conversation.messages[:] = [one for one in conversation.messages if one.role != "user"]
    assert any("never reached the server" in fault for fault in check())
    with (tmp_path / "runs.txt").open("a") as file:
        file.write("Lisbon\n")
    assert any("begun in the journal" in fault for fault in check())


def test_a_point_that_fails_says_how_to_try_it_again(capsys):
    point = LettaPoint("approve-steps-background", 9, "after", then=Cut(2, "before"))
    assert point.command == (
        "python -m tests.crash --letta --plan approve-steps-background --point 9 --side after "
        "--kill connection --then 2-before-connection --policy again"
    )
    assert main(shlex.split(point.command)[3:]) == 0
    assert f"{point.command}: " in capsys.readouterr().out, "it was reached"
