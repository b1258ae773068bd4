"""What a model writes, piece by piece, as a stream of tokens shows it (chapter 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.simulator.letta.model import Delta
from steer_nb.simulator.letta.naming import before, otid_of
from steer_nb.simulator.letta.stored import Stored, Thought, ToolCall, base

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.simulator.letta.faults import PhantomCall

__all__ = ["Pieces"]


class Pieces:
    """Shows what the model writes while it writes, where that is asked for.

    Parameters
    ----------
    said : Stored
        What the pieces will be kept as.
    live : bool
        Whether pieces are asked for.
    is_gated : callable
        Whether a call needs approval, or is the client's.
    show : callable
        Takes a message for the stream.
    """

    def __init__(
        self,
        said: Stored,
        *,
        live: bool,
        is_gated: Callable[[ToolCall], bool],
        show: Callable[[dict[str, Any]], None],
    ) -> None:
        self._said = said
        self._is_gated = is_gated
        self._show = show
        self.live = live
        self.request_id = before(said.id)
        self._last: ToolCall | None = None

    def show(self, delta: Delta) -> None:
        """Show one piece."""
        if not self.live:
            return
        if isinstance(delta.of, ToolCall):
            self._call(delta.of, delta)
            return
        if isinstance(delta.of, Thought):
            kind, fields = delta.of.fields(delta.text)
        else:
            kind, fields = "assistant_message", {"content": delta.text}
        self._give(kind, self._said.id, otid_of(self._said.id, delta.part), fields)

    def haunt(self, fault: PhantomCall | None) -> None:
        """Show a call that is not there, as a fault says."""
        if fault is None or self._last is None:
            return
        call = ToolCall(
            fault.name or self._last.name, fault.arguments, f"{self._last.tool_call_id}_phantom"
        )
        for text in (None, call.arguments):
            self._call(call, Delta(call, 0, text), gated=True)

    def _call(self, call: ToolCall, delta: Delta, *, gated: bool | None = None) -> None:
        gated = self._is_gated(call) if gated is None else gated
        name = call.name if delta.text is None else None
        piece = {"name": name, "arguments": delta.text, "tool_call_id": call.tool_call_id}
        if gated:
            self._last = call
            self._give("approval_request_message", self.request_id, self.request_id, _both(piece))
        else:
            piece = {key: value for key, value in piece.items() if value is not None}
            otid = otid_of(self._said.id, delta.part)
            self._give("tool_call_message", self._said.id, otid, _both(piece))

    def _give(self, kind: str, message_id: str, otid: str, fields: dict[str, Any]) -> None:
        said = self._said
        own = base(kind, message_id, otid, said.created, step_id=said.step_id, run_id=said.run_id)
        self._show({**own, **fields})


def _both(piece: dict[str, Any]) -> dict[str, Any]:
    return {"tool_call": piece, "tool_calls": piece}
