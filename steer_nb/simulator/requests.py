"""Reading what a client sends: the fields of `response.create` and `response.steer`.

The field list is that of the SDK's `ResponseCreate` (2.1) and `ResponseSteerEvent` (5.2).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.refusals import (
    Refusal,
    bad_json,
    invalid,
    invalid_stream_id,
    missing,
    unknown_parameter,
)
from steer_nb.wire import MULTI_AGENT_BETA
from steer_nb.wire.lanes import STREAM_ID_PATTERN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.simulator.options import Options

__all__ = [
    "SteerRefused",
    "check_create",
    "check_steer",
    "parse",
    "read_stream_id",
    "texts_of",
    "to_items",
]

_OBJECT, _ARRAY, _STRING, _NUMBER, _INTEGER, _BOOLEAN = (
    "an object",
    "an array",
    "a string",
    "a number",
    "an integer",
    "a boolean",
)

CREATE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "access_programs": (_OBJECT,),
    "background": (_BOOLEAN,),
    "background_options": (_OBJECT,),
    "context_management": (_ARRAY,),
    "conversation": (_STRING, _OBJECT),
    "generate": (_BOOLEAN,),
    "image": (_OBJECT,),
    "include": (_ARRAY,),
    "input": (_STRING, _ARRAY),
    "instructions": (_STRING,),
    "max_output_tokens": (_INTEGER,),
    "max_tool_calls": (_INTEGER,),
    "metadata": (_OBJECT,),
    "model": (_STRING,),
    "moderation": (_OBJECT,),
    "multi_agent": (_OBJECT,),
    "parallel_tool_calls": (_BOOLEAN,),
    "previous_response_id": (_STRING,),
    "prompt": (_OBJECT,),
    "prompt_cache_key": (_STRING,),
    "prompt_cache_options": (_OBJECT,),
    "prompt_cache_retention": (_STRING,),
    "reasoning": (_OBJECT,),
    "safety_identifier": (_STRING,),
    "service_tier": (_STRING,),
    "store": (_BOOLEAN,),
    "stream": (_BOOLEAN,),
    "stream_id": (_STRING,),
    "stream_options": (_OBJECT,),
    "temperature": (_NUMBER,),
    "text": (_OBJECT,),
    "tool_choice": (_STRING, _OBJECT),
    "tools": (_ARRAY,),
    "top_logprobs": (_INTEGER,),
    "top_p": (_NUMBER,),
    "truncation": (_STRING,),
    "user": (_STRING,),
}

# Codex sends it, no schema has it (2.1): accepted and not used.
_TOLERATED = frozenset({"client_metadata"})

_CONTENT_TYPES = frozenset({"input_text", "input_image", "input_file"})
_ROLES = frozenset({"user", "assistant", "system", "developer"})


def parse(message: str | bytes) -> dict[str, Any]:
    """Read one message.

    Raises
    ------
    Refusal
        It is binary, not JSON, or not an object; such an error belongs to no lane.
    """
    if isinstance(message, bytes):
        raise bad_json(detail="it is binary; send text")
    try:
        value = json.loads(message, parse_constant=_no_constant)
    except RecursionError:
        raise bad_json(detail="it is nested too deeply") from None
    except ValueError as error:
        raise bad_json(detail=str(error)) from None
    if not isinstance(value, dict):
        raise bad_json(detail=f"it is {_kind_of(value)}")
    return value


def _no_constant(word: str) -> None:
    msg = f"{word} is no JSON value"
    raise ValueError(msg)


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    for kind, types in (
        (_BOOLEAN, bool),
        (_STRING, str),
        (_ARRAY, list),
        (_OBJECT, dict),
        (_INTEGER, int),
    ):
        if isinstance(value, types):
            return kind
    return _NUMBER


def read_stream_id(body: dict[str, Any]) -> str | None:
    """Give the lane that a create names; None is the default lane.

    Raises
    ------
    Refusal
        ``invalid_stream_id``: the field is there and is no valid name, null included.
    """
    if "stream_id" not in body:
        return None
    name = body["stream_id"]
    if not isinstance(name, str) or STREAM_ID_PATTERN.fullmatch(name) is None:
        raise invalid_stream_id()
    return name


def check_create(body: dict[str, Any], options: Options, *, multi_agent: bool = False) -> None:
    """Check a create's own fields, without looking at what it continues.

    `multi_agent` says whether its connection asked for that beta.

    Raises
    ------
    Refusal
        Naming the first field that is wrong.
    """
    for name, value in body.items():
        if name == "type" or name in _TOLERATED:
            continue
        kinds = CREATE_FIELDS.get(name)
        if kinds is None:
            if options.unknown_parameters == "refuse":
                raise unknown_parameter(param=name)
            continue
        kind = _kind_of(value)
        if value is None or kind in kinds or (kind == _INTEGER and _NUMBER in kinds):
            continue
        msg = f"Invalid type for '{name}': expected {' or '.join(kinds)}, but got {kind} instead."
        raise Refusal(msg, code="invalid_type", param=name)
    if body.get("background"):
        msg = "The 'background' parameter is not supported over WebSocket."
        raise Refusal(msg, code="unsupported_parameter", param="background")
    if body.get("model") is None and options.default_model is None and not body.get("prompt"):
        raise missing(param="model")
    if body.get("conversation") is not None and body.get("previous_response_id") is not None:
        msg = "'previous_response_id' cannot be used together with 'conversation'."
        raise Refusal(msg, code="mutually_exclusive_parameters", param="previous_response_id")
    if body.get("generate") is not False and all(
        body.get(name) is None
        for name in ("input", "previous_response_id", "prompt", "conversation")
    ):
        msg = "One of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided."
        raise Refusal(msg, code="missing_required_parameter", param="input")
    _check_tools(body.get("tools"))
    if body.get("multi_agent") is not None:
        _check_agents(body, multi_agent=multi_agent)


def _check_agents(body: dict[str, Any], *, multi_agent: bool) -> None:
    asked = body["multi_agent"]
    if not isinstance(asked.get("enabled"), bool):
        raise missing(param="multi_agent.enabled")
    most = asked.get("max_concurrent_subagents")
    if most is not None and (_kind_of(most) != _INTEGER or most < 1):
        where = "multi_agent.max_concurrent_subagents"
        raise invalid(param=where, message=f"Invalid value for '{where}': a positive integer.")
    for name in asked:
        if name not in ("enabled", "max_concurrent_subagents"):
            raise unknown_parameter(param=f"multi_agent.{name}")
    if not asked["enabled"]:
        return
    if not multi_agent:
        msg = f"The 'multi_agent' parameter needs the header 'OpenAI-Beta: {MULTI_AGENT_BETA}'."
        raise Refusal(msg, code="unsupported_parameter", param="multi_agent")
    reasoning = body.get("reasoning") or {}
    unsupported = {"max_tool_calls": body.get("max_tool_calls")}
    unsupported["reasoning.summary"] = reasoning.get("summary") or reasoning.get("generate_summary")
    for name, value in unsupported.items():
        if value is not None:
            msg = f"The '{name}' parameter is not supported with multi-agent."
            raise Refusal(msg, code="unsupported_parameter", param=name)


def _check_tools(tools: list[Any] | None) -> None:
    for index, tool in enumerate(tools or ()):
        where = f"tools[{index}]"
        if not isinstance(tool, dict) or not isinstance(tool.get("type"), str):
            raise missing(param=f"{where}.type")
        if tool["type"] in ("function", "custom") and not isinstance(tool.get("name"), str):
            raise missing(param=f"{where}.name")


def to_items(value: object) -> list[dict[str, Any]]:
    """Give a create's `input` as a list of items.

    Raises
    ------
    Refusal
        It is neither text nor a list, an item is no object, has no type, or a message has a wrong
        role or content.
    """
    if value is None:
        return []
    if isinstance(value, str):
        return [_user(value)]
    if not isinstance(value, list):
        msg = (
            "Invalid type for 'input': expected a string or an array of input items, but got "
            f"{_kind_of(value)} instead."
        )
        raise Refusal(msg, code="invalid_type", param="input")
    items: list[dict[str, Any]] = []
    for index, item in enumerate(value):
        where = f"input[{index}]"
        if not isinstance(item, dict):
            msg = (
                f"Invalid type for '{where}': expected an object, but got {_kind_of(item)} instead."
            )
            raise Refusal(msg, code="invalid_type", param=where)
        if "role" in item and "type" not in item:
            item = {"type": "message", **item}
        if not isinstance(item.get("type"), str):
            raise missing(param=f"{where}.type")
        if item["type"] == "message":
            _check_message(item, where)
        items.append(item)
    return items


def _check_message(item: dict[str, Any], where: str) -> None:
    if item.get("role") not in _ROLES:
        roles = ", ".join(sorted(_ROLES))
        msg = f"Invalid value: {item.get('role')!r}. Supported roles are: {roles}."
        raise invalid(param=f"{where}.role", message=msg)
    content = item.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise missing(param=f"{where}.content")
    for number, part in enumerate(content):
        if not isinstance(part, dict) or not isinstance(part.get("type"), str):
            raise missing(param=f"{where}.content[{number}].type")


def _user(text: str) -> dict[str, Any]:
    return {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": text}],
    }


class SteerRefused(Exception):
    """A steer fails before it got an id; `code` is one of 5.5."""

    def __init__(self, *, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def check_steer(body: dict[str, Any], options: Options) -> list[dict[str, Any]]:
    """Give a steer's input as user messages.

    Raises
    ------
    SteerRefused
        ``invalid_input``, saying what is wrong: a fourth field, no input, another role or type.
    """
    extra = sorted(set(body) - {"type", "previous_response_id", "input"})
    if extra:
        raise _bad_steer(
            why=f"response.steer takes only 'previous_response_id' and 'input', not {extra[0]!r}."
        )
    value = body.get("input")
    if isinstance(value, str):
        if not value.strip() and options.empty_steer == "refuse":
            raise _bad_steer(why="The steering input is empty.")
        return [_user(value)]
    if not isinstance(value, list) or not value:
        raise _bad_steer(why="'input' must be a string or a non-empty array of user messages.")
    return [_steer_message(item, f"input[{index}]", options) for index, item in enumerate(value)]


def _steer_message(item: object, where: str, options: Options) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise _bad_steer(why=f"{where} must be a user message.")
    if item.get("type", "message") != "message":
        raise _bad_steer(why=f"{where} must be a user message, not {item['type']!r}.")
    extra = sorted(set(item) - {"type", "role", "content"})
    if extra:
        raise _bad_steer(
            why=f"{where} may hold only 'type', 'role' and 'content', not {extra[0]!r}."
        )
    if item.get("role") != "user":
        raise _bad_steer(why=f"{where}.role must be 'user', not {item.get('role')!r}.")
    content = item.get("content")
    if isinstance(content, str):
        content = [{"type": "input_text", "text": content}]
    if not isinstance(content, list) or (not content and options.empty_steer == "refuse"):
        raise _bad_steer(why=f"{where}.content must be a string or a non-empty array of parts.")
    for number, part in enumerate(content):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _CONTENT_TYPES:
            allowed = ", ".join(sorted(_CONTENT_TYPES))
            raise _bad_steer(why=f"{where}.content[{number}].type must be one of {allowed}.")
        if kind == "input_text" and not isinstance(part.get("text"), str):
            raise _bad_steer(why=f"{where}.content[{number}].text must be a string.")
    return {"type": "message", "role": "user", "content": content}


def _bad_steer(*, why: str) -> SteerRefused:
    return SteerRefused(code="invalid_input", message=why)


def texts_of(items: list[dict[str, Any]], role: str = "user") -> list[str]:
    """Give the text of each message of a role; pictures and files are named in brackets.

    Examples
    --------
    >>> texts_of([{"type": "message", "role": "user", "content": "Hello."}])
    ['Hello.']
    """
    return [
        content_text(item.get("content"))
        for item in items
        if item.get("type") == "message" and item.get("role") == role
    ]


def content_text(content: object) -> str:
    """Give a message's content, or a result's, as one text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    words: list[str] = []
    for part in content:
        if not isinstance(part, dict):
            continue
        if isinstance(part.get("text"), str):
            words.append(part["text"])
        elif isinstance(part.get("refusal"), str):
            words.append(part["refusal"])
        elif part.get("type") == "input_image":
            words.append("[image]")
        elif part.get("type") == "input_file":
            words.append(f"[file {part.get('filename') or part.get('file_id') or ''}]")
    return " ".join(words)
