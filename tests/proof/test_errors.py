"""What is refused, and that the official SDK's connection goes on afterwards (1.3, 1.5)."""

from __future__ import annotations

import pytest

from tests.proof.sdk import by_the_lane_helper, on_a_connection


async def alive(line):
    assert (await line.ask("Still there?")).status == "completed"


@on_a_connection
@pytest.mark.parametrize("text", ["{", "[]", "null", '"response.create"'])
async def test_bad_json(stage, text):
    async with stage().connect() as line:
        await line.send_raw(text)
        error = await line.refusal("invalid_json")
        assert (error.status, error.stream_id) == (400, None)
        await alive(line)


async def test_unknown_type(stage):
    async with stage().connect() as line:
        await line.send_unknown({"type": "response.cancel", "response_id": "resp_1"})
        error = await line.refusal("invalid_value")
        assert error.error.param == "type"
        await alive(line)


NO_NAMES = ["", "a b", "ü", "x" * 257]


@on_a_connection
@pytest.mark.parametrize("name", NO_NAMES)
async def test_invalid_stream_id(stage, name):
    async with stage().connect() as line:
        await line.create("Hi.", stream_id=name)
        error = await line.refusal("invalid_stream_id")
        assert error.stream_id is None
        assert error.error.param == "stream_id"
        await alive(line)


@by_the_lane_helper
@pytest.mark.parametrize("name", NO_NAMES)
async def test_the_lane_helper_knows_an_invalid_stream_id(stage, name):
    """It refuses the name itself, by the same rule, so that nothing is sent."""
    scene = stage()
    async with scene.connect() as line:
        with pytest.raises(ValueError, match="stream_id must be"):
            line.lane(name)
        await alive(line)
    assert len(scene.tap.links[0].sent) == 1


async def test_stream_limit(stage):
    async with stage().connect() as line:
        for number in range(32):
            await line.create("Hi.", stream_id=f"agent_{number}", generate=False)
            await line.end()
        await line.create("Hi.", stream_id="agent_32")
        error = await line.refusal("websocket_stream_limit_reached")
        assert error.stream_id == "agent_32"
        await alive(line)


async def test_previous_response_not_found(stage):
    async with stage().connect() as line:
        await line.create("Hi.", previous_response_id="resp_abc", stream_id="main")
        error = await line.refusal("previous_response_not_found")
        assert error.stream_id == "main"
        assert error.error.message == "Previous response with id 'resp_abc' not found."
        await alive(line)


async def test_unstored_response_is_gone_with_its_connection(stage):
    scene = stage()
    async with scene.connect() as line:
        kept = await line.ask("Plan.")
        gone = await line.ask("Plan.", store=False)
        assert (await line.ask("On.", previous_response_id=gone.id, store=False)).output_text
    async with scene.connect() as line:
        assert (await line.ask("On.", previous_response_id=kept.id)).status == "completed"
        await line.create("On.", previous_response_id=gone.id)
        await line.refusal("previous_response_not_found")


async def test_connection_limit(stage):
    scene = stage()
    async with scene.connect() as line:
        await alive(line)
        scene.simulator.advance(3600)
        error = await line.refusal("websocket_connection_limit_reached")
        assert (error.status, error.stream_id) == (400, None)


async def test_error_in_a_response(stage):
    """A response may end without a terminal event (5.6)."""
    async with stage("failures").connect() as line:
        await line.create("credit_balance_exhausted", stream_id="a")
        error = await line.refusal("credit_balance_exhausted")
        assert (error.status, error.stream_id) == (402, "a")


@pytest.mark.parametrize("code", ["insufficient_quota", "model_not_found"])
async def test_refused_request(stage, code):
    async with stage("failures").connect() as line:
        await line.create(code)
        assert (await line.refusal(code)).error.message
        await alive(line)


async def test_background_is_refused(stage):
    async with stage().connect() as line:
        await line.create("Hi.", background=True)
        error = await line.refusal("unsupported_parameter")
        assert error.error.param == "background"
        await alive(line)
