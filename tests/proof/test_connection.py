"""Handshakes, closes, and the official SDK's own way back."""

from __future__ import annotations

import asyncio

import openai
import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from tests.proof.checks import links_closed
from tests.proof.scripts import hangs_up
from tests.proof.sdk import on_a_connection
from tests.support.hanging import where_sockets_stand, where_tasks_stand
from tests.support.simulated import MODEL

pytestmark = on_a_connection

RECOVERABLE = [1001, 1005, 1006, 1011, 1012, 1013]
"""As the SDK has it. 1005 is a close frame that names none, 1006 no close frame at all."""


async def goes_on(line, kept):
    """The SDK's iteration goes on by itself on a new connection, which knows what was stored."""
    reading = asyncio.ensure_future(line.recv())
    await connected_again(line)
    await line.create("Go on.", previous_response_id=kept.id)
    assert (await reading).type == "response.created"
    assert (await line.end()).previous_response_id == kept.id


async def connected_again(talk):
    links = talk.stage.tap.links
    try:
        async with asyncio.timeout(20):
            while len(links) < 2 or not links[-1].server.first or talk.connection._is_reconnecting:
                await asyncio.sleep(0.01)
    except TimeoutError:
        told = [(bool(link.client.first), link.client.close_code, bool(link.server.first),
                 link.server.close_code) for link in links]  # fmt: skip
        servers = (talk.stage.tap.loop, talk.stage.simulator._remote.loop)
        sockets = "\nsimulator:\n".join(map(where_sockets_stand, servers))
        pytest.fail(f"links {told}; tap:\n{sockets}\nclient:\n{where_tasks_stand()}")


async def refused(scene, **options):
    with pytest.raises(InvalidStatus) as caught:
        async with scene.connect(**options):
            pass
    response = caught.value.response
    assert response.headers["Content-Type"] == "application/json"
    return response.status_code


async def test_wrong_key(stage):
    assert await refused(stage(), client={"api_key": "sk-wrong"}) == 401


async def test_browser_page(stage):
    assert await refused(stage(), extra_headers={"Origin": "https://example.com"}) == 403


async def test_wrong_path(stage):
    scene = stage()
    assert await refused(scene, client={"base_url": f"{scene.tap.base_url}/x"}) == 404


async def test_without_upgrade(stage):
    scene = stage()
    sdk = scene.sdk()
    with pytest.raises(openai.APIStatusError) as caught:
        await scene.call(sdk.responses.create, model=MODEL, input="Hi.")
    assert caught.value.status_code == 426
    await scene.call(sdk.close)


async def test_headers_and_queries_are_borne(stage):
    options = {
        "extra_headers": {"OpenAI-Beta": "responses_websockets=2026-02-06"},
        "extra_query": {"client": "test"},
    }
    scene = stage()
    client = {"organization": "org-1", "project": "proj_1"}
    async with scene.connect(client=client, **options) as line:
        assert (await line.ask()).status == "completed"
    assert "/v1/responses?client=test" in scene.tap.links[0].client.first


@pytest.mark.parametrize("compression", ["deflate", None])
async def test_with_and_without_compression(stage, compression):
    scene = stage()
    options = {"compression": compression, "max_size": 2**24}
    async with scene.connect(websocket_connection_options=options) as line:
        assert (await line.ask()).status == "completed"
    (link,) = scene.tap.links
    assert link.client.compressed is link.server.compressed is (compression is not None)


@pytest.mark.parametrize("code", RECOVERABLE)
async def test_way_back_after_a_recoverable_close(stage, code):
    scene = stage(hangs_up)
    seen = []
    options = {"on_reconnecting": seen.append, "initial_delay": 0.01}
    async with scene.connect(**options) as line:
        kept = await line.ask("Plan.")
        await line.create(str(code), previous_response_id=kept.id)
        await line.until("response.output_item.done")
        await goes_on(line, kept)
    assert [event.close_code for event in seen] == [code]
    assert links_closed(scene.tap.links) == [None if code == 1006 else code, 1000]


@pytest.mark.parametrize("code", [1000, 1002, 1003, 1007, 1008, 1009, 1010, 1014, 3000, 4999])
async def test_no_way_back_after_another_close(stage, code):
    scene = stage(hangs_up)
    seen = []
    async with scene.connect(on_reconnecting=seen.append) as line:
        await line.create(str(code))
        await line.until("response.output_item.done")
        if code == 1000:
            assert await line.recv() is None
        else:
            with pytest.raises(ConnectionClosedError) as caught:
                await line.recv()
            assert caught.value.rcvd.code == code
    assert seen == []
    assert links_closed(scene.tap.links) == [code]


async def test_a_way_back_that_is_not_wanted(stage):
    scene = stage(hangs_up)
    async with scene.connect(on_reconnecting=lambda event: {"abort": True}) as line:
        await line.create("1012")
        with pytest.raises(ConnectionClosedError):
            await line.end()
    assert len(scene.tap.links) == 1


async def test_way_back_at_the_second_attempt(stage):
    scene = stage(hangs_up, faults=["refuse_handshake at=2"])
    seen = []
    async with scene.connect(on_reconnecting=seen.append, initial_delay=0.01) as line:
        kept = await line.ask("Plan.")
        await line.create("1012")
        await line.until("response.output_item.done")
        await goes_on(line, kept)
    assert [(event.attempt, event.close_code) for event in seen] == [(1, 1012), (2, 1012)]
    assert [link.status for link in scene.tap.links] == [101, 503, 101]


async def test_the_way_back_is_given_up(stage):
    scene = stage(hangs_up, faults=["refuse_handshake at=2 times=none"])
    seen = []
    options = {"on_reconnecting": seen.append, "initial_delay": 0.01, "max_retries": 3}
    async with scene.connect(**options) as line:
        await line.create("1012")
        with pytest.raises(ConnectionClosedError) as caught:
            await line.end()
        assert caught.value.rcvd.code == 1012
    assert len(seen) == 3
    assert [link.status for link in scene.tap.links] == [101, 503, 503, 503]


async def test_what_is_sent_on_the_way_back_is_not_lost(stage):
    """The SDK keeps it until it is connected again; the first socket never gets it."""
    scene = stage(hangs_up)
    sending = []

    def on_reconnecting(event):
        going_on = line.connection.response.create(model=MODEL, input="Go on.")
        if not scene.call.blocking:
            sending.append(asyncio.ensure_future(going_on))

    async with scene.connect(on_reconnecting=on_reconnecting, initial_delay=0.05) as line:
        await line.create("1012")
        assert (await line.end()).output_text == "You said: Go on."
        assert all(one.done() for one in sending)
    assert [len(link.sent) for link in scene.tap.links] == [1, 1]


async def test_way_back_after_the_connection_limit(stage):
    scene = stage()
    seen = []
    async with scene.connect(on_reconnecting=seen.append, initial_delay=0.01) as line:
        kept = await line.ask("Plan.")
        scene.simulator.advance(3600)
        await line.refusal("websocket_connection_limit_reached")
        await goes_on(line, kept)
    assert [event.close_code for event in seen] == [1001]


# The lane helper on the way back: it repeats nothing, and keeps its lanes


@pytest.mark.parametrize("code", RECOVERABLE)
async def test_lanes_after_the_way_back(stage, code):
    """What was running stays so for the helper, until its lane is given up; others go on."""
    scene = stage(hangs_up)
    seen = []
    options = {"on_reconnecting": seen.append, "initial_delay": 0.01}
    async with scene.lanes(**options) as lanes:
        kept = await lanes.ask("Plan.", stream_id="a")
        await lanes.create(str(code), previous_response_id=kept.id, stream_id="a")
        await lanes.until("response.output_item.done")
        await connected_again(lanes)
        with pytest.raises(RuntimeError, match="Consume the current response"):
            await lanes.create("Go on.", previous_response_id=kept.id, stream_id="a")
        heard = await lanes.ask("Go on.", previous_response_id=kept.id, stream_id="b")
        assert heard.previous_response_id == kept.id
    assert [event.close_code for event in seen] == [code]
    assert [len(link.sent) for link in scene.tap.links] == [2, 1]


async def test_lanes_send_nothing_on_the_way_back(stage):
    scene = stage(hangs_up)
    refused = []

    def send():
        sending = lanes.lane().own.send({"type": "response.create", "model": MODEL})
        if not scene.call.blocking:
            sending.send(None)  # its first step: the SDK calls this between two of its own

    def on_reconnecting(event):
        with pytest.raises(RuntimeError, match="is reconnecting") as caught:
            send()
        refused.append(caught.value)

    options = {"on_reconnecting": on_reconnecting, "initial_delay": 0.01}
    async with scene.lanes(**options) as lanes:
        await lanes.create("1012")
        await connected_again(lanes)
    assert len(refused) == 1
    assert [len(link.sent) for link in scene.tap.links] == [1, 0]


async def test_all_lanes_end_with_their_connection(stage):
    async with stage(hangs_up).lanes() as lanes:
        other = lanes.lane("other")
        await lanes.create("1008")
        for lane in (lanes, other):
            with pytest.raises(ConnectionClosedError) as caught:
                await lane.end()
            assert caught.value.rcvd.code == 1008
