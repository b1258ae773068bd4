"""Every fault in words, for those who choose."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin, get_type_hints

from steer_nb.simulator.faults.fault import FAULTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.simulator.faults.fault import Fault

__all__ = ["FaultInfo", "FieldInfo", "list_faults"]

_LAST: Final = frozenset({"at", "times", "type", "stream_id", "connection"})


@dataclass(frozen=True)
class FieldInfo:
    """One field of a fault: its name, default, meaning, and the words it takes, if few."""

    name: str
    default: Any
    help: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class FaultInfo:
    """One fault: its word, what it does, and its fields."""

    name: str
    help: str
    fields: tuple[FieldInfo, ...]


def list_faults(faults: Mapping[str, type[Fault]] = FAULTS) -> list[FaultInfo]:
    """Describe every fault, of the Responses dialect or of another.

    Examples
    --------
    >>> [one.name for one in list_faults()][:2]
    ['drop', 'stall']
    """
    found = []
    for word, kind in faults.items():
        hints = get_type_hints(kind)
        infos = tuple(
            FieldInfo(
                one.name,
                one.default,
                one.metadata["help"],
                get_args(hints[one.name]) if get_origin(hints[one.name]) is Literal else (),
            )
            for one in sorted(fields(kind), key=lambda one: one.name in _LAST)
        )
        found.append(FaultInfo(word, kind.help, infos))
    return found
