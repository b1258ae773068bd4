"""HAR files: what browsers and proxies save of HTTP, and of WebSockets where they note them.

Source: the HAR 1.2 specification; ``_webSocketMessages`` is what Chromium adds to it.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any, Final

from steer_nb.trace.readers.exchange import Exchange
from steer_nb.trace.readers.exchanges import Exchanges
from steer_nb.trace.readers.recording import seconds_of
from steer_nb.trace.readers.requests import harmless, place_of

if TYPE_CHECKING:
    from steer_nb.trace.readers.recording import Recording

__all__ = ["is_har", "read", "salvaged"]

_BEGIN: Final = re.compile(r'\A\s*\{\s*"log"\s*:\s*\{')
_ENTRIES: Final = re.compile(r'"entries"\s*:\s*\[')


def is_har(value: Any) -> bool:
    """Say whether a document is a HAR file."""
    log = value.get("log") if isinstance(value, dict) else None
    return isinstance(log, dict) and isinstance(log.get("entries"), list)


def salvaged(text: str) -> dict[str, Any] | None:
    """Give the whole entries of a HAR file that breaks off; None for what begins as none."""
    match = _ENTRIES.search(text) if _BEGIN.match(text) else None
    if match is None:
        return None
    decoder = json.JSONDecoder()
    entries: list[Any] = []
    place = match.end()
    while True:
        rest = re.compile(r"[\s,]*").match(text, place)
        place = place if rest is None else rest.end()
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return {"log": {"entries": entries}, "truncated": f"after entry {len(entries)}"}
        entries.append(value)


def read(_: str, value: Any, found: Recording) -> None:
    """Read a HAR file: its entries in the order their requests were sent."""
    exchanges = Exchanges(found)
    for number, entry in enumerate(value["log"]["entries"], start=1):
        request = entry.get("request") if isinstance(entry, dict) else None
        response = entry.get("response") if isinstance(entry, dict) else None
        if not isinstance(request, dict) or not isinstance(response, dict):
            found.odd("not_object", "no request with its response", number)
            continue
        sent_at = seconds_of(entry.get("startedDateTime"))
        sockets = entry.get("_webSocketMessages")
        if isinstance(sockets, list):
            _socket(found, number, str(request.get("url") or ""), sent_at, sockets)
            continue
        took = entry.get("time")
        known = sent_at is not None and isinstance(took, int | float) and took >= 0
        status = response.get("status")
        exchanges.take(
            Exchange(
                number=number,
                method=str(request.get("method") or ""),
                url=str(request.get("url") or ""),
                request=_text(request.get("postData")),
                status=status if isinstance(status, int) else None,
                body=_body(response.get("content")),
                encoding=_encoding(response.get("headers")),
                sent_at=sent_at,
                ended_at=sent_at + took / 1000 if known else None,
            )
        )
    broken = value.get("truncated")
    exchanges.end(None if broken is None else f"the file breaks off {broken}")


def _socket(
    found: Recording, number: int, url: str, opened: float | None, messages: list[Any]
) -> None:
    """Read the messages of one WebSocket, in WebSocket mode, each with its own time."""
    if "/responses" not in place_of(url):
        found.odd("skipped", f"a WebSocket to {place_of(url)}, not to the Responses API", number)
        return
    if found.entries:
        found.connection += 1
    found.connected(place_of(url), opened)
    for message in messages:
        text = message.get("data") if isinstance(message, dict) else None
        if not isinstance(text, str):
            found.odd("not_object", "a message of the WebSocket without text", number)
            continue
        at = seconds_of(message.get("time"))
        if message.get("type") == "send":
            found.message("out", harmless(text), number, at=at)
        else:
            found.message("in", text, number, at=at)
    found.connection += 1


def _text(data: Any) -> str | None:
    text = data.get("text") if isinstance(data, dict) else None
    return text if isinstance(text, str) else None


def _body(content: Any) -> bytes | str | None:
    text = _text(content)
    if text is None or content.get("encoding") != "base64":
        return text
    try:
        return base64.b64decode(text)
    except ValueError:
        return text


def _encoding(headers: Any) -> str:
    for header in headers if isinstance(headers, list) else ():
        if isinstance(header, dict) and str(header.get("name")).lower() == "content-encoding":
            return str(header.get("value") or "")
    return ""
