"""A Letta server without its socket: its agents, runs, locks and memory of requests."""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from typing import TYPE_CHECKING, Any, ClassVar, Final

from steer_nb.errors import InvalidInput
from steer_nb.simulator.account import Account
from steer_nb.simulator.faults import Facts, Faults
from steer_nb.simulator.ids import Ids
from steer_nb.simulator.letta import compacting
from steer_nb.simulator.letta.faults import LettaFault, PhantomCall
from steer_nb.simulator.letta.naming import id_of, message_id_of
from steer_nb.simulator.letta.playback import Player, remember
from steer_nb.simulator.letta.requests import read_sent
from steer_nb.simulator.letta.run import Run
from steer_nb.simulator.letta.state import BLOCK, ORGANIZATION, USER, Agent, Conversation, Tool
from steer_nb.simulator.letta.stored import Stored
from steer_nb.simulator.letta.trouble import Refused, not_found
from steer_nb.simulator.pace import EPOCH, Clock

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable

    from steer_nb.simulator.faults import Armed, Fault, Way
    from steer_nb.simulator.letta.options import LettaOptions
    from steer_nb.simulator.letta.recorded import Recorded, RecordedRun
    from steer_nb.simulator.letta.requests import Sent
    from steer_nb.simulator.letta.scenario import LettaScenario
    from steer_nb.simulator.letta.stored import ToolCall
    from steer_nb.simulator.letta.tools import Outcome, ServerTool
    from steer_nb.simulator.letta.web import Connection

__all__ = ["MODEL", "SYSTEM", "LettaService"]

MODEL = "simulator/stand-in"
SYSTEM = "You are a helpful agent. Ask before you do what cannot be undone."

_NOTHING: Final[dict[str, Any]] = {"role": "user", "content": ""}
"""What somebody sent whose request nobody knows."""


class LettaService:
    """All that the connections of one Letta simulator share. Only on the server's thread.

    Attributes
    ----------
    agents, conversations, runs, tools : dict
        By id.
    by_otid : dict
        Which background run a client's otid belongs to; `by_token`, all otids of a request (5.4).
    """

    fault_kind: ClassVar[type[Fault]] = LettaFault

    def __init__(
        self,
        scenario: LettaScenario,
        *,
        seed: int | str,
        speed: float,
        options: LettaOptions,
        clock: Clock | None = None,
        remembers: Recorded | None = None,
    ) -> None:
        self.scenario = scenario
        self.speed = speed
        self.options = options
        self.ids = Ids(seed)
        self.clock = clock or Clock()
        self.account = Account()
        self.faults = Faults(self.account)
        self.agents: dict[str, Agent] = {}
        self.conversations: dict[str, Conversation] = {}
        self.runs: dict[str, Run] = {}
        self.tools: dict[str, Tool] = {}
        self.by_otid: dict[tuple[str, str], Run] = {}
        self.by_token: dict[tuple[str, str], Run] = {}
        self.connections: dict[int, Connection] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._n_connections = 0
        self._n_agents = 0
        for one in scenario.tools:
            self.add_tool(one)
        self.nothing_sent = read_sent({"messages": [_NOTHING]}, streaming=True)
        self.player: Player | None = None
        if remembers is not None:
            remember(self, remembers)
        if scenario.recorded is not None:
            self.player = Player(self, scenario.recorded)
        if not self.agents:
            self.add_agent(scenario.name, tools=self.tools.values())

    # Time

    def now(self) -> float:
        """Say what time it is: at speed 0 the same in every run."""
        return EPOCH + len(self.runs) if self.speed <= 0 else time.time()

    # Connections

    def next_connection(self) -> int:
        """Number the connections, from 1."""
        self._n_connections += 1
        return self._n_connections

    def overview(self) -> list[dict[str, Any]]:
        """Describe the open connections."""
        return [one.to_dict() for one in self.connections.values()]

    def drop(
        self,
        code: int | None = None,  # noqa: ARG002 - HTTP has no close codes
        *,
        reason: str = "simulated",  # noqa: ARG002
        connection: int | None = None,
    ) -> list[int]:
        """Lose connections at once; gives their numbers.

        Raises
        ------
        InvalidInput
            `connection` is not open.
        """
        if connection is not None and connection not in self.connections:
            known = ", ".join(map(str, self.connections)) or "none"
            msg = f"Connection {connection} is not open; open are: {known}."
            raise InvalidInput(msg, field="connection", value=connection, rule="an open one")
        dropped = [one for one in self.connections if connection in (None, one)]
        for one in dropped:
            self.account.add("fault", connection=one, fault="drop", way="at_once")
            self.connections[one].cut()
        return dropped

    def adopt(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let something go on, whoever leaves."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def end(self) -> None:
        """Stop what still goes on: the server ends."""
        left = tuple(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    # Faults

    def strike(
        self, way: Way, kind: str, conversation: str | None = None, *, connection: int = 0
    ) -> list[Armed]:
        """Say which faults strike."""
        facts = Facts(kind, conversation)
        return self.faults.strike(way, connection, 0, facts=facts)

    def has_redis(self, what: str) -> bool:
        """Whether what it is asked for can be remembered (5.1)."""
        return not self.strike("redis", what)

    def arm(self, fault: Any) -> None:
        """Arm a fault that a script asks for."""
        self.faults.arm(LettaFault.of(fault))

    def phantom(self, run: Run) -> PhantomCall | None:
        """Say whether this request for approval shows a call too many."""
        for armed in self.strike("model", "approval_request_message", run.conversation.name):
            if isinstance(armed.fault, PhantomCall):
                return armed.fault
        return None

    def ran(self, run: Run, call: ToolCall, outcome: Outcome) -> None:
        """Note that a tool ran."""
        self.account.add(
            "tool",
            run=run.id,
            agent=run.agent.id,
            conversation=run.conversation.name,
            tool_call_id=call.tool_call_id,
            name=call.name,
            arguments=call.arguments,
            status=outcome.status,
        )

    # Agents, tools, conversations

    def add_tool(self, server: ServerTool, **more: Any) -> Tool:
        """Keep a tool; one of its name is replaced."""
        known = self.tool_named(server.name)
        if known is not None:
            known.server = server
            for name, value in more.items():
                if value is not None:
                    setattr(known, name, value)
            return known
        asks = more.pop("default_requires_approval", None)
        made = Tool(
            id_of(self.ids, "tool", server.name),
            server,
            default_requires_approval=server.requires_approval or None if asks is None else asks,
            **{name: value for name, value in more.items() if value is not None},
        )
        self.tools[made.id] = made
        return made

    def tool_named(self, name: str) -> Tool | None:
        """Find a tool."""
        return next((one for one in self.tools.values() if one.name == name), None)

    def add_agent(
        self,
        name: str,
        *,
        tools: Iterable[Tool] = (),
        model: str | None = None,
        system: str | None = None,
        settings: dict[str, Any] | None = None,
        blocks: Iterable[dict[str, Any]] = (),
        window: int | None = None,
        agent_id: str | None = None,
    ) -> Agent:
        """Make an agent; of a given id, where that is known."""
        self._n_agents += 1
        now = self.now()
        made = Agent(
            agent_id or id_of(self.ids, "agent", self._n_agents),
            name,
            f"agent{self._n_agents}",
            now,
            now,
            model or MODEL,
            system or SYSTEM,
            window or self.options.context_window,
            settings or {},
        )
        made.blocks = [
            {**BLOCK, **one, "id": id_of(self.ids, "block", made.key, at)}
            for at, one in enumerate(blocks)
        ]
        for tool in tools:
            made.attach(tool)
        self.begin(made.own)
        self.agents[made.id] = made
        return made

    def add_conversation(
        self,
        agent: Agent,
        summary: str | None = None,
        model: str | None = None,
        *,
        conversation_id: str | None = None,
    ) -> Conversation:
        """Make a conversation of an agent; of a given id, where that is known."""
        key = f"{agent.key}/{len(agent.conversations) + 1}"
        now = self.now()
        own = conversation_id or id_of(self.ids, "conv", key)
        made = Conversation(agent, own, key, now, now, summary, model)
        assert made.id is not None
        agent.conversations[made.id] = made
        self.conversations[made.id] = made
        return made

    def begin(self, conversation: Conversation) -> None:
        """Let a conversation begin with what its agent is told; one of its own, when first used."""
        made = self.new_message_id(conversation)
        system = conversation.agent.system
        conversation.begin(Stored(made, "system", self.now(), content=system))

    def new_message_id(self, conversation: Conversation) -> str:
        """Make the id of a conversation's next message."""
        conversation.n_made += 1
        return message_id_of(self.ids, conversation.key, conversation.n_made)

    def used(self, key: str) -> bool:
        """Whether anything was sent in the conversation of this key."""
        everything = (one for agent in self.agents.values() for one in agent.everything)
        return any(one.runs for one in everything if one.key == key)

    def compact(
        self, conversation: Conversation, settings: dict[str, Any]
    ) -> tuple[str, int, int] | None:
        """Compact a conversation as asked for; None where it would not become shorter.

        Gives the summary, and how many messages the model saw before and sees now.
        """
        agent, context = conversation.agent, conversation.context
        own = agent.llm["compaction_settings"]
        done = compacting.compact(context, {**own, **settings}, agent.window)
        before, after = len(context), len(done.kept) + 1
        if before <= after:
            return None
        made = self.new_message_id(conversation)
        text = compacting.packed(done, self.now(), None)
        summary = Stored(made, "summary", self.now(), content=text, summary=done.summary)
        conversation.compact(summary, done.kept)
        return done.summary, before, after

    def agent(self, agent_id: str) -> Agent:
        """Find an agent.

        Raises
        ------
        Refused
            404.
        """
        if agent_id not in self.agents:
            raise not_found(agent_id, kind="Agent")
        return self.agents[agent_id]

    def conversation(self, conversation_id: str, agent_id: str | None = None) -> Conversation:
        """Find a conversation; ``default`` is an agent's own (1).

        Raises
        ------
        Refused
            404, or 422 where no agent is named.
        """
        if conversation_id == "default":
            if agent_id is None:
                raise Refused(422, "agent_id is required when conversation_id is 'default'")
            return self.agent(agent_id).own
        if conversation_id not in self.conversations:
            raise not_found(conversation_id, kind="Conversation")
        return self.conversations[conversation_id]

    # Runs

    def add_run(
        self,
        conversation: Conversation,
        sent: Sent,
        *,
        background: bool,
        kind: str,
        named: bool,
        recorded: RecordedRun | None = None,
    ) -> Run:
        """Make a run; what it is for is `steer_nb.simulator.letta.loop`'s affair."""
        if not conversation.messages:
            self.begin(conversation)
        place = (conversation.key, len(conversation.runs) + 1)
        known = None if recorded is None or recorded.id in self.runs else recorded.id
        run = Run(
            known or id_of(self.ids, "run", *place),
            conversation.agent,
            conversation,
            sent,
            background,
            kind,
            self.now(),
            self.clock.now(),
            named,
            recorded=recorded,
        )
        self.runs[run.id] = run
        conversation.runs.append(run)
        return run

    def know_again(self, run: Run) -> None:
        """Remember what a background run was asked with, so that it is not done twice (5.4)."""
        scope, sent = run.conversation.key, run.sent
        if sent.token is not None:
            self.by_token[scope, sent.token] = run
        for otid in sent.otids:
            self.by_otid[scope, otid] = run

    def run(self, run_id: str) -> Run:
        """Find a run.

        Raises
        ------
        Refused
            404, in the server's words, which tell too much (5.3).
        """
        if run_id not in self.runs:
            moment = dt.datetime.fromtimestamp(EPOCH, dt.UTC).replace(tzinfo=None)
            actor = (
                f"id='{USER}' organization_id='{ORGANIZATION}' name='default_user' "
                f"created_at=None updated_at={moment!r} is_deleted=False"
            )
            msg = (
                f"Run not found with id='['{run_id}']', access level in ['read'] for "
                f"actor='{actor}'"
            )
            raise Refused(404, msg)
        return self.runs[run_id]

    def keeper(self, conversation: Conversation) -> Run | None:
        """Say which run keeps others out of a conversation (5.5)."""
        if conversation.lock is None:
            return None
        run, until = conversation.lock
        return run if run.active and self.clock.now() < until else None

    def expired(self, run: Run) -> bool:
        """Whether a background run is too old to be read again (5.3)."""
        return self.clock.now() - run.started > self.options.stream_ttl_s
