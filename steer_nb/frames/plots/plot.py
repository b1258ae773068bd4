"""The pictures of a trace, as methods."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from steer_nb.errors import InvalidInput
from steer_nb.extras import extra
from steer_nb.frames.metrics.measures import STALL_S
from steer_nb.frames.plots import series
from steer_nb.frames.plots.ordering import in_order, is_untimed, untimed_traces
from steer_nb.frames.plots.timeline import timeline_frame

if TYPE_CHECKING:
    from os import PathLike

    import altair as alt

    from steer_nb.frames.metrics.measures import Tables
    from steer_nb.frames.plots.layout import Unit

__all__ = ["Plot"]

_WIDTH: Final = 640
_CHARTS: Final = ("timeline", "tokens", "gaps", "latencies")


class Plot:
    """The pictures of a trace: each is an Altair chart, which is yours to change further.

    They need the extra ``plot`` (``pip install "steer-nb[plot]"``), which is loaded when the first
    one is drawn. In JupyterLab and VS Code one points at things to read about them, drags the
    timeline, zooms it with Ctrl (or Alt) and the wheel, and double-clicks to see all again; where
    nothing draws, as in a static export, the same picture stands as a PNG.

    Parameters
    ----------
    tables : Tables
        The frames of a trace, or a mapping of tables, also of many traces together.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> Trace(Header(steer_nb=1, trace_id="0" * 32)).plot
    Pictures, each an Altair chart
      timeline()   Draw lanes as rows: responses, items and calls as bars, steers as marks.
      tokens()     Draw tokens over time, added up by kind.
      gaps()       Draw the gaps between chunks by their length, stalls marked.
      latencies()  Draw how long each steer took to be accepted and committed.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def timeline(
        self, lane: str | None = None, *, wall: bool = False, width: int = _WIDTH
    ) -> alt.LayerChart:
        """Draw lanes as rows: responses, items and calls as bars, steers as marks.

        A bar that is hollow waits for a person; one with a dashed border had not ended when the
        trace did. A steer's line reaches from when it was sent to when it was committed, failed or
        got lost. What was merged or left out, because a screen could not show it, is said above.

        A recording without times is drawn in the order of its messages, and the axis says so: what
        came after what is known then, how long it took is not. Steers have no place in it. Of
        several traces, those without times are left out beside others, and counted above.

        Parameters
        ----------
        lane : str, optional
            Only that lane; the default lane is called ``(default)``.
        wall : bool, default False
            Show the time of day (UTC), not seconds since the trace began.
        width : int, default 640
            Pixels of the time axis.

        Returns
        -------
        altair.LayerChart

        Raises
        ------
        MissingExtra
            Altair is not installed.
        UnknownLane
            There is no lane of that name.
        InvalidInput
            `wall` is asked for, and the trace does not know when it began.
        """
        _need_altair()
        from steer_nb.frames.plots.draw_timeline import draw_timeline

        if is_untimed(self._tables) and not wall:
            frame = timeline_frame(in_order(self._tables), lane)
            return draw_timeline(frame, unit="messages", width=width)
        self._need_times()
        frame = timeline_frame(self._tables, lane)
        unit: Unit = "UTC" if wall else "seconds"
        return self._noted(draw_timeline(frame, unit=unit, width=width), lane)

    def tokens(
        self, lane: str | None = None, *, per_second: bool = False, width: int = _WIDTH
    ) -> alt.LayerChart:
        """Draw tokens over time, added up by kind.

        Parameters
        ----------
        lane : str, optional
            Only that lane.
        per_second : bool, default False
            Draw each response's output tokens a second, as long as it was written.
        width : int, default 640
            Pixels of the time axis.

        Returns
        -------
        altair.LayerChart

        Raises
        ------
        MissingExtra, UnknownLane
            As for `timeline`.
        InvalidInput
            Nothing in the trace has a time.
        """
        _need_altair()
        from steer_nb.frames.plots import draw_series as draw

        self._need_times()
        if per_second:
            rates = series.token_rates(self._tables, lane)
            return self._noted(draw.draw_token_rates(*rates, width=width), lane)
        steps = series.token_steps(self._tables, lane)
        return self._noted(draw.draw_tokens(steps, width=width), lane)

    def gaps(
        self,
        lane: str | None = None,
        *,
        by_response: bool = False,
        stall_s: float = STALL_S,
        width: int = _WIDTH,
    ) -> alt.LayerChart:
        """Draw the gaps between chunks by their length, stalls marked.

        Parameters
        ----------
        lane : str, optional
            Only that lane.
        by_response : bool, default False
            Draw each response's median, 95 of 100, and longest gap over time.
        stall_s : float, default 1.0
            Seconds from which on a gap is a stall.
        width : int, default 640
            Pixels of the time axis.

        Returns
        -------
        altair.LayerChart

        Raises
        ------
        MissingExtra, UnknownLane
            As for `timeline`.
        InvalidInput
            Nothing in the trace has a time; or `stall_s` is no number above 0.
        """
        _need_altair()
        from steer_nb.frames.plots import draw_series as draw

        self._need_times()
        if by_response:
            spans, facts = series.gap_spans(self._tables, lane, stall_s=stall_s)
            chart = draw.draw_gap_spans(spans, facts, stall_s=stall_s, width=width)
            return self._noted(chart, lane)
        bins, facts = series.gap_bins(self._tables, lane, stall_s=stall_s)
        return self._noted(draw.draw_gaps(bins, facts, stall_s=stall_s, width=width), lane)

    def latencies(self, lane: str | None = None, *, width: int = _WIDTH) -> alt.LayerChart:
        """Draw how long each steer took to be accepted and committed.

        Parameters
        ----------
        lane : str, optional
            Only that lane.
        width : int, default 640
            Pixels of the time axis.

        Returns
        -------
        altair.LayerChart
            One row for each of a few steers; for many, dots over time.

        Raises
        ------
        MissingExtra, UnknownLane
            As for `timeline`.
        InvalidInput
            Nothing in the trace has a time.
        """
        _need_altair()
        from steer_nb.frames.plots import draw_series as draw

        self._need_times()
        times = series.latency_times(self._tables, lane)
        return self._noted(draw.draw_latencies(*times, width=width), lane)

    def save(self, path: str | PathLike[str], chart: alt.LayerChart | None = None) -> str:
        """Write a chart to a file, without a browser and without a network.

        Parameters
        ----------
        path : str or path-like
            Where to: ``.png``, ``.svg``, ``.html`` (with all it needs in it), or ``.json``.
        chart : altair.Chart, optional
            Which; by default the whole timeline.

        Returns
        -------
        str
            The path written.

        Raises
        ------
        InvalidInput
            The file's name ends otherwise.
        MissingExtra
            The extra is not installed.
        TraceError
            The file cannot be written.
        """
        _need_altair()
        from steer_nb.frames.plots import charts

        charts.check(path)
        return charts.save(self.timeline() if chart is None else chart, path)

    def _need_times(self) -> None:
        """Fail where there are events, and none has a time."""
        if is_untimed(self._tables):
            msg = (
                "This trace was recorded without times, so there is nothing to draw over time. "
                "What came after what is in plot.timeline(), and in trace.frames.responses."
            )
            raise InvalidInput(msg, field="trace", rule="a recording with times")

    def _noted(self, chart: alt.LayerChart, lane: str | None) -> alt.LayerChart:
        """Say of traces that no time axis has a place for that they are not in the picture."""
        left_out = untimed_traces(self._tables, lane)
        if not left_out:
            return chart
        from steer_nb.frames.plots.charts import noted

        one = left_out == 1
        return noted(
            chart,
            f"without {left_out:,} trace{'' if one else 's'} that {'was' if one else 'were'} "
            "recorded without times",
        )

    def __dir__(self) -> list[str]:
        return [*_CHARTS, "save"]

    def __repr__(self) -> str:
        width = max(map(len, _CHARTS)) + 2
        lines = [f"  {name + '()':<{width}}  {_doc(name)}" for name in _CHARTS]
        return "\n".join(["Pictures, each an Altair chart", *lines])

    def _repr_html_(self) -> str:
        made = "".join(
            f"<tr><td style='text-align:left'><code>trace.plot.{name}()</code></td>"
            f"<td style='text-align:left'>{html.escape(_doc(name))}</td></tr>"
            for name in _CHARTS
        )
        return (
            f"<table><caption>Pictures, each an Altair chart</caption><tbody>{made}</tbody></table>"
        )


def _doc(name: str) -> str:
    return str(getattr(Plot, name).__doc__).splitlines()[0]


def _need_altair() -> None:
    """Fail with advice where Altair cannot be imported; it is imported late, and only here."""
    extra("altair", "plot", "Pictures are drawn by Altair, which is not installed")
