"""What is refused, and that the connection lives on afterwards."""

from __future__ import annotations

import json

import pytest

from tests.support.simulated import MODEL, PNG, answer, calls_of, text_of, wire


async def still_alive(line):
    assert (await line.ask("Still there?"))["status"] == "completed"


@pytest.mark.parametrize(
    "message",
    [
        "{",
        "",
        "null",
        "[]",
        '"response.create"',
        "17",
        '{"type":"response.create","temperature":NaN}',
        '{"a":' * 100_000,
        b'{"type":"response.create"}',
    ],
    ids=lambda m: repr(m[:20]),
)
async def test_not_one_json_object(simulate, message):
    async with wire(simulate()) as line:
        error = await line.refused(message)
        assert error["status"] == 400
        assert error["error"]["code"] == "invalid_json"
        assert "stream_id" not in error
        await still_alive(line)


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ({}, "type"),
        ({"type": 5}, "type"),
        ({"type": "response.cancel"}, "type"),
        ({"type": "session.update", "stream_id": "a"}, "type"),
    ],
)
async def test_unknown_event_types(simulate, message, param):
    async with wire(simulate()) as line:
        error = await line.refused(message)
        assert error["error"]["param"] == param
        assert "stream_id" not in error
        await still_alive(line)


@pytest.mark.parametrize("name", ["", "a b", "ü", "x" * 257, 5, None, ["a"], "a\n", "a/b"])
async def test_invalid_stream_id(simulate, name):
    async with wire(simulate()) as line:
        error = await line.refused({"type": "response.create", "input": "Hi.", "stream_id": name})
        assert error == {
            "type": "error",
            "status": 400,
            "error": {
                "type": "invalid_request_error",
                "code": "invalid_stream_id",
                "message": (
                    "The 'stream_id' field must be a non-empty string with at most 256 characters "
                    "and may only contain letters, numbers, underscores, hyphens, and periods."
                ),
                "param": "stream_id",
            },
        }
        await still_alive(line)


@pytest.mark.parametrize(
    ("fields", "code", "param"),
    [
        ({"background": True}, "unsupported_parameter", "background"),
        ({"foo": 1}, "unknown_parameter", "foo"),
        ({"input": 5}, "invalid_type", "input"),
        ({"input": None}, "missing_required_parameter", "input"),
        ({"input": ["x"]}, "invalid_type", "input[0]"),
        ({"input": [{}]}, "missing_required_parameter", "input[0].type"),
        ({"input": [{"role": "tool", "content": "x"}]}, "invalid_value", "input[0].role"),
        ({"input": [{"role": "user"}]}, "missing_required_parameter", "input[0].content"),
        ({"temperature": "hot"}, "invalid_type", "temperature"),
        ({"store": "yes"}, "invalid_type", "store"),
        ({"tools": [{"name": "f"}]}, "missing_required_parameter", "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "missing_required_parameter", "tools[0].name"),
        (
            {"conversation": "conv_1", "previous_response_id": "resp_1"},
            "mutually_exclusive_parameters",
            "previous_response_id",
        ),
        ({"previous_response_id": "resp_1"}, "previous_response_not_found", "previous_response_id"),
    ],
)
async def test_refused_creates(simulate, fields, code, param):
    async with wire(simulate()) as line:
        body = {"type": "response.create", "model": MODEL, "input": "Hi.", "stream_id": "a"}
        error = await line.refused(body | fields)
        assert error["status"] == 400
        assert error["stream_id"] == "a"
        assert error["error"]["type"] == "invalid_request_error"
        assert error["error"]["code"] == code
        assert error["error"]["param"] == param
        await still_alive(line)


async def test_official_shape_of_an_unknown_parent(simulate):
    async with wire(simulate()) as line:
        body = {"type": "response.create", "input": "Hi.", "stream_id": "main"}
        error = await line.refused(body | {"previous_response_id": "resp_abc"})
        assert error == {
            "type": "error",
            "status": 400,
            "stream_id": "main",
            "error": {
                "type": "invalid_request_error",
                "code": "previous_response_not_found",
                "message": "Previous response with id 'resp_abc' not found.",
                "param": "previous_response_id",
            },
        }


async def test_what_is_tolerated(simulate):
    async with wire(simulate()) as line:
        response = await line.ask(
            stream=True, background=False, client_metadata={"a": "b"}, temperature=1, user=None
        )
        assert response["status"] == "completed"
        assert (await line.ask(model=...))["model"] == MODEL


async def test_options_for_requests(simulate):
    async with wire(simulate(unknown_parameters="ignore", default_model=None)) as line:
        assert (await line.ask(foo=1))["status"] == "completed"
        error = await line.refused({"type": "response.create", "input": "Hi."})
        assert error["error"]["param"] == "model"


async def test_lone_surrogates_travel_both_ways(simulate):
    async with wire(simulate("planner")) as line:
        message = json.dumps({"type": "response.create", "input": "half \ud83d of it"})
        await line.send(message)
        assert "half \ud83d of it" in json.dumps(await line.end(), ensure_ascii=False)
        await still_alive(line)


async def test_non_ascii_travels_as_it_is(simulate):
    async with wire(simulate("custom")) as line:
        await line.create("Hotels in Évora 🏨", model="gpt-6-é")
        raw = await line.socket.recv()
        assert "gpt-6-é" in raw


# Results


async def test_missing_results(simulate):
    async with wire(simulate("seven")) as line:
        ended = await line.ask("Audit.")
        calls = calls_of(ended)
        assert len(calls) == 7
        for call in calls:
            rest = [answer(other) for other in calls if other is not call]
            await line.create(rest, previous_response_id=ended["id"])
            error = await line.recv()
            key = call.get("call_id") or call["id"]
            assert key in error["error"]["message"]
            assert error["error"]["param"] == "input"
        first = calls[0]["call_id"]
        await line.create("Never mind.", previous_response_id=ended["id"])
        error = await line.recv()
        assert error["error"]["message"] == f"No tool output found for function call {first}."


async def test_each_kind_says_which_field_is_missing(simulate):
    fills = {"apply_patch_call_output": "status", "tool_search_output": "tools"}
    fills["mcp_approval_response"] = "approve"
    async with wire(simulate("seven")) as line:
        ended = await line.ask("Audit.")
        results = [answer(call) for call in calls_of(ended)]
        for place, result in enumerate(results):
            name = fills.get(result["type"], "output")
            less = {key: value for key, value in result.items() if key != name}
            given = [*results[:place], less, *results[place + 1 :]]
            await line.create(given, previous_response_id=ended["id"])
            error = (await line.until("error"))["error"]
            assert error["code"] == "missing_required_parameter"
            assert error["param"] == f"input[{place}].{name}"


async def test_wrong_and_doubled_results(simulate):
    async with wire(simulate("weather")) as line:
        ended = await line.ask("Weather in Porto?")
        (call,) = calls_of(ended)
        wrong = answer(call, call_id="call_nobody")
        await line.create([answer(call), wrong], previous_response_id=ended["id"])
        message = (await line.recv())["error"]["message"]
        assert message == "No tool call found for function call output with call_id call_nobody."
        await line.create([answer(call), answer(call)], previous_response_id=ended["id"])
        assert "Duplicate output" in (await line.recv())["error"]["message"]
        custom = {
            "type": "custom_tool_call_output",
            "call_id": call["call_id"],
            "output": "x",
        }
        await line.create([custom], previous_response_id=ended["id"])
        assert "No tool call found" in (await line.recv())["error"]["message"]
        approval = {"type": "mcp_approval_response", "approval_request_id": "m", "approve": True}
        await line.create([approval], previous_response_id=ended["id"])
        assert "No approval request found" in (await line.recv())["error"]["message"]
        await line.create([{"type": "function_call_output", "output": ""}])
        assert (await line.recv())["error"]["param"] == "input[0].call_id"
        answered = await line.ask([answer(call)], previous_response_id=ended["id"])
        await line.create([answer(call)], previous_response_id=answered["id"])
        assert "No tool call found" in (await line.recv())["error"]["message"]


@pytest.mark.parametrize(
    ("scenario", "fields", "param"),
    [
        ("weather", {"output": {"a": 1}}, "input[0].output"),
        ("weather", {"output": 5}, "input[0].output"),
        ("weather", {"output": [{"type": "output_text", "text": ""}]}, "input[0].output"),
        ("computer", {"output": "a picture"}, "input[0].output"),
        ("computer", {"acknowledged_safety_checks": []}, "input[0].acknowledged_safety_checks"),
        ("shell", {"output": "text"}, "input[0].output"),
        ("patch", {"status": "applied"}, "input[0].status"),
        ("tools", {"tools": {}}, "input[0].tools"),
        ("tools", {"execution": "server"}, "input[0].execution"),
        ("approval", {"approve": "yes"}, "input[0].approve"),
        ("approval", {"extra": 1}, "input[0].extra"),
    ],
)
async def test_misshapen_results(simulate, scenario, fields, param):
    async with wire(simulate(scenario)) as line:
        ended = await line.ask("Begin.")
        call = calls_of(ended)[0]
        await line.create([answer(call, **fields)], previous_response_id=ended["id"])
        error = await line.recv()
        assert error["error"]["param"] == param
        again = await line.ask([answer(call)], previous_response_id=ended["id"])
        assert again["status"] == "completed"


async def test_a_whole_conversation_sent_again(simulate):
    """Without previous_response_id, calls and results come together (hard case 33)."""
    async with wire(simulate("weather")) as line:
        ended = await line.ask("Weather in Porto?", store=False)
        call = calls_of(ended)[0]
        whole = [{"role": "user", "content": "Weather in Porto?"}, *ended["output"]]
        error = await line.refused({"type": "response.create", "input": whole})
        assert "No tool output found" in error["error"]["message"]
        assert "“18 °C and dry”" in text_of(await line.ask([*whole, answer(call)]))


async def test_output_parts(simulate):
    async with wire(simulate("weather")) as line:
        ended = await line.ask("Weather in Porto?")
        parts = [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "image_url": PNG},
            {"type": "input_file", "filename": "w.csv", "file_data": "data:text/csv;base64,AA=="},
        ]
        result = answer(calls_of(ended)[0], output=parts)
        text = text_of(await line.ask([result], previous_response_id=ended["id"]))
        assert "see [image] [file w.csv]" in text
