"""The trace in memory: a header and entries that are only ever appended."""

from __future__ import annotations

import threading
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, overload

import msgspec

from steer_nb.trace.answers import HasFrames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike
    from typing import Any

    from steer_nb.frames import Frames
    from steer_nb.ledger import Ledger
    from steer_nb.trace.entries import Entry, Header, Problem

__all__ = ["Places", "Trace"]


class Places:
    """Where the entries of a recording stood in its file: a number for each, mostly in a row.

    Parameters
    ----------
    unit : {"line", "entry"}
        What the numbers count: lines, or the entries of a list, such as a cassette's interactions.

    Examples
    --------
    >>> places = Places()
    >>> places.add(0)  # a note that stood nowhere
    >>> places.add(1, 3)
    >>> len(places), list(places)
    (4, [0, 1, 2, 3])
    """

    def __init__(self, unit: str = "line") -> None:
        self.unit = unit
        self._starts = array("q")
        self._first = array("q")
        self._length = 0

    def add(self, first: int, count: int = 1) -> None:
        """Say where the next entries stood: from 1, one behind the other; 0 for nowhere."""
        if not self._first or first != self._first[-1] + self._length - self._starts[-1]:
            self._starts.append(self._length)
            self._first.append(first)
        self._length += count

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self._length:
            msg = f"{self._length} entries have places; there is no entry {index}."
            raise IndexError(msg)
        run = bisect_right(self._starts, index) - 1
        return self._first[run] + index - self._starts[run]

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


class Trace(HasFrames):
    """Everything that happened in a session: messages both ways, and local notes, with their times.

    The trace is the only truth: lanes, responses, steers, required input, frames and views are
    folded from it, live or from a file alike. Only the thread that records may append; any thread
    may read what is there.

    Parameters
    ----------
    header : Header
        What the entries belong to.
    entries : iterable of Entry, optional
        What happened so far.

    Examples
    --------
    >>> from steer_nb.trace import Entry, Header, Trace
    >>> trace = Trace(Header(steer_nb=1, trace_id="0" * 32, started_at=0.0))
    >>> trace.append(Entry(seq=0, at=0.0, t=0.0, kind="note", note="session", data={"name": "a"}))
    >>> len(trace), trace[0].note
    (1, 'session')
    """

    def __init__(self, header: Header, entries: Iterable[Entry] = ()) -> None:
        self.header = header
        self.entries: list[Entry] = list(entries)
        self.file_problems: tuple[Problem, ...] = ()
        """What was odd about the file it was read from (torn last line …)."""
        self.file: str | None = None
        """The file it was read from, as it was named."""
        self.places: Places | None = None
        """Where its entries stood in that file, for recordings of others."""
        self._ledger: Ledger | None = None
        self._folded = 0
        self._frames: Frames | None = None
        self._lock = threading.RLock()  # a kernel may ask from several threads

    @property
    def trace_id(self) -> str:
        """32 hex digits that name this trace in every frame."""
        return self.header.trace_id

    def append(self, entry: Entry) -> None:
        """Add what just happened. Only the recording thread may do this."""
        self.entries.append(entry)

    @property
    def ledger(self) -> Ledger:
        """What follows from the entries so far, folded on the asking thread.

        Asking again folds only what is new. It is this trace's own fold, apart from a live
        session's.
        """
        from steer_nb.ledger import Ledger

        with self._lock:
            if self._ledger is None:
                self._ledger = Ledger()
            for index in range(self._folded, len(self.entries)):
                self._folded = index + 1
                self._ledger.apply(self.entries[index])
            return self._ledger

    @property
    def frames(self) -> Frames:
        """Its tables as pandas DataFrames; see `steer_nb.frames.Frames`."""
        with self._lock:
            if self._frames is None:
                from steer_nb.frames import Frames

                self._frames = Frames(self)
            return self._frames

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything odd that was found in the file and in the messages, oldest first."""
        return tuple(map(self.located, (*self.file_problems, *self.ledger.problems)))

    def located(self, problem: Problem) -> Problem:
        """Say of a problem where in the file it was seen, as far as that is known."""
        if self.places is not None:
            problem = self.places.located(problem)
        foreign = self.header.source != "live" or problem.line is not None
        return msgspec.structs.replace(problem, file=self.file) if foreign else problem

    def save(self, path: str | PathLike[str]) -> str:
        """Write it as JSON lines: a header, then one entry a line, messages verbatim.

        Parameters
        ----------
        path : str or path-like
            The file; an existing one is replaced only once the new one is complete.

        Returns
        -------
        str
            The path written.

        Raises
        ------
        TraceError
            If the file cannot be written.
        """
        from steer_nb.trace.journal import write_trace

        return write_trace(self, path)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries[: len(self.entries)])

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | list[Entry]:
        return self.entries[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trace):
            return NotImplemented
        return self.header == other.header and self.entries == other.entries

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        state = {
            "file": self.file,
            "file_problems": self.file_problems,
            "places": self.places,
        }
        return Trace, (self.header, self.entries[:]), state  # what is folded is folded anew

    def __repr__(self) -> str:
        counts, last = {"in": 0, "out": 0, "note": 0}, 0.0
        for entry in self:
            counts[entry.kind] += 1
            last = entry.t or last
        words = {"in": "event", "out": "request", "note": "note"}
        said = [f"{n} {words[kind]}{'' if n == 1 else 's'}" for kind, n in counts.items()]
        said += [f"{last:.1f} s"] if last else []
        where = "" if self.file is None else f" from {self.file}"
        return f"<Trace {self.trace_id[:8]}{where}: {', '.join(said)}>"

    def _repr_html_(self) -> str:
        from steer_nb.widgets import html_for

        return html_for(self)
