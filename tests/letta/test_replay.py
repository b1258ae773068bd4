"""A recorded session with a Letta server, played again: the same tables, and the same messages."""

from __future__ import annotations

import json
import time

import httpx
import pytest

import steer_nb
from steer_nb.cli import main
from steer_nb.errors import ScenarioError
from steer_nb.simulator import Simulator
from steer_nb.simulator.letta import LettaScenario, LettaSimulator
from tests.letta.stage import PATIENCE
from tests.support.replayed import again, assert_same_events, assert_same_tables

FAST = steer_nb.Reconnect(attempts=4, first_s=0.01, longest_s=0.05)


@steer_nb.tool
def weather(city: str) -> str:
    """Tell the weather."""
    return "18 °C"


# How much came behind what was kept here depends on speed: a server does not wait for it.
AFTER = ("deltas_after_send", "characters_after_send", "seconds_after_send")


def record(play, scenario="files", *, speed=0, tools=(), **options):
    """Play something live and give its trace."""
    simulator = LettaSimulator(scenario, speed=speed, **options)
    session = steer_nb.connect(
        letta=True, simulate=simulator, journal=False, tools=tools, quiet=True, reconnect=FAST
    )
    try:
        play(session)
    finally:
        session.close()
    return session.trace


def assert_same(recorded, replayed):
    assert_same_tables(recorded, replayed)
    assert_same_events(recorded, replayed)
    assert notes_of(recorded) == notes_of(replayed)


def notes_of(trace):
    """What a session noted, but for reasons: they name ports."""
    found = []
    for entry in trace:
        data = {k: v for k, v in (entry.data or {}).items() if k not in ("reason", "url")}
        if entry.kind == "note" and entry.note not in ("session", "connected", "closed"):
            found.append((entry.note, json.dumps(data, sort_keys=True)))
        elif entry.kind == "out":
            found.append((entry.raw, json.dumps(data, sort_keys=True)))
    return sorted(found)


def say(lane, text):
    lane.create(text)
    return lane.wait(PATIENCE)


def answer_all(lane, *, approve=True):
    for one in lane.required_input:
        if one.type == "letta_tool_return":
            lane.run_tool(one.key)
        else:
            lane.fill(one.key, approve=approve, **({} if approve else {"reason": "no"}))
    lane.send_continuation()
    return lane.wait(PATIENCE)


@pytest.mark.parametrize(("tokens", "approve"), [(False, True), (True, False)])
def test_approvals_results_and_conversations_of_every_kind(tokens, approve):
    def play(session):
        one = session.lane("a", stream_tokens=tokens)
        other = session.lane("own", conversation="default", stream_tokens=tokens)
        for lane in (one, other):
            assert say(lane, "weather and the rest") == "waiting_input"
            assert answer_all(lane, approve=approve) == "idle"
        talk = one.settings["conversation"]
        one.close()
        late = session.lane("late", conversation=talk, stream_tokens=tokens)
        assert say(late, "again, please") == "waiting_input"

    recorded = record(play, "parallel", tools=[weather])
    assert_same(recorded, again(recorded))


def test_what_was_kept_here_goes_out_when_it_did():
    def play(session):
        lane = session.lane("a")
        lane.create("Tell me.")
        while len(lane.text) < 20:
            time.sleep(0.005)
        lane.send("And then?")
        lane.wait(PATIENCE)
        assert [one.state for one in lane.steers] == ["committed"]

    recorded = record(play, "story", speed=20)
    assert len(recorded.frames.responses) == 2
    replayed = again(recorded)
    assert_same_tables(recorded, replayed, but=AFTER)
    assert_same_events(recorded, replayed)


@pytest.mark.parametrize(("text", "faults"), [("rate", ["no_redis"]), ("go on", [])])
def test_errors_are_what_they_were(text, faults):
    def play(session):
        lane = session.lane("a")
        say(lane, text)
        say(lane, text)

    recorded = record(play, "failing", faults=faults)
    assert set(recorded.frames.responses.status) == {"failed"}
    replayed = again(recorded)
    if not faults:
        assert_same(recorded, replayed)
    assert_same_tables(recorded, replayed)


@pytest.mark.parametrize(
    "fault",
    [
        "drop at=1 side=before",
        "drop type=stop_reason side=before",
        "drop at=3 times=2",
        "lose_answer type=conversations.messages.create",
        "refuse_request type=conversations.messages.create status=503",
        "busy",
    ],
)
def test_what_was_lost_or_refused_is_so_again(fault):
    def play(session):
        lane = session.lane("a")
        try:
            say(lane, "delete /srv/old.log")
        except steer_nb.errors.SteerError:
            return
        if lane.state == "waiting_input":
            assert answer_all(lane) == "idle"

    recorded = record(play, faults=[fault])
    replayed = again(recorded)
    assert_same_tables(recorded, replayed)
    assert [n for n, _ in notes_of(recorded)] == [n for n, _ in notes_of(replayed)]


def test_what_somebody_else_did_meanwhile_is_there():
    def play(session):
        lane = session.lane("own", conversation="default")
        place = f"{session.simulator.base_url}/v1/agents/{session.simulator.agent_id}/messages"
        said = {"messages": [{"role": "user", "content": "Hello."}]}
        assert httpx.post(place, json=said).status_code == 200
        assert say(lane, "list the files") == "idle"
        lane.close()
        assert httpx.post(place, json=said).status_code == 200
        assert say(session.lane("own"), "delete /srv/old.log") == "waiting_input"

    recorded = record(play)
    assert_same(recorded, again(recorded))


def test_what_was_stopped_is_stopped_again():
    def play(session):
        lane = session.lane("a")
        response = lane.create("Tell me a story.")
        session.until(lambda _: response.text or None, PATIENCE, lambda: "")
        lane.cancel()
        assert response.wait(PATIENCE).status == "cancelled"

    recorded = record(play, "story", speed=2)
    replayed = again(recorded)
    assert replayed.frames.responses.status.tolist() == ["cancelled"]
    assert (
        replayed.ledger.lanes["a"].responses[0].text == recorded.ledger.lanes["a"].responses[0].text
    )


def test_it_takes_its_time():
    def play(session):
        say(session.lane("a"), "list the files")

    recorded = record(play, speed=2)
    begun = time.monotonic()
    replayed = again(recorded, speed=2)
    times = [[e.t for e in trace if e.kind == "in"] for trace in (recorded, replayed)]
    spans = [found[-1] - found[0] for found in times]
    assert spans[1] >= spans[0] / 2 * 0.9
    assert time.monotonic() - begun < 20
    assert_same_tables(recorded, replayed)


def test_only_some_lanes():
    def play(session):
        for name in ("a", "b"):
            assert say(session.lane(name), "delete /srv/old.log") == "waiting_input"

    recorded = record(play)
    replayed = again(recorded, lanes=["b"])
    assert [one.stream_id for one in replayed.ledger.lanes.values()] == ["b"]
    assert replayed.frames.required_inputs.state.tolist() == ["open"]


def test_it_can_be_steered_on_when_it_is_over():
    recorded = record(lambda session: say(session.lane("a"), "delete /srv/old.log"))
    playing = steer_nb.replay(recorded, speed=0, quiet=True).wait(PATIENCE)
    lane = playing.session["a"]
    lane.wait(PATIENCE)
    lane.send("Thank you.")  # kept here, and sent by itself behind the answers
    assert answer_all(lane) == "idle"
    assert lane.text == "The recording holds no further run of this conversation."
    assert [one.state for one in lane.steers] == ["committed"]
    playing.session.close()


def test_a_terminal_is_told_what_happens(tmp_path, capsys):
    recorded = record(lambda session: say(session.lane("a"), "delete /srv/old.log"))
    file = recorded.save(tmp_path / "run.jsonl")
    assert main(["replay", str(file), "--speed", "0"]) == 0
    told = capsys.readouterr().out
    assert "a waits for delete_file" in told
    assert "a: response completed" in told


# Served to others


def test_a_client_of_another_kind_is_served_what_was_recorded(tmp_path):
    def play(session):
        lane = session.lane("a")
        say(lane, "delete /srv/old.log")
        answer_all(lane, approve=False)

    file = record(play).save(tmp_path / "run.jsonl")
    with (
        LettaSimulator(file, speed=0) as simulator,
        httpx.Client(
            base_url=simulator.base_url, headers={"X-Stainless-Package-Version": "1"}
        ) as http,
    ):
        place = f"/v1/agents/{simulator.agent_id}/messages"
        first = http.post(place, json={"input": "Anything."}).json()
        assert first["stop_reason"]["stop_reason"] == "requires_approval"
        early = http.post(place, json={"input": "Too early."})
        assert early.status_code == 409  # the ordinary rules hold
        call = first["messages"][-1]["tool_call"]["tool_call_id"]
        given = [{"type": "approval", "tool_call_id": call, "approve": True}]
        body = {"messages": [{"type": "approval", "approvals": given}]}
        then = http.post(place, json=body).json()
        assert "You denied it" in then["messages"][-1]["content"]
        more = http.post(place, json={"input": "More?"}).json()
        assert "no further run" in more["messages"][-1]["content"]


def test_what_is_no_recording_of_the_dialect_is_refused(tmp_path):
    recorded = record(lambda session: say(session.lane("a"), "Hello."))
    file = recorded.save(tmp_path / "run.jsonl")
    with pytest.raises(ScenarioError, match="play it with --dialect letta"):
        Simulator(file)
    other = steer_nb.connect(simulate=Simulator("planner", speed=0), journal=False, quiet=True)
    other.lane("a").create("Hello.").wait(PATIENCE)
    other.close()
    with pytest.raises(ScenarioError, match="not of a Letta server"):
        LettaScenario.from_trace(other.trace)
    empty = steer_nb.connect(letta=True, simulate="files", journal=False, quiet=True)
    empty.close()
    with pytest.raises(ScenarioError, match="nothing to serve again"):
        LettaScenario.from_trace(empty.trace)
