"""What is particular to a Letta server, for `steer_nb.client.core.Core`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from steer_nb.client.io import io_thread
from steer_nb.client.opening import place
from steer_nb.client.restoring import restore
from steer_nb.errors import ConnectionFailed, InvalidInput, LaneBusy, ServerRefused
from steer_nb.letta.asking import LettaChecker
from steer_nb.letta.history import History
from steer_nb.letta.http import Lost
from steer_nb.letta.line import LettaLine
from steer_nb.letta.outlet import LettaOutlet
from steer_nb.letta.sending import LettaSender
from steer_nb.letta.settings import prepare_letta
from steer_nb.wire.letta import read_refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.client.core import Core
    from steer_nb.client.opening import Opening
    from steer_nb.client.reach import Reach
    from steer_nb.client.reconnecting import Reconnect
    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool

__all__ = ["Letta"]


@dataclass(frozen=True, slots=True)
class Letta:
    """A Letta V1 server.

    Attributes
    ----------
    policy : Reconnect
        How patiently lost streams are read on, and lost requests sent again.
    agent : str, optional
        Whose the lanes are that name no agent.
    """

    policy: Reconnect
    agent: str | None = None

    @property
    def dialect(self) -> str:
        """Whose words its trace is in."""
        return "letta"

    def line(self, core: Core) -> LettaLine:
        """HTTP, one exchange at a time for each lane."""
        return LettaLine(core, self.policy)

    def outlet(self, core: Core) -> LettaOutlet:
        """Each request is a POST."""
        return LettaOutlet(core)

    def sender(self, core: Core) -> LettaSender:
        """Messages, answers, and what is kept here."""
        return LettaSender(core)

    def checker(self, core: Core) -> LettaChecker:
        """Streams are read on, and histories read."""
        return LettaChecker(core)

    def defaults(self, model: str | None, tools: Any) -> dict[str, Any]:
        """An agent has a model of its own."""
        given = {"model": model, "tools": list(tools) or None, "agent": self.agent}
        return {name: value for name, value in given.items() if value is not None}

    def prepare(self, settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Tool] | None]:
        """Check a lane's settings."""
        return prepare_letta(settings)

    def restore(self, core: Core) -> None:
        """The lanes are opened again; what became of their messages is asked, not sent again."""
        restore(core)

    def place(self, reach: Reach, opening: Opening) -> LaneSettings:
        """Open a lane: with a new conversation of its agent, or with one that there is.

        Raises
        ------
        InvalidInput
            If no agent is named, or the server knows none of that id.
        """
        if opening.base is not None:
            rule = "a conversation of an agent cannot be forked"
            msg = f"fork cannot be given here: {rule}. Open another lane."
            raise InvalidInput(msg, field="fork", rule=rule)
        core = reach.core
        reach.act(core.line.require)
        try:
            return io_thread.run(_open(core, opening))
        except Lost as lost:
            msg = f"{core.endpoint.shown} cannot be reached: {lost}."
            raise ConnectionFailed(msg, url=core.endpoint.shown) from None


async def _open(core: Core, opening: Opening) -> LaneSettings:
    kept = core.lanes.get(opening.stream_id)
    known = {} if kept is None or not kept.open else kept.fields
    if "conversation" in known:
        _check_same(opening, known)
        return place(core, opening)
    line, fields = core.line, opening.fields
    assert isinstance(line, LettaLine)
    if kept is not None and "conversation" in kept.fields and not fields.get("conversation"):
        own = kept.fields["agent"]
        if fields.setdefault("agent", own) == own:  # a lane that is opened again goes on
            fields["conversation"] = kept.fields["conversation"]
    if fields.get("conversation") in (None, "default") and "agent" in core.defaults:
        fields.setdefault("agent", core.defaults["agent"])
    agent, conversation = fields.get("agent"), fields.get("conversation")
    if agent is None and conversation in (None, "default"):
        rule = "the id of an agent"
        msg = f"Lane {opening.name or '(default)'} has no agent: give agent=..., {rule}."
        raise InvalidInput(msg, field="agent", rule=rule)
    if conversation is None:
        path = f"/v1/conversations/?agent_id={quote(str(agent), safe='')}"
        found = await _asked(core, opening.stream_id, "POST", path, "{}")
        fields["conversation"] = str(found["id"])
        return place(core, opening)
    if conversation != "default":
        path = f"/v1/conversations/{quote(conversation, safe='')}"
        found = await _asked(core, opening.stream_id, "GET", path, None)
        fields["agent"] = str(found["agent_id"])
        if agent is not None and agent != fields["agent"]:
            rule = "a conversation belongs to one agent"
            msg = f"{conversation} is one of {fields['agent']}, not of {agent}: {rule}."
            raise InvalidInput(msg, field="agent", value=agent, rule=rule)
    _check_alone(core, opening)
    settings = place(core, opening)
    history = History(core, line.http, settings)
    history.record(await history.read_newest())
    return settings


def _check_alone(core: Core, opening: Opening) -> None:
    """Refuse a second lane for one conversation: nobody could say whose a run is."""
    place = (opening.fields.get("agent"), opening.fields["conversation"])
    for lane in core.lanes.values():
        theirs = (lane.fields.get("agent"), lane.fields.get("conversation"))
        if lane.open and lane.stream_id != opening.stream_id and theirs == place:
            msg = f"Lane {lane.name} is open with that conversation: use it, or close it first."
            raise LaneBusy(msg)


def _check_same(opening: Opening, known: Mapping[str, Any]) -> None:
    for name in ("agent", "conversation"):
        wanted = opening.fields.get(name)
        if wanted is not None and wanted != known[name]:
            msg = (
                f"Lane {opening.name or '(default)'} is open with {name} {known[name]}: give the "
                "other one a lane of its own."
            )
            raise LaneBusy(msg)
        opening.fields.pop(name, None)


async def _asked(
    core: Core, stream_id: str | None, method: str, path: str, text: str | None
) -> dict[str, Any]:
    """Ask for an object, and record what was asked and answered."""
    line, recorder = core.line, core.recorder
    assert isinstance(line, LettaLine)
    if text is not None:
        recorder.out(text, core.outlet.new_key("open"), stream_id, path=path)
        recorder.sync()
    reply = await line.http.ask(method, path, text=text)
    value = reply.value
    if reply.status == 200 and isinstance(value, dict):
        recorder.take(reply.text, lane=stream_id, body=path, status=reply.status)
        return value
    told = read_refusal(value if value is not None else reply.text, reply.status)
    msg = f"{core.endpoint.host} refused {method} {path} (HTTP {reply.status}): {told.message}"
    raise ServerRefused(core.endpoint.scrub(msg), code=told.code, status=reply.status)
