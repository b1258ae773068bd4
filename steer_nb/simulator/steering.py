"""Steering: chapter 5 of the protocol notes, rule by rule.

A submission is refused (``failed`` without id), or accepted and queued on its target. When the
target ends, its queue goes to one successor: created at once, or by the client's continuation where
the target waits for the client's results. The successor's ``response.created`` commits.

Nothing here waits: every decision is one step of the event loop, so no submission can slip in
between a decision and its consequence.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.chain import Steer
from steer_nb.simulator.refusals import missing
from steer_nb.simulator.requests import SteerRefused, check_steer
from steer_nb.simulator.required import stub_of
from steer_nb.simulator.steps import FailSuccessor

if TYPE_CHECKING:
    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.connection import Connection

__all__ = ["Steering"]

_MESSAGES = {
    "response_not_found": "The response to steer is not available on this connection.",
    "invalid_input": "The steering input is invalid.",
    "steering_not_supported": "The model, the request parameters, or both do not support steering.",
    "too_many_pending_steers": (
        "Too much steering input is pending for this response. Return required results with "
        "response.create; otherwise wait for the automatic continuation."
    ),
    "response_already_completed": (
        "The response has completed and no longer accepts steering input."
    ),
    "response_not_active": "The response no longer accepts steering input.",
}


class Steering:
    """All steers of one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._options = connection.options

    # From the client

    def receive(self, body: dict[str, Any]) -> None:
        """Answer one `response.steer`.

        Raises
        ------
        Refusal
            It names no response, so that no `response.steer.failed` could say which one.
        """
        connection = self._connection
        target = body.get("previous_response_id")
        if not isinstance(target, str):
            # steer.failed has to name a target, so this can only be an error event
            raise missing(param="previous_response_id")
        record = connection.responses.get(target)
        given = body.get("input", "")
        entry = connection.account.add(
            "steer",
            connection=connection.number,
            lane=None if record is None else record.lane.stream_id,
            previous_response_id=target,
            input=given,
            id=None,
            fate="received",
            code=None,
            successor_id=None,
        )
        playback = None if record is None else record.playback
        mark = None if playback is None else playback.hear()
        try:
            if mark is not None and mark.code is not None:
                raise SteerRefused(code=mark.code, message=mark.message or "")
            messages = check_steer(body, self._options)
            if record is None or mark is None or mark.steer_id is None:
                record = self._target(record, target)
        except SteerRefused as refused:
            connection.account.update(entry, fate="failed", code=refused.code)
            named = {} if mark is None or mark.steer_id is None else {"id": mark.steer_id}
            fields = {**named, "previous_response_id": target, "input": given}
            if playback is not None and mark is not None and playback.waits(mark):
                playback.refuse(mark, partial(self._failed, record, fields, refused))
            else:
                self._failed(record, fields, refused)
            return
        steer_id = connection.ids.make("steer", record.id, record.n_steers)
        if connection.seat is not None and mark is not None:
            steer_id = connection.seat.player.steer_id(mark, steer_id)
        record.n_steers += 1
        steer = Steer(steer_id, record, given, messages, entry)
        record.queued.append(steer)
        connection.account.update(entry, id=steer_id, fate="accepted")
        if playback is not None and mark is not None and playback.waits(mark):
            playback.accept(mark, steer)
        elif self._options.acknowledge == "at_once" or not record.live:
            self.acknowledge(steer)
        record.heard.set()
        if not record.live and not record.successor_due:
            self.arrange(record)

    def _target(self, record: Record | None, target: str) -> Record:
        """Give the response that takes the steer.

        Raises
        ------
        SteerRefused
            With one of the codes of 5.5.
        """
        options = self._options
        if record is None:
            msg = f"Response '{target}' is not available on this connection."
            raise SteerRefused(code="response_not_found", message=msg)
        if record.refuse_steers is not None:
            code, message = record.refuse_steers
            message = message or _MESSAGES.get(code, f"Refused: {code}.")
            record.n_refused += 1
            record.heard.set()
            raise SteerRefused(code=code, message=message)
        settings = record.settings
        if (
            not str(settings["model"]).startswith(options.steerable_models)
            or settings.get("conversation") is not None
            or settings.get("context_management")
            or record.multi_agent
        ):
            raise _refused(code="steering_not_supported")
        if not record.live and not record.successor_due:
            if record.status != "completed":
                raise _refused(code="response_not_active")
            open_calls = record.required(async_blocks=options.async_calls == "block")
            if open_calls:
                accepting = options.steer_waiting == "accept"
            else:
                accepting = options.steer_completed == "accept" and record.lane.latest is record
            if not accepting or record.continued or record.origin == "warmup":
                raise _refused(code="response_already_completed")
        if len(record.queued) >= options.max_pending_steers:
            raise _refused(code="too_many_pending_steers")
        return record

    # When a response ends, or is succeeded

    def settle(self, record: Record) -> None:
        """Decide what follows a terminal event while steers are queued."""
        if record.playback is not None and record.playback.settle(self):
            return
        if self._options.acknowledge == "after_terminal":
            for steer in record.queued:
                if not steer.acknowledged:
                    self.acknowledge(steer)
        if record.queued:
            self.arrange(record)

    def arrange(self, record: Record) -> None:
        """Decide what becomes of the queue of a response that has ended."""
        options = self._options
        open_calls = record.required(async_blocks=options.async_calls == "block")
        limited = record.status == "incomplete" and record.incomplete_reason != "steered"
        if (record.status == "failed" and (options.steer_failed == "fail" or open_calls)) or (
            limited and options.steer_limited == "fail"
        ):
            self.fail(record)
        elif open_calls:
            # 5.4, rule 9: no notice where the continuation has already been received
            if not record.lane.continuation_queued(record.id):
                # A local shell's call is not among the stubs that it may list (chapter 6).
                listed = [call for call in open_calls if call["type"] != "local_shell_call"]
                self._notify(record, [stub_of(call) for call in listed])
        elif record.fail_successor is not None:
            self.fail(record, record.fail_successor)
        else:
            record.successor_due = True
            record.lane.put_successor(record)

    def _notify(self, record: Record, required: list[dict[str, Any]]) -> None:
        """Send `response.steer.pending` for each submission that has had none (rules 7 and 10)."""
        for steer in record.queued:
            if steer.pending_sent:
                continue
            steer.pending_sent = True
            if not steer.acknowledged:
                self.acknowledge(steer)
            self._connection.account.update(steer.entry, fate="pending")
            self._connection.emit(
                steer.parent,
                "response.steer.pending",
                steer={"id": steer.id, "previous_response_id": steer.parent.id},
                reason="waiting_for_required_input",
                required_input=required,
            )

    def commit(self, record: Record, successor: Record) -> None:
        """Note that `successor`, whose `response.created` was just written, took the queue."""
        record.queued = [steer for steer in record.queued if steer not in successor.applied]
        if successor.origin == "successor":
            record.successor_due = False
            if self._options.several_steers == "each" and record.playback is None:
                # 5.8 f: what it did not take waits on it for a successor of its own
                successor.queued, record.queued = record.queued, []
        for steer in successor.applied:
            self._connection.account.update(
                steer.entry, fate="committed", successor_id=successor.id
            )
            if not steer.acknowledged:
                self.acknowledge(steer)

    def fail(self, record: Record, message: str | None = None) -> None:
        """Give every queued steer back: no successor will carry it (rule 11)."""
        refused = SteerRefused(
            code="successor_creation_failed", message=message or FailSuccessor().message
        )
        queued, record.queued, record.successor_due = record.queued, [], False
        for steer in queued:
            self._connection.account.update(steer.entry, fate="failed", code=refused.code)
            fields = {
                "id": steer.id,
                "previous_response_id": steer.parent.id,
                "input": steer.input,
            }
            if not steer.acknowledged:
                self.acknowledge(steer)
            self._failed(steer.parent, fields, refused)

    def lose(self) -> None:
        """The connection is gone, and queued steering input with it (rule 12)."""
        for record in self._connection.responses.values():
            for steer in record.queued:
                self._connection.account.update(steer.entry, fate="lost")
            record.queued, record.successor_due = [], False

    def acknowledge(self, steer: Steer) -> None:
        """Write `response.steer.accepted`."""
        steer.acknowledged = True
        self._connection.emit(
            steer.parent,
            "response.steer.accepted",
            steer={"id": steer.id, "previous_response_id": steer.parent.id},
        )

    def _failed(self, record: Record | None, steer: dict[str, Any], refused: SteerRefused) -> None:
        error = {
            "type": "invalid_request_error",
            "code": refused.code,
            "message": refused.message,
        }
        if record is not None:
            self._connection.emit(record, "response.steer.failed", steer=steer, error=error)
            return
        self._connection.write(
            {
                "type": "response.steer.failed",
                "sequence_number": self._options.unknown_target_sequence,
                "steer": steer,
                "error": error,
            }
        )


def _refused(*, code: str) -> SteerRefused:
    return SteerRefused(code=code, message=_MESSAGES[code])
