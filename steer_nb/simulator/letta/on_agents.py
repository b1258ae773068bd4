"""Endpoints about agents and tools (chapter 1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.simulator.letta import making
from steer_nb.simulator.letta.asked import Answer
from steer_nb.simulator.letta.listing import page
from steer_nb.simulator.letta.trouble import Refused, not_found

if TYPE_CHECKING:
    from steer_nb.simulator.letta.asked import Asked, Reply
    from steer_nb.simulator.letta.service import LettaService


__all__ = [
    "agent",
    "agent_tools",
    "agents",
    "attach",
    "change_agent",
    "change_tool",
    "detach",
    "drop_agent",
    "drop_tool",
    "gate",
    "make_agent",
    "make_tool",
    "reset",
    "tool",
    "tools",
]


def agents(asked: Asked) -> Reply:
    """List agents, the newest first; `name` and `include` choose."""
    query = asked.query
    rows = list(asked.service.agents.values())
    name = query.text("name")
    rows = [one for one in rows if name in (None, one.name)]
    chosen, _ = page(rows, query, limit=50, order="desc")
    include = query.texts("include")
    return Answer([one.to_dict(include) for one in chosen])


def make_agent(asked: Asked) -> Reply:
    """Make an agent; related things are shown as `include` says."""
    made = making.make_agent(asked.service, making.new_agent_fields(asked.object))
    return Answer(made.to_dict(asked.query.texts("include")))


def agent(asked: Asked, agent_id: str) -> Reply:
    """Give one agent; its pending request only where `include` asks for it (1)."""
    return Answer(asked.service.agent(agent_id).to_dict(asked.query.texts("include")))


def change_agent(asked: Asked, agent_id: str) -> Reply:
    """Change an agent."""
    agent = asked.service.agent(agent_id)
    making.change_agent(asked.service, agent, asked.object)
    return Answer(agent.to_dict())


def drop_agent(asked: Asked, agent_id: str) -> Reply:
    """Delete an agent with its conversations."""
    agent = asked.service.agent(agent_id)
    del asked.service.agents[agent_id]
    for one in agent.conversations:
        del asked.service.conversations[one]
    return Answer({"message": f"Agent id={agent_id} successfully deleted"})


def reset(asked: Asked, agent_id: str) -> Reply:
    """Clear the default conversation, a pending request with it (3)."""
    agent = asked.service.agent(agent_id)
    asked.service.begin(agent.own)
    agent.updated = asked.service.now()
    return Answer(agent.to_dict())


def agent_tools(asked: Asked, agent_id: str) -> Reply:
    """List an agent's tools."""
    rows = asked.service.agent(agent_id).tools
    chosen, _ = page(rows, asked.query, limit=10_000, order="asc")
    return Answer([one.to_dict() for one in chosen])


def attach(asked: Asked, agent_id: str, tool_id: str) -> Reply:
    """Give an agent a tool."""
    agent = asked.service.agent(agent_id)
    agent.attach(_find_tool(asked.service, tool_id))
    return Answer(None)


def detach(asked: Asked, agent_id: str, tool_id: str) -> Reply:
    """Take a tool from an agent."""
    agent = asked.service.agent(agent_id)
    agent.detach(_find_tool(asked.service, tool_id))
    return Answer(None)


def gate(asked: Asked, agent_id: str, tool_name: str) -> Reply:
    """Let an agent ask before it calls a tool, or no longer; null is the answer (1)."""
    agent = asked.service.agent(agent_id)
    given = asked.object
    asks = given.get("requires_approval", given.get("body_requires_approval"))
    if not isinstance(asks, bool):
        asks = bool(asked.query.flag("requires_approval"))
    if agent.tool(tool_name) is None:
        raise Refused(404, f"Tool {tool_name} not found on agent {agent_id}")
    agent.gate(tool_name, requires_approval=asks)
    return Answer(None)


def _find_tool(service: LettaService, tool_id: str) -> Any:
    if tool_id not in service.tools:
        raise not_found(tool_id, kind="Tool")
    return service.tools[tool_id]


def tools(asked: Asked) -> Reply:
    """List the tools of the server."""
    query = asked.query
    names = query.texts("names") or query.texts("name")
    rows = [one for one in asked.service.tools.values() if names is None or one.name in names]
    chosen, _ = page(rows, query, limit=50, order="desc")
    return Answer([one.to_dict() for one in chosen])


def make_tool(asked: Asked) -> Reply:
    """Make a tool (POST), or make or replace it (PUT)."""
    made = making.make_tool(asked.service, asked.object, new=asked.method == "POST")
    return Answer(made.to_dict())


def tool(asked: Asked, tool_id: str) -> Reply:
    """Give one tool."""
    return Answer(_find_tool(asked.service, tool_id).to_dict())


def change_tool(asked: Asked, tool_id: str) -> Reply:
    """Change a tool."""
    tool = _find_tool(asked.service, tool_id)
    making.change_tool(tool, asked.object)
    return Answer(tool.to_dict())


def drop_tool(asked: Asked, tool_id: str) -> Reply:
    """Delete a tool; no agent has it any longer."""
    tool = _find_tool(asked.service, tool_id)
    del asked.service.tools[tool_id]
    for agent in asked.service.agents.values():
        agent.detach(tool)
    return Answer(None)
