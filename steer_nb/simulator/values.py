"""Values of options and faults: as people type them, and what their types allow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import NoneType
from typing import Any, Literal, get_args, get_origin

__all__ = ["broken_rule", "typed"]

_PLAIN = {"none": None, "null": None, "true": True, "false": False}


def typed(word: str, hint: Any) -> Any:
    """Give a typed word the type that its place takes; what does not fit stays a text.

    Examples
    --------
    >>> typed("4", int), typed("4", str | None), typed("none", int | None), typed("a,b", tuple[str])
    (4, '4', None, ('a', 'b'))
    """
    kind = get_origin(hint)
    kinds = get_args(hint) or (hint,)
    if kind is Literal:
        return word
    if kind is tuple:
        return tuple(part.strip() for part in word.split(",") if part.strip())
    if any(get_origin(one) is Mapping for one in kinds):
        try:
            return json.loads(word)
        except ValueError:
            return word
    if word.lower() in _PLAIN and (kinds != (str,)):
        return _PLAIN[word.lower()]
    if str in kinds:
        return word
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word


def broken_rule(value: Any, hint: Any) -> str | None:
    """Say what a value must be, where it is not.

    Examples
    --------
    >>> broken_rule(-1, int)
    'a whole number, 0 or more'
    >>> broken_rule(None, int | None)
    """
    kind = get_origin(hint)
    if kind is Literal:
        words = get_args(hint)
        return None if value in words else f"one of {', '.join(map(repr, words))}"
    if kind is tuple:
        fine = isinstance(value, tuple) and all(isinstance(word, str) for word in value)
        return None if fine else "a tuple of texts"
    kinds = get_args(hint) or (hint,)
    if (value is None and NoneType in kinds) or (bool in kinds and isinstance(value, bool)):
        return None
    if any(get_origin(one) is Mapping for one in kinds):
        return None if isinstance(value, Mapping) else "a mapping"
    if str in kinds:
        fine = isinstance(value, str)
        return None if fine else "a text, or None" if NoneType in kinds else "a text"
    if bool in kinds:
        return "True or False"
    numbers = (int, float) if float in kinds else int
    if isinstance(value, numbers) and not isinstance(value, bool) and value >= 0:
        return None
    return "a number, 0 or more" if float in kinds else "a whole number, 0 or more"
