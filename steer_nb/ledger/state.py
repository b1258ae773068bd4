"""The values that the fold keeps: what is known so far of connections, lanes, responses, messages.

What a response holds stands in `steer_nb.ledger.contents`.

Every moment is the trace entry that caused it (`sent`, `started`, `ended` …), so each carries its
wall time `at`, its monotonic time `t` and its place `seq`. These objects change while entries are
folded and belong to the thread that folds them; nobody else may hold on to them. They refer to each
other, so they have no field-by-field repr: it would print a whole session.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steer_nb.ledger.contents import CallResult, ItemState, RequiredInputState
    from steer_nb.trace.entries import Entry

__all__ = [
    "DEFAULT_LANE",
    "ConnectionState",
    "InjectState",
    "LaneState",
    "LaneWord",
    "RequestState",
    "ResponseState",
    "ServerErrorState",
    "SteerState",
    "SteerWord",
]

DEFAULT_LANE = "(default)"
"""Name of the lane without a `stream_id`; parentheses cannot occur in one, so it is never taken."""

LaneWord = Literal["idle", "queued", "running", "waiting_input", "detached", "failed"]
SteerWord = Literal["queued_here", "sent", "accepted", "pending", "committed", "failed", "unknown"]
ResponseWord = Literal[
    "in_progress", "completed", "incomplete", "failed", "error", "cancelled", "truncated"
]
InjectWord = Literal["sent", "created", "failed", "unknown"]
RequestWord = Literal["sent", "started", "failed", "unknown", "unsent"]
DecisionWord = Literal["dropped", "sent_again"]
ResumeWord = Literal["continue", "rebuild", "leave"]


@dataclass(slots=True, eq=False, repr=False)
class ConnectionState:
    """One socket, from open to close."""

    number: int
    url: str
    opened: Entry
    closed: Entry | None = None
    close_code: int | None = None
    close_reason: str = ""
    end_kind: str | None = None
    limit: Entry | None = None
    """The service said that it is too old, and takes no more requests."""
    n_in: int = 0
    n_out: int = 0


@dataclass(slots=True, eq=False, repr=False)
class RequestState:
    """One `response.create` that was written, from sending to its response."""

    key: str
    lane: LaneState
    connection: int
    previous_response_id: str | None
    body: dict[str, Any]
    answers: tuple[dict[str, Any], ...]
    sent: Entry
    state: RequestWord = "sent"
    response_id: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    ended: Entry | None = None
    repeated: int = 0
    """So many items of its input repeat an earlier conversation."""
    steers: tuple[str, ...] = ()
    """Keys of what was kept here and went out with it."""
    decision: DecisionWord | None = None
    again_key: str | None = None
    left: bool = False
    """Its response failed, or was cut off: the conversation goes on from before it."""

    @property
    def undecided(self) -> bool:
        """Whether its outcome is unknown and nobody has said yet what shall become of it."""
        return self.state == "unknown" and self.decision is None

    @property
    def own_input(self) -> Any:
        """Its input without the conversation that it repeats."""
        value = self.body.get("input")
        return value[self.repeated :] if isinstance(value, list) else value


@dataclass(slots=True, eq=False, repr=False)
class SteerState:
    """One submission of input into a running response."""

    key: str
    parent_id: str
    parent: ResponseState | None
    connection: int
    input: Any
    sent: Entry | None
    order_in_parent: int
    deltas_at_send: int = 0
    characters_at_send: int = 0
    state: SteerWord = "sent"
    steer_id: str | None = None
    accepted: Entry | None = None
    pending: Entry | None = None
    pending_reason: str | None = None
    committed: Entry | None = None
    failed: Entry | None = None
    unknown: Entry | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    failure_input: Any = None
    successor_id: str | None = None
    successor_kind: Literal["auto", "explicit"] | None = None
    decision: DecisionWord | None = None
    again_key: str | None = None
    queued: Entry | None = None
    """It was kept here, since the service takes nothing while it writes or waits."""
    held: bool = False
    """It is kept here until a person says something on the lane, or that it goes out."""
    carrier: str | None = None
    """The request that carries it, where it goes out with one."""
    looked_in: str | None = None
    """The response whose input was listed by the service, without proof that this is in it."""

    @property
    def undecided(self) -> bool:
        """Whether its outcome is unknown and nobody has said yet what shall become of it."""
        return (self.state == "unknown" or self.held) and self.decision is None

    @property
    def lane(self) -> LaneState | None:
        """The lane of the response that is steered."""
        return None if self.parent is None else self.parent.lane

    @property
    def deltas_after_send(self) -> int:
        """How many more pieces the parent wrote after the steer was sent."""
        return 0 if self.parent is None else self.parent.n_deltas - self.deltas_at_send

    @property
    def characters_after_send(self) -> int:
        """How much output text the parent still wrote after the steer was sent."""
        return 0 if self.parent is None else self.parent.n_characters - self.characters_at_send

    @property
    def live(self) -> bool:
        """Whether its outcome is still to come by itself."""
        if self.state == "queued_here":
            return not self.held and self.decision is None
        return self.state in ("sent", "accepted", "pending")


@dataclass(slots=True, eq=False, repr=False)
class InjectState:
    """One submission of answers to agents that wait in a running response."""

    key: str
    parent_id: str
    parent: ResponseState | None
    connection: int
    answers: tuple[dict[str, Any], ...]
    sent: Entry | None
    state: InjectWord = "sent"
    ended: Entry | None = None
    error_code: str | None = None
    error_message: str | None = None
    decision: DecisionWord | None = None
    again_key: str | None = None
    left: bool = False
    """A person chose that the lane goes on without its response, or repeats its answers."""

    @property
    def undecided(self) -> bool:
        """Whether its outcome is unknown and nobody has said yet what shall become of it."""
        return self.state == "unknown" and self.decision is None and not self.left

    @property
    def live(self) -> bool:
        """Whether it is not acknowledged yet."""
        return self.state == "sent"

    @property
    def previous_response_id(self) -> str:
        """The response whose calls it answers, under the name that a continuation has for it."""
        return self.parent_id

    @property
    def response_id(self) -> str | None:
        """The response that took it up, once the service says so."""
        return self.parent_id if self.state == "created" else None

    @property
    def lane(self) -> LaneState | None:
        """The lane of its response."""
        return None if self.parent is None else self.parent.lane


@dataclass(slots=True, eq=False, repr=False)
class ResponseState:
    """One response, its items, what steers it, and what it asks for."""

    id: str
    lane: LaneState
    connection: int
    started: Entry
    previous_response_id: str | None = None
    origin: str = "unknown"
    request: RequestState | None = None
    status: ResponseWord = "in_progress"
    status_raw: str | None = None
    incomplete_reason: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    model: str | None = None
    created_at: float | None = None
    service_tier: str | None = None
    reasoning_effort: str | None = None
    store: bool | None = None
    usage: dict[str, Any] | None = None
    items: dict[int, ItemState] = field(default_factory=dict)
    required: dict[str, RequiredInputState] = field(default_factory=dict)
    results: dict[str, CallResult] = field(default_factory=dict)
    """By call: what its calls gave, where a service shows that apart, in whichever response; and
    what calls gave that were made before this trace."""
    steers: list[SteerState] = field(default_factory=list)
    continuations: list[RequestState] = field(default_factory=list)
    injects: list[InjectState] = field(default_factory=list)
    multi_agent: bool = False
    successor: ResponseState | None = None
    in_progress: Entry | None = None
    """Its `response.in_progress`: from here on it needs nothing more of what it continues."""
    first_item: Entry | None = None
    first_chunk: Entry | None = None
    first_text: Entry | None = None
    ended: Entry | None = None
    last: Entry | None = None
    n_events: int = 0
    n_deltas: int = 0
    n_characters: int = 0
    """Of output text, as far as it came in pieces."""
    n_terminals: int = 0
    last_sequence_number: int | None = None
    sequence_gap: bool = False
    id_unstable: bool = False
    left: bool = False
    """It failed, or was cut off and a person chose so: the conversation goes on from before it."""
    checked: str | None = None
    """What the service said when it was asked: its status then, or ``gone``."""
    settled: Entry | None = None
    """It was cut off, and how it ended is known since the service was asked."""
    listed: bool = False
    """Its beginning was not seen: the service listed it later."""
    disputed: bool = False
    """Its successor may as well be the answer to a request that waited behind it."""
    between: str = ""
    """What stands between the texts of its messages; see `Dialect`."""
    order: tuple[int, ...] = ()
    """Places of items that stand elsewhere than they came, in the order in which they stand."""

    @property
    def continued_by(self) -> ResponseState | None:
        """The successor that the conversation goes on with, unless that came to nothing."""
        return None if self.successor is None or self.successor.left else self.successor

    @property
    def is_live(self) -> bool:
        """Whether it is still being written."""
        return self.status == "in_progress"

    @property
    def under_way(self) -> bool:
        """Whether it is seen to be worked at: it reads nothing more of what it continues."""
        return not self.is_live or self.in_progress is not None or self.first_item is not None

    @property
    def places(self) -> list[int]:
        """The `output_index` of each item, in the order in which they stand."""
        placed = sorted(self.items)
        if self.order:
            ordered = set(self.order)
            placed = [*self.order, *(index for index in placed if index not in ordered)]
        return placed

    @property
    def ordered(self) -> list[ItemState]:
        """Its items, in the order in which they stand."""
        return [self.items[index] for index in self.places]

    @property
    def text(self) -> str:
        """All output text so far, items in order."""
        return self.joined(item.text for item in self.ordered)

    def joined(self, texts: Iterable[str]) -> str:
        """Texts of its messages as one."""
        return self.between.join(text for text in texts if text)

    @property
    def refusal(self) -> str:
        """All refusal text so far."""
        return "".join(item.refusal for item in self.ordered)

    @property
    def live_steers(self) -> list[SteerState]:
        """Steers whose outcome is still open."""
        return [steer for steer in self.steers if steer.live]

    @property
    def live_injects(self) -> list[InjectState]:
        """Injects that are not acknowledged yet."""
        return [inject for inject in self.injects if inject.live]

    @property
    def waiting_for(self) -> list[RequiredInputState]:
        """Required input that no continuation carries yet, in the order it was asked for."""
        return [stub for stub in self.required.values() if stub.is_open]

    def tokens(self, kind: str) -> int | None:
        """``input_tokens``, ``output_tokens`` or ``total_tokens`` of its usage, if reported."""
        value = (self.usage or {}).get(kind)
        return value if isinstance(value, int) else None


@dataclass(slots=True, eq=False, repr=False)
class LaneState:
    """One lane: requests run one after another, a conversation hangs on `tip`."""

    stream_id: str | None
    connection: int = 0
    opened: Entry | None = None
    closed: Entry | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    forked_from: str | None = None
    responses: list[ResponseState] = field(default_factory=list)
    queue: list[RequestState] = field(default_factory=list)
    requests: list[RequestState] = field(default_factory=list)
    current: ResponseState | None = None
    tip: ResponseState | None = None
    error_code: str | None = None
    error_message: str | None = None
    detached: bool = False
    detached_for: str | None = None
    resume: ResumeWord | None = None
    resume_from: str | None = None
    resumed: Entry | None = None
    last: Entry | None = None
    kept: bool = False
    """The service keeps its conversation, whatever becomes of a connection."""
    draft: str = ""
    """What is half typed in the box below it."""

    @property
    def name(self) -> str:
        """What a person calls it."""
        return DEFAULT_LANE if self.stream_id is None else self.stream_id


@dataclass(slots=True, eq=False, repr=False)
class ServerErrorState:
    """One `error` event, and what it was about."""

    entry: Entry
    lane: LaneState | None
    request: RequestState | None
    response: ResponseState | None
    code: str | None
    message: str
    param: str | None
    type: str | None
    status: int | None
