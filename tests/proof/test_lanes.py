"""Lanes of one connection: raw `stream_id`s, and the official SDK's own lane helper."""

from __future__ import annotations

import itertools

import pytest
from openai.lib.responses_websocket import ResponsesWebSocketError

from tests.proof.scripts import waits_long
from tests.proof.sdk import on_a_connection
from tests.simulator.scripts import waits
from tests.support.simulated import ENDS

pytestmark = on_a_connection

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
    scene = stage(waits_long)
    async with scene.connect() as line:
        for number in range(18):
            await line.create("Plan.", stream_id=f"agent_{number}")
        running = [(await line.until("response.created")).response for _ in range(16)]
        for parent in running:
            await line.steer(parent.id, "Shorter.")
        ended = 0
        while ended < 18:
            event = await line.until("response.created", "response.completed")
            if event.type == "response.completed":
                ended += 1
            elif event.response.previous_response_id is None:
                await line.steer(event.response.id, "Shorter.")
    assert most_at_once(scene.tap.links[0].received) == 16


def most_at_once(events):
    running, most = 0, 0
    for event in events:
        running += (event["type"] == "response.created") - (event["type"] in ENDS)
        most = max(most, running)
    return most


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
        for name, lane in {**running, "the rest": rest}.items():
            assert f"Plan {name}." in str((await lane.final()).output)


@pytest.mark.parametrize("name", ["planner", "seven"])
async def test_helper_gives_the_response_that_was_written(stage, name):
    scene = stage(name)
    async with scene.lanes() as lanes:
        lane = lanes.lane("a")
        await lane.create("Begin.")
        given = (await lane.final()).to_dict()
    assert without_parsed(given) == scene.tap.links[0].received[-1]["response"]


def without_parsed(value):
    """Leave out the two fields that the helper adds for tools and formats of pydantic's."""
    if isinstance(value, list):
        return [without_parsed(one) for one in value]
    if not isinstance(value, dict):
        return value
    added = ("parsed", "parsed_arguments")
    return {
        key: without_parsed(one) for key, one in value.items() if not (key in added and one is None)
    }


async def test_helper_bears_that_the_seventeenth_waits(stage):
    scene = stage(waits_long)
    async with scene.lanes() as lanes:
        agents = [lanes.lane(f"agent_{number}") for number in range(18)]
        for lane in agents:
            await lane.create("Plan.")
        for lanes_of_a_batch in (agents[:16], agents[16:]):
            running = [(lane, (await lane.recv()).response) for lane in lanes_of_a_batch]
            for lane, parent in running:
                await lane.steer(parent.id, "Shorter.")
            for lane, _ in running:
                assert (await lane.final()).status == "incomplete"
                await lane.until("response.created")
                assert (await lane.final()).status == "completed"
    assert most_at_once(scene.tap.links[0].received) == 16


async def test_helper_queues_no_second_create_on_a_lane(stage):
    """The service would queue it (3); the helper refuses it, and nothing is sent."""
    scene = stage()
    async with scene.lanes() as lanes:
        lane = lanes.lane("a")
        await lane.create("Plan.")
        with pytest.raises(RuntimeError, match="Consume the current response"):
            await lane.create("And another.")
        with pytest.raises(ValueError, match="does not match its lane"):
            await lanes.lane("b").create("Plan.", stream_id="a")
        assert (await lane.final()).status == "completed"
        await lane.create("And another.")
        assert "And another." in str((await lane.final()).output)
    assert len(scene.tap.links[0].sent) == 2


async def test_helper_leaves_what_nobody_reads_to_the_default_lane(stage):
    async with stage(waits).lanes() as lanes:
        lane = lanes.lane("a")
        await lane.create("Plan.")
        parent = (await lane.recv()).response
        lane.detach()
        rest = lanes.lane()
        await rest.steer(parent.id, "Shorter.")
        accepted = await rest.until("response.steer.accepted")
        assert accepted.stream_id == "a"
        for _ in range(2):
            assert (await rest.end()).id
        await rest.create("Plan.")  # none of which was its own
        assert (await rest.recv()).stream_id is None


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
