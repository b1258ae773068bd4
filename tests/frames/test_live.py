"""Frames of real sessions with the embedded simulator, while they run and afterwards."""

from __future__ import annotations

import time

import pandas as pd
import pytest

from steer_nb import connect, load, tool
from steer_nb.frames import TABLES
from steer_nb.simulator import AwaitSteer, Say, Simulator, scenario
from tests.frames.test_responses import rows


@pytest.fixture
def live(tmp_path):
    """Open sessions with simulators as fast as they go; both end with the test."""
    running = []

    def start(name, **options):
        simulator = Simulator(name, speed=0, **options).start()
        session = connect(
            simulator.base_url, journal=tmp_path / "journal", name=f"s{len(running)}", quiet=True
        )
        running.append((session, simulator))
        return session

    yield start
    for session, simulator in running:
        session.close()
        simulator.stop()


def assert_equal_everywhere(session, tmp_path):
    """Live, saved and loaded, and read again from the journal: the same frames."""
    session.close()
    saved = load(session.trace.save(tmp_path / "run.jsonl"))
    journal = load(session.journal_path)
    for name in TABLES:
        columns = TABLES[name].all
        frame = session.trace.frames.table(name, columns=columns)
        for other in (saved, journal):
            pd.testing.assert_frame_equal(other.frames.table(name, columns=columns), frame)


def test_a_steer_in_a_real_session(live, tmp_path):
    @scenario("patient", "Waits for a steer before it goes on.")
    def patient(turn):
        if turn.steers:
            yield Say(f"As you say: {turn.steers[-1]}")
        else:
            yield Say("One moment.")
            yield AwaitSteer()
            yield Say("Never read.")

    session = live(patient)
    lane = session.lane("a", model="gpt-6-astra")
    lane.create("Plan a trip.")
    assert len(session.trace.frames.events) > 0
    steer = lane.send("Keep it short.")
    steer.wait(20)
    lane.wait(20)
    (row,) = rows(session.trace, "steers")
    assert (row["state"], row["input_text"]) == ("committed", "Keep it short.")
    assert (row["successor_kind"], row["parent_outcome"]) == ("auto", "incomplete_steered")
    assert 0 <= row["ack_latency_s"] < 20
    assert 0 <= row["commit_latency_s"] < 20
    total = row["ack_latency_s"] + row["commit_latency_s"]
    assert total == pytest.approx(row["committed_s"] - row["sent_s"])
    parent, successor = rows(session.trace)
    assert (parent["response_id"], successor["origin"]) == (
        row["parent_response_id"],
        "steer_auto",
    )
    assert successor["output_text"] == lane.responses[1].text
    assert "Keep it short." in successor["output_text"]
    assert parent["model_requested"] == "gpt-6-astra"
    assert 0 <= parent["queue_s"] <= parent["time_to_first_chunk_s"] < 20
    assert session.trace.frames.usage["tokens"].sum() == sum(
        response.usage["total_tokens"] for response in lane.responses
    )
    (place,) = rows(session.trace, "lanes")
    assert (place["stream_id"], place["state"], place["n_responses"]) == ("a", "idle", 2)
    assert_equal_everywhere(session, tmp_path)


def test_seven_answers_in_a_real_session(live, tmp_path):
    session = live("seven")
    lane = session.lane("a")
    lane.create("Please.")
    assert lane.wait(20) == "waiting_input"
    required = session.trace.frames.required_inputs
    assert required["state"].tolist() == ["open"] * 7
    assert set(session.trace.frames.tool_calls["result_kind"]) == {"none"}
    lane.cancel_all()
    assert set(session.trace.frames.required_inputs["state"]) == {"filled"}
    time.sleep(0.05)
    lane.send_continuation().wait(20)
    lane.wait(20)
    frames = session.trace.frames
    first = frames.required_inputs.iloc[:7]
    assert set(first["state"]) == {"confirmed"}
    assert set(first["filled_by"]) == {"user"}
    assert (first["filled_s"] < first["sent_s"]).all()
    calls = frames.tool_calls.iloc[:7]
    assert set(calls["owner"]) == {"client"}
    kinds = calls.set_index("kind")["result_kind"].to_dict()
    assert kinds.pop("tool_search") == "value"
    assert set(kinds.values()) == {"cancelled"}
    assert (calls["wait_s"] >= 0.05).all()
    assert set(calls["answered_in_response_id"]) == {frames.responses["response_id"][1]}
    assert_equal_everywhere(session, tmp_path)


def test_a_function_that_ran_and_one_that_raised(live, tmp_path):
    @tool(policy="auto")
    def get_weather(city: str, day: str = "") -> str:
        """Weather in a city."""
        if day == "never":
            return "23 degrees"
        msg = "no such city"
        raise ValueError(msg)

    session = live("weather")
    lane = session.lane("a", tools=[get_weather])
    lane.create("What is the weather in Lisbon?")
    lane.wait(20)
    row = rows(session.trace, "tool_calls")[0]
    assert (row["result_kind"], row["answered_by"]) == ("error", "policy")
    assert "no such city" in row["result_text"]
    assert (row["name"], row["arguments_valid"]) == ("get_weather", True)
    assert_equal_everywhere(session, tmp_path)


def test_frames_are_read_while_a_response_is_written(live, tmp_path):
    session = live("planner")
    lanes = [session.lane(name) for name in ("a", "b", "c")]
    responses = [lane.create("Plan a two-day trip to Lisbon.") for lane in lanes]
    seen = 0
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        counted = session.trace.frames.responses["n_events"].sum()
        now = len(session.trace.frames.events)
        assert max(seen, counted) <= now
        seen = now
        if all(response.status == "completed" for response in responses):
            break
    frames = session.trace.frames
    text = frames.table("events", columns="response_id+delta_text+type+output_index+seq")
    text = text[text["type"] == "response.output_text.delta"]
    rebuilt = text.groupby("response_id")["delta_text"].sum()
    for response in responses:
        assert rebuilt[response.id] == response.text
    assert frames.responses.set_index("response_id")["output_text"].to_dict() == {
        response.id: response.text for response in responses
    }
    assert sorted(frames.lanes["stream_id"]) == ["a", "b", "c"]
    assert_equal_everywhere(session, tmp_path)
