"""A value for each field that a request may have, so that both SDKs send every one of them."""

from __future__ import annotations

from typing import Any, Final

TOOL: Final = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": True,
}

FIELDS: Final[dict[str, Any]] = {
    "access_programs": {"cyber": "standard"},
    "background": False,
    "background_options": {"completion_window": "soonest"},
    "context_management": [{"type": "compaction", "compact_threshold": 100_000}],
    "conversation": {"id": "conv_1"},
    "generate": True,
    "image": {"context_compression": "auto"},
    "include": ["reasoning.encrypted_content"],
    "input": [{"role": "user", "content": [{"type": "input_text", "text": "Hello."}]}],
    "instructions": "Be brief.",
    "max_output_tokens": 500,
    "max_tool_calls": 3,
    "metadata": {"run": "1"},
    "model": "gpt-6-astra",
    "moderation": {"model": "omni-moderation-latest", "policy": {"input": {"mode": "score"}}},
    "parallel_tool_calls": False,
    "previous_response_id": None,
    "prompt": {"id": "pmpt_1", "version": "2", "variables": {"city": "Porto"}},
    "prompt_cache_key": "trips",
    "prompt_cache_options": {"mode": "implicit", "ttl": "30m"},
    "prompt_cache_retention": "24h",
    "reasoning": {"effort": "low", "summary": "auto"},
    "safety_identifier": "someone",
    "service_tier": "default",
    "store": False,
    "stream": True,
    "stream_id": "main",
    "stream_options": {"include_obfuscation": False},
    "temperature": 0.5,
    "text": {"format": {"type": "text"}, "verbosity": "low"},
    "tool_choice": {"type": "function", "name": "get_weather"},
    "tools": [TOOL],
    "top_logprobs": 2,
    "top_p": 0.9,
    "truncation": "auto",
    "user": "someone",
}
