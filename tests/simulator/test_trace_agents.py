"""A recording of several agents, served to clients that inject what was recorded, or do not."""

from __future__ import annotations

import json

import pytest

import steer_nb
from steer_nb.simulator import Scenario, Simulator
from steer_nb.wire import stub_for
from tests.support.simulated import answer, text_of, wire
from tests.support.traces import TraceBuilder, call, message

TEAM = {"multi_agent": {"enabled": True}}


@pytest.fixture(scope="module")
def recorded():
    """Two scouts, each answered by an inject of its own; and a plain response after that."""
    simulator = Simulator("agents", speed=0)
    session = steer_nb.connect(simulate=simulator, multi_agent=True, journal=False, quiet=True)
    with session:
        lane = session.lane("team", **TEAM)
        lane.create("Compare the weather in Rome and Paris.")
        for number in range(2):
            assert lane.wait(30) == "waiting_input"
            lane.fill(lane.required_input[0].key, output=f"recorded {number}")
            lane.inject().wait(30)
        lane.wait(30)
        lane.create("Thanks.").wait(30)
    return session.trace


def replies(trace):
    return [response.id for response in trace.ledger.responses.values()]


async def begin(line, **fields):
    await line.create("Something else.", **{"stream_id": "team", **TEAM, **fields})
    return (await line.until("response.created"))["response"]["id"]


async def next_call(line):
    while True:
        item = (await line.until("response.output_item.done"))["item"]
        if stub_for(item) is not None:
            return item


def said(response):
    return [(i["agent"]["agent_name"], i["type"]) for i in response["output"]]


async def test_agents_say_what_was_recorded_whatever_they_are_told(simulate, recorded):
    simulator = simulate(Scenario.from_trace(recorded))
    async with wire(simulator, beta=True) as line:
        response_id = await begin(line)
        assert response_id == replies(recorded)[0]
        for _ in range(2):
            await line.inject(response_id, answer(await next_call(line), output="new"))
        final = await line.end()
        assert "recorded 0" in text_of(final)
        assert "new" not in text_of(final)
        assert {agent for agent, _ in said(final)} == {"/root", "/root/rome", "/root/paris"}
        acks = line.of("response.inject.created")
        assert [ack["response_id"] for ack in acks] == [response_id] * 2
        assert [e["sequence_number"] for e in line.events] == list(range(len(line.events)))
        assert all("agent" in e for e in line.events if "inject" not in e["type"])
        thanks = await line.ask("And?", previous_response_id=response_id, stream_id="team", **TEAM)
        assert thanks["id"] == replies(recorded)[1]
    injects = [entry for entry in simulator.account if entry["kind"] == "inject"]
    assert [entry["fate"] for entry in injects] == ["created", "created"]
    assert [entry["input"][0]["output"] for entry in injects] == ["new", "new"]


async def test_each_connection_answers_calls_of_its_own(simulate, recorded):
    simulator = simulate(Scenario.from_trace(recorded))
    seen = set()
    for _ in range(2):
        async with wire(simulator, beta=True) as line:
            response_id = await begin(line)
            for _ in range(2):
                asked = await next_call(line)
                seen.add(asked["call_id"])
                await line.inject(response_id, answer(asked))
            assert (await line.end())["status"] == "completed"
            assert len(line.of("response.inject.created")) == 2
    assert len(seen) == 4


async def test_who_does_not_inject_gets_the_rest_and_answers_with_a_continuation(
    simulate, recorded
):
    simulator = simulate(Scenario.from_trace(recorded), replay_patience_s=0.05)
    async with wire(simulator, beta=True) as line:
        response_id = await begin(line)
        final = await line.end()
        assert "recorded 1" in text_of(final)
        assert line.of("response.inject.created") == []
        calls = [item for item in final["output"] if stub_for(item) is not None]
        more = {"previous_response_id": response_id, "stream_id": "team", **TEAM}
        refused = {"type": "response.create", "input": "And?", **more}
        error = await line.refused(refused)
        assert "No tool output found" in error["error"]["message"]
    async with wire(simulator, beta=True) as line:
        response_id = await begin(line)
        final = await line.end()
        calls = [item for item in final["output"] if stub_for(item) is not None]
        more = {"previous_response_id": response_id, "stream_id": "team", **TEAM}
        told = await line.ask([answer(one) for one in calls], **more)
        assert told["previous_response_id"] == response_id


async def test_what_the_recording_does_not_have_goes_by_the_rules(simulate, recorded):
    simulator = simulate(Scenario.from_trace(recorded), replay_patience_s=0.05)
    async with wire(simulator, beta=True) as line:
        response_id = await begin(line)
        first = await next_call(line)
        nobody = {"type": "function_call_output", "call_id": "call_nobody", "output": "x"}
        await line.inject(response_id, nobody)
        error = await line.until("error")
        assert "No tool call found" in error["error"]["message"]
        await line.inject(response_id, answer(first))
        await line.until("response.inject.created")
        await line.end()
        await line.inject(response_id, answer(first))
        failed = await line.until("response.inject.failed")
        assert failed["error"]["code"] == "response_already_completed"
        await line.steer(response_id)
        failed = await line.until("response.steer.failed")
        assert failed["error"]["code"] == "steering_not_supported"


async def test_without_the_header_several_agents_are_refused_as_ever(simulate, recorded):
    async with wire(simulate(Scenario.from_trace(recorded))) as line:
        first = next(iter(recorded.ledger.requests.values()))
        error = await line.refused(dict(first.body))
        assert error["error"]["param"] == "multi_agent"


def crossed(*answers):
    """One call, one inject, and what the service said to it."""
    head = {"agent": {"agent_name": "/root"}}
    item = {**call("call_1"), **head}
    builder = TraceBuilder().connect()
    builder.out({"type": "response.create", "model": "m", "input": "Go.", **TEAM}, key="create-1")
    builder.created("resp_1").event("response.output_item.done", output_index=0, item=item, **head)
    given = {"type": "function_call_output", "call_id": "call_1", "output": "old"}
    inject = {"type": "response.inject", "response_id": "resp_1", "input": [given]}
    builder.out(inject, key="inject-1")
    for one in answers:
        if one is None:
            builder.ended("resp_1", output=[item, {**message("So.", 1), **head}])
        else:
            builder.in_(one)
    return builder.trace


FAILED = {
    "type": "response.inject.failed",
    "sequence_number": 9,
    "response_id": "resp_1",
    "input": [{"type": "function_call_output", "call_id": "call_1", "output": "old"}],
    "error": {"code": "response_already_completed", "message": "Too late."},
}
REFUSED = {
    "type": "error",
    "status": 400,
    "error": {"type": "invalid_request_error", "code": "odd", "message": "No.", "param": None},
}


@pytest.mark.parametrize("answers", [(FAILED, None), (None, FAILED)])
async def test_a_recorded_failure_gives_back_what_this_client_sent(simulate, answers):
    async with wire(simulate(Scenario.from_trace(crossed(*answers))), beta=True) as line:
        await line.create("Go.", **TEAM)
        given = answer((await raw_until(line, "response.output_item.done"))["item"], output="mine")
        await line.inject("resp_1", given)
        failed = await raw_until(line, "response.inject.failed")
        assert (failed["input"], failed["error"]) == ([given], FAILED["error"])
        assert [e["type"] for e in line.events].count("response.inject.failed") == 1


async def test_a_recorded_refusal_is_one_again(simulate):
    simulator = simulate(Scenario.from_trace(crossed(REFUSED, None)))
    async with wire(simulator, beta=True) as line:
        await line.create("Go.", **TEAM)
        item = (await raw_until(line, "response.output_item.done"))["item"]
        await line.inject("resp_1", answer(item))
        assert (await raw_until(line, "error"))["error"]["code"] == "odd"
        await raw_until(line, "response.completed")
    entry = next(e for e in simulator.account if e["kind"] == "inject")
    assert (entry["fate"], entry["code"]) == ("refused", "odd")


async def raw_until(line, kind):
    """Read what a builder wrote, which holds less than the SDK's types ask for."""
    while True:
        event = json.loads(await line.socket.recv())
        line.events.append(event)
        if event["type"] == kind:
            return event
