"""A recorded trace once more: its requests and notes, at their recorded moments.

The embedded simulator serves the recording; here the client's half is driven. A moment is not only
a time: a request goes out when its lane has got as many events as it had in the recording, so that
a steer meets the same word at any speed.
"""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from steer_nb.client.connecting import connect
from steer_nb.client.io import tick, wait
from steer_nb.client.replay_plan import Act, chosen_lanes, counts_as, lane_of, plan
from steer_nb.client.settings import LaneSettings
from steer_nb.errors import WaitTimeout
from steer_nb.ledger import rules

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from os import PathLike

    from steer_nb.client.lane import Lane
    from steer_nb.client.session import Session
    from steer_nb.trace import Entry, Trace

__all__ = ["Replay", "replay"]

PATIENCE_S = 60.0
"""Real seconds that the simulator waits for a steer of ours: a busy machine may be slow."""
STILL_S = 3.0
"""So long a lane at rest may bring nothing before the replay goes on without what is missing."""
STUCK_S = 20.0
"""So long, and the longest recorded pause, a busy one may."""


@dataclass(slots=True)
class _Counts:
    """How many events each lane has got."""

    lanes: dict[str | None, int] = field(default_factory=dict)
    losses: int = 0
    at: int = 0
    changed: float = 0.0

    def take(self, entries: Sequence[Entry]) -> None:
        """Count what is new."""
        while self.at < len(entries):
            entry = entries[self.at]
            self.at += 1
            if entry.kind == "in":
                lane = lane_of(entry)
                self.lanes[lane] = self.lanes.get(lane, 0) + counts_as(entry)
                self.changed = time.monotonic()
            elif entry.note == "closed":
                self.losses += 1


class Replay:
    """A trace that is being played again; `steer_nb.replay` makes it.

    It goes on by itself, on a thread of its own: ``replay.wait()`` and ``await replay`` wait for
    its end and leave it running when they are interrupted.

    Attributes
    ----------
    session : Session
        The session in which it happens; it stays open at the end.

    Examples
    --------
    >>> import steer_nb
    >>> from steer_nb.simulator import Simulator
    >>> planner = Simulator("planner", speed=0)
    >>> with steer_nb.connect(simulate=planner, journal=False, quiet=True) as session:
    ...     first = session.lane("trip").create("Plan a day in Lisbon.").wait(timeout=30)
    >>> replay = steer_nb.replay(session.trace, speed=0, quiet=True).wait(timeout=30)
    >>> replay.session["trip"].text == first.text
    True
    >>> replay.session.close()
    """

    def __init__(
        self, session: Session, name: str, acts: list[Act], totals: Act | None, pause: float = 0.0
    ) -> None:
        self.session = session
        self._name = name
        self._acts = acts
        self._totals = totals
        self._pause = pause
        self._done = 0
        self._counts = _Counts()
        self._longest = 0.0
        self._news = threading.Event()
        self._stop = threading.Event()
        self._end: Future[None] = Future()

    def start(self, speed: float) -> None:
        """Begin; `steer_nb.replay` calls it once."""
        self._repeating(now=True)
        unsubscribe = self.session.subscribe(self._look)

        def run() -> None:
            try:
                try:
                    self._drive(speed)
                finally:
                    unsubscribe()
                    self._repeating(now=False)
            except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits
                self._end.set_exception(error)
            else:
                self._end.set_result(None)

        threading.Thread(target=run, name="steer-nb replay", daemon=True).start()

    @property
    def lanes(self) -> list[Lane]:
        """The lanes that are played, in the order of the recording; open or still to be opened."""
        names = dict.fromkeys(
            act.lane for act in self._acts if act.entry.kind == "out" or act.entry.note == "lane"
        )
        return [self.session.lane_object(name) for name in names]

    @property
    def state(self) -> str:
        """``playing``, ``ended``, ``stopped`` (by `stop`, or with its session) or ``failed``."""
        if not self._end.done():
            return "playing"
        if self._end.exception() is not None:
            return "failed"
        return "stopped" if self._stop.is_set() or self._done < len(self._acts) else "ended"

    def stop(self) -> None:
        """Play no further; the session stays as it is."""
        self._stop.set()
        self._news.set()

    def wait(self, timeout: float | None = None) -> Replay:
        """Wait for its end and return it; an interrupt leaves it running.

        Parameters
        ----------
        timeout : float, optional
            Seconds.

        Raises
        ------
        WaitTimeout
            When the time is over; the replay goes on.
        SteerError
            What ended it.
        """
        try:
            wait(self._end, timeout)
        except TimeoutError:
            if self._end.done():
                raise
            msg = f"The replay of {self._name} still goes on after {timeout:g} s; wait again."
            raise WaitTimeout(msg) from None
        return self

    async def _settled(self) -> Replay:
        await tick(self._end)
        return self

    def __await__(self) -> Generator[Any, None, Replay]:
        return self._settled().__await__()

    def __repr__(self) -> str:
        many = f"{self._done} of {len(self._acts)} recorded steps"
        return f"<Replay of {self._name}: {self.state}, {many}, session {self.session.name}>"

    # -- its own thread ------------------------------------------------------------------------

    def _look(self) -> None:
        self._counts.take(self.session.trace.entries)
        self._news.set()

    def _repeating(self, *, now: bool) -> None:
        """Let the session send nothing by itself, or again what it would."""
        if not self.session.closed:
            self.session.act(lambda: setattr(self.session.core.sender, "repeating", now))

    def _drive(self, speed: float) -> None:
        self._counts.changed = time.monotonic()
        self._longest = self._pause / speed if speed > 0 else 0.0
        for act in self._acts:
            if not self._until(act):
                return
            # not at the recorded time itself: waiting would add up
            if speed > 0 and self._stop.wait(act.after / speed):
                return
            if self.session.closed:
                return
            self.session.act(lambda act=act: self._do(act))  # type: ignore[misc]
            if act.entry.kind == "out" or act.entry.note == "lane":
                self.session.lane_object(act.lane)
            self._done += 1
        if self._totals is not None:
            self._until(self._totals)

    def _until(self, act: Act) -> bool:
        """Wait until what came before has come again; False when nothing more is to be done."""
        while not self._stop.is_set() and not self.session.closed:
            self._news.clear()
            if self._ready(act) or self._still(act):
                return True
            self._news.wait(0.1)
        return False

    def _ready(self, act: Act) -> bool:
        counts, core = self._counts, self.session.core
        return (
            all(counts.lanes.get(lane, 0) >= n for lane, n in act.needs.items())
            and counts.losses >= act.losses
            and (not act.connections or core.recorder.connection >= act.connections)
            and (core.line.connected or act.entry.kind == "note")
            and not core.line.works_on(act.lane)
        )

    def _still(self, act: Act) -> bool:
        """Whether nothing comes any more that could be waited for."""
        silence = time.monotonic() - self._counts.changed
        if silence < STILL_S or not self.session.core.line.connected:
            return False
        if silence > STUCK_S + self._longest:
            return True

        def rest(ledger: Any) -> bool:
            states = (ledger.lanes.get(lane) for lane in act.needs)
            return all(s is None or rules.lane_word(s) not in ("running", "queued") for s in states)

        return self.session.read(rest)

    def _do(self, act: Act) -> None:
        """Do one thing again, on the I/O thread."""
        core, entry, data = self.session.core, act.entry, dict(act.entry.data or {})
        if entry.kind == "out":
            kept = core.lanes.setdefault(act.lane, LaneSettings(act.lane, open=False))
            if not kept.fields:  # a recording of others notes no lanes
                kept.fields, kept.open = dict(core.defaults), True
            core.outlet.repeat(act.key, entry.raw or "", {**data, "lane": act.lane}, sent=act.sent)
            return
        if entry.kind == "in":
            from steer_nb.letta.repeating import ask_again

            ask_again(core, core.lanes.setdefault(act.lane, LaneSettings(act.lane)), data["body"])
            return
        if entry.note in ("lane", "lane_closed"):
            kept = core.lanes.setdefault(act.lane, LaneSettings(act.lane))
            kept.open = entry.note == "lane"
            if kept.open:
                state = core.ledger.lanes.get(act.lane)
                kept.fields = dict(data.get("settings") or {})
                kept.base = data.get("forked_from")
                kept.n_before_base = 0 if state is None else len(state.responses)
        core.recorder.note(entry.note or "", **data)
        if act.reads:
            from steer_nb.letta.repeating import read_again

            read_again(core, core.lanes[act.lane])


def replay(
    trace: Trace | str | PathLike[str],
    *,
    speed: float = 1.0,
    lanes: Iterable[str] | None = None,
    name: str = "replay",
    journal: str | PathLike[str] | bool | None = False,
    quiet: bool = False,
) -> Replay:
    """Play a recorded trace again: the simulator serves it, and a session sends what was sent.

    Requests, steers, filled answers and notes go out at their recorded moments, so that live views
    show the session again. Its frames equal the recorded ones, ids included, but for times and
    for the trace's own id, which is part of the ids of lanes and connections.

    Parameters
    ----------
    trace : Trace or path
        A trace, or the file of one.
    speed : float
        2 is twice as fast as recorded; 0 as fast as it goes.
    lanes : iterable of str, optional
        Only these lanes; all of them by default.
    name : str
        What the session is called.
    journal : path-like or False, optional
        As for `connect`; without one by default, since the recording is there.
    quiet : bool
        Print nothing.

    Returns
    -------
    Replay
        At once, while it plays. Its `session` is an ordinary session, and stays open at the end.

    Raises
    ------
    TraceError, ScenarioError
        The trace cannot be read, or holds nothing that could be played.
    InvalidInput
        A negative speed, or a lane that the trace does not have.

    Examples
    --------
    >>> import steer_nb
    >>> from steer_nb.simulator import Simulator
    >>> planner = Simulator("planner", speed=0)
    >>> with steer_nb.connect(simulate=planner, journal=False, quiet=True) as session:
    ...     _ = session.lane("trip").create("Plan a day in Lisbon.").wait(timeout=30)
    >>> replay = steer_nb.replay(session.trace, speed=0, quiet=True).wait(timeout=30)
    >>> replay.state
    'ended'
    >>> list(replay.session.trace.frames.responses["status"])
    ['completed']
    >>> replay.session.close()
    """
    from steer_nb.simulator import Scenario, Simulator
    from steer_nb.simulator.letta import LettaSimulator
    from steer_nb.trace import Trace, load_trace

    source = trace if isinstance(trace, Trace) else load_trace(trace)
    scenario = Scenario.from_trace(source)
    chosen, recording = chosen_lanes(source, lanes), scenario.recording
    acts, totals = plan(source, () if recording is None else recording.cuts, chosen)
    simulator: Simulator | LettaSimulator
    if scenario.dialect == "letta":
        simulator = LettaSimulator(scenario, speed=speed)
    else:
        simulator = Simulator(scenario, speed=speed, replay_patience_s=PATIENCE_S)
    session = connect(
        simulate=simulator,
        letta=scenario.dialect == "letta",
        journal=journal,
        name=name,
        quiet=True,
        multi_agent=recording is not None and recording.multi_agent,
    )
    if not quiet:
        line = f"Replaying {scenario.name} in session {name}: {len(acts)} recorded steps.\n"
        sys.stdout.write(line)
    times = [entry.t for entry in source if entry.t is not None]
    pause = max((b - a for a, b in pairwise(times)), default=0.0)
    playing = Replay(session, scenario.name, acts, totals, pause)
    playing.start(speed)
    return playing
