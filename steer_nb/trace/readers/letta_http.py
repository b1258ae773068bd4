"""Requests to a Letta server and their answers, out of recordings of HTTP."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from steer_nb.trace.readers.exchange import timed
from steer_nb.trace.readers.letta import Conversation, approvals_of, decoded
from steer_nb.trace.readers.requests import harmless, place_of
from steer_nb.trace.readers.sse import Stream

if TYPE_CHECKING:
    from steer_nb.trace.readers.exchange import Exchange
    from steer_nb.trace.readers.recording import Recording

__all__ = ["is_exchange", "take_exchange"]

_PATH: Final = re.compile(r"/v1/(?:agents|conversations|runs|messages|tools|steps)(?:/|$)")
_LANE: Final = re.compile(r"/v1/(?:agents|conversations)/([A-Za-z0-9_-]+)")
_FAULTS: Final = 400


def is_exchange(url: str, asked: dict[str, Any], answer: Any, body: str) -> bool:
    """Say whether an HTTP exchange was with a Letta server."""
    if _PATH.search(place_of(url) or url.partition("?")[0]):
        return True
    listed = answer.get("messages") if isinstance(answer, dict) else answer
    if isinstance(listed, list) and listed:
        return isinstance(listed[0], dict) and "message_type" in listed[0]
    return answer is None and '"message_type":' in body[:2000] and "input" not in asked


def take_exchange(found: Recording, one: Exchange, asked_text: str, body: str, answer: Any) -> None:
    """Take a request to a Letta server and its answer: a stream, a list of messages, or another."""
    place = place_of(one.url) or one.url.partition("?")[0]
    match = _LANE.search(place)
    lane = found.lane if match is None else match.group(1)
    found.source = found.dialect = "letta"
    if not found.entries:
        found.connected(place_of(one.url), one.sent_at)
    if one.method.upper() != "GET" and asked_text:
        said = _requested(decoded(asked_text), place)
        data = found.on_lane(lane, **{"as": said, "type": "request"})
        found.message("out", harmless(asked_text), one.number, at=one.sent_at, data=data)
    if answer is None and (body or one.chunks):
        _stream(Stream(found, lane), one, body)
        return
    listed = answer.get("messages") if isinstance(answer, dict) else answer
    if isinstance(listed, list) and all(_has_type(message) for message in listed):
        _list(Conversation(found, lane, listed=True), one, answer, listed)
        return
    failed = one.status is not None and one.status >= _FAULTS
    said = [_fault(answer, one.status)] if failed else []
    data = found.on_lane(lane, **{"as": said, "type": "error" if failed else "body"})
    found.message("in", harmless(body), one.number, at=one.ended_at, data=data)


def _stream(stream: Stream, one: Exchange, body: str) -> None:
    for message, at, t in timed(one, body):
        stream.take(message, one.number, at, t)
    stream.end(one.number, one.ended_at)


def _list(talk: Conversation, one: Exchange, answer: Any, listed: list[Any]) -> None:
    for message in listed:
        talk.take(json.dumps(message, ensure_ascii=False), one.number, at=one.ended_at)
    if isinstance(answer, dict):
        for name in ("stop_reason", "usage"):
            if _has_type(answer.get(name)):
                text = json.dumps(answer[name], ensure_ascii=False)
                talk.take(text, one.number, at=one.ended_at)
    talk.end()


def _has_type(message: object) -> bool:
    return isinstance(message, dict) and isinstance(message.get("message_type"), str)


def _requested(asked: dict[str, Any], place: str) -> list[dict[str, Any]]:
    """What a request says, where it sends messages."""
    if not place.endswith(("/messages", "/messages/stream", "/messages/async")):
        return []
    messages = asked.get("messages")
    if messages is None and "input" in asked:
        messages = [{"role": "user", "content": asked["input"]}]
    items: list[dict[str, Any]] = []
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict):
            continue
        if "approvals" in message or "approval_request_id" in message:
            items.append(approvals_of(message))
        elif "tool_returns" in message:
            items.append({**message, "type": "letta_tool_returns"})
        else:
            items.append({"type": "message", **message})
    return [{"type": "response.create", "input": items}]


def _fault(answer: Any, status: int | None) -> dict[str, Any]:
    """An HTTP error in any of Letta's shapes as an `error` event."""
    told = answer.get("detail", answer.get("error")) if isinstance(answer, dict) else answer
    fields = told if isinstance(told, dict) else {"message": told}
    message = fields.get("message")
    error = {
        "code": fields.get("code") or fields.get("type"),
        "message": message if isinstance(message, str) else json.dumps(message),
    }
    return {"type": "error", "status": status, "error": error}
