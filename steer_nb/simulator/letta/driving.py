"""Time for runs: what the loop waits for, a driver lets pass."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from steer_nb.simulator.letta.effects import ModelBegins, ToolBegins
from steer_nb.simulator.letta.ending import finish
from steer_nb.simulator.letta.loop import work
from steer_nb.simulator.letta.playback import play
from steer_nb.simulator.letta.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from steer_nb.simulator.faults import Armed
    from steer_nb.simulator.letta.effects import Effect
    from steer_nb.simulator.letta.run import Run
    from steer_nb.simulator.letta.service import LettaService

__all__ = ["drive", "hold", "watched"]


async def drive(service: LettaService, run: Run) -> None:
    """Let a run do its work to its end."""
    await _Driver(service, run).drive()


class _Driver:
    def __init__(self, service: LettaService, run: Run) -> None:
        self._service = service
        self._run = run
        self._stopped = asyncio.Event()
        self._due = 0.0
        self._flush_due: float | None = None

    async def drive(self) -> None:
        run = self._run
        run.watchers.add(self._look)
        try:
            doing = work if run.recorded is None else play
            for effect in doing(self._service, run):
                self._store()
                await self._hold(effect)
                await self._wait(effect.seconds)
        except Exception as error:
            if not run.ended:  # its client must not wait for ever for what is our mistake
                finish(self._service, run, "error", Trouble.of(500, f"Simulator error: {error!r}"))
            raise
        finally:
            run.watchers.discard(self._look)

    async def _hold(self, effect: Effect) -> None:
        """Let a tool or the model begin late, where a fault says so; a cancel ends that, too."""
        where = self._run.conversation.name
        struck: list[Armed] = []
        if isinstance(effect, ToolBegins):
            struck = self._service.strike("tool", effect.call.name, where)
        elif isinstance(effect, ModelBegins):
            struck = self._service.strike("call", "model", where)
        for armed in struck:
            holding = asyncio.create_task(hold(armed))
            stopped = asyncio.create_task(self._stopped.wait())
            try:
                await asyncio.wait({holding, stopped}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                holding.cancel()
                stopped.cancel()

    def _look(self) -> None:
        if self._run.cancelled or self._run.lost:
            self._stopped.set()

    async def _wait(self, seconds: float) -> None:
        """Let seconds at speed 1 pass, or less where the run is stopped."""
        speed = self._service.speed
        if speed <= 0 or seconds <= 0:
            await asyncio.sleep(0)
            return
        now = time.monotonic()
        self._due = max(self._due, now - 0.05) + seconds / speed
        while (left := self._due - time.monotonic()) > 0 and not self._stopped.is_set():
            flush = self._flush_due
            if flush is not None:
                left = min(left, max(0.0, flush - time.monotonic()))
            try:
                async with asyncio.timeout(left):
                    await self._stopped.wait()
            except TimeoutError:
                self._store()

    def _store(self) -> None:
        """Let frames be read: at once in the foreground, in bursts in the background (5.2)."""
        run, service = self._run, self._service
        waiting = len(run.frames) - run.n_stored
        if not waiting:
            return
        if run.background and run.recorded is None and service.speed > 0:
            now = time.monotonic()
            if self._flush_due is None:
                self._flush_due = now + service.options.flush_s / service.speed
            if now < self._flush_due and waiting < service.options.flush_frames:
                return
        self._flush_due = None
        run.store()


async def hold(armed: Armed) -> None:
    """Wait as long as a fault says, or until it is taken away."""
    seconds = getattr(armed.fault, "seconds", None)
    try:
        async with asyncio.timeout(seconds):
            await armed.lifted.wait()
    except TimeoutError:
        return


async def watched(run: Run, keepalive_s: float) -> AsyncGenerator[bool, None]:
    """Say each time that a run's frames may have changed: True; or that nothing came: False."""
    changed = asyncio.Event()
    run.watchers.add(changed.set)
    try:
        while True:
            changed.clear()
            yield True
            while not changed.is_set():
                try:
                    async with asyncio.timeout(keepalive_s):
                        await changed.wait()
                except TimeoutError:
                    yield False
    finally:
        run.watchers.discard(changed.set)
