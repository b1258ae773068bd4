"""The demo: what it prints, what it leaves behind, and how it fails."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest

import steer_nb
from steer_nb.cli import main
from steer_nb.demo import notebook as notebooks
from steer_nb.demo import places, run
from steer_nb.demo.narrator import JournalTail, Narrator
from steer_nb.demo.report import Report
from steer_nb.errors import SteerError
from steer_nb.trace import Journal
from tests.support.traces import TraceBuilder, call, stub

if TYPE_CHECKING:
    from steer_nb.trace import Trace


def small_notebook(path: Path, *sources: str) -> Path:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@pytest.mark.kernel
@pytest.mark.slow
def test_the_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-person")
    out = tmp_path / "results"
    assert main(["demo", "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    text = "\n".join(lines)

    steps = [line for line in lines if re.match(r" *\d+/\d+ ", line)]
    assert len(steps) == int(steps[-1].split("/")[1].split()[0])
    happened = (
        "1/15 Connect",
        "connected to ws://127.0.0.1:",
        "lane planner opened",
        "planner: a response starts",
        "planner: steered, “Keep it under 300 euros.”",
        "steer accepted after",
        "planner: response incomplete (steered) after",
        "steer committed after",
        "weather waits for get_weather",
        "get_weather answered by code",
        "weather: continuation sent",
        "connection closed",
        "steers: 1 row",
        "responses: 4 rows",
    )
    places_in_text = [text.index(line) for line in happened]
    assert places_in_text == sorted(places_in_text)
    assert lines[-1].endswith(str(out))

    executed = nbformat.read(out / "01_first_lane.ipynb", as_version=4)
    assert "widgets" not in executed.metadata
    raw = (out / "01_first_lane.ipynb").read_text(encoding="utf-8")
    assert "vnd.jupyter.widget" not in raw
    page = (out / "01_first_lane.html").read_text(encoding="utf-8")
    assert "Keep it under 300 euros." in page
    for kept in out.rglob("*"):
        if kept.is_file():
            assert "sk-of-the-person" not in kept.read_text(encoding="utf-8")
    steers = steer_nb.load(out / "first_lane.jsonl").frames.steers
    assert list(steers["state"]) == ["committed"]

    # Nothing is overwritten.
    assert main(["demo", "--out", str(out)]) == 1
    assert "exists already" in capsys.readouterr().err


class TestFailures:
    @pytest.mark.kernel
    def test_a_failing_cell_is_named(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = small_notebook(tmp_path / "small.ipynb", "# Divide\n1 / 0", "print('never')")
        monkeypatch.setattr(run, "notebook_path", lambda: path)
        assert main(["demo", "--out", str(tmp_path / "out")]) == 1
        captured = capsys.readouterr()
        assert "1/2 Divide" in captured.out
        assert "2/2" not in captured.out
        assert captured.err == (
            "steer-nb: The step “Divide” failed: ZeroDivisionError: division by zero\n"
        )
        assert (tmp_path / "out" / "01_first_lane.ipynb").is_file()

    @pytest.mark.kernel
    def test_a_mistake_in_a_magic_is_named(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = small_notebook(tmp_path / "small.ipynb", "# Begin\n%load_ext steer_nb\n%steer opne")
        monkeypatch.setattr(run, "notebook_path", lambda: path)
        assert main(["demo", "--out", str(tmp_path / "out")]) == 1
        assert "“Begin” failed: UsageError: %steer has no subcommand" in capsys.readouterr().err

    @pytest.mark.kernel
    def test_a_dead_kernel_is_told(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = small_notebook(tmp_path / "small.ipynb", "# Die\nimport os\nos._exit(3)")
        monkeypatch.setattr(run, "notebook_path", lambda: path)
        assert main(["demo", "--out", str(tmp_path / "out")]) == 1
        assert "died in the step “Die”" in capsys.readouterr().err
        assert (tmp_path / "out" / "kernel.log").is_file()

    @pytest.mark.kernel
    @pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send Ctrl-C to a process")
    def test_ctrl_c_ends_it_in_order(self, tmp_path: Path) -> None:
        root = Path(steer_nb.__file__).parent.parent
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "steer_nb", "demo", "--out", str(tmp_path / "out")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(root), "PYTHONIOENCODING": "utf-8"},
        )
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                if "lane planner opened" in line:
                    process.send_signal(signal.SIGINT)
                    break
            _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (1, "steer-nb: interrupted\n")

    async def test_a_kernel_that_was_put_away_is_asked_for_in_silence(self) -> None:
        client = notebooks._Client(nbformat.v4.new_notebook())
        client.task_poll_for_reply = asyncio.get_running_loop().create_future()
        await client._async_poll_kernel_alive()
        assert client.task_poll_for_reply.cancelled()

    def test_a_missing_extra_is_told_with_the_command(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(run, "find_spec", lambda name: None if name == "nbclient" else object())
        assert main(["demo"]) == 2
        assert 'needs nbclient: pip install "steer-nb[demo]"' in capsys.readouterr().err
        assert not list(Path().glob("steer-demo*"))

    def test_a_missing_notebook_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(places, "package_directory", lambda: Path("/nowhere/steer_nb"))
        with pytest.raises(SteerError, match="Reinstall"):
            places.notebook_path()


class TestLab:
    @pytest.mark.slow
    @pytest.mark.skipif(os.name != "posix", reason="the stand-in for a browser is a shell script")
    def test_it_opens_the_notebook(self, tmp_path: Path) -> None:
        """A real JupyterLab; only the browser is a script, which writes down what it is given."""
        opened = tmp_path / "opened"
        browser = tmp_path / "browser"
        browser.write_text(
            f'#!/bin/sh\nprintf %s "$1" > {opened}.part; mv {opened}.part {opened}\n'
        )
        browser.chmod(0o755)
        out = tmp_path / "out"
        with (tmp_path / "log").open("wb") as log:
            server = subprocess.Popen(
                [sys.executable, "-m", "steer_nb", "demo", "--lab", "--out", str(out)],
                env={**os.environ, "BROWSER": f"{browser} %s"},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                end = time.monotonic() + 60
                while not opened.exists():
                    assert server.poll() is None, (tmp_path / "log").read_text()
                    assert time.monotonic() < end, (tmp_path / "log").read_text()
                    time.sleep(0.1)
                page = Path(opened.read_text().removeprefix("file://")).read_text()
            finally:
                os.killpg(server.pid, signal.SIGTERM)
                server.wait(20)
        assert "01_first_lane.ipynb" in page
        copy = out / "01_first_lane.ipynb"
        assert copy.read_bytes() == places.notebook_path().read_bytes()

    def test_it_tells_when_lab_fails(
        self,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(
            run.subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1)
        )
        assert main(["demo", "--lab", "--out", str(tmp_path / "out")]) == 1
        assert "exit code 1" in capsys.readouterr().err


class TestPlaces:
    def test_a_new_folder_each_time(self) -> None:
        first, second = places.result_directory(None), places.result_directory(None)
        assert first != second
        assert re.fullmatch(r"steer-demo-\d{8}-\d{4}(-\d+)?", first.name)

    def test_a_folder_with_other_things_is_taken(self, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").touch()
        assert places.result_directory(tmp_path) == tmp_path

    def test_a_file_in_the_way(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(SteerError, match="--out"):
            places.result_directory(tmp_path / "file")

    def test_a_folder_that_takes_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(**_: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(places.tempfile, "TemporaryFile", refused)
        with pytest.raises(SteerError, match=r"written into .* \(Permission denied\).*--out"):
            places.result_directory(tmp_path)

    def test_the_wheels_own_copy_is_found(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "site" / "steer_nb"
        (package / "_notebooks").mkdir(parents=True)
        inside = package / "_notebooks" / "01_first_lane.ipynb"
        inside.touch()
        monkeypatch.setattr(places, "package_directory", lambda: package)
        assert places.notebook_path() == inside


class TestNotebookParts:
    def test_titles(self) -> None:
        new = nbformat.v4
        cells = [
            new.new_markdown_cell("# Whole\n\ntext\n\n## Part"),
            new.new_code_cell("a = 1"),
            new.new_code_cell("# Own title\nb = 2"),
            new.new_code_cell("%%steer planner\nHello"),
            new.new_code_cell("  "),
            new.new_code_cell("# Your cell\n"),
        ]
        titles = notebooks.step_titles(new.new_notebook(cells=cells))
        assert titles == {1: "Part", 2: "Own title", 3: "%%steer planner"}

    def test_the_kernel_gets_no_keys(self, tmp_path: Path) -> None:
        given = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "u", "MY_TOKEN": "t", "PATH": "p"}
        env = notebooks.kernel_environment(given, tmp_path / "steer_nb", tmp_path)
        assert "k" not in env.values()
        assert "u" not in env.values()
        assert "t" not in env.values()
        assert env["PATH"] == "p"

    def test_widgets_and_empty_outputs_go(self) -> None:
        output = nbformat.v4.new_output
        view = "application/vnd.jupyter.widget-view+json"
        cell = nbformat.v4.new_code_cell(
            outputs=[
                output("display_data", {view: {"model_id": "1"}, "text/html": "<b>kept</b>"}),
                output("display_data", {view: {"model_id": "2"}}),
                output("display_data", {"text/html": "", "text/plain": ""}),
                output("stream", name="stdout", text="kept"),
            ]
        )
        notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {}})
        notebooks.clean(notebook)
        assert "widgets" not in notebook.metadata
        assert [o.get("text") or o.data for o in notebook.cells[0].outputs] == [
            {"text/html": "<b>kept</b>"},
            "kept",
        ]


class TestNarrator:
    @staticmethod
    def tell(trace: Trace) -> list[str]:
        narrator = Narrator()
        return [line for entry in trace for line in narrator.hear(entry)]

    def test_a_steer(self) -> None:
        story = (
            TraceBuilder()
            .connect()
            .note("lane", lane="planner", settings={}, forked_from=None)
            .create("Plan", lane="planner", key="create-1")
            .created("resp_1", lane="planner")
            .delta("Day 1", lane="planner")
            .steer("resp_1", "Keep it  short", key="steer-1")
            .accepted("steer_1", "resp_1", lane="planner")
            .ended("resp_1", "incomplete", lane="planner", reason="steered")
            .created("resp_2", lane="planner", previous="resp_1")
            .ended("resp_2", lane="planner", previous="resp_1")
            .close(1000, by="client")
        )
        assert self.tell(story.trace) == [
            "connected to ws://127.0.0.1:1/v1/responses",
            "lane planner opened",
            "planner: a response starts",
            "planner: steered, “Keep it short”",
            "steer accepted after 100 ms",
            "planner: response incomplete (steered) after 400 ms, 5 characters",
            "steer committed after 300 ms",
            "planner: the steer's successor starts",
            "planner: response completed after 100 ms",
            "connection closed",
        ]

    def test_failures(self) -> None:
        story = (
            TraceBuilder()
            .note("connect_failed", url="ws://x", error="nobody there")
            .connect()
            .create("Plan", key="create-1")
            .created("resp_1")
            .steer("resp_1", [{"role": "user", "content": [{"text": "More"}]}], key="steer-1")
            .failed("resp_1", "More", "invalid_input")
            .steer("resp_1", "Again", key="steer-2")
            .close()
        )
        told = self.tell(story.trace)
        assert told[0] == "no connection to ws://x: nobody there"
        assert "(default): steered, “More”" in told
        assert "steer failed: simulated invalid_input" in told
        assert "the outcome of a steer is unknown" in told

    def test_required_input(self) -> None:
        story = (
            TraceBuilder()
            .connect()
            .create("Weather?", lane="trip", key="create-1")
            .created("resp_1", lane="trip")
            .done(call(), lane="trip")
            .ended("resp_1", lane="trip", output=[call()])
            .note(
                "filled",
                lane="trip",
                parent="resp_1",
                key="call_1",
                item={**stub(), "output": "sunny"},
                by="user",
            )
        )
        told = self.tell(story.trace)
        assert "trip waits for get_weather (call_1)" in told
        assert told[-1] == "get_weather answered by hand"

    def test_a_growing_journal_is_read_line_by_line(self, tmp_path: Path) -> None:
        trace = TraceBuilder().connect().create("a", key="create-1").created("resp_1").trace
        tail = JournalTail(tmp_path)
        assert list(tail.new()) == []
        journal = Journal(tmp_path / "run.jsonl", trace.header)
        assert list(tail.new()) == []
        seen = []
        for entry in trace:
            journal.write(entry)
            journal.flush()
            seen += [one for _, one in tail.new()]
        journal.close()
        assert seen == list(trace)
        with (tmp_path / "run.jsonl").open("ab") as file:
            file.write(b'{"seq": 9')
        assert list(tail.new()) == []


def test_a_terminal_gets_a_bar_and_nothing_is_markup() -> None:
    from io import StringIO

    from rich.console import Console

    stream = StringIO()
    console = Console(file=stream, force_terminal=True, width=80, color_system=None)
    with Report(2, console) as report:
        report.busy("[bold]one")
        report.step("[bold]one")
        report.happening("[red]text")
        report.done()
    shown = stream.getvalue()
    assert "1/2 [bold]one" in shown
    assert "[red]text" in shown
    assert "0/2" in shown
