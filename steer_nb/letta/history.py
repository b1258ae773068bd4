"""What the server has of a conversation: read when a stream leaves something out, or is lost.

A stream never has what a client answered, and in token mode not what denials and the client's own
results gave (3.3); its calls can be phantoms (9.1). The history has all of it. What is recorded of
it stands in the trace as ``"from": "history"``.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from steer_nb.letta.http import Lost

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from steer_nb.client.core import Core
    from steer_nb.client.reconnecting import Reconnect
    from steer_nb.client.settings import LaneSettings
    from steer_nb.letta.http import Http

__all__ = ["PAGE", "History", "Listed", "answering", "conversation_path", "pending_in", "run_of"]

PAGE: Final = 100
"""So many messages are read at most: what is not among as many may yet be there."""
_UNSTREAMED: Final = frozenset(
    {"approval_request_message", "approval_response_message", "tool_return_message"}
)


def conversation_path(lane: LaneSettings, what: str) -> str:
    """Where something of a lane's conversation is.

    Examples
    --------
    >>> from steer_nb.client.settings import LaneSettings
    >>> lane = LaneSettings("a", {"agent": "agent-1", "conversation": "default"})
    >>> conversation_path(lane, "messages")
    '/v1/conversations/default/messages'
    """
    return f"/v1/conversations/{quote(str(lane.fields['conversation']), safe='')}/{what}"


@dataclass(frozen=True, slots=True)
class Listed:
    """One message of a history: as it travelled, and decoded."""

    raw: str
    fields: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its `message_type`."""
        return str(self.fields.get("message_type"))

    @property
    def run_id(self) -> str | None:
        """The run it belongs to."""
        found = self.fields.get("run_id")
        return found if isinstance(found, str) else None

    def call_ids(self) -> set[str]:
        """The calls that it answers."""
        found: set[str] = set()
        for name in ("approvals", "tool_returns"):
            for one in self.fields.get(name) or ():
                if isinstance(one, dict) and isinstance(one.get("tool_call_id"), str):
                    found.add(one["tool_call_id"])
        return found


class History:
    """Reads the newest messages of a lane's conversation, and records what is wanted of them.

    Parameters
    ----------
    core : Core
        The session's insides.
    http : Http
        The way to the server.
    lane : LaneSettings
        Whose conversation.
    """

    def __init__(self, core: Core, http: Http, lane: LaneSettings) -> None:
        self._core = core
        self._http = http
        self._lane = lane

    async def read(self) -> list[Listed]:
        """The newest messages, oldest first; nothing is recorded.

        Raises
        ------
        Lost
            If the connection failed.
        """
        path = conversation_path(self._lane, "messages")
        if self._lane.fields["conversation"] == "default":
            path = f"/v1/agents/{quote(str(self._lane.fields['agent']), safe='')}/messages"
        reply = await self._http.ask("GET", path, query={"order": "desc", "limit": str(PAGE)})
        try:
            raws = msgspec.json.decode(reply.text, type=list[msgspec.Raw])
            found = [Listed(bytes(raw).decode(), msgspec.json.decode(raw)) for raw in raws]
        except msgspec.MsgspecError:
            found = []
        if reply.status != 200 or (not found and reply.text.strip() != "[]"):
            detail = f"GET {path} gives HTTP {reply.status}: {reply.text[:200]}"
            self._core.recorder.note("problem", kind="history", detail=detail)
            return []
        return [one for one in reversed(found) if isinstance(one.fields, dict)]

    async def read_patiently(self, policy: Reconnect) -> list[Listed]:
        """The same, asked for again while the connection fails.

        Raises
        ------
        Lost
            If it failed each time.
        """
        attempt = 0
        while True:
            try:
                return await self.read()
            except Lost:
                attempt += 1
                if attempt > policy.attempts:
                    raise
            await asyncio.sleep(policy.delay(attempt))

    def record(
        self,
        messages: Iterable[Listed],
        *,
        runs: Iterable[str | None] | None = None,
        whole: Iterable[str | None] = (),
    ) -> None:
        """Record messages, oldest first.

        Parameters
        ----------
        messages : iterable of Listed
            As `read` gave them.
        runs : iterable of (str or None), optional
            Only those of these runs, and of one whose stream was read only what no stream has; all
            by default.
        whole : iterable of (str or None)
            Runs whose stream is not to be had: all of them.
        """
        chosen = list(messages)
        if runs is not None:
            all_of = {run for run in whole if run is not None}
            known = {run for run in runs if run is not None}
            all_of |= known - self._core.ledger.responses.keys()
            chosen = [
                one
                for one in chosen
                if one.run_id in all_of or (one.run_id in known and one.kind in _UNSTREAMED)
            ]
        for at, one in enumerate(chosen):
            last = {"last": True} if at == len(chosen) - 1 else {}
            place = {"lane": self._lane.stream_id, "from": "history"}
            self._core.recorder.take(one.raw, **place, **last)


def pending_in(messages: list[Listed]) -> Listed | None:
    """The request for approval that waits: the newest message, if it is one (1)."""
    newest = messages[-1] if messages else None
    return newest if newest is not None and newest.kind == "approval_request_message" else None


def answering(messages: Iterable[Listed], call_ids: Collection[str]) -> str | None:
    """The run in which calls were answered, as a history shows it."""
    wanted = set(call_ids)
    return next((one.run_id for one in messages if wanted & one.call_ids()), None)


def run_of(messages: Iterable[Listed], otids: Collection[str]) -> str | None:
    """The run that what was said under these ids of our own belongs to (2.1)."""
    return next((one.run_id for one in messages if one.fields.get("otid") in otids), None)
