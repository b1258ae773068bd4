"""The socket behind four methods, so that a browser's or a test's can take its place."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Protocol

from websockets.asyncio.client import connect as _connect
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from steer_nb._version import __version__

if TYPE_CHECKING:
    from typing import Any

    from websockets.asyncio.client import ClientConnection

    from steer_nb.client.endpoint import Endpoint

__all__ = ["NotWritten", "SocketClosed", "Transport", "WebSocketTransport"]

_MAX_SIZE = 256 * 2**20  # a `response.completed` with images is far larger than the default 1 MiB
_MAX_QUEUE = 1024  # the reader never blocks; this only lets one wake-up take many messages
_OPEN_SECONDS = 10.0
_CLOSE_SECONDS = 2.0

# The library writes headers, the key among them, and every message to its log when that is set to
# DEBUG, as a root logger easily is. A level of its own keeps this logger out of it.
_log = logging.getLogger("steer_nb.websocket")
_log.setLevel(logging.INFO)


class SocketClosed(Exception):
    """The socket is closed.

    Attributes
    ----------
    code : int
        The close code; 1006 where the socket simply vanished.
    reason : str
        The words that came with it.
    by : {"client", "server", "network"}
        Who ended it.
    """

    def __init__(self, code: int, reason: str, by: str) -> None:
        super().__init__(f"{code} {reason}".rstrip())
        self.code = code
        self.reason = reason
        self.by = by


class NotWritten(Exception):
    """The socket was closed before the first byte of a message was handed to it."""


class Transport(Protocol):
    """What a session needs of a socket. All of it runs on the I/O thread."""

    async def connect(self, endpoint: Endpoint) -> None:
        """Open it, or raise what went wrong."""

    async def send(self, text: str) -> None:
        """Write one text message; raise `NotWritten` if certainly nothing of it left."""

    async def recv(self) -> str | bytes:
        """Return the next message, or raise `SocketClosed`."""
        ...

    async def close(self, code: int, reason: str) -> None:
        """Close it. Closing again does nothing."""


class _Connect(_connect):
    """The library's connect, without redirects: a key must not travel on to another place."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class WebSocketTransport:
    """A `Transport` over the `websockets` library."""

    def __init__(self) -> None:
        self._connection: ClientConnection | None = None
        self._closed_here = False

    async def connect(self, endpoint: Endpoint) -> None:
        """Open the socket; see `steer_nb.client.handshake.explain` for what can go wrong."""
        options: dict[str, Any] = {
            "additional_headers": {name: s.reveal() for name, s in endpoint.headers.items()},
            "user_agent_header": f"steer-nb/{__version__}",
            "open_timeout": _OPEN_SECONDS,
            "close_timeout": _CLOSE_SECONDS,
            "ping_interval": 20,
            "ping_timeout": 60,
            "max_size": _MAX_SIZE,
            "max_queue": _MAX_QUEUE,
            "logger": _log,
        }
        if endpoint.loopback:
            options["compression"] = None
            # websockets 14 knows no proxies; later ones would ask the system's even for loopback.
            if "proxy" in inspect.signature(_connect.__init__).parameters:
                options["proxy"] = None
        self._connection = await _Connect(endpoint.address.reveal(), **options)

    async def send(self, text: str) -> None:
        """Write one text message."""
        connection = self._connection
        if connection is None or connection.protocol.state is not State.OPEN:
            raise NotWritten
        try:
            await connection.send(text)
        except ConnectionClosed as error:
            raise self._closed(error) from error

    async def recv(self) -> str | bytes:
        """Return the next message."""
        if self._connection is None:
            raise SocketClosed(1006, "never opened", "client")
        try:
            return await self._connection.recv()
        except ConnectionClosed as error:
            raise self._closed(error) from error

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the socket, within two seconds even if the other side does not answer."""
        self._closed_here = True
        if self._connection is not None:
            try:
                await self._connection.close(code, reason)
            finally:
                self._connection.transport.abort()  # nothing is left open where nobody answered

    def _closed(self, error: ConnectionClosed) -> SocketClosed:
        received, sent = error.rcvd, error.sent
        if self._closed_here and (sent is not None or received is None):
            close = sent or received
            return SocketClosed(
                close.code if close else 1000, close.reason if close else "", "client"
            )
        if received is not None and (sent is None or error.rcvd_then_sent):
            return SocketClosed(received.code, received.reason, "server")
        if received is None:
            # No close frame came: the line is dead. Our own side may have noticed by its pings.
            code, reason = (sent.code, sent.reason) if sent else (1006, "connection lost")
            return SocketClosed(code, reason, "network")
        return (
            SocketClosed(sent.code, sent.reason, "client")
            if sent
            else SocketClosed(received.code, received.reason, "server")
        )
