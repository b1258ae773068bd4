"""The steps that a scenario file may name: one table for reader, errors and reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steer_nb.simulator import calls, hosted, steps
from steer_nb.simulator.faults import FAULTS
from steer_nb.simulator.written import kinds as k
from steer_nb.simulator.written.faulting import FAULT_OPTIONS, read_fault
from steer_nb.simulator.written.nodes import MapNode, Node, TextNode, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.written.kinds import Kind

__all__ = ["STEPS", "Play", "Word", "read_step"]

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Word:
    """One step.

    Attributes
    ----------
    kind : Kind
        What stands behind its name.
    help : str
        One line.
    make : callable
        Makes the step of what was read: ``value``, and the options that were given.
    options : mapping
        What may stand beside its name.
    required : tuple of str
        Options that must.
    bare : bool
        Whether the name alone is enough.
    ends : bool
        Whether nothing can follow it.
    read : callable, optional
        Reads the whole step, where its options depend on its value.
    """

    kind: Kind
    help: str
    make: Callable[..., Step]
    options: Mapping[str, Kind] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    bare: bool = False
    ends: bool = False
    read: Callable[[Node], Any] | None = None


@dataclass(frozen=True, slots=True)
class Play:
    """A step as it was read: its values still hold their placeholders."""

    word: str
    values: Values
    node: Node


def _options(values: Values, **names: str) -> Values:
    """Rename options to what a step calls them; those that were not given stay out."""
    return {new: values[old] for new, old in names.items() if old in values}


def _disconnect(value: Any = True, reason: str = "simulated") -> Step:
    return steps.Disconnect(reason=reason) if value is True else steps.Disconnect(value, reason)


def _fail(value: Any = True, **more: str) -> Step:
    return steps.Fail(**more) if value is True else steps.Fail(value, **more)


def _fail_successor(value: Any = True) -> Step:
    return steps.FailSuccessor() if value is True else steps.FailSuccessor(value)


def _refuse_steers(value: Any, message: str | None = None) -> Step:
    return steps.RefuseSteers(None if value is False else value, message)


def _computer(value: Any = None, **more: Any) -> Step:
    return calls.CallComputer(**more) if value is None else calls.CallComputer(value, **more)


def _call(value: str, **more: Any) -> Step:
    given = _options(more, arguments="arguments", asynchronous="async", namespace="namespace")
    return calls.CallFunction(value, **given)


def _custom(value: str, **more: Any) -> Step:
    return calls.CallCustom(value, more["input"], asynchronous=more.get("async", False))


def _search_tools(value: Any) -> Step:
    return calls.SearchTools(value if isinstance(value, dict) else {"query": value})


def _approval(value: str, server: str, **more: Any) -> Step:
    return calls.AskApproval(server, value, **more)


def _mcp(value: str, server: str, **more: Any) -> Step:
    return hosted.CallMcp(server, value, **more)


def _patch(value: str, **more: Any) -> Step:
    return calls.CallApplyPatch(value, **more)


_ERROR = {"message": k.TEXT, "status": k.INTEGER, "type": k.TEXT}
_WORK = {"seconds": k.NUMBER}

STEPS: Mapping[str, Word] = {
    "say": Word(
        k.TEXTS,
        "a message of the assistant; a list is one message of several parts",
        lambda value, phase=None: steps.Say(*value, phase=phase),
        {"phase": k.choice("commentary", "final_answer")},
    ),
    "think": Word(
        k.TEXTS,
        "a reasoning item; each text is a part of its summary",
        lambda value: steps.Think(*value),
    ),
    "refuse": Word(
        k.TEXT, "a message in which the model refuses", lambda value: steps.Refuse(value)
    ),
    "call": Word(
        k.TEXT,
        "call one of the client's functions",
        _call,
        {"arguments": k.ARGUMENTS, "async": k.FLAG, "namespace": k.TEXT},
    ),
    "custom": Word(
        k.TEXT,
        "call one of the client's custom tools with free-form text",
        _custom,
        {"input": k.TEXT, "async": k.FLAG},
        required=("input",),
    ),
    "computer": Word(
        k.ACTIONS,
        "ask for actions on a screen; alone: for a screenshot",
        _computer,
        {"safety_checks": k.CHECKS},
        bare=True,
    ),
    "shell": Word(
        k.TEXTS,
        "ask the client to run commands",
        lambda value, **more: calls.CallShell(*value, **more),
        {"timeout_ms": k.INTEGER, "max_output_length": k.INTEGER},
    ),
    "patch": Word(
        k.TEXT,
        "ask the client to change a file",
        _patch,
        {"diff": k.TEXT, "operation": k.choice("update_file", "create_file", "delete_file")},
    ),
    "search_tools": Word(
        k.ARGUMENTS,
        "ask the client which of its tools fit; a text is the query",
        _search_tools,
    ),
    "ask_approval": Word(
        k.TEXT,
        "ask whether a tool of an MCP server may be called",
        _approval,
        {"server": k.TEXT, "arguments": k.ARGUMENTS},
        required=("server",),
    ),
    "search_web": Word(
        k.TEXT,
        "hosted: search the web",
        lambda value, **more: hosted.SearchWeb(value, **more),
        {"sources": k.TEXTS, **_WORK},
    ),
    "search_files": Word(
        k.TEXTS,
        "hosted: search the files of a vector store",
        lambda value, **more: hosted.SearchFiles(value, **more),
        _WORK,
    ),
    "run_code": Word(
        k.TEXT,
        "hosted: run Python in the service's container",
        lambda value, **more: hosted.RunCode(value, **more),
        {"logs": k.TEXT, **_WORK},
    ),
    "call_mcp": Word(
        k.TEXT,
        "hosted: call a tool of an MCP server",
        _mcp,
        {"server": k.TEXT, "arguments": k.ARGUMENTS, "output": k.TEXT, **_WORK},
        required=("server",),
    ),
    "pause": Word(
        k.NUMBER,
        "let so many seconds pass, at speed 1; a steer ends it",
        lambda value: steps.Pause(value),
    ),
    "await_steer": Word(
        k.NUMBER,
        "go on when a steer came, or after so many real seconds; alone: ten",
        lambda value=10.0, **more: steps.AwaitSteer(value, **more),
        {"count": k.COUNT},
        bare=True,
    ),
    "refuse_steers": Word(
        k.either(False, k.TEXT),
        "refuse later steers of this response with a code; false takes them again",
        _refuse_steers,
        {"message": k.TEXT},
    ),
    "fail_successor": Word(
        k.either(True, k.TEXT),
        "accept steers, and let the response after this one fail to begin; a text is the message",
        _fail_successor,
        bare=True,
    ),
    "fail": Word(
        k.either(True, k.TEXT),
        "end the response as failed, with a code; alone: server_error",
        _fail,
        {"message": k.TEXT},
        bare=True,
        ends=True,
    ),
    "incomplete": Word(
        k.choice("max_output_tokens", "max_messages", "content_filter"),
        "end the response as incomplete; alone: max_output_tokens",
        lambda value="max_output_tokens": steps.Incomplete(value),
        bare=True,
        ends=True,
    ),
    "reject": Word(
        k.TEXT,
        "refuse the request with an error event of that code; only as the first step",
        lambda value, **more: steps.Reject(value, **more),
        {**_ERROR, "param": k.TEXT},
        required=("message",),
        ends=True,
    ),
    "error": Word(
        k.TEXT,
        "end the response with an error event of that code and no other end",
        lambda value, **more: steps.ErrorEvent(value, **more),
        _ERROR,
        required=("message",),
        ends=True,
    ),
    "fault": Word(
        k.choice(*FAULTS),
        "arm a fault for this connection; its messages count from here",
        lambda value: steps.Arm(value),
        FAULT_OPTIONS,
        read=read_fault,
    ),
    "disconnect": Word(
        k.either(True, k.CLOSE_CODE),
        "close the connection with a code; alone: 1011",
        _disconnect,
        {"reason": k.TEXT},
        bare=True,
        ends=True,
    ),
}
"""Every step, by its name. Its value stands behind the name, its options beside it."""

_OPTION_WORDS = {name for word in STEPS.values() for name in word.options}
_OTHER_WORDS = {
    "function": "call", "tool": "call", "text": "say", "message": "say", "wait": "pause",
    "sleep": "pause", "approve": "ask_approval", "approval": "ask_approval", "bash": "shell",
    "reasoning": "think", "screenshot": "computer", "close": "disconnect",
}  # fmt: skip


def read_step(node: Node) -> Play:
    """Read one step: a name alone, or a mapping of the name and its options.

    Raises
    ------
    ScenarioError
        With the line.
    """
    if isinstance(node, TextNode) and isinstance(node.value, str):
        return _bare(node)
    if not isinstance(node, MapNode):
        node.refuse(f"a step is a mapping such as 'say: Hello.', not {shown(node)}.")
    names = [name for name in node.values if name in STEPS]
    if len(names) > 1:
        # `search_tools: …` beside `call: …`: the writer forgot the dash
        second = node.keys[names[1]]
        second.refuse(
            f"this step says both {names[0]!r} and {names[1]!r}; each step begins with a dash."
        )
    if not names:
        _unknown(node)
    name = names[0]
    word = STEPS[name]
    if word.read is not None:
        return Play(name, {"value": word.read(node)}, node)
    values: Values = {}
    for key, value in node.values.items():
        if key == name:
            if word.bare and isinstance(value, TextNode) and value.value is None:
                continue
            values["value"] = word.kind.read(value)
        elif key in word.options:
            values[key] = word.options[key].read(value)
        else:
            takes = f"it takes {', '.join(word.options)}" if word.options else "it takes no options"
            hint = k.did_you_mean(key, word.options)
            node.keys[key].refuse(f"{name!r} has no option {key!r}; {takes}.{hint}")
    for key in word.required:
        if key not in values:
            node.refuse(f"{name!r} needs {key!r}, {word.options[key].says}.")
    return Play(name, values, node)


def _bare(node: TextNode) -> Play:
    word = STEPS.get(node.text)
    if word is None:
        hint = k.did_you_mean(node.text, STEPS)
        if not hint:
            hint = " To let the model say it, write 'say:' before it."
        node.refuse(f"{shown(node)} is no step.{hint}")
    if not word.bare:
        node.refuse(f"{node.text!r} needs a value, {word.kind.says}: '{node.text}: …'.")
    return Play(node.text, {}, node)


def _unknown(node: MapNode) -> None:
    key = next(iter(node.values), None)
    known = ", ".join(STEPS)
    if key is None:
        node.refuse(f"this step is empty; steps are {known}.")
    place = next((node.keys[name] for name in node.keys if name not in _OPTION_WORDS), None)
    if place is None:
        node.refuse(f"{key!r} is an option, and no step stands beside it; steps are {known}.")
    other = _OTHER_WORDS.get(place.text.lower())
    hint = f" Did you mean {other!r}?" if other else k.did_you_mean(place.text, STEPS)
    place.refuse(f"there is no step {place.text!r}.{hint} Steps are {known}.")
