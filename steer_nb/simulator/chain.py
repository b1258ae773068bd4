"""What the server knows about its responses: who continues whom, what is asked, what is queued.

`Record` is one response. `Store` finds a record by `previous_response_id`: the connection-local
cache (each lane's latest response, 2.3), else the process-wide store of what was created with
``store`` true. What is stored can be read over HTTP from its creation on.
"""

from __future__ import annotations

import asyncio
import bisect
from collections import OrderedDict
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from steer_nb.wire import several_agents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steer_nb.simulator.connection import Connection
    from steer_nb.simulator.lane import Lane
    from steer_nb.simulator.playback import Playback
    from steer_nb.simulator.team import Team

__all__ = ["Record", "Steer", "Store"]

_CONTINUABLE = frozenset({"completed", "incomplete"})


@dataclass(eq=False)
class Steer:
    """One accepted submission and how it fared; `entry` is its line in the account."""

    id: str
    parent: Record
    input: Any
    messages: list[dict[str, Any]]
    entry: dict[str, Any]
    pending_sent: bool = False
    acknowledged: bool = False


@dataclass(eq=False)
class Record:
    """One response, from creation on.

    Attributes
    ----------
    settings : dict
        The create's fields that an automatic successor inherits.
    given : list of dict
        The input items of this response, steering input included.
    open_calls : dict
        Every client-owned call of the chain that has no result yet, by key.
    queued : list of Steer
        Accepted steers that no successor has taken.
    injected : list of dict
        Results that its agents got while it was written.
    n_refused : int
        Steers that its scenario refused.
    n_resumed : int
        How often such results let its root agent go on.
    team : Team or None
        Its agents, while several write it.
    playback : Playback or None
        The recorded response that is served in it.
    """

    id: str
    lane: Lane
    settings: dict[str, Any]
    parent: Record | None
    given: list[dict[str, Any]]
    created_at: float
    seed: str
    origin: str = "create"
    applied: list[Steer] = field(default_factory=list)
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    answered: dict[str, dict[str, Any]] = field(default_factory=dict)
    carried: dict[str, dict[str, Any]] = field(default_factory=dict)
    output: list[dict[str, Any]] = field(default_factory=list)
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    injected: list[dict[str, Any]] = field(default_factory=list)
    n_resumed: int = 0
    team: Team | None = None
    status: str = "in_progress"
    completed_at: float | None = None
    error: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    incomplete_reason: str | None = None
    sequence: int = 0
    queued: list[Steer] = field(default_factory=list)
    n_steers: int = 0
    continued: bool = False
    successor_due: bool = False
    playback: Playback | None = None
    refuse_steers: tuple[str, str | None] | None = None
    n_refused: int = 0
    fail_successor: str | None = None
    cached: bool = False
    context_tokens: int = 0
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    places: list[int] = field(default_factory=list)
    n_begun: int = 0
    random: Random = field(init=False)
    padding: Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = Random(f"{self.seed}/{self.id}")  # noqa: S311 - a script, no secret
        self.padding = Random(f"{self.seed}/{self.id}/padding")  # noqa: S311

    @property
    def connection(self) -> Connection:
        """The connection that runs it."""
        return self.lane.connection

    @property
    def live(self) -> bool:
        """Whether it is still being written."""
        return self.status == "in_progress"

    @property
    def stored(self) -> bool:
        """Whether it outlives its connection."""
        return self.settings.get("store") is not False

    @property
    def multi_agent(self) -> bool:
        """Whether several agents may write it."""
        return several_agents(self.settings)

    def begin_item(self) -> int:
        """Take the next place in the output; items of several agents overlap."""
        self.n_begun += 1
        return self.n_begun - 1

    def finish_item(self, index: int, item: dict[str, Any]) -> None:
        """Put a finished item in its place."""
        at = bisect.bisect(self.places, index)
        self.places.insert(at, index)
        self.output.insert(at, item)

    @property
    def own_items(self) -> list[dict[str, Any]]:
        """The input items of its own request, without steering input."""
        return self.given[sum(len(steer.messages) for steer in self.applied) :]

    @property
    def open_calls(self) -> dict[str, dict[str, Any]]:
        """Client-owned calls without a result: inherited ones, then its own."""
        return {**self.carried, **self.calls}

    def required(self, *, async_blocks: bool) -> list[dict[str, Any]]:
        """Calls that a continuation has to answer, in the order they were made."""
        return [call for call in self.open_calls.values() if async_blocks or not call.get("async")]

    def ancestors(self) -> Iterable[Record]:
        """Everything before it in the conversation, oldest first."""
        line: list[Record] = []
        record = self.parent
        while record is not None:
            line.append(record)
            record = record.parent
        return reversed(line)

    def history(self) -> list[dict[str, Any]]:
        """Items of the conversation before this response's own input, oldest first."""
        return [
            item for one in self.ancestors() for item in (*one.given, *one.output, *one.injected)
        ]


class Store:
    """Responses that outlive their connection (``store`` true), the oldest dropped first.

    Examples
    --------
    >>> Store(2).get("resp_unknown") is None
    True
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._records: OrderedDict[str, Record] = OrderedDict()

    def put(self, record: Record) -> None:
        """Keep a response."""
        self._records[record.id] = record
        self._records.move_to_end(record.id)
        while len(self._records) > self._limit:
            self._records.popitem(last=False)

    def get(self, response_id: str) -> Record | None:
        """Find one that can be continued: it ended, and neither failed nor was cancelled."""
        record = self._records.get(response_id)
        return None if record is None or record.status not in _CONTINUABLE else record

    def look(self, response_id: str) -> Record | None:
        """Find one in whatever state it is."""
        return self._records.get(response_id)
