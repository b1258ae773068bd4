"""Requests out of recordings: as they travelled, without what would let somebody else in.

Headers are never taken over, and of an address only where it leads. Bodies are kept verbatim, but
for keys: those that MCP tools carry, and fields that are called like one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import msgspec

from steer_nb.wire.credentials import HIDDEN, redacted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["harmless", "place_of", "request_message"]

_SECRETS: Final = frozenset(
    {
        "authorization",
        "proxy_authorization",
        "api_key",
        "apikey",
        "x_api_key",
        "openai_api_key",
        "access_token",
        "refresh_token",
        "id_token",
        "bearer_token",
        "auth_token",
        "client_secret",
        "password",
        "cookie",
        "set_cookie",
    }
)


def harmless(text: str) -> str:
    """Give a request's text without credentials; the very same text where it holds none.

    Examples
    --------
    >>> harmless('{"type":"response.create",  "input":"hi"}')
    '{"type":"response.create",  "input":"hi"}'
    >>> harmless('{"input": "hi", "api_key": "sk-1"}')
    '{"input":"hi","api_key":"(hidden)"}'
    """
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return text
    if not isinstance(value, dict):
        return text
    try:
        hidden = _without_secrets(redacted(value))
    except RecursionError:
        return text
    return text if hidden == value else msgspec.json.encode(hidden).decode()


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: HIDDEN if _is_secret(key, inner) else _without_secrets(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_without_secrets(inner) for inner in value]
    return value


def _is_secret(key: str, value: object) -> bool:
    # Only text: a tool's parameters may well describe a field that is called so.
    return isinstance(value, str) and key.lower().replace("-", "_") in _SECRETS


def request_message(body: str, value: Mapping[str, Any]) -> str:
    """Give the body of an HTTP request as the message that asks the same over a WebSocket.

    Examples
    --------
    >>> request_message('{"model": "m"}', {"model": "m"})
    '{"type":"response.create","model": "m"}'
    """
    text = body.strip()
    if value.get("type") == "response.create":
        return harmless(text)
    if "type" in value or not text.startswith("{"):
        asked = {"type": "response.create", **{k: v for k, v in value.items() if k != "type"}}
        return harmless(json.dumps(asked, ensure_ascii=False))
    rest = text[1:].lstrip()
    comma = "" if rest == "}" else ","
    return harmless(f'{{"type":"response.create"{comma}{rest}')


def place_of(url: object) -> str:
    """Give an address without user, password, query and fragment; empty where it is none.

    Examples
    --------
    >>> place_of("https://me:secret@api.openai.com/v1/responses?key=1#x")
    'https://api.openai.com/v1/responses'
    """
    try:
        parts = urlsplit(str(url))
        if not parts.scheme or not parts.hostname:
            return ""
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
