"""What spans and their events say, by OpenTelemetry's names, from the states of a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import urlsplit

from steer_nb.frames.arrays import json_text
from steer_nb.frames.export.otel_names import FINISH_REASONS
from steer_nb.frames.responses import seconds, tokens_of
from steer_nb.frames.steers import said_in

if TYPE_CHECKING:
    from steer_nb.ledger import (
        Ledger,
        RequestState,
        RequiredInputState,
        ResponseState,
        SteerState,
    )
    from steer_nb.trace.entries import Entry

__all__ = [
    "call_facts",
    "error_type",
    "finish_reason",
    "input_events",
    "refused_facts",
    "response_facts",
    "steer_events",
]

Facts = dict[str, Any]
Told: TypeAlias = "tuple[str, Entry | None, Facts]"
"""An event: its name, when, and what it says."""

_PROVIDERS: Final = {"responses": "openai"}
_OUTPUTS: Final = {"text": "text", "json_schema": "json", "json_object": "json"}
_USAGE: Final = {
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_tokens",
    "gen_ai.usage.cache_write.input_tokens": "cache_write_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
}


def response_facts(ledger: Ledger, response: ResponseState, dialect: str) -> Facts:
    """What is said of a response, but for its texts."""
    request = response.request
    usage = tokens_of(response)
    facts = _asked(ledger, response.connection, {} if request is None else request.body, dialect)
    return {
        **facts,
        "gen_ai.request.model": facts["gen_ai.request.model"] or response.model,
        "gen_ai.request.previous_response.id": response.previous_response_id,
        "gen_ai.response.id": response.id,
        "gen_ai.response.model": response.model,
        "gen_ai.response.finish_reasons": [finish_reason(response)],
        "gen_ai.response.time_to_first_chunk": seconds(
            None if request is None else request.sent, response.first_chunk
        ),
        **{name: usage[column] for name, column in _USAGE.items()},
        "openai.response.service_tier": response.service_tier,
        "steer.lane": response.lane.stream_id,
        "steer_nb.response.status": response.status,
        "steer_nb.response.origin": response.origin,
    }


def refused_facts(ledger: Ledger, request: RequestState, dialect: str) -> Facts:
    """What is said of a request that was refused."""
    return {
        **_asked(ledger, request.connection, request.body, dialect),
        "gen_ai.request.previous_response.id": request.previous_response_id,
        "steer.lane": request.lane.stream_id,
        "error.type": request.error_code or "_OTHER",
    }


def _asked(ledger: Ledger, connection: int, body: Facts, dialect: str) -> Facts:
    place = ledger.connections.get(connection)
    address, port = server_of("" if place is None else place.url)
    reasoning, text = _inner(body, "reasoning"), _inner(body, "text")
    conversation = body.get("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDERS.get(dialect, dialect),
        "gen_ai.conversation.id": _word(conversation),
        "gen_ai.output.type": _OUTPUTS.get(str(_inner(text, "format").get("type"))),
        "gen_ai.request.model": _word(body.get("model")),
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": _number(body.get("max_output_tokens"), int),
        "gen_ai.request.temperature": _number(body.get("temperature"), float),
        "gen_ai.request.top_p": _number(body.get("top_p"), float),
        "gen_ai.request.reasoning.level": _word(reasoning.get("effort")),
        "openai.api.type": "responses" if dialect == "responses" else None,
        "openai.request.service_tier": _word(body.get("service_tier")),
        "server.address": address,
        "server.port": port,
    }


def finish_reason(response: ResponseState) -> str:
    """Why the model stopped, in the conventions' words where they have one."""
    if response.status == "completed":
        return "tool_call" if response.required else "stop"
    if response.status == "incomplete":
        reason = response.incomplete_reason or "incomplete"
        return FINISH_REASONS.get(reason, reason)
    return "error"


def error_type(response: ResponseState) -> str:
    """The class of error that ended a response."""
    if response.error_code:
        return response.error_code
    return "connection_lost" if response.status == "truncated" else "_OTHER"


def call_facts(row: Facts) -> Facts:
    """What is said of a call that a client ran, but for its texts."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": row["name"] or row["kind"],
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": row["call_key"],
        "gen_ai.agent.name": row["agent_name"],
        "error.type": "tool_error" if row["result_kind"] == "error" else None,
        "steer_nb.tool.result_kind": row["result_kind"],
    }


def steer_events(steer: SteerState) -> list[Told]:
    """What became of a steer, one event for each step."""
    facts = {
        "steer.id": steer.steer_id,
        "steer.key": steer.key,
        "steer.lane": None if steer.lane is None else steer.lane.stream_id,
        "steer.order": steer.order_in_parent,
    }
    more: dict[str, Facts] = {
        "sent": {"steer.input": said_in(steer.input)[0]},
        "committed": {"steer.successor.response.id": steer.successor_id},
        "failed": {"steer.failure.code": steer.failure_code},
    }
    return [
        (
            f"steer.{word}",
            getattr(steer, word),
            {**facts, "steer.state": word, **more.get(word, {})},
        )
        for word in ("sent", "accepted", "pending", "committed", "failed")
    ]


def input_events(state: RequiredInputState) -> list[Told]:
    """That a result or a decision was asked for, and that it was given."""
    facts = {
        "input.key": state.key,
        "input.type": state.type or None,
        "input.name": state.name,
        "input.state": state.state,
    }
    approve = (state.item or {}).get("approve")
    given = {
        "input.filled_by": state.filled_by,
        "input.approve": approve if isinstance(approve, bool) else None,
        "input.value": None if state.item is None else json_text(state.item),
    }
    return [
        ("input.required", state.first_seen, facts),
        ("input.supplied", state.sent, {**facts, **given}),
    ]


def server_of(url: str) -> tuple[str | None, int | None]:
    """Name the server and the port of an address."""
    try:
        parts = urlsplit(url)
        usual = {"wss": 443, "https": 443, "ws": 80, "http": 80}.get(parts.scheme)
        return parts.hostname, parts.port or usual
    except ValueError:
        return None, None


def _inner(value: Facts, name: str) -> Facts:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Any, kind: type[float]) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return kind(value) if abs(value) < 2**53 else None
