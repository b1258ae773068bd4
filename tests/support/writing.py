"""Output items that are being written for as long as a test wants to look at them.

What a scenario says at a pace of its own is written by the time a slow machine looks. An item of
these writes on until the test says that it has seen enough, and then ends at once.
"""

from __future__ import annotations

import threading
from itertools import count
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.place import Beat
from steer_nb.simulator.steps import Item, message

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from steer_nb.simulator.place import Place

__all__ = ["Lines", "Thinks", "Writes"]


class Lines:
    """Lines that follow each other until `enough` is called, numbered from `first`.

    Parameters
    ----------
    line : str
        A line, with ``{n}`` where its number stands.
    first : int
        The number of the first one.
    slowly : float
        How many times as long as usual a word takes.

    Attributes
    ----------
    last : int
        The line that is being written, or was written last.

    Examples
    --------
    >>> lines = Lines("Line {n}.")
    >>> writing = lines.words()
    >>> next(writing), next(writing)
    ('Line 0.', 'Line 1.')
    >>> lines.enough()
    >>> list(writing)
    []
    """

    def __init__(self, line: str, *, first: int = 0, slowly: float = 1.0) -> None:
        self.line, self.slowly = line, slowly
        self.last = first
        self._enough = threading.Event()

    def enough(self) -> None:
        """Write no more than the line that was begun."""
        self._enough.set()

    def words(self) -> Iterator[str]:
        """Give one line after another."""
        for number in count(self.last):
            if self._enough.is_set():
                return
            self.last = number
            yield self.line.format(n=number)


class _Going(Item):
    """An item of parts: a text is there at once, lines come at the usual pace until enough."""

    def __init__(self, *parts: str | Lines) -> None:
        self._parts = parts

    def _deltas(self, place: Place) -> Iterator[tuple[str, float]]:
        for part in self._parts:
            if isinstance(part, str):
                yield part, 0.0
                continue
            for line in part.words():
                for delta, wait in place.deltas(line):
                    yield delta, wait * part.slowly


class Writes(_Going):
    """A message that is written until the test has seen enough of its lines."""

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the item as it was really written."""
        item = message(place.id("msg"), None)
        yield self.added(place, {**item, "status": "in_progress", "content": []})
        at = {"item_id": item["id"], "output_index": place.output_index, "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield Beat({"type": "response.content_part.added", **at, "part": part})
        said = ""
        for delta, wait in self._deltas(place):
            said += delta
            event = {"type": "response.output_text.delta", **at, "delta": delta, "logprobs": []}
            yield Beat(event, wait)
        yield Beat({"type": "response.output_text.done", **at, "text": said, "logprobs": []})
        part = {**part, "text": said}
        yield Beat({"type": "response.content_part.done", **at, "part": part})
        item = {**item, "status": "completed", "content": [part]}
        yield self.done(place, item)
        return item


class Thinks(_Going):
    """A reasoning item whose one summary is written until the test has seen enough."""

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the item as it was really written."""
        item: dict[str, Any] = {"id": place.id("rs"), "type": "reasoning", "summary": []}
        yield self.added(place, item)
        at = {"item_id": item["id"], "output_index": place.output_index, "summary_index": 0}
        part = {"type": "summary_text", "text": ""}
        yield Beat({"type": "response.reasoning_summary_part.added", **at, "part": part})
        said = ""
        for delta, wait in self._deltas(place):
            said += delta
            yield Beat(
                {"type": "response.reasoning_summary_text.delta", **at, "delta": delta}, wait
            )
        yield Beat({"type": "response.reasoning_summary_text.done", **at, "text": said})
        part = {"type": "summary_text", "text": said}
        yield Beat({"type": "response.reasoning_summary_part.done", **at, "part": part})
        item = {**item, "summary": [part]}
        yield self.done(place, item)
        return item
