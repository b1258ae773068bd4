"""Where an item is played: its ids, its pace, and how its texts are cut into deltas."""

from __future__ import annotations

import base64
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from steer_nb.simulator.ids import Ids

__all__ = ["Beat", "Place", "chunks"]

WORD_S = 0.032
"""Seconds between two words, at speed 1."""


class Beat(NamedTuple):
    """One event (without its sequence number and lane) and how long to wait after it."""

    event: dict[str, Any]
    seconds: float = 0.0


@dataclass(frozen=True)
class Place:
    """Where an item stands in its response, and what that makes its ids."""

    ids: Ids
    response_id: str
    output_index: int
    random: Random
    include: frozenset[str] = frozenset()
    most_deltas: int = 0
    interrupted: Callable[[], bool] = lambda: False

    def id(self, prefix: str) -> str:
        """Give the item's own id."""
        return self.ids.make(prefix, self.response_id, self.output_index)

    def call_id(self) -> str:
        """Give the id that a result will name."""
        return self.ids.make("call", self.response_id, self.output_index)

    def sealed(self, *what: object) -> str:
        """Give what stands for encrypted content: nobody but the service could read it."""
        digest = self.ids.digest(*what, self.response_id, self.output_index)
        return base64.b64encode(bytes.fromhex(digest)).decode("ascii")

    def wait(self, seconds: float = WORD_S) -> float:
        """Vary a pace a little, the same way for the same seed."""
        return seconds * self.random.uniform(0.6, 1.4)

    def deltas(self, text: str, size: int | None = None) -> Iterator[tuple[str, float]]:
        """Cut a text into what its deltas carry, each with the wait after it."""
        for pieces in batched(chunks(text, size), self.most_deltas):
            yield "".join(pieces), self.wait(len(pieces) * WORD_S)


def chunks(text: str, size: int | None = None) -> list[str]:
    """Cut a text by words, or into pieces of `size` characters; joined they are the text again.

    Examples
    --------
    >>> chunks("Day one: Alfama.")
    ['Day ', 'one: ', 'Alfama.']
    >>> chunks('{"a":1}', 4)
    ['{"a"', ':1}']
    """
    if size is not None:
        return [text[start : start + size] for start in range(0, len(text), size)]
    return re.findall(r"\S+\s*|\s+", text)


def batched(pieces: list[str], most: int) -> list[list[str]]:
    """Put pieces together to at most `most` batches of nearly one size; 0: each alone.

    Examples
    --------
    >>> batched(["Day ", "one: ", "Alfama."], 2)
    [['Day '], ['one: ', 'Alfama.']]
    """
    number = min(most or len(pieces), len(pieces))
    bounds = [len(pieces) * place // number for place in range(number + 1)] if number else []
    return [pieces[start:end] for start, end in itertools.pairwise(bounds)]
