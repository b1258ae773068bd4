"""The agent's loop: what a run does, step by step, without a socket or a clock (chapters 3 and 4).

`work` is a generator. It yields what it has to wait for, and gives its frames to the run; whoever
drives it decides how time passes. Between two yields nothing else happens, so that two runs of one
conversation meet exactly where two requests to a real server would: while a tool or the model is at
work.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from steer_nb.simulator.letta.approving import Approved, judge, pending_trouble
from steer_nb.simulator.letta.model import Delta, ModelFailed, Reply, Wait, speak
from steer_nb.simulator.letta.naming import (
    call_id_of,
    id_of,
    message_id_of,
    uuid_of,
)
from steer_nb.simulator.letta.pieces import Pieces
from steer_nb.simulator.letta.run import StepRecord
from steer_nb.simulator.letta.stored import Stored, ToolCall, base, letta_messages
from steer_nb.simulator.letta.tools import Outcome
from steer_nb.simulator.letta.trouble import Trouble, model_trouble
from steer_nb.simulator.letta.turn import KEEP_ALIVE, LettaTurn

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from steer_nb.simulator.ids import Ids
    from steer_nb.simulator.letta.faults import PhantomCall
    from steer_nb.simulator.letta.options import LettaOptions
    from steer_nb.simulator.letta.run import Run
    from steer_nb.simulator.letta.scenario import LettaScenario

__all__ = ["Effect", "ModelBegins", "ToolBegins", "World", "finish", "work"]


class ToolBegins(NamedTuple):
    """A tool of the server is about to run: its seconds at speed 1."""

    call: ToolCall
    seconds: float


class ModelBegins(NamedTuple):
    """The model is about to be called."""

    seconds: float = 0.0


Effect = Wait | ToolBegins | ModelBegins


class World(Protocol):
    """What a run needs of the server."""

    scenario: LettaScenario
    ids: Ids
    options: LettaOptions

    def now(self) -> float:
        """Say what time it is, in seconds since the epoch."""

    def arm(self, fault: Any) -> None:
        """Arm a fault that a script asks for."""

    def phantom(self, run: Run) -> PhantomCall | None:
        """Say whether this request for approval shows a call too many."""

    def ran(self, run: Run, call: ToolCall, outcome: Outcome) -> None:
        """Note that a tool ran."""


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
        elif verdict == "keep_alive":
            self._take([{"role": "user", "content": KEEP_ALIVE}], first=True)
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
        verdict = judge(conversation.messages, pending, approvals)
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

    def _take(self, users: list[dict[str, Any]], *, first: bool = False) -> None:
        """Take messages in; they are kept with the step that reads them."""
        taken = []
        for one in users:
            stored = self._new(one["role"], content=_content(one["content"]))
            stored.otid = one.get("otid") or uuid_of(self.world.ids, "otid", stored.id)
            stored.name, stored.sender_id = one.get("name"), one.get("sender_id")
            taken.append(stored)
        self.inputs = [*taken, *self.inputs] if first else [*self.inputs, *taken]

    def _keep(self, messages: list[Stored]) -> None:
        self.conversation.messages += messages
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
        response = self._new("approval_response", answers=_as_given(self.sent.approvals or []))
        calls = [*approved.execute, *self.conversation.open_calls(request)]
        returns = list(approved.returns)
        step_id = request.step_id
        yield from self._execute(calls, returns)
        told = self._new("tool", step_id=step_id, answers=returns)
        told.name = calls[0].name if calls else None
        self._keep([response, told])
        self._told(told, silent=self.sent.tokens and not calls)

    def _execute(self, calls: list[ToolCall], returns: list[dict[str, Any]]) -> Iterator[Effect]:
        for call in calls:
            tool = None
            if call.name not in self.client_tools:
                tool = self.run.agent.tool(call.name)
            outcome = Outcome("Tool not found", "error")
            if tool is not None:
                yield ToolBegins(call, tool.server.seconds)
                outcome = tool.server.run(call.arguments)
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
        run, conversation, world = self.run, self.conversation, self.world
        step = StepRecord(id_of(world.ids, "step", run.id, len(run.steps)))
        run.steps.append(step)
        for one in self.inputs:
            one.step_id = step.id
        yield ModelBegins()
        turn = self._turn()
        conversation.n_replies += 1
        number = conversation.n_replies
        said = self._new("assistant", step_id=step.id)
        pieces = Pieces(said, live=self.sent.tokens, is_gated=self.is_gated, show=self.show)
        reply = Reply()
        with _failing(step):
            for effect in speak(
                world.scenario(turn),  # type: ignore[arg-type] # the turn of its own dialect
                lambda at: call_id_of(world.ids, conversation.key, number, at),
                world.arm,
                first_s=world.options.first_token_s,
                token_s=world.options.token_s,
            ):
                if isinstance(effect, Delta):
                    pieces.show(effect)
                elif isinstance(effect, Reply):
                    reply = effect
                else:
                    yield effect
        self._count(step, turn, reply)
        gated = [call for call in reply.calls if self.is_gated(call)]
        free = [call for call in reply.calls if call not in gated]
        step.stop_reason = "requires_approval" if gated else "end_turn"
        step.status = "success"
        said.parts = tuple(reply.parts)
        if gated:
            self._ask(said, gated, free, pieces)
            raise _Stop(reason="requires_approval")
        said.calls = tuple(free)
        if not free:
            self._keep([*self.inputs, said])
            self._said(said, pieces)
            self.inputs = []
            return False
        returns: list[dict[str, Any]] = []
        yield from self._execute(free, returns)
        told = self._new("tool", step_id=step.id, answers=returns, name=free[0].name)
        self._keep([*self.inputs, said, told])
        self._said(said, pieces)
        self._told(told, silent=False)
        self.inputs = []
        return True

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
        if self.sent.tokens:
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
        agent, conversation = self.run.agent, self.conversation
        offered = [tool.json_schema or tool.server.schema for tool in agent.tools]
        offered = [one for one in offered if one["name"] not in self.client_tools]
        return LettaTurn(
            [*conversation.messages, *self.inputs],
            number=conversation.n_replies + 1,
            tools=[*offered, *self.sent.client_tools],
            client_tools=sorted(self.client_tools),
            settings={"model": self.sent.options["override_model"] or agent.model},
            lane=conversation.name,
            seed=self.world.ids.digest("turn", conversation.key, conversation.n_replies),
        )

    def _count(self, step: StepRecord, turn: LettaTurn, reply: Reply) -> None:
        if reply.spent is not None:
            step.prompt, step.completion = reply.spent.prompt, reply.spent.completion
        else:
            words = sum(len(str(one.content or one.parts or one.answers)) for one in turn.messages)
            step.prompt, step.completion = words // 4 + 1, reply.n_tokens
        details = None if self.sent.tokens else 0
        self.run.usage.add(step.prompt, step.completion, details)


def _content(given: Any) -> Any:
    """Keep a text as a text; so is a single part that is one."""
    alone = given[0] if isinstance(given, list) and len(given) == 1 else None
    if isinstance(alone, dict) and alone.get("type") == "text":
        return alone.get("text")
    return given


def _as_given(approvals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write an approval's elements as the history shows them."""
    decision = ("type", "tool_call_id", "approve", "reason")
    result = ("type", "tool_return", "status", "tool_call_id", "stdout", "stderr")
    return [
        {name: one.get(name) for name in (decision if one["type"] == "approval" else result)}
        for one in approvals
    ]


@contextmanager
def _failing(step: StepRecord) -> Iterator[None]:
    try:
        yield
    except ModelFailed as failed:
        step.status, step.stop_reason = "failed", "llm_api_error"
        trouble = model_trouble(failed.code, failed.message)
        raise _Stop(trouble=trouble) from failed


def ping(world: World, run: Run, place: object) -> dict[str, Any]:
    """Make a ping."""
    return base("ping", id_of(world.ids, "ping", run.id, place), None, world.now(), run_id=run.id)


def finish(world: World, run: Run, stop_reason: str, trouble: Trouble | None = None) -> None:
    """End a run: its status, and the tail of its stream (4.1)."""
    run.trouble = trouble
    run.stop(stop_reason, world.now())
    run.agent.last_stop_reason = stop_reason
    run.add({"message_type": "stop_reason", "stop_reason": stop_reason})
    if trouble is not None:
        midstream = run.n_shown > 0
        run.add(trouble.frame(run.id, midstream=midstream))
        closes = not run.background and not midstream
    elif stop_reason == "cancelled":
        closes = run.background
    else:
        run.add(run.usage.to_dict())
        closes = True
    if closes:
        run.add_done()
    for step in run.steps:
        if step.status == "pending":
            step.status = "cancelled" if run.cancelled else "failed"
    run.ended = True
    run.store()
