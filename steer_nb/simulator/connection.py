"""One WebSocket connection: takes requests, writes events, owns lanes and their responses."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed

from steer_nb.simulator.agents import ROOT
from steer_nb.simulator.engine import Engine
from steer_nb.simulator.handshake import betas
from steer_nb.simulator.injecting import Injecting
from steer_nb.simulator.lane import Create, Lane
from steer_nb.simulator.line import Line, encode
from steer_nb.simulator.refusals import Refusal, connection_limit, invalid, missing, stream_limit
from steer_nb.simulator.requests import parse, read_stream_id
from steer_nb.simulator.steering import Steering
from steer_nb.wire import MULTI_AGENT_BETA

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.door import Door
    from steer_nb.simulator.lane import Successor
    from steer_nb.simulator.service import Service

__all__ = ["Connection"]

logger = logging.getLogger("steer_nb.simulator")

_WITHOUT_AGENT = ("response.steer.", "response.inject.")


class Connection:
    """What the service keeps for one socket."""

    def __init__(self, service: Service, socket: Door, number: int) -> None:
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
        self.line = Line(socket, number, service.faults)
        self._tasks: set[asyncio.Task[None]] = set()
        self._deadline = socket.since + self.options.connection_limit_s

    # The life of a connection

    async def serve(self) -> None:
        """Answer until either side closes."""
        line = self.line
        entry = self.account.add("connection", connection=self.number, state="open", code=None)
        self.service.connections[self.number] = self
        self.spawn(line.write())
        self.spawn(self._age())
        reading = asyncio.ensure_future(line.read(self.receive))
        cut = asyncio.ensure_future(line.was_cut.wait())
        try:
            await asyncio.wait({reading, cut}, return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
        except Exception:
            logger.exception("the simulator failed")
            raise
        finally:
            reading.cancel()
            cut.cancel()
            del self.service.connections[self.number]
            await self._leave()
            await line.end()
            self.account.update(
                entry,
                state="closed",
                code=line.close_code,
                sent=line.n_sent,
                received=line.n_received,
            )

    async def _leave(self) -> None:
        """End what belongs to the connection; what goes on without it is the service's now."""
        self.line.leave()
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
        return self.line.lost

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
        self.spawn(self.line.close(1011, "the simulator failed; see its log"))

    async def _age(self) -> None:
        await self.service.clock.reach(self._deadline)
        self.write(connection_limit(self.options.connection_limit_s).event(None))
        if self.options.limit_close_code is not None:
            await self.line.close(self.options.limit_close_code, "connection limit reached")

    # Writing

    def write(self, event: dict[str, Any]) -> None:
        """Put an event in line; without a connection there is nobody to read it."""
        if not self.line.lost:
            self.line.put(encode(event))

    def emit(self, record: Record, type: str, **fields: Any) -> None:  # noqa: A002 - the wire's word
        """Write an event of a response: numbered, and with its lane."""
        event: dict[str, Any] = {"type": type, "sequence_number": record.sequence}
        record.sequence += 1
        if record.lane.stream_id is not None:
            event["stream_id"] = record.lane.stream_id
        if not type.startswith(_WITHOUT_AGENT):
            owner = {"agent_name": ROOT} if record.multi_agent else None
            if record.playback is not None:
                owner = record.playback.owner
            if owner is not None:
                event["agent"] = owner
        self.write(event | fields)

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
                raw=message if isinstance(message, str) else message.decode("utf-8", "replace"),
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
