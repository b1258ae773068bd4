"""Content parts: from those that notebook objects become to Letta's own (1.2)."""

from __future__ import annotations

from typing import Any

from steer_nb.errors import InvalidInput
from steer_nb.wire.jsonio import shown

__all__ = ["content_of", "messages_of"]

_TEXTS = ("input_text", "output_text", "text")


def content_of(value: Any, path: str) -> str | list[dict[str, Any]]:
    """Turn text, or content parts of the Responses API, into what Letta takes.

    Parameters
    ----------
    value : str or list of dict
        Parts that are Letta's own already are passed on.
    path : str
        Where it stands, for messages.

    Raises
    ------
    InvalidInput
        It holds what Letta does not take, such as a file.

    Examples
    --------
    >>> content_of([{"type": "input_text", "text": "Look:"}], "input")
    [{'type': 'text', 'text': 'Look:'}]
    """
    if isinstance(value, str):
        return value
    return [_part(part, f"{path}[{at}]") for at, part in enumerate(value)]


def _part(part: dict[str, Any], path: str) -> dict[str, Any]:
    kind = part.get("type")
    if kind in _TEXTS:
        return {"type": "text", "text": part["text"]}
    if kind == "image":
        return dict(part)
    url = part.get("image_url")
    if kind == "input_image" and isinstance(url, str):
        return {"type": "image", "source": _source(url)}
    rule = "Letta takes text and images"
    msg = f"{path} is {shown(kind)}, and {rule}: give a text, a figure or a picture."
    raise InvalidInput(msg, field=path, value=part, rule=rule)


def _source(url: str) -> dict[str, Any]:
    head, comma, data = url.partition(",")
    media_type, mark, _ = head.removeprefix("data:").partition(";base64")
    if url.startswith("data:") and comma and mark:
        return {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "url", "url": url}


def messages_of(value: Any, path: str = "input") -> list[dict[str, Any]]:
    """Turn what is said into Letta's messages, without ids.

    Parameters
    ----------
    value : str or list of dict
        A text, or messages as a `response.create` has them.
    path : str
        Where it stands, for messages.

    Raises
    ------
    InvalidInput
        An item is no message of a user, system or assistant.

    Examples
    --------
    >>> messages_of("Hi")
    [{'type': 'message', 'role': 'user', 'content': 'Hi'}]
    """
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    found = []
    for at, item in enumerate(value):
        where = f"{path}[{at}]"
        role = item.get("role")
        if item.get("type", "message") != "message" or role not in ("user", "system", "assistant"):
            rule = "a message of the role user, system or assistant"
            msg = f"{where} is {shown(item.get('type', role))}; Letta takes {rule}."
            raise InvalidInput(msg, field=where, value=item, rule=rule)
        content = content_of(item.get("content") or "", f"{where}.content")
        if len(content) == 1 and isinstance(content, list) and content[0]["type"] == "text":
            content = content[0]["text"]
        found.append({"type": "message", "role": role, "content": content})
    return found
