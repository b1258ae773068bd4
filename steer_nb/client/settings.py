"""What a lane's requests carry, and what of it may be written down.

Only an automatic successor inherits its parent's settings; every explicit request, continuations
too, has to say them again [O, chapters 2.3 and 5.4].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steer_nb.client.tools import Tool, split_tools
from steer_nb.errors import InvalidInput
from steer_nb.ledger import DEFAULT_LANE
from steer_nb.wire import response_create, several_agents
from steer_nb.wire.credentials import HIDDEN, redacted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "DEFAULT_MODEL",
    "HIDDEN",
    "LaneSettings",
    "check_beta",
    "merge",
    "prepare",
    "redacted",
]

DEFAULT_MODEL = "gpt-6-astra"
"""The model where none is named; it supports steering [O, chapter 5.1]."""

_OWN = {
    "input": "it is the first argument",
    "stream_id": "it is the lane's name",
    "previous_response_id": "it belongs to one request, not to a lane",
    "type": "it is fixed",
}


@dataclass(slots=True, repr=False)  # a repr would show the credentials of MCP tools
class LaneSettings:
    """What one lane carries. It belongs to the I/O thread.

    Attributes
    ----------
    stream_id : str or None
        The lane's name on the wire; None is the default lane.
    fields : dict
        Fields of its `response.create`, `tools` among them as the wire has them.
    tools : dict of str to Tool
        The functions among the tools.
    called : dict of str to Tool
        Functions that one single request brought with it.
    base : str or None
        The response that a fork starts from, until its first response began.
    """

    stream_id: str | None
    fields: dict[str, Any] = field(default_factory=dict)
    tools: dict[str, Tool] = field(default_factory=dict)
    called: dict[str, Tool] = field(default_factory=dict)
    base: str | None = None
    n_before_base: int = 0
    open: bool = True

    @property
    def name(self) -> str:
        """What a person calls the lane."""
        return DEFAULT_LANE if self.stream_id is None else self.stream_id

    def tool(self, name: str | None) -> Tool | None:
        """The function that answers calls of that name."""
        if name is None:
            return None
        return self.tools.get(name) or self.called.get(name)


def prepare(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Tool] | None]:
    """Check settings before they are kept: names and values, as a request would need them.

    Returns
    -------
    fields : dict
        As they go on the wire. None stands for "leave this one out".
    functions : dict of str to Tool or None
        The functions among ``tools``; None where no tools were given.

    Raises
    ------
    InvalidInput
        For a field that does not exist, cannot be set for a lane, or has a bad value.
    """
    for name, why in _OWN.items():
        if name in settings:
            msg = f"{name} cannot be a lane's setting: {why}."
            raise InvalidInput(msg, field=name, value=settings[name], rule=why)
    fields, functions = dict(settings), None
    if fields.get("tools") is not None:
        fields["tools"], functions = split_tools(fields["tools"])
    elif "tools" in fields:
        functions = {}
    checked = response_create(**fields)
    # The checked copy: what was given may be changed later by whoever gave it.
    return {name: checked.get(name) for name in fields}, functions


def check_beta(fields: Mapping[str, Any], *, asked: bool) -> None:
    """Refuse several agents on a connection that did not ask for their beta.

    Raises
    ------
    InvalidInput
        The service would refuse it, too.
    """
    if several_agents(fields) and not asked:
        rule = "it needs a connection that asks for the multi-agent beta"
        msg = (
            f"multi_agent cannot be sent here: {rule}, made by steer_nb.connect(multi_agent=True) "
            "or %steer connect --multi-agent."
        )
        raise InvalidInput(msg, field="multi_agent", value=fields["multi_agent"], rule=rule)


def merge(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Lay settings over each other, the last on top; None takes a field out."""
    merged: dict[str, Any] = {}
    for layer in layers:
        merged.update(layer)
    return {name: value for name, value in merged.items() if value is not None}
