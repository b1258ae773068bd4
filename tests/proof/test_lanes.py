"""Lanes of one connection: raw `stream_id`s, and the official SDK's own lane helper."""

from __future__ import annotations

import itertools

import pytest
from openai.lib.responses_websocket import ResponsesWebSocketError

from tests.simulator.scripts import waits
from tests.support.simulated import ENDS

NAMES = ("a", "b", "c", "d")


async def test_four_lanes_at_once(stage):
    async with stage().connect() as line:
        for name in NAMES:
            await line.create(f"Plan {name}.", stream_id=name)
        ended, order = {}, []
        while len(ended) < len(NAMES):
            event = await line.recv()
            order.append(event.stream_id)
            if event.type in ENDS:
                ended[event.stream_id] = event.response
        changes = sum(one != other for one, other in itertools.pairwise(order))
        assert changes > 4 * len(NAMES)  # side by side, not one after another
        for name, response in ended.items():
            assert response.status == "completed"
            assert f"Plan {name}." in str(response.output)


async def test_the_seventeenth_waits_without_an_error(stage):
    """At most sixteen responses of a connection are in flight; what comes after them waits."""
    scene = stage()
    async with scene.connect() as line:
        for number in range(20):
            await line.create(f"Plan {number}.", stream_id=f"agent_{number}")
        for _ in range(20):
            assert (await line.end()).status == "completed"
    running, most = 0, 0
    for event in scene.tap.links[0].received:
        running += (event["type"] == "response.created") - (event["type"] in ENDS)
        most = max(most, running)
    assert most == 16


async def test_one_lane_keeps_its_order(stage):
    async with stage().connect() as line:
        for word in ("one", "two", "three"):
            await line.create(f"Plan {word}.", stream_id="a")
        for word in ("one", "two", "three"):
            assert f"Plan {word}." in str((await line.end()).output)


async def test_fork(stage):
    async with stage().connect() as line:
        parent = await line.ask("Plan a trip to Rome.", stream_id="a")
        fork = await line.ask("By train.", previous_response_id=parent.id, stream_id="b")
        assert fork.previous_response_id == parent.id


async def test_helper_runs_four_lanes_and_the_default(stage):
    async with stage().lanes() as lanes:
        running = {name: lanes.lane(name) for name in NAMES}
        for name, lane in running.items():
            await lane.create(f"Plan {name}.")
        rest = lanes.lane()
        await rest.create("Plan the rest.")
        for name, lane in running.items():
            response = await lane.final()
            assert f"Plan {name}." in str(response.output)
        assert "Plan the rest." in str((await rest.final()).output)


async def test_helper_sees_the_successor(stage):
    async with stage(waits).lanes() as lanes:
        lane = lanes.lane("trip")
        await lane.create("Plan a trip to Rome.")
        parent = (await lane.recv()).response
        await lane.steer(parent.id, "Shorter.")
        assert (await lane.final()).incomplete_details.reason == "steered"
        while (event := await lane.recv()).type not in ENDS:
            pass
        assert event.response.output_text == "Heard: Shorter."


async def test_helper_raises_an_error_of_its_lane(stage):
    scene = stage()
    async with scene.lanes() as lanes:
        lane, other = lanes.lane("a"), lanes.lane("b")
        await other.create("Plan.")
        await lane.create("Go on.", previous_response_id="resp_nobody")
        with pytest.raises(ResponsesWebSocketError) as caught:
            await lane.final()
        assert caught.value.event.error.code == "previous_response_not_found"
        scene.refused.append("previous_response_not_found")
        assert (await other.final()).status == "completed"
        await lane.create("Begin anew.")
        assert (await lane.final()).status == "completed"
