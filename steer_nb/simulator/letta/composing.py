"""What a server kept of a recorded run: its messages, put together of frames and a history.

A stream has no user's messages, no answers, and in tokens not every result (3.3); a history has all
of it, but a client does not read all of it. What neither shows is made as the server makes it.
"""

from __future__ import annotations

import datetime as dt
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from steer_nb.simulator.letta.approving import Approved, as_given, judge, return_cap
from steer_nb.simulator.letta.compacting import Compacted, packed, summary_in
from steer_nb.simulator.letta.requests import read_sent
from steer_nb.simulator.letta.stored import Stored, Thought, ToolCall, as_kept, letta_messages
from steer_nb.simulator.letta.trouble import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from steer_nb.simulator.letta.recorded import RecordedRun
    from steer_nb.simulator.letta.requests import Sent
    from steer_nb.simulator.letta.state import Conversation

__all__ = ["compose", "listed", "sent_of"]

_WHOLE: Final = ("end_turn", "requires_approval", "max_steps", "tool_rule")
_SPOKEN: Final = (
    "assistant_message",
    "reasoning_message",
    "hidden_reasoning_message",
    "tool_call_message",
    "approval_request_message",
)
_LOW: Final = 7
"""Bits of an id that count a message's parts, or tell a request from its text (2.1)."""


@dataclass(slots=True)
class _Said:
    """One message of the model, while it is put together."""

    own: dict[str, Any] | None = None
    parts: dict[str, list[Any]] = field(default_factory=dict)
    free: dict[str, list[str]] = field(default_factory=dict)
    gated: dict[str, list[str]] = field(default_factory=dict)
    request: dict[str, Any] | None = None

    def take(self, message: dict[str, Any]) -> None:
        """Add a piece, or a whole."""
        kind = message["message_type"]
        if kind in ("tool_call_message", "approval_request_message"):
            asks = kind == "approval_request_message"
            if asks:
                self.request = message
            else:
                self.own = self.own or message
            calls = self.gated if asks else self.free
            given = message.get("tool_calls") or message.get("tool_call") or []
            for one in given if isinstance(given, list) else [given]:
                kept = calls.setdefault(str(one.get("tool_call_id")), ["", ""])
                kept[0] += one.get("name") or ""
                kept[1] += one.get("arguments") or ""
            return
        self.own = self.own or message
        part = self.parts.setdefault(str(message.get("otid")), [kind, "", message.get("state")])
        name = {"assistant_message": "content", "reasoning_message": "reasoning"}.get(kind)
        part[1] += message.get(name or "hidden_reasoning") or ""

    def stored(self) -> list[Stored]:
        """Give what is kept of it: two messages where calls stand beside a request (3.1)."""
        parts: list[Thought | str] = [
            text if kind == "assistant_message" else Thought(text or None, state)
            for kind, text, state in self.parts.values()
        ]
        free = tuple(ToolCall(name, given, key) for key, (name, given) in self.free.items())
        gated = tuple(ToolCall(name, given, key) for key, (name, given) in self.gated.items())
        if self.request is None or free:
            assert self.own is not None
            own = _stored(self.own, "assistant", parts=tuple(parts), calls=free)
            if self.request is None:
                return [own]
            return [own, _stored(self.request, "approval", calls=gated)]
        return [_stored(self.request, "approval", parts=tuple(parts), calls=gated)]


def _stored(message: dict[str, Any], role: Any, **fields: Any) -> Stored:
    moment = dt.datetime.fromisoformat(str(message.get("date")))
    own: dict[str, Any] = {"run_id": None, "step_id": None, "name": None, "sender_id": None}
    own = {name: message.get(name) for name in own}
    return Stored(str(message["id"]), role, moment.timestamp(), **{**own, **fields})


def _group(messages: Iterable[dict[str, Any]]) -> list[Stored]:
    """Put messages of a stream or a history together, in their order."""
    found: dict[Any, _Said | Stored] = {}
    for one in messages:
        kind = one.get("message_type")
        if kind in _SPOKEN:
            key = uuid.UUID(str(one["id"]).removeprefix("message-")).int >> _LOW
            known = found.setdefault(key, _Said())
            assert isinstance(known, _Said)
            known.take(one)
        elif kind == "tool_return_message":
            found[one["id"]] = _stored(one, "tool", answers=list(one.get("tool_returns") or ()))
        elif kind == "approval_response_message":
            answers = list(one.get("approvals") or ())
            found[one["id"]] = _stored(one, "approval_response", answers=answers)
        elif kind in ("user_message", "system_message"):
            role, content = "user" if kind == "user_message" else "system", one.get("content")
            stored = _stored(one, role, content=content, otid=one.get("otid"))
            stored.summary = summary_in(content) if role == "user" else None
            found[one["id"]] = stored
        elif kind == "summary_message":
            stored = _stored(one, "summary", summary=str(one["summary"]))
            done = Compacted([], str(one["summary"]), "sliding_window", 0)
            stored.content = packed(done, stored.created, one.get("compaction_stats"))
            found[one["id"]] = stored
    return [
        stored
        for one in found.values()
        for stored in ([one] if isinstance(one, Stored) else one.stored())
    ]


def listed(shown: dict[str, list[dict[str, Any]]]) -> list[Stored]:
    """Give what a history shows as what is kept."""
    return [_as_shown(one, shown) for one in _group(m for part in shown.values() for m in part)]


def _as_shown(stored: Stored, shown: dict[str, list[dict[str, Any]]]) -> Stored:
    """Let a message be shown as it was, word for word."""
    known = {(m.get("message_type"), m.get("otid")): m for m in shown.get(stored.id, ())}
    if known:
        made = letta_messages(stored)
        stored.shown = tuple(known.get((m["message_type"], m["otid"]), m) for m in made)
        if stored.role == "approval":  # of what a stream shows, calls can be phantoms (9.1)
            calls = stored.shown[-1]["tool_calls"]
            names = ("name", "arguments", "tool_call_id")
            stored.calls = tuple(ToolCall(*(one[name] for name in names)) for one in calls)
    return stored


def sent_of(run: RecordedRun) -> Sent | None:
    """Read the request of a run; None where there is none, or a bad one."""
    try:
        return None if run.body is None else read_sent(run.body, streaming=True)
    except Refused:
        return None


def compose(
    run: RecordedRun, conversation: Conversation, new_id: Callable[[], str]
) -> list[Stored]:
    """Give what a server kept of a run: only whole steps of it (3.4, 4.1).

    Parameters
    ----------
    run : RecordedRun
        It.
    conversation : Conversation
        Whose it is, as it was before.
    new_id : callable
        Makes the id of a message whose own nobody saw.
    """
    frames = [one for one in run.frames if one.get("message_type") != "ping"]
    spoken = _group(frames)
    known = {one.id for one in spoken}
    more = [one for one in listed(run.listed) if one.id not in known]
    whole = run.stop_reason in _WHOLE
    if not whole and spoken:
        steps = [one.step_id for one in spoken]
        done = {one.step_id for one in spoken if one.role in ("tool", "approval")}
        spoken = [one for one in spoken if one.step_id != steps[-1] or one.step_id in done]
    at = min((one.created for one in spoken), default=conversation.updated)
    spoken = [_as_shown(one, run.listed) for one in spoken]
    sent, pending = sent_of(run), conversation.pending
    if sent is None or not (spoken or whole):
        return [*more, *spoken]
    head = [one for one in more if one.role == "approval_response"]
    if sent.approvals is not None and pending is not None:
        head = head or [_made(new_id(), "approval_response", at, run)]
        head[0].answers = head[0].answers or as_given(sent.approvals)
        told = [one for one in (*spoken, *more) if one.step_id == pending.step_id]
        told = [one for one in told if one.role == "tool"][:1]
        if not told:
            told = [_made(new_id(), "tool", at, run)]
            told[0].step_id, told[0].answers = pending.step_id, _returns(conversation, sent)
        head.append(told[0])
        spoken = [one for one in spoken if one is not told[0]]
    heard = {one.otid: one for one in more if one.role == "user"}
    for one in sent.users:
        user = heard.pop(one.get("otid"), None)
        if user is None:
            user = _made(new_id(), one["role"], at, run)
            user.content, user.otid = as_kept(one["content"]), one.get("otid")
            user.step_id = spoken[0].step_id if spoken else None
        head.append(user)
    return [*head, *heard.values(), *spoken]


def _made(message_id: str, role: Any, at: float, run: RecordedRun) -> Stored:
    return Stored(message_id, role, at, run.id)


def _returns(conversation: Conversation, sent: Sent) -> list[dict[str, Any]]:
    """Say what came of answers that no stream shows: denials, and the client's results (3.3)."""
    verdict = judge(
        conversation.context,
        conversation.pending,
        [dict(one) for one in sent.approvals or ()],
        cap=return_cap(conversation.agent.window),
    )
    return verdict.returns if isinstance(verdict, Approved) else []
