"""What a script is told about the response that it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.agents import ROOT
from steer_nb.simulator.requests import content_text, texts_of

if TYPE_CHECKING:
    from random import Random

    from steer_nb.simulator.chain import Record

__all__ = ["Result", "Turn"]


@dataclass(frozen=True)
class Result:
    """One filled stub and the call that it answers."""

    key: str
    item: dict[str, Any]
    call: dict[str, Any]

    @property
    def type(self) -> str:
        """The filled item's type, such as ``function_call_output``."""
        return str(self.item["type"])

    @property
    def name(self) -> str:
        """The tool that was called, or what stands for its name."""
        return str(self.call.get("name") or self.call["type"])

    @property
    def text(self) -> str:
        """What it says, in words: the output, the exit codes, the decision and its reason."""
        return _TEXTS.get(self.type, _content)(self.item)


class Turn:
    """A response that is about to be written.

    Attributes
    ----------
    input : list of dict
        The new input items, without steering input.
    input_texts : list of str
        The user's words in them.
    steers : list of str
        The words of the steers that this response commits, in the order of submission.
    results : dict of str to Result
        Filled stubs, by `call_id` or `approval_request_id`.
    history : list of dict
        Everything said before, oldest first.
    settings : dict
        The request's fields: `model`, `instructions`, `tools` …
    number : int
        Which response of its conversation this is, from 1; warm-ups do not count. An answer that
        lets the root of several agents go on counts as one more. For a subagent: which part of its
        work, from 1.
    random : random.Random
        Depends on the seed and this response only.
    agent : str or None
        Which agent of a multi-agent response this is; None where there is one only.
    reports : dict of str to str
        What the agents that this one spawned said last, by name, once they have finished.
    """

    def __init__(self, record: Record, given: list[dict[str, Any]]) -> None:
        self.input = given
        self.input_texts = texts_of(given)
        self.steers: list[str] = [
            text for steer in record.applied if (text := " ".join(texts_of(steer.messages)))
        ]
        self.results: dict[str, Result] = {
            key: Result(key, item, record.answered[key]) for key, item in record.results.items()
        }
        self.history = record.history()
        self.settings: dict[str, Any] = record.settings
        self.random: Random = record.random
        self.response_id = record.id
        self.lane: str | None = record.lane.stream_id
        self.origin = record.origin
        self.agent: str | None = ROOT if record.multi_agent else None
        self.task: str | None = None
        self.reports: dict[str, str] = {}
        earlier = sum(1 + one.n_resumed for one in record.ancestors() if one.origin != "warmup")
        self.number: int = 1 + earlier + record.n_resumed

    @property
    def prompt(self) -> str:
        """The newest words of the user that are no steer, from earlier turns if need be.

        For a subagent: what it was told to do.
        """
        if self.task is not None:
            return self.task
        texts = self.input_texts or self.asked
        return texts[-1] if texts else ""

    @property
    def asked(self) -> list[str]:
        """What the user said in earlier responses of this conversation, steers included."""
        return texts_of(self.history)

    @property
    def said(self) -> list[str]:
        """What the assistant said in earlier responses of this conversation."""
        return texts_of(self.history, "assistant")

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools that the request declares."""
        return list(self.settings.get("tools") or ())

    def called(self, *types: str) -> bool:
        """Whether the conversation already holds a call of one of these types, or any call."""
        return any(item["type"] in types if types else is_call(item) for item in self.history)


def is_call(item: dict[str, Any]) -> bool:
    """Whether an item of a conversation calls something, or asks for leave to."""
    kind = str(item["type"])
    return kind.endswith("_call") or kind == "mcp_approval_request"


def _content(item: dict[str, Any]) -> str:
    return content_text(item.get("output"))


def screenshot(item: dict[str, Any]) -> tuple[str, str]:
    """Describe a screenshot, and say how many safety checks were acknowledged with it."""
    output = item.get("output") or {}
    source = str(output.get("image_url") or output.get("file_id") or "nothing")
    if source.startswith("data:"):
        head, _, data = source.partition(",")
        kind = head.removeprefix("data:").partition(";")[0]
        source = f"{kind}, {len(data)} characters"
    checks = item.get("acknowledged_safety_checks") or ()
    many = "1 safety check" if len(checks) == 1 else f"{len(checks)} safety checks"
    return f"a screenshot ({source})", many


def _screenshot(item: dict[str, Any]) -> str:
    picture, checks = screenshot(item)
    return f"{picture}, {checks} acknowledged"


def _shell(item: dict[str, Any]) -> str:
    lines: list[str] = []
    for run in item.get("output") or []:
        outcome = run.get("outcome") or {}
        code = outcome.get("exit_code")
        end = f"exit {code}" if outcome.get("type") == "exit" else "timeout"
        text = " ".join(str(run[name]).strip() for name in ("stdout", "stderr") if run.get(name))
        lines.append(f"{end}: {text}" if text else end)
    return "; ".join(lines) or "no commands run"


def _patch(item: dict[str, Any]) -> str:
    log = item.get("output")
    return f"{item.get('status')}: {log}" if log else str(item.get("status"))


def _tools(item: dict[str, Any]) -> str:
    names = [str(tool.get("name") or tool.get("type")) for tool in item.get("tools") or []]
    return ", ".join(names) or "no tools"


def _approval(item: dict[str, Any]) -> str:
    word = "approved" if item.get("approve") else "denied"
    reason = item.get("reason")
    return f"{word}: {reason}" if reason else word


_TEXTS = {
    "computer_call_output": _screenshot,
    "shell_call_output": _shell,
    "apply_patch_call_output": _patch,
    "tool_search_output": _tools,
    "mcp_approval_response": _approval,
}
