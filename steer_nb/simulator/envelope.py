"""The `response` object of lifecycle events, and its usage (4.1)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steer_nb.simulator.chain import Record

__all__ = ["count_tokens", "response_object", "usage_of", "written_tokens"]


def response_object(record: Record) -> dict[str, Any]:
    """Describe a response as it is now; it has `usage` once it ended."""
    settings = record.settings
    conversation = settings.get("conversation")
    if isinstance(conversation, str):
        conversation = {"id": conversation}
    response: dict[str, Any] = {
        "id": record.id,
        "object": "response",
        # null stands for the implicit standard program
        "access_programs": settings.get("access_programs") or None,
        "created_at": record.created_at,
        "status": record.status,
        "background": False,
        "completed_at": record.completed_at,
        "error": record.error,
        "incomplete_details": (
            None if record.incomplete_reason is None else {"reason": record.incomplete_reason}
        ),
        "instructions": settings.get("instructions"),
        "max_output_tokens": settings.get("max_output_tokens"),
        "max_tool_calls": settings.get("max_tool_calls"),
        "model": settings["model"],
        "output": list(record.output),
        "parallel_tool_calls": _or(settings.get("parallel_tool_calls"), default=True),
        "previous_response_id": None if record.parent is None else record.parent.id,
        "prompt_cache_key": settings.get("prompt_cache_key"),
        "reasoning": {"effort": None, "summary": None, **(settings.get("reasoning") or {})},
        "safety_identifier": settings.get("safety_identifier"),
        "service_tier": _tier(settings.get("service_tier")),
        "store": _or(settings.get("store"), default=True),
        "temperature": _or(settings.get("temperature"), default=1.0),
        "text": settings.get("text") or {"format": {"type": "text"}},
        "tool_choice": _or(settings.get("tool_choice"), default="auto"),
        "tools": [_without_credentials(tool) for tool in settings.get("tools") or []],
        "top_logprobs": _or(settings.get("top_logprobs"), default=0),
        "top_p": _or(settings.get("top_p"), default=1.0),
        "truncation": _or(settings.get("truncation"), default="disabled"),
        "usage": record.usage,
        "user": settings.get("user"),
        "metadata": settings.get("metadata") or {},
    }
    if conversation is not None:
        response["conversation"] = conversation
    return response


def _without_credentials(tool: Any) -> Any:
    # A response says which tools it had, and must not give away what opens an MCP server.
    if not isinstance(tool, dict) or tool.get("type") != "mcp":
        return tool
    return {name: value for name, value in tool.items() if name not in ("authorization", "headers")}


def _or(value: Any, *, default: Any) -> Any:
    return default if value is None else value


def _tier(asked: str | None) -> str:
    # The response names the tier that served it: "fast" is served as priority, "auto" as default.
    return {None: "default", "auto": "default", "fast": "priority"}.get(asked, asked or "default")


def count_tokens(value: Any) -> int:
    """Estimate the tokens of an item or text: four characters each, at least one."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return max(1, -(-len(text) // 4))


def usage_of(record: Record) -> dict[str, Any]:
    """Count a response's tokens: everything before it, what it was given, what it wrote.

    Also notes on the record how long the conversation now is, which its children read.
    """
    before = 0 if record.parent is None else record.parent.context_tokens
    given = sum(map(count_tokens, (*record.given, *record.injected)))
    written = sum(map(written_tokens, record.output))
    thought = sum(written_tokens(item) for item in record.output if item["type"] == "reasoning")
    record.context_tokens = before + given + written
    read = before + given
    for name in ("instructions", "tools"):
        if record.settings.get(name):
            read += count_tokens(record.settings[name])
    return {
        "input_tokens": read,
        "input_tokens_details": {
            "cached_tokens": before if record.cached else 0,
            "cache_write_tokens": 0,
        },
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": thought},
        "total_tokens": read + written,
    }


def written_tokens(item: dict[str, Any]) -> int:
    """Estimate the tokens that a model writes for an output item."""
    written = {k: v for k, v in item.items() if k not in ("id", "status", "call_id")}
    return count_tokens(written)
