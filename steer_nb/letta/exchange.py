"""One request and all that it takes until its outcome is known, or nobody can tell.

::

    POST ──> stream ──> its end ──> what the stream left out, from the history
      │         └─ lost ──> background: read on behind the last visible number (5.3)
      │                     foreground: wait for the run's end, and read the history
      └─ lost ──> background: the same bytes under the same otid once more (5.4)
                  foreground: it is looked for in the history; else it stays unknown

Nothing is sent twice but the same bytes under the same `otid`, in the background, where the server
knows them again.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from steer_nb.letta.following import Following
from steer_nb.letta.history import History, Read, conversation_path
from steer_nb.letta.http import Lost
from steer_nb.wire.letta import read_refusal
from steer_nb.wire.letta.content import messages_of

if TYPE_CHECKING:
    from steer_nb.client.core import Core
    from steer_nb.client.reconnecting import Reconnect
    from steer_nb.client.settings import LaneSettings
    from steer_nb.letta.http import Reply, Streamed
    from steer_nb.letta.line import LettaLine
    from steer_nb.letta.message import Message

__all__ = ["Exchange"]

POLL_S: Final = 1.0
"""Between two looks at a run that goes on without a stream."""
_ACTIVE: Final = ("created", "running")
_UNAVAILABLE: Final = 503
_UNCERTAIN: Final = (502, _UNAVAILABLE, 504)
"""A gateway says so, and knows nothing of what became of the request behind it."""


class _NoStream(Exception):
    """The server has no stream of it to read."""


class Exchange:
    """Carries one message through. It lives on the I/O thread.

    Parameters
    ----------
    core : Core
        The session's insides.
    line : LettaLine
        The way to the server.
    lane : LaneSettings
        Whose message it is.
    message : Message
        It; it is recorded, and on the disk.
    """

    def __init__(self, core: Core, line: LettaLine, lane: LaneSettings, message: Message) -> None:
        self._core = core
        self._recorder = core.recorder
        self._line = line
        self._http = line.http
        self._lane = lane
        self._message = message
        self._history = History(core, line.http, lane)
        self._following = Following(core.recorder, lane.stream_id, self._read_pending)
        self._tries = 0
        self._may_have_left = False
        self._refused_for: str | None = None
        self._resumes = False

    @property
    def _policy(self) -> Reconnect:
        return self._line.policy

    async def run(self) -> None:
        """Send it, and see it through."""
        await self._persist(self._step)

    async def take_up(self, run_id: str | None, seq: int) -> None:
        """See through what another process sent, or what was given up: nothing is sent anew.

        Parameters
        ----------
        run_id : str or None
            Its run, where that was seen.
        seq : int
            The last visible number of its stream.
        """
        progress = self._following.progress
        progress.run_id, progress.seq = run_id, seq
        self._may_have_left = True
        self._resumes = run_id is not None and self._message.background
        key, steers = self._message.key, list(self._message.steers)
        self._recorder.note("stream_resumed", lane=self._lane.stream_id, key=key, steers=steers)
        await self._persist(self._step if self._resumes else self._find_out)

    async def _persist(self, step: Any) -> None:
        """Do it, and again with patience while the connection fails."""
        attempt, seen = 0, 0
        while True:
            try:
                await step()
            except Lost as lost:
                self._may_have_left = self._may_have_left or lost.sent
                progress = self._following.progress
                if progress.seq > seen:
                    attempt, seen = 0, progress.seq  # another trouble than the last one
                attempt += 1
                self._recorder.note(
                    "stream_broke", lane=self._lane.stream_id, key=self._message.key,
                    reason=str(lost), attempt=attempt, attempts=self._policy.attempts,
                )  # fmt: skip
                if attempt > self._policy.attempts:
                    self._give_up(str(lost))
                    return
                await asyncio.sleep(self._policy.delay(attempt))
                if self._may_have_left and not self._message.background:
                    step = self._find_out
                self._resumes = progress.run_id is not None and self._message.background
            else:
                return

    def _give_up(self, reason: str) -> None:
        place = {"lane": self._lane.stream_id, "key": self._message.key}
        if self._may_have_left:
            self._recorder.note("stream_lost", **place, reason=reason)
        else:
            self._recorder.note("unsent", **place, reason=reason)
        self._recorder.sync()

    async def _step(self) -> None:
        progress = self._following.progress
        told = self._refused_for is not None or (progress.over and not self._resumes)
        if not told:  # else only what the history has to add was not heard
            try:
                await (self._resume() if self._resumes else self._post())
            except _NoStream:
                await self._find_out()
                return
        if not progress.over and self._refused_for is None:
            await self._find_out()
            return
        await self._fill()

    # -- sending, and reading on ---------------------------------------------------------------

    async def _post(self) -> None:
        message = self._message
        self._tries += 1
        if self._tries > 1:
            self._out(message.path, message.text)
        async with self._http.stream(message.path, message.text) as answer:
            self._may_have_left = True
            if answer.status == 200:
                await self._following.read(answer)
                return
            text = await answer.text()
        redis = answer.status == _UNAVAILABLE and "redis" in text.lower()
        if answer.status in _UNCERTAIN and not redis:
            self._in(message.path, answer.status, text, retried=True)
            why = f"HTTP {answer.status}"
            raise Lost(why, sent=True)
        if redis and message.background:
            self._in(message.path, answer.status, text, retried=True)
            self._line.background = False
            self._message = message.in_foreground()
            self._may_have_left = False
            await self._post()
            return
        self._in(message.path, answer.status, text)
        self._refused_for = read_refusal(_value(text), answer.status).kind or "other"

    async def _resume(self) -> None:
        """Read on behind the last visible number, never past it: that hangs for ever (5.3)."""
        progress = self._following.progress
        assert progress.run_id is not None
        path = f"/v1/runs/{quote(progress.run_id, safe='')}/stream"
        body = {"starting_after": progress.seq, "include_pings": True}
        await self._read_on(path, body)

    async def _read_on(self, path: str, body: dict[str, Any]) -> None:
        text = json.dumps(body)
        self._tries += 1
        self._out(path, text)
        async with self._http.stream(path, text) as answer:
            if answer.status == 200:
                await self._following.read(answer, self._has_ended)
                return
            await self._no_stream(path, answer)

    async def _no_stream(self, path: str, answer: Streamed) -> None:
        text = await answer.text()
        self._in(path, answer.status, text, retried=True)
        if answer.status in _UNCERTAIN:
            why = f"HTTP {answer.status}"
            raise Lost(why, sent=True)
        raise _NoStream

    async def _has_ended(self) -> bool:
        run_id = self._following.progress.run_id
        reply = None if run_id is None else await self._look(run_id)
        return reply is not None and _status(reply) not in _ACTIVE

    async def _look(self, run_id: str) -> Reply:
        return await self._http.ask("GET", _run_path(run_id))

    def _out(self, path: str, text: str) -> None:
        place = (self._message.key, self._lane.stream_id)
        self._recorder.out(text, *place, path=path, attempt=self._tries)
        self._recorder.sync()

    def _in(self, path: str, status: int, text: str, *, retried: bool = False) -> None:
        place = {"lane": self._lane.stream_id, "body": path, "status": status}
        self._recorder.take(text, **place, **({"retried": True} if retried else {}))

    # -- what no stream has --------------------------------------------------------------------

    async def _read_pending(self) -> None:
        """Ask which calls wait, before they are asked for: streamed ones can be phantoms (9.1)."""
        progress = self._following.progress
        try:
            read = await self._history.read_patiently(self._has_begun, self._policy)
        except Lost as lost:
            detail = f"the pending calls of {progress.run_id} are those of its stream: {lost}"
            self._recorder.note("problem", kind="history", detail=detail)
            return
        self._history.record(read, runs=(self._message.parent_id, progress.run_id))

    def _has_begun(self, read: Read) -> bool:
        """Whether a history has all that can be of this message: it stands first in its run."""
        message = self._message
        run_id = self._following.progress.run_id
        return (
            read.has_all_of(run_id)
            or read.run_of(message.otids) is not None
            or read.asks(message.call_ids)
        )

    async def _fill(self) -> None:
        """Read from the history what the stream left out, where there is anything."""
        progress = self._following.progress
        fault = self._refused_for or progress.fault
        told = fault in ("pending_approval", "invalid_tool_call_ids", "nothing_pending")
        if not told and not self._unconfirmed():
            return
        read = await self._history.read(self._is_settled)
        parent = self._message.parent_id
        runs = {parent, progress.run_id, read.answering(self._message.call_ids)}
        waiting = read.pending
        if waiting is not None:
            runs.add(waiting.run_id)
        self._history.record(read, runs=runs)
        if fault == "nothing_pending":
            self._release()
        if fault == "pending_approval" and waiting is not None and self._message.parent_id is None:
            self._keep(waiting.run_id)

    def _is_settled(self, read: Read) -> bool:
        """Whether a history shows what became of the answers, and all of what waits now."""
        waiting, call_ids = read.pending, self._message.call_ids
        run_id = None if waiting is None else waiting.run_id
        foreign = waiting is not None and run_id not in self._core.ledger.responses
        if foreign and not read.has_all_of(run_id):
            return False
        return not call_ids or read.answering(call_ids) is not None or read.asks(call_ids)

    def _release(self) -> None:
        """The server waits for none of these answers, and has none: nobody has to give them."""
        parent = self._core.ledger.responses.get(self._message.parent_id or "")
        if parent is not None and parent.waiting_for:
            place = {"lane": self._lane.stream_id, "parent": parent.id}
            self._recorder.note("input_released", **place, reason="the server does not wait for it")

    def _keep(self, run_id: str | None) -> None:
        """What was said to an agent that waits is kept for behind the answers (9.1)."""
        ledger, message = self._core.ledger, self._message
        steers = [ledger.steers[key] for key in message.steers if key in ledger.steers]
        known = sum(len(messages_of(steer.input)) for steer in steers)
        own = [{k: v for k, v in one.items() if k != "otid"} for one in message.body["messages"]]
        said: Any = own[known:]
        if not said or run_id not in ledger.responses:
            return
        if len(said) == 1 and said[0]["role"] == "user" and isinstance(said[0]["content"], str):
            said = said[0]["content"]
        place = {"lane": self._lane.stream_id, "key": self._core.outlet.new_key("steer")}
        self._recorder.note("steer_queued", **place, parent=run_id, input=said, again=message.key)
        self._recorder.sync()

    def _unconfirmed(self) -> bool:
        """Whether answers that it carries were not shown by the service yet."""
        parent = self._core.ledger.responses.get(self._message.parent_id or "")
        stubs = () if parent is None else parent.required.values()
        return any(s.state == "sent" and s.request_key == self._message.key for s in stubs)

    async def _find_out(self) -> None:
        """There is no stream, or none to be trusted: see what became of the message."""
        progress = self._following.progress
        if progress.run_id is None and self._message.background and self._message.otids:
            body: dict[str, Any] = {"otid": self._message.otids[0], "include_pings": True}
            if self._lane.fields["conversation"] == "default":
                body["agent_id"] = self._lane.fields["agent"]
            try:
                await self._read_on(conversation_path(self._lane, "stream"), body)
            except _NoStream:
                pass
            else:
                if progress.over:
                    await self._fill()
                    return
        run = None if progress.run_id is None else await self._ended_run(progress.run_id)
        read = await self._history.read(self._has_begun)
        found = progress.run_id or read.run_of(self._message.otids)
        found = found or read.answering(self._message.call_ids)
        place = {"lane": self._lane.stream_id, "key": self._message.key}
        if found is None:
            nowhere = read.whole or read.asks(self._message.call_ids)  # an answer stood behind it
            if self._message.background and nowhere:
                self._recorder.note("unsent", **place, reason="the server does not have it")
            else:
                self._recorder.note("stream_lost", **place, reason="it is not in the history")
            self._recorder.sync()
            return
        run = run or await self._ended_run(found)
        self._history.record(read, runs=(self._message.parent_id, found), whole=(found,))
        request = self._core.ledger.requests.get(self._message.key)
        if request is not None and request.response_id is None:
            self._recorder.note("request_found", **place, response_id=found)
        self._recorder.take(
            run.text, lane=self._lane.stream_id, body=_run_path(found), status=run.status
        )
        response = self._core.ledger.responses.get(found)
        if response is not None and response.is_live:  # the server does not know it any more
            self._recorder.note("stream_lost", **place, reason="its run is not known any more")
        self._recorder.sync()

    async def _ended_run(self, run_id: str) -> Reply:
        """Look at a run until it has ended."""
        while True:
            reply = await self._look(run_id)
            if _status(reply) not in _ACTIVE:
                return reply
            await asyncio.sleep(POLL_S)


def _run_path(run_id: str) -> str:
    return f"/v1/runs/{quote(run_id, safe='')}"


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _status(reply: Reply) -> str | None:
    value = reply.value
    found = value.get("status") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None
