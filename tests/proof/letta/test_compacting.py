"""Compaction as the SDK asks for it, and what it reads of it afterwards."""

from __future__ import annotations

import json

import letta_client
import pytest


async def test_a_conversation_is_compacted_when_asked_for(scene):
    one = await scene("story")
    sdk = one.sdk
    talk = await sdk("conversations.create", agent_id=one.agent_id)
    send = {"streaming": False, "messages": [{"role": "user", "content": "Tell me something."}]}
    settings = {"mode": "all", "model": "any/model"}
    with pytest.raises(letta_client.BadRequestError, match="No in-context messages"):
        await sdk("conversations.messages.compact", talk.id, compaction_settings=settings)
    for _ in range(3):
        await sdk("conversations.messages.create", talk.id, **send)
        await one.send()
    ways = (
        ("conversations.messages", talk.id, {}),
        ("conversations.messages", "default", {"agent_id": one.agent_id}),
    )
    for resource, place, more in ways:
        done = await sdk(f"{resource}.compact", place, compaction_settings=settings, **more)
        assert (done.num_messages_before, done.num_messages_after) == (7, 2)
    again = await sdk("agents.messages.compact", one.agent_id)
    assert (again.num_messages_after, again.summary) == (2, done.summary)
    history = await one.history()
    assert len([m for m in history if m.message_type == "assistant_message"]) == 3
    assert json.loads(history[-1].content)["type"] == "system_alert"
    kept = await sdk("conversations.retrieve", talk.id)
    assert len(kept.in_context_message_ids) == 2
    assert (await one.send())[-2].stop_reason == "end_turn"
