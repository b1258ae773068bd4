"""The way out to a Letta server: a request is whole, recorded, on the disk, and then sent."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from steer_nb.client.outlet import Outlet
from steer_nb.letta.history import conversation_path
from steer_nb.letta.line import LettaLine
from steer_nb.letta.message import Message
from steer_nb.letta.repeating import say_again
from steer_nb.letta.settings import request_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool

__all__ = ["LettaOutlet"]


class LettaOutlet(Outlet):
    """Lets requests out, each under a local key of its own. It lives on the I/O thread."""

    def check_name(self, stream_id: str | None, others: set[str]) -> None:
        """Any number of conversations is taken."""

    def body(
        self, lane: LaneSettings, messages: Sequence[dict[str, Any]], fields: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What is sent for a lane, each message under an id of our own (5.4)."""
        line = self._core.line
        assert isinstance(line, LettaLine)
        said = [{**one, "otid": str(uuid.uuid4())} for one in messages]
        place = {"agent_id": lane.fields["agent"]} if _is_default(lane) else {}
        return {
            "messages": said,
            "streaming": True,
            "background": line.background,
            **request_fields({**lane.fields, **fields}),
            **place,
        }

    def say(
        self,
        lane: LaneSettings,
        messages: Sequence[dict[str, Any]],
        fields: Mapping[str, Any],
        functions: Mapping[str, Tool],
        *,
        steers: Sequence[str] = (),
        parent_id: str | None = None,
        again: str | None = None,
    ) -> str:
        """Record a request, sync it to the disk, send it; return its local key.

        Raises
        ------
        TraceError
            If the disk refuses it: then nothing was sent.
        """
        line = self._core.line
        assert isinstance(line, LettaLine)
        body = self.body(lane, messages, fields)
        key = self.new_key("create")
        path = conversation_path(lane, "messages")
        message = Message(key, path, body, tuple(steers), parent_id)
        recorder = self._core.recorder
        try:
            recorder.out(message.text, key, lane.stream_id, again, path=path, **_with(steers))
            recorder.sync()
        except BaseException as error:
            recorder.note("unsent", lane=lane.stream_id, key=key, reason=str(error))
            raise
        line.send(lane, message)
        lane.called.update(functions)
        return key

    def repeat(self, key: str, text: str, data: dict[str, Any], *, sent: bool) -> None:
        """Let a recorded request out once more: to a server that is played from a recording."""
        self._keep_number(key)
        say_again(self._core, key, text, data, sent=sent)


def _is_default(lane: LaneSettings) -> bool:
    return bool(lane.fields["conversation"] == "default")


def _with(steers: Sequence[str]) -> dict[str, Any]:
    return {"steers": list(steers)} if steers else {}
