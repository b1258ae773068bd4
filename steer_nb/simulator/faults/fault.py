"""What all faults have in common, and how they are written."""

from __future__ import annotations

import difflib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, ClassVar, Final, Literal, NamedTuple, get_type_hints

from steer_nb.errors import InvalidInput
from steer_nb.simulator.values import broken_rule, pairs

__all__ = [
    "FAULTS",
    "Facts",
    "Fault",
    "MessageFault",
    "Way",
    "described",
    "only_connection",
    "real_seconds",
    "times",
]

Way = Literal[
    "out", "in", "ping", "handshake",
    "end", "answer", "send", "lock", "conflict", "model", "resume", "cancel", "tool", "call",
    "redis",
]  # fmt: skip
"""What passes: a message to the client, one from it, its ping, its handshake. With Letta:
the end of a stream, an answer, a send, one that finds a lock, one that finds a pending request, a
request for approval, a resume, a cancel, a tool of the server, a call of the model, a use of Redis.
"""

FAULTS: Final[dict[str, type[Fault]]] = {}
"""Every fault of the Responses dialect, by its word."""


class Facts(NamedTuple):
    """What filters look at: a message's type and lane, as far as it has them."""

    type: str | None = None
    stream_id: str | None = None


def described(default: Any, help: str) -> Any:  # noqa: A002 - the word people know
    """Make a field that says what it is."""
    return field(default=default, metadata={"help": help})


def times(default: int | None = 1) -> Any:
    """Make the field that says how often."""
    return described(default, "How many it strikes, over all connections; None: no end.")


def real_seconds() -> Any:
    """Make the field that says how long."""
    return described(None, "Real seconds, whatever the speed; None: until the fault is taken away.")


def only_connection() -> Any:
    """Make the field that chooses a connection."""
    return described(None, "Only this connection, numbered from 1.")


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
    known: ClassVar[dict[str, type[Fault]]] = FAULTS
    """Those that `of` finds: the faults of one dialect."""

    at: int = described(1, "The first that it strikes of those that fit.")
    times: int | None = times()

    def __init_subclass__(cls) -> None:
        if "word" in vars(cls):
            cls.known[cls.word] = cls

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
            return _read(given, cls.known)
        try:
            values = dict(given)
        except (TypeError, ValueError):
            msg = f"A fault is a text such as 'drop at=5', or a mapping, not {given!r}."
            raise InvalidInput(
                msg, field="fault", value=given, rule="a text or a mapping"
            ) from None
        kind = _kind(values.pop("fault", None), cls.known)
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

    type: str | None = described(None, "Only of this type; * stands for anything, a comma for or.")
    stream_id: str | None = described(None, "Only of this lane; an empty text is the default lane.")
    connection: int | None = only_connection()

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


def _kind(word: Any, known: Mapping[str, type[Fault]]) -> type[Fault]:
    if not isinstance(word, str) or word not in known:
        close = difflib.get_close_matches(str(word), known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        what = "This names no fault." if word is None else f"There is no fault {word!r}.{hint}"
        msg = f"{what} Faults are {', '.join(known)}."
        raise InvalidInput(msg, field="fault", value=word, rule="the word of a fault")
    return known[word]


def _unknown(kind: type[Fault], name: str, value: Any) -> InvalidInput:
    known = [one.name for one in fields(kind)]
    close = difflib.get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else f" It has {', '.join(known)}."
    msg = f"Fault {kind.word} has no {name!r}.{hint}"
    return InvalidInput(msg, field=name, value=value, rule="a field of this fault")


def _read(text: str, faults: Mapping[str, type[Fault]]) -> Fault:
    """Read ``WORD NAME=VALUE …``, quoted as in a shell."""
    try:
        word, *given = shlex.split(text) or [""]
    except ValueError as error:
        msg = f"A fault's text cannot be read ({error}): {text!r}."
        raise InvalidInput(msg, field="fault", value=text, rule="WORD NAME=VALUE …") from error
    kind = _kind(word or None, faults)
    hints = get_type_hints(kind)
    known = {one.name: hints[one.name] for one in fields(kind)}
    return kind(**pairs(given, known, f"Fault {word}", partial(_unknown, kind)))
