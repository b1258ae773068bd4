"""What an approval means for a conversation: the state machine's transitions (chapter 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb.simulator.letta.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.simulator.letta.stored import Stored, ToolCall

__all__ = ["CANCELLED", "PENDING", "Approved", "Verdict", "denied", "judge", "pending_trouble"]

CANCELLED: Final = "The user cancelled the request, so the tool call was denied."
PENDING: Final = (
    "CONFLICT: Cannot send a new message: The agent is waiting for approval on a tool call. "
    "Please approve or deny the pending request before continuing."
)
_STALE: Final = (
    "Cannot process approval response: No tool call is currently awaiting approval. "
    "Please send a regular message to interact with the agent."
)
_EMPTY: Final = (
    "Invalid approval response. Approval response message does not contain any approvals."
)
_REMEMBERED: Final = 10
"""So many messages back an answered set of calls is known again (5.6)."""


@dataclass(frozen=True, slots=True)
class Approved:
    """Answers to all calls of a pending request.

    Attributes
    ----------
    request : Stored
        Which it was.
    returns : list of dict
        Results that the client gives, then denials: the order in which they are told (3.2).
    execute : list of ToolCall
        What the server runs.
    """

    request: Stored
    returns: list[dict[str, Any]]
    execute: list[ToolCall]


Verdict = Trouble | Approved | str
"""What comes of an approval: an error, work, ``keep_alive`` or ``broken``."""


def judge(
    history: Sequence[Stored], pending: Stored | None, given: list[dict[str, Any]]
) -> Verdict:
    """Say what comes of an approval.

    Parameters
    ----------
    history : sequence of Stored
        The conversation.
    pending : Stored or None
        The request that waits.
    given : list of dict
        Decisions and results, normalised.
    """
    received = [one["tool_call_id"] for one in given]
    if pending is None:
        answered = (set(one.call_ids) for one in history[-_REMEMBERED:] if one.role == "tool")
        return "keep_alive" if received and set(received) in answered else Trouble.of(400, _STALE)
    if not given:
        return Trouble.of(400, _EMPTY)
    expected = pending.call_ids
    by_message = received == [pending.id] and len(expected) == 1
    if by_message and given[0]["type"] == "approval":
        if not given[0]["approve"]:
            return "broken"  # 8: the message's id is known when approving, and not when denying
        given = [{**given[0], "tool_call_id": expected[0]}]
    elif set(received) != set(expected):
        return Trouble.of(
            400, f"Invalid tool call IDs. Expected '{expected}', but received '{received}'."
        )
    first: dict[str, dict[str, Any]] = {}
    for one in given:  # of several answers to one call, the first counts
        first.setdefault(one["tool_call_id"], one)
    returns = [_kept(one) for one in first.values() if one["type"] == "tool"]
    decided = [(call, first[call.tool_call_id]) for call in pending.calls]
    decided = [(call, one) for call, one in decided if one["type"] == "approval"]
    returns += [
        denied(call.tool_call_id, one.get("reason")) for call, one in decided if not one["approve"]
    ]
    return Approved(pending, returns, [call for call, one in decided if one["approve"]])


def denied(tool_call_id: str, reason: str | None) -> dict[str, Any]:
    """Give the result that the model gets of a call that was denied; no reason is said, too."""
    return {
        "type": "tool",
        "tool_return": f"Error: request to call tool denied. User reason: {reason}",
        "status": "error",
        "tool_call_id": tool_call_id,
        "stdout": None,
        "stderr": None,
    }


def pending_trouble(pending: Stored, *, named: bool) -> Trouble:
    """Refuse a message while a request waits: with its id, or in words only (chapter 7)."""
    detail: Any = PENDING
    if not named:
        detail = {
            "code": "PENDING_APPROVAL",
            "message": PENDING,
            "pending_request_id": pending.id,
        }
    return Trouble(409, {"detail": detail}, PENDING, PENDING)


def _kept(given: dict[str, Any]) -> dict[str, Any]:
    """Record a client's result; a list of parts is always a success (chapter 6)."""
    value, status = given["tool_return"], given["status"]
    if isinstance(value, list):
        status = "success"
        value = [
            {"type": "text", "text": part.get("text"), "signature": part.get("signature")}
            if part.get("type") == "text"
            else part
            for part in value
        ]
    return {
        "type": "tool",
        "tool_return": value,
        "status": status,
        "tool_call_id": given["tool_call_id"],
        "stdout": given.get("stdout"),
        "stderr": given.get("stderr"),
    }
