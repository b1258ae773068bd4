"""Rollout files of the Codex CLI (``~/.codex/sessions``): a session's items, and what it noted.

A rollout holds no events of a stream but finished items, one a line. Every line stays verbatim,
under the type word that it has there; what it says is added in the words of the Responses API. What
the model wrote up to the next result, question or count of tokens is one response; what was said to
it before is its request.

Source: ``RolloutLine`` and ``RolloutItem`` of the Codex CLI (``codex-rs/protocol``), and the older
form that has bare items below a first line without a type.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.trace.readers.recording import seconds_of
from steer_nb.trace.readers.requests import harmless

if TYPE_CHECKING:
    from steer_nb.trace.readers.recording import Recording
    from steer_nb.trace.readers.source import Source
    from steer_nb.wire import Event

__all__ = ["read", "recognise"]

_LINES: Final = frozenset(
    {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}
)
_META: Final = ("instructions", "git", "cwd", "cli_version", "originator")
_ITEMS: Final = frozenset({"message", "reasoning"})
_ENDS: Final = {
    "task_complete": "completed",
    "turn_complete": "completed",
    "turn_aborted": "cancelled",
}
_SCANNED: Final = 20
_LOGIN: Final = re.compile(r'(?<=://)[^/\s"@]+@')


def recognise(head: bytes) -> bool:
    """Say whether one of the first lines is one of a rollout."""
    for line in head.split(b"\n")[:_SCANNED]:
        try:
            value = msgspec.json.decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
        if isinstance(value, dict) and _is_line(value):
            return True
    return False


def _is_line(value: dict[str, Any]) -> bool:
    if value.get("type") in _LINES and isinstance(value.get("payload"), dict):
        return True
    old = "type" not in value and {"id", "timestamp"} <= set(value)
    return old and any(name in value for name in _META)


def read(source: Source, found: Recording) -> None:
    """Read a rollout."""
    found.dialect = "codex"
    session = _Session(found)
    for number, line in source.lines():
        if not line.strip():
            continue
        taken = found.line(line, number, torn=source.torn)
        if taken is not None:
            session.take(*taken, number)
    if source.broken is not None:
        found.odd("truncated", f"the file breaks off: {source.broken}", None)


class _Session:
    """The lines so far, and the response that is being written."""

    def __init__(self, found: Recording) -> None:
        self._found = found
        self._id = found.lane
        self._model: str | None = None
        self._asked: list[dict[str, Any]] = []
        self._asking: list[dict[str, Any]] | None = None
        """What the last line that was said to the model says; its request is added there."""
        self._written: list[dict[str, Any]] | None = None
        """The same of the last line that the model wrote; its end is added there."""
        self._response: str | None = None
        self._last: str | None = None
        self._n_responses = self._n_items = 0
        found.connected()

    def take(self, text: str, event: Event, number: int) -> None:
        """Take one line."""
        value = event.payload
        kind, payload = event.type, value.get("payload")
        if not isinstance(payload, dict):  # the older form: the line is the item itself
            payload = value
            is_item = kind in _ITEMS or kind.endswith(("_call", "_output"))
            kind = "response_item" if is_item else kind or "session_meta"
        inner = payload.get("type")
        if kind == "session_meta":
            self._id = str(payload.get("id") or self._id)
            text = _LOGIN.sub("", harmless(text))
        elif kind == "turn_context" and isinstance(payload.get("model"), str):
            self._model = payload["model"]
        said: list[dict[str, Any]] = []
        word = kind if kind not in ("response_item", "event_msg") else f"{kind}.{inner}"
        sent = kind == "response_item" and _is_said(payload)
        if sent:
            self._say(payload, said)
        elif kind == "response_item" and isinstance(inner, str):
            self._write(payload, said)
        elif kind == "event_msg":
            self._note(payload, said)
        data = self._found.on_lane(self._found.lane, **{"as": said, "type": word})
        at = seconds_of(value.get("timestamp"))
        self._found.message("out" if sent else "in", text, number, at=at, data=data)

    def _say(self, item: dict[str, Any], said: list[dict[str, Any]]) -> None:
        self._end("completed")
        self._asked.append(item)
        self._asking = said

    def _write(self, item: dict[str, Any], said: list[dict[str, Any]]) -> None:
        if self._response is None:
            if self._asking is not None:
                request = {"type": "response.create", "model": self._model, "input": self._asked}
                self._asking.append({**request, "previous_response_id": self._last})
            self._asked, self._asking = [], None
            self._n_responses += 1
            self._n_items = 0
            self._response = f"{self._id}/{self._n_responses}"
            head = {"id": self._response, "model": self._model, "status": "in_progress"}
            head["previous_response_id"] = self._last
            said.append({"type": "response.created", "response": head})
        done = {"type": "response.output_item.done", "output_index": self._n_items, "item": item}
        said.append(done)
        self._n_items += 1
        self._written = said

    def _note(self, payload: dict[str, Any], said: list[dict[str, Any]]) -> None:
        kind = payload.get("type")
        if kind == "token_count":
            usage = _usage(payload.get("info"))
            if usage is None:
                return
            if self._response is not None:
                self._end("completed", said, usage=usage)
            elif self._last is not None:  # the count may come after the next result
                head = {"id": self._last, "usage": usage}
                said.append({"type": "response.in_progress", "response": head})
        elif kind in _ENDS:
            self._end(_ENDS[kind], said)

    def _end(self, status: str, said: list[dict[str, Any]] | None = None, **fields: Any) -> None:
        where = self._written if said is None else said
        if self._response is None or where is None:
            return
        head = {"id": self._response, "status": status, "output": [], **fields}
        kind = "response.completed" if status == "completed" else "response.done"
        where.append({"type": kind, "response": head})
        self._last, self._response = self._response, None


def _is_said(item: dict[str, Any]) -> bool:
    """Whether an item was said to the model, not by it."""
    kind = item.get("type")
    if kind == "message":
        return item.get("role") != "assistant"
    return isinstance(kind, str) and kind.endswith("_output")


def _usage(info: Any) -> dict[str, Any] | None:
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    if not isinstance(last, dict):
        return None
    return {
        "input_tokens": last.get("input_tokens"),
        "input_tokens_details": {"cached_tokens": last.get("cached_input_tokens")},
        "output_tokens": last.get("output_tokens"),
        "output_tokens_details": {"reasoning_tokens": last.get("reasoning_output_tokens")},
        "total_tokens": last.get("total_tokens"),
    }
