"""A trace as something that can be served again: which events answered which request.

The ledger says to which response each event belongs, which request it answers and what became of
each steer; here that is put in the order in which a client will ask for it.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from steer_nb.errors import ScenarioError
from steer_nb.ledger import Ledger
from steer_nb.wire import stub_for, stub_key
from steer_nb.wire.requests import several_agents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from steer_nb.ledger import ResponseState, SteerState
    from steer_nb.trace import Entry, Trace

__all__ = ["Answer", "Mark", "Moment", "Part", "Recording"]

GAP_S = 0.03
"""Seconds between two events where the recording has no times."""


@dataclass(slots=True)
class Moment:
    """One recorded event, and the seconds since what came before it.

    `event` is None where the message is no JSON object: then only `raw` can be sent. `mark` is the
    steer that it acknowledges or refuses; with `waits` it is no event, but the place where the
    client sent that steer.
    """

    seconds: float
    event: dict[str, Any] | None
    raw: str
    mark: Mark | None = None
    waits: bool = False


@dataclass(slots=True, eq=False)
class Mark:
    """One recorded steer: what the service answered, and where in the response it did.

    Attributes
    ----------
    steer_id : str or None
        Its recorded id.
    code, message : str or None
        Why it was refused at once.
    phase : {"stream", "ended", "succeeded"}
        Whether the answer came while the response ran, after its end, or after its successor began.
    failed : str or None
        The service's sentence, where the steer was accepted and failed later.
    """

    steer_id: str | None
    code: str | None
    message: str | None
    phase: Literal["stream", "ended", "succeeded"]
    failed: str | None


@dataclass(slots=True, eq=False)
class Answer:
    """What a request was answered with: a response, a refusal, or nothing.

    Attributes
    ----------
    id : str or None
        The response; None where there was none.
    lane : str or None
        Its lane in the recording.
    request : dict or None
        What asked for it.
    parent_id : str or None
        The response it continued.
    moments : list of Moment
        Its events up to its end; a refusal is one event.
    after : list of Moment
        Events behind its end that belong to no steer.
    marks : list of Mark
        Its steers, in the order they were sent.
    successor : Answer or None
        The response that followed by itself.
    end : {"ended", "refused", "lost", "open"}
        How it ended: by itself, with its connection, or not in this recording.
    close : tuple of int or None, str
        How the connection was closed, where it was lost with it.
    """

    id: str | None
    lane: str | None
    request: dict[str, Any] | None = None
    parent_id: str | None = None
    moments: list[Moment] = field(default_factory=list)
    after: list[Moment] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    successor: Answer | None = None
    end: Literal["ended", "refused", "lost", "open"] = "open"
    close: tuple[int | None, str] = (None, "")

    def answers(self, body: dict[str, Any]) -> bool:
        """Whether a request is the one that was recorded; its lane may be called otherwise."""
        if self.request is None:
            return False
        one, other = ({**each, "type": "", "stream_id": ""} for each in (self.request, body))
        return one == other

    def ids(self) -> set[str]:
        """All ids that it gives out."""
        found = {self.id} if self.id else set()
        for moment in self.moments:
            item = (moment.event or {}).get("item")
            if isinstance(item, dict):
                found.update(str(item[key]) for key in ("id", "call_id") if item.get(key))
                stub = stub_for(item)
                if stub is not None:
                    found.add(stub_key(stub))
        return found


@dataclass(slots=True, eq=False)
class Part:
    """What one connection was served: from its beginning to its end, or to where it was cut off.

    `lanes` holds what clients asked for, in order; successors hang on their parents.
    """

    lanes: dict[str | None, list[Answer]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A trace, ready to be served again.

    Attributes
    ----------
    name : str
        The file's name without its ending, or the trace's id.
    trace_id : str
        Which trace.
    parts : tuple of Part
        One for each time that a connection was lost in the middle of something, and one for the
        rest.
    cuts : tuple of int
        The connections that were lost so.
    """

    name: str
    trace_id: str
    parts: tuple[Part, ...]
    cuts: tuple[int, ...] = ()

    @property
    def answers(self) -> Iterator[Answer]:
        """Everything that was asked for, successors included."""
        for part in self.parts:
            for asked in part.lanes.values():
                for answer in asked:
                    following: Answer | None = answer
                    while following is not None:
                        yield following
                        following = following.successor

    @classmethod
    def of(cls, source: Trace | str | PathLike[str]) -> Recording:
        """Read a trace, or the file of one.

        Raises
        ------
        TraceError
            The file cannot be read.
        ScenarioError
            It holds nothing that a service sent, or several agents.
        """
        from steer_nb.trace import Trace, load

        trace = source if isinstance(source, Trace) else load(source)
        where = trace.file or f"The trace {trace.trace_id[:8]}"
        if trace.header.dialect != "responses":
            msg = f"{where} is a recording of {trace.header.dialect!r}, not of the Responses API."
            raise ScenarioError(msg, path=trace.file or "")
        if any(several_agents(request.body) for request in trace.ledger.requests.values()):
            msg = (
                f"{where} is a recording of several agents: what was injected into a running "
                "response cannot be served again yet. steer_nb.load reads it."
            )
            raise ScenarioError(msg, path=trace.file or "")
        parts, cuts = _Reader(trace).read()
        if not any(answer.moments for part in parts for a in part.lanes.values() for answer in a):
            msg = f"{where} holds no events of a service: there is nothing to serve again."
            raise ScenarioError(msg, path=trace.file or "")
        name = Path(trace.file).stem if trace.file else trace.trace_id[:8]
        return cls(name, trace.trace_id, tuple(parts), tuple(cuts))


class _Reader:
    """Reads one trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._ledger = Ledger()
        self._owners: list[tuple[Entry, ResponseState | None]] = []
        self._sent: dict[int, tuple[Mark, ResponseState]] = {}  # by the entry that sent the steer
        self._marks: dict[int, Mark] = {}  # by the entry that answered the steer

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
                since = _between(request.sent, request.ended)
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
            found = owner or last
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
            if mark is None and event is not None and event["type"].startswith("response.steer."):
                continue  # what becomes of a steer later follows from what the client does
            since = before.get(found.id) or self._before(found)
            moment = Moment(_between(since, entry), event, raw, mark)
            before[found.id] = entry
            if not _over(found, entry):
                answers[found.id].moments.append(moment)
            elif mark is None:
                answers[found.id].after.append(moment)

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


def _between(before: Entry | None, entry: Entry) -> float:
    """Seconds from one entry to another; never negative."""
    if before is None:
        return 0.0
    if before.t is not None and entry.t is not None:
        return max(0.0, entry.t - before.t)
    if before.at is not None and entry.at is not None:
        return max(0.0, entry.at - before.at)
    return GAP_S
