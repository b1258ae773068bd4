"""Several traces together: what a folder or a pattern of files is read into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from steer_nb.trace.answers import HasFrames

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from steer_nb.frames import Frames
    from steer_nb.trace.entries import Problem
    from steer_nb.trace.log import Trace

__all__ = ["TraceSet"]


class TraceSet(HasFrames, Sequence["Trace"]):
    """Traces that were loaded together, in the order of their files.

    It is a sequence of traces, and has the frames of all of them: `trace_id` tells in each row
    which trace it is of, and the frame `traces` says which file that is. Nothing is mixed: lanes
    of one name in two files are two lanes. Only files of one Letta conversation are read together:
    a stream, the one that continues it, and a history that holds both show each run once.

    Parameters
    ----------
    traces : iterable of Trace
        The traces; no two of them have one id.
    problems : iterable of Problem, optional
        What was odd about files that became none of them.
    where : str, optional
        What was loaded.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace, TraceSet
    >>> runs = TraceSet([Trace(Header(1, name * 32)) for name in "ab"])
    >>> len(runs), len(runs.frames.traces)
    (2, 2)
    """

    def __init__(
        self, traces: Iterable[Trace], problems: Iterable[Problem] = (), *, where: str = ""
    ) -> None:
        self.traces = tuple(traces)
        self.file_problems = tuple(problems)
        """What was odd about files that became no trace of the set."""
        self.where = where
        self._frames: Frames | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything odd: files that were left out first, then trace by trace."""
        return (*self.file_problems, *(p for trace in self.traces for p in trace.problems))

    @property
    def frames(self) -> Frames:
        """The tables of all traces together; see `steer_nb.frames.Frames`."""
        if self._frames is None:
            from steer_nb.frames import SetFrames

            self._frames = SetFrames(self)
        return self._frames

    @property
    def files(self) -> tuple[str, ...]:
        """The files that became traces of the set."""
        return tuple(trace.file or "" for trace in self.traces)

    def __len__(self) -> int:
        return len(self.traces)

    def __iter__(self) -> Iterator[Trace]:
        return iter(self.traces)

    @overload
    def __getitem__(self, index: int) -> Trace: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Trace, ...]: ...
    def __getitem__(self, index: int | slice) -> Trace | tuple[Trace, ...]:
        return self.traces[index]

    def __repr__(self) -> str:
        n_entries = sum(map(len, self.traces))
        where = f" from {self.where}" if self.where else ""
        left = f", {len(self.file_problems)} files left out" if self.file_problems else ""
        return f"<TraceSet{where}: {len(self)} traces, {n_entries} entries{left}>"

    def _repr_html_(self) -> str:
        from steer_nb.widgets import html_for

        return html_for(self)
