"""The soak itself: rounds of work and of rest, misfortunes, and a look at what is left."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import steer_nb
from tests.crash.invariants import different
from tests.soak.crowd import Crowd
from tests.soak.memory import Census, census, handles, resident
from tests.soak.reader import Reader
from tests.soak.service import Service
from tests.soak.witnesses import Line, lost_or_doubled

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb import Session

__all__ = ["Options", "Report", "Row", "soak"]

FORKS = 8
PATIENCE = 60.0
CENSUSES = 5
"""So many times all objects are counted, from the end of the warm-up on."""
WARM = 0.2
"""The part of the time that caches, pools and first uses get."""
MISFORTUNES = ("cut", "none", "age", "none", "cut twice")
MB = 2**20

# What may grow between two rests, though nothing is kept: what happens to be alive at that moment.
SPARE_HANDLES = 3
SPARE_OBJECTS = 250
SPARE_BYTES = 256 * 1024
SPARE_RESIDENT = 24 * MB
SPARE_KEPT = 1.1


@dataclass(frozen=True)
class Options:
    """How long, how wide, how fast.

    Attributes
    ----------
    minutes : float
        Simulated ones, as a person would live them at speed 1: the time in which lanes work, times
        the speed, times the part of it that the scripts could keep up with. The rest between two
        rounds does not count. What the scripts waited on all lanes together is many times that.
    lanes : int
        Beside those that are forked meanwhile.
    speed : float
        How much faster everything goes, the scripts' pauses and the people's.
    round_s : float
        Real seconds of work between two rests.
    """

    minutes: float = 60.0
    lanes: int = 24
    seed: int = 1
    speed: float = 15.0
    round_s: float = 8.0


@dataclass(frozen=True)
class Row:
    """What there is after a round."""

    round: int
    minutes: float
    work_minutes: float
    events: int
    entries: int
    connections: int
    responses: int
    steers: int
    resident: int | None
    handles: dict[str, int]
    census: Census | None


@dataclass
class Report:
    """What the soak found.

    Attributes
    ----------
    lost : list of str
        What was lost, doubled, or never ended.
    grew : list of str
        What grows and should not.
    """

    rows: list[Row] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    grew: list[str] = field(default_factory=list)
    ends: Counter[str] = field(default_factory=Counter)
    did: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    keeps_up: float = 1.0
    seconds: float = 0.0
    looked: int = 0

    @property
    def passed(self) -> bool:
        """Whether nothing was lost, and nothing grows."""
        return not self.lost and not self.grew


def soak(options: Options, tell: Callable[[Row], None] = lambda row: None) -> Report:
    """Work for as long as told, and say what became of it.

    Parameters
    ----------
    tell : callable
        Gets each round's row.
    """
    began = time.monotonic()
    report = Report()
    policy = steer_nb.Reconnect(
        attempts=20, first_s=0.01, longest_s=0.2, rotate_s=max(1.0, 0.75 * options.round_s)
    )
    with (
        tempfile.TemporaryDirectory(prefix="steer-nb-soak-") as made,
        Service(options.speed, options.seed) as service,
    ):
        directory = Path(made)
        session = steer_nb.connect(
            service.url,
            api_key="",
            journal=directory / "journals",
            quiet=True,
            name="soak",
            reconnect=policy,
        )
        with session:
            _Soak(options, service, session, directory, report, tell).run()
        report.lost += different(session.core.ledger, session.journal_path)
        if steer_nb.load(session.journal_path) != session.trace:
            report.lost.append("the journal holds another trace")
        _tally(report, session)
    report.grew += _growth(report.rows)
    report.seconds = time.monotonic() - began
    return report


class _Soak:
    def __init__(
        self,
        options: Options,
        service: Service,
        session: Session,
        directory: Path,
        report: Report,
        tell: Callable[[Row], None],
    ) -> None:
        self._options = options
        self._service = service
        self._session = session
        self._directory = directory
        self._report = report
        self._tell = tell
        self._random = Random(f"{options.seed}/misfortunes")
        self._line = Line(session.trace)
        self._minutes = 0.0
        self._counted = 0

    def run(self) -> None:
        """Rounds, until the time is over or something is wrong."""
        options, report = self._options, self._report
        crowd = Crowd(
            self._session,
            self._directory,
            lanes=options.lanes,
            forks=FORKS,
            seed=options.seed,
            speed=options.speed,
        )
        reader = Reader(self._session, options.seed)
        try:
            number = 0
            while self._minutes < options.minutes and not report.lost:
                number += 1
                self._round(number, crowd, reader)
                failures = (*crowd.failures, *reader.failures)
                report.lost += [f"{type(e).__name__}: {e}" for e in failures]
        finally:
            crowd.leave()
            reader.leave()
            report.did, report.refused, report.looked = crowd.did, crowd.refused, reader.looked

    def _round(self, number: int, crowd: Crowd, reader: Reader) -> None:
        before, began = self._service.played(), time.monotonic()
        crowd.go()
        reader.go()
        self._work(MISFORTUNES[number % len(MISFORTUNES)])
        reader.rest()
        if not crowd.rest(PATIENCE) and not crowd.failures:
            self._report.lost += ["somebody has waited too long", *crowd.whereabouts()]
            return
        after, seconds = self._service.played(), time.monotonic() - began
        # A minute is over once the scripts have played it: where they lag, it takes longer.
        due = (after.real_s - before.real_s) * self._options.speed
        keeps_up = min(1.0, (after.work_s - before.work_s) / due) if due else 1.0
        self._minutes += seconds * self._options.speed * keeps_up / 60
        self._report.keeps_up = min(self._report.keeps_up, keeps_up)
        self._await_rotation()
        if not crowd.hold(PATIENCE):
            self._report.lost += ["it does not come to rest", *crowd.whereabouts()]
            return
        self._check()
        row = self._row(number, after.work_s / 60, after.events)
        self._report.rows.append(row)
        self._tell(row)

    def _work(self, misfortune: str) -> None:
        """Let them work, and let something happen meanwhile."""
        seconds = self._options.round_s
        end = time.monotonic() + seconds
        cuts = {"cut": 1, "cut twice": 2}.get(misfortune, 0)
        for _ in range(cuts):
            time.sleep(seconds * self._random.uniform(0.1, 0.4))
            self._service.cut()
        if misfortune == "age":
            time.sleep(seconds * self._random.uniform(0.2, 0.8))
            self._service.age()
        time.sleep(max(0.0, end - time.monotonic()))

    def _await_rotation(self) -> None:
        """An old connection is replaced now that nobody works; wait for the new one."""
        core = self._session.core
        if core.reconnector.policy.rotate_s is None:
            return
        end = time.monotonic() + PATIENCE
        while core.reconnector._rotation_due or not core.line.connected:
            if time.monotonic() > end:
                self._report.lost.append(f"no new connection: {self._session.status()}")
                return
            time.sleep(0.02)

    def _check(self) -> None:
        """Nothing is going on now: all that was said and done has to agree."""
        session, trace = self._session, self._session.trace
        account, messages = self._service.account(), self._service.messages()
        faults = session.read(
            lambda ledger: lost_or_doubled(ledger, trace, account, self._directory)
        )
        self._report.lost += [*faults, *self._line.differs(messages)]

    def _row(self, number: int, work: float, events: int) -> Row:
        session = self._session
        sizes = session.read(
            lambda ledger: (len(ledger.connections), len(ledger.responses), len(ledger.steers))
        )
        return Row(
            number,
            self._minutes,
            work,
            events,
            len(session.trace),
            *sizes,
            resident(),
            handles(session),
            census(session, (self._report.rows, self._line)) if self._census_due() else None,
        )

    def _census_due(self) -> bool:
        share = self._minutes / self._options.minutes
        due = WARM + self._counted * (1 - WARM) / (CENSUSES - 1)
        if share < min(due, 1.0):
            return False
        self._counted += 1
        return True


def _tally(report: Report, session: Session) -> None:
    ledger = session.core.ledger
    report.ends.update(one.end_kind or "open" for one in ledger.connections.values())
    report.states.update(f"steer {steer.state}" for steer in ledger.steers.values())
    report.states.update(f"request {request.state}" for request in ledger.requests.values())
    report.states.update(f"response {one.status}" for one in ledger.responses.values())


def _growth(rows: list[Row]) -> list[str]:
    """What grew from the end of the warm-up to the end of the soak."""
    counted = [row for row in rows if row.census is not None]
    if len(counted) < 2:
        return []
    first, last = counted[0], counted[-1]
    grew = []
    for name, count in last.handles.items():
        # Not all are done with at each rest: the least of the last rounds is what is kept.
        later = [row for row in rows if row.round > first.round][-3:]
        kept = min(row.handles[name] for row in later)
        before = max(row.handles[name] for row in rows if row.round <= first.round)
        if kept > before + SPARE_HANDLES:
            grew.append(f"{name}: {before}, and {count} in the end")
    grew += _objects(first, last)
    a, b = first.census, last.census
    assert a is not None
    assert b is not None
    # Not for each entry: some moments have longer messages than others.
    if b.kept > a.kept / a.characters * b.characters * SPARE_KEPT + MB:
        grew.append(
            f"what is kept of each character that travelled: {a.kept / a.characters:.2f} bytes, "
            f"and {b.kept / b.characters:.2f} in the end"
        )
    if first.resident is not None and last.resident is not None:
        kept = b.kept - a.kept
        rest = last.resident - first.resident - kept
        if rest > SPARE_RESIDENT + 0.1 * kept:
            grew.append(f"resident memory beside the trace: by {rest / MB:.0f} MB")
    return grew


def _objects(first: Row, last: Row) -> list[str]:
    a, b = first.census, last.census
    assert a is not None
    assert b is not None
    grew = []
    more: Any = b.others - a.others
    if sum(b.others.values()) > sum(a.others.values()) + SPARE_OBJECTS:
        kinds = ", ".join(f"{count} {name}" for name, count in more.most_common(6))
        grew.append(f"objects that are neither trace nor ledger: {kinds} more")
    if b.other_bytes > a.other_bytes + SPARE_BYTES:
        grew.append(
            f"what is neither trace nor ledger: {a.other_bytes / MB:.1f} MB, and "
            f"{b.other_bytes / MB:.1f} MB in the end"
        )
    return grew
