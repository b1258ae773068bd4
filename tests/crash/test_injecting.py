"""The witness of injects: it must notice what is wrong, or the sweep proves nothing."""

from __future__ import annotations

import pytest

from steer_nb.simulator import Simulator
from tests.crash.injecting import injects_broken
from tests.crash.person import POLICIES, Person, begin
from tests.crash.plans import PLANS
from tests.crash.proxy import Proxy
from tests.crash.sweep import Point, run_point


@pytest.mark.parametrize("plan", [name for name in PLANS if name.startswith("agents")])
def test_an_undisturbed_run_is_as_it_should_be(plan):
    assert run_point(Point(plan)).faults == ()


def test_the_witness_notices_what_is_wrong(tmp_path):
    plan, policy = PLANS["agents-ask"], POLICIES["first-again"]
    with (
        Simulator(plan.scenario, speed=0, **plan.options) as simulator,
        Proxy(simulator.url) as proxy,
        begin(plan, proxy.base_url, tmp_path) as session,
    ):
        Person(session, plan, policy, tmp_path).run()
        account, ledger = simulator.account, session.trace.ledger
    injects = [entry for entry in account if entry["kind"] == "inject"]
    assert injects
    assert injects_broken(account, ledger) == []
    assert any("committed 2 times" in f for f in injects_broken([*account, injects[0]], ledger))
    without = [entry for entry in account if entry["kind"] != "inject"]
    assert any("never received" in f for f in injects_broken(without, ledger))
    refused = {**injects[0], "fate": "refused", "error_message": "No."}
    assert any("refused an inject" in f for f in injects_broken([*account, refused], ledger))
    next(iter(ledger.injects.values())).state = "sent"
    assert any("never got a final state" in f for f in injects_broken(account, ledger))
