"""What an agent remembers: one message of the model's conversation, and what clients see of it.

One stored message gives several of Letta's: reasoning, text, and calls are parts of it (chapter 2).
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Literal

from steer_nb.simulator.letta.naming import otid_of

__all__ = [
    "Role",
    "Stored",
    "Thought",
    "ToolCall",
    "as_kept",
    "base",
    "iso",
    "letta_messages",
    "text_of",
]

Role = Literal["system", "user", "assistant", "approval", "approval_response", "tool", "summary"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool."""

    name: str
    arguments: str
    tool_call_id: str

    def to_dict(self) -> dict[str, Any]:
        """Give it as clients see it."""
        return {
            "name": self.name,
            "arguments": self.arguments,
            "tool_call_id": self.tool_call_id,
        }


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning: shown, or hidden where there is a `state`."""

    text: str | None
    state: str | None = None

    def fields(self, text: str | None) -> tuple[str, dict[str, Any]]:
        """Give the message_type, and the fields that carry so much of the text."""
        if self.state is not None:
            return "hidden_reasoning_message", {"state": self.state, "hidden_reasoning": text}
        fields = {"source": "reasoner_model", "reasoning": text, "signature": None}
        return "reasoning_message", fields


@dataclass(slots=True)
class Stored:
    """One message.

    Attributes
    ----------
    id : str
        Of the message.
    role : str
        Whose it is; ``approval`` asks for approvals, ``approval_response`` answers.
    created : float
        Seconds since the epoch.
    run_id, step_id : str or None
        What made it.
    otid : str or None
        The client's, of a user's message.
    content : str or list
        A user's or system's words.
    parts : tuple
        What an assistant thought and said, in order: thoughts, and texts.
    calls : tuple of ToolCall
        Of an assistant, or of a request for approval.
    answers : list of dict
        What an approval response holds, or the results in a tool message.
    summary : str or None
        Of what stands before, where it was compacted; `content` has it packed.
    place : int
        By which it is listed in a conversation of its own.
    shown : tuple of dict
        What clients see of it, where that is known from a recording.
    """

    id: str
    role: Role
    created: float
    run_id: str | None = None
    step_id: str | None = None
    otid: str | None = None
    name: str | None = None
    sender_id: str | None = None
    content: Any = None
    parts: tuple[Thought | str, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    answers: list[dict[str, Any]] = field(default_factory=list)
    summary: str | None = None
    place: int = 0
    shown: tuple[dict[str, Any], ...] = ()

    @property
    def call_ids(self) -> list[str]:
        """Which calls a request asks about, or a tool message answers."""
        if self.role == "approval":
            return [call.tool_call_id for call in self.calls]
        return [answer["tool_call_id"] for answer in self.answers]

    def base(self, message_type: str, otid: str | None) -> dict[str, Any]:
        """Give the fields that all of Letta's messages have."""
        return base(
            message_type,
            self.id,
            otid,
            self.created,
            step_id=self.step_id,
            run_id=self.run_id,
            name=self.name,
            sender_id=self.sender_id,
        )


def iso(seconds: float) -> str:
    """Write a time as messages do.

    Examples
    --------
    >>> iso(1_795_996_800)
    '2026-11-30T00:00:00+00:00'
    """
    moment = dt.datetime.fromtimestamp(int(seconds), dt.UTC)
    return moment.isoformat()


def base(
    message_type: str,
    message_id: str,
    otid: str | None,
    created: float,
    *,
    step_id: str | None = None,
    run_id: str | None = None,
    name: str | None = None,
    sender_id: str | None = None,
) -> dict[str, Any]:
    """Give the fields that all of Letta's messages have, in their order."""
    return {
        "id": message_id,
        "date": iso(created),
        "name": name,
        "message_type": message_type,
        "otid": otid,
        "sender_id": sender_id,
        "step_id": step_id,
        "is_err": None,
        "seq_id": None,
        "run_id": run_id,
    }


def letta_messages(stored: Stored) -> list[dict[str, Any]]:
    """Give what clients see of one message, in its order.

    Examples
    --------
    >>> said = Stored("message-5164b06b-aee7-4ef0-b232-bbeacce5fbd8", "assistant", 0, parts=("Hi",))
    >>> [(one["message_type"], one["content"]) for one in letta_messages(said)]
    [('assistant_message', 'Hi')]
    """
    return [dict(one) for one in stored.shown] or _RENDERED[stored.role](stored)


def _system(stored: Stored) -> list[dict[str, Any]]:
    return [{**stored.base("system_message", stored.otid), "content": stored.content}]


def _user(stored: Stored) -> list[dict[str, Any]]:
    return [{**stored.base("user_message", stored.otid), "content": stored.content}]


def _assistant(stored: Stored) -> list[dict[str, Any]]:
    made = _parts(stored)
    if stored.calls:
        own = stored.base("tool_call_message", otid_of(stored.id, len(made)))
        made.append({**own, **_calls(stored)})
    return made


def _approval(stored: Stored) -> list[dict[str, Any]]:
    own = stored.base("approval_request_message", stored.id)
    return [*_parts(stored), {**own, **_calls(stored)}]


def _parts(stored: Stored) -> list[dict[str, Any]]:
    made = []
    for index, part in enumerate(stored.parts):
        otid = otid_of(stored.id, index)
        if isinstance(part, Thought):
            kind, fields = part.fields(part.text)
        else:
            kind, fields = "assistant_message", {"content": part}
        made.append({**stored.base(kind, otid), **fields})
    return made


def _calls(stored: Stored) -> dict[str, Any]:
    calls = [call.to_dict() for call in stored.calls]
    return {"tool_call": calls[0], "tool_calls": calls}


def _response(stored: Stored) -> list[dict[str, Any]]:
    """The deprecated fields are those of the first decision; results have none (chapter 8)."""
    first = next((one for one in stored.answers if one["type"] == "approval"), {})
    return [
        {
            **stored.base("approval_response_message", None),
            "approvals": [dict(one) for one in stored.answers],
            "approve": first.get("approve"),
            "approval_request_id": first.get("tool_call_id"),
            "reason": first.get("reason"),
        }
    ]


def _returns(stored: Stored) -> list[dict[str, Any]]:
    first = stored.answers[0]
    value = first["tool_return"]
    return [
        {
            **stored.base("tool_return_message", otid_of(stored.id, 0)),
            "tool_return": value if isinstance(value, str) else text_of(value),
            "status": first["status"],
            "tool_call_id": first["tool_call_id"],
            "stdout": first["stdout"],
            "stderr": first["stderr"],
            "tool_returns": [dict(one) for one in stored.answers],
        }
    ]


def as_kept(content: Any) -> Any:
    """Keep a text as a text; so is a single part that is one."""
    alone = content[0] if isinstance(content, list) and len(content) == 1 else None
    if isinstance(alone, dict) and alone.get("type") == "text":
        return alone.get("text")
    return content


def text_of(content: Any) -> str:
    """Give the words of a text, or of the text parts in a list."""
    if isinstance(content, str):
        return content
    parts = [one for one in content or () if isinstance(one, dict)]
    return "\n".join(str(one.get("text") or "") for one in parts if one.get("type") == "text")


_RENDERED = {
    "system": _system,
    "user": _user,
    "summary": _user,  # a history never has a summary_message: it is a user's there
    "assistant": _assistant,
    "approval": _approval,
    "approval_response": _response,
    "tool": _returns,
}
