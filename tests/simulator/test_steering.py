"""Chapter 5 of the protocol notes, rule by rule, over a real socket."""

from __future__ import annotations

import pytest

from steer_nb.simulator import (
    AwaitSteer,
    CallFunction,
    Fail,
    FailSuccessor,
    Incomplete,
    Say,
    Think,
    scenario,
)
from tests.support.simulated import ENDS, answer, calls_of, text_of, wire

CODES = [
    "response_not_found",
    "invalid_input",
    "steering_not_supported",
    "too_many_pending_steers",
    "response_already_completed",
    "response_not_active",
]


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


async def started(line, *args, **fields):
    await line.create(*args, **fields)
    return (await line.until("response.created"))["response"]["id"]


async def test_interrupts_at_an_item_boundary_and_commits_with_the_successor(simulate):
    async with wire(simulate(waits)) as line:
        parent = await started(line, stream_id="a", instructions="Be kind.", metadata={"k": "v"})
        await line.steer(parent, "Only two stops.")
        accepted = await line.until("response.steer.accepted")
        assert accepted["stream_id"] == "a"
        assert accepted["steer"]["previous_response_id"] == parent
        assert accepted["steer"]["id"].startswith("steer_")
        assert len(accepted["steer"]["id"]) == len("steer_") + 32
        ended = await line.end()
        assert ended["status"] == "incomplete"
        assert ended["incomplete_details"] == {"reason": "steered"}
        assert [item["status"] for item in ended["output"]] == ["completed"]
        created = await line.recv()
        assert created["type"] == "response.created"
        assert created["stream_id"] == "a"
        assert created["sequence_number"] == 0
        assert created["response"]["previous_response_id"] == parent
        assert created["response"]["instructions"] == "Be kind."
        assert created["response"]["metadata"] == {"k": "v"}
        assert text_of(await line.end()) == "Heard: Only two stops."
        await line.silence()


async def test_completes_first_then_succeeds(simulate):
    async with wire(simulate(waits_at_the_end)) as line:
        parent = await started(line)
        await line.steer(parent, "And a museum.")
        assert (await line.end())["status"] == "completed"
        created = await line.recv()
        assert created["type"] == "response.created"
        assert created["response"]["previous_response_id"] == parent
        assert text_of(await line.end()) == "Heard: And a museum."


async def test_several_steers_make_one_successor_in_order(simulate):
    @scenario("three", "Waits for three steers.")
    def three(turn):
        yield Say("First." + " / ".join(turn.steers))
        if not turn.steers:
            yield AwaitSteer(10, count=3)
            yield Say("never said")

    simulator = simulate(three)
    async with wire(simulator) as line:
        parent = await started(line)
        for word in ("one", "two", "three"):
            await line.steer(parent, word)
        assert text_of(await line.end()) == "First."
        successor = await line.end()
        assert successor["previous_response_id"] == parent
        assert text_of(successor) == "First.one / two / three"
        await line.silence()
    fates = [e["fate"] for e in simulator.account if e["kind"] == "steer"]
    assert fates == ["committed"] * 3


async def test_pending_once_for_each_and_one_continuation(simulate):
    simulator = simulate(waits_after_call)
    async with wire(simulator) as line:
        parent = await started(line, stream_id="a", instructions="Old.")
        await line.steer(parent, "In Celsius.")
        await line.steer(parent, "And the wind.")
        ended = await line.end()
        assert ended["status"] == "completed"
        (call,) = calls_of(ended)
        first, second = await line.recv(), await line.recv()
        for event in (first, second):
            assert event["type"] == "response.steer.pending"
            assert event["reason"] == "waiting_for_required_input"
            assert event["required_input"] == [
                {
                    "type": "function_call_output",
                    "call_id": call["call_id"],
                    "name": "get_weather",
                }
            ]
        assert first["steer"]["id"] != second["steer"]["id"]
        await line.create(
            [answer(call), {"role": "user", "content": "Please."}],
            previous_response_id=parent,
            stream_id="a",
        )
        created = await line.until("response.created")
        assert created["response"]["previous_response_id"] == parent
        assert created["response"]["instructions"] is None
        expected = "Heard: In Celsius. / And the wind. / 18 °C and dry / Please."
        assert text_of(await line.end()) == expected
        assert len(line.of("response.steer.pending")) == 2
    (continuation,) = [e for e in simulator.account if e["kind"] == "continuation"]
    assert [item["call_id"] for item in continuation["results"]] == [call["call_id"]]
    assert len(continuation["steers"]) == 2


async def test_early_continuation_needs_no_notice(simulate):
    async with wire(simulate(waits_after_call)) as line:
        parent = await started(line)
        call = (await line.until("response.output_item.done"))["item"]
        await line.create([answer(call)], previous_response_id=parent)
        await line.steer(parent, "In Celsius.")
        assert (await line.end())["status"] == "completed"
        assert text_of(await line.end()) == "Heard: In Celsius. / 18 °C and dry"
        assert line.of("response.steer.pending") == []


async def test_refused_early_continuation_is_followed_by_the_notice(simulate):
    async with wire(simulate(waits_after_call)) as line:
        parent = await started(line)
        call = (await line.until("response.output_item.done"))["item"]
        await line.create("No result.", previous_response_id=parent)
        await line.steer(parent, "In Celsius.")
        error = await line.until("error")
        assert error["error"]["message"].startswith("No tool output found for function call ")
        pending = await line.recv()
        assert pending["type"] == "response.steer.pending"
        await line.create([answer(call)], previous_response_id=parent)
        assert "In Celsius." in text_of(await line.end())


async def test_steer_after_completion_that_still_waits(simulate):
    async with wire(simulate("weather")) as line:
        ended = await line.ask("Weather in Porto?")
        await line.steer(ended["id"], "In Celsius.")
        assert (await line.recv())["type"] == "response.steer.accepted"
        assert (await line.recv())["type"] == "response.steer.pending"
        (call,) = calls_of(ended)
        text = text_of(await line.ask([answer(call)], previous_response_id=ended["id"]))
        assert "“In Celsius.”" in text
        assert "“18 °C and dry”" in text
        await line.steer(ended["id"], "Too late.")
        failed = await line.recv()
        assert failed["error"]["code"] == "response_already_completed"


async def test_cut_before_a_call_makes_the_successor_call(simulate):
    @scenario("think", "Waits for a steer before its call.")
    def thinks(turn):
        yield Think("Hm.")
        if not turn.steers:
            yield AwaitSteer(5)
        yield CallFunction("get_weather", {"city": turn.steers[0] if turn.steers else "Rome"})

    async with wire(simulate(thinks)) as line:
        parent = await started(line)
        await line.steer(parent, "Oslo")
        assert (await line.end())["incomplete_details"] == {"reason": "steered"}
        (call,) = calls_of(await line.end())
        assert call["arguments"] == '{"city":"Oslo"}'
        assert line.of("response.steer.pending") == []


@pytest.mark.parametrize("code", CODES)
async def test_every_refusal_can_be_asked_for(simulate, code):
    async with wire(simulate("failures")) as line:
        parent = await started(line, f"Show me {code}.", stream_id="a")
        await line.until("response.output_text.done")
        given = [{"type": "message", "role": "user", "content": "Hi."}]
        while True:
            # The script may still be closing its message; from there on steers are refused.
            await line.steer(parent, given)
            event = await line.until("response.steer.failed", "response.steer.accepted")
            if event["type"] == "response.steer.failed":
                break
        assert event["error"]["code"] == code
        assert event["error"]["type"] == "invalid_request_error"
        assert event["steer"] == {"previous_response_id": parent, "input": given}
        assert event["stream_id"] == "a"


async def test_successor_that_cannot_be_created(simulate):
    async with wire(simulate("failures")) as line:
        parent = await started(line, "successor_creation_failed")
        await line.until("response.output_text.done")
        await line.steer(parent, "Go on.")
        accepted = await line.until("response.steer.accepted")
        await line.end()
        failed = await line.recv()
        assert failed["error"]["code"] == "successor_creation_failed"
        assert failed["steer"]["id"] == accepted["steer"]["id"]
        assert failed["steer"]["input"] == "Go on."
        await line.silence()


async def test_unknown_target(simulate):
    async with wire(simulate(unknown_target_sequence=7)) as line:
        await line.steer("resp_nobody", "Hello?")
        failed = await line.recv()
        assert failed["error"]["code"] == "response_not_found"
        assert failed["sequence_number"] == 7
        assert "stream_id" not in failed
        assert "id" not in failed["steer"]


async def test_target_on_another_connection(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as one, wire(simulator) as other:
        ended = await one.ask()
        await other.steer(ended["id"])
        assert (await other.recv())["error"]["code"] == "response_not_found"


async def test_late_steers(simulate):
    async with wire(simulate("failures")) as line:
        done = await line.ask("nothing special")
        await line.steer(done["id"])
        assert (await line.recv())["error"]["code"] == "response_already_completed"
        failed = await line.ask("server_error")
        assert failed["status"] == "failed"
        await line.steer(failed["id"])
        assert (await line.recv())["error"]["code"] == "response_not_active"


@pytest.mark.parametrize(
    "fields",
    [
        {"model": "gpt-5.6-sol"},
        {"conversation": "conv_1"},
        {"context_management": [{"type": "compaction", "compact_threshold": 1000}]},
    ],
)
async def test_what_cannot_be_steered(simulate, fields):
    async with wire(simulate("planner", speed=50)) as line:
        parent = await started(line, **fields)
        await line.steer(parent)
        failed = await line.until("response.steer.failed")
        assert failed["error"]["code"] == "steering_not_supported"
        assert (await line.end())["status"] == "completed"


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ({"input": "Hi.", "stream_id": "a"}, "stream_id"),
        ({"input": "Hi.", "tools": []}, "tools"),
        ({}, "input"),
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"input": ""}, "empty"),
        ({"input": 5}, "input"),
        ({"input": ["text"]}, "input[0]"),
        ({"input": [{"role": "system", "content": "Hi."}]}, "role"),
        ({"input": [{"role": "user", "content": "Hi.", "id": "msg_1"}]}, "id"),
        ({"input": [{"role": "user", "content": []}]}, "content"),
        ({"input": [{"role": "user", "content": [{"type": "output_text"}]}]}, "content[0]"),
        (
            {"input": [{"type": "function_call_output", "call_id": "c", "output": ""}]},
            "function_call_output",
        ),
    ],
)
async def test_invalid_steers(simulate, body, hint):
    async with wire(simulate("planner", speed=50)) as line:
        parent = await started(line)
        # Not checked strictly: the input goes back as it came, and it came wrong.
        await line.send({"type": "response.steer", "previous_response_id": parent, **body})
        while (event := await raw(line))["type"] != "response.steer.failed":
            pass
        assert event["error"]["code"] == "invalid_input"
        assert hint in event["error"]["message"]
        assert event["steer"]["input"] == body.get("input", "")
        assert "id" not in event["steer"]


async def raw(line):
    import json

    return json.loads(await line.socket.recv())


async def test_steer_without_target_is_an_error(simulate):
    async with wire(simulate()) as line:
        error = await line.refused({"type": "response.steer", "input": "Hi."})
        assert error["error"]["param"] == "previous_response_id"


async def test_steer_with_a_picture(simulate):
    given = [
        {
            "role": "user",
            "type": "message",
            "content": [
                {"type": "input_text", "text": "Like this:"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"},
            ],
        }
    ]
    async with wire(simulate(waits)) as line:
        await line.steer(await started(line), given)
        await line.end()
        assert text_of(await line.end()) == "Heard: Like this: [image]"


async def test_too_many(simulate):
    async with wire(simulate("weather", max_pending_steers=3)) as line:
        ended = await line.ask("Weather in Porto?")
        for n in range(5):
            await line.steer(ended["id"], f"word {n}")
        for _ in range(3):
            assert (await line.recv())["type"] == "response.steer.accepted"
            assert (await line.recv())["type"] == "response.steer.pending"
        for _ in range(2):
            failed = await line.recv()
            assert failed["error"]["code"] == "too_many_pending_steers"
            assert "id" not in failed["steer"]


# The open questions of 5.8


async def test_a_waiting_parent_may_refuse(simulate):
    async with wire(simulate("weather", steer_waiting="refuse")) as line:
        ended = await line.ask("Weather in Porto?")
        await line.steer(ended["id"])
        assert (await line.recv())["error"]["code"] == "response_already_completed"


async def test_b_completed_parent_may_accept(simulate):
    async with wire(simulate("planner", steer_completed="accept")) as line:
        ended = await line.ask("Plan Rome.")
        await line.steer(ended["id"], "Shorter.")
        assert (await line.recv())["type"] == "response.steer.accepted"
        successor = await line.end()
        assert successor["previous_response_id"] == ended["id"]
        assert "“Shorter.”" in text_of(successor)
        await line.steer(ended["id"], "Again.")
        assert (await line.recv())["error"]["code"] == "response_already_completed"


@pytest.mark.parametrize("answer_", ["successor", "fail"])
async def test_c_limited_parent(simulate, answer_):
    async with wire(simulate(limited, steer_limited=answer_)) as line:
        await line.steer(await started(line), "Go on.")
        assert (await line.end())["incomplete_details"] == {"reason": "max_output_tokens"}
        if answer_ == "successor":
            assert text_of(await line.end()) == "Heard: Go on."
        else:
            failed = await line.recv()
            assert failed["error"]["code"] == "successor_creation_failed"


@pytest.mark.parametrize("answer_", ["fail", "successor"])
async def test_d_failed_parent(simulate, answer_):
    async with wire(simulate(fails, steer_failed=answer_)) as line:
        parent = await started(line)
        await line.steer(parent, "One.")
        await line.until("response.steer.accepted")
        ended = await line.end()
        assert ended["status"] == "failed"
        assert ended["error"]["code"] == "server_error"
        if answer_ == "successor":
            assert text_of(await line.end()) == "Heard: One."
        else:
            failed = await line.recv()
            assert failed["error"]["code"] == "successor_creation_failed"
            assert failed["steer"]["id"]


@pytest.mark.parametrize("order", ["first", "tail"])
async def test_e_successor_and_a_queued_create(simulate, order):
    async with wire(simulate(waits, successor_order=order)) as line:
        parent = await started(line)
        await line.create("Unrelated.", generate=False)
        await line.steer(parent, "Now.")
        await line.end()
        one = (await line.until("response.created"))["response"]["previous_response_id"]
        two = (await line.until("response.created"))["response"]["previous_response_id"]
        assert [one, two] == ([parent, None] if order == "first" else [None, parent])
        await line.end()


@pytest.mark.parametrize("answer_", ["keep", "fail"])
async def test_g_continuation_without_results(simulate, answer_):
    async with wire(simulate("weather", missing_output=answer_)) as line:
        ended = await line.ask("Weather in Porto?")
        (call,) = calls_of(ended)
        await line.steer(ended["id"], "In Celsius.")
        await line.until("response.steer.pending")
        await line.create("Never mind.", previous_response_id=ended["id"])
        error = await line.recv()
        message = f"No tool output found for function call {call['call_id']}."
        assert error["error"]["message"] == message
        if answer_ == "fail":
            failed = await line.recv()
            assert failed["error"]["code"] == "successor_creation_failed"
            return
        text = text_of(await line.ask([answer(call)], previous_response_id=ended["id"]))
        assert "“In Celsius.”" in text
        assert len(line.of("response.steer.pending")) == 1


async def test_g_stranded_steers_fail(simulate):
    """With store false the refused create evicts the parent: nothing can continue it."""
    async with wire(simulate("weather")) as line:
        ended = await line.ask("Weather in Porto?", store=False)
        await line.steer(ended["id"], "In Celsius.")
        await line.until("response.steer.pending")
        await line.create("Never mind.", previous_response_id=ended["id"], store=False)
        assert (await line.recv())["type"] == "error"
        failed = await line.recv()
        assert failed["error"]["code"] == "successor_creation_failed"
        await line.create([answer(calls_of(ended)[0])], previous_response_id=ended["id"])
        assert (await line.recv())["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize("answer_", ["error", "fork"])
async def test_h_continuation_on_another_lane(simulate, answer_):
    async with wire(simulate("weather", wrong_lane=answer_)) as line:
        ended = await line.ask("Weather in Porto?", stream_id="a")
        (call,) = calls_of(ended)
        await line.steer(ended["id"], "In Celsius.")
        await line.until("response.steer.pending")
        await line.create([answer(call)], previous_response_id=ended["id"], stream_id="b")
        if answer_ == "error":
            error = await line.recv()
            assert error["error"]["param"] == "stream_id"
            assert error["stream_id"] == "b"
        else:
            assert "Celsius" not in text_of(await line.end())
        await line.create([answer(call)], previous_response_id=ended["id"], stream_id="a")
        assert "“In Celsius.”" in text_of(await line.end())


async def test_j_acknowledged_after_the_terminal(simulate):
    async with wire(simulate(waits, acknowledge="after_terminal")) as line:
        await line.steer(await started(line))
        await line.end()
        assert (await line.recv())["type"] == "response.steer.accepted"
        assert (await line.recv())["type"] == "response.created"
        await line.end()


async def test_j_committed_before_it_is_acknowledged(simulate):
    async with wire(simulate(waits, acknowledge="after_successor")) as line:
        await line.steer(await started(line))
        await line.end()
        assert (await line.recv())["type"] == "response.created"
        assert (await line.recv())["type"] == "response.steer.accepted"
        await line.end()


async def test_accepted_before_it_fails_even_when_acknowledged_late(simulate):
    @scenario("refuse", "Its successor fails.")
    def refuses(turn):
        yield FailSuccessor()
        yield Say("Only.")
        yield AwaitSteer(5)

    async with wire(simulate(refuses, acknowledge="after_successor")) as line:
        await line.steer(await started(line))
        await line.end()
        assert (await line.recv())["type"] == "response.steer.accepted"
        assert (await line.recv())["type"] == "response.steer.failed"


async def test_cut_between_calls(simulate):
    @scenario("two", "Two calls with a pause between.")
    def two(turn):
        yield CallFunction("one")
        yield AwaitSteer(5)
        yield CallFunction("two")

    for option, n_calls in ((False, 2), (True, 1)):
        async with wire(simulate(two, cut_between_calls=option)) as line:
            await line.steer(await started(line))
            ended = await line.end()
            assert ended["status"] == "completed"
            assert len(calls_of(ended)) == n_calls
            pending = await line.recv()
            assert len(pending["required_input"]) == n_calls


@pytest.mark.parametrize("async_calls", ["free", "block"])
async def test_asynchronous_calls(simulate, async_calls):
    @scenario("async", "Calls without waiting.")
    def calls(turn):
        if turn.results:
            yield Say("Got " + " ".join(r.text for r in turn.results.values()))
        elif turn.steers or turn.said:
            yield Say("Still waiting.")
        else:
            yield CallFunction("slow_report", asynchronous=True)
            yield Say("Meanwhile.")
            yield AwaitSteer(5)

    async with wire(simulate(calls, async_calls=async_calls)) as line:
        parent = await started(line)
        await line.steer(parent, "Anything?")
        ended = await line.end()
        (call,) = calls_of(ended)
        assert call["async"] is True
        if async_calls == "block":
            pending = await line.recv()
            assert pending["required_input"][0]["call_id"] == call["call_id"]
            return
        successor = await line.end()
        assert text_of(successor) == "Still waiting."
        late = await line.ask([answer(call)], previous_response_id=successor["id"])
        assert text_of(late) == "Got 18 °C and dry"


async def test_lost_connection_loses_the_queue(simulate):
    simulator = simulate(waits_after_call)
    async with wire(simulator) as line:
        parent = await started(line)
        await line.steer(parent)
        ended = await line.end()
        await line.until("response.steer.pending")
    async with wire(simulator) as line:
        # stored, so it can be continued; its queued steer cannot (5.4, rule 12)
        text = text_of(
            await line.ask([answer(calls_of(ended)[0])], previous_response_id=ended["id"])
        )
        assert text == "Heard: 18 °C and dry"
    (steer,) = [e for e in simulator.account if e["kind"] == "steer"]
    assert steer["fate"] == "lost"


def test_terminal_words_are_those_of_the_wire():
    from steer_nb.wire import TERMINAL_TYPES

    assert ENDS <= TERMINAL_TYPES
