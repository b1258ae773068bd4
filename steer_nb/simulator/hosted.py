"""Steps that the service itself works off: its hosted tools (4.2). They ask the client for nothing.

A steer that comes meanwhile waits for their end (5.4, rule 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.calls import PIECE, as_json
from steer_nb.simulator.place import Beat
from steer_nb.simulator.steps import Item

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from steer_nb.simulator.place import Place

__all__ = [
    "CallMcp",
    "Compact",
    "ListMcpTools",
    "RunCode",
    "SearchFiles",
    "SearchWeb",
]

WORK_S = 1.0
"""Seconds that a hosted tool works, at speed 1."""


class Hosted(Item):
    """What hosted tools have in common: words for how far they are."""

    def state(self, place: Place, item: dict[str, Any], word: str, seconds: float = 0.0) -> Beat:
        """Say how far the work is."""
        event = {
            "type": f"response.{item['type']}.{word}",
            "item_id": item["id"],
            "output_index": place.output_index,
        }
        return Beat(event, seconds)


@dataclass(frozen=True)
class SearchWeb(Hosted):
    """Search the web: `query`, and the addresses that were found."""

    query: str
    sources: Sequence[str] = ()
    seconds: float = WORK_S

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        action: dict[str, Any] = {"type": "search", "query": self.query}
        if self.sources:
            action["sources"] = [{"type": "url", "url": url} for url in self.sources]
        item: dict[str, Any] = {
            "id": place.id("ws"),
            "type": "web_search_call",
            "status": "in_progress",
            "action": {"type": "search", "query": self.query},
        }
        yield self.added(place, item)
        yield self.state(place, item, "in_progress")
        yield self.state(place, item, "searching", self.seconds)
        yield self.state(place, item, "completed")
        item = {**item, "status": "completed", "action": action}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class SearchFiles(Hosted):
    """Search the files of a vector store."""

    queries: Sequence[str]
    seconds: float = WORK_S

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {
            "id": place.id("fs"),
            "type": "file_search_call",
            "status": "in_progress",
            "queries": list(self.queries),
            "results": None,
        }
        yield self.added(place, item)
        yield self.state(place, item, "in_progress")
        yield self.state(place, item, "searching", self.seconds)
        yield self.state(place, item, "completed")
        item = {**item, "status": "completed"}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class RunCode(Hosted):
    """Run Python in the service's own container; `logs` is what it printed."""

    code: str
    logs: str = ""
    seconds: float = WORK_S

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {
            "id": place.id("ci"),
            "type": "code_interpreter_call",
            "status": "in_progress",
            "container_id": place.ids.make("cntr", place.response_id),
            "code": "",
            "outputs": None,
        }
        yield self.added(place, item)
        yield self.state(place, item, "in_progress")
        at = {"item_id": item["id"], "output_index": place.output_index}
        for delta, wait in place.deltas(self.code):
            event = {"type": "response.code_interpreter_call_code.delta", **at, "delta": delta}
            yield Beat(event, wait)
        done = {"type": "response.code_interpreter_call_code.done", **at, "code": self.code}
        yield Beat(done)
        yield self.state(place, item, "interpreting", self.seconds)
        yield self.state(place, item, "completed")
        outputs = [{"type": "logs", "logs": self.logs}] if self.logs else []
        item = {**item, "status": "completed", "code": self.code, "outputs": outputs}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class CallMcp(Hosted):
    """Call a tool of an MCP server, which the service does itself.

    Parameters
    ----------
    server_label, name : str
        The server and its tool.
    arguments : mapping or str
        What it is called with.
    output : str
        What it gives.
    error : str or mapping, optional
        Why it fails: the tool's own words, or the whole error as the API writes it. The call then
        ends as ``failed``.
    seconds : float
        How long it works, at speed 1.

    Examples
    --------
    >>> CallMcp("calendar", "list_events", error="The calendar is closed.").output
    ''
    """

    server_label: str
    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    output: str = ""
    seconds: float = WORK_S
    error: Mapping[str, Any] | str | None = None

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        arguments = as_json(self.arguments)
        item: dict[str, Any] = {
            "id": place.id("mcp"),
            "type": "mcp_call",
            "status": "in_progress",
            "server_label": self.server_label,
            "name": self.name,
            "arguments": "",
            "approval_request_id": None,
            "error": None,
            "output": None,
        }
        yield self.added(place, item)
        yield self.state(place, item, "in_progress")
        at = {"item_id": item["id"], "output_index": place.output_index}
        for delta, wait in place.deltas(arguments, PIECE):
            event = {"type": "response.mcp_call_arguments.delta", **at, "delta": delta}
            yield Beat(event, wait)
        done = {"type": "response.mcp_call_arguments.done", **at, "arguments": arguments}
        yield Beat(done, self.seconds)
        item = {**item, "status": "completed", "arguments": arguments, "output": self.output}
        if self.error is not None:
            item |= {"status": "failed", "output": None, "error": _mcp_error(self.error)}
        yield self.state(place, item, item["status"])
        yield self.done(place, item)
        return item


def _mcp_error(error: Mapping[str, Any] | str) -> dict[str, Any]:
    if not isinstance(error, str):
        return dict(error)
    return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": error}]}


@dataclass(frozen=True)
class ListMcpTools(Hosted):
    """Ask an MCP server which tools it has.

    Parameters
    ----------
    server_label : str
        The server.
    tools : sequence of str or mapping
        Its tools: names, or whole descriptions with `name`, `input_schema` and `description`.
    error : str, optional
        Why it does not answer; the tools then are not listed.
    seconds : float
        How long that takes, at speed 1.

    Examples
    --------
    >>> ListMcpTools("calendar", ["list_events", "delete_event"]).tools
    ['list_events', 'delete_event']
    """

    server_label: str
    tools: Sequence[Mapping[str, Any] | str] = ()
    error: str | None = None
    seconds: float = WORK_S

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {
            "id": place.id("mcpl"),
            "type": "mcp_list_tools",
            "server_label": self.server_label,
            "tools": [],
        }
        yield self.added(place, item)
        yield self.state(place, item, "in_progress", self.seconds)
        if self.error is None:
            yield self.state(place, item, "completed")
            item = {**item, "tools": [_mcp_tool(tool) for tool in self.tools]}
        else:
            yield self.state(place, item, "failed")
            item = {**item, "error": self.error}
        yield self.done(place, item)
        return item


def _mcp_tool(tool: Mapping[str, Any] | str) -> dict[str, Any]:
    named = {"name": tool} if isinstance(tool, str) else dict(tool)
    return {"input_schema": {"type": "object", "properties": {}}, **named}


@dataclass(frozen=True)
class Compact(Hosted):
    """Put a long conversation into fewer tokens, which only the service can read.

    Examples
    --------
    >>> Compact(seconds=0.5).seconds
    0.5
    """

    seconds: float = WORK_S

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item = {
            "id": place.id("cmp"),
            "type": "compaction",
            "encrypted_content": place.sealed("compacting"),
        }
        yield self.added(place, item)
        yield self.state(place, item, "compacting", self.seconds)
        item = {**item, "encrypted_content": place.sealed("compacted")}
        yield self.done(place, item)
        return item
