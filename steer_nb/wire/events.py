"""Decode what the server sends. The hot path of the whole house: one typed decode, no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.wire import jsonio
from steer_nb.wire.event import _PARTS, Event, _Agent, part_of
from steer_nb.wire.inject_events import INJECT_EVENTS, inject_event
from steer_nb.wire.steer_events import STEER_EVENTS, steer_event

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["decode", "decode_all"]

_decode = msgspec.json.Decoder(Event).decode


def decode(raw: str | bytes) -> Event:
    r"""Decode one message from the server. Never raises.

    Parameters
    ----------
    raw : str or bytes
        One message, or one line of a recording.

    Returns
    -------
    Event
        Unknown types and fields are kept. What is odd is said by `Event.problem`: invalid JSON
        gives ``"bad_json"`` and the type ``""``. The events that tell what became of a steer or an
        inject come as their own classes.

    Examples
    --------
    >>> decode('{"type":"response.telepathy.delta","output_index":4}').family
    'unknown'
    >>> decode("not json").problem
    'bad_json'
    """
    if type(raw) is not str and isinstance(raw, bytes):
        try:
            text = raw.decode()
        except UnicodeDecodeError as error:
            note = ("bad_json", f"not UTF-8: {error.reason} at byte {error.start}")
            return Event(raw=raw.decode(errors="replace"), note=note)
        raw = text
    try:
        # A text that is read as UTF-8 keeps that form beside its own, unless it is ASCII: a trace
        # would hold such messages twice.
        event = _decode(raw if raw.isascii() else raw.encode())
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return _decode_odd(raw)
    event.raw = raw
    if event.type in _OWN_CLASSES:
        return _special(event, event.payload)
    return event


def decode_all(raws: Iterable[str]) -> list[Event]:
    """Decode many messages, as `decode` does each: a call less for each is much for a million."""
    found = []
    for raw in raws:
        try:
            event = _decode(raw if raw.isascii() else raw.encode())
        except (msgspec.MsgspecError, ValueError, RecursionError):
            event = _decode_odd(raw)
        else:
            event.raw = raw
            if event.type in _OWN_CLASSES:
                event = _special(event, event.payload)
        found.append(event)
    return found


def _special(event: Event, value: dict[str, Any]) -> Event:
    return (steer_event if event.type in STEER_EVENTS else inject_event)(event, value)


_OWN_CLASSES: Final = frozenset(STEER_EVENTS) | frozenset(INJECT_EVENTS)
_TEXTS: Final = ("stream_id", "item_id", "response_id")
_NUMBERS: Final = (
    "sequence_number",
    "output_index",
    "content_index",
    "summary_index",
    "annotation_index",
    "command_index",
    "partial_image_index",
)


def _decode_odd(raw: str) -> Event:
    """Decode what the strict decoder refused: field by field, keeping all that can be kept."""
    try:
        value, note = jsonio.loads(raw)
    except RecursionError:
        return Event(raw=raw, note=("too_deep", "nested too deeply to be read"))
    except ValueError as error:
        return Event(raw=raw, note=("bad_json", str(error)))
    if not isinstance(value, dict):
        return Event(raw=raw, note=("not_object", f"a JSON {_kind(value)}, not an object"))
    fields: dict[str, Any] = {}
    odd: list[str] = []
    kind = value.get("type", "")
    if isinstance(kind, str):
        fields["type"] = kind
    else:
        odd.append("type")
    for name in _TEXTS:
        found = value.get(name)
        if isinstance(found, str):
            fields[name] = found
        elif found is not None:
            odd.append(name)
    for name in _NUMBERS:
        found = value.get(name)
        if isinstance(found, float) and found.is_integer():
            found = int(found)
        if isinstance(found, int) and not isinstance(found, bool):
            fields[name] = found
        elif found is not None:
            odd.append(name)
    fields["delta"] = value.get("delta")
    agent = value.get("agent")
    if isinstance(agent, dict) and isinstance(agent.get("agent_name"), str):
        fields["agent"] = _Agent(agent["agent_name"])
    elif agent is not None:
        odd.append("agent")
    for name in _PARTS & value.keys():
        fields[name] = part_of(value[name])
    if odd and note is None:
        note = ("odd_field", f"not as documented: {', '.join(odd)}")
    event = Event(**fields, raw=raw, note=note)
    return _special(event, value) if event.type in _OWN_CLASSES else event


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array"}
    return names[type(value)]
