"""What all built-in scripts say in the same way: that they heard."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Protocol

from steer_nb.simulator.turn import screenshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steer_nb.simulator.turn import Result, Turn

__all__ = ["Told", "answer", "heard", "place_in", "place_of", "quote", "said", "told"]

_LONGEST = 240
_ONE_LINE = 3
"""So many sentences are read on one line; of more, each gets its own."""
# What stands behind "in", "for" or "at" with a capital letter and is no place.
_NO_PLACES = (
    "Celsius Fahrenheit English French German Italian Portuguese Spanish January February March "
    "April May June July August September October November December Monday Tuesday Wednesday "
    "Thursday Friday Saturday Sunday Christmas Easter I"
)
_PLACE = re.compile(
    rf"\b(?:in|to|for|at)\s+(?!(?:{'|'.join(_NO_PLACES.split())})\b)"
    r"((?:[A-ZÀ-Þ][\w'\u2019-]*)(?:\s+[A-ZÀ-Þ][\w'\u2019-]*)*)"
)


class Told(Protocol):
    """What the turns of all dialects know."""

    @property
    def prompt(self) -> str:
        """The user's newest words."""

    @property
    def input_texts(self) -> list[str]:
        """The user's new words."""

    @property
    def results(self) -> dict[str, Result]:
        """What came of calls."""

    @property
    def steers(self) -> list[str]:
        """What was said meanwhile."""


def quote(text: str) -> str:
    """Put a text in quotation marks, cut where it is very long.

    Examples
    --------
    >>> quote("Keep it short")
    '“Keep it short”'
    """
    text = text.strip()
    return f"“{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}”"


def said(text: str) -> str:
    """Quote a text at the end of a sentence: with a full stop, if it brings no mark of its own.

    Examples
    --------
    >>> said("Keep it short"), said("Is that all?")
    ('“Keep it short”.', '“Is that all?”')
    """
    quoted = quote(text)
    return quoted if quoted[-2] in ".!?…" else quoted + "."


def heard(turn: Told) -> str:
    """Say back what this response was told: steers, results, and the user's words with results.

    Empty where it was told nothing but a prompt.
    """
    lines = [
        f"{'Then you' if number else 'You'} said: {said(text)}"
        for number, text in enumerate(turn.steers)
    ]
    lines += [told(result) for result in turn.results.values()]
    if turn.results:
        lines += [f"You added: {said(text)}" for text in turn.input_texts]
    return ("\n" if len(lines) > _ONE_LINE else " ").join(lines)


def answer(turn: Told) -> str:
    """Answer anything, so that a script never runs dry: with what was said."""
    known = heard(turn)
    if known:
        return known
    return f"You said: {said(turn.prompt)}" if turn.prompt else "You said nothing yet."


def told(result: Result) -> str:
    """Say in sentences what a filled stub says."""
    return _TOLD.get(result.type, _output)(result)


def _output(result: Result) -> str:
    call = f"{result.name}{_arguments(result.call)}"
    return f"{call} gave: {said(result.text)}" if result.text.strip() else f"{call} gave nothing."


def _arguments(call: Mapping[str, Any]) -> str:
    """Write a function's arguments by name, each as JSON, where they are short."""
    try:
        arguments = json.loads(call.get("arguments") or "")
    except ValueError:
        return ""
    if not isinstance(arguments, dict):
        return ""
    values = (f"{name}={json.dumps(v, ensure_ascii=False)}" for name, v in arguments.items())
    text = ", ".join(values)
    return f"({text if len(text) <= _LONGEST // 4 else '…'})"


def _screenshot(result: Result) -> str:
    picture, checks = screenshot(result.item)
    return f"You sent {picture} and acknowledged {checks}."


def _shell(result: Result) -> str:
    commands = list((result.call.get("action") or {}).get("commands") or ())
    runs = result.item.get("output") or []
    lines = []
    for number, run in enumerate(runs):
        name = f"“{commands[number]}”" if number < len(commands) else "One more command"
        outcome = run.get("outcome") or {}
        code = outcome.get("exit_code")
        end = f"ended with code {code}" if outcome.get("type") == "exit" else "ran out of time"
        text = " ".join(str(run[part]).strip() for part in ("stdout", "stderr") if run.get(part))
        lines.append(f"{name} {end}: {said(text)}" if text else f"{name} {end}.")
    return " ".join(lines) or "You ran no command."


def _local_shell(result: Result) -> str:
    command = f"“{' '.join((result.call.get('action') or {}).get('command') or ())}”"
    return f"{command} gave: {said(result.text)}" if result.text else f"{command} gave nothing."


def _patch(result: Result) -> str:
    end = "was applied" if result.item.get("status") == "completed" else "failed"
    log = result.item.get("output")
    return f"The patch {end}: {said(log)}" if log else f"The patch {end}."


def _tools(result: Result) -> str:
    tools = result.item.get("tools") or []
    names = [str(tool.get("name") or tool.get("type")) for tool in tools]
    return f"You named these tools: {', '.join(names)}." if names else "You named no tools."


def _approval(result: Result) -> str:
    word = "approved" if result.item.get("approve") else "denied"
    reason = result.item.get("reason")
    return f"You {word} {result.name}: {said(reason)}" if reason else f"You {word} {result.name}."


_TOLD: Mapping[str, Callable[[Result], str]] = {
    "computer_call_output": _screenshot,
    "shell_call_output": _shell,
    "local_shell_call_output": _local_shell,
    "apply_patch_call_output": _patch,
    "tool_search_output": _tools,
    "mcp_approval_response": _approval,
}


def place_in(text: str) -> str | None:
    """Find the place that a text names.

    Examples
    --------
    >>> place_in("What is the weather in New York today?")
    'New York'
    >>> place_in("Answer in English") is None
    True
    """
    found = _PLACE.search(text)
    return found.group(1) if found else None


def place_of(turn: Turn, default: str = "Lisbon") -> str:
    """Say which place a conversation is about: the one that the user named last."""
    for text in (*reversed(turn.steers), *reversed(turn.input_texts), *reversed(turn.asked)):
        place = place_in(text)
        if place is not None:
            return place
    return default
