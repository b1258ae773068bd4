"""The Responses dialect: what one trace entry of OpenAI's WebSocket mode states, as facts.

One table, from event type to facts (`openai.types.responses.ResponsesServerEvent`). Local notes are
read by `steer_nb.ledger.notes`, which every dialect shares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger import facts as f
from steer_nb.ledger.finished import dicts, finished_item, finished_items
from steer_nb.ledger.messages import event_of, translated
from steer_nb.ledger.notes import read_note
from steer_nb.trace.entries import Entry
from steer_nb.wire import is_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steer_nb.wire import Event

__all__ = ["delta_of", "read"]


def read(entry: Entry, event: Event | None = None) -> Sequence[f.Fact]:
    """Say which facts an entry states.

    Parameters
    ----------
    entry : Entry
        A message or a note.
    event : Event, optional
        Its message as `event_of` gives it, where that was decoded already.

    Returns
    -------
    sequence of Fact
        Empty where it states nothing.
    """
    if entry.data is not None:
        said = translated(entry)
        if said is not None:
            return [fact for event in said for fact in _stated(entry, event)]
    if entry.kind == "in":
        if event is None:
            event = event_of(entry)
        delta = delta_of(event)
        if delta is not None:
            return (delta,)
        handler = _EVENTS.get(event.type)
        found = handler(event) if handler is not None else _other(event)
        if event.problem is not None or not event.known:
            return (*found, *_odd(event))
        return found
    if entry.kind == "out":
        return _request(entry, event_of(entry) if event is None else event)
    return read_note(entry)


def delta_of(event: Event) -> f.Delta | None:
    """Say which text an event adds to, and what; None where it does not just add to a text."""
    channel = _DELTAS.get(event.type)
    if channel is None or type(event.delta) is not str:
        return None
    name, index = channel
    return f.Delta(
        event.stream_id,
        event.output_index,
        name,
        (getattr(event, index) or 0) if index else 0,
        event.delta,
        event.item_id,
        sequence_number=event.sequence_number,
    )


def _stated(entry: Entry, event: Event) -> Sequence[f.Fact]:
    """Read one of the events that say what a message in another service's words says."""
    if entry.kind == "out":
        return _request(entry, event)
    data = {"lane": event.stream_id}
    said = Entry(entry.seq, entry.at, entry.t, "in", entry.connection, event.raw, data=data)
    # That the Responses API has no such word is nothing odd about the other service.
    return [fact for fact in read(said) if type(fact) is not f.Odd]


# -- events ----------------------------------------------------------------------------------------

# Which of an item's texts a delta extends, and which field counts the parts of that text.
_DELTAS: Final[dict[str, tuple[str, str | None]]] = {
    "response.output_text.delta": ("text", "content_index"),
    "response.refusal.delta": ("refusal", "content_index"),
    "response.reasoning_text.delta": ("reasoning", "content_index"),
    "response.reasoning_summary_text.delta": ("summary", "summary_index"),
    "response.function_call_arguments.delta": ("arguments", None),
    "response.custom_tool_call_input.delta": ("arguments", None),
    "response.mcp_call_arguments.delta": ("arguments", None),
    "response.code_interpreter_call_code.delta": ("code", None),
    "response.shell_call_command.delta": ("command", "command_index"),
    "response.audio.delta": ("audio", None),
    "response.audio.transcript.delta": ("transcript", None),
}

_SUMMARY_DONE: Final = "response.reasoning_summary_part.done"

_STATUS: Final = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
}


def _response_of(event: Event) -> tuple[str, dict[str, Any]]:
    response = event.object("response") or {}
    response_id = response.get("id")
    return (response_id if isinstance(response_id, str) else ""), response


def _started(event: Event) -> tuple[f.Fact, ...]:
    response_id, response = _response_of(event)
    return (
        f.ResponseStarted(
            event.stream_id, response_id, response, sequence_number=event.sequence_number
        ),
    )


def _progress(event: Event) -> tuple[f.Fact, ...]:
    response_id, response = _response_of(event)
    return (
        f.ResponseProgress(
            event.stream_id,
            response_id,
            response,
            event.type == "response.queued",
            sequence_number=event.sequence_number,
        ),
    )


def _ended(event: Event) -> tuple[f.Fact, ...]:
    response_id, response = _response_of(event)
    word = response.get("status")
    # `response.done` is an undocumented last event of some services (4.1); its response says which
    # end it was.
    status = _STATUS.get(event.type) or (word if isinstance(word, str) else "completed")
    if status not in ("completed", "incomplete", "failed", "cancelled"):
        status = "completed"
    return (
        f.ResponseEnded(
            event.stream_id,
            response_id,
            status,
            response,
            finished_items(event.stream_id, response),
            sequence_number=event.sequence_number,
        ),
    )


def _item_added(event: Event) -> tuple[f.Fact, ...]:
    return (
        f.ItemAdded(
            event.stream_id,
            event.output_index,
            event.object("item"),
            event.agent_name,
            sequence_number=event.sequence_number,
        ),
    )


def _item_done(event: Event) -> tuple[f.Fact, ...]:
    item = event.object("item")
    if item is None:
        return _other(event)
    place = (event.stream_id, event.output_index)
    return (finished_item(*place, item, set(), event.sequence_number, event.agent_name),)


_DONE: Final[dict[str, tuple[str, str | None]]] = {
    "response.output_text.done": ("text", "content_index"),
    "response.refusal.done": ("refusal", "content_index"),
    "response.reasoning_text.done": ("reasoning", "content_index"),
    "response.reasoning_summary_text.done": ("summary", "summary_index"),
    "response.function_call_arguments.done": ("arguments", None),
    "response.custom_tool_call_input.done": ("arguments", None),
    "response.mcp_call_arguments.done": ("arguments", None),
    "response.code_interpreter_call_code.done": ("code", None),
    "response.shell_call_command.done": ("command", "command_index"),
}


def _shell_output(event: Event) -> tuple[f.Fact, ...]:
    """What a hosted shell writes, piece by piece: one of its streams, or both."""
    pieces = event.delta if isinstance(event.delta, dict) else {}
    found = [(name, pieces.get(name)) for name in ("stdout", "stderr")]
    facts = tuple(
        f.Delta(
            event.stream_id,
            event.output_index,
            name,
            event.command_index or 0,
            text,
            event.item_id,
            sequence_number=event.sequence_number,
        )
        for name, text in found
        if isinstance(text, str)
    )
    return facts or _other(event)


def _part_done(event: Event) -> tuple[f.Fact, ...]:
    text = event.done_text
    if text is None:
        return _other(event)
    channel, index = _DONE[event.type]
    return (
        f.PartFinished(
            event.stream_id,
            event.output_index,
            channel,
            (getattr(event, index) or 0) if index else 0,
            text,
            event.item_id,
            sequence_number=event.sequence_number,
        ),
    )


def _other(event: Event) -> tuple[f.Fact, ...]:
    outside = event.type == "" or event.family in ("control", "unknown")
    places = (event.output_index, event.item_id, event.sequence_number)
    if outside and all(place is None for place in places):
        return ()  # not known to be part of a response, and it does not say where in one
    return (
        f.Other(
            event.stream_id,
            event.output_index,
            event.family == "annotation",
            event.type == _SUMMARY_DONE and event.payload.get("status") == "incomplete",
            sequence_number=event.sequence_number,
        ),
    )


def _error(event: Event) -> tuple[f.Fact, ...]:
    found = event.error_fields
    return (
        f.ServerError(
            event.stream_id,
            found.code,
            found.message,
            found.param,
            found.type,
            found.status,
            sequence_number=event.sequence_number,
        ),
    )


def _steer_head(event: Event) -> tuple[str | None, str, dict[str, Any]]:
    steer = event.object("steer") or {}
    steer_id, parent = steer.get("id"), steer.get("previous_response_id")
    return (
        steer_id if isinstance(steer_id, str) else None,
        parent if isinstance(parent, str) else "",
        steer,
    )


def _steer_accepted(event: Event) -> tuple[f.Fact, ...]:
    steer_id, parent, _ = _steer_head(event)
    if steer_id is None:
        return _other(event)
    return (f.SteerAccepted(steer_id, parent, sequence_number=event.sequence_number),)


def _steer_pending(event: Event) -> tuple[f.Fact, ...]:
    steer_id, parent, _ = _steer_head(event)
    if steer_id is None:
        return _other(event)
    payload = event.payload
    return (
        f.SteerPending(
            steer_id,
            parent,
            str(payload.get("reason", "")),
            dicts(payload.get("required_input")),
            sequence_number=event.sequence_number,
        ),
    )


def _steer_failed(event: Event) -> tuple[f.Fact, ...]:
    steer_id, parent, steer = _steer_head(event)
    found = event.error_fields
    return (
        f.SteerFailed(
            steer_id,
            parent,
            steer.get("input"),
            found.code or "",
            found.message,
            sequence_number=event.sequence_number,
        ),
    )


def _inject_created(event: Event) -> tuple[f.Fact, ...]:
    return (f.InjectCreated(event.response_id or "", sequence_number=event.sequence_number),)


def _inject_failed(event: Event) -> tuple[f.Fact, ...]:
    found = event.error_fields
    return (
        f.InjectFailed(
            event.response_id or "",
            dicts(event.payload.get("input")),
            found.code or "",
            found.message,
            sequence_number=event.sequence_number,
        ),
    )


def _odd(event: Event) -> tuple[f.Fact, ...]:
    if event.problem is not None:
        return (f.Odd(event.problem, event.detail),)
    return (f.Odd("unknown_type", event.type or "no type"),)


_EVENTS: Final[dict[str, Callable[[Event], tuple[f.Fact, ...]]]] = {
    "response.created": _started,
    "response.queued": _progress,
    "response.in_progress": _progress,
    "response.completed": _ended,
    "response.incomplete": _ended,
    "response.failed": _ended,
    "response.done": _ended,
    "response.output_item.added": _item_added,
    "response.output_item.done": _item_done,
    "response.steer.accepted": _steer_accepted,
    "response.steer.pending": _steer_pending,
    "response.steer.failed": _steer_failed,
    "response.shell_call_output_content.delta": _shell_output,
    "response.inject.created": _inject_created,
    "response.inject.failed": _inject_failed,
    "error": _error,
    **dict.fromkeys(_DONE, _part_done),
}


# -- requests --------------------------------------------------------------------------------------


def _request(entry: Entry, event: Event) -> tuple[f.Fact, ...]:
    body = event.payload
    local = entry.data or {}
    if event.type == "response.create":
        # Where a request repeats a conversation, its recording may know which response it goes on.
        previous = body.get("previous_response_id") or local.get("continues")
        items, repeated = body.get("input"), local.get("repeated")
        first = repeated if isinstance(repeated, int) else 0
        said = dicts(items[first:] if isinstance(items, list) else None)
        answers = tuple(item for item in said if is_answer(item))
        return (
            f.RequestSent(
                str(local.get("key") or f"create-{entry.seq}"),
                event.stream_id,
                previous if isinstance(previous, str) else None,
                body,
                answers,
                _again(local),
                first,
            ),
        )
    if event.type == "response.steer":
        parent = body.get("previous_response_id")
        return (
            f.SteerSent(
                str(local.get("key") or f"steer-{entry.seq}"),
                parent if isinstance(parent, str) else "",
                body.get("input"),
                _again(local),
            ),
        )
    if event.type == "response.inject":
        key = str(local.get("key") or f"inject-{entry.seq}")
        answers = dicts(body.get("input"))
        return (f.InjectSent(key, event.response_id or "", answers, _again(local)),)
    return (f.Odd("unknown_type", f"request {event.type or entry.raw!r}"),)


def _again(local: dict[str, Any]) -> str | None:
    """The key of the earlier message that a person chose to send again."""
    key = local.get("again")
    return key if isinstance(key, str) else None
