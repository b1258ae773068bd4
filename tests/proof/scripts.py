"""Scenarios that both official SDKs are proven with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.simulator import AwaitSteer, CallFunction, Disconnect, Say, scenario
from steer_nb.simulator.steps import Beat

if TYPE_CHECKING:
    from collections.abc import Generator

    from steer_nb.simulator.steps import Place


@scenario("two", "Waits for two steers after a call.")
def calls_and_waits_for_two(turn):
    if turn.steers or turn.results:
        told = [*turn.steers, *(r.text for r in turn.results.values()), *turn.input_texts]
        yield Say("Heard: " + " / ".join(told))
        return
    yield CallFunction("get_weather", {"city": "Lisbon"})
    yield AwaitSteer(10, count=2)


@scenario("hang up", "Closes with the code that it is told.")
def hangs_up(turn):
    yield Say(f"You said: {turn.prompt}")
    if turn.prompt.isdecimal():
        yield Disconnect(int(turn.prompt), "simulated")


class Murmur(Say):
    """A message in whose middle comes an event of a type that nobody knows."""

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        playing = super().play(place)
        yield next(playing)
        yield Beat({"type": UNKNOWN, "mood": "bright", "output_index": place.output_index})
        return (yield from playing)


UNKNOWN = "response.mood.changed"


@scenario("murmur", "Says something, and something unknown.")
def murmurs(turn):
    yield Murmur(f"You said: {turn.prompt}")
