"""JSON both ways: lenient in, strict out."""

from __future__ import annotations

import enum
import json
import math

import pytest

from steer_nb.errors import InvalidInput
from steer_nb.wire import check_value, encode
from steer_nb.wire.jsonio import loads, plain, shown


def test_encode_is_compact_and_keeps_unicode() -> None:
    request = {"type": "response.create", "input": "Olá\u2028😀", "n": [1, 2.5, None, True]}
    text = encode(request)
    assert text == '{"type":"response.create","input":"Olá\u2028😀","n":[1,2.5,null,true]}'
    assert json.loads(text) == request
    text.encode()


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        (float("nan"), "input", "is nan"),
        ({"a": [1, {"b": math.inf}]}, "input.a[1].b", "is inf"),
        ((1, -math.inf), "input[1]", "is -inf"),
        ({"a": {1, 2}}, "input.a", "is of type set"),
        ({"a\nb": [{"c.d": math.nan}]}, r"input['a\nb'][0]['c.d']", "is nan"),
        ({"": math.nan}, "input['']", "is nan"),
        ({"a": b"x"}, "input.a", "is of type bytes"),
        (object(), "input", "is of type object"),
        ({1: "a"}, "input", "has the key 1, and JSON keys are text"),
        ({"a": {None: 1}}, "input.a", "has the key None"),
        (["\ud83d"], "input[0]", r"half a character (\ud83d at position 0)"),
        ({"ab\udc00": 1}, "a key of input", r"half a character (\udc00 at position 2)"),
    ],
)
def test_what_json_cannot_carry_is_refused_with_its_path(
    value: object, path: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_value(value)
    assert caught.value.field == path
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{path} ")
    assert "\n" not in str(caught.value)
    assert caught.value.rule
    with pytest.raises(InvalidInput):
        encode({"x": value})


def test_numbers_too_long_to_write_are_refused() -> None:
    check_value(10**3000)
    with pytest.raises(InvalidInput, match=r"^input\.n has more than \d+ digits"):
        check_value({"n": 10**5000})


def test_the_path_starts_with_the_name_given() -> None:
    with pytest.raises(InvalidInput, match=r"^output\.mean is nan: .*Give null"):
        check_value({"mean": math.nan}, path="output")
    with pytest.raises(InvalidInput, match=r"^input\[0\] is nan"):
        encode({"input": [math.nan]})


def test_values_that_contain_themselves_are_refused() -> None:
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InvalidInput, match="contains itself"):
        check_value(loop)


def test_nesting_as_deep_as_anybody_needs_passes() -> None:
    value: object = 1
    for _ in range(150):
        value = {"a": [value]} if isinstance(value, int) else [value]
    check_value(value)


def test_subclasses_of_json_types_become_plain() -> None:
    class Word(enum.StrEnum):
        A = "a"

    class Number(enum.IntEnum):
        ONE = 1

    copied = plain({"w": Word.A, "n": Number.ONE, "t": (1, 2)})
    assert copied == {"w": "a", "n": 1, "t": [1, 2]}
    assert (type(copied["w"]), type(copied["n"])) == (str, int)
    assert encode({"w": Word.A, "n": Number.ONE}) == '{"w":"a","n":1}'


def test_plain_shares_nothing() -> None:
    given = {"a": [{"b": 1}]}
    copied = plain(given)
    given["a"][0]["b"] = 2
    assert copied == {"a": [{"b": 1}]}


def test_loads_says_what_was_odd() -> None:
    assert loads('{"a": [1, "é"]}') == ({"a": [1, "é"]}, None)
    assert loads('"\\ud83d\\ude00"') == ("😀", None)
    value, note = loads("[NaN, Infinity, -Infinity, 1e400]")
    assert math.isnan(value[0])
    assert value[1:] == [math.inf, -math.inf, math.inf]
    assert note == ("nan", "NaN is no JSON number")
    assert loads('"\\udfff"') == (
        "\udfff",
        ("surrogate", "half a character (\\udfff) stands alone"),
    )
    with pytest.raises(ValueError, match="Expecting"):
        loads("nope")


def test_shown_is_short() -> None:
    assert shown("x" * 10_000_000) == "'" + "x" * 58 + "…"
    assert shown([1, 2]) == "[1, 2]"
    assert shown([10**5000]) == "a list too large to show"
