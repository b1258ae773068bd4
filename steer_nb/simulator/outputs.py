"""Hosted tools whose output is an item of its own, behind that of the call.

Nothing is cut between the two: before a steer takes effect, hosted work that runs is finished (5.4,
rule 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.calls import CallShell, SearchTools
from steer_nb.simulator.hosted import WORK_S
from steer_nb.simulator.place import Beat
from steer_nb.simulator.steps import Item, Several

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from steer_nb.simulator.place import Place

__all__ = ["FindTools", "RunProgram", "RunShell"]


@dataclass(frozen=True)
class RunShell(Several):
    """Run commands in a shell that the service hosts: a call, and what it gave.

    Parameters
    ----------
    commands : str
        What is run, one after another.
    stdout, stderr : str or sequence of str
        What each wrote; one text is the first command's.
    exit_code : int or None
        How the last ended; those before it end with 0. None: it ran out of time.
    seconds : float
        How long each runs, at speed 1.

    Examples
    --------
    >>> RunShell("ls", "cat plan.md", stdout=["plan.md", "Day 1: Alfama."]).commands
    ('ls', 'cat plan.md')
    """

    commands: tuple[str, ...]
    stdout: tuple[str, ...]
    stderr: tuple[str, ...]
    exit_code: int | None = 0
    seconds: float = WORK_S

    def __init__(
        self,
        *commands: str,
        stdout: str | Sequence[str] = (),
        stderr: str | Sequence[str] = (),
        exit_code: int | None = 0,
        seconds: float = WORK_S,
    ) -> None:
        object.__setattr__(self, "commands", commands)
        object.__setattr__(self, "stdout", (stdout,) if isinstance(stdout, str) else tuple(stdout))
        object.__setattr__(self, "stderr", (stderr,) if isinstance(stderr, str) else tuple(stderr))
        object.__setattr__(self, "exit_code", exit_code)
        object.__setattr__(self, "seconds", seconds)

    def items(self) -> Generator[Item, dict[str, Any], None]:
        """Give the call, then its output."""
        call = yield CallShell(*self.commands, hosted=True)
        outputs = []
        for index in range(len(self.commands)):
            last = index == len(self.commands) - 1
            code = self.exit_code if last else 0
            outcome = {"type": "timeout"} if code is None else {"type": "exit", "exit_code": code}
            texts = {
                name: texts[index] if index < len(texts) else ""
                for name, texts in (("stdout", self.stdout), ("stderr", self.stderr))
            }
            outputs.append({**texts, "outcome": outcome})
        yield _ShellOutput(call, outputs, self.seconds)


@dataclass(frozen=True)
class _ShellOutput(Item):
    call: Mapping[str, Any]
    outputs: list[dict[str, Any]]
    seconds: float

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        item: dict[str, Any] = {
            "id": place.id("sho"),
            "type": "shell_call_output",
            "status": "completed",  # from its beginning, as recorded from the service
            "call_id": self.call["call_id"],
            "max_output_length": None,
            "output": [],
        }
        yield self.added(place, item)._replace(seconds=self.seconds)
        for index, output in enumerate(self.outputs):
            at = {
                "item_id": item["id"],
                "output_index": place.output_index,
                "command_index": index,
            }
            for name in ("stdout", "stderr"):
                for delta, wait in place.deltas(output[name]):
                    event = {"type": "response.shell_call_output_content.delta", **at}
                    yield Beat({**event, "delta": {name: delta}}, wait)
            event = {"type": "response.shell_call_output_content.done", **at, "output": [output]}
            yield Beat(event, self.seconds if index + 1 < len(self.outputs) else 0.0)
        item = {**item, "output": self.outputs}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class FindTools(Several):
    """Search for tools among those that the service has itself: a call, and the tools it loaded.

    Parameters
    ----------
    arguments : mapping
        What it searches for.
    tools : sequence of str or mapping
        What it finds: names of functions, or whole tools as the API writes them.

    Examples
    --------
    >>> FindTools({"paths": ["calendar"]}, ["find_events"]).tools
    ['find_events']
    """

    arguments: Mapping[str, Any]
    tools: Sequence[Mapping[str, Any] | str] = ()

    def items(self) -> Generator[Item, dict[str, Any], None]:
        """Give the call, then the tools."""
        yield SearchTools(self.arguments, hosted=True)
        tools = [_function(tool) for tool in self.tools]
        about = {"call_id": None, "execution": "server", "tools": tools}
        about["status"] = "in_progress"
        yield _Output("tso", "tool_search_output", about, {"status": "completed"})


def _function(tool: Mapping[str, Any] | str) -> dict[str, Any]:
    if not isinstance(tool, str):
        return dict(tool)
    parameters = {"type": "object", "properties": {}}
    return {"type": "function", "name": tool, "parameters": parameters, "strict": None}


@dataclass(frozen=True)
class RunProgram(Several):
    """Run a program that the model wrote, by the service: the program, and what it gave.

    Parameters
    ----------
    code : str
        JavaScript.
    result : str
        What it gives.
    completed : bool
        Whether it came to its end.

    Examples
    --------
    >>> RunProgram("text(6 * 7)", "42").result
    '42'
    """

    code: str
    result: str = ""
    completed: bool = True

    def items(self) -> Generator[Item, dict[str, Any], None]:
        """Give the program, then its output."""
        program = yield _Program(self.code)
        status = "completed" if self.completed else "incomplete"
        about = {"call_id": program["call_id"], "status": status, "result": ""}
        yield _Output("cmo", "program_output", about, {"result": self.result})


@dataclass(frozen=True)
class _Program(Item):
    code: str

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        item = {
            "id": place.id("cm"),
            "type": "program",
            "call_id": place.call_id(),
            "code": "",
            "fingerprint": place.sealed("fingerprint"),
        }
        yield self.added(place, item)
        item = {**item, "code": self.code}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class _Output(Item):
    """An output without events of its own: what it begins with, and what it ends with."""

    prefix: str
    type: str
    begins: Mapping[str, Any]
    ends: Mapping[str, Any]

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        item = {"id": place.id(self.prefix), "type": self.type, **self.begins}
        yield self.added(place, item)
        item = {**item, **self.ends}
        yield self.done(place, item)
        return item
