"""Decoding one message: what is carried, what is kept, and that nothing raises."""

from __future__ import annotations

import copy
import json
import pickle
import sys
import timeit

import msgspec
import pytest

from steer_nb.wire import PROBLEMS, Event, decode
from tests.wire.samples import DELTA


def test_a_text_delta_carries_its_ids_and_indexes() -> None:
    event = decode(DELTA)
    assert (event.type, event.sequence_number) == ("response.output_text.delta", 42)
    assert (event.stream_id, event.item_id) == ("planner", "msg_0123456789abcdef")
    assert (event.output_index, event.content_index, event.delta) == (1, 0, " Lisbon")
    assert (event.known, event.family, event.problem, event.detail) == (True, "text", None, "")
    assert event.response_id is None
    assert event.raw == event.to_json() == DELTA
    assert event.to_dict() == event.payload == json.loads(DELTA)
    assert event.to_dict()["obfuscation"] == "abcdefgh"


def test_bytes_are_read_as_utf8() -> None:
    assert decode(DELTA.encode()) == decode(DELTA)
    assert decode('{"type":"x","delta":"né"}'.encode()).delta == "né"


def test_bytes_that_are_not_utf8_are_kept_and_marked() -> None:
    event = decode(b'{"type":"x\xff"}')
    assert (event.type, event.problem) == ("", "bad_json")
    assert event.detail == "not UTF-8: invalid start byte at byte 10"
    assert event.raw == '{"type":"x�"}'
    assert event.payload == {}
    assert event != decode(event.raw)


def test_a_delta_may_be_an_object() -> None:
    raw = '{"type":"response.shell_call_output_content.delta","delta":{"stdout":"a"}}'
    assert decode(raw).delta == {"stdout": "a"}


def test_sub_objects_are_decoded_when_asked_for() -> None:
    event = decode('{"type":"response.output_item.done","item":{"id":"m","n":[1]},"part":null}')
    assert event.object("item") == {"id": "m", "n": [1]}
    assert event.object("part") is None
    assert event.object("response") is None
    assert event.object("elsewhere") is None
    assert isinstance(event.item, msgspec.Raw)


def test_sub_objects_that_strict_decoders_refuse_are_decoded_all_the_same() -> None:
    event = decode('{"type":"response.output_item.done","item":{"text":"\\ud83d","n":NaN}}')
    item = event.object("item")
    assert item is not None
    assert item["text"] == "\ud83d"
    assert event.problem == "nan"


def test_a_null_item_is_no_item() -> None:
    event = decode('{"type":"response.output_item.added","output_index":0,"item":null}')
    assert event.object("item") is None
    assert (event.output_index, event.problem) == (0, None)


@pytest.mark.parametrize(
    ("raw", "full"),
    [
        ('{"type":"response.output_text.done","text":"all"}', "all"),
        ('{"type":"response.refusal.done","refusal":"no"}', "no"),
        ('{"type":"response.function_call_arguments.done","arguments":"{}"}', "{}"),
        ('{"type":"response.custom_tool_call_input.done","input":"x"}', "x"),
        ('{"type":"response.code_interpreter_call_code.done","code":"1"}', "1"),
        ('{"type":"response.shell_call_command.done","command":"ls"}', "ls"),
        ('{"type":"response.output_text.done","text":7}', None),
        ('{"type":"response.output_text.delta","text":"x"}', None),
    ],
)
def test_done_events_give_their_text(raw: str, full: str | None) -> None:
    assert decode(raw).done_text == full


def test_unknown_types_and_fields_are_kept() -> None:
    raw = '{"type":"response.telepathy.delta","output_index":4,"delta":"?","big":9007199254740993}'
    event = decode(raw)
    assert (event.known, event.family, event.problem) == (False, "unknown", None)
    assert (event.output_index, event.delta) == (4, "?")
    assert event.payload["big"] == 9007199254740993


@pytest.mark.parametrize(
    ("raw", "family"),
    [
        ("response.done", "lifecycle"),
        ("response.apply_patch_call_operation_diff.delta", "tool_args"),
        ("codex.rate_limits", "control"),
    ],
)
def test_types_outside_the_union_may_have_a_family(raw: str, family: str) -> None:
    event = decode(json.dumps({"type": raw}))
    assert (event.known, event.family) == (False, family)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ("not json at all", "bad_json"),
        ("", "bad_json"),
        ('{"type":"response.completed","response":{"id":"resp_k1"', "bad_json"),
        ('{"type":"x"}{"type":"y"}', "bad_json"),
        ('\ufeff{"type":"x"}', "bad_json"),
        ('{"type":"x","a":"\\q"}', "bad_json"),
        ("[1,2]", "not_object"),
        ("null", "not_object"),
        ('"text"', "not_object"),
        ("true", "not_object"),
        ("7.5", "not_object"),
        ("[" * 100_000, "too_deep"),
        ('{"type":"x","a":' + "[" * 100_000 + "]" * 100_000 + "}", "too_deep"),
    ],
)
def test_what_has_no_payload_is_marked(raw: str, problem: str) -> None:
    event = decode(raw)
    assert (event.type, event.problem) == ("", problem)
    assert problem in PROBLEMS
    assert event.detail
    assert (event.raw, event.payload) == (raw, {})
    assert (event.known, event.family) == (False, "unknown")
    assert event.object("item") is None
    assert event.error_fields.code is None


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        ('{"type":"x","output_index":3,"delta":NaN}', "nan"),
        ('{"type":"x","output_index":3,"a":[-Infinity]}', "nan"),
        ('{"type":"x","output_index":3,"delta":1e999}', "nan"),
        ('{"type":"x","output_index":3,"delta":"\\ud83d"}', "surrogate"),
        ('{"type":"x","output_index":3,"a":{"b":["\\udc00 "]}}', "surrogate"),
        ('{"type":"x","output_index":3,"delta":"\ud83d"}', "surrogate"),
        ('{"type":"x","output_index":3,"sequence_number":%s}' % ("9" * 5000), "number"),
        ('{"type":"x","output_index":3,"stream_id":7}', "odd_field"),
        ('{"type":"x","output_index":3,"sequence_number":"4"}', "odd_field"),
        ('{"type":"x","output_index":3,"sequence_number":true}', "odd_field"),
        ('{"type":"x","output_index":3,"content_index":1.5}', "odd_field"),
    ],
)
def test_odd_values_are_marked_and_the_rest_is_kept(raw: str, problem: str) -> None:
    event = decode(raw)
    assert (event.type, event.output_index, event.problem) == ("x", 3, problem)
    assert event.detail
    assert event.payload.keys() == json.loads(raw, parse_int=str).keys()


def test_fields_of_another_type_are_none_but_stay_in_the_payload() -> None:
    event = decode('{"type":["x"],"stream_id":{},"item_id":4,"output_index":"1"}')
    assert (event.type, event.stream_id, event.item_id, event.output_index) == (
        "",
        None,
        None,
        None,
    )
    assert event.payload == {"type": ["x"], "stream_id": {}, "item_id": 4, "output_index": "1"}
    assert event.detail == "not as documented: type, stream_id, item_id, output_index"


def test_whole_floats_are_whole_numbers() -> None:
    event = decode('{"type":"x","sequence_number":3.0}')
    assert (event.sequence_number, event.problem) == (3, None)


def test_numbers_of_any_size_are_read() -> None:
    assert decode('{"type":"x","sequence_number":%s}' % ("9" * 300)).sequence_number == 10**300 - 1
    assert decode('{"type":"x","n":%s}' % ("9" * 5000)).payload["n"] == "9" * 5000


def test_halves_of_a_character_are_kept_for_whoever_joins_them() -> None:
    first, second = decode('{"delta":"\\ud83d"}'), decode('{"delta":"\\ude00"}')
    joined = first.delta + second.delta
    assert joined.encode("utf-16", "surrogatepass").decode("utf-16") == "😀"


@pytest.mark.parametrize("tail", ["", ',"sequence_number":1.0', ',"x":NaN'])
def test_a_server_cannot_set_our_own_fields(tail: str) -> None:
    raw = '{"type":"x","(raw)":"fake","(note)":null,"raw":"fake","note":["nan",""]' + tail + "}"
    event = decode(raw)
    assert event.raw == raw
    assert event.problem == ("nan" if "NaN" in tail else None)
    loud = decode('{"type":"x","(note)":["bad_json","fake"]}')
    assert (loud.type, loud.problem) == ("x", None)


def test_equal_when_the_contents_are() -> None:
    spaced = json.dumps(json.loads(DELTA), indent=1)
    turned = json.dumps(dict(reversed(json.loads(DELTA).items())))
    assert decode(DELTA) == decode(spaced) == decode(turned)
    assert len({decode(DELTA), decode(spaced)}) == 1
    assert decode(DELTA) != decode(DELTA.replace("Lisbon", "Porto"))
    assert decode(DELTA) != DELTA
    assert decode("nope") == decode("nope")
    assert decode("nope") != decode("nope ")
    assert decode("[]") != decode("{}")
    assert decode('{"a":NaN}') == decode('{"a":NaN}')


def test_the_repr_is_short_and_says_what_matters() -> None:
    assert repr(decode(DELTA)) == (
        "Event('response.output_text.delta', stream_id='planner', sequence_number=42, "
        "item_id='msg_0123456789abcdef', output_index=1, content_index=0, delta=' Lisbon')"
    )
    assert len(repr(decode('{"type":"x","delta":"%s"}' % ("é" * 100_000)))) < 150
    assert repr(decode("nope")) == "Event(problem='bad_json', raw='nope')"
    assert repr(decode('{"type":"x","delta":NaN}')) == "Event('x', delta=nan, problem='nan')"


def test_events_can_be_matched_copied_and_pickled() -> None:
    event = decode(DELTA)
    match event:
        case Event(type="response.output_text.delta", delta=str(text)):
            assert text == " Lisbon"
        case _:
            pytest.fail("no match")
    assert copy.copy(event) == copy.deepcopy(event) == pickle.loads(pickle.dumps(event)) == event


def test_the_payload_is_a_fresh_dict_each_time() -> None:
    event = decode(DELTA)
    event.payload["type"] = "changed"
    event.to_dict().clear()
    assert event.payload == json.loads(DELTA)


def test_the_hot_path_is_a_fraction_of_the_standard_library() -> None:
    ours = min(timeit.repeat(lambda: decode(DELTA), number=2000, repeat=7))
    theirs = min(timeit.repeat(lambda: json.loads(DELTA), number=2000, repeat=7))
    assert ours < 0.6 * theirs


@pytest.mark.parametrize("word", ["plain", "café", "東京", "😀"])
def test_a_message_is_held_once(word):
    raw = "".join(['{"type":"response.output_text.delta","delta":"', word * 20, '"}'])
    before = sys.getsizeof(raw)
    assert decode(raw).delta == word * 20
    assert sys.getsizeof(raw) == before, "its UTF-8 form is not kept beside it"
