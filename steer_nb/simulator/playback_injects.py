"""Injects into a recorded response: each gets its recorded answer, at its recorded place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.simulator.recording import Answer, InjectMark

__all__ = ["RecordedInjects"]


class RecordedInjects:
    """The injects of one response that is served again.

    Parameters
    ----------
    answer : Answer
        What was recorded.
    write : callable
        Sends a recorded event, with what this client said in it.
    """

    def __init__(self, answer: Answer, write: Callable[[dict[str, Any]], None]) -> None:
        self._left = list(answer.injects)
        self._write = write
        self._held: dict[InjectMark, list[dict[str, Any]]] = {}
        self._passed: set[InjectMark] = set()

    def next(self) -> InjectMark | None:
        """Find what the next inject is answered with; it stays in line until `take`."""
        return self._left[0] if self._left else None

    def take(self, mark: InjectMark, items: list[dict[str, Any]]) -> None:
        """Answer an inject: in its recorded place, or at once where that has passed."""
        self._left.remove(mark)
        self._held[mark] = items
        if mark in self._passed:
            self.answer(mark)

    def heard(self, mark: InjectMark) -> bool:
        """Whether the client has sent it."""
        return mark not in self._left

    def answer(self, mark: InjectMark) -> None:
        """The recording has its answer here; nothing where the client did not inject."""
        self._passed.add(mark)
        items = self._held.pop(mark, None)
        if items is None or mark.event is None:
            return
        event = mark.event
        self._write({**event, "input": items} if "input" in event else event)

    def settle(self) -> None:
        """The response ended: what was answered after its end is answered now."""
        for mark in list(self._held):
            self.answer(mark)
