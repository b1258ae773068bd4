"""All people of a soak, on a few threads: they work, rest, and hold still together.

What is refused because something happened since is tried again: that is what a person does.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Literal

from steer_nb.errors import SteerError
from tests.crash.person import tools_for
from tests.soak.people import Person

if TYPE_CHECKING:
    from pathlib import Path

    from steer_nb import Lane, Session

__all__ = ["Crowd"]

THREADS = 4
GLANCE = 0.02
TOOLS = ("auto", "ask", "none")
Doing = Literal["working", "resting", "holding"]


class Crowd:
    """Everybody, on a few threads.

    Parameters
    ----------
    session : Session
        What they share.
    directory : Path
        Where their tools write down that they ran.
    lanes, forks : int
        So many lanes from the beginning, and names for those that are forked.
    """

    def __init__(
        self,
        session: Session,
        directory: Path,
        *,
        lanes: int,
        forks: int,
        seed: int,
        speed: float,
    ) -> None:
        self.session = session
        self.did: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.failures: list[BaseException] = []
        self._directory = directory
        self._seed = seed
        self._speed = speed
        self._count = 0
        self._lock = threading.Lock()
        self._free = [f"fork-{number}" for number in range(forks)]
        self._doing: Doing = "resting"
        self._ended = False
        self._groups: list[list[Person]] = [[] for _ in range(min(THREADS, lanes))]
        self._marks = [("", 0)] * len(self._groups)
        self._asked = 0
        self._policies: dict[str, str] = {}
        for number in range(lanes):
            name = f"lane-{number}"
            self._policies[name] = TOOLS[number % len(TOOLS)]
            self._groups[number % len(self._groups)].append(Person(self, self.open(name), seed))
        self._threads = [
            threading.Thread(target=self._live, args=(number,), name=f"soak people {number}")
            for number in range(len(self._groups))
        ]
        for thread in self._threads:
            thread.start()

    def policy_of(self, name: str) -> str:
        """How the tools of a lane run."""
        return self._policies[name]

    def real(self, seconds: float) -> float:
        """Seconds on the clock here, for those at speed 1."""
        return seconds / self._speed

    def number(self) -> int:
        """A number that nobody said before."""
        with self._lock:
            self._count += 1
            return self._count

    def open(self, name: str) -> Lane:
        """Open a lane, or open it again."""
        tools = tools_for(self._policies[name], self._directory)
        return self.session.lane(name, tools=tools)

    def fork(self, person: Person) -> bool:
        """Let somebody go on from a person's last response, on another lane, for a few turns."""
        with self._lock:
            if not self._free:
                return False
            name = self._free.pop()
        try:
            self._policies[name] = self._policies[person.name]
            lane = person.lane.fork(name)
        except BaseException:
            with self._lock:
                self._free.append(name)
            raise
        group = next(group for group in self._groups if person in group)
        seed = f"{self._seed}/{self.number()}"
        group.append(Person(self, lane, seed, turns=1 + self._count % 3))
        return True

    # -- together ----------------------------------------------------------------------------------

    def go(self) -> None:
        """Work."""
        self._doing = "working"

    def rest(self, patience: float) -> bool:
        """Begin nothing new, and end what was begun; whether everybody is done in time."""
        self._doing = "resting"
        return self._all_say("done", patience)

    def hold(self, patience: float) -> bool:
        """Rest, and then do nothing at all; whether nothing is going on in time.

        A connection that is replaced while some are done gives them something to do again.
        """
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if not self.rest(end - time.monotonic()):
                return False
            self._doing = "holding"
            if self._all_say("held", end - time.monotonic()) and not self.whereabouts():
                return True
        return False

    def _all_say(self, word: str, patience: float) -> bool:
        """Wait until every thread says so of a round that began after this."""
        self._asked += 1
        end = time.monotonic() + patience
        while any(mark[0] != word or mark[1] < self._asked for mark in self._marks):
            if time.monotonic() > end or self.failures:
                return False
            time.sleep(GLANCE)
        return True

    def leave(self) -> None:
        """Go home."""
        self._ended = True
        for thread in self._threads:
            thread.join(10)

    def whereabouts(self) -> list[str]:
        """Who is not done, and why."""
        people = [person for group in self._groups for person in group]
        seen = self.session.read(lambda ledger: [person.look(ledger) for person in people])
        return [
            f"{person.name}: {look}"
            for person, look in zip(people, seen, strict=True)
            if person.owes
            or look.word not in ("idle", "failed")
            or not self.session.core.line.connected
        ]

    def _live(self, number: int) -> None:
        group = self._groups[number]
        try:
            while not self._ended:
                asked, doing = self._asked, self._doing
                if doing == "holding":
                    self._marks[number] = ("held", asked)
                elif self.session.core.line.connected:
                    done = self._round(group, resting=doing == "resting")
                    self._marks[number] = ("done" if done else "", asked)
                time.sleep(GLANCE)
        except BaseException as error:  # noqa: BLE001 - the soak shall say so, not a thread
            self.failures.append(error)

    def _round(self, group: list[Person], *, resting: bool) -> bool:
        """Let each do one thing; whether all are done."""
        people = tuple(group)
        glances = self.session.read(lambda ledger: [person.look(ledger) for person in people])
        done = True
        for person, seen in zip(people, glances, strict=True):
            try:
                done &= person.act(seen, resting=resting)
            except SteerError as error:
                self.refused[type(error).__name__] += 1
                done = False
            if person.left:
                group.remove(person)
                with self._lock:
                    self._free.append(person.name)
        return done
