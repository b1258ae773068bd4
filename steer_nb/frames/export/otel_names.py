"""The names that OpenTelemetry gives to what is in a trace: the one table, with their sources.

The conventions for generative AI are young (status: development) and change; when they do, this is
the place. Names that begin with ``steer``, ``input`` or ``steer_nb`` are our own: the conventions
have none for what they say.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ATTRIBUTES", "EVENTS", "FINISH_REASONS", "OPT_IN", "SOURCES", "Attribute"]

SOURCES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "inference": "https://github.com/open-telemetry/semantic-conventions-genai/blob/v0.1.0/"
        "docs/gen-ai/client-inference.md",
        "tool": "https://github.com/open-telemetry/semantic-conventions-genai/blob/main/"
        "docs/gen-ai/execute-tool.md",
        "openai": "https://github.com/open-telemetry/semantic-conventions-genai/blob/main/"
        "docs/gen-ai/openai.md",
        "core": "https://github.com/open-telemetry/semantic-conventions/blob/v1.44.0/"
        "docs/registry/attributes/",
        "own": "steer_nb",
    }
)
"""Where a name is defined."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute.

    Attributes
    ----------
    name : str
        As OpenTelemetry has it.
    source : str
        Where it is defined: a key of `SOURCES`.
    comes_from : str
        What it is in the tables of a trace, or in the messages.
    opt_in : bool
        Whether it is content, which is written only where that is asked for.
    """

    name: str
    source: str
    comes_from: str
    opt_in: bool = False


_TABLE: Final = (
    # spans of responses: gen_ai.client.inference
    Attribute("gen_ai.operation.name", "inference", "chat, or execute_tool"),
    Attribute("gen_ai.provider.name", "inference", "the trace's dialect: openai"),
    Attribute("error.type", "core", "responses.error_code, tool_calls.result_kind"),
    Attribute("gen_ai.conversation.id", "inference", "request: conversation"),
    Attribute("gen_ai.output.type", "inference", "request: text.format.type"),
    Attribute("gen_ai.request.model", "inference", "responses.model_requested"),
    Attribute("gen_ai.request.stream", "inference", "always: a WebSocket streams"),
    Attribute("gen_ai.request.max_tokens", "inference", "request: max_output_tokens"),
    Attribute("gen_ai.request.temperature", "inference", "request: temperature"),
    Attribute("gen_ai.request.top_p", "inference", "request: top_p"),
    Attribute("gen_ai.request.reasoning.level", "inference", "request: reasoning.effort"),
    Attribute("gen_ai.request.previous_response.id", "inference", "responses.previous_response_id"),
    Attribute("gen_ai.response.finish_reasons", "inference", "responses.status and its reason"),
    Attribute("gen_ai.response.id", "inference", "responses.response_id"),
    Attribute("gen_ai.response.model", "inference", "responses.model"),
    Attribute(
        "gen_ai.response.time_to_first_chunk", "inference", "responses.time_to_first_chunk_s"
    ),
    Attribute("gen_ai.usage.input_tokens", "inference", "responses.input_tokens"),
    Attribute("gen_ai.usage.output_tokens", "inference", "responses.output_tokens"),
    Attribute("gen_ai.usage.cache_read.input_tokens", "inference", "responses.cached_tokens"),
    Attribute("gen_ai.usage.cache_write.input_tokens", "inference", "responses.cache_write_tokens"),
    Attribute("gen_ai.usage.reasoning.output_tokens", "inference", "responses.reasoning_tokens"),
    Attribute("openai.api.type", "openai", "responses"),
    Attribute("openai.request.service_tier", "openai", "request: service_tier"),
    Attribute("openai.response.service_tier", "openai", "responses.service_tier"),
    Attribute("server.address", "core", "connections.url"),
    Attribute("server.port", "core", "connections.url"),
    Attribute("gen_ai.input.messages", "inference", "what was said to the response", opt_in=True),
    Attribute("gen_ai.output.messages", "inference", "items of the response", opt_in=True),
    Attribute("gen_ai.system_instructions", "inference", "request: instructions", opt_in=True),
    Attribute("gen_ai.tool.definitions", "inference", "request: tools", opt_in=True),
    # spans of calls: gen_ai.execute_tool
    Attribute("gen_ai.tool.name", "tool", "tool_calls.name"),
    Attribute("gen_ai.tool.type", "tool", "function: what a client runs"),
    Attribute("gen_ai.tool.call.id", "tool", "tool_calls.call_key"),
    Attribute("gen_ai.agent.name", "tool", "tool_calls.agent_name"),
    Attribute("gen_ai.tool.call.arguments", "tool", "tool_calls.arguments_text", opt_in=True),
    Attribute("gen_ai.tool.call.result", "tool", "tool_calls.result_text", opt_in=True),
    # resource
    Attribute("service.name", "core", "an argument, OTEL_SERVICE_NAME, or steer-nb"),
    # what no convention has a name for
    Attribute("steer.id", "own", "steers.steer_id"),
    Attribute("steer.key", "own", "steers.steer_key"),
    Attribute("steer.lane", "own", "lanes.stream_id"),
    Attribute("steer.state", "own", "what the event says of the steer"),
    Attribute("steer.order", "own", "steers.order_in_parent"),
    Attribute("steer.failure.code", "own", "steers.failure_code"),
    Attribute("steer.successor.response.id", "own", "steers.successor_response_id"),
    Attribute("steer.input", "own", "steers.input_text", opt_in=True),
    Attribute("input.key", "own", "required_inputs.stub_key"),
    Attribute("input.type", "own", "required_inputs.stub_type"),
    Attribute("input.name", "own", "required_inputs.name"),
    Attribute("input.state", "own", "required_inputs.state"),
    Attribute("input.filled_by", "own", "required_inputs.filled_by"),
    Attribute("input.approve", "own", "required_inputs.approve"),
    Attribute("input.value", "own", "required_inputs.value_json", opt_in=True),
    Attribute("status.description", "own", "responses.error_message", opt_in=True),
    Attribute("steer_nb.response.status", "own", "responses.status"),
    Attribute("steer_nb.response.origin", "own", "responses.origin"),
    Attribute("steer_nb.tool.result_kind", "own", "tool_calls.result_kind"),
    Attribute("steer_nb.trace.id", "own", "traces.trace_id"),
    Attribute("steer_nb.source", "own", "traces.source"),
)

ATTRIBUTES: Final[Mapping[str, Attribute]] = MappingProxyType({one.name: one for one in _TABLE})
"""Every attribute that is written, by name; no other is."""

OPT_IN: Final = frozenset(one.name for one in _TABLE if one.opt_in)
"""Those that hold content."""

EVENTS: Final = (
    "steer.sent",
    "steer.accepted",
    "steer.pending",
    "steer.committed",
    "steer.failed",
    "input.required",
    "input.supplied",
)
"""Events on the span of the response that is steered, or asks."""

FINISH_REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {"max_output_tokens": "length", "content_filter": "content_filter"}
)
"""Reasons of an incomplete response, in the conventions' words; other words stay as they are."""
