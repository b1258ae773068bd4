"""What the model does in a soak: every built-in scenario, chosen by the words of each prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.simulator import scenario
from steer_nb.simulator.scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn

__all__ = ["everything"]

WORDS = {"audit": "seven", "weather": "weather", "failing": "failures"}


@scenario("soak", "Plans, asks for the weather, audits or fails, as the prompt says.")
def everything(turn: Turn) -> Iterator[Step]:
    """Hand over to the scenario that the prompt names; steers make it a plan anew."""
    yield from SCENARIOS[_which(turn)](turn)


def _which(turn: Turn) -> str:
    if turn.results:
        names = {result.name for result in turn.results.values()}
        return "weather" if names == {"get_weather"} else "seven"
    if turn.steers:
        return "planner"
    words = " ".join(turn.input_texts)
    return next((name for word, name in WORDS.items() if word in words), "planner")
