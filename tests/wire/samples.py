"""One of each: server events, calls, stubs and what fills them, as the protocol notes show them."""

from __future__ import annotations

from typing import Any

DELTA = (
    '{"type":"response.output_text.delta","sequence_number":42,"stream_id":"planner",'
    '"item_id":"msg_0123456789abcdef","output_index":1,"content_index":0,"delta":" Lisbon",'
    '"logprobs":[],"obfuscation":"abcdefgh"}'
)

ACCEPTED = (
    '{"type":"response.steer.accepted","sequence_number":4,"steer":'
    '{"id":"steer_0123456789abcdef0123456789abcdef","previous_response_id":"resp_1"}}'
)
PENDING = (
    '{"type":"response.steer.pending","sequence_number":12,"stream_id":"planner","steer":'
    '{"id":"steer_1","previous_response_id":"resp_1"},"reason":"waiting_for_required_input",'
    '"required_input":[{"type":"function_call_output","call_id":"call_project",'
    '"name":"get_project_status"}]}'
)
FAILED = (
    '{"type":"response.steer.failed","sequence_number":5,"steer":{"id":"steer_456",'
    '"previous_response_id":"resp_123","input":[{"type":"message","role":"user",'
    '"content":"Keep it short"}]},"error":{"type":"invalid_request_error",'
    '"code":"successor_creation_failed","message":"We couldn\'t start the next response."}}'
)

CALLS: dict[str, dict[str, Any]] = {
    "function_call_output": {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "get_weather",
        "arguments": '{"city":"Lisbon","days":2}',
        "status": "completed",
    },
    "custom_tool_call_output": {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "call_2",
        "name": "run_sql",
        "input": "select 1",
    },
    "computer_call_output": {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_3",
        "action": {"type": "click", "button": "left", "x": 10, "y": 20},
        "pending_safety_checks": [{"id": "sc_1", "code": "odd", "message": "Looks odd"}],
        "status": "completed",
    },
    "shell_call_output": {
        "type": "shell_call",
        "id": "sh_1",
        "call_id": "call_4",
        "action": {"commands": ["ls trips/", "pwd"], "timeout_ms": 30000},
        "environment": {"type": "local"},
        "status": "completed",
    },
    "apply_patch_call_output": {
        "type": "apply_patch_call",
        "id": "ap_1",
        "call_id": "call_5",
        "operation": {"type": "update_file", "path": "plan.md", "diff": "@@\n-a\n+b"},
        "status": "completed",
    },
    "tool_search_output": {
        "type": "tool_search_call",
        "id": "ts_1",
        "call_id": "call_6",
        "execution": "client",
        "arguments": {"query": "calendar"},
        "status": "completed",
    },
    "mcp_approval_response": {
        "type": "mcp_approval_request",
        "id": "mcpr_9",
        "server_label": "calendar",
        "name": "delete_event",
        "arguments": '{"event_id":"evt_55"}',
    },
    "local_shell_call_output": {
        "type": "local_shell_call",
        "id": "ls_1",
        "call_id": "call_8",
        "action": {"type": "exec", "command": ["ls", "-l", "my trips"], "env": {"A": "1"}},
        "status": "completed",
    },
}

STUBS: dict[str, dict[str, Any]] = {
    "function_call_output": {
        "type": "function_call_output",
        "call_id": "call_1",
        "name": "get_weather",
    },
    "custom_tool_call_output": {"type": "custom_tool_call_output", "call_id": "call_2"},
    "computer_call_output": {"type": "computer_call_output", "call_id": "call_3"},
    "shell_call_output": {"type": "shell_call_output", "call_id": "call_4"},
    "apply_patch_call_output": {"type": "apply_patch_call_output", "call_id": "call_5"},
    "tool_search_output": {
        "type": "tool_search_output",
        "call_id": "call_6",
        "execution": "client",
    },
    "mcp_approval_response": {
        "type": "mcp_approval_response",
        "approval_request_id": "mcpr_9",
    },
    "local_shell_call_output": {"type": "local_shell_call_output", "id": "call_8"},
}

EXIT = {"stdout": "a\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
TIMEOUT = {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}

FILLS: dict[str, dict[str, Any]] = {
    "function_call_output": {"output": "18 °C, dry"},
    "custom_tool_call_output": {"output": [{"type": "input_text", "text": "1"}]},
    "computer_call_output": {
        "output": {"type": "computer_screenshot", "image_url": "https://example.org/shot.png"},
        "acknowledged_safety_checks": [{"id": "sc_1", "code": "odd", "message": "Looks odd"}],
    },
    "shell_call_output": {"output": [EXIT, TIMEOUT]},
    "apply_patch_call_output": {"status": "completed", "output": "patched 1 file"},
    "tool_search_output": {
        "tools": [{"type": "function", "name": "add", "parameters": {}, "strict": True}]
    },
    "mcp_approval_response": {"approve": False, "reason": "not mine to delete"},
    "local_shell_call_output": {"output": '{"stdout":"a"}', "status": "completed"},
}
