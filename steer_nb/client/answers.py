"""Filling what a response waits for: each value is on the disk before it counts as given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.client.settings import HIDDEN, redacted
from steer_nb.errors import InvalidInput, TraceError
from steer_nb.ledger import rules
from steer_nb.wire import cancelled_fields, fill_stub, stub_key
from steer_nb.wire.credentials import hidden_fields, with_credentials

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from steer_nb.client.core import Core
    from steer_nb.client.settings import LaneSettings
    from steer_nb.ledger import InjectState, LaneState, RequiredInputState, ResponseState

__all__ = ["Answers", "askable"]


def askable(lane: LaneState) -> list[RequiredInputState]:
    """Required input of a lane that can still take a value, while its parent runs too."""
    running = lane.current
    parent = running if running is not None else rules.parent_waiting(lane)
    return [] if parent is None else parent.waiting_for


class Answers:
    """Fills, clears and cancels required input. It lives on the I/O thread."""

    def __init__(self, core: Core) -> None:
        self._core = core
        # Answers with credentials in them, by response and key: the trace has them hidden.
        self._whole: dict[tuple[str, str], dict[str, Any]] = {}

    def find(self, lane: LaneSettings, key: str) -> tuple[ResponseState, RequiredInputState]:
        """Find the required input `key` of a lane, the newest first: keys are unique only there.

        Raises
        ------
        InvalidInput
            If nothing in the lane asks for it.
        """
        state = self._core.ledger.lanes.get(lane.stream_id)
        asked = [] if state is None else [r for r in state.responses if key in r.required]
        for response in reversed(asked):
            if response.required[key].is_open:
                return response, response.required[key]
        if asked:
            return asked[-1], asked[-1].required[key]
        known = [] if state is None else [s.key for s in askable(state)]
        rule = f"it asks for {', '.join(known)}" if known else "it asks for nothing now"
        msg = f"Lane {lane.name} does not ask for {key!r}; {rule}."
        raise InvalidInput(msg, field="key", value=key, rule=rule)

    def open_input(self, lane: LaneSettings, key: str) -> tuple[ResponseState, RequiredInputState]:
        """Like `find`, and refuse what can no longer take a value."""
        response, stub = self.find(lane, key)
        reason = rules.may_fill(response, key)
        if reason is not None:
            raise InvalidInput(_sentence(reason), field="key", value=key, rule=reason)
        return response, stub

    def fill(self, lane: LaneSettings, key: str, by: str, fields: Mapping[str, Any]) -> None:
        """Give a required input its value; on the disk when this returns."""
        response, stub = self.open_input(lane, key)
        item = self._known(response, key, fill_stub(stub.stub, stub.call, **fields))
        self.save(lane, response, stub, item, by)

    def _known(self, parent: ResponseState, key: str, item: dict[str, Any]) -> dict[str, Any]:
        """`item` with the credentials that were given before, where it says that they are hidden.

        Raises
        ------
        InvalidInput
            Where they are not known here: after a recovery nobody knows them.
        """
        if not hidden_fields(item):
            return item
        item = with_credentials(item, self._whole.get((parent.id, key), {}))
        hidden = hidden_fields(item)
        if hidden:
            rule = "credentials are in no file, so they are given again"
            msg = f"{hidden[0]} is {HIDDEN!r}: {rule}."
            raise InvalidInput(msg, field=hidden[0], value=HIDDEN, rule=rule)
        return item

    def save(
        self,
        lane: LaneSettings,
        response: ResponseState,
        stub: RequiredInputState,
        item: dict[str, Any],
        by: str,
    ) -> None:
        """Record a filled stub, without the credentials that it may hold.

        Raises
        ------
        TraceError
            If the disk refuses it: then the value was not taken.
        """
        recorder = self._core.recorder
        place = {"lane": lane.stream_id, "parent": response.id, "key": stub.key}
        hidden = redacted(item)
        if hidden != item:
            self._whole[response.id, stub.key] = item
        recorder.note("filled", **place, item=hidden, by=by)
        try:
            recorder.sync()
        except TraceError:
            recorder.note("cleared", **place)
            raise

    def items(
        self,
        parent: ResponseState,
        *,
        keys: Collection[str] | None = None,
        again: InjectState | None = None,
    ) -> list[dict[str, Any]]:
        """The filled stubs of a response as they are to be sent, credentials and all.

        `keys` and `again` are those of `rules.continuation_input`.
        """
        items = []
        for item in rules.continuation_input(parent, keys=keys, again=again):
            whole = self._whole.get((parent.id, stub_key(item)))
            items.append(whole if whole is not None and redacted(whole) == item else item)
        return items

    def whole(self, item: dict[str, Any]) -> dict[str, Any]:
        """An answer that was given here, and that the trace has with its credentials hidden."""
        found = (whole for whole in reversed(self._whole.values()) if redacted(whole) == item)
        return next(found, item) if hidden_fields(item) else item

    def clear(self, lane: LaneSettings, key: str) -> None:
        """Take a value back that was not sent yet."""
        response, stub = self.open_input(lane, key)
        if stub.state == "filled":
            self._core.recorder.note(
                "cleared", lane=lane.stream_id, parent=response.id, key=stub.key
            )
            self._core.recorder.sync()

    def cancel_all(self, lane: LaneSettings) -> list[str]:
        """Answer everything that is open as cancelled by the user; the keys that were."""
        state = self._core.ledger.lanes.get(lane.stream_id)
        done: list[str] = []
        for stub in [] if state is None else askable(state):
            if stub.state == "open":
                response = self._core.ledger.responses[stub.parent_id]
                fields = cancelled_fields(stub.stub, stub.call)
                self.save(lane, response, stub, fill_stub(stub.stub, stub.call, **fields), "user")
                done.append(stub.key)
        return done


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:]
