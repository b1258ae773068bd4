"""One HTTP request with its answer, as recordings of HTTP hold it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from steer_nb.trace.readers.sse import messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.trace.readers.sse import Message

__all__ = ["Exchange", "timed"]


@dataclass(slots=True)
class Exchange:
    """One request and what came back.

    Attributes
    ----------
    number : int
        Its number in the file, from 1.
    request, body : bytes, str or None
        What was sent and what came, perhaps compressed.
    encoding : str
        How the answer says that it is compressed.
    sent_at, ended_at : float or None
        Seconds since 1970.
    chunks : list of (float, str)
        The answer piece by piece, each with its seconds since the request, where that was recorded.
    """

    number: int
    method: str = ""
    url: str = ""
    request: bytes | str | None = None
    status: int | None = None
    body: bytes | str | None = None
    encoding: str = ""
    sent_at: float | None = None
    ended_at: float | None = None
    chunks: list[tuple[float, str]] = field(default_factory=list)


def timed(one: Exchange, body: str) -> Iterator[tuple[Message, float | None, float | None]]:
    """Give the messages of a streamed answer, each with its moments where they were recorded.

    Yields
    ------
    message : Message
        The next message.
    at, t : float or None
        When it came: seconds since 1970, and since the request.
    """
    moments: list[float] = []

    def lines() -> Iterator[tuple[int, bytes]]:
        number, rest = 0, ""
        for seconds, text in one.chunks or [(0.0, body)]:
            *whole, rest = re.split(r"\r\n|\n", rest + text)
            for line in whole:
                number += 1
                moments.append(seconds)
                yield number, line.encode("utf-8", "replace")
        if rest:
            moments.append(moments[-1] if moments else 0.0)
            yield number + 1, rest.encode("utf-8", "replace")

    for message in messages(lines()):
        seconds = moments[message.line - 1] if one.chunks else None
        at = None if seconds is None or one.sent_at is None else one.sent_at + seconds
        yield message, at, None if at is not None else seconds
