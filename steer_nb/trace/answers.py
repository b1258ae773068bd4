"""What a trace and a set of traces give alike: frames by name, metrics, comparisons, exports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from steer_nb.frames import Columns, Export, Frames, Metrics, Plot, PriceTable, TraceDiff

__all__ = ["HasFrames"]


class HasFrames:
    """Something with tables."""

    @property
    def frames(self) -> Frames:
        """Its tables as pandas DataFrames."""
        raise NotImplementedError

    def frame(
        self,
        name: str,
        columns: Columns | str | Iterable[str] | None = None,
        *,
        lane: str | None = None,
    ) -> pd.DataFrame:
        """Give a table, the ``summary``, or one of the metrics (``metrics.gaps`` …) by its name.

        See `steer_nb.frames.frame_named`; `%steer frame` is a call of this.
        """
        from steer_nb.frames import frame_named

        return frame_named(self.frames, name, columns, lane=lane)

    @property
    def metrics(self) -> Metrics:
        """What its tables say about speed, people and money; see `steer_nb.frames.Metrics`."""
        from steer_nb.frames.metrics import Metrics

        return Metrics(self.frames)

    @property
    def plot(self) -> Plot:
        """Its pictures: timeline, tokens, gaps, latencies; see `steer_nb.frames.Plot`."""
        from steer_nb.frames.plots import Plot

        return Plot(self.frames)

    @property
    def export(self) -> Export:
        """It in other forms: Parquet, CSV, messages, spans; see `steer_nb.frames.Export`."""
        from steer_nb.frames.export import Export

        return Export(self)

    def summary(self, *, prices: PriceTable | None = None, stall_s: float = 1.0) -> pd.DataFrame:
        """Give the essentials on one screen: what happened, how fast, who waited, what it cost.

        Parameters
        ----------
        prices : mapping, DataFrame or Prices, optional
            By model, for a million tokens: ``{"gpt-6-astra": {"input": 1.25, "output": 10.0}}``;
            see `steer_nb.frames.Prices`.
        stall_s : float, default 1.0
            Seconds from which on a gap between two chunks is a stall.

        Returns
        -------
        DataFrame
            `metric`, `value`, `unit`, `meaning`, one row for each metric.

        Raises
        ------
        InvalidInput
            `prices` or `stall_s` is none.
        """
        from steer_nb.frames.metrics import summary_of

        return summary_of(self.frames, prices=prices, stall_s=stall_s)

    def diff(
        self, other: HasFrames, *, prices: PriceTable | None = None, stall_s: float = 1.0
    ) -> TraceDiff:
        """Compare it with another run of the same scenario; see `steer_nb.frames.TraceDiff`.

        Parameters
        ----------
        other : Trace or TraceSet
            The other run.
        prices, stall_s
            As for `summary`.

        Raises
        ------
        InvalidInput
            `prices` or `stall_s` is none.
        """
        from steer_nb.frames.metrics import TraceDiff

        return TraceDiff(self.frames, other.frames, prices=prices, stall_s=stall_s)
