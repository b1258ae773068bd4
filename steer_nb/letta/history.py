"""What the server has of a conversation: read when a stream leaves something out, or is lost.

A stream never has what a client answered, and in token mode not what denials and the client's own
results gave (3.3); its calls can be phantoms (9.1). The history has all of it. What is recorded of
it stands in the trace as ``"from": "history"``.

It is read page by page, the newest first, until what is looked for is found, or there is no more.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import msgspec

from steer_nb.letta.http import Lost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from steer_nb.client.core import Core
    from steer_nb.client.reconnecting import Reconnect
    from steer_nb.client.settings import LaneSettings
    from steer_nb.letta.http import Http

__all__ = ["History", "Listed", "Read", "conversation_path"]

PAGE: Final = 100
"""So many messages are asked for at once."""
MOST_PAGES: Final = 100
"""No more than so many pages are read: what is not among them may yet be there."""
_UNSTREAMED: Final = frozenset(
    {"approval_request_message", "approval_response_message", "tool_return_message"}
)
_SAID: Final = frozenset({"user_message", "system_message"})


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
    def id(self) -> str:
        """Its id; the parts of one round share it."""
        return str(self.fields.get("id"))

    @property
    def run_id(self) -> str | None:
        """The run it belongs to."""
        found = self.fields.get("run_id")
        return found if isinstance(found, str) else None

    @property
    def compacts(self) -> bool:
        """Whether it tells of a compaction: nobody said it. A list has it as what a user said."""
        if self.kind in ("summary_message", "event_message"):
            return True
        text = self.fields.get("content")
        if self.kind != "user_message" or not isinstance(text, str):
            return False
        try:
            packed = msgspec.json.decode(text)
        except msgspec.MsgspecError:
            return False
        return isinstance(packed, dict) and packed.get("type") == "system_alert"

    def answers(self) -> set[str]:
        """The calls that it answers."""
        return self._call_ids("approvals", "tool_returns")

    def asks(self) -> set[str]:
        """The calls that it asks the client about."""
        return self._call_ids("tool_calls") if self.kind == "approval_request_message" else set()

    def _call_ids(self, *names: str) -> set[str]:
        listed = (one for name in names for one in self.fields.get(name) or ())
        found = (one.get("tool_call_id") for one in listed if isinstance(one, dict))
        return {name for name in found if isinstance(name, str)}


@dataclass(frozen=True, slots=True)
class Read:
    """What was read of a history.

    Attributes
    ----------
    messages : list of Listed
        Oldest first.
    whole : bool
        It is all that there is: what is not in it, the server does not have.
    """

    messages: list[Listed]
    whole: bool = False

    @property
    def pending(self) -> Listed | None:
        """The request for approval that waits: the newest message, if it is one (1).

        A request outlives the compaction of its own step, whose summary stands behind it.
        """
        said = (one for one in reversed(self.messages) if not one.compacts)
        newest = next(said, None)
        return newest if newest is not None and newest.kind == "approval_request_message" else None

    def answering(self, call_ids: Collection[str]) -> str | None:
        """The run in which calls were answered."""
        wanted = set(call_ids)
        return next((one.run_id for one in self.messages if wanted & one.answers()), None)

    def asks(self, call_ids: Collection[str]) -> bool:
        """Whether the request is in it that asks about calls; their answers stand behind it."""
        wanted = set(call_ids)
        return any(wanted & one.asks() for one in self.messages)

    def run_of(self, otids: Collection[str]) -> str | None:
        """The run that what was said under these ids of our own belongs to (2.1)."""
        return next((one.run_id for one in self.messages if one.fields.get("otid") in otids), None)

    def has_all_of(self, run_id: str | None) -> bool:
        """Whether a run is in it from its beginning on."""
        older = bool(self.messages) and self.messages[0].run_id != run_id
        return older and any(one.run_id == run_id for one in self.messages)


class History:
    """Reads messages of a lane's conversation, and records what is wanted of them.

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

    async def read_newest(self) -> Read:
        """The newest messages: the newest run from its beginning on, older ones as they came.

        Raises
        ------
        Lost
            If the connection failed.
        """
        return await self.read(lambda read: read.has_all_of(read.messages[-1].run_id))

    async def read(self, until: Callable[[Read], bool]) -> Read:
        """The newest messages, and older ones until there is enough; nothing is recorded.

        Parameters
        ----------
        until : callable
            Whether what was read so far is enough.

        Raises
        ------
        Lost
            If the connection failed.
        """
        read = Read([])
        for _ in range(MOST_PAGES):
            page = await self._page(read.messages[0].id if read.messages else None)
            if page is None:
                return read
            known = {one.id for one in read.messages}
            older = [one for one in page if one.id not in known]
            # Only an empty page is the end: a cursor that a server does not know, or does not
            # take for what is older, gives the newest messages again.
            read = Read([*older, *read.messages], whole=not page)
            if not older or until(read):
                return read
        detail = (
            f"only the newest {len(read.messages)} messages of {self._lane.name} were looked at"
        )
        self._core.recorder.note("problem", kind="history", detail=detail)
        return read

    async def _page(self, before: str | None) -> list[Listed] | None:
        """Some messages, oldest first, older than that one; None where the server has none."""
        path = conversation_path(self._lane, "messages")
        if self._lane.fields["conversation"] == "default":
            path = f"/v1/agents/{quote(str(self._lane.fields['agent']), safe='')}/messages"
        query = {"order": "desc", "limit": str(PAGE), **({"before": before} if before else {})}
        reply = await self._http.ask("GET", path, query=query)
        try:
            raws = msgspec.json.decode(reply.text, type=list[msgspec.Raw])
            found = [Listed(bytes(raw).decode(), msgspec.json.decode(raw)) for raw in raws]
        except msgspec.MsgspecError:
            found = []
        if reply.status != 200 or (not found and reply.text.strip() != "[]"):
            detail = f"GET {path} gives HTTP {reply.status}: {reply.text[:200]}"
            self._core.recorder.note("problem", kind="history", detail=detail)
            return None
        return [one for one in reversed(found) if isinstance(one.fields, dict)]

    async def read_patiently(self, until: Callable[[Read], bool], policy: Reconnect) -> Read:
        """The same, asked for again while the connection fails.

        Raises
        ------
        Lost
            If it failed each time.
        """
        attempt = 0
        while True:
            try:
                return await self.read(until)
            except Lost:
                attempt += 1
                if attempt > policy.attempts:
                    raise
            await asyncio.sleep(policy.delay(attempt))

    def record(
        self,
        read: Read,
        *,
        runs: Iterable[str | None] | None = None,
        whole: Iterable[str | None] = (),
    ) -> None:
        """Record messages, oldest first.

        Parameters
        ----------
        read : Read
            As `read` gave it.
        runs : iterable of (str or None), optional
            Only those of these runs, and of one whose stream was read only what no stream has, and
            what stands behind that: it says where that belongs. All by default.
        whole : iterable of (str or None)
            Runs whose stream is not to be had: all of them.
        """
        chosen = read.messages
        if runs is not None:
            all_of = {run for run in whole if run is not None}
            known = {run for run in runs if run is not None}
            all_of |= known - self._core.ledger.responses.keys()
            chosen = list(_chosen(chosen, all_of, known))
        for at, one in enumerate(chosen):
            last = {"last": True} if at == len(chosen) - 1 else {}
            place = {"lane": self._lane.stream_id, "from": "history"}
            self._core.recorder.take(one.raw, **place, **last)


def _chosen(messages: Iterable[Listed], all_of: set[str], known: set[str]) -> Iterable[Listed]:
    behind: set[str | None] = set()
    for one in messages:
        if one.run_id in all_of:
            yield one
        elif one.run_id in known and one.kind in _UNSTREAMED:
            behind.add(one.run_id)
            yield one
        elif one.run_id in behind and one.kind not in _SAID:
            behind.discard(one.run_id)
            yield one
