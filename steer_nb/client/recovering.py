"""After a lost connection: a person says how a lane goes on, and what becomes of the unknown.

All of it runs on the I/O thread, in the same turn as the rules are asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.client.sending import Overrides
from steer_nb.errors import InvalidInput, LaneBusy, NothingToContinue
from steer_nb.ledger import InjectState, deciding, recovery
from steer_nb.ledger.context import as_items

if TYPE_CHECKING:
    from steer_nb.client.core import Core
    from steer_nb.client.settings import LaneSettings
    from steer_nb.ledger import RequestState, SteerState
    from steer_nb.ledger.recovery import Offer

__all__ = ["drop", "offer_of", "recover", "send_again"]


def offer_of(core: Core, lane: LaneSettings) -> Offer | None:
    """What is true of a lane that lost its connection, and what can be done."""
    state = core.ledger.lanes.get(lane.stream_id)
    return None if state is None else recovery.offer(core.ledger, state)


def recover(core: Core, lane: LaneSettings, word: str | None) -> None:
    """Let a lane go on as a person chose; on the disk when this returns.

    Raises
    ------
    LaneBusy
        If there is nothing to recover.
    InvalidInput
        If that is not offered, with what is.
    """
    offer = offer_of(core, lane)
    if offer is None:
        msg = f"Lane {lane.name} needs no recovery: it did not lose its connection."
        raise LaneBusy(msg)
    choice = offer.choices[0] if word is None else offer.choice(word)
    if choice is None:
        offered = "; ".join(f"{c.word!r}: {c.says}" for c in offer.choices)
        msg = f"Lane {lane.name} cannot be recovered by {word!r}. Offered: {offered}."
        raise InvalidInput(msg, field="choice", value=word, rule="one of what is offered")
    core.recorder.note("lane_recovered", lane=lane.stream_id, choice=choice.word, base=choice.base)
    core.recorder.sync()


def send_again(core: Core, key: str) -> tuple[str, str]:
    """Send the input of an unknown or failed message once more, by a person's word.

    An inject's answers go out with the continuation: its response has ended by then.

    A steer goes into what its lane is writing now, or is the lane's next turn. A request goes out
    as it was, from where its lane goes on now.

    Returns
    -------
    kind, key : str
        ``"steer"`` or ``"create"``, and the new message's local key.

    Raises
    ------
    LaneBusy, NotConnected, NothingToContinue
        With the reason; then nothing was sent.
    """
    steer = core.ledger.steers.get(key)
    if steer is not None:
        return _steer_again(core, steer)
    inject = core.ledger.injects.get(key)
    if inject is not None:
        return "create", _inject_again(core, inject)
    return "create", _request_again(core, core.ledger.requests[key])


def _steer_again(core: Core, steer: SteerState) -> tuple[str, str]:
    if steer.decision is not None or not _may_decide(core, steer):
        raise LaneBusy(_settled(steer.key, steer.state, steer.decision, steer.again_key))
    if steer.lane is None:
        msg = f"{steer.key} belongs to no lane of this session."
        raise NothingToContinue(msg)
    lane = core.lanes[steer.lane.stream_id]
    if steer.lane.current is not None:
        return "steer", core.sender.steer(lane, steer.input, steer.key)
    return "create", core.sender.create(lane, steer.input, Overrides({}), steer.key)


def _request_again(core: Core, request: RequestState) -> str:
    if request.decision is not None or not _may_decide(core, request):
        raise LaneBusy(_settled(request.key, request.state, request.decision, request.again_key))
    lane = core.lanes[request.lane.stream_id]
    value = request.own_input  # what it repeated may have grown, or be stored
    if request.answers and request.lane.resume != "rebuild":
        return core.sender.answers_again(lane, request)
    if request.answers:  # the repeated conversation holds the answers already
        value = [item for item in as_items(value) if item not in request.answers]
    own = {
        name: given
        for name, given in request.body.items()
        if name not in ("type", "stream_id", "previous_response_id", "input", "tools")
    }
    return core.sender.create(lane, value or None, Overrides(own), request.key)


def _inject_again(core: Core, inject: InjectState) -> str:
    if not inject.undecided:
        if inject.state == "failed" and inject.decision is None:
            msg = f"{inject.key} failed; its answers are kept, and go out with the continuation."
            raise LaneBusy(msg)
        raise LaneBusy(_settled(inject.key, inject.state, inject.decision, inject.again_key))
    if inject.lane is None:
        msg = f"{inject.key} belongs to no lane of this session."
        raise NothingToContinue(msg)
    return core.sender.injected_again(core.lanes[inject.lane.stream_id], inject)


def drop(core: Core, key: str) -> None:
    """Do without a message that `send_again` would take; on the disk at the return.

    Raises
    ------
    LaneBusy
        If it went through, or was decided.
    """
    ledger = core.ledger
    found = ledger.steers.get(key) or ledger.injects.get(key) or ledger.requests[key]
    if found.decision is not None or not _may_decide(core, found):
        raise LaneBusy(_settled(key, found.state, found.decision, found.again_key))
    core.recorder.note("dropped", key=key)
    core.recorder.sync()


def _may_decide(core: Core, message: SteerState | RequestState | InjectState) -> bool:
    """Whether it is a person's to say what becomes of it: nobody knows, or it came to nothing."""
    if isinstance(message, InjectState):
        return message.undecided  # what failed is not lost: its answers are filled again
    if message.state in ("unknown", "failed", "unsent", "queued_here"):
        return True
    return deciding.came_to_nothing(core.ledger, message)


def _settled(key: str, state: str, decision: str | None, again: str | None) -> str:
    if decision == "sent_again":
        return f"{key} was already sent again, as {again}."
    if decision == "dropped":
        return f"{key} was dropped."
    return f"{key} is {state}: there is nothing to decide."
