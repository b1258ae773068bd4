"""What the server knows: agents, their conversations and tools (chapters 1 and 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from steer_nb.simulator.letta.models import CONTEXT_WINDOW, described
from steer_nb.simulator.letta.run import micro
from steer_nb.simulator.letta.stored import letta_messages
from steer_nb.simulator.letta.tools import RETURN_CHAR_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steer_nb.simulator.letta.run import Run
    from steer_nb.simulator.letta.stored import Stored
    from steer_nb.simulator.letta.tools import ServerTool

__all__ = ["BLOCK", "ORGANIZATION", "USER", "Agent", "Conversation", "Tool"]

USER: Final = "user-00000000-0000-4000-8000-000000000000"
ORGANIZATION: Final = "org-00000000-0000-4000-8000-000000000000"

BLOCK: Final[dict[str, Any]] = {
    "value": "",
    "limit": 100_000,
    "project_id": None,
    "template_name": None,
    "is_template": False,
    "template_id": None,
    "base_template_id": None,
    "deployment_id": None,
    "entity_id": None,
    "preserve_on_migration": False,
    "label": None,
    "read_only": False,
    "description": None,
    "metadata": {},
    "hidden": None,
    "id": None,
    "created_by_id": None,
    "last_updated_by_id": None,
    "tags": [],
}
"""A block of memory, in the order of its fields: kept and shown, read by nobody."""


@dataclass(eq=False)
class Tool:
    """A tool of the server, as it is kept."""

    id: str
    server: ServerTool
    default_requires_approval: bool | None = None
    source_code: str | None = None
    json_schema: dict[str, Any] | None = None
    tags: list[str] = field(default_factory=list)
    description: str | None = None
    return_char_limit: int = RETURN_CHAR_LIMIT

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.server.name

    @property
    def _schema(self) -> dict[str, Any]:
        return self.json_schema or self.server.schema

    def to_dict(self) -> dict[str, Any]:
        """Give it as clients see it."""
        return {
            "id": self.id,
            "tool_type": "custom",
            "description": self.description or self._schema.get("description"),
            "source_type": "json",
            "name": self.name,
            "tags": self.tags,
            "source_code": self.source_code,
            "json_schema": self._schema,
            "args_json_schema": {},
            "return_char_limit": self.return_char_limit,
            "pip_requirements": None,
            "npm_requirements": None,
            "default_requires_approval": self.default_requires_approval,
            "enable_parallel_execution": False,
            "created_by_id": USER,
            "last_updated_by_id": USER,
            "metadata_": {},
            "project_id": None,
        }


@dataclass(eq=False)
class Conversation:
    """Messages in order, of which the last may ask for approval: that is all the state (3).

    Attributes
    ----------
    id : str or None
        None is an agent's own conversation, called default.
    model : str or None
        The model in it, where that is not its agent's.
    messages : list of Stored
        What was said, as it came; `n_replies` of it by calls of the model.
    context : list of Stored
        What of it the model still sees: all, until it is compacted.
    lock : (Run, float) or None
        Who keeps others out, and until when by the clock.
    """

    agent: Agent
    id: str | None
    key: str
    created: float
    updated: float
    summary: str | None = None
    model: str | None = None
    messages: list[Stored] = field(default_factory=list)
    context: list[Stored] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    n_replies: int = 0
    n_made: int = 0
    lock: tuple[Run, float] | None = None
    last_message_at: float | None = None

    @property
    def name(self) -> str:
        """Its id, or ``default``."""
        return self.id or "default"

    @property
    def pending(self) -> Stored | None:
        """The request that waits for approval."""
        last = self.context[-1] if self.context else None
        return last if last is not None and last.role == "approval" else None

    def open_calls(self, request: Stored) -> list[Any]:
        """Give the calls of a request's step that are not gated: they run with its answer (3.1)."""
        at = self.context.index(request)
        beside = self.context[at - 1] if at else None
        if beside is None or beside.role != "assistant" or beside.step_id != request.step_id:
            return []
        return list(beside.calls)

    @property
    def model_handle(self) -> str:
        """Which model speaks in it."""
        return self.model or self.agent.model

    @property
    def listed(self) -> list[Stored]:
        """What was said, in the order in which it is listed.

        In a conversation of its own that is by place. What the model sees is counted anew, and what
        it no longer sees keeps its number: behind a compaction they stand between each other.
        """
        if self.id is None:
            return self.messages
        return sorted(self.messages, key=lambda one: one.place)

    def begin(self, first: Stored) -> None:
        """Begin anew with a message."""
        self.messages, self.context = [], []
        self.keep([first])

    def keep(self, messages: Iterable[Stored], *, unseen: Iterable[Stored] = ()) -> None:
        """Take messages in; of those that are `unseen`, the model was told in a summary."""
        hidden = {one.id for one in unseen}
        for one in messages:
            self.messages.append(one)
            if one.id not in hidden:
                self.context.append(one)
        self._count()

    def compact(self, summary: Stored, kept: list[Stored]) -> None:
        """Let a summary stand for all that is not `kept`; what was kept begins with the first."""
        self.messages.append(summary)
        self.context = [kept[0], summary, *kept[1:]]
        self._count()

    def _count(self) -> None:
        for place, one in enumerate(self.context):
            one.place = place

    def to_dict(self) -> dict[str, Any]:
        """Give it as clients see it."""
        return {
            "created_by_id": USER,
            "last_updated_by_id": USER,
            "created_at": micro(self.created, "Z"),
            "updated_at": micro(self.updated, "Z"),
            "id": self.id,
            "agent_id": self.agent.id,
            "summary": self.summary,
            "in_context_message_ids": [one.id for one in self.context],
            "isolated_block_ids": [],
            "model": self.model,
            "model_settings": None,
            "last_message_at": micro(self.last_message_at, "Z"),
        }


@dataclass(eq=False)
class Agent:
    """An agent, with its tools, its rules and its conversations."""

    id: str
    name: str
    key: str
    created: float
    updated: float
    model: str
    system: str
    window: int = CONTEXT_WINDOW
    settings: dict[str, Any] = field(default_factory=dict)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    gated: list[str] = field(default_factory=list)
    other_rules: list[dict[str, Any]] = field(default_factory=list)
    last_stop_reason: str | None = None
    own: Conversation = field(init=False)
    conversations: dict[str, Conversation] = field(default_factory=dict)
    last_run: Run | None = None

    def __post_init__(self) -> None:
        self.own = Conversation(self, None, f"{self.key}/default", self.created, self.updated)

    @property
    def everything(self) -> Iterable[Conversation]:
        """All its conversations."""
        return (self.own, *self.conversations.values())

    @property
    def llm(self) -> dict[str, Any]:
        """Its model, in each of the places where it stands."""
        return described(self.model, self.window, self.settings.get("compaction_settings"))

    def tool(self, name: str) -> Tool | None:
        """Find one of its tools."""
        return next((one for one in self.tools if one.name == name), None)

    def gate(self, name: str, *, requires_approval: bool) -> None:
        """Add or take away the rule that a tool asks first; a pending request stays (3.2)."""
        if requires_approval and name not in self.gated:
            self.gated.append(name)
        elif not requires_approval and name in self.gated:
            self.gated.remove(name)

    def attach(self, tool: Tool) -> None:
        """Give it a tool, with the rule that the tool brings."""
        if tool not in self.tools:
            self.tools.append(tool)
            if tool.default_requires_approval:
                self.gate(tool.name, requires_approval=True)

    def detach(self, tool: Tool) -> None:
        """Take a tool away."""
        if tool in self.tools:
            self.tools.remove(tool)

    def to_dict(self, include: Iterable[str] | None = None) -> dict[str, Any]:
        """Give it as clients see it.

        Parameters
        ----------
        include : iterable of str, optional
            Which related things it shows, such as ``agent.pending_approval``; without, all but
            that: it is always null then.
        """
        everything = include is None
        asked = frozenset(include or ())
        pending = None
        if "agent.pending_approval" in asked and self.own.pending is not None:
            pending = letta_messages(self.own.pending)[-1]
        rules = [
            {"tool_name": name, "type": "requires_approval", "prompt_template": None}
            for name in self.gated
        ]
        blocks = self.blocks if everything or "agent.blocks" in asked else []
        shown = self.tools if everything or "agent.tools" in asked else []
        return {
            "created_by_id": USER,
            "last_updated_by_id": USER,
            "created_at": micro(self.created, "Z"),
            "updated_at": micro(self.updated, "Z"),
            "id": self.id,
            "name": self.name,
            "tool_rules": [*rules, *self.other_rules],
            "message_ids": [one.id for one in self.own.context],
            "system": self.system,
            "agent_type": "letta_v1_agent",
            **self.llm,
            "response_format": None,
            "description": self.settings.get("description"),
            "metadata": self.settings.get("metadata"),
            "memory": {
                "agent_type": "letta_v1_agent",
                "git_enabled": False,
                "blocks": blocks,
                "file_blocks": [],
                "prompt_template": "",
            },
            "blocks": blocks,
            "tools": [tool.to_dict() for tool in shown],
            "sources": [],
            "tags": list(self.settings.get("tags") or ()),
            "tool_exec_environment_variables": [],
            "secrets": [],
            "project_id": None,
            "template_id": None,
            "base_template_id": None,
            "deployment_id": None,
            "entity_id": None,
            "identity_ids": [],
            "identities": [],
            "pending_approval": pending,
            "message_buffer_autoclear": False,
            "enable_sleeptime": None,
            "multi_agent_group": None,
            "managed_group": None,
            "last_run_completion": None,
            "last_run_duration_ms": None,
            "last_stop_reason": self.last_stop_reason,
            "timezone": "UTC",
            "max_files_open": 10,
            "per_file_view_window_char_limit": 25_000,
            "hidden": None,
        }
