"""Reading a stream of server-sent events as it comes, piece by piece.

Source: the event stream format of the HTML standard, section 9.2.6; chapter 4 of the notes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import msgspec

__all__ = ["DONE", "Frame", "Frames", "Head", "head_of"]

DONE: Final = "[DONE]"
_END: Final = re.compile(rb"\r\n|\n|\r(?!\Z)")  # a CR at the end of a piece may be half of one


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of a stream: its ``data``, and its ``event`` word where it has one."""

    data: str
    event: str = ""


class Frames:
    r"""Puts the pieces of a stream together to frames.

    Examples
    --------
    >>> frames = Frames()
    >>> frames.feed(b'event: error\ndata: {"a"'), frames.feed(b":1}\n\ndata: [DONE]\n\n")
    ([], [Frame(data='{"a":1}', event='error'), Frame(data='[DONE]', event='')])
    """

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._event = ""

    def feed(self, piece: bytes) -> list[Frame]:
        """Take the next piece; the frames that are complete with it."""
        found: list[Frame] = []
        *lines, self._rest = _END.split(self._rest + piece)
        for line in lines:
            if not line:
                if self._data:
                    text = b"\n".join(self._data).decode("utf-8", "replace")
                    found.append(Frame(text, self._event))
                self._data, self._event = [], ""
                continue
            name, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if name == b"data":
                self._data.append(value)
            elif name == b"event":
                self._event = value.decode("utf-8", "replace")
        return found


class Head(msgspec.Struct):
    """What has to be known of a message to follow its stream; the ledger reads the rest."""

    message_type: str | None = None
    run_id: str | None = None
    seq_id: int | None = None
    stop_reason: str | None = None


_decode: Final = msgspec.json.Decoder(Head).decode


def head_of(text: str) -> Head:
    """Read a message's head; an empty one where it cannot be read.

    Examples
    --------
    >>> head_of('{"message_type":"ping","run_id":"run-1","seq_id":1}').run_id
    'run-1'
    """
    try:
        return _decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return Head()
