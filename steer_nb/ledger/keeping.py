"""What is said while it cannot be sent: kept here, and sent with the next request of its lane.

::

    queued_here ──> sent ──> committed     the response to the request that carries it began
         ^            │
         └────────────┴──> unknown         the stream was lost first
        refused, or it never left

A service that keeps nothing for its clients (Letta: chapters 9.1 and 13 of the protocol notes)
takes no message while it writes or waits for answers. So the client keeps it, and never calls it
accepted. After a failure, and in a process that took the trace up again, it is held: it goes out
with what a person sends next, or when one says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.ledger import drafts, steering
from steer_nb.ledger.deciding import decide

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import LaneState, RequestState, ResponseState, SteerState
    from steer_nb.trace.entries import Entry

__all__ = ["began", "carried", "hold", "kept_on", "queued", "recovered", "returned", "uncertain"]


def queued(ledger: Ledger, fact: f.SteerQueued, entry: Entry) -> ResponseState | None:
    """A person said something that cannot be sent yet."""
    if fact.again is not None:
        decide(ledger, fact.again, "sent_again", fact.key)
    steer = steering.new(ledger, fact.key, fact.parent_id, fact.input, entry, sent=None)
    steer.state, steer.queued = "queued_here", entry
    if steer.parent is not None:
        steer.parent.lane.last = entry
        steer.deltas_at_send = steer.parent.n_deltas
        steer.characters_at_send = steer.parent.n_characters
        drafts.said(steer.parent.lane, fact.input)
    return steer.parent


def kept_on(lane: LaneState) -> list[SteerState]:
    """What is kept for a lane's next request, oldest first."""
    return [
        steer
        for response in lane.responses
        for steer in response.steers
        if steer.state == "queued_here" and steer.decision is None
    ]


def carried(ledger: Ledger, keys: tuple[str, ...], request: RequestState, entry: Entry) -> None:
    """A request is written that carries what was kept."""
    for key in keys:
        steer = ledger.steers.get(key)
        if steer is not None and steer.state in ("queued_here", "unknown"):
            steer.state, steer.sent, steer.carrier = "sent", entry, request.key
            steer.held, steer.unknown = False, None


def _of(ledger: Ledger, request: RequestState) -> list[SteerState]:
    return [steer for steer in ledger.steers.values() if steer.carrier == request.key]


def began(ledger: Ledger, request: RequestState, response: ResponseState, entry: Entry) -> bool:
    """The response to a request begins: what that carried is in it; whether there was any."""
    steers = _of(ledger, request)
    for steer in steers:
        steer.state, steer.committed = "committed", entry
        steer.successor_id, steer.successor_kind = response.id, "explicit"
    return bool(steers)


def returned(ledger: Ledger, request: RequestState) -> None:
    """A request was refused, or never left: what it carried is kept here again, and held."""
    for steer in _of(ledger, request):
        steer.state, steer.held = "queued_here", True
        steer.sent = steer.carrier = steer.committed = None
        steer.successor_id = steer.successor_kind = None
    hold(request.lane)


def uncertain(ledger: Ledger, request: RequestState, entry: Entry) -> None:
    """Nobody knows whether a request arrived, nor what it carried."""
    for steer in _of(ledger, request):
        if steering.advance(steer, "unknown"):
            steer.unknown = entry


def hold(lane: LaneState) -> None:
    """Something went wrong on a lane: what is kept for it waits for a person."""
    for steer in kept_on(lane):
        steer.held = True


def recovered(ledger: Ledger, fact: f.Recovered, entry: Entry) -> None:
    """A process is gone: what it kept is nobody's to send but a person's."""
    for lane in ledger.lanes.values():
        hold(lane)
    drafts.recovered(ledger, fact, entry)
