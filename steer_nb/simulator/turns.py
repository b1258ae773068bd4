"""Whose turn it is to write, where several agents write one response."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from steer_nb.simulator.pace import Pace

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["InTurns", "Pen"]


class Pen:
    """One pen for all agents: who writes passes it on after each event.

    With real waits their timers say who is next, and there is a pen for everyone. Without any,
    chance would, as a breath takes real time; and the same seed has to give the same messages.

    Parameters
    ----------
    shared : bool
        Whether there is only one.
    """

    def __init__(self, *, shared: bool) -> None:
        self._lock = asyncio.Lock() if shared else None

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Write, in turns with the others."""
        if self._lock is None:
            yield
            return
        async with self._lock:
            yield

    @asynccontextmanager
    async def laid_down(self) -> AsyncIterator[None]:
        """Wait for something; the others write meanwhile."""
        if self._lock is None:
            yield
            return
        self._lock.release()
        try:
            yield
        finally:
            await self._lock.acquire()


class InTurns(Pace):
    """The rhythm of one agent, who lays the pen down after each event.

    Parameters
    ----------
    pace : Pace
        Its rhythm.
    pen : Pen
        All agents' own.
    """

    def __init__(self, pace: Pace, pen: Pen) -> None:
        self._pace = pace
        self._pen = pen

    async def wait(self, seconds: float) -> None:
        """Let `seconds` at speed 1 pass, and the others write."""
        async with self._pen.laid_down():
            await self._pace.wait(seconds)

    async def breathe(self) -> None:
        """Give what is on its way the chance to arrive; nobody writes meanwhile."""
        await self._pace.breathe()

    async def listen(self, heard: asyncio.Event, seconds: float, *, real: bool = False) -> None:
        """Wait for a steer, at most `seconds` (at speed 1, or real ones)."""
        await self._pace.listen(heard, seconds, real=real)
