"""What all built-in scripts say in the same way: that they heard."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from steer_nb.simulator.turn import Turn

__all__ = ["answer", "heard", "place_in", "quote"]

_LONGEST = 240
_PLACE = re.compile(
    r"\b(?:in|to|for|at)\s+(?!Celsius|Fahrenheit)((?:[A-ZÀ-Þ][\w'\u2019-]*)(?:\s+[A-ZÀ-Þ][\w'\u2019-]*)*)"
)


def quote(text: str) -> str:
    """Put a text in quotation marks, cut where it is very long.

    Examples
    --------
    >>> quote("Keep it short")
    '“Keep it short”'
    """
    text = text.strip()
    return f"“{text if len(text) <= _LONGEST else text[: _LONGEST - 1] + '…'}”"


def heard(turn: Turn) -> str:
    """Say back what this response was told: steers, results, and the user's words with results.

    Empty where it was told nothing but a first prompt.
    """
    lines = [f"You said: {quote(text)}." for text in turn.steers]
    lines += [f"{result.name} gave: {quote(result.text)}." for result in turn.results.values()]
    if turn.results:
        lines += [f"You added: {quote(text)}." for text in turn.input_texts]
    return " ".join(lines)


def answer(turn: Turn) -> str:
    """Answer anything, so that a script never runs dry: with what was said."""
    known = heard(turn)
    if known:
        return known
    prompt = f"You said: {quote(turn.prompt)}." if turn.prompt else "You said nothing yet."
    before = len(turn.said)
    return f"{prompt} We have talked {before} times before." if before else prompt


def place_in(text: str, default: str = "Lisbon") -> str:
    """Find the place that a text names.

    Examples
    --------
    >>> place_in("What is the weather in New York today?")
    'New York'
    >>> place_in("hello")
    'Lisbon'
    """
    found = _PLACE.search(text)
    return found.group(1) if found else default
