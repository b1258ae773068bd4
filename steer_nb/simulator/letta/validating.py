"""What a malformed body is told: the list of errors that the server's models make of it (422).

The texts are those of Pydantic, which the server prints as a Python list (chapter 7). Each message
is held against all three kinds that there are; where none fits, the errors of all three are told.
"""

from __future__ import annotations

from typing import Any, Final

from steer_nb.simulator.letta.trouble import Refused

__all__ = ["Fault422", "check_messages", "checked", "kind_of", "refuse_body"]

Fault422 = dict[str, Any]
Loc = tuple[str | int, ...]

_MESSAGE: Final = "function-after[generate_otid_if_missing(), MessageCreate]"
_APPROVAL: Final = (
    "function-after[migrate_deprecated_fields(), "
    "function-after[generate_otid_if_missing(), ApprovalCreate]]"
)
_RETURN: Final = "function-after[generate_otid_if_missing(), ToolReturnCreate]"
_ROLES: Final = ("user", "system", "assistant")
_STATUSES: Final = ("success", "error")
_LEGACY: Final = ("approve", "approval_request_id")


def refuse_body(errors: list[Fault422]) -> Refused:
    """Refuse a body with what is wrong with it."""
    refused = Refused(422, str(errors))
    refused.body = {"trace_id": "", **refused.body}
    return refused


def checked(body: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """Hold an object's plain fields against their types; missing ones get their defaults.

    Parameters
    ----------
    body : object
        What JSON held.
    fields : dict
        The default of each; its type is what is asked for, and null where it is None.

    Raises
    ------
    Refused
        With 422.
    """
    if not isinstance(body, dict):
        raise refuse_body([_fault("model_attributes_type", ("body",), _NO_OBJECT, body)])
    errors = []
    for name, default in fields.items():
        value = body.get(name, default)
        if isinstance(default, bool) and not isinstance(value, bool):
            msg = "Input should be a valid boolean"
            errors.append(_fault("bool_type", ("body", name), msg, value))
        elif (
            isinstance(default, int)
            and not isinstance(default, bool)
            and (isinstance(value, bool) or not isinstance(value, int))
        ):
            msg = "Input should be a valid integer"
            errors.append(_fault("int_type", ("body", name), msg, value))
    if errors:
        raise refuse_body(errors)
    return {name: body.get(name, default) for name, default in fields.items()}


def kind_of(message: dict[str, Any]) -> str:
    """Say which kind of message is meant; one without a type is an approval by its old fields."""
    if message.get("type") is not None:
        return str(message["type"])
    return "approval" if any(name in message for name in _LEGACY) else "message"


def check_messages(messages: Any) -> list[Fault422]:
    """Give what is wrong with a list of messages.

    Examples
    --------
    >>> [one["loc"][-1] for one in check_messages([{"role": "user"}])]
    ['content', 'type', 'type', 'tool_returns']
    """
    if not isinstance(messages, list):
        return [_fault("list_type", ("body", "messages"), "Input should be a valid list", messages)]
    errors = []
    for index, message in enumerate(messages):
        loc: Loc = ("body", "messages", index)
        if not isinstance(message, dict):
            errors += [
                _fault("model_attributes_type", (*loc, kind), _NO_OBJECT, message)
                for kind in (_MESSAGE, _APPROVAL, _RETURN)
            ]
            continue
        told = message if "type" in message else {**message, "type": kind_of(message)}
        found = [
            _message((*loc, _MESSAGE), told),
            _approval((*loc, _APPROVAL), told),
            _return((*loc, _RETURN), told),
        ]
        if all(found):
            errors += [one for kind in found for one in kind]
    return errors


def _message(loc: Loc, given: dict[str, Any]) -> list[Fault422]:
    errors = []
    if given.get("type") not in (None, "message"):
        errors.append(_not_type(loc, "message", given["type"]))
    errors += _missing(loc, given, "role")
    if "role" in given and given["role"] not in _ROLES:
        errors.append(_choice((*loc, "role"), _ROLES, given["role"]))
    errors += _missing(loc, given, "content")
    if "content" in given and not isinstance(given["content"], str | list):
        errors.append(_text((*loc, "content", "str"), given["content"]))
    return errors + _otid(loc, given)


def _approval(loc: Loc, given: dict[str, Any]) -> list[Fault422]:
    errors = []
    if given.get("type", "approval") != "approval":
        errors.append(_not_type(loc, "approval", given["type"]))
    errors += _otid(loc, given)
    approvals = given.get("approvals")
    if approvals is not None:
        errors += _elements((*loc, "approvals"), approvals, ("approval", "tool"))
    if given.get("approve") is not None and not isinstance(given["approve"], bool):
        msg = "Input should be a valid boolean"
        errors.append(_fault("bool_type", (*loc, "approve"), msg, given["approve"]))
    for name in ("approval_request_id", "reason"):
        if given.get(name) is not None and not isinstance(given[name], str):
            errors.append(_text((*loc, name), given[name]))
    return errors


def _return(loc: Loc, given: dict[str, Any]) -> list[Fault422]:
    errors = []
    if given.get("type", "tool_return") != "tool_return":
        errors.append(_not_type(loc, "tool_return", given["type"]))
    errors += _otid(loc, given) + _missing(loc, given, "tool_returns")
    if "tool_returns" in given:
        errors += _elements((*loc, "tool_returns"), given["tool_returns"], ("tool",))
    return errors


def _elements(loc: Loc, given: Any, kinds: tuple[str, ...]) -> list[Fault422]:
    if not isinstance(given, list):
        return [_fault("list_type", loc, "Input should be a valid list", given)]
    errors = []
    for index, one in enumerate(given):
        at: Loc = (*loc, index)
        if not isinstance(one, dict):
            errors.append(_fault("model_attributes_type", at, _NO_OBJECT, one))
        elif len(kinds) == 1:  # no union: the type may be left out
            errors += _ELEMENTS[kinds[0]](at, one)
        elif one.get("type") is None:
            errors.append(
                _fault(
                    "union_tag_not_found",
                    at,
                    "Unable to extract tag using discriminator 'type'",
                    one,
                    discriminator="'type'",
                )
            )
        elif one["type"] not in kinds:
            expected = ", ".join(map(repr, kinds))
            msg = (
                f"Input tag '{one['type']}' found using 'type' does not match any of the expected "
                f"tags: {expected}"
            )
            more = {"discriminator": "'type'", "tag": one["type"], "expected_tags": expected}
            errors.append(_fault("union_tag_invalid", at, msg, one, **more))
        else:
            errors += _ELEMENTS[one["type"]]((*at, one["type"]), one)
    return errors


def _decision(loc: Loc, given: dict[str, Any]) -> list[Fault422]:
    errors = _missing(loc, given, "tool_call_id")
    if "tool_call_id" in given and not isinstance(given["tool_call_id"], str):
        errors.append(_text((*loc, "tool_call_id"), given["tool_call_id"]))
    errors += _missing(loc, given, "approve")
    if "approve" in given and not isinstance(given["approve"], bool):
        msg = "Input should be a valid boolean"
        errors.append(_fault("bool_type", (*loc, "approve"), msg, given["approve"]))
    if given.get("reason") is not None and not isinstance(given["reason"], str):
        errors.append(_text((*loc, "reason"), given["reason"]))
    return errors


def _result(loc: Loc, given: dict[str, Any]) -> list[Fault422]:
    errors = _missing(loc, given, "tool_return")
    if "tool_return" in given and not isinstance(given["tool_return"], str | list):
        errors.append(_text((*loc, "tool_return", "str"), given["tool_return"]))
    errors += _missing(loc, given, "status")
    if "status" in given and given["status"] not in _STATUSES:
        errors.append(_choice((*loc, "status"), _STATUSES, given["status"]))
    errors += _missing(loc, given, "tool_call_id")
    if "tool_call_id" in given and not isinstance(given["tool_call_id"], str):
        errors.append(_text((*loc, "tool_call_id"), given["tool_call_id"]))
    for name in ("stdout", "stderr"):
        value = given.get(name)
        if value is None:
            continue
        if not isinstance(value, list):
            errors.append(_fault("list_type", (*loc, name), "Input should be a valid list", value))
        else:
            errors += [
                _text((*loc, name, at), line)
                for at, line in enumerate(value)
                if not isinstance(line, str)
            ]
    return errors


_ELEMENTS: Final = {"approval": _decision, "tool": _result}
_NO_OBJECT: Final = "Input should be a valid dictionary or object to extract fields from"


# The errors themselves


def _fault(kind: str, loc: Loc, msg: str, given: Any, **ctx: Any) -> Fault422:
    fault: Fault422 = {"type": kind, "loc": loc, "msg": msg, "input": given}
    return {**fault, "ctx": ctx} if ctx else fault


def _not_type(loc: Loc, word: str, given: Any) -> Fault422:
    member = f"<MessageCreateType.{word}: '{word}'>"
    msg = f"Input should be {member}"
    return _fault("literal_error", (*loc, "type"), msg, given, expected=member)


def _missing(loc: Loc, given: dict[str, Any], name: str) -> list[Fault422]:
    if name in given:
        return []
    return [_fault("missing", (*loc, name), "Field required", given)]


def _text(loc: Loc, given: Any) -> Fault422:
    return _fault("string_type", loc, "Input should be a valid string", given)


def _choice(loc: Loc, words: tuple[str, ...], given: Any) -> Fault422:
    quoted = [repr(word) for word in words]
    expected = f"{', '.join(quoted[:-1])} or {quoted[-1]}"
    return _fault("literal_error", loc, f"Input should be {expected}", given, expected=expected)


def _otid(loc: Loc, given: dict[str, Any]) -> list[Fault422]:
    if given.get("otid") is not None and not isinstance(given["otid"], str):
        return [_text((*loc, "otid"), given["otid"])]
    return []
