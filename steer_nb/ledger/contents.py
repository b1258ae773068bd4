"""What a response holds: its items, the input that it waits for, and what its calls gave.

None of it refers to a lane, nor to a response but by its id. For the rest these are values as those
of `steer_nb.ledger.state`: they change while entries are folded, and belong to the thread that
folds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from steer_nb.trace.entries import Entry

__all__ = ["CallResult", "ItemState", "RequiredInputState", "ToolRun"]

InputWord = Literal["open", "filled", "sending", "sent", "confirmed", "stale", "cancelled"]


@dataclass(slots=True, eq=False, repr=False)
class ItemState:
    """One output item. `data` is its newest full form; `parts` collects its texts as they come."""

    output_index: int
    added: Entry | None = None
    done: Entry | None = None
    source: Literal["added", "done", "terminal", "history"] = "added"
    data: dict[str, Any] = field(default_factory=dict)
    parts: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    n_deltas: int = 0
    n_annotations: int = 0
    interrupted: bool = False
    """A part of its summary was broken off before it was written."""
    agent: str | None = None
    """The agent that the service named with the item's events."""

    @property
    def agent_name(self) -> str | None:
        """Which agent of a multi-agent response it comes from."""
        own = self.data.get("agent")
        return (_text(own.get("agent_name")) if isinstance(own, dict) else None) or self.agent

    @property
    def id(self) -> str | None:
        """The item's id, where the service gave one."""
        return _text(self.data.get("id"))

    @property
    def type(self) -> str:
        """The item's type word; empty where none is known yet."""
        return _text(self.data.get("type")) or ""

    @property
    def status(self) -> str | None:
        """The item's own status word."""
        return _text(self.data.get("status"))

    @property
    def call_id(self) -> str | None:
        """The call it makes or answers."""
        return _text(self.data.get("call_id"))

    @property
    def name(self) -> str | None:
        """The tool it names."""
        return _text(self.data.get("name"))

    def joined(self, channel: str) -> str:
        """All text of one channel (``text``, ``refusal``, ``summary``, ``arguments`` …)."""
        chosen = sorted(key for key in self.parts if key[0] == channel)
        return "".join("".join(self.parts[key]) for key in chosen)

    @property
    def text(self) -> str:
        """Its output text so far."""
        return self.joined("text")

    @property
    def summary_text(self) -> str:
        """Its reasoning summary so far."""
        return self.joined("summary")

    @property
    def refusal(self) -> str:
        """Its refusal so far."""
        return self.joined("refusal")

    @property
    def arguments(self) -> str:
        """The arguments (or free-form input) of its call so far."""
        return self.joined("arguments")


@dataclass(slots=True, eq=False, repr=False)
class ToolRun:
    """One run of one of the person's own functions for one call: there is never a second."""

    name: str
    by: str
    started: Entry
    finished: Entry | None = None
    ok: bool | None = None
    output: str = ""
    error: str | None = None
    duration_s: float | None = None
    printed: str = ""
    traceback: str | None = None
    displayed: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallResult:
    """What a call gave, as the service shows it: in which response, and the item that says it."""

    response_id: str
    item: dict[str, Any]
    shown: Entry


@dataclass(slots=True, eq=False, repr=False)
class RequiredInputState:
    """One result or decision that a response waits for.

    `stub` holds the identifying fields; `item` the filled stub, as it will be sent. `optional`
    marks asynchronous calls, which do not hold a continuation back unless the service lists them.
    """

    key: str
    type: str
    parent_id: str
    stub: dict[str, Any]
    first_seen: Entry
    source: str
    """Where it was asked for: a word of the frame `required_inputs`."""
    call: dict[str, Any] | None = None
    optional: bool = False
    state: InputWord = "open"
    item: dict[str, Any] | None = None
    filled: Entry | None = None
    filled_by: str | None = None
    sent: Entry | None = None
    request_key: str | None = None
    continuation_response_id: str | None = None
    agent: str | None = None
    tool: ToolRun | None = None
    typed: dict[str, Any] = field(default_factory=dict)
    """The values of its form as they were last saved, complete or not."""
    typing: bool = False
    """Whether they are newer than the item, and not complete."""
    lost: bool = False
    """Credentials in its item were known to a process that is gone, and to no file."""

    @property
    def draft(self) -> dict[str, Any] | None:
        """What a person typed for it, and what is not complete yet; never sent."""
        return self.typed if self.typing and self.is_open else None

    @property
    def name(self) -> str | None:
        """The tool that is asked for."""
        return _text((self.call or {}).get("name")) or _text(self.stub.get("name"))

    @property
    def server_label(self) -> str | None:
        """The MCP server that asks for an approval."""
        return _text((self.call or {}).get("server_label"))

    @property
    def agent_name(self) -> str | None:
        """Which agent of a multi-agent response waits for it."""
        own = (self.call or {}).get("agent")
        return (_text(own.get("agent_name")) if isinstance(own, dict) else None) or self.agent

    @property
    def injected(self) -> bool:
        """Whether its value went into the very response that asks for it."""
        return self.state == "confirmed" and self.continuation_response_id == self.parent_id

    @property
    def is_shown(self) -> bool:
        """Whether the service shows that an answer arrived; a successor alone is no proof then."""
        return self.source.startswith("letta_")

    @property
    def is_open(self) -> bool:
        """Whether a value may still be given or changed."""
        return self.state in ("open", "filled")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
