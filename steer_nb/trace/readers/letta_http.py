"""Requests to a Letta server and their answers, out of recordings of HTTP."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs

from steer_nb.trace.readers.exchange import timed
from steer_nb.trace.readers.letta import Conversation, decoded, oldest_first
from steer_nb.trace.readers.requests import harmless, place_of
from steer_nb.trace.readers.sse import Stream

if TYPE_CHECKING:
    from steer_nb.trace.readers.exchange import Exchange
    from steer_nb.trace.readers.recording import Recording

__all__ = ["is_exchange", "take_exchange"]

_PATH: Final = re.compile(r"/v1/(?:agents|conversations|runs|messages|tools|steps)(?:/|$)")
_LANE: Final = re.compile(r"/v1/(?:agents|conversations)/([A-Za-z0-9_-]+)")
_QUERY: Final = re.compile(r"\?([^#]*)")


def is_exchange(url: str, asked: dict[str, Any], answer: Any, body: str) -> bool:
    """Say whether an HTTP exchange was with a Letta server."""
    if _PATH.search(place_of(url) or url.partition("?")[0]):
        return True
    listed = answer.get("messages") if isinstance(answer, dict) else answer
    if isinstance(listed, list) and listed:
        return isinstance(listed[0], dict) and "message_type" in listed[0]
    return answer is None and '"message_type":' in body[:2000] and "input" not in asked


def take_exchange(found: Recording, one: Exchange, asked_text: str, body: str, answer: Any) -> None:
    """Take a request to a Letta server and its answer: a stream, messages, or another."""
    place = place_of(one.url) or one.url.partition("?")[0]
    asked = decoded(asked_text) if asked_text else {}
    lane = _lane(place, asked) or found.lane
    found.source = found.dialect = "letta"
    if not found.entries:
        found.connected(place_of(one.url), one.sent_at)
    if one.method.upper() != "GET" and asked_text:
        data = found.on_lane(lane, path=place)
        found.message("out", harmless(asked_text), one.number, at=one.sent_at, data=data)
    if answer is None and (body or one.chunks):
        _stream(Stream(found, lane), one, body)
        return
    talk = Conversation(found, lane)
    listed = answer.get("messages") if isinstance(answer, dict) else answer
    if isinstance(listed, list) and all(_has_type(message) for message in listed):
        if isinstance(answer, dict):
            for message in (*listed, answer.get("stop_reason"), answer.get("usage")):
                if _has_type(message):
                    text = json.dumps(message, ensure_ascii=False)
                    talk.take(text, one.number, at=one.ended_at)
            return
        messages = listed if oldest_first(listed, _order(one.url)) else listed[::-1]
        talk.listed(messages, [one.number] * len(messages), at=one.ended_at)
        return
    marks = {"body": place} if one.status is None else {"body": place, "status": one.status}
    data = found.on_lane(lane, **marks)
    found.message("in", harmless(body), one.number, at=one.ended_at, data=data)


def _lane(place: str, asked: dict[str, Any]) -> str | None:
    """The conversation that a place is about; the default one of an agent is called after it."""
    match = _LANE.search(place)
    if match is None:
        return None
    agent_id = asked.get("agent_id")
    if match.group(1) == "default" and isinstance(agent_id, str) and agent_id:
        return agent_id
    return match.group(1)


def _order(url: str) -> str | None:
    match = _QUERY.search(url)
    found = parse_qs(match.group(1)).get("order") if match is not None else None
    return found[0] if found else None


def _stream(stream: Stream, one: Exchange, body: str) -> None:
    for message, at, t in timed(one, body):
        stream.take(message, one.number, at, t)
    stream.end(one.number, one.ended_at)


def _has_type(message: object) -> bool:
    return isinstance(message, dict) and isinstance(message.get("message_type"), str)
