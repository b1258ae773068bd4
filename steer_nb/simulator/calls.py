"""Steps that ask the client for something: the seven kinds of required input (chapter 6)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.place import Beat
from steer_nb.simulator.steps import Item

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from steer_nb.simulator.place import Place

__all__ = [
    "AskApproval",
    "CallApplyPatch",
    "CallComputer",
    "CallCustom",
    "CallFunction",
    "CallLocalShell",
    "CallShell",
    "SearchTools",
]

PIECE = 8
"""Characters in one delta of arguments."""


@dataclass(frozen=True)
class CallFunction(Item):
    """Call one of the client's functions.

    Parameters
    ----------
    name : str
        The function.
    arguments : mapping or str
        A mapping is written as compact JSON; a string goes out as it is, valid JSON or not.
    asynchronous : bool
        Mark the call ``async``: the model does not wait for it (5.7).
    """

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    asynchronous: bool = False
    namespace: str | None = None

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        arguments = as_json(self.arguments)
        item: dict[str, Any] = {
            "id": place.id("fc"),
            "type": "function_call",
            "status": "in_progress",
            "call_id": place.call_id(),
            "name": self.name,
            "arguments": "",
        }
        if self.namespace is not None:
            item["namespace"] = self.namespace
        if self.asynchronous:
            item["async"] = True
        yield self.added(place, item)
        at = {"item_id": item["id"], "output_index": place.output_index}
        for delta, wait in place.deltas(arguments, PIECE):
            event = {"type": "response.function_call_arguments.delta", **at, "delta": delta}
            yield Beat(event, wait)
        yield Beat({"type": "response.function_call_arguments.done", **at, "arguments": arguments})
        item = {**item, "status": "completed", "arguments": arguments}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class CallCustom(Item):
    """Call one of the client's custom tools with free-form text."""

    name: str
    input: str
    asynchronous: bool = False

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {
            "id": place.id("ctc"),
            "type": "custom_tool_call",
            "call_id": place.call_id(),
            "name": self.name,
            "input": "",
        }
        if self.asynchronous:
            item["async"] = True
        yield self.added(place, item)
        at = {"item_id": item["id"], "output_index": place.output_index}
        for delta, wait in place.deltas(self.input):
            event = {"type": "response.custom_tool_call_input.delta", **at, "delta": delta}
            yield Beat(event, wait)
        yield Beat({"type": "response.custom_tool_call_input.done", **at, "input": self.input})
        item = {**item, "input": self.input}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class CallComputer(Item):
    """Ask for an action on a screen and a screenshot of what follows.

    Parameters
    ----------
    actions : sequence of dict
        Such as ``{"type": "click", "button": "left", "x": 1, "y": 2}``.
    safety_checks : sequence of dict
        Warnings that the client must acknowledge: ``id``, ``code``, ``message``. A check without
        an id gets one.
    """

    actions: Sequence[Mapping[str, Any]] = ({"type": "screenshot"},)
    safety_checks: Sequence[Mapping[str, Any]] = ()

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        checks = [
            {"id": place.ids.make("cu_sc", place.response_id, place.output_index, n), **check}
            for n, check in enumerate(self.safety_checks)
        ]
        item: dict[str, Any] = {
            "id": place.id("cu"),
            "type": "computer_call",
            "status": "in_progress",
            "call_id": place.call_id(),
            "pending_safety_checks": checks,
        }
        actions = [dict(action) for action in self.actions]
        item |= {"action": actions[0]} if len(actions) == 1 else {"actions": actions}
        yield self.added(place, item)
        item = {**item, "status": "completed"}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class CallShell(Item):
    """Ask the client to run commands in its own shell.

    `hosted` is for the call that `RunShell` makes: then nobody asks the client.
    """

    commands: tuple[str, ...]
    timeout_ms: int | None = None
    max_output_length: int | None = None
    hosted: bool = False

    def __init__(
        self,
        *commands: str,
        timeout_ms: int | None = None,
        max_output_length: int | None = None,
        hosted: bool = False,
    ) -> None:
        object.__setattr__(self, "commands", commands)
        object.__setattr__(self, "timeout_ms", timeout_ms)
        object.__setattr__(self, "max_output_length", max_output_length)
        object.__setattr__(self, "hosted", hosted)

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        limits = {"timeout_ms": self.timeout_ms, "max_output_length": self.max_output_length}
        environment = {"type": "local"}
        if self.hosted:
            container = place.ids.make("cntr", place.response_id)
            environment = {"type": "container_reference", "container_id": container}
        item: dict[str, Any] = {
            "id": place.id("sh"),
            "type": "shell_call",
            "status": "in_progress",
            "call_id": place.call_id(),
            "action": {"commands": [], **limits},
            "environment": environment,
        }
        yield self.added(place, item)
        for index, command in enumerate(self.commands):
            at = {"output_index": place.output_index, "command_index": index}
            yield Beat({"type": "response.shell_call_command.added", **at, "command": ""})
            for delta, wait in place.deltas(command):
                event = {"type": "response.shell_call_command.delta", **at, "delta": delta}
                yield Beat(event, wait)
            yield Beat({"type": "response.shell_call_command.done", **at, "command": command})
        action = {"commands": list(self.commands), **limits}
        item = {**item, "status": "completed", "action": action}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class CallLocalShell(Item):
    """Ask the client to run one command on its machine, as older models do (``local_shell``).

    Parameters
    ----------
    command : str
        The program and its arguments, each by itself.
    env : mapping of str to str
        Environment variables.
    working_directory, user : str, optional
        Where, and as whom.
    timeout_ms : int, optional
        For how long at most.

    Examples
    --------
    >>> CallLocalShell("ls", "-a", working_directory="trips").command
    ('ls', '-a')
    """

    command: tuple[str, ...]
    env: Mapping[str, str]
    working_directory: str | None = None
    user: str | None = None
    timeout_ms: int | None = None

    def __init__(
        self,
        *command: str,
        env: Mapping[str, str] | None = None,
        working_directory: str | None = None,
        user: str | None = None,
        timeout_ms: int | None = None,
    ) -> None:
        object.__setattr__(self, "command", command)
        object.__setattr__(self, "env", dict(env or {}))
        object.__setattr__(self, "working_directory", working_directory)
        object.__setattr__(self, "user", user)
        object.__setattr__(self, "timeout_ms", timeout_ms)

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        limits = {
            "working_directory": self.working_directory,
            "user": self.user,
            "timeout_ms": self.timeout_ms,
        }
        given = {name: value for name, value in limits.items() if value is not None}
        item: dict[str, Any] = {
            "id": place.id("lsh"),
            "type": "local_shell_call",
            "status": "in_progress",
            "call_id": place.call_id(),
            "action": {"type": "exec", "command": [], "env": {}},
        }
        yield self.added(place, item)
        action = {"type": "exec", "command": list(self.command), "env": dict(self.env), **given}
        item = {**item, "status": "completed", "action": action}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class CallApplyPatch(Item):
    """Ask the client to change one file: ``create_file``, ``update_file`` or ``delete_file``."""

    path: str
    diff: str = ""
    operation: str = "update_file"

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        operation = {"type": self.operation, "path": self.path}
        if self.operation != "delete_file":
            operation["diff"] = self.diff
        item: dict[str, Any] = {
            "id": place.id("apc"),
            "type": "apply_patch_call",
            "status": "in_progress",
            "call_id": place.call_id(),
            "operation": operation,
        }
        yield self.added(place, item)
        item = {**item, "status": "completed"}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class SearchTools(Item):
    """Ask the client which of its tools fit (`execution` ``client``).

    `hosted` is for the call that `FindTools` makes: then nobody asks the client.
    """

    arguments: Mapping[str, Any]
    hosted: bool = False

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {
            "id": place.id("tsc"),
            "type": "tool_search_call",
            "status": "in_progress",
            "call_id": None if self.hosted else place.call_id(),
            "execution": "server" if self.hosted else "client",
            "arguments": dict(self.arguments),
        }
        yield self.added(place, item)
        item = {**item, "status": "completed"}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class AskApproval(Item):
    """Ask whether a tool of an MCP server may be called."""

    server_label: str
    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {
            "id": place.id("mcpr"),
            "type": "mcp_approval_request",
            "server_label": self.server_label,
            "name": self.name,
            "arguments": as_json(self.arguments),
        }
        yield self.added(place, item)
        yield self.done(place, item)
        return item


def as_json(arguments: Mapping[str, Any] | str) -> str:
    """Write arguments as a model does: compact JSON."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
