"""Streams of server-sent events: as they were captured, and as bodies within other recordings.

Source: the event stream format of the HTML standard, section 9.2.6.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steer_nb.trace.readers import letta
from steer_nb.wire import TERMINAL_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from steer_nb.trace.readers.recording import Recording
    from steer_nb.trace.readers.source import Source

__all__ = ["Message", "Stream", "keys_of", "messages", "other_service", "read", "recognise"]

_FIELD: Final = re.compile(rb"(?:data|event|id|retry)\s*:|:")
_HTTP: Final = re.compile(rb"HTTP/[\d.]+ \d{3}")
DONE: Final = b"[DONE]"
_SAID: Final = "response."


def recognise(head: bytes) -> bool:
    """Say whether a file begins as a stream does, perhaps below the headers of its answer."""
    if _HTTP.match(head):
        return _FIELD.search(head) is not None
    lines = re.split(rb"\r\n|\n|\r", head[:4096].lstrip())[:20]
    if not lines or not _FIELD.match(lines[0]):
        return False
    # A colon alone begins a comment, and much else.
    return not lines[0].startswith(b":") or any(
        _FIELD.match(line) and not line.startswith(b":") for line in lines
    )


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a stream.

    Attributes
    ----------
    data : bytes
        Its ``data`` lines, joined by line feeds.
    event : str
        Its ``event`` field; empty where it has none.
    line : int
        The line where its data begins, from 1.
    whole : bool
        Whether an empty line ended it; without one the recording breaks off within it.
    """

    data: bytes
    event: str
    line: int
    whole: bool = True


def messages(lines: Iterable[tuple[int, bytes]]) -> Iterator[Message]:
    r"""Put the lines of a stream together to messages.

    Parameters
    ----------
    lines : iterable of int and bytes
        Numbered lines without their ends.

    Examples
    --------
    >>> lines = enumerate([b": hello", b"event: ping", b"data: {", b"data:}", b"", b"data: 1"], 1)
    >>> for one in messages(lines):
    ...     print(one.event, one.data, one.line, one.whole)
    ping b'{\n}' 3 True
     b'1' 6 False
    """
    data: list[bytes] = []
    event, begin = "", 0
    for number, line in lines:
        if not line:
            if data:
                yield Message(b"\n".join(data), event, begin)
            data, event = [], ""
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            begin = begin if data else number
            data.append(value)
        elif name == b"event":
            event = value.decode(errors="replace")
        # `id` and `retry` are for a client that connects again; comments keep a connection alive.
    if data:
        yield Message(b"\n".join(data), event, begin, whole=False)


class Stream:
    """One answer that came as a stream: its messages become events of one lane.

    Parameters
    ----------
    found : Recording
        Where they go.
    lane : str
        The lane of messages that name none.
    """

    def __init__(self, found: Recording, lane: str) -> None:
        self.found = found
        self.lane = lane
        self.last_response: str | None = None
        self.keys: set[str] = set()
        """Ids of what the last response wrote, by which a later request may repeat it."""
        self.foreign: str | None = None
        """Whose messages these are, where they are not read: then none of them was taken."""
        self._open: str | None = None
        self._torn = False
        self._ended = False
        self._empty = True
        self._letta: letta.Conversation | None = None

    def take(
        self, message: Message, place: int, at: float | None = None, t: float | None = None
    ) -> None:
        """Take one message, with its moments where they are known."""
        self._empty = False
        if message.data.strip() == DONE:
            self._ended = True
            return
        torn = not message.whole
        taken = self.found.line(message.data, place, torn=torn)
        self._torn = self._torn or (torn and taken is None)
        if taken is None:
            return
        text, event = taken
        if self._letta is not None or letta.is_message(event):
            self._letta = self._letta or letta.Conversation(self.found, self.lane)
            self._letta.take(text, place, at=at, t=t)
            return
        if not event.type and not message.event and other_service(event.payload) is not None:
            self.foreign = other_service(event.payload)
            return
        kind = event.type or message.event
        if kind in TERMINAL_TYPES or kind == "error":
            self._open = None
            self._ended = True
        elif kind in ("response.created", "response.in_progress", "response.queued"):
            response_id = (event.object("response") or {}).get("id")
            if isinstance(response_id, str) and kind == "response.created":
                self.last_response = response_id
                self.keys.clear()
            self._open = self._open or str(response_id)
            self._ended = False
        elif kind.startswith(_SAID) and not self._ended:
            self._open = self._open or "its response"
        if kind == "response.output_item.done":
            self.keys |= keys_of([event.object("item")])
        data = None
        if event.stream_id is None:
            named = {} if event.type or not message.event else {"event": message.event}
            data = self.found.on_lane(self.lane, **named)
        self.found.message("in", text, place, at=at, t=t, data=data)

    def end(self, place: int, at: float | None = None, *, broken: str | None = None) -> None:
        """Say what is missing, where the stream breaks off before its response ends."""
        if self._letta is not None:
            self._open = self._letta.running
        if self._empty and broken is None:
            self.found.odd("truncated", "the stream holds no message", place)
        if self._open is None and broken is None:
            return
        if not self._torn:
            why = "the stream ends" if broken is None else f"the recording breaks off ({broken})"
            where = f" before {self._open} does" if self._open is not None else ""
            self.found.odd("truncated", why + where, place)
        if self._open is not None:
            self.found.closed("the recording breaks off", place, at=at)


def keys_of(items: object) -> set[str]:
    """The ids of items, and of the calls that they make or answer."""
    listed = items if isinstance(items, list) else []
    named = (
        item.get(name)
        for item in listed
        if isinstance(item, dict)
        for name in ("id", "call_id", "approval_request_id")
    )
    return {key for key in named if isinstance(key, str) and key}


def other_service(value: dict[str, object]) -> str | None:
    """Name what another kind of answer is, by what it calls itself; None where nothing says so."""
    kind = value.get("object")
    if kind in ("chat.completion", "chat.completion.chunk"):
        return "Chat Completions"
    if isinstance(kind, str) and kind and kind not in ("response", "list"):
        return repr(kind)
    return None


def read(source: Source, found: Recording) -> None:
    """Read a captured stream: one answer, or several one behind the other."""
    found.connected()
    stream = Stream(found, found.lane)
    last = 1
    for message in messages(_body(source.lines(any_end=True))):
        stream.take(message, message.line)
        last = message.line
    if stream.foreign is not None:
        found.odd("skipped", f"a stream of {stream.foreign}, not of the Responses API", 1)
    stream.end(last, broken=source.broken)


def _body(lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Leave out the status line and the headers that some tools write above a body."""
    headers = False
    for number, line in lines:
        if number == 1 and _HTTP.match(line):
            headers = True
        if headers:
            headers = bool(line)
            continue
        yield number, line
