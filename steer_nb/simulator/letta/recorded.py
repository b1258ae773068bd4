"""A Letta trace as what its server knew: agents, conversations, and each run with its frames.

Two things are made of it: a server that goes on where the recorded one was
(`steer_nb.simulator.letta.remembering`), and one that says all of it again
(`steer_nb.simulator.letta.playback`).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from steer_nb.simulator.traces import opened, seconds_between

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from steer_nb.trace import Entry, Trace

__all__ = ["Moment", "Recorded", "RecordedRun", "RecordedTalk"]

_ENDS: Final = ("completed", "failed", "cancelled")


@dataclass(slots=True)
class Moment:
    """One recorded frame, and the seconds since what came before it.

    `message` is None where the connection was lost instead.
    """

    seconds: float
    message: dict[str, Any] | None
    raw: str = ""


@dataclass(eq=False, slots=True)
class RecordedRun:
    """One request, and what came of it.

    Attributes
    ----------
    id : str or None
        The run; None where there was none.
    body : dict or None
        The request; None where somebody else sent it, or it is not in the recording.
    named : bool
        Whether it went to a conversation, and not to an agent.
    moments : list of Moment
        What its streams gave, over all of them, and where they were lost.
    listed : dict of str to list of dict
        What a history shows of it: by the id of what is kept.
    refusals : list of (int, str)
        HTTP errors that its requests got, in order.
    status, stop_reason : str or None
        How it ended.
    """

    id: str | None = None
    body: dict[str, Any] | None = None
    named: bool = True
    moments: list[Moment] = field(default_factory=list)
    listed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    refusals: list[tuple[int, str]] = field(default_factory=list)
    status: str | None = None
    stop_reason: str | None = None
    _known: set[Any] = field(default_factory=set)

    @property
    def frames(self) -> list[dict[str, Any]]:
        """What its streams gave, each frame once."""
        return [one.message for one in self.moments if one.message is not None]

    @property
    def background(self) -> bool:
        """Whether its frames are numbered."""
        asked = self.body is not None and self.body.get("background") is True
        numbered = any(one.get("seq_id") is not None for one in self.frames)
        return numbered or (asked and not self.frames)

    def take(self, moment: Moment) -> None:
        """Add a frame, unless it is known: one that is read on for is given once more (5.3)."""
        message = moment.message
        if message is not None:
            kind, number = message.get("message_type"), message.get("seq_id")
            ends = kind in ("stop_reason", "usage_statistics")
            key = kind if ends else number
            if key is not None and key in self._known:
                return
            self._known.add(key)
            if kind == "stop_reason":
                self.stop_reason = str(message.get("stop_reason"))
        self.moments.append(moment)

    def began_with(self, message: dict[str, Any]) -> bool:
        """Whether a history's message is what its request said first."""
        said = (self.body or {}).get("messages") or ()
        if message.get("message_type") == "approval_response_message":
            return any(one.get("type") in ("approval", "tool_return") for one in said)
        return message.get("otid") in {one.get("otid") for one in said if one.get("otid")}

    def list(self, message: dict[str, Any]) -> None:
        """Take what a history shows of it; the newest counts."""
        shown = self.listed.setdefault(str(message.get("id")), [])
        key = (message.get("message_type"), message.get("otid"))
        for at, one in enumerate(shown):
            if (one.get("message_type"), one.get("otid")) == key:
                shown[at] = message
                return
        shown.append(message)


@dataclass(eq=False, slots=True)
class RecordedTalk:
    """One conversation.

    Attributes
    ----------
    lane : str or None
        Its lane in the recording.
    agent_id, conversation_id : str or None
        Whose it is, and which: None is an agent's own.
    made : dict or None
        What the server said when it was made, if that was recorded.
    seen : list of dict
        What it said each time that it was asked for the conversation.
    before : dict of str to list of dict
        What a history shows that belongs to no run.
    runs : list of RecordedRun
        In order.
    settled : bool
        Whether its lane said so, and not only the name of the lane.
    """

    lane: str | None
    agent_id: str | None = None
    conversation_id: str | None = None
    made: dict[str, Any] | None = None
    seen: list[dict[str, Any]] = field(default_factory=list)
    before: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    runs: list[RecordedRun] = field(default_factory=list)
    settled: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Recorded:
    """A trace of a Letta server, read.

    Attributes
    ----------
    name : str
        The file's name without its ending, or the trace's id.
    talks : tuple of RecordedTalk
        Its conversations, in the order of their lanes.
    """

    name: str
    talks: tuple[RecordedTalk, ...]

    @property
    def runs(self) -> Iterable[RecordedRun]:
        """All of its runs."""
        return (run for talk in self.talks for run in talk.runs)

    @classmethod
    def of(cls, source: Trace | str | PathLike[str]) -> Recorded:
        """Read a trace, or the file of one.

        Raises
        ------
        TraceError
            The file cannot be read.
        ScenarioError
            It is none of a Letta server.
        """
        trace, _, name = opened(source, "letta", "a Letta server")
        reader = _Reader()
        for entry in list(trace):
            reader.take(entry)
        return cls(name, tuple(reader.talks))


class _Reader:
    """Puts the entries of a trace where they belong, one after the other."""

    def __init__(self) -> None:
        self.talks: list[RecordedTalk] = []
        self._at: dict[str | None, RecordedTalk] = {}
        self._runs: dict[str, RecordedRun] = {}
        self._asked: dict[str | None, RecordedRun] = {}
        self._before: dict[str | None, Entry] = {}
        self._refused: set[str | None] = set()

    def take(self, entry: Entry) -> None:
        data = entry.data or {}
        lane = data.get("lane")
        if entry.kind == "note":
            self._note(entry, lane, data)
            return
        talk = self._talk(lane)
        value = _decoded(entry.raw)
        if entry.kind == "out":
            self._sent(entry, talk, value, data)
        elif "body" in data:
            self._answered(talk, value, entry.raw or "", data)
        elif data.get("from") == "history":
            self._listed(talk, value)
        else:
            self._framed(entry, talk, value, data)

    def _talk(self, lane: str | None) -> RecordedTalk:
        talk = self._at.get(lane)
        if talk is None:
            talk = self._at[lane] = RecordedTalk(lane)
            self.talks.append(talk)
            if lane is not None and lane.startswith("conv-"):
                talk.conversation_id = lane
            elif lane is not None and lane.startswith("agent-"):
                talk.agent_id = lane
        return talk

    def _opened(self, lane: str | None, agent_id: Any, conversation_id: Any) -> None:
        """Find the conversation that a lane speaks in from now on."""
        own = None if conversation_id == "default" else conversation_id
        place = (agent_id, own)
        for talk in self.talks:
            if talk.settled and (talk.agent_id, talk.conversation_id) == place:
                self._at[lane] = talk
                return
        talk = self._talk(lane)
        if talk.settled:
            talk = self._at[lane] = RecordedTalk(lane)
            self.talks.append(talk)
        talk.agent_id, talk.conversation_id, talk.settled = agent_id, own, True

    def _note(self, entry: Entry, lane: str | None, data: dict[str, Any]) -> None:
        settings = data.get("settings")
        if entry.note == "lane" and isinstance(settings, dict):
            if "conversation" in settings:
                self._opened(lane, settings.get("agent"), settings["conversation"])
        elif entry.note == "stream_broke" and lane in self._refused:
            self._refused.discard(lane)  # what broke was answered with an error
        elif entry.note == "stream_broke" and lane in self._asked:
            self._asked[lane].moments.append(Moment(self._since(lane, entry), None))

    def _since(self, lane: str | None, entry: Entry) -> float:
        """Seconds since what came before in a lane."""
        before, self._before[lane] = self._before.get(lane), entry
        return seconds_between(before, entry)

    def _sent(
        self, entry: Entry, talk: RecordedTalk, value: dict[str, Any], data: dict[str, Any]
    ) -> None:
        path = str(data.get("path") or "")
        self._since(talk.lane, entry)
        if not ("messages" in value or "input" in value) or data.get("attempt"):
            return
        run = RecordedRun(body=value, named="/conversations/" in path or not path)
        self._asked[talk.lane] = run
        talk.runs.append(run)

    def _answered(
        self, talk: RecordedTalk, value: dict[str, Any], raw: str, data: dict[str, Any]
    ) -> None:
        """Read an answer that is no stream: a refusal, a run, a conversation."""
        path, status = str(data["body"]).partition("?")[0].rstrip("/"), data.get("status", 200)
        asked = self._asked.get(talk.lane)
        if status >= 400:
            if asked is not None and path.endswith(("/messages", "/messages/stream")):
                asked.refusals.append((status, raw))
                self._refused.add(talk.lane)
        elif path.endswith("/conversations") and isinstance(value.get("id"), str):
            talk.made = value
        elif value.get("id") is not None and path.endswith(f"/conversations/{value['id']}"):
            self._opened(talk.lane, value.get("agent_id"), value["id"])
            self._talk(talk.lane).seen.append(value)
        elif isinstance(value.get("id"), str) and value.get("status") in _ENDS:
            run = self._runs.get(value["id"])
            if run is not None:
                run.status, run.stop_reason = value["status"], value.get("stop_reason")

    def _listed(self, talk: RecordedTalk, message: dict[str, Any]) -> None:
        run_id = message.get("run_id")
        if not isinstance(run_id, str):
            talk.before.setdefault(str(message.get("id")), []).append(message)
            return
        if run_id not in self._runs:
            asked = self._asked.get(talk.lane)
            ours = asked is not None and asked.began_with(message)
            self._begin(talk, run_id, ours=ours)
        self._runs[run_id].list(message)

    def _framed(
        self, entry: Entry, talk: RecordedTalk, message: dict[str, Any], data: dict[str, Any]
    ) -> None:
        if "message_type" not in message:
            return
        run_id = message.get("run_id") or data.get("run")
        run = self._runs.get(run_id) if isinstance(run_id, str) else self._asked.get(talk.lane)
        if run is None and isinstance(run_id, str):
            run = self._begin(talk, run_id, ours=True)
        if run is not None:
            self._asked[talk.lane] = run
            self._refused.discard(talk.lane)
            run.take(Moment(self._since(talk.lane, entry), message, entry.raw or ""))

    def _begin(self, talk: RecordedTalk, run_id: str, *, ours: bool) -> RecordedRun:
        """Find the request of a run, or take the run as somebody else's."""
        run = self._asked.get(talk.lane)
        if run is None or run.id is not None or not ours:
            run = RecordedRun()
            talk.runs.append(run)
        run.id = run_id
        self._runs[run_id] = run
        return run


def _decoded(raw: str | None) -> dict[str, Any]:
    try:
        value = json.loads(raw or "")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
