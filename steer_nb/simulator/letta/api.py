"""The endpoints: which request does what (chapter 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from steer_nb.simulator.letta import on_agents as a
from steer_nb.simulator.letta import on_messages as m
from steer_nb.simulator.letta import on_runs as r
from steer_nb.simulator.letta.asked import Answer
from steer_nb.simulator.letta.faults import RefuseRequest
from steer_nb.simulator.letta.trouble import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.simulator.letta.asked import Asked, Reply

__all__ = ["VERSION", "ask", "name_of"]

VERSION: Final = "0.16.8"


def ask(asked: Asked) -> Reply:
    """Answer one request, or begin what answers it.

    Raises
    ------
    Refused
        For every HTTP status but 200.
    """
    path = urlsplit(asked.target).path.rstrip("/")
    allowed = []
    for route in ROUTES:
        found = route.pattern.fullmatch(path)
        if found is None:
            continue
        if route.method != asked.method:
            allowed.append(route.method)
            continue
        given = {name: unquote(value) for name, value in found.groupdict().items()}
        for armed in asked.service.strike(
            "in", route.name, given.get("conversation_id"), connection=asked.connection
        ):
            if isinstance(armed.fault, RefuseRequest):
                more = {}
                if armed.fault.retry_after is not None:
                    more["retry-after"] = str(armed.fault.retry_after)
                return Answer({"detail": armed.fault.detail}, armed.fault.status, more)
        return route.do(asked, **given)
    if allowed:
        raise Refused(405, "Method Not Allowed")
    raise Refused(404, "Not Found")


def name_of(asked: Asked) -> str:
    """Say what a request is called: as the SDK's method that sends it."""
    path = urlsplit(asked.target).path.rstrip("/")
    for route in ROUTES:
        if route.method == asked.method and route.pattern.fullmatch(path):
            return route.name
    return f"{asked.method} {path}"


def _health(asked: Asked) -> Reply:  # noqa: ARG001 - every endpoint takes the request
    return Answer({"version": VERSION, "status": "ok"})


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint; its name is the SDK's method that calls it."""

    method: str
    pattern: re.Pattern[str]
    name: str
    do: Callable[..., Reply]


def _route(line: str, name: str, do: Callable[..., Reply]) -> Route:
    method, _, path = line.partition(" ")
    pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)
    return Route(method, re.compile(f"/v1{pattern}"), name, do)


ROUTES: Final = tuple(
    _route(*row)
    for row in (
        ("GET /agents", "agents.list", a.agents),
        ("POST /agents", "agents.create", a.make_agent),
        ("GET /agents/{agent_id}", "agents.retrieve", a.agent),
        ("PATCH /agents/{agent_id}", "agents.update", a.change_agent),
        ("DELETE /agents/{agent_id}", "agents.delete", a.drop_agent),
        ("PATCH /agents/{agent_id}/reset-messages", "agents.messages.reset", a.reset),
        ("GET /agents/{agent_id}/tools", "agents.tools.list", a.agent_tools),
        (
            "PATCH /agents/{agent_id}/tools/attach/{tool_id}",
            "agents.tools.attach",
            a.attach,
        ),
        (
            "PATCH /agents/{agent_id}/tools/detach/{tool_id}",
            "agents.tools.detach",
            a.detach,
        ),
        (
            "PATCH /agents/{agent_id}/tools/approval/{tool_name}",
            "agents.tools.update_approval",
            a.gate,
        ),
        ("GET /agents/{agent_id}/messages", "agents.messages.list", m.history),
        ("POST /agents/{agent_id}/messages", "agents.messages.create", m.send),
        (
            "POST /agents/{agent_id}/messages/stream",
            "agents.messages.stream",
            m.send_stream,
        ),
        (
            "POST /agents/{agent_id}/messages/async",
            "agents.messages.create_async",
            m.send_async,
        ),
        ("POST /agents/{agent_id}/messages/cancel", "agents.messages.cancel", m.cancel),
        ("POST /agents/{agent_id}/summarize", "agents.messages.compact", m.summarize),
        ("GET /messages/{message_id}", "messages.retrieve", m.message),
        ("GET /conversations", "conversations.list", m.conversations),
        ("POST /conversations", "conversations.create", m.make_conversation),
        (
            "GET /conversations/{conversation_id}",
            "conversations.retrieve",
            m.conversation,
        ),
        (
            "PATCH /conversations/{conversation_id}",
            "conversations.update",
            m.change_conversation,
        ),
        (
            "DELETE /conversations/{conversation_id}",
            "conversations.delete",
            m.drop_conversation,
        ),
        (
            "GET /conversations/{conversation_id}/messages",
            "conversations.messages.list",
            m.talk,
        ),
        (
            "POST /conversations/{conversation_id}/messages",
            "conversations.messages.create",
            m.send_talk,
        ),
        (
            "POST /conversations/{conversation_id}/stream",
            "conversations.messages.stream",
            m.resume_talk,
        ),
        (
            "POST /conversations/{conversation_id}/cancel",
            "conversations.cancel",
            m.cancel_talk,
        ),
        (
            "POST /conversations/{conversation_id}/compact",
            "conversations.messages.compact",
            m.compact_talk,
        ),
        ("GET /runs", "runs.list", r.runs),
        ("GET /runs/active", "runs.active", r.active_runs),
        ("GET /runs/{run_id}", "runs.retrieve", r.run),
        ("GET /runs/{run_id}/messages", "runs.messages.list", r.run_messages),
        ("GET /runs/{run_id}/usage", "runs.usage.retrieve", r.run_usage),
        ("GET /runs/{run_id}/steps", "runs.steps.list", r.run_steps),
        ("POST /runs/{run_id}/stream", "runs.messages.stream", r.resume_run),
        ("GET /tools", "tools.list", a.tools),
        ("POST /tools", "tools.create", a.make_tool),
        ("PUT /tools", "tools.upsert", a.make_tool),
        ("GET /tools/{tool_id}", "tools.retrieve", a.tool),
        ("PATCH /tools/{tool_id}", "tools.update", a.change_tool),
        ("DELETE /tools/{tool_id}", "tools.delete", a.drop_tool),
        ("GET /health", "health", _health),
    )
)
"""Every endpoint. A slash at the end of a path makes no difference."""
