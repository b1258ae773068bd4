"""What may be done now, and why not: one place for each rule.

Every `may_…` returns None where the thing is allowed, else the reason, as one sentence that a
person can act on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.ledger.context import rebuild
from steer_nb.ledger.required import active_continuation

if TYPE_CHECKING:
    from collections.abc import Collection

    from steer_nb.ledger.contents import RequiredInputState
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import InjectState, LaneState, LaneWord, RequestState, ResponseState

__all__ = [
    "answerable",
    "chain_tip",
    "continuation_input",
    "demanded",
    "fork_starting",
    "lane_settled",
    "lane_word",
    "may_continue",
    "may_create",
    "may_fill",
    "may_inject",
    "may_steer",
    "parent_waiting",
    "repeated",
    "standing",
    "turn_open",
    "unanswered",
]


def turn_open(response: ResponseState) -> bool:
    """Whether more of this turn will come by itself.

    A response that ended is not the end of the turn while a steer of it is unacknowledged or
    accepted (guide: a completed response "can still have a steering continuation").
    """
    if response.is_live:
        return True
    if response.status in ("completed", "incomplete") and response.live_injects:
        return True  # the acknowledgement may come after the response's own end (chapter 7)
    return response.successor is None and (bool(response.live_steers) or _cut_for_another(response))


def _cut_for_another(response: ResponseState) -> bool:
    """Whether it ended for a steer of an earlier response, whose successor is due.

    That is where each of several steers has a successor of its own (chapter 5.8 f).
    """
    lane, ended = response.lane, response.ended
    if (
        response.incomplete_reason != "steered"
        or lane.tip is not response
        or lane.connection != response.connection
        or lane.detached
        or lane.error_message is not None
        or any(steer.steer_id for steer in response.steers)
    ):
        return False
    failed = [s.failed for earlier in lane.responses for s in earlier.steers if s.steer_id]
    return not any(one is not None and ended is not None and one.seq > ended.seq for one in failed)


def unanswered(response: ResponseState) -> list[RequiredInputState]:
    """What holds a continuation back: required, and without a value."""
    return [s for s in response.required.values() if s.state == "open" and not s.optional]


def standing(lane: LaneState) -> ResponseState | None:
    """The response that the lane's conversation stands at: its newest that did not fail."""
    tip = lane.tip
    return chain_tip(lane) if tip is not None and tip.left else tip


def parent_waiting(lane: LaneState) -> ResponseState | None:
    """The lane's response whose required input is open or filled and not sent, if there is one."""
    response = standing(lane)
    if response is None or response.is_live or active_continuation(response) is not None:
        return None
    if _cut_short(response):
        return None
    return response if response.waiting_for else None


def answerable(lane: LaneState) -> ResponseState | None:
    """The lane's response whose calls can be answered now, and that waits for it.

    That is the one that has ended and waits; or one that goes on while some of its agents wait.
    """
    current = lane.current
    if current is None:
        return parent_waiting(lane)
    return current if current.multi_agent and current.waiting_for else None


def _cut_short(response: ResponseState) -> bool:
    """Whether it ended for a steer whose successor is due: nobody has to answer its calls."""
    return response.incomplete_reason == "steered" and turn_open(response)


def lane_word(lane: LaneState) -> LaneWord:
    """The lane's state in one word of the closed list."""
    if lane.closed is not None or lane.detached:
        return "detached"
    waiting = answerable(lane)
    if lane.current is not None and waiting is None:
        return "running"
    if lane.current is None and lane.queue:
        return "queued"
    if waiting is not None and any(not s.optional for s in waiting.waiting_for):
        return "waiting_input"
    if lane.current is not None:
        return "running"
    if lane.tip is not None and turn_open(lane.tip):
        return "queued"  # a successor is due, or a steer still has to be acknowledged
    recovered = lane.resumed is not None and (
        lane.tip is None or lane.tip.started.seq < lane.resumed.seq
    )
    if lane.error_message is not None or (
        lane.tip is not None and lane.tip.status in ("failed", "error") and not recovered
    ):
        return "failed"
    return "idle"


def lane_settled(lane: LaneState) -> bool:
    """Whether nothing more will happen in the lane by itself."""
    return lane_word(lane) not in ("running", "queued")


def chain_tip(lane: LaneState) -> ResponseState | None:
    """The response that the lane's next request continues from; None for a new conversation.

    A failed response cannot be continued, so the one before it is. After a recovery nothing older
    than what was chosen there is continued.
    """
    since = -1 if lane.resumed is None else lane.resumed.seq
    for response in reversed(lane.responses):
        if response.started.seq < since:
            break
        if response.status in ("in_progress", "completed", "incomplete"):
            return response
    if lane.resume == "continue":
        return next((r for r in lane.responses if r.id == lane.resume_from), None)
    return None


def repeated(ledger: Ledger, lane: LaneState) -> list[dict[str, Any]]:
    """The conversation that the lane's next request has to repeat, since a person chose so."""
    if lane.resume != "rebuild" or lane.resume_from is None or chain_tip(lane) is not None:
        return []
    context = rebuild(ledger, lane.resume_from)
    return [] if context is None else list(context.items)


def demanded(response: ResponseState) -> list[RequiredInputState]:
    """What every request that continues a response has to answer, though others have done so.

    The service keeps a response as it was when it ended: answers belong to the request that carried
    them ("No tool output found for function call ...").
    """
    if response.status != "completed":
        return []
    return [
        s
        for s in response.required.values()
        if not s.optional and not s.injected and s.state != "cancelled"
    ]


def may_create(
    ledger: Ledger,
    stream_id: str | None,
    previous_response_id: str | None,
    answered: Collection[str] = (),
) -> str | None:
    """Whether `response.create` may go out on a lane, continuing from that response.

    `answered` are the keys of the calls that its input answers.
    """
    lane = ledger.lanes.get(stream_id)
    if lane is not None and lane.detached and lane.closed is None:
        return (
            f"what the service kept for lane {lane.name} is gone with its connection. Say how it "
            "goes on: continue, rebuild or leave."
        )
    if previous_response_id is None:
        return None
    parent = ledger.responses.get(previous_response_id)
    if parent is None:
        return None  # stored by the service, perhaps: it will say
    if lane is None or parent.lane is not lane:
        if parent.is_live:
            return (
                f"{parent.id} is still being written on lane {parent.lane.name}: a fork starts "
                "from a response that has ended. Wait for it."
            )
    elif parent.successor is None and parent.live_steers and not unanswered(parent):
        return (
            f"a steer of {parent.id} is still queued and its successor comes by itself. Wait for "
            "it, or steer again."
        )
    if (reason := _inject_open(parent)) is not None:
        return reason
    carrier = active_continuation(parent)
    if carrier is not None and carrier.undecided:
        return (
            f"the continuation {carrier.key} of {parent.id} has an unknown outcome, and without "
            "its answers nothing can follow. Decide first: send it again, or drop it."
        )
    open_keys = [s.key for s in unanswered(parent)]
    # What it asked for while it is still being written has to be answered all the same.
    asks = parent.status in ("completed", "in_progress")
    if open_keys and asks:
        return (
            f"{parent.id} waits for {_answers(len(open_keys))} ({', '.join(open_keys)}): fill "
            "them and send the continuation, or answer all as cancelled."
        )
    unsent = any(not s.optional for s in parent.waiting_for)
    if unsent and asks and active_continuation(parent) is None:
        return f"the answers for {parent.id} are filled but not sent: send the continuation."
    missing = [s.key for s in demanded(parent) if s.key not in answered]
    if missing:
        return (
            f"{parent.id} asked for {', '.join(missing)}, and this would continue it without: the "
            "answers went out with its own continuation. Continue from what came after it."
        )
    return None


def fork_starting(ledger: Ledger, lane: LaneState) -> RequestState | None:
    """The fork that still needs the lane's newest response in its place, if there is one.

    With ``store`` false the service keeps a response only as the newest of its lane. Guide: wait
    for the fork's `response.in_progress` before the source lane goes on.
    """
    source = lane.tip
    if source is None or not _only_cached(source):
        return None
    for other in ledger.lanes.values():
        waiting = list(other.queue)
        if other.current is not None and not other.current.under_way:
            waiting += [one for one in (other.current.request,) if one is not None]
        for request in waiting:
            own = other is lane or request.connection != source.connection
            if request.previous_response_id == source.id and not own:
                return request
    return None


def _only_cached(response: ResponseState) -> bool:
    """Whether nothing but its connection keeps it."""
    if response.store is None and response.request is not None:
        return response.request.body.get("store") is False
    return response.store is False


def may_steer(lane: LaneState) -> str | None:
    """Whether `response.steer` may go out for what the lane is writing now."""
    if lane.detached or lane.closed is not None:
        return f"lane {lane.name} is detached: its connection is gone."
    if lane.current is not None and lane.current.multi_agent:
        return (
            f"{lane.current.id} is written by several agents, and only a single agent can be "
            "steered. Wait for its end, and send it as the next turn."
        )
    if lane.current is not None:
        return None
    if lane.queue:
        return f"the response on lane {lane.name} has not started yet; wait for it to begin."
    if parent_waiting(lane) is not None:
        return (
            f"nothing is being written on lane {lane.name}: it waits for input. Fill it, and add "
            "what you want to say to the continuation."
        )
    return f"nothing is being written on lane {lane.name}; send it as the next turn instead."


def may_fill(response: ResponseState, key: str) -> str | None:
    """Whether the required input `key` of a response can take a value."""
    stub = response.required.get(key)
    if stub is None:
        known = ", ".join(response.required) or "nothing"
        return f"{response.id} does not ask for {key!r}; it asks for {known}."
    if stub.is_open:
        return None
    reasons = {
        "sent": "its answer was already sent",
        "sending": "its answer is being sent",
        "confirmed": "its answer was already sent and used",
        "stale": "its response has moved on without it",
        "cancelled": "the service no longer asks for it",
    }
    return f"{key} cannot be filled: {reasons[stub.state]}."


def may_continue(response: ResponseState, *, again: InjectState | None = None) -> str | None:
    """Whether the one continuation of a response may go out now.

    `again` is an inject of it with an unknown outcome, whose answers go out with it once more.
    """
    if response.is_live and response.multi_agent:
        return (
            f"{response.id} is still being written: inject what its agents wait for; a "
            "continuation can follow when it ends."
        )
    if response.is_live:
        return f"{response.id} is still being written; its continuation can follow when it ends."
    carrier = active_continuation(response)
    if carrier is not None:
        if carrier.state == "unknown":
            return (
                f"the continuation of {response.id} was sent and the connection was lost before an "
                "answer came: it may have been received, so it is not sent again."
            )
        return (
            f"the continuation of {response.id} was already sent; there is one for each response."
        )
    if response.lane.detached:
        return (
            f"lane {response.lane.name} lost its connection. Say how it goes on first: continue, "
            "rebuild or leave."
        )
    if not response.required:
        return f"{response.id} asks for nothing."
    if (reason := _inject_open(response, again)) is not None:
        return reason
    if _cut_short(response):
        return f"{response.id} was cut short for a steer, and its successor comes by itself."
    if response.continued_by is not None:
        return f"{response.id} was already continued by {response.continued_by.id}."
    open_keys = [s.key for s in unanswered(response)]
    if open_keys:
        return f"{_answers(len(open_keys))} still open for {response.id}: {', '.join(open_keys)}."
    if not continuation_input(response, again=again):
        return f"nothing of what {response.id} asked for is filled."
    return None


def may_inject(response: ResponseState) -> str | None:
    """Whether answers may go out into a response that is being written."""
    lane = response.lane
    if lane.detached or lane.closed is not None:
        return f"lane {lane.name} is detached: its connection is gone."
    if not response.is_live:
        return f"{response.id} has ended: its answers go out with its continuation."
    if not response.multi_agent:
        return (
            f"{response.id} is written by a single agent, which takes no answers while it writes; "
            "its continuation can follow when it ends."
        )
    if not continuation_input(response):
        return f"nothing of what the agents of {response.id} wait for is filled."
    return None


def _inject_open(response: ResponseState, again: InjectState | None = None) -> str | None:
    """Why nothing may follow a response yet: nobody knows what its injects came to."""
    for inject in response.injects:
        if inject is again:
            continue
        if inject.undecided:
            return (
                f"the inject {inject.key} into {response.id} has an unknown outcome. Decide first: "
                "send it again, or drop it."
            )
        if inject.live:
            return (
                f"the inject {inject.key} into {response.id} is not acknowledged yet; what it "
                "carries may still come back. Wait for that."
            )
    return None


def continuation_input(
    response: ResponseState,
    *,
    keys: Collection[str] | None = None,
    again: InjectState | None = None,
) -> list[dict[str, Any]]:
    """The filled stubs of a response, in the order it asked for them.

    Only those of `keys`, where they are given; with those that `again` carried.
    """
    carried = None if again is None else again.key
    return [
        stub.item
        for stub in response.required.values()
        if (stub.state == "filled" or (stub.state == "sent" and stub.request_key == carried))
        and stub.item
        and (keys is None or stub.key in keys)
    ]


def _answers(count: int) -> str:
    return "1 answer" if count == 1 else f"{count} answers"
