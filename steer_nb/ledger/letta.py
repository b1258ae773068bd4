"""The Letta dialect: what each entry of a Letta trace states, given those before it.

A run is a response, and its messages are output items, told apart by their `otid` (2.1 of the
protocol notes). A message names its run, but not what the run continues, where in it the message
stands, or that it is complete; and a stop names not even the run. So this remembers the runs of
each lane. The same messages give the same facts, whether a client records them as they come or a
file is read: what differs is said beside each message (`Entry.data`):

``lane``
    the agent, or the conversation;
``from``
    ``history`` for one of a list that was asked for, oldest first; ``last`` ends the list;
``run``
    the run of a message that names none, where the reader knows it;
``path``, ``body`` and ``status``
    of HTTP: where a request went, and of an answer that is no message where it came from, and its
    status;
``key``, ``steers``
    of a request: its local key, and those of what was kept here and goes out with it;
``attempt``
    of a request that is sent once more under the same `otid`, from 2: it is the same request (5.4);
``retried``
    of an error, that its request goes out once more at once: it says nothing of it;
``unproven``
    of the answer to a cancel, that what became of its run is looked up: it does not say that.

Source: chapters 2 to 5 and 8 of the protocol notes on Letta (server 0.16.8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.ledger import facts as f
from steer_nb.ledger.letta_events import LettaEvent, as_dict, is_translated, letta_event_of
from steer_nb.ledger.letta_http import LettaRequest, declared, is_cancel, released, request_of
from steer_nb.ledger.letta_items import Run
from steer_nb.ledger.letta_lanes import Lane
from steer_nb.ledger.letta_messages import message_facts
from steer_nb.ledger.notes import read_note
from steer_nb.ledger.responses import read
from steer_nb.wire.letta import (
    ApprovalRequestMessage,
    ApprovalResponseMessage,
    AssistantMessage,
    LettaErrorMessage,
    LettaMessage,
    LettaPing,
    LettaStopReason,
    LettaUsageStatistics,
    SystemMessage,
    ToolReturnMessage,
    decoded_of,
    read_refusal,
    run_status,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.trace.entries import Entry
    from steer_nb.wire import Event

__all__ = ["LettaDialect"]

Facts = list[f.Fact]


class LettaDialect:
    """Reads the entries of one Letta trace, in order; see `read`."""

    def __init__(self) -> None:
        self._lanes: dict[str | None, Lane] = {}
        self._runs: dict[str, Run] = {}

    def read(self, entry: Entry, event: Event | None = None) -> Sequence[f.Fact]:
        """Say which facts an entry states.

        Parameters
        ----------
        entry : Entry
            A message or a note: the one after that which was read last.
        event : Event, optional
            Its message as `letta_event_of` gives it; where it stands in its run is added to it.
        """
        if entry.kind == "note":
            return self._note(entry)
        if is_translated(entry):
            return read(entry, event)
        if not isinstance(event, LettaEvent):
            event = letta_event_of(entry)
            assert isinstance(event, LettaEvent)
        data = entry.data or {}
        lane = self._lane(event.stream_id)
        if entry.kind == "out":
            return self._request(lane, entry, data)
        if event.found is None:
            return self._body(lane, event, data)
        message = event.found.message
        facts: Facts = []
        if isinstance(message, LettaStopReason):
            facts += self._stopped(lane, self._known(lane, data), message.stop_reason)
        elif isinstance(message, LettaUsageStatistics):
            facts += self._used(lane, self._known(lane, data), message)
        elif isinstance(message, LettaErrorMessage):
            facts += self._failed(lane, message)
        elif isinstance(message, LettaMessage):
            history = data.get("from") == "history"
            facts += self._message(lane, event, message, history=history)
        if data.get("last") is True:
            facts += self._list_ended(lane)
            facts.append(f.Repeated(getattr(message, "run_id", None) or ""))  # whose message it is
        if event.found.problem is not None:
            facts.append(f.Odd(event.found.problem, event.found.detail))
        elif not event.known:
            facts.append(f.Odd("unknown_type", event.type or "no message_type"))
        return facts

    def _note(self, entry: Entry) -> Sequence[f.Fact]:
        data = entry.data or {}
        if entry.note == "unsent" and isinstance(data.get("lane"), str):
            lane = self._lane(data["lane"])
            lane.waiting = max(0, lane.waiting - 1)
        settings = data.get("settings")
        if entry.note == "lane" and isinstance(settings, dict):
            # Each request will declare them: also what waited before is asked of them.
            self._lane(data.get("lane")).client_tools = declared(settings.get("tools"))
        facts = read_note(entry)
        if entry.note != "closed":
            return facts
        # Conversations are kept by the service, and what runs there goes on (3, 5.2).
        lost = (fact for fact in facts if isinstance(fact, f.Disconnected))
        return [f.Disconnected(one.code, one.reason, one.by, keeps=True) for one in lost]

    # -- what is sent --------------------------------------------------------------------------

    def _request(self, lane: Lane, entry: Entry, data: dict[str, Any]) -> Facts:
        asked = request_of(as_dict(entry.raw or ""), str(data.get("path") or ""))
        if asked is None or data.get("attempt"):
            return []
        lane.agent_id = asked.agent_id or lane.agent_id
        lane.client_tools = asked.client_tools
        lane.waiting += 1
        key, again = data.get("key"), data.get("again")
        return [
            f.RequestSent(
                key if isinstance(key, str) else f"create-{entry.seq}",
                lane.name,
                self._asking(lane, asked),
                asked.body,
                asked.answers,
                again if isinstance(again, str) else None,
                steers=tuple(map(str, data.get("steers") or ())),
            )
        ]

    def _asking(self, lane: Lane, asked: LettaRequest) -> str | None:
        """Which run made the calls that a request answers: Letta's requests do not say."""
        for answer in asked.answers:
            answer["tool_call_id"] = lane.call_id(answer["tool_call_id"])
        makers = (lane.calls.get(answer["tool_call_id"]) for answer in asked.answers)
        return next((run.id for run in makers if run is not None), None)

    # -- answers of HTTP that are no messages ---------------------------------------------------

    def _body(self, lane: Lane, event: LettaEvent, data: dict[str, Any]) -> Facts:
        path, body = str(data.get("body") or ""), as_dict(event.raw)
        if data.get("retried") or data.get("unproven"):
            return []
        if event.family == "error":
            if is_cancel(path):
                return []  # it is about no message
            told = read_refusal(body or event.raw, event.status)
            if told.pending_request_id is not None:
                lane.refused_for.add(told.pending_request_id)
            lane.waiting = max(0, lane.waiting - 1)
            error = (lane.name, told.code, told.message, None, told.kind, told.status)
            return [f.ServerError(*error)]
        facts: Facts = []
        pending = body.get("pending_approval")
        if isinstance(pending, dict):
            found = decoded_of(pending).message
            if isinstance(found, ApprovalRequestMessage):
                facts += self._message(lane, event, found, history=True)
                facts += self._list_ended(lane)
        facts += self._about_run(lane, path, body)
        known = {name: run for name, run in self._runs.items() if name in body}
        cancelled = [run for name, run in known.items() if body[name] == "cancelled"]
        for run in cancelled:
            facts += self._ended(run, "cancelled", {"status": "cancelled"})
        facts += released(path, lane.name, [run.id for run in cancelled if run.lane == lane.name])
        return facts

    def _about_run(self, lane: Lane, path: str, body: dict[str, Any]) -> Facts:
        """Read a run as the service has it: one that was asked for, or that a message began."""
        run_id, status = body.get("id"), body.get("status")
        if not isinstance(run_id, str) or not isinstance(status, str) or "agent_id" not in body:
            return []
        facts: Facts = []
        run = self._runs.get(run_id)
        if run is None:
            if not path.endswith("/async"):
                return []
            run = self._begin(lane, run_id, facts)
            run.streamed = False
        if status in ("completed", "failed", "cancelled") and not run.over:
            reason = body.get("stop_reason")
            facts += self._ended(run, status, {"status": reason or status})
        return [*facts, f.Repeated(run_id)]

    # -- messages ------------------------------------------------------------------------------

    def _lane(self, name: str | None) -> Lane:
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = Lane(name)
            if name is not None and name.startswith("agent-"):
                lane.agent_id = name
        return lane

    def _known(self, lane: Lane, data: dict[str, Any]) -> Run | None:
        named = data.get("run")
        return self._runs.get(named) if isinstance(named, str) else lane.speaking

    def _begin(self, lane: Lane, run_id: str, facts: Facts) -> Run:
        """A run begins, in its stream."""
        run = self._runs[run_id] = Run(run_id, lane.name, lane.client_tools, streamed=True)
        lane.run = lane.speaking = run
        lane.stopped = None
        lane.waiting = max(0, lane.waiting - 1)
        facts.append(f.ResponseStarted(lane.name, run_id, {"id": run_id}))
        return run

    def _message(
        self, lane: Lane, event: LettaEvent, message: LettaMessage, *, history: bool
    ) -> Facts:
        facts: Facts = []
        run = self._runs.get(message.run_id or "")
        asked = lane  # a run may be resumed, or its messages asked for, in a place of its own
        if run is not None:
            lane.speaking = lane.speaking if history else run
            lane = self._lane(run.lane)
        elif message.run_id is None:
            if history or isinstance(message, LettaPing | SystemMessage):
                return []
            run = lane.run if lane.run is not None and not lane.run.over else None
            if run is None:
                run = self._begin(lane, lane.unnamed(), facts)
        elif history:
            run = self._listed(lane, message.run_id, facts)
        else:
            run = self._begin(lane, message.run_id, facts)
        if history:
            lane.listing[run.id] = asked.listing[run.id] = message
            if run is lane.run or not lane.is_older(run):
                lane.run = run
        elif self._again(run, message):
            if lane.waiting and run is lane.run:
                lane.waiting -= 1
                facts.append(f.RequestJoined(lane.name, run.id))
            return [*facts, f.Repeated(run.id)]
        live = not history and run is lane.run and not run.over
        run.streamed = run.streamed or not history
        start = len(facts)
        facts += message_facts(lane, run, event, message, live=live, history=history)
        if len(facts) == start:
            facts.append(f.Repeated(run.id))
        return facts

    def _listed(self, lane: Lane, run_id: str, facts: Facts) -> Run:
        """A run is first heard of in a history. It is newer than those that were listed before."""
        run = self._runs[run_id] = Run(run_id, lane.name, lane.client_tools)
        newest = not lane.is_older(run)
        if newest:
            lane.run = run
        before = next(reversed(lane.listing), None)
        facts.append(f.ResponseListed(lane.name, run_id, newest, before))
        return run

    def _again(self, run: Run, message: LettaMessage) -> bool:
        """Whether a stream that is read once more has come to where it was (5.3)."""
        if message.seq_id is None or isinstance(message, LettaPing):
            return False
        if message.seq_id <= run.seq:
            return True
        run.seq = message.seq_id
        return False

    # -- ends ----------------------------------------------------------------------------------

    def _ended(self, run: Run, status: str, head: dict[str, Any], *, asks: bool = False) -> Facts:
        if run.over:
            return []
        run.over = True
        items: list[f.ItemFinished] = []
        for item in run.items.values():
            asked = asks and item.is_call and item.fields["call_id"] in run.asked
            if asked or not item.over:
                stub = run.stub(item) if asked else None
                items.append(item.finished(run.lane, stub, "letta_stream"))
            item.over = True
        head = {"id": run.id, **head}
        return [f.ResponseEnded(run.lane, run.id, status, head, tuple(items))]

    def _stopped(self, lane: Lane, run: Run | None, reason: str) -> Facts:
        status = run_status(reason)
        if run is not None and not run.over:
            head: dict[str, Any] = {"status": reason}
            if status == "failed":
                told = f"Letta stopped the run: {reason}."
                head["error"] = {"code": reason, "message": told}
            return self._ended(run, status, head, asks=reason == "requires_approval")
        if run is not None and not lane.waiting:
            return [f.Repeated(run.id)]  # a stream that was read once more
        lane.stopped = reason  # the error behind it says of which run, if one follows
        return []

    def _used(self, lane: Lane, run: Run | None, message: LettaUsageStatistics) -> Facts:
        facts: Facts = []
        if lane.stopped is not None:
            # Nothing of this run was shown, not even its id.
            reason, lane.stopped = lane.stopped, None
            run = self._begin(lane, lane.unnamed(), facts)
            facts += self._stopped(lane, run, reason)
        if run is None:
            return facts
        usage = {
            "input_tokens": message.prompt_tokens,
            "output_tokens": message.completion_tokens,
            "total_tokens": message.total_tokens,
            "input_tokens_details": {
                "cached_tokens": message.cached_input_tokens,
                "cache_write_tokens": message.cache_write_tokens,
            },
            "output_tokens_details": {"reasoning_tokens": message.reasoning_tokens},
        }
        head = {"id": run.id, "usage": usage}
        return [*facts, f.ResponseProgress(run.lane, run.id, head)]

    def _failed(self, lane: Lane, message: LettaErrorMessage) -> Facts:
        facts: Facts = []
        told = read_refusal(message.to_dict())
        error = {"code": told.code, "message": told.message}
        run = self._runs.get(message.run_id)
        if run is None and message.run_id:
            # Nothing came before it but the stop: it is the first to name its run.
            reason = lane.stopped or "error"
            run = self._begin(lane, message.run_id, facts)
            facts += self._ended(run, "failed", {"status": reason, "error": error})
        lane.stopped = None
        owner = None if run is None else run.id
        if run is not None:
            run.over = True
        place = (lane.name if run is None else run.lane, told.code, told.message)
        return [*facts, f.ServerError(*place, None, told.kind, None, owner)]

    def _list_ended(self, lane: Lane) -> Facts:
        """A list is over: so are its runs, as far as what stands last in each says so."""
        facts: Facts = []
        for run_id, last in list(lane.listing.items()):
            run = self._runs[run_id]
            self._lane(run.lane).listing.pop(run_id, None)
            places, run.listing = tuple(dict.fromkeys(run.listing)), []
            if places != tuple(sorted(places)):  # what a stream left out stands before its text
                facts.append(f.ItemsOrdered(run_id, places))
            if run.over or run.streamed:
                continue
            gone = isinstance(last, ToolReturnMessage | ApprovalResponseMessage) and run.asked
            done = isinstance(last, AssistantMessage | ApprovalRequestMessage)
            status = "cancelled" if gone else "completed" if done else "truncated"
            facts += self._ended(run, status, {})
            run.over = status != "truncated"  # its end may still come
        lane.listing.clear()
        return facts
