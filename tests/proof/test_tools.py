"""Tools of all kinds are called, answered and heard, with the official SDK's own items."""

from __future__ import annotations

import pytest

from tests.support.simulated import answer, calls_of

SEVEN = {
    "weather": "function_call",
    "custom": "custom_tool_call",
    "computer": "computer_call",
    "shell": "shell_call",
    "patch": "apply_patch_call",
    "tools": "tool_search_call",
    "approval": "mcp_approval_request",
}


def results_for(response):
    return [answer(call) for call in calls_of(response.to_dict())]


@pytest.mark.parametrize("scenario", SEVEN)
async def test_one_kind(stage, scenario):
    async with stage(scenario).connect() as line:
        asked = await line.ask("Do it, in Porto.")
        assert SEVEN[scenario] in [item.type for item in asked.output]
        while calls_of(asked.to_dict()):
            results = results_for(asked)
            asked = await line.ask(results, previous_response_id=asked.id)
        assert asked.output_text
        kinds = [
            result["type"]
            for entry in line.stage.simulator.account
            if entry["kind"] == "continuation"
            for result in entry["results"]
        ]
        assert results[0]["type"] in kinds


async def test_all_seven_in_one_continuation(stage):
    async with stage("seven").connect() as line:
        asked = await line.ask("Audit the project.")
        results = results_for(asked)
        assert {item["type"] for item in calls_of(asked.to_dict())} == set(SEVEN.values())
        heard = await line.ask(results, previous_response_id=asked.id)
        assert heard.status == "completed"
        (continuation,) = [
            entry for entry in line.stage.simulator.account if entry["kind"] == "continuation"
        ]
        assert continuation["results"] == results


async def test_arguments_come_in_pieces(stage):
    async with stage("weather").connect() as line:
        await line.create("What is the weather in Porto?")
        pieces = []
        while (event := await line.recv()).type != "response.function_call_arguments.done":
            if event.type == "response.function_call_arguments.delta":
                pieces.append(event.delta)
        assert "".join(pieces) == event.arguments == '{"city":"Porto"}'
        await line.end()


async def test_missing_output(stage):
    async with stage("weather").connect() as line:
        asked = await line.ask("What is the weather in Porto?")
        (call,) = calls_of(asked.to_dict())
        await line.create("Never mind.", previous_response_id=asked.id)
        error = await line.refusal(None)
        message = f"No tool output found for function call {call['call_id']}."
        assert error.error.message == message
        assert error.status == 400
        # The response is stored, so the refused continuation can still be made good.
        heard = await line.ask(results_for(asked), previous_response_id=asked.id)
        assert "“18 °C and dry”" in heard.output_text


@pytest.mark.parametrize("change", [{"call_id": "call_nobody"}, {"type": "shell_call_output"}])
async def test_wrong_output(stage, change):
    async with stage("weather").connect() as line:
        asked = await line.ask("What is the weather in Porto?")
        (result,) = results_for(asked)
        if "type" in change:
            outcome = {"type": "exit", "exit_code": 0}
            change = {**change, "output": [{"stdout": "", "stderr": "", "outcome": outcome}]}
        await line.create([{**result, **change}], previous_response_id=asked.id)
        error = await line.refusal(None)
        assert error.error.type == "invalid_request_error"
        assert error.error.message
