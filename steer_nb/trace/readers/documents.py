"""JSON files that hold one thing: a response, an error, a captured exchange, or a list of events.

Which of them it is, its structure says. An exchange is an object with a ``request`` (`method`,
`path` or `url`, `body`), a ``status``, and a ``body`` or timed ``chunks``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from steer_nb.trace.readers.exchange import Exchange
from steer_nb.trace.readers.exchanges import Exchanges, body_message
from steer_nb.trace.readers.letta import Conversation, oldest_first
from steer_nb.wire.jsonio import loads

if TYPE_CHECKING:
    from steer_nb.trace.readers.recording import Recording

__all__ = ["holds_messages", "is_body", "is_exchange", "parsed", "read_body", "read_exchange",
           "read_messages"]  # fmt: skip


def parsed(text: str) -> Any:
    """Decode a whole file; None where it is no JSON."""
    try:
        return loads(text)[0]
    except (ValueError, RecursionError):
        return None


def is_body(value: Any) -> bool:
    """Say whether a document is a response object, or the error that came in its place."""
    if not isinstance(value, dict):
        return False
    error = value.get("error")
    if value.get("object") == "response":
        return True
    return "type" not in value and isinstance(error, dict) and "message" in error


def read_body(text: str, value: Any, found: Recording) -> None:
    """Read an answer that was not streamed."""
    found.connected()
    found.message("in", body_message(text, value, None), 1, data=found.on_lane(found.lane))


def is_exchange(value: Any) -> bool:
    """Say whether a document is one request with its answer."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("request"), dict)
        and any(isinstance(value["request"].get(name), str) for name in ("url", "path"))
        and ("body" in value or isinstance(value.get("chunks"), list))
    )


def read_exchange(_: str, value: Any, found: Recording) -> None:
    """Read a request with its answer; or one request with the answers to several tries."""
    request, body = value["request"], value.get("body")
    exchanges = Exchanges(found)
    tries = [value]
    if isinstance(value.get("status"), list) and isinstance(body, list):
        tries = [one for one in body if isinstance(one, dict) and "body" in one]
    headers = value.get("headers")
    encoding = headers.get("content-encoding", "") if isinstance(headers, dict) else ""
    for one in tries:
        status = one.get("status")
        exchanges.take(
            Exchange(
                number=1,
                method=str(request.get("method") or ""),
                url=str(request.get("url") or request.get("path") or ""),
                request=_written(request.get("body")),
                status=status if isinstance(status, int) else None,
                body=_written(one.get("body")),
                encoding=str(encoding),
                chunks=_chunks(one.get("chunks")),
            )
        )
    exchanges.end()


def _written(body: Any) -> str | None:
    if body is None or isinstance(body, str):
        return body
    return json.dumps(body, ensure_ascii=False)


def _chunks(value: Any) -> list[tuple[float, str]]:
    listed = value if isinstance(value, list) else []
    return [
        (float(one[0]), one[1])
        for one in listed
        if isinstance(one, list)
        and len(one) == 2
        and isinstance(one[0], int | float)
        and isinstance(one[1], str)
    ]


def holds_messages(value: Any) -> bool:
    """Say whether a document is a list of events, or of Letta messages."""
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        first = value["messages"][0] if value["messages"] else None
        return isinstance(first, dict) and "message_type" in first
    return isinstance(first, dict) and (
        "message_type" in first or str(first.get("type")).startswith(("response.", "error"))
    )


def read_messages(_: str, value: Any, found: Recording) -> None:
    """Read a list of events or messages, in its order."""
    found.connected()
    listed = value["messages"] if isinstance(value, dict) else value
    if any(isinstance(one, dict) and "message_type" in one for one in listed):
        _read_letta(value, listed, found)
        return
    for number, one in enumerate(listed, start=1):
        text = json.dumps(one, ensure_ascii=False)
        if (taken := found.line(text.encode("utf-8", "replace"), number)) is not None:
            found.message("in", taken[0], number)


def _read_letta(value: Any, listed: list[Any], found: Recording) -> None:
    """Read a list of Letta's messages: a history, or the answer to a request."""
    talk = Conversation(found, found.lane)
    after = [value.get("stop_reason"), value.get("usage")] if isinstance(value, dict) else []
    numbered: list[tuple[int, Any]] = []
    for number, one in enumerate([*listed, *filter(None, after)], start=1):
        if isinstance(one, dict) and isinstance(one.get("message_type"), str):
            numbered.append((number, one))
        else:
            text = json.dumps(one, ensure_ascii=False)
            found.odd("not_object", "no message", number, text)
    if any(after):
        for number, one in numbered:
            talk.take(json.dumps(one, ensure_ascii=False), number)
        return
    if not oldest_first(listed):
        numbered.reverse()
    talk.listed([one for _, one in numbered], [number for number, _ in numbered])
