"""Scripts that wait for a steer at a known place, so that no test depends on timing."""

from __future__ import annotations

from steer_nb.simulator import AwaitSteer, CallFunction, Fail, Incomplete, Say, scenario


@scenario("wait", "Waits for a steer between two messages.")
def waits(turn):
    if turn.steers or turn.results:
        told = [*turn.steers, *(r.text for r in turn.results.values()), *turn.input_texts]
        yield Say("Heard: " + " / ".join(told))
        return
    yield Say("First.")
    yield AwaitSteer(5)
    yield Say("Second.")


@scenario("last", "Waits for a steer after its last message.")
def waits_at_the_end(turn):
    if turn.steers:
        yield Say("Heard: " + " / ".join(turn.steers))
        return
    yield Say("Only.")
    yield AwaitSteer(5)


@scenario("call", "Waits for a steer after a call.")
def waits_after_call(turn):
    if turn.steers or turn.results:
        told = [*turn.steers, *(r.text for r in turn.results.values()), *turn.input_texts]
        yield Say("Heard: " + " / ".join(told))
        return
    yield CallFunction("get_weather", {"city": "Lisbon"})
    yield AwaitSteer(0.3)


@scenario("limit", "Ends at a limit after a steer.")
def limited(turn):
    if turn.steers:
        yield Say("Heard: " + " / ".join(turn.steers))
        return
    yield Say("Cut")
    yield AwaitSteer(5)
    yield Incomplete("max_output_tokens")


@scenario("fail", "Fails after a steer.")
def fails(turn):
    if turn.steers:
        yield Say("Heard: " + " / ".join(turn.steers))
        return
    yield Say("Almost")
    yield AwaitSteer(5)
    yield Fail("server_error", "Sorry.")


@scenario("three", "Waits for three steers, and says which it was given.")
def three(turn):
    if turn.steers:
        yield Say(" / ".join(turn.steers) + ": ")
    elif turn.number == 1:
        yield Say("Begun.")
        yield AwaitSteer(10, count=3)
    yield Say("Done.")


async def started(line, *args, **fields):
    await line.create(*args, **fields)
    return (await line.until("response.created"))["response"]["id"]
