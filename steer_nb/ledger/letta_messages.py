"""What the messages of a Letta run state: items, as they are written or listed, and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from steer_nb.ledger import facts as f
from steer_nb.ledger.letta_items import LettaItem, Run, call_fields, text_fields, whole_of
from steer_nb.wire.letta import (
    ApprovalRequestMessage,
    ApprovalResponseMessage,
    AssistantMessage,
    LettaMessage,
    LettaPing,
    ReasoningMessage,
    ToolCallMessage,
    ToolReturnMessage,
)

if TYPE_CHECKING:
    from steer_nb.ledger.letta_events import LettaEvent
    from steer_nb.ledger.letta_lanes import Lane

__all__ = ["message_facts"]

Facts = list[f.Fact]


@dataclass(frozen=True, slots=True)
class _How:
    """How a message came: `live` in the stream of its lane's newest run, or from a `history`."""

    live: bool
    history: bool

    @property
    def source(self) -> str:
        """What the frame `items` calls that, where the message is not live."""
        return "history" if self.history else "done"


def message_facts(
    lane: Lane,
    run: Run,
    event: LettaEvent,
    message: LettaMessage,
    *,
    live: bool,
    history: bool,
) -> Facts:
    """Say what a message of a run states.

    Parameters
    ----------
    lane : Lane
        The lane of the run; what the message calls is kept there.
    run : Run
        The run; its items are kept there.
    event : LettaEvent
        The event of the tables; which item it is about is added.
    message : LettaMessage
        The message.
    live : bool
        Whether it came in the stream of its lane's newest run.
    history : bool
        Whether it came in a list that was asked for: then it is whole.
    """
    if isinstance(message, LettaPing):
        return []
    how = _How(live, history)
    if isinstance(message, AssistantMessage | ReasoningMessage):
        key = f"{message.message_type}/{message.otid or message.id}"
        item, new = run.item(key, text_fields(message, lane.agent_id))
        return _written(run, event, item, message.text, new, how)
    if isinstance(message, ToolCallMessage | ApprovalRequestMessage):
        return _called(lane, run, event, message, how)
    facts: Facts = []
    for key, fields in whole_of(message, lane.agent_id):
        item, new = run.item(key, fields)
        _place(event, item)
        if how.history:
            run.listing.append(item.output_index)
        finished = item.finished(run.lane)
        if not how.live:
            facts.append(f.ItemListed(run.id, finished, not new, how.source))
        elif new:
            facts += _turned_to(run, None)
            number = event.sequence_number
            facts.append(msgspec.structs.replace(finished, sequence_number=number))
        item.over = True
    if isinstance(message, ToolReturnMessage):
        facts += _returned(lane, run, message)
    elif isinstance(message, ApprovalResponseMessage):
        facts += _decided(lane, run, message)
    return facts


def _written(
    run: Run,
    event: LettaEvent,
    item: LettaItem,
    text: str,
    new: bool,
    how: _How,
    asked_in: str = "",
) -> Facts:
    """Take a piece of an item, or, from a history, all of it."""
    _place(event, item)
    if how.history:
        run.listing.append(item.output_index)
        again = not new and item.over and "".join(item.pieces) == text
        item.pieces, item.over, item.listed = [text], True, True
        stub = run.stub(item) if asked_in else None
        return [f.ItemListed(run.id, item.finished(run.lane, stub, asked_in), again)]
    if item.listed:
        return []
    item.pieces.append(text)
    if not how.live:
        return [f.ItemListed(run.id, item.finished(run.lane), source=how.source)]
    facts = _turned_to(run, item)
    place = (run.lane, item.output_index)
    if new:
        facts.append(f.ItemAdded(*place, dict(item.fields)))
    number = event.sequence_number
    return [*facts, f.Delta(*place, item.channel, 0, text, sequence_number=number)]


def _turned_to(run: Run, item: LettaItem | None) -> Facts:
    """A stream goes on to another item, and nothing else says that the last one is done."""
    last, run.writing = run.writing, item
    if item is not None:
        item.over = False
    if last is None or last is item or last.over:
        return []
    last.over = True
    return [last.finished(run.lane)]


def _called(
    lane: Lane,
    run: Run,
    event: LettaEvent,
    message: ToolCallMessage | ApprovalRequestMessage,
    how: _How,
) -> Facts:
    facts: Facts = []
    waits = isinstance(message, ApprovalRequestMessage)
    named: list[str] = []
    for call in message.calls:
        call_id = call.tool_call_id or message.otid or message.id
        # In token mode the name stands in the first piece only, the arguments come in pieces.
        fields = call_fields(message, call, lane.agent_id)
        item, new = run.item(f"{message.message_type}/{call_id}", fields)
        if call.name is not None:
            item.fields["name"] = call.name
        lane.calls[call_id] = run
        if waits:
            named.append(call_id)
            run.asked.add(call_id)
        text, source = call.arguments or "", ""
        if waits and how.history:
            source = "letta_409" if message.id in lane.refused_for else "letta_history"
        facts += _written(run, event, item, text, new, how, source)
    if waits:
        calls = lane.requests.setdefault(message.id, [])
        calls += [name for name in named if name not in calls]
        if how.history and run.asked - set(named):
            # Some servers stream calls that they drop (9.1); the stored request is what counts.
            lane.requests[message.id] = named
            run.asked &= set(named)
            facts.append(f.InputNamed(run.id, tuple(named)))
    return facts


def _returned(lane: Lane, run: Run, message: ToolReturnMessage) -> Facts:
    facts: Facts = []
    for (_, fields), one in zip(whole_of(message, None), message.returns, strict=True):
        maker = lane.calls.get(one.tool_call_id)
        gone = maker is run and one.tool_call_id in run.asked
        parent_id = "" if maker is None else maker.id
        facts.append(f.CallAnswered(parent_id, one.tool_call_id, run.id, None, fields, gone))
    return facts


def _decided(lane: Lane, run: Run, message: ApprovalResponseMessage) -> Facts:
    facts: Facts = []
    for one in message.decisions:
        call_id = lane.call_id(one.tool_call_id)
        maker = lane.calls.get(call_id)
        if maker is not None:
            # What the service writes into the very run that asked is no client's (3.4).
            answer = {**one.to_dict(), "tool_call_id": call_id}
            facts.append(f.CallAnswered(maker.id, call_id, run.id, answer, None, maker is run))
    return facts


def _place(event: LettaEvent, item: LettaItem) -> None:
    """Say in an event, for the tables, which item it is about."""
    found: Final = item.fields.get("id")
    event.item_id = found if isinstance(found, str) else None
    event.output_index = item.output_index
