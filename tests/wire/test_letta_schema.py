"""Letta's own words for its wire: the schema that its server publishes, and its official SDK."""

from __future__ import annotations

import copy
import json
from datetime import datetime
from typing import Any, get_args

import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from letta_client.types import ToolReturnMessage
from letta_client.types.agents import message as history
from letta_client.types.agents.letta_streaming_response import LettaStreamingResponse

from steer_nb.wire import letta
from tests.trace.test_corpus import LETTA
from tests.wire.letta_samples import EVERY, SAMPLES
from tests.wire.test_letta import JSON

# -- the SDK ---------------------------------------------------------------------------------------


def _sdk_classes() -> dict[str, type[pydantic.BaseModel]]:
    found: dict[str, type[pydantic.BaseModel]] = {}
    for union in (history.Message, LettaStreamingResponse):
        for kind in get_args(get_args(union)[0]):
            words = get_args(kind.model_fields["message_type"].annotation)
            flat = [word for one in words for word in (get_args(one) or (one,))]
            found[next(word for word in flat if isinstance(word, str))] = kind
    return found


SDK = _sdk_classes()


def test_the_sdk_has_the_kinds_that_we_have() -> None:
    assert SDK.keys() == letta.MESSAGE_TYPES.keys()
    assert SDK["tool_return_message"] is ToolReturnMessage


@pytest.mark.parametrize("kind", sorted(SDK))
def test_the_fields_are_the_sdks(kind: str) -> None:
    ours = {field.encode_name for field in msgspec.structs.fields(letta.MESSAGE_TYPES[kind])}
    assert ours - {"(extra)"} | {"message_type"} == set(SDK[kind].model_fields)


def _same(ours: Any, theirs: Any, path: str) -> None:
    """Assert that a value of ours is the SDK's."""
    if isinstance(theirs, pydantic.BaseModel):
        for name in type(theirs).model_fields:
            value = ours.get(name) if isinstance(ours, dict) else getattr(ours, name)
            if name in ("type", "message_type", "source") and getattr(theirs, name) is None:
                continue  # the schema has a default for it, the SDK has none
            _same(value, getattr(theirs, name), f"{path}.{name}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), path
        for number, pair in enumerate(zip(ours, theirs, strict=True)):
            _same(*pair, f"{path}[{number}]")
    elif isinstance(theirs, datetime):
        assert datetime.fromisoformat(ours) == theirs, path
    else:
        assert ours == theirs, path


@pytest.mark.parametrize(("kind", "sample"), EVERY)
def test_what_the_sdk_reads_we_read_alike(kind: str, sample: dict[str, Any]) -> None:
    theirs = SDK[kind].model_validate_json(json.dumps(sample), strict=True)
    _same(letta.message_of(sample), theirs, "$")


@settings(deadline=None)
@given(kind=st.sampled_from(sorted(SAMPLES)), data=st.data())
def test_nothing_that_the_sdk_takes_is_refused(kind: str, data: st.DataObject) -> None:
    sample = copy.deepcopy(data.draw(st.sampled_from(SAMPLES[kind])))
    for name in data.draw(st.lists(st.sampled_from(sorted(sample)), max_size=2)):
        if data.draw(st.booleans()):
            del sample[name]
            break
        if name != "date":  # pydantic reads numbers as moments, which nobody sends
            sample[name] = data.draw(JSON)
    try:
        theirs = SDK[kind].model_validate_json(json.dumps(sample), strict=True)
    except pydantic.ValidationError:
        return
    _same(letta.MESSAGE_TYPES[kind].from_dict(sample), theirs, "$")


# -- the published schema --------------------------------------------------------------------------

SCHEMAS: dict[str, type[letta.Part]] = {
    **{kind.__name__: kind for kind in letta.MESSAGE_TYPES.values()},
    "ApprovalReturn": letta.ApprovalReturn,
    "letta__schemas__letta_message__ToolReturn": letta.ToolReturn,
    "ToolCallDelta": letta.ToolCall,
    "MessageCreate": letta.MessageCreate,
    "ApprovalCreate": letta.ApprovalCreate,
    "ToolReturnCreate": letta.ToolReturnCreate,
    "ClientToolSchema": letta.ClientTool,
    "Run": letta.Run,
}
OPENAPI = LETTA / "openapi_subset.json"


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    if not OPENAPI.exists():
        pytest.skip("the published schema does not lie beside the checkout")
    found: dict[str, Any] = json.loads(OPENAPI.read_text())["schemas"]
    return found


@pytest.mark.corpus
@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_the_fields_are_those_of_the_published_schema(name: str, published: dict[str, Any]) -> None:
    schema, kind = published[name], SCHEMAS[name]
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    own = set(fields) - {"(extra)"} | ({kind._head[0]} if kind._head is not None else set())
    assert own == set(schema["properties"])
    required = {field for field, one in fields.items() if one.required}
    # That a newer server leaves the deprecated one of two fields out is nothing wrong.
    assert required == set(schema.get("required", ())) - {"message_type", "tool_call"}
    for field, told in schema["properties"].items():
        word = told.get("const")
        if word is not None and field in ("type", "message_type"):
            assert kind._head == (field, word)
        if "enum" in told:
            words = [get_args(one) or (one,) for one in get_args(fields[field].type)]
            assert {w for some in words for w in some if w is not type(None)} == set(told["enum"])


@pytest.mark.corpus
def test_the_words_are_those_of_the_published_schema(published: dict[str, Any]) -> None:
    assert list(letta.STOP_REASONS) == published["StopReasonType"]["enum"]
    status = next(f for f in msgspec.structs.fields(letta.Run) if f.name == "status")
    assert list(get_args(status.type)) == published["RunStatus"]["enum"]
    asked = published["ConversationMessageRequest"]["properties"]
    assert asked.keys() == letta.REQUEST_FIELDS
    assert published["LettaStreamingRequest"]["properties"].keys() < letta.REQUEST_FIELDS


@pytest.mark.corpus
def test_every_recorded_message_is_as_the_schema_says() -> None:
    if not LETTA.is_dir():
        pytest.skip("no captures beside the checkout")
    seen: set[str] = set()
    for path in sorted(LETTA.iterdir()):
        for message in _messages(path):
            kind = message["message_type"]
            found = letta.decoded_of(message)
            assert found.faults == (), path.name
            assert found.message.extra == {}
            theirs = SDK[kind].model_validate_json(json.dumps(message), strict=True)
            _same(found.message, theirs, path.name)
            seen.add(kind)
    assert len(seen) == 12


def _messages(path: Any) -> list[dict[str, Any]]:
    if path.suffix == ".sse":
        lines = path.read_text().splitlines()
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    if path.suffix != ".json" or path == OPENAPI:
        return []
    found: list[dict[str, Any]] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict) and "message_type" in value:
            found.append(value)
        elif isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                walk(inner)

    walk(json.loads(path.read_text()))
    return found
