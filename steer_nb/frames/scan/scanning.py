"""`steer_nb.scan`, and what it gives."""

from __future__ import annotations

import html
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steer_nb.errors import InvalidInput, TraceError
from steer_nb.frames.metrics.difference import TraceDiff, side_of, sides_together
from steer_nb.frames.metrics.measures import STALL_S, checked_stall
from steer_nb.frames.metrics.names import check_made
from steer_nb.frames.metrics.prices import Prices
from steer_nb.frames.metrics.summary import SummaryColumns
from steer_nb.frames.scan import tasks
from steer_nb.frames.scan.faces import ScanFrames, ScanMetrics
from steer_nb.frames.scan.graphs import dask_frames, meta_of
from steer_nb.frames.scan.places import Dataset, Recordings, tables_in
from steer_nb.frames.schema import TABLES
from steer_nb.trace.readers.loading import files_of, places_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    import dask.dataframe as dd
    from dask.delayed import Delayed

    from steer_nb.frames.columns import Columns
    from steer_nb.frames.metrics.prices import PriceTable
    from steer_nb.frames.scan.places import Place
    from steer_nb.trace.answers import HasFrames

__all__ = ["Scan", "ScanFrames", "ScanMetrics", "scan"]

ENGINES: Final = ("dask",)
_SUMMARISED: Final = tuple(name for name in TABLES if name not in ("items", "usage", "traces"))


def scan(
    path: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    engine: str = "dask",
    strict: bool = False,
    partition_size: int | str = "32 MiB",
) -> Scan:
    """Give the tables of recordings, or of a Parquet dataset, as Dask DataFrames: lazily.

    For more files than one process reads at ease. Nothing but names is read until something is
    computed; then each partition is made by what `load` runs, wherever Dask runs it: threads, or
    processes of this machine or of others that see the same files. What is computed is equal to the
    tables of ``load([...])``.

    Parameters
    ----------
    path : str, path-like, or iterable of these
        Recordings, as `load` takes them: a file, a folder, a pattern, or several of these. Or a
        folder of tables that `Export.parquet` wrote, in either form; what else lies there is left
        alone.
    engine : {"dask"}, default "dask"
        What computes.
    strict : bool, default False
        Raise at the first thing that is odd in a recording, when it is computed, instead of keeping
        it as a problem.
    partition_size : int or str, default "32 MiB"
        Files are put together to partitions of about so many bytes, as Dask writes sizes; what is
        compressed counts eightfold. A file is never cut. In memory a partition takes several times
        as much while it is computed.

    Returns
    -------
    Scan
        With `frames`, `metrics`, `summary` and `problems`, as a `TraceSet` has them. A file that
        cannot be read, or is no recording, is a row of `problems`.

    Raises
    ------
    TraceError
        There is no such file, the folder is empty, or nothing matches.
    InvalidInput
        There is no such engine, or `partition_size` is no size.
    MissingExtra
        Dask is not installed.

    Notes
    -----
    Tables that are computed together (``dask.compute(a, b)``) share the decoding of a file. A trace
    is never sent from one process to another, and is let go once its tables are made.

    Every file stands alone: several files of one Letta conversation, which `load` reads together,
    show here what each of them holds.

    Whether two files hold the same trace has to be known before any row is written. So files are
    read before for their ids (of a trace of ours, its beginning), and those of one trace compared;
    where all files are one partition, this is not needed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import steer_nb
    >>> from steer_nb.trace import Header
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in "ab":
    ...         trace = steer_nb.Trace(Header(steer_nb=1, trace_id=name * 32))
    ...         _ = trace.save(Path(folder, f"{name}.jsonl"))
    ...     runs = steer_nb.scan(folder)
    ...     ids = runs.frames.traces["trace_id"].str[:2].compute(scheduler="synchronous")
    >>> ids.tolist()
    ['aa', 'bb']
    """
    if engine not in ENGINES:
        msg = (
            f"There is no engine {engine!r}: there is {' and '.join(map(repr, ENGINES))}. For "
            "pandas in this process, take steer_nb.load, or steer_nb.frames.read_parquet."
        )
        raise InvalidInput(msg, field="engine", value=engine, rule="one of: dask")
    dask_frames()
    size = _size(partition_size)
    places, single = places_of(path)
    if single and not places[0].exists():
        msg = f"There is no file {places[0]}."
        raise TraceError(msg, path=str(places[0]))
    tables = tables_in(places[0]) if len(places) == 1 else {}
    if tables:
        return Scan(Dataset(places[0], tables, size), str(places[0]))
    files = files_of(places)
    if not files:
        msg = "There are no files to scan: the list of paths is empty."
        raise TraceError(msg)
    return Scan(Recordings(files, size, strict=strict), " ".join(map(str, places)))


def _size(size: int | str) -> int:
    from dask.utils import parse_bytes

    try:
        found = 0 if isinstance(size, bool) else parse_bytes(size)
    except (ValueError, AttributeError, TypeError):
        found = 0
    if found < 1:
        rule = "a number of bytes, such as 1000000 or '32 MiB'"
        msg = f"partition_size is {size!r}: it must be {rule}."
        raise InvalidInput(msg, field="partition_size", value=size, rule=rule)
    return int(found)


class Scan:
    """What was found to be read: its tables and metrics as Dask DataFrames, not computed yet.

    It has the face of a `TraceSet`, as far as that can be had without reading. `steer_nb.scan`
    makes it.

    Parameters
    ----------
    place : Place
        Where the partitions come from.
    where : str
        What was scanned.
    """

    def __init__(self, place: Place, where: str) -> None:
        self._place = place
        self.where = where

    @property
    def frames(self) -> ScanFrames:
        """The tables of all traces together."""
        return ScanFrames(self._place)

    @property
    def metrics(self) -> ScanMetrics:
        """What the tables say about speed, people and money."""
        return ScanMetrics(self._place)

    @property
    def problems(self) -> dd.DataFrame:
        """Everything odd, once it is computed: the frame `problems`."""
        return self.frames.problems

    @property
    def files(self) -> tuple[str, ...]:
        """The files that will be read."""
        return self._place.files

    @property
    def npartitions(self) -> int:
        """Into how many parts the files were put."""
        return len(self._place.graph.parts)

    def frame(
        self,
        name: str,
        columns: Columns | str | Iterable[str] | None = None,
        *,
        lane: str | None = None,
    ) -> dd.DataFrame:
        """Give a table, the ``summary``, or one of the metrics (``metrics.gaps`` …) by its name.

        Parameters
        ----------
        name : str
            One of `steer_nb.frames.FRAME_NAMES`.
        columns : Columns, str or iterable of str, optional
            For a table: see `ScanFrames.table`.
        lane : str, optional
            Only what belongs to lanes of that name.

        Raises
        ------
        UnknownFrame, UnknownColumn, UnknownLane
            No such frame or column, or one that is not about lanes.
        """
        if name in TABLES:
            return self.frames.table(name, columns, lane=lane)
        check_made(name, columns)
        if name == "wide":
            return self.frames.wide(lane=lane)
        if name == "summary":
            return self._summary(None, STALL_S, lane)
        return ScanMetrics(self._place, lane).table(name.removeprefix("metrics."))

    def summary(
        self, *, prices: PriceTable | None = None, stall_s: float = STALL_S
    ) -> dd.DataFrame:
        """Give the essentials of all traces; see `steer_nb.Trace.summary`.

        One partition. Medians and percentiles are exact: the last step holds each latency and each
        gap between two chunks, eight bytes for one.

        Raises
        ------
        InvalidInput
            `prices` or `stall_s` is none.
        """
        return self._summary(prices, stall_s, None)

    def diff(
        self,
        other: Scan | HasFrames,
        *,
        prices: PriceTable | None = None,
        stall_s: float = STALL_S,
    ) -> TraceDiff:
        """Compare it with other runs of the same scenarios, now: this computes.

        Parameters
        ----------
        other : Scan, TraceSet or Trace
            The other runs.
        prices, stall_s
            As for `summary`.

        Raises
        ------
        InvalidInput
            `prices` or `stall_s` is none.
        """
        from dask.base import compute

        together: Any = compute
        stall_s = checked_stall(stall_s)
        table = None if prices is None else Prices(prices)
        sides: list[Any] = [
            one._side(stall_s) if isinstance(one, Scan) else side_of(one.frames, stall_s=stall_s)
            for one in (self, other)
        ]
        this, that = together(*sides, traverse=False)
        return TraceDiff(this, that, prices=table, stall_s=stall_s)

    def _side(self, stall_s: float) -> Delayed:
        self._place.check(_SUMMARISED)
        return self._place.graph.value("side", partial(tasks.side, stall_s), sides_together)

    def _summary(self, prices: PriceTable | None, stall_s: float, lane: str | None) -> dd.DataFrame:
        table = None if prices is None else Prices(prices)
        self._place.check(_SUMMARISED)
        return self._place.graph.whole(
            "summary",
            partial(tasks.essence, checked_stall(stall_s), lane),
            partial(tasks.summary, table),
            meta_of(SummaryColumns.columns),
        )

    def __repr__(self) -> str:
        parts = f"{self.npartitions:,} partition{'' if self.npartitions == 1 else 's'}"
        return f"<Scan of {self.where}: {self._place} in {parts}, not read yet>"

    def _repr_html_(self) -> str:
        return f"<p><b>{html.escape(repr(self)[1:-1])}</b></p>{self.frames._repr_html_()}"
