"""What can happen in a session, in words that belong to no service.

A dialect (`steer_nb.ledger.responses` for OpenAI's Responses API) reads trace entries and says
which facts they state; `steer_nb.ledger.fold.Ledger` folds facts and knows no wire. A lane is named
by its `stream_id`; None is the default lane.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "CallAnswered",
    "Checked",
    "Connected",
    "Delta",
    "Disconnected",
    "Dropped",
    "Fact",
    "InjectCreated",
    "InjectFailed",
    "InjectSent",
    "InputCleared",
    "InputDrafted",
    "InputFilled",
    "InputNamed",
    "InputReleased",
    "ItemAdded",
    "ItemFinished",
    "ItemListed",
    "ItemsOrdered",
    "LaneClosed",
    "LaneOpened",
    "LaneRecovered",
    "Odd",
    "Other",
    "PartFinished",
    "Reconnecting",
    "Recovered",
    "Repeated",
    "RequestFound",
    "RequestJoined",
    "RequestSent",
    "ResponseEnded",
    "ResponseListed",
    "ResponseProgress",
    "ResponseStarted",
    "ServerError",
    "SteerAccepted",
    "SteerFailed",
    "SteerPending",
    "SteerQueued",
    "SteerSent",
    "StreamLost",
    "StreamResumed",
    "TextDrafted",
    "ToolFinished",
    "ToolStarted",
    "Unsent",
]


class Fact(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Anything that happened. `sequence_number` is the service's own count, where it gives one."""

    sequence_number: int | None = None


class Connected(Fact, frozen=True, gc=False):
    """A connection is open."""

    url: str


class Disconnected(Fact, frozen=True, gc=False):
    """A connection is gone; `by` is client, server, network or limit.

    `keeps` says that the service keeps its lanes, and goes on with them.
    """

    code: int | None
    reason: str
    by: str
    keeps: bool = False


class Reconnecting(Fact, frozen=True, gc=False):
    """The connection is gone and a new one is tried; `attempt` 0 says that no more is."""

    attempt: int
    attempts: int
    delay_s: float
    reason: str


class LaneRecovered(Fact, frozen=True, gc=False):
    """A person chose how a lane goes on: continue, rebuild or leave.

    `base` is the response that its next request continues from, or whose context it repeats.
    """

    lane: str | None
    choice: str
    base: str | None


class Recovered(Fact, frozen=True, gc=False):
    """A new process took the session up: what only the old one knew is gone."""


class Dropped(Fact, frozen=True, gc=False):
    """A person does without a message whose outcome is unknown."""

    key: str


class Checked(Fact, frozen=True, gc=False):
    """The service was asked, outside the stream, about a response that it may have stored.

    `status` is its word now, None where it has no such response. `ended` is there where the
    response is over; `input_items` is what it was given, oldest first, where that was asked for.
    """

    response_id: str
    status: str | None
    previous_response_id: str | None = None
    ended: ResponseEnded | None = None
    input_items: tuple[dict[str, Any], ...] | None = None


class LaneOpened(Fact, frozen=True, gc=False):
    """A person opened a lane, or changed its settings."""

    lane: str | None
    settings: dict[str, Any]
    forked_from: str | None = None


class LaneClosed(Fact, frozen=True, gc=False):
    """A person closed a lane."""

    lane: str | None


class RequestSent(Fact, frozen=True, gc=False):
    """A request for a response is about to be written: it may reach the service.

    `again` is the local key of an earlier message, whose outcome stayed unknown or that failed, and
    that a person chose to send again in this one. `repeated` is how many items of its input repeat
    an earlier conversation; `answers` are none of those. `steers` are the keys of what was kept
    here and goes out with it.
    """

    key: str
    lane: str | None
    previous_response_id: str | None
    body: dict[str, Any]
    answers: tuple[dict[str, Any], ...] = ()
    again: str | None = None
    repeated: int = 0
    steers: tuple[str, ...] = ()


class Unsent(Fact, frozen=True, gc=False):
    """The request or steer `key` certainly never left this machine."""

    key: str
    reason: str


class ResponseStarted(Fact, frozen=True, gc=False):
    """The service created a response."""

    lane: str | None
    response_id: str
    response: dict[str, Any]


class ResponseListed(Fact, frozen=True, gc=False):
    """The service lists a response that began unseen; `newest`: after all that is known.

    `after` is the one that the same list has before it.
    """

    lane: str | None
    response_id: str
    newest: bool
    after: str | None = None


class RequestJoined(Fact, frozen=True, gc=False):
    """The oldest request that waits on a lane got the stream of a response that was known."""

    lane: str | None
    response_id: str


class ResponseProgress(Fact, frozen=True, gc=False):
    """The service repeated a response's head; `queued`: it has not begun to write it."""

    lane: str | None
    response_id: str
    response: dict[str, Any]
    queued: bool = False


class ItemAdded(Fact, frozen=True, gc=False):
    """An output item began; `item` is None where the service sent none."""

    lane: str | None
    output_index: int | None
    item: dict[str, Any] | None
    agent_name: str | None = None


class ItemFinished(Fact, frozen=True, gc=False):
    """An output item is complete.

    `stub` says what it asks the client for, if anything, and `asked_in` where it does so;
    `optional` that nobody has to wait for it; `texts` are its full texts as (channel, index, text).
    """

    lane: str | None
    output_index: int | None
    item: dict[str, Any]
    stub: dict[str, Any] | None = None
    optional: bool = False
    texts: tuple[tuple[str, int, str], ...] = ()
    agent_name: str | None = None
    asked_in: str = "response_completed"


class ItemListed(Fact, frozen=True, gc=False):
    """An item of a response, whole, read outside its stream: of a history, say.

    `finished` is the item; `again` says that it is known, and the same; `source` is ``history``,
    or ``done`` for one of a stream that another stream goes along with.
    """

    response_id: str
    finished: ItemFinished
    again: bool = False
    source: str = "history"


class ItemsOrdered(Fact, frozen=True, gc=False):
    """Items of a response stand in this order, as the service lists them; not as they came."""

    response_id: str
    places: tuple[int, ...]


class Repeated(Fact, frozen=True, gc=False):
    """A message about a response that only says what was said before."""

    response_id: str


class CallAnswered(Fact, frozen=True, gc=False):
    """The service shows what a call got: the client's answer to it, its result, or both.

    `parent_id` makes the call, empty where that was not seen; `response_id` shows the answer: the
    same response, or one that continues it. `cancelled` says that the service gave the answer as it
    released the call.
    """

    parent_id: str
    call_id: str
    response_id: str
    answer: dict[str, Any] | None = None
    result: dict[str, Any] | None = None
    cancelled: bool = False


class InputNamed(Fact, frozen=True, gc=False):
    """The service names all calls of a response that wait; those that it leaves out do not."""

    parent_id: str
    keys: tuple[str, ...]


class InputReleased(Fact, frozen=True, gc=False):
    """Nobody has to answer what responses asked for any more: it was cancelled, or cleared away.

    `response_ids` are those responses; None for all of the lane.
    """

    lane: str | None
    response_ids: tuple[str, ...] | None
    cancelled: bool


class Delta(Fact, frozen=True, gc=False):
    """A piece of an item's text; `channel` says which of its texts."""

    lane: str | None
    output_index: int | None
    channel: str
    index: int
    text: str
    item_id: str | None = None


class PartFinished(Fact, frozen=True, gc=False):
    """One of an item's texts is complete, in full."""

    lane: str | None
    output_index: int | None
    channel: str
    index: int
    text: str
    item_id: str | None = None


class Other(Fact, frozen=True, gc=False):
    """An event of a response that changes nothing here but is counted (annotation, progress …).

    `interrupted` says that a part of a reasoning summary was broken off.
    """

    lane: str | None
    output_index: int | None = None
    annotation: bool = False
    interrupted: bool = False


class ResponseEnded(Fact, frozen=True, gc=False):
    """A response reached its end: `status` is completed, incomplete, failed or cancelled."""

    lane: str | None
    response_id: str
    status: str
    response: dict[str, Any]
    items: tuple[ItemFinished, ...] = ()


class ServerError(Fact, frozen=True, gc=False):
    """The service reported an error outside a response's own end.

    `response_id` is there where the service says which response it broke off.
    """

    lane: str | None
    code: str | None
    message: str
    param: str | None = None
    type: str | None = None
    status: int | None = None
    response_id: str | None = None


class SteerSent(Fact, frozen=True, gc=False):
    """Input for a running response is about to be written."""

    key: str
    parent_id: str
    input: Any
    again: str | None = None


class SteerQueued(Fact, frozen=True, gc=False):
    """Something was said that the service does not take now: it is kept here, for the next request.

    `parent_id` is the response that is in the way.
    """

    key: str
    parent_id: str
    input: Any
    again: str | None = None


class StreamLost(Fact, frozen=True, gc=False):
    """The stream that answers the request `key` is lost; the service may go on with it."""

    key: str


class StreamResumed(Fact, frozen=True, gc=False):
    """The answer to the request `key`, which carries `steers`, is read on, or asked for again."""

    key: str
    steers: tuple[str, ...] = ()


class RequestFound(Fact, frozen=True, gc=False):
    """The service shows that it answered the request `key` with a response."""

    key: str
    response_id: str


class SteerAccepted(Fact, frozen=True, gc=False):
    """The service owns the steer. It is not applied yet."""

    steer_id: str
    parent_id: str


class SteerPending(Fact, frozen=True, gc=False):
    """The steer stays queued while the parent waits for input; `stubs` is the service's list."""

    steer_id: str
    parent_id: str
    reason: str
    stubs: tuple[dict[str, Any], ...]


class SteerFailed(Fact, frozen=True, gc=False):
    """The steer was refused, or will not be applied."""

    steer_id: str | None
    parent_id: str
    input: Any
    code: str
    message: str


class InjectSent(Fact, frozen=True, gc=False):
    """Answers for agents that wait in a running response are about to be written."""

    key: str
    parent_id: str
    answers: tuple[dict[str, Any], ...]
    again: str | None = None


class InjectCreated(Fact, frozen=True, gc=False):
    """All items of the oldest inject into this response are committed."""

    parent_id: str


class InjectFailed(Fact, frozen=True, gc=False):
    """None of the items of an inject is committed; they come back as they were sent."""

    parent_id: str
    answers: tuple[dict[str, Any], ...]
    code: str
    message: str


class InputFilled(Fact, frozen=True, gc=False):
    """A person, code or a policy gave a required input its value."""

    parent_id: str
    key: str
    item: dict[str, Any]
    by: str


class InputCleared(Fact, frozen=True, gc=False):
    """A person took a value back before it was sent."""

    parent_id: str
    key: str


class InputDrafted(Fact, frozen=True, gc=False):
    """A person began to answer a required input, and is not done.

    `fields` are the values of its form that changed since the draft before, as they stand there;
    None where the person gave it up.
    """

    parent_id: str
    key: str
    fields: dict[str, Any] | None


class TextDrafted(Fact, frozen=True, gc=False):
    """A person began to say something on a lane; empty where nothing stands there any more."""

    lane: str | None
    text: str


class ToolStarted(Fact, frozen=True, gc=False):
    """One of the person's own functions began to run for a call."""

    parent_id: str
    key: str
    name: str
    by: str


class ToolFinished(Fact, frozen=True, gc=False):
    """That function returned, or raised.

    `printed` is what it wrote to stdout and stderr, `displayed` what it displayed, each output by
    MIME type, and `traceback` where in the person's code it raised: for the person alone, never
    sent.
    """

    parent_id: str
    key: str
    ok: bool
    output: str
    error: str | None
    duration_s: float | None
    printed: str = ""
    traceback: str | None = None
    displayed: tuple[dict[str, str], ...] = ()


class Odd(Fact, frozen=True, gc=False):
    """Something in the recording that is worth a row in `problems`."""

    kind: str
    detail: str
