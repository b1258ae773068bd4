"""What a script is told about the call of the model that it plays."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.letta.stored import text_of
from steer_nb.simulator.turn import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steer_nb.simulator.letta.stored import Stored

__all__ = ["KEEP_ALIVE", "LettaTurn"]

KEEP_ALIVE = (
    "<system-alert>Automated keep-alive ping. Ignore this message and continue from where you "
    "stopped.</system-alert>"
)
"""What the server says to the model where an approval was sent twice (5.6)."""


class LettaTurn:
    """One call of the model, about to be played.

    Attributes
    ----------
    messages : sequence of Stored
        All that the model sees, oldest first, the new ones included.
    new : sequence of Stored
        What came since it spoke last.
    number : int
        Which of its calls this is in the conversation, from 1.
    tools : list of dict
        What it is offered: the agent's tools, and those of the client, by `name`.
    client_tools : tuple of str
        Names of those that the client runs.
    settings : dict
        The `model`, the `system` message and the `client_skills`, as the agent or the request say.
    lane : str
        The conversation's id, or ``default``.
    random : random.Random
        Depends on the seed and this call only.
    """

    agent: str | None = None
    """The other dialect's scripts may play in several agents; here there is one."""
    reports: Mapping[str, str] = {}

    def __init__(
        self,
        messages: Sequence[Stored],
        *,
        number: int,
        tools: list[dict[str, Any]],
        client_tools: Iterable[str],
        settings: dict[str, Any],
        lane: str,
        seed: str,
    ) -> None:
        self.messages = messages
        self.number = number
        self.tools = tools
        self.client_tools = tuple(client_tools)
        self.settings = settings
        self.lane = lane
        self.random = Random(seed)  # noqa: S311 - a script's dice, no secret
        spoke = [n for n, one in enumerate(messages, 1) if one.role in ("assistant", "approval")]
        self.new = messages[spoke[-1] if spoke else 0 :]

    @property
    def summary(self) -> str | None:
        """What stands for messages that it no longer sees."""
        found = [one.summary for one in self.messages if one.summary is not None]
        return found[-1] if found else None

    @property
    def kept_alive(self) -> bool:
        """Whether it is called again only because an approval was sent twice."""
        return any(one.role == "user" and one.content == KEEP_ALIVE for one in self.new)

    @property
    def input_texts(self) -> list[str]:
        """The user's new words."""
        return _words(self.new)

    @property
    def steers(self) -> list[str]:
        """The user's new words that came behind answers to calls (3.2)."""
        return self.input_texts if self.results else []

    @property
    def asked(self) -> list[str]:
        """What the user said before."""
        return _words(self.messages[: len(self.messages) - len(self.new)])

    @property
    def prompt(self) -> str:
        """The user's newest words, from earlier turns if need be."""
        texts = self.input_texts or self.asked
        return texts[-1] if texts else ""

    @property
    def said(self) -> list[str]:
        """What the assistant said so far."""
        return [part for one in self.messages for part in one.parts if isinstance(part, str)]

    @property
    def results(self) -> dict[str, Result]:
        """What new came of calls, by tool_call_id: of tools that ran, and of calls denied."""
        calls = {call.tool_call_id: call for one in self.messages for call in one.calls}
        found = {}
        for one in (one for one in self.new if one.role == "tool"):
            for answer in one.answers:
                key = answer["tool_call_id"]
                call = calls.get(key)
                made = {"type": "tool_call"} if call is None else {
                    "type": "tool_call", "name": call.name, "arguments": call.arguments,
                }  # fmt: skip
                item = {
                    "type": "tool_return",
                    "output": text_of(answer["tool_return"]),
                    "status": answer["status"],
                }
                found[key] = Result(key, item, made)
        return found

    @property
    def history(self) -> list[dict[str, Any]]:
        """Every call so far, as an item with `type` and `name`."""
        return [
            {"type": "tool_call", "name": call.name} for one in self.messages for call in one.calls
        ]

    def called(self, *names: str) -> bool:
        """Whether it already called one of these tools, or any."""
        return any(not names or item["name"] in names for item in self.history)

    def offers(self, name: str) -> bool:
        """Whether it may call a tool of this name."""
        return any(tool["name"] == name for tool in self.tools)


def _words(messages: Iterable[Stored]) -> list[str]:
    texts = (text_of(one.content) for one in messages if one.role == "user" and one.summary is None)
    return [text for text in texts if text and text != KEEP_ALIVE]
