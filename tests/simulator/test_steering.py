"""Chapter 5 of the protocol notes, rule by rule, over a real socket."""

from __future__ import annotations

import json

import pytest

from steer_nb.simulator import (
    AwaitSteer,
    CallFunction,
    Say,
    Think,
    scenario,
)
from tests.simulator.scripts import started, waits, waits_after_call, waits_at_the_end
from tests.support.simulated import ENDS, answer, calls_of, text_of, wire

CODES = [
    "response_not_found",
    "invalid_input",
    "steering_not_supported",
    "too_many_pending_steers",
    "response_already_completed",
    "response_not_active",
]


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
        # The second steer may have come behind the end, and waits all the same.
        first, second = [await line.until("response.steer.pending") for _ in range(2)]
        for event in (first, second):
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
        # It waited for this steer and, as none other will come, it does not wait on.
        assert (await line.end())["status"] == "completed"


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
