"""Runs: messages in a row that add to one text, which are folded at once.

Nine of ten events are such messages. Folding one is little work, but doing it a million times one
by one costs more than all else; a run is one step for `steer_nb.ledger.items.delta`, the same that
takes a single piece.
"""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003 - read at run time, as are those below

import msgspec

from steer_nb.ledger import facts as f  # noqa: TC001
from steer_nb.ledger.responses import delta_of
from steer_nb.trace.entries import Entry  # noqa: TC001
from steer_nb.trace.holding import Some  # noqa: TC001
from steer_nb.wire import Event  # noqa: TC001

__all__ = ["Run", "run_at"]


class Run(msgspec.Struct, gc=False):
    """Some entries in a row whose messages say the same but for text and sequence number.

    Attributes
    ----------
    fact : Delta
        What the first one states.
    event : Event
        The message of the first one.
    first, last : Entry
        The first and the last one; all are of one connection.
    among : sequence of Entry
        Those among which they stand.
    start, count : int
        From where, and how many; at least one.
    texts : list of str
        What each adds.
    numbers : list of int or None
        Their sequence numbers.
    """

    fact: f.Delta
    event: Event
    first: Entry
    last: Entry
    among: Some
    start: int
    count: int
    texts: list[str]
    numbers: list[int | None]


def run_at(entries: Some, events: Sequence[Event], start: int, bare: bool = False) -> Run | None:
    """Give the run that begins at `start`; None where the entry there adds to no text.

    Parameters
    ----------
    entries : sequence of Entry
        What is to be folded.
    events : sequence of Event
        Their messages, as `event_of` gives them; one without a type in the place of a note.
    start : int
        Where.
    bare : bool, default False
        Whether the entries are known to be events of one connection that have no `data`.
    """
    first = events[start]
    fact = delta_of(first)
    if fact is None:
        return None
    head = entries[start]
    if head.kind != "in" or head.data is not None:
        return None
    connection = head.connection
    kind, stream_id, item_id = first.type, first.stream_id, first.item_id
    output, content, summary = first.output_index, first.content_index, first.summary_index
    command, agent = first.command_index, first.agent
    stop, end = start + 1, len(entries)
    while stop < end:
        event = events[stop]
        if (
            # What differs most often comes first. Small numbers and None are one object each; a
            # run that ends early at a large one is no less right.
            event.item_id != item_id
            or event.type != kind
            or event.stream_id != stream_id
            or event.output_index is not output
            or event.content_index is not content
            or event.summary_index is not summary
            or event.command_index is not command
            or (event.agent is not agent and event.agent != agent)
            or type(event.delta) is not str
        ):
            break
        if not bare:
            entry = entries[stop]
            if entry.kind != "in" or entry.data is not None or entry.connection != connection:
                break
        stop += 1
    found = events[start:stop]
    return Run(
        fact,
        first,
        head,
        entries[stop - 1] if stop > start + 1 else head,
        entries,
        start,
        stop - start,
        [event.delta for event in found],
        [event.sequence_number for event in found],
    )
