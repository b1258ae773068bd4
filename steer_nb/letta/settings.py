"""What a Letta lane carries: its agent and conversation, its functions, and fields of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.client.tools import split_tools
from steer_nb.errors import InvalidInput
from steer_nb.wire import check_value
from steer_nb.wire.letta import REQUEST_FIELDS, ClientTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.client.tools import Tool

__all__ = ["prepare_letta", "request_fields"]

_FIXED: Final = {
    "messages": "it is what is said",
    "input": "it is what is said",
    "streaming": "answers always come as a stream",
    "background": "runs are in the background wherever the server can",
    "client_tools": "give functions as tools=[...]",
    "agent_id": "it is called agent",
}
_PLACES: Final = ("agent", "conversation")
_NAMES: Final = {"model": "override_model", "instructions": "override_system"}
_DEFAULTS: Final = {"stream_tokens": True}


def prepare_letta(
    settings: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Tool] | None]:
    """Check a lane's settings: names and values.

    Parameters
    ----------
    settings : mapping
        `agent`, `conversation`, `tools`, and fields of the request (1.1); `model` and
        `instructions` stand for `override_model` and `override_system`.

    Returns
    -------
    fields : dict
        As they are kept. None stands for "leave this one out".
    functions : dict of str to Tool or None
        The functions among ``tools``; None where no tools were given.

    Raises
    ------
    InvalidInput
        For a field that does not exist, or cannot be set for a lane.

    Examples
    --------
    >>> prepare_letta({"agent": "agent-1", "max_steps": 5})[0]
    {'agent': 'agent-1', 'max_steps': 5}
    """
    fields: dict[str, Any] = {}
    functions: dict[str, Tool] | None = None
    for name, value in settings.items():
        if name in _FIXED:
            why = _FIXED[name]
            msg = f"{name} cannot be set here: {why}."
            raise InvalidInput(msg, field=name, value=value, rule=why)
        if name == "tools":
            definitions, functions = ([], {}) if value is None else split_tools(value)
            for at, one in enumerate(definitions):
                _check_tool(one, f"tools[{at}]")
            fields["tools"] = definitions or None
        elif name in _PLACES:
            fields[name] = _place(name, value)
        elif name in REQUEST_FIELDS or name in _NAMES:
            check_value(value, path=name)
            fields[name] = value
        else:
            known = ", ".join(sorted({*REQUEST_FIELDS, *_NAMES, *_PLACES, "tools"} - {*_FIXED}))
            rule = "a setting of a Letta lane"
            msg = f"{name} is no setting of a Letta lane. There are {known}."
            raise InvalidInput(msg, field=name, value=value, rule=rule)
    return fields, functions


def _place(name: str, value: object) -> str | None:
    value = getattr(value, "id", value)  # the official client's objects have one
    if value is not None and (not isinstance(value, str) or not value.strip()):
        rule = f"the id of {'an agent' if name == 'agent' else 'a conversation, or default'}"
        msg = f"{name} is {value!r}; give {rule}."
        raise InvalidInput(msg, field=name, value=value, rule=rule)
    return value


def _check_tool(tool: dict[str, Any], path: str) -> None:
    if tool.get("type") != "function" or not isinstance(tool.get("name"), str):
        rule = "a function"
        msg = f"{path} is no function: a Letta agent's other tools belong to the agent."
        raise InvalidInput(msg, field=path, value=tool, rule=rule)


def request_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a request, from those of a lane: its functions are declared in each (6).

    Examples
    --------
    >>> request_fields({"agent": "agent-1", "model": "openai/gpt-4o"})
    {'stream_tokens': True, 'override_model': 'openai/gpt-4o'}
    """
    made = dict(_DEFAULTS)
    for name, value in fields.items():
        if name not in (*_PLACES, "tools") and value is not None:
            made[_NAMES.get(name, name)] = value
    tools = [
        ClientTool(
            name=one["name"], description=one.get("description"), parameters=one.get("parameters")
        ).to_dict()
        for one in fields.get("tools") or ()
    ]
    return {**made, "client_tools": tools} if tools else made
