"""JSON both ways: reading whatever a server or a file holds, writing only what is legal."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from steer_nb.errors import InvalidInput

__all__ = ["check_value", "encode", "joined", "json_text", "loads", "plain", "shown"]

_DIGITS: Final = 4000  # Python refuses to turn longer numbers into int (and back) since 3.11


def loads(text: str) -> tuple[Any, tuple[str, str] | None]:
    r"""Read JSON as leniently as is safe, and say what was odd about it.

    Accepts what strict decoders refuse and real recordings hold: lone surrogate escapes
    (``\ud83d``), ``NaN`` and ``Infinity``, numbers out of range.

    Parameters
    ----------
    text : str
        One JSON value.

    Returns
    -------
    value : object
        The decoded value. Whole numbers of more than 4000 digits stay text.
    note : tuple of (str, str) or None
        What was odd: ``("nan" | "number" | "surrogate", detail)``.

    Raises
    ------
    ValueError
        The text is not JSON.
    RecursionError
        It is nested too deeply to read.
    """
    notes: list[tuple[str, str]] = []

    def constant(word: str) -> float:
        notes.append(("nan", f"{word} is no JSON number"))
        return float(word)

    def real(digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            notes.append(("nan", f"{_trim(digits)} is out of range"))
        return number

    def whole(digits: str) -> int | str:
        if len(digits) > _DIGITS:
            notes.append(("number", f"a number of {len(digits)} digits was kept as text"))
            return digits
        return int(digits)

    value = json.loads(text, parse_constant=constant, parse_float=real, parse_int=whole)
    if not notes and ("\\u" in text or not text.isascii()):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(error.object[error.start]):04x}"
            notes.append(("surrogate", f"half a character ({half}) stands alone"))
    return value, notes[0] if notes else None


def encode(request: dict[str, Any]) -> str:
    """Write a request as the compact JSON text that goes on the wire.

    Parameters
    ----------
    request : dict
        What `response_create` or `response_steer` gave.

    Returns
    -------
    str
        JSON without spaces, other characters than ASCII as they are.

    Raises
    ------
    InvalidInput
        Something in it is no JSON value; the message names its path.

    Examples
    --------
    >>> encode({"type": "response.create", "input": "Olá"})
    '{"type":"response.create","input":"Olá"}'
    """
    return json_text(request, path="")


def json_text(value: object, path: str = "input") -> str:
    """Write any JSON value as compact text; see `check_value` for what is refused."""
    check_value(value, path)
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def check_value(value: object, path: str = "input") -> None:
    r"""Refuse what JSON cannot carry, with the path of the bad value.

    Parameters
    ----------
    value : object
        Any Python value.
    path : str
        How messages call `value` itself.

    Raises
    ------
    InvalidInput
        NaN or an infinity; a value that is no dict, list, str, number, bool or None; a key that
        is no str; text with half a surrogate pair; a number of thousands of digits; a structure
        that contains itself or is nested more than 200 deep.

    Examples
    --------
    >>> check_value([1.0, float("nan")], path="mean")
    Traceback (most recent call last):
        ...
    steer_nb.errors.InvalidInput: mean[1] is nan: JSON has no such number. Give null (None) instead.
    """
    plain(value, path)


_DEPTH: Final = 200
_BITS: Final = 13_000  # a little under `_DIGITS`


def plain(value: object, path: str = "input", depth: int = 0) -> Any:
    """Copy a JSON value into dicts and lists of its own, refusing what `check_value` refuses."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        if value.bit_length() > _BITS:
            raise _bad(
                path, None, f"has more than {_DIGITS - 100} digits", "a shorter number, or text"
            )
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _bad(
                path, value, f"is {float(value)}: JSON has no such number", "null (None) instead"
            )
        return float(value)
    if isinstance(value, dict | list | tuple):
        if depth >= _DEPTH:
            fault = f"is nested more than {_DEPTH} deep, or contains itself"
            raise _bad(path, None, fault, "a flatter value")
        if isinstance(value, dict):
            copy = {}
            for key, inner in value.items():
                if not isinstance(key, str):
                    fault = f"has the key {shown(key)}, and JSON keys are text"
                    raise _bad(path, key, fault, "str keys")
                name = _text(key, f"a key of {path or 'the request'}")
                copy[name] = plain(inner, joined(path, name), depth + 1)
            return copy
        return [plain(inner, f"{path}[{at}]", depth + 1) for at, inner in enumerate(value)]
    fault = f"is of type {type(value).__name__}, which JSON cannot say"
    raise _bad(path, value, fault, "a dict, list, str, int, float, bool or None")


def _text(text: str, path: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            half = f"\\u{ord(text[error.start]):04x}"
            raise _bad(
                path,
                text,
                f"holds half a character ({half} at position {error.start}), "
                "which cannot be sent as UTF-8",
                "text without it, for example text.encode('utf-8', 'replace').decode()",
            ) from None
    return str.__str__(text)


def _bad(path: str, value: object, fault: str, instead: str) -> InvalidInput:
    msg = f"{path or 'the request'} {fault}. Give {instead}."
    return InvalidInput(msg, field=path, value=value, rule=fault)


def joined(path: str, key: str) -> str:
    """Extend a path by a key: ``a.b``, or ``a['odd key']`` where a dot would mislead."""
    if 0 < len(key) <= 64 and key.isprintable() and not set(key) & _ODD_IN_PATH:
        return f"{path}.{key}" if path else key
    return f"{path}[{shown(key)}]"


_ODD_IN_PATH: Final = frozenset(" .[]'\":")


def shown(value: object, limit: int = 60) -> str:
    """Show a value in a message, cut to `limit` characters."""
    if isinstance(value, str) and len(value) > 4 * limit:
        value = value[: 4 * limit]  # repr of a screenshot's data URL would be megabytes
    try:
        return _trim(repr(value), limit)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} too large to show"  # thousands of digits, or levels


def _trim(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
