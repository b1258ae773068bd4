"""Faults on purpose: what goes wrong between the simulator and its client, and when.

A fault is armed with `Simulator(faults=…)`, ``steer-nb simulate --fault``, a scenario (its
``faults``, or the step `Arm`), or while the simulator runs: ``simulator.faults.add``, or HTTP (see
`steer_nb.simulator.control`). Each has a word, the same in all of these places.

Messages are counted on each connection from when the fault is armed, and only those that fit its
filters. `at` is the first that is struck, `times` how many are, over all connections (None: no
end). What the faults themselves send is not counted.

Examples
--------
>>> from steer_nb.simulator import Drop, Fault
>>> Drop(at=5, code=1011)
Drop(at=5, code=1011)
>>> Fault.of("drop at=5 code=1011") == Fault.of({"fault": "drop", "at": 5, "code": 1011})
True
>>> print(Drop(type="response.completed", side="before"))
drop type=response.completed side=before
"""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from typing import Any, ClassVar, Final, Literal, NamedTuple, get_args, get_origin, get_type_hints

from steer_nb.errors import InvalidInput
from steer_nb.simulator.values import broken_rule, typed

__all__ = [
    "FAULTS",
    "Drop",
    "Duplicate",
    "Enlarge",
    "Facts",
    "Fault",
    "FaultInfo",
    "FieldInfo",
    "IgnorePings",
    "Insert",
    "RefuseHandshake",
    "Relabel",
    "Reorder",
    "Stall",
    "Way",
    "list_faults",
]

Way = Literal["out", "in", "ping", "handshake"]
"""What passes: a message to the client, one from it, its ping, its handshake."""

TERMINALS: Final = "response.completed,response.incomplete,response.failed"
_LAST = frozenset({"at", "times", "type", "stream_id", "connection"})
_LARGEST = 2**30
_HIGHEST_CODE = 65_535
_LONGEST_REASON = 123  # RFC 6455, 5.5
_STATUSES = range(400, 600)


class Facts(NamedTuple):
    """What filters look at: a message's type and lane, as far as it has them."""

    type: str | None = None
    stream_id: str | None = None


def _field(default: Any, help: str) -> Any:  # noqa: A002 - the word people know
    return field(default=default, metadata={"help": help})


def _at() -> Any:
    return _field(1, "The first that it strikes of those that fit.")


def _times(default: int | None = 1) -> Any:
    return _field(default, "How many it strikes, over all connections; None: no end.")


def _connection() -> Any:
    return _field(None, "Only this connection, numbered from 1.")


def _side(what: str) -> Any:
    return _field("after", what)


@dataclass(frozen=True, kw_only=True, repr=False)
class Fault:
    """What all faults have in common.

    Raises
    ------
    InvalidInput
        A value is not what its field takes.
    """

    word: ClassVar[str]
    help: ClassVar[str]

    at: int = _at()
    times: int | None = _times()

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for one in fields(self):
            value = getattr(self, one.name)
            if value == one.default:
                continue
            rule = broken_rule(value, hints[one.name]) or self._rule(one.name, value)
            if rule is not None:
                msg = f"Fault {self.word}: {one.name} must be {rule}, not {value!r}."
                raise InvalidInput(msg, field=one.name, value=value, rule=rule)

    def _rule(self, name: str, value: Any) -> str | None:
        if name in ("at", "times", "connection", "behind") and value == 0:
            return "a whole number from 1"
        return None

    @classmethod
    def of(cls, given: Fault | str | Mapping[str, Any]) -> Fault:
        """Make a fault of what people and programs write.

        Parameters
        ----------
        given : Fault, str or mapping
            As it is; ``drop at=5 code=1011``; or ``{"fault": "drop", "at": 5, "code": 1011}``.

        Raises
        ------
        InvalidInput
            It names no fault, a field that the fault does not have, or a value that the field does
            not take.

        Examples
        --------
        >>> Fault.of("stall at=3 seconds=2.5")
        Stall(at=3, seconds=2.5)
        """
        if isinstance(given, Fault):
            return given
        if isinstance(given, str):
            return _read(given)
        try:
            values = dict(given)
        except (TypeError, ValueError):
            msg = f"A fault is a text such as 'drop at=5', or a mapping, not {given!r}."
            raise InvalidInput(
                msg, field="fault", value=given, rule="a text or a mapping"
            ) from None
        kind = _kind(values.pop("fault", None))
        known = {one.name for one in fields(kind)}
        for name, value in values.items():
            if name not in known:
                raise _unknown(kind, name, value)
        return kind(**values)

    def as_json(self) -> dict[str, Any]:
        """Give it as a mapping that `of` reads: its word, and what differs from the defaults."""
        return {"fault": self.word, **self._given()}

    def _given(self) -> dict[str, Any]:
        values = {one.name: (getattr(self, one.name), one.default) for one in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}

    def __str__(self) -> str:
        parts = [self.word]
        for name, value in self._given().items():
            if isinstance(value, Mapping):
                value = json.dumps(value)
            elif value is None or isinstance(value, bool):
                value = str(value).lower()
            parts.append(f"{name}={shlex.quote(str(value))}" if value != "" else f"{name}=''")
        return " ".join(parts)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._given().items())
        return f"{type(self).__name__}({shown})"

    def fits(self, way: Way, connection: int, facts: Facts) -> bool:
        """Whether this passes where the fault looks, and has what it looks for."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True, repr=False)
class MessageFault(Fault):
    """A fault that strikes messages."""

    type: str | None = _field(None, "Only of this type; * stands for anything, a comma for or.")
    stream_id: str | None = _field(None, "Only of this lane; an empty text is the default lane.")
    connection: int | None = _connection()

    def fits(self, way: Way, connection: int, facts: Facts) -> bool:
        """Whether a message is one that it looks for."""
        if way != getattr(self, "direction", "out") or self.connection not in (None, connection):
            return False
        if self.stream_id is not None and (facts.stream_id or "") != self.stream_id:
            return False
        if self.type is None:
            return True
        patterns = self.type.split(",")
        return any(fnmatchcase(facts.type or "", pattern.strip()) for pattern in patterns)


_DIRECTION = "Messages to the client (out), or from it (in)."


@dataclass(frozen=True, kw_only=True, repr=False)
class Drop(MessageFault):
    """Lose the connection before or after a message.

    Before: the message is lost with it. After: it arrived; one from the client was taken in, and
    what was to be answered is lost. What was sent before has always arrived.
    """

    word: ClassVar[str] = "drop"
    help: ClassVar[str] = "lose the connection"

    direction: Literal["out", "in"] = _field("out", _DIRECTION)
    side: Literal["before", "after"] = _side("Whether the message is lost with it.")
    code: int | None = _field(None, "Close code, any; None, 1006 and 1015: no close frame at all.")
    reason: str = _field("simulated", "What the close frame says.")

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

    direction: Literal["out", "in"] = _field("out", _DIRECTION)
    seconds: float | None = _field(
        None, "Real seconds, whatever the speed; None: until the fault is taken away."
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class Duplicate(MessageFault):
    """Send an event twice; with `as_type`, the second time under another type.

    The protocol leaves room for a second terminal event, and some servers send it as
    ``response.done`` (4.1); other types are repeated where `type` says so.
    """

    word: ClassVar[str] = "duplicate"
    help: ClassVar[str] = "send an event twice"

    type: str | None = _field(TERMINALS, "Only of this type; by default the ends of responses.")
    as_type: str | None = _field(None, "Type of the second one, such as response.done.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Reorder(MessageFault):
    """Hold an event back until others have passed it, where the protocol leaves room for that.

    Events of other lanes may pass, and those of its own lane where one of the two is an
    acknowledgement (of a steer or an inject), which may race (5.8 j); all others wait behind it. An
    event is held back for 0.2 seconds at most.
    """

    word: ClassVar[str] = "reorder"
    help: ClassVar[str] = "let later events of other lanes, or an acknowledgement, overtake"

    behind: int = _field(1, "How many pass it.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Insert(MessageFault):
    """Send one more event before or after a message: any object, by default of an unknown type.

    It goes to the lane of the message, unless it has a `stream_id` of its own.
    """

    word: ClassVar[str] = "insert"
    help: ClassVar[str] = "send an event of your own, or of an unknown type"

    event: Mapping[str, Any] | None = _field(None, "The event; None: one of an unknown type.")
    side: Literal["before", "after"] = _side("On which side of the message.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Relabel(MessageFault):
    """Echo another lane than the event's own, or none."""

    word: ClassVar[str] = "relabel"
    help: ClassVar[str] = "echo the wrong lane, or none"

    to: str | None = _field(None, "The stream_id that it gets; None: it gets none.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Enlarge(MessageFault):
    """Make a message large, with padding in `obfuscation`, which nobody reads."""

    word: ClassVar[str] = "enlarge"
    help: ClassVar[str] = "make a message too large"

    size: int = _field(2**20 + 1, "Bytes that it has at least; 1 MiB is a client's usual limit.")

    def _rule(self, name: str, value: Any) -> str | None:
        if name == "size" and value > _LARGEST:
            return f"at most {_LARGEST} bytes"
        return super()._rule(name, value)


@dataclass(frozen=True, kw_only=True, repr=False)
class IgnorePings(Fault):
    """Do not answer pings, as a line that is dead without saying so. Everything else goes on."""

    word: ClassVar[str] = "ignore_pings"
    help: ClassVar[str] = "leave pings without an answer"

    times: int | None = _times(None)
    connection: int | None = _connection()

    def fits(self, way: Way, connection: int, facts: Facts) -> bool:  # noqa: ARG002
        """Whether this is a ping of its connection."""
        return way == "ping" and self.connection in (None, connection)


@dataclass(frozen=True, kw_only=True, repr=False)
class RefuseHandshake(Fault):
    """Answer a handshake with an HTTP status instead of upgrading."""

    word: ClassVar[str] = "refuse_handshake"
    help: ClassVar[str] = "answer a handshake with an HTTP error"

    status: int = _field(503, "The status, 400 to 599.")
    retry_after: int | None = _field(None, "Seconds in the header Retry-After.")

    def _rule(self, name: str, value: Any) -> str | None:
        if name == "status" and value not in _STATUSES:
            return "an HTTP status from 400 to 599"
        return super()._rule(name, value)

    def fits(self, way: Way, connection: int, facts: Facts) -> bool:  # noqa: ARG002
        """Whether this is a handshake."""
        return way == "handshake"


FAULTS: Final[Mapping[str, type[Fault]]] = {
    kind.word: kind
    for kind in (
        Drop,
        Stall,
        Duplicate,
        Reorder,
        Insert,
        Relabel,
        Enlarge,
        IgnorePings,
        RefuseHandshake,
    )
}
"""Every fault, by its word."""


@dataclass(frozen=True)
class FieldInfo:
    """One field of a fault: its name, default, meaning, and the words it takes, if few."""

    name: str
    default: Any
    help: str
    choices: tuple[str, ...]


@dataclass(frozen=True)
class FaultInfo:
    """One fault: its word, what it does, and its fields."""

    name: str
    help: str
    fields: tuple[FieldInfo, ...]


def list_faults() -> list[FaultInfo]:
    """Describe every fault.

    Examples
    --------
    >>> [one.name for one in list_faults()][:2]
    ['drop', 'stall']
    """
    found = []
    for word, kind in FAULTS.items():
        hints = get_type_hints(kind)
        infos = tuple(
            FieldInfo(
                one.name,
                one.default,
                one.metadata["help"],
                get_args(hints[one.name]) if get_origin(hints[one.name]) is Literal else (),
            )
            for one in sorted(fields(kind), key=lambda one: one.name in _LAST)
        )
        found.append(FaultInfo(word, kind.help, infos))
    return found


def _kind(word: Any) -> type[Fault]:
    if not isinstance(word, str) or word not in FAULTS:
        close = difflib.get_close_matches(str(word), FAULTS, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        what = "This names no fault." if word is None else f"There is no fault {word!r}.{hint}"
        msg = f"{what} Faults are {', '.join(FAULTS)}."
        raise InvalidInput(msg, field="fault", value=word, rule="the word of a fault")
    return FAULTS[word]


def _unknown(kind: type[Fault], name: str, value: Any) -> InvalidInput:
    known = [one.name for one in fields(kind)]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else f" It has {', '.join(known)}."
    msg = f"Fault {kind.word} has no {name!r}.{hint}"
    return InvalidInput(msg, field=name, value=value, rule="a field of this fault")


def _read(text: str) -> Fault:
    """Read ``WORD NAME=VALUE …``, quoted as in a shell."""
    try:
        word, *pairs = shlex.split(text) or [""]
    except ValueError as error:
        msg = f"A fault's text cannot be read ({error}): {text!r}."
        raise InvalidInput(msg, field="fault", value=text, rule="WORD NAME=VALUE …") from error
    kind = _kind(word or None)
    hints = get_type_hints(kind)
    names = {one.name for one in fields(kind)}
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            msg = f"Fault {word}: after the word stands NAME=VALUE, not {pair!r}."
            raise InvalidInput(msg, field="fault", value=text, rule="WORD NAME=VALUE …")
        if name not in names:
            raise _unknown(kind, name, value)
        if name in values:
            msg = f"Fault {word}: {name} is given twice."
            raise InvalidInput(msg, field=name, value=value, rule="once")
        values[name] = typed(value, hints[name])
    return kind(**values)
