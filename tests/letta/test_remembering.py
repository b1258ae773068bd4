"""Whatever was said in a session: its trace says all that its Letta server knew.

Random people speak with a simulator by way of the client. A server that remembers the trace has the
same conversations, requests that wait, runs and frames; and a replay has the same tables.
"""

from __future__ import annotations

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import steer_nb
from steer_nb.client import registry
from steer_nb.simulator.letta import LettaSimulator
from tests.letta.stage import PATIENCE
from tests.letta.test_replay import FAST
from tests.simulator.letta.test_invariants import moods
from tests.support.replayed import again, assert_same_events, assert_same_tables


@steer_nb.tool
def read_cell(path: str) -> str:
    """Read a cell."""
    return "print(1)"


FAULTS = st.lists(
    st.builds(
        "drop at={} side={}".format, st.integers(1, 12), st.sampled_from(["before", "after"])
    ),
    max_size=2,
)


@given(
    turns=st.lists(st.tuples(st.booleans(), st.sampled_from("adrx")), min_size=1, max_size=6),
    tokens=st.booleans(),
    tools=st.booleans(),
    faults=FAULTS,
    seed=st.integers(0, 10_000),
)
@settings(max_examples=5, deadline=None, phases=[Phase.reuse, Phase.generate])
def test_a_trace_says_what_its_server_knew(turns, tokens, tools, faults, seed):
    simulator = LettaSimulator(moods, speed=0, seed=seed, faults=faults)
    with steer_nb.connect(
        letta=True, simulate=simulator, journal=False, quiet=True, reconnect=FAST,
        tools=[read_cell] if tools else [],
    ) as session:  # fmt: skip
        lanes = [
            session.lane("a", stream_tokens=tokens),
            session.lane("b", stream_tokens=tokens, conversation="default"),
        ]
        for other, choice in turns:
            # Lanes of which one is lost come in another order: one alone then.
            take_turn(lanes[other and not faults], choice)
    compare(simulator.service, LettaSimulator(moods, seed=1, speed=0, remembers=session.trace))
    replayed = again(session.trace)
    assert_same_tables(session.trace, replayed)
    if not faults:
        assert_same_events(session.trace, replayed)
    registry.sessions().clear()


def take_turn(lane, choice):
    """Say something, or answer all calls that wait in one way; results of one's own are given."""
    waiting = [one for one in lane.required_input if one.state == "open"]
    if not waiting:
        lane.create("Go on.")
    else:
        for one in waiting:
            if one.type == "letta_tool_return" and choice in "ar":
                lane.run_tool(one.key)
            elif choice == "r":
                lane.fill(one.key, output="done")
            else:
                reason = {"reason": "no"} if choice == "x" else {}
                lane.fill(one.key, approve=choice == "a", **reason)
        lane.send_continuation()
    lane.wait(PATIENCE)


def compare(old, simulator):
    new = simulator.service
    assert list(new.agents) == list(old.agents)
    assert new.conversations.keys() == old.conversations.keys()
    for agent in old.agents.values():
        mine = new.agents[agent.id]
        for one, other in ((agent.own, mine.own), *zip_of(agent, mine)):
            if not one.runs:
                continue
            assert all_of(other.messages) == all_of(one.messages)
            assert all_of(other.context) == all_of(one.context)
            assert (other.pending is None) is (one.pending is None)
            assert [run.id for run in other.runs] == [run.id for run in one.runs]
            for run, its in zip(one.runs, other.runs, strict=True):
                assert (its.status, its.stop_reason) == (run.status, run.stop_reason)
                assert [f.text for f in its.frames] == [f.text for f in run.frames]
    known = sorted((token, run.id) for (_, token), run in old.by_token.items())
    assert sorted((token, run.id) for (_, token), run in new.by_token.items()) == known


def zip_of(agent, mine):
    return [(talk, mine.conversations[key]) for key, talk in agent.conversations.items()]


def all_of(messages):
    """What they say; of a message that says nothing nobody saw anything."""
    silent = [m for m in messages if m.role == "assistant" and not (m.parts or m.calls)]
    return [said(m) for m in messages if m not in silent]


def said(message):
    """What a message is, but for ids and times that no client saw."""
    seen = message.role not in ("user", "system", "approval_response", "tool")
    own = (message.id, message.created) if seen else ()
    return (
        *own, message.role, message.run_id, message.content, message.parts, message.calls,
        message.answers, message.otid if message.role == "user" else None,
        message.step_id if message.role not in ("system", "user") else None,
    )  # fmt: skip
