"""A line between a client and a service that is cut once, at a message of one's choice.

It forwards whole WebSocket messages and counts them, both directions together. At the chosen number
it ends both sides without a word, before it forwards the message or once the message has arrived;
from then on it forwards everything. Plain HTTP requests pass too, and are not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.http11 import Response

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Cut", "Passed", "Proxy"]

PATIENCE = 10.0
ARRIVAL = 0.5
Direction = Literal["up", "down"]
Side = Literal["before", "after"]


@dataclass(frozen=True, slots=True)
class Cut:
    """Where the line is cut.

    Attributes
    ----------
    number : int
        The message, from 1, both directions counted together.
    side : {"before", "after"}
        Whether that message still arrives.
    """

    number: int
    side: Side


@dataclass(frozen=True, slots=True)
class Passed:
    """One message that came to the proxy.

    Attributes
    ----------
    connection : int
        From 1.
    direction : {"up", "down"}
        To the service, or from it.
    text : str
        Verbatim.
    arrived : bool
        Whether it was forwarded. What comes while the line is cut is not.
    """

    connection: int
    direction: Direction
    text: str
    arrived: bool


class Proxy:
    """A WebSocket proxy on loopback, with a thread and a loop of its own.

    Parameters
    ----------
    target : str
        The ``ws://`` address of the service.
    cut : Cut, optional
        Where to cut; `cut_now` cuts at any time.
    on_cut : callable, optional
        Called in place of cutting, and the line is cut after it: such as the killing of a process.
    """

    def __init__(
        self, target: str, cut: Cut | None = None, on_cut: Callable[[], None] | None = None
    ) -> None:
        self._target = target
        self._cut = cut
        self._on_cut = on_cut
        self._lock = threading.Lock()
        self._passed: list[Passed] = []
        self._lines: dict[int, tuple[Any, Any]] = {}
        self._dead: set[int] = set()
        self._connections = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="crash proxy", daemon=True)
        self._ready = threading.Event()
        self.was_cut = threading.Event()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    @property
    def base_url(self) -> str:
        """What a client connects to."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def passed(self) -> list[Passed]:
        """Everything that came, in order."""
        with self._lock:
            return list(self._passed)

    def cut_now(self) -> None:
        """End every line without a word, once there is one; new ones are taken."""

        async def cut() -> None:
            while not self._lines:  # the client may know of it before this side does
                await asyncio.sleep(0.001)
            for number in tuple(self._lines):
                self._abort(number)

        asyncio.run_coroutine_threadsafe(cut(), self._loop).result(PATIENCE)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        options: dict[str, Any] = {
            "max_size": None,
            "compression": None,
            "ping_interval": None,
            "close_timeout": 1,
            "process_request": self._plain,
        }
        async with serve(self._line, "127.0.0.1", 0, **options) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stop.wait()

    async def _plain(self, _: Any, request: Any) -> Response | None:
        """Pass on a GET that is no upgrade, and its answer."""
        if "Upgrade" in request.headers:
            return None
        return await asyncio.to_thread(self._get, request.path, request.headers)

    def _get(self, path: str, headers: Headers) -> Response:
        place = urlsplit(self._target).netloc
        line = http.client.HTTPConnection(place, timeout=PATIENCE)
        try:
            line.request("GET", path, headers={**dict(headers.raw_items()), "Host": place})
            answer = line.getresponse()
            body = answer.read()
            given = Headers(answer.getheaders())
        finally:
            line.close()
        return Response(answer.status, answer.reason, given, body)

    async def _line(self, client: Any) -> None:
        self._connections += 1
        number = self._connections
        try:
            service = await connect(
                self._target,
                max_size=None,
                max_queue=None,
                compression=None,
                ping_interval=None,
                close_timeout=1,
                proxy=None,
            )
        except (OSError, InvalidHandshake):
            client.transport.abort()
            return
        self._lines[number] = (client, service)
        try:
            ways = [
                asyncio.create_task(self._forward(number, "up", client, service)),
                asyncio.create_task(self._forward(number, "down", service, client)),
            ]
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
        finally:
            self._lines.pop(number, None)
            if number in self._dead:
                service.transport.abort()
                client.transport.abort()
            else:
                await self._say_goodbye(client, service)

    @staticmethod
    async def _say_goodbye(client: Any, service: Any) -> None:
        for ended, other in ((client, service), (service, client)):
            code = ended.close_code
            with contextlib.suppress(ConnectionClosed, OSError):
                # 1005 and 1006 cannot be written: they say that nothing was.
                if code is not None and code not in (1005, 1006):
                    await other.close(code, ended.close_reason or "")
                elif code is not None:
                    other.transport.abort()

    async def _forward(self, number: int, direction: Direction, source: Any, target: Any) -> None:
        try:
            async for message in source:
                if number in self._dead:
                    self._note(number, direction, message, arrived=False)
                    continue
                place = len(self._passed) + 1
                cut = self._cut
                if cut is None or self.was_cut.is_set() or place != cut.number:
                    self._note(number, direction, message, arrived=True)
                    await target.send(message)
                    continue
                # From here on nothing else passes, in either direction.
                self.was_cut.set()
                self._dead.update(self._lines)
                self._note(number, direction, message, arrived=cut.side == "after")
                if cut.side == "after":
                    await target.send(message)
                # What was forwarded has arrived: an abort would throw away what waits.
                await self._arrival(target)
                await self._arrival(source)
                if self._on_cut is not None:
                    await asyncio.to_thread(self._on_cut)
                for other in tuple(self._lines):
                    self._abort(other)
                return
        except ConnectionClosed:
            return

    @staticmethod
    async def _arrival(target: Any) -> None:
        """Wait until the other side has read what was sent: it answers a ping behind it."""
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(ARRIVAL):
                await (await target.ping())
                await asyncio.sleep(0.001)

    def _note(self, number: int, direction: Direction, message: Any, *, arrived: bool) -> None:
        assert isinstance(message, str)
        with self._lock:
            self._passed.append(Passed(number, direction, message, arrived))

    def _abort(self, number: int) -> None:
        self._dead.add(number)
        for socket in self._lines.get(number, ()):
            socket.transport.abort()
