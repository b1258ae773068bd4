"""What Letta's messages say, as output items of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.ledger.finished import finished_item
from steer_nb.wire.letta import (
    ApprovalRequestMessage,
    ApprovalResponseMessage,
    AssistantMessage,
    LettaMessage,
    ReasoningMessage,
    SystemMessage,
    ToolCall,
    ToolReturnMessage,
    UserMessage,
)

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f

__all__ = ["APPROVAL", "TOOL_RETURN", "LettaItem", "Run", "call_fields", "text_fields", "whole_of"]

APPROVAL: Final = "letta_approval"
TOOL_RETURN: Final = "letta_tool_return"
_TEXTS: Final = {"message": ("output_text", "text"), "reasoning": ("reasoning_text", "reasoning")}


@dataclass(slots=True)
class LettaItem:
    """One output item, as far as it came.

    Attributes
    ----------
    output_index : int
        Its place in its run.
    fields : dict
        What is known of it, without what comes in pieces.
    pieces : list of str
        Those of its text, or of its arguments.
    over : bool
        It is complete, as far as is known: another one has begun, or the run has ended.
    listed : bool
        A history had it, whole.
    """

    output_index: int
    fields: dict[str, Any]
    pieces: list[str] = field(default_factory=list)
    over: bool = False
    listed: bool = False

    @property
    def channel(self) -> str:
        """Which of an item's texts its pieces are."""
        kind = self._text
        return "arguments" if kind is None else kind[1]

    def data(self) -> dict[str, Any]:
        """Give the item as it stands, whole."""
        kind, fields = self._text, dict(self.fields)
        if kind is not None:
            fields["content"] = [{"type": kind[0], "text": "".join(self.pieces)}]
        elif self.is_call:
            fields["arguments"] = "".join(self.pieces)
        fields.setdefault("status", "completed")
        return fields

    @property
    def _text(self) -> tuple[str, str] | None:
        return None if "content" in self.fields else _TEXTS.get(self.fields["type"])

    @property
    def is_call(self) -> bool:
        """Whether it calls a tool."""
        return str(self.fields["type"]) in ("letta_tool_call", "letta_approval_call")

    def finished(
        self, lane: str | None, stub: dict[str, Any] | None = None, asked_in: str = ""
    ) -> f.ItemFinished:
        """Say that it is complete."""
        fact = finished_item(lane, self.output_index, self.data(), set())
        if stub is None:
            return fact
        return msgspec.structs.replace(fact, stub=stub, asked_in=asked_in)


@dataclass(slots=True)
class Run:
    """What is known of a run.

    Attributes
    ----------
    id : str
        The run.
    lane : str or None
        Its lane.
    items : dict of str to LettaItem
        By what tells them apart (2.1): kind, and `otid` or call.
    client_tools : frozenset of str
        Tools of the client that its request declared.
    seq : int
        The highest `seq_id` so far; 0 for none.
    over : bool
        It has ended.
    streamed : bool
        Its stream was seen, at least in part.
    asked : set of str
        Calls that wait for the client, or did.
    writing : LettaItem or None
        What its stream is writing.
    listing : list of int
        Places of its items in a history that is being read, in that order.
    """

    id: str
    lane: str | None
    client_tools: frozenset[str] = frozenset()
    items: dict[str, LettaItem] = field(default_factory=dict)
    seq: int = 0
    over: bool = False
    streamed: bool = False
    asked: set[str] = field(default_factory=set)
    writing: LettaItem | None = None
    listing: list[int] = field(default_factory=list)

    def item(self, key: str, fields: dict[str, Any]) -> tuple[LettaItem, bool]:
        """Find an item, or begin it: then the second value is True."""
        item = self.items.get(key)
        if item is not None:
            return item, False
        item = self.items[key] = LettaItem(len(self.items), fields)
        return item, True

    def stub(self, item: LettaItem) -> dict[str, Any]:
        """Say what a call that waits asks the client for (3.1): its own tools' results."""
        name = item.fields.get("name")
        kind = TOOL_RETURN if name in self.client_tools else APPROVAL
        return {"type": kind, "tool_call_id": item.fields["call_id"], "name": name}


def _places(message: LettaMessage, agent_id: str | None) -> dict[str, Any]:
    places = {"message_id": message.id, "otid": message.otid, "step_id": message.step_id}
    places["date"] = message.date
    places["run_id"] = message.run_id
    places["agent_id"] = agent_id
    return {name: value for name, value in places.items() if value}


def text_fields(
    message: AssistantMessage | ReasoningMessage, agent_id: str | None
) -> dict[str, Any]:
    """The fields of an item that is written in pieces; its id is what stays the same (2.1)."""
    fields: dict[str, Any] = {"type": "reasoning", "id": message.otid or message.id}
    if isinstance(message, AssistantMessage):
        fields = {**fields, "type": "message", "role": "assistant"}
    return {**fields, **_places(message, agent_id)}


def call_fields(message: LettaMessage, call: ToolCall, agent_id: str | None) -> dict[str, Any]:
    """The fields of a call."""
    waits = isinstance(message, ApprovalRequestMessage)
    return {
        "type": "letta_approval_call" if waits else "letta_tool_call",
        "id": call.tool_call_id,
        "call_id": call.tool_call_id,
        "name": call.name,
        **_places(message, agent_id),
    }


def whole_of(message: LettaMessage, agent_id: str | None) -> list[tuple[str, dict[str, Any]]]:
    """The items that a message holds whole, each with what tells it apart."""
    kind = message.message_type
    own = message.otid or message.id
    places = _places(message, agent_id)
    if isinstance(message, ToolReturnMessage):
        return [
            (
                f"return/{own}/{one.tool_call_id}",
                {
                    "type": "letta_tool_call_output",
                    "call_id": one.tool_call_id,
                    # That of the tool that ran first, whosever result this is (2.1).
                    "name": message.name if len(message.returns) == 1 else None,
                    "output": one.to_dict()["tool_return"],
                    "status": str(one.status) or None,
                    **{
                        name: list(lines)
                        for name, lines in (("stdout", one.stdout), ("stderr", one.stderr))
                        if lines
                    },
                    **places,
                },
            )
            for one in message.returns
        ]
    fields: dict[str, Any]
    if isinstance(message, ApprovalResponseMessage):
        approvals = [one.to_dict() for one in message.decisions]
        fields = {"type": "letta_approval_response", "approvals": approvals}
    elif isinstance(message, UserMessage | SystemMessage):
        role = "user" if isinstance(message, UserMessage) else "system"
        content = [{"type": "input_text", "text": message.text}]
        fields = {"type": "message", "role": role, "content": content}
    else:
        fields = {"type": f"letta_{kind}"}
        told = message.to_dict()
        fields |= {name: value for name, value in told.items() if name not in _SHARED}
    return [(f"{kind}/{own}", {**fields, "id": own, **places})]


_SHARED: Final = frozenset({"message_type", *LettaMessage.__struct_fields__})
