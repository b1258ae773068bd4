"""The words in which a script says what the model does.

A scenario is a generator that yields steps. Steps that make an output item know the exact events of
chapter 4 of the protocol notes; the others control the turn. Adding a kind of item is adding a
class with a `play` method.

Examples
--------
>>> from steer_nb.simulator import CallFunction, Say, Think
>>> def script(turn):
...     yield Think("The person wants the weather.")
...     yield CallFunction("get_weather", {"city": "Lisbon"})
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.citing import say_text
from steer_nb.simulator.faults import Fault
from steer_nb.simulator.place import Beat, Place

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

__all__ = [
    "Arm",
    "AwaitSteer",
    "Beat",
    "Control",
    "Disconnect",
    "ErrorEvent",
    "Fail",
    "FailSuccessor",
    "Incomplete",
    "Item",
    "Pause",
    "Place",
    "Queue",
    "Refuse",
    "RefuseSteers",
    "Reject",
    "Say",
    "Several",
    "Step",
    "Think",
    "message",
    "next_of",
]


class Step:
    """Anything that a script may yield."""


class Item(Step):
    """A step that makes one output item."""

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the item's events in order, and return the finished item."""
        raise NotImplementedError

    def added(self, place: Place, item: dict[str, Any]) -> Beat:
        """Open the item."""
        return Beat(
            {
                "type": "response.output_item.added",
                "output_index": place.output_index,
                "item": item,
            },
            place.wait(),
        )

    def done(self, place: Place, item: dict[str, Any]) -> Beat:
        """Close the item."""
        return Beat(
            {"type": "response.output_item.done", "output_index": place.output_index, "item": item}
        )


class Several(Step):
    """A step that makes several items, one right after another: nothing is cut between them."""

    def items(self) -> Generator[Item, dict[str, Any], None]:
        """Give item after item; each comes back finished, as the next may refer to it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Say(Item):
    """A message of the assistant: one text, or several content parts.

    Parameters
    ----------
    text : str
        What it says, cut by words.
    more : str
        Further content parts of the same message.
    phase : str, optional
        ``commentary`` or ``final_answer``.
    annotations : sequence of mapping
        What its last part cites, as the API writes it: `type` and what belongs to that type.
        Where `start_index` and `end_index` (or `index`) are left out, it is all of the text (or
        its end). Each is sent as soon as the text it stands at is written.

    Examples
    --------
    >>> source = {"type": "url_citation", "url": "https://example.org", "title": "Trams"}
    >>> Say("The last one leaves at one.", annotations=[source]).annotations[0]["title"]
    'Trams'
    """

    text: str
    more: tuple[str, ...] = ()
    phase: str | None = None
    annotations: Sequence[Mapping[str, Any]] = ()

    def __init__(
        self,
        text: str,
        *more: str,
        phase: str | None = None,
        annotations: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "more", more)
        object.__setattr__(self, "phase", phase)
        object.__setattr__(self, "annotations", annotations)

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item = message(place.id("msg"), self.phase)
        yield self.added(place, {**item, "status": "in_progress", "content": []})
        content: list[dict[str, Any]] = []
        texts = (self.text, *self.more)
        for index, text in enumerate(texts):
            cites = self.annotations if index == len(texts) - 1 else ()
            part = yield from say_text(place, item["id"], index, text, cites)
            content.append(part)
        item = {**item, "status": "completed", "content": content}
        yield self.done(place, item)
        return item


@dataclass(frozen=True)
class Refuse(Item):
    """A message in which the model refuses."""

    text: str

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item = message(place.id("msg"), None)
        at = {"item_id": item["id"], "output_index": place.output_index, "content_index": 0}
        yield self.added(place, {**item, "status": "in_progress", "content": []})
        part = {"type": "refusal", "refusal": ""}
        yield Beat({"type": "response.content_part.added", **at, "part": part})
        for delta, wait in place.deltas(self.text):
            yield Beat({"type": "response.refusal.delta", **at, "delta": delta}, wait)
        yield Beat({"type": "response.refusal.done", **at, "refusal": self.text})
        part = {"type": "refusal", "refusal": self.text}
        yield Beat({"type": "response.content_part.done", **at, "part": part})
        item = {**item, "status": "completed", "content": [part]}
        yield self.done(place, item)
        return item


def message(item_id: str, phase: str | None) -> dict[str, Any]:
    """Give what all states of an assistant message share."""
    item: dict[str, Any] = {"id": item_id, "type": "message", "role": "assistant"}
    if phase is not None:
        item["phase"] = phase
    return item


@dataclass(frozen=True)
class Think(Item):
    """A reasoning item with one summary part for each text.

    Parameters
    ----------
    summaries : str
        What it says of its thoughts.
    content : str or sequence of str
        The thoughts themselves, as open models send them; before the summary.
    interrupted : bool
        Whether the last summary part was broken off, and says that it is ``incomplete``. (The
        option `steered_reasoning` lets steers do that.)

    Examples
    --------
    >>> Think("The person wants", interrupted=True).interrupted
    True
    """

    summaries: tuple[str, ...]
    content: tuple[str, ...] = ()
    interrupted: bool = False

    def __init__(
        self, *summaries: str, content: str | Sequence[str] = (), interrupted: bool = False
    ) -> None:
        object.__setattr__(self, "summaries", summaries)
        parts = (content,) if isinstance(content, str) else tuple(content)
        object.__setattr__(self, "content", parts)
        object.__setattr__(self, "interrupted", interrupted)

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {"id": place.id("rs"), "type": "reasoning", "summary": []}
        if self.content:
            item["content"] = []
        yield self.added(place, item)
        here = {"item_id": item["id"], "output_index": place.output_index}
        if self.content:
            item = {**item, "content": (yield from self._think(place, here))}
        item = {**item, "summary": (yield from self._summarise(place, here))}
        if "reasoning.encrypted_content" in place.include:
            item["encrypted_content"] = place.sealed("encrypted")
        yield self.done(place, item)
        return item

    def _think(
        self, place: Place, here: dict[str, Any]
    ) -> Generator[Beat, None, list[dict[str, Any]]]:
        content: list[dict[str, Any]] = []
        for index, text in enumerate(self.content):
            at = {**here, "content_index": index}
            part = {"type": "reasoning_text", "text": ""}
            yield Beat({"type": "response.content_part.added", **at, "part": part})
            for delta, wait in place.deltas(text):
                yield Beat({"type": "response.reasoning_text.delta", **at, "delta": delta}, wait)
            yield Beat({"type": "response.reasoning_text.done", **at, "text": text})
            part = {"type": "reasoning_text", "text": text}
            yield Beat({"type": "response.content_part.done", **at, "part": part})
            content.append(part)
        return content

    def _summarise(
        self, place: Place, here: dict[str, Any]
    ) -> Generator[Beat, None, list[dict[str, Any]]]:
        summary: list[dict[str, Any]] = []
        for index, text in enumerate(self.summaries):
            at = {**here, "summary_index": index}
            part = {"type": "summary_text", "text": ""}
            yield Beat({"type": "response.reasoning_summary_part.added", **at, "part": part})
            said = ""
            for delta, wait in place.deltas(text):
                event = {"type": "response.reasoning_summary_text.delta", **at, "delta": delta}
                yield Beat(event, wait)
                said += delta
                if place.interrupted():
                    break
            yield Beat({"type": "response.reasoning_summary_text.done", **at, "text": said})
            part = {"type": "summary_text", "text": said}
            done = {"type": "response.reasoning_summary_part.done", **at, "part": part}
            broken = said != text or (self.interrupted and index == len(self.summaries) - 1)
            yield Beat({**done, "status": "incomplete"} if broken else done)
            summary.append(part)
            if said != text:
                break
        return summary


class Control(Step):
    """A step that steers the turn and makes no item."""


@dataclass(frozen=True)
class Queue(Control):
    """Let the response wait before it is in progress, and say so: as the first step.

    `response.queued` comes after ``response.created``, as it does for responses in the background;
    `seconds` pass at speed 1.

    Examples
    --------
    >>> Queue().seconds
    1.0
    """

    seconds: float = 1.0


@dataclass(frozen=True)
class Pause(Control):
    """Let time pass between two items: `seconds` at speed 1. A steer ends it early."""

    seconds: float


@dataclass(frozen=True)
class AwaitSteer(Control):
    """Go on as soon as `count` steers wait, or after so many real seconds, whatever the speed.

    One that `RefuseSteers` refused counts, too: nobody sends it again.
    """

    seconds: float = 10.0
    count: int = 1


@dataclass(frozen=True)
class Fail(Control):
    """End the response as failed. `code` is one of the service's response error codes."""

    code: str = "server_error"
    message: str = "The server had an error while processing your request."


@dataclass(frozen=True)
class Incomplete(Control):
    """End the response as incomplete.

    `reason` is ``max_output_tokens``, ``max_messages`` or ``content_filter``.
    """

    reason: str = "max_output_tokens"


@dataclass(frozen=True)
class Reject(Control):
    """Refuse the request with an `error` event: as the first step, before there is a response."""

    code: str | None
    message: str
    status: int = 400
    type: str = "invalid_request_error"
    param: str | None = None


@dataclass(frozen=True)
class ErrorEvent(Control):
    """End the response with an `error` event and no terminal one, as an empty account (5.6)."""

    code: str | None
    message: str
    status: int = 400
    type: str = "invalid_request_error"


@dataclass(frozen=True)
class RefuseSteers(Control):
    """Refuse every later steer of this response with `code` (None: steers are taken again)."""

    code: str | None
    message: str | None = None


@dataclass(frozen=True)
class FailSuccessor(Control):
    """Let the successor of this response fail to be created, after its steers were accepted."""

    message: str = (
        "We couldn't start the next response. Send this steering input again with response.create."
    )


@dataclass(frozen=True)
class Disconnect(Control):
    """Close the connection at once with `code`."""

    code: int = 1011
    reason: str = "simulated"


@dataclass(frozen=True)
class Arm(Control):
    """Arm a fault for this connection: its messages count from here.

    Parameters
    ----------
    fault : Fault, str or mapping
        Such as ``Drop(at=2)`` or ``"drop at=2"``; see `steer_nb.simulator.faults`.

    Raises
    ------
    InvalidInput
        It cannot be read.
    """

    fault: Fault | str | Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fault", Fault.of(self.fault))


def next_of(script: Iterator[Step]) -> Step | Exception | None:
    """Give the next step, None at the end, or the script's own exception."""
    try:
        return next(script)
    except StopIteration:
        return None
    except Exception as error:  # noqa: BLE001 - whatever a script raises fails its response
        return error
