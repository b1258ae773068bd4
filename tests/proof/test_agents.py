"""Several agents write one response, for the official SDK's multi-agent beta (chapter 7)."""

from __future__ import annotations

import pytest
from openai.types.beta.beta_response_inject_created_event import BetaResponseInjectCreatedEvent
from openai.types.beta.beta_response_inject_failed_event import BetaResponseInjectFailedEvent
from openai.types.beta.beta_response_output_item import (
    AgentMessage,
    MultiAgentCall,
    MultiAgentCallOutput,
)
from openai.types.beta.beta_response_steer_failed_event import BetaResponseSteerFailedEvent

from tests.support.simulated import ENDS, answer, calls_of

TEAM = {
    "model": "gpt-5.6-sol",
    "multi_agent": {"enabled": True, "max_concurrent_subagents": 2},
}
COMPARE = "Compare the weather in Rome and Paris."


async def next_call(line):
    while True:
        item = (await line.until("response.output_item.done")).item
        if item.type == "function_call":
            return item


async def run(line, **fields):
    """Answer each scout as soon as it asks; give all events, the last acknowledgement included."""
    await line.create(COMPARE, **TEAM, **fields)
    seen, answered, acknowledged = [], 0, 0
    while True:
        event = await line.recv()
        seen.append(event)
        if event.type == "response.created":
            response_id = event.response.id
        elif event.type == "response.output_item.done" and event.item.type == "function_call":
            await line.inject(response_id, answer(event.item.to_dict()))
            answered += 1
        elif event.type == "response.inject.created":
            acknowledged += 1
        elif event.type in ENDS:
            assert answered == acknowledged == 2
            return seen


@pytest.mark.parametrize("lane", [{}, {"stream_id": "team"}])
async def test_answers_are_injected_while_the_others_write(stage, lane):
    scene = stage("agents")
    async with scene.agents() as line:
        *seen, end = await run(line, **lane)
        final = end.response
        assert final.status == "completed"
        created = [event for event in seen if event.type == "response.inject.created"]
        assert all(isinstance(event, BetaResponseInjectCreatedEvent) for event in created)
        assert [event.response_id for event in created] == [final.id] * 2
        assert [event.stream_id for event in created] == [lane.get("stream_id")] * 2
        kinds = {type(item) for item in final.output}
        assert {MultiAgentCall, MultiAgentCallOutput, AgentMessage} <= kinds
        last = final.output[-1]
        assert (last.agent.agent_name, last.phase) == ("/root", "final_answer")
        assert "Rome: “18 °C and dry”" in last.content[0].text
    fates = [entry["fate"] for entry in scene.simulator.account if entry["kind"] == "inject"]
    assert fates == ["created", "created"]


async def test_every_event_names_its_agent(stage):
    async with stage("agents").agents() as line:
        seen = await run(line)
        for event in seen:
            if event.type != "response.inject.created":
                assert event.agent.agent_name.startswith("/root"), event
        writers = {e.agent.agent_name for e in seen if e.type == "response.output_text.delta"}
        assert writers == {"/root", "/root/rome", "/root/paris"}
        begun = [e for e in seen if e.type == "response.output_item.added"]
        agents = {event.item.id: event.agent.agent_name for event in begun}
        for item in seen[-1].response.output:
            assert agents[item.id] == item.agent.agent_name


async def test_agents_that_wait_are_answered_by_a_continuation(stage):
    async with stage("agents", agents_waiting="complete").agents() as line:
        asked = await line.ask(COMPARE, **TEAM)
        calls = [c for c in calls_of(asked.to_dict()) if c["type"] == "function_call"]
        assert [c["agent"]["agent_name"] for c in calls] == ["/root/rome", "/root/paris"]
        results = [answer(call) for call in calls]
        heard = await line.ask(results, previous_response_id=asked.id, **TEAM)
        assert "“18 °C and dry”" in heard.output[-1].content[0].text


async def test_acknowledgements_may_come_after_the_end(stage):
    async with stage("agents", inject_acknowledge="after_terminal").agents() as line:
        await line.create(COMPARE, **TEAM)
        response_id = (await line.until("response.created")).response.id
        for _ in range(2):
            await line.inject(response_id, answer((await next_call(line)).to_dict()))
        assert (await line.end()).id == response_id
        for _ in range(2):
            assert (await line.recv()).type == "response.inject.created"


async def test_an_inject_fails_where_nobody_waits(stage):
    late = {"type": "function_call_output", "call_id": "call_x", "output": "late"}
    async with stage("agents").agents() as line:
        await line.inject("resp_nobody", late)
        failed = await line.refusal("response_not_found")
        assert isinstance(failed, BetaResponseInjectFailedEvent)
        ended = (await run(line, stream_id="team"))[-1].response
        await line.inject(ended.id, late)
        failed = await line.refusal("response_already_completed")
        assert isinstance(failed, BetaResponseInjectFailedEvent)
        assert (failed.response_id, failed.stream_id) == (ended.id, "team")
        assert [item.to_dict() for item in failed.input] == [late]
        # As the guide says, what came back goes into a new request.
        assert (await line.ask("Go on.", previous_response_id=ended.id, **TEAM)).id


async def test_an_answer_to_no_call_is_refused_and_the_agents_go_on(stage):
    async with stage("agents").agents() as line:
        await line.create(COMPARE, **TEAM)
        response = (await line.until("response.created")).response
        calls = [await next_call(line) for _ in range(2)]
        stray = {"type": "function_call_output", "call_id": "call_nobody", "output": "?"}
        await line.inject(response.id, answer(calls[0].to_dict()), stray)
        assert (await line.refusal(None)).status == 400
        for call in calls:
            await line.inject(response.id, answer(call.to_dict()))
        assert (await line.end()).status == "completed"


async def test_several_agents_cannot_be_steered(stage):
    async with stage("agents").agents() as line:
        parent = await line.started(COMPARE, **TEAM)
        await line.steer(parent.id, "Shorter.")
        failed = await line.refusal("steering_not_supported")
        assert isinstance(failed, BetaResponseSteerFailedEvent)
        assert failed.steer.input == "Shorter."


async def test_what_the_beta_does_not_take(stage):
    async with stage("agents").agents() as line:
        for fields in ({"max_tool_calls": 3}, {"reasoning": {"summary": "auto"}}):
            await line.create(COMPARE, **TEAM, **fields)
            assert (await line.refusal("unsupported_parameter")).error.param.split(".")[0] in fields


async def test_a_single_agent_in_the_beta(stage):
    """Without `multi_agent` all is as ever, steering included."""
    async with stage("weather").agents() as line:
        parent = await line.ask("What is the weather in Porto?")
        await line.steer(parent.id, "In Celsius.")
        pending = await line.until("response.steer.pending")
        (call,) = calls_of(parent.to_dict())
        filled = {**pending.required_input[0].to_dict(), **answer(call)}
        heard = await line.ask([filled], previous_response_id=parent.id)
        assert "“In Celsius.”" in heard.output[-1].content[0].text


async def test_without_the_header_there_is_no_beta(stage):
    async with stage("agents").agents(extra_headers={}) as line:
        await line.create(COMPARE, **TEAM)
        error = await line.refusal("unsupported_parameter")
        assert error.error.param == "multi_agent"
