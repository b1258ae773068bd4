"""The official SDK is the client: it cannot tell the simulator from the service."""

from __future__ import annotations

import openai
import pytest
from openai.lib.responses_websocket import (
    AsyncResponsesWebSocketSession,
    ResponsesWebSocketAccumulator,
    ResponsesWebSocketError,
    ResponsesWebSocketLimits,
    ResponsesWebSocketSession,
)
from openai.types.responses import Response, ResponseSteerAcceptedEvent

import steer_nb
from steer_nb.simulator import AwaitSteer, Say, Scenario, Simulator, scenario
from tests.support.simulated import MODEL, answer

# The SDK 3.57 opens its synchronous connection in a way that websockets 17 warns about.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:connect\(\) must be used as a context manager:DeprecationWarning"
)


@scenario("wait", "Waits for a steer between two messages.")
def waits(turn):
    yield Say("First." + "".join(f" You said: {text}" for text in turn.steers))
    if not turn.steers:
        yield AwaitSteer(10)
        yield Say("Second.")


ENDS = ("response.completed", "response.incomplete", "response.failed")
LIMITS = ResponsesWebSocketLimits(
    max_lanes=8,
    max_events_per_lane=4096,
    max_events=16384,
    max_bytes_per_lane=2**24,
    max_bytes=2**26,
)


def client(simulator):
    return openai.OpenAI(base_url=simulator.base_url, api_key="test", max_retries=0)


def async_client(simulator):
    return openai.AsyncOpenAI(base_url=simulator.base_url, api_key="test", max_retries=0)


def create(**fields):
    return {"type": "response.create", "model": MODEL, **fields}


def collect(connection):
    """Read one response; the SDK's accumulator has to give what the terminal event says."""
    accumulator = ResponsesWebSocketAccumulator()
    for event in connection:
        accumulator.add_event(event)
        if event.type in ENDS:
            break
    final = accumulator.get_final_response()
    assert isinstance(final, Response)
    snapshot = accumulator.snapshot()
    assert snapshot.output_text == final.output_text
    return final


def test_sync_create_and_tool_continuation(simulate):
    simulator = simulate("weather", api_key="test")
    with client(simulator) as sdk, sdk.responses.connect() as connection:
        connection.send(create(input="What is the weather in Porto?"))
        first = collect(connection)
        (call,) = [item for item in first.output if item.type == "function_call"]
        assert call.name == "get_weather"
        assert call.arguments == '{"city":"Porto"}'
        connection.send(create(input=[answer(call.to_dict())], previous_response_id=first.id))
        second = collect(connection)
        assert second.previous_response_id == first.id
        assert "“18 °C and dry”" in second.output_text
        assert second.usage is not None


def test_sync_steer(simulate):
    simulator = simulate(waits)
    with client(simulator) as sdk, sdk.responses.connect() as connection:
        connection.send(create(input="Plan a trip to Rome."))
        created = next(iter(connection))
        connection.send(
            {
                "type": "response.steer",
                "previous_response_id": created.response.id,
                "input": "Keep it under 300 euros.",
            }
        )
        accepted = next(e for e in connection if e.type == "response.steer.accepted")
        assert isinstance(accepted, ResponseSteerAcceptedEvent)
        parent = collect_rest(connection)
        assert parent.incomplete_details.reason == "steered"
        successor = collect(connection)
        assert successor.previous_response_id == parent.id == created.response.id
        assert "You said: Keep it under 300 euros." in successor.output_text


def collect_rest(connection):
    return next(event.response for event in connection if event.type in ENDS)


@pytest.mark.parametrize(
    "scenario",
    ["planner", "seven", "custom", "computer", "shell", "patch", "tools", "approval", "failures"],
)
def test_sync_every_scenario(simulate, scenario):
    with client(simulate(scenario)) as sdk, sdk.responses.connect() as connection:
        connection.send(create(input="Begin."))
        assert collect(connection).status == "completed"


def test_sync_recording(simulate):
    """A trace is served as well as a script; twice, the second time under other ids."""
    live = Simulator("weather", speed=0)
    with steer_nb.connect(simulate=live, journal=False, quiet=True) as session:
        lane = session.lane()
        lane.create("What is the weather in Porto?")
        lane.wait(30)
        lane.fill(lane.required_input[0].key, output="recorded")
        lane.send_continuation().wait(30)
    simulator = simulate(Scenario.from_trace(session.trace))
    seen = []
    for _ in range(2):
        with client(simulator) as sdk, sdk.responses.connect() as connection:
            connection.send(create(input="Hello."))
            first = collect(connection)
            (call,) = [item for item in first.output if item.type == "function_call"]
            connection.send(create(input=[answer(call.to_dict())], previous_response_id=first.id))
            second = collect(connection)
            assert second.previous_response_id == first.id
            assert "“recorded”" in second.output_text
            seen += [first.id, call.call_id, second.id]
    assert seen[0] == session.trace.ledger.lanes[None].responses[0].id
    assert len(set(seen)) == 6


def test_sync_refusal_and_failure(simulate):
    with client(simulate("failures")) as sdk, sdk.responses.connect() as connection:
        connection.send(create(input="refusal"))
        refused = collect(connection)
        assert refused.output[0].content[0].refusal == "I cannot help with that."
        connection.send(create(input="server_error"))
        failed = collect(connection)
        assert failed.error.code == "server_error"


def test_sync_wrong_key(simulate):
    simulator = simulate(api_key="another")
    with client(simulator) as sdk, pytest.raises(Exception, match="401"):
        sdk.responses.connect().enter()


async def test_async_steer_pending_and_continuation(simulate):
    simulator = simulate("weather")
    async with async_client(simulator) as sdk, sdk.responses.connect() as connection:
        await connection.send(create(input="Weather in Porto?", stream_id="main"))
        parent = None
        async for event in connection:
            assert event.stream_id == "main"
            if event.type == "response.completed":
                parent = event.response
                break
        await connection.response.steer(previous_response_id=parent.id, input="In Celsius.")
        assert (await connection.recv()).type == "response.steer.accepted"
        pending = await connection.recv()
        assert pending.type == "response.steer.pending"
        filled = [{**stub.to_dict(), "output": "dry"} for stub in pending.required_input]
        await connection.send(
            create(input=filled, previous_response_id=parent.id, stream_id="main")
        )
        async for event in connection:
            if event.type in ENDS:
                break
        assert "“In Celsius.”" in event.response.output_text
        assert "“dry”" in event.response.output_text


async def test_async_lanes(simulate):
    simulator = simulate("planner")
    async with (
        async_client(simulator) as sdk,
        sdk.responses.connect(websocket_connection_options={"max_size": None}) as connection,
        AsyncResponsesWebSocketSession(connection, limits=LIMITS) as session,
    ):
        lanes = {name: session.lane(name) for name in ("a", "b", "c", "d")}
        for name, lane in lanes.items():
            await lane.send(create(input=f"Plan {name}."))
        await session.default.send(create(input="Plan the rest."))
        for name, lane in lanes.items():
            response = await lane.get_final_response()
            assert f"Plan {name}." in str(response.output)
        assert (await session.default.get_final_response()).status == "completed"
        await lanes["a"].send(create(input="x", previous_response_id="resp_nobody"))
        with pytest.raises(ResponsesWebSocketError) as caught:
            await lanes["a"].get_final_response()
        assert caught.value.event.error.code == "previous_response_not_found"


def test_sync_lane_sees_the_successor(simulate):
    simulator = simulate(waits)
    with (
        client(simulator) as sdk,
        sdk.responses.connect() as connection,
        ResponsesWebSocketSession(connection, limits=LIMITS) as session,
    ):
        lane = session.lane("trip")
        lane.send(create(input="Plan a trip to Rome."))
        created = lane.recv(timeout=10)
        lane.send(
            {
                "type": "response.steer",
                "previous_response_id": created.response.id,
                "input": "Shorter.",
            }
        )
        assert lane.get_final_response(timeout=10).incomplete_details.reason == "steered"
        while (event := lane.recv(timeout=10)).type not in ENDS:
            pass
        assert "You said: Shorter." in event.response.output_text
