"""A line that is as late and as talkative as the protocol leaves room for.

An acknowledgement of a steer may be read after its parent's end, and after the successor's begin
(protocol 5.8 j); some services end a response twice (hard case 4). Nothing else changes its order.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from websockets.exceptions import ConnectionClosed

from tests.crash.proxy import Direction, Proxy

__all__ = ["Mischief"]

TERMINALS = ("response.completed", "response.incomplete", "response.failed")
QUIET = 0.02


class Mischief(Proxy):
    """A proxy that holds acknowledgements back, and repeats terminals.

    Parameters
    ----------
    target : str
        The ``ws://`` address of the service.
    hold : int
        How many more events pass before an acknowledgement does. It does in time where nothing
        more comes, and always before the next word about the same steer.
    repeat : int or None
        How many more events pass before a terminal comes a second time; None: it does not.
    """

    def __init__(self, target: str, *, hold: int = 0, repeat: int | None = None) -> None:
        super().__init__(target)
        self._hold = hold
        self._repeat = repeat

    async def _forward(self, number: int, direction: Direction, source: Any, target: Any) -> None:
        if direction == "up":
            await super()._forward(number, direction, source, target)
            return
        held: list[tuple[int, str]] = []  # events still to pass, and the message
        try:
            while True:
                try:
                    async with asyncio.timeout(QUIET if held else None):
                        message = await source.recv()
                except TimeoutError:
                    for _, late in held:
                        await self._send_down(number, late, target)
                    held.clear()
                    continue
                event = json.loads(message)
                kind, steer = event["type"], (event.get("steer") or {}).get("id")
                held = [(left - 1, late) for left, late in held]
                due = [late for left, late in held if left < 0 or _same(steer, late)]
                held = [(left, late) for left, late in held if late not in due]
                for late in due:
                    await self._send_down(number, late, target)
                if kind == "response.steer.accepted" and self._hold:
                    held.append((self._hold, message))
                    continue
                await self._send_down(number, message, target)
                if kind in TERMINALS and self._repeat is not None:
                    held.append((self._repeat, message))
        except ConnectionClosed:
            return

    async def _send_down(self, number: int, message: str, target: Any) -> None:
        arrives = number not in self._dead
        self._note(number, "down", message, arrived=arrives)
        if arrives:
            await target.send(message)


def _same(steer: str | None, late: str) -> bool:
    return steer is not None and steer in late
