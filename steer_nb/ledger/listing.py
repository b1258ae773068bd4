"""What a service shows outside a response's stream: listed items, and what calls came to.

Some services keep a conversation and list it when asked, so that more can be known of a response
than its stream held; and some show only there, or only in the next response, that an answer
arrived.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from steer_nb.ledger import keeping, required
from steer_nb.ledger.contents import CallResult, ItemState
from steer_nb.ledger.state import LaneState, ResponseState

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.trace.entries import Entry

__all__ = [
    "call_answered",
    "input_named",
    "input_released",
    "item_listed",
    "items_ordered",
    "repeated",
    "request_joined",
    "response_listed",
]


def response_listed(ledger: Ledger, fact: f.ResponseListed, entry: Entry) -> ResponseState:
    """A response is listed that this trace did not see begin."""
    known = ledger.responses.get(fact.response_id)
    if known is not None:
        return known
    lane = ledger.lane(fact.lane, entry)
    response = ResponseState(
        id=fact.response_id,
        lane=lane,
        connection=entry.connection,
        started=entry,
        listed=True,
        between=ledger.dialect.between,
    )
    ledger.responses[response.id] = response
    if fact.newest:
        lane.responses.append(response)
        if lane.current is None:
            lane.tip = response
    else:
        lane.responses.insert(_place(lane, fact.after), response)
    return response


def _place(lane: LaneState, after: str | None) -> int:
    """Where a response stands that is not the newest: behind the one that a list has before it."""
    seen = [at for at, one in enumerate(lane.responses) if one.id == after]
    if seen:
        return seen[0] + 1
    return next(
        (at for at, one in enumerate(lane.responses) if not one.listed), len(lane.responses)
    )


def item_listed(ledger: Ledger, fact: f.ItemListed, entry: Entry) -> ResponseState | None:
    """An item is listed, whole; where the stream had it, too, it stands there once."""
    response = ledger.responses.get(fact.response_id)
    if response is None:
        return None
    finished = fact.finished
    index = finished.output_index
    assert index is not None
    item = response.items.get(index)
    if item is None:
        item = response.items[index] = ItemState(output_index=index, source=fact.source)  # type: ignore[arg-type]
        if fact.source != "history":
            item.added = entry
            response.first_item = response.first_item or entry
    elif item.source == "added":
        item.source = "done"
    if not fact.again or item.done is None:
        item.data = finished.item
        item.done = item.done or entry
        for channel, number, text in finished.texts:
            item.parts[channel, number] = [text]
    if finished.stub is not None:
        required.asked(response, finished, entry)
    return response


def items_ordered(ledger: Ledger, fact: f.ItemsOrdered, _: Entry) -> ResponseState | None:
    """The service lists items in another order than they came: that is where they stand.

    What it does not list keeps its place in front of what it stood in front of.
    """
    response = ledger.responses.get(fact.response_id)
    if response is None:
        return None
    places = response.places
    listed = [index for index in fact.places if index in response.items]
    for before, after in reversed(list(pairwise(listed))):
        if places.index(before) > places.index(after):
            places.remove(before)
            places.insert(places.index(after), before)
    response.order = tuple(places)
    return response


def repeated(ledger: Ledger, fact: f.Repeated, _: Entry) -> ResponseState | None:
    """A message says only what was said before."""
    return ledger.responses.get(fact.response_id)


def request_joined(ledger: Ledger, fact: f.RequestJoined, entry: Entry) -> ResponseState | None:
    """A request was one that the service had already: it got the response of that one."""
    lane = ledger.lanes.get(fact.lane)
    if lane is not None and lane.queue:
        request = lane.queue.pop(0)
        request.state = "started"
        request.response_id = fact.response_id
        request.ended = entry
    return ledger.responses.get(fact.response_id)


def call_answered(ledger: Ledger, fact: f.CallAnswered, entry: Entry) -> ResponseState | None:
    """A call got its answer: the first that is shown counts, as for every call."""
    parent = ledger.responses.get(fact.parent_id)
    shown = ledger.responses.get(fact.response_id)
    keeper = shown if parent is None else parent
    if keeper is not None and fact.result is not None and fact.call_id not in keeper.results:
        keeper.results[fact.call_id] = CallResult(fact.response_id, fact.result, entry)
    if parent is None:
        return shown
    stub = parent.required.get(fact.call_id)
    if stub is not None:
        if stub.item is None or stub.state in ("open", "filled"):
            stub.item = fact.answer or stub.item
        if fact.cancelled:
            if stub.state not in ("sent", "confirmed", "cancelled"):
                stub.state = "cancelled"
                keeping.hold(parent.lane)  # what was to follow the answers
        elif stub.state not in ("confirmed", "cancelled"):
            stub.state = "confirmed"
            stub.continuation_response_id = fact.response_id
    if shown is not None and shown is not parent:
        _continues(parent, shown, fact)
    return shown


def _continues(parent: ResponseState, shown: ResponseState, fact: f.CallAnswered) -> None:
    """What shows the answer goes on from what made the call."""
    if shown.previous_response_id is None:
        shown.previous_response_id = parent.id
    if parent.successor is None and shown.lane is parent.lane:
        parent.successor = shown
        required.set_aside(parent)
    if fact.answer is None:
        return
    decided = fact.answer.get("type") == "approval"
    if shown.origin == "unknown":
        shown.origin = "approval_continuation" if decided else "tool_continuation"
    elif shown.request is None and not decided:
        shown.origin = "tool_continuation"


def input_named(ledger: Ledger, fact: f.InputNamed, _: Entry) -> ResponseState | None:
    """The service's own list of what waits: what it leaves out is not asked for any more."""
    parent = ledger.responses.get(fact.parent_id)
    for stub in () if parent is None else parent.required.values():
        if stub.is_open and stub.key not in fact.keys:
            stub.state = "cancelled"
    return parent


def input_released(ledger: Ledger, fact: f.InputReleased, _: Entry) -> ResponseState | None:
    """Nobody has to answer any more."""
    lane = ledger.lanes.get(fact.lane)
    found: ResponseState | None = None
    for response in () if lane is None else lane.responses:
        if fact.response_ids is None or response.id in fact.response_ids:
            found = response
            for stub in response.required.values():
                if stub.is_open:
                    stub.state = "cancelled" if fact.cancelled else "stale"
    if lane is not None and found is not None and fact.cancelled:
        keeping.hold(lane)
    return found if fact.response_ids else None
