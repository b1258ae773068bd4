"""What the service can be asked after a lost connection, and what its answers settle.

A stored response can be read over HTTP (``GET /v1/responses/{id}``, ``/input_items``): how it
ended, and what it was given. No answer proves that something was *not* received, and no question
finds a response whose id never came: all that stays unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steer_nb.ledger import injecting, lifecycle, proving, required, steering

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import LaneState, RequestState, ResponseState, SteerState
    from steer_nb.trace.entries import Entry

__all__ = [
    "Question",
    "base_of",
    "checked",
    "is_stored",
    "questions",
    "unsettled",
    "worth_asking",
]


@dataclass(frozen=True, slots=True)
class Question:
    """What to ask about one response.

    Attributes
    ----------
    response_id : str
        Which.
    input_items : bool
        Whether what it was given can settle something, too.
    """

    response_id: str
    input_items: bool = False


# -- what can be asked -----------------------------------------------------------------------------


def is_stored(ledger: Ledger, response: ResponseState) -> bool:
    """Whether the service keeps a response, as far as is known: it does unless told otherwise."""
    seen: list[ResponseState] = []
    current: ResponseState | None = response
    while current is not None and current not in seen:
        seen.append(current)
        asked = None if current.request is None else current.request.body.get("store")
        if current.store is False or asked is False:
            return False
        if current.store is True or current.request is not None:
            return True
        # An automatic successor inherits what its parent's request said.
        current = ledger.responses.get(current.previous_response_id or "")
    return True


def base_of(ledger: Ledger, lane: LaneState) -> ResponseState | None:
    """The newest response that the service has by its own word, and is known to be whole."""
    for response in reversed(lane.responses):
        if response.status not in ("completed", "incomplete"):
            continue
        if not is_stored(ledger, response) or response.id in ledger.gone:
            return None
        return response
    return None


def questions(ledger: Ledger, lane: LaneState) -> tuple[Question, ...]:
    """What to ask about a lane, in the order its responses began."""
    base = base_of(ledger, lane) if lane.detached else None
    holders = {one.id for steer in _unknown(lane) for one in _holders(steer)}
    found = []
    for response in lane.responses:
        items = response.id in holders or _waited(ledger, response) is not None
        asked = items or response.status == "truncated" or response is base
        if asked and is_stored(ledger, response):
            found.append(Question(response.id, items))
    return tuple(found)


def worth_asking(ledger: Ledger, lane: LaneState) -> bool:
    """Whether asking can settle something that a person would otherwise have to decide."""
    return any(
        is_stored(ledger, response)
        and (_cut_off(lane, response) or _waited(ledger, response) is not None)
        for response in lane.responses
    ) or any(
        is_stored(ledger, holder) and steer.looked_in != holder.id
        for steer in _unknown(lane)
        if steer.undecided
        for holder in _holders(steer)
    )


def unsettled(ledger: Ledger, lane: LaneState) -> list[str]:
    """Say of everything on a lane that is unknown why it is, one sentence each."""
    said = [
        sentence
        for response in lane.responses
        if _cut_off(lane, response) and (sentence := cut_off_words(ledger, response))
    ]
    said += [
        f"{steer.key} stays unknown: {steer_words(ledger, steer)}."
        for steer in _unknown(lane)
        if steer.undecided
    ]
    said += [
        f"{inject.key} stays unknown: nothing in {response.id} proves that its agents have it."
        for response in lane.responses
        for inject in response.injects
        if inject.undecided
    ]
    said += [
        f"{request.key} stays unknown: nothing was heard of it, so there is no id to ask for."
        for request in lane.requests
        if request.undecided
    ]
    return said


def cut_off_words(ledger: Ledger, response: ResponseState) -> str:
    """Say what is known of the end of a response that was cut off."""
    name = response.id
    if not is_stored(ledger, response):
        return f"{name} was not stored (store is false), so the service cannot be asked about it."
    if response.checked is None:
        return ""
    if response.checked == "gone":
        return f"The service was asked, and has no {name}."
    if response.checked in ("in_progress", "queued"):
        return f"{name} is still being written, says the service: ask again later."
    return f"{name} is {response.checked}, says the service."


def steer_words(ledger: Ledger, steer: SteerState) -> str:
    """Say why asking did not settle a steer."""
    holders = _holders(steer)
    if not holders:
        return "no response is known that could hold it"
    name = holders[-1].id
    if not is_stored(ledger, holders[-1]):
        return f"{name} may hold it, and was not stored (store is false)"
    if steer.looked_in is not None:
        return f"nothing proves that {steer.looked_in} holds it"
    if holders[-1].checked == "gone":
        return f"{name} may hold it, and the service has no {name}"
    return f"{name} may hold it, and what it was given is not known"


def _cut_off(lane: LaneState, response: ResponseState) -> bool:
    """Whether it was cut off, and nobody went on without it yet."""
    return response.status == "truncated" and not _passed(lane, response)


def _passed(lane: LaneState, response: ResponseState) -> bool:
    """Whether the conversation goes on without it, or from it."""
    if response.left or response.continued_by is not None or lane.tip is not response:
        return True
    return _before(lane, response)


def _before(lane: LaneState, response: ResponseState) -> bool:
    return lane.resumed is not None and response.started.seq < lane.resumed.seq


def _unknown(lane: LaneState) -> list[SteerState]:
    return [
        steer
        for response in lane.responses
        for steer in response.steers
        if steer.state == "unknown"
    ]


def _holders(steer: SteerState) -> list[ResponseState]:
    """Responses that may have been given a steer: queued steering stays on its connection."""
    parent = steer.parent
    if parent is None:
        return []
    return [
        response
        for response in parent.lane.responses
        if response.previous_response_id == parent.id and response.connection == steer.connection
    ]


def _waited(ledger: Ledger, response: ResponseState) -> RequestState | None:
    """The request that a response may answer, where that is open since the connection was lost."""
    parent = ledger.responses.get(response.previous_response_id or "")
    if parent is None or not parent.disputed or parent.successor is not response:
        return None
    for request in response.lane.requests:
        if (
            request.state == "unknown"
            and request.previous_response_id == parent.id
            and request.connection == response.connection
            and request.sent.seq < response.started.seq
        ):
            return request
    return None


# -- what an answer settles ------------------------------------------------------------------------


def checked(ledger: Ledger, fact: f.Checked, entry: Entry) -> ResponseState | None:
    """The service was asked about a response: take what its answer proves."""
    response = ledger.responses.get(fact.response_id)
    if response is None:
        ledger.problem("odd_field", f"asked about {fact.response_id}, which never began", entry)
        return None
    if fact.status is None:
        response.checked = "gone"
        ledger.gone.add(response.id)
        return response
    if response.checked == "gone":
        ledger.gone.discard(response.id)  # it was not stored yet, and is now
    response.checked = fact.status
    if fact.ended is not None and response.status == "truncated":
        _end(ledger, response, fact.ended, entry)
    if fact.input_items is not None:
        _look(ledger, response, fact)
    return response


def _end(ledger: Ledger, response: ResponseState, ended: f.ResponseEnded, entry: Entry) -> None:
    """It was cut off here, and went to its end there: nothing of it is missing any more."""
    lane, request, cut = response.lane, response.request, response.ended
    passed = _passed(lane, response)
    left = response.left, request is not None and request.left
    lifecycle.response_ended(ledger, ended, entry)
    response.ended = cut or entry  # when it ended there is not known; here it was cut off
    response.settled = entry
    injecting.prove(response)
    if not passed:
        return
    # A person went on without it: that stands, and nothing is asked for anew.
    response.left = left[0]
    if request is not None:
        request.left = left[1]
    required.set_aside(response)
    parent = ledger.responses.get(response.previous_response_id or "")
    if parent is not None and parent.lane is lane:
        repeated = lane.resume in ("rebuild", "leave") and _before(lane, parent)
        if repeated or parent.continued_by is not None:
            required.set_aside(parent)


def _look(ledger: Ledger, response: ResponseState, fact: f.Checked) -> None:
    """Take what the list of its input items proves; a wrong parent proves nothing."""
    parent = ledger.responses.get(response.previous_response_id or "")
    connection = ledger.connections.get(response.connection)
    if parent is None or parent.lane is not response.lane or parent.id != fact.previous_response_id:
        return
    if connection is None or connection.closed is None or fact.input_items is None:
        return  # while the connection lives, its events say it
    waited = _waited(ledger, response)
    reading = proving.read_items(ledger, response, parent, waited, fact.input_items)
    if waited is not None and reading.answers is not None:
        parent.disputed = False
        if reading.answers:
            waited.state = "started"
            waited.response_id = response.id
            waited.ended = response.started
            response.request = waited
    committed = [s for s in reading.committed if steering.commit_proven(s, response)]
    for steer in parent.steers:
        if steer.state == "unknown" and steer.connection == response.connection:
            steer.looked_in = response.id
    if committed or reading.answers:
        carries = any(steer.successor_id == response.id for steer in parent.steers)
        response.origin = steering.origin(response, parent, committed=carries)
    if reading.answers:
        required.parent_continued(parent, response)
