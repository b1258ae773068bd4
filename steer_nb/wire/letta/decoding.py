"""Decode what a Letta server sends: one message, as far as it can be read."""

from __future__ import annotations

from typing import Any

import msgspec

from steer_nb.errors import InvalidInput
from steer_nb.wire import jsonio
from steer_nb.wire.letta.message import Message  # noqa: TC001 - read at run time
from steer_nb.wire.letta.messages import MESSAGE_TYPES, UnknownMessage
from steer_nb.wire.letta.part import Fault, Unreadable, read

__all__ = ["Decoded", "decode", "message_of"]


class Decoded(msgspec.Struct, frozen=True):
    """A message as far as it could be read.

    Attributes
    ----------
    message : Message
        One of the classes of `MESSAGE_TYPES`, or an `UnknownMessage`.
    faults : tuple of Fault
        What is not as Letta's schema says; what stands there is in `Message.extra`.
    problem : str or None
        ``bad_json``, ``not_object`` or ``too_deep`` for what is no message, ``odd_field`` where
        there are faults.
    """

    message: Message
    faults: tuple[Fault, ...] = ()
    problem: str | None = None

    @property
    def detail(self) -> str:
        """What was wrong, as one sentence; empty where nothing was."""
        return "; ".join(f"{fault.field} {fault.rule}".strip() for fault in self.faults)


def decode(raw: str | bytes) -> Decoded:
    r"""Decode one message of a stream, or of a recording. Never raises.

    Parameters
    ----------
    raw : str or bytes
        The JSON text behind ``data:``.

    Examples
    --------
    >>> decode('{"message_type":"stop_reason","stop_reason":"end_turn"}').message
    LettaStopReason(stop_reason='end_turn')
    >>> found = decode('{"message_type":"telepathy","id":"message-1"}')
    >>> found.message.kind, found.message.extra["id"], found.problem
    ('telepathy', 'message-1', None)
    >>> decode("{").problem
    'bad_json'
    """
    try:
        value: Any = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        text = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
        try:
            value = jsonio.loads(text)[0]
        except RecursionError:
            return _none("too_deep", "nested too deeply to be read")
        except ValueError as error:
            return _none("bad_json", f"is no JSON: {error}")
    return decoded_of(value)


def decoded_of(value: Any) -> Decoded:
    """Read a decoded JSON value as a message, as `decode` reads its text."""
    if not isinstance(value, dict):
        return _none("not_object", "is no JSON object")
    kind = value.get("message_type")
    cls = MESSAGE_TYPES.get(kind) if isinstance(kind, str) else None
    faults: list[Fault] = []
    if cls is None:
        if not isinstance(kind, str):
            faults.append(Fault("message_type", "is missing", kind))
        return Decoded(UnknownMessage(extra=value), tuple(faults), "odd_field" if faults else None)
    try:
        message: Message = read(cls, value, faults)
    except Unreadable:
        message = UnknownMessage(extra=value)
    return Decoded(message, tuple(faults), "odd_field" if faults else None)


def message_of(value: Any) -> Message:
    """Read one message strictly.

    Parameters
    ----------
    value : dict
        A decoded message. A `message_type` that is not known here gives an `UnknownMessage`.

    Raises
    ------
    InvalidInput
        It is no message, or not as Letta's schema says; names the field, the value and the rule.
    """
    found = decoded_of(value)
    if found.problem is not None:
        fault = found.faults[0]
        kind = value.get("message_type") if isinstance(value, dict) else None
        cls = MESSAGE_TYPES.get(kind) if isinstance(kind, str) else None
        if cls is not None:
            return cls.from_dict(value)  # which says it in full
        where = fault.field or "A message"
        msg = f"{where} {fault.rule}. Give a JSON object with a message_type."
        raise InvalidInput(msg, field=fault.field, value=fault.value, rule=fault.rule)
    return found.message


def _none(problem: str, rule: str) -> Decoded:
    return Decoded(UnknownMessage(), (Fault("", rule),), problem)
