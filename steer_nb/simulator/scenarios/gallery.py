"""Every kind of item and event once, so that people see what there is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from steer_nb.simulator.agents import SendMessage, Spawn, WaitAgents
from steer_nb.simulator.audio import Speak
from steer_nb.simulator.calls import (
    AskApproval,
    CallApplyPatch,
    CallComputer,
    CallCustom,
    CallFunction,
    CallLocalShell,
    CallShell,
    SearchTools,
)
from steer_nb.simulator.hosted import (
    CallMcp,
    Compact,
    ListMcpTools,
    RunCode,
    SearchFiles,
    SearchWeb,
)
from steer_nb.simulator.images import GenerateImage
from steer_nb.simulator.outputs import FindTools, RunProgram, RunShell
from steer_nb.simulator.scenario import scenario
from steer_nb.simulator.scenarios.common import answer, heard, said
from steer_nb.simulator.steps import Queue, Refuse, Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn

__all__ = ["gallery"]

_AGAIN = re.compile(r"\b(?:again|gallery|everything)\b", re.IGNORECASE)
_QUICK = 0.4
"""Seconds that each hosted tool works here: there are many."""

_TRAM = "Tram 28 climbs to the castle."
_FARES = " A day of rides costs less than three single ones.\n\n"
_SOURCES = (
    {
        "type": "url_citation",
        "url": "https://example.org/trams",
        "title": "Trams of Lisbon",
        "start_index": 0,
        "end_index": len(_TRAM),
    },
    {"type": "file_citation", "file_id": "file_fares", "filename": "fares.pdf"},
)


@scenario(
    "gallery",
    "Shows every kind of item and event once, then asks for what only you can give.",
)
def gallery(turn: Turn) -> Iterator[Step]:
    """Show what the service does itself, then make every call that the client answers."""
    if turn.results:
        yield Say(f"{heard(turn)} That was every kind once.", phase="final_answer")
        return
    again = any(_AGAIN.search(text) for text in turn.input_texts)
    if turn.called() and not again:
        yield Say(f"{answer(turn)} Say “again”, and I show everything once more.")
        return
    yield Queue(_QUICK)
    told = heard(turn)
    if told:
        yield Say(f"{told}\n\n")
    yield from _words(turn)
    yield from _hosted()
    if turn.agent is not None:
        yield from _team(turn)
    yield Say("Now it is your turn: these are the calls that only you can answer.\n\n")
    yield from _calls()


def _words(turn: Turn) -> Iterator[Step]:
    if turn.agent is None:
        yield Think(
            "The visitor wants to see everything once.",
            "I begin with what is said, then come",
            content="A gallery. First words, then tools, then what the visitor has to do.",
            interrupted=True,
        )
    else:
        yield Think(content="A gallery. First words, then tools, then what the visitor has to do.")
    yield Speak("Welcome to the gallery. This sentence is spoken as well.\n\n", phase="commentary")
    yield SearchWeb("trams in Lisbon", ["https://example.org/trams"], _QUICK)
    yield SearchFiles(["tram fares"], _QUICK)
    yield Say(_TRAM + _FARES, phase="commentary", annotations=_SOURCES)
    yield Refuse("What the driver said about the tourists, I do not repeat.\n\n")


def _hosted() -> Iterator[Step]:
    yield FindTools({"query": "calendar"}, ["find_events"])
    yield ListMcpTools("calendar", ["list_events", "delete_event"], seconds=_QUICK)
    yield CallMcp("calendar", "list_events", {"day": "Monday"}, "No events.", _QUICK)
    yield ListMcpTools("museum", error="The server does not answer.", seconds=_QUICK)
    yield CallMcp("calendar", "delete_event", {"id": 5}, error="No such event.", seconds=_QUICK)
    yield RunCode("fares = [3.2] * 3\nprint(sum(fares))", "9.6\n", _QUICK)
    yield RunProgram("text(await tools.count({line: 28}))", "41")
    yield RunShell(
        "wc -l trips.csv",
        "cat fares.csv",
        stdout="41 trips.csv\n",
        stderr=("", "cat: fares.csv: No such file\n"),
        exit_code=1,
        seconds=_QUICK,
    )
    yield GenerateImage("A hill with the evening sun above it.", partial_images=2, seconds=_QUICK)
    yield Compact(_QUICK)


def _calls() -> Iterator[Step]:
    check = {"code": "sensitive_domain", "message": "The page sells tickets."}
    click = {"type": "click", "button": "left", "x": 412, "y": 230}
    yield CallFunction("get_weather", {"city": "Lisbon"})
    yield CallCustom("note", "Tram 28, then the castle.")
    yield CallComputer([click], [check])
    yield CallShell("ls trips/", timeout_ms=10_000)
    yield CallLocalShell("ls", "-a", working_directory="trips")
    yield CallApplyPatch("trips/plan.toml", "@@\n-budget = 400\n+budget = 300\n")
    yield SearchTools({"query": "tickets"})
    yield AskApproval("calendar", "delete_event", {"event_id": "evt_55"})


def _team(turn: Turn) -> Iterator[Step]:
    yield Spawn("guide", "Say in one sentence what is worth seeing.", _guide)
    yield SendMessage("guide", "Keep it short.")
    yield WaitAgents()
    yield Say(f"My guide said: {said(turn.reports['guide'])}\n\n")


def _guide(_: Turn) -> Iterator[Step]:
    yield Say("The castle, from the last tram.")
