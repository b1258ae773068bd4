"""Background runs, resuming, otids, cancelling, and what goes wrong on the way."""

from __future__ import annotations

import asyncio
import uuid

import httpx
import letta_client
import pytest

from tests.proof.letta.conftest import kinds, until

CREATE = "conversations.messages.create"


class Talk:
    """A conversation of a scene."""

    def __init__(self, one, talk_id):
        self.one, self.id, self.sdk = one, talk_id, one.sdk

    async def send(self, text="Tell me something.", *, otid=None, **more):
        otid = otid or str(uuid.uuid4())
        messages = [{"role": "user", "content": text, "otid": otid}]
        fields = {"messages": messages, "background": True, "stream_tokens": True, **more}
        return await self.sdk.stream(CREATE, self.id, **fields)

    async def resume(self, run_id, after, **more):
        fields = {"starting_after": after, "include_pings": False, **more}
        return await self.sdk.stream("runs.messages.stream", run_id, **fields)


@pytest.fixture
def talk(scene):
    async def make(scenario="story"):
        one = await scene(scenario)
        made = await one.sdk("conversations.create", agent_id=one.agent_id)
        return Talk(one, made.id)

    return make


async def test_every_place_can_be_resumed_from(talk):
    one = await talk()
    seen = await one.send()
    wire = bytes(one.sdk.kept.bodies[-1])
    numbers = [m.seq_id for m in seen[:-2]]
    assert numbers == list(range(1, len(numbers) + 1))
    run_id = seen[0].run_id
    for after in (0, 1, 7, numbers[-1]):
        again = await one.resume(run_id, after)
        assert [m.to_dict() for m in again] == [m.to_dict() for m in seen[after:]]
        assert wire.endswith(bytes(one.sdk.kept.bodies[-1]))  # the very bytes


async def test_who_leaves_comes_back(talk):
    one = await talk()
    one.one.arm("stall at=9 seconds=0.3")
    seen = await one.send(leave_after=5)
    run_id, last = seen[-1].run_id, seen[-1].seq_id
    rest = await one.resume(run_id, last)
    assert [m.seq_id for m in rest[:-2]] == list(range(last + 1, last + len(rest) - 1))
    assert (await one.sdk("runs.retrieve", run_id)).status == "completed"


async def test_a_lost_connection_before_the_first_frame(talk):
    one = await talk()
    one.one.arm("drop side=before")
    otid = str(uuid.uuid4())
    with pytest.raises(letta_client.APIConnectionError):
        await one.send(otid=otid)
    found = await one.sdk.stream(
        "conversations.messages.stream", one.id, otid=otid, include_pings=False
    )
    assert found[-2].stop_reason == "end_turn"
    again = await one.send(otid=otid)  # the same request is the same run
    assert [m.to_dict() for m in again] == [m.to_dict() for m in found]
    assert len(one.one.account("run")) == 1


async def test_an_answer_that_never_begins(talk):
    one = await talk()
    one.one.arm(f"lose_answer type={CREATE}")
    otid = str(uuid.uuid4())
    with pytest.raises(letta_client.APIConnectionError):
        await one.send(otid=otid)
    assert (await one.send(otid=otid))[-2].stop_reason == "end_turn"
    assert len(one.one.account("run")) == 1


async def test_the_end_of_a_stream_without_the_end_of_its_body(talk):
    one = await talk()
    one.one.arm("no_eof")
    seen = await one.send()  # the SDK stops at [DONE]
    assert kinds(seen)[-2:] == ["stop_reason", "usage_statistics"]


async def test_a_resume_behind_the_end_hangs(talk):
    one = await talk()
    seen = await one.send()
    one.sdk.client = one.sdk.client.with_options(timeout=0.3)
    with pytest.raises(letta_client.APITimeoutError):
        await one.resume(seen[0].run_id, 10_000)


async def test_one_at_a_time(talk):
    one = await talk()
    one.one.arm(f"hold_model conversation={one.id}")
    first = asyncio.create_task(one.send())
    await until(lambda: one.one.account("run"))
    other = Talk(one.one, one.id)
    other.sdk = type(one.sdk)(one.sdk.form, one.one.url)
    with pytest.raises(letta_client.ConflictError, match="currently being processed") as busy:
        await other.send("Something else.")
    (run,) = one.one.account("run")
    assert busy.value.body["run_id"] == run["run"]
    await other.sdk.close()
    one.one.disarm()
    assert (await first)[-2].stop_reason == "end_turn"


async def test_a_run_is_cancelled_while_it_streams(talk):
    one = await talk()
    one.one.arm(f"hold_model conversation={one.id}")
    sending = asyncio.create_task(one.send(include_pings=True))
    await until(lambda: one.one.account("run"))
    done = httpx.post(f"{one.one.url}/v1/conversations/{one.id}/cancel").json()
    seen = await sending
    assert kinds(seen) == ["ping", "stop_reason"]
    assert seen[-1].stop_reason == "cancelled"
    assert one.sdk.kept.frames[-1] == "[DONE]"
    assert done == {seen[0].run_id: "cancelled"}
    assert (await one.sdk("runs.retrieve", seen[0].run_id)).status == "cancelled"
    assert [m.message_type for m in await one.sdk("conversations.messages.list", one.id)] == [
        "system_message"
    ]
    with pytest.raises(letta_client.ConflictError, match="No active runs"):
        await one.sdk("conversations.cancel", one.id)


async def test_cancelling_denies_what_waits(scene):
    one = await scene("parallel")
    seen = await one.send()
    run_id = seen[0].run_id
    done = await one.sdk("agents.messages.cancel", one.agent_id, run_ids=[run_id])
    assert done == {run_id: "cancelled"}
    assert await one.pending() is None
    told = (await one.history())[-1]
    assert [x.status for x in told.tool_returns] == ["error"] * 3
    assert one.account("tool") == []
    assert kinds(await one.send("Hello."))[-1] == "usage_statistics"


async def test_a_conversation_stays_stuck(talk):
    one = await talk("parallel")
    seen = await one.send()
    with pytest.raises(letta_client.ConflictError, match="No active runs"):
        await one.sdk("conversations.cancel", one.id)
    await one.sdk("agents.messages.cancel", one.one.agent_id, run_ids=[seen[0].run_id])
    assert (await one.sdk("runs.retrieve", seen[0].run_id)).status == "cancelled"
    newest = await one.sdk("conversations.messages.list", one.id, limit=1)
    assert newest[0].message_type == "approval_request_message"


async def test_fire_and_forget(scene):
    one = await scene("files")
    hello = [{"role": "user", "content": "Hello."}]
    run = await one.sdk("agents.messages.create_async", one.agent_id, messages=hello)
    assert (run.status, run.background) == ("created", True)
    place = f"{one.url}/v1/runs/{run.id}"
    await until(lambda: httpx.get(place).json()["completed_at"])
    assert (await one.sdk("runs.retrieve", run.id)).stop_reason == "end_turn"
