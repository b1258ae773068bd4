"""Every message that a Letta server writes, in streams, answers and histories (chapter 2)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Final, Literal

from steer_nb.wire.letta.calls import (
    ApprovalReturn,
    Decision,
    ToolCall,
    ToolReturn,
    call_faults,
    calls_of,
    decisions_of,
)
from steer_nb.wire.letta.part import Fault, Part, Parts, content_text

__all__ = [
    "MESSAGE_TYPES",
    "ApprovalRequestMessage",
    "ApprovalResponseMessage",
    "AssistantMessage",
    "EventMessage",
    "HiddenReasoningMessage",
    "LettaErrorMessage",
    "LettaMessage",
    "LettaPing",
    "LettaStopReason",
    "LettaUsageStatistics",
    "Message",
    "ReasoningMessage",
    "SummaryMessage",
    "SystemMessage",
    "ToolCallMessage",
    "ToolReturnMessage",
    "UnknownMessage",
    "UserMessage",
]

Content = str | tuple[dict[str, Any], ...]


class Message(Part, frozen=True, kw_only=True):
    """Anything with a `message_type`.

    Attributes
    ----------
    message_type : str
        What it is.
    """

    message_type: ClassVar[str] = ""
    _nulls: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.message_type:
            cls._head = ("message_type", cls.message_type)


class LettaMessage(Message, frozen=True, kw_only=True):
    """What the messages of a conversation have in common.

    Attributes
    ----------
    id : str
        Messages of one model call share it. In token mode a request for approval, and the text that
        came before it, are stored under an id one lower than the text was streamed with (2.1).
    date : str
        When it was made, ISO 8601.
    name : str or None
        A tool's name, in what a tool gave.
    otid : str or None
        What tells the messages of one id apart, and stays the same in stream and history.
    sender_id, step_id, run_id : str or None
        Who sent it, the step and the run it belongs to.
    is_err : bool or None
        Whether it is part of an error step.
    seq_id : int or None
        Its place in the stream of a background run, from 1.
    """

    id: str
    date: str
    name: str | None = None
    otid: str | None = None
    sender_id: str | None = None
    step_id: str | None = None
    is_err: bool | None = None
    seq_id: int | None = None
    run_id: str | None = None

    def faults(self) -> tuple[Fault, ...]:
        """Say what is not as the schema says, beyond types: `date` is a moment."""
        if not self.date or "date" in self.extra:
            return ()  # said already
        try:
            datetime.fromisoformat(self.date)
        except ValueError:
            return (Fault("date", "is no moment of ISO 8601", self.date),)
        return ()


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


class _Calling(LettaMessage, frozen=True, kw_only=True):
    _parts: ClassVar[Parts] = {
        "tool_call": (ToolCall,),
        "tool_calls": (ToolCall,),
    }

    tool_call: ToolCall | None = None
    tool_calls: tuple[ToolCall, ...] | ToolCall | None = None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """Its calls, or the piece of one: from `tool_calls` in either shape, else `tool_call`."""
        return calls_of(self.tool_calls, self.tool_call)

    @property
    def is_delta(self) -> bool:
        """Whether it adds to a call, in token mode: then `tool_calls` is no list."""
        if self.tool_calls is None:
            return self.tool_call is not None and not self.tool_call.whole
        return isinstance(self.tool_calls, ToolCall)

    def faults(self) -> tuple[Fault, ...]:
        """Say what is not as the schema says, beyond types: calls of a list are whole."""
        return (*super().faults(), *call_faults(self.tool_calls, self.tool_call))


class ToolCallMessage(_Calling, frozen=True, kw_only=True, tag_field="message_type",
                      tag="tool_call_message"):  # fmt: skip
    """Calls that the service runs by itself.

    Attributes
    ----------
    tool_calls : tuple of ToolCall, ToolCall or None
        All of them, whole; or, in token mode, the next piece of one.
    tool_call : ToolCall or None
        Deprecated: the first, or the same piece.
    """

    message_type: ClassVar[str] = "tool_call_message"


class ApprovalRequestMessage(_Calling, frozen=True, kw_only=True, tag_field="message_type",
                             tag="approval_request_message"):  # fmt: skip
    """Calls that wait for the client: for a decision, or, for its own tools, for a result.

    Nothing on the wire tells the two apart but the name: whether it is one of the request's own
    `client_tools` (3.1). Its `otid` is its `id`.

    Attributes
    ----------
    tool_calls : tuple of ToolCall, ToolCall or None
        All of them, whole; or, in token mode, the next piece of one.
    tool_call : ToolCall or None
        Deprecated: the first, or the same piece.
    """

    message_type: ClassVar[str] = "approval_request_message"


class ToolReturnMessage(LettaMessage, frozen=True, kw_only=True, tag_field="message_type",
                        tag="tool_return_message"):  # fmt: skip
    """What calls gave: the client's results first, then denials, then what was run.

    Attributes
    ----------
    tool_returns : tuple of ToolReturn or None
        All of them.
    tool_return, status, tool_call_id, stdout, stderr
        Deprecated: the first of them. `name` is that of the first that was run.
    """

    message_type: ClassVar[str] = "tool_return_message"
    _parts: ClassVar[Parts] = {"tool_returns": (ToolReturn,)}

    tool_return: str
    status: Literal["success", "error"]
    tool_call_id: str
    stdout: tuple[str, ...] | None = None
    stderr: tuple[str, ...] | None = None
    tool_returns: tuple[ToolReturn, ...] | None = None

    @property
    def returns(self) -> tuple[ToolReturn, ...]:
        """Its results: `tool_returns`, else the one of the deprecated fields."""
        if self.tool_returns or not self.tool_call_id:
            return self.tool_returns or ()
        return (
            ToolReturn(
                tool_return=self.tool_return,
                status=self.status,
                tool_call_id=self.tool_call_id,
                stdout=self.stdout,
                stderr=self.stderr,
            ),
        )


class ApprovalResponseMessage(LettaMessage, frozen=True, kw_only=True, tag_field="message_type",
                              tag="approval_response_message"):  # fmt: skip
    """What a client answered to a request for approval. Only histories have it.

    Attributes
    ----------
    approvals : tuple of ApprovalReturn or ToolReturn, or None
        One for each call: a decision, or a result of the client's own.
    approve, approval_request_id, reason
        Deprecated: those of the first decision in `approvals`; `approval_request_id` holds the id
        of its call, whatever its name says.

    Examples
    --------
    >>> told = {"id": "message-1", "date": "2026-11-30T00:23:04+00:00", "approve": False,
    ...         "approval_request_id": "call_1", "reason": "wrong file"}
    >>> message = ApprovalResponseMessage.from_dict(told)
    >>> message.decisions
    (ApprovalReturn(tool_call_id='call_1', approve=False, reason='wrong file'),)
    >>> ApprovalResponseMessage.from_dict({**told, "approve": "no"})
    Traceback (most recent call last):
        ...
    steer_nb.errors.InvalidInput: approve of an approval_response_message is 'no': ...
    """

    message_type: ClassVar[str] = "approval_response_message"
    _parts: ClassVar[Parts] = {"approvals": (ApprovalReturn, ToolReturn)}

    approvals: tuple[ApprovalReturn | ToolReturn, ...] | None = None
    approve: bool | None = None
    approval_request_id: str | None = None
    reason: str | None = None

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What it answers, call by call, normalised: see `decisions_of`."""
        return decisions_of(self.approvals, self.approve, self.approval_request_id, self.reason)


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
