"""`%steer replay`, and the simulator's options and files in `%steer connect`."""

from __future__ import annotations

import _thread
import re
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import steer_nb
from steer_nb.client import registry
from tests.magics.test_completion import words

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def played(tmp_path: Path) -> str:
    simulator = steer_nb.Simulator("planner", speed=0)
    with steer_nb.connect(simulate=simulator, journal=False, quiet=True, name="old") as session:
        for name in ("trip", "other"):
            session.lane(name).create("Plan a day in Rome.").wait(timeout=20)
    return session.trace.save(tmp_path / "played.jsonl")


def run(shell: Any, line: str) -> Any:
    result = shell.run_cell(line)
    result.raise_error()
    return result.result


def test_it_plays_at_once_and_shows_the_lanes(shell: Any, played: str, capsys: Any) -> None:
    playing = run(shell, f"%steer replay {played} --speed 0")
    shown = capsys.readouterr().out
    assert shown.startswith("Replaying played in session replay: 4 recorded steps.")
    assert "trip" in shown
    assert isinstance(playing, steer_nb.Replay)
    assert [lane.name for lane in playing.lanes] == ["trip", "other"]
    playing.wait(30)
    frame = run(shell, "%steer frame responses")
    assert list(frame["status"]) == ["completed", "completed"]
    assert list(playing.session.lanes) == ["trip", "other"]


def test_waiting_and_one_lane(shell: Any, played: str, capsys: Any) -> None:
    playing = run(shell, f"%steer replay {played} --speed 0 --lane other --name film --wait")
    assert playing.state == "ended"
    assert playing.session is steer_nb.sessions()["film"]
    assert list(playing.session.lanes) == ["other"]
    assert "<Replay of played: ended, 2 of 2 recorded steps, session film>" in (
        capsys.readouterr().out
    )


def test_an_interrupt_leaves_it_running(shell: Any, tmp_path: Path) -> None:
    simulator = steer_nb.Simulator("planner", speed=10)
    with steer_nb.connect(simulate=simulator, journal=False, quiet=True, name="old") as session:
        session.lane("trip").create("Plan a day in Rome.").wait(timeout=20)
    path = session.trace.save(tmp_path / "slow.jsonl")

    def interrupt() -> None:
        while not any(
            entry.kind == "in" for one in steer_nb.sessions().values() for entry in one.trace
        ):
            time.sleep(0.01)
        _thread.interrupt_main()

    steer_nb.sessions()["old"].close()
    registry._sessions.clear()
    threading.Thread(target=interrupt).start()
    result = shell.run_cell(f"%steer replay {path} --speed 0.3 --wait")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    replayed = steer_nb.sessions()["replay"]
    assert not replayed.closed
    replayed.until(
        lambda ledger: (
            True if any(r.status == "completed" for r in ledger.responses.values()) else None
        ),
        60,
        str,
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("replay none.jsonl", "none.jsonl cannot be read"),
        ("replay", "needs PATH"),
        ("replay PATH --lane nobody", "no lane 'nobody': give one of trip, other"),
        ("replay PATH --speed -1", "0 or more"),
        ("connect --simulate weather --option acknowlege=x", "Did you mean 'acknowledge'?"),
        ("connect --option lane_limit=many", "a whole number"),
        ("connect ws://x/y --option lane_limit=2", "exclude each other"),
        ('connect --fault "drop att=2"', "Fault drop has no 'att'. Did you mean 'at'?"),
        ("connect ws://x/y --fault drop", "exclude each other"),
        ("connect --simulate none.yaml", "There is no scenario file none.yaml"),
    ],
)
def test_errors_are_one_line(shell: Any, played: str, line: str, said: str) -> None:
    result = shell.run_cell(f"%steer {line.replace('PATH', played)}")
    error = result.error_in_exec or result.error_before_exec
    assert error is not None
    assert re.search(re.escape(said), str(error))
    assert "\n" not in str(error)


def test_options_and_files_of_the_simulator(shell: Any, played: str, tmp_path: Path) -> None:
    line = "%steer connect --simulate weather --no-journal"
    session = run(shell, f"{line} --option acknowledge=after_terminal --option lane_limit=2")
    options = session.simulator.service.options
    assert (options.acknowledge, options.lane_limit) == ("after_terminal", 2)
    file = tmp_path / "parrot.yaml"
    file.write_text('turns: [say: "{prompt}"]', encoding="utf-8")
    session = run(shell, f"%steer connect --simulate {file} --no-journal")
    assert session.lane().create("Hello!").wait(20).text == "Hello!"
    session = run(shell, f"%steer connect --simulate {played} --speed 0 --no-journal")
    assert session.lane("trip").create("Hi.").wait(20).status == "completed"


def test_faults_of_the_simulator(shell: Any) -> None:
    line = "%steer connect --simulate planner --speed 0 --no-journal"
    session = run(shell, f'{line} --fault "drop at=9" --fault "duplicate times=none"')
    assert [one["fault"] for one in session.simulator.faults] == ["drop", "duplicate"]
    lane = session.lane("trip")
    lane.create("Plan a day.")
    assert lane.wait(20) == "detached"
    assert lane.response.status == "truncated"
    assert [one["struck"] for one in session.simulator.faults] == [1, 0]


def test_completion(shell: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.jsonl").touch()
    assert "run.jsonl" in words(shell, "%steer replay ru")
    (tmp_path / "mine.yaml").touch()
    assert words(shell, "%steer connect --simulate mi") == ["mine.yaml"]
    assert words(shell, "%steer connect --simulate r") == ["run.jsonl"]
    assert words(shell, "%steer connect --option acknowledge=a") == [
        "acknowledge=at_once",
        "acknowledge=after_terminal",
        "acknowledge=after_successor",
    ]
    assert words(shell, "%steer connect --fault re") == ["reorder", "relabel", "refuse_handshake"]
    assert words(shell, "%steer replay run.jsonl --s") == ["--speed"]
