"""A line between a client and a service that is cut at messages of one's choice.

It forwards whole WebSocket messages and counts them, both directions together. At the chosen number
it ends both sides without a word, before it forwards the message or once the message has arrived;
then it counts anew up to the next cut, and after the last it forwards everything. Plain HTTP
requests pass too, and are not counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.http11 import Response

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Cut", "Kill", "Passed", "Proxy", "Side"]

PATIENCE = 10.0
ARRIVAL = 0.5
Direction = Literal["up", "down"]
Side = Literal["before", "after"]
Kill = Literal["connection", "process"]


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """Where the line is cut.

    Attributes
    ----------
    number : int
        The message, from 1, both directions counted together, since the cut before.
    side : {"before", "after"}
        Whether that message still arrives.
    kill : {"connection", "process"}
        Whether the client's process is killed first.
    """

    number: int
    side: Side
    kill: Kill = "connection"


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
    *cuts : Cut
        Where to cut, in order; `cut_now` cuts at any time.
    kill : callable, optional
        Kills the client's process, for a cut that asks for it; whether there was one to kill.
    late : str, optional
        A type of event that stays on its way, with all behind it, until the client says something.

    Attributes
    ----------
    cuts_left : list of Cut
        Those that no message has come to yet.
    killed : list of int
        The connections whose process was killed.
    """

    def __init__(
        self,
        target: str,
        *cuts: Cut,
        kill: Callable[[], bool] | None = None,
        late: str | None = None,
    ) -> None:
        self._target = target
        self._kill = kill
        self._late = late
        self._spoke = asyncio.Event()
        self.cuts_left = list(cuts)
        self.killed: list[int] = []
        self._count = 0
        self._lock = threading.Lock()
        self._passed: list[Passed] = []
        self._lines: dict[int, tuple[Any, Any]] = {}
        self._dead: set[int] = set()
        self._connections = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="crash proxy", daemon=True)
        self._ready = threading.Event()

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
        asked = client.request.headers.get("OpenAI-Beta")
        try:
            service = await connect(
                self._target,
                additional_headers={} if asked is None else {"OpenAI-Beta": asked},
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
                if direction == "up":
                    self._spoke.set()
                elif self._late is not None and self._late in message:
                    await self._words()
                if number in self._dead:
                    self._note(number, direction, message, arrived=False)
                    continue
                self._count += 1
                if not self.cuts_left or self._count != self.cuts_left[0].number:
                    if not await self._pass(number, direction, message, target):
                        return
                    continue
                # From here on nothing else passes, in either direction.
                cut = self.cuts_left.pop(0)
                self._count = 0
                self._dead.update(self._lines)
                if cut.side == "after":
                    await self._pass(number, direction, message, target)
                else:
                    self._note(number, direction, message, arrived=False)
                # What was forwarded has arrived: an abort would throw away what waits.
                await self._arrival(target)
                await self._arrival(source)
                if cut.kill == "process" and self._kill is not None:
                    await asyncio.to_thread(self._end_process, self._kill, number)
                for other in tuple(self._lines):
                    self._abort(other)
                return
        except ConnectionClosed:
            return

    def _end_process(self, kill: Callable[[], bool], number: int) -> None:
        # All in the thread: who waits for it is cancelled when the line breaks with the process.
        if kill():
            self.killed.append(number)

    async def _words(self) -> None:
        """Wait until the client has said something, if it does."""
        self._spoke.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ARRIVAL):
                await self._spoke.wait()

    @staticmethod
    async def _arrival(target: Any) -> None:
        """Wait until the other side has read what was sent: it answers a ping behind it."""
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(ARRIVAL):
                await (await target.ping())
                await asyncio.sleep(0.001)

    async def _pass(self, number: int, direction: Direction, message: Any, target: Any) -> bool:
        """Forward a message; False if the other side has said goodbye, and reads no more."""
        place = self._note(number, direction, message, arrived=True)
        try:
            await target.send(message)
        except ConnectionClosed:
            with self._lock:
                self._passed[place] = replace(self._passed[place], arrived=False)
            return False
        return True

    def _note(self, number: int, direction: Direction, message: Any, *, arrived: bool) -> int:
        assert isinstance(message, str)
        with self._lock:
            self._passed.append(Passed(number, direction, message, arrived))
            return len(self._passed) - 1

    def _abort(self, number: int) -> None:
        self._dead.add(number)
        for socket in self._lines.get(number, ()):
            socket.transport.abort()
