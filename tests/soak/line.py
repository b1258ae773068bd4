"""A line of bytes between a client and a service, to be cut at any moment.

It knows nothing of WebSockets: a cut falls wherever it falls, also into the middle of a message,
and both sides learn of it from the network alone.
"""

from __future__ import annotations

import asyncio
from typing import Any

__all__ = ["Line"]


class Line:
    """Takes connections on loopback and forwards them to a port.

    Parameters
    ----------
    port : int
        Where the service listens.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._ends: set[_End] = set()
        self._server: Any = None
        self.port = 0

    async def open(self) -> None:
        """Listen on `port`, a free one."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _End(self, None), "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> int:
        """End every connection without a word; how many there were."""
        ends = tuple(self._ends)
        for end in ends:
            end.abort()
        return len(ends) // 2

    def close(self) -> None:
        """Take no more connections, and end those there are."""
        self._server.close()
        self.cut()


class _End(asyncio.Protocol):
    """One end of a connection; `other` is the end on the far side."""

    def __init__(self, line: Line, other: _End | None) -> None:
        self._line = line
        self._early = bytearray()
        self._over = False
        self.other = other
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._line._ends.add(self)
        if self.other is None:
            self._dialling = asyncio.ensure_future(self._dial())
        else:
            self.other._meet(self)

    async def _dial(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(
                lambda: _End(self._line, self), "127.0.0.1", self._line._target
            )
        except OSError:
            self.abort()

    def _meet(self, other: _End) -> None:
        self.other = other
        if self._over:  # cut while it was being dialled
            other.abort()
            return
        other.transport.write(bytes(self._early))
        self._early.clear()

    def data_received(self, data: bytes) -> None:
        if self.other is None:
            self._early += data
        else:
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        if self.other is not None and not self.other._over:
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and not self.other._over:
            self.other.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._over = True
        self._line._ends.discard(self)
        if self.other is not None and not self.other._over:
            self.other.transport.close()  # once all that came is written

    def abort(self) -> None:
        """Throw away what waits, and end."""
        self.transport.abort()
