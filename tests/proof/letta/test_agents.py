"""Agents, tools, conversations and runs as the SDK makes and lists them."""

from __future__ import annotations

import letta_client
import pytest


async def test_an_agent_is_made_listed_changed_and_deleted(scene):
    one = await scene()
    sdk = one.sdk
    blocks = [{"label": "persona", "value": "You are brief."}]
    made = await sdk(
        "agents.create",
        name="brief",
        tools=["list_files"],
        memory_blocks=blocks,
        tags=["x"],
        description="Says little.",
    )
    assert [tool.name for tool in made.tools] == ["list_files"]
    assert made.blocks[0].value == "You are brief."
    assert (made.tags, made.description, made.tool_rules) == (["x"], "Says little.", [])
    listed = await sdk("agents.list", name="brief")
    assert made.id in [agent.id for agent in listed]
    changed = await sdk("agents.update", made.id, name="briefer", system="Be brief.")
    assert (changed.name, changed.system) == ("briefer", "Be brief.")
    assert (await sdk("agents.retrieve", made.id)).name == "briefer"
    await sdk("agents.delete", made.id)
    with pytest.raises(letta_client.NotFoundError, match="Agent not found"):
        await sdk("agents.retrieve", made.id)


async def test_a_tool_asks_or_does_not(scene):
    one = await scene()
    sdk = one.sdk
    gated = (await sdk("agents.retrieve", one.agent_id)).tool_rules
    assert [(rule.type, rule.tool_name) for rule in gated] == [("requires_approval", "delete_file")]
    switch = {"agent_id": one.agent_id, "body_requires_approval": False}
    assert await sdk("agents.tools.update_approval", "delete_file", **switch) is None
    assert (await sdk("agents.retrieve", one.agent_id)).tool_rules == []
    assert (await one.send())[-2].stop_reason == "end_turn"
    await sdk("agents.tools.update_approval", "list_files", agent_id=one.agent_id,
              body_requires_approval=True)  # fmt: skip
    assert (await one.send("Once more."))[-2].stop_reason == "requires_approval"
    assert [call.name for call in (await one.pending()).tool_calls] == ["list_files"]


async def test_tools_are_made_attached_and_deleted(scene):
    one = await scene()
    sdk = one.sdk
    name = f"roll_{sdk.form}"
    source = f"def {name}(sides: int) -> str:\n    '''Roll.'''\n    return 'four'\n"
    made = await sdk("tools.upsert", source_code=source, default_requires_approval=True)
    assert (made.name, made.default_requires_approval) == (name, True)
    assert [tool.id for tool in await sdk("tools.list", name=name)] == [made.id]
    await sdk("agents.tools.attach", made.id, agent_id=one.agent_id)
    names = [tool.name for tool in await sdk("agents.tools.list", one.agent_id)]
    assert names[-1] == name
    rules = (await sdk("agents.retrieve", one.agent_id)).tool_rules
    assert name in [rule.tool_name for rule in rules]
    await sdk("agents.tools.detach", made.id, agent_id=one.agent_id)
    assert (await sdk("tools.update", made.id, description="Rolls.")).description == "Rolls."
    with pytest.raises(letta_client.ConflictError):
        await sdk("tools.create", source_code=source)
    await sdk("tools.delete", made.id)
    with pytest.raises(letta_client.NotFoundError):
        await sdk("tools.retrieve", made.id)


async def test_conversations_are_apart(scene):
    one = await scene("files")
    sdk = one.sdk
    talks = [await sdk("conversations.create", agent_id=one.agent_id) for _ in range(2)]
    for talk, text in zip(talks, ("Hello.", "Please delete /srv/a.txt."), strict=True):
        await sdk(
            "conversations.messages.create",
            talk.id,
            messages=[{"role": "user", "content": text}],
            streaming=False,
        )
    newest = [await sdk("conversations.messages.list", talk.id, limit=1) for talk in talks]
    assert [found[0].message_type for found in newest] == [
        "assistant_message",
        "approval_request_message",
    ]
    listed = await sdk("conversations.list", agent_id=one.agent_id)
    assert {talk.id for talk in listed} == {talk.id for talk in talks}
    again = await sdk("conversations.retrieve", talks[0].id)
    assert len(again.in_context_message_ids) == 3  # what its agent is told, what was said, answered
    assert await one.pending() is None  # a conversation's request is none of its agent
    await sdk("conversations.delete", talks[0].id)
    with pytest.raises(letta_client.NotFoundError):
        await sdk("conversations.retrieve", talks[0].id)


async def test_runs_and_their_steps(scene):
    one = await scene("files")
    sdk = one.sdk
    seen = await one.send("Which files are there?")
    run_id = seen[0].run_id
    run = await sdk("runs.retrieve", run_id)
    assert (run.status, run.stop_reason, run.background) == ("completed", "end_turn", False)
    assert [r.id for r in await sdk("runs.list", agent_id=one.agent_id)] == [run_id]
    steps = await sdk("runs.steps.list", run_id)
    assert [step.status for step in steps] == ["success", "success"]
    usage = await sdk("runs.usage.retrieve", run_id)
    assert usage.total_tokens == seen[-1].total_tokens == sum(step.total_tokens for step in steps)
    said = await sdk("runs.messages.list", run_id)
    assert said[0].message_type == "user_message"
    (own,) = await sdk("messages.retrieve", said[0].id)
    assert own.content == "Which files are there?"
    assert (await sdk("health")).status == "ok"


async def test_pages_follow_each_other(scene):
    one = await scene("files")
    for text in ("One.", "Two.", "Three."):
        await one.send(text)
    texts = []
    pages = one.sdk.client.agents.messages.list(one.agent_id, order="asc", limit=2)
    if one.sdk.form == "sync":
        texts = [m.content for m in pages if m.message_type == "user_message"]
    else:
        texts = [m.content async for m in pages if m.message_type == "user_message"]
    assert texts == ["One.", "Two.", "Three."]
