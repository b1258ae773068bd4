"""A trace in the forms that other programs read.

::

    trace.export.parquet("out/")                     # a file for each table
    trace.export.csv("steers.csv", tables="steers")
    trace.export.messages("planner")                 # for input= of client.responses.create
    trace.export.otel("http://localhost:4318")       # spans, by the conventions for generative AI
    trace.export.parquet("out/", redact=True)        # lengths instead of texts

`content` says of every column and field whether it holds what somebody wrote; all exports go by it.
"""

from __future__ import annotations

from steer_nb.frames.export.export import Export
from steer_nb.frames.export.kinds import KINDS, export_as
from steer_nb.frames.export.messages import Messages
from steer_nb.frames.export.otel import SentSpans
from steer_nb.frames.export.parquet import write_table
from steer_nb.frames.export.reading import read_parquet, read_table
from steer_nb.frames.export.redaction import Redaction, redaction

__all__ = [
    "KINDS",
    "Export",
    "Messages",
    "Redaction",
    "SentSpans",
    "export_as",
    "read_parquet",
    "read_table",
    "redaction",
    "write_table",
]
