"""What a request allows its response: so many output tokens, so many calls of hosted tools.

Both begin anew with each response, an automatic successor too (5.4, rule 6).
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.envelope import written_tokens
from steer_nb.simulator.hosted import CallMcp, RunCode, SearchFiles, SearchWeb
from steer_nb.simulator.images import GenerateImage
from steer_nb.simulator.outputs import FindTools, RunProgram, RunShell
from steer_nb.simulator.steps import Say

if TYPE_CHECKING:
    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.place import Place
    from steer_nb.simulator.steps import Item, Several

__all__ = ["Allowance"]

_TOOLS = (
    *(SearchWeb, SearchFiles, RunCode, CallMcp, GenerateImage),
    *(RunShell, RunProgram, FindTools),
)
"""Steps in which the model calls a tool that the service runs."""


class Allowance:
    """What is left of `max_output_tokens` and `max_tool_calls` while a response is written.

    Parameters
    ----------
    record : Record
        The response; one that several agents write has no allowance.
    """

    def __init__(self, record: Record) -> None:
        self._record = record
        self._most_tokens: int | None = record.settings.get("max_output_tokens")
        self._most_calls: int | None = record.settings.get("max_tool_calls")
        self._n_calls = 0

    def ignores(self, step: Item | Several) -> bool:
        """Count a hosted tool's call; True where the service ignores it, as one too many."""
        if self._most_calls is None or not isinstance(step, _TOOLS):
            return False
        self._n_calls += 1
        return self._n_calls > self._most_calls

    def fit(self, step: Item, place: Place) -> tuple[Item | None, bool]:
        """Give what there is room for, and whether the step was cut for it.

        A message is cut after as many characters as fit; another item comes whole or not at all.
        """
        if self._most_tokens is None:
            return step, False
        left = self._most_tokens - sum(map(written_tokens, self._record.output))
        if _tokens(step, place) <= left:
            return step, False
        if not isinstance(step, Say):
            return None, True
        least, most = -1, sum(map(len, (step.text, *step.more)))
        while most - least > 1:
            middle = (least + most) // 2
            if _tokens(_shorter(step, middle), place) <= left:
                least = middle
            else:
                most = middle
        return (None if least < 0 else _shorter(step, least)), True


def _tokens(step: Item, place: Place) -> int:
    """Count what a step would write, without writing it."""
    playing = step.play(replace(place, random=Random(0)))  # noqa: S311 - of no consequence
    while True:
        try:
            next(playing)
        except StopIteration as end:
            item: dict[str, Any] = end.value
            return written_tokens(item)


def _shorter(say: Say, length: int) -> Say:
    parts: list[str] = []
    for text in (say.text, *say.more):
        if parts and length <= 0:
            break
        parts.append(text[: max(0, length)])
        length -= len(text)
    return Say(*parts, phase=say.phase)
