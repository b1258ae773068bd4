"""Handshakes, closes, and the official SDK's own way back."""

from __future__ import annotations

import asyncio

import openai
import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from tests.proof.checks import links_closed
from tests.proof.scripts import hangs_up
from tests.proof.sdk import on_a_connection
from tests.support.simulated import MODEL

pytestmark = on_a_connection


async def goes_on(line, kept):
    """The SDK's iteration goes on by itself on a new connection, which knows what was stored."""
    reading = asyncio.ensure_future(line.recv())
    links = line.stage.tap.links
    async with asyncio.timeout(20):
        while len(links) < 2 or not links[1].server.first or line.connection._is_reconnecting:
            await asyncio.sleep(0.01)
    await line.create("Go on.", previous_response_id=kept.id)
    assert (await reading).type == "response.created"
    assert (await line.end()).previous_response_id == kept.id


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


@pytest.mark.parametrize("code", [1001, 1011, 1012, 1013])
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
    assert links_closed(scene.tap.links) == [code, 1000]


async def test_no_way_back_after_another_close(stage):
    scene = stage(hangs_up)
    seen = []
    async with scene.connect(on_reconnecting=seen.append) as line:
        await line.create("1008")
        with pytest.raises(ConnectionClosedError):
            await line.end()
    assert seen == []


async def test_way_back_after_the_connection_limit(stage):
    scene = stage()
    seen = []
    async with scene.connect(on_reconnecting=seen.append, initial_delay=0.01) as line:
        kept = await line.ask("Plan.")
        scene.simulator.advance(3600)
        await line.refusal("websocket_connection_limit_reached")
        await goes_on(line, kept)
    assert [event.close_code for event in seen] == [1001]
