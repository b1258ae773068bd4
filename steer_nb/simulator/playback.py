"""Serving a recording again: each create gets the next recorded answer of its lane.

What a client must not notice is rebuilt: sequence numbers, `stream_id`, `previous_response_id`, and
ids that were given out before. Everything else is sent as it was recorded.

- The lane of a create takes the recorded lane of its name; a lane that the recording does not have
  takes the first one that nobody has used. A continuation gets the recorded continuation of its
  parent, any other create the next answer of the lane, whatever it says.
- Ids are the recorded ones the first time, and others (the same for the same seed) after that.
- A steer gets the recorded outcome, at its recorded place. Where the recording was steered and the
  client does not steer, the response waits `Options.replay_patience_s` real seconds, then goes on;
  if nothing was steered at its end, it ends completed. A steer that the recording does not have
  is accepted by the ordinary rules, the response is played to its end, and the successor says that
  the recording holds nothing for it. So does each create behind the recording's end.
- An inject gets the recorded answer, at its recorded place, whatever results it holds; the response
  waits for it as it does for a steer. Then the agents go on as recorded, since nobody knows what
  else they would have said. An inject that the recording does not have, or that answers no open
  call, is committed or refused by the ordinary rules. Calls that a client did not answer meanwhile
  are open at the end, and its continuation has to bring their results.
- A connection that was lost in the middle of a response is lost there again, and the next
  connection gets what came after. Every other connection gets the recording from its beginning.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.intake import record_of_create
from steer_nb.simulator.playback_injects import RecordedInjects
from steer_nb.simulator.recording import InjectMark
from steer_nb.simulator.refusals import Refusal
from steer_nb.simulator.requests import to_items
from steer_nb.simulator.required import calls_in
from steer_nb.simulator.steps import Say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steer_nb.simulator.chain import Record, Steer
    from steer_nb.simulator.connection import Connection
    from steer_nb.simulator.engine import Engine
    from steer_nb.simulator.ids import Ids
    from steer_nb.simulator.lane import Lane
    from steer_nb.simulator.pace import Pace
    from steer_nb.simulator.recording import Answer, Mark, Recording
    from steer_nb.simulator.steering import Steering
    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn

__all__ = ["Playback", "Player", "RecordedRefusal", "Seat", "improvise"]

_TERMINALS = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}
_ENDS_HERE = "The recording ends here."


def improvise(turn: Turn) -> Iterator[Step]:
    """Say what a recording cannot: that it holds nothing for this."""
    if turn.steers:
        yield Say("The recording holds no answer to this steer.")
    else:
        yield Say("The recording holds no further response on this lane.")


class RecordedRefusal(Refusal):
    """A refusal as it was recorded."""

    def __init__(self, event: dict[str, Any]) -> None:
        error = event.get("error")
        error = error if isinstance(error, dict) else {}
        super().__init__(str(error.get("message")), code=error.get("code"))
        self._event = event

    def event(self, stream_id: str | None) -> dict[str, Any]:
        """Give the recorded event, with the lane of this request."""
        event = {name: value for name, value in self._event.items() if name != "stream_id"}
        if stream_id is not None and "stream_id" in self._event:
            event["stream_id"] = stream_id
        return event


class Player:
    """One recording and how far a service is with it."""

    def __init__(self, recording: Recording, ids: Ids) -> None:
        self.recording = recording
        self._ids = ids
        self._given: set[str] = set()
        self._part = 0

    def seat(self) -> Seat:
        """Give a new connection its place."""
        part, self._part = self._part, 0
        return Seat(self, part)

    def lost(self, part: int) -> None:
        """Let the next connection go on behind the end of this part."""
        self._part = part + 1 if part + 1 < len(self.recording.parts) else 0

    def names(self, answer: Answer, connection: int) -> dict[str, str]:
        """Say by what names the ids of an answer go: none where the recorded ones are free."""
        ids = answer.ids()
        if answer.id not in self._given:
            self._given |= ids
            return {}
        return {one: self._ids.make(one.partition("_")[0], connection, one) for one in ids}

    def steer_id(self, mark: Mark, made: str) -> str:
        """Give a steer its recorded id, once."""
        if mark.steer_id is None or mark.steer_id in self._given:
            return made
        self._given.add(mark.steer_id)
        return mark.steer_id


class Seat:
    """How far one connection is with the recording."""

    def __init__(self, player: Player, part: int) -> None:
        self.player = player
        self._part = part
        lanes = player.recording.parts[part].lanes
        self._left = {name: list(answers) for name, answers in lanes.items()}
        self._lanes: dict[str | None, str | None] = {}

    def next(self, lane: str | None, parent: Record | None) -> Answer | None:
        """Find what answers a create on a lane; it stays in line until `take`."""
        if lane not in self._lanes:
            used = set(self._lanes.values())
            free = [name for name in self._left if name not in used]
            if lane not in free:
                if not free:
                    return None
                self._lanes[lane] = free[0]
            else:
                self._lanes[lane] = lane
        left = self._left[self._lanes[lane]]
        previous = None
        if parent is not None and parent.playback is not None:
            previous = parent.playback.answer.id
        fitting = (one for one in left if previous is not None and one.parent_id == previous)
        return next(fitting, left[0] if left else None)

    def take(self, lane: str | None, answer: Answer) -> None:
        """Take an answer out of the line."""
        self._left[self._lanes[lane]].remove(answer)

    def lost(self) -> None:
        """The recording's connection was lost here."""
        self.player.lost(self._part)


def trusted(lane: Lane, body: dict[str, Any]) -> Record:
    """Make the response to a request that the recorded service answered, and we would refuse."""
    try:
        items = to_items(body.get("input"))
    except Refusal:
        items = []
    plain = {name: value for name, value in body.items() if name != "previous_response_id"}
    record = record_of_create(lane, plain, [])
    record.given = items
    parent = lane.connection.find(str(body.get("previous_response_id")))
    if parent is not None:
        record.parent = parent
        if parent.lane is lane and not parent.successor_due:
            record.applied = list(parent.queued)
    return record


class Playback:
    """One recorded response that is being served again.

    Parameters
    ----------
    answer : Answer
        What was recorded.
    record : Record
        The response that it becomes; it gets its id here.
    previous : str, optional
        What the request says that it continues, where we do not know that.
    """

    def __init__(self, answer: Answer, record: Record, previous: str | None = None) -> None:
        self.answer = answer
        self._record = record
        self._previous = previous
        self._connection: Connection = record.lane.connection
        seat = self._connection.seat
        assert seat is not None
        self._seat = seat
        self._names = seat.player.names(answer, self._connection.number)
        self._marks = iter(answer.marks)
        self._heard: set[Mark] = set()
        self._passed: set[Mark] = set()
        self._steers: dict[Mark, Steer] = {}
        self._refusals: dict[Mark, Callable[[], None]] = {}
        self._patient = True
        self.injects = RecordedInjects(answer, self._send)
        self.owner: dict[str, Any] | None = None
        if answer.id is not None:
            record.id = self._names.get(answer.id, answer.id)

    # -- steers that come -------------------------------------------------------------------

    def hear(self) -> Mark | None:
        """Say which recorded steer the next one is; None where the recording has no more."""
        mark = next(self._marks, None)
        if mark is not None:
            self._heard.add(mark)
            self._record.heard.set()
        return mark

    def waits(self, mark: Mark) -> bool:
        """Whether the answer to a steer has its place further on."""
        return self._record.live and mark not in self._passed

    def accept(self, mark: Mark, steer: Steer) -> None:
        """Keep an accepted steer until its acknowledgement's place."""
        self._steers[mark] = steer

    def refuse(self, mark: Mark, refusal: Callable[[], None]) -> None:
        """Keep a refusal until its place."""
        self._refusals[mark] = refusal

    def settle(self, steering: Steering) -> bool:
        """Do with the queue what was recorded; False where the ordinary rules shall."""
        record, answer = self._record, self.answer
        for refusal in self._refusals.values():
            refusal()
        self._refusals.clear()
        for mark, steer in self._steers.items():
            if mark.phase == "ended" and steer in record.queued:
                steering.acknowledge(steer)
        failures = [mark.failed for mark in self._steers if mark.failed is not None]
        if failures and len(failures) == len(record.queued):
            steering.fail(record, failures[0] or None)
            return True
        blocking = self._connection.options.async_calls == "block"
        if not record.queued or answer.successor is None:
            return False
        if record.required(async_blocks=blocking):
            return False
        record.successor_due = True
        record.lane.put_successor(record)
        return True

    # -- playing ------------------------------------------------------------------------------

    async def play(self, engine: Engine, pace: Pace) -> None:
        """Send the recorded events."""
        record, connection, begun = self._record, self._connection, False
        for moment in self.answer.moments:
            if moment.mark is not None:
                await self._await_mark(moment.mark, pace)
            await pace.wait(moment.seconds)
            if moment.mark is not None:
                if not moment.waits:
                    self._answer_mark(moment.mark)
                continue
            event = moment.event
            self.owner = None if event is None else event.get("agent")
            kind = "" if event is None else str(event["type"])
            if event is None:
                connection.line.put(moment.raw)
            elif kind == "response.created" and not begun:
                engine.begin(record, self._response(event))
                begun = True
            elif kind in _TERMINALS and record.live:
                self._end(engine, kind, event)
            elif kind == "error" and record.live:
                engine.break_off(record, self._error(event))
            else:
                self._send(event)
                if kind == "response.output_item.done":
                    await pace.breathe()
            await connection.line.room()
        if self.answer.end == "lost":
            self._seat.lost()
            record.status = "cancelled"  # what it became without its client, nobody recorded
            await connection.line.drop(*self.answer.close)
            return
        if record.live:
            if not begun:
                engine.begin(record)
            error = {"code": "server_error", "message": _ENDS_HERE}
            engine.finish(record, "failed", error=error)
        for moment in self.answer.after:
            if moment.event is None:
                connection.line.put(moment.raw)
            else:
                self._send(moment.event)

    def _has_heard(self, mark: Mark | InjectMark) -> bool:
        return self.injects.heard(mark) if isinstance(mark, InjectMark) else mark in self._heard

    async def _await_mark(self, mark: Mark | InjectMark, pace: Pace) -> None:
        """Wait for the client's steer or inject where the recording has one."""
        record = self._record
        patience = self._connection.options.replay_patience_s if self._patient else 0.0
        deadline = time.monotonic() + patience
        while not self._has_heard(mark) and (left := deadline - time.monotonic()) > 0:
            record.heard.clear()
            await pace.listen(record.heard, left, real=True)
        self._patient = self._has_heard(mark)  # a client that does nothing is waited for once

    def _answer_mark(self, mark: Mark | InjectMark) -> None:
        """Answer the client's steer or inject in its recorded place."""
        if isinstance(mark, InjectMark):
            self.injects.answer(mark)
            return
        self._passed.add(mark)
        if mark in self._refusals:
            self._refusals.pop(mark)()
        elif mark in self._steers and not self._steers[mark].acknowledged:
            self._connection.steering.acknowledge(self._steers[mark])

    def _send(self, event: dict[str, Any]) -> None:
        record = self._record
        if event["type"] == "error":  # about the connection, or about nothing that we know
            self._connection.write(self._error(event).event(record.lane.stream_id))
            return
        fields = self._on_lane(_renamed(event, self._names))
        if isinstance(fields.get("response"), dict):
            fields["response"] = self._response(event)
        if "sequence_number" in fields:
            fields["sequence_number"] = record.sequence
            record.sequence += 1
        self._connection.write(fields)
        item = fields.get("item")
        if event["type"] == "response.output_item.done" and isinstance(item, dict):
            record.finish_item(int(event.get("output_index") or 0), item)
            record.calls |= calls_in([item])

    def _on_lane(self, event: dict[str, Any]) -> dict[str, Any]:
        """Name the lane of this request in an event of a response; the order of fields stays."""
        lane = self._record.lane.stream_id
        if "stream_id" not in event and not event["type"].startswith("response."):
            return event
        if lane is None:
            event.pop("stream_id", None)
        elif "stream_id" in event:
            event["stream_id"] = lane
        else:
            head: dict[str, Any] = {
                name: event.pop(name) for name in ("type", "sequence_number") if name in event
            }
            event = {**head, "stream_id": lane, **event}
        return event

    def _error(self, event: dict[str, Any]) -> RecordedRefusal:
        """Give a recorded error event; inside a response it is numbered like the others."""
        if "sequence_number" in event:
            event = {**event, "sequence_number": self._record.sequence}
            self._record.sequence += 1
        return RecordedRefusal(event)

    def _response(self, event: dict[str, Any]) -> dict[str, Any]:
        """Give the recorded response object, with what it is called now."""
        response = event.get("response")
        found: dict[str, Any] = _renamed(response, self._names) if response else {}
        found["id"] = self._record.id
        parent = self._record.parent
        previous = self._previous if parent is None else parent.id
        if previous is not None or "previous_response_id" in found:
            found["previous_response_id"] = previous
        return found

    def _end(self, engine: Engine, kind: str, event: dict[str, Any]) -> None:
        """Send the recorded end; one that nobody steered cannot end steered."""
        record, final = self._record, self._response(event)
        status = _TERMINALS[kind]
        reason = (final.get("incomplete_details") or {}).get("reason")
        if reason == "steered" and not record.queued:
            status, reason = "completed", None
            final |= {"status": status, "incomplete_details": None}
            if "completed_at" in final:
                final["completed_at"] = final.get("created_at")
        if not record.output and isinstance(final.get("output"), list):
            record.output = [item for item in final["output"] if isinstance(item, dict)]
            record.calls |= calls_in(record.output)
        engine.finish(record, status, reason=reason, error=final.get("error"), final=final)


def _renamed(value: Any, names: dict[str, str]) -> Any:
    """Copy a JSON value, with ids replaced wherever one stands by itself."""
    if isinstance(value, dict):
        return {key: _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value
