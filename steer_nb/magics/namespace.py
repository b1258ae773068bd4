"""Names on a magic line to the person's own Python values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from steer_nb.magics.parsing import refuse
from steer_nb.magics.reader import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["find_tools", "find_values"]


def find_values(names: Iterable[str], namespaces: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Look names up, the nearest namespace first.

    Raises
    ------
    Mistake
        A name is not defined.
    """
    from steer_nb.client.inputs import answer_output

    spaces, values = list(namespaces), list[Any]()
    for name in names:
        value = _find(name, spaces, "--vars")
        if isinstance(value, list | tuple):
            turned = answer_output(value, name)
            if turned is not value:  # pictures, tables and files, not plain data
                values += turned
                continue
        values.append(_content(value, name))
    return values


def _content(value: Any, name: str) -> Any:
    """Make text of plain data, which has no other form to be sent in; leave the rest alone."""
    plain = isinstance(value, bool | int | float | list | tuple | dict) or value is None
    if not plain or (isinstance(value, dict) and isinstance(value.get("type"), str)):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as problem:
        return refuse(f"--vars: {name} cannot be written as JSON ({problem}).", name)


def find_tools(names: Iterable[str], namespaces: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Look tools up: functions, tools of steer_nb, and the wire's own dicts.

    Raises
    ------
    Mistake
        A name is not defined, or is nothing that a model could call.
    """
    spaces = list(namespaces)
    tools = []
    for name in names:
        value = _find(name, spaces, "--tools")
        if not (callable(value) or hasattr(value, "definition") or isinstance(value, dict)):
            refuse(
                f"--tools: {name} is of type {type(value).__name__}; a tool is a function, "
                "a steer_nb.tool, or a dict with the tool's definition.",
                name,
            )
        tools.append(value)
    return tools


def _find(name: str, namespaces: list[Mapping[str, Any]], option: str) -> Any:
    for namespace in namespaces:
        if name in namespace:
            return namespace[name]
    known = [
        key
        for space in namespaces
        for key, value in space.items()
        if not key.startswith("_") and callable(value) == (option == "--tools")
    ]
    near = did_you_mean(name, known)
    what = "a function" if option == "--tools" else "a value"
    return refuse(f"{option}: there is no {name!r} here.{near} Define {what} of that name.", name)
