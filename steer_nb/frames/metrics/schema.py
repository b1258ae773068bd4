"""The columns of metrics: each with what it means, and its unit."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from steer_nb.frames.columns import BOOL, FLOAT, INT, TEXT, Column, Columns
from steer_nb.frames.schema_stream import LANE_ID, RESPONSE_ID, TRACE_ID, ResponseCore
from steer_nb.frames.schema_turns import RequiredInputCore, SteerCore, SteerTimes

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["METRICS", "ChunkGaps", "ResponseMetrics", "SteerMetrics", "UsageTotals", "WaitMetrics"]

ResponseMetrics: Final = Columns(
    "ResponseMetrics",
    "metrics.responses",
    (
        RESPONSE_ID,
        TRACE_ID,
        LANE_ID,
        ResponseCore["model"],
        ResponseCore["status"],
        Column("time_to_first_chunk_s", FLOAT, "Seconds from its request to its first delta."),
        Column("time_to_first_text_s", FLOAT, "Seconds from its request to its first output text."),
        Column("duration_s", FLOAT, "Seconds from its creation to its end; null while it runs."),
        Column("output_tokens", INT, "Tokens written, reasoning among them."),
        Column("tokens_per_s", FLOAT, "Those tokens for each second from its creation to its end."),
        Column("output_characters", INT, "Characters of output text."),
        Column("characters_per_s", FLOAT, "Those characters for each second of its duration."),
        Column("n_chunks", INT, "Deltas of text, reasoning and arguments that came."),
        Column("chunk_gap_median_s", FLOAT, "Seconds between two of them: half are shorter."),
        Column("chunk_gap_p95_s", FLOAT, "Seconds between two of them: 95 of 100 are shorter."),
        Column("chunk_gap_max_s", FLOAT, "Seconds of the longest gap."),
        Column("n_stalls", INT, "Gaps of at least so many seconds as make a stall."),
        Column("stalled_s", FLOAT, "Seconds of all stalls together."),
    ),
)

ChunkGaps: Final = Columns(
    "ChunkGaps",
    "metrics.gaps",
    (
        RESPONSE_ID,
        TRACE_ID,
        LANE_ID,
        Column("seq", INT, "The later of the two deltas, in `events`."),
        Column("t_s", FLOAT, "When it came, in seconds since the trace began."),
        Column("gap_s", FLOAT, "Seconds since the delta before it in the same response."),
        Column("stall", BOOL, "Whether that is a stall."),
    ),
)

SteerMetrics: Final = Columns(
    "SteerMetrics",
    "metrics.steers",
    (
        SteerCore["steer_key"],
        TRACE_ID,
        LANE_ID,
        SteerCore["parent_response_id"],
        SteerCore["state"],
        Column("ack_latency_s", FLOAT, "Seconds from sent to accepted."),
        Column("commit_latency_s", FLOAT, "Seconds from accepted to committed; may be negative."),
        Column("turn_latency_s", FLOAT, "Seconds from sent to committed."),
        SteerTimes["deltas_after_send"],
        SteerTimes["characters_after_send"],
    ),
)

WaitMetrics: Final = Columns(
    "WaitMetrics",
    "metrics.waits",
    (
        TRACE_ID,
        RequiredInputCore["parent_response_id"],
        RequiredInputCore["stub_key"],
        LANE_ID,
        RequiredInputCore["stub_type"],
        RequiredInputCore["name"],
        RequiredInputCore["filled_by"],
        Column(
            "person_s",
            FLOAT,
            "Seconds that a person took: from when it was asked for until they answered, without "
            "the time that a function ran. Null where nobody, a program or a policy answered.",
        ),
        Column("tool_s", FLOAT, "Seconds that a function of ours ran for it; null: none has."),
        Column("held_s", FLOAT, "Seconds from its answer until that was sent."),
        Column("answer_s", FLOAT, "Seconds from when it was asked for until its answer was sent."),
    ),
)

UsageTotals: Final = Columns(
    "UsageTotals",
    "metrics.usage",
    (
        Column("model", TEXT, "The model that the service named; null where it named none."),
        Column("n_responses", INT, "Responses with a usage, each counted once."),
        Column("input_tokens", INT, "Tokens read."),
        Column("cached_tokens", INT, "Those of them that came from the prompt cache."),
        Column("cache_write_tokens", INT, "Those of them that were written to the cache."),
        Column("output_tokens", INT, "Tokens written."),
        Column("reasoning_tokens", INT, "Those of them that were reasoning."),
        Column("total_tokens", INT, "Tokens in all, as the service adds them."),
        Column(
            "cost", FLOAT, "In the currency of the price table; null where it has no such model."
        ),
    ),
)

METRICS: Final[Mapping[str, Columns]] = MappingProxyType(
    {
        "responses": ResponseMetrics,
        "gaps": ChunkGaps,
        "steers": SteerMetrics,
        "waits": WaitMetrics,
        "usage": UsageTotals,
    }
)
"""The columns of each table of metrics."""
