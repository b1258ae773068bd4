"""The credentials that MCP tools carry: hidden in what is written down, missed in what is sent.

A trace holds messages verbatim, except for these: a key must not be in a file that is shared. What
comes back from a file says `HIDDEN` in their place, and must not be sent so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["HIDDEN", "hidden_fields", "redacted", "with_credentials"]

HIDDEN: Final = "(hidden)"
"""What stands in a file in the place of a credential."""


_SERVER: Final = ("type", "server_label", "server_url", "connector_id")


def redacted(body: Mapping[str, Any]) -> dict[str, Any]:
    """`body` without the credentials that MCP tools carry: what may be written to a trace.

    Parameters
    ----------
    body : mapping
        A request, or anything else that has ``tools`` or an ``input``.

    Examples
    --------
    >>> redacted({"tools": [{"type": "mcp", "server_label": "x", "authorization": "t"}]})
    {'tools': [{'type': 'mcp', 'server_label': 'x', 'authorization': '(hidden)'}]}
    """
    result = _hide(body)
    items = body.get("input")
    if isinstance(items, list):  # the answer to a tool search is a list of tools, too
        result["input"] = [_hide(item) if isinstance(item, dict) else item for item in items]
    return result


def hidden_fields(body: Mapping[str, Any]) -> list[str]:
    """Name the credentials that `redacted` hid in `body`, by their paths.

    Examples
    --------
    >>> hidden_fields({"tools": [{"type": "mcp", "headers": {"X-Key": "(hidden)"}}]})
    ['tools[0].headers.X-Key']
    """
    found = list(_hidden_in(body, ""))
    items = body.get("input")
    if isinstance(items, list):
        for index, item in enumerate(items):
            if isinstance(item, dict):
                found += _hidden_in(item, f"input[{index}].")
    return found


def with_credentials(item: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any]:
    """`item` with what is hidden in it taken from `whole`, tool by tool of the same server.

    A tool that names another address is another server: no credential goes there by itself.

    Examples
    --------
    >>> place = {"type": "mcp", "server_label": "x"}
    >>> shown = {"tools": [{**place, "authorization": "(hidden)", "allowed_tools": ["f"]}]}
    >>> with_credentials(shown, {"tools": [{**place, "authorization": "t"}]})["tools"][0]
    {'type': 'mcp', 'server_label': 'x', 'authorization': 't', 'allowed_tools': ['f']}
    """
    known = {_server(tool): tool for tool in _tools(whole)}
    result = dict(item)
    result["tools"] = [_completed(tool, known.get(_server(tool), {})) for tool in _tools(item)]
    return result


def _completed(tool: Any, known: Mapping[str, Any]) -> Any:
    if not _has_secret(tool):
        return tool
    tool = dict(tool)
    if tool.get("authorization") == HIDDEN:
        tool["authorization"] = known.get("authorization") or HIDDEN
    headers, given = tool.get("headers"), known.get("headers")
    if isinstance(headers, dict) and isinstance(given, dict):
        tool["headers"] = {
            name: given.get(name, value) if value == HIDDEN else value
            for name, value in headers.items()
        }
    return tool


def _server(tool: Any) -> tuple[str, ...]:
    holder = tool if isinstance(tool, dict) else {}
    return tuple(str(holder.get(name)) for name in _SERVER)


def _tools(holder: Mapping[str, Any]) -> list[Any]:
    tools = holder.get("tools")
    return tools if isinstance(tools, list) else []


def _hidden_in(holder: Mapping[str, Any], path: str) -> Iterator[str]:
    for index, tool in enumerate(_tools(holder)):
        if not _has_secret(tool):
            continue
        place = f"{path}tools[{index}]"
        headers = tool.get("headers")
        if tool.get("authorization") == HIDDEN:
            yield f"{place}.authorization"
        if headers == HIDDEN:
            yield f"{place}.headers"
        if isinstance(headers, dict):
            yield from (f"{place}.headers.{name}" for name in headers if headers[name] == HIDDEN)


def _hide(holder: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(holder)
    tools = holder.get("tools")
    if isinstance(tools, list) and any(_has_secret(tool) for tool in tools):
        result["tools"] = [_without_secret(tool) for tool in tools]
    return result


def _has_secret(tool: object) -> bool:
    return isinstance(tool, dict) and bool(tool.get("authorization") or tool.get("headers"))


def _without_secret(tool: Any) -> Any:
    if not _has_secret(tool):
        return tool
    tool = dict(tool)
    if tool.get("authorization"):
        tool["authorization"] = HIDDEN
    headers = tool.get("headers")
    if headers:  # what is no object is no header, and may hold a key all the same
        tool["headers"] = dict.fromkeys(headers, HIDDEN) if isinstance(headers, dict) else HIDDEN
    return tool
