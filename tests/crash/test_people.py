"""Random people: whatever is done in whatever order, the ledger agrees with the service's truth.

Creates, steers, fills, continuations, forks, closes, cuts and decisions in any order, over every
position on the questions that the documents leave open, on a line that holds acknowledgements back
and repeats terminals. ``STEER_NB_PEOPLE=2000`` tries more of them than the usual few.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import steer_nb
from steer_nb.client.answers import askable
from steer_nb.client.handles import Response, Steer
from steer_nb.errors import SteerError, WaitTimeout
from steer_nb.ledger import recovery, rules
from steer_nb.ledger.deciding import came_to_nothing
from steer_nb.simulator import Simulator
from tests.crash.invariants import different
from tests.crash.mischief import Mischief
from tests.crash.person import SOON, answer, tools_for

LANES = ("a", "b", "c")
lanes = st.sampled_from(LANES[:2])
numbers = itertools.count(1)
ENDINGS = (
    "in Lisbon again",
    "server_error",
    "max_output_tokens",
    "credit_balance_exhausted",
    "missing_output",
)
"""What the scenario `failures` makes of the words."""
OPTIONS = {
    "steer_waiting": st.sampled_from(["accept", "refuse"]),
    "steer_completed": st.sampled_from(["accept", "refuse"]),
    "missing_output": st.sampled_from(["keep", "fail"]),
    "wrong_lane": st.sampled_from(["error", "fork"]),
    "acknowledge": st.sampled_from(["at_once", "after_terminal", "after_successor"]),
    "async_calls": st.sampled_from(["free", "block"]),
    "steer_limited": st.sampled_from(["successor", "fail"]),
    "steer_failed": st.sampled_from(["fail", "successor"]),
    "successor_order": st.sampled_from(["first", "tail"]),
    "several_steers": st.sampled_from(["one", "each"]),
    "unknown_target_sequence": st.sampled_from([0, 7]),
    "max_pending_steers": st.sampled_from([1, 8]),
    "cut_between_calls": st.booleans(),
    "done_event": st.booleans(),
}
"""Every position on each open question (5.8), and what else a service may do differently."""


class People(RuleBasedStateMachine):
    """A session with up to three lanes and whatever people do to it."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="steer-nb-people-"))
        self.open = contextlib.ExitStack()
        self.session = None
        self.cuts = 0

    @initialize(
        scenario=st.sampled_from(["planner", "weather", "seven", "failures"]),
        policy=st.sampled_from(["ask", "auto"]),
        options=st.fixed_dictionaries({}, optional=OPTIONS),
        hold=st.integers(0, 4),
        repeat=st.sampled_from([None, 0, 3]),
    )
    def start(self, scenario, policy, options, hold, repeat):
        simulator = Simulator(scenario, speed=0, breath_s=0.002, **options)
        # Which of several successors has a steer, the wire does not say (5.8 k).
        self.untold = options.get("several_steers") == "each"
        self.simulator = self.open.enter_context(simulator)
        self.proxy = self.open.enter_context(Mischief(self.simulator.url, hold=hold, repeat=repeat))
        self.tools = tools_for(policy, self.directory)
        self.session = self.open.enter_context(
            steer_nb.connect(
                self.proxy.base_url,
                api_key="",
                journal=self.directory / "journals",
                quiet=True,
                reconnect=SOON,
                name="people",
                tools=self.tools,
            )
        )

    def teardown(self):
        try:
            if self.session is not None:
                self.finish()
        except BaseException:
            print("\n".join(story(self.session.trace)))
            raise
        finally:
            self.open.close()
            shutil.rmtree(self.directory)

    # -- what people do ----------------------------------------------------------------------------

    def lane(self, name):
        return self.session.lanes.get(name) or self.session.lane(name)

    @staticmethod
    def words(ending="in Lisbon again"):
        return f"Weather or plan, number {next(numbers):05d}, {ending}?"

    def busy(self, name):
        """Whether a request would wait behind what is being written, and hang on it.

        Then the lane has two ways to go on from one response, and nothing on the wire tells them
        apart: that is for the plans of the crash sweep.
        """

        def look(ledger):
            state = ledger.lanes.get(name)
            if state is None:
                return False
            tip = state.tip
            steered = tip is not None and rules.turn_open(tip)
            return state.current is not None or bool(state.queue) or steered

        return self.session.read(look)

    def queued(self, name):
        """Whether a request waits behind what is being written, as `busy` could not foresee it."""

        def look(ledger):
            state = ledger.lanes.get(name)
            return state is not None and state.current is not None and bool(state.queue)

        return self.session.read(look)

    @rule(name=lanes, ending=st.sampled_from(ENDINGS))
    def say(self, name, ending):
        with contextlib.suppress(SteerError):
            if not self.busy(name):
                self.lane(name).create(self.words(ending))

    @rule(name=lanes)
    def say_or_steer(self, name):
        with contextlib.suppress(SteerError):
            if not self.queued(name):
                self.lane(name).send(self.words())

    @rule(name=lanes, count=st.integers(1, 3), events=st.integers(0, 6))
    def steer(self, name, count, events):
        """Steer what is being written, some events after it began."""
        with contextlib.suppress(SteerError):
            lane = self.lane(name)
            if not self.busy(name):
                lane.create(self.words())
            self.read(events)
            for _ in range(count):
                if not self.queued(name):
                    lane.steer(self.words())

    @rule(name=lanes, most=st.integers(1, 7))
    def fill(self, name, most):
        for key, kind, call, mine in self.asked(name)[:most]:
            with contextlib.suppress(SteerError):
                if mine:
                    self.lane(name).run_tool(key)
                else:
                    self.lane(name).fill(key, **answer(key, kind, call))

    @rule(name=lanes)
    def answer_and_go_on(self, name):
        self.fill(name, 7)
        self.go_on(name)

    @rule(name=lanes, clear=st.booleans())
    def take_back(self, name, clear):
        """Clear what is filled, or answer all that is open as cancelled."""
        lane = self.session.lanes.get(name)
        with contextlib.suppress(SteerError):
            if lane is not None and clear:
                for required in lane.required_input:
                    lane.clear(required.key)
            elif lane is not None:
                lane.cancel_all()

    @rule(name=lanes)
    def go_on(self, name):
        with contextlib.suppress(SteerError):
            self.lane(name).send_continuation()

    @rule(source=lanes, name=st.sampled_from(LANES))
    def fork(self, source, name):
        # A lane that began anew while a steer of it is pending leaves that pending, in truth too.
        if source != name and not self.busy(name):
            with contextlib.suppress(SteerError):
                self.lane(source).fork(name).create(self.words())

    @rule(name=lanes)
    def close(self, name):
        if name in self.session.lanes and len(self.session.lanes) > 1:
            self.session.lanes[name].close()

    @rule()
    def wait(self):
        with contextlib.suppress(WaitTimeout):
            self.session.wait(0.05)

    @rule(events=st.integers(1, 12))
    def read(self, events):
        """Let so many things happen, if they do."""
        with contextlib.suppress(WaitTimeout):
            seen = self.session.read(lambda ledger: ledger.version)
            more = lambda ledger: True if ledger.version > seen + events else None  # noqa: E731
            self.session.until(more, 0.01, lambda: "")

    @precondition(lambda self: self.session is not None and self.cuts < 3)
    @rule()
    def cut(self):
        self.cuts += 1
        before = self.session.read(lambda ledger: len(ledger.connections))
        self.proxy.cut_now()
        self.session.until(
            lambda ledger: True if len(ledger.connections) > before else None,
            10,
            lambda: "no new connection",
        )

    @precondition(lambda self: self.cuts > 0)
    @rule(name=lanes, word=st.sampled_from([None, "continue", "rebuild", "leave"]))
    def recover(self, name, word):
        with contextlib.suppress(SteerError):
            self.lane(name).recover(word)

    @rule(number=st.integers(0, 20), again=st.booleans())
    def decide(self, number, again):
        keys = self.may_be_decided()
        if keys:
            handle = self.handle(keys[number % len(keys)])
            with contextlib.suppress(SteerError):
                if again and not self.busy(handle.lane.name):
                    handle.send_again()
                elif not again:
                    handle.drop()

    # -- what always holds -------------------------------------------------------------------------

    @invariant()
    def the_ledger_tells_the_truth(self):
        if self.session is None:
            return
        found = self.session.read(self.states)
        account = self.simulator.account  # read last: the service is ahead of what was heard of it
        steers = {entry["id"]: entry for entry in account if entry["kind"] == "steer"}
        begun = {entry["response_id"] for entry in account if entry["kind"] == "request"}
        for key, state, steer_id, successor in found["steers"]:
            if state == "committed" and steer_id is not None and not self.untold:
                truth = steers[steer_id]
                assert (truth["fate"], truth["successor_id"]) == ("committed", successor), key
            if state == "failed" and steer_id is not None:
                assert steers[steer_id]["fate"] == "failed", key
        for key, state, response_id in found["requests"]:
            if state == "started":
                assert response_id in begun, key
        continued = Counter(
            (entry["previous_response_id"], entry["connection"])
            for entry in account
            if entry["kind"] == "continuation" and entry["results"]
        )
        assert [where for where, count in continued.items() if count > 1] == []
        self.nothing_is_said_twice(found, account)

    @staticmethod
    def nothing_is_said_twice(found, account):
        sent = Counter(text for text in found["said"])
        received = Counter()
        for entry in account:
            if entry["kind"] == "steer":
                received[json.dumps(entry["input"])] += 1
            if entry["kind"] == "request" and isinstance(entry["body"].get("input"), str):
                received[json.dumps(entry["body"]["input"])] += 1
        assert received <= sent

    @staticmethod
    def states(ledger):
        texts = [json.dumps(s.input) for s in ledger.steers.values()]
        texts += [json.dumps(r.body.get("input")) for r in ledger.requests.values()]
        return {
            "steers": [
                (s.key, s.state, s.steer_id, s.successor_id) for s in ledger.steers.values()
            ],
            "requests": [(r.key, r.state, r.response_id) for r in ledger.requests.values()],
            "said": texts,
        }

    # -- and in the end ----------------------------------------------------------------------------

    def finish(self):
        """Everything is decided, answered and waited for; then all of it has to agree."""
        for name in self.session.read(lambda ledger: tuple(ledger.lanes)):
            self.session.lane(name)  # one that was closed in the middle, too
        for _ in range(60):
            self.session.wait(10)
            steps = [self.step(name) for name in tuple(self.session.lanes)]
            if not any(steps):
                break
        else:
            pytest.fail(f"it does not end: {self.session.status()}")
        self.the_ledger_tells_the_truth()
        assert [e for e in map(refusal, self.simulator.account) if e] == []
        assert self.session.read(self.unsettled) == []
        ends = {
            e["response_id"]: e["status"] for e in self.simulator.account if e["kind"] == "response"
        }
        heard = self.session.read(
            lambda ledger: {r.id: r.status for r in ledger.responses.values()}
        )
        assert {i: s for i, s in heard.items() if s not in ("truncated", ends.get(i))} == {}
        self.session.close()
        assert different(self.session.core.ledger, self.session.journal_path) == []

    def step(self, name):
        lane = self.session.lanes[name]
        if lane.recovery is not None:
            lane.recover()
            return True
        for key in self.session.read(lambda ledger: self.undecided(ledger, name)):
            self.handle(key).drop()
            return True
        asked = self.asked(name)
        for key, kind, call, _ in asked:
            lane.fill(key, **answer(key, kind, call))
        state = self.session.read(lambda ledger: ledger.lanes.get(name))
        waits = self.session.read(lambda _: state and rules.parent_waiting(state) is not None)
        if waits and self.session.read(lambda _: rules.lane_word(state)) == "waiting_input":
            lane.send_continuation()
            return True
        return bool(asked)

    @staticmethod
    def undecided(ledger, name):
        state = ledger.lanes.get(name)
        if state is None:
            return []
        steers = [s for r in state.responses for s in r.steers]
        return [m.key for m in (*steers, *state.requests) if m.undecided]

    @staticmethod
    def unsettled(ledger):
        """What has no final state."""
        live = [s.key for s in ledger.steers.values() if s.live]
        live += [r.key for r in ledger.requests.values() if r.state == "sent"]
        live += [r.id for r in ledger.responses.values() if r.is_live]
        return live

    # -- helpers -----------------------------------------------------------------------------------

    def may_be_decided(self):
        return self.session.read(
            lambda ledger: [
                m.key
                for m in (*ledger.steers.values(), *ledger.requests.values())
                if m.state in ("unknown", "failed", "unsent") or came_to_nothing(ledger, m)
            ]
        )

    def handle(self, key):
        return (Steer if key.startswith("steer") else Response)(self.session, key)

    def asked(self, name):
        def look(ledger):
            state = ledger.lanes.get(name)
            if state is None or name not in self.session.lanes or recovery.offer(ledger, state):
                return []
            running = self.session.core.runner.running
            return [
                (stub.key, stub.type, stub.call, stub.name == "get_weather" and stub.tool is None)
                for stub in askable(state)
                if stub.state == "open" and (stub.parent_id, stub.key) not in running
            ]

        return self.session.read(look)


def refusal(entry):
    """What the service refused, in a line."""
    said = entry.get("error"), entry.get("error_message")
    return (entry["kind"], entry["connection"], entry.get("lane"), *said) if any(said) else None


def story(trace):
    """What happened, without the texts: nobody can run the same moments again."""
    for entry in trace:
        message = json.loads(entry.raw) if entry.raw else {"type": entry.note, **(entry.data or {})}
        kind = message.pop("type")
        if kind.endswith("delta") or "part" in kind:
            continue
        response = message.get("response") or message
        kept = ("id", "previous_response_id", "stream_id", "lane", "key", "base", "choice", "by")
        words = [f"{name}={response[name]}" for name in kept if response.get(name) is not None]
        for name in ("input", "steer", "error", "required_input", "item", "incomplete_details"):
            value = message.get(name, response.get(name))
            if value:
                words.append(f"{name}={json.dumps(value)[:160]}")
        yield f"{entry.seq:4} {entry.connection} {entry.kind:4} {kind} {' '.join(words)}"


People.TestCase.settings = settings(
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # the moments are not the same again
    max_examples=int(os.environ.get("STEER_NB_PEOPLE", "60")),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestPeople = pytest.mark.slow(People.TestCase)
