"""A transparent wire between a stock client and the simulator, with everything on it noted.

It forwards bytes as they come, both ways, and reads along: handshakes, messages, close codes. The
client is not touched, and cannot see it: what is noted is exactly what the client was sent, and
what it sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from typing import TYPE_CHECKING, Any, Self

from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Close, Frame, Opcode
from websockets.streams import StreamReader

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from websockets.extensions import Extension

    from steer_nb.simulator import Simulator

_LONGEST_LINE = 65_536


class Side:
    """One direction of one connection, read along."""

    def __init__(self, *, mask: bool) -> None:
        self.extensions: list[Extension] = []
        self.first = ""
        """The request line, or the status line."""
        self.texts: list[str] = []
        self.close_code: int | None = None
        self.compressed = False
        """Whether compression was offered, or agreed to."""
        self.agreed: Callable[[], None] = lambda: None
        """Called when the server agreed to compress."""
        self._mask = mask
        self._reader = StreamReader()
        self._reading = self._read()
        next(self._reading)

    def feed(self, data: bytes) -> None:
        self._reader.feed_data(data)
        next(self._reading)

    def _read(self) -> Generator[None, None, None]:
        line = yield from self._reader.read_line(_LONGEST_LINE)
        self.first = line.decode("latin-1").strip()
        upgrade = False
        while line.strip():
            upgrade |= line.lower().startswith(b"sec-websocket-")
            self.compressed |= b"permessage-deflate" in line.lower()
            line = yield from self._reader.read_line(_LONGEST_LINE)
        while not upgrade:  # plain HTTP: the status line says all
            self._reader.discard()
            yield
        message = b""
        if not self._mask and self.compressed:
            self.agreed()
        while True:
            frame = yield from Frame.parse(
                self._reader.read_exact, mask=self._mask, extensions=self.extensions
            )
            if frame.opcode is Opcode.CLOSE:
                self.close_code = Close.parse(frame.data).code
            elif frame.opcode in (Opcode.TEXT, Opcode.CONT):
                message += frame.data
                if frame.fin:
                    self.texts.append(message.decode())
                    message = b""


class Link:
    """One connection of a client: `sent` by it, and `received` by it."""

    def __init__(self) -> None:
        self.client = Side(mask=True)
        self.server = Side(mask=False)
        self.server.agreed = self._compress

    def _compress(self) -> None:
        for side in (self.client, self.server):
            # This also reads what was written with smaller windows, or without a shared context.
            side.extensions.append(PerMessageDeflate(False, False, 15, 15))

    @property
    def status(self) -> int:
        """How the handshake was answered."""
        return int(self.server.first.split()[1])

    @property
    def sent(self) -> list[str]:
        return list(self.client.texts)

    @property
    def received(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.server.texts]


class Tap:
    """Listens on a port of its own and passes everything on to `simulator`."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.links: list[Link] = []
        self.failures: list[BaseException] = []
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="tap")

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _serve(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        first = b""
        with contextlib.suppress(ConnectionError):
            first = await reader.read(65_536)
        if not first[:1].isalpha():  # a stranger: this port was another server's not long ago
            writer.close()
            return
        link = Link()
        self.links.append(link)
        there, out = await asyncio.open_connection("127.0.0.1", self.simulator.port)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass(reader, out, link.client, first))
                both.create_task(self._pass(there, writer, link.server))
        finally:
            writer.close()
            out.close()

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        side: Side,
        first: bytes = b"",
    ) -> None:
        # A reset of one side ends both, as it would without anything in between.
        with contextlib.suppress(ConnectionError):
            while data := first or await reader.read(65_536):
                first = b""
                try:
                    side.feed(data)  # before it goes on: what the client knows, is noted
                except Exception as error:
                    self.failures.append(error)
                    raise
                writer.write(data)
                await writer.drain()
            writer.write_eof()
            return
        writer.transport.abort()
