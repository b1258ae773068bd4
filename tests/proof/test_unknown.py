"""Events that nobody documents pass through the official SDK, and harm nothing (1.2, 5.9).

The SDK makes them objects of its union's first class, with all their fields: only `type` tells.
"""

from __future__ import annotations

from openai.lib.responses_websocket import ResponsesWebSocketAccumulator

from tests.proof.scripts import MURMUR, UNKNOWN, hangs_up
from tests.proof.sdk import on_a_connection
from tests.support.simulated import ENDS


async def test_unknown_type(stage):
    scene = stage(hangs_up, faults=[MURMUR])
    scene.unknown.add(UNKNOWN)
    async with scene.connect() as line:
        accumulator = ResponsesWebSocketAccumulator()
        await line.create("Hello.", stream_id="a")
        seen = []
        while (event := await line.recv()).type not in ENDS:
            accumulator.add_event(event)
            seen.append(event)
        (unknown,) = [event for event in seen if event.type == UNKNOWN]
        assert unknown.stream_id == "a"
        assert unknown.to_dict()["mood"] == "bright"  # its fields are kept
        assert accumulator.snapshot().output_text == event.response.output_text
        assert event.response.output_text == "You said: Hello."
        assert (await line.ask("More.", previous_response_id=event.response.id)).output_text


@on_a_connection
async def test_a_listener_hears_an_unknown_type(stage):
    scene = stage(hangs_up, faults=[MURMUR])
    scene.unknown.add(UNKNOWN)
    async with scene.connect() as line:
        heard = []
        line.connection.on(UNKNOWN, heard.append)
        line.connection.on("response.completed", lambda event: line.connection.close())
        await line.create("Hello.")
        await line.stage.call(line.connection.dispatch_events)
        assert [event.type for event in heard] == [UNKNOWN]


async def test_response_done(stage):
    """After the terminal event comes another one, of the same response."""
    scene = stage("weather", done_event=True)
    scene.unknown.add("response.done")
    async with scene.connect() as line:
        for _ in range(2):
            ended = await line.ask("What is the weather in Porto?", stream_id="a")
            done = await line.recv()
            assert (done.type, done.stream_id) == ("response.done", "a")
            assert done.to_dict()["response"] == ended.to_dict()


@on_a_connection
async def test_the_lane_helper_gives_the_response_before_it_is_done(stage):
    scene = stage("planner", done_event=True)
    scene.unknown.add("response.done")
    async with scene.lanes() as lanes:
        lane = lanes.lane("a")
        for place in ("Rome", "Paris"):
            await lane.create(f"Plan a trip to {place}.")
            assert place in str((await lane.final()).output)
