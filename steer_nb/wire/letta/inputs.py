"""What a client may send: messages, answers to calls, and the tools that it runs itself (1.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from steer_nb.errors import InvalidInput
from steer_nb.wire.jsonio import shown
from steer_nb.wire.letta.calls import ApprovalReturn, Decision, ToolReturn, decisions_of
from steer_nb.wire.letta.part import Fault, Head, Part, Parts, Unreadable, content_text, read

if TYPE_CHECKING:
    from typing import TypeAlias

__all__ = [
    "REQUEST_FIELDS",
    "ApprovalCreate",
    "ClientTool",
    "Input",
    "MessageCreate",
    "ToolReturnCreate",
    "input_of",
]


class MessageCreate(Part, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """Something said to the agent.

    Attributes
    ----------
    role : {"user", "system", "assistant"}
        Who says it.
    content : str or tuple of dict
        A text, or content parts.
    otid : str or None
        The client's own id for it: what is sent again under the same is the same (5.4).
    name, sender_id, group_id, batch_item_id : str or None
        What else the schema has.

    Examples
    --------
    >>> MessageCreate(role="user", content="Hi", otid="o-1").to_dict()
    {'type': 'message', 'role': 'user', 'content': 'Hi', 'otid': 'o-1'}
    """

    type: ClassVar[str] = "message"
    _head: ClassVar[Head] = ("type", "message")

    role: Literal["user", "system", "assistant"]
    content: str | tuple[dict[str, Any], ...]
    otid: str | None = None
    name: str | None = None
    sender_id: str | None = None
    group_id: str | None = None
    batch_item_id: str | None = None

    @property
    def text(self) -> str:
        """Its text, without other parts."""
        return content_text(self.content)


class ApprovalCreate(Part, frozen=True, kw_only=True, tag_field="type", tag="approval"):
    """Answers to all calls of a pending request: decisions and results, in any order.

    Attributes
    ----------
    approvals : tuple of ApprovalReturn or ToolReturn, or None
        One for each call that waits, no more and no fewer.
    approve, approval_request_id, reason
        Deprecated, for a single call; see chapter 8 for what of it works.
    otid, group_id : str or None
        As for a `MessageCreate`.
    """

    type: ClassVar[str] = "approval"
    _head: ClassVar[Head] = ("type", "approval")
    _parts: ClassVar[Parts] = {"approvals": (ApprovalReturn, ToolReturn)}

    approvals: tuple[ApprovalReturn | ToolReturn, ...] | None = None
    otid: str | None = None
    group_id: str | None = None
    approve: bool | None = None
    approval_request_id: str | None = None
    reason: str | None = None

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What it answers, call by call, normalised: see `decisions_of`."""
        return decisions_of(self.approvals, self.approve, self.approval_request_id, self.reason)


class ToolReturnCreate(Part, frozen=True, kw_only=True, tag_field="type", tag="tool_return"):
    """Results of the client's own tools; the service takes it for an `ApprovalCreate` of them.

    Attributes
    ----------
    tool_returns : tuple of ToolReturn
        One for each call that waits.
    otid, group_id : str or None
        As for a `MessageCreate`.
    """

    type: ClassVar[str] = "tool_return"
    _head: ClassVar[Head] = ("type", "tool_return")
    _parts: ClassVar[Parts] = {"tool_returns": (ToolReturn,)}

    tool_returns: tuple[ToolReturn, ...]
    otid: str | None = None
    group_id: str | None = None

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What it answers, call by call."""
        return self.tool_returns


class ClientTool(Part, frozen=True, kw_only=True):
    """A tool that the client runs (``ClientToolSchema``); it is declared anew in each request.

    Attributes
    ----------
    name : str
        Wins over a tool of the service with the same name.
    description : str or None
        What the model is told of it.
    parameters : dict or None
        JSON Schema of its arguments.
    """

    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None

    def faults(self) -> tuple[Fault, ...]:
        """Say what is not as it should be: nothing can call a tool without a name."""
        known = self.name or "name" in self.extra
        return () if known else (Fault("name", "is empty", self.name),)


Input: TypeAlias = MessageCreate | ApprovalCreate | ToolReturnCreate
"""What a person says to an agent: a message, decisions on approvals, or results of tools."""

_INPUTS: Final[dict[str, type[Input]]] = {
    "message": MessageCreate,
    "approval": ApprovalCreate,
    "tool_return": ToolReturnCreate,
}

REQUEST_FIELDS: Final = frozenset(
    {
        "messages",
        "input",
        "max_steps",
        "streaming",
        "stream_tokens",
        "include_pings",
        "background",
        "client_tools",
        "client_skills",
        "include_return_message_types",
        "include_compaction_messages",
        "override_model",
        "override_system",
        "return_logprobs",
        "top_logprobs",
        "return_token_ids",
        "use_assistant_message",
        "assistant_message_tool_name",
        "assistant_message_tool_kwarg",
        "enable_thinking",
        "agent_id",
    }
)
"""Every field of a request's body; `agent_id` is for a conversation (1.1)."""


def lenient_input(value: dict[str, Any]) -> Input | None:
    """Read one element of a request's `messages` as far as it can be read; None for what is none.

    Examples
    --------
    >>> lenient_input({"approve": True, "approval_request_id": "call_1"}).decisions
    (ApprovalReturn(tool_call_id='call_1', approve=True),)
    """
    found = _INPUTS.get(_word(value))
    try:
        return None if found is None else read(found, value, [])
    except Unreadable:
        return None


def _word(value: dict[str, Any]) -> Any:
    """Which kind an input is, by its own word, or as the service guesses it (8)."""
    kind = value.get("type")
    if kind is None and "tool_returns" in value:
        return "tool_return"  # the service wants the word; a recording is read without
    if kind is None:
        legacy = any(name in value for name in ("approvals", "approve", "approval_request_id"))
        return "approval" if legacy else "message"
    return kind if isinstance(kind, str) else ""


def input_of(value: Any) -> Input:
    """Read one element of a request's `messages`, as the service does.

    Parameters
    ----------
    value : dict
        Without `type` it is a message, or an approval where it has a deprecated field of one
        (8); the elements of `approvals` need theirs.

    Raises
    ------
    InvalidInput
        The service would refuse it with 422; names the field, the value and the rule.

    Examples
    --------
    >>> input_of({"role": "user", "content": "Hi"})
    MessageCreate(role='user', content='Hi')
    >>> input_of({"type": "approval", "approvals": [{"tool_call_id": "c", "approve": True}]})
    Traceback (most recent call last):
        ...
    steer_nb.errors.InvalidInput: approvals[0].type is missing. Give 'approval' or 'tool'.
    """
    held = value if isinstance(value, dict) else {}
    kind = held.get("type")
    if kind is None:
        legacy = "approve" in held or "approval_request_id" in held
        kind = "approval" if legacy else "message"
    found = _INPUTS.get(kind) if isinstance(kind, str) else None
    if found is None:
        words = ", ".join(map(repr, _INPUTS))
        msg = f"The type of an input is {shown(kind)}. Give one of {words}."
        raise InvalidInput(msg, field="type", value=kind, rule=f"one of {words}")
    if "type" in held and held["type"] is None:
        value = {name: one for name, one in held.items() if name != "type"}
    answer = found.from_dict(value)
    for name in ("approvals", "tool_returns"):
        listed = held.get(name)
        for at, one in enumerate(listed if isinstance(listed, list) else ()):
            if name == "approvals" and "type" not in one:
                msg = f"{name}[{at}].type is missing. Give 'approval' or 'tool'."
                raise InvalidInput(msg, field=f"{name}[{at}].type", rule="'approval' or 'tool'")
    return answer
