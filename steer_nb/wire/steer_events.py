"""The three events that tell what became of a steer, as values (5.3).

::

    match event:
        case ResponseSteerAcceptedEvent(steer):
            print("queued as", steer.id)
        case ResponseSteerPendingEvent(required_input=stubs):
            print("waits for", stubs)
        case ResponseSteerFailedEvent(error=SteerFailure(code="response_already_completed")):
            print("too late")
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from steer_nb.wire.event import Event

__all__ = [
    "STEER_EVENTS",
    "ResponseSteerAcceptedEvent",
    "ResponseSteerFailedEvent",
    "ResponseSteerPendingEvent",
    "SteerFailure",
    "SteerInfo",
    "object_of",
    "steer_event",
    "text_of",
]


class SteerInfo(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """Which steer an event is about.

    Attributes
    ----------
    id : str or None
        The service's id; None in a failure that came before one was given.
    previous_response_id : str or None
        The response that was to be steered.
    input : str, list or None
        The input as it was sent; only failures give it back.
    """

    id: str | None = None
    previous_response_id: str | None = None
    input: Any = None


class SteerFailure(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """Why a steer was not applied.

    Attributes
    ----------
    code : str or None
        One of the seven codes of 5.5, or a newer one: an open list.
    message : str
        For people.
    type : str or None
        ``invalid_request_error``, so far.
    """

    code: str | None = None
    message: str = ""
    type: str | None = None


class _SteerEvent(Event, gc=False, eq=False):
    steer: SteerInfo = SteerInfo()

    _shown: ClassVar[tuple[str, ...]] = ("stream_id", "sequence_number", "steer")


class ResponseSteerAcceptedEvent(_SteerEvent, gc=False, eq=False):
    """The service owns the steer. It is not applied yet: only the successor's start says so.

    Attributes
    ----------
    steer : SteerInfo
        Its `id` and `previous_response_id`.
    """


class ResponseSteerPendingEvent(_SteerEvent, gc=False, eq=False):
    """The steer stays queued while its response waits for input from the client.

    Attributes
    ----------
    steer : SteerInfo
        Its `id` and `previous_response_id`.
    reason : str or None
        ``waiting_for_required_input``, or a newer word: an open list.
    required_input : tuple of dict
        The stubs, as they came. Several pending events of one parent may list the same ones.
    """

    reason: str | None = None
    required_input: tuple[dict[str, Any], ...] = ()

    _shown: ClassVar[tuple[str, ...]] = (*_SteerEvent._shown, "reason", "required_input")


class ResponseSteerFailedEvent(_SteerEvent, gc=False, eq=False):
    """The steer was refused, or will not be applied any more.

    Attributes
    ----------
    steer : SteerInfo
        Its `id` (None when it failed before one was given), `previous_response_id` and `input`.
    error : SteerFailure
        Its `code`, `message` and `type`.
    """

    error: SteerFailure = SteerFailure()

    _shown: ClassVar[tuple[str, ...]] = (*_SteerEvent._shown, "error")


STEER_EVENTS: Final[dict[str, type[_SteerEvent]]] = {
    "response.steer.accepted": ResponseSteerAcceptedEvent,
    "response.steer.pending": ResponseSteerPendingEvent,
    "response.steer.failed": ResponseSteerFailedEvent,
}


def steer_event(event: Event, payload: dict[str, Any]) -> Event:
    """Turn a decoded steer event into its own class, whatever is missing in it.

    Parameters
    ----------
    event : Event
        An event of one of the three types.
    payload : dict
        The same, decoded.

    Returns
    -------
    Event
        One of the three classes.
    """
    fields: dict[str, Any] = {name: getattr(event, name) for name in Event.__struct_fields__}
    odd: list[str] = []
    kind = STEER_EVENTS[event.type]
    failed = kind is ResponseSteerFailedEvent
    given = object_of(payload, "steer", odd)
    fields["steer"] = SteerInfo(
        # A failure may come before the service gave the steer an id.
        id=text_of(given, "id", "steer.id", odd, optional=failed),
        previous_response_id=text_of(
            given, "previous_response_id", "steer.previous_response_id", odd
        ),
        input=given.get("input"),
    )
    if kind is ResponseSteerPendingEvent:
        fields["reason"] = text_of(payload, "reason", "reason", odd)
        listed = payload.get("required_input")
        stubs = listed if isinstance(listed, list) else [None]
        fields["required_input"] = tuple(stub for stub in stubs if isinstance(stub, dict))
        if len(fields["required_input"]) < len(stubs):
            odd.append("required_input")
    elif failed:
        error = object_of(payload, "error", odd)
        fields["error"] = SteerFailure(
            code=text_of(error, "code", "error.code", odd),
            message=text_of(error, "message", "error.message", odd) or "",
            type=text_of(error, "type", "error.type", odd, optional=True),
        )
    if odd and fields["note"] is None:
        fields["note"] = ("odd_field", f"not as documented: {', '.join(dict.fromkeys(odd))}")
    return kind(**fields)


def object_of(payload: dict[str, Any], name: str, odd: list[str]) -> dict[str, Any]:
    """Return a sub-object; an empty one, and a word in `odd`, where there is none."""
    value = payload.get(name)
    if isinstance(value, dict):
        return value
    odd.append(name)
    return {}


def text_of(
    payload: dict[str, Any], name: str, path: str, odd: list[str], *, optional: bool = False
) -> str | None:
    """Return a text; None, and a word in `odd`, where there is none."""
    value = payload.get(name)
    if isinstance(value, str):
        return value
    if value is not None or not optional:
        odd.append(path)
    return None
