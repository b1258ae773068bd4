"""What the Letta dialect remembers of a lane: an agent's default conversation, or a named one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steer_nb.ledger.letta_items import Run
    from steer_nb.wire.letta import LettaMessage

__all__ = ["Lane"]


@dataclass(slots=True)
class Lane:
    """What is known of a lane."""

    name: str | None
    agent_id: str | None = None
    run: Run | None = None
    """The newest run: what its stream brings, the ledger takes for what its lane is writing."""
    speaking: Run | None = None
    """The run of the stream that is being read: what names no run is about it."""
    stopped: str | None = None
    """A stop whose run is not known yet."""
    waiting: int = 0
    """Messages that were sent and got no answer yet."""
    client_tools: frozenset[str] = frozenset()
    calls: dict[str, Run] = field(default_factory=dict)
    """Which run makes a call."""
    requests: dict[str, list[str]] = field(default_factory=dict)
    """The calls of each request for approval, by its message id."""
    refused_for: set[str] = field(default_factory=set)
    """Requests that the service named as it refused a message."""
    listing: dict[str, LettaMessage] = field(default_factory=dict)
    """The last message of each run of a list that is being read."""
    n_unnamed: int = 0

    def call_id(self, name: str) -> str:
        """The call that an answer is about: old clients name the request instead (8)."""
        calls = self.requests.get(name, [])
        return calls[0] if len(calls) == 1 else name

    def is_older(self, run: Run) -> bool:
        """Whether a run of a list came before the newest that is known."""
        newest = self.run
        if newest is None or newest is run:
            return False
        return newest.streamed and newest.id not in self.listing

    def unnamed(self) -> str:
        """Name a run that the service did not name."""
        self.n_unnamed += 1
        return f"{self.name}/run-{self.n_unnamed}"
