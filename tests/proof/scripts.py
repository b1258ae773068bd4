"""Scenarios that both official SDKs are proven with."""

from __future__ import annotations

from steer_nb.simulator import AwaitSteer, CallFunction, Disconnect, Say, scenario


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
