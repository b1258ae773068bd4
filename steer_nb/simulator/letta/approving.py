"""What an approval means for a conversation: the state machine's transitions (chapter 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb.simulator.letta.trouble import Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.simulator.letta.stored import Stored, ToolCall

__all__ = [
    "CANCELLED",
    "PENDING",
    "Approved",
    "Verdict",
    "as_given",
    "denied",
    "judge",
    "pending_trouble",
    "return_cap",
]

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
_LEAST_CAP: Final = 5_000


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


def return_cap(window: int) -> int:
    """Say how many characters of a client's result are kept: a fifth of the context window (6).

    Examples
    --------
    >>> return_cap(128_000), return_cap(2_000)
    (102400, 5000)
    """
    return max(_LEAST_CAP, int(window * 0.2 * 4))


def judge(
    context: Sequence[Stored],
    pending: Stored | None,
    given: list[dict[str, Any]],
    *,
    history: Sequence[Stored] = (),
    cap: int,
) -> Verdict:
    """Say what comes of an approval.

    Parameters
    ----------
    context : sequence of Stored
        What the model sees of the conversation.
    pending : Stored or None
        The request that waits.
    given : list of dict
        Decisions and results, normalised; results that are too long are cut in them.
    history : sequence of Stored
        All of the conversation: where only a summary is left of it, its last results count (5.6).
    cap : int
        So many characters of a result are kept.
    """
    received = [one["tool_call_id"] for one in given]
    if pending is None:
        recent = [one for one in context[-_REMEMBERED:] if one.role == "tool"]
        if all(one.role in ("system", "summary") for one in context):
            recent = [one for one in history if one.role == "tool"][-1:]
        answered = (set(one.call_ids) for one in recent)
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
    for one in given:
        if one["type"] == "tool" and isinstance(one["tool_return"], str):
            one["tool_return"] = _cut(one["tool_return"], cap)
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


def _cut(text: str, cap: int) -> str:
    return text if len(text) <= cap else f"{text[:cap]}... [truncated {len(text) - cap} chars]"


def as_given(approvals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write an approval's elements as the history shows them."""
    decision = ("type", "tool_call_id", "approve", "reason")
    result = ("type", "tool_return", "status", "tool_call_id", "stdout", "stderr")
    return [
        {name: one.get(name) for name in (decision if one["type"] == "approval" else result)}
        for one in approvals
    ]


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
