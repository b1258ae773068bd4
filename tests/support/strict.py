"""Check messages strictly against the types of the official `openai` SDK.

The SDK's own models accept unknown fields and coerce values, and its params are typed dicts that
nothing checks. Here both are walked as written: a missing field, an unknown one, or a value of
another type is a fault, named by its path.
"""

from __future__ import annotations

import collections.abc
import functools
import types
import typing
from typing import Any, Literal

import pydantic
import typing_extensions
from openai.types.beta.beta_response_output_item import BetaResponseOutputItem
from openai.types.beta.beta_responses_client_event_param import BetaResponsesClientEventParam
from openai.types.beta.beta_responses_server_event import BetaResponsesServerEvent
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from openai.types.responses.response_output_item import ResponseOutputItem
from openai.types.responses.response_steer_required_input import ResponseSteerRequiredInput
from openai.types.responses.responses_client_event_param import ResponsesClientEventParam
from openai.types.responses.responses_server_event import ResponsesServerEvent


def assert_server_event(event: dict[str, Any]) -> None:
    """Fail unless `event` is exactly an event of the SDK's WebSocket union."""
    _assert(event, ResponsesServerEvent)


def assert_client_event(event: dict[str, Any]) -> None:
    """Fail unless `event` is exactly a request of the SDK's WebSocket union."""
    _assert(event, ResponsesClientEventParam)


def assert_beta_server_event(event: dict[str, Any]) -> None:
    """Fail unless `event` is exactly an event of the SDK's union of the multi-agent beta."""
    _assert(event, BetaResponsesServerEvent)


def assert_beta_client_event(event: dict[str, Any]) -> None:
    """Fail unless `event` is exactly a request of the SDK's union of the multi-agent beta."""
    _assert(event, BetaResponsesClientEventParam)


def assert_beta_output_item(item: dict[str, Any]) -> None:
    """Fail unless `item` may stand in the output of a multi-agent response."""
    _assert(item, BetaResponseOutputItem)


def assert_input_item(item: dict[str, Any]) -> None:
    """Fail unless `item` may stand in the input of ``response.create``."""
    _assert(item, ResponseInputItemParam)


def assert_output_item(item: dict[str, Any]) -> None:
    """Fail unless `item` may stand in the output of a response."""
    _assert(item, ResponseOutputItem)


def assert_stub(stub: dict[str, Any]) -> None:
    """Fail unless `stub` is one of the seven official stubs, with its identifying fields only."""
    _assert(stub, ResponseSteerRequiredInput)


def faults(value: Any, kind: Any, path: str = "$") -> list[str]:
    """List what is wrong with `value` as a `kind` of the SDK; empty where nothing is."""
    return _faults(value, kind, path)


def server_event_classes(*, beta: bool = False) -> dict[str, type[pydantic.BaseModel]]:
    """Every class of the server union, or of the beta's, by event type."""
    classes = {}
    for member in _members(BetaResponsesServerEvent if beta else ResponsesServerEvent):
        (word,) = typing.get_args(member.model_fields["type"].annotation)
        classes[word] = member
    return classes


def param_fields(params: Any) -> dict[str, Any]:
    """Fields of one of the SDK's typed dicts, with their types."""
    return _hints(params)[0]


def type_words(union: Any) -> set[str]:
    """The `type` words of all members of one of the SDK's unions."""
    return {word for member in _members(union) for word in _type_words(member) or ()}


def _assert(value: Any, kind: Any) -> None:
    found = _faults(value, kind, "$")
    if found:
        msg = "not as in the SDK:\n  " + "\n  ".join(found)
        raise AssertionError(msg)


@functools.cache
def _hints(params: Any) -> tuple[dict[str, Any], frozenset[str]]:
    hints = typing_extensions.get_type_hints(params, include_extras=True)
    # With postponed annotations a TypedDict does not know itself what it requires.
    required = {
        name
        for name, hint in hints.items()
        if typing_extensions.get_origin(hint) is typing_extensions.Required
    }
    return {name: _plain(hint) for name, hint in hints.items()}, frozenset(required)


def _plain(kind: Any) -> Any:
    wrappers = (typing_extensions.Required, typing_extensions.NotRequired)
    while True:
        origin = typing_extensions.get_origin(kind)
        if origin is typing_extensions.Annotated or origin in wrappers:
            kind = typing_extensions.get_args(kind)[0]
        else:
            return kind


def _members(kind: Any) -> list[Any]:
    kind = _plain(kind)
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return [inner for arg in typing.get_args(kind) for inner in _members(arg)]
    return [kind]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, pydantic.BaseModel)


@functools.cache
def _type_words(kind: Any) -> frozenset[str] | None:
    """The words that the `type` field of a model or typed dict may hold, if it is a literal."""
    if _is_model(kind):
        field = kind.model_fields.get("type")
        hint = field.annotation if field else None
    elif typing_extensions.is_typeddict(kind):
        hint = _hints(kind)[0].get("type")
    else:
        return None
    words = set()
    for member in _members(hint):
        if typing.get_origin(member) is not Literal:
            return None
        words.update(typing.get_args(member))
    return frozenset(words)


def _faults(value: Any, kind: Any, path: str) -> list[str]:
    kind = _plain(kind)
    if kind is Any or kind is object:
        return []
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _union_faults(value, _members(kind), path)
    if origin is Literal:
        allowed = typing.get_args(kind)
        same = any(value == word and type(value) is type(word) for word in allowed)
        return [] if same else [f"{path}: {value!r} is none of {allowed}"]
    if origin in (list, collections.abc.Iterable, collections.abc.Sequence):
        if not isinstance(value, list):
            return [f"{path}: {value!r} is no list"]
        (inner,) = typing.get_args(kind)
        return [
            fault
            for index, each in enumerate(value)
            for fault in _faults(each, inner, f"{path}[{index}]")
        ]
    if origin in (dict, collections.abc.Mapping):
        if not isinstance(value, dict):
            return [f"{path}: {value!r} is no dict"]
        keys, inner = typing.get_args(kind)
        return [
            fault
            for key, each in value.items()
            for fault in (
                *_faults(key, keys, f"{path} key"),
                *_faults(each, inner, f"{path}.{key}"),
            )
        ]
    if _is_model(kind):
        fields = {(f.alias or name): f.annotation for name, f in kind.model_fields.items()}
        required = {(f.alias or n) for n, f in kind.model_fields.items() if f.is_required()}
        return _dict_faults(value, fields, required, kind.__name__, path)
    if typing_extensions.is_typeddict(kind):
        fields, required = _hints(kind)
        return _dict_faults(value, fields, required, kind.__name__, path)
    if kind is None or kind is type(None):
        return [] if value is None else [f"{path}: {value!r} is not null"]
    if kind is float:
        fine = isinstance(value, (int, float)) and not isinstance(value, bool)
    elif kind in (str, int, bool):
        fine = type(value) is kind
    elif kind is dict:
        fine = isinstance(value, dict)
    else:
        msg = f"{path}: this checker does not know the type {kind!r}"
        raise NotImplementedError(msg)
    return [] if fine else [f"{path}: {value!r} is no {kind.__name__}"]


def _union_faults(value: Any, members: list[Any], path: str) -> list[str]:
    if isinstance(value, dict) and isinstance(value.get("type"), str):
        word = value["type"]
        named = [member for member in members if (words := _type_words(member)) and word in words]
        tried = named or [
            member
            for member in members
            if not (_is_model(member) or typing_extensions.is_typeddict(member))
            or _type_words(member) is None
        ]
        if not tried:
            return [f"{path}: no member of the union has the type {word!r}"]
    else:
        tried = members
    best: list[str] | None = None
    for member in tried:
        found = _faults(value, member, path)
        if not found:
            return []
        if best is None or _closeness(found) < _closeness(best):
            best = found
    return best or [f"{path}: {value!r} fits no member of the union"]


def _closeness(found: list[str]) -> tuple[int, int]:
    """The deeper a fault lies and the fewer there are, the likelier that member was meant."""
    depth = max(
        fault.split(": ")[0].count(".") + fault.split(": ")[0].count("[") for fault in found
    )
    return -depth, len(found)


def _dict_faults(
    value: Any,
    fields: dict[str, Any],
    required: typing.AbstractSet[str],
    name: str,
    path: str,
) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no {name}"]
    found = [f"{path}: {name} needs {key!r}" for key in sorted(required - value.keys())]
    for key, inner in value.items():
        if key not in fields:
            found.append(f"{path}: {name} has no field {key!r}")
        else:
            found.extend(_faults(inner, fields[key], f"{path}.{key}"))
    return found
