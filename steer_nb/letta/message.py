"""One request that says something to an agent: its bytes, and what has to be known beside them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from steer_nb.wire import encode

__all__ = ["Message"]


@dataclass(frozen=True, slots=True)
class Message:
    """A request as it goes out, and goes out again.

    Attributes
    ----------
    key : str
        Its local key.
    path : str
        Where it goes.
    body : dict
        What it says.
    steers : tuple of str
        Keys of what was kept here and goes out with it.
    parent_id : str or None
        The run whose calls it answers.
    """

    key: str
    path: str
    body: dict[str, Any]
    steers: tuple[str, ...] = ()
    parent_id: str | None = None

    @property
    def text(self) -> str:
        """Its bytes, as text: the same whenever it is asked."""
        return encode(self.body)

    @property
    def background(self) -> bool:
        """Whether the server keeps its run going, and knows its `otid` again (5.4)."""
        return self.body.get("background") is True

    @property
    def otids(self) -> list[str]:
        """Our own ids of what it says."""
        return [one["otid"] for one in self.body["messages"] if "otid" in one]

    @property
    def call_ids(self) -> list[str]:
        """The calls that it answers."""
        first = self.body["messages"][0]
        return [one["tool_call_id"] for one in first.get("approvals") or ()]

    def in_foreground(self) -> Message:
        """The same for a server without Redis, which keeps no runs (5.1)."""
        return replace(self, body={**self.body, "background": False})
