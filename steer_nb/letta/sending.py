"""What is sent to a Letta agent, and when: one run at a time, and all answers in one request.

The server keeps nothing for its clients. What is said while it writes, or waits for answers, is
kept here and goes out with the lane's next request: behind the answers, or alone once the run has
ended (9.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.client.sending import NotYet, Overrides, Sender, on_lane
from steer_nb.errors import (
    InvalidInput,
    LaneBusy,
    NothingToContinue,
    SteerError,
)
from steer_nb.ledger import keeping, rules
from steer_nb.ledger.required import active_continuation
from steer_nb.letta.cancelling import cancelling
from steer_nb.letta.outlet import LettaOutlet
from steer_nb.letta.settings import prepare_letta
from steer_nb.wire import encode
from steer_nb.wire.letta.content import messages_of

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine

    from steer_nb.client.core import Core
    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool
    from steer_nb.ledger import InjectState, LaneState, RequestState, ResponseState, SteerState

__all__ = ["LettaSender"]

_TAIL: Final = "its last message is not through yet"


class LettaSender(Sender):
    """Sends messages and answers, and keeps what cannot be sent yet. It lives on the I/O thread."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self._refused: set[str] = set()

    @property
    def _way(self) -> LettaOutlet:
        assert isinstance(self._outlet, LettaOutlet)
        return self._outlet

    def look(self) -> None:
        """Send what was kept here, where nothing is in its way any more; a replay says when."""
        if self.repeating:
            return
        for lane in tuple(self._core.lanes.values()):
            state = self._core.ledger.lanes.get(lane.stream_id)
            if state is None or not lane.open or not self._core.line.takes_messages:
                continue
            kept = [steer for steer in keeping.kept_on(state) if not steer.held]
            if not kept or kept[0].key in self._refused or self._in_the_way(lane, state):
                continue
            try:
                self.create(lane, None, Overrides({}))
            except SteerError as error:
                self._refused.add(kept[0].key)  # tried once: then it is the person's to look at
                self._core.recorder.note("problem", kind="queued_here", detail=str(error))

    def _in_the_way(self, lane: LaneSettings, state: LaneState | None) -> str | None:
        """Why nothing can be said now; None where it can."""
        if state is not None and state.current is not None:
            return f"{state.current.id} is being written"
        if self._core.line.works_on(lane.stream_id) or (state is not None and state.queue):
            return _TAIL
        waiting = None if state is None else rules.parent_waiting(state)
        return None if waiting is None else f"{waiting.id} waits for answers"

    # -- what is said --------------------------------------------------------------------------

    def create(
        self, lane: LaneSettings, value: Any, overrides: Overrides, again: str | None = None
    ) -> str:
        """Send a message to an agent that does nothing, and what was kept here in front of it.

        Raises
        ------
        NotYet
            If the run before it has ended, and its stream has not: that takes a moment.
        NotConnected, UnknownLane, LaneBusy, InvalidInput
            With the reason; then nothing was sent.
        """
        self._check_open(lane)
        state = self._core.ledger.lanes.get(lane.stream_id)
        reason = self._in_the_way(lane, state)
        if reason is not None:
            busy = NotYet if reason is _TAIL else LaneBusy
            way = "steer() keeps this here, and sends it as soon as that is done"
            raise busy(on_lane(lane, f"{reason}; {way}"))
        within = self._within(again)
        kept = [steer for steer in self._kept(state) if steer.key not in within]
        messages = [*_said(kept), *([] if value is None else messages_of(value))]
        if not messages:
            rule = "a request to an agent says something"
            msg = f"Lane {lane.name}: there is nothing to say, and {rule}."
            raise InvalidInput(msg, field="input", value=value, rule=rule)
        fields, functions = _own(overrides)
        keys = [*(key for key in within if key != again), *(steer.key for steer in kept)]
        return self._way.say(lane, messages, fields, functions, steers=keys, again=again)

    @staticmethod
    def _kept(state: LaneState | None) -> list[SteerState]:
        return [] if state is None else keeping.kept_on(state)

    def _within(self, again: str | None) -> list[str]:
        """What was kept here and is in a message that is sent again: it is not sent twice."""
        ledger = self._core.ledger
        request = ledger.requests.get(again or "")
        if request is None:
            return [] if again is None else [again]
        steers = [ledger.steers[key] for key in request.steers if key in ledger.steers]
        states = ("queued_here", "unknown")
        return [one.key for one in steers if one.state in states and one.decision is None]

    def steer(self, lane: LaneSettings, value: Any, again: str | None = None) -> str:
        """Keep a message here until it can be sent; return its local key.

        Raises
        ------
        LaneBusy, InvalidInput, NotConnected, UnknownLane, TraceError
            With the reason; then nothing was kept.
        NotYet
            If the run that is in its way has not begun.
        """
        self._check_open(lane)
        messages_of(value)
        state = self._core.ledger.lanes.get(lane.stream_id)
        if self._in_the_way(lane, state) is None:
            reason = "nothing is being written; send it as the next turn instead"
            raise LaneBusy(on_lane(lane, reason))
        parent = None if state is None else state.current
        if parent is None and state is not None and not state.queue:
            parent = rules.parent_waiting(state) or state.tip
        if parent is None:
            raise NotYet(on_lane(lane, "its run has not begun yet; try again in a moment"))
        recorder, key = self._core.recorder, self._way.new_key("steer")
        more = {} if again is None else {"again": again}
        place = {"lane": lane.stream_id, "key": key, "parent": parent.id}
        recorder.note("steer_queued", **place, input=value, **more)
        try:
            recorder.sync()
        except BaseException:
            recorder.note("dropped", key=key)
            raise
        return key

    def send(self, lane: LaneSettings, value: Any, overrides: Overrides) -> tuple[str, str]:
        """Say it now, or keep it here: ``("create" or "steer", key)``."""
        self._check_open(lane)
        state = self._core.ledger.lanes.get(lane.stream_id)
        if self._in_the_way(lane, state) is None:
            return "create", self.create(lane, value, overrides)
        if overrides:
            names = ", ".join(overrides.fields) or "previous_response_id"
            rule = "what is kept here carries no settings"
            msg = f"Lane {lane.name} is busy, so this is kept for later, and {rule} ({names})."
            raise InvalidInput(msg, field=names, rule=rule)
        return "steer", self.steer(lane, value)

    # -- answers -------------------------------------------------------------------------------

    def continuation(
        self, lane: LaneSettings, items: list[dict[str, Any]], overrides: Overrides
    ) -> str:
        """Send all answers in one request, and behind them what was kept here.

        Raises
        ------
        NothingToContinue
            If nothing waits, or the answers are on their way already.
        RequiredInputOpen
            If something is unanswered.
        NotYet
            If its run has not ended entirely.
        NotConnected, UnknownLane, InvalidInput
            With the reason; then nothing was sent.
        """
        self._check_open(lane)
        parent = self._parent(lane)
        self._check_answered(lane, parent)
        if self._core.line.works_on(lane.stream_id):
            raise NotYet(on_lane(lane, "its run has not ended entirely; try again in a moment"))
        fields, functions = _own(overrides)
        kept = self._kept(parent.lane)
        return self._way.say(
            lane,
            self._messages(parent, kept, items),
            fields,
            functions,
            steers=[steer.key for steer in kept],
            parent_id=parent.id,
        )

    def _messages(
        self, parent: ResponseState, kept: list[SteerState], items: list[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        answers = {"type": "approval", "approvals": self._core.answers.items(parent)}
        return [answers, *_said(kept), *messages_of(items)]

    def answer(
        self, lane: LaneSettings, items: list[dict[str, Any]], overrides: Overrides
    ) -> tuple[str, str]:
        """All answers go out at once: ``("create", key)``."""
        return "create", self.continuation(lane, items, overrides)

    def inject(
        self,
        lane: LaneSettings,
        keys: Collection[str] | None = None,  # noqa: ARG002
        again: str | None = None,  # noqa: ARG002
    ) -> str:
        """An agent takes no answers while it writes."""
        reason = "a Letta agent takes no answers while it writes: send the continuation"
        raise NothingToContinue(on_lane(lane, reason))

    def cancel(self, lane: LaneSettings) -> Coroutine[Any, Any, str]:
        """Stop the run that is written, or release the agent that waits; see `cancelling`.

        Raises
        ------
        LaneBusy, NotConnected, UnknownLane
            With the reason; then nothing was asked.
        NotYet
            If its run has not begun, or not ended entirely.
        """
        self._check_open(lane)
        return cancelling(self._core, lane)

    def injected_again(self, lane: LaneSettings, inject: InjectState) -> str:  # noqa: ARG002
        """There is no inject."""
        return self.inject(lane)

    def answers_again(self, lane: LaneSettings, request: RequestState) -> str:
        """Send the answers of a request once more, by a person's word, and return the local key.

        Raises
        ------
        NothingToContinue, LaneBusy, NotConnected, UnknownLane
            With the reason; then nothing was sent.
        """
        self._check_open(lane)
        parent = self._core.ledger.responses.get(request.previous_response_id or "")
        if parent is None or parent.continued_by is not None:
            msg = f"{request.key} has nothing to continue any more."
            raise NothingToContinue(msg)
        carrier = active_continuation(parent)
        if carrier is not None and carrier is not request:
            msg = f"{carrier.key} already carries the answers for {parent.id}."
            raise NothingToContinue(msg)
        if self._core.line.works_on(lane.stream_id):
            raise LaneBusy(on_lane(lane, _TAIL))
        said = [one for one in request.own_input if one.get("type") == "message"]
        answers = [dict(one) for one in request.answers]
        messages = [{"type": "approval", "approvals": answers}, *messages_of(said)]
        kept, again = self._within(request.key), request.key
        say = self._way.say
        return say(lane, messages, {}, {}, steers=kept, parent_id=parent.id, again=again)

    def preview(self, lane: LaneSettings, items: list[dict[str, Any]], overrides: Overrides) -> str:
        """Return the text that `answer` would send now; the ids of its messages are made then."""
        parent = self._parent(lane)
        messages = self._messages(parent, self._kept(parent.lane), items)
        body = self._way.body(lane, messages, _own(overrides)[0])
        body["messages"] = [
            {name: value for name, value in one.items() if name != "otid"}
            for one in body["messages"]
        ]
        return encode(body)


def _said(kept: list[SteerState]) -> list[dict[str, Any]]:
    return [one for steer in kept for one in messages_of(steer.input)]


def _own(overrides: Overrides) -> tuple[dict[str, Any], dict[str, Tool]]:
    """What one request says differently from its lane."""
    if not overrides.chain:
        rule = "an agent's conversation has no other place to go on from"
        msg = f"previous_response_id cannot be given here: {rule}."
        raise InvalidInput(msg, field="previous_response_id", rule=rule)
    for name in ("agent", "conversation"):
        if name in overrides.fields:
            rule = "it is the lane's"
            msg = f"{name} cannot be given here: {rule}. Open another lane."
            raise InvalidInput(msg, field=name, value=overrides.fields[name], rule=rule)
    fields, _ = prepare_letta({k: v for k, v in overrides.fields.items() if k != "tools"})
    if "tools" in overrides.fields:
        fields["tools"] = overrides.fields["tools"]
    return fields, overrides.functions
