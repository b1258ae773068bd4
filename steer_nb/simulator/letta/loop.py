"""The agent's loop: what a run does, step by step, without a socket or a clock (chapters 3 and 4).

`work` is a generator. It yields what it has to wait for, and gives its frames to the run; whoever
drives it decides how time passes. Between two yields nothing else happens, so that two runs of one
conversation meet exactly where two requests to a real server would: while a tool or the model is at
work.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.letta import compacting
from steer_nb.simulator.letta.approving import (
    Approved,
    as_given,
    judge,
    pending_trouble,
    return_cap,
)
from steer_nb.simulator.letta.effects import ModelBegins, ToolBegins
from steer_nb.simulator.letta.ending import finish, ping
from steer_nb.simulator.letta.model import Delta, ModelFailed, Reply, speak
from steer_nb.simulator.letta.models import streams_tokens
from steer_nb.simulator.letta.naming import (
    call_id_of,
    id_of,
    message_id_of,
    uuid_of,
)
from steer_nb.simulator.letta.pieces import Pieces
from steer_nb.simulator.letta.run import StepRecord
from steer_nb.simulator.letta.stored import Stored, ToolCall, as_kept, letta_messages
from steer_nb.simulator.letta.tools import Outcome, cut_return
from steer_nb.simulator.letta.trouble import TOO_LONG, Trouble, model_trouble, overflow
from steer_nb.simulator.letta.turn import KEEP_ALIVE, LettaTurn

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from steer_nb.simulator.letta.effects import Effect, World
    from steer_nb.simulator.letta.run import Run

__all__ = ["work"]


def work(world: World, run: Run) -> Iterator[Effect]:
    """Do what a run is for; its end is in its frames."""
    yield from _Work(world, run).play()


class _Stop(Exception):
    """The run ends here."""

    def __init__(self, *, reason: str = "", trouble: Trouble | None = None) -> None:
        self.stop_reason = trouble.stop_reason if trouble is not None else reason
        self.trouble = trouble


class _Work:
    def __init__(self, world: World, run: Run) -> None:
        self.world = world
        self.run = run
        self.conversation = run.conversation
        self.sent = run.sent
        self.client_tools = {str(one.get("name")) for one in run.sent.client_tools}
        self.inputs: list[Stored] = []
        self.told: list[Stored] = []
        self.model = run.sent.options["override_model"] or run.conversation.model_handle
        self.tokens = run.sent.tokens and streams_tokens(self.model)
        self.size: int | None = None

    def play(self) -> Iterator[Effect]:
        run = self.run
        stop_reason, trouble = "end_turn", None
        if not run.cancelled:  # even before it began
            run.status = "running"
        if run.background and run.sent.pings:
            run.add(ping(self.world, run, "stored"))
        try:
            steps = self._steps()
            while not (run.cancelled or run.lost):
                effect = next(steps, None)
                if effect is None:
                    break
                yield effect
        except _Stop as stop:
            stop_reason, trouble = stop.stop_reason, stop.trouble
        if run.cancelled:
            stop_reason = "cancelled"
        elif run.lost:  # its reader left: what was not kept yet is lost (5.2)
            stop_reason, trouble = "error", Trouble.of(499, "The client closed the stream.")
        finish(self.world, run, stop_reason, trouble)

    def _steps(self) -> Iterator[Effect]:
        verdict = self._verdict()
        self._take(self.sent.users)
        left = max(1, self.sent.options["max_steps"])
        if isinstance(verdict, Approved):
            yield from self._go_on(verdict)
            left -= 1
        elif verdict == "keep_alive" and not self.inputs:
            self._take([{"role": "user", "content": KEEP_ALIVE}])
        while True:
            if left == 0:
                self._keep(self.inputs)
                raise _Stop(reason="max_steps")
            left -= 1
            if not (yield from self._step()):
                return

    def _verdict(self) -> Approved | str | None:
        """Say what the conversation's state makes of the send (chapter 3)."""
        conversation, approvals = self.conversation, self.sent.approvals
        pending = conversation.pending
        if approvals is None:
            if pending is not None:
                trouble = pending_trouble(pending, named=self.run.as_conversation)
                raise _Stop(trouble=trouble)
            return None
        verdict = judge(
            conversation.context,
            pending,
            approvals,
            history=conversation.messages,
            cap=return_cap(self.run.agent.window),
        )
        if isinstance(verdict, Trouble):
            raise _Stop(trouble=verdict)
        if verdict == "broken":
            raise _Stop(reason="invalid_tool_call")
        return verdict

    # What is kept

    def _new(self, role: Any, **fields: Any) -> Stored:
        self.conversation.n_made += 1
        place = (self.conversation.key, self.conversation.n_made)
        made = message_id_of(self.world.ids, *place)
        return Stored(made, role, self.world.now(), self.run.id, **fields)

    def _take(self, users: list[dict[str, Any]]) -> None:
        """Take messages in; they are kept with the step that reads them."""
        for one in users:
            stored = self._new(one["role"], content=as_kept(one["content"]))
            stored.otid = one.get("otid") or uuid_of(self.world.ids, "otid", stored.id)
            stored.name, stored.sender_id = one.get("name"), one.get("sender_id")
            self.inputs.append(stored)

    def _keep(self, messages: list[Stored]) -> None:
        self.conversation.keep(messages, unseen=self.told)
        self.conversation.updated = self.conversation.last_message_at = self.world.now()

    def show(self, message: dict[str, Any]) -> None:
        """Give one message to the stream, and to the JSON answer."""
        if self.sent.shows(message["message_type"]):
            self.run.n_shown += 1
            self.run.add(message)

    # Tools

    def _go_on(self, approved: Approved) -> Iterator[Effect]:
        """Do what an approval lets go on: answers, tools, and what waited beside them (3.2)."""
        request = approved.request
        response = self._new("approval_response", answers=as_given(self.sent.approvals or []))
        calls = [*approved.execute, *self.conversation.open_calls(request)]
        returns = list(approved.returns)
        step_id = request.step_id
        yield from self._execute(calls, returns)
        told = self._new("tool", step_id=step_id, answers=returns)
        told.name = calls[0].name if calls else None
        self._keep([response, told])
        self._told(told, silent=self.tokens and not calls)

    def _execute(self, calls: list[ToolCall], returns: list[dict[str, Any]]) -> Iterator[Effect]:
        for call in calls:
            tool = None
            if call.name not in self.client_tools:
                tool = self.run.agent.tool(call.name)
            outcome = Outcome("Tool not found", "error")
            if tool is not None:
                yield ToolBegins(call, tool.server.seconds)
                outcome = tool.server.run(call.arguments)
                said = cut_return(call.name, outcome.text, tool.return_char_limit)
                outcome = replace(outcome, text=said)
                self.world.ran(self.run, call, outcome)
            returns.append(
                {
                    "type": "tool",
                    "tool_return": outcome.text,
                    "status": outcome.status,
                    "tool_call_id": call.tool_call_id,
                    "stdout": None if tool is None else list(outcome.stdout),
                    "stderr": None if tool is None else list(outcome.stderr),
                }
            )

    def _told(self, told: Stored, *, silent: bool) -> None:
        for message in letta_messages(told):
            if self.sent.shows(message["message_type"]):
                self.run.messages.append(message)
            if not silent:
                self.show(message)

    # Calls of the model

    def _step(self) -> Generator[Effect, None, bool]:
        """Call the model once, and run its tools; says whether it is to be called again."""
        run, world = self.run, self.world
        step = StepRecord(id_of(world.ids, "step", run.id, len(run.steps)), self.model)
        run.steps.append(step)
        for one in self.inputs:
            one.step_id = step.id
        yield ModelBegins()
        said, reply, pieces = yield from self._called(step)
        gated = [call for call in reply.calls if self.is_gated(call)]
        free = [call for call in reply.calls if call not in gated]
        step.stop_reason = "requires_approval" if gated else "end_turn"
        step.status = "success"
        said.parts = tuple(reply.parts)
        if gated:
            self._ask(said, gated, free, pieces)
            self._fit(step)
            raise _Stop(reason="requires_approval")
        said.calls = tuple(free)
        if free:
            returns: list[dict[str, Any]] = []
            yield from self._execute(free, returns)
            told = self._new("tool", step_id=step.id, answers=returns, name=free[0].name)
            self._keep([*self.inputs, said, told])
            self._said(said, pieces)
            self._told(told, silent=False)
        else:
            self._keep([*self.inputs, said])
            self._said(said, pieces)
        self.inputs = []
        self._fit(step)
        return bool(free)

    def _called(self, step: StepRecord) -> Generator[Effect, None, tuple[Stored, Reply, Pieces]]:
        """Let the model speak; where its provider finds that too long, a compaction goes before."""
        conversation, world = self.conversation, self.world
        for tries in count():
            turn = self._turn()
            conversation.n_replies += 1
            place = (conversation.key, conversation.n_replies)
            said = self._new("assistant", step_id=step.id)
            pieces = Pieces(said, live=self.tokens, is_gated=self.is_gated, show=self.show)
            try:
                for effect in speak(
                    world.scenario(turn),  # type: ignore[arg-type] # the turn of its own dialect
                    partial(call_id_of, world.ids, *place),
                    world.arm,
                    first_s=world.options.first_token_s,
                    token_s=world.options.token_s,
                ):
                    if isinstance(effect, Delta):
                        pieces.show(effect)
                    elif isinstance(effect, Reply):
                        self._count(step, turn, effect)
                        return said, effect, pieces
                    else:
                        yield effect
            except ModelFailed as failed:
                if failed.code == TOO_LONG and tries < compacting.RETRIES:
                    self._compact(step, "context_window_exceeded")
                    continue
                trouble = model_trouble(failed.code, failed.message)
                step.status, step.stop_reason = "failed", trouble.stop_reason
                raise _Stop(trouble=trouble) from failed
        raise AssertionError

    # Compaction

    def _fit(self, step: StepRecord) -> None:
        """Compact the conversation where the last call of the model used too much of it."""
        limit = compacting.threshold(self.run.agent.window)
        if self.size is not None and self.size > limit:
            self._compact(step, "post_step_context_check")

    def _compact(self, step: StepRecord, trigger: str) -> None:
        """Put a summary in the place of what was said; streams tell of it, whatever they ask for.

        They tell it as it is only where that is asked for, and never in a conversation's stream:
        there the server does not pass the wish on.
        """
        run, sent, world, agent = self.run, self.sent, self.world, self.run.agent
        plainly = bool(sent.options["include_compaction_messages"])
        plainly = plainly and not (run.as_conversation and sent.options["streaming"])
        context = [*self.conversation.context, *self.inputs]
        place = (run.id, len(run.steps), len(self.conversation.messages))
        if plainly:
            made = uuid_of(world.ids, "event", *place)
            own = {"run_id": run.id, "step_id": step.id}
            self._tell(
                compacting.event(
                    made, world.now(), trigger=trigger, size=self.size, window=agent.window, **own
                )
            )
        limit = compacting.threshold(agent.window)
        settings = agent.llm["compaction_settings"]
        try:
            done = compacting.compact(context, settings, agent.window, limit=limit)
        except compacting.SystemTooLong as error:
            raise _Stop(trouble=overflow(str(error))) from error
        stats = {
            "trigger": trigger,
            "context_tokens_before": self.size,
            "context_tokens_after": done.size,
            "context_window": agent.window,
            "messages_count_before": len(context),
            "messages_count_after": len(done.kept) + 1,
        }
        told = stats if self.size is not None else None
        text = compacting.packed(done, world.now(), told)
        summary = self._new("summary" if plainly else "user", step_id=step.id, content=text)
        summary.summary = done.summary
        if not plainly:
            summary.otid = uuid_of(world.ids, "otid", summary.id)
        kept = {one.id for one in done.kept}
        self.told += [one for one in self.inputs if one.id not in kept]
        new = {one.id for one in self.inputs}
        self.conversation.compact(summary, [one for one in done.kept if one.id not in new])
        self.size = run.usage.context = done.size
        for message in letta_messages(summary):
            if sent.shows(message["message_type"]):
                run.messages.append(message)
        self._tell(compacting.told(summary, told, plainly=plainly))

    def _tell(self, message: dict[str, Any]) -> None:
        self.run.n_shown += 1
        self.run.add(message)

    def _ask(
        self, said: Stored, gated: list[ToolCall], free: list[ToolCall], pieces: Pieces
    ) -> None:
        """Keep and show a request for approval, with what is not gated beside it (2.1, 3.1)."""
        request = said
        kept = [*self.inputs]
        if free:
            said.calls = tuple(free)
            request = self._new("approval", step_id=said.step_id)
            kept.append(said)
        if self.tokens:
            request.id = pieces.request_id
        request.role = "approval"
        request.calls = tuple(gated)
        self._keep([*kept, request])
        self.inputs = []
        for one in (said, request) if free else (request,):
            self._said(one, pieces)
        if pieces.live:
            pieces.haunt(self.world.phantom(self.run))

    def _said(self, stored: Stored, pieces: Pieces) -> None:
        """Show what the model said, where it was not shown piece by piece."""
        for message in letta_messages(stored):
            if self.sent.shows(message["message_type"]):
                self.run.messages.append(message)
            if not pieces.live:
                self.show(message)

    def is_gated(self, call: ToolCall) -> bool:
        return call.name in self.client_tools or call.name in self.run.agent.gated

    def _turn(self) -> LettaTurn:
        agent, conversation, options = self.run.agent, self.conversation, self.sent.options
        offered = [tool.json_schema or tool.server.schema for tool in agent.tools]
        offered = [one for one in offered if one["name"] not in self.client_tools]
        messages = [*conversation.context, *self.inputs]
        system = options["override_system"]
        if system is not None:
            messages[0] = replace(messages[0], content=system)
        return LettaTurn(
            messages,
            number=conversation.n_replies + 1,
            tools=[*offered, *self.sent.client_tools],
            client_tools=sorted(self.client_tools),
            settings={
                "model": self.model,
                "system": agent.system if system is None else system,
                "client_skills": options["client_skills"] or [],
            },
            lane=conversation.name,
            seed=self.world.ids.digest("turn", conversation.key, conversation.n_replies),
        )

    def _count(self, step: StepRecord, turn: LettaTurn, reply: Reply) -> None:
        if reply.spent is not None:
            step.prompt, step.completion = reply.spent.prompt, reply.spent.completion
        else:
            step.prompt, step.completion = compacting.size_of(turn.messages), reply.n_tokens
        self.size = step.prompt + step.completion
        details = None if self.tokens else 0
        self.run.usage.add(step.prompt, step.completion, details)
