"""Errors as the SDK raises them: before a stream, within it, at its end."""

from __future__ import annotations

import letta_client
import pytest

from tests.proof.letta.conftest import kinds
from tests.proof.letta.test_streams import approve

WAITS = "waiting for approval"


@pytest.fixture
async def waiting(scene):
    """A scene whose agent waits for approval of two calls."""
    one = await scene("parallel")
    await one.send()
    return one, (await one.pending())


async def test_a_message_while_it_waits(waiting):
    one, pending = waiting
    hello = [{"role": "user", "content": "Hello."}]
    with pytest.raises(letta_client.ConflictError) as plain:
        await one.sdk("agents.messages.create", one.agent_id, messages=hello)
    assert plain.value.body["detail"]["code"] == "PENDING_APPROVAL"
    assert plain.value.body["detail"]["pending_request_id"] == pending.id
    with pytest.raises(letta_client.APIStatusError, match=WAITS) as streamed:
        await one.send("Hello.")
    assert streamed.value.status_code == 200
    assert streamed.value.body["error_type"] == "internal_error"
    failed = await one.sdk("runs.retrieve", streamed.value.body["run_id"])
    assert (failed.status, failed.stop_reason) == ("failed", "error")
    assert WAITS in failed.metadata["error"]["detail"]


async def test_a_conflict_before_the_stream(waiting):
    one, _ = waiting
    one.arm("early_conflict times=1")
    with pytest.raises(letta_client.ConflictError):
        await one.send("Hello.")


async def test_a_conflict_in_a_conversation_is_words_only(scene):
    one = await scene("parallel")
    talk = await one.sdk("conversations.create", agent_id=one.agent_id)
    hello = [{"role": "user", "content": "Hello."}]
    fields = {"messages": hello, "streaming": False}
    await one.sdk("conversations.messages.create", talk.id, **fields)
    with pytest.raises(letta_client.ConflictError) as conflict:
        await one.sdk("conversations.messages.create", talk.id, **fields)
    assert WAITS in conflict.value.body["detail"]


@pytest.mark.parametrize("which", ["too few", "others", "none at all"])
async def test_answers_that_do_not_fit(waiting, which):
    one, pending = waiting
    calls = list(pending.tool_calls)
    given = approve(calls[:1] if which == "too few" else calls)
    if which == "others":
        given[0]["approvals"][0]["tool_call_id"] = "call_bogus"
    if which == "none at all":
        given[0]["approvals"] = []
    text = "does not contain any approvals" if which == "none at all" else "Invalid tool call IDs"
    with pytest.raises(letta_client.BadRequestError, match=text):
        await one.sdk("agents.messages.create", one.agent_id, messages=given)
    with pytest.raises(letta_client.APIStatusError, match=text):
        await one.stream(given)
    assert (await one.pending()).id == pending.id
    assert one.account("tool") == []


async def test_an_approval_twice(scene):
    one = await scene("files")
    await one.send("Please delete /srv/a.txt and /srv/b.txt.")
    pending = await one.pending()
    given = approve(pending.tool_calls)
    await one.stream(given)
    ran = len(one.account("tool"))
    again = await one.stream(given)  # 5.6: the model is called once more, no tool is
    assert kinds(again)[0] == "assistant_message"
    assert len(one.account("tool")) == ran
    kept = [m for m in await one.history() if m.message_type == "user_message"]
    assert "keep-alive ping" in kept[-1].content
    stale = approve(pending.tool_calls[:1])
    with pytest.raises(letta_client.BadRequestError, match="currently awaiting approval"):
        await one.sdk("agents.messages.create", one.agent_id, messages=stale)


async def test_a_malformed_body(scene):
    one = await scene("files")
    given = [{"type": "approval", "approvals": [{"type": "approval", "tool_call_id": "call_1"}]}]
    with pytest.raises(letta_client.UnprocessableEntityError, match="Field required"):
        await one.sdk("agents.messages.create", one.agent_id, messages=given)
    with pytest.raises(letta_client.UnprocessableEntityError, match="must not be empty"):
        await one.sdk("agents.messages.create", one.agent_id, messages=[])


async def test_the_model_fails(scene):
    one = await scene("failing")
    with pytest.raises(letta_client.APIStatusError, match="Rate limit exceeded") as limited:
        await one.send("Hit the rate limit.")
    assert limited.value.body["error_type"] == "llm_rate_limit"
    with pytest.raises(letta_client.APIStatusError, match="during agent execution"):
        await one.send("Go on.")
    assert [frame["message_type"] for frame in one.sdk.kept.frames] == [
        "assistant_message",
        "tool_call_message",
        "tool_return_message",
        "stop_reason",
        "error_message",
    ]


async def test_what_is_not_there(scene):
    one = await scene("files")
    nobody = "run-00000000-0000-4000-8000-000000000000"
    with pytest.raises(letta_client.NotFoundError, match="Run not found"):
        await one.sdk.stream("runs.messages.stream", nobody, starting_after=0)
    seen = await one.send("Hello.")
    with pytest.raises(letta_client.BadRequestError, match="not created in background mode"):
        await one.sdk.stream("runs.messages.stream", seen[0].run_id, starting_after=0)
    talk = await one.sdk("conversations.create", agent_id=one.agent_id)
    with pytest.raises(letta_client.NotFoundError, match="No run found for otid"):
        await one.sdk.stream("conversations.messages.stream", talk.id, otid="nope")
    with pytest.raises(letta_client.NotFoundError, match="Not Found"):
        await one.sdk("archives.list")


async def test_without_redis(scene):
    one = await scene("files")
    one.arm("no_redis")
    with pytest.raises(letta_client.InternalServerError, match="requires Redis") as missing:
        await one.send("Hello.", background=True)
    assert missing.value.status_code == 503


async def test_refused_and_busy_on_purpose(scene):
    one = await scene("files")
    one.arm({"fault": "refuse_request", "status": 429, "retry_after": 7}, "busy")
    with pytest.raises(letta_client.RateLimitError, match="on purpose") as refused:
        await one.send("Hello.")
    assert refused.value.response.headers["retry-after"] == "7"
    with pytest.raises(letta_client.ConflictError, match="currently being processed"):
        await one.send("Hello.")


async def test_a_phantom_call(scene):
    one = await scene("files")
    one.arm("phantom_call")
    seen = await one.send("Please delete /srv/a.txt.", stream_tokens=True)
    asked = {m.tool_call.tool_call_id for m in seen if m.message_type.startswith("approval")}
    pending = {call.tool_call_id for call in (await one.pending()).tool_calls}
    assert len(asked - pending) == 1
    assert len(pending) == 1
