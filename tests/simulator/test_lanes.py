"""Lanes, chains and limits: chapters 1.3, 2 and 3."""

from __future__ import annotations

import asyncio

import pytest

from steer_nb.simulator import AwaitSteer, Pause, Say, scenario
from tests.support.simulated import ENDS, MODEL, text_of, wire


@scenario("parrot", "Says what it was told, slowly.")
def parrot(turn):
    yield Say(f"{turn.prompt} ", "(said the parrot)")
    yield Pause(0.2)
    yield Say("Done.")


@scenario("hold", "Holds on until it is steered.")
def hold(turn):
    yield Say("Holding.")
    if not turn.steers:
        yield AwaitSteer(20)
    yield Say("Released.")


async def test_same_lane_runs_in_order_without_overlap(simulate):
    async with wire(simulate(parrot)) as line:
        for n in range(4):
            await line.create(f"n{n}", stream_id="a")
        for n in range(4):
            assert (await line.recv())["type"] == "response.created"
            response = await line.end()
            assert text_of(response).startswith(f"n{n} ")
        assert {event["stream_id"] for event in line.events} == {"a"}


async def test_lanes_run_side_by_side(simulate):
    async with wire(simulate(hold)) as line:
        for name in ("a", "b", None):
            await line.create("x", stream_id=... if name is None else name)
        created = [await line.until("response.created") for _ in range(3)]
        assert line.of(*ENDS) == []
        for event in created:
            await line.steer(event["response"]["id"])
        while len(line.of("response.completed")) < 3:
            await line.recv()
        assert {event.get("stream_id") for event in line.events} == {"a", "b", None}
        # the default lane's events name no lane at all
        assert not any("stream_id" in e for e in line.events if e.get("stream_id") is None)


async def test_sixteen_run_and_the_rest_wait_without_an_error(simulate):
    simulator = simulate(hold)
    async with wire(simulator) as line:
        for n in range(20):
            await line.create(stream_id=f"lane{n}")
        created = [await line.until("response.created") for _ in range(16)]
        while len(line.of("response.output_item.done")) < 16:
            await line.recv()
        await line.silence()
        for event in created:
            await line.steer(event["response"]["id"])
        while len(line.of("response.created")) < 16 + 16 + 4:
            await line.recv()
        assert line.of("error") == []


async def test_thirty_two_names_ever(simulate):
    async with wire(simulate("planner")) as line:
        for n in range(32):
            await line.ask(stream_id=f"lane{n}", generate=False)
        await line.create(stream_id="agent_33")
        assert await line.recv() == {
            "type": "error",
            "status": 400,
            "stream_id": "agent_33",
            "error": {
                "type": "invalid_request_error",
                "code": "websocket_stream_limit_reached",
                "message": (
                    "This WebSocket connection has reached its maximum number of distinct stream "
                    "IDs (32). Reuse an existing stream_id or open a new WebSocket connection."
                ),
                "param": "stream_id",
            },
        }
        await line.ask(generate=False)  # the default lane does not count
        await line.ask(stream_id="lane31", generate=False)


async def test_age_limit(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        await line.ask()
        simulator.advance(3599)
        await line.ask(generate=False)
        simulator.advance(2)
        assert await line.recv() == {
            "type": "error",
            "status": 400,
            "error": {
                "type": "invalid_request_error",
                "code": "websocket_connection_limit_reached",
                "message": (
                    "Responses websocket connection limit reached (60 minutes). "
                    "Create a new websocket connection to continue."
                ),
            },
        }
        await line.socket.wait_closed()
        assert line.socket.protocol.close_code == 1001


async def test_age_limit_that_leaves_the_socket_open(simulate):
    simulator = simulate("planner", connection_limit_s=60, limit_close_code=None)
    async with wire(simulator) as line:
        simulator.advance(61)
        assert (await line.recv())["error"]["code"] == "websocket_connection_limit_reached"
        error = await line.refused({"type": "response.create", "input": "Hi."})
        assert error["error"]["code"] == "websocket_connection_limit_reached"


# Chains


async def test_chain_over_store_and_connections(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        one = await line.ask("Plan Rome.")
        two = await line.ask("Shorter?", previous_response_id=one["id"])
        assert two["previous_response_id"] == one["id"]
        assert "“Shorter?”" in text_of(two)
        branch = await line.ask("Longer?", previous_response_id=one["id"], stream_id="b")
        assert branch["previous_response_id"] == one["id"]
    async with wire(simulator) as line:
        three = await line.ask("Again.", previous_response_id=two["id"])
        assert three["previous_response_id"] == two["id"]
        fresh = await line.ask("New.", stream_id="b")
        assert fresh["previous_response_id"] is None


async def test_unstored_chain_lives_in_its_lane(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        one = await line.ask(store=False)
        two = await line.ask(store=False, previous_response_id=one["id"])
        await line.create(store=False, previous_response_id=one["id"])
        assert (await line.recv())["error"]["code"] == "previous_response_not_found"
        # that error named `one`: the lane's own latest is still there
        three = await line.ask(store=False, previous_response_id=two["id"])
        # an error that names the latest evicts it
        await line.create(store=False, previous_response_id=three["id"], temperature="hot")
        assert (await line.recv())["error"]["code"] == "invalid_type"
        await line.create(store=False, previous_response_id=three["id"])
        assert (await line.recv())["error"]["code"] == "previous_response_not_found"
    async with wire(simulator) as line:
        await line.create(previous_response_id=three["id"])
        assert (await line.recv())["error"]["code"] == "previous_response_not_found"


async def test_error_on_another_lane_keeps_the_parent(simulate):
    async with wire(simulate("planner")) as line:
        one = await line.ask(store=False, stream_id="a")
        await line.create(previous_response_id=one["id"], stream_id="b", temperature="hot")
        assert (await line.recv())["type"] == "error"
        two = await line.ask(store=False, previous_response_id=one["id"], stream_id="a")
        assert two["previous_response_id"] == one["id"]


async def test_fork_has_to_start_before_the_source_goes_on(simulate):
    async with wire(simulate(hold)) as line:
        one = await line.ask(store=False, stream_id="a", generate=False)
        await line.create(store=False, stream_id="b", previous_response_id=one["id"])
        await line.until("response.in_progress")
        await line.create(store=False, stream_id="a", previous_response_id=one["id"])
        event = await line.until("response.created")
        assert event["stream_id"] == "a"
        await line.create(store=False, stream_id="c", previous_response_id=one["id"])
        error = await line.until("error")
        assert error["error"]["code"] == "previous_response_not_found"
        assert error["stream_id"] == "c"


async def test_failed_response_cannot_be_continued(simulate):
    async with wire(simulate("failures")) as line:
        failed = await line.ask("server_error")
        assert failed["error"]["code"] == "server_error"
        await line.create(previous_response_id=failed["id"])
        assert (await line.recv())["error"]["code"] == "previous_response_not_found"


async def test_warm_up(simulate):
    async with wire(simulate("planner")) as line:
        await line.create([], generate=False, instructions="Be kind.")
        assert (await line.recv())["type"] == "response.created"
        event = await line.recv()
        assert event["type"] == "response.completed"
        warm = event["response"]
        assert warm["output"] == []
        assert warm["usage"]["output_tokens"] == 0
        await line.steer(warm["id"])
        assert (await line.recv())["error"]["code"] == "response_already_completed"
        response = await line.ask("Plan Rome.", previous_response_id=warm["id"])
        assert response["previous_response_id"] == warm["id"]
        assert response["instructions"] is None
        assert response["output"]
        prewarmed = await line.ask("x", prompt_cache_options={"prewarm": True})
        assert prewarmed["output"] == []


async def test_warm_up_on_a_waiting_parent_takes_nothing(simulate):
    async with wire(simulate("weather")) as line:
        ended = await line.ask("Weather in Porto?")
        await line.steer(ended["id"])
        await line.until("response.steer.pending")
        await line.ask("x", previous_response_id=ended["id"], generate=False)
        (call,) = [item for item in ended["output"] if item["type"] == "function_call"]
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": "dry"}
        text = text_of(await line.ask([result], previous_response_id=ended["id"]))
        assert "“Shorter.”" in text


async def test_usage_grows_with_the_conversation(simulate):
    async with wire(simulate("planner")) as line:
        one = await line.ask("Plan Rome.")
        two = await line.ask("Shorter?", previous_response_id=one["id"])
        for response in (one, two):
            usage = response["usage"]
            assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
            assert 0 < usage["output_tokens_details"]["reasoning_tokens"] < usage["output_tokens"]
        assert two["usage"]["input_tokens"] > one["usage"]["total_tokens"]
        assert two["usage"]["input_tokens_details"]["cached_tokens"] == one["usage"]["total_tokens"]
        assert one["usage"]["input_tokens_details"]["cached_tokens"] == 0
        started = line.of("response.created", "response.in_progress")
        assert all(event["response"]["usage"] is None for event in started)


async def test_settings_are_echoed(simulate):
    async with wire(simulate("planner")) as line:
        tools = [{"type": "function", "name": "f", "parameters": {}, "strict": True}]
        response = await line.ask(
            model="gpt-6-mini",
            tools=tools,
            tool_choice="required",
            temperature=0.5,
            reasoning={"effort": "high"},
            text={"verbosity": "low"},
            metadata={"k": "v"},
            service_tier="fast",
            max_output_tokens=9000,
            conversation={"id": "conv_1"},
            parallel_tool_calls=False,
        )
        assert response["tools"] == tools
        assert response["tool_choice"] == "required"
        assert response["temperature"] == 0.5
        assert response["reasoning"]["effort"] == "high"
        assert response["metadata"] == {"k": "v"}
        assert response["service_tier"] == "priority"
        assert response["conversation"] == {"id": "conv_1"}
        assert response["parallel_tool_calls"] is False


@pytest.mark.parametrize("wanted", [True, False])
async def test_obfuscation(simulate, wanted):
    async with wire(simulate("weather")) as line:
        options = {} if wanted else {"stream_options": {"include_obfuscation": False}}
        await line.ask("Weather?", **options)
        deltas = [event for event in line.events if event["type"].endswith(".delta")]
        assert deltas
        assert all(("obfuscation" in event) is wanted for event in deltas)


async def test_done_event(simulate):
    async with wire(simulate("planner", done_event=True)) as line:
        await line.ask()
        assert '"response.done"' in await line.socket.recv()


async def test_slow_reader_makes_scripts_wait(simulate):
    @scenario("flood", "Writes 18 MB.")
    def flood(turn):
        for _ in range(6):
            yield Say("x" * 1_000_000)

    simulator = simulate(flood)
    async with wire(simulator, max_queue=1, compression=None) as line:
        for n in range(2):
            await line.create(stream_id=f"l{n}")
        await asyncio.sleep(0.5)
        assert not any(entry["kind"] == "response" for entry in simulator.account)
        for _ in range(2):
            assert (await line.end())["status"] == "completed"


async def test_one_terminal_each(simulate):
    async with wire(simulate("planner")) as line:
        for n in range(6):
            await line.create(stream_id=f"l{n % 3}", model=MODEL)
        for _ in range(6):
            await line.end()
        ids = [event["response"]["id"] for event in line.of(*ENDS)]
        assert len(set(ids)) == 6
