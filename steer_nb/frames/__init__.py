"""A trace as pandas DataFrames: flat, typed, narrow, joinable.

::

    trace.frames.steers                                      # one DataFrame each
    trace.frames.table("events", columns=EventCore + EventDelta)
    trace.frames.wide()                                      # events with what they belong to
    trace.summary()                                          # metrics; see `Metrics`
    trace.plot.timeline()                                    # pictures; see `Plot`
    trace.export.parquet("out/", redact=True)                # other forms; see `Export`

This is the only room that needs pandas.
"""

from __future__ import annotations

from steer_nb.frames.base import Frames
from steer_nb.frames.columns import Column, Columns
from steer_nb.frames.conform import conform
from steer_nb.frames.export import Export, Messages, SentSpans, read_parquet, read_table
from steer_nb.frames.metrics import (
    FRAME_NAMES,
    METRICS,
    Metrics,
    Prices,
    PriceTable,
    TraceDiff,
    chunk_gaps,
    frame_named,
    response_metrics,
    steer_metrics,
    summary_of,
    usage_totals,
    wait_metrics,
)
from steer_nb.frames.plots import Plot, timeline_frame
from steer_nb.frames.schema import GROUPS, SCHEMA_VERSION, TABLES, Table
from steer_nb.frames.schema_stream import (
    EventCore,
    EventDelta,
    EventError,
    EventRaw,
    ItemContent,
    ItemCore,
    ItemTimes,
    ResponseCore,
    ResponseText,
    ResponseTimes,
    ResponseUsage,
    UsageCore,
)
from steer_nb.frames.schema_turns import (
    CallCore,
    CallResult,
    ConnectionCore,
    LaneCore,
    ProblemCore,
    RequiredInputCore,
    RequiredInputLetta,
    SteerCore,
    SteerTimes,
    TraceCore,
)
from steer_nb.frames.sets import SetFrames

__all__ = [
    "FRAME_NAMES",
    "GROUPS",
    "METRICS",
    "SCHEMA_VERSION",
    "TABLES",
    "CallCore",
    "CallResult",
    "Column",
    "Columns",
    "ConnectionCore",
    "EventCore",
    "EventDelta",
    "EventError",
    "EventRaw",
    "Export",
    "Frames",
    "ItemContent",
    "ItemCore",
    "ItemTimes",
    "LaneCore",
    "Messages",
    "Metrics",
    "Plot",
    "PriceTable",
    "Prices",
    "ProblemCore",
    "RequiredInputCore",
    "RequiredInputLetta",
    "ResponseCore",
    "ResponseText",
    "ResponseTimes",
    "ResponseUsage",
    "SentSpans",
    "SetFrames",
    "SteerCore",
    "SteerTimes",
    "Table",
    "TraceCore",
    "TraceDiff",
    "UsageCore",
    "chunk_gaps",
    "conform",
    "frame_named",
    "read_parquet",
    "read_table",
    "response_metrics",
    "steer_metrics",
    "summary_of",
    "timeline_frame",
    "usage_totals",
    "wait_metrics",
]
