"""Requests to a Letta server as facts: what is asked for, and which calls it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.ledger import facts as f
from steer_nb.wire.letta import MessageCreate
from steer_nb.wire.letta.inputs import lenient_input

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LettaRequest", "declared", "is_cancel", "released", "request_of"]

_MESSAGES: Final = ("/messages", "/messages/stream", "/messages/async")
_CANCELS: Final = ("/messages/cancel", "/cancel")


class LettaRequest(msgspec.Struct, frozen=True):
    """A request that says something to an agent.

    Attributes
    ----------
    body : dict
        The same as a request of the Responses API: its `input` holds what is said.
    answers : tuple of dict
        What it answers calls with, in Letta's own form, each with its `tool_call_id`.
    client_tools : frozenset of str
        The client's own tools that it declares.
    agent_id : str or None
        The agent, where the body names it.
    """

    body: dict[str, Any]
    answers: tuple[dict[str, Any], ...]
    client_tools: frozenset[str]
    agent_id: str | None


def request_of(asked: dict[str, Any], path: str) -> LettaRequest | None:
    """Read the body of a request; None where it goes to where nothing is said.

    Parameters
    ----------
    asked : dict
        The decoded body.
    path : str
        Where it goes.
    """
    if not path.endswith(_MESSAGES):
        return None
    messages = asked.get("messages")
    if messages is None and "input" in asked:
        messages = [{"role": "user", "content": asked["input"]}]
    said: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for number, message in enumerate(messages if isinstance(messages, list) else []):
        if not isinstance(message, dict):
            continue
        found = lenient_input(message)
        if found is None or isinstance(found, MessageCreate):
            said.append({"type": "message", **message})
            continue
        decisions = [one.to_dict() for one in found.decisions]
        said.append({"type": "letta_approval_response", "approvals": decisions})
        if number == 0:  # answers behind something else are dropped (1.2)
            answers += {one["tool_call_id"]: one for one in decisions}.values()
    agent_id = asked.get("agent_id")
    return LettaRequest(
        {"type": "response.create", "input": said},
        tuple(dict(answer) for answer in answers),
        declared(asked.get("client_tools")),
        agent_id if isinstance(agent_id, str) else None,
    )


def declared(tools: object) -> frozenset[str]:
    """Name the client's own tools among what may be a list of them.

    Examples
    --------
    >>> sorted(declared([{"name": "weather"}, {}, None]))
    ['weather']
    """
    listed = tools if isinstance(tools, list) else []
    names = (one.get("name") for one in listed if isinstance(one, dict))
    return frozenset(name for name in names if isinstance(name, str))


def is_cancel(path: str) -> bool:
    """Whether runs are cancelled there (3.4).

    Examples
    --------
    >>> is_cancel("/v1/conversations/conv-1/cancel"), is_cancel("/v1/agents/agent-1/messages")
    (True, False)
    """
    return path.endswith(_CANCELS)


def released(path: str, lane: str | None, run_ids: Sequence[str]) -> list[f.Fact]:
    """Say what nobody has to answer any more, after an answer from `path` (3.4).

    Parameters
    ----------
    path : str
        Where the answer came from.
    lane : str or None
        Whose conversation that is about.
    run_ids : sequence of str
        Runs of that conversation that the service says it cancelled. Those of other conversations
        stay pending, whatever the service says.
    """
    if path.endswith("/reset-messages"):
        return [f.InputReleased(lane, None, False)]
    if is_cancel(path) and run_ids:
        return [f.InputReleased(lane, tuple(run_ids), True)]
    return []
