"""One scenario for each kind of required input, and one that asks for all seven at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.calls import (
    AskApproval,
    CallApplyPatch,
    CallComputer,
    CallCustom,
    CallFunction,
    CallShell,
    SearchTools,
)
from steer_nb.simulator.scenario import scenario
from steer_nb.simulator.scenarios.common import answer, heard, place_in, place_of
from steer_nb.simulator.steps import Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.steps import Item, Step
    from steer_nb.simulator.turn import Turn

__all__ = [
    "approval",
    "computer",
    "custom",
    "patch",
    "seven",
    "shell",
    "tools",
    "weather",
]

_SAFETY_CHECK = {
    "code": "sensitive_domain",
    "message": "The page handles bookings. Check that this is what you want.",
}
_DIFF = "@@\n-budget = 400\n+budget = 300\n"


def _asked(turn: Turn, words: str) -> bool:
    """Whether this response should make its calls: the first time, or when asked again."""
    if turn.results:
        return False
    if not turn.called():
        return True
    pattern = rf"\b(?:again|{words})\b"
    return any(re.search(pattern, text, re.IGNORECASE) for text in turn.input_texts)


def _run(turn: Turn, words: str, thought: str, *calls: Item) -> Iterator[Step]:
    if turn.results:
        yield Say(heard(turn))
        return
    if not _asked(turn, words):
        yield Say(f"{answer(turn)} Say “again”, and I ask once more.")
        return
    told = heard(turn)
    if told:
        yield Say(f"{told}\n\n")
    yield Think(thought)
    yield from calls


@scenario("weather", "Calls get_weather(city) and tells what you answer.")
def weather(turn: Turn) -> Iterator[Step]:
    """Call one function, then report its result."""
    if turn.results:
        yield Think("The weather is here.")
        yield Say(f"{heard(turn)} That is all I wanted to know.")
        return
    call = CallFunction("get_weather", {"city": place_of(turn)})
    words = "weather|forecast|rain|sun|temperature"
    if any(place_in(text) for text in turn.input_texts):
        words += "|in|to|for|at"  # another city is another question
    yield from _run(turn, words, "I have to look up the weather.", call)


@scenario("seven", "Asks for all seven kinds of required input in one response.")
def seven(turn: Turn) -> Iterator[Step]:
    """Make seven calls at once."""
    yield from _run(
        turn,
        "audit|everything",
        "For this I need everything at once.",
        CallFunction("get_project_status", {"project": "atlas", "deep": True}),
        CallCustom("note", "Remember: the audit started."),
        CallComputer([{"type": "screenshot"}], [_SAFETY_CHECK]),
        CallShell("ls trips/", "git status --short", timeout_ms=10_000),
        CallApplyPatch("trips/plan.toml", _DIFF),
        SearchTools({"query": "calendar"}),
        AskApproval("calendar", "delete_event", {"event_id": "evt_55"}),
    )


@scenario("custom", "Calls a custom tool with free-form text.")
def custom(turn: Turn) -> Iterator[Step]:
    """Call one custom tool."""
    call = CallCustom("search", f"hotels near:{place_of(turn)} price:<120 sort:price")
    yield from _run(turn, "search|hotels?", "A search will tell.", call)


@scenario("computer", "Asks for a click on a screen and a screenshot, with one safety check.")
def computer(turn: Turn) -> Iterator[Step]:
    """Ask for one action and its screenshot."""
    click = {"type": "click", "button": "left", "x": 412, "y": 230}
    call = CallComputer([click], [_SAFETY_CHECK])
    yield from _run(turn, "click|screen|screenshot", "I press the button and look.", call)


@scenario("shell", "Asks you to run two shell commands and reads their output.")
def shell(turn: Turn) -> Iterator[Step]:
    """Ask for two commands."""
    call = CallShell("ls trips/", "wc -w trips/*.md", timeout_ms=10_000, max_output_length=4096)
    yield from _run(turn, "run|shell|list", "I look at the files first.", call)


@scenario("patch", "Asks you to apply a patch to a file and reacts to success or failure.")
def patch(turn: Turn) -> Iterator[Step]:
    """Ask for one change; say what follows from its outcome."""
    if turn.results:
        worked = all(result.item.get("status") == "completed" for result in turn.results.values())
        end = "The budget is 300 now." if worked else "Then the file stays as it was."
        yield Say(f"{heard(turn)} {end}")
        return
    call = CallApplyPatch("trips/plan.toml", _DIFF)
    yield from _run(turn, "patch|change|edit", "One line has to change.", call)


@scenario("tools", "Asks which of your tools fit, then calls the first one that you name.")
def tools(turn: Turn) -> Iterator[Step]:
    """Search tools; with some found, call one of them."""
    found = [
        tool
        for result in turn.results.values()
        if result.type == "tool_search_output"
        for tool in result.item.get("tools") or ()
        if tool.get("type") == "function" and isinstance(tool.get("name"), str)
    ]
    if found:
        yield Say(f"{heard(turn)}\n\n")
        yield CallFunction(found[0]["name"], _example(found[0].get("parameters")))
        return
    call = SearchTools({"query": "calendar", "limit": 3})
    yield from _run(turn, "search|tools?|find", "Which tools are there?", call)


def _example(schema: Any) -> dict[str, Any]:
    """Make arguments that fit the plain parts of a JSON schema."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    required = schema.get("required") or list(properties)
    return {name: _value(part) for name, part in properties.items() if name in required}


def _value(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return {}
    if schema.get("enum"):
        return schema["enum"][0]
    examples = {"string": "example", "integer": 1, "number": 1.5, "boolean": True, "array": []}
    return examples.get(str(schema.get("type")), {})


@scenario("approval", "Asks whether a tool of an MCP server may delete a calendar event.")
def approval(turn: Turn) -> Iterator[Step]:
    """Ask for one approval; act on the decision."""
    if turn.results:
        granted = all(result.item.get("approve") is True for result in turn.results.values())
        end = (
            "The event is deleted." if granted else "I leave the event in place and delete nothing."
        )
        yield Say(f"{heard(turn)} {end}")
        return
    call = AskApproval("calendar", "delete_event", {"event_id": "evt_55"})
    yield from _run(turn, "delete|remove", "Deleting needs a yes.", call)
