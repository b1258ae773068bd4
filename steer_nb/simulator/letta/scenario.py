"""Scenarios for Letta: a script, and the agent with the tools that it plays with."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from steer_nb.errors import ScenarioError
from steer_nb.simulator.letta.faults import LettaFault
from steer_nb.simulator.letta.tools import ServerTool
from steer_nb.simulator.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from steer_nb.simulator.faults import Fault
    from steer_nb.simulator.letta.turn import LettaTurn
    from steer_nb.simulator.steps import Step

__all__ = ["LettaScenario", "scenario"]


@dataclass(frozen=True, repr=False)
class LettaScenario(Scenario):
    """A script for Letta's model, with the server's tools.

    Calling it with a `LettaTurn` gives the steps of one call of the model. A simulator has an agent
    with all `tools` from the start; other agents have those that they are made with.
    """

    dialect: ClassVar[str] = "letta"

    tools: tuple[ServerTool, ...] = ()

    def tool(self, name: str) -> ServerTool | None:
        """Find one of its tools."""
        return next((one for one in self.tools if one.name == name), None)


def scenario(
    name: str,
    description: str,
    *,
    tools: Sequence[ServerTool | Callable[..., Any]] = (),
    faults: Sequence[Fault | str | Mapping[str, Any]] = (),
) -> Callable[[Callable[[LettaTurn], Iterator[Step]]], LettaScenario]:
    """Make a scenario for Letta of a generator function.

    Parameters
    ----------
    name : str
        What people type.
    description : str
        One sentence.
    tools : sequence of ServerTool or function
        What the server can run.
    faults : sequence of Fault, str or mapping
        What goes wrong from the start, see `steer_nb.simulator.letta.faults`.

    Raises
    ------
    ScenarioError
        The function is no generator function, or two tools have one name.
    InvalidInput
        A fault cannot be read.

    Examples
    --------
    >>> from steer_nb.simulator import CallFunction, Say, letta
    >>> def delete_file(path: str) -> str:
    ...     return f"deleted {path}"
    >>> gated = letta.ServerTool("delete_file", delete_file, requires_approval=True)
    >>> @letta.scenario("cleaner", "Deletes what you say.", tools=[gated])
    ... def cleaner(turn):
    ...     if turn.results:
    ...         yield Say("Done.")
    ...     else:
    ...         yield CallFunction("delete_file", {"path": turn.prompt})
    >>> cleaner.tools[0].requires_approval
    True
    """
    armed = tuple(LettaFault.of(fault) for fault in faults)
    made = tuple(one if isinstance(one, ServerTool) else ServerTool.of(one) for one in tools)
    names = [one.name for one in made]
    if len(set(names)) < len(names):
        msg = f"Scenario {name!r}: two of its tools have one name: {', '.join(names)}."
        raise ScenarioError(msg)

    def wrap(script: Callable[[LettaTurn], Iterator[Step]]) -> LettaScenario:
        if not inspect.isgeneratorfunction(script):
            title = getattr(script, "__name__", repr(script))
            msg = f"Scenario {name!r}: {title} must be a function of one turn that yields steps."
            raise ScenarioError(msg)
        source = inspect.getsourcefile(script) or "a notebook"
        # A script takes the turn of its own dialect; the simulator gives it no other.
        return LettaScenario(name, description, script, source, faults=armed, tools=made)  # type: ignore[arg-type]

    return wrap
