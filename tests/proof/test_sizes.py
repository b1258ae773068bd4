"""How large a message may be (1.3)."""

from __future__ import annotations

import pytest
from websockets.exceptions import ConnectionClosedError

from tests.proof.checks import links_closed
from tests.proof.scripts import hangs_up


async def test_a_message_that_is_too_large(stage):
    """It costs the connection (1009), which the SDK does not call recoverable."""
    scene = stage(max_message_bytes=10_000)
    seen = []
    async with scene.connect(on_reconnecting=seen.append) as line:
        await line.ask("Plan.")
        await line.create("x" * 10_000)
        with pytest.raises(ConnectionClosedError) as caught:
            await line.end()
        assert caught.value.rcvd.code == 1009
    assert seen == []
    assert links_closed(scene.tap.links) == [1009]


async def test_large_messages_both_ways(stage):
    """Over the megabyte at which the library below the SDK stops by itself."""
    scene = stage(hangs_up)
    words = "x" * 2**21
    async with scene.connect() as line:
        response = await line.ask(words)
        assert response.output_text == f"You said: {words}"
    assert max(len(text) for text in scene.tap.links[0].server.texts) > 2**21


async def test_an_event_that_is_larger_than_the_client_allows(stage):
    scene = stage(hangs_up)
    async with scene.connect(websocket_connection_options={"max_size": 10_000}) as line:
        await line.create("x" * 10_000)
        with pytest.raises(ConnectionClosedError) as caught:
            await line.end()
        assert caught.value.sent.code == 1009
    assert scene.tap.links[0].client.close_code == 1009
