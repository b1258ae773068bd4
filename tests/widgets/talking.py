"""The box below a lane as a page drives it, without a page: the messages that box.js sends."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from steer_nb.widgets.saybox import SayBox

__all__ = ["press", "types"]

_numbers = count(1)


def types(box: SayBox, text: str) -> None:
    """A person types, and pauses."""
    _tell(box, event="typed", text=text)


def press(box: SayBox, action: str = "say", **more: Any) -> None:
    """A person presses a button of the box as it is shown now."""
    step = more.pop("step", box.field.step)
    _tell(box, event=action, text=more.pop("text", box.field.value), step=step, **more)


def _tell(box: SayBox, **content: Any) -> None:
    message = {"page": "a page", "number": next(_numbers), **content}
    box.field._handle_custom_msg(message, [])
