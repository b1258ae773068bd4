"""The server's own account: what it received, and what became of it. Tests assert on it."""

from __future__ import annotations

import copy
import threading
from typing import Any

__all__ = ["Account"]


class Account:
    """An append-only list of entries whose fate is filled in as it becomes known.

    Written on the server's thread, read on any. Entry kinds: ``connection``, ``request``,
    ``steer``, ``inject``, ``continuation``, ``successor``, ``response``, ``retrieval`` (a GET),
    ``message`` (one that could not be read as a request) and ``fault`` (one that struck). All of it
    can be written as JSON.

    Examples
    --------
    >>> account = Account()
    >>> entry = account.add("steer", input="Shorter.", fate="accepted")
    >>> account.update(entry, fate="committed")
    >>> account.entries()
    [{'kind': 'steer', 'input': 'Shorter.', 'fate': 'committed'}]
    """

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._lock = threading.Lock()

    def add(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Add an entry and return it, for `update` only."""
        entry = {"kind": kind, **fields}
        with self._lock:
            self._entries.append(entry)
        return entry

    def update(self, entry: dict[str, Any], **fields: Any) -> None:
        """Fill in what became of an entry."""
        with self._lock:
            entry.update(fields)

    def entries(self) -> list[dict[str, Any]]:
        """Give a copy of everything so far."""
        with self._lock:
            return copy.deepcopy(self._entries)
