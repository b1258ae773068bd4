"""Every server event of the Responses WebSocket, and the family each belongs to.

Source: chapter 4.2 of the protocol notes and the unions of the official SDK, `ResponsesServerEvent`
and that of the multi-agent beta, `BetaResponsesServerEvent` (a test compares them). Types that real
servers send although no schema has them keep a family here but are not `known`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DONE_FIELD",
    "EXTRA_FAMILY",
    "FAMILIES",
    "FAMILY",
    "SERVER_EVENT_TYPES",
    "TERMINAL_TYPES",
]

FAMILIES: Final = (
    "lifecycle",
    "item",
    "text",
    "reasoning",
    "tool_args",
    "tool_status",
    "annotation",
    "steer",
    "error",
    "control",
    "unknown",
)
"""The closed list of family words, as the events frame has them."""


def _family_table() -> dict[str, str]:
    groups: dict[str, tuple[str, ...]] = {
        "lifecycle": (
            "response.created",
            "response.queued",
            "response.in_progress",
            "response.completed",
            "response.failed",
            "response.incomplete",
        ),
        "item": (
            "response.output_item.added",
            "response.output_item.done",
            "response.content_part.added",
            "response.content_part.done",
        ),
        "text": (
            "response.output_text.delta",
            "response.output_text.done",
            "response.refusal.delta",
            "response.refusal.done",
            "response.audio.delta",
            "response.audio.done",
            "response.audio.transcript.delta",
            "response.audio.transcript.done",
        ),
        "reasoning": (
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_part.done",
            "response.reasoning_summary_text.delta",
            "response.reasoning_summary_text.done",
            "response.reasoning_text.delta",
            "response.reasoning_text.done",
        ),
        "tool_args": (
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
            "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.done",
            "response.mcp_call_arguments.delta",
            "response.mcp_call_arguments.done",
            "response.code_interpreter_call_code.delta",
            "response.code_interpreter_call_code.done",
            "response.shell_call_command.added",
            "response.shell_call_command.delta",
            "response.shell_call_command.done",
        ),
        "tool_status": (
            "response.shell_call_output_content.delta",
            "response.shell_call_output_content.done",
            "response.mcp_call.in_progress",
            "response.mcp_call.completed",
            "response.mcp_call.failed",
            "response.mcp_list_tools.in_progress",
            "response.mcp_list_tools.completed",
            "response.mcp_list_tools.failed",
            "response.web_search_call.in_progress",
            "response.web_search_call.searching",
            "response.web_search_call.completed",
            "response.file_search_call.in_progress",
            "response.file_search_call.searching",
            "response.file_search_call.completed",
            "response.code_interpreter_call.in_progress",
            "response.code_interpreter_call.interpreting",
            "response.code_interpreter_call.completed",
            "response.image_generation_call.in_progress",
            "response.image_generation_call.generating",
            "response.image_generation_call.completed",
            "response.image_generation_call.partial_image",
        ),
        "annotation": ("response.output_text.annotation.added",),
        "steer": ("response.steer.accepted", "response.steer.pending", "response.steer.failed"),
        "error": ("error",),
        "control": (
            "response.compaction.compacting",
            "response.inject.created",
            "response.inject.failed",
        ),
    }
    return {kind: family for family, kinds in groups.items() for kind in kinds}


FAMILY: Final[Mapping[str, str]] = MappingProxyType(_family_table())
"""Family of each event type of the official unions."""

SERVER_EVENT_TYPES: Final = frozenset(FAMILY)
"""Every event type of the official unions."""

EXTRA_FAMILY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "response.done": "lifecycle",
        "response.apply_patch_call_operation_diff.delta": "tool_args",
        "response.apply_patch_call_operation_diff.done": "tool_args",
        "response.metadata": "control",
        "responsesapi.websocket_timing": "control",
        "codex.rate_limits": "control",
        "keepalive": "control",
    }
)
"""Family of types that were seen on real sockets but are in no schema."""

TERMINAL_TYPES: Final = frozenset(
    {"response.completed", "response.failed", "response.incomplete", "response.done"}
)
"""Types that end a response. ``response.done`` is an alias that some servers add (4.1)."""

DONE_FIELD: Final[Mapping[str, str]] = MappingProxyType(
    {
        "response.output_text.done": "text",
        "response.refusal.done": "refusal",
        "response.reasoning_summary_text.done": "text",
        "response.reasoning_text.done": "text",
        "response.function_call_arguments.done": "arguments",
        "response.custom_tool_call_input.done": "input",
        "response.mcp_call_arguments.done": "arguments",
        "response.code_interpreter_call_code.done": "code",
        "response.shell_call_command.done": "command",
        "response.apply_patch_call_operation_diff.done": "diff",
    }
)
"""The field in which each ``*.done`` event carries its text in full."""
