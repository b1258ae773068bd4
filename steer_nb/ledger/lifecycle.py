"""A response, from `response.created` to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger import facts as f
from steer_nb.ledger import items, keeping, required, steering
from steer_nb.ledger.state import ResponseState
from steer_nb.wire import several_agents

if TYPE_CHECKING:
    from steer_nb.ledger.fold import Ledger
    from steer_nb.trace.entries import Entry

__all__ = ["response_ended", "response_progress", "response_started"]

ENDS: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})


def response_started(ledger: Ledger, fact: f.ResponseStarted, entry: Entry) -> ResponseState:
    """A response is created; it may commit steers and confirm required input."""
    known = ledger.responses.get(fact.response_id)
    if known is not None:  # a repeated `response.created` starts nothing
        _take_head(known, fact.response)
        return known
    lane = ledger.lane(fact.lane, entry)
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
        between=ledger.dialect.between,
    )
    _take_head(response, fact.response)
    parent = ledger.responses.get(response.previous_response_id or "")
    request = steering.request_for(lane, response, parent)
    if request is not None:
        request.state = "started"
        request.response_id = response.id
        request.ended = entry
        lane.queue.remove(request)
        response.request = request
        response.multi_agent = several_agents(request.body)
        if response.previous_response_id is None:
            # Some services do not repeat it; what was asked for is what it hangs on.
            response.previous_response_id = request.previous_response_id
            parent = ledger.responses.get(response.previous_response_id or "")
    ledger.responses[response.id] = response
    lane.responses.append(response)
    lane.current = lane.tip = response
    lane.connection = entry.connection  # recordings may have no request that says so
    lane.detached = False
    lane.error_code = lane.error_message = None
    committed = steering.commit(parent, response, entry)
    if request is not None and request.steers:
        committed = keeping.began(ledger, request, response, entry) or committed
    response.origin = steering.origin(response, parent, committed=committed)
    if parent is not None and parent.lane is lane:
        required.parent_continued(parent, response)
    return response


def response_progress(
    ledger: Ledger, fact: f.ResponseProgress, entry: Entry
) -> ResponseState | None:
    """A response is queued or in progress; its head is repeated."""
    if fact.queued and fact.response_id not in ledger.responses:
        lane = ledger.lane(fact.lane, entry)
        if lane.queue:
            # It is about a request that waits; only `response.created` begins its response, and
            # commits what it carries (5.4, rule 2).
            return None
    response = _response(ledger, fact.lane, fact.response_id, entry)
    if response is None:  # a resumed recording begins in the middle
        response = response_started(
            ledger, f.ResponseStarted(fact.lane, fact.response_id, fact.response), entry
        )
    _take_head(response, fact.response)
    if not fact.queued:
        response.in_progress = response.in_progress or entry
    return response


def _response(
    ledger: Ledger, stream_id: str | None, response_id: str, entry: Entry
) -> ResponseState | None:
    known = ledger.responses.get(response_id)
    if known is not None:
        return known
    lane = ledger.lane(stream_id, entry)
    response = lane.current
    if response is not None and not response.id_unstable:
        # Some gateways invent new ids for every event; the lane's order ties them together.
        response.id_unstable = True
        ledger.problem("id_unstable", f"{response.id}, then {response_id}", entry)
    return response


def _take_head(response: ResponseState, head: dict[str, Any]) -> None:
    # Not kept itself: it repeats the whole output, which the items have, and the entry verbatim.
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


def response_ended(ledger: Ledger, fact: f.ResponseEnded, entry: Entry) -> ResponseState:
    """A response ends, once. What it asks for can be answered from here on."""
    response = _response(ledger, fact.lane, fact.response_id, entry)
    if response is None:
        response = response_started(
            ledger, f.ResponseStarted(fact.lane, fact.response_id, fact.response), entry
        )
    response.n_terminals += 1
    _take_head(response, fact.response)
    again = response.status in ENDS
    if again:
        # `response.done`, or a gateway that ends twice: it counts once (hard case 4).
        ledger.problem("duplicate_terminal", f"{response.id}: {fact.status}", entry)
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
    places = {item.id: index for index, item in response.items.items()}
    for item in fact.items:
        # The terminal counts its items anew; an item that came before keeps its place.
        own_id = _string(item.item.get("id"))
        index = item.output_index if own_id is None else places.get(own_id, item.output_index)
        items.finish(ledger, response, item, index, entry, source="terminal")
    if response.status in ("failed", "cancelled"):
        keeping.hold(response.lane)
        if again:
            required.set_aside(response)  # what only the second end names
        else:
            required.came_to_nothing(ledger, response)
    return response


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _reason(response: dict[str, Any]) -> str | None:
    details = response.get("incomplete_details")
    return _string(details.get("reason")) if isinstance(details, dict) else None
