"""What a run waits for, and what it needs of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from steer_nb.simulator.letta.model import Wait

if TYPE_CHECKING:
    from steer_nb.simulator.ids import Ids
    from steer_nb.simulator.letta.faults import PhantomCall
    from steer_nb.simulator.letta.options import LettaOptions
    from steer_nb.simulator.letta.run import Run
    from steer_nb.simulator.letta.scenario import LettaScenario
    from steer_nb.simulator.letta.stored import ToolCall
    from steer_nb.simulator.letta.tools import Outcome

__all__ = ["Effect", "ModelBegins", "ToolBegins", "World"]


class ToolBegins(NamedTuple):
    """A tool of the server is about to run: its seconds at speed 1."""

    call: ToolCall
    seconds: float


class ModelBegins(NamedTuple):
    """The model is about to be called."""

    seconds: float = 0.0


Effect = Wait | ToolBegins | ModelBegins


class World(Protocol):
    """What a run needs of the server."""

    scenario: LettaScenario
    ids: Ids
    options: LettaOptions

    def now(self) -> float:
        """Say what time it is, in seconds since the epoch."""

    def arm(self, fault: Any) -> None:
        """Arm a fault that a script asks for."""

    def phantom(self, run: Run) -> PhantomCall | None:
        """Say whether this request for approval shows a call too many."""

    def ran(self, run: Run, call: ToolCall, outcome: Outcome) -> None:
        """Note that a tool ran."""
