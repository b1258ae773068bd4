"""The rules of injects: answers for agents that wait while their response is still being written.

::

    sent ──> created       all items are committed: the agents that waited go on
      │ └──> failed        none is: the items come back, and go out with a continuation
      └────> unknown       the connection was lost first, and no agent had gone on

Source: the multi-agent beta (`openai.types.beta.beta_response_inject_event` and its two answers).
"The items are validated and committed atomically." An answer names the response and not the
submission, so the oldest inject is meant; it may come after the response's own end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.ledger import required
from steer_nb.ledger.deciding import decide
from steer_nb.ledger.state import InjectState, ResponseState
from steer_nb.wire import stub_for

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.contents import RequiredInputState
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import LaneState
    from steer_nb.trace.entries import Entry

__all__ = [
    "connection_lost",
    "created",
    "fail",
    "failed",
    "leave",
    "prove",
    "refused",
    "response_broke",
    "sent",
]


def sent(ledger: Ledger, fact: f.InjectSent, entry: Entry) -> ResponseState | None:
    """An inject is written: from here on its answers may have been received."""
    if fact.again is not None:
        decide(ledger, fact.again, "sent_again", fact.key)
    inject = _new(ledger, fact.key, fact.parent_id, fact.answers, entry, sent=entry)
    if inject.parent is not None:
        inject.parent.lane.last = entry
        required.carry(ledger, inject, inject.parent, entry)
    return inject.parent


def created(ledger: Ledger, fact: f.InjectCreated, entry: Entry) -> ResponseState | None:
    """The service committed all of it: the response itself took its answers up."""
    inject = _oldest(ledger, fact.parent_id, entry) or _new(
        ledger, f"inject-{entry.seq}", fact.parent_id, (), entry, sent=None
    )
    inject.state = "created"
    inject.ended = entry
    _confirm(inject)
    return inject.parent


def _confirm(inject: InjectState) -> None:
    for stub in _carried(inject):
        stub.state = "confirmed"
        stub.continuation_response_id = inject.parent_id


def _carried(inject: InjectState) -> list[RequiredInputState]:
    asked = {} if inject.parent is None else inject.parent.required
    return [s for s in asked.values() if s.request_key == inject.key and s.state == "sent"]


def failed(ledger: Ledger, fact: f.InjectFailed, entry: Entry) -> ResponseState | None:
    """The service committed nothing of it: its answers are kept, to go out another way."""
    inject = _oldest(ledger, fact.parent_id, entry, fact.answers) or _new(
        ledger, f"inject-{entry.seq}", fact.parent_id, fact.answers, entry, sent=None
    )
    fail(ledger, inject, fact.code, fact.message, entry)
    return inject.parent


def fail(ledger: Ledger, inject: InjectState, code: str | None, message: str, entry: Entry) -> None:
    """Mark an inject failed, and take its answers back."""
    inject.state = "failed"
    inject.ended = entry
    inject.error_code = code
    inject.error_message = message
    required.answers_returned(ledger, inject)
    parent = inject.parent
    if parent is not None and (parent.left or parent.continued_by is not None):
        required.set_aside(parent)


def refused(ledger: Ledger, lane: LaneState | None, fact: f.ServerError, entry: Entry) -> bool:
    """Whether an `error` event refuses an inject, which it does not name.

    Inside a response's stream an error carries a sequence number (chapter 1.5). One without, while
    an inject is not acknowledged and nothing else waits for an answer, is about the inject; where
    it may be about something else, nothing is guessed.
    """
    if fact.sequence_number is not None or not _client_error(fact.status):
        return False
    here = [one for one in ledger.lanes.values() if one.connection == entry.connection]
    if fact.lane is None and any(one.queue for one in here):
        return False
    for inject in ledger.injects.values():
        own = inject.lane
        if not inject.live or inject.connection != entry.connection or own is None or own.queue:
            continue
        unnamed = fact.lane is None and (lane is own or lane is None or lane.current is None)
        if unnamed or own is lane:
            fail(ledger, inject, fact.code, fact.message, entry)
            return True
    return False


def _client_error(status: int | None) -> bool:
    # 429 and 5xx speak of the service, and say nothing of what it did with a message.
    return status is None or (400 <= status < 500 and status != 429)


def connection_lost(ledger: Ledger, entry: Entry) -> None:
    """What was not acknowledged on this connection may or may not have been received."""
    for inject in ledger.injects.values():
        if inject.live and inject.connection == entry.connection:
            inject.ended = entry
            inject.state = "unknown"
            if inject.parent is not None:
                prove(inject.parent)


def prove(response: ResponseState) -> None:
    """Look anew at what is unknown: more of the response came, or nothing more of it will."""
    for inject in response.injects:
        if inject.undecided and _resumed(inject):
            inject.state = "created"
            _confirm(inject)


def _resumed(inject: InjectState) -> bool:
    """Whether an agent that waited for one of the answers went on, so that all were committed.

    It waits for all its calls, so whatever it begins later that is no call of the same turn proves
    that it has its answers.
    """
    if inject.parent is None or inject.sent is None:
        return False
    sent = inject.sent.seq
    waited = {stub.agent_name for stub in _carried(inject) if not stub.optional} - {None}
    return any(
        item.agent_name in waited and begun.seq > sent and stub_for(item.data) is None
        for item in inject.parent.items.values()
        if (begun := item.added or item.done) is not None
    )


def response_broke(response: ResponseState, entry: Entry) -> None:
    """An `error` event ended the response: what was injected into it came to nothing with it."""
    for inject in response.live_injects:
        inject.state = "unknown"
        inject.ended = entry
        inject.left = True


def leave(response: ResponseState) -> None:
    """A person chose that the lane goes on without the response, or repeats its conversation."""
    for inject in response.injects:
        inject.left = True


def _oldest(
    ledger: Ledger,
    parent_id: str,
    entry: Entry,
    answers: tuple[dict[str, object], ...] | None = None,
) -> InjectState | None:
    waiting = [
        inject
        for inject in ledger.injects.values()
        if inject.live and inject.parent_id == parent_id and inject.connection == entry.connection
    ]
    # The items come back as they were sent, so they say which of several was refused.
    same = [inject for inject in waiting if inject.answers == answers]
    return next(iter(same or waiting), None)


def _new(
    ledger: Ledger,
    key: str,
    parent_id: str,
    answers: tuple[dict[str, object], ...],
    entry: Entry,
    *,
    sent: Entry | None,
) -> InjectState:
    parent = ledger.responses.get(parent_id)
    inject = InjectState(
        key=key,
        parent_id=parent_id,
        parent=parent,
        connection=entry.connection,
        answers=answers,
        sent=sent,
    )
    ledger.injects[key] = inject
    if parent is not None:
        parent.injects.append(inject)
        parent.multi_agent = True
    return inject
