"""Logs of events: one a line, or one below the other as ``model_dump_json(indent=2)`` writes them.

A line is an event as it travelled (or as the `openai` SDK dumps it); or an object that holds one,
with the time and the direction that it was logged with.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.trace.readers.objects import first_objects, is_spread, spread
from steer_nb.trace.readers.recording import seconds_of
from steer_nb.trace.readers.requests import harmless
from steer_nb.trace.readers.source import decoded_lines, is_utf8
from steer_nb.wire import decode
from steer_nb.wire.catalogue import FAMILY

if TYPE_CHECKING:
    from steer_nb.trace.readers.recording import Recording
    from steer_nb.trace.readers.source import Source

__all__ = ["read", "recognise"]

_REQUESTS: Final = frozenset({"response.create", "response.steer", "response.inject"})
_HOLDERS: Final = ("frame", "event", "data", "message", "raw")
"""What a log calls the message that it holds."""
_TIMES: Final = ("at", "timestamp", "time", "ts", "recv_at")
_DIRECTIONS: Final = {
    "in": "in",
    "recv": "in",
    "receive": "in",
    "received": "in",
    "server": "in",
    "out": "out",
    "send": "out",
    "sent": "out",
    "client": "out",
    "close": "close",
}
_SCANNED: Final = 50
_OURS: Final = ("response.", "error")
"""How the words of events begin that cannot be anything else."""
_MOMENTS: Final = frozenset({"lifecycle", "steer", "error", "control"})
_ITEM: Final = "response.output_item."


class _Typed(msgspec.Struct, gc=False):
    """What has to be known of an event before it is kept: all else is only looked over."""

    type: str = ""


_lines = msgspec.json.Decoder(_Typed).decode_lines
_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def recognise(head: bytes) -> bool:
    """Say whether one of the first lines, or the first object that takes several, is an event."""
    return any(map(_is_known, first_objects(head, 1 if is_spread(head) else _SCANNED)))


def _is_known(line: bytes) -> bool:
    value = _object(_from_brace(line))
    if value is None:
        return False
    if set(value) == {"meta"} or _DIRECTIONS.get(str(value.get("dir"))) == "close":
        return True
    held = value.get(_holder(value) or "", value)
    kind = held.get("type")
    return isinstance(kind, str) and (
        kind.startswith("response.") or decode(msgspec.json.encode(held)).family != "unknown"
    )


def _from_brace(line: bytes) -> bytes:
    """Leave out what a logger wrote before the object."""
    start = line.find(b"{")
    return line if start <= 0 else line[start:]


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _holder(value: dict[str, Any]) -> str | None:
    """Which field of a line holds the message; None where the line is the message itself."""
    if isinstance(value.get("type"), str) and not isinstance(value.get("dir"), str):
        return None
    for name in _HOLDERS:
        held = value.get(name)
        if isinstance(held, dict) and isinstance(held.get("type"), str):
            return name
    return None


def read(source: Source, found: Recording) -> None:
    """Read a log of events."""
    found.connected()
    if is_spread(source.head):
        for number, text, torn in spread(source):
            _line(text, number, found, torn=torn)
    else:
        for first, block, lines in source.blocks():
            if not _events(block, lines, first, found):
                for number, line in enumerate(lines, first):
                    _line(line, number, found, torn=source.torn)
    if source.broken is not None:
        found.odd("truncated", f"the file breaks off: {source.broken}", None)


def _events(block: bytes, lines: list[bytes], first: int, found: Recording) -> bool:
    """Take lines that are one event each, at once; False where one of them is anything else."""
    events = decoded_lines(_lines, block, lines)
    if events is None or not is_utf8(block):
        return False
    kinds = {event.type for event in events}
    if not all(kind.startswith(_OURS) and kind not in _REQUESTS for kind in kinds):
        return False
    held = set(filter(_is_moment, kinds))
    found.events(lines, first, [n for n, event in enumerate(events) if event.type in held])
    return True


def _is_moment(kind: str) -> bool:
    """Whether a fold remembers events of that type, as when something began or ended."""
    return kind.startswith(_ITEM) or FAMILY.get(kind) in _MOMENTS


def _line(line: bytes, number: int, found: Recording, *, torn: bool) -> None:
    """Take one object of the log."""
    stripped = line.strip()
    if not stripped:
        return
    if not stripped.startswith(b"{"):
        start = stripped.find(b"{")
        if start > 0 and _object(stripped[start:]) is not None:
            stripped = stripped[start:]
    taken = found.line(stripped, number, torn=torn)
    if taken is None:
        return
    text, event = taken
    if event.type and not _wrapped(event.type, text):
        _message(found, text, event.type, number)
    else:
        _logged(found, text, event.payload, number)


def _wrapped(kind: str, text: str) -> bool:
    return not kind.startswith(_OURS) and '"dir"' in text


def _message(
    found: Recording,
    text: str,
    kind: str,
    number: int,
    at: float | None = None,
    t: float | None = None,
) -> None:
    if kind in _REQUESTS:
        found.message("out", harmless(text), number, at=at, t=t)
    else:
        found.message("in", text, number, at=at, t=t)


def _logged(found: Recording, text: str, value: dict[str, Any], number: int) -> None:
    """Take a line that holds a message and says when and which way it went."""
    if set(value) == {"meta"}:
        return
    way = _DIRECTIONS.get(str(value.get("dir") or value.get("direction")))
    t = value.get("t")
    seconds = float(t) if isinstance(t, int | float) and not isinstance(t, bool) else None
    at = next((s for s in map(seconds_of, map(value.get, _TIMES)) if s is not None), None)
    if way == "close":
        code = value.get("code")
        found.closed(
            str(value.get("reason") or ""),
            number,
            at=at,
            t=seconds,
            code=code if isinstance(code, int) else None,
        )
        return
    name = _holder(value)
    raw = value.get("raw")
    if name is None and isinstance(raw, str) and way is not None:
        found.message("out" if way == "out" else "in", raw, number, at=at, t=seconds)
        return
    if name is None:
        _message(found, text, "", number, at=at, t=seconds)
        return
    kind = str(value[name]["type"]) if way is None else ""
    if way == "out":
        kind = "response.create"
    _message(found, _verbatim(text, name, value[name]), kind, number, at=at, t=seconds)


def _verbatim(text: str, name: str, value: Any) -> str:
    """The text of the field itself, as it stands in its line."""
    try:
        return bytes(_fields(text)[name]).decode()
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return json.dumps(value)  # NaN and its like
