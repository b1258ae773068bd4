"""Every message that a Letta server writes, in streams, answers and histories (chapter 2)."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

from steer_nb.wire.letta.calling import (
    ApprovalRequestMessage,
    ApprovalResponseMessage,
    ToolCallMessage,
    ToolReturnMessage,
)
from steer_nb.wire.letta.message import LettaMessage, Message
from steer_nb.wire.letta.part import content_text

__all__ = [
    "MESSAGE_TYPES",
    "AssistantMessage",
    "EventMessage",
    "HiddenReasoningMessage",
    "LettaErrorMessage",
    "LettaPing",
    "LettaStopReason",
    "LettaUsageStatistics",
    "ReasoningMessage",
    "SummaryMessage",
    "SystemMessage",
    "UnknownMessage",
    "UserMessage",
]

Content = str | tuple[dict[str, Any], ...]


class SystemMessage(LettaMessage, frozen=True, kw_only=True, tag_field="message_type",
                    tag="system_message"):  # fmt: skip
    """What the model is told it is. `content` is its text."""

    message_type: ClassVar[str] = "system_message"

    content: str

    @property
    def text(self) -> str:
        """Its text."""
        return self.content


class UserMessage(LettaMessage, frozen=True, kw_only=True, tag_field="message_type",
                  tag="user_message"):  # fmt: skip
    """What was said to the model. `content` is a text, or text and image parts."""

    message_type: ClassVar[str] = "user_message"

    content: Content

    @property
    def text(self) -> str:
        """Its text, without other parts."""
        return content_text(self.content)


class AssistantMessage(LettaMessage, frozen=True, kw_only=True, tag_field="message_type",
                       tag="assistant_message"):  # fmt: skip
    """What the model said; in token mode the next piece of it. `content` is a text, or parts."""

    message_type: ClassVar[str] = "assistant_message"

    content: Content

    @property
    def text(self) -> str:
        """Its text, without other parts."""
        return content_text(self.content)


class ReasoningMessage(LettaMessage, frozen=True, kw_only=True, tag_field="message_type",
                       tag="reasoning_message"):  # fmt: skip
    """What the model thought; in token mode the next piece of it.

    Attributes
    ----------
    reasoning : str
        The text.
    source : {"non_reasoner_model", "reasoner_model"} or None
        Whether the model reasons by itself, or was asked to.
    signature : str or None
        The model's own, for thoughts that it takes back only unchanged.
    """

    message_type: ClassVar[str] = "reasoning_message"

    source: Literal["reasoner_model", "non_reasoner_model"] | None = "non_reasoner_model"
    reasoning: str
    signature: str | None = None

    @property
    def text(self) -> str:
        """Its text."""
        return self.reasoning


class HiddenReasoningMessage(LettaMessage, frozen=True, kw_only=True, tag_field="message_type",
                             tag="hidden_reasoning_message"):  # fmt: skip
    """Thoughts that are not shown. `state` says why: ``redacted`` or ``omitted``."""

    message_type: ClassVar[str] = "hidden_reasoning_message"

    state: Literal["redacted", "omitted"]
    hidden_reasoning: str | None = None


class SummaryMessage(LettaMessage, frozen=True, kw_only=True, tag_field="message_type",
                     tag="summary_message"):  # fmt: skip
    """What stands for older messages after a compaction; `compaction_stats` counts them."""

    message_type: ClassVar[str] = "summary_message"

    summary: str
    compaction_stats: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """Its text."""
        return self.summary


class EventMessage(LettaMessage, frozen=True, kw_only=True, tag_field="message_type",
                   tag="event_message"):  # fmt: skip
    """Something that happened to the conversation: so far only ``compaction``."""

    message_type: ClassVar[str] = "event_message"

    event_type: Literal["compaction"]
    event_data: dict[str, Any]


class LettaPing(LettaMessage, frozen=True, kw_only=True, tag_field="message_type", tag="ping"):
    """Keeps a stream alive; the first names the run before anything else does."""

    message_type: ClassVar[str] = "ping"


class LettaErrorMessage(Message, frozen=True, kw_only=True, tag_field="message_type",
                        tag="error_message"):  # fmt: skip
    """An error within a stream, sent as ``event: error``; the HTTP status was 200.

    Attributes
    ----------
    run_id : str
        The run that failed.
    error_type : str
        ``internal_error``, ``llm_error`` …; problems with approvals are told apart by text only.
    message : str
        For people; generic for most problems with approvals.
    detail : str or None
        What it was.
    seq_id : int or None
        Its place in the stream of a background run.
    """

    message_type: ClassVar[str] = "error_message"

    run_id: str
    error_type: str
    message: str
    detail: str | None = None
    seq_id: int | None = None


class LettaStopReason(Message, frozen=True, kw_only=True, tag_field="message_type",
                      tag="stop_reason"):  # fmt: skip
    """Why a run stopped: a word of `STOP_REASONS`, or a newer one. It names no run."""

    message_type: ClassVar[str] = "stop_reason"

    stop_reason: str


class LettaUsageStatistics(Message, frozen=True, kw_only=True, tag_field="message_type",
                           tag="usage_statistics"):  # fmt: skip
    """The tokens of a run, over all its steps; None where the service says nothing.

    Attributes
    ----------
    prompt_tokens, completion_tokens, total_tokens, step_count : int or None
        Given to the model, written by it, both; and in how many calls of it.
    cached_input_tokens, cache_write_tokens, reasoning_tokens : int or None
        Shares of those.
    context_tokens : int or None
        What is in the model's context now.
    run_ids : tuple of str or None
        Runs that it is about, where it names them.
    """

    message_type: ClassVar[str] = "usage_statistics"

    completion_tokens: int | None = None
    prompt_tokens: int | None = None
    total_tokens: int | None = None
    step_count: int | None = None
    run_ids: tuple[str, ...] | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    context_tokens: int | None = None


class UnknownMessage(Message, frozen=True, kw_only=True):
    """A message of a type that is not known here; all its fields are in `extra`."""

    @property
    def kind(self) -> str:
        """Its own `message_type`; empty where it has none."""
        kind = self.extra.get("message_type")
        return kind if isinstance(kind, str) else ""


MESSAGE_TYPES: Final[dict[str, type[Message]]] = {
    kind.message_type: kind
    for kind in (
        SystemMessage,
        UserMessage,
        ReasoningMessage,
        HiddenReasoningMessage,
        AssistantMessage,
        ToolCallMessage,
        ToolReturnMessage,
        ApprovalRequestMessage,
        ApprovalResponseMessage,
        SummaryMessage,
        EventMessage,
        LettaPing,
        LettaErrorMessage,
        LettaStopReason,
        LettaUsageStatistics,
    )
}
"""Every known `message_type`, and its class."""
