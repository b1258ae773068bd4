"""JSON both ways: reading whatever a server or a file holds, writing only what is legal."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from steer_nb.errors import InvalidInput

__all__ = ["check_value", "encode", "loads", "shown"]

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
        JSON without spaces, non-ASCII characters as they are.

    Raises
    ------
    InvalidInput
        Something in it is no JSON value; the message names its path.

    Examples
    --------
    >>> encode({"type": "response.create", "input": "Olá"})
    '{"type":"response.create","input":"Olá"}'
    """
    check_value(request, path="")
    return json.dumps(request, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


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
        is no str; text with half a surrogate pair; a structure that contains itself or is
        nested more than 200 deep.

    Examples
    --------
    >>> check_value({"mean": [1.0, float("nan")]}, path="output")
    Traceback (most recent call last):
        ...
    steer_nb.errors.InvalidInput: output.mean[1] is nan, which JSON cannot carry: give null (None) \
or a number instead.
    """
    _check(value, path, 0)


_DEPTH: Final = 200


def _check(value: object, path: str, depth: int) -> None:
    if value is None or value is True or value is False:
        return
    kind = type(value)
    if kind is str:
        _check_text(value, path)  # type: ignore[arg-type]
    elif kind is int:
        if abs(value) >= 10**_DIGITS:  # type: ignore[arg-type]
            _refuse(path, value, f"has more than {_DIGITS} digits", "a shorter number or text")
    elif kind is float:
        if not math.isfinite(value):  # type: ignore[arg-type]
            _refuse(
                path,
                value,
                f"is {value}, which JSON cannot carry",
                "null (None) or a number instead",
            )
    elif kind is dict or kind is list or kind is tuple:
        if depth >= _DEPTH:
            _refuse(
                path,
                None,
                f"is nested more than {_DEPTH} deep, or contains itself",
                "a flatter value",
            )
        if kind is dict:
            for key, inner in value.items():  # type: ignore[attr-defined]
                if type(key) is not str:
                    _refuse(
                        path,
                        key,
                        f"has the key {shown(key)}, and JSON keys are text",
                        "str keys",
                    )
                _check_text(key, f"a key of {path or 'the request'}")
                _check(inner, f"{path}.{key}" if path else key, depth + 1)
        else:
            for index, inner in enumerate(value):  # type: ignore[arg-type]
                _check(inner, f"{path}[{index}]", depth + 1)
    else:
        _refuse(
            path,
            value,
            f"is a {kind.__name__}, which JSON cannot carry",
            "a dict, list, str, int, float, bool or None",
        )


def _check_text(text: str, path: str) -> None:
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        _refuse(
            path,
            text,
            f"holds half a character ({half} at position {error.start}), "
            "which cannot be sent as UTF-8",
            "text without it, for example text.encode('utf-8', 'replace').decode()",
        )


def _refuse(path: str, value: object, fault: str, instead: str) -> None:
    where = path or "the request"
    msg = f"{where} {fault}: give {instead}."
    raise InvalidInput(msg, field=path, value=value, rule=fault)


def shown(value: object, limit: int = 60) -> str:
    """Show a value in a message, cut to `limit` characters."""
    if isinstance(value, str) and len(value) > 4 * limit:
        value = value[: 4 * limit]  # repr of a screenshot's data URL would be megabytes
    return _trim(repr(value), limit)


def _trim(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
