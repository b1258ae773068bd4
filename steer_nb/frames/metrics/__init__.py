"""What the tables of a trace say about speed, people and money.

::

    trace.summary()                                  # the essentials, on one screen
    trace.metrics.responses                          # latencies, tokens a second, gaps, stalls
    trace.metrics.usage(prices={"gpt-6-astra": {"input": 1.25, "output": 10.0}})
    trace.diff(other)                                # two runs of one scenario

Each metric is a plain function of tables (`response_metrics`, `chunk_gaps` …), so that the same
code serves a live trace, a file, and the partitions of many.
"""

from __future__ import annotations

from steer_nb.frames.metrics.difference import TraceDiff
from steer_nb.frames.metrics.measures import (
    Tables,
    chunk_gaps,
    response_metrics,
    steer_metrics,
    wait_metrics,
)
from steer_nb.frames.metrics.metrics import Metrics
from steer_nb.frames.metrics.names import FRAME_NAMES, frame_named
from steer_nb.frames.metrics.prices import Prices, PriceTable
from steer_nb.frames.metrics.schema import METRICS
from steer_nb.frames.metrics.summary import summary_of
from steer_nb.frames.metrics.usage import usage_totals

__all__ = [
    "FRAME_NAMES",
    "METRICS",
    "Metrics",
    "PriceTable",
    "Prices",
    "Tables",
    "TraceDiff",
    "chunk_gaps",
    "frame_named",
    "response_metrics",
    "steer_metrics",
    "summary_of",
    "usage_totals",
    "wait_metrics",
]
