"""One reading of the several shapes in which a service reports an error (1.5)."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

__all__ = ["ErrorFields", "read_error"]


class ErrorFields(NamedTuple):
    """What an error says of itself. A field is None where the service did not give it.

    Attributes
    ----------
    code, param, type : str or None
        As the service wrote them; codes are an open list.
    message : str
        For people; empty where there is none.
    status : int or None
        The HTTP-like status.
    headers : dict of str to str
        Such as ``retry-after``; empty where there are none.
    """

    code: str | None = None
    message: str = ""
    param: str | None = None
    type: str | None = None
    status: int | None = None
    headers: dict[str, str] = {}  # noqa: RUF012 - a default that nobody changes


_WRAPPERS: Final = ("error", "response", "detail", "body", "cause", "inner_error", "data")
_DEPTH: Final = 6


def read_error(payload: dict[str, Any]) -> ErrorFields:
    """Find the error in an event, nested, flat, or wrapped by a proxy.

    Parameters
    ----------
    payload : dict
        A decoded event.

    Returns
    -------
    ErrorFields
        The innermost object that has a code wins; each other field comes from the nearest object
        around it that has one.

    Examples
    --------
    >>> read_error({"type": "error", "status": 400, "error": {"code": "x", "message": "no"}})[:2]
    ('x', 'no')
    >>> read_error({"type": "error", "code": "x", "message": "no", "status_code": 429}).status
    429
    """
    chain = _chain(payload, 0)
    code: str | None = None
    message = ""
    param: str | None = None
    kind: str | None = None
    status: int | None = None
    headers: dict[str, str] = {}
    for depth, level in reversed(list(enumerate(chain))):
        code = code or _word(level.get("code"))
        message = message or _text(level.get("message")) or ""
        param = param or _text(level.get("param"))
        if depth:  # at the outside, `type` is the event's own
            kind = kind or _text(level.get("type"))
        status = status or _number(level.get("status")) or _number(level.get("status_code"))
        headers = headers or _headers(level.get("headers"))
    return ErrorFields(code, message, param, kind, status, headers)


def _chain(level: dict[str, Any], depth: int) -> list[dict[str, Any]]:
    """List the objects from the event inwards to the error itself."""
    if depth >= _DEPTH:
        return [level]
    for name in _WRAPPERS:
        inner = level.get(name)
        if isinstance(inner, dict):
            return [level, *_chain(inner, depth + 1)]
        if isinstance(inner, str) and name == "error":
            return [level, *_chain({"message": inner}, depth + 1)]
    quoted = _quoted(level.get("message"))
    return [level, *_chain(quoted, depth + 1)] if quoted else [level]


def _quoted(message: object) -> dict[str, Any]:
    """Read an error that a proxy put into the message as JSON text."""
    if not (isinstance(message, str) and message.lstrip().startswith("{")):
        return {}
    try:
        value = json.loads(message)
    except (ValueError, RecursionError):
        return {}  # just a message that begins with a brace
    return value if isinstance(value, dict) and ("error" in value or "code" in value) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _word(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(value)


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _headers(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {str(key): str(inner) for key, inner in value.items()}
