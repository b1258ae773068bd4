"""Sends, resumes and cancels: what begins a run, and what finds one again (chapters 3 and 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.letta.approving import CANCELLED, denied, pending_trouble
from steer_nb.simulator.letta.naming import message_id_of, uuid_of
from steer_nb.simulator.letta.stored import Stored
from steer_nb.simulator.letta.trouble import Refused

if TYPE_CHECKING:
    from steer_nb.simulator.letta.requests import Resume, Sent
    from steer_nb.simulator.letta.run import Run
    from steer_nb.simulator.letta.service import LettaService
    from steer_nb.simulator.letta.state import Agent, Conversation

__all__ = ["Follow", "Started", "cancel_agent", "cancel_conversation", "resume", "send"]


@dataclass(frozen=True, slots=True)
class Started:
    """A run that is to be driven now.

    `how` says what its client gets: ``json``, a ``stream``, or at once the ``run`` itself.
    """

    run: Run
    how: str


@dataclass(frozen=True, slots=True)
class Follow:
    """A background run's frames are to be read, from behind one of them.

    With `hang` there is none, whatever comes.
    """

    run: Run
    after: int
    pings: bool
    hang: bool = False


def send(
    service: LettaService,
    conversation: Conversation,
    sent: Sent,
    *,
    named: bool,
    connection: int,
    kind: str = "send_message",
) -> Started | Follow:
    """Take a send in.

    Parameters
    ----------
    service : LettaService
        The server.
    conversation : Conversation
        Whose it is.
    sent : Sent
        What was sent.
    named : bool
        Whether it came by way of the conversation, and not of the agent: only that way there are
        locks, and only there is what comes twice told by its otids (5.4, 5.5).
    connection : int
        Which connection brought it.
    kind : str
        The run's `run_type`.

    Raises
    ------
    Refused
        404 for a model that there is not, 409 while another run goes on, 503 without Redis.
    """
    model = sent.options["override_model"]
    if model is not None and service.options.models and model not in service.options.models:
        raise Refused(404, f"NOT_FOUND: Handle {model} not found, must be one of []")
    streaming = bool(sent.options["streaming"])
    background = streaming and bool(sent.options["background"])
    where = conversation.name
    redis = service.has_redis("locks")
    if background and not redis:
        msg = (
            "INTERNAL_SERVER_ERROR: Background streaming requires Redis to be running. Please "
            "ensure Redis is properly configured. LETTA_REDIS_HOST: None, LETTA_REDIS_PORT: 6379"
        )
        raise Refused(503, msg)
    scope = conversation.key
    if named and background and sent.token is not None:
        known = service.by_token.get((scope, sent.token))
        if known is not None and not service.expired(known):
            service.account.add("replay", run=known.id, conversation=where, otids=sent.otids)
            return Follow(known, 0, sent.pings)
    locks = redis and _locks(service, conversation, named=named, streaming=streaming)
    keeper = service.keeper(conversation) if locks else None
    if service.strike("send", where, where, connection=connection):
        made_up = f"run-{uuid_of(service.ids, 'busy', scope, len(conversation.runs))}"
        raise _busy(made_up, streaming=streaming)
    if keeper is not None and not service.strike("lock", where, where, connection=connection):
        raise _busy(keeper.id, streaming=streaming)
    pending = conversation.pending
    if streaming and pending is not None and sent.approvals is None:
        early = service.strike("conflict", where, where, connection=connection)
        if early:
            trouble = pending_trouble(pending, named=named)
            raise Refused(trouble.status, trouble.body["detail"])
    asynchronous = kind == "send_message_async"
    player = service.player
    run = service.add_run(
        conversation,
        sent,
        background=background or asynchronous,
        kind=kind,
        named=named,
        recorded=None if player is None else player.next(conversation, sent),
    )
    if locks:
        conversation.lock = (run, service.clock.now() + service.options.lock_ttl_s)
    if redis:
        conversation.agent.last_run = run
    if background and named:
        service.know_again(run)
    service.account.add(
        "run",
        run=run.id,
        connection=connection,
        agent=run.agent.id,
        conversation=where,
        background=run.background,
        answers=None if sent.approvals is None else [dict(one) for one in sent.approvals],
        said=[one["content"] for one in sent.users],
    )
    if asynchronous:
        return Started(run, "run")
    return Started(run, "stream" if streaming else "json")


def _locks(
    service: LettaService, conversation: Conversation, *, named: bool, streaming: bool
) -> bool:
    if service.options.locks != "as_measured":
        return service.options.locks == "everywhere"
    return named and (streaming or conversation.id is None)


def _busy(run_id: str, *, streaming: bool) -> Refused:
    if streaming:
        msg = (
            f"CONFLICT: Cannot send a new message: Another request (run_id={run_id}) is currently "
            "being processed for this conversation. Please wait for it to complete."
        )
        return Refused(409, msg, run_id=run_id)
    msg = (
        "CONFLICT: Cannot send a new message: Another request is currently being processed for "
        "this conversation. Please wait for the current request to complete."
    )
    return Refused(409, msg)


def resume(
    service: LettaService,
    asked: Resume,
    *,
    run_id: str | None = None,
    conversation: Conversation | None = None,
    connection: int,
) -> Follow:
    """Find the run whose frames are to be read again (5.3).

    Raises
    ------
    Refused
        400, 404 or 410.
    """
    run = _found(service, asked, run_id, conversation)
    if not run.background or run.kind == "send_message_async":
        msg = "INVALID_ARGUMENT: Run was not created in background mode, so it cannot be retrieved."
        raise Refused(400, msg)
    if service.expired(run):
        raise Refused(410, "Run was created more than 3 hours ago, and is now expired.")
    where = run.conversation.name
    hang = bool(service.strike("resume", where, where, connection=connection))
    service.account.add(
        "resume", run=run.id, connection=connection, starting_after=asked.starting_after
    )
    return Follow(run, asked.starting_after, asked.pings, hang)


def _found(
    service: LettaService, asked: Resume, run_id: str | None, conversation: Conversation | None
) -> Run:
    if run_id is not None:
        return service.run(run_id)
    assert conversation is not None
    if asked.run_id is not None:
        return service.run(asked.run_id)
    if asked.otid is not None:
        run = service.by_otid.get((conversation.key, asked.otid))
        if run is None or service.expired(run):
            msg = f"No run found for otid={asked.otid}. The run may have expired or never existed."
            raise Refused(404, msg)
        return run
    active = [one for one in conversation.runs if one.active and one.background]
    if not active:
        msg = "INVALID_ARGUMENT: No active runs found for this conversation."
        raise Refused(400, msg)
    return active[-1]


def cancel_agent(
    service: LettaService, agent: Agent, run_ids: list[str] | None, *, connection: int
) -> dict[str, Any]:
    """Cancel runs of an agent; a pending request of its own conversation is denied with it (3.4).

    Raises
    ------
    Refused
        409 where there is nothing to cancel.
    """
    redis = service.has_redis("cancel")
    if run_ids is None:
        active = [one for c in agent.everything for one in c.runs if one.active]
        pending = agent.own.pending
        if not active and pending is not None and pending.run_id is not None:
            active = [service.runs[pending.run_id]]
        if not redis or not active:
            msg = f"CONFLICT: No active runs to cancel for agent {agent.id}"
            raise Refused(409, msg)
        run_ids = [one.id for one in active]
    done = {}
    for run_id in run_ids:
        run = service.runs.get(run_id)
        if run is None or run.agent is not agent:
            done[run_id] = "failed"
            continue
        _cancel(service, run, connection)
        done[run_id] = "cancelled"
    return done


def cancel_conversation(
    service: LettaService, conversation: Conversation, *, connection: int
) -> dict[str, Any]:
    """Cancel what goes on in a conversation; a pending request is none of it (3.4).

    Raises
    ------
    Refused
        409 where nothing goes on.
    """
    if conversation.id is None:
        return cancel_agent(service, conversation.agent, None, connection=connection)
    active = [one for one in conversation.runs if one.active]
    if not service.has_redis("cancel") or not active:
        msg = f"CONFLICT: No active runs to cancel for conversation {conversation.id}"
        raise Refused(409, msg)
    for run in active:
        _cancel(service, run, connection)
    return {run.id: "cancelled" for run in active}


def _cancel(service: LettaService, run: Run, connection: int) -> None:
    """Cancel one run: it stops, or the request that it ended in is denied."""
    pending = run.conversation.pending
    asked = pending is not None and pending.run_id == run.id
    if run.active or asked:
        run.cancel(service.now())
        run.agent.last_stop_reason = "cancelled"
    service.account.add("cancel", run=run.id, connection=connection)
    where = run.conversation.name
    if pending is None or not asked or run.conversation.id is not None:
        return
    if service.strike("cancel", where, where, connection=connection):
        return
    deny(service, run, pending, CANCELLED)


def deny(service: LettaService, run: Run, pending: Stored, reason: str) -> None:
    """Deny every call of a pending request's step, also those that were not gated."""
    conversation = run.conversation
    beside = conversation.open_calls(pending)
    answers = [
        {"type": "approval", "tool_call_id": one, "approve": False, "reason": reason}
        for one in pending.call_ids
    ]
    returns = [
        denied(one, reason) for one in (*pending.call_ids, *(call.tool_call_id for call in beside))
    ]
    for role, told, step_id in (
        ("approval_response", answers, None),
        ("tool", returns, pending.step_id),
    ):
        conversation.n_made += 1
        made = message_id_of(service.ids, conversation.key, conversation.n_made)
        stored = Stored(made, role, service.now(), run.id, step_id, answers=told)  # type: ignore[arg-type]
        conversation.keep([stored])
