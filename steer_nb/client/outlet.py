"""The way out: a request is whole, recorded, on the disk, and then on the wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.client.settings import HIDDEN, check_beta, redacted
from steer_nb.errors import InvalidInput, InvalidLane
from steer_nb.wire import MAX_STREAM_IDS, encode, response_create
from steer_nb.wire.credentials import hidden_fields
from steer_nb.wire.totals import check_payload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.client.core import Core
    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool

__all__ = ["Outlet", "check_whole"]


class Outlet:
    """Lets requests out, each under a local key of its own. It lives on the I/O thread.

    What may be sent was asked before, in the same turn of that thread: see `Sender`.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._count = max(
            (
                _number(key)
                for known in (core.ledger.requests, core.ledger.steers, core.ledger.injects)
                for key in known
            ),
            default=0,
        )

    def check_name(self, stream_id: str | None, others: set[str]) -> None:
        """Refuse a lane name more than one connection takes [O, chapter 1.3].

        Raises
        ------
        InvalidLane
            With the reason.
        """
        taken = self._core.line.names_used | others
        if stream_id is not None and stream_id not in taken and len(taken) >= MAX_STREAM_IDS:
            rule = f"a connection takes {MAX_STREAM_IDS} lane names over its whole life"
            msg = (
                f"{stream_id!r} would be lane name {len(taken) + 1}, and {rule}. Use one of its "
                "lanes again, or connect another session."
            )
            raise InvalidLane(msg, field="stream_id", value=stream_id, rule=rule)

    def create(
        self,
        lane: LaneSettings,
        body: dict[str, Any],
        functions: Mapping[str, Tool],
        again: str | None,
        repeated: int = 0,
    ) -> str:
        """Let `response.create` out, and return its local key.

        `functions` are those of its tools that the lane does not have; `repeated` says how many of
        its input items only repeat what was said before.
        """
        check_beta(body, asked=self._core.multi_agent)
        if isinstance(body.get("input"), list):  # perhaps read back from the trace
            known = self._core.answers.whole
            body["input"] = [known(i) if isinstance(i, dict) else i for i in body["input"]]
        check_whole(lane, body, again)
        request = response_create(stream_id=lane.stream_id, **body)
        self.check_name(lane.stream_id, set())
        key = self.let_out("create", lane, request, again, repeated)
        if lane.stream_id is not None:
            self._core.line.names_used.add(lane.stream_id)
        lane.called.update(functions)
        return key

    def let_out(
        self,
        kind: str,
        lane: LaneSettings,
        request: dict[str, Any],
        again: str | None = None,
        repeated: int = 0,
    ) -> str:
        """Record a request, sync it to the disk, hand it to the socket; return its local key.

        Raises
        ------
        InvalidInput
            If it is too large as a whole: then nothing was sent, nor recorded.
        TraceError
            If the disk refuses it: then nothing was sent.
        """
        text = encode(request)
        check_payload(text)
        key = self.new_key(kind)
        recorder = self._core.recorder
        hidden = redacted(request)
        shown = text if hidden == request else encode(hidden)
        try:
            recorder.out(shown, key, lane.stream_id, again, repeated)
            recorder.sync()
        except BaseException as error:
            recorder.note("unsent", key=key, reason=str(error))
            raise
        self._core.line.post(key, text)
        return key

    def new_key(self, kind: str) -> str:
        """Make a local key; it is never given again."""
        self._count += 1
        return f"{kind}-{self._count}"

    def _keep_number(self, key: str) -> None:
        """Give no key again that was given in a recording."""
        self._count = max(self._count, _number(key))

    def repeat(self, key: str, text: str, data: dict[str, Any], *, sent: bool) -> None:
        """Let a recorded request out once more, word for word and under its recorded key.

        Parameters
        ----------
        key, text : str
            Its local key, and the message.
        data : dict
            What else was recorded of it: `lane`, `again`.
        sent : bool
            Whether it left, in the recording.
        """
        self._keep_number(key)
        lane = data.get("lane")
        self._core.recorder.out(text, key, lane, data.get("again"))
        self._core.recorder.sync()
        if sent:
            self._core.line.post(key, text)
        if lane is not None:
            self._core.line.names_used.add(lane)


def check_whole(lane: LaneSettings, body: Mapping[str, Any], again: str | None) -> None:
    """Refuse what came back from a file without its credentials."""
    hidden = hidden_fields(body)
    if not hidden:
        return
    name = "" if lane.stream_id is None else f"{lane.stream_id!r}, "
    if not hidden[0].startswith("input"):
        how = f"session.lane({name}tools=[...])"
    elif body.get("previous_response_id") is None:
        how = "a new conversation, with previous_response_id=None, since this one repeats it"
    else:
        how = "%steer pending, or lane.fill(key, tools=[...])"
        how = how if again is None else f"drop {again}, then {how}"
    rule = "credentials are in no file, so after a recovery they are given again"
    msg = f"Lane {lane.name}: {hidden[0]} is {HIDDEN!r}, and nothing was sent: {rule}: {how}."
    raise InvalidInput(msg, field=hidden[0], value=HIDDEN, rule=rule)


def _number(key: str) -> int:
    tail = key.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0
