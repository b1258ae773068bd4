"""A trace entry as an event: its message, and what its recording knows of it besides.

A live message says everything itself. A recording of one HTTP answer knows its lane, which no
message names; and a recording of finished items, such as a Codex rollout, has beside each line the
events of the Responses API that say the same (`Entry.data`, ``as``; older files have it for Letta's
messages, too). So there is one fold, whatever a trace was read from.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from steer_nb.wire import decode

if TYPE_CHECKING:
    from steer_nb.trace.entries import Entry
    from steer_nb.wire import Event

__all__ = ["event_of", "foreign_type", "translated"]


def event_of(entry: Entry) -> Event:
    """Decode the message of an entry.

    Parameters
    ----------
    entry : Entry
        An event or a request.

    Returns
    -------
    Event
        For a message in another service's words, the one that says most of the events that say
        the same.
    """
    event = decode(entry.raw or "")
    return event if entry.data is None else _completed(event, entry, entry.data)


def _completed(event: Event, entry: Entry, data: dict[str, Any]) -> Event:
    said = translated(entry)
    if said is not None:
        # What a message adds to a response says more than that the response began or ended.
        added = [one for one in said if one.family != "lifecycle"]
        event = (added or said or [decode("{}")])[-1]
    elif not event.type and isinstance(data.get("event"), str):
        event.type = data["event"]  # how the stream called it, where the message does not
    lane = data.get("lane")
    # Our own requests name their lane; what else goes out does not depend on one.
    placed = entry.kind == "in" or event.type == "response.create"
    if placed and event.stream_id is None and isinstance(lane, str):
        event.stream_id = lane
    return event


def translated(entry: Entry) -> list[Event] | None:
    """The events that say what a message in another service's words says; None for all others."""
    data = entry.data
    if data is None or entry.kind == "note":
        return None
    said = data.get("as")
    if not isinstance(said, list):
        return None
    lane = data.get("lane")
    events = []
    for message in said:
        event = decode(json.dumps(message))
        if event.stream_id is None and isinstance(lane, str):
            event.stream_id = lane
        events.append(event)
    return events


def foreign_type(entry: Entry) -> str | None:
    """What a message in another service's words calls itself; None for all others."""
    data = entry.data
    if data is None or not isinstance(data.get("as"), list):
        return None
    kind = data.get("type")
    return kind if isinstance(kind, str) else ""
