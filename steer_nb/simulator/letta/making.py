"""Making and changing agents and tools over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.simulator.letta.tools import ServerTool, name_in
from steer_nb.simulator.letta.trouble import Refused, not_found
from steer_nb.simulator.letta.validating import refuse_body

if TYPE_CHECKING:
    from steer_nb.simulator.letta.service import LettaService
    from steer_nb.simulator.letta.state import Agent, Tool

__all__ = ["change_agent", "change_tool", "make_agent", "make_tool", "new_agent_fields"]

_KEPT: Final = ("compaction_settings", "description", "metadata", "tags")
_WORDS: Final[dict[type, str]] = {
    str: "string",
    list: "list",
    dict: "dictionary",
    int: "integer",
}
_LIMITS: Final = (1, 1_000_000)
_KINDS: Final[dict[type, str]] = {dict: "dict", int: "int"}


def new_agent_fields(given: dict[str, Any]) -> dict[str, Any]:
    """Check the fields of a new agent that this server looks at.

    Raises
    ------
    Refused
        422.
    """
    wants: dict[str, type] = {
        "name": str,
        "model": str,
        "system": str,
        "description": str,
        "tool_ids": list,
        "tools": list,
        "tool_rules": list,
        "memory_blocks": list,
        "tags": list,
        "metadata": dict,
        "compaction_settings": dict,
        "context_window_limit": int,
    }
    for name, kind in wants.items():
        value = given.get(name)
        if value is not None and not isinstance(value, kind):
            word = _WORDS[kind]
            fault = {
                "type": f"{_KINDS.get(kind, word)}_type",
                "loc": ("body", name),
                "msg": f"Input should be a valid {word}",
                "input": value,
            }
            raise refuse_body([fault])
    return given


def make_agent(service: LettaService, given: dict[str, Any]) -> Agent:
    """Make an agent, with the tools that it is to have, by id or by name.

    Raises
    ------
    Refused
        404 for a tool that is none.
    """
    tools = [_tool(service, tool_id) for tool_id in given.get("tool_ids") or ()]
    for name in given.get("tools") or ():
        found = service.tool_named(str(name))
        if found is None:
            raise not_found(str(name), kind="Tool")
        tools.append(found)
    agent = service.add_agent(
        given.get("name") or f"agent-{len(service.agents) + 1}",
        tools=tools,
        model=given.get("model"),
        system=given.get("system"),
        settings={name: given.get(name) for name in _KEPT},
        window=given.get("context_window_limit"),
        blocks=[one for one in given.get("memory_blocks") or () if isinstance(one, dict)],
    )
    _rule(agent, given.get("tool_rules"))
    return agent


def change_agent(service: LettaService, agent: Agent, given: dict[str, Any]) -> None:
    """Change what an agent is.

    Raises
    ------
    Refused
        404 for a tool that is none, 422 for a wrong field.
    """
    given = new_agent_fields(given)
    if given.get("tool_ids") is not None:
        agent.tools = []
        for tool_id in given["tool_ids"]:
            agent.attach(_tool(service, tool_id))
    if given.get("tool_rules") is not None:
        agent.gated, agent.other_rules = [], []
        _rule(agent, given["tool_rules"])
    agent.name = given.get("name") or agent.name
    agent.model = given.get("model") or agent.model
    agent.system = given.get("system") or agent.system
    agent.window = given.get("context_window_limit") or agent.window
    agent.settings |= {name: given[name] for name in _KEPT if name in given}
    agent.updated = service.now()


def _rule(agent: Agent, rules: Any) -> None:
    for rule in rules or ():
        if isinstance(rule, dict) and rule.get("type") == "requires_approval":
            agent.gate(str(rule.get("tool_name")), requires_approval=True)
        else:
            agent.other_rules.append(rule)


def _tool(service: LettaService, tool_id: Any) -> Tool:
    if tool_id not in service.tools:
        raise not_found(str(tool_id), kind="Tool")
    return service.tools[tool_id]


def make_tool(service: LettaService, given: dict[str, Any], *, new: bool) -> Tool:
    """Make a tool of some source code, which is kept and never run.

    Raises
    ------
    Refused
        409 where one of its name is there already and `new` is said, 422 without source code.
    """
    source, schema = given.get("source_code"), given.get("json_schema")
    if not isinstance(source, str):
        loc = ("body", "source_code")
        fault = {"type": "missing", "loc": loc, "msg": "Field required", "input": given}
        raise refuse_body([fault])
    named = schema.get("name") if isinstance(schema, dict) else None
    name = str(named or name_in(source) or "")
    if not name:
        raise Refused(400, "No function definition was found in the source code")
    known = service.tool_named(name)
    if known is not None and new:
        msg = f"Tool with name {name} already exists"
        raise Refused(409, msg)
    own = service.scenario.tool(name)
    server = own or ServerTool(name, description=str(given.get("description") or ""))
    return service.add_tool(
        server,
        source_code=source,
        json_schema=schema,
        tags=given.get("tags"),
        description=given.get("description"),
        default_requires_approval=given.get("default_requires_approval"),
        return_char_limit=_limit_in(given),
    )


def _limit_in(given: dict[str, Any]) -> int | None:
    """Read how much of what a tool gave is kept."""
    limit = given.get("return_char_limit")
    if limit is None:
        return None
    loc = ("body", "return_char_limit")
    if isinstance(limit, bool) or not isinstance(limit, int):
        msg = "Input should be a valid integer"
        raise refuse_body([{"type": "int_type", "loc": loc, "msg": msg, "input": limit}])
    least, most = _LIMITS
    if limit < least or limit > most:
        name, than, bound = ("ge", "greater", least) if limit < least else ("le", "less", most)
        fault = {
            "type": f"{than}_than_equal",
            "loc": loc,
            "msg": f"Input should be {than} than or equal to {bound}",
            "input": limit,
            "ctx": {name: bound},
        }
        raise refuse_body([fault])
    return limit


def change_tool(tool: Tool, given: dict[str, Any]) -> None:
    """Change what a tool is; agents that have it already keep their rules."""
    for name in ("default_requires_approval", "description", "json_schema", "source_code", "tags"):
        if name in given:
            setattr(tool, name, given[name])
    tool.return_char_limit = _limit_in(given) or tool.return_char_limit
