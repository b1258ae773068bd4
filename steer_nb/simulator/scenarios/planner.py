"""A long answer in several messages, so that a steer takes effect soon."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from steer_nb.simulator.scenario import scenario
from steer_nb.simulator.scenarios.calls import weather
from steer_nb.simulator.scenarios.common import answer, place_of, said
from steer_nb.simulator.steps import Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn

__all__ = ["planner"]

_AMOUNT = re.compile(
    r"\d[\d.,]*\s*(?:€|euros?\b|EUR\b|dollars?\b|USD\b|\$)|(?:€|EUR|USD|\$)\s*\d(?:[\d.,]*\d)?",
    re.IGNORECASE,
)


@scenario(
    "planner",
    "Thinks, then writes a trip plan in several messages for about five seconds, to be steered.",
)
def planner(turn: Turn) -> Iterator[Step]:
    """Write a plan, and write it anew whenever the traveller says something more.

    On a lane that has the tool, a question about the weather is looked up instead.
    """
    if _asks_weather(turn):
        yield from weather(turn)
        return
    place = place_of(turn)
    if not (turn.steers or turn.results or turn.said):
        yield from _first(turn, place)
        return
    yield Think("The traveller added something. I keep what still fits and change the rest.")
    yield Say(f"{answer(turn)} Here is the plan for {place} with that in mind.\n\n")
    yield from _revised(turn, place)


def _asks_weather(turn: Turn) -> bool:
    if not any(tool.get("name") == "get_weather" for tool in turn.tools):
        return False
    # A steer may come before the question of the prompt was looked up.
    words = turn.input_texts or ([] if turn.said else [turn.prompt])
    asked = any("weather" in text.lower() for text in (*words, *turn.steers))
    return asked or any(result.name == "get_weather" for result in turn.results.values())


def _first(turn: Turn, place: str) -> Iterator[Step]:
    yield Think(
        f"The traveller wants this: {said(turn.prompt)}",
        "Two days are short. I put what lies close together on the same day.",
    )
    yield Say(f"Here is a plan for {place}.\n\n")
    yield Say(
        "Day 1, morning. Start in the old town before nine, while its lanes are still empty. Take "
        "the first tram up the hill and get off at the viewpoint; walk down from there.\n\n"
    )
    yield Say(
        "Day 1, afternoon. Lunch at the market hall, then the tile museum, which closes at six. "
        "Keep an hour for the river bank when the light turns gold.\n\n"
    )
    yield Say(
        "Day 2, morning. A short train ride to the palace in the hills. Book the first entry; "
        "the crowds come at eleven.\n\n"
    )
    yield Say(
        "Day 2, afternoon. Back in town by four for the bookshops, and dinner where the menu is "
        "written by hand. Total: about 380 euros for two, trains included."
    )


def _revised(turn: Turn, place: str) -> Iterator[Step]:
    amount = _AMOUNT.search(" ".join((*turn.input_texts, *turn.steers)))
    if amount:
        yield Say(
            f"Within {amount.group(0)}, a guesthouse takes the hotel's place, and lunch is a "
            "picnic from the market.\n\n"
        )
    yield Say(
        "Day 1. The old town on foot, the viewpoint at nine, and the tile museum in the "
        "afternoon, with a long break in between.\n\n"
    )
    yield Say(
        f"Day 2. The palace with the first train, {place} again by four, and an early dinner. "
        "Say so if you want it another way."
    )
