"""A session with a simulated Letta server whose process is gone: the next one takes its place."""

from __future__ import annotations

import json
import shutil

import httpx
import pytest

import steer_nb
from steer_nb.simulator.letta import LettaSimulator
from tests.letta.stage import PATIENCE, asked_of, runs_of
from tests.simulator.letta.test_compacting import full


@steer_nb.tool
def weather(city: str) -> str:
    """Tell the weather."""
    return "18 °C"


def play(tmp_path, scenario="files", tools=()):
    simulator = LettaSimulator(scenario, speed=0)
    return steer_nb.connect(
        letta=True, simulate=simulator, journal=tmp_path / "journals", tools=tools, quiet=True
    )


def say(lane, text):
    """Say something to an agent and wait until it has said all, or waits itself."""
    lane.create(text)
    return lane.wait(PATIENCE)


def answer(lane):
    lane.send_continuation()
    return lane.wait(PATIENCE)


def recovered(session, tmp_path, *, killed=False, behind=None):
    """Take a session up: from its journal as it is now, or as it was behind an entry."""
    path = session.journal_path
    if killed:
        path = tmp_path / "copy" / path.name
        path.parent.mkdir()
        shutil.copy(session.journal_path, path)
    session.close()
    if behind is not None:
        lines = path.read_text().splitlines()
        at = next(at for at, line in enumerate(lines) if behind(json.loads(line)))
        path.write_text("\n".join(lines[: at + 1]) + "\n")
    again = steer_nb.recover(path, tools=[weather], quiet=True)
    again.simulator.service.speed = 0
    return again


def server_history(session, lane):
    simulator, fields = session.simulator, lane.settings
    place = f"/v1/conversations/{fields['conversation']}"
    if fields["conversation"] == "default":
        place = f"/v1/agents/{fields['agent']}"
    found = httpx.get(f"{simulator.base_url}{place}/messages", params={"order": "asc"})
    return found.json()


@pytest.mark.parametrize(("where", "tokens"), [(None, True), ("default", False)])
def test_what_waited_waits_again_and_can_be_answered(tmp_path, where, tokens):
    session = play(tmp_path, "parallel", [weather])
    lane = session.lane("a", conversation=where, stream_tokens=tokens)
    assert say(lane, "weather and all the rest, please") == "waiting_input"
    before = server_history(session, lane)
    agent, keys = session.simulator.agent_id, [one.key for one in lane.required_input]
    again = recovered(session, tmp_path, killed=True)
    lane = again.lanes["a"]
    assert lane.wait(PATIENCE) == "waiting_input"
    assert again.simulator.agent_id == agent == lane.settings["agent"]
    assert [one.key for one in lane.required_input] == keys
    kept = server_history(again, lane)
    assert [one["message_type"] for one in kept] == [one["message_type"] for one in before]
    strange = ("id", "step_id", "otid", "date")  # of a user's message nobody saw them
    for one, other in zip(kept, before, strict=True):
        hidden = strange if one["message_type"] in ("user_message", "system_message") else ()
        assert {k: v for k, v in one.items() if k not in hidden} == {
            k: v for k, v in other.items() if k not in hidden
        }
    for one in lane.required_input:
        if one.type == "letta_tool_return":
            lane.run_tool(one.key)
        else:
            lane.fill(one.key, approve=True)
    assert answer(lane) == "idle"
    assert "18 °C" in lane.text
    assert [one["name"] for one in runs_of(again.simulator)] == [
        "delete_file", "delete_file", "list_files",
    ]  # fmt: skip
    assert say(lane, "And now?") == "waiting_input"
    again.close()


def test_a_repeated_otid_is_known(tmp_path):
    session = play(tmp_path)
    lane = session.lane("a")
    assert [say(lane, text) for text in ("list the files", "delete /srv/old.log")] == [
        "idle", "waiting_input",
    ]  # fmt: skip
    sent = [e for e in session.trace if e.kind == "out" and "/messages" in e.data["path"]]
    url, runs = session.simulator.base_url, len(session.simulator.service.runs)
    streams = [httpx.post(url + e.data["path"], content=e.raw).text for e in sent]
    again = recovered(session, tmp_path)
    url = again.simulator.base_url
    assert [httpx.post(url + e.data["path"], content=e.raw).text for e in sent] == streams
    assert len(again.simulator.service.runs) == runs == 2
    run_id = list(again.simulator.service.runs)[1]
    rest = httpx.post(f"{url}/v1/runs/{run_id}/stream", json={"starting_after": 5}).text
    assert streams[1].endswith(rest)
    assert '"seq_id":6' in rest
    again.close()


def test_answers_that_were_given_are_not_asked_for_again(tmp_path):
    session = play(tmp_path)
    lane = session.lane("a")
    say(lane, "delete /srv/old.log")
    lane.fill(lane.required_input[0].key, approve=False, reason="wrong file")
    assert answer(lane) == "idle"
    # The process ended before it asked what no stream shows.
    listed = next(e.seq for e in session.trace if "approval_response" in (e.raw or ""))
    again = recovered(session, tmp_path, behind=lambda entry: entry.get("seq") == listed - 1)
    lane = again.lanes["a"]
    assert lane.wait(PATIENCE) == "idle"
    again.until(
        lambda ledger: [s.state for s in lane.responses[0].required_input] == ["confirmed"] or None,
        PATIENCE,
        str,
    )
    told = server_history(again, lane)[-2]
    assert told["tool_return"] == "Error: request to call tool denied. User reason: wrong file"
    assert "wrong file" in lane.text
    again.close()


def test_a_run_that_was_not_over_fails_and_the_lane_goes_on(tmp_path):
    session = play(tmp_path, "story")
    lane = session.lane("a")
    say(lane, "Tell me.")
    say(lane, "And more.")
    (_, newest) = list(session.simulator.service.runs)
    again = recovered(
        session,
        tmp_path,
        behind=lambda entry: newest in entry.get("raw", "") and '"seq_id":20' in entry["raw"],
    )
    lane = again.lanes["a"]
    lane.wait(PATIENCE)
    first, second = lane.responses
    assert (first.status, second.status) == ("completed", "failed")
    assert "ends within this run" in second.error["message"]
    history = server_history(again, lane)
    assert [one.get("content") for one in history if one["message_type"] == "user_message"] == [
        "Tell me."
    ]
    assert len(asked_of(again.simulator, "/stream")) == 1
    assert say(lane, "Once more.") == "idle"
    again.close()


def test_it_is_taken_up_again_and_again(tmp_path):
    session = play(tmp_path)
    say(session.lane("a"), "delete /srv/old.log")
    for number in range(3):
        session = recovered(session, tmp_path)
        lane = session.lanes["a"]
        assert lane.wait(PATIENCE) == "waiting_input"
        lane.fill(lane.required_input[0].key, approve=True)
        assert answer(lane) == "idle"
        say(lane, f"delete /srv/{number}.log")
    ids = [one.id for one in lane.responses]
    assert len(set(ids)) == len(ids) == 7
    session.close()


@pytest.mark.parametrize("where", [None, "default"])
def test_what_was_compacted_stays_so(tmp_path, where):
    session = steer_nb.connect(
        letta=True, simulate=LettaSimulator(full, speed=0), journal=False, quiet=True
    )
    lane = session.lane("a", conversation=where, include_compaction_messages=True)
    for text in ("One.", "Two.", "Three.", "full", "Four."):
        say(lane, text)
    session.close()
    (before,) = (run.conversation for run in session.simulator.service.runs.values() if run.id
                 == lane.responses[0].id)  # fmt: skip
    again = LettaSimulator(full, speed=0, seed=1, remembers=session.trace)
    after = again.service.runs[lane.responses[0].id].conversation
    for one, other in ((before.context, after.context), (before.listed, after.listed)):
        assert [(m.role, m.summary or m.parts) for m in other] == [
            (m.role, m.summary or m.parts) for m in one
        ]
    assert [m.summary is not None for m in after.context].count(True) == 1


def test_a_recording_that_was_half_played_goes_on(tmp_path):
    session = play(tmp_path)
    for text in ("list the files", "delete /srv/old.log"):
        say(session.lane("a"), text)
    file = session.trace.save(tmp_path / "run.jsonl")
    session.close()
    half = play(tmp_path, file)
    assert say(half.lane("a"), "Anything.") == "idle"
    again = recovered(half, tmp_path)
    assert again.simulator.scenario.recorded is not None
    assert say(again.lanes["a"], "Anything.") == "waiting_input"
    assert [one.id for one in again.lanes["a"].responses] == list(session.trace.ledger.responses)
    again.close()
