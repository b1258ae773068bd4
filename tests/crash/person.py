"""A person who follows a plan to its end, whatever happens to the line or to the process.

Everything the person knows is in the session: what was said, filled and decided is read from the
ledger each time. So a person who comes back after a crash goes on where the journal ends, and
nothing here can know more than a real one would.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import steer_nb
from steer_nb.client.answers import askable
from steer_nb.client.handles import Response, Steer
from steer_nb.client.injects import Inject
from steer_nb.client.reconnecting import Reconnect
from steer_nb.ledger import recovery, rules
from steer_nb.ledger.state import LaneState, RequestState, SteerState
from steer_nb.wire import TERMINAL_TYPES, decode
from tests.crash.following import Follower, Stuck
from tests.crash.plans import PLANS

if TYPE_CHECKING:
    from pathlib import Path

    from steer_nb import Ledger, Session
    from tests.crash.following import Wish
    from tests.crash.plans import LanePlan, Plan, Steering

__all__ = [
    "POLICIES",
    "SOON",
    "Person",
    "Policy",
    "Stuck",
    "begin",
    "come_back",
    "live",
    "tools_for",
]

SOON = Reconnect(attempts=20, first_s=0.005, longest_s=0.05, rotate_s=None)
MOST_CRASHES = 2
BUSY = ("running", "queued")
PNG = "data:image/png;base64,iVBORw0KGgo="


@dataclass(frozen=True)
class Policy:
    """How a person decides.

    Attributes
    ----------
    way : {"first", "rebuild", "leave"}
        How a lane goes on after a loss: as offered first, or always in one way where it is offered.
    again : bool
        Whether what is unknown or failed is sent again, or dropped.
    """

    way: Literal["first", "rebuild", "leave"] = "first"
    again: bool = True

    @property
    def name(self) -> str:
        return f"{self.way}-{'again' if self.again else 'drop'}"


POLICIES = {
    policy.name: policy
    for policy in (
        Policy(way, again) for way in ("first", "rebuild", "leave") for again in (True, False)
    )
}


def tools_for(word: str, directory: Path) -> list[Any]:
    """The person's functions. Each run is a line in a file, written before the function ends."""
    if word == "none":
        return []

    @steer_nb.tool(policy=word)
    def get_weather(city: str) -> str:
        """Tell the weather of a city."""
        number = os.open(directory / "runs.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(number, f"{city}\n".encode())
        os.close(number)
        return f"18 C in {city}"

    return [get_weather]


def begin(plan: Plan, url: str, directory: Path) -> Session:
    """Connect, and open nothing yet."""
    return steer_nb.connect(
        url,
        api_key="",
        journal=directory / "journals",
        quiet=True,
        reconnect=SOON,
        name=plan.name,
        multi_agent=plan.multi_agent,
    )


def come_back(plan: Plan, directory: Path) -> Session:
    """Go on from the journal of a process that was killed."""
    tools = [tool for lane in plan.lanes for tool in tools_for(lane.tools, directory)][:1]
    return steer_nb.recover(
        directory / "journals", api_key="", quiet=True, reconnect=SOON, tools=tools
    )


def live(name: str, url: str, directory: Path, policy: Policy, again: bool) -> None:
    """Follow a plan in a process of its own, which somebody may kill; `again` after a first."""
    plan = PLANS[name]
    with come_back(plan, directory) if again else begin(plan, url, directory) as session:
        Person(session, plan, policy, directory).run()


class Person(Follower):
    """Drives a session through a plan."""

    def __init__(self, session: Session, plan: Plan, policy: Policy, directory: Path) -> None:
        super().__init__(session)
        self.plan = plan
        self.policy = policy
        self.directory = directory

    def wishes(self, ledger: Ledger) -> list[Wish]:
        """What there is to see at once, lane by lane; nothing, while the line is lost."""
        if not self.session.core.line.connected:
            return []
        return [
            (f"{lane.name}: {words}", act)
            for lane in self.plan.lanes
            for words, act in self._wishes(ledger, lane)
        ]

    def finished(self, ledger: Ledger) -> bool:
        """Whether nothing is left to say, to decide or to wait for."""
        for lane in self.plan.lanes:
            state = ledger.lanes.get(lane.name)
            if state is None or self._unsaid(ledger, state, lane) is not None:
                return False
            if rules.lane_word(state) not in ("idle", "failed"):
                return False
            if rules.lane_word(state) == "idle" and self._owes_a_word(state):
                return False
            if any(request.undecided for request in state.requests):
                return False
        messages = (*ledger.steers.values(), *ledger.injects.values())
        undecided = any(message.undecided for message in messages)
        return self.session.core.line.connected and not undecided and not self._interrupts()

    def _interrupts(self) -> bool:
        """Whether the service has one more word to say: who left now would not hear it."""
        if not self.plan.options.get("done_event"):
            return False
        here = self.session.core.recorder.connection
        events = (e for e in reversed(self.session.trace.entries) if e.kind == "in")
        last = next((e for e in events if e.connection == here), None)
        ends = TERMINAL_TYPES - {"response.done"}
        return last is not None and decode(last.raw or "").type in ends

    # -- what the person wants, the most urgent first ------------------------------------------

    def _wishes(self, ledger: Ledger, plan: LanePlan) -> list[Wish]:
        session, name = self.session, plan.name
        if name not in session.lanes:
            return self._opening(ledger, plan)
        lane = session.lanes[name]
        state = ledger.lanes.get(name) or LaneState(name)
        offer = recovery.offer(ledger, state)
        if offer is not None:
            way = self.policy.way
            choice = offer.choice(way) if way != "first" else None
            word = (choice or offer.choices[0]).word
            return [(f"recover {word}", lambda: lane.recover(word))]
        wishes: list[Wish] = []
        wishes += self._decisions(ledger, state)
        wishes += self._words(ledger, state, plan)
        wishes += self._answers(ledger, state, plan)
        return wishes

    def _opening(self, ledger: Ledger, plan: LanePlan) -> list[Wish]:
        def options() -> dict[str, Any]:
            tools = tools_for(plan.tools, self.directory)
            return {**plan.settings, "tools": tools} if tools else plan.settings

        if plan.fork_of is None:
            return [("open", lambda: self.session.lane(plan.name, **options()))]
        source = next(one for one in self.plan.lanes if one.name == plan.fork_of)
        state = ledger.lanes.get(source.name)
        done = state is not None and self._unsaid(ledger, state, source) is None
        if not done or rules.lane_word(state) != "idle" or source.name not in self.session.lanes:
            return []
        if rules.chain_tip(state) is None:  # left, or to be repeated: nothing to fork from
            return [("open", lambda: self.session.lane(plan.name, **options()))]
        return [("fork", lambda: self.session.lanes[source.name].fork(plan.name, **options()))]

    def _decisions(self, ledger: Ledger, state: LaneState) -> list[Wish]:
        wishes: list[Wish] = []
        messages: list[Any] = [s for r in state.responses for s in r.steers] + state.requests
        for inject in (inject for r in state.responses for inject in r.injects):
            handle = Inject(self.session, inject.key)
            if inject.undecided:
                act = handle.send_again if self.policy.again else handle.drop
                wishes.append((f"{act.__name__} {inject.key}", act))
        for message in messages:
            kind = Response if message in state.requests else Steer
            handle = kind(self.session, message.key)
            words = f"{message.key} ({message.state})"
            busy = isinstance(message, RequestState) and rules.lane_word(state) in BUSY
            if busy:
                continue  # it would hang on what is being written, which may come to nothing
            if message.undecided and not self.policy.again:
                wishes.append((f"drop {words}", handle.drop))
            elif (
                message.undecided
                or self._wants_again(ledger, message)
                or self._was_left(ledger, message)
            ):
                wishes.append((f"again {words}", handle.send_again))
        return wishes

    def _was_left(self, ledger: Ledger, message: Any) -> bool:
        """Whether it went into a response that was cut off, and is not gone on from."""
        if message.decision is not None or not self.policy.again:
            return False
        if _depth(ledger, message.key) >= MOST_CRASHES:  # words that make the service hang up
            return False
        if isinstance(message, SteerState):
            successor = ledger.responses.get(message.successor_id or "")
            return successor is not None and successor.left
        return message.left and not message.answers  # the answers go out with the continuation

    def _wants_again(self, ledger: Ledger, message: Any) -> bool:
        if message.decision is not None or message.state not in ("failed", "unsent"):
            return False
        if message.state == "unsent":
            return True
        if _depth(ledger, message.key) >= 2:
            return False
        code = getattr(message, "failure_code", None) or getattr(message, "error_code", None)
        forgotten = code in ("previous_response_not_found", "not_sent")
        return forgotten or (self.policy.again and message.key.startswith("steer"))

    def _answers(self, ledger: Ledger, state: LaneState, plan: LanePlan) -> list[Wish]:
        lane = self.session.lanes[plan.name]
        running = self.session.core.runner.running
        wishes: list[Wish] = []
        for stub in askable(state):
            place = (stub.parent_id, stub.key)
            if stub.state != "open" or place in running:
                continue
            mine = stub.type == "function_call_output" and stub.name == "get_weather"
            if mine and plan.tools == "ask" and stub.tool is None:
                wishes.append((f"run {stub.key[-4:]}", lambda key=stub.key: lane.run_tool(key)))
            elif mine and plan.tools == "auto" and stub.tool is None:
                continue  # it begins by itself
            else:
                fields = answer(stub.key, stub.type, stub.call)
                wishes.append(
                    (
                        f"fill {stub.key[-4:]}",
                        lambda key=stub.key, fields=fields: lane.fill(key, **fields),
                    )
                )
        parent = rules.answerable(state)
        if parent is not None and rules.may_inject(parent) is None:
            if any(s.state == "filled" and s.filled_by != "policy" for s in parent.waiting_for):
                wishes.append(("inject", lane.inject))
        elif parent is not None and rules.may_continue(parent) is None:
            by_itself = all(s.filled_by == "policy" for s in parent.waiting_for if not s.optional)
            if not by_itself or parent.continuations:
                wishes.append(("continue", lane.send_continuation))
        return wishes

    def _words(self, ledger: Ledger, state: LaneState, plan: LanePlan) -> list[Wish]:
        lane = self.session.lanes[plan.name]
        word = rules.lane_word(state)
        unsaid = self._unsaid(ledger, state, plan)
        if unsaid is None and self._owes_a_word(state):
            return [("say go on", lambda: lane.create("Please go on."))] if word == "idle" else []
        if unsaid is None:
            return []
        text, steering, at_once = unsaid
        if word in ("idle", "failed"):
            return [(f"say {text!r}", lambda: lane.create(text))]
        if word != "running":
            return []
        if steering is None:
            return [(f"queue {text!r}", lambda: lane.create(text))] if at_once else []
        wishes: list[Wish] = []
        if self._moment(state, steering):
            wishes.append((f"steer {text!r}", lambda: lane.steer(text)))
        return wishes

    @staticmethod
    def _owes_a_word(state: LaneState) -> bool:
        """Whether the conversation is to be repeated with the next words, and none have come."""
        return state.resume == "rebuild" and rules.chain_tip(state) is None

    @staticmethod
    def _moment(state: LaneState, steering: Steering) -> bool:
        response = state.current
        if response is None:
            return False
        if steering.at == "text":
            return bool(response.first_text)
        if steering.at == "call":
            return bool(response.required)
        return True

    @staticmethod
    def _unsaid(
        ledger: Ledger, state: LaneState, plan: LanePlan
    ) -> tuple[str, Steering | None, bool] | None:
        """The next thing to say; None once all is said."""
        said = [json.dumps(request.body.get("input")) for request in state.requests]
        said += [json.dumps(steer.input) for r in state.responses for steer in r.steers]
        whole = "\n".join(said)
        for number, turn in enumerate(plan.turns):
            if turn.text not in whole:
                return turn.text, None, turn.at_once
            following = plan.turns[number + 1] if number + 1 < len(plan.turns) else None
            if following is not None and following.at_once and following.text not in whole:
                return following.text, None, True
            for steering in turn.steers:
                if steering.text not in whole:
                    return steering.text, steering, False
        return None


def _depth(ledger: Ledger, key: str) -> int:
    """How often a message was sent again already."""
    before = {
        message.again_key: message.key
        for message in (*ledger.steers.values(), *ledger.requests.values())
        if message.again_key is not None
    }
    depth = 0
    while key in before:
        key, depth = before[key], depth + 1
    return depth


def answer(key: str, kind: str, call: dict[str, Any] | None) -> dict[str, Any]:
    """A value for any of the seven kinds, which names the call that it answers."""
    call = call or {}
    if kind == "computer_call_output":
        checks = call.get("pending_safety_checks") or []
        screenshot = {"type": "computer_screenshot", "image_url": PNG}
        return {"output": screenshot, "acknowledged_safety_checks": checks}
    if kind == "shell_call_output":
        outcome = {"type": "exit", "exit_code": 0}
        commands = call["action"]["commands"]
        return {
            "output": [
                {"stdout": f"{command} of {key}", "stderr": "", "outcome": outcome}
                for command in commands
            ]
        }
    if kind == "apply_patch_call_output":
        return {"status": "completed", "output": f"applied for {key}"}
    if kind == "tool_search_output":
        parameters = {"type": "object", "properties": {"day": {"type": "string"}}}
        function = {"type": "function", "name": "find_events", "parameters": parameters}
        return {"tools": [{**function, "strict": None}]}
    if kind == "mcp_approval_response":
        return {"approve": True, "reason": f"yes to {key}"}
    return {"output": f"value of {key}"}
