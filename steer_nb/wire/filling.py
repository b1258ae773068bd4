"""Fill a stub with a result or a decision, checked as the service would check it (chapter 6)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steer_nb.errors import InvalidInput
from steer_nb.wire import checks
from steer_nb.wire.content import check_image_url, check_parts
from steer_nb.wire.jsonio import json_text, plain, shown
from steer_nb.wire.letta.filling import fill_letta
from steer_nb.wire.stub_kinds import LETTA_KINDS, UNKNOWN_KIND, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.wire.stub_kinds import Field, StubKind

__all__ = ["fill_stub"]

_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9_-]+")


def fill_stub(
    stub: dict[str, Any], /, call: dict[str, Any] | None = None, **fields: Any
) -> dict[str, Any]:
    """Make the input item that answers a stub.

    Parameters
    ----------
    stub : dict
        The stub, as the service sent it or `stub_for` made it. It is not changed.
    call : dict, optional
        The output item that asks for it. Where it is known, more is checked: one output for each
        shell command, every pending safety check acknowledged.
    **fields
        The wire's own names, such as `output`, `status`, `tools`, `approve`, `reason`,
        `acknowledged_safety_checks`. A function's or custom tool's output may be any JSON value:
        what is neither text nor a list of content parts is written as JSON text. Optional fields
        that are None are left out.

    Returns
    -------
    dict
        The item for the `input` of the continuation.

    Raises
    ------
    InvalidInput
        A field is missing, unknown, or breaks a rule of the service; `field`, `value` and `rule`
        say which.

    Notes
    -----
    An unknown kind of stub takes any fields: they are merged into it.

    Examples
    --------
    >>> stub = {"type": "function_call_output", "call_id": "call_1", "name": "get_weather"}
    >>> fill_stub(stub, output={"sat": "18 °C"})["output"]
    '{"sat":"18 °C"}'
    >>> fill_stub({"type": "mcp_approval_response", "approval_request_id": "mcpr_9"}, approve="no")
    Traceback (most recent call last):
        ...
    steer_nb.errors.InvalidInput: approve is 'no': it must be True or False.
    """
    kind = kind_of(stub)
    if kind.type in LETTA_KINDS:
        return fill_letta(stub, fields)
    item: dict[str, Any] = plain(stub, path="stub")
    if kind is UNKNOWN_KIND:
        return _fill_unknown(item, fields)
    _check_identity(item, kind, call)
    for name, value in fields.items():
        field = kind.field(name)
        if name in item and (field is None or field.minor):
            _check_same(item, name, value)
        elif field is None:
            allowed = [field.name for field in kind.fields]
            checks.refuse_unknown("", name, allowed, kind.type)
    for field in kind.fields:
        if field.minor and field.name in item:
            continue  # it identifies what is answered, as a function's name does
        value = fields.get(field.name)
        if field.name not in fields or (value is None and field.kind not in _TAKES_NONE):
            if field.required:
                checks.refuse_missing(field.name, f"{kind.type} needs {_wanted(field)}")
            continue
        item[field.name] = _CHECKERS[field.kind](_Given(value, field, kind.type, call))
    _check_safety_answered(item, call)
    return item


def _fill_unknown(item: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    if not fields:
        checks.refuse_missing("the result", f"{shown(item.get('type'))} needs at least one field")
    fixed = {"type", *(name for name in ("call_id", "approval_request_id", "id") if name in item)}
    for name, value in fields.items():
        if name in fixed:
            _check_same(item, name, value)
        else:
            item[name] = plain(value, path=name)
    return item


def _check_same(item: dict[str, Any], name: str, value: object) -> None:
    """Identifying fields may be repeated, as people copy whole items, but not changed."""
    kept = item.get(name)
    if type(value) is not type(kept) or value != kept:
        rule = f"it identifies what is answered and must stay {shown(kept)}"
        checks.refuse(name, value, rule, "Leave it out.")


def _check_identity(item: dict[str, Any], kind: StubKind, call: dict[str, Any] | None) -> None:
    key_field = kind.key_field
    if key_field not in item:
        checks.refuse_missing(key_field, f"{kind.type} is identified by it")
    key = checks.text(item[key_field], key_field, limit=kind.key_limit, at_least=1)
    if kind.type == "tool_search_output":
        # The stub says so; one that was written by hand may not.
        item.setdefault("execution", "client")
        checks.one_of(item["execution"], ("client",), "execution")
    if call is None:
        return
    if call.get("type") not in kind.call_types:
        rule = f"{kind.type} answers a {' or '.join(kind.call_types)}"
        checks.refuse("call.type", call.get("type"), rule)
    if call.get(kind.call_key) != key:
        rule = f"this stub answers the call whose {kind.call_key} is {shown(key)}"
        checks.refuse(f"call.{kind.call_key}", call.get(kind.call_key), rule)


def _wanted(field: Field) -> str:
    wanted = {
        "content": "its output: text, a list of content parts, or any JSON value",
        "json_text": "its output as text",
        "choice": " or ".join(repr(word) for word in field.choices),
        "flag": "True or False",
        "shell_output": "a list with one {stdout, stderr, outcome} for each command",
        "screenshot": 'a screenshot: {"type": "computer_screenshot", "image_url": "data:image/…"}',
        "tools": "a list of tool objects, which may be empty",
    }
    return wanted[field.kind]


# -- one checker for each kind of field ------------------------------------------------------------


class _Given(NamedTuple):
    """One field as it was given, and what it is for."""

    value: Any
    field: Field
    stub_type: str
    call: dict[str, Any] | None

    @property
    def name(self) -> str:
        return self.field.name


def _content(given: _Given) -> Any:
    if isinstance(given.value, str):
        return _json_text(given)
    value = plain(given.value, given.name)
    if isinstance(value, list) and any(_is_part(part) for part in value):
        # One is a content part, so all are meant to be: `check_parts` says which one is not.
        need_detail = given.stub_type == "custom_tool_call_output"
        return check_parts(value, given.name, need_detail=need_detail)
    return _json_text(given)


def _is_part(value: object) -> bool:
    return isinstance(value, dict) and str(value.get("type", "")).startswith("input_")


def _json_text(given: _Given) -> str:
    value = given.value
    text = plain(value, given.name) if isinstance(value, str) else json_text(value, given.name)
    return checks.text(text, given.name, limit=given.field.limit)


def _plain_text(given: _Given) -> str:
    at_least = 1 if given.name in ("id", "name", "namespace") else 0
    text = checks.text(given.value, given.name, limit=given.field.limit, at_least=at_least)
    if given.name in ("name", "namespace") and not _IDENTIFIER.fullmatch(text):
        checks.refuse(given.name, text, "it may hold letters, digits, _ and - only")
    return str(plain(text, given.name))


def _choice(given: _Given) -> str:
    return checks.one_of(given.value, given.field.choices, given.name)


def _flag(given: _Given) -> bool:
    if not isinstance(given.value, bool):
        checks.refuse(given.name, given.value, "it must be True or False")
    return given.value


def _number(given: _Given) -> int:
    return checks.whole(given.value, given.name, at_least=0)


def _caller(given: _Given) -> dict[str, Any]:
    rule = 'it must be {"type": "direct"} or {"type": "program", "caller_id": "…"}'
    caller = plain(given.value, given.name)
    if not isinstance(caller, dict):
        checks.refuse(given.name, caller, rule)
    word = checks.one_of(caller.get("type"), ("direct", "program"), f"{given.name}.type")
    keys = ("type", "caller_id") if word == "program" else ("type",)
    checks.known_keys(caller, keys, given.name, f"a {word} caller")
    if word == "program":
        if "caller_id" not in caller:
            checks.refuse_missing(f"{given.name}.caller_id", rule)
        checks.text(caller["caller_id"], f"{given.name}.caller_id", at_least=1)
    return caller


_OUTCOME_RULE: Final = 'it must be {"type": "exit", "exit_code": 0} or {"type": "timeout"}'


def _shell_output(given: _Given) -> list[Any]:
    rule = "it must be a list with one {stdout, stderr, outcome} for each command"
    outputs = plain(given.value, given.name)
    if not isinstance(outputs, list):
        checks.refuse(given.name, given.value, rule)
    commands = shell_commands(given.call)
    if commands is None and not outputs:
        checks.refuse(given.name, given.value, rule)
    if commands is not None and len(outputs) != len(commands):
        msg = (
            f"{given.name} has {len(outputs)} entries, but the call has {len(commands)} commands: "
            "give one {stdout, stderr, outcome} for each, in order."
        )
        raise InvalidInput(msg, field=given.name, value=outputs, rule=rule)
    for at, output in enumerate(outputs):
        path = f"{given.name}[{at}]"
        if not isinstance(output, dict):
            checks.refuse(path, output, "it must be an object with stdout, stderr and outcome")
        checks.known_keys(output, ("stdout", "stderr", "outcome"), path, "an output")
        for name in ("stdout", "stderr"):
            if name not in output:
                checks.refuse_missing(f"{path}.{name}", 'give "" where there was none')
            checks.text(output[name], f"{path}.{name}", limit=given.field.limit)
        if "outcome" not in output:
            checks.refuse_missing(f"{path}.outcome", _OUTCOME_RULE)
        _check_outcome(output["outcome"], f"{path}.outcome")
    return outputs


def _check_outcome(outcome: object, path: str) -> None:
    if not isinstance(outcome, dict):
        checks.refuse(path, outcome, _OUTCOME_RULE)
    if outcome.get("type") == "exit":
        checks.known_keys(outcome, ("type", "exit_code"), path, "an exit outcome")
        if "exit_code" not in outcome:
            checks.refuse_missing(f"{path}.exit_code", _OUTCOME_RULE)
        checks.whole(outcome["exit_code"], f"{path}.exit_code")
    elif outcome.get("type") == "timeout":
        checks.known_keys(outcome, ("type",), path, "a timeout outcome")
    else:
        checks.one_of(outcome.get("type"), ("exit", "timeout"), f"{path}.type")


def shell_commands(call: dict[str, Any] | None) -> list[Any] | None:
    """List the commands of a shell call, or None where they are not known."""
    action = call.get("action") if call is not None else None
    commands = action.get("commands") if isinstance(action, dict) else None
    return commands if isinstance(commands, list) else None


def _screenshot(given: _Given) -> dict[str, Any]:
    rule = 'it must be {"type": "computer_screenshot", "image_url": "…"} (or "file_id")'
    value = plain(given.value, given.name)
    if not isinstance(value, dict):
        checks.refuse(given.name, value, rule)
    checks.known_keys(value, ("type", "image_url", "file_id"), given.name, "a screenshot")
    screenshot = {key: inner for key, inner in value.items() if inner is not None}
    if "type" not in screenshot:
        checks.refuse_missing(f"{given.name}.type", rule)
    checks.one_of(screenshot["type"], ("computer_screenshot",), f"{given.name}.type")
    if "image_url" not in screenshot and "file_id" not in screenshot:
        checks.refuse_missing(f"{given.name}.image_url", rule)
    if "image_url" in screenshot:
        check_image_url(screenshot["image_url"], f"{given.name}.image_url")
    if "file_id" in screenshot:
        checks.text(screenshot["file_id"], f"{given.name}.file_id", at_least=1)
    return screenshot


def _safety_checks(given: _Given) -> list[Any]:
    rule = 'it must be a list of {"id", "code", "message"} objects, as in pending_safety_checks'
    value = plain(given.value, given.name)
    if not isinstance(value, list):
        checks.refuse(given.name, value, rule)
    acknowledged = []
    for at, entry in enumerate(value):
        path = f"{given.name}[{at}]"
        if not isinstance(entry, dict):
            checks.refuse(path, entry, rule)
        checks.known_keys(entry, ("id", "code", "message"), path, "a safety check")
        if "id" not in entry:
            checks.refuse_missing(f"{path}.id", rule)
        checks.text(entry["id"], f"{path}.id", at_least=1)
        for name in ("code", "message"):
            if entry.get(name) is not None:
                checks.text(entry[name], f"{path}.{name}")
        acknowledged.append({key: inner for key, inner in entry.items() if inner is not None})
    return acknowledged


def _check_safety_answered(item: dict[str, Any], call: dict[str, Any] | None) -> None:
    if item["type"] != "computer_call_output" or call is None:
        return
    pending = {check["id"]: check for check in pending_safety_checks(call)}
    given = [check["id"] for check in item.get("acknowledged_safety_checks", ())]
    name = "acknowledged_safety_checks"
    missing = [key for key in pending if key not in given]
    if missing:
        listed = ", ".join(_describe_check(pending[key]) for key in missing)
        rule = "it must hold every pending safety check of the call"
        msg = f"{name} lacks {listed}: {rule}. Add it if the action may go ahead."
        raise InvalidInput(msg, field=name, value=item.get(name), rule=rule)
    for at, key in enumerate(given):
        if key not in pending:
            rule = "it must be one of the call's pending safety checks" + (
                f": {', '.join(map(shown, pending))}" if pending else ", and there are none"
            )
            checks.refuse(f"{name}[{at}].id", key, rule)


def _describe_check(check: dict[str, Any]) -> str:
    more = check.get("message") or check.get("code")
    name = shown(check["id"])
    return f"{name} ({' '.join(more.split())[:80]})" if isinstance(more, str) else name


def pending_safety_checks(call: dict[str, Any] | None) -> list[dict[str, Any]]:
    """List the safety checks of a computer call that wait to be acknowledged."""
    pending = call.get("pending_safety_checks") if call is not None else None
    if not isinstance(pending, list):
        return []
    return [
        check for check in pending if isinstance(check, dict) and isinstance(check.get("id"), str)
    ]


def _tools(given: _Given) -> list[Any]:
    rule = "it must be a list of tool objects, which may be empty"
    tools = plain(given.value, given.name)
    if not isinstance(tools, list):
        checks.refuse(given.name, given.value, rule)
    for at, tool in enumerate(tools):
        path = f"{given.name}[{at}]"
        if not isinstance(tool, dict):
            checks.refuse(path, tool, 'each tool is an object such as {"type": "function", …}')
        if "type" not in tool:
            checks.refuse_missing(f"{path}.type", "each tool has a type, such as 'function'")
        word = checks.text(tool["type"], f"{path}.type", at_least=1)
        if word == "function":
            _check_function_tool(tool, path)
        elif word == "custom":
            if "name" not in tool:
                checks.refuse_missing(f"{path}.name", "a custom tool has a name")
            checks.text(tool["name"], f"{path}.name", at_least=1)
    return tools


def _check_function_tool(tool: dict[str, Any], path: str) -> None:
    if "name" not in tool:
        checks.refuse_missing(f"{path}.name", "a function tool has a name")
    for name in ("parameters", "strict"):
        tool.setdefault(name, None)  # the schema requires both, though null will do
    checks.text(tool["name"], f"{path}.name", at_least=1)
    if tool["parameters"] is not None and not isinstance(tool["parameters"], dict):
        checks.refuse(f"{path}.parameters", tool["parameters"], "it must be a JSON schema object")
    if tool["strict"] is not None and not isinstance(tool["strict"], bool):
        checks.refuse(f"{path}.strict", tool["strict"], "it must be True, False or None")


_TAKES_NONE: Final = frozenset({"content", "json_text"})  # None is a result: JSON null

_CHECKERS: Final[dict[str, Callable[[_Given], Any]]] = {
    "content": _content,
    "json_text": _json_text,
    "text": _plain_text,
    "choice": _choice,
    "flag": _flag,
    "number": _number,
    "caller": _caller,
    "shell_output": _shell_output,
    "screenshot": _screenshot,
    "safety_checks": _safety_checks,
    "tools": _tools,
}
