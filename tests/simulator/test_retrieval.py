"""Stored responses over plain HTTP, read by the official SDK and checked strictly."""

from __future__ import annotations

import asyncio
import contextlib

import openai
import pytest
from openai.types.responses import Response, ResponseItemList

from steer_nb.simulator import AwaitSteer, Disconnect, ErrorEvent, Fail, Say, scenario
from tests.simulator.test_handshake import get
from tests.support.simulated import PNG, answer, calls_of, wire
from tests.support.strict import faults

KEY = "sk-test-4711"


def sdk(simulator, key="test"):
    return openai.OpenAI(base_url=simulator.base_url, api_key=key, max_retries=0)


def raw(simulator, path):
    """The body of a GET as it travelled, strictly as the SDK's types describe it."""
    status, _, body = get(simulator, f"/v1/responses/{path}")
    assert status == 200, body
    if body["object"] == "list":
        assert faults(body, ResponseItemList) == []
    else:
        # The SDK's model does not name `store`, which the service documents and sends.
        plain = {name: value for name, value in body.items() if name != "store"}
        assert faults(plain, Response) == []
    return body


def text_of(item):
    return item["content"][0]["text"]


async def both(simulator, response_id):
    return (
        await asyncio.to_thread(raw, simulator, response_id),
        await asyncio.to_thread(raw, simulator, f"{response_id}/input_items?order=asc"),
    )


async def test_a_response_is_what_its_terminal_event_said(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        response = await line.ask("Plan a day in Porto.")
        body, given = await both(simulator, response["id"])
    assert body == response
    (item,) = given["data"]
    assert (item["role"], item["status"]) == ("user", "completed")
    assert text_of(item) == "Plan a day in Porto."
    with sdk(simulator) as client:
        assert client.responses.retrieve(response["id"]).to_dict() == response
        (item,) = client.responses.input_items.list(response["id"])
        assert item.content[0].text == "Plan a day in Porto."


async def test_the_connection_may_be_gone(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        response = await line.ask()
    assert await asyncio.to_thread(raw, simulator, response["id"]) == response


@pytest.mark.parametrize(
    "name",
    ["seven", "weather", "custom", "computer", "shell", "patch", "tools", "approval"],
)
async def test_every_kind_of_answer_is_listed(simulate, name):
    simulator = simulate(name, input_items="history")
    async with wire(simulator) as line:
        first = await line.ask([{"role": "user", "content": "Begin."}])
        answers = [answer(call) for call in calls_of(first)]
        second = await line.ask(answers, previous_response_id=first["id"])
        body, given = await both(simulator, second["id"])
    assert body == second
    n = len(first["output"])
    for item, made in zip(given["data"][1 : 1 + n], first["output"], strict=True):
        assert item.items() >= made.items()
    listed = given["data"][1 + n :]
    assert [item["type"] for item in listed] == [item["type"] for item in answers]
    for item, sent in zip(listed, answers, strict=True):
        assert item.items() >= sent.items()
        assert item["id"]


async def test_steers_stand_before_the_requests_own_input(simulate):
    simulator = simulate("weather")
    async with wire(simulator) as line:
        first = await line.ask("Weather in Porto?")
        await line.steer(first["id"], "In Celsius.")
        await line.steer(first["id"], [{"role": "user", "content": "And briefly."}])
        await line.until("response.steer.pending")
        (call,) = calls_of(first)
        more = {"role": "user", "content": "Thanks."}
        second = await line.ask([answer(call), more], previous_response_id=first["id"])
        _, given = await both(simulator, second["id"])
    words = [text_of(i) if i["type"] == "message" else i["type"] for i in given["data"]]
    assert words == ["In Celsius.", "And briefly.", "function_call_output", "Thanks."]


async def test_pages(simulate):
    simulator = simulate("planner")
    texts = [f"item {n}" for n in range(45)]
    picture = {"type": "input_image", "image_url": PNG}
    said = [{"role": "user", "content": text} for text in texts]
    said.append({"role": "user", "content": [picture]})
    said.append({"role": "assistant", "content": "before"})
    async with wire(simulator) as line:
        response = await line.ask(said)
    items = f"{response['id']}/input_items"
    first = await asyncio.to_thread(raw, simulator, items)
    assert (len(first["data"]), first["has_more"]) == (20, True), "20, the newest first"
    assert first["data"][0]["content"][0]["type"] == "output_text"
    assert first["first_id"] == first["data"][0]["id"]
    assert first["last_id"] == first["data"][-1]["id"]
    last = await asyncio.to_thread(raw, simulator, f"{items}?limit=100&after={first['last_id']}")
    assert (len(last["data"]), last["has_more"]) == (27, False)
    assert [text_of(item) for item in last["data"][:26]] == texts[26::-1][:26]
    nothing = await asyncio.to_thread(raw, simulator, f"{items}?after={last['last_id']}")
    assert (nothing["data"], nothing["has_more"]) == ([], False)

    def paged():
        with sdk(simulator) as client:
            return list(client.responses.input_items.list(response["id"], limit=7, order="asc"))

    listed = await asyncio.to_thread(paged)
    assert [item.content[0].text for item in listed[:45]] == texts
    assert len({item.id for item in listed}) == 47
    refused = {
        "limit=0": "limit",
        "limit=101": "limit",
        "limit=x": "limit",
        "order=up": "order",
        "after=msg_nobody": "after",
    }
    for query, param in refused.items():
        status, _, body = await asyncio.to_thread(get, simulator, f"/v1/responses/{items}?{query}")
        assert (status, body["error"]["param"]) == (400, param)


async def test_what_is_not_there(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        hidden = await line.ask(store=False)

        def missing(response_id):
            with sdk(simulator) as client:
                for ask in (client.responses.retrieve, client.responses.input_items.list):
                    with pytest.raises(openai.NotFoundError) as caught:
                        ask(response_id)
                    assert caught.value.type == "invalid_request_error"
                    assert f"Response with id '{response_id}' not found." in caught.value.message

        for response_id in (hidden["id"], "resp_nobody"):
            await asyncio.to_thread(missing, response_id)
    asked = [entry for entry in simulator.account if entry["kind"] == "retrieval"]
    assert [entry["what"] for entry in asked] == ["response", "input_items"] * 2
    assert {entry["status"] for entry in asked} == {404}


async def test_a_key_is_needed_where_one_is_configured(simulate):
    simulator = simulate("planner", api_key=KEY)
    headers = {"Authorization": f"Bearer {KEY}"}
    async with wire(simulator, additional_headers=headers) as line:
        response = await line.ask()
    path = f"/v1/responses/{response['id']}"
    for given in ({}, {"Authorization": "Bearer no"}):
        for tail in ("", "/input_items"):
            status, _, body = await asyncio.to_thread(lambda: get(simulator, path + tail, **given))  # noqa: B023
            assert (status, body["error"]["code"]) == (401, "invalid_api_key")
    assert (await asyncio.to_thread(lambda: get(simulator, path, **headers)))[0] == 200
    assert [e["kind"] for e in simulator.account].count("retrieval") == 1


async def test_no_browser_page_reads_them(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        response = await line.ask()
    path = f"/v1/responses/{response['id']}"
    status, _, body = await asyncio.to_thread(
        lambda: get(simulator, path, Origin="http://127.0.0.1:8888")
    )
    assert (status, body["error"]["code"]) == (403, "origin_not_allowed")


async def test_it_is_not_streamed_again(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        response = await line.ask()
    status, _, body = await asyncio.to_thread(
        get, simulator, f"/v1/responses/{response['id']}?stream=true"
    )
    assert (status, body["error"]["param"]) == (400, "stream")


@scenario("two", "Writes two messages, with a wait for a steer between them.")
def two(turn):
    yield Say("First." + "".join(f" You said: {text}" for text in turn.steers))
    yield AwaitSteer(20)
    yield Say("Second.")


async def until(true):
    async with asyncio.timeout(10):
        while not (found := await asyncio.to_thread(true)):
            await asyncio.sleep(0.01)
        return found


async def begun(line):
    """A response that has written its first message, and waits."""
    await line.create()
    response = (await line.until("response.created"))["response"]
    await line.until("response.output_item.done")
    return response


async def test_while_it_is_written(simulate):
    simulator = simulate(two)
    async with wire(simulator) as line:
        response = await begun(line)
        body, given = await both(simulator, response["id"])
        assert (body["status"], body["usage"]) == ("in_progress", None)
        assert [text_of(item) for item in body["output"]] == ["First."]
        assert [text_of(item) for item in given["data"]] == ["Hello."]
        with contextlib.suppress(Exception):
            line.socket.transport.abort()


async def test_a_lost_connection_stops_it(simulate):
    simulator = simulate(two)
    async with wire(simulator) as line:
        response = await begun(line)
        line.socket.transport.abort()
    body = await until(
        lambda: (b := raw(simulator, response["id"]))["status"] != "in_progress" and b
    )
    assert body["status"] == "cancelled"
    assert [text_of(item) for item in body["output"]] == ["First."]
    async with wire(simulator) as line:
        event = await line.refused(
            {
                "type": "response.create",
                "model": "gpt-6-astra",
                "input": "x",
                "previous_response_id": response["id"],
            }
        )
        assert event["error"]["code"] == "previous_response_not_found"


@scenario("slow", "Writes two messages; two steers would shorten the wait between them.")
def slow(turn):
    yield Say("First.")
    yield AwaitSteer(0.5, 2)
    yield Say("Second.")


async def test_or_it_goes_on(simulate):
    simulator = simulate(slow, speed=1, connection_lost="go_on")
    async with wire(simulator) as line:
        response = await begun(line)
        await line.steer(response["id"], "Shorter.")
        await line.until("response.steer.accepted")
        await line.create("Queued behind it.", previous_response_id=response["id"])
        line.socket.transport.abort()
    body = await until(
        lambda: (b := raw(simulator, response["id"]))["status"] != "in_progress" and b
    )
    assert body["status"] == "completed", "the steer was lost with its connection"
    assert [text_of(item) for item in body["output"]] == ["First.", "Second."]
    assert body["usage"]["output_tokens"] > 0
    fates = [entry["fate"] for entry in simulator.account if entry["kind"] == "steer"]
    assert fates == ["lost"]
    assert [e["kind"] for e in simulator.account].count("successor") == 0
    async with wire(simulator) as line:
        after = await line.ask("Go on.", previous_response_id=response["id"])
        assert after["status"] == "completed"


async def test_what_is_not_stored_always_stops(simulate):
    simulator = simulate(slow, speed=1, connection_lost="go_on")
    async with wire(simulator) as line:
        await line.create(store=False)
        await line.until("response.output_item.done")
        line.socket.transport.abort()
    await until(
        lambda: [e["state"] for e in simulator.account if e["kind"] == "connection"] == ["closed"]
    )
    assert [e for e in simulator.account if e["kind"] == "response"] == []


@scenario("cut", "Is cut off by its own script after the first message.")
def cut(turn):
    yield Say("First.")
    yield Disconnect()
    yield Say("Second.")


@pytest.mark.parametrize(
    ("word", "status", "texts"),
    [("stop", "cancelled", ["First."]), ("go_on", "completed", ["First.", "Second."])],
)
async def test_a_scripts_own_cut(simulate, word, status, texts):
    simulator = simulate(cut, connection_lost=word)
    async with wire(simulator) as line:
        await line.create()
        response = (await line.until("response.created"))["response"]
        await line.socket.wait_closed()
    body = await until(
        lambda: (b := raw(simulator, response["id"]))["status"] != "in_progress" and b
    )
    assert (body["status"], [text_of(item) for item in body["output"]]) == (status, texts)


async def test_a_server_that_ends_leaves_nothing_running(simulate):
    simulator = simulate(two, connection_lost="go_on")
    async with wire(simulator) as line:
        await begun(line)
        line.socket.transport.abort()
    simulator.stop()
    assert not simulator.running


@pytest.mark.parametrize("step", [Fail(), ErrorEvent("overloaded", "Busy.", status=503)])
async def test_a_failure_is_told(simulate, step):
    @scenario("fails", "Fails after its first message.")
    def fails(turn):
        yield Say("First.")
        yield step

    simulator = simulate(fails)
    async with wire(simulator) as line:
        await line.create()
        response = (await line.until("response.created"))["response"]
        await line.until("response.failed", "error")
        body = await asyncio.to_thread(raw, simulator, response["id"])
    assert body["status"] == "failed"
    assert body["error"]["code"] == "server_error"
