"""Every message of every plan as a crash point: one run for each, in as many processes as asked."""

from __future__ import annotations

import datetime as dt
import multiprocessing
import os
import random
import signal
import tempfile
import threading
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from steer_nb.client import reconnecting
from steer_nb.simulator import Simulator
from tests.crash.invariants import broken, different
from tests.crash.person import POLICIES, Person, begin, come_back, live
from tests.crash.plans import PLANS
from tests.crash.proxy import Cut, Proxy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from multiprocessing.context import ForkServerContext
    from multiprocessing.process import BaseProcess

    from tests.crash.proxy import Kill, Side

P = TypeVar("P", bound="Point")

__all__ = [
    "SIDES",
    "Outcome",
    "Point",
    "Victim",
    "count_messages",
    "counted",
    "crash_twice",
    "in_a_folder",
    "points_of",
    "pool_of",
    "run_point",
    "today",
    "where",
    "workers",
]

MEMORY = Path("/dev/shm")
SIDES: tuple[Side, ...] = ("before", "after")
PRELOADED = [
    "tests.crash.sweep", "tests.crash.letta.sweep", "docstring_parser", "filelock", "httpx",
]  # fmt: skip
"""What each process that tries points, and each that is killed, would have to import by itself."""
RECOVERING = 8
"""Within so many messages after a crash, what was in flight is decided on."""


@dataclass(frozen=True)
class Point:
    """One crash: where, how, and how the person decides afterwards.

    Attributes
    ----------
    number : int
        The message; 0 is no crash at all.
    then : Cut, optional
        A second crash, so many messages after the first.
    fine : bool
        Whether each word has a delta of its own, as a model writes. Otherwise a text comes in two.
    """

    plan: str
    number: int = 0
    side: Side = "before"
    kill: Kill = "connection"
    policy: str = "first-again"
    then: Cut | None = None
    fine: bool = False

    @property
    def cuts(self) -> tuple[Cut, ...]:
        if not self.number:
            return ()
        first = Cut(self.number, self.side, self.kill)
        return (first,) if self.then is None else (first, self.then)

    @property
    def chosen(self) -> str:
        """Names its plan on the command line."""
        return f"--plan '{self.plan}'"

    @property
    def command(self) -> str:
        """What tries it again."""
        then = self.then
        more = "" if then is None else f" --then {then.number}-{then.side}-{then.kill}"
        return (
            f"python -m tests.crash {self.chosen} --point {self.number} --side {self.side} "
            f"--kill {self.kill}{more} --policy {self.policy}{' --fine' if self.fine else ''}"
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
    return in_a_folder(_run, point) if directory is None else _run(point, directory)


def in_a_folder(run: Callable[[P, Path], Outcome], point: P) -> Outcome:
    """Try a point in a folder of its own, in memory where there is such a place."""
    place = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place, prefix="steer-nb-crash-") as made:
        try:
            return run(point, Path(made))
        except Exception as error:  # noqa: BLE001 - the others shall be tried all the same
            faults = (f"{type(error).__name__}: {error}", where(error))
            return Outcome(point, faults, reached=False, messages=0, seconds=0.0)


def _run(point: Point, directory: Path) -> Outcome:
    plan, policy = PLANS[point.plan], POLICIES[point.policy]
    began = time.monotonic()
    deaths = sum(cut.kill == "process" for cut in point.cuts)
    options = {**plan.options, "most_deltas": 0} if point.fine else plan.options
    faults: list[str] = []
    log: list[str] = []
    passed = []
    victim = Victim()
    with (
        Simulator(plan.scenario, speed=0, **options) as simulator,
        Proxy(simulator.url, *point.cuts, kill=victim.kill, late=plan.late) as proxy,
    ):
        try:
            for life in range(deaths):
                words = (plan.name, proxy.base_url, directory, policy)
                if not victim.lived_and_died(live, (*words, life > 0)):
                    break
            with (
                come_back(plan, directory) if deaths else begin(plan, proxy.base_url, directory)
            ) as session:
                person = Person(session, plan, policy, directory)
                try:
                    person.run()
                finally:
                    log = person.log
                    path = session.journal_path
                trace = session.trace
            passed = proxy.passed
            account, killed = simulator.account, proxy.killed
            faults += broken(plan, policy, account, passed, trace, directory, killed)
            faults += different(session.core.ledger, path)
        except Exception as error:  # noqa: BLE001 - whatever it is, this point has failed
            faults += [f"{type(error).__name__}: {error}", where(error)]
        reached = bool(point.cuts) and not proxy.cuts_left
    return Outcome(point, tuple(faults), reached, len(passed), time.monotonic() - began, tuple(log))


def where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames))


class Victim:
    """A process that follows a plan until it is killed."""

    def __init__(self) -> None:
        self._process: BaseProcess | None = None
        self._lives = threading.Event()

    def lived_and_died(self, target: Callable[..., None], arguments: tuple[object, ...]) -> bool:
        """Let it live; whether it was killed, and did not come to its own end."""
        self._process = process = _forking().Process(target=target, args=arguments, daemon=True)
        process.start()
        self._lives.set()
        process.join(30)
        self._lives.clear()
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

    def kill(self) -> bool:
        """End it where it stands; False if it had come to its end before."""
        if not self._lives.wait(1):  # it may be known here a little later than it speaks
            return False
        assert self._process is not None
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGKILL)
        return True


def today() -> int:
    """The number of the day: what takes turns begins at another place each day."""
    return dt.datetime.now(dt.UTC).date().toordinal()


def workers() -> int:
    """So many processes keep the machine busy: a run waits longer than it computes."""
    return 4 * (os.cpu_count() or 1)


def pool_of(workers: int) -> ProcessPoolExecutor:
    """Processes to map `run_point` over points with."""
    able = "forkserver" in multiprocessing.get_all_start_methods()
    context = _forking() if able else multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_hurry)


def _forking() -> ForkServerContext:
    """Processes that are forked from one that has imported what all of them need."""
    # The server that the processes are forked from finds this package only so.
    root = str(Path(__file__).parents[2])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if root not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [root, *paths]))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _hurry() -> None:
    """Wait less where a plan has nobody end the connection that is said to be too old."""
    reconnecting.LIMIT_SECONDS = 0.1


def count_messages(
    plans: Iterable[str], pool: ProcessPoolExecutor, *, fine: bool = False
) -> dict[str, int]:
    """How many messages pass when nothing is lost, which already has to be right."""
    return counted(run_point, [Point(plan, fine=fine) for plan in plans], pool)


def counted(
    run: Callable[[P], Outcome], points: Iterable[P], pool: ProcessPoolExecutor
) -> dict[str, int]:
    """How many messages pass at points where nothing is lost, by plan."""
    outcomes = list(pool.map(run, points))
    assert [outcome for outcome in outcomes if outcome.faults] == []
    return {outcome.point.plan: outcome.messages for outcome in outcomes}


def points_of(
    plan: str, messages: int, kill: Kill, policy: str | None = None, *, fine: bool = False
) -> list[Point]:
    """Every message, before and after.

    Where no policy is given, the ways to decide take turns, so that each meets every part of a
    conversation.
    """
    names = list(POLICIES)
    found = []
    for number in range(1, messages + 1):
        for side in SIDES:
            # Twice the first way for once each of the others: that is what most people do.
            turn = (number + (side == "after") * 3) % (len(names) + 2)
            word = policy or (names[turn] if turn < len(names) else "first-again")
            found.append(Point(plan, number, side, kill, word, fine=fine))
    return found


def crash_twice(
    points: Sequence[Point], pool: ProcessPoolExecutor, kills: Sequence[Kill], seed: int
) -> list[Point]:
    """Give points a second crash: while they recover, or anywhere in what is left to do.

    How much that is, is tried first: it depends on what is decided after the crash. Points after
    which nothing is left have no second one, and are left out; one that fails already is given as
    it is, to fail again and be told.
    """
    found = []
    for once in pool.map(run_point, points):
        point = once.point
        if once.faults:
            found.append(point)
            continue
        chance = random.Random(f"{seed}/{point.command}")
        rest = once.messages - point.number
        if not once.reached or rest < 1:
            continue
        number = chance.randint(1, chance.choice((min(RECOVERING, rest), rest)))
        then = Cut(number, chance.choice(SIDES), chance.choice(kills))
        found.append(replace(point, then=then))
    return found
