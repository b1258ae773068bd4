"""A trace as pictures: the timeline, tokens, gaps between chunks, latencies of steers.

::

    trace.plot.timeline()                    # an altair.LayerChart; %steer timeline
    trace.plot.tokens().properties(width=400)
    trace.plot.save("run.png")               # steer-nb timeline run.jsonl --to run.png

What is drawn is first made by plain functions of tables (`timeline_frame`, `token_steps`,
`gap_bins`, `latency_times`), which need no Altair: it is loaded with the first picture, and comes
with the extra ``plot``.
"""

from __future__ import annotations

from steer_nb.frames.plots.plot import Plot
from steer_nb.frames.plots.schema import GapBins, LatencyTimes, TimelineCore, TokenSteps
from steer_nb.frames.plots.series import (
    gap_bins,
    gap_spans,
    latency_times,
    token_rates,
    token_steps,
)
from steer_nb.frames.plots.thinning import thin_timeline
from steer_nb.frames.plots.timeline import timeline_frame

__all__ = [
    "GapBins",
    "LatencyTimes",
    "Plot",
    "TimelineCore",
    "TokenSteps",
    "gap_bins",
    "gap_spans",
    "latency_times",
    "thin_timeline",
    "timeline_frame",
    "token_rates",
    "token_steps",
]
