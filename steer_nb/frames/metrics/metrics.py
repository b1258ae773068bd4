"""The metrics of a trace, as attributes."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from steer_nb.errors import UnknownFrame
from steer_nb.frames.metrics import measures, usage
from steer_nb.frames.metrics.schema import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from steer_nb.frames.metrics.measures import Tables
    from steer_nb.frames.metrics.prices import PriceTable

__all__ = ["Metrics"]


class Metrics:
    """What the tables of a trace say about speed, people and money.

    Parameters
    ----------
    tables : Tables
        The frames of a trace, or a mapping of tables.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> metrics = Trace(Header(steer_nb=1, trace_id="0" * 32)).metrics
    >>> metrics.steers.dtypes["ack_latency_s"]
    dtype('float64')
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @property
    def responses(self) -> pd.DataFrame:
        """Latency, speed, gaps and stalls of each response; see `response_metrics`."""
        return measures.response_metrics(self._tables)

    @property
    def gaps(self) -> pd.DataFrame:
        """Seconds between chunks, one row for each; see `chunk_gaps`."""
        return measures.chunk_gaps(self._tables)

    @property
    def steers(self) -> pd.DataFrame:
        """Latencies of each steer, and what was still written; see `steer_metrics`."""
        return measures.steer_metrics(self._tables)

    @property
    def waits(self) -> pd.DataFrame:
        """Time of people and of functions for each required input; see `wait_metrics`."""
        return measures.wait_metrics(self._tables)

    def usage(self, prices: PriceTable | None = None) -> pd.DataFrame:
        """Tokens by model, each response counted once, and their cost; see `usage_totals`."""
        return usage.usage_totals(self._tables, prices=prices)

    def table(self, name: str) -> pd.DataFrame:
        """Give one of the tables by its name.

        Raises
        ------
        UnknownFrame
            There is none of that name.
        """
        if name not in METRICS:
            msg = f"There are no metrics {name!r}. Metrics: {', '.join(METRICS)}."
            raise UnknownFrame(msg)
        found: Any = getattr(self, name)
        frame: pd.DataFrame = found() if callable(found) else found
        return frame

    def __iter__(self) -> Iterator[str]:
        return iter(METRICS)

    def __repr__(self) -> str:
        width = max(map(len, METRICS))
        lines = [f"  {name:<{width}}  {_doc(name)}" for name in METRICS]
        return "\n".join(["Metrics, each a DataFrame", *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'><code>{name}</code></td>"
            f"<td style='text-align:left'>{html.escape(_doc(name))}</td></tr>"
            for name in METRICS
        )
        return (
            "<table><caption>Metrics, each a DataFrame</caption><thead><tr><th>metrics</th>"
            f"<th>what it holds</th></tr></thead><tbody>{rows}</tbody></table>"
        )


def _doc(name: str) -> str:
    doc = getattr(Metrics, name).__doc__ or ""
    return str(doc).split(";", 1)[0].strip()
