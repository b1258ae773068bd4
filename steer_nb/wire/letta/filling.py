"""Fill what a Letta agent waits for: a decision or a result, in Letta's own form (3.2, 6)."""

from __future__ import annotations

from typing import Any

from steer_nb.errors import InvalidInput
from steer_nb.wire import checks
from steer_nb.wire.jsonio import json_text, plain, shown
from steer_nb.wire.letta.content import content_of
from steer_nb.wire.stub_kinds import LETTA_KINDS

__all__ = ["fill_letta"]

_DECISION = ("approve", "reason")
_RESULT = ("output", "status", "stdout", "stderr")
_WORDS = ("success", "error")


def fill_letta(stub: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Make the element of `approvals` that answers a call.

    Parameters
    ----------
    stub : dict
        A ``letta_approval`` or ``letta_tool_return``; a decision and a result fit both: the service
        takes a result for one of its own tools, and a no to one of the client's.
    fields : dict
        `approve` and `reason`; or `output`, `status`, `stdout` and `stderr`.

    Raises
    ------
    InvalidInput
        A field is missing, unknown, or breaks a rule; `field`, `value` and `rule` say which.

    Examples
    --------
    >>> stub = {"type": "letta_approval", "tool_call_id": "call_1", "name": "delete_file"}
    >>> fill_letta(stub, {"approve": False, "reason": "wrong file"})
    {'type': 'approval', 'tool_call_id': 'call_1', 'approve': False, 'reason': 'wrong file'}
    >>> fill_letta(stub, {"output": "18 °C"})["status"]
    'success'
    """
    kind = LETTA_KINDS[stub["type"]]
    given = {name: value for name, value in fields.items() if value is not None}
    for name in given:
        if name not in (*_DECISION, *_RESULT):
            checks.refuse_unknown("", name, [*_DECISION, *_RESULT], kind.type)
    decision = [name for name in _DECISION if name in given]
    result = [name for name in _RESULT if name in fields and (name == "output" or name in given)]
    if decision and result:
        rule = "a decision and a result exclude each other"
        msg = f"{decision[0]} and {result[0]} are both given: {rule}. Give one of them."
        raise InvalidInput(msg, field=result[0], value=fields[result[0]], rule=rule)
    key = checks.text(stub.get("tool_call_id"), "tool_call_id", at_least=1)
    if result:
        return _returned(key, fields)
    return _decided(key, given, own=kind.type == "letta_tool_return")


def _decided(key: str, given: dict[str, Any], *, own: bool) -> dict[str, Any]:
    if "approve" not in given:
        wanted = "a result in output, or approve=False" if own else "approve: True or False"
        checks.refuse_missing("output" if own else "approve", f"it needs {wanted}")
    approve = given["approve"]
    if not isinstance(approve, bool):
        checks.refuse("approve", approve, "it must be True or False")
    if own and approve:
        rule = "the service does not have the tool: approving it gives “Tool not found”"
        msg = f"approve is True, but this call is one of the client's own tools, and {rule}."
        raise InvalidInput(msg + " Give its output.", field="approve", value=approve, rule=rule)
    made = {"type": "approval", "tool_call_id": key, "approve": approve}
    if "reason" in given:
        made["reason"] = plain(checks.text(given["reason"], "reason"), "reason")
    return made


def _returned(key: str, fields: dict[str, Any]) -> dict[str, Any]:
    if "output" not in fields:
        checks.refuse_missing("output", "a result is text, or a list of content parts")
    status = checks.one_of(fields.get("status") or "success", _WORDS, "status")
    value = plain(fields["output"], "output")
    if isinstance(value, list) and any(map(_is_part, value)):
        value = content_of(value, "output")
        if status == "error":
            rule = "the service keeps a list with status 'error' as a success"
            msg = f"output is a list of content parts, and {rule}. Give the failure as text."
            raise InvalidInput(msg, field="output", value=value, rule=rule)
    elif not isinstance(value, str):
        value = json_text(value, "output")
    made: dict[str, Any] = {
        "type": "tool",
        "tool_call_id": key,
        "tool_return": value,
        "status": status,
    }
    for name in ("stdout", "stderr"):
        if fields.get(name):
            made[name] = _lines(fields[name], name)
    return made


def _is_part(value: object) -> bool:
    kind = str(value.get("type", "")) if isinstance(value, dict) else ""
    return kind in ("text", "image") or kind.startswith("input_")


def _lines(value: object, name: str) -> list[str]:
    """What a tool wrote: a text, or a list of texts."""
    lines = [value] if isinstance(value, str) else value
    if not isinstance(lines, list | tuple) or not all(isinstance(one, str) for one in lines):
        rule = "a text, or a list of texts"
        msg = f"{name} is {shown(value)}: it must be {rule}."
        raise InvalidInput(msg, field=name, value=value, rule=rule)
    return [str(plain(one, name)) for one in lines]
