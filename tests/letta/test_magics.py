"""The magics with a Letta server, in a shell."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

import steer_nb
from steer_nb.magics.completion import KernelOffers
from steer_nb.simulator.letta import LettaSimulator
from tests.letta.stage import PATIENCE, asked_of


@pytest.fixture
def shell(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    shell = InteractiveShell()
    shell.run_cell("%load_ext steer_nb").raise_error()
    yield shell
    if steer_nb.sessions():
        shell.run_cell("%steer close").raise_error()
    shell.run_cell("%unload_ext steer_nb")


@pytest.fixture
def simulator():
    with LettaSimulator("files", speed=0) as simulator:
        yield simulator


def run(shell, cell):
    done = shell.run_cell(cell)
    done.raise_error()
    return done.result


def test_a_round_with_magics(shell, simulator, capsys):
    session = run(shell, f"%steer connect --letta {simulator.base_url} --no-journal")
    assert f"Connected to Letta at {simulator.base_url}." in capsys.readouterr().out
    run(shell, f"%steer open cleaner --agent {simulator.agent_id} --set max_steps=9")
    run(shell, "%%steer cleaner --wait\ndelete /srv/old.log")
    assert "cleaner: waiting input" in capsys.readouterr().out
    steer = run(shell, "%steer send cleaner And be quick.")
    assert "Queued here for cleaner" in capsys.readouterr().out
    assert steer.state == "queued_here"
    run(shell, "%steer pending")
    lane = session.lanes["cleaner"]
    lane.fill(lane.required_input[0].key, approve=True)
    lane.send_continuation()
    run(shell, f"%steer wait cleaner --timeout {PATIENCE}")
    frame = run(shell, "%steer frame required_inputs")
    assert list(frame.state) == ["confirmed"]
    assert len(asked_of(simulator, "/messages")) == 2
    offers = KernelOffers(shell)
    assert offers.words("agent", []) == [simulator.agent_id]
    talk = lane.settings["conversation"]
    run(shell, "%steer close cleaner")
    run(shell, f"%steer open again --conversation {talk}")
    assert session.lanes["again"].settings["agent"] == simulator.agent_id


def test_a_word_cancels(shell, simulator, capsys):
    session = run(shell, f"%steer connect --letta {simulator.base_url} --no-journal")
    run(shell, f"%steer open cleaner --agent {simulator.agent_id} --conversation default")
    run(shell, "%%steer cleaner --wait\ndelete /srv/old.log")
    response = run(shell, "%steer cancel cleaner")
    assert "Asked the server to cancel run-" in capsys.readouterr().out
    assert response == session.lanes["cleaner"].response
    assert session.lanes["cleaner"].state == "idle"
    run(shell, "%steer help cancel")
    assert "Only there: the Responses API cancels nothing" in capsys.readouterr().out
    run(shell, "%steer close")
    run(shell, "%steer connect --simulate --no-journal")
    run(shell, "%steer open a")
    done = shell.run_cell("%steer cancel a")
    assert "cancels nothing on a WebSocket" in str(done.error_in_exec) + capsys.readouterr().err


def test_the_environment_says_where(shell, simulator, monkeypatch):
    monkeypatch.setenv("LETTA_BASE_URL", simulator.base_url)
    session = run(shell, "%steer connect --letta --no-journal")
    assert session.url == simulator.base_url
    assert "agent" in repr(session.lane("a", agent=simulator.agent_id))


def test_the_simulator_plays_a_server_in_one_line(shell, capsys):
    session = run(shell, "%steer connect --letta --simulate parallel --speed 0 --seed 4")
    assert "the embedded simulator of a Letta server (scenario parallel)" in capsys.readouterr().out
    run(shell, "%steer open cleaner")
    assert session.lanes["cleaner"].settings["agent"] == session.simulator.agent_id
    run(shell, "%%steer cleaner --wait\nTidy up.")
    assert len(session.lanes["cleaner"].required_input) == 2
    offers = KernelOffers(shell)
    assert {"files", "parallel"} <= set(offers.words("scenario", ["--letta", "--simulate"]))
    assert "planner" not in offers.words("scenario", ["--letta", "--simulate"])
    letta = offers.words("option", ["--letta", "--simulate", "files", "--option"])
    assert letta
    assert set(letta) != set(offers.words("option", ["--simulate", "--option"]))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("--letta --simulate planner", "no scenario 'planner'"),
        ("--letta --speed 1", "add --simulate"),
    ],
)
def test_what_the_simulator_cannot_play_is_said(shell, wrong, said, capsys, monkeypatch):
    monkeypatch.delenv("LETTA_BASE_URL", raising=False)
    done = shell.run_cell(f"%steer connect {wrong}")
    assert said in str(done.error_in_exec) + capsys.readouterr().err
    assert not steer_nb.sessions()


@pytest.mark.parametrize("more", ["--simulate", "--speed 1", "http://127.0.0.1:1"])
def test_letta_excludes_other_places(shell, more, capsys):
    done = shell.run_cell(f"%steer connect {more} --letta http://127.0.0.1:9")
    assert "exclude each other" in str(done.error_in_exec) + capsys.readouterr().err
    assert not steer_nb.sessions()


def test_without_httpx_it_says_what_to_install(monkeypatch, simulator):
    import sys

    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(steer_nb.errors.MissingExtra, match="steer-nb\\[letta\\]"):
        steer_nb.connect(letta=simulator.base_url, journal=False)


def test_a_recording_is_played_again(shell, simulator, capsys):
    session = run(shell, f"%steer connect --letta {simulator.base_url} --no-journal")
    run(shell, f"%steer open cleaner --agent {simulator.agent_id}")
    run(shell, "%%steer cleaner --wait\ndelete /srv/old.log")
    session.trace.save("run.jsonl")
    playing = run(shell, "%steer replay run.jsonl --speed 0 --wait")
    assert "<Replay of run: ended, 3 of 3 recorded steps" in capsys.readouterr().out
    assert playing.session["cleaner"].wait(PATIENCE) == "waiting_input"
    playing.session.close()
