"""What holds for every sequence of requests: order, endings, fates of steers.

Hypothesis chooses creates, steers and continuations on several lanes, sends them without waiting,
and reads at random moments. The rules are those of chapters 3 to 5.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steer_nb.simulator import (
    AwaitSteer,
    CallFunction,
    CallShell,
    Fail,
    Incomplete,
    Refuse,
    Say,
    Simulator,
    Think,
    scenario,
)
from steer_nb.wire import stub_for
from tests.support.simulated import ENDS, answer, calls_of, wire

LANES = (None, "a", "b", "c")


@scenario("mixed", "Does what the prompt's letters say, one step for each.")
def mixed(turn):
    steps = {
        "t": lambda: Think("Thinking of one thing.", "And of another."),
        "s": lambda: Say("Some words.", "A second part."),
        "w": lambda: AwaitSteer(0.004),
        "c": lambda: CallFunction("look", {"n": 1}),
        "h": lambda: CallShell("ls", "pwd"),
        "r": lambda: Refuse("No."),
        "f": lambda: Fail(),
        "i": lambda: Incomplete(),
    }
    yield Say(f"{len(turn.steers)} steers, {len(turn.results)} results.")
    if not turn.results:
        for letter in "".join(turn.steers) or turn.prompt:
            yield steps[letter]()


lanes = st.sampled_from(LANES)
words = st.text("tswch", max_size=5) | st.sampled_from(["swf", "swi", "r", "ttsss", "swsws"])
told = st.sampled_from(["s", "st", "swsws", "c", "wh", " "])
create = st.tuples(st.just("create"), lanes, words, st.booleans())
meet = st.just(("meet",))
steer = st.tuples(st.just("steer"), st.integers(0, 2), told)
go_on = st.tuples(st.just("continue"), lanes, st.sampled_from([True, True, False]))
read = st.tuples(st.just("read"), st.integers(1, 30))
rest = st.just(("rest",))
# Single actions seldom meet; these small stories often do.
steered = st.tuples(create, meet, steer, steer | read | create, rest | read | meet)
called = st.tuples(
    st.tuples(st.just("create"), st.just("a"), st.sampled_from(["c", "wc", "chw"]), st.booleans()),
    meet,
    steer | read,
    rest,
    steer | rest,
    st.just(("continue", "a", True)) | go_on,
)
actions = st.lists(
    st.one_of(st.tuples(create | meet | steer | go_on | read | rest), steered, steered, called),
    min_size=2,
    max_size=7,
).map(lambda stories: [action for story in stories for action in story])
options = st.fixed_dictionaries(
    {
        "acknowledge": st.sampled_from(["at_once", "after_terminal", "after_successor"]),
        "successor_order": st.sampled_from(["first", "tail"]),
        "cut_between_calls": st.booleans(),
        "steer_completed": st.sampled_from(["refuse", "accept"]),
        "several_steers": st.sampled_from(["one", "each"]),
    }
)


@pytest.fixture(scope="module")
def simulators():
    """One simulator for each setting of the options, started when first needed."""
    running = {}

    def get(chosen):
        key = tuple(chosen.items())
        if key not in running:
            running[key] = Simulator(mixed, speed=0, max_pending_steers=3, **chosen).start()
        return running[key]

    yield get
    for simulator in running.values():
        simulator.stop()


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(actions=actions, chosen=options)
def test_rules_hold(simulators, actions, chosen):
    simulator = simulators(chosen)
    before = len(simulator.account)
    events, steers = asyncio.run(drive(simulator, actions))
    account = simulator.account[before:]
    checked = Checker(events, steers, account, chosen)
    checked.lanes()
    checked.responses()
    checked.order()
    checked.steers()
    checked.successors()


async def drive(simulator, actions):
    """Do the actions; give all events and the steers that were sent, as (target, input)."""
    steers = []
    async with wire(simulator) as line:
        known, ended, used = [], {}, set()

        async def read(seconds):
            try:
                async with asyncio.timeout(seconds):
                    event = await line.recv()
            except TimeoutError:
                return False
            if event["type"] == "response.created":
                known.append(event["response"]["id"])
            elif event["type"] in ENDS:
                ended[event.get("stream_id")] = event["response"]
            return True

        for action in actions:
            match action:
                case ("create", lane, prompt, goes_on):
                    used.add(lane)
                    previous = ended[lane]["id"] if goes_on and lane in ended else None
                    await line.create(prompt, previous_response_id=previous, stream_id=lane or ...)
                case ("steer", back, text) if known:
                    target = known[max(-len(known), -1 - back)]
                    steers.append((target, text))
                    await line.steer(target, text)
                case ("meet",):
                    n_known = len(known)
                    while len(known) == n_known and await read(0.02):
                        pass
                case ("continue", lane, complete) if lane in ended:
                    used.add(lane)
                    results = [answer(call) for call in calls_of(ended[lane])]
                    await line.create(
                        results if complete else results[1:],
                        previous_response_id=ended[lane]["id"],
                        stream_id=lane or ...,
                    )
                case ("read", count):
                    for _ in range(count):
                        if not await read(0.01):
                            break
                case ("rest",):
                    while await read(0.02):
                        pass
        # Lanes are first in, first out: when this warm-up is through, so is all before it.
        for lane in used:
            await line.create([], generate=False, stream_id=lane or ..., user=f"last-{lane}")
        left = {f"last-{lane}" for lane in used}
        while left:
            assert await read(20)
            event = line.events[-1]
            if event["type"] == "response.completed":
                left.discard(event["response"]["user"])
        while await read(0.01):
            pass
        return line.events, steers


class Checker:
    def __init__(self, events, sent, account, chosen):
        self.events = events
        self.sent = sent
        self.chosen = chosen
        self.account = account
        self.created = {}
        self.ended = {}
        self.of = defaultdict(list)  # events by response, steer events included
        running = {}
        for at, event in enumerate(events):
            kind, lane = event["type"], event.get("stream_id")
            if kind == "error":
                continue
            if kind.startswith("response.steer."):
                owner = event["steer"]["previous_response_id"]
                assert self.created[owner][1] == lane
            elif kind == "response.created":
                assert lane not in running, "responses of a lane overlap"
                owner = running[lane] = event["response"]["id"]
                assert owner not in self.created
                self.created[owner] = (at, lane, event["response"])
            else:
                owner = running[lane]
                if kind in ENDS:
                    assert event["response"]["id"] == owner
                    self.ended[owner] = (at, event["response"])
                    del running[lane]
            self.of[owner].append(event)
        assert running == {}

    def kind(self, word):
        return [entry for entry in self.account if entry["kind"] == word]

    def lanes(self):
        """First in, first out: requests of a lane are answered in the order of sending."""
        automatic = {entry["response_id"] for entry in self.kind("successor")}
        answered = defaultdict(list)
        for event in self.events:
            lane = event.get("stream_id")
            if event["type"] == "error":
                answered[lane].append(None)
            elif event["type"] == "response.created" and event["response"]["id"] not in automatic:
                answered[lane].append(event["response"]["id"])
        asked = defaultdict(list)
        for entry in self.kind("request"):
            asked[entry["lane"]].append(entry["response_id"])
        assert dict(asked) == dict(answered)

    def responses(self):
        """One terminal each; items whole, one after another, and all of them in the end."""
        assert self.created.keys() == self.ended.keys()
        for events in self.of.values():
            numbers = [event["sequence_number"] for event in events]
            assert numbers == list(range(len(numbers))), "sequence numbers"
            assert sum(event["type"] in ENDS for event in events) == 1
            open_item, done = None, []
            for event in events:
                if event["type"] == "response.output_item.added":
                    assert open_item is None
                    assert event["output_index"] == len(done)
                    open_item = event["item"]["id"]
                elif event["type"] == "response.output_item.done":
                    assert event["item"]["id"] == open_item
                    open_item = None
                    done.append(event["item"])
                elif event["type"] in ENDS:
                    assert open_item is None, "cut inside an item"
                    assert event["response"]["output"] == done
                    assert event["response"]["usage"] is not None
                elif "output_index" in event:
                    assert open_item is not None
                    assert event["output_index"] == len(done)
                    assert event.get("item_id", open_item) == open_item

    def order(self):
        """Lifecycle events come in their order; only steer events may follow the terminal."""
        for owner, events in self.of.items():
            kinds = [e["type"] for e in events if not e["type"].startswith("response.steer.")]
            warm = self.created[owner][2]["user"] is not None
            assert (
                kinds[:2] == ["response.created", "response.completed"]
                if warm
                else kinds[:2] == ["response.created", "response.in_progress"]
            )
            assert kinds[-1] in ENDS

    def steers(self):
        """Each submission has exactly one fate, and those of one response keep their order."""
        submitted = defaultdict(list)
        for target, text in self.sent:
            submitted[target].append(text)
        fates = {entry["id"]: entry for entry in self.kind("steer") if entry["id"]}
        for target, texts in submitted.items():
            events = [e for e in self.of[target] if e["type"].startswith("response.steer.")]
            accepted = [e["steer"]["id"] for e in events if e["type"] == "response.steer.accepted"]
            refused = [
                e for e in events
                if e["type"] == "response.steer.failed" and "id" not in e["steer"]
            ]  # fmt: skip
            assert len(accepted) == len(set(accepted))
            assert len(accepted) + len(refused) == len(texts)
            assert all(event["error"]["code"] for event in refused)
            for steer_id in accepted:
                mine = [e["type"] for e in events if e["steer"].get("id") == steer_id]
                assert mine[0] == "response.steer.accepted"
                assert mine.count("response.steer.pending") <= 1
                assert mine.count("response.steer.failed") <= 1
                fate = fates[steer_id]["fate"]
                assert (fate == "failed") == ("response.steer.failed" in mine)
                if fate in ("pending", "lost"):
                    assert self.waits(target), "a steer was forgotten"
        for entry in self.kind("steer"):
            if entry["fate"] == "committed":
                lane = self.created[entry["successor_id"]][1]
                line = self.line(entry["successor_id"])
                assert line.index(entry["previous_response_id"]) == 0 or self.one_each
                assert lane == entry["lane"]
        for target in submitted:
            fates = [e for e in self.kind("steer") if e["previous_response_id"] == target]
            into = [self.created[e["successor_id"]][0] for e in fates if e["fate"] == "committed"]
            assert into == sorted(into), "steers changed places"
            assert self.one_each or len(set(into)) <= 1

    @property
    def one_each(self):
        return self.chosen["several_steers"] == "each"

    def line(self, owner):
        """What a response continues, the nearest first; where several follow one, all of it."""
        before, line = self.created[owner][2]["previous_response_id"], []
        while before is not None:
            line.append(before)
            before = self.created[before][2]["previous_response_id"]
        return line

    def waits(self, target):
        """Whether a response waits for the client; or, with a successor each, one that follows."""
        those = [o for o in self.ended if o == target or (self.one_each and target in self.line(o))]
        return any(
            self.ended[owner][1]["status"] != "failed" and bool(calls_of(self.ended[owner][1]))
            for owner in those
        )

    def successors(self):
        """Automatic ones follow their parent's end, inherit, and carry all that was queued."""
        for entry in self.kind("successor"):
            parent, successor = entry["previous_response_id"], entry["response_id"]
            began, lane, response = self.created[successor]
            ended_at, ended = self.ended[parent]
            assert ended_at < began
            assert lane == self.created[parent][1]
            assert response["previous_response_id"] == parent
            assert response["model"] == ended["model"]
            assert entry["steers"]
            assert not calls_of(ended), "a successor without the client's results"
        heirs = {entry["previous_response_id"] for entry in self.kind("successor")}
        assert len(heirs) == len(self.kind("successor")), "two successors of one parent"
        for owner, (at, response) in self.ended.items():
            steered = response["incomplete_details"] == {"reason": "steered"}
            if steered:
                assert owner in heirs
                assert response["output"]
            if steered and self.chosen["successor_order"] == "first":
                lane = self.created[owner][1]
                following = next(
                    e for e in self.events[at + 1 :]
                    if e.get("stream_id") == lane and e["type"] in ("response.created", "error")
                )  # fmt: skip
                assert following["response"]["previous_response_id"] == owner
            for event in self.of[owner]:
                if event["type"] == "response.steer.pending":
                    later = [o for o in self.ended if self.one_each and owner in self.line(o)]
                    waiting = [response, *(self.ended[one][1] for one in later)]
                    stubs = [[stub_for(call) for call in calls_of(one)] for one in waiting]
                    assert event["required_input"] in stubs
