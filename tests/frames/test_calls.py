"""The tool_calls table: each call, who runs it, and the one result it got."""

from __future__ import annotations

import json

import pytest

from steer_nb.wire import cancelled_fields, fill_stub, stub_for
from tests.frames.test_responses import rows
from tests.support.traces import TRACE_ID, TraceBuilder, call, stub

PNG = "data:image/png;base64,AAAA"
CALLS = {
    "function": call(),
    "custom": {"type": "custom_tool_call", "id": "ctc", "call_id": "c2", "name": "n", "input": "x"},
    "computer": {
        "type": "computer_call",
        "id": "cu",
        "call_id": "c3",
        "action": {"type": "screenshot"},
        "pending_safety_checks": [{"id": "sc", "code": "k", "message": "m"}],
        "status": "completed",
    },
    "shell": {
        "type": "shell_call",
        "id": "sh",
        "call_id": "c4",
        "action": {"commands": ["ls", "pwd"]},
        "status": "completed",
    },
    "apply_patch": {
        "type": "apply_patch_call",
        "id": "ap",
        "call_id": "c5",
        "operation": {"type": "delete_file", "path": "a"},
        "status": "completed",
    },
    "tool_search": {
        "type": "tool_search_call",
        "id": "ts",
        "call_id": "c6",
        "execution": "client",
        "arguments": {"query": "q"},
        "status": "completed",
    },
    "mcp_approval": {
        "type": "mcp_approval_request",
        "id": "mcpr",
        "server_label": "mail",
        "name": "send",
        "arguments": '{"to":"a"}',
    },
}
VALUES = {
    "function": {"output": "18"},
    "custom": {"output": [{"type": "input_text", "text": "ok"}]},
    "computer": {
        "output": {"type": "computer_screenshot", "image_url": PNG},
        "acknowledged_safety_checks": [{"id": "sc"}],
    },
    "shell": {
        "output": [
            {"stdout": "a\n", "stderr": "b\n", "outcome": {"type": "exit", "exit_code": 1}},
            {"stdout": "c", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        ]
    },
    "apply_patch": {"status": "completed", "output": "done"},
    "tool_search": {"tools": []},
    "mcp_approval": {"approve": True},
}
TEXTS = {
    "function": "18",
    "custom": "ok",
    "computer": None,
    "shell": "a\nb\nc",
    "apply_patch": "done",
    "tool_search": "[]",
    "mcp_approval": None,
}
ARGUMENTS = {
    "function": '{"city":"Lisbon"}',
    "custom": "x",
    "computer": '{"type":"screenshot"}',
    "shell": '{"commands":["ls","pwd"]}',
    "apply_patch": '{"type":"delete_file","path":"a"}',
    "tool_search": '{"query":"q"}',
    "mcp_approval": '{"to":"a"}',
}


def asked(item: dict) -> TraceBuilder:
    """A finished response that asks for one thing; the call is complete at 0.3 s."""
    return TraceBuilder().connect().create().created("r1").done(item).ended("r1", output=[item])


def answered(item: dict, fields: dict, by: str | None = "user") -> TraceBuilder:
    """The same, filled and sent; sent at 0.6 s where `by` is known, else at 0.5 s."""
    filled = fill_stub(stub_for(item), item, **fields)
    key = item["id"] if item["type"] == "mcp_approval_request" else item["call_id"]
    builder = asked(item)
    if by is not None:
        builder.note("filled", lane=None, parent="r1", key=key, item=filled, by=by)
    return builder.create([filled], previous="r1").created("r2", previous="r1")


@pytest.mark.parametrize("kind", CALLS)
def test_calls_that_wait_for_the_client(kind):
    (row,) = rows(asked(CALLS[kind]).trace, "tool_calls")
    item = CALLS[kind]
    assert (row["response_id"], row["kind"], row["owner"]) == ("r1", kind, "client")
    assert row["call_key"] == item.get("call_id", item["id"])
    assert row["item_id"] == item["id"]
    assert row["lane_id"] == f"{TRACE_ID}/1/(default)"
    assert (row["name"], row["server_label"]) == (item.get("name"), item.get("server_label"))
    assert row["arguments_text"] == ARGUMENTS[kind]
    valid = kind != "custom"
    assert row["arguments_json"] == (ARGUMENTS[kind] if valid else None)
    assert row["arguments_valid"] == (True if valid else None)
    assert row["requested_s"] == pytest.approx(0.3)
    assert row["result_kind"] == "none"
    assert row["orphan"] is False
    for column in ("answered_s", "wait_s", "result_text", "answered_by", "answered_in_response_id"):
        assert row[column] is None, column


@pytest.mark.parametrize("kind", CALLS)
def test_calls_that_got_a_value(kind):
    (row,) = rows(answered(CALLS[kind], VALUES[kind], by="code").trace, "tool_calls")
    assert (row["result_kind"], row["result_text"]) == ("value", TEXTS[kind])
    assert (row["answered_by"], row["answered_in_response_id"]) == ("code", "r2")
    assert row["answered_s"] == pytest.approx(0.6)
    assert row["wait_s"] == pytest.approx(0.3)


@pytest.mark.parametrize("kind", CALLS)
def test_calls_that_were_answered_as_cancelled(kind):
    item = CALLS[kind]
    (row,) = rows(answered(item, cancelled_fields(stub_for(item), item)).trace, "tool_calls")
    # A search that found nothing gives the same as a cancelled one.
    assert row["result_kind"] == ("value" if kind == "tool_search" else "cancelled")


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("mcp_approval", {"approve": False, "reason": "no"}, ("denied", "no")),
        ("apply_patch", {"status": "failed", "output": "conflict"}, ("error", "conflict")),
        (
            "shell",
            {
                "output": [
                    {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
                    {"stdout": "x", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
                ]
            },
            ("error", "x"),
        ),
    ],
)
def test_answers_that_are_no_value(kind, fields, expected):
    (row,) = rows(answered(CALLS[kind], fields).trace, "tool_calls")
    assert (row["result_kind"], row["result_text"]) == expected


def test_a_function_that_raised():
    error = "get_weather raised ValueError: no such city"
    text = f"Error: {error}"
    filled = {**stub(), "output": text}
    note = {"lane": None, "parent": "r1", "key": "call_1"}
    trace = (
        asked(call())
        .note("tool_started", **note, name="get_weather", by="policy")
        .note("tool_finished", **note, ok=False, output=text, error="no such city", duration_s=0.05)
        .note("filled", **note, item=filled, by="policy")
        .create([filled], previous="r1")
        .trace
    )
    (row,) = rows(trace, "tool_calls")
    assert (row["result_kind"], row["result_text"], row["answered_by"]) == ("error", text, "policy")


def test_a_result_that_a_person_put_in_the_place_of_the_exception():
    note = {"lane": None, "parent": "r1", "key": "call_1"}
    filled = {**stub(), "output": "18"}
    trace = (
        asked(call())
        .note("tool_started", **note, name="get_weather", by="user")
        .note("tool_finished", **note, ok=False, output="", error="x raised", duration_s=0.05)
        .note("filled", **note, item=filled, by="user")
        .create([filled], previous="r1")
        .trace
    )
    (row,) = rows(trace, "tool_calls")
    assert (row["result_kind"], row["result_text"]) == ("value", "18")


def test_answers_nobody_is_known_for():
    (row,) = rows(answered(call(), {"output": "18"}, by=None).trace, "tool_calls")
    assert (row["answered_by"], row["result_text"]) == ("unknown", "18")


def test_a_refused_continuation_answers_nothing():
    refused = (
        asked(call())
        .create([{**stub(), "output": "18"}], previous="r1")
        .in_({"type": "error", "status": 400, "error": {"code": "x", "message": "no"}})
    )
    (row,) = rows(refused.trace, "tool_calls")
    assert row["result_kind"] == "none"
    again = refused.create([{**stub(), "output": "19"}], previous="r1").created("r2", previous="r1")
    (row,) = rows(again.trace, "tool_calls")
    assert (row["result_text"], row["answered_in_response_id"]) == ("19", "r2")


def test_one_answer_for_a_call_also_when_a_fork_repeats_it():
    trace = (
        asked(call())
        .create([{**stub(), "output": "18"}], previous="r1")
        .created("r2", previous="r1")
        .create([{**stub(), "output": "20"}], previous="r1", lane="b")
        .created("r3", previous="r1", lane="b")
        .trace
    )
    (row,) = rows(trace, "tool_calls")
    assert (row["result_text"], row["answered_in_response_id"]) == ("18", "r2")


def test_answers_in_a_request_that_repeats_the_conversation():
    trace = (
        asked(call())
        .create([{"role": "user", "content": "hi"}, call(), {**stub(), "output": "18"}])
        .created("r2")
        .trace
    )
    (row,) = rows(trace, "tool_calls")
    assert (row["result_kind"], row["answered_in_response_id"]) == ("value", "r2")


def test_answers_to_calls_that_were_not_seen():
    trace = (
        TraceBuilder()
        .create([{**stub("c9"), "output": "18"}], previous="gone", lane="a")
        .created("r1", previous="gone", lane="a")
        .trace
    )
    (row,) = rows(trace, "tool_calls")
    assert (row["response_id"], row["call_key"], row["orphan"]) == ("gone", "c9", True)
    assert (row["kind"], row["result_text"]) == ("function", "18")
    assert row["lane_id"] == f"{TRACE_ID}/0/a"
    assert (row["requested_s"], row["wait_s"], row["answered_s"]) == (None, None, 0.0)


@pytest.mark.parametrize(
    ("item", "more", "expected"),
    [
        (
            {
                "type": "mcp_call",
                "id": "m",
                "server_label": "s",
                "name": "n",
                "arguments": '{"a":1}',
                "output": "out",
                "error": None,
                "status": "completed",
            },
            [],
            ("mcp", "m", '{"a":1}', "value", "out"),
        ),
        (
            {
                "type": "mcp_call",
                "id": "m",
                "name": "n",
                "arguments": "{}",
                "error": {"type": "e", "content": "x"},
                "status": "failed",
            },
            [],
            ("mcp", "m", "{}", "error", '{"type":"e","content":"x"}'),
        ),
        (
            {"type": "web_search_call", "id": "w", "action": {"query": "q"}, "status": "completed"},
            [],
            ("web_search", "w", '{"query":"q"}', "value", None),
        ),
        (
            {"type": "file_search_call", "id": "f", "queries": ["q"], "status": "failed"},
            [],
            ("file_search", "f", '["q"]', "error", None),
        ),
        (
            {
                "type": "code_interpreter_call",
                "id": "ci",
                "code": "1+1",
                "outputs": [{"type": "logs", "logs": "2"}, {"type": "image", "url": "u"}],
                "status": "completed",
            },
            [],
            ("code_interpreter", "ci", "1+1", "value", "2"),
        ),
        (
            {"type": "image_generation_call", "id": "ig", "result": "AAAA", "status": "completed"},
            [],
            ("image_generation", "ig", None, "value", None),
        ),
        (
            {
                "type": "shell_call",
                "id": "sh",
                "call_id": "c",
                "action": {"commands": ["ls"]},
                "environment": {"type": "container_reference"},
                "status": "completed",
            },
            [
                {
                    "type": "shell_call_output",
                    "id": "so",
                    "call_id": "c",
                    "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit"}}],
                    "status": "completed",
                }
            ],
            ("shell", "c", '{"commands":["ls"]}', "value", "a"),
        ),
        (
            {
                "type": "tool_search_call",
                "id": "ts",
                "call_id": "c",
                "execution": "server",
                "arguments": {"q": 1},
                "status": "completed",
            },
            [{"type": "tool_search_output", "call_id": "c", "tools": [], "status": "completed"}],
            ("tool_search", "c", '{"q":1}', "value", "[]"),
        ),
        (
            {"type": "telepathy_call", "id": "t", "arguments": {"who": "you"}},
            [],
            ("other", "t", '{"who":"you"}', "none", None),
        ),
    ],
)
def test_calls_that_the_service_runs(item, more, expected):
    builder = TraceBuilder().create().created("r1").added({**item, "status": "in_progress"})
    builder.done(item)
    for index, each in enumerate(more, start=1):
        builder.done(each, index)
    (row,) = rows(builder.trace, "tool_calls")
    found = (row["kind"], row["call_key"], row["arguments_text"], row["result_kind"])
    assert (*found, row["result_text"]) == expected
    assert (row["owner"], row["answered_by"]) == ("server", None)
    assert row["requested_s"] == pytest.approx(0.2)
    if row["result_kind"] != "none":
        assert row["wait_s"] == pytest.approx(0.1 * (1 + len(more)))


def test_lists_of_tools_and_outputs_are_no_calls():
    items = [{"type": "mcp_list_tools", "id": "l"}, {"type": "function_call_output", "id": "o"}]
    trace = TraceBuilder().create().created("r1").done(items[0]).done(items[1], 1).trace
    assert rows(trace, "tool_calls") == []
    assert rows(trace)[0]["n_tool_calls"] == 0


@pytest.mark.parametrize(
    ("arguments", "valid"),
    [('{"a":1}', True), ('{"a":', False), ('{"a":NaN}', False), ("", False), ("[" * 9000, False)],
)
def test_arguments_that_are_not_json_are_said_so(arguments, valid):
    (row,) = rows(asked(call(arguments=arguments)).trace, "tool_calls")
    assert row["arguments_valid"] is valid
    assert row["arguments_text"] == arguments
    assert (row["arguments_json"] is not None) is valid


def test_arguments_that_are_still_written_are_not_judged():
    trace = (
        TraceBuilder()
        .create()
        .created("r1")
        .added(call(arguments=""))
        .event("response.function_call_arguments.delta", output_index=0, delta='{"ci')
        .trace
    )
    (row,) = rows(trace, "tool_calls")
    assert (row["arguments_text"], row["arguments_valid"]) == ('{"ci', None)
    assert (row["owner"], row["requested_s"], row["result_kind"]) == ("client", None, "none")


def test_content_of_calls_is_json_in_text():
    (row,) = rows(asked(CALLS["computer"]).trace, "items")
    assert json.loads(row["content_json"]) == CALLS["computer"]


def test_a_call_id_that_a_response_repeats():
    trace = (
        TraceBuilder()
        .create(lane="a")
        .created("r1", lane="a")
        .done(call("c1"), lane="a")
        .done(call("c1"), 1, lane="a")
        .ended("r1", lane="a", output=[call("c1"), call("c1")])
        .create([{**stub("c1"), "output": "x"}], previous="r1", lane="a")
        .trace
    )
    first, second = rows(trace, "tool_calls")
    assert (first["call_key"], first["result_text"]) == ("c1", "x")
    assert (second["call_key"], second["result_kind"]) == ("c1#1", "none")
