"""What a call asks for, as lines a person can read."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from steer_nb.wire import jsonio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["describe_call"]


def describe_call(call: dict[str, Any]) -> list[tuple[str, str]]:
    r"""Describe what a call asks for, as labels and texts. Never raises.

    Parameters
    ----------
    call : dict
        An output item such as a ``function_call``, complete or not, well-formed or not.

    Returns
    -------
    list of (str, str)
        One entry for each argument, command, action …, in order. Texts are as the model wrote
        them: hostile until escaped. They may have several lines.

    Examples
    --------
    >>> describe_call({"type": "function_call", "arguments": '{"city": "Lisbon", "days": 2}'})
    [('city', '"Lisbon"'), ('days', '2')]
    >>> describe_call({"type": "shell_call", "action": {"commands": ["ls trips/"]}})
    [('$', 'ls trips/')]
    """
    kind = call.get("type")
    describe = _DESCRIBERS.get(kind, _rest) if isinstance(kind, str) else _rest
    return list(describe(call))


def _function(call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield from _arguments(call.get("arguments"))


def _custom(call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "input" in call:
        yield "input", _as_is(call["input"])


def _computer(call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    actions = call.get("actions")
    listed = actions if isinstance(actions, list) else []
    if not listed and call.get("action") is not None:
        listed = [call["action"]]
    for at, action in enumerate(listed, 1):
        yield ("action" if len(listed) == 1 else f"action {at}"), _action(action)
    pending = call.get("pending_safety_checks")
    for check in pending if isinstance(pending, list) else []:
        yield "safety check", _safety_check(check)


def _action(action: object) -> str:
    if not isinstance(action, dict) or not isinstance(action.get("type"), str):
        return _value(action)
    words = [action["type"].replace("_", " ")]
    where = f"{action.get('x')}, {action.get('y')}" if "x" in action and "y" in action else ""
    if action["type"] == "click" and isinstance(action.get("button"), str):
        words.append(action["button"])
    if where:
        words.append(f"at {where}")
    rest = {
        key: value
        for key, value in action.items()
        if value is not None and key not in ("type", "x", "y", "button")
    }
    if "button" in action and action["type"] != "click":
        rest["button"] = action["button"]
    words.extend(f"{key.replace('_', ' ')} {_value(value)}" for key, value in rest.items())
    return " ".join(words)


def _safety_check(check: object) -> str:
    if not isinstance(check, dict):
        return _value(check)
    parts = [str(check[name]) for name in ("code", "message") if check.get(name) is not None]
    return ": ".join(parts) or str(check.get("id", ""))


def _shell(call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    action = _object(call.get("action"))
    commands = action.get("commands")
    for command in commands if isinstance(commands, list) else []:
        yield "$", _as_is(command)
    if action.get("timeout_ms") is not None:
        yield "timeout", _milliseconds(action["timeout_ms"])
    if action.get("max_output_length") is not None:
        yield "output limit", f"{_value(action['max_output_length'])} characters"


def _local_shell(call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    action = _object(call.get("action"))
    command = action.get("command")
    if isinstance(command, list):
        yield "$", shlex.join(_as_is(word) for word in command)
    elif command is not None:
        yield "$", _as_is(command)
    for name, label in (("working_directory", "directory"), ("user", "user")):
        if action.get(name) is not None:
            yield label, _as_is(action[name])
    for name, value in _object(action.get("env")).items():
        yield "environment", f"{name}={_as_is(value)}"
    if action.get("timeout_ms") is not None:
        yield "timeout", _milliseconds(action["timeout_ms"])


def _apply_patch(call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    operation = _object(call.get("operation"))
    word = operation.get("type")
    label = word.replace("_", " ") if isinstance(word, str) else "operation"
    yield label, _as_is(operation.get("path", ""))
    if operation.get("diff") is not None:
        yield "diff", _as_is(operation["diff"])


def _approval(call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, label in (("server_label", "server"), ("name", "tool")):
        if call.get(name) is not None:
            yield label, _as_is(call[name])
    yield from _arguments(call.get("arguments"))


def _multi_agent(call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if isinstance(call.get("action"), str):
        yield "action", call["action"].replace("_", " ")
    yield from _arguments(call.get("arguments"))


def _rest(call: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in call.items():
        if name == "arguments":
            yield from _arguments(value)
        elif name not in ("type", "id", "call_id", "status"):
            yield name, _value(value)


_DESCRIBERS: dict[str, Callable[[dict[str, Any]], Iterator[tuple[str, str]]]] = {
    "function_call": _function,
    "custom_tool_call": _custom,
    "computer_call": _computer,
    "shell_call": _shell,
    "local_shell_call": _local_shell,
    "apply_patch_call": _apply_patch,
    "tool_search_call": _function,
    "mcp_approval_request": _approval,
    "multi_agent_call": _multi_agent,
    "letta_approval_call": _function,
    "letta_tool_call": _function,
}


def _arguments(arguments: object) -> Iterator[tuple[str, str]]:
    """Split arguments, an object or JSON text of one, into one entry each."""
    if isinstance(arguments, str):
        try:
            value, _ = jsonio.loads(arguments)
        except (ValueError, RecursionError):
            value = None  # not complete yet, or not JSON: shown as it is
        if not isinstance(value, dict):
            if arguments.strip():
                yield "arguments", arguments
            return
        arguments = value
    if isinstance(arguments, dict):
        for name, value in arguments.items():
            yield name, _value(value)
    elif arguments is not None:
        yield "arguments", _value(arguments)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_is(value: object) -> str:
    return value if isinstance(value, str) else _value(value)


def _value(value: object) -> str:
    """Write a value as JSON; text of several lines as it is, since escapes are hard to read."""
    if isinstance(value, str) and "\n" in value:
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        return f"({type(value).__name__} too large or too deep to show)"


def _milliseconds(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _value(value)
    return f"{value / 1000:g} s"
