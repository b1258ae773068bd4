"""Values of options and faults: as people type them, and what their types allow."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from steer_nb.errors import InvalidInput

__all__ = ["SENDABLE_CODES", "broken_rule", "pairs", "typed"]

SENDABLE_CODES: Final = frozenset({1000, 1001, 1002, 1003, *range(1007, 1015), *range(3000, 5000)})
"""Close codes that may be sent (RFC 6455, 7.4); others only say that no close frame came."""

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
        return word.strip()
    if kind is tuple:
        return tuple(part.strip() for part in word.split(",") if part.strip())
    if any(get_origin(one) is Mapping for one in kinds):
        try:
            return json.loads(word)
        except ValueError:
            return word
    if word.strip().lower() in _PLAIN and kinds != (str,):
        return _PLAIN[word.strip().lower()]
    if str in kinds:
        return word
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            continue
    return word


def pairs(
    texts: Iterable[str], hints: Mapping[str, Any], what: str, unknown: Callable[[str, str], Any]
) -> dict[str, Any]:
    """Read ``NAME=VALUE`` as people type it; dashes in a name are as good as underscores.

    Parameters
    ----------
    texts : iterable of str
        The pairs.
    hints : mapping
        What each name takes.
    what : str
        What they belong to, as a sentence about one begins.
    unknown : callable
        Makes the error about a name that is none, of the name and its value.

    Raises
    ------
    InvalidInput
        A text is no pair, or a name is given twice or is none.

    Examples
    --------
    >>> pairs(["lane-limit=4"], {"lane_limit": int}, "An option", ValueError)
    {'lane_limit': 4}
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, word = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            msg = f"{what}: write NAME=VALUE, not {text!r}."
            raise InvalidInput(msg, field=name, value=text, rule="NAME=VALUE")
        if name not in hints:
            raise unknown(name, word)
        if name in values:
            msg = f"{what}: {name} is given twice."
            raise InvalidInput(msg, field=name, value=text, rule="once")
        values[name] = typed(word, hints[name])
    return values


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
