"""Letta's V1 dialect: every message, answer and error of its wire as typed values. No I/O.

::

    from steer_nb.wire import letta

    found = letta.decode('{"message_type":"stop_reason","stop_reason":"requires_approval"}')
    letta.run_status(found.message.stop_reason)     # completed
    letta.ApprovalCreate(approvals=(letta.ApprovalReturn(tool_call_id="call_1", approve=True),))

`decode` reads whatever comes and never raises; each class's `from_dict` is strict, and names the
field that is not as the schema says. Unknown types and fields are kept either way.

Source: the protocol notes on Letta (server 0.16.8, ``letta-client`` 1.12.1), and the schema that
this server publishes.
"""

from __future__ import annotations

from steer_nb.wire.letta.calling import (
    ApprovalRequestMessage,
    ApprovalResponseMessage,
    ToolCallMessage,
    ToolReturnMessage,
)
from steer_nb.wire.letta.calls import (
    ApprovalReturn,
    Decision,
    ToolCall,
    ToolReturn,
    calls_of,
    decisions_of,
)
from steer_nb.wire.letta.decoding import Decoded, decode, decoded_of, message_of
from steer_nb.wire.letta.inputs import (
    REQUEST_FIELDS,
    ApprovalCreate,
    ClientTool,
    Input,
    MessageCreate,
    ToolReturnCreate,
    input_of,
)
from steer_nb.wire.letta.message import LettaMessage, Message
from steer_nb.wire.letta.messages import (
    MESSAGE_TYPES,
    AssistantMessage,
    EventMessage,
    HiddenReasoningMessage,
    LettaErrorMessage,
    LettaPing,
    LettaStopReason,
    LettaUsageStatistics,
    ReasoningMessage,
    SummaryMessage,
    SystemMessage,
    UnknownMessage,
    UserMessage,
)
from steer_nb.wire.letta.part import Fault, Part, content_text
from steer_nb.wire.letta.runs import (
    FAULT_KINDS,
    STOP_REASONS,
    Refusal,
    Run,
    read_refusal,
    run_status,
)

__all__ = [
    "FAULT_KINDS",
    "MESSAGE_TYPES",
    "REQUEST_FIELDS",
    "STOP_REASONS",
    "ApprovalCreate",
    "ApprovalRequestMessage",
    "ApprovalResponseMessage",
    "ApprovalReturn",
    "AssistantMessage",
    "ClientTool",
    "Decision",
    "Decoded",
    "EventMessage",
    "Fault",
    "HiddenReasoningMessage",
    "Input",
    "LettaErrorMessage",
    "LettaMessage",
    "LettaPing",
    "LettaStopReason",
    "LettaUsageStatistics",
    "Message",
    "MessageCreate",
    "Part",
    "ReasoningMessage",
    "Refusal",
    "Run",
    "SummaryMessage",
    "SystemMessage",
    "ToolCall",
    "ToolCallMessage",
    "ToolReturn",
    "ToolReturnCreate",
    "ToolReturnMessage",
    "UnknownMessage",
    "UserMessage",
    "calls_of",
    "content_text",
    "decisions_of",
    "decode",
    "decoded_of",
    "input_of",
    "message_of",
    "read_refusal",
    "run_status",
]
