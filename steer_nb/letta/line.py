"""The line of a Letta session: an HTTP client, and one exchange at a time for each lane."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from steer_nb.client.line import AGAIN, Line
from steer_nb.errors import LaneBusy, TraceError
from steer_nb.ledger import rules
from steer_nb.letta.exchange import Exchange
from steer_nb.letta.history import History, Read
from steer_nb.letta.http import Http, Lost, failed
from steer_nb.letta.message import Message

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable
    from typing import Any, TypeVar

    from steer_nb.client.core import Core
    from steer_nb.client.reconnecting import Reconnect
    from steer_nb.client.settings import LaneSettings
    from steer_nb.ledger import RequestState, RequiredInputState, ResponseState

    T = TypeVar("T")

__all__ = ["LettaLine"]

_CLOSE_SECONDS = 3.0


class LettaLine(Line):
    """What a session sends and receives on. There is no connection that could be lost as a whole.

    Parameters
    ----------
    core : Core
        The session's insides.
    policy : Reconnect
        How patiently a lost stream is read on, and a lost request sent again.

    Attributes
    ----------
    background : bool
        Whether the server keeps runs going without a reader: not where it has no Redis (5.1).
    """

    def __init__(self, core: Core, policy: Reconnect) -> None:
        super().__init__(core)
        self.policy = policy
        self.http = Http(core.endpoint)
        self.background = True
        self._tasks: dict[str | None, asyncio.Task[Any]] = {}

    async def open(self) -> None:
        """See whether the server is there, and takes the key.

        Raises
        ------
        ConnectionFailed
            Says what to try; `AuthenticationFailed` if the key was refused.
        MissingExtra
            If httpx is not installed.
        """
        core = self._core
        await self.http.open()
        try:
            reply = await self.http.ask("GET", "/v1/health/")
        except Lost as lost:
            await self.http.close()
            raise failed(core.endpoint, str(lost)) from None
        if reply.status in (401, 403):
            await self.http.close()
            raise failed(core.endpoint, "", reply.status)
        core.recorder.connection += 1
        self.connected, self.gone, self.ended = True, False, None
        core.recorder.note("connected", url=core.endpoint.shown)
        for lane in core.lanes.values():
            if not self.take_up(lane):
                self._look_at(lane)

    # -- exchanges ---------------------------------------------------------------------------

    def works_on(self, stream_id: str | None) -> bool:
        """Whether an exchange of the lane still goes on: its stream, or what that left out."""
        return stream_id in self._tasks

    def send(self, lane: LaneSettings, message: Message) -> None:
        """Let a recorded and synced message out; returns at once."""
        self._start(lane, Exchange(self._core, self, lane, message).run())

    def take_up(self, lane: LaneSettings) -> bool:
        """See what became of a lane's last message, where that is not known; whether it is not."""
        state = self._core.ledger.lanes.get(lane.stream_id)
        request = None if state is None or not state.requests else state.requests[-1]
        if state is None or request is None or request.decision is not None:
            return False
        response = self._core.ledger.responses.get(request.response_id or "")
        unknown = request.state == "unknown"
        if not unknown and (response is None or response.status != "truncated"):
            return False
        if self.works_on(lane.stream_id) or "conversation" not in lane.fields:
            return False
        seq = 0 if response is None else response.last_sequence_number or 0
        exchange = Exchange(self._core, self, lane, _message(self._core, request))
        run_id = None if response is None else response.id
        self._start(lane, exchange.take_up(run_id, seq))
        return True

    def _look_at(self, lane: LaneSettings) -> None:
        """See what a lane still waits for, that was left alone for a while."""
        state = self._core.ledger.lanes.get(lane.stream_id)
        if state is None or "conversation" not in lane.fields:
            return
        # What waits; or answers that a stream does not show, and the process ended before it asked.
        parent = rules.parent_waiting(state) or next(
            (one for one in reversed(state.responses) if _unconfirmed(one)), None
        )
        if parent is not None:
            self._start(lane, self._look(lane, parent))

    async def _look(self, lane: LaneSettings, parent: ResponseState) -> None:
        try:
            await self.look(lane, parent)
        except Lost as lost:
            detail = f"what {parent.id} waits for is what it was: {lost}"
            self._core.recorder.note("problem", kind="history", detail=detail)

    async def look(self, lane: LaneSettings, parent: ResponseState) -> Read:
        """See in the history, and record, what became of calls that waited.

        Raises
        ------
        Lost
            If the connection failed, again and again.
        """
        history, recorder = History(self._core, self.http, lane), self._core.recorder
        keys = [stub.key for stub in (*parent.waiting_for, *_unconfirmed(parent))]

        def settled(read: Read) -> bool:
            return read.answering(keys) is not None or read.asks(keys)

        read = await history.read_patiently(settled, self.policy)
        waiting, answered = read.pending, read.answering(keys)
        found = None if waiting is None else waiting.run_id
        history.record(read, runs={parent.id, answered, found})
        released = parent.waiting_for and waiting is None and answered is None
        if released and (read.whole or read.asks(keys)):
            place = {"lane": lane.stream_id, "parent": parent.id}
            recorder.note("input_released", **place, reason="the server does not wait for it")
        return read

    async def alone(self, lane: LaneSettings, work: Coroutine[Any, Any, T]) -> T:
        """Do something while nothing else goes on in a lane.

        Raises
        ------
        LaneBusy
            If something does.
        """
        self._check_free(lane, work)
        task = asyncio.create_task(work, name=f"steer-nb letta {self._core.name} {lane.name}")
        self._tasks[lane.stream_id] = task
        try:
            return await asyncio.shield(task)
        finally:
            self._tasks.pop(lane.stream_id, None)
            self._core.look_again()

    async def through(self, stream_ids: Iterable[str | None]) -> None:
        """Wait until nothing goes on any more in lanes."""
        tasks = [self._tasks[name] for name in stream_ids if name in self._tasks]
        if tasks:
            await asyncio.wait(tasks)

    def begin(self, lane: LaneSettings, work: Coroutine[Any, Any, None]) -> None:
        """Let something go on in a lane in which nothing does.

        Raises
        ------
        LaneBusy
            If something does.
        """
        self._start(lane, work)

    def _start(self, lane: LaneSettings, work: Coroutine[Any, Any, None]) -> None:
        self._check_free(lane, work)
        name = f"steer-nb letta {self._core.name} {lane.name}"
        self._tasks[lane.stream_id] = asyncio.create_task(self._work(lane, work), name=name)

    def _check_free(self, lane: LaneSettings, work: Coroutine[Any, Any, Any]) -> None:
        if self.works_on(lane.stream_id):
            work.close()
            msg = f"Lane {lane.name} still hears of its last message; try again in a moment."
            raise LaneBusy(msg)

    async def _work(self, lane: LaneSettings, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:  # noqa: BLE001 - one odd exchange must not end the session
            self._core.recorder.note("problem", kind="internal", detail=repr(error))
            self._forsake(lane)
        finally:
            self._tasks.pop(lane.stream_id, None)
        self._core.look_again()

    def _forsake(self, lane: LaneSettings) -> None:
        """Say of what went on in a lane that nobody listens any more."""
        state = self._core.ledger.lanes.get(lane.stream_id)
        if state is not None and state.requests:
            request = state.requests[-1]
            self._core.recorder.note("stream_lost", lane=lane.stream_id, key=request.key)

    # -- its end -----------------------------------------------------------------------------

    async def close(self, code: int, reason: str) -> None:
        """Read no more; what runs at the server goes on there. Closing again does nothing."""
        tasks = tuple(self._tasks.values())
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
            await self.http.close()
        finally:
            self._left(code, reason)

    def _left(self, code: int, reason: str) -> None:
        recorder, was = self._core.recorder, self.connected
        self.connected, self.gone = False, True
        if not was:
            return
        self.ended = f"Session {self._core.name} is closed. {AGAIN}"
        recorder.note("closed", code=code, reason=reason, by="client")
        try:
            recorder.sync()
        except TraceError as error:
            recorder.note("problem", kind="journal", detail=str(error))


def _unconfirmed(response: ResponseState) -> list[RequiredInputState]:
    """Its calls whose answers the service took, and did not show yet."""
    return [stub for stub in response.required.values() if stub.is_shown and stub.state == "sent"]


def _message(core: Core, request: RequestState) -> Message:
    """A message as it was recorded, in whichever form it went out last."""
    found: Message | None = None
    for entry in core.recorder.trace.entries[request.sent.seq :]:
        data = entry.data or {}
        path = str(data.get("path") or "")
        if entry.kind == "out" and data.get("key") == request.key and path.endswith("/messages"):
            body = json.loads(entry.raw or "{}")
            found = Message(request.key, path, body, request.steers, request.previous_response_id)
    assert found is not None
    return found
