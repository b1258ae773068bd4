"""A trace as something that can be served again: which events answered which request.

`steer_nb.simulator.recording_reader` puts it in the order in which a client will ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from steer_nb.errors import ScenarioError
from steer_nb.simulator.traces import opened
from steer_nb.wire import stub_for, stub_key
from steer_nb.wire.requests import several_agents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from steer_nb.trace import Trace

__all__ = ["Answer", "InjectMark", "Mark", "Moment", "Part", "Recording"]


@dataclass(slots=True)
class Moment:
    """One recorded event, and the seconds since what came before it.

    `event` is None where the message is no JSON object: then only `raw` can be sent. `mark` is the
    steer or the inject that it acknowledges or refuses; with `waits` it is no event, but the place
    where the client sent that.
    """

    seconds: float
    event: dict[str, Any] | None
    raw: str
    mark: Mark | InjectMark | None = None
    waits: bool = False


@dataclass(slots=True, eq=False)
class Mark:
    """One recorded steer: what the service answered, and where in the response it did.

    Attributes
    ----------
    steer_id : str or None
        Its recorded id.
    code, message : str or None
        Why it was refused at once.
    phase : {"stream", "ended", "succeeded"}
        Whether the answer came while the response ran, after its end, or after its successor began.
    failed : str or None
        The service's sentence, where the steer was accepted and failed later.
    """

    steer_id: str | None
    code: str | None
    message: str | None
    phase: Literal["stream", "ended", "succeeded"]
    failed: str | None


@dataclass(slots=True, eq=False)
class InjectMark:
    """One recorded inject into the response, and the event that answered it.

    Attributes
    ----------
    event : dict or None
        ``response.inject.created`` or ``.failed``, or an `error`; None where nothing answered it.
    """

    event: dict[str, Any] | None = None

    @property
    def committed(self) -> bool:
        """Whether its results were taken, as far as the recording says."""
        return self.event is None or self.event["type"] == "response.inject.created"


@dataclass(slots=True, eq=False)
class Answer:
    """What a request was answered with: a response, a refusal, or nothing.

    Attributes
    ----------
    id : str or None
        The response; None where there was none.
    lane : str or None
        Its lane in the recording.
    request : dict or None
        What asked for it.
    parent_id : str or None
        The response it continued.
    moments : list of Moment
        Its events up to its end; a refusal is one event.
    after : list of Moment
        Events behind its end that belong to no steer.
    marks : list of Mark
        Its steers, in the order they were sent.
    injects : list of InjectMark
        What was injected while it ran, in the order it was sent.
    successor : Answer or None
        The response that followed by itself.
    end : {"ended", "refused", "lost", "open"}
        How it ended: by itself, with its connection, or not in this recording.
    close : tuple of int or None, str
        How the connection was closed, where it was lost with it.
    """

    id: str | None
    lane: str | None
    request: dict[str, Any] | None = None
    parent_id: str | None = None
    moments: list[Moment] = field(default_factory=list)
    after: list[Moment] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    injects: list[InjectMark] = field(default_factory=list)
    successor: Answer | None = None
    end: Literal["ended", "refused", "lost", "open"] = "open"
    close: tuple[int | None, str] = (None, "")

    def answers(self, body: dict[str, Any]) -> bool:
        """Whether a request is the one that was recorded; its lane may be called otherwise."""
        if self.request is None:
            return False
        one, other = ({**each, "type": "", "stream_id": ""} for each in (self.request, body))
        return one == other

    def ids(self) -> set[str]:
        """All ids that it gives out."""
        found = {self.id} if self.id else set()
        for moment in self.moments:
            item = (moment.event or {}).get("item")
            if isinstance(item, dict):
                found.update(str(item[key]) for key in ("id", "call_id") if item.get(key))
                stub = stub_for(item)
                if stub is not None:
                    found.add(stub_key(stub))
        return found


@dataclass(slots=True, eq=False)
class Part:
    """What one connection was served: from its beginning to its end, or to where it was cut off.

    `lanes` holds what clients asked for, in order; successors hang on their parents.
    """

    lanes: dict[str | None, list[Answer]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A trace, ready to be served again.

    Attributes
    ----------
    name : str
        The file's name without its ending, or the trace's id.
    trace_id : str
        Which trace.
    parts : tuple of Part
        One for each time that a connection was lost in the middle of something, and one for the
        rest.
    cuts : tuple of int
        The connections that were lost so.
    multi_agent : bool
        Whether several agents wrote one of its responses: clients then ask for that beta.
    """

    name: str
    trace_id: str
    parts: tuple[Part, ...]
    cuts: tuple[int, ...] = ()
    multi_agent: bool = False

    @property
    def answers(self) -> Iterator[Answer]:
        """Everything that was asked for, successors included."""
        for part in self.parts:
            for asked in part.lanes.values():
                for answer in asked:
                    following: Answer | None = answer
                    while following is not None:
                        yield following
                        following = following.successor

    @classmethod
    def of(cls, source: Trace | str | PathLike[str]) -> Recording:
        """Read a trace, or the file of one.

        Raises
        ------
        TraceError
            The file cannot be read.
        ScenarioError
            It holds nothing that a service sent.
        """
        from steer_nb.simulator.recording_reader import Reader

        trace, where, name = opened(source, "responses", "the Responses API")
        parts, cuts = Reader(trace).read()
        if not any(answer.moments for part in parts for a in part.lanes.values() for answer in a):
            msg = f"{where} holds no events of a service: there is nothing to serve again."
            raise ScenarioError(msg, path=trace.file or "")
        several = any(several_agents(request.body) for request in trace.ledger.requests.values())
        return cls(name, trace.trace_id, tuple(parts), tuple(cuts), several)
