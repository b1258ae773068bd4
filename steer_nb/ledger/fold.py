"""The fold: what follows from a trace so far.

A `Ledger` takes trace entries one by one, in order, and keeps lanes, responses, steers, requests
and required input. It is pure: no clock, no socket, no thread; folding the same entries again gives
the same state. The rules of steering stand in `steer_nb.ledger.steering`, those of required input
in `steer_nb.ledger.required`, those of injects in `steer_nb.ledger.injecting`, what may be sent now
in `steer_nb.ledger.rules`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger import (
    checking,
    connections,
    deciding,
    drafts,
    injecting,
    items,
    keeping,
    lifecycle,
    listing,
    required,
    steering,
    streams,
)
from steer_nb.ledger import facts as f
from steer_nb.ledger.dialects import dialect_named
from steer_nb.ledger.state import LaneState
from steer_nb.trace.entries import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steer_nb.ledger.runs import Run
    from steer_nb.ledger.state import (
        ConnectionState,
        InjectState,
        RequestState,
        ResponseState,
        ServerErrorState,
        SteerState,
    )
    from steer_nb.trace.entries import Entry
    from steer_nb.wire import Event

__all__ = ["Ledger"]


class Ledger:
    """State of a session, folded from its trace.

    Parameters
    ----------
    entries : iterable of Entry, optional
        Folded at once.
    dialect : str, default "responses"
        Whose words the entries are in, as `Header.dialect` says.

    Attributes
    ----------
    dialect : Dialect
        What reads the entries.
    lanes : dict of (str or None) to LaneState
        By `stream_id`; None is the default lane.
    responses : dict of str to ResponseState
        By id, in the order they were created.
    requests : dict of str to RequestState
        Every `response.create`, by local key.
    steers : dict of str to SteerState
        Every steer, by local key.
    injects : dict of str to InjectState
        Every inject, by local key.
    connections : dict of int to ConnectionState
        Every socket, by number from 1.
    errors : list of ServerErrorState
        Every `error` event.
    problems : list of Problem
        What was odd.
    reconnecting : Reconnecting or None
        The attempt to connect again that is going on.
    gave_up : str or None
        Why no new connection is tried any more, since the last one was lost.
    gone : set of str
        Responses that the service said it no longer has.
    touched : set of str
        Responses that the entries so far were about besides the one they belong to; whoever keeps
        something for each response empties it.
    version : int
        Grows with every change that is more than text.
    """

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        *,
        dialect: str = "responses",
    ) -> None:
        self.lanes: dict[str | None, LaneState] = {}
        self.responses: dict[str, ResponseState] = {}
        self.requests: dict[str, RequestState] = {}
        self.steers: dict[str, SteerState] = {}
        self.injects: dict[str, InjectState] = {}
        self.connections: dict[int, ConnectionState] = {}
        self.errors: list[ServerErrorState] = []
        self.problems: list[Problem] = []
        self.reconnecting: f.Reconnecting | None = None
        self.gave_up: str | None = None
        self.gone: set[str] = set()
        self.touched: set[str] = set()
        self.version = 0
        self.dialect = dialect_named(dialect)
        self._read = self.dialect.read
        for entry in entries:
            self.apply(entry)

    def apply(self, entry: Entry, event: Event | None = None) -> ResponseState | None:
        """Fold the next entry.

        Parameters
        ----------
        entry : Entry
            A message or a note.
        event : Event, optional
            Its message as the dialect's `event_of` gives it, where that was decoded already.

        Returns
        -------
        ResponseState or None
            The response that the entry belongs to, if it belongs to one.
        """
        owner: ResponseState | None = None
        sequence_number: int | None = None
        for fact in self._read(entry, event):
            if type(fact) is _Delta:  # nine of ten events: kept short
                found = _delta(self, fact, fact.text, 1, entry)
            else:
                self.version += 1
                found = HANDLERS[type(fact)](self, fact, entry)
            if found is not None:
                if owner is not None and owner is not found:
                    self.touched.add(owner.id)
                owner = found
            number = fact.sequence_number
            if number is not None:
                sequence_number = number
        if owner is not None:
            owner.n_events += 1
            owner.last = owner.lane.last = entry
            if sequence_number is not None:
                self._numbered(owner, sequence_number, entry)
        connection = self.connections.get(entry.connection)
        if connection is not None:
            kind = entry.kind
            if kind == "in":
                connection.n_in += 1
            elif kind == "out":
                connection.n_out += 1
        return owner

    def apply_run(self, run: Run) -> ResponseState | None:
        """Fold entries that add to one text, with nothing between them: as `apply` folds each.

        Returns
        -------
        ResponseState or None
            The response that all of them belong to, if they belong to one.
        """
        numbers, count, first = run.numbers, run.count, run.first
        owner = _delta(self, run.fact, "".join(run.texts), count, first)
        if owner is not None:
            owner.n_events += count
            owner.last = owner.lane.last = run.last
            expected = (owner.last_sequence_number or 0) + 1
            if numbers == list(range(expected, expected + count)):
                owner.last_sequence_number = numbers[-1]  # each follows the one before
            else:
                for place, number in enumerate(numbers, run.start):
                    if number is not None:
                        self._numbered(owner, number, run.among[place])
        connection = self.connections.get(first.connection)
        if connection is not None:
            connection.n_in += count
        return owner

    def _numbered(self, owner: ResponseState, number: int, entry: Entry) -> None:
        """Take an event's sequence number. Only the first gap of a response is told."""
        last = owner.last_sequence_number
        if last is not None and number != last + 1 and not owner.sequence_gap:
            owner.sequence_gap = True
            self.problem("sequence_gap", f"{owner.id}: {last}, {number}", entry)
        owner.last_sequence_number = number

    def problem(self, kind: str, detail: str, entry: Entry) -> None:
        """Keep a note of something odd."""
        self.problems.append(Problem(kind=kind, detail=detail, seq=entry.seq))

    def lane(self, stream_id: str | None, entry: Entry) -> LaneState:
        """The lane of that `stream_id`, made when it is first heard of."""
        lane = self.lanes.get(stream_id)
        if lane is None:
            lane = LaneState(stream_id=stream_id, connection=entry.connection, opened=entry)
            self.lanes[stream_id] = lane
        return lane

    def _odd(self, fact: f.Odd, entry: Entry) -> None:
        self.problem(fact.kind, fact.detail, entry)


def _steer_pending(ledger: Ledger, fact: f.SteerPending, entry: Entry) -> ResponseState | None:
    parent = steering.pending(ledger, fact, entry)
    if parent is not None:
        required.listed(ledger, parent, fact, entry)
    return parent


# Bound once: looking them up in their modules costs as much as a tenth of what they do.
_Delta: Final = f.Delta
_delta: Final = items.delta

# One row for each thing that can happen.
HANDLERS: Final[dict[type[f.Fact], Callable[[Ledger, Any, Entry], ResponseState | None]]] = {
    f.Connected: connections.connected,
    f.Disconnected: connections.disconnected,
    f.LaneOpened: connections.lane_opened,
    f.LaneClosed: connections.lane_closed,
    f.LaneRecovered: connections.lane_recovered,
    f.Dropped: deciding.dropped,
    f.Checked: checking.checked,
    f.Reconnecting: connections.reconnecting,
    f.Recovered: keeping.recovered,
    f.RequestSent: connections.request_sent,
    f.Unsent: connections.unsent,
    f.ServerError: connections.server_error,
    f.ResponseStarted: lifecycle.response_started,
    f.ResponseProgress: lifecycle.response_progress,
    f.ResponseEnded: lifecycle.response_ended,
    f.ResponseListed: listing.response_listed,
    f.ItemListed: listing.item_listed,
    f.ItemsOrdered: listing.items_ordered,
    f.Repeated: listing.repeated,
    f.RequestJoined: listing.request_joined,
    f.CallAnswered: listing.call_answered,
    f.InputNamed: listing.input_named,
    f.InputReleased: listing.input_released,
    f.ItemAdded: items.item_added,
    f.ItemFinished: items.item_finished,
    f.PartFinished: items.part_finished,
    f.Other: items.other,
    f.SteerSent: steering.sent,
    f.SteerQueued: keeping.queued,
    f.StreamLost: streams.lost,
    f.StreamResumed: streams.resumed,
    f.RequestFound: streams.found,
    f.SteerAccepted: steering.accepted,
    f.SteerPending: _steer_pending,
    f.SteerFailed: steering.failed,
    f.InjectSent: injecting.sent,
    f.InjectCreated: injecting.created,
    f.InjectFailed: injecting.failed,
    f.InputFilled: required.filled,
    f.InputCleared: required.cleared,
    f.InputDrafted: drafts.input_drafted,
    f.TextDrafted: drafts.text_drafted,
    f.ToolStarted: required.tool_started,
    f.ToolFinished: required.tool_finished,
    f.Odd: Ledger._odd,
}
