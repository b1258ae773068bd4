"""A person who follows a plan with a Letta server to its end, whatever becomes of line or process.

As in `tests.crash.person`, all that the person knows is in the session, so who comes back after a
crash goes on where the journal ends.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import steer_nb
from steer_nb.client.answers import askable
from steer_nb.client.handles import Response, Steer
from steer_nb.errors import ConnectionFailed, InvalidInput
from steer_nb.ledger import keeping, rules
from steer_nb.ledger.state import LaneState
from tests.crash.following import Follower
from tests.crash.letta.plans import PLANS
from tests.crash.person import SOON

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from steer_nb import Ledger, Session
    from tests.crash.following import Wish
    from tests.crash.letta.plans import LettaLanePlan, LettaPlan

__all__ = ["POLICIES", "LettaPerson", "begin", "come_back", "live"]

POLICIES = ("again", "drop")
"""What is unknown, was held or never left: it is sent again, or dropped."""
REASON = "it is needed"


def tools_for(word: str, directory: Path) -> list[Any]:
    """The person's functions. Each run is a line in a file, written before the function ends."""
    if word == "none":
        return []

    @steer_nb.tool(policy=word)
    def weather(city: str) -> str:
        """Tell the weather of a city."""
        number = os.open(directory / "runs.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(number, f"{city}\n".encode())
        os.close(number)
        lines = (directory / "runs.txt").read_text().splitlines()
        return f"{len(lines)} C"  # another run would give another value

    return [weather]


def begin(plan: LettaPlan, url: str, directory: Path) -> Session:
    """Connect, and open nothing yet; again where the line breaks at once."""
    tools = [tool for lane in plan.lanes for tool in tools_for(lane.tools, directory)][:1]

    def connect() -> Session:
        return steer_nb.connect(
            letta=url,
            api_key="",
            journal=directory / "journals",
            quiet=True,
            reconnect=SOON,
            name=plan.name,
            tools=tools,
        )

    return _twice(connect)


def come_back(plan: LettaPlan, url: str, directory: Path) -> Session:
    """Go on from the journal of a process that was killed; begin where it had written none."""
    tools = [tool for lane in plan.lanes for tool in tools_for(lane.tools, directory)][:1]
    journals = directory / "journals"
    if not journals.is_dir() or not any(journals.glob("*.jsonl")):
        return begin(plan, url, directory)

    def recover(**more: str) -> Session:
        given: dict[str, Any] = {"reconnect": SOON, "tools": tools, **more}
        return steer_nb.recover(journals, api_key="", quiet=True, **given)

    try:
        return _twice(recover)
    except InvalidInput:  # it was killed before it wrote where it connects to
        return _twice(lambda: recover(url=url))


def _twice(connect: Callable[[], Session]) -> Session:
    try:
        return connect()
    except ConnectionFailed:
        return connect()


def live(name: str, url: str, directory: Path, policy: str, agent: str, again: bool) -> None:
    """Follow a plan in a process of its own, which somebody may kill; `again` after a first."""
    plan = PLANS[name]
    start = come_back if again else begin
    with start(plan, url, directory) as session:
        LettaPerson(session, plan, policy, agent).run()


class LettaPerson(Follower):
    """Drives a session through a plan."""

    patience = 20.0
    most_decisions = 60
    glance = 0.1

    def __init__(self, session: Session, plan: LettaPlan, policy: str, agent: str) -> None:
        super().__init__(session)
        self.plan = plan
        self.again = policy == "again"
        self.agent = agent

    def wishes(self, ledger: Ledger) -> list[Wish]:
        """What there is to see at once, lane by lane."""
        return [wish for lane in self.plan.lanes for wish in self._wishes(ledger, lane)]

    def finished(self, ledger: Ledger) -> bool:
        """Whether nothing is left to say, to decide or to wait for."""
        if any(lane.name not in self.session.lanes for lane in self.plan.lanes):
            return False
        for lane in self.plan.lanes:
            state = ledger.lanes.get(lane.name)
            if state is None or self.session.core.line.works_on(state.stream_id):
                return False
            if self._unsaid(state, lane) is not None or keeping.kept_on(state):
                return False
            if rules.lane_word(state) not in ("idle", "failed"):
                return False
            if self._decisions(state):
                return False
        return True

    # -- what the person wants, the most urgent first ------------------------------------------

    def _wishes(self, ledger: Ledger, plan: LettaLanePlan) -> list[Wish]:
        name = plan.name
        if name not in self.session.lanes:
            options = {**plan.settings, "agent": self.agent}
            return [(f"{name}: open", lambda: self.session.lane(name, **options))]
        state = ledger.lanes.get(name) or LaneState(name)
        if self.session.core.line.works_on(state.stream_id):
            return self._meanwhile(state, plan)
        return [
            *self._decisions(state),
            *self._words(state, plan),
            *self._answers(state, plan),
        ]

    def _decisions(self, state: LaneState) -> list[Wish]:
        wishes: list[Wish] = []
        for request in state.requests:
            unsent = request.state == "unsent" and request.decision is None
            if request.undecided or unsent:
                handle = Response(self.session, request.key)
                act = handle.send_again if self.again else handle.drop
                wishes.append((f"{state.name}: {act.__name__} {request.key}", act))
        for steer in (steer for response in state.responses for steer in response.steers):
            if steer.undecided:
                kept = Steer(self.session, steer.key)
                act = kept.send_again if self.again else kept.drop
                wishes.append((f"{state.name}: {act.__name__} {steer.key}", act))
        return wishes

    def _meanwhile(self, state: LaneState, plan: LettaLanePlan) -> list[Wish]:
        said = self._unsaid(state, plan)
        if said is None or said.when != "running" or state.current is None:
            return []
        lane = self.session.lanes[plan.name]
        return [(f"{plan.name}: keep {said.text!r}", lambda: lane.steer(said.text))]

    def _words(self, state: LaneState, plan: LettaLanePlan) -> list[Wish]:
        said, word = self._unsaid(state, plan), rules.lane_word(state)
        if said is None:
            return []
        lane = self.session.lanes[plan.name]
        if word in ("idle", "failed"):
            return [(f"{plan.name}: say {said.text!r}", lambda: lane.create(said.text))]
        if word == "waiting_input" and said.when == "waiting":
            return [(f"{plan.name}: keep {said.text!r}", lambda: lane.steer(said.text))]
        return []

    def _answers(self, state: LaneState, plan: LettaLanePlan) -> list[Wish]:
        lane, core = self.session.lanes[plan.name], self.session.core
        wishes: list[Wish] = []
        for stub in askable(state):
            key = stub.key
            if stub.state != "open" or (stub.parent_id, key) in core.runner.running:
                continue
            if stub.type == "letta_tool_return" and stub.tool is None:
                if plan.tools == "ask":
                    wishes.append((f"{plan.name}: run {key}", lambda key=key: lane.run_tool(key)))
                continue  # or it begins by itself
            fields: dict[str, Any] = {"approve": True}
            if stub.type == "letta_tool_return":
                fields = {"output": "it began, and nobody knows its end", "status": "error"}
            elif any(part in str(stub.call) for part in plan.denied):
                fields = {"approve": False, "reason": REASON}
            wishes.append(
                (
                    f"{plan.name}: fill {key}",
                    lambda key=key, fields=fields: lane.fill(key, **fields),
                )
            )
        parent = rules.answerable(state)
        if parent is not None and rules.may_continue(parent) is None:
            by_itself = all(stub.filled_by == "policy" for stub in parent.waiting_for)
            if not by_itself or parent.continuations:
                wishes.append((f"{plan.name}: continue", lane.send_continuation))
        return wishes

    @staticmethod
    def _unsaid(state: LaneState, plan: LettaLanePlan) -> Any:
        """The next thing to say; None once all is said."""
        whole = "\n".join(
            [
                *(json.dumps(request.body.get("input")) for request in state.requests),
                *(json.dumps(s.input) for response in state.responses for s in response.steers),
            ]
        )
        return next((said for said in plan.said if said.text not in whole), None)
