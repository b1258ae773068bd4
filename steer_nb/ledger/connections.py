"""Sockets, lanes and requests: what is open, what was written, and what a lost socket leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from steer_nb.ledger import deciding, drafts, injecting, keeping, required, steering, streams
from steer_nb.ledger.state import (
    ConnectionState,
    LaneState,
    RequestState,
    ResponseState,
    ResumeWord,
    ServerErrorState,
)
from steer_nb.wire.letta import FAULT_KINDS

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.trace.entries import Entry

__all__ = [
    "connected",
    "disconnected",
    "lane_closed",
    "lane_opened",
    "lane_recovered",
    "reconnecting",
    "request_sent",
    "server_error",
    "unsent",
]

LIMIT_CODE: Final = "websocket_connection_limit_reached"
# These carry no `stream_id`, and yet are not about the default lane, even when that is busy.
CONNECTION_CODES: Final = frozenset({LIMIT_CODE, "invalid_stream_id"})
RESUME_WORDS: Final = frozenset(get_args(ResumeWord))


def connected(ledger: Ledger, fact: f.Connected, entry: Entry) -> None:
    """A socket is open."""
    ledger.connections[entry.connection] = ConnectionState(
        number=entry.connection, url=fact.url, opened=entry
    )
    ledger.reconnecting = None
    ledger.gave_up = None


def reconnecting(ledger: Ledger, fact: f.Reconnecting, _: Entry) -> None:
    """A new connection is tried, or no more is."""
    ledger.reconnecting = fact if fact.attempt else None
    ledger.gave_up = None if fact.attempt else fact.reason


def disconnected(ledger: Ledger, fact: f.Disconnected, entry: Entry) -> None:
    """A socket is gone. What was written and not answered has an unknown outcome (chapter 8)."""
    connection = ledger.connections.get(entry.connection)
    if connection is None:
        connection = ConnectionState(number=entry.connection, url="", opened=entry)
        ledger.connections[entry.connection] = connection
    elif connection.closed is not None:
        return
    connection.closed = entry
    connection.close_code = fact.code
    connection.close_reason = fact.reason
    connection.end_kind = fact.by
    for lane in ledger.lanes.values():
        if lane.connection != entry.connection:
            continue
        if fact.keeps:
            streams.all_lost(ledger, lane, entry)
            continue
        if lane.requests or lane.responses:
            _detach(lane, "connection")
        for request in lane.queue:
            # Written, and nothing heard: it may or may not have been received (chapter 8).
            request.state = "unknown"
            request.ended = entry
        lane.queue.clear()
        if lane.current is not None:
            lane.current.status = "truncated"
            lane.current.ended = entry
            lane.current = None
    if fact.keeps:
        return
    steering.connection_lost(ledger, entry)
    injecting.connection_lost(ledger, entry)


def lane_opened(ledger: Ledger, fact: f.LaneOpened, entry: Entry) -> None:
    """A person opened a lane, or changed what its requests carry."""
    lane = ledger.lane(fact.lane, entry)
    lane.settings = dict(fact.settings)
    lane.closed = None
    if fact.forked_from is not None:
        lane.forked_from = fact.forked_from
    lane.last = entry


def lane_closed(ledger: Ledger, fact: f.LaneClosed, entry: Entry) -> None:
    """A person closed a lane."""
    ledger.lane(fact.lane, entry).closed = entry


def _detach(lane: LaneState, reason: str) -> None:
    """What the service kept for the lane is gone: a person says how it goes on."""
    lane.detached = True
    lane.detached_for = reason
    lane.resume = lane.resume_from = lane.resumed = None


def lane_recovered(ledger: Ledger, fact: f.LaneRecovered, entry: Entry) -> None:
    """A person chose how a detached lane goes on."""
    lane = ledger.lane(fact.lane, entry)
    if fact.choice not in RESUME_WORDS:
        ledger.problem("odd_field", f"lane {lane.name} recovered by {fact.choice!r}", entry)
        return
    lane.detached = False
    lane.detached_for = None
    lane.connection = entry.connection
    lane.resume = fact.choice  # type: ignore[assignment]
    lane.resume_from = fact.base
    lane.resumed = entry
    lane.error_code = lane.error_message = None
    if fact.choice == "continue":
        _go_back(ledger, lane, fact.base)
        return
    # The old chain is left: its calls are answered in the repeated context, or not at all.
    for response in lane.responses:
        required.set_aside(response)
        injecting.leave(response)


def _go_back(ledger: Ledger, lane: LaneState, base_id: str | None) -> None:
    """Leave what was begun after the base and cut off; what the base asks for is asked again.

    The service still has the base as it was when it ended: without an answer to its calls nothing
    can follow it, also where a response that was cut off had them already.
    """
    base = ledger.responses.get(base_id or "")
    if base is None or base.lane is not lane:
        return
    for response in lane.responses[lane.responses.index(base) + 1 :]:
        response.left = True
        required.set_aside(response)
        injecting.leave(response)
        if response.request is not None:
            response.request.left = True
    if base.successor is not None and base.successor.left:
        base.successor = None
    if base.status == "completed":
        required.reopened(base)
    lane.tip = base


def request_sent(ledger: Ledger, fact: f.RequestSent, entry: Entry) -> None:
    """A request is written: from here on it may have been received."""
    if fact.again is not None:
        deciding.decide(ledger, fact.again, "sent_again", fact.key)
    lane = ledger.lane(fact.lane, entry)
    if lane.connection != entry.connection:
        lane.connection = entry.connection
    lane.detached = False
    lane.detached_for = None
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
        repeated=fact.repeated,
        steers=fact.steers,
    )
    ledger.requests[fact.key] = request
    lane.queue.append(request)
    lane.requests.append(request)
    drafts.said(lane, fact.body.get("input"))
    if fact.steers:
        keeping.carried(ledger, fact.steers, request, entry)
    parent = ledger.responses.get(fact.previous_response_id or "")
    if fact.answers:
        required.answers_sent(ledger, request, parent, entry)


def unsent(ledger: Ledger, fact: f.Unsent, entry: Entry) -> ResponseState | None:
    """A message certainly never left: its input can be sent again."""
    request = ledger.requests.get(fact.key)
    if request is not None:
        request.state = "unsent"
        request.error_message = fact.reason
        request.ended = entry
        if request in request.lane.queue:
            request.lane.queue.remove(request)
        required.answers_returned(ledger, request)
        keeping.returned(ledger, request)
        return None
    steer = ledger.steers.get(fact.key)
    if steer is not None:
        steering.fail(steer, "not_sent", fact.reason, steer.input, entry)
    inject = ledger.injects.get(fact.key)
    if inject is not None:
        injecting.fail(ledger, inject, "not_sent", fact.reason, entry)
    return None


def _request_failed(
    ledger: Ledger, request: RequestState, fact: f.ServerError, entry: Entry
) -> None:
    lane = request.lane
    request.state = "failed"
    request.error_code = fact.code
    request.error_message = fact.message
    request.ended = entry
    if request in lane.queue:
        lane.queue.remove(request)
    lane.error_code, lane.error_message = fact.code, fact.message
    required.answers_returned(ledger, request)
    keeping.returned(ledger, request)
    parent = ledger.responses.get(request.previous_response_id or "")
    if parent is not None:
        steering.prove(parent, entry)
    if fact.code == "previous_response_not_found" and request.previous_response_id:
        ledger.gone.add(request.previous_response_id)
        if lane.responses or request.previous_response_id in ledger.responses:
            _detach(lane, "previous_response_not_found")


def _lane_of(ledger: Ledger, fact: f.ServerError, entry: Entry) -> LaneState | None:
    lane = ledger.lanes.get(fact.lane)
    if fact.lane is not None:
        return lane
    if lane is not None and (lane.current is not None or lane.queue):
        return None if fact.code in CONNECTION_CODES else lane
    busy = [
        other
        for other in ledger.lanes.values()
        if other.connection == entry.connection and (other.current is not None or other.queue)
    ]
    # Not every service names the lane. With one request in flight there is nothing else that the
    # error could answer; with more, nothing is guessed.
    alone = busy[0] if len(busy) == 1 and fact.code != LIMIT_CODE else None
    if alone is not None and alone.current is None and len(alone.queue) == 1:
        return alone
    return None if fact.code in CONNECTION_CODES else lane


def server_error(ledger: Ledger, fact: f.ServerError, entry: Entry) -> ResponseState | None:
    """The service refused a request, or broke off a response, or spoke of the connection."""
    connection = ledger.connections.get(entry.connection)
    if fact.code == LIMIT_CODE and connection is not None:
        connection.limit = connection.limit or entry
    if fact.response_id is not None:
        return _broke_off(ledger, ledger.responses.get(fact.response_id), fact, entry)
    lane = _lane_of(ledger, fact, entry)
    request = response = None
    if fact.code not in CONNECTION_CODES and injecting.refused(ledger, lane, fact, entry):
        pass
    elif lane is not None:
        current = lane.current
        # Inside a response's stream an error carries a sequence number (chapter 1.5). Without
        # one it refuses the oldest request still waiting, if any.
        if current is not None and (fact.sequence_number is not None or not lane.queue):
            response = current
        elif lane.queue:
            request = lane.queue[0]
        elif lane.tip is not None and (
            lane.tip.live_steers or steering.owes_successor(lane.tip, entry.connection)
        ):
            # A successor was due; the error comes in its place and says nothing of the steers.
            steering.response_broke(lane.tip, entry)
            lane.error_code, lane.error_message = fact.code, fact.message
    if request is not None:
        _request_failed(ledger, request, fact, entry)
    elif response is not None:
        response.status = "error"
        response.status_raw = "error"
        response.error_code, response.error_message = fact.code, fact.message
        response.ended = entry
        response.lane.current = None
        response.lane.error_code, response.lane.error_message = fact.code, fact.message
        steering.response_broke(response, entry)
        injecting.response_broke(response, entry)
        required.came_to_nothing(ledger, response)
    _keep(ledger, fact, entry, lane, request, response)
    return response


def _broke_off(
    ledger: Ledger, response: ResponseState | None, fact: f.ServerError, entry: Entry
) -> ResponseState | None:
    """The service says which response it is about; most often that had ended before."""
    lane = ledger.lanes.get(fact.lane) if response is None else response.lane
    if response is not None:
        response.error_code, response.error_message = fact.code, fact.message
        if fact.type in FAULT_KINDS and response.request is not None:
            keeping.returned(ledger, response.request)  # it was refused, under an id of its own
        keeping.hold(response.lane)
        if response.is_live:
            response.status = "failed"
            response.ended = entry
            if response.lane.current is response:
                response.lane.current = None
            required.came_to_nothing(ledger, response)
    if lane is not None:
        lane.error_code, lane.error_message = fact.code, fact.message
    _keep(ledger, fact, entry, lane, None, response)
    return response


def _keep(
    ledger: Ledger,
    fact: f.ServerError,
    entry: Entry,
    lane: LaneState | None,
    request: RequestState | None,
    response: ResponseState | None,
) -> None:
    ledger.errors.append(
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
