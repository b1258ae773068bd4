"""From a trace to a recording: which events answered which request.

The ledger says to which response each event belongs, which request it answers and what became of
each steer and inject; here that is put in the order in which a client will ask for it.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Literal

from steer_nb.ledger import Ledger
from steer_nb.simulator.recording import Answer, InjectMark, Mark, Moment, Part
from steer_nb.simulator.traces import seconds_between

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.ledger import ResponseState, SteerState
    from steer_nb.trace import Entry, Trace

__all__ = ["Reader"]

_FOLLOWS = ("response.steer.", "response.inject.")


class Reader:
    """Reads one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._ledger = Ledger()
        self._owners: list[tuple[Entry, ResponseState | None]] = []
        # By the entry that sent a steer or an inject, and by the one that answered it.
        self._sent: dict[int, tuple[Mark | InjectMark, ResponseState]] = {}
        self._marks: dict[int, Mark | InjectMark] = {}

    def read(self) -> tuple[list[Part], list[int]]:
        """Give its parts, and the connections that were cut off between them."""
        ledger = self._ledger
        for entry in list(self._trace):
            owner = ledger.apply(entry)
            if entry.kind != "note":
                self._owners.append((entry, owner))
        cuts = self._cuts()
        parts = [Part() for _ in range(len(cuts) + 1)]
        answers = self._responses(cuts)
        asked = [(r.started.seq, r.connection, answers[r.id]) for r in self._asked()]
        asked += self._unanswered(cuts)
        for _, connection, answer in sorted(asked, key=lambda one: one[0]):
            part = parts[sum(number < connection for number in cuts)]
            part.lanes.setdefault(answer.lane, []).append(answer)
        self._events(answers)
        return parts, cuts

    def _cuts(self) -> list[int]:
        """The connections that were lost in the middle of something, not by the client's word."""
        ledger, found = self._ledger, []
        for number, connection in sorted(ledger.connections.items()):
            closed = connection.closed
            if closed is None or connection.end_kind == "client":
                continue
            if (
                any(r.ended is closed for r in ledger.responses.values())
                or any(r.ended is closed for r in ledger.requests.values())
                or any(s.unknown is closed for s in ledger.steers.values())
            ):
                found.append(number)
        return found

    def _responses(self, cuts: list[int]) -> dict[str, Answer]:
        answers: dict[str, Answer] = {}
        for response in self._ledger.responses.values():
            answer = Answer(response.id, response.lane.stream_id)
            answer.parent_id = response.previous_response_id
            if response.request is not None:
                answer.request = response.request.body
            if response.status == "truncated":
                self._lose(answer, response.connection, cuts)
            elif not response.is_live:
                answer.end = "ended"
            for steer in response.steers:
                if steer.failure_code != "not_sent":
                    answer.marks.append(_mark(steer, response))
                    first = steer.accepted or steer.failed
                    if first is not None:
                        self._marks[first.seq] = answer.marks[-1]
                    if steer.sent is not None:
                        self._sent[steer.sent.seq] = answer.marks[-1], response
            self._injects(answer, response)
            answers[response.id] = answer
        for response in self._ledger.responses.values():
            successor = response.successor
            if successor is not None and self._by_itself(successor):
                answers[response.id].successor = answers[successor.id]
            elif any(s.unknown is not None and s.accepted for s in response.steers):
                answer = answers[response.id]
                if answer.end == "ended" and response.connection in cuts:
                    # the connection was lost between the end and the successor that was due
                    answer.successor = Answer(None, answer.lane)
                    self._lose(answer.successor, response.connection, cuts)
        return answers

    def _injects(self, answer: Answer, response: ResponseState) -> None:
        """Note what was injected while a response ran, and what answered it."""
        for inject in response.injects:
            sent = inject.sent
            if sent is None or inject.error_code == "not_sent" or _over(response, sent):
                continue  # what comes after the end is answered by the ordinary rules
            mark = InjectMark()
            ended = inject.ended
            if ended is not None and ended.kind == "in":
                mark.event, _ = _read(ended)
                self._marks[ended.seq] = mark
            answer.injects.append(mark)
            self._sent[sent.seq] = mark, response

    def _lose(self, answer: Answer, connection: int, cuts: list[int]) -> None:
        if connection in cuts:
            state = self._ledger.connections[connection]
            answer.end, answer.close = "lost", (state.close_code, state.close_reason or "")

    def _by_itself(self, response: ResponseState) -> bool:
        """Whether a response is an automatic successor."""
        parent = self._ledger.responses.get(response.previous_response_id or "")
        return (
            response.request is None
            and parent is not None
            and parent.successor is response
            and bool(parent.steers)
        )

    def _asked(self) -> Iterator[ResponseState]:
        for response in self._ledger.responses.values():
            if not self._by_itself(response):
                yield response

    def _unanswered(self, cuts: list[int]) -> list[tuple[int, int, Answer]]:
        """Requests that got no response: refused, or lost."""
        found = []
        for request in self._ledger.requests.values():
            if request.response_id is not None or request.ended is None:
                continue
            answer = Answer(None, request.lane.stream_id, request.body)
            answer.parent_id = request.previous_response_id
            if request.state == "failed":
                answer.end = "refused"
                since = seconds_between(request.sent, request.ended)
                event, raw = _read(request.ended)
                answer.moments.append(Moment(since, event, raw))
            elif request.state == "unknown" and request.connection in cuts:
                self._lose(answer, request.connection, cuts)
            else:
                continue
            found.append((request.ended.seq, request.connection, answer))
        return found

    def _events(self, answers: dict[str, Answer]) -> None:
        """Give each response its events."""
        ledger = self._ledger
        refusals = {
            request.ended.seq
            for request in ledger.requests.values()
            if request.state == "failed" and request.ended is not None
        }
        last: ResponseState | None = None
        before: dict[str, Entry] = {}
        for entry, owner in self._owners:
            found = owner or self._queued(entry) or last
            if entry.kind == "out":
                mark, target = self._sent.get(entry.seq, (None, None))
                if target is not None and not _over(target, entry):
                    place = Moment(0.0, None, "", mark, waits=True)
                    answers[target.id].moments.append(place)
                continue
            if found is None or entry.seq in refusals:
                continue
            last = found
            event, raw = _read(entry)
            mark = self._marks.get(entry.seq)
            if mark is None and event is not None and event["type"].startswith(_FOLLOWS):
                continue  # what becomes of a steer later follows from what the client does
            since = before.get(found.id) or self._before(found)
            moment = Moment(seconds_between(since, entry), event, raw, mark)
            before[found.id] = entry
            if not _over(found, entry):
                answers[found.id].moments.append(moment)
            elif mark is None:
                answers[found.id].after.append(moment)

    def _queued(self, entry: Entry) -> ResponseState | None:
        """The response that an event announced before it began."""
        event, _ = _read(entry)
        if event is None or event["type"] != "response.queued":
            return None
        response = event.get("response")
        response_id = response.get("id") if isinstance(response, dict) else None
        return self._ledger.responses.get(str(response_id))

    def _before(self, response: ResponseState) -> Entry | None:
        """What the first event of a response came after: its request, or what ran before it."""
        request = response.request
        earlier = [r.ended for r in response.lane.responses if r is not response and r.ended]
        ended = [e for e in earlier if e.seq < response.started.seq]
        sent = None if request is None else request.sent
        return max((e for e in (*ended[-1:], sent) if e is not None), key=lambda e: e.seq,
                   default=None)  # fmt: skip


def _over(response: ResponseState, entry: Entry) -> bool:
    return response.ended is not None and entry.seq > response.ended.seq


def _mark(steer: SteerState, response: ResponseState) -> Mark:
    answered = steer.accepted or steer.failed
    phase: Literal["stream", "ended", "succeeded"] = "stream"
    if answered is None:
        phase = "ended"  # the recording does not say: the simulator's own rules answer
    elif response.ended is not None and answered.seq > response.ended.seq:
        successor = response.successor
        later = successor is not None and answered.seq > successor.started.seq
        phase = "succeeded" if later else "ended"
    refused = steer.accepted is None and steer.failed is not None
    return Mark(
        steer_id=steer.steer_id,
        code=steer.failure_code or "response_not_active" if refused else None,
        message=steer.failure_message if refused else None,
        phase=phase,
        failed=(steer.failure_message or "") if steer.accepted and steer.failed else None,
    )


def _read(entry: Entry) -> tuple[dict[str, Any] | None, str]:
    raw = entry.raw or ""
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        return None, raw
    fine = isinstance(event, dict) and isinstance(event.get("type"), str)
    return (copy.deepcopy(event) if fine else None), raw
