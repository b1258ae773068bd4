"""Steps that the service itself works off: its hosted tools (4.2). They ask the client for nothing.

A steer that comes meanwhile waits for their end (5.4, rule 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.calls import PIECE, as_json
from steer_nb.simulator.steps import Beat, Item

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from steer_nb.simulator.steps import Place

__all__ = ["CallMcp", "RunCode", "SearchFiles", "SearchWeb"]

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
    """Call a tool of an MCP server, which the service does itself; it gives `output`."""

    server_label: str
    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    output: str = ""
    seconds: float = WORK_S

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
        yield self.state(place, item, "completed")
        item = {**item, "status": "completed", "arguments": arguments, "output": self.output}
        yield self.done(place, item)
        return item
