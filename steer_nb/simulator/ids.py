"""Ids that depend on a seed and a place only, so that two runs give the same ones.

An id never comes from a counter that all lanes share: which lane runs first would then change the
ids of the others.
"""

from __future__ import annotations

import hashlib

__all__ = ["Ids"]


class Ids:
    """Make ids from a seed.

    Examples
    --------
    >>> Ids(0).make("resp", 1, "planner", 0) == Ids(0).make("resp", 1, "planner", 0)
    True
    >>> Ids(1).make("resp", 1, "planner", 0) == Ids(0).make("resp", 1, "planner", 0)
    False
    """

    def __init__(self, seed: int | str) -> None:
        self.seed = seed

    def digest(self, *place: object) -> str:
        """64 hex digits for a place."""
        text = "\x1f".join(map(str, (self.seed, *place)))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def make(self, prefix: str, *place: object) -> str:
        """``resp_`` (or another prefix) and 32 hex digits.

        Steer ids have this form officially (chapter 5.3); the service's other ids are longer.
        """
        return f"{prefix}_{self.digest(prefix, *place)[:32]}"
