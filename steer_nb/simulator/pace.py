"""Time: how fast a script plays, what the clock says, when a connection is too old."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EPOCH", "Clock", "Pace"]

EPOCH = 1_795_996_800
"""`created_at` of the first response at speed 0, where wall time would differ from run to run."""


class Clock:
    """A clock that can be put forward, so that a test need not wait an hour.

    Parameters
    ----------
    base : callable
        Seconds that only grow.

    Examples
    --------
    >>> clock = Clock(lambda: 10.0)
    >>> clock.advance(5)
    >>> clock.now()
    15.0
    """

    def __init__(self, base: Callable[[], float] = time.monotonic) -> None:
        self._base = base
        self._offset = 0.0
        self._sleepers: set[asyncio.Event] = set()

    def now(self) -> float:
        """Say what time it is."""
        return self._base() + self._offset

    def advance(self, seconds: float) -> None:
        """Put the clock forward. Only on the thread of those who sleep by it."""
        self._offset += seconds
        for sleeper in self._sleepers:
            sleeper.set()

    async def reach(self, moment: float) -> None:
        """Sleep until the clock shows `moment`."""
        moved = asyncio.Event()
        self._sleepers.add(moved)
        try:
            while (left := moment - self.now()) > 0:
                moved.clear()
                try:
                    async with asyncio.timeout(left):
                        await moved.wait()
                except TimeoutError:
                    continue
        finally:
            self._sleepers.discard(moved)


class Pace:
    """The rhythm of one response. Speed 2 halves every wait; speed 0 leaves only turns of the loop.

    Parameters
    ----------
    speed : float
        Not negative.
    breath : float
        Real seconds between items at speed 0: time for a message that is on its way.
    """

    def __init__(self, speed: float, breath: float) -> None:
        self._speed = speed
        self._breath = breath
        self._due = 0.0

    async def wait(self, seconds: float) -> None:
        """Let `seconds` at speed 1 pass. Small errors do not add up."""
        if self._speed <= 0 or seconds <= 0:
            await asyncio.sleep(0)
            return
        now = time.monotonic()
        self._due = max(self._due, now - 0.05) + seconds / self._speed
        await asyncio.sleep(max(0.0, self._due - now))

    async def breathe(self) -> None:
        """Give what is on its way the chance to arrive, between two items."""
        await asyncio.sleep(self._breath if self._speed <= 0 else 0)

    async def listen(self, heard: asyncio.Event, seconds: float, *, real: bool = False) -> None:
        """Wait for a steer, at most `seconds` (at speed 1, or real ones)."""
        if not real:
            seconds = 0.0 if self._speed <= 0 else seconds / self._speed
        try:
            async with asyncio.timeout(seconds):
                await heard.wait()
        except TimeoutError:
            return
