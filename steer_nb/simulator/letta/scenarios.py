"""The built-in scenarios for Letta: they answer whatever is said, and call what is offered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.calls import CallFunction
from steer_nb.simulator.letta.scenario import LettaScenario, scenario
from steer_nb.simulator.letta.tools import Outcome, ServerTool
from steer_nb.simulator.scenarios.common import answer, said, told
from steer_nb.simulator.steps import Fail, Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from steer_nb.simulator.letta.turn import LettaTurn
    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Result

__all__ = ["SCENARIOS"]

_FILES = {"/srv/report.md": "1,204 bytes", "/srv/notes.txt": "310 bytes", "/srv/old.log": "9 MB"}
_PATH = re.compile(r"/[\w./-]*\w")
_DELETES = re.compile(r"\b(?:delete|remove|clean|erase|rm)\b", re.IGNORECASE)
_LISTS = re.compile(r"\b(?:list|show|which|what|see|files?|look)\b", re.IGNORECASE)
_WORDS = (
    "A steering input reaches a model between two steps. It says what the person has thought of "
    "since, and the model goes on with both in mind. What was written stays written; what comes "
    "next fits what was said last. That is why a long answer is worth watching: a word in time "
    "saves the other half of it."
)


def list_files(folder: str = "/srv") -> Outcome:
    """List the files in a folder."""
    found = [f"{path}  {size}" for path, size in _FILES.items() if path.startswith(folder)]
    return Outcome("\n".join(found) or "no files", stdout=(f"reading {folder}\n",))


def delete_file(path: str) -> str:
    """Delete a file. It cannot be brought back."""
    return f"deleted {path}"


LIST = ServerTool.of(list_files)
DELETE = ServerTool.of(delete_file, requires_approval=True, seconds=1.0)


def _client_call(turn: LettaTurn) -> Iterator[Step]:
    """Call the client's tool that the person names, or its only one."""
    tools = {str(tool["name"]): tool for tool in turn.tools if tool["name"] in turn.client_tools}
    named = [name for name in tools if re.search(rf"\b{re.escape(name)}\b", turn.prompt)]
    for name in named or (list(tools) if len(tools) == 1 else []):
        yield CallFunction(name, _guess(tools[name].get("parameters") or {}, turn.prompt))


def _guess(schema: Mapping[str, Any], prompt: str) -> dict[str, Any]:
    """Fill in what a tool's schema requires: numbers and paths of the prompt, or its words."""
    properties = schema.get("properties") or {}
    number, path = re.search(r"-?\d+", prompt), _PATH.search(prompt)
    guessed: dict[str, Any] = {}
    for name in schema.get("required") or properties:
        kind = (properties.get(name) or {}).get("type", "string")
        if kind in ("integer", "number"):
            guessed[name] = int(number.group()) if number else 1
        elif kind == "boolean":
            guessed[name] = True
        else:
            guessed[name] = path.group() if path else prompt
    return guessed


def _heard(turn: LettaTurn) -> str:
    """Say back what came of the calls."""
    lines = [_told(result) for result in turn.results.values()]
    lines += [f"You added: {said(text)}" for text in turn.steers]
    return " ".join(lines) or "I go on where I stopped."


def _told(result: Result) -> str:
    """Say what came of one call: what was denied gave nothing."""
    refused, _, reason = result.text.partition("User reason: ")
    if not refused.startswith("Error: request to call tool denied"):
        return told(result)
    return f"You denied {result.name}." if reason == "None" else f"You denied it: {said(reason)}"


@scenario(
    "files",
    "Lists files at once, asks before it deletes one, and uses the tools that you bring.",
    tools=[LIST, DELETE],
)
def files(turn: LettaTurn) -> Iterator[Step]:
    """Do what the person says with files."""
    if turn.results or turn.kept_alive:
        yield Say(_heard(turn))
        return
    mine = list(_client_call(turn))
    if mine:
        yield Say("I use a tool of yours.")
        yield from mine
    elif _DELETES.search(turn.prompt) and turn.offers("delete_file"):
        paths = _PATH.findall(turn.prompt) or ["/srv/old.log"]
        yield Think("It cannot be brought back: the person has to agree.")
        yield Say(f"I want to delete {' and '.join(paths)}.")
        for path in paths:
            yield CallFunction("delete_file", {"path": path})
    elif _LISTS.search(turn.prompt) and turn.offers("list_files"):
        yield Say("I look at the files.")
        yield CallFunction("list_files", {"folder": "/srv"})
    else:
        yield Say(f"{answer(turn)} I can list files, and delete one if you agree.")


@scenario(
    "parallel",
    "Calls all at once: a tool that runs, two that need approval, and those that you bring.",
    tools=[LIST, DELETE],
)
def parallel(turn: LettaTurn) -> Iterator[Step]:
    """Call several tools in one step."""
    if turn.results or turn.kept_alive:
        yield Say(_heard(turn))
        return
    yield Say("I do several things at once.")
    if turn.offers("list_files"):
        yield CallFunction("list_files", {"folder": "/srv"})
    yield from _client_call(turn)
    if turn.offers("delete_file"):
        yield CallFunction("delete_file", {"path": "/srv/old.log"})
        yield CallFunction("delete_file", {"path": "/srv/notes.txt"})


@scenario("story", "Says some sentences, slowly enough to be cancelled or lost and resumed.")
def story(turn: LettaTurn) -> Iterator[Step]:
    """Say a lot."""
    yield Think("A longer answer is wanted.")
    yield Say(f"{answer(turn)} {_WORDS}")


@scenario(
    "failing",
    "Runs a tool, and then its model fails; “rate” lets it fail at once for too many requests.",
    tools=[LIST],
)
def failing(turn: LettaTurn) -> Iterator[Step]:
    """Fail."""
    if turn.results:
        yield Fail("server_error", "The model is not there.")
    elif "rate" in turn.prompt.lower():
        yield Fail("rate_limit_exceeded", "Too many requests.")
    elif turn.offers("list_files") and not turn.called("list_files"):
        yield Say("First I look at the files.")
        yield CallFunction("list_files", {"folder": "/srv"})
    else:
        yield Say(answer(turn))


SCENARIOS: Mapping[str, LettaScenario] = {
    one.name: one for one in (files, parallel, story, failing)
}
"""By name; the first is the default."""
