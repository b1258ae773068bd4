"""What is sent: each request is asked for by the rules, built, and let out.

Every rule of what may be sent now is `steer_nb.ledger.rules`'; here they are asked in the same turn
of the I/O thread in which the request is recorded, so that two callers cannot both be first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.client.outlet import check_whole
from steer_nb.client.settings import merge, redacted
from steer_nb.client.tools import split_tools
from steer_nb.errors import (
    InvalidInput,
    LaneBusy,
    NothingToContinue,
    RequiredInputOpen,
    UnknownLane,
)
from steer_nb.ledger import rules
from steer_nb.ledger.context import as_items
from steer_nb.ledger.required import active_continuation, answer_keys
from steer_nb.wire import (
    encode,
    response_create,
    response_inject,
    response_steer,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Coroutine, Mapping

    from steer_nb.client.core import Core
    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool
    from steer_nb.ledger import InjectState, LaneState, RequestState, ResponseState

__all__ = ["NotYet", "Overrides", "Sender", "on_lane"]


class NotYet(LaneBusy):
    """A response is about to begin that has to begin first; asking again soon may succeed."""


class Overrides:
    """What one request says differently from its lane.

    Parameters
    ----------
    given : mapping
        Fields of `response.create`; None takes a field out. `tools` may hold functions.
        `previous_response_id` may be a response handle or None for a new chain.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.fields = dict(given)
        self.functions: dict[str, Tool] = {}
        self.chain = "previous_response_id" not in self.fields
        self.previous: str | None = None
        if not self.chain:
            previous = self.fields.pop("previous_response_id")
            self.previous = getattr(previous, "id", previous)
            if previous is not None and not isinstance(self.previous, str):
                msg = f"previous_response_id is {previous!r}: give a response that has begun."
                raise InvalidInput(msg, field="previous_response_id", value=previous, rule="an id")
        for name, why in (("input", "is the first argument"), ("stream_id", "is the lane's name")):
            if name in self.fields:
                msg = f"{name} cannot be given here: it {why}."
                raise InvalidInput(msg, field=name, value=self.fields[name], rule=why)
        if self.fields.get("tools") is not None:
            self.fields["tools"], self.functions = split_tools(self.fields["tools"])

    def __bool__(self) -> bool:
        return bool(self.fields) or not self.chain


class Sender:
    """Sends creates, steers, continuations and injects. It lives on the I/O thread.

    While it is `repeating`, a recording says when each thing is sent: nothing goes out by itself.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._outlet = core.outlet
        self.repeating = False

    def look(self) -> None:
        """Send what waits here and may go now: in this dialect the service has all of it."""

    # -- the three requests ------------------------------------------------------------------

    def create(
        self, lane: LaneSettings, value: Any, overrides: Overrides, again: str | None = None
    ) -> str:
        """Send `response.create` and return its local key.

        Raises
        ------
        NotConnected, UnknownLane, LaneBusy, InvalidInput, InvalidLane
            With the reason; then nothing was sent.
        NotYet
            If the request before it has no id to chain on yet, or a fork has to start first.
        """
        self._check_open(lane)
        state = self._core.ledger.lanes.get(lane.stream_id)
        body = merge(lane.fields, overrides.fields)
        repeated: list[dict[str, Any]] = []
        if value is not None:
            body["input"] = value
        if not overrides.chain:
            body["previous_response_id"] = overrides.previous
        elif body.get("conversation") is None:
            previous = self._tip(lane, state)
            if previous is not None:
                body["previous_response_id"] = previous
            elif state is not None and (repeated := rules.repeated(self._core.ledger, state)):
                body["input"] = [*repeated, *as_items(value)]
        reason = rules.may_create(
            self._core.ledger,
            lane.stream_id,
            body.get("previous_response_id"),
            answer_keys(body.get("input")),
        )
        if reason is not None:
            raise LaneBusy(on_lane(lane, reason))
        self._check_forks(lane)
        return self._outlet.create(lane, body, overrides.functions, again, len(repeated))

    def steer(self, lane: LaneSettings, value: Any, again: str | None = None) -> str:
        """Send `response.steer` for what the lane is writing and return its local key.

        Raises
        ------
        NotConnected, UnknownLane, LaneBusy, InvalidInput
            With the reason; then nothing was sent.
        NotYet
            If the response to steer has not begun.
        """
        self._check_open(lane)
        state = self._core.ledger.lanes.get(lane.stream_id)
        if state is None or state.current is None:
            if state is not None and rules.lane_word(state) == "queued":
                msg = f"Lane {lane.name}: its response has not started yet; try again in a moment."
                raise NotYet(msg)
            reason = "nothing is being written; send it as the next turn instead"
            told = None if state is None else rules.may_steer(state)
            raise LaneBusy(on_lane(lane, told or reason))
        if (refused := rules.may_steer(state)) is not None:
            raise LaneBusy(on_lane(lane, refused))
        request = response_steer(state.current.id, value)
        return self._outlet.let_out("steer", lane, request, again)

    def send(self, lane: LaneSettings, value: Any, overrides: Overrides) -> tuple[str, str]:
        """Steer what is being written, else create: ``("steer" or "create", key)``."""
        self._check_open(lane)
        state = self._core.ledger.lanes.get(lane.stream_id)
        if state is not None and rules.lane_word(state) in ("running", "queued"):
            if overrides:
                names = ", ".join(overrides.fields) or "previous_response_id"
                msg = (
                    f"Lane {lane.name} is running, so this is a steer, which carries no settings "
                    f"({names}): wait for its end, or leave them out."
                )
                raise InvalidInput(msg, field=names, rule="a steer carries only its input")
            return "steer", self.steer(lane, value)
        return "create", self.create(lane, value, overrides)

    def continuation(
        self, lane: LaneSettings, items: list[dict[str, Any]], overrides: Overrides
    ) -> str:
        """Send the one continuation of the lane's waiting response and return its local key.

        Raises
        ------
        NothingToContinue
            If nothing waits, or its continuation is on its way already.
        RequiredInputOpen
            If something is unanswered.
        NotYet
            If a fork has to start first.
        LaneBusy, NotConnected, UnknownLane, InvalidInput
            With the reason; then nothing was sent.
        """
        self._check_open(lane)
        parent = self._parent(lane)
        self._check_attached(lane, parent)
        self._check_answered(lane, parent)
        body = self._continuation_body(lane, parent, items, overrides)
        self._check_forks(lane)
        return self._outlet.create(lane, body, overrides.functions, None)

    def inject(
        self,
        lane: LaneSettings,
        keys: Collection[str] | None = None,
        again: str | None = None,
    ) -> str:
        """Send what is filled into the response that is written, and return the local key.

        Parameters
        ----------
        keys : collection of str, optional
            Only the answers of these calls.

        Raises
        ------
        NothingToContinue
            If the lane writes no multi-agent response, or nothing of it is filled.
        NotConnected, UnknownLane, InvalidInput
            With the reason; then nothing was sent.
        """
        self._check_open(lane)
        state = self._core.ledger.lanes.get(lane.stream_id)
        parent = None if state is None else state.current or state.tip
        if parent is None:
            msg = f"Lane {lane.name} has nothing to inject into: nothing was sent on it yet."
            raise NothingToContinue(msg)
        reason = rules.may_inject(parent)
        if reason is not None:
            raise NothingToContinue(on_lane(lane, reason))
        items = self._core.answers.items(parent, keys=keys)
        check_whole(lane, {"previous_response_id": parent.id, "input": items}, again)
        request = response_inject(parent.id, items)
        return self._outlet.let_out("inject", lane, request, again)

    def answer(
        self, lane: LaneSettings, items: list[dict[str, Any]], overrides: Overrides
    ) -> tuple[str, str]:
        """Inject while the response is written, else continue: ``("inject" or "create", key)``."""
        state = self._core.ledger.lanes.get(lane.stream_id)
        if state is not None and state.current is not None and state.current.multi_agent:
            if items or overrides:
                rule = "an inject carries only answers"
                msg = (
                    f"Lane {lane.name} is still writing, so this is an inject, and {rule}: wait "
                    "for its end, or leave the rest out."
                )
                raise InvalidInput(msg, field="input", rule=rule)
            return "inject", self.inject(lane)
        return "create", self.continuation(lane, items, overrides)

    def cancel(self, lane: LaneSettings) -> Coroutine[Any, Any, str]:
        """Say how what goes on in a lane is cancelled; it is asked for once that is awaited.

        Raises
        ------
        InvalidInput
            Always: no event of this dialect cancels a response.
        """
        rule = "the Responses API cancels nothing on a WebSocket"
        msg = f"Lane {lane.name} cannot be cancelled: {rule}. Steer it, or let it end."
        raise InvalidInput(msg, field="cancel", rule=rule)

    def injected_again(self, lane: LaneSettings, inject: InjectState) -> str:
        """Send an inject's answers once more, with a continuation; return the local key.

        Raises
        ------
        NothingToContinue, LaneBusy, RequiredInputOpen, NotConnected, UnknownLane
            With the reason; then nothing was sent.
        """
        self._check_open(lane)
        parent = inject.parent
        assert parent is not None
        self._check_attached(lane, parent)
        reason = rules.may_continue(parent, again=inject)
        if reason is not None:
            unanswered = tuple(stub.key for stub in rules.unanswered(parent))
            if unanswered:
                raise RequiredInputOpen(on_lane(lane, reason), keys=unanswered)
            raise NothingToContinue(on_lane(lane, reason))
        body = merge(lane.fields)
        body["previous_response_id"] = parent.id
        body["input"] = self._core.answers.items(parent, again=inject)
        self._check_forks(lane)
        return self._outlet.create(lane, body, {}, inject.key)

    def answers_again(self, lane: LaneSettings, request: RequestState) -> str:
        """Send a continuation's answers once more, by a person's word, and return the local key.

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
        self._check_attached(lane, parent)
        carrier = active_continuation(parent)
        if carrier is not None and carrier is not request:
            msg = f"{carrier.key} already carries the answers for {parent.id}."
            raise NothingToContinue(msg)
        own = {
            name: value
            for name, value in request.body.items()
            if name not in ("type", "stream_id", "tools")
        }
        self._check_forks(lane)
        return self._outlet.create(lane, merge(lane.fields, own), {}, request.key)

    def preview(self, lane: LaneSettings, items: list[dict[str, Any]], overrides: Overrides) -> str:
        """Return the text that `answer` would send now, without what is unanswered yet.

        Credentials of MCP tools are hidden in it, as in the trace: it is there to be shown.
        """
        parent = self._parent(lane)
        if parent.is_live and parent.multi_agent:
            reason = rules.may_inject(parent)
            if reason is not None:
                raise NothingToContinue(on_lane(lane, reason))
            return encode(redacted(response_inject(parent.id, self._core.answers.items(parent))))
        body = self._continuation_body(lane, parent, items, overrides)
        return encode(redacted(response_create(stream_id=lane.stream_id, **body)))

    # -- what they have in common ------------------------------------------------------------

    def _check_open(self, lane: LaneSettings) -> None:
        if not lane.open:
            msg = f"Lane {lane.name} was closed; session.lane({lane.name!r}) opens it again."
            raise UnknownLane(msg)
        self._core.line.require()

    def _check_attached(self, lane: LaneSettings, parent: ResponseState) -> None:
        if parent.lane.detached:
            raise LaneBusy(on_lane(lane, rules.may_create(self._core.ledger, lane.stream_id, None)))

    def _check_answered(self, lane: LaneSettings, parent: ResponseState) -> None:
        """Refuse a continuation that would lack answers, or that there is already."""
        reason = rules.may_continue(parent)
        if reason is None:
            return
        unanswered = tuple(stub.key for stub in rules.unanswered(parent))
        if unanswered and rules.parent_waiting(parent.lane) is parent:
            msg = f"{on_lane(lane, reason)} Fill them, or answer all as cancelled."
            raise RequiredInputOpen(msg, keys=unanswered)
        raise NothingToContinue(on_lane(lane, reason))

    def _check_forks(self, lane: LaneSettings) -> None:
        """Hold back what would take the place of a response that a fork has still to start from."""
        state = self._core.ledger.lanes.get(lane.stream_id)
        fork = None if state is None else rules.fork_starting(self._core.ledger, state)
        if fork is None:
            return
        msg = (
            f"Lane {lane.name}: {fork.previous_response_id} is not stored, so it is kept only "
            f"until this lane goes on, and {fork.key} on lane {fork.lane.name}, which continues "
            "from it, has not started yet"
        )
        before = fork.lane.current
        if before is not None and before.request is not fork:
            msg = f"{msg}: it waits behind {before.id}. Wait for it."
            raise LaneBusy(msg)
        msg = f"{msg}; try again in a moment."
        raise NotYet(msg)

    def _tip(self, lane: LaneSettings, state: LaneState | None) -> str | None:
        begun = 0 if state is None else len(state.responses)
        if lane.base is not None and begun <= lane.n_before_base:
            return lane.base
        if state is None:
            return None
        if state.queue:
            # What this should continue from has no id yet.
            what = "The request before it has not started yet"
            if state.current is not None:
                msg = (
                    f"Lane {lane.name}: {what.lower()} and waits behind {state.current.id}. Wait, "
                    "or say previous_response_id=... yourself (None begins a new conversation)."
                )
                raise LaneBusy(msg)
            msg = f"Lane {lane.name}: {what.lower()}; try again in a moment."
            raise NotYet(msg)
        tip = rules.chain_tip(state)
        return None if tip is None else tip.id

    def _parent(self, lane: LaneSettings) -> ResponseState:
        state = self._core.ledger.lanes.get(lane.stream_id)
        parent = None if state is None else rules.answerable(state) or state.tip
        if parent is None:
            msg = f"Lane {lane.name} has nothing to continue: nothing was sent on it yet."
            raise NothingToContinue(msg)
        if not parent.required:
            raise NothingToContinue(on_lane(lane, f"{parent.id} asks for nothing."))
        return parent

    def _continuation_body(
        self,
        lane: LaneSettings,
        parent: ResponseState,
        items: list[dict[str, Any]],
        overrides: Overrides,
    ) -> dict[str, Any]:
        if not overrides.chain:
            rule = "a continuation belongs to the response that waits"
            msg = f"previous_response_id cannot be given here: {rule}."
            raise InvalidInput(msg, field="previous_response_id", rule=rule)
        body = merge(lane.fields, overrides.fields)
        body["previous_response_id"] = parent.id
        body["input"] = [*self._core.answers.items(parent), *items]
        return body


def on_lane(lane: LaneSettings, reason: str | None) -> str:
    """A reason as a sentence about a lane."""
    text = (reason or "it cannot take this now").rstrip(".")
    return f"Lane {lane.name}: {text}."
