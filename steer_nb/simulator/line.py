"""The socket of one connection: what goes over it, in which order, and what goes wrong on the way.

Writing is never awaited: a message is put in line in one step, so that the order on the wire is the
order of decisions; one task writes the line out. Faults strike where messages really pass.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from websockets.exceptions import ConnectionClosed
from websockets.frames import Frame, Opcode

from steer_nb.simulator.faults import (
    Drop,
    Duplicate,
    Enlarge,
    Insert,
    Relabel,
    Reorder,
    Stall,
    facts_of,
)
from steer_nb.simulator.values import SENDABLE_CODES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from websockets.asyncio.server import ServerConnection

    from steer_nb.simulator.faults import Armed, Facts, Faults

__all__ = ["HIGH_WATER", "Line", "encode"]

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # made once

HIGH_WATER: Final = 256 * 1024
"""Characters that may wait to be written before scripts have to wait for a slow reader."""

_NO_FRAME = frozenset({None, 1006, 1015})
"""Close codes that only say that no close frame came."""
_NO_STATUS = 1005
"""The close code that says that the close frame had none."""
_PATIENCE_S = 2.0
"""Seconds that the other side has to close, too."""
_HELD_S = 0.2
"""Seconds that an event is held back at most, for others to overtake it."""

_RACES = frozenset({"response.steer.accepted", "response.inject.created"})
"""Acknowledgements: they may come before or after other events of their lane …"""
_IN_ORDER = ("response.steer.", "response.inject.")
"""… but these."""
_UNKNOWN_EVENT = {"type": "response.simulated", "note": "No client knows this type."}


class Line:
    """One socket, with its own line of messages to write.

    Parameters
    ----------
    socket : ServerConnection
        Open.
    number : int
        The connection's number.
    faults : Faults
        What may strike.

    Attributes
    ----------
    lost : bool
        Whether nobody is there any more: what is put in line is thrown away.
    was_cut : asyncio.Event
        Set when this side has cut it: it is to be left, and then ended.
    n_sent, n_received : int
        Messages that passed so far.
    """

    def __init__(self, socket: ServerConnection, number: int, faults: Faults) -> None:
        self.lost = False
        self.n_sent = 0
        self.n_received = 0
        self.was_cut = asyncio.Event()
        self._socket = socket
        self._number = number
        self._faults = faults
        self._outbox: deque[str] = deque()
        self._held: list[_Held] = []
        self._waiting = 0
        self._more = asyncio.Event()
        self._less = asyncio.Event()
        self._last: tuple[int | None, str] | None = None
        # The library answers pings by itself, in this one place.
        self._n_pings = 0
        self._send_any_frame = socket.protocol.send_frame
        socket.protocol.send_frame = self._send_frame  # type: ignore[method-assign]

    @property
    def close_code(self) -> int | None:
        """How the connection was closed, once it is."""
        code = self._socket.protocol.close_code
        return None if code is None else int(code)

    # Writing

    def put(self, text: str) -> None:
        """Put a message in line; without a connection there is nobody to read it."""
        if self.lost:
            return
        self._outbox.append(text)
        self._waiting += len(text)
        self._more.set()

    async def room(self) -> None:
        """Wait while too much is in line."""
        while self._waiting > HIGH_WATER:
            self._less.clear()
            await self._less.wait()

    async def drain(self) -> None:
        """Wait until everything in line is written."""
        while self._outbox or self._held:
            self._less.clear()
            await self._less.wait()

    async def write(self) -> None:
        """Write the line out, until cancelled."""
        while True:
            while self._outbox:
                if self._faults.armed or self._held:
                    await self._pass(self._outbox[0])
                else:
                    self.n_sent += 1
                    await self._socket.send(self._outbox[0])
                if self.lost:
                    return
                self._waiting -= len(self._outbox.popleft())
                self._less.set()
            self._more.clear()
            ends = min((held.until for held in self._held), default=None)
            try:
                async with asyncio.timeout_at(ends):
                    await self._more.wait()
            except TimeoutError:
                await self._release()
                self._less.set()

    async def _pass(self, text: str) -> None:
        """Send one message, or do to it what strikes it."""
        self.n_sent += 1
        struck = self._faults.strike("out", self._number, self.n_sent, text)
        facts = facts_of(text)
        if await self._break(struck, "before", facts):
            return
        texts, behind = _altered(text, struck)
        if behind or not _may_overtake(facts, self._held):
            until = asyncio.get_running_loop().time() + _HELD_S
            self._held.append(_Held(texts, facts, behind, until))
        else:
            for one in texts:
                await self._socket.send(one)
            for held in self._held:
                held.behind -= 1
        await self._release()
        await self._break(struck, "after", facts)

    async def _break(self, struck: list[Armed], side: str, facts: Facts) -> bool:
        """Do what faults do beside a message; True when the connection is gone."""
        for armed in struck:
            fault = armed.fault
            if isinstance(fault, Stall) and side == "before":
                await self._stall(armed, fault.seconds)
            elif isinstance(fault, Insert) and fault.side == side:
                await self._socket.send(_inserted(fault.event, facts))
            elif isinstance(fault, Drop) and fault.side == side:
                await self._release(everything=True)
                self.cut(fault.code, fault.reason)
        return self.lost

    async def _release(self, *, everything: bool = False) -> None:
        """Send events that were held back for long enough, oldest first."""
        now = asyncio.get_running_loop().time()
        kept: list[_Held] = []
        for held in self._held:
            waits = (held.behind > 0 and now < held.until) or not _may_overtake(held.facts, kept)
            if waits and not everything:
                kept.append(held)
                continue
            for text in held.texts:
                await self._socket.send(text)
        self._held = kept

    async def _stall(self, armed: Armed, seconds: float | None) -> None:
        """Wait, unless the fault is taken away or nobody is there any more."""
        ends = {
            asyncio.ensure_future(armed.lifted.wait()),
            asyncio.ensure_future(self._socket.wait_closed()),
        }
        try:
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()

    # Reading

    async def read(self, take: Callable[[str | bytes], None]) -> None:
        """Hand over what the client sends, until the connection ends or is cut."""
        try:
            async for message in self._socket:
                self.n_received += 1
                struck = self._faults.strike("in", self._number, self.n_received, message)
                for armed in struck:
                    if isinstance(armed.fault, Stall):
                        await self._stall_reading(armed, armed.fault.seconds)
                drops = [armed.fault for armed in struck if isinstance(armed.fault, Drop)]
                if not any(drop.side == "before" for drop in drops):
                    take(message)
                for drop in drops[:1]:
                    self.cut(drop.code, drop.reason)
                    return
        except ConnectionClosed:
            return  # the close code says how

    async def _stall_reading(self, armed: Armed, seconds: float | None) -> None:
        transport = self._socket.transport
        transport.pause_reading()
        await self._stall(armed, seconds)
        if not transport.is_closing():
            transport.resume_reading()

    def _send_frame(self, frame: Frame) -> None:
        if frame.opcode is Opcode.PONG:
            self._n_pings += 1
            if self._faults.strike("ping", self._number, self._n_pings):
                return
        self._send_any_frame(frame)

    # Ending

    async def close(self, code: int, reason: str) -> None:
        """Write what is in line, then close."""
        await self.drain()
        await self._socket.close(code, reason)

    async def drop(self, code: int | None, reason: str) -> None:
        """Write what is in line, then lose the connection, with a close frame or without one."""
        await self.drain()
        self.cut(code, reason)

    def cut(self, code: int | None, reason: str) -> None:
        """Lose the connection at once: what is in line is thrown away, what was sent arrives."""
        if not self.lost:
            self.leave()
            self._last = (code, reason)
            self.was_cut.set()

    def leave(self) -> None:
        """Throw away what is in line: nobody is there any more."""
        self.lost = True
        self._outbox.clear()
        self._held.clear()
        self._waiting = 0
        self._less.set()

    async def end(self) -> None:
        """Let the other side see how it was cut; nothing where it was not."""
        if self._last is None:
            return
        code, reason = self._last
        socket, transport = self._socket, self._socket.transport
        if code in SENDABLE_CODES:
            await socket.close(cast("int", code), reason)
            return
        try:
            if code in _NO_FRAME:
                transport.write_eof()
            else:  # one that may not be sent, or none: the library would not do it
                says = (
                    b"" if code == _NO_STATUS else cast("int", code).to_bytes(2) + reason.encode()
                )
                self._send_any_frame(Frame(Opcode.CLOSE, says))
                socket.send_data()
            async with asyncio.timeout(_PATIENCE_S):
                await socket.wait_closed()
        except (TimeoutError, OSError):
            transport.abort()


@dataclass(eq=False)
class _Held:
    """An event that `behind` others shall pass, or that may not overtake such a one."""

    texts: list[str]
    facts: Facts
    behind: int
    until: float


def _may_overtake(later: Facts, held: list[_Held]) -> bool:
    return all(_may_go_first(later, one.facts) for one in held)


def _may_go_first(later: Facts, earlier: Facts) -> bool:
    """Whether the protocol leaves room for a later event to go first (3, 5.8 j)."""
    if later.stream_id != earlier.stream_id:
        return True
    one, two = later.type or "", earlier.type or ""
    if one.startswith(_IN_ORDER) and two.startswith(_IN_ORDER):
        return False
    return (one in _RACES) != (two in _RACES)


def _altered(text: str, struck: list[Armed]) -> tuple[list[str], int]:
    """Do to a message what faults do to it: all that is sent for it, and how many shall pass it."""
    event = _object(text)
    behind = 0
    for armed in struck:
        fault = armed.fault
        if isinstance(fault, Relabel) and event is not None:
            event.pop("stream_id", None)
            if fault.to is not None:
                event["stream_id"] = fault.to
            text = encode(event)
        elif isinstance(fault, Enlarge) and event is not None:
            event["obfuscation"] = ""
            missing = max(0, fault.size - len(encode(event).encode("utf-8", "surrogatepass")))
            text = encode(event | {"obfuscation": "x" * missing})
        elif isinstance(fault, Reorder):
            behind = max(behind, fault.behind)
    texts = [text]
    for armed in struck:
        if isinstance(armed.fault, Duplicate):
            as_type = armed.fault.as_type
            again = None if as_type is None else _object(text)
            texts.append(text if again is None else encode({**again, "type": as_type}))
    return texts, behind


def _inserted(event: Mapping[str, Any] | None, facts: Facts) -> str:
    lane = {} if facts.stream_id is None else {"stream_id": facts.stream_id}
    return encode({**lane, **(_UNKNOWN_EVENT if event is None else event)})


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def encode(event: Mapping[str, Any]) -> str:
    """Write an event as messages are written.

    Examples
    --------
    >>> encode({"type": "response.created", "note": "é"})
    '{"type":"response.created","note":"é"}'
    """
    text = _encode(event)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            # half a surrogate pair came in and is quoted: only its escape can travel
            text = json.dumps(event, separators=(",", ":"))
    return text
