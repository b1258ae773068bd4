"""The rules of required input: what a response waits for, and one answer for each.

A response's own client-owned calls say what it needs; `response.steer.pending` lists the same when
it comes, and may come late or never (guide: "you do not need to wait"). Values are filled, saved,
and carried by one continuation for each parent; where several agents write, an inject
(`steer_nb.ledger.injecting`) may carry some of them into the running response before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steer_nb.errors import InvalidInput
from steer_nb.ledger import drafts
from steer_nb.ledger.contents import RequiredInputState, ToolRun
from steer_nb.wire import is_answer, stub_key

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import InjectState, RequestState, ResponseState
    from steer_nb.trace.entries import Entry

__all__ = [
    "active_continuation",
    "answer_keys",
    "answers_returned",
    "answers_sent",
    "asked",
    "came_to_nothing",
    "carry",
    "cleared",
    "filled",
    "listed",
    "parent_continued",
    "reopened",
    "set_aside",
    "tool_finished",
    "tool_started",
]


def asked(
    parent: ResponseState, fact: f.ItemFinished, entry: Entry, agent: str | None = None
) -> None:
    """A call that the client owns is complete: its result is needed."""
    assert fact.stub is not None
    key = stub_key(fact.stub)
    known = parent.required.get(key)
    if known is None:
        parent.required[key] = RequiredInputState(
            key=key,
            type=str(fact.stub.get("type", "")),
            parent_id=parent.id,
            stub=fact.stub,
            first_seen=entry,
            source=fact.asked_in,
            call=fact.item,
            optional=fact.optional,
            agent=agent,
        )
    elif known.call is None:  # `pending` came first and knew only the stub
        known.call = fact.item


# What the list has no stub for (`ResponseSteerRequiredInput`): that it is not named says nothing.
_UNLISTED: Final = frozenset({"local_shell_call_output"})


def listed(ledger: Ledger, parent: ResponseState, fact: f.SteerPending, entry: Entry) -> None:
    """The service's own list. It is the last word on what is still needed.

    Several steers of one parent report the same list; they still need one continuation.
    """
    named: set[str] = set()
    carrier = active_continuation(parent)
    answered = {} if carrier is None else {_key(a): a for a in carrier.answers}
    for stub in fact.stubs:
        key = _key(stub)
        if key is None:
            where = f"{parent.id}: a stub of type {stub.get('type')!r} that nothing identifies"
            ledger.problem("odd_field", where, entry)
            continue
        named.add(key)
        known = parent.required.get(key)
        if known is not None:
            known.optional = False
            continue
        fresh = RequiredInputState(
            key=key,
            type=str(stub.get("type", "")),
            parent_id=parent.id,
            stub=stub,
            first_seen=entry,
            source="steer_pending",
        )
        parent.required[key] = fresh
        if carrier is not None and key in answered:
            # The continuation was early: it already holds this answer (hard case 28).
            _carried(fresh, carrier, answered[key])
        elif parent.continued_by is not None:
            fresh.state = "stale"
    if fact.reason == "waiting_for_required_input" and named:
        for stub_state in parent.required.values():
            if stub_state.type in _UNLISTED:
                continue
            if stub_state.key not in named and stub_state.is_open and not stub_state.optional:
                stub_state.state = "cancelled"


def filled(ledger: Ledger, fact: f.InputFilled, entry: Entry) -> ResponseState | None:
    """A value was given, or changed before it was sent."""
    parent = ledger.responses.get(fact.parent_id)
    stub = None if parent is None else parent.required.get(fact.key)
    if stub is None or not stub.is_open:
        ledger.problem("orphan_output", f"{fact.parent_id}: nothing asks for {fact.key}", entry)
        return parent
    stub.state = "filled"
    stub.item = fact.item
    stub.filled = entry
    stub.filled_by = fact.by
    stub.lost = False
    if fact.by == "user":
        stub.typing = False  # the draft became this
    return parent


def cleared(ledger: Ledger, fact: f.InputCleared, _: Entry) -> ResponseState | None:
    """A value was taken back before it was sent."""
    parent = ledger.responses.get(fact.parent_id)
    stub = None if parent is None else parent.required.get(fact.key)
    if stub is not None and stub.state == "filled":
        stub.state = "open"
        stub.item = stub.filled = stub.filled_by = None
    return parent


def answers_sent(
    ledger: Ledger, request: RequestState, parent: ResponseState | None, entry: Entry
) -> None:
    """A continuation is written. From here on its values may have been received."""
    if parent is None:
        # A continuation of something that this trace never saw: the service will judge it.
        return
    parent.continuations.append(request)
    carry(ledger, request, parent, entry)


def carry(
    ledger: Ledger, message: RequestState | InjectState, parent: ResponseState, entry: Entry
) -> None:
    """A message with answers for the parent is written."""
    for answer in message.answers:
        key = _key(answer)
        stub = None if key is None else parent.required.get(key)
        if stub is None:
            what = key or f"a {answer.get('type')} without a key"
            ledger.problem("orphan_output", f"{parent.id}: nothing asks for {what}", entry)
        elif stub.is_open or stub.state == "stale":
            _carried(stub, message, answer)


def answers_returned(ledger: Ledger, request: RequestState | InjectState) -> None:
    """The message was refused, or never left: its values are kept, to be sent again."""
    parent = ledger.responses.get(request.previous_response_id or "")
    if parent is None:
        return
    for stub in parent.required.values():
        if stub.request_key == request.key and stub.state == "sent":
            stub.state = "filled"
            stub.sent = stub.request_key = None
            drafts.ask_again(stub)
    lane = parent.lane
    left = lane.resumed if lane.resume in ("rebuild", "leave") else None
    if left is not None and parent.started.seq < left.seq:
        set_aside(parent)  # a person left it: a repeated conversation holds the answers


def parent_continued(parent: ResponseState, successor: ResponseState) -> None:
    """A successor exists: what its request carried is confirmed, the rest no longer needed."""
    request = successor.request
    for stub in parent.required.values():
        if request is not None and stub.request_key == request.key:
            if stub.state != "confirmed":  # a history may have shown it before
                stub.state = "sent" if stub.is_shown else "confirmed"
            stub.continuation_response_id = successor.id
    set_aside(parent)


def came_to_nothing(ledger: Ledger, response: ResponseState) -> None:
    """A response failed: the conversation goes on from before it, and what it was told is not lost.

    The answers that its request carried are needed again, and are kept; that request, or a steer
    that it had taken up, can be sent again by a person's word.
    """
    set_aside(response)
    response.left = True
    if response.request is not None:
        response.request.left = True
    parent = ledger.responses.get(response.previous_response_id or "")
    if parent is not None and parent.lane is response.lane and parent.status == "completed":
        reopened(parent)


def reopened(parent: ResponseState) -> None:
    """A lane goes on from it anew: the service still waits for answers, those filled are kept."""
    carrier = active_continuation(parent)
    carriers = {inject.key for inject in parent.injects if inject.live or inject.undecided}
    if carrier is not None:
        carriers.add(carrier.key)
    for stub in parent.required.values():
        kept = stub.request_key in carriers or stub.injected
        kept = kept or (stub.is_shown and stub.state == "confirmed")  # it is done, and stays so
        if kept or stub.state not in ("stale", "sent", "confirmed"):
            continue
        stub.state = "open" if stub.item is None else "filled"
        stub.sent = stub.request_key = stub.continuation_response_id = None
        drafts.ask_again(stub)


def tool_started(ledger: Ledger, fact: f.ToolStarted, entry: Entry) -> ResponseState | None:
    """One of the person's functions runs for a call."""
    parent = ledger.responses.get(fact.parent_id)
    stub = None if parent is None else parent.required.get(fact.key)
    if stub is not None:
        stub.tool = ToolRun(name=fact.name, by=fact.by, started=entry)
    return parent


def tool_finished(ledger: Ledger, fact: f.ToolFinished, entry: Entry) -> ResponseState | None:
    """It returned or raised; what it gave is kept."""
    parent = ledger.responses.get(fact.parent_id)
    stub = None if parent is None else parent.required.get(fact.key)
    if stub is not None and stub.tool is not None:
        run = stub.tool
        run.finished = entry
        run.ok = fact.ok
        run.output = fact.output
        run.error = fact.error
        run.duration_s = fact.duration_s
        run.printed = fact.printed
        run.displayed = fact.displayed
        run.traceback = fact.traceback
    return parent


def active_continuation(parent: ResponseState) -> RequestState | None:
    """The continuation that was written for this parent and not refused, if there is one."""
    for request in reversed(parent.continuations):
        if request.left:
            continue
        if request.state in ("sent", "started") or request.undecided:
            return request
    return None


def answer_keys(value: object) -> frozenset[str]:
    """The keys of the calls that a request's input answers."""
    items = value if isinstance(value, list) else []
    keys = (_key(item) for item in items if isinstance(item, dict) and is_answer(item))
    return frozenset(key for key in keys if key is not None)


def _key(stub: dict[str, object]) -> str | None:
    """What identifies a stub or an answer; None where nothing does, as a trace may hold any."""
    try:
        return stub_key(stub)
    except InvalidInput:
        return None


def _carried(
    stub: RequiredInputState, message: RequestState | InjectState, answer: dict[str, object]
) -> None:
    stub.state = "sent"
    stub.item = answer
    stub.sent = message.sent
    stub.request_key = message.key
    if message.response_id is not None:
        stub.state = "confirmed"
        stub.continuation_response_id = message.response_id


def set_aside(parent: ResponseState) -> None:
    """Nobody has to answer the parent's calls any more; what was filled is kept."""
    for stub in parent.required.values():
        if stub.is_open and not stub.optional:
            stub.state = "stale"
