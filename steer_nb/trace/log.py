"""The trace in memory: a header and entries that are only ever appended."""

from __future__ import annotations

import threading
from itertools import chain
from typing import TYPE_CHECKING, overload

import msgspec

from steer_nb.trace.answers import HasFrames
from steer_nb.trace.holding import Entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike
    from typing import Any

    from steer_nb.frames import Frames
    from steer_nb.ledger import Ledger
    from steer_nb.trace.entries import Entry, Header, Problem
    from steer_nb.trace.origin import Places

__all__ = ["Trace"]


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
        self.entries = Entries(entries)
        self.file_problems: tuple[Problem, ...] = ()
        """What was odd about the file it was read from (torn last line …)."""
        self.file: str | None = None
        """The file it was read from, as it was named."""
        self.places: Places | None = None
        """Where its entries stood in the recording, for recordings of others."""
        self.recording: str | None = None
        """The recording itself, where the file is a trace that was saved of it."""
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
                self._ledger = Ledger(dialect=self.header.dialect)
            for batch in self.entries.between(self._folded, len(self.entries)):
                for entry in batch:
                    self._folded += 1
                    self._ledger.apply(entry)
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
        if problem.file is not None:  # told by the file of another one
            return problem
        if self.places is not None:
            problem = self.places.located(problem)
        foreign = self.header.source != "live" or problem.line is not None
        # What the fold finds, it finds in what was recorded; a file's own line may be torn.
        file = self.file if problem.seq is None else self.recording or self.file
        return msgspec.structs.replace(problem, file=file) if foreign else problem

    def save(self, path: str | PathLike[str]) -> str:
        """Write it as JSON lines: a header, then one entry a line, messages verbatim.

        Where it was read from a recording, what was odd about that is kept, with file and line: the
        saved copy has the same frames, `problems` too.

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
        return chain.from_iterable(self.entries.between(0, len(self.entries)))

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
            "recording": self.recording,
        }
        return Trace, (self.header, self.entries.copy()), state  # what is folded is folded anew

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
