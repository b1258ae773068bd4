"""A session comes back from its journal after its process is gone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import steer_nb
from steer_nb.errors import InvalidInput, LaneBusy, ToolFailed, TraceError
from steer_nb.simulator import Simulator

DOOMED = """
import sys, signal, os, threading
import steer_nb
from steer_nb.client import io_thread
url, step = sys.argv[1:]
counter = open("runs.txt", "a")
def get_weather(city: str) -> str:
    counter.write("ran\\n"); counter.flush(); os.fsync(counter.fileno())
    return "18 in " + city
session = steer_nb.connect(url, quiet=True)
lane = session.lane("trip", tools=[get_weather], instructions="Be brief.")
lane.create("What is the weather in Lisbon?").wait(20)
lane.wait(20)
key = lane.required_input[0].key
if step == "asked":
    pass
elif step == "ran":
    lane.run_tool(key)
elif step == "filled":
    lane.fill(key, output="19")
elif step == "sent":
    lane.fill(key, output="19")
    lane.send_continuation()
elif step == "done":
    lane.fill(key, output="19")
    lane.send_continuation().wait(20)
os.kill(os.getpid(), signal.SIGKILL)
"""


def get_weather(city: str) -> str:
    with Path("runs.txt").open("a") as file:
        file.write("ran\n")
    return f"18 in {city}"


@pytest.fixture
def simulator():
    with Simulator("weather", speed=0) as simulator:
        yield simulator


def doomed(simulator, step):
    """A process that is killed at a point of its conversation."""
    done = subprocess.run(
        [sys.executable, "-c", DOOMED, simulator.base_url, step],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def continuations(simulator):
    return [entry for entry in simulator.account if entry["kind"] == "continuation"]


pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")


def test_lanes_settings_and_calls_are_back(simulator, capsys):
    doomed(simulator, "asked")
    with steer_nb.recover(tools=[get_weather]) as session:
        said = capsys.readouterr().out
        assert "Recovered session default from .steer/" in said
        assert "To decide: lane trip." in said
        lane = session["trip"]
        assert lane.settings["instructions"] == "Be brief."
        assert lane.state == "detached"
        assert [c.word for c in lane.recovery.choices] == ["continue", "rebuild", "leave"]
        lane.recover("continue")
        (needed,) = lane.required_input
        assert lane.run_tool(needed.key).state == "filled"
        answer = lane.send_continuation().wait(20)
        assert "18 in Lisbon" in answer.text
    assert len(continuations(simulator)) == 1


def test_a_saved_result_is_used_and_the_function_does_not_run_again(simulator):
    doomed(simulator, "ran")
    with steer_nb.recover(tools=[get_weather], quiet=True) as session:
        lane = session["trip"].recover("continue")
        (needed,) = lane.required_input
        assert needed.state == "filled"
        assert needed.tool["output"] == "18 in Lisbon"
        assert lane.run_tool(needed.key).tool["output"] == "18 in Lisbon"
        lane.send_continuation().wait(20)
    assert Path("runs.txt").read_text() == "ran\n"
    assert len(continuations(simulator)) == 1


def test_a_filled_answer_is_there_to_be_edited_and_sent(simulator):
    doomed(simulator, "filled")
    with steer_nb.recover(quiet=True) as session:
        lane = session["trip"].recover("continue")
        assert lane.required_input[0].item["output"] == "19"
        assert "19" in lane.send_continuation().wait(20).text
    assert len(continuations(simulator)) == 1


def test_a_continuation_that_was_sent_is_never_sent_by_itself(simulator):
    doomed(simulator, "sent")
    with steer_nb.recover(quiet=True) as session:
        unknown = [key for key in session.status()["to_decide"] if key.startswith("create")]
        lane = session["trip"]
        if unknown:  # it was killed before the service's answer was on the disk
            assert lane.response.status == "unknown"
        lane.recover()
    assert len(continuations(simulator)) <= 1


def test_what_was_finished_is_finished(simulator):
    doomed(simulator, "done")
    with steer_nb.recover(quiet=True) as session:
        lane = session["trip"]
        kinds = session.read(lambda ledger: [r.status for r in ledger.responses.values()])
        assert kinds[0] == "completed"
        lane.recover()
        lane.create("And tomorrow?").wait(20)


def test_the_trace_goes_on_in_the_same_file(simulator):
    doomed(simulator, "filled")
    (path,) = Path(".steer").glob("*.jsonl")
    before = steer_nb.load(path)
    with steer_nb.recover(quiet=True) as session:
        assert session.journal_path == path
        assert session.trace.trace_id == before.trace_id
        session["trip"].recover().send_continuation().wait(20)
        live = session.trace
    after = steer_nb.load(path)
    assert after == live
    assert after.entries[: len(before)] == before.entries
    times = [entry.t for entry in after]
    assert times == sorted(times)
    assert [entry.seq for entry in after] == list(range(len(after)))
    keys = [entry.data["key"] for entry in after if entry.kind == "out"]
    assert len(keys) == len(set(keys))
    assert after.frames.connections["end_kind"].tolist()[0] == "network"


def test_a_torn_last_line_is_told(simulator, capsys):
    doomed(simulator, "filled")
    (path,) = Path(".steer").glob("*.jsonl")
    with path.open("ab") as file:
        file.write(b'{"seq":99,"at":17')
    with steer_nb.recover() as session:
        assert "without a torn last line of 17 bytes" in capsys.readouterr().out
        assert session["trip"].recover().required_input[0].state == "filled"


def test_a_living_session_cannot_be_recovered(simulator):
    with steer_nb.connect(simulator.base_url, quiet=True) as session:
        with pytest.raises(TraceError, match="written by another process"):
            steer_nb.recover(session.journal_path)
        assert session.status()["connected"]


def test_nothing_to_recover_is_told(tmp_path):
    with pytest.raises(TraceError, match=r"no journal in \.steer"):
        steer_nb.recover()
    with pytest.raises(TraceError, match="cannot be taken up"):
        steer_nb.recover(tmp_path / "none.jsonl")


def test_a_journal_without_an_address_is_connected_to_nothing(simulator, tmp_path, monkeypatch):
    """It was killed before it wrote one, and a key must go to no service that it did not name."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody")
    path = tmp_path / "young.jsonl"
    with steer_nb.connect(simulator.url, journal=False, quiet=True) as session:
        session.trace.save(path)
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(InvalidInput, match="does not say where it was connected to: give url="):
        steer_nb.recover(path, quiet=True)
    with steer_nb.recover(path, url=simulator.url, quiet=True) as again:
        assert not again.closed


def test_the_embedded_simulator_begins_anew_and_the_conversation_is_repeated():
    with steer_nb.connect(simulate=Simulator("planner", speed=0), quiet=True) as session:
        lane = session.lane("a")
        lane.create("Plan a day in Lisbon.").wait(20)
        lane.wait(20)
    with steer_nb.recover(quiet=True) as session:
        lane = session["a"].recover("continue")
        with pytest.raises(steer_nb.errors.ServerRefused, match="previous_response_not_found"):
            lane.create("Cheaper.").wait(20)
        assert [c.word for c in lane.recovery.choices] == ["rebuild", "leave"]
        lane.recover("rebuild")
        answer = lane.create("Cheaper.").wait(20)
        assert answer.status == "completed"
        request = [json.loads(e.raw) for e in session.trace if e.kind == "out"][-1]
        assert request["input"][0]["content"] == "Plan a day in Lisbon."


def test_a_function_whose_end_nobody_saw_is_not_run_again(simulator):
    doomed(simulator, "asked")
    (path,) = Path(".steer").glob("*.jsonl")
    ledger = steer_nb.load(path).ledger
    (response,) = ledger.responses.values()
    (stub,) = response.required.values()
    last = steer_nb.load(path).entries[-1]
    begun = {"lane": "trip", "parent": response.id, "key": stub.key, "name": "get_weather"}
    entry = {"seq": last.seq + 1, "at": last.at, "t": last.t, "kind": "note", "connection": 1}
    line = json.dumps({**entry, "note": "tool_started", "data": {**begun, "by": "user"}})
    with path.open("a") as file:
        file.write(line + "\n")
    with steer_nb.recover(tools=[get_weather], quiet=True) as session:
        lane = session["trip"].recover("continue")
        with pytest.raises(ToolFailed):
            lane.run_tool(stub.key)
        assert not Path("runs.txt").read_text()
        lane.fill(stub.key, output="by hand")
        lane.send_continuation().wait(20)


def test_recovering_twice_is_going_on(simulator):
    doomed(simulator, "filled")
    steer_nb.recover(quiet=True).close()
    with steer_nb.recover(quiet=True) as session:
        assert len(session.trace.frames.connections) == 3
        with pytest.raises(LaneBusy):
            session["trip"].send_continuation()
        session["trip"].recover().send_continuation().wait(20)
    assert len(continuations(simulator)) == 1
