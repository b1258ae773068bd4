"""Every message and frame of every Letta plan as a crash point: one run for each."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from steer_nb.simulator.letta import LettaSimulator
from tests.crash.invariants import different
from tests.crash.letta.invariants import letta_broken
from tests.crash.letta.person import POLICIES, LettaPerson, begin, come_back, live
from tests.crash.letta.plans import PLANS
from tests.crash.letta.proxy import HttpProxy
from tests.crash.sweep import SIDES, Outcome, Point, Victim, counted, in_a_folder, where

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import ProcessPoolExecutor
    from pathlib import Path

    from tests.crash.proxy import Kill

__all__ = ["LettaPoint", "count_letta", "letta_points", "run_letta"]


@dataclass(frozen=True)
class LettaPoint(Point):
    """One crash of a talk with a Letta agent."""

    policy: str = "again"

    @property
    def chosen(self) -> str:
        """Names its plan on the command line."""
        return f"--letta --plan {self.plan}"


def run_letta(point: LettaPoint) -> Outcome:
    """Crash at a point, recover, go on to the end, and check."""
    return in_a_folder(_run, point)


def _run(point: LettaPoint, directory: Path) -> Outcome:
    plan, began = PLANS[point.plan], time.monotonic()
    deaths = sum(cut.kill == "process" for cut in point.cuts)
    faults: list[str] = []
    log: list[str] = []
    victim = Victim()
    with (
        LettaSimulator(plan.scenario, speed=0, faults=plan.faults) as simulator,
        HttpProxy(simulator.base_url, *point.cuts, kill=victim.kill) as proxy,
    ):
        try:
            for life in range(deaths):
                words = (plan.name, proxy.base_url, directory, point.policy, simulator.agent_id)
                if not victim.lived_and_died(live, (*words, life > 0)):
                    break
            start = come_back if deaths else begin
            with start(plan, proxy.base_url, directory) as session:
                person = LettaPerson(session, plan, point.policy, simulator.agent_id)
                try:
                    person.run()
                finally:
                    log = person.log
                    path = session.journal_path
                trace = session.trace
            faults += letta_broken(plan, simulator, proxy.passed, trace, directory)
            faults += different(session.core.ledger, path)
        except Exception as error:  # noqa: BLE001 - whatever it is, this point has failed
            faults += [f"{type(error).__name__}: {error}", where(error)]
        reached = bool(point.cuts) and not proxy.cuts_left
        count = len(proxy.passed)
    return Outcome(point, tuple(faults), reached, count, time.monotonic() - began, tuple(log))


def count_letta(plans: Iterable[str], pool: ProcessPoolExecutor) -> dict[str, int]:
    """How many messages and frames pass when nothing is lost, which already has to be right."""
    return counted(run_letta, [LettaPoint(plan) for plan in plans], pool)


def letta_points(
    plan: str, messages: int, kill: Kill, policy: str | None = None
) -> list[LettaPoint]:
    """Every message, before and after; where no policy is given, the ways to decide take turns."""
    found = []
    for number in range(1, messages + 1):
        for side in SIDES:
            turn = (number + (side == "after") * 2) % 3  # twice again for one drop
            word = policy or POLICIES[turn == 0]
            found.append(LettaPoint(plan, number, side, kill, word))
    return found
