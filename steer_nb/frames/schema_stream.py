"""Columns of the tables that follow the stream: events, responses, items, usage."""

from __future__ import annotations

from typing import Final

from steer_nb.frames.columns import BOOL, FLOAT, INT, TEXT, TIME, Column, Columns, words
from steer_nb.wire.catalogue import EXTRA_FAMILY, FAMILIES, FAMILY

__all__ = [
    "EventCore",
    "EventDelta",
    "EventError",
    "EventRaw",
    "ItemContent",
    "ItemCore",
    "ItemTimes",
    "ResponseCore",
    "ResponseText",
    "ResponseTimes",
    "ResponseUsage",
    "UsageCore",
]

TRACE_ID: Final = Column("trace_id", TEXT, "The trace it belongs to.")
LANE_ID: Final = Column("lane_id", TEXT, "Its lane: trace, connection and lane name.")
CONNECTION_ID: Final = Column("connection_id", TEXT, "Its connection: trace and number.")
AGENT_NAME: Final = Column(
    "agent_name", TEXT, "The agent of a multi-agent response, such as /root/researcher; else null."
)
RESPONSE_ID: Final = Column("response_id", TEXT, "The response it belongs to.")

ITEM_TYPES: Final = (
    "message",
    "reasoning",
    "function_call",
    "custom_tool_call",
    "computer_call",
    "shell_call",
    "local_shell_call",
    "apply_patch_call",
    "tool_search_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "program",
    "web_search_call",
    "file_search_call",
    "code_interpreter_call",
    "image_generation_call",
    "function_call_output",
    "custom_tool_call_output",
    "computer_call_output",
    "shell_call_output",
    "local_shell_call_output",
    "apply_patch_call_output",
    "tool_search_output",
    "mcp_approval_response",
    "program_output",
    "additional_tools",
    "compaction",
    "multi_agent_call",
    "multi_agent_call_output",
    "agent_message",
)
_EVENT_TYPES = (
    *FAMILY,
    *EXTRA_FAMILY,
    "response.create",
    "response.steer",
    "response.inject",
)

EventCore = Columns(
    "EventCore",
    "events",
    (
        Column("event_id", TEXT, "Trace and `seq`; unique over all traces."),
        TRACE_ID,
        CONNECTION_ID,
        LANE_ID,
        Column("seq", INT, "The recorder's own counter over the whole trace."),
        Column("recv_at", TIME, "When it was received or sent; null where that was not recorded."),
        Column("t_s", FLOAT, "The same on a monotonic clock, in seconds since the trace began."),
        Column("direction", words("in", "out", "close"), "From the service, to it, or its end."),
        Column("type", words(*_EVENT_TYPES), "Its type word; null if it has none.", open=True),
        Column("family", words(*FAMILIES), "What kind of message it is."),
        Column("known", BOOL, "Whether the official SDK knows the type; null for a close."),
        Column("sequence_number", INT, "The service's counter: may be null, restart or skip."),
        Column("response_id", TEXT, "The response it belongs to, also where it does not say so."),
        Column("item_id", TEXT, "The output item it belongs to."),
        Column("output_index", INT, "The place of that item in its response."),
        Column("content_index", INT, "The place of the text within the item."),
        AGENT_NAME,
        Column("bytes", INT, "Length of the message in UTF-8 bytes."),
    ),
)
EventDelta = Columns(
    "EventDelta",
    "events",
    (
        Column("delta_text", TEXT, "The piece of text it adds."),
        Column("delta_len", INT, "Length of that piece in characters."),
        Column("done_text", TEXT, "The whole text, from the event that completes it."),
        Column("delta_json", TEXT, "A delta that is no text, as JSON."),
    ),
)
EventError = Columns(
    "EventError",
    "events",
    (
        Column("error_code", TEXT, "The service's code, from any of the shapes of an error."),
        Column("error_message", TEXT, "The service's message."),
        Column("error_param", TEXT, "The parameter it blames."),
        Column("error_type", TEXT, "The service's type of error."),
        Column("error_status", INT, "The HTTP-like status."),
    ),
)
EventRaw = Columns(
    "EventRaw", "events", (Column("raw_json", TEXT, "The message as it travelled."),)
)

ResponseCore = Columns(
    "ResponseCore",
    "responses",
    (
        Column("response_id", TEXT, "The service's id; the first one, where they change."),
        TRACE_ID,
        LANE_ID,
        CONNECTION_ID,
        Column("previous_response_id", TEXT, "The response it continues."),
        Column(
            "origin",
            words(
                "create",
                "steer_auto",
                "steer_explicit",
                "tool_continuation",
                "approval_continuation",
                "fork",
                "unknown",
            ),
            "What brought it about.",
        ),
        Column("root_response_id", TEXT, "The first response of its chain within this trace."),
        Column("depth", INT, "How many responses of this trace come before it in the chain."),
        Column("model", TEXT, "The model that the service named."),
        Column("model_requested", TEXT, "The model asked for; null where nothing was requested."),
        Column(
            "status",
            words(
                "in_progress",
                "completed",
                "incomplete",
                "failed",
                "error",
                "cancelled",
                "truncated",
            ),
            "How it stands; truncated: the connection was lost before its end.",
        ),
        Column("status_raw", TEXT, "The service's own word at its end: its status, or error."),
        Column("incomplete_reason", TEXT, "Why it is incomplete: steered, max_output_tokens …"),
        Column("error_code", TEXT, "The code of the error that ended it."),
        Column("error_message", TEXT, "The message of that error."),
        Column("service_tier", TEXT, "The service tier that the service named."),
        Column("reasoning_effort", TEXT, "The reasoning effort that the service named."),
        Column("store", BOOL, "Whether the service stores it."),
        Column("sequence_gap", BOOL, "Whether its sequence numbers skip or restart."),
        Column("id_unstable", BOOL, "Whether the service gave it several ids."),
        Column("n_events", INT, "Rows of `events` that belong to it."),
        Column("n_deltas", INT, "Pieces of text that it wrote."),
        Column("n_items", INT, "Its output items."),
        Column("n_tool_calls", INT, "Calls among them."),
        Column("n_steers", INT, "Steers that were sent to it."),
    ),
)
ResponseTimes = Columns(
    "ResponseTimes",
    "responses",
    (
        Column("request_sent_at", TIME, "When its request was sent; null if it had none."),
        Column("created_at", TIME, "When the service says that it was created."),
        Column("recv_created_at", TIME, "When we heard of it."),
        Column("first_item_s", FLOAT, "When its first output item began, since the trace began."),
        Column("time_to_first_chunk_s", FLOAT, "Seconds from its request to its first delta."),
        Column("time_to_first_text_s", FLOAT, "Seconds from its request to its first output text."),
        Column("duration_s", FLOAT, "Seconds from its creation to its end; null while it runs."),
        Column("queue_s", FLOAT, "Seconds from its request to its creation."),
    ),
)
ResponseText = Columns(
    "ResponseText",
    "responses",
    (
        Column("output_text", TEXT, "All output text so far, items in order; empty if none."),
        Column("refusal_text", TEXT, "All refusal text so far; null if none."),
    ),
)
ResponseUsage = Columns(
    "ResponseUsage",
    "responses",
    (
        Column("input_tokens", INT, "Tokens read, as billed for this response alone."),
        Column("cached_tokens", INT, "Those of them that came from the prompt cache."),
        Column("cache_write_tokens", INT, "Those of them that were written to the cache."),
        Column("output_tokens", INT, "Tokens written."),
        Column("reasoning_tokens", INT, "Those of them that were reasoning."),
        Column("total_tokens", INT, "Tokens in all, as the service adds them."),
    ),
)

ItemCore = Columns(
    "ItemCore",
    "items",
    (
        RESPONSE_ID,
        Column("output_index", INT, "Its place in the response."),
        TRACE_ID,
        LANE_ID,
        Column("item_id", TEXT, "The service's id, in its newest form."),
        Column("type", words(*ITEM_TYPES), "Its type word; null if none came.", open=True),
        Column("role", TEXT, "Who speaks, for messages."),
        Column(
            "status",
            words("in_progress", "searching", "interpreting", "completed", "incomplete", "failed"),
            "The service's word for how it stands.",
            open=True,
        ),
        Column("phase", TEXT, "Which part of the answer it is, where the service says so."),
        Column("name", TEXT, "The tool that it names."),
        Column("call_id", TEXT, "The call that it makes or answers."),
        AGENT_NAME,
        Column("text", TEXT, "Its text or thoughts, or what it tells another agent; null if none."),
        Column("summary_text", TEXT, "Its reasoning summary; null if it has none."),
        Column("n_deltas", INT, "Pieces that it came in."),
        Column("n_annotations", INT, "Annotations that came with its text."),
    ),
)
ItemTimes = Columns(
    "ItemTimes",
    "items",
    (
        Column("added_s", FLOAT, "When it began, in seconds since the trace began."),
        Column("done_s", FLOAT, "When it was complete."),
        Column("duration_s", FLOAT, "Seconds between the two."),
    ),
)
ItemContent = Columns(
    "ItemContent",
    "items",
    (
        Column(
            "source",
            words("added", "done", "terminal", "history"),
            "Which event its newest form comes from; terminal: the response's end; history: it "
            "was in no stream, only in a list that was read later.",
        ),
        Column("bytes", INT, "UTF-8 bytes of all events that carry its index."),
        Column("encrypted", BOOL, "Whether it has encrypted content."),
        Column("content_json", TEXT, "Its newest form, whole, as JSON."),
    ),
)

UsageCore = Columns(
    "UsageCore",
    "usage",
    (
        RESPONSE_ID,
        TRACE_ID,
        LANE_ID,
        Column("kind", words("input", "output"), "Read or written."),
        Column(
            "detail",
            words("plain", "cache_read", "cache_write", "reasoning"),
            "Which share; the shares of one kind add up to what is billed.",
        ),
        Column("tokens", INT, "How many tokens."),
    ),
)
