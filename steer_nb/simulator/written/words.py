"""The steps that a scenario file may name: one table for reader, errors and reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steer_nb.simulator import agents, audio, calls, hosted, images, outputs, steps
from steer_nb.simulator.faults import FAULTS
from steer_nb.simulator.written import kinds as k
from steer_nb.simulator.written.faulting import FAULT_OPTIONS, read_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.written.kinds import Kind
    from steer_nb.simulator.written.nodes import Node

__all__ = ["STEPS", "Word"]

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
    first : str
        Why it must be the first step, and can be none of an agent's; empty where it need not.
    """

    kind: Kind
    help: str
    make: Callable[..., Step]
    options: Mapping[str, Kind] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    bare: bool = False
    ends: bool = False
    read: Callable[[Node], Any] | None = None
    first: str = ""


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


def _query(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"query": value}


def _approval(value: str, server: str, **more: Any) -> Step:
    return calls.AskApproval(server, value, **more)


def _mcp(value: str, server: str, **more: Any) -> Step:
    return hosted.CallMcp(server, value, **more)


def _patch(value: str, **more: Any) -> Step:
    return calls.CallApplyPatch(value, **more)


def _run_shell(value: list[str], timeout: bool = False, **more: Any) -> Step:
    return outputs.RunShell(*value, **{**more, **({"exit_code": None} if timeout else {})})


def _spawn(value: str, task: str, script: Any, **more: str) -> Step:
    return agents.Spawn(more.get("as", value), task, script)


_ERROR = {"message": k.TEXT, "status": k.INTEGER, "type": k.TEXT}
_WORK = {"seconds": k.NUMBER}
_PHASE = {"phase": k.choice("commentary", "final_answer")}

STEPS: Mapping[str, Word] = {
    "say": Word(
        k.TEXTS,
        "a message of the assistant; a list is one message of several parts",
        lambda value, **more: steps.Say(*value, **more),
        {**_PHASE, "annotations": k.ANNOTATIONS},
    ),
    "speak": Word(
        k.TEXT,
        "a message that is spoken as well as written; without audio, in silence",
        lambda value, **more: audio.Speak(value, **more),
        {"audio": k.BASE64, **_PHASE},
    ),
    "think": Word(
        k.TEXTS,
        "a reasoning item; each text is a part of its summary, its content the thoughts themselves",
        lambda value=(), **more: steps.Think(*value, **more),
        {"content": k.TEXTS, "interrupted": k.FLAG},
        bare=True,
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
    "local_shell": Word(
        k.COMMAND,
        "ask the client to run one command, as older models do; a text is split as a shell does",
        lambda value, **more: calls.CallLocalShell(*value, **more),
        {
            "env": k.TEXT_MAP,
            "working_directory": k.TEXT,
            "user": k.TEXT,
            "timeout_ms": k.INTEGER,
        },
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
        lambda value: calls.SearchTools(_query(value)),
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
        {
            "server": k.TEXT,
            "arguments": k.ARGUMENTS,
            "output": k.TEXT,
            "error": k.TEXT,
            **_WORK,
        },
        required=("server",),
    ),
    "list_mcp_tools": Word(
        k.TEXT,
        "hosted: ask an MCP server which tools it has; with an error, in vain",
        lambda value, **more: hosted.ListMcpTools(value, **more),
        {"tools": k.MCP_TOOLS, "error": k.TEXT, **_WORK},
    ),
    "generate_image": Word(
        k.TEXT,
        "hosted: make a picture; a small one is drawn where no result is given",
        lambda value, **more: images.GenerateImage(value, **more),
        {
            "partial_images": k.INTEGER,
            "result": k.BASE64,
            "size": k.TEXT,
            "quality": k.choice("low", "medium", "high", "xhigh", "max", "auto"),
            "background": k.choice("transparent", "opaque", "auto"),
            "output_format": k.choice("png", "webp", "jpeg", "gif", "svg"),
            "error": k.TEXT,
            **_WORK,
        },
    ),
    "run_shell": Word(
        k.TEXTS,
        "hosted: run commands in the service's container; what they write is listed in their order",
        _run_shell,
        {
            "stdout": k.TEXTS,
            "stderr": k.TEXTS,
            "exit_code": k.INTEGER,
            "timeout": k.FLAG,
            **_WORK,
        },
    ),
    "find_tools": Word(
        k.ARGUMENTS,
        "hosted: search among the tools that the service has itself; a text is the query",
        lambda value, **more: outputs.FindTools(_query(value), **more),
        {"tools": k.TOOLS},
    ),
    "run_program": Word(
        k.TEXT,
        "hosted: run a program that the model wrote",
        lambda value, **more: outputs.RunProgram(value, **more),
        {"result": k.TEXT, "completed": k.FLAG},
    ),
    "compact": Word(
        k.NUMBER,
        "hosted: put the conversation into fewer tokens, in so many seconds; alone: one",
        lambda value=hosted.WORK_S: hosted.Compact(value),
        bare=True,
    ),
    "spawn": Word(
        k.NAME,
        "let one of the file's agents begin; it writes at the same time",
        _spawn,
        {"task": k.TEXT, "as": k.NAME},
        required=("task",),
    ),
    "send_message": Word(
        k.TEXT,
        "send words to an agent: one below this one, or one named in full, from /root",
        lambda value, to: agents.SendMessage(to, value),
        {"to": k.TEXT},
        required=("to",),
    ),
    "wait_agents": Word(
        k.ALONE,
        "wait until every agent that this one spawned has finished",
        lambda **_: agents.WaitAgents(),
        bare=True,
    ),
    "queue": Word(
        k.NUMBER,
        "let the response be queued for so many seconds; alone: one; only as the first step",
        lambda value=1.0: steps.Queue(value),
        bare=True,
        first="later the response is in progress",
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
        first="later the response has begun",
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
