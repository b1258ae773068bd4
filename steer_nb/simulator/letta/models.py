"""Models by their handles: how an agent describes one, and which of them stream tokens (4)."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["CONTEXT_WINDOW", "described", "streams_tokens"]

CONTEXT_WINDOW: Final = 128_000
"""Tokens that a model takes, where nothing else is said."""

_PROVIDER: Final = "simulator"
_ENDPOINT: Final = "http://127.0.0.1/v1"
_WHOLE_STEPS: Final = frozenset({"azure", "baseten", "groq", "together", "xai"})
"""Providers without an adapter for tokens: their runs come in whole steps, silently (4)."""


def streams_tokens(handle: str) -> bool:
    """Say whether the server can stream a model's tokens.

    Examples
    --------
    >>> streams_tokens("openai/gpt-4.1"), streams_tokens("groq/llama-3.3-70b")
    (True, False)
    """
    return handle.partition("/")[0] not in _WHOLE_STEPS


def described(
    handle: str, window: int = CONTEXT_WINDOW, compaction: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Say which model an agent has, in each of the places where it stands."""
    name = handle.rpartition("/")[2]
    return {
        "llm_config": {
            "model": name,
            "display_name": None,
            "model_endpoint_type": "openai",
            "model_endpoint": _ENDPOINT,
            "provider_name": _PROVIDER,
            "provider_category": "base",
            "model_wrapper": None,
            "context_window": window,
            "put_inner_thoughts_in_kwargs": False,
            "handle": handle,
            "temperature": 0.7,
            "max_tokens": 16_384,
            "enable_reasoner": False,
            "reasoning_effort": "high",
            "max_reasoning_tokens": 0,
            "effort": None,
            "frequency_penalty": None,
            "compatibility_type": None,
            "verbosity": None,
            "tier": None,
            "parallel_tool_calls": True,
            "response_format": None,
            "strict": True,
            "return_logprobs": False,
            "top_logprobs": None,
            "return_token_ids": False,
            "tool_call_parser": None,
        },
        "embedding_config": {
            "embedding_endpoint_type": "openai",
            "embedding_endpoint": _ENDPOINT,
            "embedding_model": "stand-in",
            "embedding_dim": 1536,
            "embedding_chunk_size": 300,
            "handle": f"{_PROVIDER}/stand-in",
            "batch_size": 32,
            "azure_endpoint": None,
            "azure_version": None,
            "azure_deployment": None,
        },
        "model": handle,
        "embedding": f"{_PROVIDER}/stand-in",
        "model_settings": {
            "max_output_tokens": 16_384,
            "parallel_tool_calls": True,
            "provider_type": "openai",
            "temperature": 0.7,
            "reasoning": {"reasoning_effort": "high"},
            "response_format": None,
            "strict": True,
        },
        "compaction_settings": {
            "model": handle,
            "model_settings": None,
            "prompt": "Summarise what has happened so far.",
            "prompt_acknowledgement": False,
            "clip_chars": 50_000,
            "mode": "sliding_window",
            "sliding_window_percentage": 0.3,
            **(compaction or {}),
        },
    }
