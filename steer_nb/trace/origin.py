"""What a trace knows of the recording it was read from, and how a saved copy keeps that."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.trace.entries import Entry, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.trace.log import Trace

__all__ = ["ORIGIN", "Origin", "Places", "origin_of", "origin_told"]

ORIGIN: Final = "recording"
"""The note of a saved trace that says what it was read from."""


class Places:
    """Where the entries of a recording stood in its file: a number for each, in even steps mostly.

    Parameters
    ----------
    unit : {"line", "entry"}
        What the numbers count: lines, or the entries of a list, such as a cassette's interactions.
    runs : sequence of (int, int, int), optional
        As `runs` gives them.
    length : int
        How many there are in these.

    Examples
    --------
    >>> places = Places()
    >>> for line in (0, 2, 5, 8):  # a note that stood nowhere, and messages of a stream
    ...     places.add(line)
    >>> places.add(9, 2)
    >>> list(places), places.runs
    ([0, 2, 5, 8, 9, 10], [(0, 0, 2), (2, 5, 3), (4, 9, 1)])
    """

    def __init__(
        self, unit: str = "line", runs: Sequence[tuple[int, int, int]] = (), length: int = 0
    ) -> None:
        self.unit = unit
        self._starts = array("q", [run[0] for run in runs])
        self._first = array("q", [run[1] for run in runs])
        self._steps = array("q", [run[2] for run in runs])
        self._length = length

    @property
    def runs(self) -> list[tuple[int, int, int]]:
        """Where each run begins, its first number, and the step from one to the next."""
        return list(zip(self._starts, self._first, self._steps, strict=True))

    def add(self, first: int, count: int = 1) -> None:
        """Say where the next entries stood: from 1, one behind the other; 0 for nowhere."""
        if self._starts and count == 1:
            since = self._length - self._starts[-1]
            if since == 1:
                self._steps[-1] = first - self._first[-1]
            if self._first[-1] + since * self._steps[-1] == first:
                self._length += 1
                return
        self._starts.append(self._length)
        self._first.append(first)
        self._steps.append(1)
        self._length += count

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self._length:
            msg = f"{self._length} entries have places; there is no entry {index}."
            raise IndexError(msg)
        run = bisect_right(self._starts, index) - 1
        return self._first[run] + (index - self._starts[run]) * self._steps[run]

    def located(self, problem: Problem) -> Problem:
        """Say of a problem where in the file it was seen."""
        seq = problem.seq
        if seq is None or problem.line is not None or not 0 <= seq < len(self):
            return problem
        line = self[seq] or None
        detail = problem.detail
        if self.unit == "entry" and line is not None:
            detail = f"entry {line}: {detail}"
        return msgspec.structs.replace(problem, line=line, detail=detail)


class Origin(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a saved trace says of the recording that it was read from.

    Attributes
    ----------
    file : str or None
        The recording.
    problems : tuple of Problem
        What was odd about it.
    unit : str or None
        What its places count; None where they are not known.
    runs : tuple of (int, int, int)
        Its places, as `Places.runs` gives them.
    length : int
        How many places there are.
    """

    file: str | None = None
    problems: tuple[Problem, ...] = ()
    unit: str | None = None
    runs: tuple[tuple[int, int, int], ...] = ()
    length: int = 0


def origin_of(trace: Trace) -> Entry | None:
    """Give the note that keeps what a trace knows of its recording; None where there is nothing."""
    file, places = trace.recording or trace.file, trace.places
    # A trace of our own is the same wherever it is saved.
    if not trace.file_problems and (trace.header.source == "live" or file is None):
        return None
    problems = tuple(map(trace.located, trace.file_problems))
    origin = Origin(file, problems)
    if places is not None:
        origin = Origin(file, problems, places.unit, tuple(places.runs), len(places))
    data: dict[str, Any] = msgspec.to_builtins(origin)
    # No entry of the trace itself: it has no number there, and readers take it out again.
    return Entry(-1, None, None, "note", note=ORIGIN, data=data)


def origin_told(entry: Entry) -> Origin | None:
    """Read the note that `origin_of` gave; None for any other entry."""
    if entry.kind != "note" or entry.note != ORIGIN or entry.seq >= 0:
        return None
    try:
        return msgspec.convert(entry.data or {}, Origin)
    except msgspec.ValidationError:
        return None
