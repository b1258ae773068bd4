"""The columns of what pictures are made of."""

from __future__ import annotations

from typing import Final

from steer_nb.frames.columns import BOOL, FLOAT, INT, TEXT, TIME, Column, Columns, words
from steer_nb.frames.schema_stream import LANE_ID, TRACE_ID

__all__ = ["GapBins", "LatencyTimes", "TimelineCore", "TokenSteps"]

_LANE: Final = Column("lane", TEXT, "The lane's name; (default) where it has none.")

TimelineCore: Final = Columns(
    "TimelineCore",
    "timeline",
    (
        TRACE_ID,
        LANE_ID,
        _LANE,
        Column(
            "kind",
            words(
                "request",
                "response",
                "item",
                "call",
                "steer",
                "pending",
                "continuation",
                "inject",
                "fork",
                "close",
            ),
            "What happened: the first four last for a while, the others are moments.",
        ),
        Column(
            "state",
            TEXT,
            "How it stands or what it is: a response's status, or steered; for an item text, "
            "reasoning, call or other; for a call who it waits for: person, program, service, or "
            "client, where the trace does not say which of the first two it was; "
            "for a steer its state; for a close who or what ended the connection.",
        ),
        Column("start_s", FLOAT, "When it began or happened, in seconds since the trace began."),
        Column("end_s", FLOAT, "When it ended: for a steer, when it was committed or failed."),
        Column("ongoing", BOOL, "Whether it had not ended when the trace did: end_s is then now."),
        Column("level", INT, "For calls: their row below the response, so that none hides another"),
        Column("n", INT, "How many it stands for; more than 1 where some were merged."),
        Column("id", TEXT, "The service's id of it, or its key in our own trace."),
        Column("response_id", TEXT, "The response that it belongs to."),
        Column("name", TEXT, "The item's type, or the tool that it names."),
        Column("agent_name", TEXT, "The agent that wrote it."),
        Column("model", TEXT, "The response's model."),
        Column("tokens", INT, "Output tokens of a response."),
        Column("text", TEXT, "What was said or went wrong, cut short."),
        Column("began_at", TIME, "When its trace began; null where that was not recorded."),
    ),
)

TokenSteps: Final = Columns(
    "TokenSteps",
    "tokens",
    (
        Column("t_s", FLOAT, "When a response ended, in seconds since the trace began."),
        Column(
            "kind",
            words("cached input", "input", "cache writes", "output", "reasoning"),
            "Which share; together they are what is billed.",
        ),
        Column("tokens", INT, "Tokens of that kind so far."),
    ),
)

GapBins: Final = Columns(
    "GapBins",
    "gaps",
    (
        Column("from_s", FLOAT, "Seconds from which on a gap belongs to this bin."),
        Column("to_s", FLOAT, "Seconds below which it does."),
        Column("n", INT, "How many gaps."),
        Column("stall", BOOL, "Whether they are stalls."),
    ),
)

LatencyTimes: Final = Columns(
    "LatencyTimes",
    "latencies",
    (
        _LANE,
        Column("steer", TEXT, "The steer's key."),
        Column("sent_s", FLOAT, "When it was sent, in seconds since the trace began."),
        Column("state", TEXT, "How it stands."),
        Column("what", words("accepted", "committed"), "Which step."),
        Column("from_s", FLOAT, "Seconds after it was sent that the step began."),
        Column("to_s", FLOAT, "Seconds after it was sent that the step was done."),
        Column("text", TEXT, "What was said, cut short."),
    ),
)
