"""Streams in steps and in tokens, approvals, denials, the client's own tools."""

from __future__ import annotations

import pytest

from tests.proof.letta.conftest import kinds

CLIENT_TOOLS = [
    {
        "name": "read_cell",
        "description": "Read a notebook cell.",
        "parameters": {
            "type": "object",
            "properties": {"cell": {"type": "integer"}},
            "required": ["cell"],
        },
    }
]

modes = pytest.mark.parametrize("tokens", [False, True], ids=["steps", "tokens"])


def text_of(messages):
    return "".join(m.content for m in messages if m.message_type == "assistant_message")


def approve(calls, *, deny=(), **more):
    given = [
        {"type": "approval", "tool_call_id": call.tool_call_id, "approve": n not in deny, **more}
        for n, call in enumerate(calls)
    ]
    return [{"type": "approval", "approvals": given}]


@modes
async def test_what_is_streamed_is_what_is_kept(scene, tokens):
    one = await scene("files")
    seen = await one.send("Which files are there?", stream_tokens=tokens)
    assert kinds(seen) == [
        "assistant_message",
        "tool_call_message",
        "tool_return_message",
        "assistant_message",
        "stop_reason",
        "usage_statistics",
    ]
    history = await one.history()
    joined = {}
    for m in seen[:-2]:
        joined[m.otid] = joined.get(m.otid, "") + (getattr(m, "content", "") or "")
    kept = {m.otid: getattr(m, "content", "") for m in history if m.otid in joined}
    assert kept == joined
    assert one.sdk.kept.statuses[-1] == 200


@modes
async def test_pings_say_which_run_it_is(scene, tokens):
    one = await scene("files")
    seen = await one.send("Hello.", stream_tokens=tokens, include_pings=True)
    assert seen[0].message_type == "ping"
    assert {seen[0].run_id} == {m.run_id for m in seen[:-2]}
    assert {m.seq_id for m in seen[:-2]} == {None}


@modes
async def test_one_call_is_approved(scene, tokens):
    one = await scene("files")
    seen = await one.send("Please delete /srv/a.txt.", stream_tokens=tokens)
    assert kinds(seen)[:3] == [
        "reasoning_message",
        "assistant_message",
        "approval_request_message",
    ]
    assert seen[-2].stop_reason == "requires_approval"
    pending = await one.pending()
    (call,) = pending.tool_calls
    assert (call.name, call.arguments) == ("delete_file", '{"path": "/srv/a.txt"}')
    went_on = await one.stream(approve(pending.tool_calls), stream_tokens=tokens)
    assert went_on[0].tool_returns[0].tool_return == "deleted /srv/a.txt"
    assert (went_on[0].step_id, went_on[0].run_id) == (pending.step_id, went_on[1].run_id)
    assert await one.pending() is None
    assert len(one.account("tool")) == 1


@modes
async def test_one_call_is_denied(scene, tokens):
    one = await scene("files")
    await one.send("Please delete /srv/a.txt.", stream_tokens=tokens)
    pending = await one.pending()
    denied = approve(pending.tool_calls, deny={0}, reason="wrong file")
    went_on = await one.stream(denied, stream_tokens=tokens)
    silent = kinds(went_on)[0] == "assistant_message"
    assert silent is tokens  # 3.3: in tokens, a return that nobody ran is not streamed
    assert "wrong file" in text_of(went_on)
    response, told = [m for m in await one.history() if m.message_type.startswith(("approval_response", "tool_return"))]  # fmt: skip  # noqa: E501
    assert (response.approve, response.reason) == (False, "wrong file")
    assert response.approval_request_id == pending.tool_calls[0].tool_call_id
    said = "Error: request to call tool denied. User reason: wrong file"
    assert (told.tool_return, told.status) == (said, "error")
    assert one.account("tool") == []


@modes
async def test_parallel_calls_are_answered_each_in_its_way(scene, tokens):
    one = await scene("parallel")
    seen = await one.send("Read cell 3.", stream_tokens=tokens, client_tools=CLIENT_TOOLS)
    assert kinds(seen)[1:3] == ["tool_call_message", "approval_request_message"]
    pending = await one.pending()
    mine, first, second = pending.tool_calls
    assert [call.name for call in pending.tool_calls] == ["read_cell", "delete_file", "delete_file"]
    answers = [
        {"type": "approval", "tool_call_id": second.tool_call_id, "approve": True},
        {"type": "approval", "tool_call_id": first.tool_call_id, "approve": False},
        {
            "type": "tool",
            "tool_call_id": mine.tool_call_id,
            "tool_return": "x = 1",
            "status": "success",
            "stdout": ["ran\n"],
        },
    ]
    messages = [{"type": "approval", "approvals": answers}, {"role": "user", "content": "Thanks."}]
    went_on = await one.stream(messages, stream_tokens=tokens, client_tools=CLIENT_TOOLS)
    told = went_on[0].tool_returns
    assert [one.tool_call_id for one in told][:3] == [
        mine.tool_call_id,
        first.tool_call_id,
        second.tool_call_id,
    ]
    assert [one.status for one in told] == ["success", "error", "success", "success"]
    assert went_on[0].name == "delete_file"
    assert "Thanks." in text_of(went_on)
    assert [call["name"] for call in one.account("tool")] == ["delete_file", "list_files"]


@modes
@pytest.mark.parametrize("kind", ["approval", "tool_return"])
async def test_a_tool_of_the_client(scene, tokens, kind):
    one = await scene("files")
    await one.send("Read cell 3.", stream_tokens=tokens, client_tools=CLIENT_TOOLS)
    (call,) = (await one.pending()).tool_calls
    assert (call.name, call.arguments) == ("read_cell", '{"cell": 3}')
    value = {
        "type": "tool",
        "tool_call_id": call.tool_call_id,
        "tool_return": "boom",
        "status": "error",
        "stderr": ["Traceback\n"],
    }
    name = "approvals" if kind == "approval" else "tool_returns"
    went_on = await one.stream(
        [{"type": kind, name: [value]}], stream_tokens=tokens, client_tools=CLIENT_TOOLS
    )
    assert (kinds(went_on)[0] == "assistant_message") is tokens
    kept = next(m for m in await one.history() if m.message_type == "tool_return_message")
    assert (kept.status, kept.stderr) == ("error", ["Traceback\n"])
    assert one.account("tool") == []


async def test_json_in_place_of_a_stream(scene):
    one = await scene("files")
    hello = [{"role": "user", "content": "Please delete /srv/a.txt."}]
    found = await one.sdk("agents.messages.create", one.agent_id, messages=hello)
    assert found.stop_reason.stop_reason == "requires_approval"
    calls = found.messages[-1].tool_calls
    found = await one.sdk("agents.messages.create", one.agent_id, messages=approve(calls))
    assert [m.message_type for m in found.messages] == [
        "tool_return_message",
        "assistant_message",
    ]


@pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning")
async def test_the_older_stream_and_a_plain_input(scene):
    one = await scene("files")
    seen = await one.sdk.stream(
        "agents.messages.stream", one.agent_id, input="Hello.", include_pings=False
    )
    assert kinds(seen) == ["assistant_message", "stop_reason", "usage_statistics"]
    assert seen[0].content.startswith("You said: “Hello.”")


async def test_hidden_types_still_stop_it(scene):
    one = await scene("files")
    seen = await one.send(
        "Please delete /srv/a.txt.", include_return_message_types=["assistant_message"]
    )
    assert kinds(seen) == ["assistant_message", "stop_reason", "usage_statistics"]
    assert (await one.pending()).tool_calls[0].name == "delete_file"


async def test_reset_forgets_a_pending_request(scene):
    one = await scene("files")
    await one.send("Please delete /srv/a.txt.")
    await one.sdk("agents.messages.reset", one.agent_id, add_default_initial_messages=False)
    assert await one.pending() is None
    assert kinds(await one.send("Hello."))[0] == "assistant_message"
