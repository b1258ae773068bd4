"""The tables and the metrics of what is scanned, as attributes: Dask DataFrames."""

from __future__ import annotations

import html
from functools import partial
from typing import TYPE_CHECKING, Final

from steer_nb.errors import UnknownFrame, UnknownLane
from steer_nb.frames.metrics.metrics import Metrics
from steer_nb.frames.metrics.prices import Prices
from steer_nb.frames.metrics.schema import METRICS
from steer_nb.frames.scan import tasks
from steer_nb.frames.scan.graphs import meta_of
from steer_nb.frames.scan.places import Recordings
from steer_nb.frames.schema import TABLES, resolve, table_named
from steer_nb.frames.wide import wide_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import dask.dataframe as dd

    from steer_nb.frames.columns import Columns
    from steer_nb.frames.metrics.prices import PriceTable
    from steer_nb.frames.scan.places import Place

__all__ = ["ScanFrames", "ScanMetrics"]

_NEEDS: Final = {
    "responses": ("events", "responses"),
    "gaps": ("events",),
    "steers": ("steers",),
    "waits": ("required_inputs",),
    "usage": ("responses",),
}
"""The tables that metrics are computed from."""


class ScanFrames:
    """The tables of what is scanned, as Dask DataFrames: those of a `TraceSet`, lazily.

    Columns, dtypes and rows are the same, in the same order; each partition counts its rows from 0.
    Columns of words that a service may add to are categories that Dask does not know yet.

    Parameters
    ----------
    place : Place
        Where the partitions come from.

    Examples
    --------
    >>> import steer_nb
    >>> runs = steer_nb.scan("runs/*.jsonl")  # doctest: +SKIP
    >>> runs.frames.steers["ack_latency_s"].max().compute()  # doctest: +SKIP
    """

    def __init__(self, place: Place) -> None:
        self._place = place

    @property
    def events(self) -> dd.DataFrame:
        """Every message in both directions, trace by trace, by `seq`."""
        return self.table("events")

    @property
    def responses(self) -> dd.DataFrame:
        """One row for each response: origin, status, times, text, tokens."""
        return self.table("responses")

    @property
    def items(self) -> dd.DataFrame:
        """One row for each output item of a response."""
        return self.table("items")

    @property
    def tool_calls(self) -> dd.DataFrame:
        """One row for each call, and its one result."""
        return self.table("tool_calls")

    @property
    def steers(self) -> dd.DataFrame:
        """One row for each steer: what was said, what became of it, and when."""
        return self.table("steers")

    @property
    def required_inputs(self) -> dd.DataFrame:
        """One row for each result or decision that a response waits for."""
        return self.table("required_inputs")

    @property
    def lanes(self) -> dd.DataFrame:
        """One row for each lane on each connection."""
        return self.table("lanes")

    @property
    def connections(self) -> dd.DataFrame:
        """One row for each socket, from open to close."""
        return self.table("connections")

    @property
    def usage(self) -> dd.DataFrame:
        """Tokens by kind, long, for plots."""
        return self.table("usage")

    @property
    def problems(self) -> dd.DataFrame:
        """What was odd, and kept: files that became no trace first, then trace by trace."""
        return self.table("problems")

    @property
    def traces(self) -> dd.DataFrame:
        """One row for each trace."""
        return self.table("traces")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(TABLES)

    def table(
        self,
        name: str,
        columns: Columns | str | Iterable[str] | None = None,
        *,
        lane: str | None = None,
    ) -> dd.DataFrame:
        """Give one table, with the columns asked for; see `steer_nb.frames.Frames.table`.

        Parameters
        ----------
        name : str
            One of `names`.
        columns : Columns, str or iterable of str, optional
            Groups and names of columns. Only these are put into a frame, and of Parquet read.
        lane : str, optional
            Only the rows of lanes of that name; none, where no trace has one, which is known only
            when it is computed.

        Returns
        -------
        dask.dataframe.DataFrame
            Without known divisions.

        Raises
        ------
        UnknownFrame, UnknownColumn
            No such table or column; each names the ones there are.
        UnknownLane
            The table is not about lanes.
        TraceError
            The Parquet dataset has no such table.
        """
        table = table_named(name)
        chosen = resolve(table, columns)
        needs = [name]
        if lane is not None:
            if "lane_id" not in table.all:
                msg = f"The frame {name!r} is not about lanes: ask for it without one."
                raise UnknownLane(msg)
            needs.append("lanes")
        self._place.check(needs)
        if columns is not None:
            self._place.check([name], chosen)
        meta = meta_of(chosen.columns)
        if name == "problems" and isinstance(self._place, Recordings):
            # Two rounds, as the files that were left out stand before all that is said of traces.
            makes = [partial(one, chosen.names) for one in (tasks.left_out, tasks.found)]
            return self._place.graph.each(name, makes, meta)
        make = partial(tasks.table, name, chosen.names, lane)
        return self._place.graph.each(name, [make], meta)

    def wide(self, *, lane: str | None = None) -> dd.DataFrame:
        """Give the events joined with what they belong to; see `steer_nb.frames.Frames.wide`.

        With `lane` it has the rows of lanes of that name.
        """
        self._place.check(("events", "lanes", "responses", "items"))
        meta = wide_of(lambda _, columns: meta_of(columns.columns), several=True)
        return self._place.graph.each("wide", [partial(tasks.wide, lane)], meta)

    def __getitem__(self, name: str) -> dd.DataFrame:
        return self.table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)

    def __contains__(self, name: object) -> bool:
        return name in TABLES

    def __repr__(self) -> str:
        width = max(map(len, TABLES))
        lines = [
            f"  {name:<{width}}  {len(table.default):>2} columns  {table.doc}"
            for name, table in TABLES.items()
        ]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'><code>{name}</code></td>"
            f"<td>{len(table.default)}</td>"
            f"<td style='text-align:left'>{html.escape(table.doc)}</td></tr>"
            for name, table in TABLES.items()
        )
        return (
            f"<table><caption>{html.escape(self._title())}</caption><thead><tr><th>frame</th>"
            f"<th>columns</th><th>what it holds</th></tr></thead><tbody>{rows}</tbody></table>"
        )

    def _title(self) -> str:
        return f"Frames of {self._place}, each a Dask DataFrame: nothing is read yet"


class ScanMetrics:
    """The metrics of what is scanned, as Dask DataFrames: those of a `TraceSet`, lazily.

    Parameters
    ----------
    place : Place
        Where the partitions come from.
    lane : str, optional
        Only what belongs to lanes of that name.
    """

    def __init__(self, place: Place, lane: str | None = None) -> None:
        self._place = place
        self._lane = lane

    @property
    def responses(self) -> dd.DataFrame:
        """Latency, speed, gaps and stalls of each response; see `response_metrics`."""
        return self._each("responses")

    @property
    def gaps(self) -> dd.DataFrame:
        """Seconds between chunks, one row for each; see `chunk_gaps`.

        Rows are in the order of their trace's id within each partition.
        """
        return self._each("gaps")

    @property
    def steers(self) -> dd.DataFrame:
        """Latencies of each steer, and what was still written; see `steer_metrics`."""
        return self._each("steers")

    @property
    def waits(self) -> dd.DataFrame:
        """Time of people and of functions for each required input; see `wait_metrics`."""
        return self._each("waits")

    def usage(self, prices: PriceTable | None = None) -> dd.DataFrame:
        """Tokens by model, each response counted once, and their cost; see `usage_totals`.

        One partition, with a row for each model. A response that stands in several files is counted
        once, too: its step before that holds the tokens of every response.

        Raises
        ------
        InvalidInput
            `prices` is no table of prices.
        """
        table = None if prices is None else Prices(prices)
        self._check("usage")
        return self._place.graph.whole(
            "usage",
            partial(tasks.used, self._lane),
            partial(tasks.usage, table),
            meta_of(METRICS["usage"].columns),
        )

    def table(self, name: str) -> dd.DataFrame:
        """Give one of the tables by its name.

        Raises
        ------
        UnknownFrame
            There is none of that name.
        """
        if name not in METRICS:
            msg = f"There are no metrics {name!r}. Metrics: {', '.join(METRICS)}."
            raise UnknownFrame(msg)
        return self.usage() if name == "usage" else self._each(name)

    def _check(self, name: str) -> None:
        self._place.check((*_NEEDS[name], *(() if self._lane is None else ("lanes",))))

    def _each(self, name: str) -> dd.DataFrame:
        self._check(name)
        make = partial(tasks.metric, name, self._lane)
        return self._place.graph.each(f"metric-{name}", [make], meta_of(METRICS[name].columns))

    def __iter__(self) -> Iterator[str]:
        return iter(METRICS)

    def __repr__(self) -> str:
        return repr(Metrics({})).replace("DataFrame", "Dask DataFrame")

    def _repr_html_(self) -> str:
        return Metrics({})._repr_html_().replace("DataFrame", "Dask DataFrame")
