"""The README tells the truth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

import steer_nb
from steer_nb import Simulator, connect
from steer_nb.magics.grammar import COMMANDS
from tests.support.traces import TraceBuilder

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_every_magic_stands_in_its_table():
    table = README[README.index("## The words of") : README.index("## The same in Python")]
    for command in COMMANDS.values():
        usage = command.usage.replace("|", r"\|")
        assert usage in table, usage
    named = set(re.findall(r"`%steer (\w+)", table))
    assert named == {name for name in COMMANDS if name}


def test_its_python_runs():
    """The block of the section on Python, as it stands, on the simulator."""
    section = README[README.index("## The same in Python") :]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)
    space: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), space)
    assert "18 °C and sunny" in space["answer"].text
    assert len(space["trace"].frames.responses) == 2


def test_its_traces_go_elsewhere(tmp_path: Path) -> None:
    """What the section before it saved is exported in each form."""
    for title in ("## The same in Python", "## Traces for other programs"):
        section = README[README.index(title) :]
        code = re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)
        space: dict[str, Any] = {}
        exec(compile(code, "README.md", "exec"), space)
    assert len(space["tables"]["responses"]) == 2
    assert {"out", "all", "said.json", "spans.jsonl"} <= {path.name for path in tmp_path.iterdir()}


def test_its_many_files_are_scanned(tmp_path: Path) -> None:
    (tmp_path / "recordings").mkdir()
    for name in "ab":
        trace = TraceBuilder().create().created("r1").ended("r1").trace
        trace.save(tmp_path / "recordings" / f"{name}.jsonl")
    section = README[README.index("## More than one process reads") :]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)
    space: dict[str, Any] = {"steer_nb": steer_nb}
    exec(compile(code, "README.md", "exec"), space)
    assert len(space["runs"].frames.responses.compute()) == 1  # the same trace twice


def test_its_agents_answer():
    section = README[README.index("## Several agents") :]
    code = re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)
    space: dict[str, Any] = {"steer_nb": steer_nb}
    try:
        exec(compile(code, "README.md", "exec"), space)
        assert space["response"].status == "completed"
    finally:
        space["session"].close()


def test_its_first_steps_work_as_they_stand(monkeypatch: Any, tmp_path: Path) -> None:
    """The cells of the five minutes, comments and all."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    section = README[README.index("## Five minutes") : README.index("## What it does")]
    cells = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert len(cells) == 4
    shell = InteractiveShell()
    try:
        for cell in cells[:-1]:
            shell.run_cell(cell).raise_error()
        shell.run_cell("%steer wait planner --timeout 60").raise_error()
        steers = shell.run_cell(cells[-1])
        steers.raise_error()
        assert list(steers.result["state"]) == ["committed"]
    finally:
        shell.run_cell("%steer close").raise_error()
        shell.run_cell("%unload_ext steer_nb")


def test_its_scenario_can_be_played(tmp_path: Path) -> None:
    text = re.search(r"```yaml\n(.*?)```", README, re.DOTALL).group(1)
    (tmp_path / "trip.yaml").write_text(text, encoding="utf-8")
    simulator = Simulator(tmp_path / "trip.yaml", speed=0)
    with connect(simulate=simulator, journal=False, quiet=True) as session:
        tool = {"type": "function", "name": "get_weather", "parameters": {}}
        lane = session.lane("trip", tools=[tool])
        lane.create("How is the weather?")
        assert lane.wait(30) == "waiting_input"
        lane.fill(lane.required_input[0].key, output="18 °C")
        assert lane.send_continuation().wait(30).text == "It is 18 °C there."


def test_its_agents_can_be_played(tmp_path: Path) -> None:
    text = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)[1]
    (tmp_path / "team.yaml").write_text(text, encoding="utf-8")
    simulator = Simulator(tmp_path / "team.yaml", speed=0)
    with connect(simulate=simulator, multi_agent=True, journal=False, quiet=True) as session:
        lane = session.lane("team", multi_agent={"enabled": True})
        response = lane.create("Go.")
        while lane.wait(30) == "waiting_input":
            for needed in lane.required_input:
                lane.fill(needed.key, output=f"Dry in {needed.agent_name}.")
            lane.inject()
        assert response.text.endswith("Lisbon: Dry in /root/lisbon. Porto: Dry in /root/porto.")


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"(?:\]\(|src(?:set)?=\")([^)\"#:]+)[)\"]", README)))
)
def test_its_links_and_pictures_exist(target):
    assert (ROOT / target).exists()


def test_its_two_commands_are_those_of_ci():
    commands = re.findall(r"^pip install -e \"\.\[(\w+)\]\" && (.*)$", README, re.MULTILINE)
    assert commands == [("demo", "steer-nb demo"), ("dev", "pytest -n 3 --dist loadfile")]
