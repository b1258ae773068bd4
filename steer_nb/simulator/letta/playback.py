"""What was recorded, once more: in its words, its ids and its time; and a server that goes on.

- A send in a conversation gets what was recorded next there, whatever it says. A conversation that
  the recording does not have takes the first one that nobody has used.
- What the ordinary rules refuse they refuse, unless the recording has that very request.
- A connection that was lost within a stream is lost there again; the run goes on, and can be read
  on, as recorded. HTTP errors come where they were.
- Behind the recording's end an agent says that it holds nothing more; everything else is ordinary.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from steer_nb.simulator.letta.approving import Approved, judge, return_cap
from steer_nb.simulator.letta.compacting import compact
from steer_nb.simulator.letta.composing import compose, listed, sent_of
from steer_nb.simulator.letta.ending import close, finish
from steer_nb.simulator.letta.model import Wait
from steer_nb.simulator.letta.run import StepRecord
from steer_nb.simulator.letta.stored import letta_messages
from steer_nb.simulator.letta.trouble import Refused, Trouble
from steer_nb.simulator.steps import Say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.letta.recorded import Moment, Recorded, RecordedRun, RecordedTalk
    from steer_nb.simulator.letta.requests import Sent
    from steer_nb.simulator.letta.run import Run
    from steer_nb.simulator.letta.service import LettaService
    from steer_nb.simulator.letta.state import Agent, Conversation
    from steer_nb.simulator.letta.turn import LettaTurn
    from steer_nb.simulator.steps import Step

__all__ = ["Player", "improvise", "play", "remember"]

_SILENT: Final = ("user_message", "approval_response_message", "system_message")


def improvise(turn: LettaTurn) -> Iterator[Step]:  # noqa: ARG001 - it says the same of every turn
    """Say what a recording cannot: that it holds nothing more."""
    yield Say("The recording holds no further run of this conversation.")


class Player:
    """A recording, and how far the conversations of a server are with it.

    Parameters
    ----------
    service : LettaService
        The server; it gets the recorded agents and conversations.
    recorded : Recorded
        What it says.
    """

    def __init__(self, service: LettaService, recorded: Recorded) -> None:
        self._service = service
        self._left = {  # what the server remembers was said already
            talk: [run for run in talk.runs if run.id not in service.runs]
            for talk in recorded.talks
        }
        self._refusals = {run: list(run.refusals) for run in recorded.runs}
        self._seats: dict[str, RecordedTalk] = {}
        self._seen = {talk.conversation_id: list(talk.seen) for talk in recorded.talks}
        self._unmade = [talk for talk in recorded.talks if talk.made is not None]
        for talk in recorded.talks:
            conversation = _place(service, talk)
            first = self._seats.setdefault(conversation.key, talk)
            if first is not talk:  # two lanes of one conversation
                self._left[first] += self._left.pop(talk)
            self._pass(conversation)

    def made(self, agent: Agent) -> dict[str, Any] | None:
        """Give what was said when the agent's next conversation was made."""
        for talk in self._unmade:
            if talk.agent_id == agent.id:
                self._unmade.remove(talk)
                return talk.made
        return None

    def seen(self, conversation_id: str) -> dict[str, Any] | None:
        """Give what was said when a conversation was asked for."""
        seen = self._seen.get(conversation_id)
        return seen.pop(0) if seen else None

    def next(self, conversation: Conversation, sent: Sent) -> RecordedRun | None:
        """Find what a send gets.

        Raises
        ------
        Refused
            As it was recorded.
        """
        talk = self._seats.get(conversation.key) or self._free()
        if talk is None or not self._left[talk]:
            return None
        self._seats[conversation.key] = talk
        run = self._left[talk][0]
        if self._refused(conversation, sent) and not _same(run, sent):
            return None
        if self._refusals[run]:
            status, text = self._refusals[run].pop(0)
            if run.id is None and not self._refusals[run]:
                self._left[talk].remove(run)
            refused = Refused(status, text)
            refused.body = _value(text) or refused.body
            raise refused
        self._left[talk].remove(run)
        return run

    def _free(self) -> RecordedTalk | None:
        """Find what a conversation that the recording does not have is given."""
        used = [one for key, one in self._seats.items() if self._service.used(key)]
        return next((one for one, left in self._left.items() if left and one not in used), None)

    def passed(self, conversation: Conversation) -> None:
        """A run of a conversation is over: what others did there then was seen in a history."""
        self._pass(conversation)

    def _pass(self, conversation: Conversation) -> None:
        talk = self._seats.get(conversation.key)
        left = [] if talk is None else self._left[talk]
        while left and not (left[0].moments or left[0].refusals):
            run = left.pop(0)
            if run.id is not None:
                _settle(self._service, conversation, run)

    def _refused(self, conversation: Conversation, sent: Sent) -> bool:
        pending = conversation.pending
        if sent.approvals is None:
            return pending is not None
        given = [dict(one) for one in sent.approvals]
        cap = return_cap(conversation.agent.window)
        return not isinstance(judge(conversation.context, pending, given, cap=cap), Approved)


def _same(run: RecordedRun, sent: Sent) -> bool:
    """Whether a send says what was recorded; its ids may be others."""
    known = sent_of(run)
    if known is None:
        return False
    said = [(one["role"], one["content"]) for one in known.users]
    return known.approvals == sent.approvals and said == [
        (one["role"], one["content"]) for one in sent.users
    ]


def play(service: LettaService, run: Run) -> Iterator[Wait]:
    """Say what was recorded of a run; what it left is kept before it stops."""
    recorded = run.recorded
    assert recorded is not None
    if not run.cancelled:
        run.status = "running"
    said: set[str] = set()
    for moment in recorded.moments:
        yield Wait(moment.seconds)
        if run.cancelled:
            finish(service, run, "cancelled")
            return
        kind = None if moment.message is None else str(moment.message["message_type"])
        if kind is None:
            run.losses.append(len(run.frames))
        elif kind != "ping" or run.background:
            if kind in ("stop_reason", "error_message") and not said & {"stop_reason"}:
                _keep(service, run, recorded)
                _stop(service, run, recorded.stop_reason or "error")
            said.add(kind)
            _say(run, moment)
    if "stop_reason" in said:
        failed = "error_message" in said
        if not (failed or run.stop_reason == "cancelled" or "usage_statistics" in said):
            run.add(run.usage.to_dict())
        close(run, failed=failed)
    else:
        _cut_short(service, run, recorded)
    if service.player is not None:
        service.player.passed(run.conversation)


def _say(run: Run, moment: Moment) -> None:
    """Give a frame: word for word, where its number is the recorded one."""
    message = moment.message
    assert message is not None
    if message["message_type"] not in ("ping", "stop_reason", "usage_statistics"):
        run.n_shown += message["message_type"] != "error_message"
    run.add({**message, "seq_id": None} if "seq_id" in message else message)
    number = message.get("seq_id")
    if moment.raw and number == (len(run.frames) if run.background else None):
        frame = run.frames[-1]
        event = "event: error\n" if frame.kind == "error_message" else ""
        run.frames[-1] = frame._replace(text=f"{event}data: {moment.raw}\n\n")


def _keep(service: LettaService, run: Run, recorded: RecordedRun) -> None:
    """Keep what a run said, and its steps."""
    conversation = run.conversation
    messages = compose(recorded, conversation, lambda: service.new_message_id(conversation))
    for stored in messages:
        if stored.summary is None:
            conversation.keep([stored])
        else:  # what it stood for nobody saw: the server's rules say it
            settings = run.agent.llm["compaction_settings"]
            done = compact([*conversation.context], settings, run.agent.window)
            conversation.compact(stored, done.kept)
    conversation.updated = conversation.last_message_at = service.now()
    for stored in messages:
        run.messages += [m for m in letta_messages(stored) if m["message_type"] not in _SILENT]
    for step_id in dict.fromkeys(one.step_id for one in messages if one.step_id):
        asks = any(one.role == "approval" for one in messages if one.step_id == step_id)
        reason = "requires_approval" if asks else "end_turn"
        run.steps.append(
            StepRecord(step_id, conversation.model_handle, stop_reason=reason, status="success")
        )
    usage = next(
        (one for one in recorded.frames if one["message_type"] == "usage_statistics"), None
    )
    if usage is not None:
        run.usage.completion = usage.get("completion_tokens") or 0
        run.usage.prompt = usage.get("prompt_tokens") or 0
        run.usage.n_steps = usage.get("step_count") or 0
        run.usage.context = usage.get("context_tokens")


def _stop(service: LettaService, run: Run, stop_reason: str) -> None:
    run.stop(stop_reason, service.now())
    run.agent.last_stop_reason = stop_reason
    trouble = next(
        (one for one in (run.recorded.frames if run.recorded else ()) if "error_type" in one), None
    )
    if trouble is not None:
        run.trouble = Trouble.of(500, str(trouble.get("detail") or trouble.get("message")))


def _cut_short(service: LettaService, run: Run, recorded: RecordedRun) -> None:
    """End a run of whose stream the end was not recorded: as the server said of it, or failing."""
    _keep(service, run, recorded)
    over = recorded.status is not None or not recorded.moments
    if not over:
        finish(service, run, "error", Trouble.of(500, "The recording ends within this run."))
        return
    if not recorded.frames:
        for message in run.messages:
            run.n_shown += 1
            run.add(message)
    asks = run.conversation.pending is not None
    reason = recorded.stop_reason or ("requires_approval" if asks else "end_turn")
    finish(service, run, reason)


# A server that goes on


def remember(service: LettaService, recorded: Recorded) -> None:
    """Let a server know what the recorded one did: what waited there waits here (3).

    A run that was not over when the recording ended fails: nobody is there to go on with it.
    """
    for talk in recorded.talks:
        conversation = _place(service, talk)
        for run in talk.runs:
            if run.id is not None and run.id not in service.runs:
                _settle(service, conversation, run)


def _place(service: LettaService, talk: RecordedTalk) -> Conversation:
    """Make a recorded conversation, with its agent, where there is none yet."""
    agent = service.agents.get(talk.agent_id or "")
    if agent is None:
        agent = service.add_agent(
            service.scenario.name, tools=service.tools.values(), agent_id=talk.agent_id
        )
    conversation = agent.own
    if talk.conversation_id is not None:
        known = service.conversations.get(talk.conversation_id)
        conversation = known or service.add_conversation(
            agent, conversation_id=talk.conversation_id
        )
    before = listed(talk.before)
    own = [one for one in conversation.messages if not one.shown]
    if own and any(one.role == "system" for one in before):  # it began otherwise
        conversation.messages, conversation.context = [], []
    known_ids = {one.id for one in conversation.messages}
    conversation.keep(one for one in before if one.id not in known_ids)
    return conversation


def _settle(service: LettaService, conversation: Conversation, recorded: RecordedRun) -> None:
    """Take a recorded run in as one that is over."""
    sent = sent_of(recorded) or service.nothing_sent
    run = service.add_run(
        conversation,
        sent,
        background=recorded.background,
        kind="send_message",
        named=recorded.named,
        recorded=recorded,
    )
    for _ in play(service, run):
        pass
    run.losses.clear()
    if run.background and recorded.named and sent is not service.nothing_sent:
        service.know_again(run)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
