"""Steps of a response that several agents write, in the multi-agent beta (chapter 7).

A script may yield them where the request says ``multi_agent: {"enabled": true}``. A subagent has a
script of its own, which is called as a scenario is: with a `Turn`, and once more with the results
when its calls are answered.

Examples
--------
>>> from steer_nb.simulator import CallFunction, Say, Spawn, WaitAgents, scenario
>>> def scout(turn):
...     if turn.results:
...         yield Say(next(iter(turn.results.values())).text)
...     else:
...         yield CallFunction("get_weather", {"city": turn.prompt})
>>> @scenario("pair", "Sends one scout.")
... def pair(turn):
...     yield Spawn("scout", "Lisbon", scout)
...     yield WaitAgents()
...     yield Say(f"The scout says: {turn.reports['scout']}")
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.calls import as_json
from steer_nb.simulator.steps import Control, Item

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from steer_nb.simulator.place import Beat, Place
    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn

__all__ = ["ROOT", "AgentMessage", "HostedCall", "HostedOutput", "SendMessage", "Spawn"]
__all__ += ["WaitAgents"]

ROOT = "/root"
"""The agent that gets the request; the others are named by their place below it."""


@dataclass(frozen=True)
class Spawn(Control):
    """Create a subagent and go on; it writes at the same time.

    Parameters
    ----------
    name : str
        Its name below the agent that spawns it.
    task : str
        What it is told; its turn has it as `prompt`.
    script : callable
        What it does, as a scenario's function.
    """

    name: str
    task: str
    script: Callable[[Turn], Iterator[Step]]


@dataclass(frozen=True)
class SendMessage(Control):
    """Send words to another agent, named in full or by its name below this one."""

    to: str
    text: str


@dataclass(frozen=True)
class WaitAgents(Control):
    """Wait until every agent that this one spawned has finished."""


@dataclass(frozen=True)
class HostedCall(Item):
    """A collaboration action, which the service carries out itself."""

    action: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {
            "id": place.id("mac"),
            "type": "multi_agent_call",
            "action": self.action,
            "arguments": "",
            "call_id": place.call_id(),
        }
        yield self.added(place, item)
        item = {**item, "arguments": as_json(self.arguments)}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class HostedOutput(Item):
    """What such an action gave."""

    call: Mapping[str, Any]
    text: str

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {
            "id": place.id("maco"),
            "type": "multi_agent_call_output",
            "action": self.call["action"],
            "call_id": self.call["call_id"],
            "output": [{"type": "output_text", "text": self.text, "annotations": []}],
        }
        yield self.added(place, {**item, "output": []})
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class AgentMessage(Item):
    """A message from one agent to another; what it says is nobody's but theirs."""

    author: str
    recipient: str
    text: str

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        content = place.sealed("sealed", self.text)
        item: dict[str, Any] = {
            "id": place.id("amsg"),
            "type": "agent_message",
            "author": self.author,
            "recipient": self.recipient,
            "content": [{"type": "encrypted_content", "encrypted_content": content}],
        }
        yield self.added(place, item)
        yield self.done(place, item)
        return item
