"""The stand-in model: what a script says, as a provider would stream it, and as it is kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steer_nb.simulator.calls import CallFunction
from steer_nb.simulator.letta.steps import Hide, Spend
from steer_nb.simulator.letta.stored import Thought, ToolCall
from steer_nb.simulator.steps import Arm, Fail, Pause, Say, Step, Think, next_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PLAYED", "Delta", "ModelFailed", "Reply", "Wait", "speak"]

PLAYED: Final = (Say, Think, CallFunction, Pause, Fail, Arm, Hide, Spend)
"""The steps that are played in this dialect."""

_WORD: Final = re.compile(r"\S+\s*|\s+")
_PIECE: Final = 8
"""Characters of a piece of a call's arguments."""


class Wait(NamedTuple):
    """Let time pass: seconds at speed 1."""

    seconds: float


class Delta(NamedTuple):
    """A piece of what the model writes: of a part, or of a call."""

    of: Thought | str | ToolCall
    part: int
    text: str | None
    """None begins a call: its name."""


@dataclass(slots=True)
class Reply:
    """What one call of the model gave."""

    parts: list[Thought | str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    n_tokens: int = 0
    spent: Spend | None = None


class ModelFailed(Exception):
    """The model's provider answered with an error.

    Parameters
    ----------
    message : str
        The provider's words.
    code : str
        The kind of error.
    """

    def __init__(self, message: str, code: str = "server_error") -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def speak(
    script: Iterator[Step],
    call_id: Callable[[int], str],
    arm: Callable[[Any], None],
    *,
    first_s: float,
    token_s: float,
) -> Iterator[Wait | Delta | Reply]:
    """Play a script: waits and pieces as they come, and the whole as the last.

    Parameters
    ----------
    script : iterator of Step
        One call of the model.
    call_id : callable
        Makes the id of the call of this number.
    arm : callable
        Arms a fault.
    first_s, token_s : float
        How long the model takes, at speed 1.

    Raises
    ------
    ModelFailed
        The script says so, raises, or yields what this dialect does not have.
    """
    reply = Reply()
    yield Wait(first_s)
    while (step := next_of(script)) is not None:
        if isinstance(step, Exception):
            failed = f"The scenario raised {type(step).__name__}: {step}"
            raise ModelFailed(failed) from step
        if isinstance(step, Pause):
            yield Wait(step.seconds)
        elif isinstance(step, Fail):
            raise ModelFailed(step.message, step.code)
        elif isinstance(step, Arm):
            arm(step.fault)
        elif isinstance(step, Spend):
            reply.spent = step
        elif isinstance(step, CallFunction):
            arguments = step.arguments
            if isinstance(arguments, Mapping):
                arguments = json.dumps(arguments, ensure_ascii=False)
            call = ToolCall(step.name, arguments, call_id(len(reply.calls)))
            reply.calls.append(call)
            yield Delta(call, len(reply.parts), None)
            yield from _pieces(reply, call, len(reply.parts), _cut(arguments), token_s)
        elif isinstance(step, Say | Think | Hide):
            if reply.calls:
                failed = "The scenario says something behind a call; a message's calls come last."
                raise ModelFailed(failed)
            part = _part(step)
            reply.parts.append(part)
            text = part if isinstance(part, str) else part.text or ""
            yield from _pieces(reply, part, len(reply.parts) - 1, _WORD.findall(text), token_s)
        else:
            known = ", ".join(one.__name__ for one in PLAYED)
            failed = f"The scenario yields {type(step).__name__}; Letta's model has {known}."
            raise ModelFailed(failed)
    yield reply


def _part(step: Say | Think | Hide) -> Thought | str:
    if isinstance(step, Say):
        return "".join((step.text, *step.more))
    if isinstance(step, Hide):
        return Thought(step.text, step.state)
    return Thought("".join(step.content or step.summaries))


def _pieces(
    reply: Reply, of: Thought | str | ToolCall, part: int, pieces: list[str], token_s: float
) -> Iterator[Wait | Delta]:
    for piece in pieces:
        reply.n_tokens += 1
        yield Wait(token_s)
        yield Delta(of, part, piece)


def _cut(arguments: str) -> list[str]:
    return [arguments[at : at + _PIECE] for at in range(0, len(arguments), _PIECE)]
