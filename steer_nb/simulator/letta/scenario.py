"""Scenarios for Letta: a script, and the agent with the tools that it plays with."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from steer_nb.errors import ScenarioError
from steer_nb.simulator.letta.faults import LettaFault
from steer_nb.simulator.letta.tools import ServerTool
from steer_nb.simulator.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from os import PathLike

    from steer_nb.simulator.faults import Fault
    from steer_nb.simulator.letta.recorded import Recorded
    from steer_nb.simulator.letta.turn import LettaTurn
    from steer_nb.simulator.steps import Step
    from steer_nb.trace import Trace

__all__ = ["LettaScenario", "scenario"]


@dataclass(frozen=True, repr=False)
class LettaScenario(Scenario):
    """A script for Letta's model, with the server's tools.

    Calling it with a `LettaTurn` gives the steps of one call of the model. A simulator has an agent
    with all `tools` from the start; other agents have those that they are made with.
    """

    dialect: ClassVar[str] = "letta"

    tools: tuple[ServerTool, ...] = ()
    recorded: Recorded | None = None

    @classmethod
    def from_trace(cls, trace: Trace | str | PathLike[str]) -> LettaScenario:
        """Make a scenario of a recorded trace: it is served again, with its timing.

        Each send in a conversation gets what was recorded next there, whatever it says;
        `steer_nb.simulator.letta.playback` says more. The simulator's `speed` scales the recorded
        timing.

        Parameters
        ----------
        trace : Trace or path
            A trace of a Letta server, or a file: a journal, or any recording that `load` reads.

        Raises
        ------
        TraceError
            The file cannot be read.
        ScenarioError
            It is none of a Letta server, or holds nothing that a server said.

        Examples
        --------
        >>> import steer_nb
        >>> from steer_nb.simulator.letta import LettaSimulator
        >>> played = LettaSimulator("files", speed=0)
        >>> with steer_nb.connect(letta=True, simulate=played, journal=False, quiet=True) as one:
        ...     said = one.lane("a").create("List the files.").wait(timeout=30).text
        >>> again = LettaSimulator(LettaScenario.from_trace(one.trace), speed=0)
        >>> with steer_nb.connect(letta=True, simulate=again, journal=False, quiet=True) as two:
        ...     two.lane("a").create("Something else.").wait(timeout=30).text == said
        True
        """
        from steer_nb.simulator.letta.playback import improvise
        from steer_nb.simulator.letta.recorded import Recorded

        recorded = Recorded.of(trace)
        many = sum(1 for run in recorded.runs if run.moments or run.refusals)
        if not many:
            msg = f"{recorded.name} holds nothing that a Letta server said: nothing to serve again."
            raise ScenarioError(msg)
        about = f"Serves {many} recorded run{'' if many == 1 else 's'} again."
        source = str(trace) if isinstance(trace, str | Path) else ""
        return cls(recorded.name, about, improvise, source, recorded=recorded)  # type: ignore[arg-type]

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
