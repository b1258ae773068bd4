from __future__ import annotations

import dataclasses
import enum
import json
import typing
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import openai.types.responses as sdk
import pandas as pd
import pytest

from steer_nb import Tool, errors, tool
from steer_nb.client.tools import split_tools


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


@dataclasses.dataclass
class Place:
    city: str
    country: str = "PT"


def everything(
    place: Place,
    days: int,
    unit: Unit = Unit.C,
    mode: Literal["short", "long"] = "short",
    names: list[str] | None = None,
    extra=3,
    *,
    limit: Annotated[int, msgspec.Meta(ge=1, le=9)] = 5,
    options: dict[str, Any] = {},  # noqa: B006 - a default that must not be shared
):
    """Forecast for a place.

    It knows the coast best.

    Parameters
    ----------
    place : Place
        Where.
    days : int
        How many
        days.
    """
    return [place.city, days, unit.value, mode, names, extra, limit, options]


def test_the_schema_says_what_signature_and_docstring_say():
    definition = Tool(everything).definition
    assert definition["name"] == "everything"
    assert definition["description"] == "Forecast for a place.\n\nIt knows the coast best."
    schema = definition["parameters"]
    properties = schema["properties"]
    assert schema["required"] == ["place", "days"]
    assert schema["additionalProperties"] is False
    assert properties["days"] == {"type": "integer", "description": "How many days."}
    assert properties["place"]["$ref"] == "#/$defs/Place"
    assert schema["$defs"]["Place"]["properties"]["country"]["default"] == "PT"
    assert properties["mode"] == {"enum": ["long", "short"], "default": "short"}
    assert properties["limit"]["maximum"] == 9
    assert properties["extra"] == {"default": 3}
    assert "default" not in properties["names"]
    json.dumps(definition)


def test_it_is_a_function_tool_of_the_sdk():
    definition = Tool(everything).definition
    assert sdk.FunctionTool.model_validate(definition, strict=True).to_dict() == definition


def test_arguments_arrive_as_the_types_say_and_defaults_are_the_functions_own():
    run = Tool(everything).run('{"place":{"city":"Porto"},"days":2,"unit":"fahrenheit"}')
    assert json.loads(run) == ["Porto", 2, "fahrenheit", "short", None, 3, 5, {}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ('{"place":{"city":"P"},"days":"2"}', "Expected `int`, got `str` - at `$.days`"),
        ('{"place":{},"days":2}', "missing required field `city` - at `$.place`"),
        ('{"place":{"city":"P"}}', "missing required field `days`"),
        ('{"place":{"city":"P"},"days":2,"nights":1}', "unknown field `nights`"),
        ('{"place":{"city":"P"},"days":2,"limit":10}', "`limit`|<= 9"),
        ('{"place":', "no JSON"),
        ("[1]", "Expected `object`, got `array`"),
        ("", "missing required field"),
        ("[" * 100_000, "no JSON|do not fit"),
    ],
)
def test_bad_arguments_are_named(arguments, words):
    with pytest.raises(errors.ToolFailed, match=words.replace("$", r"\$")) as caught:
        Tool(everything).run(arguments)
    assert "everything" in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, "null"),
        ({"a": [1, 2.5, True]}, '{"a": [1, 2.5, true]}'),
        ("18 °C", "18 °C"),
        ({"t": "18 °C"}, '{"t": "18 °C"}'),
        ((1, 2), "[1, 2]"),
        (Place("Porto"), '{"city": "Porto", "country": "PT"}'),
        (Unit.C, '"celsius"'),
        (np.float64(1.5), "1.5"),
        (np.arange(2), "[0, 1]"),
        (pd.Timestamp("2026-01-02"), '"2026-01-02T00:00:00"'),
        (pd.DataFrame({"a": [1, None]}), 'a\n1.0\n""\n'),
        (pd.DataFrame({"a": [1]}, index=["x"]), ",a\nx,1\n"),
        ({"s": pd.Series([1, 2], index=["a", "b"])}, '{"s": {"a": 1, "b": 2}}'),
        ({"t": pd.DataFrame({"a": [1, 2]})}, '{"t": [{"a": 1}, {"a": 2}]}'),
        ({"t": pd.DataFrame({"a": [1]}, index=["x"])}, '{"t": [{"index": "x", "a": 1}]}'),
        ({1: "a"}, '{"1": "a"}'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_results_become_text(value, text):
    assert Tool(lambda: value, name="t").run("{}") == text


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"mean": [1.0, float("nan")]}, r"result\.mean\[1\] is nan"),
        (float("inf"), "result is inf"),
        ([pd.DataFrame({"a": [1.0, None]}), 3], r"result\[1\] is a int"),
        ({"t": pd.DataFrame({"a": [1.0, None]})}, r"result\.t\[1\]\.a is nan"),
        (object(), "object is no JSON"),
        ({"f": open}, "is no JSON"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_results_that_cannot_be_sent_are_named_by_their_path(value, words):
    with pytest.raises(errors.ToolFailed, match=words):
        Tool(lambda: value, name="t").run("{}")


def test_a_function_that_raises_says_what_and_keeps_the_cause():
    with pytest.raises(errors.ToolFailed, match="t raised ZeroDivisionError: division") as caught:
        Tool(lambda: 1 / 0, name="t").run("{}")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_async_function_runs_on_a_loop_of_its_own():
    @tool
    async def later(x: int) -> int:
        return x + 1

    assert later.run('{"x": 1}') == "2"


def test_methods_callables_and_decorated_functions_are_tools():
    class Counter:
        """Counts."""

        def __init__(self):
            self.count = 0

        def add(self, by: int = 1) -> int:
            """Add to it."""
            self.count += by
            return self.count

        def __call__(self, start: int) -> int:
            return self.count + start

    counter = Counter()
    assert Tool(counter.add).run('{"by": 4}') == "4"
    called = Tool(counter, name="count")
    assert called.definition["description"] == "Counts."
    assert list(called.definition["parameters"]["properties"]) == ["start"]
    assert called.run('{"start": 1}') == "5"

    @tool(policy="auto", name="plus", description="Sum.")
    def add(a: int, b: int = 2) -> int:
        """Another text."""
        return a + b

    assert (add.name, add.policy, add.definition["description"]) == ("plus", "auto", "Sum.")
    assert add(1) == 3
    assert repr(add) == "<Tool plus (auto): a, b>"


def test_docstrings_of_all_styles():
    def google(city: str):
        """Weather.

        Args:
            city: The city.
        """

    def rest(city: str):
        """Weather.

        :param city: The city.
        """

    for function in (google, rest):
        definition = Tool(function).definition
        assert definition["description"] == "Weather."
        assert definition["parameters"]["properties"]["city"]["description"] == "The city."
    assert Tool(lambda: 1, name="bare").definition["description"] == ""


def test_a_function_without_parameters_has_an_empty_object_schema():
    schema = Tool(lambda: 1, name="t").definition["parameters"]
    assert schema == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda *rest: 1, r"takes \*rest"),
        (lambda **rest: 1, r"takes \*\*rest"),
        (3, "A tool is a function, not int 3"),
        ("get_weather", "not str"),
    ],
)
def test_what_cannot_be_a_tool_is_refused(function, words):
    with pytest.raises(errors.ToolFailed, match=words):
        Tool(function, name="t")


def test_a_type_that_a_model_cannot_write_is_named_with_its_parameter():
    def bad(frame: pd.DataFrame, n: int): ...

    with pytest.raises(errors.ToolFailed, match="parameter frame: DataFrame: a model writes JSON"):
        Tool(bad)


def test_a_bad_type_with_a_default_is_named_as_it_was_written():
    def bad(city: str, frame: pd.DataFrame = None): ...

    with pytest.raises(errors.ToolFailed, match="parameter frame: DataFrame: a model writes JSON"):
        Tool(bad)


def test_an_annotation_that_means_nothing_is_named():
    def bad(x): ...

    bad.__annotations__ = {"x": "Missing"}
    with pytest.raises(errors.ToolFailed, match="Missing"):
        Tool(bad)


@pytest.mark.parametrize("name", ["", "has space", "x" * 65, "é", None])
def test_names_are_what_the_service_takes(name):
    if name is None:
        with pytest.raises(errors.ToolFailed, match="<lambda>"):
            Tool(lambda: 1)
    else:
        with pytest.raises(errors.ToolFailed, match="1 to 64 letters"):
            Tool(lambda: 1, name=name)


def test_policies_are_a_closed_list():
    with pytest.raises(errors.ToolFailed, match="'ask', 'auto' or 'never'"):
        Tool(lambda: 1, name="t", policy=typing.cast("Any", "always"))


# -- lists of tools ------------------------------------------------------------------------------


def test_a_list_may_mix_functions_tools_and_wire_objects():
    web = {"type": "web_search"}
    definitions, functions = split_tools([everything, tool(name="t")(lambda: 1), web])
    assert [d.get("name", d["type"]) for d in definitions] == ["everything", "t", "web_search"]
    assert set(functions) == {"everything", "t"}
    assert definitions[2] is not web


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        (everything, "is a list"),
        ("get_weather", "is a list"),
        ({"type": "web_search"}, "is a list"),
        ([1], r"tools\[0\] is 1"),
        ([{"name": "x"}], "needs a 'type'"),
        ([everything, everything], "two tools are called 'everything'"),
        ([{"type": "x", "v": float("nan")}], r"tools\[0\].v is nan"),
    ],
    # Without what differs from one process to the next: tests are told apart by these.
    ids=["a function", "a name", "an object", "a number", "no type", "a name twice", "nan"],
)
def test_wrong_lists_are_refused(tools, words):
    with pytest.raises(errors.InvalidInput, match=words):
        split_tools(tools)
