"""The other side of a soak, in a process of its own: the simulator, the line, and what they saw.

Only there can the client's memory be measured alone. The process counts what the scripts waited
for, and keeps a checksum of every message in both directions: what the client's trace is held
against.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
import zlib
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import steer_nb.simulator.server
from steer_nb.simulator import Simulator
from steer_nb.simulator.connection import Connection
from steer_nb.simulator.pace import Pace
from tests.soak.line import Line
from tests.soak.script import everything

if TYPE_CHECKING:
    from multiprocessing.connection import Connection as Pipe

__all__ = ["Played", "Service", "checksum"]

PATIENCE = 60.0
AGE = 3600.0


def checksum(text: str) -> int:
    """32 bits of a message."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Played:
    """What the scripts did so far.

    Attributes
    ----------
    work_s : float
        Seconds at speed 1 that they waited, all lanes together.
    real_s : float
        What these took.
    events : int
        Messages that were written.
    """

    work_s: float
    real_s: float
    events: int


class Service:
    """A simulator behind a line, in another process.

    Parameters
    ----------
    speed : float
        How much faster than at speed 1 the scripts play.
    seed : int
        What the simulator's ids and pauses depend on.
    """

    def __init__(self, speed: float, seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, speed, seed), daemon=True)
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._process.start()
        self.url = f"http://127.0.0.1:{self._answer()}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.is_alive():
            self._ask("stop")
        self._process.join(PATIENCE)
        assert self._process.exitcode == 0

    def cut(self) -> int:
        """Cut the line; how many connections there were."""
        return self._ask("cut")

    def age(self) -> None:
        """Let an hour pass on the clock that connections age by."""
        self._ask("age")

    def played(self) -> Played:
        """Say how much the scripts have played."""
        return self._ask("played")

    def account(self) -> list[dict[str, Any]]:
        """Give the simulator's account."""
        return self._ask("account")

    def messages(self) -> dict[int, tuple[array[int], array[int]]]:
        """Give the checksums of what was received and written, by connection."""
        return self._ask("messages")

    def _ask(self, what: str) -> Any:
        with self._lock:
            self._pipe.send(what)
            return self._answer()

    def _answer(self) -> Any:
        assert self._pipe.poll(PATIENCE), "the simulator's process does not answer"
        return self._pipe.recv()


# -- in the other process --------------------------------------------------------------------------


class _Counting(Pace):
    """A rhythm that counts what it was asked to wait for."""

    def __init__(self, speed: float, breath: float, counts: _Counts) -> None:
        super().__init__(speed, breath)
        self._counts = counts

    async def wait(self, seconds: float) -> None:
        began = time.monotonic()
        await super().wait(seconds)
        self._counts.work_s += seconds
        self._counts.real_s += time.monotonic() - began


class _Counts:
    def __init__(self) -> None:
        self.work_s = self.real_s = 0.0
        self.events = 0
        self.messages: dict[int, tuple[array[int], array[int]]] = {}

    def pace(self, simulator: Simulator) -> Any:
        """What makes the rhythm of each response."""
        service = simulator.service
        return lambda: _Counting(service.speed, service.options.breath_s, self)

    def connections(self) -> type[Connection]:
        """A connection that keeps the checksums of its messages."""
        counts = self

        class Witnessed(Connection):
            def __init__(self, *given: Any) -> None:
                super().__init__(*given)
                self._seen = counts.messages[self.number] = (array("L"), array("L"))

            def receive(self, message: str | bytes) -> None:
                assert isinstance(message, str)
                self._seen[0].append(checksum(message))
                super().receive(message)

            def write(self, event: dict[str, Any]) -> None:
                super().write(event)
                counts.events += 1
                self._seen[1].append(checksum(self.line._outbox[-1]))

        return Witnessed


def _serve(pipe: Pipe, speed: float, seed: int) -> None:
    counts = _Counts()
    steer_nb.simulator.server.Connection = counts.connections()  # type: ignore[misc]
    with Simulator(everything, speed=speed, seed=seed, stored_responses=10**6) as simulator:
        simulator.service.pace = counts.pace(simulator)  # type: ignore[method-assign]
        loop = simulator._remote.loop
        assert loop is not None
        line = Line(simulator.port)
        asyncio.run_coroutine_threadsafe(line.open(), loop).result(PATIENCE)
        pipe.send(line.port)
        answers = {
            "cut": line.cut,
            "played": lambda: Played(counts.work_s, counts.real_s, counts.events),
            "messages": lambda: counts.messages,
        }

        async def on_loop(what: str) -> Any:
            return answers[what]()

        while (what := pipe.recv()) != "stop":
            if what == "account":
                pipe.send(simulator.account)
            elif what == "age":
                simulator.advance(AGE + 1)
                pipe.send(None)
            else:
                pipe.send(asyncio.run_coroutine_threadsafe(on_loop(what), loop).result(PATIENCE))
        loop.call_soon_threadsafe(line.close)
    pipe.send(None)
