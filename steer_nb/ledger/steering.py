"""The rules of steering: what one submission went through, and what became of it.

::

    sent ──> accepted ──> pending ──> committed        the successor's `response.created`
      │          │           │
      │          └───────────┴──────> failed           `response.steer.failed`, input returned
      └─────────────────────────────> failed           refused before it got an id
    any of them ────────────────────> unknown          the connection was lost first

Sources: OpenAI's steering guide, and `openai.types.responses.response_steer_*_event`. "The
successor's `response.created` event is the commit point"; accepted means that "the server owns the
queued input, not that it has been applied"; a lost connection "leaves the outcome unknown".
"""

from __future__ import annotations

from itertools import dropwhile
from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger import drafts
from steer_nb.ledger.deciding import decide
from steer_nb.ledger.state import LaneState, RequestState, ResponseState, SteerState, SteerWord

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.trace.entries import Entry

__all__ = [
    "accepted",
    "commit",
    "commit_proven",
    "connection_lost",
    "fail",
    "failed",
    "new",
    "origin",
    "owes_successor",
    "pending",
    "prove",
    "request_for",
    "response_broke",
    "sent",
]

# A state is only ever left for one of a higher rank. `unknown` can still be settled by proof; the
# two outcomes are final, save where several steers turn out to have a successor each: see `failed`.
RANK: Final[dict[SteerWord, int]] = {
    "queued_here": -1,
    "sent": 0,
    "accepted": 1,
    "pending": 2,
    "unknown": 3,
    "failed": 4,
    "committed": 4,
}


_DECISIONS: Final = frozenset({"mcp_approval_response", "approval"})


def advance(steer: SteerState, state: SteerWord) -> bool:
    """Move a steer forward; False, and nothing changes, where that would be backwards.

    What is only here cannot be lost with a connection.
    """
    if RANK[state] <= RANK[steer.state] or (steer.state, state) == ("queued_here", "unknown"):
        return False
    steer.state = state
    return True


def sent(ledger: Ledger, fact: f.SteerSent, entry: Entry) -> ResponseState | None:
    """A steer is written: from here on it may have been received."""
    if fact.again is not None:
        decide(ledger, fact.again, "sent_again", fact.key)
    parent = ledger.responses.get(fact.parent_id)
    steer = new(ledger, fact.key, fact.parent_id, fact.input, entry, sent=entry)
    if parent is not None:
        steer.deltas_at_send = parent.n_deltas
        steer.characters_at_send = parent.n_characters
        parent.lane.last = entry
        drafts.said(parent.lane, fact.input)
    return parent


def accepted(ledger: Ledger, fact: f.SteerAccepted, entry: Entry) -> ResponseState | None:
    """The service owns the steer. Acknowledgements come in the order of submission."""
    steer = _acknowledged(ledger, fact.steer_id, fact.parent_id, entry)
    if steer.accepted is None:
        steer.accepted = entry
    advance(steer, "accepted")
    _commit_late(steer, entry)
    return steer.parent


def pending(ledger: Ledger, fact: f.SteerPending, entry: Entry) -> ResponseState | None:
    """The steer waits, with its parent, for results or decisions. It needs no second submission."""
    steer = _acknowledged(ledger, fact.steer_id, fact.parent_id, entry)
    if steer.pending is None:
        steer.pending = entry
        steer.pending_reason = fact.reason
    advance(steer, "pending")
    _commit_late(steer, entry)
    return steer.parent


def failed(ledger: Ledger, fact: f.SteerFailed, entry: Entry) -> ResponseState | None:
    """The steer is refused; after acceptance under its id, before it without one."""
    steer = _by_id(ledger, fact.steer_id) or _refused(ledger, fact, entry)
    if fact.steer_id is not None:
        steer.steer_id = fact.steer_id
    carrier = ledger.responses.get(steer.successor_id or "")
    if carrier is not None and not carrier.is_live and steer in _taken_up(carrier)[1:]:
        # It was to have a successor of its own (chapter 5.8 f), and that could not be created
        # when the one before it ended.
        steer.state, steer.committed = "pending", None
        steer.successor_id = steer.successor_kind = None
    if not fail(steer, fact.code, fact.message, fact.input, entry):
        where = f"steer {steer.steer_id or steer.key} failed after it was {steer.state}"
        ledger.problem("orphan_output", where, entry)
    return steer.parent


def fail(steer: SteerState, code: str, message: str, value: Any, entry: Entry) -> bool:
    """Mark a steer failed; False where its outcome was already final."""
    if not advance(steer, "failed"):
        return False
    steer.failed = entry
    steer.failure_code = code
    steer.failure_message = message
    steer.failure_input = value
    return True


def request_for(
    lane: LaneState, response: ResponseState, parent: ResponseState | None
) -> RequestState | None:
    """Which of the lane's requests a new response answers; None for an automatic successor.

    The service takes a lane's requests in order. An automatic successor comes before a request that
    waits behind its parent, unless that request carries the parent's required input: then the
    queued steers go in front of it (guide: "prepended in submission order").
    """
    head = lane.queue[0] if lane.queue else None
    if head is None:
        return None
    previous = response.previous_response_id
    if parent is None or parent.lane is not lane or previous is None:
        return head
    asked_for = head.previous_response_id == previous
    if not asked_for and (any(s.live for s in parent.steers) or len(_taken_up(parent)) > 1):
        return None
    if not (asked_for and head.answers) and owes_successor(parent, response.connection):
        return None
    return head


def owes_successor(parent: ResponseState, connection: int) -> bool:
    """Whether the service will continue from `parent` by itself."""
    if parent.successor is not None or parent.connection != connection:
        return False
    if parent.status == "incomplete" and parent.incomplete_reason == "steered":
        return True
    return any(steer.state in ("accepted", "pending") for steer in parent.steers)


def commit(parent: ResponseState | None, successor: ResponseState, entry: Entry) -> bool:
    """The commit point: a successor on the parent's own lane was created.

    Accepted and pending steers of the parent are in it. One that is not acknowledged yet may be in
    it or still be refused: it is committed here only where nothing else explains a successor that
    nobody requested; otherwise when its acknowledgement comes.

    Returns
    -------
    bool
        Whether any steer was committed.
    """
    if parent is None or parent.lane is not successor.lane:
        return False
    prove(parent, entry)
    if parent.continued_by is not None:
        return False
    parent.successor = successor
    head = successor.lane.queue[0] if successor.lane.queue else None
    if successor.request is None and head is not None and head.previous_response_id == parent.id:
        # Which of the two comes first is nowhere documented (chapter 5.8 e): the successor, as
        # nearly everywhere, or the request. Only when both have begun are the steers in one of
        # them for certain.
        parent.disputed = True
        return False
    waiting = [s for s in parent.steers if s.connection == successor.connection]
    owned = [s for s in waiting if s.steer_id is not None and s.state != "failed"]
    if not owned and successor.request is None:
        unacknowledged = [s for s in waiting if s.state == "sent"]
        owned = unacknowledged if len(unacknowledged) == 1 else []
    committed = [steer for steer in owned if _commit(steer, successor, entry)]
    return bool(committed) or _pass_on(parent, successor, entry)


def _pass_on(parent: ResponseState, successor: ResponseState, entry: Entry) -> bool:
    """A successor that nobody asked for, and no steer of its parent explains.

    Then several steers have a successor each, one after another (chapter 5.8 f; nearly everywhere
    one successor carries all): what was thought to be in its parent, save the first, is in it.
    """
    if successor.request is not None or not all(map(_refused_at_once, parent.steers)):
        return False
    together = _taken_up(parent)
    for steer in together[1:]:
        steer.committed = entry
        steer.successor_id = successor.id
    return len(together) > 1


def _refused_at_once(steer: SteerState) -> bool:
    return steer.state == "failed" and steer.steer_id is None


def _taken_up(response: ResponseState) -> list[SteerState]:
    """The steers that an automatic successor is thought to carry, in the order of submission."""
    taken: list[SteerState] = []
    if response.request is not None:
        return taken
    # They steered a response of the same row of successors, which begins with one that was asked
    # for: a lane of any length costs no more than that.
    row = dropwhile(lambda one: one is not response, reversed(response.lane.responses))
    for earlier in row:
        taken[:0] = [
            steer
            for steer in earlier.steers
            if steer.successor_id == response.id and steer.state == "committed"
        ]
        if earlier.request is not None:
            break
    return taken


def prove(parent: ResponseState, entry: Entry) -> None:
    """What waited behind the parent began, or was refused: its automatic successor began, too."""
    if not parent.disputed or parent.successor is None:
        return
    parent.disputed = False
    for steer in parent.steers:
        if steer.connection == entry.connection and steer.steer_id is not None and steer.live:
            _commit(steer, parent.successor, parent.successor.started)


def commit_proven(steer: SteerState, successor: ResponseState) -> bool:
    """The service showed that a response was given the steer: it was from its beginning on."""
    return _commit(steer, successor, successor.started)


def _commit(steer: SteerState, successor: ResponseState, entry: Entry) -> bool:
    if not advance(steer, "committed"):
        return False
    steer.committed = entry
    steer.successor_id = successor.id
    steer.successor_kind = "auto" if successor.request is None else "explicit"
    return True


def _commit_late(steer: SteerState, entry: Entry) -> None:
    # `accepted` may be read after the successor's `response.created` (chapter 5.8 j). The commit
    # happened there, and that is its time.
    parent = steer.parent
    successor = None if parent is None else parent.successor
    if parent is None or parent.disputed:
        return
    if successor is not None and successor.connection == steer.connection == entry.connection:
        _commit(steer, successor, successor.started)


def connection_lost(ledger: Ledger, entry: Entry) -> None:
    """Queued steering exists only on its connection: what is not committed becomes unknown."""
    for steer in ledger.steers.values():
        if steer.connection == entry.connection and advance(steer, "unknown"):
            steer.unknown = entry


def response_broke(response: ResponseState, entry: Entry) -> None:
    """An `error` event ended the response and said nothing of its steers."""
    for steer in response.steers:
        if advance(steer, "unknown"):
            steer.unknown = entry


def origin(response: ResponseState, parent: ResponseState | None, *, committed: bool) -> str:
    """How a response came about, in the closed words of the `responses` frame."""
    request = response.request
    if request is None:
        own = parent is not None and parent.lane is response.lane
        steered = committed or (parent is not None and bool(parent.steers))
        return "steer_auto" if own and steered else "unknown"
    if committed:
        return "steer_explicit"
    if request.answers:
        only_approvals = all(a.get("type") in _DECISIONS for a in request.answers)
        return "approval_continuation" if only_approvals else "tool_continuation"
    if parent is not None and parent.lane is not response.lane:
        return "fork"
    return "create"


def new(
    ledger: Ledger, key: str, parent_id: str, value: Any, entry: Entry, *, sent: Entry | None
) -> SteerState:
    """Begin to keep a steer, under its response where that is known."""
    parent = ledger.responses.get(parent_id)
    steer = SteerState(
        key=key,
        parent_id=parent_id,
        parent=parent,
        connection=entry.connection,
        input=value,
        sent=sent,
        order_in_parent=0 if parent is None else len(parent.steers),
    )
    ledger.steers[key] = steer
    if parent is not None:
        parent.steers.append(steer)
    return steer


def _by_id(ledger: Ledger, steer_id: str | None) -> SteerState | None:
    if steer_id is None:
        return None
    return next((s for s in reversed(ledger.steers.values()) if s.steer_id == steer_id), None)


def _unacknowledged(ledger: Ledger, parent_id: str, entry: Entry) -> list[SteerState]:
    return [
        steer
        for steer in ledger.steers.values()
        if steer.parent_id == parent_id
        and steer.steer_id is None
        and steer.connection == entry.connection
        and steer.state in ("sent", "unknown", "committed")
    ]


def _acknowledged(ledger: Ledger, steer_id: str, parent_id: str, entry: Entry) -> SteerState:
    known = _by_id(ledger, steer_id)
    if known is not None:
        return known
    waiting = _unacknowledged(ledger, parent_id, entry)
    # A recording of one direction has acknowledgements of steers that it never saw.
    steer = (
        waiting[0]
        if waiting
        else new(ledger, f"steer-{entry.seq}", parent_id, None, entry, sent=None)
    )
    steer.steer_id = steer_id
    return steer


def _refused(ledger: Ledger, fact: f.SteerFailed, entry: Entry) -> SteerState:
    waiting = _unacknowledged(ledger, fact.parent_id, entry)
    # The input comes back verbatim, so it says which of several submissions was refused.
    for steer in waiting:
        if steer.input == fact.input:
            return steer
    if waiting:
        return waiting[0]
    return new(ledger, f"steer-{entry.seq}", fact.parent_id, fact.input, entry, sent=None)
