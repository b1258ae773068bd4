"""One response after another: reads what a create asks, plays its script, ends it."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from steer_nb.simulator import steps
from steer_nb.simulator.agents import SendMessage, Spawn, WaitAgents
from steer_nb.simulator.allowance import Allowance
from steer_nb.simulator.envelope import response_object, usage_of
from steer_nb.simulator.faults import Fault
from steer_nb.simulator.intake import record_of_create, record_of_successor, record_of_waiting
from steer_nb.simulator.lane import Create
from steer_nb.simulator.playback import Playback, RecordedRefusal, trusted
from steer_nb.simulator.refusals import Refusal
from steer_nb.simulator.requests import check_create, to_items
from steer_nb.simulator.team import Team
from steer_nb.simulator.turn import Turn
from steer_nb.simulator.writing import Writer
from steer_nb.wire import several_agents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.connection import Connection
    from steer_nb.simulator.lane import Lane, Successor
    from steer_nb.simulator.pace import Pace
    from steer_nb.simulator.steps import Step

__all__ = ["Engine"]

logger = logging.getLogger("steer_nb.simulator")


class Engine:
    """Runs the jobs of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._options = connection.options
        self._account = connection.account
        self.writer = Writer(connection)

    async def run(self, lane: Lane, job: Create | Successor) -> None:
        """Run a create or an automatic successor to its end."""
        if isinstance(job, Create):
            await self._create(lane, job)
        else:
            await self._succeed(job.parent)

    # Explicit creates

    async def _create(self, lane: Lane, job: Create) -> None:
        if self._options.fork_start_s and self._forks(lane, job):
            await asyncio.sleep(self._options.fork_start_s)
        try:
            record = await self._read(lane, job)
            turn = Turn(record, record.own_items)
            script, first = self._open(record, turn)
        except Refusal as refusal:
            self._refuse(lane, job, refusal)
            return
        self._account.update(job.entry, state="started", response_id=record.id)
        if record.playback is not None:
            await record.playback.play(self, self._connection.service.pace())
        elif record.origin == "warmup":
            self._warm_up(record)
        else:
            await self._play(record, turn, script, first)
        self._account.update(job.entry, state=record.status)

    def _forks(self, lane: Lane, job: Create) -> bool:
        parent = self._connection.responses.get(str(job.body.get("previous_response_id")))
        return parent is not None and parent.lane is not lane

    async def _read(self, lane: Lane, job: Create) -> Record:
        """Make the response that a create asks for; of a recording, the one that it holds."""
        seat, body = self._connection.seat, job.body
        if seat is None:
            return self._checked(lane, body, job.index)
        parent = self._connection.find(str(body.get("previous_response_id")))
        answer = seat.next(lane.stream_id, parent)
        if answer is None:
            return self._checked(lane, body)
        try:
            record = self._checked(lane, body)
        except Refusal:
            # What the recorded service answered, the same request gets here: it knew more.
            beta = self._connection.multi_agent or not several_agents(body)
            if not (beta and answer.answers(body)):
                raise
            record = None
        seat.take(lane.stream_id, answer)
        if answer.end == "refused":
            await self._connection.service.pace().wait(answer.moments[0].seconds)
            raise RecordedRefusal(answer.moments[0].event or {})
        record = record or trusted(lane, body)
        record.playback = Playback(answer, record, body.get("previous_response_id"))
        return record

    def _checked(self, lane: Lane, body: dict[str, Any], index: int | None = None) -> Record:
        check_create(body, self._options, multi_agent=self._connection.multi_agent)
        items = to_items(body.get("input"))
        return record_of_create(lane, body, items, index)

    def announce(self, lane: Lane, job: Create) -> None:
        """Say that a create waits for its turn; whether it can be answered is not known yet."""
        if self._connection.seat is not None:
            return  # a recording says itself what was said
        try:
            check_create(job.body, self._options, multi_agent=self._connection.multi_agent)
        except Refusal:
            return  # it is refused in its turn
        job.index = lane.next_index()
        record = record_of_waiting(lane, job.body, job.index)
        previous = {"previous_response_id": job.body.get("previous_response_id")}
        response = {**response_object(record), **previous}
        self._connection.emit(record, "response.queued", response=response)

    def _refuse(self, lane: Lane, job: Create, refusal: Refusal) -> None:
        previous = job.body.get("previous_response_id")
        self._account.update(
            job.entry, state="refused", error=refusal.code, error_message=refusal.message
        )
        self._connection.write(refusal.event(lane.stream_id))
        parent = self._connection.responses.get(previous) if isinstance(previous, str) else None
        if parent is None or parent.lane is not lane:
            return
        if lane.cached is parent:
            lane.cached = None  # 2.3: an error on the same lane evicts what it referred to
        if parent.queued and not parent.live and not parent.successor_due:
            # 5.8 g: kept for a retry, unless nothing can continue the parent any more
            lost = self._connection.find(parent.id) is None
            if lost or self._options.missing_output == "fail":
                self._connection.steering.fail(parent)
            else:
                self._connection.steering.arrange(parent)

    # Automatic successors

    async def _succeed(self, parent: Record) -> None:
        record = record_of_successor(parent)
        following = None if parent.playback is None else parent.playback.answer.successor
        if following is not None:
            record.playback = Playback(following, record)
            await record.playback.play(self, self._connection.service.pace())
            return
        turn = Turn(record, [])
        try:
            script, first = self._open(record, turn)
        except Refusal as refusal:
            self._connection.steering.fail(parent, refusal.message)
            return
        await self._play(record, turn, script, first)

    # Every response

    def _open(self, record: Record, turn: Turn) -> tuple[Iterator[Step], Step | Exception | None]:
        """Start the script, which may still refuse the request."""
        if record.origin == "warmup":
            return iter(()), None
        script = self._connection.service.scenario(turn)
        first = steps.next_of(script)
        if isinstance(first, steps.Reject):
            raise Refusal(
                first.message,
                code=first.code,
                status=first.status,
                type=first.type,
                param=first.param,
            )
        return script, first

    def begin(self, record: Record, response: dict[str, Any] | None = None) -> None:
        """Write `response.created`, which commits the steers that the response carries.

        `response` is its object where it was recorded.
        """
        connection = self._connection
        lane = record.lane
        connection.responses[record.id] = record
        lane.latest = record
        lane.cached = None
        if record.stored:
            connection.service.store.put(record)
        response = response or response_object(record)
        connection.emit(record, "response.created", response=response)
        parent = record.parent
        if parent is None or record.origin == "warmup":
            return
        if parent.lane is lane:
            parent.continued = True
            connection.steering.commit(parent, record)
        if record.origin == "successor" or record.results or record.applied:
            self._account.add(
                "successor" if record.origin == "successor" else "continuation",
                connection=connection.number,
                lane=lane.stream_id,
                previous_response_id=parent.id,
                response_id=record.id,
                results=list(record.results.values()),
                steers=[steer.id for steer in record.applied],
            )

    def _warm_up(self, record: Record) -> None:
        """`generate: false`: created and completed, no output (2.2)."""
        self.begin(record)
        self.finish(record, "completed")

    async def _play(
        self, record: Record, turn: Turn, script: Iterator[Step], step: Step | Exception | None
    ) -> None:
        connection = self._connection
        pace = connection.service.pace()
        if isinstance(step, steps.Queue):
            queued = {**response_object(record), "status": "queued"}
            self.begin(record, queued)
            connection.emit(record, "response.queued", response=queued)
            await pace.wait(step.seconds)
            step = steps.next_of(script)
        else:
            self.begin(record)
        connection.emit(record, "response.in_progress", response=response_object(record))
        if record.multi_agent:
            await Team(self, record, connection.service.scenario).play(turn, script, step)
            return
        allowance = Allowance(record)
        while step is not None:
            await pace.breathe()
            if isinstance(step, steps.Item | steps.Several):
                if record.queued and self._may_cut(record):
                    break
                _, whole = await self.writer.items(record, step, pace, allowance=allowance)
                if not whole:
                    self.finish(record, "incomplete", reason="max_output_tokens")
                    return
            elif isinstance(step, Exception):
                logger.warning("scenario failed", exc_info=step)
                msg = f"The scenario failed: {type(step).__name__}: {step}"
                self.finish(record, "failed", error=_error("server_error", msg))
                return
            elif await self.control(record, step, pace):
                return
            step = steps.next_of(script)
        if step is None or record.calls:
            self.finish(record, "completed")
        else:
            self.finish(record, "incomplete", reason="steered")

    def _may_cut(self, record: Record) -> bool:
        # A model that has begun finishes its item (5.4, rule 3), so there is always one. Calls of
        # one response belong together: once one is made, the rest is still made, unless an option
        # says otherwise. Such a parent ends completed (rule 7).
        if not record.output:
            return False
        return not record.calls or self._options.cut_between_calls

    async def control(self, record: Record, step: Step, pace: Pace) -> bool:
        """Do what a step without an item says; True when it ended the response."""
        connection = self._connection
        match step:
            case steps.Pause(seconds):
                await pace.listen(record.heard, seconds)
            case steps.AwaitSteer(seconds, count):
                deadline = time.monotonic() + seconds
                while (
                    len(record.queued) + record.n_refused < count
                    and (left := deadline - time.monotonic()) > 0
                ):
                    record.heard.clear()
                    await pace.listen(record.heard, left, real=True)
            case steps.RefuseSteers(code, message):
                record.refuse_steers = None if code is None else (code, message)
            case steps.FailSuccessor(message):
                record.fail_successor = message
            case steps.Fail(code, message):
                self.finish(record, "failed", error=_error(code, message))
                return True
            case steps.Incomplete(reason):
                self.finish(record, "incomplete", reason=reason)
                return True
            case steps.ErrorEvent(code, message, status, kind):
                self.break_off(record, Refusal(message, code=code, status=status, type=kind))
                return True
            case steps.Arm(fault):
                await connection.line.drain()  # what is written already is not counted
                connection.service.faults.arm(Fault.of(fault), connection.number)
            case steps.Disconnect(code, reason):
                await connection.line.close(code, reason)
                return not connection.goes_on(record)
            case Spawn() | SendMessage() | WaitAgents():
                msg = f"{type(step).__name__} needs a request with multi_agent, enabled: true"
                self.finish(record, "failed", error=_error("server_error", msg))
                return True
            case _:
                msg = f"a scenario cannot yield {step!r} here"
                self.finish(record, "failed", error=_error("server_error", msg))
                return True
        return False

    def break_off(self, record: Record, refusal: Refusal) -> None:
        """End a response with an `error` event and no terminal one (5.6).

        It is one of the response's events, and so has a number among them (1.5).
        """
        record.status = "failed"
        record.error = _error("server_error", refusal.message)
        self._note_end(record, "error", refusal.code)
        error = refusal.event(record.lane.stream_id)
        self._connection.emit(record, **error)

    def finish(
        self,
        record: Record,
        status: str,
        *,
        reason: str | None = None,
        error: dict[str, Any] | None = None,
        final: dict[str, Any] | None = None,
    ) -> None:
        """Write the terminal event and decide what follows.

        `final` is the response's last object where it was recorded.
        """
        connection = self._connection
        record.status = status
        record.incomplete_reason = reason
        record.error = error
        if status == "completed":
            record.completed_at = connection.service.stamp(record.lane.n_responses)
        if status != "failed":
            record.lane.cached = record
        if record.stored:
            connection.service.store.put(record)
        record.usage = usage_of(record)
        final = final or response_object(record)
        connection.emit(record, f"response.{status}", response=final)
        if self._options.done_event:
            connection.emit(record, "response.done", response=final)
        self._note_end(record, status, reason)
        connection.injecting.settle(record)
        connection.steering.settle(record)

    def _note_end(self, record: Record, status: str, reason: str | None) -> None:
        self._account.add(
            "response",
            connection=self._connection.number,
            lane=record.lane.stream_id,
            response_id=record.id,
            status=status,
            reason=reason,
        )


def _error(code: str, message: str) -> dict[str, Any]:
    return {"code": code, "message": message}
