"""Columns of the tables about turns and places: calls, steers, required input, lanes and so on."""

from __future__ import annotations

from typing import Final

from steer_nb.frames.columns import BOOL, FLOAT, INT, TEXT, TIME, Column, Columns, words
from steer_nb.frames.schema_stream import AGENT_NAME, CONNECTION_ID, LANE_ID, TRACE_ID
from steer_nb.trace import PROBLEM_KINDS

__all__ = [
    "CallCore",
    "CallResult",
    "ConnectionCore",
    "LaneCore",
    "ProblemCore",
    "RequiredInputCore",
    "RequiredInputLetta",
    "SteerCore",
    "SteerTimes",
    "TraceCore",
]

STUB_TYPES: Final = (
    "function_call_output",
    "custom_tool_call_output",
    "computer_call_output",
    "shell_call_output",
    "apply_patch_call_output",
    "tool_search_output",
    "mcp_approval_response",
    "local_shell_call_output",
    "letta_approval",
    "letta_tool_return",
)
_BY: Final = words("user", "code", "policy", "unknown")

CallCore = Columns(
    "CallCore",
    "tool_calls",
    (
        Column("response_id", TEXT, "The response that makes the call."),
        Column(
            "call_key",
            TEXT,
            "Its call_id, approval_request_id or item id; with #index where that is repeated.",
        ),
        TRACE_ID,
        LANE_ID,
        Column("item_id", TEXT, "The output item that makes the call."),
        AGENT_NAME,
        Column(
            "kind",
            words(
                "function",
                "custom",
                "computer",
                "shell",
                "apply_patch",
                "tool_search",
                "mcp",
                "mcp_approval",
                "web_search",
                "file_search",
                "code_interpreter",
                "image_generation",
                "multi_agent",
                "letta",
                "other",
            ),
            "What is called; other: a kind from the future.",
        ),
        Column(
            "owner",
            words("client", "server"),
            "Who has to run it, or, of mcp_approval, to decide it; a Letta call that waits for "
            "approval runs at the server.",
        ),
        Column("name", TEXT, "The tool's name."),
        Column("server_label", TEXT, "The MCP server."),
        Column("arguments_text", TEXT, "What it is called with, as the model wrote it so far."),
        Column("arguments_json", TEXT, "The same as JSON; null where it is none."),
        Column("arguments_valid", BOOL, "Whether it is JSON; null for free text or unfinished."),
        Column("orphan", BOOL, "An answer to a call that this trace does not hold."),
    ),
)
CallResult = Columns(
    "CallResult",
    "tool_calls",
    (
        Column(
            "requested_s",
            FLOAT,
            "When the call was complete (client) or began (server; one that waited for approval: "
            "when that was sent), since the trace began.",
        ),
        Column("answered_s", FLOAT, "When its result was sent (client) or came (server)."),
        Column(
            "wait_s",
            FLOAT,
            "Seconds between the two: human or tool time; null where the answer was first.",
        ),
        Column("result_text", TEXT, "The result, as far as it is text."),
        Column(
            "result_kind",
            words("value", "error", "denied", "cancelled", "none"),
            "What kind of result; none: not answered.",
        ),
        Column("answered_in_response_id", TEXT, "The response that took the result up."),
        Column("answered_by", _BY, "Who gave the result; null: nobody yet, or the service."),
    ),
)

SteerCore = Columns(
    "SteerCore",
    "steers",
    (
        Column("steer_key", TEXT, "Our own id, unique in its trace."),
        TRACE_ID,
        LANE_ID,
        Column("steer_id", TEXT, "The service's id; null until it is acknowledged."),
        Column("parent_response_id", TEXT, "The response that it was sent to."),
        Column("input_text", TEXT, "What was said, as far as it is text."),
        Column("input_json", TEXT, "The input as it was sent, as JSON."),
        Column("n_parts", INT, "How many texts, images and files it holds."),
        Column(
            "state",
            words("queued_here", "sent", "accepted", "pending", "committed", "failed", "unknown"),
            "How it stands; queued_here: kept here for the next request; unknown: the connection "
            "was lost before its outcome.",
        ),
        Column("failure_code", TEXT, "Why it failed: the service's code."),
        Column("failure_message", TEXT, "The service's message."),
        Column("successor_response_id", TEXT, "The response whose creation committed it."),
        Column(
            "successor_kind",
            words("auto", "explicit"),
            "Whether that came by itself or was requested.",
        ),
        Column(
            "parent_outcome",
            words("incomplete_steered", "completed", "other"),
            "How the response that it was sent to ended.",
        ),
        Column("order_in_parent", INT, "Its place among the steers of that response, from 0."),
        Column("recovered_input", BOOL, "Whether the service gave the input back as it failed."),
    ),
)
SteerTimes = Columns(
    "SteerTimes",
    "steers",
    (
        Column("sent_s", FLOAT, "When it was sent, in seconds since the trace began."),
        Column("accepted_s", FLOAT, "When the service took it."),
        Column("pending_s", FLOAT, "When the service said that it waits for input."),
        Column("committed_s", FLOAT, "When its successor was created: may be before accepted."),
        Column("failed_s", FLOAT, "When it failed."),
        Column("ack_latency_s", FLOAT, "Seconds from sent to accepted."),
        Column(
            "commit_latency_s",
            FLOAT,
            "Seconds from accepted to committed; negative where the successor came first.",
        ),
        Column("deltas_after_send", INT, "Pieces that its parent still wrote after it was sent."),
        Column(
            "characters_after_send",
            INT,
            "Characters of output text that its parent still wrote after it was sent.",
        ),
    ),
)

RequiredInputCore = Columns(
    "RequiredInputCore",
    "required_inputs",
    (
        TRACE_ID,
        Column("parent_response_id", TEXT, "The response that asks for it."),
        Column("stub_key", TEXT, "Its call_id or approval_request_id."),
        LANE_ID,
        Column("stub_type", words(*STUB_TYPES), "The kind of input item that answers.", open=True),
        Column("name", TEXT, "The tool that it is about."),
        Column("server_label", TEXT, "The MCP server that it is about."),
        AGENT_NAME,
        Column(
            "source",
            words(
                "steer_pending",
                "response_completed",
                "letta_stream",
                "letta_history",
                "letta_409",
            ),
            "Where we learned of it first; letta_409: what a refused message was told waits.",
        ),
        Column("n_steers_waiting", INT, "Steers of the parent that wait, or waited, for it."),
        Column("first_seen_s", FLOAT, "When we learned of it, in seconds since the trace began."),
        Column("filled_s", FLOAT, "When it was filled; null if that was not recorded."),
        Column("sent_s", FLOAT, "When its value was sent."),
        Column("tool_s", FLOAT, "Seconds that a function of ours ran for it; null where none has."),
        Column("value_json", TEXT, "The input item that answers it, as JSON."),
        Column("approve", BOOL, "The decision, for approvals."),
        Column("reason", TEXT, "The reason given with it."),
        Column(
            "state",
            words("open", "filled", "sending", "sent", "confirmed", "stale", "cancelled"),
            "How it stands.",
        ),
        Column("filled_by", _BY, "Who gave the value; unknown: it was sent, by whom is not known."),
        Column(
            "continuation_response_id",
            TEXT,
            "The response that took it up; the one that asks, where it was injected.",
        ),
        Column("submit_key", TEXT, "The one message that carries it."),
        Column(
            "sent_as",
            words("continuation", "inject"),
            "What that message is; inject: into the response while it was written.",
        ),
    ),
)
RequiredInputLetta = Columns(
    "RequiredInputLetta",
    "required_inputs",
    (
        Column("agent_id", TEXT, "The Letta agent."),
        Column("run_id", TEXT, "The Letta run that asks."),
        Column("step_id", TEXT, "The Letta step that asks."),
        Column("message_id", TEXT, "The Letta message that asks."),
        Column("otid", TEXT, "What tells the messages of one id apart in Letta."),
    ),
)

LaneCore = Columns(
    "LaneCore",
    "lanes",
    (
        Column("lane_id", TEXT, "Trace, connection and lane name."),
        TRACE_ID,
        CONNECTION_ID,
        Column("stream_id", TEXT, "Its name on the wire; null for the default lane."),
        Column("opened_at", TIME, "When it was first used on this connection."),
        Column("last_event_at", TIME, "When it last was."),
        Column("n_responses", INT, "Responses on it."),
        Column("n_steers", INT, "Steers sent to them."),
        Column("n_pending", INT, "Required input of theirs that is open or filled, not sent."),
        Column("tip_response_id", TEXT, "Its newest response."),
        Column("forked_from_response_id", TEXT, "The response of another lane it started from."),
        Column("forked_from_lane_id", TEXT, "That lane."),
        Column(
            "state",
            words("idle", "queued", "running", "waiting_input", "detached", "failed"),
            "How it stands.",
        ),
        Column(
            "stream_id_echoed",
            BOOL,
            "Whether the service has repeated its name; null: it has none, or nothing was sent.",
        ),
    ),
)

ConnectionCore = Columns(
    "ConnectionCore",
    "connections",
    (
        Column("connection_id", TEXT, "Trace and number, from 1."),
        TRACE_ID,
        Column("url", TEXT, "Where to; null where that was not recorded."),
        Column("opened_at", TIME, "When it was opened."),
        Column("closed_at", TIME, "When it ended."),
        Column("close_code", INT, "The WebSocket close code."),
        Column("close_reason", TEXT, "The reason given with it; null if none."),
        Column("n_in", INT, "Messages received."),
        Column("n_out", INT, "Messages sent."),
        Column("bytes_in", INT, "UTF-8 bytes received."),
        Column("expires_at", TIME, "When the service will end it."),
        Column("end_kind", words("client", "server", "limit", "network"), "Who or what ended it."),
    ),
)

ProblemCore = Columns(
    "ProblemCore",
    "problems",
    (
        Column("file", TEXT, "The file it was read from; null for a trace of our own."),
        Column(
            "line",
            INT,
            "The line of the file, from 1; of a cassette or HAR file the entry, as detail says.",
        ),
        Column("event_id", TEXT, "The event it was seen in."),
        TRACE_ID,
        Column(
            "kind",
            words(*PROBLEM_KINDS),
            "What kind of oddity.",
            open=True,
        ),
        Column("detail", TEXT, "What was seen."),
    ),
)

TraceCore = Columns(
    "TraceCore",
    "traces",
    (
        TRACE_ID,
        Column(
            "source",
            words(
                "live",
                "replay",
                "sse",
                "jsonl",
                "json",
                "vcr",
                "har",
                "codex_rollout",
                "letta",
            ),
            "How it was recorded.",
            open=True,
        ),
        Column("file", TEXT, "The recording it was read from; null for a trace of our own."),
        Column("started_at", TIME, "When it began; null where that was not recorded."),
        Column("ended_at", TIME, "When its last entry so far happened."),
        Column("n_events", INT, "Rows of `events`."),
        Column("n_problems", INT, "Rows of `problems`."),
        Column("recorder_version", TEXT, "The steer_nb version that recorded it."),
        Column("schema_version", TEXT, "Version of these tables' columns."),
    ),
)
