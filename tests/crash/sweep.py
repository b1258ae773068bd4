"""Every message of every plan as a crash point: one run for each, in as many processes as asked."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import steer_nb
from steer_nb.simulator import Simulator
from tests.crash.invariants import broken, different
from tests.crash.person import POLICIES, SOON, Person, begin, live, tools_for
from tests.crash.plans import PLANS
from tests.crash.proxy import Cut, Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from multiprocessing.process import BaseProcess

    from steer_nb import Session
    from tests.crash.plans import Plan

__all__ = ["Outcome", "Point", "count_messages", "points_of", "run_point", "sweep"]

Kill = Literal["connection", "process"]
MEMORY = Path("/dev/shm")


@dataclass(frozen=True, order=True)
class Point:
    """One crash: where, how, and how the person decides afterwards.

    ``number`` 0 is no crash at all.
    """

    plan: str
    number: int = 0
    side: Literal["before", "after"] = "before"
    kill: Kill = "connection"
    policy: str = "first-again"

    @property
    def command(self) -> str:
        return (
            f"python -m tests.crash --plan '{self.plan}' --point {self.number} --side {self.side} "
            f"--kill {self.kill} --policy {self.policy}"
        )


@dataclass(frozen=True)
class Outcome:
    """What became of one run."""

    point: Point
    faults: tuple[str, ...]
    reached: bool
    messages: int
    seconds: float
    log: tuple[str, ...] = ()


def run_point(point: Point, directory: Path | None = None) -> Outcome:
    """Crash at a point, recover, go on to the end, and check."""
    if directory is not None:
        return _run(point, directory)
    place = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place, prefix="steer-nb-crash-") as made:
        try:
            return _run(point, Path(made))
        except Exception as error:  # noqa: BLE001 - the others shall be tried all the same
            faults = (f"{type(error).__name__}: {error}", _where(error))
            return Outcome(point, faults, reached=False, messages=0, seconds=0.0)


def _run(point: Point, directory: Path) -> Outcome:
    plan, policy = PLANS[point.plan], POLICIES[point.policy]
    began = time.monotonic()
    cut = Cut(point.number, point.side) if point.number else None
    died = False
    faults: list[str] = []
    log: list[str] = []
    passed = []
    victim = _Victim()
    on_cut = victim.kill if point.kill == "process" else None
    with (
        Simulator(plan.scenario, speed=0, **plan.options) as simulator,
        Proxy(simulator.url, cut, on_cut) as proxy,
    ):
        try:
            if point.kill == "process":
                died = victim.lived_and_died(live, (plan.name, proxy.base_url, directory, policy))
                session = _recover(plan, directory)
            else:
                session = begin(plan, proxy.base_url, directory, policy)
            with session:
                person = Person(session, plan, policy, directory)
                try:
                    person.run()
                finally:
                    log = person.log
                    path = session.journal_path
                trace = session.trace
            passed = proxy.passed
            faults += broken(plan, policy, simulator.account, passed, trace, directory, died=died)
            faults += different(session.core.ledger, path)
        except Exception as error:  # noqa: BLE001 - whatever it is, this point has failed
            faults += [f"{type(error).__name__}: {error}", _where(error)]
        reached = proxy.was_cut.is_set()
    return Outcome(point, tuple(faults), reached, len(passed), time.monotonic() - began, tuple(log))


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames))


def _recover(plan: Plan, directory: Path) -> Session:
    tools = [tool for lane in plan.lanes for tool in tools_for(lane.tools, directory)][:1]
    return steer_nb.recover(
        directory / "journals", api_key="", quiet=True, reconnect=SOON, tools=tools
    )


class _Victim:
    """A process that follows a plan until it is killed."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None

    def lived_and_died(self, target: Callable[..., None], arguments: tuple[object, ...]) -> bool:
        """Let it live; whether it was killed, and did not come to its own end."""
        context = multiprocessing.get_context("forkserver")
        # The server that the processes are forked from finds this package only so.
        root = str(Path(__file__).parents[2])
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        if root not in paths:
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, *paths]))
        context.set_forkserver_preload(["tests.crash.person", "tests.crash.plans"])
        self._process = process = context.Process(target=target, args=arguments, daemon=True)
        process.start()
        process.join(30)
        code = process.exitcode
        if code is None:
            process.kill()
            process.join()
            msg = "the process did not end"
            raise AssertionError(msg)
        if code not in (0, -signal.SIGKILL):
            msg = f"the process ended with {code}"
            raise AssertionError(msg)
        return code != 0

    def kill(self) -> None:
        """End it where it stands, and return once it is gone."""
        process = self._process
        while process is None or process.pid is None:
            time.sleep(0.001)
            process = self._process
        os.kill(process.pid, signal.SIGKILL)


def count_messages(plan: str) -> int:
    """How many messages pass when nothing is lost."""
    outcome = run_point(Point(plan))
    assert not outcome.faults, outcome
    return outcome.messages


def points_of(plan: str, messages: int, kill: Kill, policy: str | None = None) -> list[Point]:
    """Every message, before and after.

    Where no policy is given, the ways to decide take turns, so that each meets every part of a
    conversation.
    """
    names = list(POLICIES)
    found = []
    for number in range(1, messages + 1):
        for side in ("before", "after"):
            # Twice the first way for once each of the others: that is what most people do.
            turn = (number + (side == "after") * 3) % (len(names) + 2)
            word = policy or (names[turn] if turn < len(names) else "first-again")
            found.append(Point(plan, number, side, kill, word))  # type: ignore[arg-type]
    return found


def sweep(points: Iterable[Point], workers: int) -> Iterator[Outcome]:
    """Run points, as they end."""
    todo = list(points)
    if workers <= 1:
        yield from map(run_point, todo)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        yield from pool.map(run_point, todo, chunksize=4)
