"""Partitions: a few recordings, or a few traces of a Parquet dataset, and the tables of them."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from steer_nb.errors import UnknownLane
from steer_nb.frames.arrays import frame_of
from steer_nb.frames.export.reading import table_of
from steer_nb.frames.schema import TABLES, resolve
from steer_nb.frames.sets import SetFrames, joined_all
from steer_nb.frames.wide import wide_of
from steer_nb.ledger import DEFAULT_LANE
from steer_nb.trace import TraceSet
from steer_nb.trace.readers.loading import Gathering

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from steer_nb.frames.columns import Columns
    from steer_nb.frames.metrics.measures import Tables
    from steer_nb.frames.scan.plans import Fate
    from steer_nb.trace import Problem, Trace

__all__ = ["Part", "Recorded", "Stored", "tables_of"]

_HELD: Final = 3
"""Bytes in memory for each byte of a recording, about: its messages, and what is folded of them."""
_MUCH: Final = 32 << 20
"""Bytes of recordings after which what is left of them is looked for."""


class Part(Protocol):
    """A partition: its tables, each asked for by the names of its columns."""

    def table(
        self, name: str, columns: Sequence[str] | None = None, *, lane: str | None = None
    ) -> pd.DataFrame:
        """Give a table; no rows, where there is no such lane."""

    def wide(self) -> pd.DataFrame:
        """Give the events joined with what they belong to."""

    def lane_ids(self, lane: str) -> Collection[str]:
        """Name the lanes of that name; none, where there is none."""


def tables_of(part: Part, lane: str | None = None) -> Tables:
    """Give what metrics are computed from; with `lane`, only what belongs to lanes of that name."""
    return _Once(part, lane)


class _Once:
    """The usual tables, each of which is made once."""

    def __init__(self, part: Part, lane: str | None) -> None:
        self._part = part
        self._lane = lane
        self._made: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str, /) -> pd.DataFrame:
        if name not in self._made:
            lane = self._lane if "lane_id" in TABLES[name].all else None
            self._made[name] = self._part.table(name, lane=lane)
        return self._made[name]


class _Remains:
    """What is left of recordings that were let go: folds and frames refer to themselves.

    Python looks for such remains by the number of objects, and few of these are very large.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bytes = 0

    def add(self, n_bytes: int) -> None:
        """So much was read, and will be let go."""
        with self._lock:
            self._bytes += n_bytes

    def clear(self) -> None:
        """Take away what is there, if it is much."""
        with self._lock:
            much = self._bytes >= _MUCH
            if much:
                self._bytes = 0
        if much:
            gc.collect()


_REMAINS: Final = _Remains()


class Recorded:
    """A few recordings, decoded once for all tables that are asked for.

    What is decoded stays where it was decoded: to another process, and to a disk where memory is
    short, only names go, and there it is decoded anew when it is needed.

    Parameters
    ----------
    files : sequence of str
        The recordings.
    base : str
        From where relative names go.
    strict : bool
        Raise for the first thing that is odd.
    fates : mapping of str to Fate
        What becomes of those that are of the same trace as others.
    """

    def __init__(
        self, files: Sequence[str], base: str, strict: bool, fates: Mapping[str, Fate]
    ) -> None:
        self.files = tuple(files)
        self.base = base
        self.strict = strict
        self.fates = {name: fates[name] for name in self.files if name in fates}
        self._lock = threading.Lock()
        self._sets: tuple[SetFrames, SetFrames] | None = None
        self._bytes = 0

    def read(self) -> Recorded:
        """Decode the files now.

        Raises
        ------
        TraceError
            With `strict`, for the first thing that is odd.
        """
        with self._lock:
            if self._sets is None:
                _REMAINS.clear()
                traces, problems = self._gathered()
                _REMAINS.add(self._bytes)
                where = " ".join(self.files)
                self._sets = (
                    # Which files stand in one partition must make no difference.
                    SetFrames(TraceSet(traces, where=where), together=False),
                    SetFrames(TraceSet((), problems, where=where)),
                )
        return self

    def table(
        self, name: str, columns: Sequence[str] | None = None, *, lane: str | None = None
    ) -> pd.DataFrame:
        """Give a table of the traces; no rows, where none has such a lane."""
        if name == "problems":
            return joined_all([self.left_out(columns), self.found(columns)])
        frames = self._frames(0)
        if lane is not None and not self.lane_ids(lane):
            return frame_of(resolve(TABLES[name], columns), {})
        return frames.table(name, columns, lane=lane)

    def left_out(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Give the problems of files that became no trace."""
        return self._frames(1).table("problems", columns)

    def found(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Give the problems of the traces."""
        return self._frames(0).table("problems", columns)

    def wide(self) -> pd.DataFrame:
        """Give the events joined with what they belong to."""
        return self._frames(0).wide()

    def lane_ids(self, lane: str) -> Collection[str]:
        """Name the lanes of that name; none, where there is none."""
        try:
            return self._frames(0).lane_ids(lane)
        except UnknownLane:
            return ()

    def __reduce__(self) -> tuple[Any, ...]:
        return Recorded, (self.files, self.base, self.strict, self.fates)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + _HELD * self._bytes

    def _frames(self, which: int) -> SetFrames:
        self.read()
        assert self._sets is not None
        return self._sets[which]

    def _gathered(self) -> tuple[list[Trace], list[Problem]]:
        every = self._gathering()
        for name in self.files:
            fate = self.fates.get(name)
            if fate is None:
                every.take(Path(name))
                continue
            every.problems += fate.problems
            if fate.file is not None:
                one = self._gathering()
                one.take(Path(fate.file))
                for trace in one.traces:
                    trace.header = msgspec.structs.replace(trace.header, trace_id=fate.trace_id)
                every.traces += one.traces
                every.problems += one.problems
        return every.traces, every.problems

    def _gathering(self) -> Gathering:
        return Gathering(strict=self.strict, report=self._count, base=Path(self.base))

    def _count(self, n_bytes: int) -> None:
        self._bytes += n_bytes


class Stored:
    """A few traces of a Parquet dataset; each table is read where it is asked for.

    Parameters
    ----------
    folder : str
        The dataset.
    files : mapping of str to sequence of str
        The files of these traces, by table.
    """

    def __init__(self, folder: str, files: Mapping[str, Sequence[str]]) -> None:
        self.folder = folder
        self.files = {name: tuple(found) for name, found in files.items()}

    def table(
        self, name: str, columns: Sequence[str] | None = None, *, lane: str | None = None
    ) -> pd.DataFrame:
        """Give a table; a column that is not stored is null."""
        wanted = resolve(TABLES[name], columns)
        if lane is None:
            return self._read(name, wanted)
        frame = self._read(name, resolve(TABLES[name], (*wanted.names, "lane_id")))
        frame = frame[frame["lane_id"].isin(self.lane_ids(lane)).to_numpy(dtype=bool)]
        return frame[list(wanted.names)].reset_index(drop=True)

    def wide(self) -> pd.DataFrame:
        """Give the events joined with what they belong to."""
        return wide_of(self._read_group, several=True)

    def lane_ids(self, lane: str) -> Collection[str]:
        """Name the lanes of that name; none, where there is none."""
        lanes = self.table("lanes", ("lane_id", "stream_id"))
        names = lanes["stream_id"].fillna(DEFAULT_LANE)
        return set(lanes.loc[(names == lane).to_numpy(dtype=bool), "lane_id"])

    def _read_group(self, name: str, columns: Columns) -> pd.DataFrame:
        return self._read(name, columns)

    def _read(self, name: str, wanted: Columns) -> pd.DataFrame:
        empty = frame_of(wanted, {})
        files = [Path(file) for file in self.files.get(name, ())]
        if not files:
            return empty
        found = table_of(files, name, Path(self.folder), wanted=wanted)
        missing = [column for column in wanted if column.name not in found]
        if missing:
            nothing = frame_of(missing, {missing[0].name: [None] * len(found)})
            found = found.assign(**{str(name): nothing[name] for name in nothing})
        return found[list(wanted.names)]
