"""Runs: one for each request, with the frames that it gave (chapters 4 and 5)."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steer_nb.simulator.letta.recorded import RecordedRun
    from steer_nb.simulator.letta.requests import Sent
    from steer_nb.simulator.letta.state import Agent, Conversation
    from steer_nb.simulator.letta.trouble import Trouble

__all__ = ["DONE", "Frame", "Run", "StepRecord", "Usage", "as_sse", "micro"]

DONE: Final = "data: [DONE]\n\n"

STATUS: Final[Mapping[str, str]] = {
    "end_turn": "completed",
    "max_steps": "completed",
    "tool_rule": "completed",
    "requires_approval": "completed",
    "cancelled": "cancelled",
}
"""A run's status by its stop_reason; every other is ``failed`` (chapter 2)."""


class Frame(NamedTuple):
    """One frame of a stream: its kind, and its text with the empty line behind it."""

    kind: str
    text: str


def as_sse(message: Mapping[str, Any], seq_id: int | None = None) -> Frame:
    r"""Write a message as a frame; an error is an event of its own.

    Examples
    --------
    >>> as_sse({"message_type": "stop_reason", "stop_reason": "end_turn"}, 4).text
    'data: {"message_type":"stop_reason","stop_reason":"end_turn"}\n\n'
    """
    kind = str(message["message_type"])
    if seq_id is not None and "seq_id" in message:
        message = {**message, "seq_id": seq_id}
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
    event = "event: error\n" if kind == "error_message" else ""
    return Frame(kind, f"{event}data: {text}\n\n")


def micro(seconds: float | None, zone: str = "") -> str | None:
    """Write a time as runs and agents do.

    Examples
    --------
    >>> micro(1_795_996_800.25, "Z")
    '2026-11-30T00:00:00.250000Z'
    """
    if seconds is None:
        return None
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds") + zone


@dataclass(slots=True)
class Usage:
    """Tokens of a run, over all calls of the model."""

    completion: int = 0
    prompt: int = 0
    n_steps: int = 0
    context: int | None = None
    details: int | None = None
    """Cached and reasoning tokens: 0 in whole steps, None in tokens (chapter 4)."""

    def add(self, prompt: int, completion: int, details: int | None) -> None:
        """Count one call of the model."""
        self.prompt += prompt
        self.completion += completion
        self.n_steps += 1
        self.context = prompt + completion
        self.details = details

    def to_dict(self) -> dict[str, Any]:
        """Give it as a message."""
        return {
            "message_type": "usage_statistics",
            "completion_tokens": self.completion,
            "prompt_tokens": self.prompt,
            "total_tokens": self.completion + self.prompt,
            "step_count": self.n_steps,
            "run_ids": None,
            "cached_input_tokens": self.details,
            "cache_write_tokens": self.details,
            "reasoning_tokens": self.details,
            "context_tokens": self.context,
        }


@dataclass(slots=True)
class StepRecord:
    """One call of a model."""

    id: str
    model: str = ""
    prompt: int = 0
    completion: int = 0
    stop_reason: str | None = None
    status: str = "pending"


@dataclass(eq=False)
class Run:
    """One request at work, and what became of it.

    Attributes
    ----------
    id : str
        Of the run.
    agent, conversation
        Whose it is.
    sent : Sent
        The request.
    background : bool
        Whether its frames are kept for others to read.
    kind : str
        The metadata's `run_type`.
    created, completed : float
        Seconds since the epoch.
    started : float
        By the simulator's clock: what it ages by.
    as_conversation : bool
        Whether it was sent to a conversation, and not to an agent: errors differ (7).
    frames : list of Frame
        All that it gave; `n_stored` of them can be read.
    messages : list of dict
        What a JSON answer holds.
    n_shown : int
        Messages of the agent that its frames hold, or pieces of one.
    recorded : RecordedRun or None
        What it says, where it was recorded.
    losses : list of int
        Before which of its frames its reader loses the connection, once each.
    """

    id: str
    agent: Agent
    conversation: Conversation
    sent: Sent
    background: bool
    kind: str
    created: float
    started: float
    as_conversation: bool = False
    status: str = "created"
    stop_reason: str | None = None
    completed: float | None = None
    trouble: Trouble | None = None
    cancelled: bool = False
    lost: bool = False
    n_shown: int = 0
    n_stored: int = 0
    ended: bool = False
    usage: Usage = field(default_factory=Usage)
    steps: list[StepRecord] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    watchers: set[Callable[[], None]] = field(default_factory=set)
    recorded: RecordedRun | None = None
    losses: list[int] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.status}>"

    @property
    def active(self) -> bool:
        """Whether it is still at work."""
        return self.status in ("created", "running")

    # Frames

    def add(self, message: Mapping[str, Any]) -> None:
        """Take one more frame; in the background it gets the next number, shown or not (5.2)."""
        number = len(self.frames) + 1 if self.background else None
        self.frames.append(as_sse(message, number))

    def add_done(self) -> None:
        """Take the frame that ends a stream."""
        self.frames.append(Frame("done", DONE))

    def store(self) -> None:
        """Let everything so far be read."""
        if self.n_stored < len(self.frames) or self.ended:
            self.n_stored = len(self.frames)
            self.tell()

    def tell(self) -> None:
        """Wake those that wait for something to happen."""
        for watcher in tuple(self.watchers):
            watcher()

    # Ends

    def stop(self, stop_reason: str, at: float) -> None:
        """Note how it ended."""
        self.stop_reason = stop_reason
        self.status = STATUS.get(stop_reason, "failed")
        self.completed = at

    def cancel(self, at: float) -> None:
        """Note that it was cancelled; what is at work notices it."""
        self.cancelled = True
        self.stop("cancelled", at)
        self.tell()

    # As clients see it

    def answer(self) -> dict[str, Any]:
        """Give the JSON answer to a send (1.3)."""
        return {
            "messages": self.messages,
            "stop_reason": {"message_type": "stop_reason", "stop_reason": self.stop_reason},
            "usage": self.usage.to_dict(),
            "logprobs": None,
            "turns": None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Give the run itself."""
        metadata: dict[str, Any] = {"run_type": self.kind}
        if self.kind == "send_message_async":
            metadata["lettuce"] = None
        if self.trouble is not None:
            metadata["error"] = self.trouble.frame(self.id, midstream=self.n_shown > 0)
        duration = None if self.completed is None else int((self.completed - self.created) * 1e9)
        return {
            "id": self.id,
            "status": self.status,
            "created_at": micro(self.created, "Z"),
            "completed_at": micro(self.completed),
            "agent_id": self.agent.id,
            "conversation_id": self.conversation.id,
            "base_template_id": None,
            "background": self.background,
            "metadata": metadata,
            "request_config": self.sent.config(),
            "stop_reason": self.stop_reason,
            "callback_url": None,
            "callback_sent_at": None,
            "callback_status_code": None,
            "callback_error": None,
            "ttft_ns": None,
            "total_duration_ns": duration,
        }
