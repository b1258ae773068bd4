"""Steers are accepted, applied or refused, as the official SDK sees it."""

from __future__ import annotations

import pytest
from openai.types.responses import ResponseSteerAcceptedEvent

from tests.proof.scripts import calls_and_waits_for_two
from tests.proof.sdk import by_the_lane_helper, on_a_connection
from tests.simulator.scripts import waits
from tests.support.simulated import ENDS, answer, calls_of


@pytest.mark.parametrize("lane", [{}, {"stream_id": "trip"}])
async def test_steer_and_automatic_successor(stage, lane):
    async with stage(waits).connect() as line:
        parent = await line.started("Plan a trip to Rome.", **lane)
        await line.steer(parent.id, "Keep it under 300 euros.")
        accepted = await line.until("response.steer.accepted")
        assert isinstance(accepted, ResponseSteerAcceptedEvent)
        assert accepted.steer.previous_response_id == parent.id
        ended = await line.end()
        assert ended.id == parent.id
        assert ended.incomplete_details.reason == "steered"
        created = await line.recv()
        assert created.type == "response.created"
        assert created.response.previous_response_id == parent.id
        successor = await line.end()
        assert successor.id == created.response.id
        assert successor.output_text == "Heard: Keep it under 300 euros."
        (steer,) = [e for e in line.stage.simulator.account if e["kind"] == "steer"]
        assert (steer["id"], steer["fate"]) == (accepted.steer.id, "committed")


async def test_several_steers_go_into_one_successor(stage):
    async with stage("weather").connect() as line:
        parent = await line.ask("What is the weather in Porto?")
        for text in ("In Celsius.", "And tomorrow?"):
            await line.steer(parent.id, text)
            await line.until("response.steer.accepted")
            pending = await line.until("response.steer.pending")
            assert pending.reason == "waiting_for_required_input"
        results = [answer(call) for call in calls_of(parent.to_dict())]
        heard = await line.ask(results, previous_response_id=parent.id)
        assert "“In Celsius.”" in heard.output_text
        assert "“And tomorrow?”" in heard.output_text


@pytest.mark.parametrize("scenario", ["weather", "seven"])
async def test_pending_and_continuation_from_its_stubs(stage, scenario):
    async with stage(scenario).connect() as line:
        parent = await line.ask("What is the weather in Porto?", stream_id="main")
        await line.steer(parent.id, "In Celsius.")
        assert (await line.recv()).type == "response.steer.accepted"
        pending = await line.recv()
        assert pending.type == "response.steer.pending"
        assert pending.stream_id == "main"
        calls = calls_of(parent.to_dict())
        assert len(pending.required_input) == len(calls)
        filled = [
            {**stub.to_dict(), **answer(call)}
            for stub, call in zip(pending.required_input, calls, strict=True)
        ]
        heard = await line.ask(filled, previous_response_id=parent.id, stream_id="main")
        assert heard.previous_response_id == parent.id
        assert "“In Celsius.”" in heard.output_text


async def test_steer_with_items(stage):
    async with stage(waits).connect() as line:
        parent = await line.started("Plan a trip to Rome.")
        parts = [
            {"type": "input_text", "text": "Like this:"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "low"},
        ]
        await line.steer(parent.id, [{"type": "message", "role": "user", "content": parts}])
        await line.until("response.steer.accepted")
        await line.end()
        assert (await line.end()).output_text == "Heard: Like this: [image]"


@on_a_connection
async def test_early_continuation(stage):
    """The results may be sent before `pending` says so, which then never comes (5.4, rule 9)."""
    async with stage(calls_and_waits_for_two).connect() as line:
        parent = await line.started("What is the weather in Lisbon?")
        call = (await line.until("response.output_item.done")).item
        await line.steer(parent.id, "In Celsius.")
        await line.until("response.steer.accepted")
        await line.create([answer(call.to_dict())], previous_response_id=parent.id)
        await line.steer(parent.id, "Briefly.")
        assert (await line.end()).id == parent.id
        seen = []
        while (event := await line.recv()).type not in ENDS:
            seen.append(event.type)
        assert "response.steer.pending" not in seen
        assert event.response.previous_response_id == parent.id
        assert event.response.output_text == "Heard: In Celsius. / Briefly. / 18 °C and dry"


@by_the_lane_helper
async def test_no_early_continuation_by_the_lane_helper(stage):
    """It refuses a second create while the first one's response runs: the results have to wait."""
    scene = stage(calls_and_waits_for_two)
    async with scene.connect() as line:
        parent = await line.started("What is the weather in Lisbon?")
        call = (await line.until("response.output_item.done")).item
        await line.steer(parent.id, "In Celsius.")
        await line.until("response.steer.accepted")
        continuation = {"input": [answer(call.to_dict())], "previous_response_id": parent.id}
        with pytest.raises(RuntimeError, match="Consume the current response"):
            await line.create(**continuation)
        await line.steer(parent.id, "Briefly.")
        await line.end()
        for _ in range(2):
            await line.until("response.steer.pending")
        heard = await line.ask(**continuation)
        assert heard.output_text == "Heard: In Celsius. / Briefly. / 18 °C and dry"
    assert len(scene.tap.links[0].sent) == 4


# Every code of chapter 5.5, for the reason that the guide gives


async def test_response_not_found(stage):
    async with stage().connect() as line:
        await line.steer("resp_nobody", "Hello?")
        failed = await line.refusal("response_not_found")
        assert failed.type == "response.steer.failed"
        assert failed.steer.previous_response_id == "resp_nobody"
        assert failed.steer.input == "Hello?"
        assert failed.steer.id is None


async def test_invalid_input(stage):
    async with stage(waits).connect() as line:
        parent = await line.started("Plan.")
        await line.steer(parent.id, "")
        assert (await line.refusal("invalid_input")).steer.input == ""
        await line.steer(parent.id, "Shorter.")
        await line.end()
        assert (await line.end()).output_text == "Heard: Shorter."


async def test_steering_not_supported(stage):
    async with stage(waits).connect() as line:
        parent = await line.started("Plan.", model="gpt-5.6-sol", stream_id="old")
        await line.steer(parent.id)
        assert (await line.refusal("steering_not_supported")).stream_id == "old"


async def test_too_many_pending_steers(stage):
    async with stage("weather", max_pending_steers=1).connect() as line:
        parent = await line.ask("What is the weather in Porto?")
        await line.steer(parent.id, "One.")
        await line.until("response.steer.pending")
        await line.steer(parent.id, "Two.")
        assert (await line.refusal("too_many_pending_steers")).steer.input == "Two."


async def test_response_already_completed(stage):
    async with stage().connect() as line:
        ended = await line.ask("Plan.")
        await line.steer(ended.id)
        await line.refusal("response_already_completed")


async def test_response_not_active(stage):
    async with stage("failures").connect() as line:
        failed = await line.ask("server_error")
        await line.steer(failed.id)
        await line.refusal("response_not_active")


async def test_successor_creation_failed(stage):
    async with stage("failures").connect() as line:
        parent = await line.started("successor_creation_failed")
        await line.until("response.output_text.done")
        await line.steer(parent.id, "Go on.")
        accepted = await line.until("response.steer.accepted")
        await line.end()
        failed = await line.refusal("successor_creation_failed")
        assert failed.steer.id == accepted.steer.id
        assert failed.steer.input == "Go on."
        # As its message says, the input goes into a new request.
        assert (await line.ask("Go on.", previous_response_id=parent.id)).status == "completed"
