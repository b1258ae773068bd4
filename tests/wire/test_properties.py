"""Whatever comes in, decoding never raises; whatever goes out is refused, or as in the SDK."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from steer_nb.errors import InvalidInput
from steer_nb.wire import (
    FAMILIES,
    PROBLEMS,
    SERVER_EVENT_TYPES,
    STUB_KINDS,
    Event,
    cancelled_fields,
    decode,
    encode,
    fill_stub,
    response_create,
    response_steer,
)
from tests.support.strict import assert_client_event, assert_input_item
from tests.wire.samples import CALLS, FILLS, STUBS
from tests.wire.test_requests import FULL

quick = settings(deadline=None, max_examples=100)

ODD_TEXT = st.text(st.characters(), max_size=8)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | ODD_TEXT
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ODD_TEXT, inner, max_size=3),
    max_leaves=8,
)
EVENT_KEYS = st.sampled_from(
    [
        *Event.__struct_fields__,
        "(raw)",
        "(note)",
        "code",
        "message",
        "status",
        "headers",
        "reason",
        "required_input",
        "text",
        "arguments",
    ]
)
TYPES = st.sampled_from(sorted(SERVER_EVENT_TYPES)) | JSON
EVENTS = st.builds(
    lambda kind, rest: rest | {"type": kind},
    TYPES,
    st.dictionaries(EVENT_KEYS | ODD_TEXT, JSON, max_size=5),
)


def exercise(event: Event) -> None:
    """Use the whole face of an event."""
    assert isinstance(event.type, str)
    assert event.family in FAMILIES
    assert event.known == (event.type in SERVER_EVENT_TYPES)
    assert event.problem is None or event.problem in PROBLEMS
    assert bool(event.detail) == (event.problem is not None)
    assert isinstance(event.payload, dict)
    assert len(repr(event)) < 3000
    assert isinstance(event.error_fields.message, str)
    assert event.done_text is None or isinstance(event.done_text, str)
    for name in ("response", "item", "part", "error", "steer", "elsewhere"):
        inner = event.object(name)
        assert inner is None or isinstance(inner, dict)
    if not event.detail.startswith("not UTF-8"):
        assert event == decode(event.raw)
        assert hash(event) == hash(decode(event.raw))


def same(one: object, other: object) -> bool:
    """Whether two JSON values are the same, NaN being NaN, and 1 neither 1.0 nor True."""
    return json.dumps(one) == json.dumps(other)


# -- in --------------------------------------------------------------------------------------------


@quick
@given(EVENTS)
@example({"type": "response.steer.failed", "steer": {"input": [float("nan")]}, "error": []})
@example({"type": "response.steer.pending", "required_input": {"0": 1}})
def test_any_object_is_decoded_and_given_back(value: dict[str, Any]) -> None:
    raw = json.dumps(value)
    event = decode(raw)
    exercise(event)
    assert event.problem not in ("bad_json", "not_object", "too_deep")
    assert same(event.to_dict(), json.loads(raw))
    assert event.to_json() == raw
    kind = value["type"]
    assert event.type == (kind if isinstance(kind, str) else "")
    for name in ("sequence_number", "output_index", "content_index"):
        given_value = value.get(name)
        carried = getattr(event, name)
        if type(given_value) is int:
            assert carried == given_value
        elif not (isinstance(given_value, float) and given_value.is_integer()):
            assert carried is None
    for name in ("stream_id", "item_id", "response_id"):
        assert getattr(event, name) == (
            value.get(name) if isinstance(value.get(name), str) else None
        )


@quick
@given(JSON)
def test_any_other_json_is_no_object(value: object) -> None:
    assume(not isinstance(value, dict))
    event = decode(json.dumps(value))
    exercise(event)
    assert (event.problem, event.type) == ("not_object", "")


@quick
@given(st.text(st.characters(), max_size=40))
@example('{"type":"x","a":"\\ud83d')
@example("{" * 5000)
@example('{"a":' * 5000)
def test_any_text_is_an_event(raw: str) -> None:
    event = decode(raw)
    exercise(event)
    assert event.raw == raw
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        assert event.problem in ("bad_json", "too_deep")
    else:
        assert event.problem not in ("bad_json", "too_deep")
        assert same(event.payload, value if isinstance(value, dict) else {})


@quick
@given(st.text('{}[]":,\\u0dtrflnaseNIy1.e+- \n\x00é', max_size=24))
def test_text_that_is_nearly_json(raw: str) -> None:
    test_any_text_is_an_event.hypothesis.inner_test(raw)


@quick
@given(st.binary(max_size=40))
@example(b'{"type":"\xff"}')
@example('{"type":"é"}'.encode("latin-1"))
def test_any_bytes_are_an_event(raw: bytes) -> None:
    event = decode(raw)
    exercise(event)
    assert event.raw == raw.decode(errors="replace")


@quick
@given(EVENTS)
def test_bytes_and_text_are_the_same(value: dict[str, Any]) -> None:
    raw = json.dumps(value)
    assert decode(raw.encode()) == decode(raw)
    assert repr(decode(raw.encode())) == repr(decode(raw))


def check_refusal(error: InvalidInput) -> None:
    assert error.field
    assert error.rule
    assert "\n" not in str(error)


# -- out -------------------------------------------------------------------------------------------


def mixed(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(good, good, good, JSON)


PARTS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"type": st.just("input_text"), "text": mixed(TEXT)}),
        st.fixed_dictionaries(
            {"type": st.just("input_image")},
            optional={
                "image_url": st.sampled_from(["https://x/a.png", "data:image/png;base64,AA", ""]),
                "file_id": TEXT,
                "detail": st.sampled_from(["auto", "low", "high", "original", "huge", None]),
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("input_file")},
            optional={
                "file_id": TEXT | st.none(),
                "file_url": TEXT,
                "file_data": TEXT,
                "filename": TEXT,
                "detail": st.sampled_from(["auto", "low", "high", "original"]),
                "surprise": JSON,
            },
        ),
    ),
    max_size=3,
)
OUTCOMES = st.one_of(
    st.just({"type": "timeout"}),
    st.fixed_dictionaries({"type": st.just("exit"), "exit_code": mixed(st.integers())}),
    JSON,
)
SHELL = st.lists(
    st.fixed_dictionaries({"stdout": mixed(TEXT), "stderr": TEXT, "outcome": OUTCOMES}), max_size=3
)
SCREENSHOTS = st.fixed_dictionaries(
    {"type": mixed(st.just("computer_screenshot"))},
    optional={
        "image_url": st.sampled_from(["https://x/a.png", "a.png", None]),
        "file_id": TEXT | st.none(),
    },
)
CHECKS = st.lists(
    st.fixed_dictionaries(
        {"id": mixed(st.just("sc_1"))}, optional={"code": mixed(TEXT | st.none()), "message": TEXT}
    ),
    max_size=2,
)
TOOLS = st.lists(
    st.sampled_from(
        [
            {"type": "function", "name": "f"},
            {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": False},
            {"type": "custom", "name": "c"},
            {"type": "local_shell"},
            {"type": "mcp", "server_label": "s", "server_url": "https://x"},
        ]
    ),
    max_size=3,
)
VALUES = {
    "content": TEXT | PARTS | JSON,
    "json_text": TEXT | JSON,
    "text": TEXT,
    "choice": st.sampled_from(["completed", "failed", "in_progress", "incomplete", "client"]),
    "flag": st.booleans(),
    "number": st.integers(),
    "shell_output": SHELL,
    "screenshot": SCREENSHOTS,
    "safety_checks": CHECKS,
    "tools": TOOLS,
    "caller": st.sampled_from([{"type": "direct"}, {"type": "program", "caller_id": "p"}, {}]),
}


@st.composite
def fillings(draw: st.DrawFn) -> tuple[str, bool, dict[str, Any]]:
    """A kind, whether its call is known, and fields that are right, wrong or neither."""
    kind = draw(st.sampled_from(sorted(STUBS)))
    fields = {}
    for field in STUB_KINDS[kind].fields:
        if field.name in STUBS[kind]:
            continue
        if field.required or draw(st.integers(0, 2)) == 0:
            fields[field.name] = draw(mixed(VALUES[field.kind]))
    if draw(st.integers(0, 20)) == 0:
        fields[draw(st.text("abc", min_size=1, max_size=3))] = draw(JSON)
    return kind, draw(st.booleans()), fields


@settings(deadline=None, max_examples=300)
@given(fillings())
def test_a_stub_is_filled_as_in_the_sdk_or_refused(
    given_: tuple[str, bool, dict[str, Any]],
) -> None:
    kind, known, fields = given_
    try:
        item = fill_stub(STUBS[kind], CALLS[kind] if known else None, **fields)
    except InvalidInput as error:
        check_refusal(error)
    else:
        assert_input_item(item)
        assert STUBS[kind].items() <= item.items()
        text = encode(response_create(previous_response_id="resp_1", input=[item]))
        assert json.loads(text)["input"] == [item]
        text.encode()


@quick
@given(st.dictionaries(st.text("ab_", min_size=1, max_size=4), JSON, max_size=3))
def test_unknown_kinds_are_filled_with_any_json_or_refused(fields: dict[str, Any]) -> None:
    stub = {"type": "dream_output", "call_id": "c"}
    try:
        item = fill_stub(stub, **fields)
    except InvalidInput:
        return
    assert same(item, stub | fields)
    assert json.loads(encode(item)) == item


ACTIONS = st.none() | st.fixed_dictionaries({"commands": st.lists(TEXT, max_size=3) | JSON})


@quick
@given(st.sampled_from(sorted(STUBS)), ACTIONS, mixed(CHECKS))
def test_anything_can_be_cancelled(kind: str, action: Any, pending: Any) -> None:
    call = CALLS[kind] | {"action": action, "pending_safety_checks": pending}
    texts = json.dumps(call)
    try:
        texts.encode().decode("unicode_escape").encode()
    except UnicodeEncodeError:
        assume(False)  # half a character came from the service: copying it back is refused
    item = fill_stub(STUBS[kind], call, **cancelled_fields(STUBS[kind], call))
    assert_input_item(item)


MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": mixed(st.just("user")), "content": mixed(TEXT | PARTS)},
        optional={"type": mixed(st.just("message"))},
    ),
    max_size=2,
)


@quick
@given(mixed(TEXT), mixed(TEXT | MESSAGES))
def test_a_steer_is_as_in_the_sdk_or_refused(target: Any, given_: Any) -> None:
    try:
        request = response_steer(target, given_)
    except InvalidInput as error:
        check_refusal(error)
        return
    assert list(request) == ["type", "previous_response_id", "input"]
    assert_client_event(request)
    encode(request).encode()


@st.composite
def creates(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(sorted(FULL)), unique=True, max_size=5))
    fields = {name: draw(st.sampled_from([FULL[name], FULL[name], None])) for name in names}
    if draw(st.booleans()):
        fields[draw(st.sampled_from(SCALAR_FIELDS))] = draw(JSON)
    if draw(st.integers(0, 5)) == 0:
        fields["previous_response_id"] = draw(TEXT | st.none())
    if draw(st.integers(0, 3)) == 0:
        fields["stream_id"] = draw(st.text("aé._- ", max_size=4) | st.none())
    return fields


SCALAR_FIELDS = sorted(
    name
    for name, value in FULL.items()
    if isinstance(value, (str, int, float))
    and name not in ("conversation", "tool_choice", "truncation", "service_tier")
    and name != "prompt_cache_retention"
)


@quick
@given(creates())
def test_a_create_is_as_in_the_sdk_or_refused(fields: dict[str, Any]) -> None:
    try:
        request = response_create(**fields)
    except InvalidInput as error:
        check_refusal(error)
        return
    assert_client_event(request)
    assert json.loads(encode(request)) == request


@quick
@given(JSON)
def test_what_passes_encoding_is_json_everywhere(value: Any) -> None:
    def clean(inner: Any) -> bool:
        if isinstance(inner, float):
            return math.isfinite(inner)
        if isinstance(inner, str):
            return not any("\ud800" <= character <= "\udfff" for character in inner)
        if isinstance(inner, list):
            return all(map(clean, inner))
        if isinstance(inner, dict):
            return all(clean(key) and clean(each) for key, each in inner.items())
        return True

    try:
        text = encode({"x": value})
    except InvalidInput as error:
        assert not clean(value)
        check_refusal(error)
    else:
        assert clean(value)
        assert same(json.loads(text.encode()), {"x": value})


@quick
@given(st.sampled_from(sorted(STUBS)))
def test_the_samples_are_filled(kind: str) -> None:
    assert fill_stub(STUBS[kind], CALLS[kind], **FILLS[kind])
