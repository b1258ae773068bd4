"""The command as a person runs it: in a process of its own."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.request import urlopen

import pandas as pd
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

import steer_nb
from steer_nb.cli import main
from steer_nb.simulator import list_faults, list_options
from tests.support.traces import TraceBuilder

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(steer_nb.__file__).parent.parent


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}


def run(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "steer_nb", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
        env=environment(),
    )


@pytest.fixture
def trace_file(tmp_path: Path) -> str:
    builder = TraceBuilder().connect().create("Plan", lane="planner", key="create-1")
    builder.created("resp_1", lane="planner").steer("resp_1", "Shorter", key="steer-1")
    return builder.trace.save(tmp_path / "run.jsonl")


@pytest.fixture
def played(tmp_path: Path) -> str:
    """A trace of two lanes on the simulator."""
    simulator = steer_nb.Simulator("weather", speed=0)
    with steer_nb.connect(simulate=simulator, journal=False, quiet=True) as session:
        for name in ("trip", "other"):
            session.lane(name).create("What is the weather?").wait(timeout=20)
    return session.trace.save(tmp_path / "played.jsonl")


class TestWhole:
    def test_version(self) -> None:
        done = run("--version")
        assert (done.returncode, done.stdout.strip()) == (0, f"steer-nb {steer_nb.__version__}")

    def test_help_names_the_commands(self) -> None:
        done = run("--help")
        assert done.returncode == 0
        for word in ("demo", "simulate", "replay", "frames", "export"):
            assert word in done.stdout

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ([], "COMMAND"),
            (["nonsense"], "nonsense"),
            (["simulate", "--speed", "fast"], "fast"),
            (["simulate", "--port", "80000"], "no port"),
            (["demo", "--nonsense"], "--nonsense"),
        ],
    )
    def test_a_wrong_call_is_one_line_and_exit_code_2(
        self, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        errors = capsys.readouterr().err
        assert ended.value.code == 2
        assert len(errors.strip().splitlines()) == 1
        assert said in errors


class Served:
    """A running `steer-nb simulate`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        assert process.stdout is not None
        self.first = process.stdout.readline().strip()

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=20)
        return self.process.returncode, errors


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[Served]:
    command = [sys.executable, "-W", "error", "-m", "steer_nb", "simulate", *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        env=environment(),
    )
    with process:
        try:
            yield Served(process)
        finally:
            if process.poll() is None:
                process.kill()


class TestSimulateLetta:
    def test_what_there_is_of_each(self) -> None:
        for what, wanted in (
            ("--list", "asks before it deletes one"),
            ("--options", "keepalive_s=20.0"),
            ("--faults", "phantom_call: stream a call that is not pending"),
        ):
            done = run("simulate", "--dialect", "letta", what)
            assert (done.returncode, done.stderr) == (0, "")
            assert wanted in done.stdout
            assert "lane_limit" not in done.stdout

    def test_the_first_line_is_a_url_of_letta(self) -> None:
        more = ("--speed", "0", "--set", "keepalive_s=5", "--fault", "busy times=1")
        with serving("--dialect", "letta", "--seed", "3", *more) as served:
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+", served.first)
            with urlopen(f"{served.first}/v1/agents/") as answer:
                (agent,) = json.load(answer)
            assert agent["name"] == "files"
            with urlopen(f"{served.first}/simulator") as answer:
                told = json.load(answer)
            assert (told["seed"], told["options"]["keepalive_s"]) == (3, 5.0)
            assert [one["fault"] for one in told["faults"]] == ["busy"]
            code, errors = served.end()
        assert (code, errors) == (0, "")

    def test_what_it_does_not_play(self, tmp_path: Path) -> None:
        for arguments, says in (
            (["--scenario", "planner"], "There is no scenario 'planner'"),
            (["--fault", "reorder"], "There is no fault 'reorder'"),
            (["--set", "lane_limit=3"], "no option 'lane_limit'"),
        ):
            done = run("simulate", "--dialect", "letta", *arguments)
            assert done.returncode == 1
            assert says in done.stderr


class TestSimulate:
    def test_the_list_describes_each_scenario_in_one_line(self) -> None:
        done = run("simulate", "--list")
        lines = done.stdout.splitlines()
        assert done.returncode == 0
        assert [line.split()[0] for line in lines][:2] == ["planner", "weather"]
        assert all(len(line.split()) > 3 for line in lines)

    def test_the_first_line_is_a_url_that_can_be_connected_to(self) -> None:
        with serving("--scenario", "weather", "--speed", "0", "--seed", "3") as served:
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", served.first)
            with steer_nb.connect(served.first, journal=False, quiet=True) as session:
                lane = session.lane("trip")
                lane.create("What is the weather in Lisbon?")
                assert lane.wait(timeout=20) == "waiting_input"
            code, errors = served.end()
        assert (code, errors) == (0, "")

    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to send")
    def test_a_service_manager_ends_it_as_cleanly(self) -> None:
        with serving() as served:
            assert served.end(signal.SIGTERM) == (0, "")

    def test_a_key_is_asked_for(self) -> None:
        with serving("--api-key", "right") as served:
            with pytest.raises(steer_nb.errors.AuthenticationFailed):
                steer_nb.connect(served.first, api_key="wrong", journal=False, quiet=True)
            served.end()

    def test_a_scenario_from_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "parrot.py"
        file.write_text(
            "from steer_nb.simulator import Say, scenario\n"
            "@scenario('parrot', 'Says what you say.')\n"
            "def parrot(turn):\n"
            "    yield Say(turn.prompt)\n",
            encoding="utf-8",
        )
        with serving("--scenario", str(file), "--speed", "0") as served:
            with steer_nb.connect(served.first, journal=False, quiet=True) as session:
                assert session.lane().create("Hello!").wait(timeout=20).text == "Hello!"
            served.end()

    def test_a_scenario_in_yaml(self, tmp_path: Path) -> None:
        file = tmp_path / "parrot.yaml"
        file.write_text('turns:\n  - say: "{prompt}"\n', encoding="utf-8")
        with serving("--scenario", str(file), "--speed", "0") as served:
            with steer_nb.connect(served.first, journal=False, quiet=True) as session:
                assert session.lane().create("Hello!").wait(timeout=20).text == "Hello!"
            served.end()
        file.write_text("turns:\n  - sya: Hello.\n", encoding="utf-8")
        done = run("simulate", "--scenario", str(file))
        assert done.returncode == 1
        assert f"{file}, line 2, column 5: there is no step 'sya'" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1

    def test_a_trace(self, played: str) -> None:
        with serving("--trace", played, "--speed", "0") as served:
            with steer_nb.connect(served.first, journal=False, quiet=True) as session:
                text = session.lane().create("Hello!").wait(timeout=20).text
                assert text == steer_nb.load(played).ledger.lanes["trip"].responses[0].text
            served.end()
        done = run("simulate", "--trace", "none.jsonl")
        assert (done.returncode, "none.jsonl cannot be read" in done.stderr) == (1, True)
        done = run("simulate", "--trace", played, "--scenario", "weather")
        assert (done.returncode, "not allowed with" in done.stderr) == (2, True)

    def test_options_are_listed_with_their_questions(self) -> None:
        done = run("simulate", "--options")
        assert done.returncode == 0
        for one in list_options():
            line = next(row for row in done.stdout.splitlines() if row.startswith(f"{one.name}="))
            assert all(word in line for word in one.choices)
            assert one.help in done.stdout
            assert not one.question or f"[question {one.question}]" in line
        for letter in "abcdefghijk":
            assert f"question {letter}" in done.stdout
        assert "done_event=false" in done.stdout

    def test_options_are_set(self) -> None:
        arguments = ("--set", "empty_steer=accept", "--set", "steerable-models=gpt-7,gpt-6")
        with serving("--scenario", "weather", *arguments) as served:
            assert served.first.startswith("http://")
            served.end()

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("acknowlege=at_once", "Did you mean 'acknowledge'?"),
            ("acknowledge=later", "one of 'at_once', 'after_terminal', 'after_successor'"),
            ("lane_limit=many", "a whole number, 0 or more, not 'many'"),
            ("lane_limit", "NAME=VALUE"),
            ("done_event=yes", "True or False"),
        ],
    )
    def test_wrong_options_are_one_line(
        self, text: str, said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["simulate", "--set", text]) == 1
        errors = capsys.readouterr().err
        assert said in errors
        assert len(errors.strip().splitlines()) == 1

    def test_faults_are_listed_with_their_fields(self) -> None:
        done = run("simulate", "--faults")
        assert done.returncode == 0
        for fault in list_faults():
            assert f"{fault.name}: {fault.help}" in done.stdout.splitlines()
            for one in fault.fields:
                default = "none" if one.default is None else one.default
                assert f"    {one.name}={default}" in done.stdout
                assert one.help in done.stdout

    def test_a_fault_strikes_and_the_control_api_tells(self) -> None:
        faults = ("--fault", "drop at=3 code=1013", "--fault", "duplicate as_type=response.done")
        with serving("--scenario", "weather", "--speed", "0", *faults) as served:
            assert served.process.stdout is not None
            place = next(
                line.split()[-1] for line in served.process.stdout if line.startswith("Control API")
            )
            with connect(served.first.replace("http", "ws") + "/responses") as line:
                line.send('{"type": "response.create", "model": "gpt-6-astra", "input": "Hello."}')
                with pytest.raises(ConnectionClosedError) as caught:
                    list(line)
            assert caught.value.rcvd is not None
            assert caught.value.rcvd.code == 1013
            with urlopen(f"{place}/account?kind=fault") as answer:
                (entry,) = json.load(answer)["entries"]
            assert (entry["fault"], entry["number"]) == ("drop", 3)
            served.end()

    @pytest.mark.parametrize(
        ("text", "said"),
        [("dorp", "Did you mean 'drop'?"), ("drop at=0", "from 1"), ("drop 3", "NAME=VALUE")],
    )
    def test_wrong_faults_are_one_line(
        self, text: str, said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["simulate", "--fault", text]) == 1
        errors = capsys.readouterr().err
        assert said in errors
        assert len(errors.strip().splitlines()) == 1

    def test_it_loads_nothing_that_it_does_not_need(self) -> None:
        """A classroom starts many: neither tables nor widgets nor a shell, and YAML when asked."""
        code = (
            "import sys\n"
            "from steer_nb.cli import main\n"
            "main(['simulate'])\n"
            "heavy = ['pandas', 'ipywidgets', 'IPython', 'yaml', 'numpy', 'traitlets', 'openai']\n"
            "print('loaded:', [name for name in heavy if name in sys.modules])"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env=environment(),
        ) as process:
            served = Served(process)
            assert served.first.startswith("http://127.0.0.1:")
            process.send_signal(signal.SIGINT)
            lines = process.communicate(timeout=30)[0].splitlines()
        assert lines[-1] == "loaded: []"

    def test_an_unknown_scenario_is_one_line_and_exit_code_1(self) -> None:
        done = run("simulate", "--scenario", "plannr")
        assert done.returncode == 1
        assert "Did you mean 'planner'?" in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1

    def test_a_taken_port_is_one_line(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            done = run("simulate", "--port", str(taken.getsockname()[1]))
        assert done.returncode == 1
        assert len(done.stderr.strip().splitlines()) == 1


class TestReplay:
    def test_it_tells_what_happens(self, played: str) -> None:
        done = run("replay", played, "--speed", "0")
        assert (done.returncode, done.stderr) == (0, "")
        assert re.search(r"^ +\d+\.\d{3} s  lane trip opened$", done.stdout, re.MULTILINE)
        assert "trip: response completed" in done.stdout

    def test_only_a_lane(self, played: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["replay", played, "--speed", "0", "--lane", "other"]) == 0
        said = capsys.readouterr().out
        assert "other: response completed" in said
        assert "trip" not in said

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["none.jsonl"], "none.jsonl cannot be read"),
            (["TRACE", "--lane", "x"], "no lane 'x': give one of trip, other"),
            (["TRACE", "--speed", "-1"], "0 or more"),
        ],
    )
    def test_errors_are_one_line(
        self, played: str, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["replay", *[played if one == "TRACE" else one for one in arguments]]) == 1
        errors = capsys.readouterr().err
        assert said in errors
        assert len(errors.strip().splitlines()) == 1


class TestFrames:
    def test_an_overview(self, trace_file: str) -> None:
        done = run("frames", trace_file)
        assert done.returncode == 0
        assert re.search(r"steers\s+1 rows", done.stdout)
        assert re.search(r"required_inputs\s+0 rows", done.stdout)

    def test_of_a_folder_and_of_another_recording(
        self, trace_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        event = '{"type":"response.created","response":{"id":"r1","status":"in_progress"}}'
        (tmp_path / "more").mkdir()
        (tmp_path / "more" / "a.sse").write_text(f"data: {event}\n\n")
        (tmp_path / "more" / "b.jsonl").write_bytes(Path(trace_file).read_bytes())
        assert main(["frames", str(tmp_path / "more")]) == 0
        assert "2 traces, 1 problem\n" in capsys.readouterr().out
        assert main(["frames", str(tmp_path / "more" / "*.sse"), "--frame", "responses"]) == 0
        assert "truncated" in capsys.readouterr().out
        assert main(["frames", str(tmp_path / "more" / "a.sse"), "--frame", "lanes"]) == 0
        assert "detached" in capsys.readouterr().out

    def test_one_frame(self, trace_file: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["frames", trace_file, "--frame", "steers"]) == 0
        assert "Shorter" in capsys.readouterr().out
        assert main(["frames", trace_file, "--frame", "items"]) == 0
        assert "no rows" in capsys.readouterr().out

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_to_a_file(self, trace_file: str, tmp_path: Path, ending: str) -> None:
        if ending == "parquet":
            pytest.importorskip("pyarrow")
        path = tmp_path / f"steers.{ending}"
        assert main(["frames", trace_file, "--frame", "steers", "--to", str(path)]) == 0
        frame = pd.read_csv(path) if ending == "csv" else pd.read_parquet(path)
        assert list(frame["input_text"]) == ["Shorter"]

    @pytest.mark.parametrize(
        ("arguments", "code", "said"),
        [
            (["missing.jsonl"], 1, "missing.jsonl"),
            (["TRACE", "--frame", "steer"], 1, "Did you mean 'steers'?"),
            (["TRACE", "--to", "x.xlsx"], 2, ".parquet or .csv"),
            (["TRACE", "--to", "no/such/folder.csv"], 1, "No such file or directory"),
        ],
    )
    def test_errors_are_one_line(
        self,
        trace_file: str,
        arguments: list[str],
        code: int,
        said: str,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        words = [trace_file if one == "TRACE" else one for one in arguments]
        assert main(["frames", *words]) == code
        errors = capsys.readouterr().err
        assert said in errors
        assert len(errors.strip().splitlines()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="there is no `head`")
def test_a_reader_that_goes_away_is_no_traceback(trace_file: str) -> None:
    command = f'"{sys.executable}" -m steer_nb frames "{trace_file}" | head -n 0'
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
        env=environment(),
    )
    assert "Traceback" not in done.stderr
