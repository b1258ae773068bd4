"""Somebody who only looks, in ways that a session could keep something of."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from random import Random
from typing import TYPE_CHECKING

from steer_nb.errors import SteerError, WaitTimeout

if TYPE_CHECKING:
    from steer_nb import Session

__all__ = ["Reader"]


class Reader:
    """Somebody who only looks: waits and gives up, watches and stops watching."""

    def __init__(self, session: Session, seed: int) -> None:
        self._session = session
        self._random = Random(f"{seed}/reader")
        self._ended = threading.Event()
        self._on = threading.Event()
        self._still = threading.Event()
        self.looked = 0
        self.failures: list[BaseException] = []
        self._thread = threading.Thread(target=self._live, name="soak reader")
        self._thread.start()

    def go(self) -> None:
        self._still.clear()
        self._on.set()

    def rest(self) -> None:
        self._on.clear()
        assert self._still.wait(10)

    def leave(self) -> None:
        self._ended.set()
        self._thread.join(10)

    def _live(self) -> None:
        try:
            while not self._ended.is_set():
                if self._on.is_set():
                    self._look()
                    self.looked += 1
                else:
                    self._still.set()
                self._ended.wait(0.05)
        except BaseException as error:  # noqa: BLE001 - the soak shall say so, not a thread
            self.failures.append(error)

    def _look(self) -> None:
        session = self._session
        lane = self._random.choice(list(session.lanes.values()))
        match self._random.randrange(6):
            case 0:
                stop = session.subscribe(lambda: None)
                time.sleep(0.02)
                stop()
            case 1:
                with contextlib.suppress(WaitTimeout):
                    lane.wait(0.03)
            case 2:
                with contextlib.suppress(TimeoutError):
                    asyncio.run(_a_while(session))
            case 3:
                assert session.status()["name"] == session.name
            case 4:
                assert repr(lane)
                assert len(lane.text) >= 0
            case _:
                response = lane.response
                with contextlib.suppress(SteerError):
                    if response is not None:
                        response.wait(0.02)


async def _a_while(session: Session) -> None:
    async with asyncio.timeout(0.03):
        await session.settled()
