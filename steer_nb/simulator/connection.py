"""One WebSocket connection: reads requests, writes events, owns lanes and their responses."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed

from steer_nb.simulator.agents import ROOT
from steer_nb.simulator.engine import Engine
from steer_nb.simulator.handshake import betas
from steer_nb.simulator.injecting import Injecting
from steer_nb.simulator.lane import Create, Lane
from steer_nb.simulator.refusals import Refusal, connection_limit, invalid, missing, stream_limit
from steer_nb.simulator.requests import parse, read_stream_id
from steer_nb.simulator.steering import Steering
from steer_nb.wire import MULTI_AGENT_BETA

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from websockets.asyncio.server import ServerConnection

    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.lane import Successor
    from steer_nb.simulator.service import Service

__all__ = ["Connection"]

logger = logging.getLogger("steer_nb.simulator")

_WITHOUT_AGENT = ("response.steer.", "response.inject.")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # made once

CLOSE_CODES = frozenset({1000, 1001, 1002, 1003, *range(1007, 1015), *range(3000, 5000)})
"""Those that may be sent (RFC 6455, 7.4); others only say that no close frame came."""

HIGH_WATER = 256 * 1024
"""Characters that may wait to be written before scripts have to wait for a slow reader."""


class Connection:
    """What the service keeps for one socket.

    Writing is never awaited: `emit` numbers an event and puts it in line in one step, so that the
    order on the wire is the order of decisions; one task writes the line out.
    """

    def __init__(self, service: Service, socket: ServerConnection, number: int) -> None:
        self.service = service
        self.options = service.options
        self.account = service.account
        self.ids = service.ids
        self.number = number
        self.lanes: dict[str | None, Lane] = {}
        self.responses: dict[str, Record] = {}
        self.slots = asyncio.Semaphore(self.options.in_flight_limit)
        self.multi_agent = MULTI_AGENT_BETA in betas(socket.request)
        self.steering = Steering(self)
        self.injecting = Injecting(self)
        self.engine = Engine(self)
        self.seat = service.player.seat() if service.player is not None else None
        self._socket = socket
        self._outbox: deque[str] = deque()
        self._waiting = 0
        self._more = asyncio.Event()
        self._less = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._lost = False
        self._deadline = service.clock.now() + self.options.connection_limit_s

    # The life of a connection

    async def serve(self) -> None:
        """Answer until either side closes."""
        entry = self.account.add("connection", connection=self.number, state="open", code=None)
        self.spawn(self._write())
        self.spawn(self._age())
        try:
            async for message in self._socket:
                self.receive(message)
        except ConnectionClosed:
            pass  # the account says with which code
        except Exception:
            logger.exception("the simulator failed")
            raise
        finally:
            await self._leave()
            self.account.update(entry, state="closed", code=self._socket.protocol.close_code)

    async def _leave(self) -> None:
        """End what belongs to the connection; what goes on without it is the service's now."""
        self._lost = True
        self._outbox.clear()
        self._waiting = 0
        self._less.set()
        going = {task for lane in self.lanes.values() if (task := lane.leave()) is not None}
        ending = self._tasks - going
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        self.steering.lose()
        for record in self.responses.values():
            if record.live and not self.goes_on(record):
                record.status = "cancelled"
            if record.team is not None:
                record.team.look()  # nobody can inject any more
        for task in going:
            self.service.adopt(task)

    @property
    def lost(self) -> bool:
        """Whether nobody is there any more."""
        return self._lost

    def goes_on(self, record: Record) -> bool:
        """Whether a response is written to its end although its connection is gone."""
        return record.stored and self.options.connection_lost == "go_on"

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something for as long as the connection lasts."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        if isinstance(error, ConnectionClosed):
            return
        logger.error("the simulator failed", exc_info=error)
        self.spawn(self.close(1011, "the simulator failed; see its log"))

    async def close(self, code: int, reason: str) -> None:
        """Write what is in line, then close."""
        await self.drain()
        await self._socket.close(code, reason)

    async def drop(self, code: int | None, reason: str) -> None:
        """Lose the connection as it was lost: with a close frame, or without one."""
        if code is not None and code in CLOSE_CODES:
            await self.close(code, reason)
        else:
            await self.drain()
            self._socket.transport.abort()

    async def _age(self) -> None:
        await self.service.clock.reach(self._deadline)
        self.write(connection_limit(self.options.connection_limit_s).event(None))
        if self.options.limit_close_code is not None:
            await self.close(self.options.limit_close_code, "connection limit reached")

    # Writing

    def write(self, event: dict[str, Any]) -> None:
        """Put an event in line; without a connection there is nobody to read it."""
        if self._lost:
            return
        text = _encode(event)
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                # half a surrogate pair came in and is quoted: only its escape can travel
                text = json.dumps(event, separators=(",", ":"))
        self.write_text(text)

    def write_text(self, text: str) -> None:
        """Put a message in line as it is."""
        self._outbox.append(text)
        self._waiting += len(text)
        self._more.set()

    def emit(self, record: Record, type: str, **fields: Any) -> None:  # noqa: A002 - the wire's word
        """Write an event of a response: numbered, and with its lane."""
        event: dict[str, Any] = {"type": type, "sequence_number": record.sequence}
        record.sequence += 1
        if record.lane.stream_id is not None:
            event["stream_id"] = record.lane.stream_id
        if record.multi_agent and not type.startswith(_WITHOUT_AGENT):
            event["agent"] = {"agent_name": ROOT}
        self.write(event | fields)

    async def room(self) -> None:
        """Wait while too much is in line."""
        while self._waiting > HIGH_WATER:
            self._less.clear()
            await self._less.wait()

    async def drain(self) -> None:
        """Wait until everything in line is written."""
        while self._outbox:
            self._less.clear()
            await self._less.wait()

    async def _write(self) -> None:
        while True:
            while self._outbox:
                await self._socket.send(self._outbox[0])
                self._waiting -= len(self._outbox.popleft())
                self._less.set()
            self._more.clear()
            await self._more.wait()

    # Reading

    def receive(self, message: str | bytes) -> None:
        """Answer one message, or queue it on its lane."""
        stream_id: str | None = None
        try:
            body = parse(message)
            kind = body.get("type")
            if kind == "response.create":
                stream_id = read_stream_id(body)
                self._create(body, stream_id)
            elif kind == "response.steer":
                self.steering.receive(body)
            elif kind == "response.inject" and self.multi_agent:
                self.injecting.receive(body)
            elif not isinstance(kind, str):
                raise missing(param="type")
            else:
                known = "'response.create' and 'response.steer'"
                if self.multi_agent:
                    known = "'response.create', 'response.steer' and 'response.inject'"
                msg = f"Invalid value: {kind!r}. Supported event types are {known}."
                raise invalid(param="type", message=msg)
        except Refusal as refusal:
            self.account.add(
                "message",
                connection=self.number,
                raw=message,
                error=refusal.code,
                error_message=refusal.message,
            )
            self.write(refusal.event(stream_id))

    def _create(self, body: dict[str, Any], stream_id: str | None) -> None:
        if self.service.clock.now() >= self._deadline:
            raise connection_limit(self.options.connection_limit_s)
        entry = self.account.add(
            "request",
            connection=self.number,
            lane=stream_id,
            body=body,
            response_id=None,
            state="queued",
            error=None,
        )
        try:
            lane = self._lane(stream_id)
        except Refusal as refusal:
            self.account.update(entry, state="refused", error=refusal.code)
            self.write(refusal.event(stream_id))
            return
        lane.put_create(Create(body, entry))

    def _lane(self, stream_id: str | None) -> Lane:
        lane = self.lanes.get(stream_id)
        if lane is None:
            named = sum(1 for name in self.lanes if name is not None)
            if stream_id is not None and named >= self.options.lane_limit:
                raise stream_limit(self.options.lane_limit)
            lane = self.lanes[stream_id] = Lane(self, stream_id)
        return lane

    async def run(self, lane: Lane, job: Create | Successor) -> None:
        """Run one job of a lane."""
        await self.engine.run(lane, job)

    # Finding what a create continues

    def find(self, response_id: str) -> Record | None:
        """Look in the connection-local cache, then among what is stored (2.3)."""
        for lane in self.lanes.values():
            if lane.cached is not None and lane.cached.id == response_id:
                return lane.cached
        return self.service.store.get(response_id)
