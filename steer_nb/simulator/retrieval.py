"""Stored responses over plain HTTP: what they are, and what they were given.

``GET /v1/responses/{id}`` and ``GET /v1/responses/{id}/input_items``, as the API reference has
them: what a client asks after its connection was lost (chapter 8). Nothing here changes anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from steer_nb.simulator.envelope import response_object
from steer_nb.simulator.refusals import Refusal, invalid

if TYPE_CHECKING:
    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.service import Service

__all__ = ["PATH", "is_retrieval", "retrieve"]

PATH: Final = "/v1/responses"
_ITEMS: Final = "input_items"
_DEFAULT_LIMIT: Final = 20
_MOST: Final = 100
# What an item has when it is listed, where whoever sent it may leave it out.
_WITH_STATUS: Final = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "computer_call_output",
        "shell_call_output",
        "tool_search_output",
        "function_call",
        "custom_tool_call",
    }
)


def is_retrieval(target: str) -> bool:
    """Whether a request target is one of the two paths.

    Examples
    --------
    >>> is_retrieval("/v1/responses/resp_1/input_items?limit=5")
    True
    >>> is_retrieval("/v1/responses")
    False
    """
    return _place(target) is not None


def _place(target: str) -> tuple[str, bool] | None:
    """The response's id, and whether its input items are asked for."""
    path = urlsplit(target).path.rstrip("/")
    if not path.startswith(f"{PATH}/"):
        return None
    response_id, _, rest = path.removeprefix(f"{PATH}/").partition("/")
    if not response_id or rest not in ("", _ITEMS):
        return None
    return unquote(response_id), bool(rest)


def retrieve(service: Service, target: str) -> dict[str, Any]:
    """Answer a GET of one of the two paths.

    Parameters
    ----------
    service : Service
        What all connections share.
    target : str
        Path and query, of which `is_retrieval` is true.

    Raises
    ------
    Refusal
        404 for a response that is unknown or was not stored, 400 for a bad query.
    """
    place = _place(target)
    assert place is not None
    response_id, items = place
    query = parse_qs(urlsplit(target).query)
    entry = service.account.add(
        "retrieval", response_id=response_id, what=_ITEMS if items else "response", status=200
    )
    try:
        record = service.store.look(response_id)
        if record is None:
            msg = f"Response with id '{response_id}' not found."
            raise Refusal(msg, param="id", status=404)
        if items:
            return _list(record, query, service.options.input_items)
        if query.get("stream", ["false"])[-1] == "true":
            msg = "This server does not stream a stored response again: ask without 'stream'."
            raise invalid(param="stream", message=msg)
        return response_object(record)
    except Refusal as refusal:
        service.account.update(entry, status=refusal.status)
        raise


def _list(record: Record, query: dict[str, list[str]], scope: str) -> dict[str, Any]:
    items = _given(record)
    if scope == "history":
        before = [
            item
            for one in record.ancestors()
            for item in (*_given(one), *(_listed(made, made["id"]) for made in one.output))
        ]
        items = [*before, *items]
    if _word(query, "order", "desc", ("asc", "desc")) == "desc":
        items.reverse()
    after = query.get("after", [""])[-1]
    if after:
        places = [index for index, item in enumerate(items) if item["id"] == after]
        if not places:
            msg = f"No input item with id '{after}' found."
            raise invalid(param="after", message=msg)
        items = items[places[0] + 1 :]
    page = items[: _limit(query)]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else "",
        "last_id": page[-1]["id"] if page else "",
        "has_more": len(page) < len(items),
    }


def _word(query: dict[str, list[str]], name: str, default: str, words: tuple[str, ...]) -> str:
    word = query.get(name, [default])[-1]
    if word not in words:
        msg = f"Invalid value: '{word}'. Supported values are: {', '.join(words)}."
        raise invalid(param=name, message=msg)
    return word


def _limit(query: dict[str, list[str]]) -> int:
    text = query.get("limit", [str(_DEFAULT_LIMIT)])[-1]
    limit = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= limit <= _MOST:
        msg = f"Invalid 'limit': expected an integer from 1 to {_MOST}, but got '{text}' instead."
        raise invalid(param="limit", message=msg)
    return limit


def _given(record: Record) -> list[dict[str, Any]]:
    """What a response was given, as it is listed: each item with an id."""
    ids = record.connection.ids
    listed = []
    for number, item in enumerate(record.given):
        if item["type"] == "item_reference":
            known = {one.get("id"): one for one in record.history()}
            item = known.get(item.get("id"), item)
            if item["type"] == "item_reference":
                continue  # it refers to what this server does not have
        prefix = "msg" if item["type"] == "message" else "item"
        own_id = ids.make(prefix, record.id, "input", number)
        listed.append(_listed(item, item.get("id") or own_id))
    return listed


def _listed(item: dict[str, Any], item_id: str) -> dict[str, Any]:
    shown = {name: value for name, value in item.items() if value is not None}
    shown["id"] = item_id
    if item["type"] == "message":
        shown |= {"status": "completed", "content": _parts(item)}
    elif item["type"] in _WITH_STATUS:
        shown.setdefault("status", "completed")
    return shown


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    content, assistant = message["content"], message.get("role") == "assistant"
    if isinstance(content, str):
        content = [{"type": "output_text" if assistant else "input_text", "text": content}]
    parts = []
    for part in content:
        shown = {name: value for name, value in part.items() if value is not None}
        if part["type"] == "output_text":
            shown.setdefault("annotations", [])
        elif part["type"] == "input_image":
            shown.setdefault("detail", "auto")
        parts.append(shown)
    return parts
