"""Injects: answers for agents that wait in a running response (chapter 7).

All items of one are committed or none. What cannot be committed since its response is not there, or
has ended, comes back in ``response.inject.failed``; what is malformed, or answers no call, gets an
`error` event, as there is no code for it in the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.simulator.refusals import Refusal, invalid, missing, unknown_parameter
from steer_nb.simulator.required import match_results
from steer_nb.wire import STUB_KINDS

if TYPE_CHECKING:
    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.connection import Connection
    from steer_nb.simulator.recording import InjectMark

__all__ = ["Injecting"]

_MESSAGES = {
    "response_not_found": "The response to inject into is not available on this connection.",
    "response_already_completed": "The response has completed and no longer accepts input.",
}


class Injecting:
    """All injects of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._options = connection.options
        self._late: list[tuple[Record, dict[str, Any]]] = []

    def receive(self, body: dict[str, Any]) -> None:
        """Answer one `response.inject`."""
        connection = self._connection
        target, given = body.get("response_id"), body.get("input")
        record = connection.responses.get(target) if isinstance(target, str) else None
        entry = connection.account.add(
            "inject",
            connection=connection.number,
            lane=None if record is None else record.lane.stream_id,
            response_id=target,
            input=given,
            fate="received",
            code=None,
        )
        try:
            items = _check(body)
            if record is None or not record.live:
                code = "response_not_found" if record is None else "response_already_completed"
                connection.account.update(entry, fate="failed", code=code)
                self._failed(record, str(target), items, code)
                return
            mark = None if record.playback is None else record.playback.injects.next()
            if mark is not None and not mark.committed:
                self._as_recorded(record, mark, items, entry)
                return
            results = self._match(record, items)
        except Refusal as refusal:
            connection.account.update(
                entry, fate="refused", code=refusal.code, error_message=refusal.message
            )
            connection.write(refusal.event(None if record is None else record.lane.stream_id))
            if self._options.malformed_inject_close is not None:
                close = connection.line.close(
                    self._options.malformed_inject_close, "malformed inject"
                )
                connection.spawn(close)
            return
        self._commit(record, results)
        connection.account.update(entry, fate="created")
        if mark is not None and record.playback is not None:
            record.playback.injects.take(mark, items)
            record.heard.set()
            if mark.event is not None:
                return
        if self._options.inject_acknowledge == "at_once":
            self._created(record)
        else:
            self._late.append((record, entry))

    def _as_recorded(
        self, record: Record, mark: InjectMark, items: list[dict[str, Any]], entry: dict[str, Any]
    ) -> None:
        """Refuse an inject as the recorded service did."""
        assert record.playback is not None
        assert mark.event is not None
        fate = "refused" if mark.event["type"] == "error" else "failed"
        error = mark.event.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        self._connection.account.update(entry, fate=fate, code=code)
        record.playback.injects.take(mark, items)
        record.heard.set()

    def _match(self, record: Record, items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        if record.team is None and record.playback is None:
            msg = f"Response '{record.id}' has no agent that waits for input."
            raise invalid(param="response_id", message=msg)
        return match_results(items, record.calls, must_answer=False, async_blocks=False)[0]

    def _commit(self, record: Record, results: dict[str, dict[str, Any]]) -> None:
        for key, item in results.items():
            record.injected.append(item)
            call = record.calls.pop(key)
            if record.team is not None:
                record.team.give(key, item, call)

    def settle(self, record: Record) -> None:
        """The response ended: what was not acknowledged yet is now."""
        if record.playback is not None:
            record.playback.injects.settle()
        late, self._late = self._late, []
        for one, entry in late:
            if one is record:
                self._created(record)
            else:
                self._late.append((one, entry))

    def _created(self, record: Record) -> None:
        self._connection.emit(record, "response.inject.created", response_id=record.id)

    def _failed(
        self, record: Record | None, target: str, items: list[dict[str, Any]], code: str
    ) -> None:
        fields = {
            "response_id": target,
            "input": items,
            "error": {"code": code, "message": _MESSAGES[code]},
        }
        if record is not None:
            self._connection.emit(record, "response.inject.failed", **fields)
            return
        number = self._options.unknown_target_sequence
        self._connection.write(
            {"type": "response.inject.failed", "sequence_number": number, **fields}
        )


def _check(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Give the items of an inject.

    Raises
    ------
    Refusal
        A fourth field, no response, no items, or an item that is no client-owned tool output.
    """
    for name in body:
        if name not in ("type", "response_id", "input"):
            raise unknown_parameter(param=name)
    if not isinstance(body.get("response_id"), str):
        raise missing(param="response_id")
    items = body.get("input")
    if not isinstance(items, list) or not items:
        msg = "Invalid type for 'input': expected a non-empty array of tool outputs."
        raise Refusal(msg, code="invalid_type", param="input")
    for index, item in enumerate(items):
        kind = item.get("type") if isinstance(item, dict) else None
        if kind not in STUB_KINDS:
            msg = "response.inject accepts client-owned tool outputs only."
            raise invalid(param=f"input[{index}].type", message=msg)
    return items
