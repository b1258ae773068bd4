"""One event from the server, decoded just far enough."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar, Final

import msgspec

from steer_nb.wire import jsonio
from steer_nb.wire.catalogue import DONE_FIELD, EXTRA_FAMILY, FAMILY, SERVER_EVENT_TYPES
from steer_nb.wire.error_fields import ErrorFields, read_error

if TYPE_CHECKING:
    Part = Any
    Note = tuple[str, str] | None
else:
    Part = msgspec.Raw
    # A server must not be able to set our own note: the only JSON value this type accepts is null.
    Note = None

__all__ = ["NO_PART", "PROBLEMS", "Event"]

NO_PART: Final = msgspec.Raw()
"""What `Event.item`, `.response` … hold where the event has no such object."""

PROBLEMS: Final = (
    "bad_json",
    "not_object",
    "too_deep",
    "nan",
    "number",
    "surrogate",
    "odd_field",
)
"""Words for `Event.problem`. The first three leave no payload; with the others it is whole."""


class _Agent(msgspec.Struct, frozen=True, gc=False):
    agent_name: str


class Event(msgspec.Struct, kw_only=True, gc=False, eq=False):
    """One event from the server. Made by `decode`, which never raises; not to be changed.

    Attributes
    ----------
    type : str
        The event's type word; empty where it has none.
    sequence_number : int or None
        The server's counter: per response at best, may be missing, restart or skip (4.1).
    output_index, content_index, summary_index, annotation_index, command_index, \
partial_image_index : int or None
        Where in the response it belongs.
    stream_id : str or None
        The lane; None is the default lane.
    item_id, response_id : str or None
        Ids that the event itself carries. Most events name no response.
    agent_name : str or None
        Which agent of a multi-agent response it comes from, such as ``/root/researcher``.
    delta : str, dict or None
        The new piece of text; a dict for ``response.shell_call_output_content.delta``.
    response, item, part, error, steer : msgspec.Raw
        Sub-objects, undecoded. `object` decodes one.
    raw : str
        The message, verbatim.

    Examples
    --------
    >>> from steer_nb.wire import decode
    >>> event = decode('{"type":"response.output_text.delta","output_index":0,"delta":"Hi"}')
    >>> event
    Event('response.output_text.delta', output_index=0, delta='Hi')
    >>> event.family, event.known, event.problem
    ('text', True, None)
    """

    type: str = ""
    sequence_number: int | None = None
    output_index: int | None = None
    content_index: int | None = None
    summary_index: int | None = None
    annotation_index: int | None = None
    command_index: int | None = None
    partial_image_index: int | None = None
    stream_id: str | None = None
    item_id: str | None = None
    response_id: str | None = None
    delta: Any = None
    response: Part = NO_PART
    item: Part = NO_PART
    part: Part = NO_PART
    error: Part = NO_PART
    steer: Part = NO_PART
    agent: _Agent | None = None
    # `decode` overwrites this one always, so a server's key of that name goes nowhere.
    raw: str = msgspec.field(default="", name="(raw)")
    note: Note = msgspec.field(default=None, name="(note)")

    _shown: ClassVar[tuple[str, ...]] = (
        "stream_id",
        "sequence_number",
        "response_id",
        "item_id",
        "output_index",
        "content_index",
        "summary_index",
        "annotation_index",
        "command_index",
        "partial_image_index",
        "delta",
    )

    @property
    def problem(self) -> str | None:
        """What was wrong with the message (a word of `PROBLEMS`), or None."""
        return None if self.note is None else self.note[0]

    @property
    def detail(self) -> str:
        """What was wrong, as a sentence; empty where nothing was."""
        return "" if self.note is None else self.note[1]

    @property
    def agent_name(self) -> str | None:
        """Which agent of a multi-agent response it comes from; None where it names none."""
        return None if self.agent is None else self.agent.agent_name

    @property
    def known(self) -> bool:
        """Whether the type is in the official union, or in that of the multi-agent beta."""
        return self.type in SERVER_EVENT_TYPES

    @property
    def family(self) -> str:
        """A word of `FAMILIES`: what kind of event it is."""
        return FAMILY.get(self.type) or EXTRA_FAMILY.get(self.type) or "unknown"

    @property
    def payload(self) -> dict[str, Any]:
        """The whole event as a dict, decoded anew at each use; empty where it is no JSON object."""
        if _broken(self):
            return {}
        try:
            value: Any = msgspec.json.decode(self.raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            try:
                value, _ = jsonio.loads(self.raw)
            except (ValueError, RecursionError):
                return {}  # only for an event that `decode` did not make
        return value if isinstance(value, dict) else {}

    def object(self, name: str) -> dict[str, Any] | None:
        """Decode one of the event's sub-objects.

        Parameters
        ----------
        name : str
            ``response``, ``item``, ``part``, ``error``, ``steer``, or any other key.

        Returns
        -------
        dict or None
            None where there is none, or where it is null or no object.
        """
        part = getattr(self, name, None) if name in _PARTS else None
        if isinstance(part, msgspec.Raw):
            if part is NO_PART:
                return None
            try:
                value: Any = msgspec.json.decode(part)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                value = self.payload.get(name)
        else:
            value = self.payload.get(name)
        return value if isinstance(value, dict) else None

    @property
    def done_text(self) -> str | None:
        """The full text of a ``*.done`` event (its text, refusal, arguments, input, code …)."""
        name = DONE_FIELD.get(self.type)
        value = None if name is None else self.payload.get(name)
        return value if isinstance(value, str) else None

    @property
    def error_fields(self) -> ErrorFields:
        """Code, message and so on of an ``error`` or a failed response or steer.

        All None (and the message empty) for an event that reports no error.
        """
        if self.family == "error" or self.error is not NO_PART or self.type == "response.failed":
            return read_error(self.payload)
        return ErrorFields()

    def to_dict(self) -> dict[str, Any]:
        """Give back what came in, unknown fields too, as a new dict."""
        return self.payload

    def to_json(self) -> str:
        """Give back what came in, verbatim."""
        return self.raw

    def __eq__(self, other: Any) -> bool:
        """Compare contents: the order of keys and the spaces between them do not matter."""
        if not isinstance(other, Event):
            return NotImplemented
        if _broken(self) or _broken(other):
            return self.raw == other.raw and self.problem == other.problem
        return self.raw == other.raw or self.payload == other.payload

    def __hash__(self) -> int:
        return hash((self.type, self.stream_id, self.sequence_number, self.item_id))

    def __repr__(self) -> str:
        if _broken(self):
            return f"Event(problem={self.problem!r}, raw={jsonio.shown(self.raw)})"
        shown = [repr(self.type)] if type(self) is Event else []  # the others' names say it
        for name in self._shown:
            value = getattr(self, name)
            if value is not None:
                shown.append(f"{name}={jsonio.shown(value, 120)}")
        if self.note is not None:
            shown.append(f"problem={self.problem!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


_PARTS: Final = frozenset({"response", "item", "part", "error", "steer"})


def _broken(event: Event) -> bool:
    return event.note is not None and event.note[0] in ("bad_json", "not_object", "too_deep")


def part_of(value: Any) -> msgspec.Raw:
    """Write a value as an undecoded sub-object again (escapes and NaN included)."""
    return msgspec.Raw(json.dumps(value).encode())
