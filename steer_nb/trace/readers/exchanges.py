"""HTTP requests and their answers, out of cassettes, HAR files and other recordings.

A request for a response becomes the `response.create` that asks the same; its answer, streamed or
whole, becomes events of the same lane. A request that continues the newest response of a lane stays
on that lane; every other one has a lane of its own, named after the file. What other services said
is left out, and counted.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.errors import MissingExtra
from steer_nb.trace.readers import letta_http
from steer_nb.trace.readers.exchange import timed
from steer_nb.trace.readers.packed import decompress
from steer_nb.trace.readers.recording import excerpt
from steer_nb.trace.readers.requests import place_of, request_message
from steer_nb.trace.readers.sse import Stream, keys_of, messages, other_service
from steer_nb.wire import decode, is_answer
from steer_nb.wire.jsonio import loads, shown

if TYPE_CHECKING:
    from steer_nb.trace.readers.exchange import Exchange
    from steer_nb.trace.readers.recording import Recording

__all__ = ["Exchanges", "body_message"]

_STREAM: Final = re.compile(r"\s*(?:data|event|id|retry)\s*:|\s*:")
_RESPONSES: Final = re.compile(r"/responses(?:/[^/]+)?/?$")
_ENDS: Final = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    "cancelled": "response.done",
    "queued": "response.queued",
    "in_progress": "response.in_progress",
}
_SAID_BY_CLIENT: Final = frozenset({"message", "item_reference", "additional_tools"})
_PEEKED: Final = 1 << 16
_LOOKED_AT: Final = 5
_FAULTS: Final = 400
"""From this HTTP status on an answer is an error."""


class Exchanges:
    """Takes exchanges in the order they were made."""

    def __init__(self, found: Recording) -> None:
        self._found = found
        self._lane_of: dict[str, str] = {}
        self._tips: dict[str, str | None] = {}
        self._keys: dict[str, set[str]] = {}
        self._connected: int | None = None
        self.unanswered = 0
        """Requests whose answers the file does not hold."""

    def take(self, one: Exchange) -> None:
        """Take one exchange, or note why it is left out."""
        found = self._found
        try:
            body = _text(one.body, one.encoding)
            asked_text = _text(one.request, "")
        except MissingExtra as error:
            found.odd("missing_package", str(error), one.number)
            return
        except ValueError as error:
            found.odd("unreadable", f"{self._name(one)}: its body cannot be read ({error})",
                      one.number)  # fmt: skip
            return
        asked = {} if one.method.upper() == "GET" else _object(asked_text)
        answer = None if one.chunks or _STREAM.match(body) else _value(body)
        if letta_http.is_exchange(one.url, asked, answer, body):
            letta_http.take_exchange(found, one, asked_text, body, answer)
            return
        if one.body is None and one.status is None and not one.chunks and "input" not in asked:
            self.unanswered += 1  # it breaks off before it says what it is
            return
        if answer is None and body.strip() and _failed(one) and "input" in asked:
            answer = {"error": {"message": excerpt(body)}}  # what a proxy says in HTML, say
        why = self._not_ours(one, asked, body, answer)
        if why is not None:
            found.odd("skipped", f"{self._name(one)}: {why}", one.number)
            return
        self._connect(one)
        lane, known = self._lane(asked, answer)
        if asked:
            raw = request_message(asked_text, asked)
            data = found.on_lane(lane, **known)
            found.message("out", raw, one.number, at=one.sent_at, data=data)
        self._answer(one, lane, body, answer)

    def end(self, why: str | None = None) -> None:
        """Say once what the file does not hold; `why` is how it breaks off, if it does."""
        n = self.unanswered
        lost = f"{n} request{'' if n == 1 else 's'} without the recorded answer" if n else None
        if why is not None:
            self._found.odd("truncated", f"{why}; {lost}" if lost else why, None)
        elif lost is not None:
            self._found.odd("truncated", lost, None)

    def _answer(self, one: Exchange, lane: str, body: str, answer: Any) -> None:
        found, place = self._found, one.number
        if answer is not None:
            raw = body_message(body, answer, one.status)
            found.message("in", raw, place, at=one.ended_at, data=found.on_lane(lane))
            if isinstance(answer, dict):
                is_response = answer.get("object") == "response"
                self._joined(
                    lane, answer.get("id") if is_response else None, keys_of(answer.get("output"))
                )
            return
        if not body.strip() and not one.chunks:
            self.unanswered += 1
            return
        stream = Stream(found, lane)
        for message, at, t in timed(one, body):
            stream.take(message, place, at, t)
            self._joined(lane, stream.last_response, stream.keys)
        stream.end(place, one.ended_at)

    def _joined(self, lane: str, response_id: object, keys: set[str]) -> None:
        if isinstance(response_id, str):
            self._lane_of.setdefault(response_id, lane)
            self._tips[lane] = response_id
            self._keys[lane] = keys

    def _lane(self, asked: dict[str, Any], answer: Any) -> tuple[str, dict[str, Any]]:
        """The lane of a request, that of what it continues or a new one; and what else is known.

        Without a chain on the service's side a request repeats the conversation. Then the ids in
        it say which response it continues, as surely as that response's own id would.
        """
        if not asked and isinstance(answer, dict):  # a stored response, read once more
            known = self._lane_of.get(str(answer.get("id")))
            if known is not None:
                return known, {}
        previous = asked.get("previous_response_id")
        known = self._lane_of.get(previous) if isinstance(previous, str) else None
        if known is not None and self._tips.get(known) == previous:
            return known, {}
        items = asked.get("input")
        if previous is None and isinstance(items, list):
            named = keys_of(items)
            for lane, keys in self._keys.items():
                if named & keys:
                    return lane, {"continues": self._tips[lane], "repeated": _repeated(items)}
        name = self._found.lane
        if self._tips:
            name = f"{name}-{len(self._tips) + 1}"
        self._tips[name] = None
        return name, {}

    def _connect(self, one: Exchange) -> None:
        if self._connected != self._found.connection:
            self._found.connected(place_of(one.url), one.sent_at)
            self._connected = self._found.connection

    def _not_ours(self, one: Exchange, asked: dict[str, Any], body: str, answer: Any) -> str | None:
        """Why an exchange is no traffic of the Responses API; None where it is."""
        path = place_of(one.url)
        if isinstance(answer, dict):
            if answer.get("object") == "response":
                return None
            other = other_service(answer)
            if other is not None:
                return f"an answer of {other}, not of the Responses API"
            if "input" in asked and ("model" in asked or _RESPONSES.search(path)):
                if answer.get("object") != "list" and _is_error(answer, one.status):
                    return None
                return "an answer that is no response object"
            if _RESPONSES.search(path) and _is_error(answer, one.status):
                return None
        elif one.chunks or _STREAM.match(body):
            if _RESPONSES.search(path):
                return None
            other = _other_stream(body or "".join(text for _, text in one.chunks))
            return None if other is None else f"a stream of {other}, not of the Responses API"
        elif "input" in asked and not body.strip():
            return None
        if "messages" in asked:
            return "a request of Chat Completions, not of the Responses API"
        return "no traffic of the Responses API"

    @staticmethod
    def _name(one: Exchange) -> str:
        return " ".join(filter(None, (one.method.upper(), place_of(one.url)))) or "an exchange"


def _repeated(items: list[Any]) -> int:
    """How many items of an input repeat what was said before: up to the last of the model's own."""
    for place in range(len(items), 0, -1):
        item = items[place - 1]
        if isinstance(item, dict) and not is_answer(item):
            kind = item.get("type", "message")
            if kind not in _SAID_BY_CLIENT or (
                kind == "message" and item.get("role") == "assistant"
            ):
                return place
    return 0


def body_message(body: str, answer: Any, status: int | None) -> str:
    """Give the body of an answer that was not streamed as the event that would have said the same.

    Examples
    --------
    >>> body = '{"object":"response","id":"r","status":"completed"}'
    >>> body_message(body, {"object": "response", "status": "completed"}, 200)
    '{"type":"response.completed","response":{"object":"response","id":"r","status":"completed"}}'
    """
    if isinstance(answer, dict) and answer.get("object") == "response":
        kind = _ENDS.get(str(answer.get("status")), "response.done")
        return f'{{"type":"{kind}","response":{body.strip()}}}'
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        told = answer.get("detail", error) if isinstance(answer, dict) else answer
        error = {"message": told if isinstance(told, str) else json.dumps(told)}
    named = {} if status is None else {"status": status}
    return json.dumps({"type": "error", **named, "error": error}, ensure_ascii=False)


def _is_error(answer: dict[str, Any], status: int | None) -> bool:
    return (status is not None and status >= _FAULTS) or isinstance(answer.get("error"), dict)


def _failed(one: Exchange) -> bool:
    return one.status is not None and one.status >= _FAULTS and not one.chunks


def _text(body: bytes | str | None, encoding: str) -> str:
    if body is None:
        return ""
    if isinstance(body, str):
        return body
    return decompress(body, encoding.lower()).decode(errors="replace")


def _value(text: str) -> Any:
    """Decode a JSON body; None for what is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            return loads(text)[0]
        except (ValueError, RecursionError):
            return None


def _object(text: str) -> dict[str, Any]:
    value = _value(text) if text else None
    return value if isinstance(value, dict) else {}


def _other_stream(body: str) -> str | None:
    """Whose stream it is, where it is not one of the Responses API."""
    first: str | None = None
    for number, message in enumerate(messages(enumerate(body[:_PEEKED].encode().splitlines(), 1))):
        value = _object(message.data.decode(errors="replace"))
        other = other_service(value)
        if other is not None:
            return other
        kind = str(value.get("type") or message.event)
        if kind.startswith("response.") or decode(json.dumps({"type": kind})).family != "unknown":
            return None
        first = first or kind or None
        if number >= _LOOKED_AT:
            break
    return None if first is None else f"another service ({shown(first)} …)"
