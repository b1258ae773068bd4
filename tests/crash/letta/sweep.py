"""Every message and frame of every Letta plan as a crash point: one run for each."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steer_nb.simulator.letta import LettaSimulator
from tests.crash.invariants import different
from tests.crash.letta.invariants import letta_broken
from tests.crash.letta.person import POLICIES, LettaPerson, begin, come_back, live
from tests.crash.letta.plans import PLANS
from tests.crash.letta.proxy import HttpProxy
from tests.crash.proxy import Cut
from tests.crash.sweep import MEMORY, SIDES, Outcome, Victim, where

if TYPE_CHECKING:
    from collections.abc import Iterable
    from concurrent.futures import ProcessPoolExecutor

    from tests.crash.proxy import Kill, Side

__all__ = ["LettaPoint", "count_letta", "letta_points", "run_letta"]


@dataclass(frozen=True)
class LettaPoint:
    """One crash: where, how, and how the person decides afterwards; number 0 is no crash at all."""

    plan: str
    number: int = 0
    side: Side = "before"
    kill: Kill = "connection"
    policy: str = "again"
    then: Cut | None = None

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The crashes, in order."""
        if not self.number:
            return ()
        first = Cut(self.number, self.side, self.kill)
        return (first,) if self.then is None else (first, self.then)

    @property
    def command(self) -> str:
        """What tries it again."""
        then = self.then
        more = "" if then is None else f" --then {then.number}-{then.side}-{then.kill}"
        return (
            f"python -m tests.crash --letta --plan {self.plan} --point {self.number} "
            f"--side {self.side} --kill {self.kill}{more} --policy {self.policy}"
        )


def run_letta(point: LettaPoint) -> Outcome:
    """Crash at a point, recover, go on to the end, and check."""
    place = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place, prefix="steer-nb-crash-") as made:
        try:
            return _run(point, Path(made))
        except Exception as error:  # noqa: BLE001 - the others shall be tried all the same
            faults = (f"{type(error).__name__}: {error}", where(error))
            return Outcome(point, faults, reached=False, messages=0, seconds=0.0)


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
    outcomes = list(pool.map(run_letta, [LettaPoint(plan) for plan in plans]))
    assert [outcome for outcome in outcomes if outcome.faults] == []
    return {outcome.point.plan: outcome.messages for outcome in outcomes}


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
