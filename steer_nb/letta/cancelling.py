"""Asking a server to stop a run, or to release an agent that waits (3.4 of the protocol notes).

::

    being written          POST .../cancel; the stream tells the end, as it does of every other one
    waits, default         POST .../messages/cancel; the history tells that the calls were denied
    waits, a conversation  a server does not release it: its calls are denied by their answers

The answer to a cancel proves nothing: it says ``cancelled`` of a run that had ended before, and of
one whose request waits on. So what it says is recorded, and what is true is looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from steer_nb.client.handles import response_key
from steer_nb.client.sending import NotYet, on_lane
from steer_nb.errors import ConnectionFailed, LaneBusy, NotConnected, ServerRefused
from steer_nb.ledger import rules
from steer_nb.letta.history import conversation_path
from steer_nb.letta.http import Lost
from steer_nb.letta.line import LettaLine
from steer_nb.wire import encode
from steer_nb.wire.letta import read_refusal

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from steer_nb.client.core import Core
    from steer_nb.client.settings import LaneSettings
    from steer_nb.ledger import ResponseState
    from steer_nb.letta.http import Reply

__all__ = ["cancelling"]

_ENDED = ("completed", "failed", "cancelled")
_CONFLICT = 409


def cancelling(core: Core, lane: LaneSettings) -> Coroutine[Any, Any, str]:
    """Say how what goes on in a lane is cancelled; nothing is asked before that is awaited.

    Returns
    -------
    coroutine
        Gives the key of the response that it is about.

    Raises
    ------
    LaneBusy
        If there is nothing to cancel, or a cancel does not release what waits.
    NotYet
        If its run has not begun, or not ended entirely.
    """
    state = core.ledger.lanes.get(lane.stream_id)
    current = None if state is None else state.current
    waiting = None if state is None else rules.parent_waiting(state)
    works = core.line.works_on(lane.stream_id)
    if current is not None:
        return _ask(core, lane, current)
    if works or (state is not None and state.queue):
        raise NotYet(on_lane(lane, "its last message is not through yet; try again in a moment"))
    if waiting is None:
        reason = "nothing is being written and nothing waits: there is nothing to cancel"
        raise LaneBusy(on_lane(lane, reason))
    if lane.fields["conversation"] != "default":
        reason = (
            f"{waiting.id} waits for answers, and a cancel releases only an agent's default "
            "conversation: deny all (cancel_all), and send the continuation"
        )
        raise LaneBusy(on_lane(lane, reason))
    line = core.line
    assert isinstance(line, LettaLine)
    return line.alone(lane, _ask(core, lane, waiting))


async def _ask(core: Core, lane: LaneSettings, response: ResponseState) -> str:
    line = core.line
    assert isinstance(line, LettaLine)
    path, text = conversation_path(lane, "cancel"), "{}"
    if lane.fields["conversation"] == "default":
        # By its id: without one, a server stops also what other conversations of the agent do.
        path = f"/v1/agents/{quote(str(lane.fields['agent']), safe='')}/messages/cancel"
        text = encode({"run_ids": [response.id]})
    key, waits = response_key(response), not response.is_live
    try:
        reply = await _posted(core, lane, path, text)
        value = reply.value if reply.status == 200 else None
        said = value.get(response.id) if isinstance(value, dict) else None
        if waits:
            waiting = (await line.look(lane, response)).pending
            if waiting is not None and waiting.run_id == response.id:
                raise _refused(core, lane, response, reply)
        elif said != "cancelled" and not await _has_ended(line, response.id):
            raise _refused(core, lane, response, reply)
    except Lost as lost:
        msg = f"{core.endpoint.shown} cannot be reached: {lost}."
        raise ConnectionFailed(msg, url=core.endpoint.shown) from None
    return key


async def _posted(core: Core, lane: LaneSettings, path: str, text: str) -> Reply:
    line, recorder = core.line, core.recorder
    assert isinstance(line, LettaLine)
    recorder.out(text, core.outlet.new_key("cancel"), lane.stream_id, path=path)
    recorder.sync()
    reply = await line.http.ask("POST", path, text=text)
    if core.over:
        msg = f"Session {core.name} was closed meanwhile, and its journal takes nothing any more."
        raise NotConnected(msg)
    place = {"lane": lane.stream_id, "body": path, "status": reply.status}
    recorder.take(reply.text, **place, unproven=True)
    if reply.status not in (200, _CONFLICT):
        raise _refusal(core, reply, f"POST {path}")
    return reply


async def _has_ended(line: LettaLine, run_id: str) -> bool:
    """Whether there was nothing to cancel any more."""
    value = (await line.http.ask("GET", f"/v1/runs/{quote(run_id, safe='')}")).value
    return isinstance(value, dict) and value.get("status") in _ENDED


def _refused(
    core: Core, lane: LaneSettings, response: ResponseState, reply: Reply
) -> ServerRefused:
    if reply.status != 200:
        return _refusal(core, reply, f"to cancel {response.id}")
    what = "goes on" if response.is_live else "waits on: deny all, and send the continuation"
    msg = on_lane(lane, f"the server says that it cancelled {response.id}, which {what}")
    return ServerRefused(core.endpoint.scrub(msg), status=reply.status)


def _refusal(core: Core, reply: Reply, what: str) -> ServerRefused:
    told = read_refusal(reply.value if reply.value is not None else reply.text, reply.status)
    msg = f"{core.endpoint.host} refused {what} (HTTP {reply.status}): {told.message}"
    return ServerRefused(core.endpoint.scrub(msg), code=told.code, status=reply.status)
