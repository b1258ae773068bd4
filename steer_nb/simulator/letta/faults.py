"""What goes wrong on purpose between a Letta simulator and its client, and when.

They are armed in the same ways as those of the Responses dialect, see `steer_nb.simulator.faults`;
the words differ where the dialects do.

Examples
--------
>>> LettaFault.of("drop at=3 type=assistant_message")
Drop(at=3, type='assistant_message')
>>> [one.name for one in list_faults(LETTA_FAULTS)][:4]
['drop', 'stall', 'no_eof', 'lose_answer']
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Final, Literal

from steer_nb.simulator.faults import Facts, Fault, Way, list_faults
from steer_nb.simulator.faults.fault import described, only_connection, real_seconds, times

__all__ = [
    "LETTA_FAULTS",
    "Busy",
    "Drop",
    "EarlyConflict",
    "HangResume",
    "HoldModel",
    "HoldTool",
    "LettaFault",
    "LoseAnswer",
    "NoEof",
    "NoRedis",
    "PhantomCall",
    "RefuseRequest",
    "Stall",
    "StuckCancel",
    "Unlock",
    "list_faults",
]

Known = dict[str, type[Fault]]
LETTA_FAULTS: Final[Known] = {}
"""Every fault of the Letta dialect, by its word."""

_STATUSES: Final = range(400, 600)


@dataclass(frozen=True, kw_only=True, repr=False)
class LettaFault(Fault):
    """What all faults of this dialect have in common: whom they strike."""

    known: ClassVar[Known] = LETTA_FAULTS  # beside a field `type`, which hides the built-in
    way: ClassVar[Way]

    type: str | None = described(
        None,
        "Only of this kind: a frame's message_type, a request's name such as "
        "conversations.messages.create, a tool's name. * stands for anything, a comma for or.",
    )
    conversation: str | None = described(
        None, "Only of this conversation; an agent's own one is called default."
    )
    connection: int | None = only_connection()

    def fits(self, way: Way, connection: int, facts: Facts) -> bool:
        """Whether this passes where the fault looks, and has what it looks for."""
        if way != self.way or self.connection not in (None, connection):
            return False
        if self.conversation not in (None, facts.stream_id):
            return False
        if self.type is None:
            return True
        patterns = self.type.split(",")
        return any(fnmatchcase(facts.type or "", pattern.strip()) for pattern in patterns)


@dataclass(frozen=True, kw_only=True, repr=False)
class Drop(LettaFault):
    """Lose the connection before or after a frame of a stream.

    ``drop side=before`` loses it before the first frame. The end of a stream, ``[DONE]``, counts as
    a frame of the type ``done``, an error as one of the type ``error_message``.
    """

    word: ClassVar[str] = "drop"
    help: ClassVar[str] = "lose the connection within a stream"
    way: ClassVar[Way] = "out"

    side: Literal["before", "after"] = described("after", "Whether the frame is lost with it.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Stall(LettaFault):
    """Hold a frame back, and with it everything behind it, pings included."""

    word: ClassVar[str] = "stall"
    help: ClassVar[str] = "wait before a frame; with times=none: be slow"
    way: ClassVar[Way] = "out"

    seconds: float | None = real_seconds()


@dataclass(frozen=True, kw_only=True, repr=False)
class NoEof(LettaFault):
    """Leave the body of a stream open behind its last frame (4.1)."""

    word: ClassVar[str] = "no_eof"
    help: ClassVar[str] = "do not end a stream behind its last frame"
    way: ClassVar[Way] = "end"

    seconds: float | None = described(
        None, "Real seconds that it stays open; None: until the fault is taken away."
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class LoseAnswer(LettaFault):
    """Take a request in, and lose the connection before its answer begins; what it began goes on.

    A stream in the foreground ends with its connection, as it does without this fault.
    """

    word: ClassVar[str] = "lose_answer"
    help: ClassVar[str] = "take a request in, and lose the connection before its answer"
    way: ClassVar[Way] = "answer"


@dataclass(frozen=True, kw_only=True, repr=False)
class RefuseRequest(LettaFault):
    """Answer a request with an HTTP error, and do nothing of what it asks."""

    word: ClassVar[str] = "refuse_request"
    help: ClassVar[str] = "answer a request with an HTTP error"
    way: ClassVar[Way] = "in"

    status: int = described(503, "The status, 400 to 599.")
    detail: str = described("The request is refused on purpose.", "What the body says.")
    retry_after: int | None = described(None, "Seconds in the header Retry-After.")

    def _rule(self, name: str, value: Any) -> str | None:
        if name == "status" and value not in _STATUSES:
            return "an HTTP status from 400 to 599"
        return super()._rule(name, value)


@dataclass(frozen=True, kw_only=True, repr=False)
class Busy(LettaFault):
    """Answer a send with 409, as if another run of the conversation went on (5.5)."""

    word: ClassVar[str] = "busy"
    help: ClassVar[str] = "say that another request is being processed"
    way: ClassVar[Way] = "send"


@dataclass(frozen=True, kw_only=True, repr=False)
class Unlock(LettaFault):
    """Let a send in although another run of its conversation goes on (5.5)."""

    word: ClassVar[str] = "unlock"
    help: ClassVar[str] = "let a second send in, as where there is no lock"
    way: ClassVar[Way] = "lock"

    times: int | None = times(None)


@dataclass(frozen=True, kw_only=True, repr=False)
class EarlyConflict(LettaFault):
    """Answer with 409 before the stream where the agent waits for approval, as hosted Letta (7)."""

    word: ClassVar[str] = "early_conflict"
    help: ClassVar[str] = "say 409 instead of an error within the stream"
    way: ClassVar[Way] = "conflict"

    times: int | None = times(None)


@dataclass(frozen=True, kw_only=True, repr=False)
class PhantomCall(LettaFault):
    """Stream one more call of an approval request than is pending then.

    It strikes where tokens are streamed; the history and the pending request do not have it.
    """

    word: ClassVar[str] = "phantom_call"
    help: ClassVar[str] = "stream a call that is not pending"
    way: ClassVar[Way] = "model"

    name: str | None = described(None, "The tool; None: that of the last call.")
    arguments: str = described("{}", "Its arguments, as a JSON text.")


@dataclass(frozen=True, kw_only=True, repr=False)
class HangResume(LettaFault):
    """Give a resumed stream no frame, only pings where they are asked for."""

    word: ClassVar[str] = "hang_resume"
    help: ClassVar[str] = "let a resumed stream hang"
    way: ClassVar[Way] = "resume"


@dataclass(frozen=True, kw_only=True, repr=False)
class StuckCancel(LettaFault):
    """Cancel the run of a pending request, and leave the request pending.

    That is what a conversation of its own does anyway (3.4); the default one does it with this.
    """

    word: ClassVar[str] = "stuck_cancel"
    help: ClassVar[str] = "cancel a run and leave its request pending"
    way: ClassVar[Way] = "cancel"


@dataclass(frozen=True, kw_only=True, repr=False)
class HoldTool(LettaFault):
    """Let a tool of the server begin late: what is sent meanwhile finds its call still open."""

    word: ClassVar[str] = "hold_tool"
    help: ClassVar[str] = "let a server tool begin late"
    way: ClassVar[Way] = "tool"

    seconds: float | None = real_seconds()


@dataclass(frozen=True, kw_only=True, repr=False)
class HoldModel(LettaFault):
    """Let a call of the model begin late: its run goes on, and keeps others out, meanwhile."""

    word: ClassVar[str] = "hold_model"
    help: ClassVar[str] = "let a call of the model begin late"
    way: ClassVar[Way] = "call"

    seconds: float | None = real_seconds()


@dataclass(frozen=True, kw_only=True, repr=False)
class NoRedis(LettaFault):
    """Be a server without Redis (5.1): no background, no locks, nothing remembered to cancel."""

    word: ClassVar[str] = "no_redis"
    help: ClassVar[str] = "be a server without Redis: background runs get 503"
    way: ClassVar[Way] = "redis"

    times: int | None = times(None)
