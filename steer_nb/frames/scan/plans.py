"""What no file can say alone: whether another holds the same trace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from steer_nb.trace.readers.loading import Gathering, claim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steer_nb.trace import Problem

__all__ = ["Fate", "claims", "plan"]


@dataclass(frozen=True)
class Fate:
    """What becomes of a file that is of the same trace as another.

    Attributes
    ----------
    file : str or None
        Which file is read in its place: mostly itself; None, where another one holds all of it.
    trace_id : str
        The id that the trace gets.
    problems : tuple of Problem
        What is said of the file, and not of the trace.
    """

    file: str | None
    trace_id: str
    problems: tuple[Problem, ...]


def claims(files: Sequence[str], base: str) -> list[str | None]:
    """Say of each file of which trace it is; None of one that cannot be opened."""
    return [claim(Path(file), Path(base)) for file in files]


def plan(
    files: Sequence[Sequence[str]],
    claimed: Sequence[Sequence[str | None]],
    base: str,
    strict: bool,
) -> dict[str, Fate]:
    """Decide what becomes of files that are of one trace, as `load` decides it.

    Only these are read here, so that they can be compared: all others are not mentioned.

    Parameters
    ----------
    files : sequence
        The files of each partition.
    claimed : sequence
        What `claims` said of them.
    base : str
        From where relative names go.
    strict : bool
        Raise where there are any.

    Raises
    ------
    TraceError
        With `strict`, where a trace is there twice.
    """
    groups: dict[str, list[str]] = {}
    for names, ids in zip(files, claimed, strict=True):
        for name, trace_id in zip(names, ids, strict=True):
            if trace_id is not None:
                groups.setdefault(trace_id, []).append(name)
    fates: dict[str, Fate] = {}
    for group in groups.values():
        if len(group) > 1:
            fates |= _decided(group, base, strict)
    return fates


def _decided(group: list[str], base: str, strict: bool) -> Mapping[str, Fate]:
    gathering = Gathering(strict=strict, base=Path(base))
    places: list[str] = []  # the file in whose place each trace stands
    said: dict[str, tuple[Problem, ...]] = {}
    for name in group:
        known = len(gathering.problems)
        gathering.take(Path(name))
        said[name] = tuple(gathering.problems[known:])
        if len(gathering.traces) > len(places):
            places.append(name)
    fates = {name: Fate(None, "", problems) for name, problems in said.items()}
    for name, trace in zip(places, gathering.traces, strict=True):
        fates[name] = Fate(trace.file, trace.trace_id, said[name])
    return fates
