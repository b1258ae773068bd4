"""Runs, why they stop, and errors in every shape that a Letta server gives them."""

from __future__ import annotations

import json
from typing import Any, ClassVar, Final, Literal

import msgspec

from steer_nb.wire.letta.part import Part

__all__ = ["FAULT_KINDS", "STOP_REASONS", "Refusal", "Run", "read_refusal", "run_status"]

STOP_REASONS: Final = (
    "end_turn",
    "error",
    "llm_api_error",
    "invalid_llm_response",
    "invalid_tool_call",
    "max_steps",
    "max_tokens_exceeded",
    "no_tool_call",
    "tool_rule",
    "cancelled",
    "insufficient_credits",
    "requires_approval",
    "context_window_overflow_in_system_prompt",
)
"""Why a run stops, in the service's words (`StopReasonType`)."""

_COMPLETED: Final = frozenset({"end_turn", "max_steps", "tool_rule", "requires_approval"})

RunStatus = Literal["created", "running", "completed", "failed", "cancelled"]


def run_status(stop_reason: str) -> Literal["completed", "failed", "cancelled"]:
    """Say what a run's status is once it stopped for a reason, known or not (chapter 2).

    Examples
    --------
    >>> run_status("requires_approval"), run_status("cancelled"), run_status("no_tool_call")
    ('completed', 'cancelled', 'failed')
    """
    if stop_reason in _COMPLETED:
        return "completed"
    return "cancelled" if stop_reason == "cancelled" else "failed"


class Run(Part, frozen=True, kw_only=True):
    """One run: what a request set going.

    Attributes
    ----------
    id : str or None
        ``run-…``.
    agent_id : str
        Its agent.
    conversation_id : str or None
        Its conversation; None in the agent's default one.
    status : {"created", "running", "completed", "failed", "cancelled"}
        A run that waits for approval is ``completed``.
    stop_reason : str or None
        Why it stopped.
    created_at, completed_at : str or None
        ISO 8601.
    background : bool or None
        Whether it goes on without its reader.
    metadata : dict or None
        Holds the error of a run that failed.
    """

    _nulls: ClassVar[bool] = True

    id: str | None = None
    status: RunStatus = "created"
    created_at: str | None = None
    completed_at: str | None = None
    agent_id: str
    conversation_id: str | None = None
    base_template_id: str | None = None
    background: bool | None = None
    metadata: dict[str, Any] | None = None
    request_config: dict[str, Any] | None = None
    stop_reason: str | None = None
    callback_url: str | None = None
    callback_sent_at: str | None = None
    callback_status_code: int | None = None
    callback_error: str | None = None
    ttft_ns: int | None = None
    total_duration_ns: int | None = None


FAULT_KINDS: Final = ("pending_approval", "invalid_tool_call_ids", "nothing_pending", "busy")
"""What a client can act upon, of all that is refused; told apart by English text alone (4.2)."""

_MARKS: Final = (
    ("waiting for approval", "pending_approval"),
    ("invalid tool call ids", "invalid_tool_call_ids"),
    ("no tool call is currently awaiting approval", "nothing_pending"),
    ("is currently being processed", "busy"),
)


class Refusal(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """An error in one shape, whichever it came in.

    Attributes
    ----------
    status : int or None
        The HTTP status; None within a stream, where it was 200.
    code : str or None
        The service's own word, where it has one.
    message : str
        What it says.
    kind : str or None
        A word of `FAULT_KINDS`; None for all else.
    pending_request_id : str or None
        The request for approval that waits, where the service names it.
    run_id : str or None
        The run that is in the way, or that failed.
    """

    status: int | None = None
    code: str | None = None
    message: str = ""
    kind: str | None = None
    pending_request_id: str | None = None
    run_id: str | None = None


def read_refusal(body: Any, status: int | None = None) -> Refusal:
    """Read an error: of an HTTP answer, or an ``error_message`` of a stream (chapter 7).

    Parameters
    ----------
    body : dict, list or str
        The decoded body.
    status : int, optional
        The HTTP status.

    Examples
    --------
    >>> read_refusal({"detail": "CONFLICT: Cannot send a new message: The agent is waiting for "
    ...               "approval on a tool call."}, 409).kind
    'pending_approval'
    """
    outer = body if isinstance(body, dict) else {}
    told: Any = outer
    if outer.get("message_type") != "error_message":
        told = outer.get("detail", outer.get("error")) if outer else body
    fields = told if isinstance(told, dict) else {"message": told}
    texts = [fields.get("detail"), fields.get("message")]
    said = [text for text in texts if isinstance(text, str) and text]
    message = said[0] if said else _written(fields.get("message"))
    found = " ".join(said).lower()
    kind = next((kind for mark, kind in _MARKS if mark in found), None)
    if fields.get("code") == "PENDING_APPROVAL":
        kind = "pending_approval"
    return Refusal(
        status=status,
        code=_word(fields.get("error_type") or fields.get("code") or fields.get("type")),
        message=message,
        kind=kind,
        pending_request_id=_word(fields.get("pending_request_id")),
        run_id=_word(outer.get("run_id")),
    )


def _written(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None
