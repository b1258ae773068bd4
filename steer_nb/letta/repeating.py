"""What a session with a Letta server did, once more: for a replay, against a simulated server.

Source: `steer_nb.client.replaying`, which says when each of it is done.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from steer_nb.letta.history import History
from steer_nb.letta.line import LettaLine
from steer_nb.letta.message import Message

if TYPE_CHECKING:
    from steer_nb.client.core import Core
    from steer_nb.client.settings import LaneSettings

__all__ = ["ask_again", "read_again", "say_again"]


def say_again(core: Core, key: str, text: str, data: dict[str, Any], *, sent: bool) -> None:
    """Send a recorded message, word for word and under its recorded key. On the I/O thread.

    Raises
    ------
    LaneBusy
        If its lane still hears of the last one.
    """
    line, lane, path = core.line, core.lanes[data["lane"]], str(data["path"])
    assert isinstance(line, LettaLine)
    steers = tuple(map(str, data.get("steers") or ()))
    more: dict[str, Any] = {"steers": list(steers)} if steers else {}
    core.recorder.out(text, key, lane.stream_id, data.get("again"), path=path, **more)
    core.recorder.sync()
    body = json.loads(text)
    if "messages" not in body:
        line.begin(lane, _asked(core, lane, "POST", path, text))
    elif sent:
        parent_id = core.ledger.requests[key].previous_response_id
        line.send(lane, Message(key, path, body, steers, parent_id))


def ask_again(core: Core, lane: LaneSettings, path: str) -> None:
    """Ask for an object that was asked for, and record the answer. On the I/O thread."""
    assert isinstance(core.line, LettaLine)
    core.line.begin(lane, _asked(core, lane, "GET", path, None))


async def _asked(core: Core, lane: LaneSettings, method: str, path: str, text: str | None) -> None:
    assert isinstance(core.line, LettaLine)
    reply = await core.line.http.ask(method, path, text=text)
    core.recorder.take(reply.text, lane=lane.stream_id, body=path, status=reply.status)


def read_again(core: Core, lane: LaneSettings) -> None:
    """Read and record what a conversation had when its lane was opened. On the I/O thread."""
    assert isinstance(core.line, LettaLine)
    core.line.begin(lane, _read(core, core.line, lane))


async def _read(core: Core, line: LettaLine, lane: LaneSettings) -> None:
    history = History(core, line.http, lane)
    history.record(await history.read_newest())
