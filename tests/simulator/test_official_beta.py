"""The official SDK's beta client drives the agents of the simulator, and cannot tell it apart."""

from __future__ import annotations

import openai
import pytest
from openai.types.beta.beta_response_inject_created_event import BetaResponseInjectCreatedEvent
from openai.types.beta.beta_response_inject_failed_event import BetaResponseInjectFailedEvent
from openai.types.beta.beta_response_output_item import (
    AgentMessage,
    MultiAgentCall,
    MultiAgentCallOutput,
)

# The SDK 3.57 opens its synchronous connection in a way that websockets 17 warns about.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:connect\(\) must be used as a context manager:DeprecationWarning"
)

BETA = {"OpenAI-Beta": "responses_multi_agent=v1"}
CREATE = {
    "model": "gpt-5.6-sol",
    "input": "Compare the weather in Rome and Paris.",
    "multi_agent": {"enabled": True, "max_concurrent_subagents": 2},
}


def answer(call, output="18 °C"):
    return {"type": "function_call_output", "call_id": call.call_id, "output": output}


def test_sync(simulate):
    simulator = simulate("agents", api_key="test")
    sdk = openai.OpenAI(base_url=simulator.base_url, api_key="test", max_retries=0)
    with sdk, sdk.beta.responses.connect(extra_headers=BETA) as connection:
        connection.response.create(**CREATE)
        response_id, final, answered = None, None, []
        for event in connection:
            if event.type == "response.created":
                response_id = event.response.id
            elif event.type == "response.output_item.done" and event.item.type == "function_call":
                answered.append(event.item.agent.agent_name)
                connection.response.inject(response_id=response_id, input=[answer(event.item)])
            elif event.type == "response.completed":
                final = event.response
                break
        assert answered == ["/root/rome", "/root/paris"]
        kinds = {type(item) for item in final.output}
        assert {MultiAgentCall, MultiAgentCallOutput, AgentMessage} <= kinds
        last = final.output[-1]
        assert (last.agent.agent_name, last.phase) == ("/root", "final_answer")
        assert "Rome: “18 °C”" in last.content[0].text
        late = [{"type": "function_call_output", "call_id": "call_x", "output": "late"}]
        connection.response.inject(response_id=response_id, input=late)
        failed = connection.recv()
        assert isinstance(failed, BetaResponseInjectFailedEvent)
        assert failed.error.code == "response_already_completed"
        assert failed.input[0].output == "late"
        connection.response.steer(previous_response_id=response_id, input="Shorter.")
        refused = connection.recv()
        assert (refused.type, refused.error.code) == (
            "response.steer.failed",
            "steering_not_supported",
        )


async def test_async(simulate):
    simulator = simulate("agents")
    sdk = openai.AsyncOpenAI(base_url=simulator.base_url, api_key="x", max_retries=0)
    async with sdk, sdk.beta.responses.connect(extra_headers=BETA) as connection:
        await connection.response.create(**CREATE)
        acknowledged = []
        async for event in connection:
            if event.type == "response.created":
                response_id = event.response.id
            elif event.type == "response.output_item.done" and event.item.type == "function_call":
                await connection.response.inject(
                    response_id=response_id, input=[answer(event.item)]
                )
            elif isinstance(event, BetaResponseInjectCreatedEvent):
                acknowledged.append(event.response_id)
            elif event.type == "response.completed":
                break
        assert acknowledged == [response_id] * 2


def test_the_same_without_the_header_is_refused(simulate):
    sdk = openai.OpenAI(base_url=simulate("agents").base_url, api_key="x", max_retries=0)
    with sdk, sdk.beta.responses.connect() as connection:
        connection.response.create(**CREATE)
        error = connection.recv()
        assert (error.type, error.error.param) == ("error", "multi_agent")
