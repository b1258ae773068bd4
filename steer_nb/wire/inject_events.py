"""The two events that tell what became of an inject, as values (chapter 7).

::

    match event:
        case ResponseInjectCreatedEvent(response_id=response_id):
            print("a waiting agent goes on in", response_id)
        case ResponseInjectFailedEvent(error=InjectFailure(code="response_already_completed")):
            print("too late: its input goes into a continuation")

Both name the response and not the submission: the injects of a response are answered in the order
in which they were sent.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from steer_nb.wire.event import Event
from steer_nb.wire.steer_events import object_of, text_of

__all__ = [
    "INJECT_EVENTS",
    "InjectFailure",
    "ResponseInjectCreatedEvent",
    "ResponseInjectFailedEvent",
    "inject_event",
]


class InjectFailure(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """Why an inject was not committed.

    Attributes
    ----------
    code : str or None
        ``response_already_completed`` or ``response_not_found``, or a newer word.
    message : str
        For people.
    """

    code: str | None = None
    message: str = ""


class ResponseInjectCreatedEvent(Event, gc=False, eq=False):
    """All injected items are committed: the agents that waited for them go on."""

    _shown: ClassVar[tuple[str, ...]] = ("stream_id", "sequence_number", "response_id")


class ResponseInjectFailedEvent(Event, gc=False, eq=False):
    """None of the injected items is committed.

    Attributes
    ----------
    input : tuple of dict
        The items, as they were sent.
    error : InjectFailure
        Its `code` and `message`.
    """

    input: tuple[dict[str, Any], ...] = ()
    error: InjectFailure = InjectFailure()

    _shown: ClassVar[tuple[str, ...]] = (
        *ResponseInjectCreatedEvent._shown,
        "error",
    )


INJECT_EVENTS: Final[dict[str, type[Event]]] = {
    "response.inject.created": ResponseInjectCreatedEvent,
    "response.inject.failed": ResponseInjectFailedEvent,
}


def inject_event(event: Event, payload: dict[str, Any]) -> Event:
    """Turn a decoded inject event into its own class, whatever is missing in it.

    Parameters
    ----------
    event : Event
        An event of one of the two types.
    payload : dict
        The same, decoded.

    Returns
    -------
    Event
        One of the two classes.
    """
    fields: dict[str, Any] = {name: getattr(event, name) for name in Event.__struct_fields__}
    odd: list[str] = []
    if event.response_id is None and "response_id" not in (event.detail or ""):
        odd.append("response_id")
    kind = INJECT_EVENTS[event.type]
    if kind is ResponseInjectFailedEvent:
        given = payload.get("input")
        listed = given if isinstance(given, list) else [None]
        fields["input"] = tuple(item for item in listed if isinstance(item, dict))
        if len(fields["input"]) < len(listed):
            odd.append("input")
        error = object_of(payload, "error", odd)
        fields["error"] = InjectFailure(
            code=text_of(error, "code", "error.code", odd),
            message=text_of(error, "message", "error.message", odd) or "",
        )
    if odd and fields["note"] is None:
        fields["note"] = ("odd_field", f"not as documented: {', '.join(dict.fromkeys(odd))}")
    return kind(**fields)
