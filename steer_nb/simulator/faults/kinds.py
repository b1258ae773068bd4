"""The faults that there are."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - read at run time
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from steer_nb.simulator.faults.fault import (
    Facts,
    Fault,
    MessageFault,
    Way,
    described,
    only_connection,
    real_seconds,
    times,
)

__all__ = [
    "Drop",
    "Duplicate",
    "Enlarge",
    "IgnorePings",
    "Insert",
    "RefuseHandshake",
    "Relabel",
    "Reorder",
    "Stall",
]

TERMINALS: Final = "response.completed,response.incomplete,response.failed"
_DIRECTION = "Messages to the client (out), or from it (in)."
_LARGEST = 2**30
_HIGHEST_CODE = 65_535
_LONGEST_REASON = 123  # RFC 6455, 5.5
_STATUSES = range(400, 600)


@dataclass(frozen=True, kw_only=True, repr=False)
class Drop(MessageFault):
    """Lose the connection before or after a message.

    Before: the message is lost with it. After: it arrived; one from the client was taken in, and
    what was to be answered is lost. What was sent before has always arrived.
    """

    word: ClassVar[str] = "drop"
    help: ClassVar[str] = "lose the connection"

    direction: Literal["out", "in"] = described("out", _DIRECTION)
    side: Literal["before", "after"] = described("after", "Whether the message is lost with it.")
    code: int | None = described(
        None, "Close code, any; None, 1006 and 1015: no close frame at all."
    )
    reason: str = described("simulated", "What the close frame says.")

    def _rule(self, name: str, value: Any) -> str | None:
        if name == "code" and value is not None and value > _HIGHEST_CODE:
            return f"a close code, at most {_HIGHEST_CODE}"
        if name == "reason" and len(value.encode()) > _LONGEST_REASON:
            return f"at most {_LONGEST_REASON} bytes long"
        return super()._rule(name, value)


@dataclass(frozen=True, kw_only=True, repr=False)
class Stall(MessageFault):
    """Hold a message back, and with it everything behind it.

    In direction ``in`` nothing more is read from the connection meanwhile, pings included. With
    ``times=None`` and some `seconds` the server is slow: a slow writer, or a slow reader.
    """

    word: ClassVar[str] = "stall"
    help: ClassVar[str] = "wait before a message; with times=none: be slow"

    direction: Literal["out", "in"] = described("out", _DIRECTION)
    seconds: float | None = real_seconds()


@dataclass(frozen=True, kw_only=True, repr=False)
class Duplicate(MessageFault):
    """Send an event twice; with `as_type`, the second time under another type.

    The protocol leaves room for a second terminal event, and some servers send it as
    ``response.done`` (4.1); other types are repeated where `type` says so.
    """

    word: ClassVar[str] = "duplicate"
    help: ClassVar[str] = "send an event twice"

    type: str | None = described(TERMINALS, "Only of this type; by default the ends of responses.")
    as_type: str | None = described(None, "Type of the second one, such as response.done.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Reorder(MessageFault):
    """Hold an event back until others have passed it, where the protocol leaves room for that.

    Events of other lanes may pass, and those of its own lane where one of the two is an
    acknowledgement (of a steer or an inject), which may race (5.8 j); all others wait behind it. An
    event is held back for 0.2 seconds at most.
    """

    word: ClassVar[str] = "reorder"
    help: ClassVar[str] = "let later events of other lanes, or an acknowledgement, overtake"

    behind: int = described(1, "How many pass it.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Insert(MessageFault):
    """Send one more event before or after a message: any object, by default of an unknown type.

    It goes to the lane of the message, unless it has a `stream_id` of its own.
    """

    word: ClassVar[str] = "insert"
    help: ClassVar[str] = "send an event of your own, or of an unknown type"

    event: Mapping[str, Any] | None = described(None, "The event; None: one of an unknown type.")
    side: Literal["before", "after"] = described("after", "On which side of the message.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Relabel(MessageFault):
    """Echo another lane than the event's own, or none."""

    word: ClassVar[str] = "relabel"
    help: ClassVar[str] = "echo the wrong lane, or none"

    to: str | None = described(None, "The stream_id that it gets; None: it gets none.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Enlarge(MessageFault):
    """Make a message large, with padding in `obfuscation`, which nobody reads."""

    word: ClassVar[str] = "enlarge"
    help: ClassVar[str] = "make a message too large"

    size: int = described(2**20 + 1, "Bytes that it has at least; 1 MiB is a client's usual limit.")

    def _rule(self, name: str, value: Any) -> str | None:
        if name == "size" and value > _LARGEST:
            return f"at most {_LARGEST} bytes"
        return super()._rule(name, value)


@dataclass(frozen=True, kw_only=True, repr=False)
class IgnorePings(Fault):
    """Do not answer pings, as a line that is dead without saying so. Everything else goes on."""

    word: ClassVar[str] = "ignore_pings"
    help: ClassVar[str] = "leave pings without an answer"

    times: int | None = times(None)
    connection: int | None = only_connection()

    def fits(self, way: Way, connection: int, facts: Facts) -> bool:  # noqa: ARG002
        """Whether this is a ping of its connection."""
        return way == "ping" and self.connection in (None, connection)


@dataclass(frozen=True, kw_only=True, repr=False)
class RefuseHandshake(Fault):
    """Answer a handshake with an HTTP status instead of upgrading."""

    word: ClassVar[str] = "refuse_handshake"
    help: ClassVar[str] = "answer a handshake with an HTTP error"

    status: int = described(503, "The status, 400 to 599.")
    retry_after: int | None = described(None, "Seconds in the header Retry-After.")

    def _rule(self, name: str, value: Any) -> str | None:
        if name == "status" and value not in _STATUSES:
            return "an HTTP status from 400 to 599"
        return super()._rule(name, value)

    def fits(self, way: Way, connection: int, facts: Facts) -> bool:  # noqa: ARG002
        """Whether this is a handshake."""
        return way == "handshake"
