"""Letta's messages as events of the tables: each under its own word, with what it adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger.messages import event_of
from steer_nb.wire import ErrorFields, Event
from steer_nb.wire.letta import (
    MESSAGE_TYPES,
    ApprovalRequestMessage,
    AssistantMessage,
    Decoded,
    LettaErrorMessage,
    LettaMessage,
    LettaPing,
    ReasoningMessage,
    ToolCallMessage,
    UnknownMessage,
    decode,
    read_refusal,
)

if TYPE_CHECKING:
    from steer_nb.trace.entries import Entry

__all__ = ["LettaEvent", "as_dict", "is_translated", "letta_event_of"]

_FAMILIES: Final = {
    "assistant_message": "text",
    "reasoning_message": "reasoning",
    "tool_call_message": "tool_args",
    "approval_request_message": "tool_args",
    "ping": "control",
    "error_message": "error",
    "stop_reason": "lifecycle",
    "usage_statistics": "lifecycle",
    "error": "error",
    "request": "lifecycle",
    "body": "control",
}
_OWN: Final = frozenset({*MESSAGE_TYPES, "error", "request", "body"})
_FAULTS: Final = 400


class LettaEvent(Event, gc=False, eq=False):
    """One of Letta's messages, requests or answers.

    Attributes
    ----------
    found : Decoded or None
        The message; None for a request, an error or another answer of HTTP.
    status : int or None
        The HTTP status, where it is told with the message.
    """

    found: Decoded | None = None
    status: int | None = None

    @property
    def known(self) -> bool:
        """Whether its type word is one of Letta's."""
        return self.type in _OWN

    @property
    def family(self) -> str:
        """A word of `FAMILIES`: what kind of event it is."""
        return _FAMILIES.get(self.type) or ("item" if self.type in MESSAGE_TYPES else "unknown")

    @property
    def error_fields(self) -> ErrorFields:
        """Code, message and so on of an error; all None for all else."""
        if self.family != "error":
            return ErrorFields()
        told = read_refusal(as_dict(self.raw) or self.raw, self.status)
        return ErrorFields(code=told.code, message=told.message, status=told.status)


def is_translated(entry: Entry) -> bool:
    """Whether an entry holds events of the Responses API beside a message, as older files do."""
    return entry.data is not None and isinstance(entry.data.get("as"), list)


def letta_event_of(entry: Entry) -> Event:
    """Decode the message of an entry of a Letta trace.

    Parameters
    ----------
    entry : Entry
        An event or a request.

    Returns
    -------
    Event
        Under Letta's own type word; ``request`` for what was sent, and ``error`` or ``body`` for
        an answer of HTTP that is no message. Where in its run it stands, the ledger's dialect adds.
    """
    if is_translated(entry):
        return event_of(entry)
    data = entry.data or {}
    raw = entry.raw or ""
    lane = data.get("lane")
    event = LettaEvent(raw=raw, stream_id=lane if isinstance(lane, str) else None)
    status = data.get("status")
    if isinstance(status, int):
        event.status = status
    if entry.kind == "out":
        event.type = "request"
        return event
    if "body" in data:
        event.type = "error" if (event.status or 0) >= _FAULTS else "body"
        return event
    found = event.found = decode(raw)
    message = found.message
    event.type = message.kind if isinstance(message, UnknownMessage) else message.message_type
    if isinstance(message, LettaMessage):
        if not isinstance(message, LettaPing):  # later ones repeat the number of what came before
            event.sequence_number = message.seq_id
        if isinstance(message, AssistantMessage | ReasoningMessage):
            event.delta = message.text
        elif isinstance(message, ToolCallMessage | ApprovalRequestMessage):
            calls = message.calls
            event.delta = calls[0].arguments if len(calls) == 1 else None
    elif isinstance(message, LettaErrorMessage):
        event.sequence_number = message.seq_id
    return event


def as_dict(raw: str) -> dict[str, Any]:
    """Decode a JSON object; empty for what is none."""
    return Event(raw=raw).payload
