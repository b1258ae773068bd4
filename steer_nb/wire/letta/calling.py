"""Messages about calls of tools: calls, requests for approval, answers to them, and results."""

from __future__ import annotations

from typing import ClassVar, Literal

from steer_nb.wire.letta.calls import (
    ApprovalReturn,
    Decision,
    ToolCall,
    ToolReturn,
    call_faults,
    calls_of,
    decisions_of,
)
from steer_nb.wire.letta.message import LettaMessage
from steer_nb.wire.letta.part import Fault, Parts  # noqa: TC001 - msgspec reads annotations

__all__ = [
    "ApprovalRequestMessage",
    "ApprovalResponseMessage",
    "ToolCallMessage",
    "ToolReturnMessage",
]


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
