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

import base64
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from steer_nb.simulator.faults import Fault

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping
    from random import Random

    from steer_nb.simulator.ids import Ids

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
    "Refuse",
    "RefuseSteers",
    "Reject",
    "Say",
    "Step",
    "Think",
    "chunks",
    "next_of",
]

WORD_S = 0.032
"""Seconds between two words, at speed 1."""


class Beat(NamedTuple):
    """One event (without its sequence number and lane) and how long to wait after it."""

    event: dict[str, Any]
    seconds: float = 0.0


@dataclass(frozen=True)
class Place:
    """Where an item stands in its response, and what that makes its ids."""

    ids: Ids
    response_id: str
    output_index: int
    random: Random
    include: frozenset[str] = frozenset()
    most_deltas: int = 0

    def id(self, prefix: str) -> str:
        """Give the item's own id."""
        return self.ids.make(prefix, self.response_id, self.output_index)

    def call_id(self) -> str:
        """Give the id that a result will name."""
        return self.ids.make("call", self.response_id, self.output_index)

    def wait(self, seconds: float = WORD_S) -> float:
        """Vary a pace a little, the same way for the same seed."""
        return seconds * self.random.uniform(0.6, 1.4)

    def deltas(self, text: str, size: int | None = None) -> Iterator[tuple[str, float]]:
        """Cut a text into what its deltas carry, each with the wait after it."""
        for pieces in batched(chunks(text, size), self.most_deltas):
            yield "".join(pieces), self.wait(len(pieces) * WORD_S)


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


def chunks(text: str, size: int | None = None) -> list[str]:
    """Cut a text by words, or into pieces of `size` characters; joined they are the text again.

    Examples
    --------
    >>> chunks("Day one: Alfama.")
    ['Day ', 'one: ', 'Alfama.']
    >>> chunks('{"a":1}', 4)
    ['{"a"', ':1}']
    """
    if size is not None:
        return [text[start : start + size] for start in range(0, len(text), size)]
    return re.findall(r"\S+\s*|\s+", text)


def batched(pieces: list[str], most: int) -> list[list[str]]:
    """Put pieces together to at most `most` batches of nearly one size; 0: each alone.

    Examples
    --------
    >>> batched(["Day ", "one: ", "Alfama."], 2)
    [['Day '], ['one: ', 'Alfama.']]
    """
    number = min(most or len(pieces), len(pieces))
    bounds = [len(pieces) * place // number for place in range(number + 1)] if number else []
    return [pieces[start:end] for start, end in itertools.pairwise(bounds)]


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
    """

    text: str
    more: tuple[str, ...] = ()
    phase: str | None = None

    def __init__(self, text: str, *more: str, phase: str | None = None) -> None:
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "more", more)
        object.__setattr__(self, "phase", phase)

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item = message(place.id("msg"), self.phase)
        yield self.added(place, {**item, "status": "in_progress", "content": []})
        content: list[dict[str, Any]] = []
        for index, text in enumerate((self.text, *self.more)):
            at = {
                "item_id": item["id"],
                "output_index": place.output_index,
                "content_index": index,
            }
            part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
            yield Beat({"type": "response.content_part.added", **at, "part": part})
            for delta, wait in place.deltas(text):
                event = {"type": "response.output_text.delta", **at, "delta": delta, "logprobs": []}
                yield Beat(event, wait)
            yield Beat({"type": "response.output_text.done", **at, "text": text, "logprobs": []})
            part = {**part, "text": text}
            yield Beat({"type": "response.content_part.done", **at, "part": part})
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
    """A reasoning item with one summary part for each text."""

    summaries: tuple[str, ...]

    def __init__(self, *summaries: str) -> None:
        object.__setattr__(self, "summaries", summaries)

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item: dict[str, Any] = {"id": place.id("rs"), "type": "reasoning", "summary": []}
        yield self.added(place, item)
        summary: list[dict[str, Any]] = []
        for index, text in enumerate(self.summaries):
            at = {
                "item_id": item["id"],
                "output_index": place.output_index,
                "summary_index": index,
            }
            empty = {"type": "summary_text", "text": ""}
            yield Beat({"type": "response.reasoning_summary_part.added", **at, "part": empty})
            for delta, wait in place.deltas(text):
                event = {"type": "response.reasoning_summary_text.delta", **at, "delta": delta}
                yield Beat(event, wait)
            yield Beat({"type": "response.reasoning_summary_text.done", **at, "text": text})
            part = {"type": "summary_text", "text": text}
            yield Beat({"type": "response.reasoning_summary_part.done", **at, "part": part})
            summary.append(part)
        item = {**item, "summary": summary}
        if "reasoning.encrypted_content" in place.include:
            sealed = place.ids.digest("encrypted", place.response_id, place.output_index)
            item["encrypted_content"] = base64.b64encode(bytes.fromhex(sealed)).decode("ascii")
        yield self.done(place, item)
        return item


class Control(Step):
    """A step that steers the turn and makes no item."""


@dataclass(frozen=True)
class Pause(Control):
    """Let time pass between two items: `seconds` at speed 1. A steer ends it early."""

    seconds: float


@dataclass(frozen=True)
class AwaitSteer(Control):
    """Go on as soon as `count` steers wait, or after so many real seconds, whatever the speed."""

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
