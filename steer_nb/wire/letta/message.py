"""What every message of Letta's is, and what those of a conversation have in common."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from steer_nb.wire.letta.part import Fault, Part

__all__ = ["LettaMessage", "Message"]


class Message(Part, frozen=True, kw_only=True):
    """Anything with a `message_type`.

    Attributes
    ----------
    message_type : str
        What it is.
    """

    message_type: ClassVar[str] = ""
    _nulls: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.message_type:
            cls._head = ("message_type", cls.message_type)


class LettaMessage(Message, frozen=True, kw_only=True):
    """What the messages of a conversation have in common.

    Attributes
    ----------
    id : str
        Messages of one model call share it. In token mode a request for approval, and the text that
        came before it, are stored under an id one lower than the text was streamed with (2.1).
    date : str
        When it was made, ISO 8601.
    name : str or None
        A tool's name, in what a tool gave.
    otid : str or None
        What tells the messages of one id apart, and stays the same in stream and history.
    sender_id, step_id, run_id : str or None
        Who sent it, the step and the run it belongs to.
    is_err : bool or None
        Whether it is part of an error step.
    seq_id : int or None
        Its place in the stream of a background run, from 1.
    """

    id: str
    date: str
    name: str | None = None
    otid: str | None = None
    sender_id: str | None = None
    step_id: str | None = None
    is_err: bool | None = None
    seq_id: int | None = None
    run_id: str | None = None

    def faults(self) -> tuple[Fault, ...]:
        """Say what is not as the schema says, beyond types: `date` is a moment."""
        if not self.date or "date" in self.extra:
            return ()  # said already
        try:
            datetime.fromisoformat(self.date)
        except ValueError:
            return (Fault("date", "is no moment of ISO 8601", self.date),)
        return ()
