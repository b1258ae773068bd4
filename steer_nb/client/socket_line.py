"""The line that is a WebSocket: the one it has now, what goes in and out on it, and its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from typing import TYPE_CHECKING

from steer_nb.client.advice import too_big
from steer_nb.client.line import AGAIN, Line
from steer_nb.client.transport import NotWritten, SocketClosed
from steer_nb.errors import NotConnected, TraceError
from steer_nb.wire import CONNECTION_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client.core import Core
    from steer_nb.client.transport import Transport

__all__ = ["SocketLine"]

_CLOSE_SECONDS = 3.0


class SocketLine(Line):
    """One connection after another of a session. It lives on the I/O thread.

    Parameters
    ----------
    core : Core
        The session's insides.
    make_transport : callable
        Returns a fresh, unopened transport; each connection has its own.
    """

    limit_s = CONNECTION_SECONDS

    def __init__(self, core: Core, make_transport: Callable[[], Transport]) -> None:
        super().__init__(core)
        self._make_transport = make_transport
        self.transport = make_transport()
        self._outbox: deque[tuple[str, str]] = deque()
        self._largest = (0, "")
        self._reader: asyncio.Task[None] | None = None
        self._writer: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None

    @property
    def limit_reached(self) -> bool:
        """Whether the service said that this connection is too old."""
        connection = self._core.ledger.connections.get(self._core.recorder.connection)
        return connection is not None and connection.limit is not None

    @property
    def leaving(self) -> bool:
        """Whether it is being left for another one: nothing more is sent on it."""
        return self._leaving is not None

    @property
    def takes_messages(self) -> bool:
        """Whether something can be sent: the socket is open, and is not being left."""
        return self.connected and not self.leaving and not self.limit_reached

    @property
    def n_unwritten(self) -> int:
        """How many messages were handed over and not to the socket yet."""
        return len(self._outbox)

    def require(self) -> None:
        """Raise `NotConnected`, with the reason, unless something can be sent."""
        if self.takes_messages:
            return
        name = self._core.name
        if self.connected and self.leaving:
            msg = (
                f"Session {name} is replacing its connection, which is old: nothing was sent, "
                "try again in a moment."
            )
            raise NotConnected(msg)
        if self.connected:
            again = self._core.reconnector.policy.attempts
            msg = (
                f"Session {name}: the service takes nothing more on this connection, whose 60 "
                "minutes are over; nothing was sent. "
            )
            msg += (
                "It is replaced once nothing is being written: try again then." if again else AGAIN
            )
            raise NotConnected(msg)
        trying = self._core.ledger.reconnecting
        if trying is not None:
            msg = (
                f"Session {name} lost its connection and is connecting again (attempt "
                f"{trying.attempt} of {trying.attempts}): nothing was sent, try again in a moment."
            )
            raise NotConnected(msg)
        super().require()

    # -- its beginning -----------------------------------------------------------------------

    async def open(self) -> None:
        """Connect and begin to read; raises what went wrong."""
        await self.transport.connect(self._core.endpoint)
        self._begin()

    async def again(self) -> None:
        """Connect anew, after the connection was lost; raises what went wrong."""
        transport = self._make_transport()
        await transport.connect(self._core.endpoint)
        self.transport = transport
        self._begin()

    def _begin(self) -> None:
        core = self._core
        core.recorder.connection += 1
        self.names_used.clear()
        self._largest = (0, "")
        self.connected = True
        self._leaving = None
        self.gone = False
        self.ended = None
        core.recorder.note("connected", url=core.endpoint.shown, limit_s=CONNECTION_SECONDS)
        self._reader = asyncio.create_task(self._read(), name=f"steer-nb read {core.name}")
        core.reconnector.connected()

    # -- in and out --------------------------------------------------------------------------

    async def _read(self) -> None:
        receive, recv = self._core.recorder.receive, self.transport.recv
        try:
            while True:
                raw = await recv()
                try:
                    receive(raw)
                except Exception as error:  # noqa: BLE001 - one odd event must not end the session
                    self._core.recorder.note("problem", kind="internal", detail=repr(error))
        except SocketClosed as closing:
            self._lost(closing)
        except OSError as error:
            self._lost(SocketClosed(1006, str(error), "network"))

    def post(self, key: str, text: str) -> None:
        """Hand a recorded and synced message to the socket; returns at once."""
        self._largest = max(self._largest, (len(text.encode()), key))
        self._outbox.append((key, text))
        if self._writer is None or self._writer.done():
            name = f"steer-nb write {self._core.name}"
            self._writer = asyncio.create_task(self._write(), name=name)

    async def _write(self) -> None:
        while self._outbox:
            key, text = self._outbox.popleft()
            try:
                await self.transport.send(text)
            except NotWritten:
                self._unsent(key)
            except SocketClosed:
                return  # part of it may have left; the reader learns of the loss too

    def _unsent(self, key: str) -> None:
        reason = "the connection was closed before it left"
        self._core.recorder.note("unsent", key=key, reason=reason)

    # -- its end -----------------------------------------------------------------------------

    def _lost(self, closing: SocketClosed) -> None:
        if not self.connected:
            return
        self.connected = False
        while self._outbox:
            self._unsent(self._outbox.popleft()[0])
        by, reason = closing.by, closing.reason
        if self.limit_reached and by != "client":
            by = "limit"
        why = self._why(closing, by)
        self.ended = f"{why} {AGAIN}"
        recorder = self._core.recorder
        recorder.note("closed", code=closing.code, reason=reason, by=by)
        self.gone = not self._core.reconnector.lost(closing.code, by, why)
        try:
            recorder.sync()
        except TraceError as error:
            recorder.note("problem", kind="journal", detail=str(error))

    def _why(self, closing: SocketClosed, by: str) -> str:
        name = self._core.name
        if by == "client":
            return f"Session {name} is closed."
        if by == "limit":
            return f"Session {name}: the service ended the connection after its 60 minutes."
        who = "the service closed it" if by == "server" else "it was lost"
        words = f"{closing.code} {closing.reason}".rstrip()
        extra = ""
        if closing.code == 1009:
            extra = f" {too_big(self._core.ledger, *self._largest)}"
        return f"Session {name} has no connection any more: {who} ({words}).{extra}"

    async def rotate(self, reason: str) -> None:
        """End this connection, on which nothing goes on; nothing is sent on it any more."""
        self._leaving = reader = self._reader
        await self.transport.close(1000, reason)
        if reader is not None:
            await asyncio.wait([reader], timeout=1.0)

    async def close(self, code: int, reason: str) -> None:
        """Close it for good. Closing again does nothing."""
        try:
            with contextlib.suppress(TimeoutError, OSError):  # a dead line cannot say goodbye
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self.transport.close(code, reason)
            if self._reader is not None:
                await asyncio.wait([self._reader], timeout=1.0)
        finally:  # cancelled too, at the end of Python: the journal has to be complete
            if self._reader is not None:
                self._reader.cancel()
            self._lost(SocketClosed(code, reason, "client"))
            self.gone = True
