"""A lane's conversation as a list of messages, as the `openai` SDK takes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from steer_nb.errors import ExportFailed, InvalidInput, UnknownLane
from steer_nb.frames.export.chat import chat_messages
from steer_nb.frames.export.files import replacing
from steer_nb.ledger import DEFAULT_LANE, rules
from steer_nb.ledger.context import rebuild
from steer_nb.wire import is_answer

if TYPE_CHECKING:
    from os import PathLike

    from steer_nb.frames.export.redaction import Redaction
    from steer_nb.ledger import LaneState, Ledger, ResponseState

__all__ = ["Messages", "Shape", "messages_of"]

Shape = Literal["responses", "chat"]
_SHAPES: Final = ("responses", "chat")


class Messages(list[dict[str, Any]]):
    """A conversation, and what is not in it.

    Attributes
    ----------
    cancelled : tuple of str
        Keys of calls that nobody has answered. In the list they are answered as cancelled, for a
        call without an answer would be refused.
    left_out : tuple of str
        What the list cannot say, in words.
    """

    cancelled: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def save(self, path: str | PathLike[str]) -> str:
        """Write it as JSON; a file that is there is replaced once the new one is complete.

        Raises
        ------
        ExportFailed
            The file cannot be written.
        """
        with replacing(Path(path)) as beside, beside.open("w", encoding="utf-8") as file:
            json.dump(self, file, indent=2)  # in ASCII: halves of characters cannot be written
            file.write("\n")
        return str(path)


def messages_of(
    ledger: Ledger, lane: str | None, redaction: Redaction, *, shape: Shape = "responses"
) -> Messages:
    """Give a lane's conversation; see `steer_nb.frames.Export.messages`."""
    if shape not in _SHAPES:
        rule = " or ".join(map(repr, _SHAPES))
        msg = f"shape is {shape!r}: it must be {rule}."
        raise InvalidInput(msg, field="shape", value=shape, rule=rule)
    state = _lane(ledger, lane)
    tip = rules.standing(state)
    if tip is None:
        return Messages()
    context = rebuild(ledger, tip.id)
    if context is None:
        msg = (
            f"The conversation of lane {state.name!r} began before this trace, or its requests are "
            "not in it: it cannot be given whole. trace.frames.items has what was recorded."
        )
        raise ExportFailed(msg)
    items = [redaction.item(_own(item), ("messages", "item")) for item in context.items]
    left_out = list(context.left_out)
    if shape == "chat":
        instructions = _instructions(tip)
        if instructions is not None:
            instructions = redaction.text(instructions, ("messages", "instructions"))
        items = chat_messages(items, instructions, left_out)
    made = Messages(items)
    made.cancelled, made.left_out = context.cancelled, tuple(left_out)
    return made


def _lane(ledger: Ledger, name: str | None) -> LaneState:
    used = [lane for lane in ledger.lanes.values() if lane.responses]
    names = ", ".join(lane.name for lane in used) or "none"
    if name is None:
        if len(used) == 1:
            return used[0]
        msg = f"This trace has {len(used)} lanes with messages: name one of them. Lanes: {names}."
        raise UnknownLane(msg)
    found = ledger.lanes.get(None if name == DEFAULT_LANE else name)
    if found is None:
        msg = f"This trace has no lane {name!r}. Lanes: {names}."
        raise UnknownLane(msg)
    return found


def _instructions(tip: ResponseState) -> str | None:
    """The instructions that the conversation stands under: those of its newest request."""
    for response in reversed(tip.lane.responses):
        if response.request is not None:
            value = response.request.body.get("instructions")
            return value if isinstance(value, str) else None
    return None


def _own(item: dict[str, Any]) -> dict[str, Any]:
    """The item apart from what is folded, as the SDK types what goes in.

    What comes out of the service, and what clients send that nothing checks, differs a little from
    it; nothing that is said changes.
    """
    made: dict[str, Any] = json.loads(json.dumps(item))
    content = made.get("content")
    if is_answer(made):
        made.pop("name", None)  # which tool is answered; the call says so, too
    elif made.get("type") == "custom_tool_call":
        made.pop("status", None)  # of a call that is complete; other kinds may say so
    elif isinstance(content, list) and made.get("type", "message") == "message":
        parts = [part for part in content if isinstance(part, dict)]
        if made.get("role") == "assistant" and "id" in made:
            made.setdefault("status", "completed")
        elif made.get("role") == "assistant" and all(map(_is_said, parts)):
            made["content"] = "".join(part["text"] for part in parts)
        for part in parts:
            if part.get("type") == "input_image":
                part.setdefault("detail", "auto")  # what its absence means
    return made


def _is_said(part: dict[str, Any]) -> bool:
    return part.get("type") == "output_text" and isinstance(part.get("text"), str)
