"""Filling stubs: what passes is as in the SDK, what does not says field, value and rule."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest

from steer_nb.errors import InvalidInput
from steer_nb.wire import STUB_KINDS, fill_stub
from tests.support.strict import assert_input_item
from tests.wire.samples import CALLS, EXIT, FILLS, STUBS, TIMEOUT

KINDS = sorted(STUBS)
TEN_MIB = 10_485_760


def refused(
    stub: dict[str, Any], call: dict[str, Any] | None = None, **fields: Any
) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        fill_stub(stub, call, **fields)
    error = caught.value
    assert error.field
    assert error.rule
    assert str(error).startswith(error.field)
    assert "\n" not in str(error)
    assert len(str(error)) < 300
    return error


# -- all kinds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_filled_stub_is_an_input_item_of_the_sdk(kind: str, known: bool) -> None:
    stub = copy.deepcopy(STUBS[kind])
    item = fill_stub(stub, CALLS[kind] if known else None, **FILLS[kind])
    assert_input_item(item)
    assert item == STUBS[kind] | FILLS[kind]
    assert stub == STUBS[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_filling_a_filled_item_anew_is_allowed(kind: str) -> None:
    once = fill_stub(STUBS[kind], CALLS[kind], **FILLS[kind])
    assert fill_stub(once, CALLS[kind], **FILLS[kind]) == once


@pytest.mark.parametrize("kind", KINDS)
def test_identifying_fields_may_be_repeated_but_not_changed(kind: str) -> None:
    assert fill_stub(STUBS[kind], **{**STUBS[kind], **FILLS[kind]}) == STUBS[kind] | FILLS[kind]
    key = STUB_KINDS[kind].key_field
    error = refused(STUBS[kind], **{**FILLS[kind], key: "another"})
    assert (error.field, error.value) == (key, "another")
    assert "must stay" in str(error)
    assert refused(STUBS[kind], **{**FILLS[kind], "type": "message"}).field == "type"


@pytest.mark.parametrize(
    ("kind", "field"),
    [(kind.type, f.name) for kind in STUB_KINDS.values() for f in kind.fields if f.required],
)
def test_required_fields_are_missed(kind: str, field: str) -> None:
    without = {name: value for name, value in FILLS[kind].items() if name != field}
    error = refused(STUBS[kind], **without)
    assert (error.field, error.value) == (field, None)
    assert "is missing" in str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_fields_are_refused_with_the_nearest_name(kind: str) -> None:
    known = next(field.name for field in STUB_KINDS[kind].fields if field.required)
    error = refused(STUBS[kind], **FILLS[kind], **{known + "s": 1})
    assert error.field == known + "s"
    assert f"Did you mean {known!r}?" in str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_the_call_must_be_the_one_that_asks(kind: str) -> None:
    key = STUB_KINDS[kind].call_key
    other = CALLS[kind] | {key: "call_other"}
    assert refused(STUBS[kind], other, **FILLS[kind]).field == f"call.{key}"
    assert refused(STUBS[kind], {"type": "message"}, **FILLS[kind]).field == "call.type"


@pytest.mark.parametrize("kind", KINDS)
def test_a_stub_needs_its_key(kind: str) -> None:
    assert refused({"type": kind}, **FILLS[kind]).field == STUB_KINDS[kind].key_field


@pytest.mark.parametrize(
    "kind",
    ["function_call_output", "computer_call_output", "shell_call_output", "tool_search_output"],
)
def test_call_ids_have_64_characters_at_most(kind: str) -> None:
    fits = STUBS[kind] | {"call_id": "c" * 64}
    assert fill_stub(fits, **FILLS[kind])["call_id"] == "c" * 64
    error = refused(STUBS[kind] | {"call_id": "c" * 65}, **FILLS[kind])
    assert error.rule == "it must be text of 1 to 64 characters"
    assert refused(STUBS[kind] | {"call_id": ""}, **FILLS[kind]).field == "call_id"


@pytest.mark.parametrize("kind", KINDS)
def test_optional_fields_that_are_none_are_left_out(kind: str) -> None:
    minor = {
        field.name: None
        for field in STUB_KINDS[kind].fields
        if not field.required and field.name not in STUBS[kind] | FILLS[kind]
    }
    item = fill_stub(STUBS[kind], **minor, **FILLS[kind])
    assert item == STUBS[kind] | FILLS[kind]


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if STUB_KINDS[kind].field("id") is not None]
)
def test_an_item_id_may_be_given(kind: str) -> None:
    item = fill_stub(STUBS[kind], **FILLS[kind], id="item_1")
    assert_input_item(item)
    assert refused(STUBS[kind], **FILLS[kind], id="").field == "id"


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if STUB_KINDS[kind].field("caller") is not None]
)
def test_a_caller_may_be_given(kind: str) -> None:
    for caller in ({"type": "direct"}, {"type": "program", "caller_id": "prog_1"}):
        assert_input_item(fill_stub(STUBS[kind], **FILLS[kind], caller=caller))
    for bad, path in (
        ("direct", "caller"),
        ({"type": "somebody"}, "caller.type"),
        ({"type": "program"}, "caller.caller_id"),
        ({"type": "direct", "caller_id": "x"}, "caller.caller_id"),
        ({"type": "program", "caller_id": ""}, "caller.caller_id"),
    ):
        assert refused(STUBS[kind], **FILLS[kind], caller=bad).field == path


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in KINDS
        if (f := STUB_KINDS[kind].field("status")) is not None and not f.required
    ],
)
def test_a_status_is_one_of_three(kind: str) -> None:
    fields = {name: value for name, value in FILLS[kind].items() if name != "status"}
    for word in ("in_progress", "completed", "incomplete"):
        assert_input_item(fill_stub(STUBS[kind], **fields, status=word))
    error = refused(STUBS[kind], **fields, status="done")
    assert error.rule == "it must be 'in_progress', 'completed' or 'incomplete'"


# -- functions and custom tools --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        ("18 °C", "18 °C"),
        ({"sat": "18 °C", "n": [1, None]}, '{"sat":"18 °C","n":[1,null]}'),
        ([], "[]"),
        ([1, 2], "[1,2]"),
        ([{"type": "row", "n": 1}], '[{"type":"row","n":1}]'),
        (("a", 1), '["a",1]'),
        (3.5, "3.5"),
        (True, "true"),
        (None, "null"),
    ],
)
def test_outputs_that_are_no_text_become_json_text(kind: str, value: object, text: str) -> None:
    item = fill_stub(STUBS[kind], output=value)
    assert item["output"] == text
    assert_input_item(item)


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [0, math.nan]}, "output.a[1]"),
        (math.inf, "output"),
        ({"a": {1, 2}}, "output.a"),
        ("\ud83d", "output"),
        ([{"type": "input_text", "text": "a\udc00"}], "output[0].text"),
    ],
)
def test_what_is_no_json_is_refused_by_path(value: object, path: str) -> None:
    for kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
        assert refused(STUBS[kind], output=value).field == path


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_outputs_may_hold_text_images_and_files(kind: str) -> None:
    parts = [
        {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "explicit"}},
        {"type": "input_image", "image_url": "https://example.org/a.png", "detail": "original"},
        {"type": "input_image", "file_id": "file_1", "detail": None},
        {"type": "input_file", "file_data": "AAAA", "filename": "a.pdf", "detail": "high"},
        {"type": "input_file", "file_url": "https://example.org/a.pdf"},
    ]
    item = fill_stub(STUBS[kind], output=parts)
    assert_input_item(item)
    assert [part["type"] for part in item["output"]] == [part["type"] for part in parts]
    # The SDK requires `detail` in a custom tool's images; null is never sent.
    assert item["output"][2].get("detail") == (
        "auto" if kind == "custom_tool_call_output" else None
    )


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"type": "input_text"}, "output[1].text"),
        ({"type": "input_text", "text": None}, "output[1].text"),
        ({"type": "input_text", "text": 3}, "output[1].text"),
        ({"type": "input_text", "text": "a", "texts": "b"}, "output[1].texts"),
        ({"type": "input_image"}, "output[1].image_url"),
        ({"type": "input_image", "image_url": ""}, "output[1].image_url"),
        ({"type": "input_image", "image_url": "shot.png"}, "output[1].image_url"),
        ({"type": "input_image", "image_url": "javascript:alert(1)"}, "output[1].image_url"),
        ({"type": "input_image", "file_id": "f", "detail": "huge"}, "output[1].detail"),
        ({"type": "input_file"}, "output[1].file_id"),
        ({"type": "input_file", "file_id": 3}, "output[1].file_id"),
        ({"type": "input_file", "file_id": "f", "detail": "original"}, "output[1].detail"),
        ({"type": "input_file", "file_id": "f", "filename": ""}, "output[1].filename"),
        ({"type": "input_audio"}, "output[1].type"),
        ({"text": "a"}, "output[1].type"),
        ("a", "output[1]"),
        (
            {"type": "input_text", "text": "a", "prompt_cache_breakpoint": True},
            "output[1].prompt_cache_breakpoint",
        ),
        (
            {"type": "input_text", "text": "a", "prompt_cache_breakpoint": {"mode": "x"}},
            "output[1].prompt_cache_breakpoint.mode",
        ),
        (
            {
                "type": "input_text",
                "text": "a",
                "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "1h"},
            },
            "output[1].prompt_cache_breakpoint.ttl",
        ),
    ],
)
def test_parts_are_checked(part: object, path: str) -> None:
    good = {"type": "input_text", "text": "a"}
    assert refused(STUBS["function_call_output"], output=[good, part]).field == path


@pytest.mark.parametrize(
    ("kind", "make"),
    [
        ("function_call_output", lambda text: {"output": text}),
        ("custom_tool_call_output", lambda text: {"output": text}),
        (
            "function_call_output",
            lambda text: {"output": [{"type": "input_text", "text": text}]},
        ),
        ("shell_call_output", lambda text: {"output": [EXIT | {"stdout": text}]}),
        ("shell_call_output", lambda text: {"output": [EXIT | {"stderr": text}]}),
        ("apply_patch_call_output", lambda text: {"status": "failed", "output": text}),
        ("local_shell_call_output", lambda text: {"output": text}),
    ],
)
def test_texts_have_ten_mebi_characters_at_most(kind: str, make: Any) -> None:
    fill_stub(STUBS[kind], **make("x" * TEN_MIB))
    error = refused(STUBS[kind], **make("x" * (TEN_MIB + 1)))
    assert "has 10,485,761 characters" in str(error)
    assert error.rule == "it must be text of at most 10,485,760 characters"


@pytest.mark.parametrize(
    ("part", "field", "limit"),
    [
        ({"type": "input_image", "image_url": "data:image/png;base64,"}, "image_url", 20_971_520),
        ({"type": "input_file", "file_data": ""}, "file_data", 73_400_320),
    ],
)
def test_images_and_files_have_limits(part: dict[str, str], field: str, limit: int) -> None:
    fits = part | {field: part[field].ljust(limit, "A")}
    fill_stub(STUBS["function_call_output"], output=[fits])
    longer = part | {field: fits[field] + "A"}
    error = refused(STUBS["function_call_output"], output=[longer])
    assert error.field == f"output[0].{field}"
    assert f"{limit:,}" in error.rule


def test_a_function_may_be_named_where_the_stub_does_not() -> None:
    stub = {"type": "function_call_output", "call_id": "call_1"}
    item = fill_stub(stub, output="", name="get_weather", namespace="trips")
    assert_input_item(item)
    for fields, path in (
        ({"name": "n" * 129}, "name"),
        ({"name": ""}, "name"),
        ({"name": "get weather"}, "name"),
        ({"namespace": "n" * 65}, "namespace"),
        ({"namespace": "a.b"}, "namespace"),
        ({"namespace": 3}, "namespace"),
    ):
        assert refused(stub, output="", **fields).field == path
    assert fill_stub(stub, output="", name="n" * 128, namespace="n" * 64)


def test_a_local_shell_takes_text_or_json() -> None:
    item = fill_stub(STUBS["local_shell_call_output"], output={"stdout": "a", "exit_code": 0})
    assert json.loads(item["output"]) == {"stdout": "a", "exit_code": 0}
    assert_input_item(item)


# -- computer --------------------------------------------------------------------------------------

SHOT = {"type": "computer_screenshot", "file_id": "file_1"}


@pytest.mark.parametrize(
    ("output", "path"),
    [
        ("https://example.org/a.png", "output"),
        ({}, "output.type"),
        ({"type": "screenshot", "file_id": "f"}, "output.type"),
        ({"type": "computer_screenshot"}, "output.image_url"),
        ({"type": "computer_screenshot", "image_url": None}, "output.image_url"),
        ({"type": "computer_screenshot", "image_url": "a.png"}, "output.image_url"),
        ({"type": "computer_screenshot", "image_url": "data:text/html,x"}, "output.image_url"),
        ({"type": "computer_screenshot", "file_id": 1}, "output.file_id"),
        (SHOT | {"alt": "x"}, "output.alt"),
    ],
)
def test_screenshots_are_checked(output: object, path: str) -> None:
    assert refused(STUBS["computer_call_output"], output=output).field == path


def test_pending_safety_checks_must_be_acknowledged_where_the_call_is_known() -> None:
    stub, call = STUBS["computer_call_output"], CALLS["computer_call_output"]
    for given in ({}, {"acknowledged_safety_checks": None}, {"acknowledged_safety_checks": []}):
        error = refused(stub, call, output=SHOT, **given)
        assert error.field == "acknowledged_safety_checks"
        assert "'sc_1' (Looks odd)" in str(error)
    item = fill_stub(stub, call, output=SHOT, acknowledged_safety_checks=[{"id": "sc_1"}])
    assert_input_item(item)
    assert fill_stub(stub, output=SHOT) == stub | {"output": SHOT}


def test_nothing_else_can_be_acknowledged() -> None:
    stub, call = STUBS["computer_call_output"], CALLS["computer_call_output"]
    given = [{"id": "sc_1"}, {"id": "sc_2"}]
    error = refused(stub, call, output=SHOT, acknowledged_safety_checks=given)
    assert (error.field, error.value) == ("acknowledged_safety_checks[1].id", "sc_2")
    calm = call | {"pending_safety_checks": []}
    error = refused(stub, calm, output=SHOT, acknowledged_safety_checks=given)
    assert "there are none" in str(error)


@pytest.mark.parametrize("pending", [None, "odd", [None, {"code": "x"}, {"id": 3}]])
def test_odd_pending_checks_hold_nothing_back(pending: object) -> None:
    call = CALLS["computer_call_output"] | {"pending_safety_checks": pending}
    assert fill_stub(STUBS["computer_call_output"], call, output=SHOT)


@pytest.mark.parametrize(
    ("checks", "path"),
    [
        ("sc_1", "acknowledged_safety_checks"),
        (["sc_1"], "acknowledged_safety_checks[0]"),
        ([{"code": "x"}], "acknowledged_safety_checks[0].id"),
        ([{"id": ""}], "acknowledged_safety_checks[0].id"),
        ([{"id": "a", "code": 3}], "acknowledged_safety_checks[0].code"),
        ([{"id": "a", "why": "b"}], "acknowledged_safety_checks[0].why"),
    ],
)
def test_acknowledged_checks_are_checked(checks: object, path: str) -> None:
    stub = STUBS["computer_call_output"]
    assert refused(stub, output=SHOT, acknowledged_safety_checks=checks).field == path


# -- shell and patches -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "path"),
    [
        ("done", "output"),
        (EXIT, "output"),
        ([], "output"),
        (["done"], "output[0]"),
        ([{**EXIT, "exit_code": 0}], "output[0].exit_code"),
        ([{"stdout": "", "outcome": {"type": "timeout"}}], "output[0].stderr"),
        ([{"stderr": "", "outcome": {"type": "timeout"}}], "output[0].stdout"),
        ([{"stdout": "", "stderr": ""}], "output[0].outcome"),
        ([EXIT | {"stdout": None}], "output[0].stdout"),
        ([EXIT | {"outcome": None}], "output[0].outcome"),
        ([EXIT | {"outcome": 0}], "output[0].outcome"),
        ([EXIT | {"outcome": {}}], "output[0].outcome.type"),
        ([EXIT | {"outcome": {"type": "exited"}}], "output[0].outcome.type"),
        ([EXIT | {"outcome": {"type": "exit"}}], "output[0].outcome.exit_code"),
        ([EXIT | {"outcome": {"type": "exit", "exit_code": "0"}}], "output[0].outcome.exit_code"),
        ([EXIT | {"outcome": {"type": "exit", "exit_code": True}}], "output[0].outcome.exit_code"),
        ([EXIT | {"outcome": {"type": "exit", "exit_code": 0.0}}], "output[0].outcome.exit_code"),
        (
            [TIMEOUT, EXIT | {"outcome": {"type": "timeout", "exit_code": 1}}],
            "output[1].outcome.exit_code",
        ),
    ],
)
def test_shell_outputs_are_checked(output: object, path: str) -> None:
    assert refused(STUBS["shell_call_output"], output=output).field == path


def test_one_output_for_each_command_where_the_call_is_known() -> None:
    stub, call = STUBS["shell_call_output"], CALLS["shell_call_output"]
    for outputs in ([], [EXIT], [EXIT, EXIT, EXIT]):
        error = refused(stub, call, output=outputs)
        assert error.field == "output"
        assert f"has {len(outputs)} entries, but the call has 2 commands" in str(error)
    assert fill_stub(stub, call | {"action": None}, output=[EXIT])
    assert fill_stub(stub, call | {"action": {"commands": []}}, output=[])["output"] == []


def test_the_length_limit_of_the_output_may_be_repeated() -> None:
    item = fill_stub(STUBS["shell_call_output"], output=[EXIT], max_output_length=100)
    assert_input_item(item)
    for bad in (-1, 1.5, True, "100"):
        error = refused(STUBS["shell_call_output"], output=[EXIT], max_output_length=bad)
        assert error.field == "max_output_length"


def test_a_patch_was_applied_or_failed() -> None:
    stub = STUBS["apply_patch_call_output"]
    for status in ("completed", "failed"):
        assert_input_item(fill_stub(stub, status=status))
    for bad in ("in_progress", "", None, True, 3):
        assert refused(stub, status=bad).field == "status"
    assert refused(stub, status="failed", output={"log": 1}).field == "output"


# -- tool search and approval ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tools", "path"),
    [
        (None, "tools"),
        ({}, "tools"),
        ("get_weather", "tools"),
        (["get_weather"], "tools[0]"),
        ([{"name": "f"}], "tools[0].type"),
        ([{"type": ""}], "tools[0].type"),
        ([{"type": "function"}], "tools[0].name"),
        ([{"type": "function", "name": 3}], "tools[0].name"),
        ([{"type": "function", "name": "f", "parameters": "x"}], "tools[0].parameters"),
        ([{"type": "function", "name": "f", "strict": "x"}], "tools[0].strict"),
        ([{"type": "local_shell"}, {"type": "custom"}], "tools[1].name"),
        (
            [{"type": "function", "name": "f", "parameters": {"x": math.nan}}],
            "tools[0].parameters.x",
        ),
    ],
)
def test_tools_are_checked(tools: object, path: str) -> None:
    assert refused(STUBS["tool_search_output"], tools=tools).field == path


def test_found_tools_stay_the_clients() -> None:
    stub = STUBS["tool_search_output"]
    item = fill_stub(stub, tools=[], execution="client")
    assert (item["execution"], item["tools"]) == ("client", [])
    assert refused(stub, tools=[], execution="server").field == "execution"
    by_hand = {"type": "tool_search_output", "call_id": "call_6"}
    assert fill_stub(by_hand, tools=[])["execution"] == "client"
    assert refused(stub | {"execution": "server"}, tools=[]).field == "execution"


def test_function_tools_get_the_fields_that_the_schema_requires() -> None:
    item = fill_stub(STUBS["tool_search_output"], tools=[{"type": "function", "name": "f"}])
    assert item["tools"] == [{"type": "function", "name": "f", "parameters": None, "strict": None}]
    assert_input_item(item)


def test_an_approval_is_true_or_false_and_nothing_like_it() -> None:
    stub = STUBS["mcp_approval_response"]
    assert fill_stub(stub, approve=True)["approve"] is True
    assert fill_stub(stub, approve=False)["approve"] is False
    for bad in (1, 0, "true", "no", None, [], {}):
        assert refused(stub, approve=bad).field == "approve"
    for reason in (3, ["no"], False):
        assert refused(stub, approve=False, reason=reason).field == "reason"
    assert "reason" not in fill_stub(stub, approve=True, reason=None)


# -- unknown kinds ---------------------------------------------------------------------------------


def test_an_unknown_kind_takes_whatever_it_is_given() -> None:
    stub = {"type": "dream_output", "call_id": "call_9", "mood": None}
    item = fill_stub(stub, mood="calm", pictures=[{"of": ["sea", None]}])
    assert item == {
        "type": "dream_output",
        "call_id": "call_9",
        "mood": "calm",
        "pictures": [{"of": ["sea", None]}],
    }
    assert stub["mood"] is None
    assert fill_stub(stub, type="dream_output", call_id="call_9", mood=1)["mood"] == 1


def test_an_unknown_kind_keeps_what_identifies_it() -> None:
    stub = {"type": "dream_output", "call_id": "call_9"}
    assert refused(stub, call_id="call_1", mood=1).field == "call_id"
    assert refused(stub, type="function_call_output", output="").field == "type"
    assert refused(stub, mood=[math.nan]).field == "mood[0]"
    assert refused(stub).field == "the result"
