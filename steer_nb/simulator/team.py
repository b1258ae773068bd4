"""The agents of one response: each plays its own script, at the same time as the others.

An agent whose calls are not answered waits while the others go on; `response.inject` resumes it.
The response ends when the last agent has finished. Where all that are left wait for the client, it
stays open, or ends with its calls unanswered, as an option says; without a connection it ends so.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from steer_nb.simulator import steps
from steer_nb.simulator.agents import (
    ROOT,
    AgentMessage,
    HostedCall,
    HostedOutput,
    SendMessage,
    Spawn,
    WaitAgents,
)
from steer_nb.simulator.requests import content_text
from steer_nb.simulator.turn import Result, Turn
from steer_nb.simulator.turns import InTurns, Pen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.engine import Engine
    from steer_nb.simulator.pace import Pace
    from steer_nb.simulator.steps import Step

__all__ = ["Team"]

logger = logging.getLogger("steer_nb.simulator")

AT_ONCE = 3
"""Subagents that are active at the same time, where the request does not say how many."""


@dataclass(eq=False)
class _Agent:
    name: str
    script: Callable[[Turn], Iterator[Step]]
    task: str | None = None
    parent: _Agent | None = None
    children: list[_Agent] = field(default_factory=list)
    state: Literal["queued", "writing", "waiting", "listening", "done"] = "queued"
    open_calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: dict[str, Result] = field(default_factory=dict)
    report: str = ""
    reports: dict[str, str] = field(default_factory=dict)
    n_turns: int = 0
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def short(self) -> str:
        """Its name below its parent."""
        return self.name.rpartition("/")[2]


class Team:
    """Plays a multi-agent response to its end.

    Parameters
    ----------
    engine : Engine
        Writes items, and ends the response.
    record : Record
        The response, begun.
    script : callable
        The root's script; its first call was made already.
    """

    def __init__(
        self, engine: Engine, record: Record, script: Callable[[Turn], Iterator[Step]]
    ) -> None:
        self._engine = engine
        self._record = record
        self._connection = record.connection
        asked = record.settings["multi_agent"].get("max_concurrent_subagents")
        self._slots = asyncio.Semaphore(asked or AT_ONCE)
        self._pen = Pen(shared=record.connection.service.speed <= 0)
        self._root = _Agent(ROOT, script, state="writing")
        self._agents = {ROOT: self._root}
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._over = False
        self._failure: Exception | None = None

    async def play(
        self, turn: Turn, script: Iterator[Step], first: Step | Exception | None
    ) -> None:
        """Play all agents; the response has ended when this returns."""
        self._root.reports = turn.reports
        self._record.team = self
        self._start(self._live(self._root, script, first))
        try:
            while not self._ended():
                self._changed.clear()
                await self._changed.wait()
            self._finish()  # in the same step: no inject can come between end and terminal event
        finally:
            self._record.team = None
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _finish(self) -> None:
        if self._failure is not None:
            logger.warning("scenario failed", exc_info=self._failure)
            msg = f"The scenario failed: {type(self._failure).__name__}: {self._failure}"
            error = {"code": "server_error", "message": msg}
            self._engine.finish(self._record, "failed", error=error)
        elif not self._over:
            self._engine.finish(self._record, "completed")

    def look(self) -> None:
        """Look anew whether there is an end: something changed that is not the agents'."""
        self._changed.set()

    def expect(self, name: str, calls: dict[str, dict[str, Any]]) -> None:
        """Let an agent wait for the results of its calls, once it has written everything else."""
        waits = {key: call for key, call in calls.items() if not call.get("async")}
        self._agents[name].open_calls |= waits

    def give(self, key: str, item: dict[str, Any], call: dict[str, Any]) -> None:
        """Hand a result to the agent whose call it answers."""
        for agent in self._agents.values():
            if agent.open_calls.pop(key, None) is not None:
                agent.results[key] = Result(key, item, call)
                agent.heard.set()

    def _ended(self) -> bool:
        if self._over or self._failure is not None:
            return True
        states = {agent.state for agent in self._agents.values()}
        if states == {"done"}:
            return True
        held = self._connection.options.agents_waiting == "hold" and not self._connection.lost
        paused = "waiting" in states and not held
        return paused and "writing" not in states and not self._due()

    def _due(self) -> bool:
        """Whether an agent goes on by itself: it heard what it waited for, or a slot is free."""
        agents = self._agents.values()
        heard = any(a.state == "waiting" and not a.open_calls for a in agents)
        free = any(a.state == "queued" for a in agents) and not self._slots.locked()
        listening = any(
            a.state == "listening" and all(c.state == "done" for c in a.children) for a in agents
        )
        return heard or free or listening

    def _start(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._stopped)

    def _stopped(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self._failure = error
        self._changed.set()

    def _become(
        self, agent: _Agent, state: Literal["writing", "waiting", "listening", "done"]
    ) -> None:
        agent.state = state
        self._changed.set()
        for other in self._agents.values():
            if other.state == "listening":
                other.heard.set()

    # One agent

    async def _sub(self, agent: _Agent) -> None:
        async with self._slots:
            self._become(agent, "writing")
            await self._live(agent, agent.script(self._turn(agent)), None, begun=False)

    async def _live(
        self,
        agent: _Agent,
        script: Iterator[Step],
        step: Step | Exception | None,
        *,
        begun: bool = True,
    ) -> None:
        pace = InTurns(self._connection.service.pace(), self._pen)
        async with self._pen.held():
            if not begun:
                step = steps.next_of(script)
            await self._write(agent, script, step, pace)

    async def _write(
        self, agent: _Agent, script: Iterator[Step], step: Step | Exception | None, pace: Pace
    ) -> None:
        while True:
            while step is not None:
                await pace.breathe()
                if isinstance(step, Exception):
                    raise step
                if await self._step(agent, step, pace):
                    self._over = True
                    self._changed.set()
                    return
                step = steps.next_of(script)
            if not agent.open_calls and not agent.results:
                break
            self._become(agent, "waiting")
            async with self._pen.laid_down():
                while agent.open_calls:
                    agent.heard.clear()
                    await agent.heard.wait()
            self._become(agent, "writing")
            script = agent.script(self._turn(agent))
            step = steps.next_of(script)
        if agent.parent is not None:
            agent.parent.reports[agent.short] = agent.report
            message = AgentMessage(agent.name, agent.parent.name, agent.report)
            await self._engine.writer.item(self._record, message, pace, agent.name)
        self._become(agent, "done")

    def _turn(self, agent: _Agent) -> Turn:
        """Say what an agent is told now: its task, or the results that it waited for."""
        agent.n_turns += 1
        if agent is self._root:
            self._record.n_resumed = agent.n_turns
        turn = Turn(self._record, [])
        if agent is not self._root:
            turn.number = agent.n_turns
        turn.agent, turn.task, turn.reports = agent.name, agent.task, agent.reports
        turn.results, agent.results = agent.results, {}
        turn.input_texts = []
        return turn

    async def _step(self, agent: _Agent, step: Step, pace: Pace) -> bool:
        """Do one step; True when it ended the response."""
        match step:
            case steps.Item() | steps.Several():
                made, _ = await self._engine.writer.items(self._record, step, pace, agent.name)
                for item in made:
                    if item["type"] == "message":
                        agent.report = content_text(item["content"])
            case Spawn():
                await self._spawn(agent, step, pace)
            case SendMessage(to, text):
                to = to if to.startswith("/") else f"{agent.name}/{to}"
                if to not in self._agents:
                    msg = f"there is no agent {to} to send a message to"
                    raise LookupError(msg)
                given = {"target": to, "message": text}
                await self._hosted(agent, "send_message", given, "Sent.", pace)
                await self._engine.writer.item(
                    self._record, AgentMessage(agent.name, to, text), pace, agent.name
                )
            case WaitAgents():
                await self._wait(agent, pace)
            case _:
                return await self._engine.control(self._record, step, pace)
        return False

    async def _hosted(
        self, agent: _Agent, action: str, given: dict[str, Any], text: str, pace: Pace
    ) -> None:
        call = await self._engine.writer.item(
            self._record, HostedCall(action, given), pace, agent.name
        )
        await self._engine.writer.item(self._record, HostedOutput(call, text), pace, agent.name)

    async def _spawn(self, parent: _Agent, step: Spawn, pace: Pace) -> None:
        name = f"{parent.name}/{step.name}"
        if name in self._agents:
            msg = f"there is an agent {name} already"
            raise ValueError(msg)
        child = _Agent(name, step.script, step.task, parent)
        self._agents[name] = child
        parent.children.append(child)
        given = {"task_name": step.name, "message": step.task}
        await self._hosted(parent, "spawn_agent", given, f"Spawned {name}.", pace)
        await self._engine.writer.item(
            self._record, AgentMessage(parent.name, name, step.task), pace, parent.name
        )
        self._start(self._sub(child))

    async def _wait(self, agent: _Agent, pace: Pace) -> None:
        call = await self._engine.writer.item(
            self._record, HostedCall("wait_agent"), pace, agent.name
        )
        if agent.parent is not None:
            self._slots.release()  # who only waits is not active: its own subagents need a slot
        self._become(agent, "listening")
        async with self._pen.laid_down():
            while any(child.state != "done" for child in agent.children):
                agent.heard.clear()
                await agent.heard.wait()
            if agent.parent is not None:
                await self._slots.acquire()
        self._become(agent, "writing")
        names = ", ".join(child.name for child in agent.children)
        text = f"{names} finished." if names else "There is no agent to wait for."
        await self._engine.writer.item(self._record, HostedOutput(call, text), pace, agent.name)
