"""One socket and its limits: chapters 1 and 3, where no other test pins them."""

from __future__ import annotations

import asyncio
import http.client
import json

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.extensions.permessage_deflate import PerMessageDeflate

from steer_nb.simulator import AwaitSteer, ErrorEvent, Say, scenario
from steer_nb.simulator.requests import CREATE_FIELDS
from tests.support.simulated import ENDS, text_of, wire


@scenario("hold", "Holds on until it is steered.")
def hold(turn):
    yield Say("Holding.")
    if not turn.steers:
        yield AwaitSteer(20)
    yield Say("Released.")


async def held(line, **fields):
    """Begin a response that holds on, and give its id."""
    await line.create(**fields)
    created = await line.until("response.created")
    await line.until("response.output_item.done")
    return created["response"]["id"]


def status_of(simulator, response_id):
    """What a GET says of a response."""
    line = http.client.HTTPConnection("127.0.0.1", simulator.port, timeout=10)
    line.request("GET", f"/v1/responses/{response_id}")
    body = json.loads(line.getresponse().read())
    line.close()
    return body.get("status")


# Framing (1.2)


async def test_each_event_is_one_json_object_in_a_text_message(simulate):
    async with wire(simulate("seven")) as line:
        await line.create()
        kind = None
        while kind not in ENDS:
            message = await line.socket.recv()
            assert isinstance(message, str)
            kind = json.loads(message)["type"]  # "[DONE]", or two objects, would not be read
        await line.silence()  # and nothing follows the end


async def test_a_terminal_event_leaves_the_socket_open_and_pings_are_answered(simulate):
    async with wire(simulate(hold)) as line:
        await (await line.socket.ping())
        response_id = await held(line)
        async with asyncio.timeout(5):
            await (await line.socket.ping())  # also while a response is written
        await line.steer(response_id)
        await line.end()
        assert text_of(await line.end()) == "Holding.Released."
        await (await line.socket.ping())


@pytest.mark.parametrize("compression", ["deflate", None])
async def test_compression_is_what_the_client_offers(simulate, compression):
    async with wire(simulate("planner"), compression=compression) as line:
        used = [type(one) for one in line.socket.protocol.extensions]
        assert used == ([PerMessageDeflate] if compression else [])
        assert line.socket.subprotocol is None
        assert (await line.ask("é" * 5000))["status"] == "completed"


def test_a_create_may_hold_what_the_sdk_lets_it_hold():
    from openai.types.beta import beta_responses_client_event_param as beta
    from openai.types.responses import responses_client_event_param as known

    fields = set(CREATE_FIELDS) | {"type"}
    assert set(beta.ResponseCreate.__annotations__) == fields
    assert set(known.ResponseCreate.__annotations__) == fields - {"multi_agent"}


# Errors (1.5)


async def test_an_error_of_the_default_lane_names_no_lane(simulate):
    async with wire(simulate("planner")) as line:
        await line.create(previous_response_id="resp_abc")
        assert "stream_id" not in await line.recv()


async def test_an_error_in_the_midst_of_a_response_is_numbered_with_its_events(simulate):
    """The SDK has the number as optional: what refuses a request belongs to no response."""

    @scenario("broke", "Breaks off.")
    def broke(turn):
        yield Say("So.")
        yield ErrorEvent("credit_balance_exhausted", "Pay.", status=402)

    async with wire(simulate(broke)) as line:
        await line.create(stream_id="a")
        await line.create(stream_id="a", temperature="hot")
        inside, refusal = await line.until("error"), await line.recv()
        assert inside["error"]["code"] == "credit_balance_exhausted"
        numbers = [event["sequence_number"] for event in line.events[:-1]]
        assert numbers == list(range(len(numbers)))
        assert refusal["error"]["code"] == "invalid_type"
        assert "sequence_number" not in refusal


async def test_other_lanes_go_on_after_an_error_of_one(simulate):
    async with wire(simulate(hold)) as line:
        response_id = await held(line, stream_id="a")
        await line.create(stream_id="b", temperature="hot")
        assert (await line.recv())["stream_id"] == "b"
        await line.send("{")
        assert "stream_id" not in await line.recv()
        await line.steer(response_id)
        await line.end()
        assert (await line.end())["status"] == "completed"
        assert {e["stream_id"] for e in line.of(*ENDS)} == {"a"}


async def test_a_refused_create_lets_the_next_one_of_its_lane_run(simulate):
    async with wire(simulate("planner")) as line:
        await line.create("One.", temperature="hot")
        await line.create("Two.")
        assert (await line.recv())["error"]["code"] == "invalid_type"
        assert (await line.end())["status"] == "completed"
        assert len(line.of("response.created")) == 1


# Sixteen at once, thirty-two names (1.3)


async def test_the_default_lane_takes_one_of_the_places(simulate):
    async with wire(simulate(hold)) as line:
        first = await held(line)
        for number in range(15):
            await held(line, stream_id=f"lane{number}")
        await line.create(stream_id="seventeenth")
        await line.silence()
        await line.steer(first)
        while line.events[-1].get("stream_id") != "seventeenth":
            await line.recv()
        assert line.events[-1]["type"] == "response.created"
        assert line.of("error", "response.queued") == []


async def test_after_thirty_two_names_each_of_them_still_serves(simulate):
    async with wire(simulate("planner")) as line:
        await line.ask(generate=False)  # the default lane, first of all, does not count
        for number in range(32):
            await line.ask(stream_id=f"lane{number}", generate=False)
        for _ in range(2):  # it is not remembered, and refused as often as it comes
            await line.create(stream_id="agent_33")
            error = await line.recv()
            assert error["error"]["code"] == "websocket_stream_limit_reached"
        for name in ("lane0", "lane31"):
            assert (await line.ask(stream_id=name))["status"] == "completed"
        assert (await line.ask())["status"] == "completed"
    async with wire(simulate("planner")) as line:
        assert (await line.ask(stream_id="agent_33"))["status"] == "completed"


# Sixty minutes (1.3)


async def test_the_hour_ends_an_idle_connection(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        simulator.advance(3600)
        error = await line.recv()  # though nothing was ever asked
        assert error["error"]["code"] == "websocket_connection_limit_reached"
        assert "stream_id" not in error
        await line.socket.wait_closed()


async def test_the_hour_begins_with_the_handshake(simulate, monkeypatch):
    simulator = simulate("planner")

    def an_hour_later():  # between the answer to the handshake and the connection that it makes
        simulator.service.clock.advance(3600)
        return take_number()

    take_number = simulator.service.next_connection
    monkeypatch.setattr(simulator.service, "next_connection", an_hour_later)
    async with wire(simulator) as line:
        assert (await line.recv())["error"]["code"] == "websocket_connection_limit_reached"


@pytest.mark.parametrize("store", [True, False])
async def test_the_hour_ends_what_is_being_written(simulate, store):
    simulator = simulate(hold)
    async with wire(simulator) as line:
        before = await line.ask("Base.", stream_id="a", store=store, generate=False)
        chain = {"previous_response_id": before["id"], "store": store}
        cut = await held(line, stream_id="a", **chain)
        simulator.advance(3600)
        error = await line.recv()
        assert error["error"]["code"] == "websocket_connection_limit_reached"
        assert "stream_id" not in error
        assert "sequence_number" not in error
        with pytest.raises(ConnectionClosed) as closing:
            await line.recv()
        assert closing.value.rcvd.code == 1001
        assert [e["response"]["id"] for e in line.of(*ENDS)] == [before["id"]]
    async with asyncio.timeout(10):  # the server tidies up once the client is gone
        while status_of(simulator, cut) == "in_progress":
            await asyncio.sleep(0.01)
    assert status_of(simulator, cut) == ("cancelled" if store else None)
    async with wire(simulator) as line:
        # what is stored can go on from before it, and nothing else can (chapter 8)
        await line.create("On.", stream_id="a", **chain)
        event = await line.recv()
        assert event["type"] == ("response.created" if store else "error")
        if not store:
            assert event["error"]["code"] == "previous_response_not_found"


async def test_past_the_hour_a_response_may_end_where_the_socket_stays_open(simulate):
    simulator = simulate(hold, limit_close_code=None)
    async with wire(simulator) as line:
        response_id = await held(line)
        simulator.advance(3600)
        assert (await line.recv())["error"]["code"] == "websocket_connection_limit_reached"
        await line.create("New.", stream_id="b")
        assert (await line.recv())["error"]["code"] == "websocket_connection_limit_reached"
        await line.steer(response_id)
        await line.end()
        assert (await line.end())["status"] == "completed"


async def test_a_new_connection_has_an_hour_of_its_own(simulate):
    simulator = simulate("planner")
    simulator.advance(3000)
    async with wire(simulator) as line:
        await line.ask(generate=False)
        simulator.advance(3599)
        assert (await line.ask())["status"] == "completed"
        simulator.advance(1)
        assert (await line.recv())["error"]["code"] == "websocket_connection_limit_reached"
