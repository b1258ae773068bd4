"""One whole message of every kind that a Letta server writes, as its schema has them."""

from __future__ import annotations

from typing import Any

CALL = {"name": "delete_file", "arguments": '{"path": "/a"}', "tool_call_id": "call_1"}
OTHER = {"name": "read_cell", "arguments": '{"cell": 3}', "tool_call_id": "call_2"}
APPROVED = {"type": "approval", "tool_call_id": "call_1", "approve": True, "reason": None}
DENIED = {"type": "approval", "tool_call_id": "call_1", "approve": False, "reason": "wrong file"}
RETURNED = {
    "type": "tool",
    "tool_return": "x = 1",
    "status": "success",
    "tool_call_id": "call_2",
    "stdout": ["ran\n"],
    "stderr": None,
}


def letta_message(kind: str, **fields: Any) -> dict[str, Any]:
    """A message with the fields that all of a conversation have."""
    shared = {
        "id": "message-5164b06b-aee7-4ef0-b232-bbeacce5fbd8",
        "date": "2026-11-30T00:23:04+00:00",
        "name": None,
        "message_type": kind,
        "otid": "5164b06b-aee7-4ef0-b232-bbeacce5fb80",
        "sender_id": None,
        "step_id": "step-1",
        "is_err": None,
        "seq_id": None,
        "run_id": "run-1",
    }
    return {**shared, **fields}


PARTS = [{"type": "text", "text": "Hel", "signature": None}, {"type": "text", "text": "lo"}]
SAMPLES: dict[str, list[dict[str, Any]]] = {
    "system_message": [letta_message("system_message", content="Be kind.")],
    "user_message": [
        letta_message("user_message", content="Hi"),
        letta_message("user_message", content=PARTS),
    ],
    "reasoning_message": [
        letta_message("reasoning_message", source="reasoner_model", reasoning="Hm.", signature="s"),
        letta_message(
            "reasoning_message", source="non_reasoner_model", reasoning="", signature=None
        ),
    ],
    "hidden_reasoning_message": [
        letta_message("hidden_reasoning_message", state="redacted", hidden_reasoning="x"),
        letta_message("hidden_reasoning_message", state="omitted", hidden_reasoning=None),
    ],
    "assistant_message": [
        letta_message("assistant_message", content="Hello"),
        letta_message("assistant_message", content=PARTS, seq_id=7),
    ],
    "tool_call_message": [
        letta_message("tool_call_message", tool_call=CALL, tool_calls=[CALL, OTHER]),
        letta_message("tool_call_message", tool_call=CALL, tool_calls=None),
    ],
    "approval_request_message": [
        letta_message("approval_request_message", tool_call=CALL, tool_calls=[CALL, OTHER]),
        letta_message("approval_request_message", tool_call=CALL, tool_calls=CALL),
        letta_message(
            "approval_request_message",
            tool_call={**CALL, "name": None, "arguments": '{"p'},
            tool_calls={**CALL, "name": None, "arguments": '{"p'},
        ),
        letta_message("approval_request_message", tool_call=CALL, tool_calls=None),
    ],
    "tool_return_message": [
        letta_message(
            "tool_return_message",
            name="read_cell",
            tool_return="x = 1",
            status="success",
            tool_call_id="call_2",
            stdout=["ran\n"],
            stderr=None,
            tool_returns=[RETURNED, {**RETURNED, "tool_return": PARTS, "tool_call_id": "call_3"}],
        ),
        letta_message(
            "tool_return_message",
            tool_return="boom",
            status="error",
            tool_call_id="call_2",
            stdout=None,
            stderr=["Traceback\n"],
            tool_returns=None,
        ),
    ],
    "approval_response_message": [
        letta_message(
            "approval_response_message",
            approvals=[DENIED, RETURNED],
            approve=False,
            approval_request_id="call_1",
            reason="wrong file",
        ),
        letta_message(
            "approval_response_message",
            approvals=None,
            approve=True,
            approval_request_id="call_1",
            reason=None,
        ),
    ],
    "summary_message": [
        letta_message("summary_message", summary="They met.", compaction_stats=None)
    ],
    "event_message": [
        letta_message("event_message", event_type="compaction", event_data={"trigger": "size"})
    ],
    "ping": [letta_message("ping", otid=None, step_id=None)],
    "error_message": [
        {
            "message_type": "error_message",
            "run_id": "run-1",
            "error_type": "internal_error",
            "message": "An error occurred.",
            "detail": "No tool call is currently awaiting approval.",
            "seq_id": 4,
        }
    ],
    "stop_reason": [{"message_type": "stop_reason", "stop_reason": "requires_approval"}],
    "usage_statistics": [
        {
            "message_type": "usage_statistics",
            "completion_tokens": 20,
            "prompt_tokens": 100,
            "total_tokens": 120,
            "step_count": 1,
            "run_ids": ["run-1"],
            "cached_input_tokens": 3,
            "cache_write_tokens": None,
            "reasoning_tokens": 0,
            "context_tokens": 120,
        }
    ],
}
EVERY = [(kind, sample) for kind, samples in SAMPLES.items() for sample in samples]
"""Every sample with its `message_type`."""
