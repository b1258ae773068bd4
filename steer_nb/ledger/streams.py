"""Where each response comes as a stream of its own: one is lost, read on, or asked about.

What the service keeps goes on there. So a lost stream says nothing of its response, and a lane is
not detached; what stays unknown is settled when the stream is read on, or a history shows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.ledger import keeping, required
from steer_nb.ledger.steering import origin

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import LaneState, RequestState, ResponseState
    from steer_nb.trace.entries import Entry

__all__ = ["all_lost", "found", "lost", "resumed"]


def lost(ledger: Ledger, fact: f.StreamLost, entry: Entry) -> ResponseState | None:
    """The stream that answers a request is lost, and is not read on for now."""
    request = ledger.requests.get(fact.key)
    if request is None:
        return None
    if request in request.lane.queue:
        request.lane.queue.remove(request)
        _unknown(ledger, request, entry)
        return None
    response = ledger.responses.get(request.response_id or "")
    if response is not None and response.is_live:
        _truncated(response, entry)
    return response


def all_lost(ledger: Ledger, lane: LaneState, entry: Entry) -> None:
    """Nothing is read of a lane any more: the session was closed, or its process ended."""
    lane.kept = True
    for request in lane.queue:
        _unknown(ledger, request, entry)
    lane.queue.clear()
    if lane.current is not None:
        _truncated(lane.current, entry)


def _unknown(ledger: Ledger, request: RequestState, entry: Entry) -> None:
    request.state = "unknown"
    request.ended = entry
    keeping.uncertain(ledger, request, entry)
    keeping.hold(request.lane)


def _truncated(response: ResponseState, entry: Entry) -> None:
    response.status = "truncated"
    response.ended = entry
    if response.lane.current is response:
        response.lane.current = None
    keeping.hold(response.lane)


def resumed(ledger: Ledger, fact: f.StreamResumed, entry: Entry) -> ResponseState | None:
    """The answer to a request whose stream was lost is read on, or asked for once more."""
    request = ledger.requests.get(fact.key)
    if request is None:
        return None
    lane = request.lane
    lane.detached, lane.detached_for, lane.connection = False, None, entry.connection
    response = ledger.responses.get(request.response_id or "")
    if response is None and request.state == "unknown":
        request.state, request.ended = "sent", None
        lane.queue.insert(0, request)
        keeping.carried(ledger, tuple(fact.steers), request, request.sent)
    elif response is not None and response.status == "truncated" and lane.tip is response:
        response.status, response.ended = "in_progress", None
        lane.current = response
    return response


def found(ledger: Ledger, fact: f.RequestFound, entry: Entry) -> ResponseState | None:
    """A history shows which response a request got, whose stream was not seen."""
    request = ledger.requests.get(fact.key)
    response = ledger.responses.get(fact.response_id)
    if request is None or response is None or request.response_id is not None:
        return response
    if request in request.lane.queue:
        request.lane.queue.remove(request)
    request.state, request.response_id, request.ended = "started", response.id, entry
    response.request = response.request or request
    if response.previous_response_id is None:
        response.previous_response_id = request.previous_response_id
    parent = ledger.responses.get(response.previous_response_id or "")
    committed = keeping.began(ledger, request, response, entry)
    response.origin = origin(response, parent, committed=committed)
    if parent is not None and parent.lane is response.lane:
        parent.successor = parent.successor or response
        required.parent_continued(parent, response)
    return response
