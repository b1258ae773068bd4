"""Which columns, and which places in JSON, hold what somebody wrote: the one list for all exports.

`kind_of` says it for columns, `place_of` for the fields of messages and items. What is not known is
taken for content: a field from the future is hidden rather than shown.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal

from steer_nb.errors import UnknownColumn
from steer_nb.frames.metrics.schema import METRICS
from steer_nb.frames.schema import TABLES
from steer_nb.frames.wide import JOINED

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CONTENT", "CREDENTIALS", "Kind", "Place", "kind_of", "place_of"]

Kind = Literal["value", "id", "word", "name", "text", "item", "data", "file", "url"]
"""What a column holds.

``value``: a number, a flag, a time or a word of a closed list. ``id``: the recorder's or the
service's own id. ``word``: a word of the protocol. ``name``: an identifier that somebody chose (a
lane, a tool, a model, an agent). ``text``: what a person, a model or a tool wrote. ``item``: JSON
of the protocol, which holds texts among its fields. ``data``: JSON that is content as a whole.
``file``: the name of a file. ``url``: an address.
"""


def _columns(text: str) -> dict[str, Kind]:
    found: dict[str, Kind] = {}
    for line in text.strip().splitlines():
        kind, _, names = line.strip().partition(": ")
        found.update(dict.fromkeys(names.split(), kind))  # type: ignore[arg-type]
    return found


CONTENT: Final[Mapping[str, Mapping[str, Kind]]] = MappingProxyType(
    {
        name: MappingProxyType(_columns(text))
        for name, text in {
            "events": """
                id: event_id trace_id connection_id response_id item_id
                name: lane_id agent_name
                word: type error_code error_param error_type
                text: delta_text done_text error_message
                data: delta_json
                item: raw_json
            """,
            "responses": """
                id: response_id trace_id connection_id previous_response_id root_response_id
                name: lane_id model model_requested
                word: status_raw incomplete_reason error_code service_tier reasoning_effort
                text: error_message output_text refusal_text
            """,
            "items": """
                id: response_id trace_id item_id call_id
                name: lane_id name agent_name
                word: type role status phase
                text: text summary_text
                item: content_json
            """,
            "tool_calls": """
                id: response_id call_key trace_id item_id answered_in_response_id
                name: lane_id agent_name name server_label
                text: arguments_text result_text
                data: arguments_json
            """,
            "steers": """
                id: steer_key trace_id steer_id parent_response_id successor_response_id
                name: lane_id
                word: failure_code
                text: input_text failure_message
                item: input_json
            """,
            "required_inputs": """
                id: trace_id parent_response_id stub_key continuation_response_id submit_key
                id: agent_id run_id step_id message_id otid
                name: lane_id name server_label agent_name
                word: stub_type
                text: reason
                item: value_json
            """,
            "lanes": """
                id: trace_id connection_id tip_response_id forked_from_response_id
                name: lane_id stream_id forked_from_lane_id
            """,
            "connections": """
                id: connection_id trace_id
                url: url
                text: close_reason
            """,
            "usage": """
                id: response_id trace_id
                name: lane_id
            """,
            "problems": """
                id: event_id trace_id
                word: kind
                text: detail
                file: file
            """,
            "traces": """
                id: trace_id
                word: source recorder_version schema_version
                file: file
            """,
            "summary": """
                value: metric unit meaning
            """,
            "metrics.responses": """
                id: response_id trace_id
                name: lane_id model
            """,
            "metrics.gaps": """
                id: response_id trace_id
                name: lane_id
            """,
            "metrics.steers": """
                id: steer_key trace_id parent_response_id
                name: lane_id
            """,
            "metrics.waits": """
                id: trace_id parent_response_id stub_key
                name: lane_id name
                word: stub_type
            """,
            "metrics.usage": """
                name: model
            """,
            "messages": """
                item: item
                text: instructions
            """,
            # The attributes of OpenTelemetry spans, links, events and resources.
            "otel": """
                value: gen_ai.operation.name gen_ai.provider.name gen_ai.output.type
                value: gen_ai.request.stream gen_ai.request.max_tokens gen_ai.request.temperature
                value: gen_ai.request.top_p
                value: gen_ai.response.time_to_first_chunk gen_ai.usage.input_tokens
                value: gen_ai.usage.output_tokens gen_ai.usage.cache_read.input_tokens
                value: gen_ai.usage.cache_write.input_tokens gen_ai.usage.reasoning.output_tokens
                value: gen_ai.tool.type openai.api.type server.port steer.order input.approve
                id: gen_ai.response.id gen_ai.request.previous_response.id gen_ai.tool.call.id
                id: gen_ai.conversation.id steer.id steer.key steer.successor.response.id
                id: input.key steer_nb.trace.id
                name: gen_ai.request.model gen_ai.response.model gen_ai.tool.name
                name: gen_ai.agent.name steer.lane input.name service.name server.address
                word: gen_ai.response.finish_reasons
                word: error.type gen_ai.request.reasoning.level openai.request.service_tier
                word: openai.response.service_tier steer.state steer.failure.code input.type
                word: input.state input.filled_by steer_nb.response.status
                word: steer_nb.response.origin steer_nb.tool.result_kind steer_nb.source
                text: gen_ai.tool.call.result status.description steer.input
                data: gen_ai.tool.call.arguments
                item: input.value gen_ai.input.messages gen_ai.output.messages
                item: gen_ai.system_instructions gen_ai.tool.definitions
            """,
        }.items()
    }
)
"""By table and column; numbers, flags, times and closed words need not stand here."""


def kind_of(table: str, column: str) -> Kind:
    """Say what a column holds.

    Parameters
    ----------
    table : str
        A table, ``summary``, one of the metrics (``metrics.waits``); ``messages`` for a list of
        messages, ``otel`` for the attributes of spans.
    column : str
        One of its columns.

    Raises
    ------
    UnknownColumn
        Nobody has said yet what it holds; it is not exported before.

    Examples
    --------
    >>> kind_of("steers", "input_text"), kind_of("steers", "sent_s"), kind_of("steers", "steer_id")
    ('text', 'value', 'id')
    """
    if table == "wide":
        table, column = _FROM.get(column, ("events", column))
    kind = CONTENT.get(table, {}).get(column)
    if kind is not None:
        return kind
    if column in _PLAIN.get(table, ()):
        return "value"
    msg = (
        f"It is not known whether {column!r} of {table!r} holds content, so it is not exported: "
        "leave the column out."
    )
    raise UnknownColumn(msg)


_FROM: Final = {new: (table, name) for table, _, names in JOINED for name, new in names.items()}
"""The table and the column that a column of the wide table was joined from."""


def _plain() -> dict[str, frozenset[str]]:
    """Columns that no text fits into."""
    groups = {name: table.all for name, table in TABLES.items()}
    groups |= {f"metrics.{name}": columns for name, columns in METRICS.items()}
    found = {
        name: frozenset(
            column.name for column in columns if str(column.dtype) != "string" and not column.open
        )
        for name, columns in groups.items()
    }
    return {**found, "summary": frozenset({"value"})}


_PLAIN: Final = _plain()

# -- places in JSON --------------------------------------------------------------------------------

Place = Literal["id", "name", "inside", "content", "credential"]
"""What a field of a message or an item holds: structure; a chosen name; fields; content; a key."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CREDENTIALS: Final = _words(
    """
    authorization proxy-authorization headers api_key apikey api-key x-api-key access_token
    refresh_token client_secret domain_secrets
    """
)
"""Fields whose value is, or may hold, a key: never exported, whatever is asked for."""

_KEPT: Final = _words(
    """
    type id object event_id call_id item_id response_id previous_response_id approval_request_id
    caller_id file_id file_ids container_id skill_id vector_store_ids steer_id
    role status phase execution detail mode effort verbosity service_tier truncation tool_choice
    button syntax
    size quality background output_format input_fidelity moderation media_type include
    allowed_callers ttl memory_limit search_context_size ranker version
    index sequence_number exit_code timeout_ms max_output_length max_tool_calls top_logprobs
    temperature top_p display_width display_height partial_images max_num_results n
    max_concurrent_subagents number count prompt_cache_retention generate_summary
    finish_reason modality mime_type
    """
)
_NAMES: Final = _words("agent_name author model name namespace recipient server_label stream_id")
_KEPT_ENDINGS: Final = ("_tokens", "_index", "_at")
# Under these parents only.
_KEPT_UNDER: Final = frozenset(
    {
        ("incomplete_details", "reason"),
        ("error", "code"),
        ("error", "param"),
        ("reasoning", "summary"),
    }
)
_INSIDE: Final = _words(
    """
    input output content summary response item part tools action actions error incomplete_details
    usage input_tokens_details output_tokens_details reasoning text format annotations results
    queries steer steers required_input outcome operation outputs sources pending_safety_checks
    acknowledged_safety_checks agent multi_agent stream_options conversation prompt tool_choice
    caller commands command environment container keys parts server_tool_call
    """
)


def place_of(parent: str, field: str) -> Place:
    """Say what a field of a message or an item holds.

    Parameters
    ----------
    parent : str
        The name of the field that it stands in; empty at the top.
    field : str
        Its own name.

    Examples
    --------
    >>> place_of("", "call_id"), place_of("content", "text"), place_of("", "arguments")
    ('id', 'inside', 'content')
    >>> place_of("incomplete_details", "reason"), place_of("", "reason")
    ('id', 'content')
    """
    if field.lower() in CREDENTIALS:
        return "credential"
    if (parent, field) in _KEPT_UNDER:
        return "id"
    if field in _NAMES:
        return "name"
    if field in _INSIDE:
        return "inside"  # a text there is content, an object has fields of its own
    if field in _KEPT or field.endswith(_KEPT_ENDINGS):
        return "id"
    return "content"
