"""The fold: what follows from a trace so far.

A `Ledger` takes trace entries one by one, in order, and keeps lanes, responses, steers, requests
and required input. It is pure: no clock, no socket, no thread; folding the same entries again gives
the same state. The rules of steering stand in `steer_nb.ledger.steering`, those of required input
in `steer_nb.ledger.required`, what may be sent now in `steer_nb.ledger.rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.ledger import facts as f
from steer_nb.ledger import required, steering
from steer_nb.ledger.responses import read
from steer_nb.ledger.state import (
    ConnectionState,
    ItemState,
    LaneState,
    RequestState,
    ResponseState,
    ServerErrorState,
    SteerState,
)
from steer_nb.trace.entries import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from steer_nb.trace.entries import Entry

__all__ = ["Ledger"]

_ENDS = {"completed", "incomplete", "failed", "cancelled"}
# Errors of the whole connection: they belong to no lane even when the default lane is busy.
_CONNECTION_CODES = {"websocket_connection_limit_reached", "invalid_stream_id"}


class Ledger:
    """State of a session, folded from its trace.

    Parameters
    ----------
    entries : iterable of Entry, optional
        Folded at once.
    dialect : callable, optional
        Turns an entry into facts; OpenAI's Responses API by default.

    Attributes
    ----------
    lanes : dict of (str or None) to LaneState
        By `stream_id`; None is the default lane.
    responses : dict of str to ResponseState
        By id, in the order they were created.
    requests : dict of str to RequestState
        Every `response.create`, by local key.
    steers : dict of str to SteerState
        Every steer, by local key.
    connections : dict of int to ConnectionState
        Every socket, by number from 1.
    errors : list of ServerErrorState
        Every `error` event.
    problems : list of Problem
        What was odd.
    version : int
        Grows with every change that is more than text.
    """

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        dialect: Callable[[Entry], Sequence[f.Fact]] = read,
    ) -> None:
        self.lanes: dict[str | None, LaneState] = {}
        self.responses: dict[str, ResponseState] = {}
        self.requests: dict[str, RequestState] = {}
        self.steers: dict[str, SteerState] = {}
        self.connections: dict[int, ConnectionState] = {}
        self.errors: list[ServerErrorState] = []
        self.problems: list[Problem] = []
        self.version = 0
        self._read = dialect
        self._handlers: dict[type[f.Fact], Callable[[Any, Entry], ResponseState | None]] = {
            f.Connected: self._connected,
            f.Disconnected: self._disconnected,
            f.LaneOpened: self._lane_opened,
            f.LaneClosed: self._lane_closed,
            f.RequestSent: self._request_sent,
            f.Unsent: self._unsent,
            f.ResponseStarted: self._response_started,
            f.ResponseProgress: self._response_progress,
            f.ItemAdded: self._item_added,
            f.ItemFinished: self._item_finished,
            f.PartFinished: self._part_finished,
            f.Other: self._other,
            f.ResponseEnded: self._response_ended,
            f.ServerError: self._server_error,
            f.SteerSent: self._steer_sent,
            f.SteerAccepted: self._steer_accepted,
            f.SteerPending: self._steer_pending,
            f.SteerFailed: self._steer_failed,
            f.InputFilled: self._input_filled,
            f.InputCleared: self._input_cleared,
            f.ToolStarted: self._tool_started,
            f.ToolFinished: self._tool_finished,
            f.Odd: self._odd,
        }
        for entry in entries:
            self.apply(entry)

    def apply(self, entry: Entry) -> ResponseState | None:
        """Fold the next entry.

        Returns
        -------
        ResponseState or None
            The response that the entry belongs to, if it belongs to one.
        """
        owner: ResponseState | None = None
        sequence_number: int | None = None
        for fact in self._read(entry):
            if type(fact) is f.Delta:  # nine of ten events: kept short
                found = self._delta(fact, entry)
            else:
                self.version += 1
                found = self._handlers[type(fact)](fact, entry)
            if found is not None:
                owner = found
            if fact.sequence_number is not None:
                sequence_number = fact.sequence_number
        if owner is not None:
            owner.n_events += 1
            owner.last = owner.lane.last = entry
            if sequence_number is not None:
                last = owner.last_sequence_number
                if last is not None and sequence_number != last + 1 and not owner.sequence_gap:
                    owner.sequence_gap = True
                    self.problem("sequence_gap", f"{owner.id}: {last}, {sequence_number}", entry)
                owner.last_sequence_number = sequence_number
        if entry.connection and entry.raw is not None:
            connection = self.connections.get(entry.connection)
            if connection is not None:
                if entry.kind == "in":
                    connection.n_in += 1
                else:
                    connection.n_out += 1
        return owner

    def problem(self, kind: str, detail: str, entry: Entry) -> None:
        """Keep a note of something odd."""
        self.problems.append(Problem(kind=kind, detail=detail, seq=entry.seq))

    # -- connections and lanes ---------------------------------------------------------------

    def lane(self, stream_id: str | None, entry: Entry) -> LaneState:
        """The lane of that `stream_id`, made when it is first heard of."""
        lane = self.lanes.get(stream_id)
        if lane is None:
            lane = LaneState(stream_id=stream_id, connection=entry.connection, opened=entry)
            self.lanes[stream_id] = lane
        return lane

    def _connected(self, fact: f.Connected, entry: Entry) -> None:
        self.connections[entry.connection] = ConnectionState(
            number=entry.connection, url=fact.url, opened=entry
        )

    def _disconnected(self, fact: f.Disconnected, entry: Entry) -> None:
        connection = self.connections.get(entry.connection)
        if connection is None:
            connection = ConnectionState(number=entry.connection, url="", opened=entry)
            self.connections[entry.connection] = connection
        elif connection.closed is not None:
            return
        connection.closed = entry
        connection.close_code = fact.code
        connection.close_reason = fact.reason
        connection.end_kind = fact.by
        for lane in self.lanes.values():
            if lane.connection != entry.connection:
                continue
            lane.detached = lane.detached or bool(lane.requests or lane.responses)
            for request in lane.queue:
                # Written, and nothing heard: it may or may not have been received (chapter 8).
                request.state = "unknown"
                request.ended = entry
            lane.queue.clear()
            if lane.current is not None:
                lane.current.status = "truncated"
                lane.current.ended = entry
                lane.current = None
        steering.connection_lost(self, entry)

    def _lane_opened(self, fact: f.LaneOpened, entry: Entry) -> None:
        lane = self.lane(fact.lane, entry)
        lane.settings = dict(fact.settings)
        lane.closed = None
        if fact.forked_from is not None:
            lane.forked_from = fact.forked_from
        lane.last = entry

    def _lane_closed(self, fact: f.LaneClosed, entry: Entry) -> None:
        self.lane(fact.lane, entry).closed = entry

    # -- requests ----------------------------------------------------------------------------

    def _request_sent(self, fact: f.RequestSent, entry: Entry) -> None:
        lane = self.lane(fact.lane, entry)
        if lane.connection != entry.connection:
            lane.connection = entry.connection
        lane.detached = False
        lane.error_code = lane.error_message = None
        lane.last = entry
        request = RequestState(
            key=fact.key,
            lane=lane,
            connection=entry.connection,
            previous_response_id=fact.previous_response_id,
            body=fact.body,
            answers=fact.answers,
            sent=entry,
        )
        self.requests[fact.key] = request
        lane.queue.append(request)
        lane.requests.append(request)
        parent = self.responses.get(fact.previous_response_id or "")
        if fact.answers:
            required.answers_sent(self, request, parent, entry)

    def _unsent(self, fact: f.Unsent, entry: Entry) -> ResponseState | None:
        request = self.requests.get(fact.key)
        if request is not None:
            request.state = "unsent"
            request.error_message = fact.reason
            request.ended = entry
            if request in request.lane.queue:
                request.lane.queue.remove(request)
            required.answers_returned(self, request)
            return None
        steer = self.steers.get(fact.key)
        if steer is not None:
            steering.fail(steer, "not_sent", fact.reason, steer.input, entry)
        return None

    def _request_failed(self, request: RequestState, fact: f.ServerError, entry: Entry) -> None:
        lane = request.lane
        request.state = "failed"
        request.error_code = fact.code
        request.error_message = fact.message
        request.ended = entry
        if request in lane.queue:
            lane.queue.remove(request)
        lane.error_code, lane.error_message = fact.code, fact.message
        required.answers_returned(self, request)

    # -- responses ---------------------------------------------------------------------------

    def _response_started(self, fact: f.ResponseStarted, entry: Entry) -> ResponseState:
        known = self.responses.get(fact.response_id)
        if known is not None:  # a repeated `response.created` starts nothing
            self._take_head(known, fact.response)
            return known
        lane = self.lane(fact.lane, entry)
        if lane.current is not None:
            # A lane never overlaps: the one before ended without a terminal event.
            lane.current.status = "truncated"
            lane.current.ended = entry
        previous = fact.response.get("previous_response_id")
        response = ResponseState(
            id=fact.response_id,
            lane=lane,
            connection=entry.connection,
            started=entry,
            previous_response_id=previous if isinstance(previous, str) else None,
        )
        self._take_head(response, fact.response)
        parent = self.responses.get(response.previous_response_id or "")
        request = steering.request_for(lane, response, parent)
        if request is not None:
            request.state = "started"
            request.response_id = response.id
            request.ended = entry
            lane.queue.remove(request)
            response.request = request
            if response.previous_response_id is None:
                # Some services do not repeat it; what was asked for is what it hangs on.
                response.previous_response_id = request.previous_response_id
                parent = self.responses.get(response.previous_response_id or "")
        self.responses[response.id] = response
        lane.responses.append(response)
        lane.current = lane.tip = response
        lane.detached = False
        lane.error_code = lane.error_message = None
        if lane.stream_id is not None:
            lane.echoed = True
        committed = steering.commit(parent, response, entry)
        response.origin = steering.origin(response, parent, committed=committed)
        if parent is not None and parent.lane is lane:
            required.parent_continued(parent, response)
        return response

    def _response_progress(self, fact: f.ResponseProgress, entry: Entry) -> ResponseState:
        response = self._response(fact.lane, fact.response_id, entry)
        if response is None:  # a resumed recording begins in the middle
            return self._response_started(
                f.ResponseStarted(fact.lane, fact.response_id, fact.response), entry
            )
        self._take_head(response, fact.response)
        return response

    def _response(
        self, stream_id: str | None, response_id: str, entry: Entry
    ) -> ResponseState | None:
        known = self.responses.get(response_id)
        if known is not None:
            return known
        lane = self.lane(stream_id, entry)
        response = lane.current
        if response is not None and not response.id_unstable:
            # Some gateways invent new ids for every event; the lane's order ties them together.
            response.id_unstable = True
            self.problem("id_unstable", f"{response.id}, then {response_id}", entry)
        return response

    def _take_head(self, response: ResponseState, head: dict[str, Any]) -> None:
        response.head = head
        model, created = head.get("model"), head.get("created_at")
        tier, store = head.get("service_tier"), head.get("store")
        reasoning, usage = head.get("reasoning"), head.get("usage")
        if isinstance(model, str):
            response.model = model
        if isinstance(created, int | float) and not isinstance(created, bool):
            response.created_at = float(created)
        if isinstance(tier, str):
            response.service_tier = tier
        if isinstance(store, bool):
            response.store = store
        if isinstance(reasoning, dict) and isinstance(reasoning.get("effort"), str):
            response.reasoning_effort = reasoning["effort"]
        if isinstance(usage, dict):
            response.usage = usage

    def _response_ended(self, fact: f.ResponseEnded, entry: Entry) -> ResponseState:
        response = self._response(fact.lane, fact.response_id, entry)
        if response is None:
            response = self._response_started(
                f.ResponseStarted(fact.lane, fact.response_id, fact.response), entry
            )
        response.n_terminals += 1
        self._take_head(response, fact.response)
        again = response.status in _ENDS
        if again:
            # `response.done`, or a gateway that ends twice: it counts once (hard case 4).
            self.problem("duplicate_terminal", f"{response.id}: {fact.status}", entry)
        else:
            response.status = fact.status  # type: ignore[assignment]
            response.status_raw = _string(fact.response.get("status"))
            response.ended = entry
            response.incomplete_reason = _reason(fact.response)
        error = fact.response.get("error")
        if isinstance(error, dict):
            response.error_code = _string(error.get("code")) or response.error_code
            response.error_message = _string(error.get("message")) or response.error_message
        if response.lane.current is response:
            response.lane.current = None
        places = {item.id: index for index, item in response.items.items() if item.id is not None}
        for item in fact.items:
            # The terminal counts its items anew; an item that came before keeps its place.
            index = places.get(_string(item.item.get("id")), item.output_index)
            self._finish_item(response, item, index, entry, source="terminal")
        required.parent_ended(response)
        return response

    # -- items -------------------------------------------------------------------------------

    def _owner(self, stream_id: str | None) -> ResponseState | None:
        lane = self.lanes.get(stream_id)
        return None if lane is None else lane.current or lane.tip

    def _item(
        self, response: ResponseState, index: int | None, entry: Entry, *, new: bool = False
    ) -> ItemState:
        if index is None:  # audio deltas carry none; elsewhere it is odd
            newest = max(response.items, default=-1)
            index = newest + 1 if new else max(newest, 0)
            if new:
                self.problem("missing_index", f"{response.id}: an item without output_index", entry)
        item = response.items.get(index)
        if item is None:
            item = response.items[index] = ItemState(output_index=index)
        return item

    def _item_added(self, fact: f.ItemAdded, entry: Entry) -> ResponseState | None:
        response = self._owner(fact.lane)
        if response is None:
            return None
        item = self._item(response, fact.output_index, entry, new=True)
        item.added = item.added or entry
        if fact.item is not None and item.source == "added":
            item.data = fact.item
        response.first_item = response.first_item or entry
        return response

    def _item_finished(self, fact: f.ItemFinished, entry: Entry) -> ResponseState | None:
        response = self._owner(fact.lane)
        if response is not None:
            self._finish_item(response, fact, fact.output_index, entry, source="done")
        return response

    def _finish_item(
        self,
        response: ResponseState,
        fact: f.ItemFinished,
        index: int | None,
        entry: Entry,
        *,
        source: str,
    ) -> None:
        item = self._item(response, index, entry)
        if item.source == "done" and source == "terminal":
            pass  # the terminal repeats what `output_item.done` said
        else:
            item.data = fact.item
            item.done = entry
            item.source = source  # type: ignore[assignment]
            for channel, number, text in fact.texts:
                item.parts[channel, number] = [text]
        if fact.stub is not None:
            required.asked(response, fact, entry)

    def _delta(self, fact: f.Delta, entry: Entry) -> ResponseState | None:
        lane = self.lanes.get(fact.lane)
        response = None if lane is None else lane.current or lane.tip
        if response is None:
            return None
        item = response.items.get(fact.output_index) if fact.output_index is not None else None
        if item is None:
            item = self._item(response, fact.output_index, entry)
            if fact.output_index is not None:
                where = f"{response.id}: a delta for item {fact.output_index} before it was added"
                self.problem("missing_index", where, entry)
        part = (fact.channel, fact.index)
        pieces = item.parts.get(part)
        if pieces is None:
            item.parts[part] = [fact.text]
        else:
            pieces.append(fact.text)
        item.n_deltas += 1
        response.n_deltas += 1
        if response.first_chunk is None:
            response.first_chunk = entry
        if response.first_text is None and fact.channel == "text":
            response.first_text = entry
        return response

    def _part_finished(self, fact: f.PartFinished, entry: Entry) -> ResponseState | None:
        response = self._owner(fact.lane)
        if response is not None:
            item = self._item(response, fact.output_index, entry)
            item.parts[fact.channel, fact.index] = [fact.text]
        return response

    def _other(self, fact: f.Other, entry: Entry) -> ResponseState | None:
        response = self._owner(fact.lane)
        if response is not None and fact.annotation:
            self._item(response, fact.output_index, entry).n_annotations += 1
        return response

    # -- errors ------------------------------------------------------------------------------

    def _server_error(self, fact: f.ServerError, entry: Entry) -> ResponseState | None:
        lane = self.lanes.get(fact.lane)
        if fact.lane is None and fact.code in _CONNECTION_CODES:
            lane = None
        request = response = None
        if lane is not None:
            current = lane.current
            # Inside a response's stream an error carries a sequence number (chapter 1.5). Without
            # one it refuses the oldest request still waiting, if any.
            if current is not None and (fact.sequence_number is not None or not lane.queue):
                response = current
            elif lane.queue:
                request = lane.queue[0]
        if request is not None:
            self._request_failed(request, fact, entry)
        elif response is not None:
            response.status = "error"
            response.status_raw = "error"
            response.error_code, response.error_message = fact.code, fact.message
            response.ended = entry
            response.lane.current = None
            response.lane.error_code, response.lane.error_message = fact.code, fact.message
            steering.response_broke(response, entry)
            required.parent_ended(response)
        self.errors.append(
            ServerErrorState(
                entry=entry,
                lane=lane,
                request=request,
                response=response,
                code=fact.code,
                message=fact.message,
                param=fact.param,
                type=fact.type,
                status=fact.status,
            )
        )
        return response

    # -- steers, required input, tools: the rules stand in their own modules -------------------

    def _steer_sent(self, fact: f.SteerSent, entry: Entry) -> ResponseState | None:
        return steering.sent(self, fact, entry)

    def _steer_accepted(self, fact: f.SteerAccepted, entry: Entry) -> ResponseState | None:
        return steering.accepted(self, fact, entry)

    def _steer_pending(self, fact: f.SteerPending, entry: Entry) -> ResponseState | None:
        parent = steering.pending(self, fact, entry)
        if parent is not None:
            required.listed(parent, fact, entry)
        return parent

    def _steer_failed(self, fact: f.SteerFailed, entry: Entry) -> ResponseState | None:
        return steering.failed(self, fact, entry)

    def _input_filled(self, fact: f.InputFilled, entry: Entry) -> ResponseState | None:
        return required.filled(self, fact, entry)

    def _input_cleared(self, fact: f.InputCleared, _: Entry) -> ResponseState | None:
        return required.cleared(self, fact)

    def _tool_started(self, fact: f.ToolStarted, entry: Entry) -> ResponseState | None:
        return required.tool_started(self, fact, entry)

    def _tool_finished(self, fact: f.ToolFinished, entry: Entry) -> ResponseState | None:
        return required.tool_finished(self, fact, entry)

    def _odd(self, fact: f.Odd, entry: Entry) -> None:
        self.problem(fact.kind, fact.detail, entry)


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _reason(response: dict[str, Any]) -> str | None:
    details = response.get("incomplete_details")
    return _string(details.get("reason")) if isinstance(details, dict) else None
