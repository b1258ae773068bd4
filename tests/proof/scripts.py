"""Scenarios that both official SDKs are proven with."""

from __future__ import annotations

from steer_nb.simulator import Arm, AwaitSteer, CallFunction, Drop, Insert, Say, scenario

UNKNOWN = "response.mood.changed"

MURMUR = Insert(
    type="response.output_item.added", event={"type": UNKNOWN, "mood": "bright"}, times=None
)
"""A fault: in each item comes an event of a type that nobody knows."""


@scenario("patient", "Waits for its steer, however many others come first.")
def waits_long(turn):
    if turn.steers:
        yield Say("Heard: " + " / ".join(turn.steers))
        return
    yield Say("First.")
    yield AwaitSteer(60)
    yield Say("Second.")


@scenario("two", "Waits for two steers after a call.")
def calls_and_waits_for_two(turn):
    if turn.steers or turn.results:
        told = [*turn.steers, *(r.text for r in turn.results.values()), *turn.input_texts]
        yield Say("Heard: " + " / ".join(told))
        return
    yield CallFunction("get_weather", {"city": "Lisbon"})
    yield AwaitSteer(10, count=2)


@scenario("hang up", "Loses the connection with the code that it is told, before the end.")
def hangs_up(turn):
    if turn.prompt.isdecimal():
        yield Arm(Drop(type="response.completed", side="before", code=int(turn.prompt)))
    yield Say(f"You said: {turn.prompt}")
