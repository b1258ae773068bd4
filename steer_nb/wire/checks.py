"""Small checks that every request and every filled stub is made of.

Each refuses with one line that names the field, its value, the rule and what to do.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, NoReturn

from steer_nb.errors import InvalidInput
from steer_nb.wire.jsonio import joined, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = [
    "known_keys",
    "one_of",
    "refuse",
    "refuse_missing",
    "refuse_unknown",
    "text",
    "whole",
]


def refuse(path: str, value: object, rule: str, advice: str = "") -> NoReturn:
    """Raise `InvalidInput` for a value that breaks a rule."""
    msg = f"{path} is {shown(value)}: {rule}." + (f" {advice}" if advice else "")
    raise InvalidInput(msg, field=path, value=value, rule=rule)


def refuse_missing(path: str, rule: str) -> NoReturn:
    """Raise `InvalidInput` for a value that is not there."""
    msg = f"{path} is missing: {rule}."
    raise InvalidInput(msg, field=path, value=None, rule=rule)


def refuse_unknown(path: str, name: str, allowed: Iterable[str], what: str) -> NoReturn:
    """Raise `InvalidInput` for a field that `what` does not have, and name the nearest."""
    words = sorted(allowed)
    rule = f"{what} takes {', '.join(words)}"
    near = difflib.get_close_matches(name, words, n=1)
    advice = f"{what} has no such field. Did you mean {near[0]!r}?" if near else f"{rule}."
    where = joined(path, name)
    msg = f"{where} is unknown: {advice}"
    raise InvalidInput(msg, field=where, value=name, rule=rule)


def known_keys(value: dict[str, Any], allowed: Collection[str], path: str, what: str) -> None:
    """Refuse keys that `what` does not have."""
    for key in value:
        if key not in allowed:
            refuse_unknown(path, key, allowed, what)


def text(
    value: object, path: str, *, limit: int | None = None, at_least: int = 0, what: str = "text"
) -> str:
    """Refuse what is not text of the length allowed."""
    rule = f"it must be {what}"
    if limit is not None and at_least:
        rule += f" of {at_least} to {limit:,} characters"
    elif limit is not None:
        rule += f" of at most {limit:,} characters"
    elif at_least:
        rule += ", not empty"
    if not isinstance(value, str):
        refuse(path, value, rule, "Give a str.")
    if len(value) < at_least:
        refuse(path, value, rule)
    if limit is not None and len(value) > limit:
        msg = f"{path} has {len(value):,} characters: {rule}. Shorten it."
        raise InvalidInput(msg, field=path, value=value, rule=rule)
    return value


def one_of(value: object, choices: Iterable[str], path: str) -> str:
    """Refuse what is none of the words allowed."""
    words = tuple(choices)
    if isinstance(value, str) and value in words:
        return value
    listed = ", ".join(repr(word) for word in words[:-1])
    rule = f"it must be {listed} or {words[-1]!r}" if listed else f"it must be {words[0]!r}"
    refuse(path, value, rule)


def whole(value: object, path: str, *, at_least: int | None = None) -> int:
    """Refuse what is no whole number (True and False are none)."""
    rule = "it must be a whole number" + (f" of {at_least} or more" if at_least is not None else "")
    if not isinstance(value, int) or isinstance(value, bool):
        refuse(path, value, rule)
    if at_least is not None and value < at_least:
        refuse(path, value, rule)
    return value
