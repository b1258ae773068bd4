"""Several steers of one response where each has a successor of its own (chapter 5.8 f)."""

from __future__ import annotations

import pandas as pd
import pytest

from steer_nb import load
from steer_nb.frames import TABLES
from steer_nb.ledger import Ledger, rules
from steer_nb.simulator import AwaitSteer, Fail, FailSuccessor, Say, scenario
from tests.client.stage import when
from tests.simulator.scripts import three

WORDS = ("one", "two", "three")


def steer_three_times(session, lane):
    lane.create("Begin.")
    steers = [lane.steer(word) for word in WORDS]
    last = "one / two / three: Done."
    when(session, lambda ledger: ledger.lanes["a"].tip.text in (last, "three: Done."))
    assert lane.wait(20) == "idle"
    return steers


@pytest.mark.parametrize("successors", ["one", "each"])
def test_ledger_frames_and_a_loaded_trace_say_which_response_has_which_steer(
    simulate, tmp_path, successors
):
    session, simulator = simulate(three, several_steers=successors, journal=None)
    lane = session.lane("a")
    steers = steer_three_times(session, lane)
    assert [steer.state for steer in steers] == ["committed"] * 3
    truth = {e["id"]: e["successor_id"] for e in simulator.account if e["kind"] == "steer"}
    assert {steer.id: steer.successor_id for steer in steers} == truth
    assert len(set(truth.values())) == (1 if successors == "one" else 3)
    origins = [session.trace.ledger.responses[r.id].origin for r in lane.responses]
    assert origins == ["create", *["steer_auto"] * (len(origins) - 1)]

    frame = session.trace.frames.steers
    assert list(frame["successor_response_id"]) == list(truth.values())
    assert set(frame["successor_kind"]) == {"auto"}
    assert session.trace.frames.table("problems").empty
    loaded = load(session.trace.save(tmp_path / "run.jsonl"))
    for name in TABLES:
        columns = TABLES[name].all
        live = session.trace.frames.table(name, columns=columns)
        pd.testing.assert_frame_equal(loaded.frames.table(name, columns=columns), live)

    on = lane.create("And then?").wait(20)
    assert on.previous_response_id == lane.responses[-2].id


@pytest.mark.parametrize("how", [FailSuccessor(), Fail()])
def test_where_the_next_one_cannot_be_created_its_words_come_back(simulate, how):
    @scenario("broken", "Fails once it was steered.")
    def broken(turn):
        if turn.steers:
            yield how
            yield Say("Heard.")
        else:
            yield Say("Begun.")
            yield AwaitSteer(10, count=2)
        yield Say("never said")

    session, simulator = simulate(broken, several_steers="each")
    lane = session.lane("a")
    lane.create("Begin.")
    one, two = lane.steer("one"), lane.steer("two")
    when(session, lambda ledger: ledger.steers[two.key].state == "failed")
    assert lane.wait(20) == ("failed" if isinstance(how, Fail) else "idle")
    fates = {e["id"]: e["fate"] for e in simulator.account if e["kind"] == "steer"}
    assert {one.id: one.state, two.id: two.state} == fates
    assert (two.failure_code, two.successor_id) == ("successor_creation_failed", None)
    assert session.trace.frames.table("problems").empty


def test_a_request_that_waits_behind_them_is_answered_by_its_own_response(simulate):
    @scenario("slow", "Waits for two steers, and answers whoever asks.")
    def slow(turn):
        if turn.steers:
            yield Say(" / ".join(turn.steers) + ".")
        elif turn.prompt == "Begin.":
            yield Say("Begun.")
            yield AwaitSteer(10, count=2)
            yield Say("never said")
        else:
            yield Say(f"To {turn.prompt}")

    session, _ = simulate(slow, several_steers="each")
    lane = session.lane("a")
    lane.create("Begin.")
    lane.steer("one")
    behind = lane.create("Something else.", previous_response_id=None)
    lane.steer("two")
    assert behind.wait(20).text == "To Something else."
    assert lane.wait(20) == "idle"
    assert [response.text for response in lane.responses] == [
        "Begun.",
        "one.",
        "two.",
        "To Something else.",
    ]


def test_a_lane_is_not_settled_while_the_next_successor_is_due(simulate):
    """The second response is cut for a steer of the first: one more comes by itself."""
    session, _ = simulate(three, several_steers="each")
    steer_three_times(session, session.lane("a"))
    ledger, words = Ledger(), []
    for entry in session.trace:
        ledger.apply(entry)
        if '"response.incomplete"' in (entry.raw or ""):
            words.append(rules.lane_word(ledger.lanes["a"]))
    assert words == ["queued"] * 3
