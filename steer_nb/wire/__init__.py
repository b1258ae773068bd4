"""The Responses dialect: decode events, build requests, fill what a response waits for. No I/O."""

from __future__ import annotations

from steer_nb.wire.calls import describe_call
from steer_nb.wire.cancelling import CANCELLED, cancelled_fields
from steer_nb.wire.catalogue import FAMILIES, FAMILY, SERVER_EVENT_TYPES, TERMINAL_TYPES
from steer_nb.wire.error_fields import ErrorFields, read_error
from steer_nb.wire.event import PROBLEMS, Event
from steer_nb.wire.events import decode
from steer_nb.wire.filling import fill_stub
from steer_nb.wire.inject_events import (
    InjectFailure,
    ResponseInjectCreatedEvent,
    ResponseInjectFailedEvent,
)
from steer_nb.wire.jsonio import check_value, encode
from steer_nb.wire.lanes import check_stream_id
from steer_nb.wire.limits import (
    CONNECTION_SECONDS,
    MAX_IN_FLIGHT,
    MAX_STREAM_IDS,
    MULTI_AGENT_BETA,
)
from steer_nb.wire.requests import (
    CREATE_FIELDS,
    response_create,
    response_inject,
    response_steer,
    several_agents,
)
from steer_nb.wire.sizes import largest_parts
from steer_nb.wire.steer_events import (
    ResponseSteerAcceptedEvent,
    ResponseSteerFailedEvent,
    ResponseSteerPendingEvent,
    SteerFailure,
    SteerInfo,
)
from steer_nb.wire.stub_kinds import STUB_KINDS, UNKNOWN_KIND, Field, StubKind, kind_of
from steer_nb.wire.stubs import is_answer, stub_for, stub_key

__all__ = [
    "CANCELLED",
    "CONNECTION_SECONDS",
    "CREATE_FIELDS",
    "FAMILIES",
    "FAMILY",
    "MAX_IN_FLIGHT",
    "MAX_STREAM_IDS",
    "MULTI_AGENT_BETA",
    "PROBLEMS",
    "SERVER_EVENT_TYPES",
    "STUB_KINDS",
    "TERMINAL_TYPES",
    "UNKNOWN_KIND",
    "ErrorFields",
    "Event",
    "Field",
    "InjectFailure",
    "ResponseInjectCreatedEvent",
    "ResponseInjectFailedEvent",
    "ResponseSteerAcceptedEvent",
    "ResponseSteerFailedEvent",
    "ResponseSteerPendingEvent",
    "SteerFailure",
    "SteerInfo",
    "StubKind",
    "cancelled_fields",
    "check_stream_id",
    "check_value",
    "decode",
    "describe_call",
    "encode",
    "fill_stub",
    "is_answer",
    "kind_of",
    "largest_parts",
    "read_error",
    "response_create",
    "response_inject",
    "response_steer",
    "several_agents",
    "stub_for",
    "stub_key",
]
