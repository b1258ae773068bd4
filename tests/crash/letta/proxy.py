"""A line between a client and a Letta server, cut at HTTP messages and frames of one's choice.

It stands on the real socket and passes bytes on as they came. What it counts is a request, an
answer with its length, a chunk of an answer without (one frame of a stream, on this server), and
the end of such a body; both directions and all connections together. At the chosen number nothing
passes any more, on any connection: before that message, or once it has been passed on. Then it
counts anew up to the next cut, and after the last everything passes.
"""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from tests.crash.proxy import Cut, Direction, Passed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["HttpProxy"]

PATIENCE = 10.0
ARRIVAL = 0.01
"""So long a message that has been passed on has to be read, before a process is killed."""
LARGEST = 2**22


class _Ended(Exception):
    """One side has left."""


class HttpProxy:
    """A proxy for HTTP/1.1 on loopback, with a thread and a loop of its own.

    Parameters
    ----------
    target : str
        The ``http://`` address of the server.
    *cuts : Cut
        Where to cut, in order.
    kill : callable, optional
        Kills the client's process, for a cut that asks for it; whether there was one to kill.

    Attributes
    ----------
    cuts_left : list of Cut
        Those that no message has come to yet.
    killed : list of int
        The connections at whose messages a process was killed.
    """

    def __init__(self, target: str, *cuts: Cut, kill: Callable[[], bool] | None = None) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname, parts.port)
        self._kill = kill
        self.cuts_left = list(cuts)
        self.killed: list[int] = []
        self._count = 0
        self._lock = threading.Lock()
        self._passed: list[Passed] = []
        self._lines: dict[int, tuple[asyncio.StreamWriter, ...]] = {}
        self._dead: set[int] = set()
        self._connections = 0
        self._thread = threading.Thread(target=self._run, name="http proxy", daemon=True)
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
        return f"http://127.0.0.1:{self.port}"

    @property
    def passed(self) -> list[Passed]:
        """Everything that came, in order: a request with its head, an answer without."""
        with self._lock:
            return list(self._passed)

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        tasks: set[asyncio.Task[None]] = set()

        async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            try:
                await self._line(reader, writer)
            finally:
                tasks.discard(task)

        server = await asyncio.start_server(take, "127.0.0.1", 0, limit=LARGEST)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for number in tuple(self._lines):
            self._abort(number)
        if tasks:
            await asyncio.wait(tasks, timeout=PATIENCE)

    async def _line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number = self._connections
        try:
            back, forth = await asyncio.open_connection(*self._target, limit=LARGEST)
        except OSError:
            writer.transport.abort()
            return
        for one in (writer, forth):
            one.transport.set_write_buffer_limits(0)  # what is passed on is with the system
        self._lines[number] = (writer, forth)
        ways = [
            asyncio.create_task(self._requests(number, reader, forth)),
            asyncio.create_task(self._answers(number, back, writer)),
        ]
        try:
            # Either may say goodbye; on this server an end in one direction is one in both.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            results = await asyncio.gather(*ways, return_exceptions=True)
            self._abort(number)
            self._lines.pop(number, None)
            for result in results:
                if not isinstance(result, _Ended | OSError | asyncio.CancelledError | None):
                    raise result

    async def _requests(
        self, number: int, source: asyncio.StreamReader, target: asyncio.StreamWriter
    ) -> None:
        while True:
            head = await _until(source, b"\r\n\r\n")
            body = await _exactly(source, _length(head) or 0)
            await self._pass(number, "up", head + body, _text(head + body), target)

    async def _answers(
        self, number: int, source: asyncio.StreamReader, target: asyncio.StreamWriter
    ) -> None:
        while True:
            head = await _until(source, b"\r\n\r\n")
            length = _length(head)
            if length is not None:
                body = await _exactly(source, length)
                await self._pass(number, "down", head + body, _text(body), target)
                continue
            size, held = -1, head  # the head goes with the first frame, as the server writes it
            while size:
                line = await _until(source, b"\r\n")
                size = int(line, 16)
                data = await _exactly(source, size + 2)
                await self._pass(number, "down", held + line + data, _text(data[:-2]), target)
                held = b""

    async def _pass(
        self,
        number: int,
        direction: Direction,
        raw: bytes,
        text: str,
        target: asyncio.StreamWriter,
    ) -> None:
        if number in self._dead:
            self._note(number, direction, text, arrived=False)
            raise _Ended
        self._count += 1
        if not self.cuts_left or self._count != self.cuts_left[0].number:
            self._note(number, direction, text, arrived=True)
            target.write(raw)
            await target.drain()
            return
        # From here on nothing else passes, on any connection.
        cut = self.cuts_left.pop(0)
        self._count = 0
        self._dead.update(self._lines)
        self._note(number, direction, text, arrived=cut.side == "after")
        if cut.side == "after":
            target.write(raw)
            await target.drain()
            await asyncio.sleep(ARRIVAL)
        # Shielded: who waits for it is cancelled when the line breaks with the process.
        await asyncio.shield(self._end(number, cut))
        raise _Ended

    async def _end(self, number: int, cut: Cut) -> None:
        kill = self._kill if cut.kill == "process" else None
        if kill is not None and await asyncio.to_thread(kill):
            self.killed.append(number)
        for other in tuple(self._lines):
            self._abort(other)

    def _note(self, number: int, direction: Direction, text: str, *, arrived: bool) -> None:
        with self._lock:
            self._passed.append(Passed(number, direction, text, arrived))

    def _abort(self, number: int) -> None:
        self._dead.add(number)
        for writer in self._lines.get(number, ()):
            writer.transport.abort()


async def _until(source: asyncio.StreamReader, mark: bytes) -> bytes:
    try:
        return await source.readuntil(mark)
    except asyncio.IncompleteReadError:
        raise _Ended from None


async def _exactly(source: asyncio.StreamReader, size: int) -> bytes:
    try:
        return await source.readexactly(size)
    except asyncio.IncompleteReadError:
        raise _Ended from None


def _length(head: bytes) -> int | None:
    """The Content-Length; None where there is none."""
    for line in head.lower().split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name == b"content-length":
            return int(value)
    return None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
