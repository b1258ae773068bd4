"""Letta V1: messages of a stream or a list become entries, verbatim, with what is known of each.

What they say, the ledger's Letta dialect reads (`steer_nb.ledger.letta`): the same for recordings
and for live sessions. Here only what no message says itself is put beside it: its lane, and whether
it was listed.

Source: chapters 1 and 2 of the protocol notes on Letta (server 0.16.8, `letta-client` 1.12.1).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.trace.readers.recording import Recording
    from steer_nb.wire import Event

__all__ = ["Conversation", "decoded", "is_message", "oldest_first"]


def is_message(event: Event) -> bool:
    """Say whether a decoded message is one of Letta's."""
    if event.type or '"message_type"' not in event.raw:
        return False
    return isinstance(event.payload.get("message_type"), str)


class Conversation:
    """Messages of one lane, in the order they came.

    Parameters
    ----------
    found : Recording
        Where they go.
    lane : str
        Their lane.
    """

    def __init__(self, found: Recording, lane: str) -> None:
        found.source = found.dialect = "letta"
        self._found = found
        self._lane = lane
        self._run: str | None = None

    def take(
        self, text: str, place: int, *, at: float | None = None, t: float | None = None
    ) -> None:
        """Take one message of a stream, or of the answer that would have been one."""
        value = decoded(text)
        kind, run = value.get("message_type"), value.get("run_id")
        if kind in ("stop_reason", "error_message"):
            self._run = None
        elif isinstance(run, str):
            self._run = run
        self._found.message("in", text, place, at=at, t=t, data=self._found.on_lane(self._lane))

    def listed(
        self, messages: Sequence[Any], places: Sequence[int], *, at: float | None = None
    ) -> None:
        """Take the messages of a list that was asked for, oldest first."""
        for number, message in enumerate(messages, start=1):
            marks: dict[str, Any] = {"from": "history"}
            if number == len(messages):
                marks["last"] = True
            text = json.dumps(message, ensure_ascii=False)
            data = self._found.on_lane(self._lane, **marks)
            self._found.message("in", text, places[number - 1], at=at, data=data)

    @property
    def running(self) -> str | None:
        """The run that is not over, if there is one."""
        return self._run


def oldest_first(messages: Sequence[Any], order: str | None = None) -> bool:
    """Say whether a list of messages begins with the oldest.

    Parameters
    ----------
    messages : sequence
        Decoded messages.
    order : str, optional
        ``asc`` or ``desc``, where the list was asked for so. Else their dates say it.

    Examples
    --------
    >>> oldest_first([{"date": "2026-11-30T10:00:01Z"}, {"date": "2026-11-30T10:00:00Z"}])
    False
    """
    if order in ("asc", "desc"):
        return order == "asc"
    dates = [one.get("date") for one in messages if isinstance(one, dict)]
    known = [date for date in dates if isinstance(date, str)]
    return not known or known[0] <= known[-1]


def decoded(text: str) -> dict[str, Any]:
    """Decode a JSON object; empty for what is none."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
