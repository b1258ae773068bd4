"""Responses stream to the official SDK, whatever their end."""

from __future__ import annotations

import pytest
from openai.types.responses.responses_client_event_param import ResponseCreate

import steer_nb
from steer_nb.simulator import SCENARIOS, Scenario
from tests.proof.fields import FIELDS
from tests.proof.scripts import hangs_up
from tests.proof.sdk import on_a_connection
from tests.support.simulated import ENDS, answer, calls_of
from tests.support.strict import param_fields


async def test_text_comes_in_pieces(stage):
    async with stage().connect() as line:
        await line.create("Plan a trip to Rome.")
        pieces, order = [], []
        while (event := await line.recv()).type not in ENDS:
            order.append(event.type)
            if event.type == "response.output_text.delta":
                pieces.append(event.delta)
        assert order[:3] == [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
        ]
        assert len(pieces) > 50
        assert "".join(pieces) == event.response.output_text
        assert event.response.status == "completed"
        assert event.response.usage.output_tokens > 0


@pytest.mark.parametrize("name", SCENARIOS)
async def test_every_scenario(stage, name):
    async with stage(name).connect() as line:
        assert (await line.ask("Begin.")).status == "completed"


@pytest.fixture(scope="module")
def recorded():
    """A session that asked for a tool's result, got it, and ended."""
    with steer_nb.connect(simulate="weather", journal=False, quiet=True) as session:
        lane = session.lane()
        lane.create("What is the weather in Porto?")
        lane.wait(30)
        lane.fill(lane.required_input[0].key, output="recorded")
        lane.send_continuation().wait(30)
        return session.trace


async def test_recording(stage, recorded):
    """A trace is served as well as a script; twice, the second time under other ids."""
    scene = stage(Scenario.from_trace(recorded))
    seen = []
    for _ in range(2):
        async with scene.connect() as line:
            first = await line.ask("Hello.")
            (call,) = calls_of(first.to_dict())
            second = await line.ask([answer(call)], previous_response_id=first.id)
            assert second.previous_response_id == first.id
            assert "“recorded”" in second.output_text
            seen += [first.id, call["call_id"], second.id]
    assert seen[0] == recorded.ledger.lanes[None].responses[0].id
    assert len(set(seen)) == 6


async def test_a_conversation(stage):
    async with stage().connect() as line:
        first = await line.ask("Plan a trip to Rome.")
        second = await line.ask("Under 300 euros.", previous_response_id=first.id)
        assert second.previous_response_id == first.id
        assert "“Under 300 euros.”" in second.output_text


async def test_every_field_of_a_request_is_accepted(stage):
    assert FIELDS.keys() | {"type"} == param_fields(ResponseCreate).keys()
    async with stage(hangs_up).connect() as line:
        for name, value in FIELDS.items():
            assert (await line.ask(**{name: value})).status == "completed"


async def test_settings_are_repeated(stage):
    names = (
        "access_programs",
        "instructions",
        "max_output_tokens",
        "metadata",
        "parallel_tool_calls",
        "reasoning",
        "service_tier",
        "temperature",
        "text",
        "tool_choice",
        "tools",
        "top_p",
        "truncation",
    )
    settings = {name: FIELDS[name] for name in names}
    async with stage().connect() as line:
        response = (await line.ask("Plan.", store=False, stream=True, **settings)).to_dict()
        for name, value in settings.items():
            assert response[name] == value


@pytest.mark.parametrize("wanted", [None, True, False])
async def test_padding_of_deltas(stage, wanted):
    options = {} if wanted is None else {"stream_options": {"include_obfuscation": wanted}}
    async with stage().connect() as line:
        await line.create("Plan a trip to Rome.", **options)
        delta = await line.until("response.output_text.delta")
        assert ("obfuscation" in delta.to_dict()) is (wanted is not False)
        await line.end()


async def test_refusal(stage):
    async with stage("failures").connect() as line:
        refused = await line.ask("refusal")
        assert refused.output[0].content[0].refusal == "I cannot help with that."


@pytest.mark.parametrize("code", ["server_error", "rate_limit_exceeded", "invalid_prompt"])
async def test_failed_response(stage, code):
    async with stage("failures").connect() as line:
        failed = await line.ask(code)
        assert failed.status == "failed"
        assert failed.error.code == code


@pytest.mark.parametrize("reason", ["max_output_tokens", "max_messages", "content_filter"])
async def test_incomplete_response(stage, reason):
    async with stage("failures").connect() as line:
        ended = await line.ask(reason)
        assert ended.status == "incomplete"
        assert ended.incomplete_details.reason == reason


async def test_warm_up(stage):
    async with stage().connect() as line:
        await line.create("Plan a trip to Rome.", generate=False)
        assert (await line.recv()).type == "response.created"
        warm = (await line.recv()).response
        assert (warm.status, warm.output) == ("completed", [])
        first = await line.ask("Begin.", previous_response_id=warm.id)
        assert first.previous_response_id == warm.id
        assert first.output_text


@on_a_connection
async def test_handlers(stage):
    """The SDK's other way to read: functions that it calls."""
    async with stage().connect() as line:
        texts, everything = [], []
        line.connection.on("response.output_text.done", lambda event: texts.append(event.text))
        line.connection.on("event", everything.append)
        line.connection.on("response.completed", lambda event: line.connection.close())
        await line.create("Plan a trip to Rome.")
        await line.stage.call(line.connection.dispatch_events)
        assert everything[-1].type == "response.completed"
        assert "".join(texts) == everything[-1].response.output_text
