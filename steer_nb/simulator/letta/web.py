"""HTTP/1.1 for the Letta dialect: one asyncio server, h11 for the bytes, one chunk for a frame."""

from __future__ import annotations

import asyncio
import hmac
import json
from contextlib import aclosing, asynccontextmanager, suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

import h11

from steer_nb.simulator import control
from steer_nb.simulator.addresses import cannot_listen
from steer_nb.simulator.letta.api import ask, name_of
from steer_nb.simulator.letta.asked import Answer, Asked
from steer_nb.simulator.letta.driving import drive, hold
from steer_nb.simulator.letta.faults import Drop, Stall
from steer_nb.simulator.letta.sending import Started
from steer_nb.simulator.letta.streaming import frames_of
from steer_nb.simulator.letta.trouble import Refused
from steer_nb.simulator.refusals import Refusal
from steer_nb.simulator.stopping import TURNS, accept_no_more

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from steer_nb.simulator.letta.asked import Reply
    from steer_nb.simulator.letta.run import Frame, Run
    from steer_nb.simulator.letta.service import LettaService

__all__ = ["Connection", "listen"]

_PIECE: Final = 2**16
_SSE: Final = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


class _Gone(Exception):
    """The connection is lost."""


class Connection:
    """One TCP connection: requests one after another.

    Parameters
    ----------
    service : LettaService
        The server.
    reader, writer
        The streams of asyncio.
    api_key : str or None
        The only bearer token that is taken, if there is one.
    """

    def __init__(
        self,
        service: LettaService,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        api_key: str | None,
    ) -> None:
        self.number = service.next_connection()
        self._service = service
        self._reader = reader
        self._writer = writer
        self._api_key = api_key
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=2**18)
        self._arrived = asyncio.Event()
        self._gone = asyncio.Event()
        self.n_requests = 0
        self.n_frames = 0
        self._at: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Describe it."""
        return {
            "connection": self.number,
            "requests": self.n_requests,
            "frames": self.n_frames,
            "at": self._at,
        }

    def cut(self) -> None:
        """Lose it at once."""
        self._writer.transport.abort()
        self._gone.set()
        self._arrived.set()

    async def serve(self) -> None:
        """Answer requests until the other side leaves."""
        self._service.connections[self.number] = self
        pump = asyncio.create_task(self._pump())
        try:
            with suppress(_Gone, ConnectionError):
                while await self._serve_one():
                    self._http.start_next_cycle()
        finally:
            pump.cancel()
            with suppress(asyncio.CancelledError):
                await pump
            self._service.connections.pop(self.number, None)
            self._writer.close()
            with suppress(ConnectionError):
                await self._writer.wait_closed()

    async def _pump(self) -> None:
        """Read what comes, also while an answer is written: only so is it known who left."""
        with suppress(ConnectionError):
            while data := await self._reader.read(_PIECE):
                self._http.receive_data(data)
                self._arrived.set()
        if not self._gone.is_set():
            self._http.receive_data(b"")
        self._gone.set()
        self._arrived.set()

    async def _event(self) -> Any:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                go_on = h11.InformationalResponse(status_code=100, headers=[])
                await self._write(self._http.send(go_on))
            if self._gone.is_set():
                raise _Gone
            self._arrived.clear()
            await self._arrived.wait()

    async def _serve_one(self) -> bool:
        """Answer one request; says whether another may follow."""
        try:
            request = await self._event()
            if not isinstance(request, h11.Request):
                return False
            body = b""
            while isinstance(event := await self._event(), h11.Data):
                body += event.data
                if len(body) > self._service.options.max_body_bytes:
                    await self._json(413, {"detail": "Request Entity Too Large"}, close=True)
                    return False
        except h11.RemoteProtocolError as error:
            if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                await self._json(error.error_status_hint, {"detail": str(error)}, close=True)
            return False
        self.n_requests += 1
        method, target = request.method.decode("ascii"), request.target.decode("ascii", "replace")
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in request.headers
        }
        self._at = f"{method} {target}"
        answering = asyncio.create_task(self._answer(method, target, headers, body))
        leaving = asyncio.create_task(self._gone.wait())
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not answering.done():
                answering.cancel()
        try:
            await answering
        except asyncio.CancelledError:
            if self._gone.is_set():
                raise _Gone from None
            raise
        self._at = None
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    # Answers

    async def _answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> None:
        refusal = self._refused(headers)
        if refusal is not None:
            await self._json(*refusal)
            return
        if control.is_control(target):
            await self._json(*self._control(method, target, body))
            return
        asked = Asked(self._service, method, target, headers, body, self.number)
        try:
            reply = ask(asked)
        except Refused as refused:
            reply = Answer(refused.body, refused.status)
        status = reply.status if isinstance(reply, Answer) else 200
        self._service.account.add(
            "request", connection=self.number, method=method, target=target, status=status
        )
        await self._reply(asked, reply)

    def _refused(self, headers: Mapping[str, str]) -> tuple[int, Any] | None:
        """Refuse browser pages, which have no business with a server here, and wrong keys."""
        if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
            return 403, {"detail": "Requests from browser pages are refused."}
        if self._api_key is None:
            return None
        given = headers.get("authorization", "").encode("latin-1")
        if hmac.compare_digest(given, f"Bearer {self._api_key}".encode("utf-8", "surrogatepass")):
            return None
        return 401, {"detail": "Unauthorized"}

    def _control(self, method: str, target: str, body: bytes) -> tuple[int, Any]:
        try:
            return control.answer(self._service, method, target, body)
        except Refusal as refused:
            error = {
                "message": refused.message,
                "type": refused.type,
                "param": refused.param,
                "code": refused.code,
            }
            return refused.status, {"error": error}

    async def _reply(self, asked: Asked, reply: Reply) -> None:
        run: Run | None = None if isinstance(reply, Answer) else reply.run
        driving = None
        if isinstance(reply, Started):
            driving = self._service.adopt(drive(self._service, reply.run))
        where = None if run is None else run.conversation.name
        if self._service.strike("answer", name_of(asked), where, connection=self.number):
            if run is not None and not run.background and driving is not None:
                self._lose(reply)
            self.cut()
            raise _Gone
        if isinstance(reply, Answer):
            await self._json(reply.status, reply.value, reply.headers)
        elif isinstance(reply, Started):
            if reply.how == "run":
                await self._json(200, {**reply.run.to_dict(), "status": "created"})
            elif reply.how == "json":
                assert driving is not None
                await asyncio.shield(driving)  # it goes on, whoever leaves
                await self._ran(reply.run)
            else:
                pings = reply.run.sent.pings
                try:
                    await self._stream(reply.run, after=0, pings=pings)
                finally:
                    self._lose(reply)
        else:
            await self._stream(reply.run, after=reply.after, pings=reply.pings, hang=reply.hang)

    def _lose(self, reply: Reply) -> None:
        """A run in the foreground ends with its reader, where it streams."""
        if isinstance(reply, Started) and reply.how == "stream" and not reply.run.background:
            reply.run.lost = not reply.run.ended
            reply.run.tell()

    async def _ran(self, run: Run) -> None:
        if run.trouble is None:
            await self._json(200, run.answer())
        else:
            await self._json(run.trouble.status, run.trouble.body)

    async def _stream(self, run: Run, *, after: int, pings: bool, hang: bool = False) -> None:
        """Write a stream; as on the real server, its head goes out with the first frame only."""
        frames = frames_of(self._service, run, self.number, after=after, pings=pings, hang=hang)
        where, at = run.conversation.name, after
        async with aclosing(frames) as stream:
            async for frame in stream:
                if at < len(run.frames) and frame is run.frames[at]:
                    await self._lose_as_recorded(run, at)
                    at += 1
                await self._frame(frame, where)
        for armed in self._service.strike("end", "done", where, connection=self.number):
            await hold(armed)
        await self._begin()
        await self._send(h11.EndOfMessage())

    async def _lose_as_recorded(self, run: Run, at: int) -> None:
        """Lose the connection where it was lost in a recording."""
        if run.losses and at >= run.losses[0]:
            run.losses.pop(0)
            await self._flushed()
            self.cut()
            raise _Gone

    async def _begin(self) -> None:
        if self._http.our_state is h11.SEND_RESPONSE:
            await self._send(h11.Response(status_code=200, headers=_headers(_SSE), reason=b"OK"))

    async def _frame(self, frame: Frame, where: str) -> None:
        """Write one frame as one chunk, or what faults make of it."""
        cut = False
        for armed in self._service.strike("out", frame.kind, where, connection=self.number):
            if isinstance(armed.fault, Stall):
                await hold(armed)
            elif isinstance(armed.fault, Drop):
                cut = True
                if armed.fault.side == "before":
                    self.cut()
                    raise _Gone
        await self._begin()
        await self._send(h11.Data(data=frame.text.encode("utf-8", "replace")))
        self.n_frames += 1
        if cut:
            await self._flushed()
            self.cut()
            raise _Gone

    async def _flushed(self) -> None:
        """Wait until everything is with the system: an abort would throw the rest away."""
        self._writer.transport.set_write_buffer_limits(0)
        await self._writer.drain()

    async def _json(
        self,
        status: int,
        value: Any,
        more: Mapping[str, str] | None = None,
        *,
        close: bool = False,
    ) -> None:
        body = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        data = body.encode("utf-8", "replace")
        headers = {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **(more or {}),
            **({"connection": "close"} if close else {}),
        }
        try:
            reason = HTTPStatus(status).phrase.encode()
        except ValueError:
            reason = b"Error"
        await self._send(h11.Response(status_code=status, headers=_headers(headers), reason=reason))
        await self._send(h11.Data(data=data))
        await self._send(h11.EndOfMessage())

    async def _send(self, event: Any) -> None:
        await self._write(self._http.send(event))

    async def _write(self, data: bytes | None) -> None:
        if self._gone.is_set():
            raise _Gone
        if data:
            self._writer.write(data)
            await self._writer.drain()


def _headers(more: Mapping[str, str]) -> list[tuple[str, str]]:
    return [("date", formatdate(usegmt=True)), ("server", "uvicorn"), *more.items()]


@asynccontextmanager
async def listen(
    service: LettaService, *, host: str, port: int, api_key: str | None
) -> AsyncIterator[int]:
    """Serve while the block runs; gives the port.

    Raises
    ------
    SimulatorFailed
        The port is taken, or the address is not this machine's.
    """
    serving: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        try:
            # asyncio would call it a mistake that the server's end cancels this.
            with suppress(asyncio.CancelledError):
                await Connection(service, reader, writer, api_key).serve()
        finally:
            serving.discard(task)

    try:
        server = await asyncio.start_server(handle, host, port)
    except OSError as error:
        raise cannot_listen(host, port, error) from error
    try:
        yield next(iter(server.sockets)).getsockname()[1]
    finally:
        await accept_no_more(server.sockets)
        server.close()
        for connection in tuple(service.connections.values()):
            connection.cut()
        for task in tuple(serving):
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await service.end()
        await server.wait_closed()
        for _ in range(TURNS):
            await asyncio.sleep(0)
