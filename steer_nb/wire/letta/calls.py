"""Calls of tools, and what answers them: results and decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from steer_nb.wire.letta.part import Fault, Head, Part, content_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ApprovalReturn", "Decision", "ToolCall", "ToolReturn", "calls_of", "decisions_of"]


class ToolCall(Part, frozen=True, kw_only=True):
    """A call of a tool, whole; or the next piece of one in token mode (``ToolCallDelta``).

    Attributes
    ----------
    name : str or None
        The tool; in pieces only the first has it.
    arguments : str or None
        A JSON text; in token mode a fragment of it.
    tool_call_id : str or None
        The same in every piece of a call.
    """

    _nulls: ClassVar[bool] = True

    name: str | None = None
    arguments: str | None = None
    tool_call_id: str | None = None

    @property
    def whole(self) -> bool:
        """Whether it has all three fields, as every call of a list has."""
        return None not in (self.name, self.arguments, self.tool_call_id)


class ApprovalReturn(Part, frozen=True, kw_only=True, tag_field="type", tag="approval"):
    """A decision: whether the service may run a call.

    Attributes
    ----------
    tool_call_id : str
        The call.
    approve : bool
        Yes or no.
    reason : str or None
        What the model is told after a no.

    Examples
    --------
    >>> ApprovalReturn(tool_call_id="call_1", approve=False, reason="wrong file").to_dict()
    {'type': 'approval', 'tool_call_id': 'call_1', 'approve': False, 'reason': 'wrong file'}
    """

    type: ClassVar[str] = "approval"
    _head: ClassVar[Head] = ("type", "approval")

    tool_call_id: str
    approve: bool
    reason: str | None = None


class ToolReturn(Part, frozen=True, kw_only=True, tag_field="type", tag="tool"):
    """A result: what a call gave, run by the client or by the service.

    Attributes
    ----------
    tool_call_id : str
        The call.
    tool_return : str or tuple of dict
        Text, or content parts (text, image). Give a failure as text: the service keeps a list with
        ``status="error"`` as a success (chapter 6).
    status : {"success", "error"}
        How it went; the service refuses one without.
    stdout, stderr : tuple of str or None
        What the tool wrote there.
    """

    type: ClassVar[str] = "tool"
    _head: ClassVar[Head] = ("type", "tool")

    tool_return: str | tuple[dict[str, Any], ...]
    status: Literal["success", "error"]
    tool_call_id: str
    stdout: tuple[str, ...] | None = None
    stderr: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """Its text: of a list, that of its text parts."""
        return content_text(self.tool_return)


Decision = ApprovalReturn | ToolReturn
"""What answers one call of an `ApprovalRequestMessage`."""


def decisions_of(
    approvals: Iterable[Decision] | None,
    approve: bool | None,
    approval_request_id: str | None,
    reason: str | None,
) -> tuple[Decision, ...]:
    """Normalise an answer: its `approvals`, or else what its deprecated fields say (chapter 8).

    Parameters
    ----------
    approvals : iterable of ApprovalReturn or ToolReturn, or None
        They win where there are any.
    approve, approval_request_id, reason
        The deprecated fields. What they call a request's id is, in all that the service writes, the
        id of a call.

    Examples
    --------
    >>> decisions_of(None, True, "call_1", None)
    (ApprovalReturn(tool_call_id='call_1', approve=True),)
    >>> decisions_of((), None, "call_1", None)
    ()
    """
    found = tuple(approvals or ())
    if found or approve is None or approval_request_id is None:
        return found
    return (ApprovalReturn(tool_call_id=approval_request_id, approve=approve, reason=reason),)


def calls_of(many: Any, one: ToolCall | None) -> tuple[ToolCall, ...]:
    """The calls of a message: its `tool_calls`, a list or a single piece; else its `tool_call`."""
    if isinstance(many, ToolCall):
        return (many,)
    return tuple(many) if many else () if one is None else (one,)


def call_faults(many: Any, one: ToolCall | None) -> tuple[Fault, ...]:
    """Say what is not as the schema says in the two fields of a message that calls tools."""
    if many is None and one is None:
        return (Fault("tool_call", "is missing"),)
    listed = many if isinstance(many, tuple) else ()
    return tuple(
        Fault(f"tool_calls[{at}].{name}", "is missing")
        for at, call in enumerate(listed)
        for name in ("name", "arguments", "tool_call_id")
        if getattr(call, name) is None and name not in call.extra
    )
