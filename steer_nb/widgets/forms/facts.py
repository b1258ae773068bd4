"""What a form shows of the ledger: one response that waits, what it asks for, how far that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from steer_nb.client.required import RequiredInput, snapshot
from steer_nb.ledger import keeping, rules
from steer_nb.ledger.required import active_continuation
from steer_nb.widgets.text import clip, clock, count, seconds, short_id
from steer_nb.widgets.words import Chip, moment

if TYPE_CHECKING:
    from steer_nb.ledger import Ledger
    from steer_nb.ledger.state import RequestState, ResponseState
    from steer_nb.trace.entries import Entry

__all__ = ["FormFacts", "Phase", "form_facts", "lanes_too_late", "parents_waiting"]

Phase = Literal["open", "sending", "committed", "closed"]
"""Answers can be given; the continuation is on its way; it began a response; too late."""

_CHIPS: Final = {
    "open": ("wait", "◐"),
    "sending": ("run", "●"),
    "committed": ("idle", "✓"),
    "closed": ("idle", "○"),
}


@dataclass(frozen=True, slots=True)
class FormFacts:
    """A copy of what the ledger knows, safe to hold on to.

    Attributes
    ----------
    lane, parent_id : str
        Whose answers these are.
    phase : str
        See `Phase`.
    note : str
        What to say about the phase; empty where there is nothing to say.
    hold : str
        Why the continuation may not go out yet, apart from missing answers; empty if it may.
    asked : tuple of RequiredInput
        Everything the response asks for, in order.
    since : float or None
        When it began to wait, in seconds of the trace.
    queued : int
        Steers that the service puts in front of the continuation.
    version : int
        The ledger's, to see whether anything changed.
    refused : str or None
        Local key of the newest continuation, if it was refused, never left, or its response failed.
    injects : bool
        Whether answers go out into the response, which is still being written.
    drafts : dict of str to str
        What is half typed, by key, with what is missing: only a form knows.
    """

    lane: str
    parent_id: str
    phase: Phase
    note: str
    hold: str
    asked: tuple[RequiredInput, ...]
    since: float | None
    queued: int
    version: int
    kept: int = 0
    refused: str | None = None
    injects: bool = False
    drafts: dict[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> tuple[RequiredInput, ...]:
        """What has to be answered before anything is sent; what was injected is answered."""
        return tuple(
            asked
            for asked in self.asked
            if not asked.optional
            and not (self.phase == "open" and asked.state in ("sent", "confirmed"))
        )

    @property
    def head(self) -> str:
        """The state in words."""
        if self.phase == "open":
            missing = sum(asked.state in ("open", "filled") for asked in self.needed)
            return f"waits for you: {count(missing, 'answer')}" if missing else "may be answered"
        return {"sending": "sent", "committed": "answered", "closed": "no longer waits"}[self.phase]

    @property
    def chip(self) -> Chip:
        """The state as it is drawn."""
        css, symbol = _CHIPS[self.phase]
        return Chip(css, symbol, self.head, 0)

    @property
    def meta(self) -> str:
        """Which response, since when."""
        since = "" if self.since is None else f" · since {clock(self.since)}"
        return f"for {short_id(self.parent_id)}{since}"


def parents_waiting(
    ledger: Ledger, lane: str | None = None, *, lost: bool = False
) -> list[tuple[str | None, str]]:
    """Say which responses wait for a person, as (stream_id, response id), oldest first.

    Parameters
    ----------
    ledger : Ledger
        The session's.
    lane : str, optional
        Only this lane, by its name.
    lost : bool
        Whether lanes that lost their connection count too: what they ask for can be answered, and
        is sent once a person said how they go on.
    """
    found = []
    for state in ledger.lanes.values():
        tip = rules.standing(state)
        if tip is None or not tip.waiting_for or state.closed is not None:
            continue
        if state.detached and (not lost or tip.is_live):
            continue
        if lane is not None and state.name != lane:
            continue
        if active_continuation(tip) is None:
            found.append((state.stream_id, tip.id))
    return found


def lanes_too_late(ledger: Ledger, lane: str | None = None) -> list[str]:
    """Name the lanes that waited for a person when their connection ended."""
    found = []
    for state in ledger.lanes.values():
        tip = rules.standing(state)
        if tip is None or not state.detached or state.closed is not None:
            continue
        waits = any(not stub.optional for stub in tip.waiting_for)
        if waits and active_continuation(tip) is None and lane in (None, state.name):
            found.append(state.name)
    return found


def form_facts(ledger: Ledger, parent_id: str, *, ended: bool = False) -> FormFacts:
    """Read what a form shows of one response.

    Parameters
    ----------
    ledger : Ledger
        The session's.
    parent_id : str
        The response that waits or waited.
    ended : bool
        Whether the session can send nothing any more.
    """
    parent = ledger.responses[parent_id]
    lane = parent.lane
    connection = ledger.connections.get(parent.connection)
    end_kind = None if connection is None else connection.end_kind
    phase, note = _phase(parent, ended=ended, end_kind=end_kind)
    live = [steer for steer in parent.live_steers if steer.connection == parent.connection]
    return FormFacts(
        lane=lane.name,
        parent_id=parent.id,
        phase=phase,
        note=note,
        hold=_hold(parent),
        asked=tuple(snapshot(stub, lane.name) for stub in parent.required.values()),
        since=moment(_since(parent)),
        queued=sum(steer.state != "queued_here" for steer in live),
        version=ledger.version,
        kept=len(keeping.kept_on(lane)),
        refused=_refused_key(parent),
        injects=parent.is_live and parent.multi_agent,
    )


def _since(parent: ResponseState) -> Entry:
    if parent.is_live and parent.multi_agent and parent.waiting_for:
        return parent.waiting_for[0].first_seen  # the response itself goes on
    return parent.ended or parent.last or parent.started


def _hold(parent: ResponseState) -> str:
    if parent.is_live and not parent.multi_agent:
        return f"{parent.id} is still being written"
    if not parent.is_live and parent.live_injects:
        return "what was injected is not confirmed yet"
    unknown = next((inject.key for inject in parent.injects if inject.undecided), None)
    if parent.lane.detached:
        name = clip(parent.lane.name, 60)
        return f"the connection was lost: say first how the lane goes on (%steer resume {name})"
    return "" if unknown is None else f"say first what becomes of {unknown} (%steer again or drop)"


def _refused_key(parent: ResponseState) -> str | None:
    newest = parent.continuations[-1] if parent.continuations else None
    back = newest is not None and (newest.state in ("failed", "unsent") or newest.left)
    return newest.key if newest is not None and back else None


def _phase(parent: ResponseState, *, ended: bool, end_kind: str | None) -> tuple[Phase, str]:
    carrier = active_continuation(parent)
    if carrier is not None:
        return _carried(carrier)
    lane = parent.lane
    if parent.continued_by is not None:
        went = f"The conversation went on with {parent.continued_by.id} without these answers."
        return "closed", went
    if lane.closed is not None:
        return "closed", "The lane is closed; these answers can no longer be sent."
    if not lane.detached and not lane.kept and lane.resume != "continue":
        # Nobody said that the lane goes on from there on its new connection.
        ended = ended or bool(lane.connection and lane.connection != parent.connection)
    if ended:
        what = "session was closed" if end_kind == "client" else "connection was lost"
        kept = "What you answered is kept in the trace; nothing is sent by itself."
        return "closed", f"The {what}. {kept}"
    if not parent.waiting_for and (said := _injected(parent)) is not None:
        return said
    if not parent.waiting_for:
        return "closed", f"{parent.id} does not wait for answers any more ({parent.status})."
    refused = parent.continuations[-1] if parent.continuations else None
    if refused is not None:
        return "open", _refused(parent, refused)
    inject = parent.injects[-1] if parent.injects else None
    if inject is None or inject.state != "failed":
        return "open", ""
    why = ": ".join(part for part in (inject.error_code, inject.error_message) if part)
    return "open", f"The inject came to nothing: {clip(why, 400)} Your answers are kept."


def _injected(parent: ResponseState) -> tuple[Phase, str] | None:
    """What to say once nothing is left to answer, where answers were injected."""
    newest = parent.injects[-1] if parent.injects else None
    if newest is None:
        return None
    sent = moment(newest.sent)
    when = "injected" if sent is None else f"injected {seconds(sent)}"
    if any(inject.live for inject in parent.injects):
        return "sending", f"{when}, not confirmed yet"
    if any(inject.undecided for inject in parent.injects):
        lost = "the connection was lost before an answer came. It may have been received"
        return "closed", f"{when}; {lost}, so it is not sent again."
    if parent.is_live:
        return "sending", f"{when}, confirmed: the agents go on"
    return "committed", f"{when}, confirmed"


def _carried(carrier: RequestState) -> tuple[Phase, str]:
    sent = moment(carrier.sent)
    when = "sent" if sent is None else f"sent {seconds(sent)}"
    if carrier.state == "started":
        return "committed", f"{when}, committed as {carrier.response_id}"
    if carrier.state == "unknown":
        lost = "the connection was lost before an answer came. It may have been received, so it is"
        return "closed", f"{when}; {lost} not sent again."
    return "sending", f"{when}, not confirmed yet"


def _refused(parent: ResponseState, request: RequestState) -> str:
    source: RequestState | ResponseState = request
    said = "never left this machine" if request.state == "unsent" else "was refused"
    successor = parent.successor
    if request.left and successor is not None and successor.request is request:
        source, said = successor, f"began {successor.id}, which came to nothing"
    why = ": ".join(part for part in (source.error_code, source.error_message) if part)
    return f"The continuation {said}: {clip(why, 400)} Your answers are kept."
