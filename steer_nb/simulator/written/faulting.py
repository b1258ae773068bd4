"""Faults in a scenario file: the step ``fault``, and the list ``faults``."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from steer_nb.errors import InvalidInput
from steer_nb.simulator.faults import FAULTS, Fault
from steer_nb.simulator.written.kinds import Kind, json_value
from steer_nb.simulator.written.nodes import ListNode, MapNode, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.simulator.written.nodes import Node

__all__ = ["FAULT_OPTIONS", "read_fault", "read_faults"]


def _options() -> dict[str, Kind]:
    """Every field of any fault, and which faults have it."""
    found: dict[str, list[str]] = {}
    says: dict[str, str] = {}
    for word, kind in FAULTS.items():
        for one in fields(kind):
            found.setdefault(one.name, []).append(word)
            says.setdefault(one.name, one.metadata["help"].rstrip("."))
    everywhere = len(FAULTS)
    return {
        name: Kind(
            says[name] if len(words) == everywhere else f"{says[name]} ({', '.join(words)})",
            json_value,
        )
        for name, words in found.items()
    }


FAULT_OPTIONS: Mapping[str, Kind] = _options()
"""What may stand beside the word of a fault; each fault takes some of them."""


def read_fault(node: Node, kind: type[Fault] = Fault) -> Fault:
    """Read one fault: a mapping with its word under ``fault``, and its fields beside it.

    Raises
    ------
    ScenarioError
        With the line.
    """
    if not isinstance(node, MapNode):
        node.refuse(f"a fault is a mapping such as 'fault: drop', not {shown(node)}.")
    values: dict[str, Any] = {name: json_value(value) for name, value in node.values.items()}
    try:
        return kind.of(values)
    except InvalidInput as error:
        place = node.keys if error.field not in values else node.values
        if error.rule == "a field of this fault":
            place = node.keys
        wrong = place.get(error.field, node)
        wrong.refuse(str(error), cause=error)


def read_faults(node: Node, kind: type[Fault] = Fault) -> tuple[Fault, ...]:
    """Read a list of faults, or one, of a dialect.

    Raises
    ------
    ScenarioError
        With the line.
    """
    items = node.items if isinstance(node, ListNode) else [node]
    if not items:
        node.refuse("this list of faults is empty; there must be at least one.")
    return tuple(read_fault(item, kind) for item in items)
