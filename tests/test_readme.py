"""The README tells the truth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from steer_nb.magics.grammar import COMMANDS

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


@pytest.mark.parametrize(
    "target", sorted(set(re.findall(r"(?:\]\(|src(?:set)?=\")([^)\"#:]+)[)\"]", README)))
)
def test_its_links_and_pictures_exist(target):
    assert (ROOT / target).exists()


def test_its_two_commands_are_those_of_ci():
    commands = re.findall(r"^pip install -e \"\.\[(\w+)\]\" && (.*)$", README, re.MULTILINE)
    assert commands == [("demo", "steer-nb demo"), ("dev", "pytest -n 3 --dist loadfile")]
