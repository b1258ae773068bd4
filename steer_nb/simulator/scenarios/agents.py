"""Two scouts that look things up at the same time, for the multi-agent beta."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from steer_nb.simulator.agents import Spawn, WaitAgents
from steer_nb.simulator.calls import CallFunction
from steer_nb.simulator.scenario import scenario
from steer_nb.simulator.scenarios.common import answer, heard, place_in, said
from steer_nb.simulator.steps import Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn

__all__ = ["agents"]

# A capital letter inside a sentence: a place, most likely.
_NAME = re.compile(r"(?<=[a-z,] )[A-ZÀ-Þ][\w\u2019'-]+")
_AGAIN = re.compile(r"\b(?:again|compare|weather)\b", re.IGNORECASE)


@scenario(
    "agents",
    "Two scouts ask get_weather(city) at the same time, for multi_agent={'enabled': True}.",
)
def agents(turn: Turn) -> Iterator[Step]:
    """Send two scouts, write on while they wait for their results, then compare."""
    if turn.results:
        yield Say(f"{heard(turn)} That is what the scouts wanted to know.", phase="final_answer")
        return
    if turn.agent is None:
        alone = 'A single agent writes this: ask with multi_agent={"enabled": true}.'
        yield Say(f"{answer(turn)} {alone}")
        return
    if turn.called("multi_agent_call") and not _AGAIN.search(turn.prompt):
        yield Say(f"{answer(turn)} Say “again”, and I send the scouts once more.")
        return
    yield Think()
    places = list(dict.fromkeys((*_NAME.findall(turn.prompt), "Lisbon", "Porto")))[:2]
    for place in places:
        yield Spawn(_short(place), f"Find out what the weather is like in {place}.", _scout)
    yield Say(
        f"One scout looks at {places[0]}, one at {places[1]}. Until they are back I collect what "
        "a traveller should ask of any town: how far it is on foot, what opens when, and where "
        "to sit when it rains.\n\n",
        phase="commentary",
    )
    yield WaitAgents()
    found = " ".join(f"{place}: {turn.reports[_short(place)]}" for place in places)
    yield Say(f"{found} Take the one that suits you.", phase="final_answer")


def _short(place: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", place.lower()).strip("_") or "scout"


def _scout(turn: Turn) -> Iterator[Step]:
    """Ask for the weather in one place and report it."""
    if turn.results:
        yield Say(" ".join(said(result.text) for result in turn.results.values()))
        return
    yield CallFunction("get_weather", {"city": place_in(turn.prompt) or "Lisbon"})
