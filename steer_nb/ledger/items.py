"""A response's output items and their texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.ledger import required
from steer_nb.ledger.contents import ItemState

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import ResponseState
    from steer_nb.trace.entries import Entry

__all__ = ["delta", "finish", "item_added", "item_finished", "other", "part_finished"]


def _owner(ledger: Ledger, stream_id: str | None) -> ResponseState | None:
    lane = ledger.lanes.get(stream_id)
    return None if lane is None else lane.current or lane.tip


def _item(
    ledger: Ledger, response: ResponseState, index: int | None, entry: Entry, *, new: bool = False
) -> ItemState:
    if index is None:  # audio deltas carry none; elsewhere it is odd
        newest = max(response.items, default=-1)
        index = newest + 1 if new else max(newest, 0)
        if new:
            ledger.problem("missing_index", f"{response.id}: an item without output_index", entry)
    item = response.items.get(index)
    if item is None:
        item = response.items[index] = ItemState(output_index=index)
    return item


def item_added(ledger: Ledger, fact: f.ItemAdded, entry: Entry) -> ResponseState | None:
    """An item begins. One that is null still keeps its index (hard case 2)."""
    response = _owner(ledger, fact.lane)
    if response is None:
        return None
    item = _item(ledger, response, fact.output_index, entry, new=True)
    item.added = item.added or entry
    item.agent = item.agent or fact.agent_name
    if fact.item is not None and item.source == "added":
        item.data = fact.item
    response.first_item = response.first_item or entry
    return response


def item_finished(ledger: Ledger, fact: f.ItemFinished, entry: Entry) -> ResponseState | None:
    """An item is complete."""
    response = _owner(ledger, fact.lane)
    if response is not None:
        finish(ledger, response, fact, fact.output_index, entry, source="done")
    return response


def finish(
    ledger: Ledger,
    response: ResponseState,
    fact: f.ItemFinished,
    index: int | None,
    entry: Entry,
    *,
    source: str,
) -> None:
    """Take an item's final form, from `output_item.done` or from the terminal response."""
    item = _item(ledger, response, index, entry)
    item.agent = item.agent or fact.agent_name
    if item.source == "done" and source == "terminal":
        pass  # the terminal repeats what `output_item.done` said
    else:
        item.data = fact.item
        item.done = entry
        item.source = source  # type: ignore[assignment]
        for channel, number, text in fact.texts:
            item.parts[channel, number] = [text]
    response.multi_agent = response.multi_agent or item.agent_name is not None
    if fact.stub is not None:
        required.asked(response, fact, entry, item.agent_name)


def delta(
    ledger: Ledger, fact: f.Delta, text: str, count: int, entry: Entry
) -> ResponseState | None:
    """Take a piece of text, or several in a row. Nine of ten events come here, so it does little.

    `fact` and `entry` are those of the first; `text` is what all `count` of them add.
    """
    lane = ledger.lanes.get(fact.lane)
    response = None if lane is None else lane.current or lane.tip
    if response is None:
        return None
    item = response.items.get(fact.output_index) if fact.output_index is not None else None
    if item is None:
        item = _item(ledger, response, fact.output_index, entry)
        if fact.output_index is not None:
            where = f"{response.id}: a delta for item {fact.output_index} before it was added"
            ledger.problem("missing_index", where, entry)
    part = (fact.channel, fact.index)
    pieces = item.parts.get(part)
    if pieces is None:
        item.parts[part] = [text]
    else:
        pieces.append(text)
    item.n_deltas += count
    response.n_deltas += count
    if response.first_chunk is None:
        response.first_chunk = entry
    if fact.channel == "text":
        response.n_characters += len(text)
        if response.first_text is None:
            response.first_text = entry
    return response


def part_finished(ledger: Ledger, fact: f.PartFinished, entry: Entry) -> ResponseState | None:
    """One of an item's texts in full; it replaces what was put together from pieces."""
    response = _owner(ledger, fact.lane)
    if response is not None:
        item = _item(ledger, response, fact.output_index, entry)
        item.parts[fact.channel, fact.index] = [fact.text]
    return response


def other(ledger: Ledger, fact: f.Other, entry: Entry) -> ResponseState | None:
    """An event that changes nothing but is counted."""
    response = _owner(ledger, fact.lane)
    if response is not None and fact.annotation:
        _item(ledger, response, fact.output_index, entry).n_annotations += 1
    if response is not None and fact.interrupted:
        _item(ledger, response, fact.output_index, entry).interrupted = True
    return response
