"""The README tells the truth."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from IPython.core.interactiveshell import InteractiveShell

from steer_nb.magics.grammar import COMMANDS
from tests.support.pages import README, ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_every_magic_stands_in_its_table() -> None:
    table = README.section("## The words of `%steer`").text
    for command in COMMANDS.values():
        usage = command.usage.replace("|", r"\|")
        assert usage in table, usage
    named = set(re.findall(r"`%steer (\w+)", table))
    assert named == {name for name in COMMANDS if name}


def test_its_python_runs(monkeypatch: Any, tmp_path: Path) -> None:
    """The block of the section on Python, as it stands, on the simulator."""
    monkeypatch.chdir(tmp_path)
    space = README.section("## The same in Python").run()
    assert "18 °C and sunny" in space["answer"].text
    assert len(space["trace"].frames.responses) == 2


def test_its_tables_are_those_there_are() -> None:
    from steer_nb.frames import TABLES

    section = README.section("## The same in Python").text
    listed = section[section.index("has the tables") : section.index("the answers made of them")]
    assert set(TABLES) == set(re.findall(r"`(\w+)`", listed))


def test_its_first_steps_work_as_they_stand(monkeypatch: Any, tmp_path: Path) -> None:
    """The cells of the five minutes, comments and all, and what then reads their trace."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    section = README.section("## Five minutes to a first steer")
    *cells, steers, tool, question, pending, save = section.blocks()
    shell = InteractiveShell()
    try:
        for cell in cells:
            shell.run_cell(cell).raise_error()
        shell.run_cell("%steer wait planner --timeout 60").raise_error()
        shown = shell.run_cell(steers)
        shown.raise_error()
        assert list(shown.result["state"]) == ["committed"]
        everything = shell.run_cell("%steer frame steers").result
        assert f"all {len(everything.columns)} columns" in section.text
        for cell in (tool, question, pending, save):
            shell.run_cell(cell).raise_error()
        waiting = shell.run_cell("%steer status").result
        assert waiting["lanes"] == {"planner": "idle", "trip": "waiting_input"}
    finally:
        shell.run_cell("%steer close").raise_error()
        shell.run_cell("%unload_ext steer_nb")
    (line,) = (one for one in section.blocks("sh") if one.startswith("python -c"))
    line = line.replace("python", f"'{sys.executable}'", 1)
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert "Keep it under 300 euros" in done.stdout
    assert "committed" in done.stdout


def test_its_links_and_pictures_exist() -> None:
    for target in README.targets():
        assert (ROOT / target).exists(), target


def test_its_links_into_pages_find_their_headings() -> None:
    for target, anchor in re.findall(r"\]\(([\w/.]+\.md)#([\w-]+)\)", README.text):
        headings = re.findall(r"^#+ (.+)$", (ROOT / target).read_text("utf-8"), re.MULTILINE)
        assert anchor in {re.sub(r"[^\w -]", "", one).lower().replace(" ", "-") for one in headings}


def test_its_two_commands_are_those_of_ci() -> None:
    found = re.findall(r"^pip install -e \"\.\[(\w+)\]\" && (.*)$", README.text, re.MULTILINE)
    assert found == [("demo", "steer-nb demo"), ("dev", "pytest -n 3 --dist loadfile")]


def test_it_can_be_read_in_one_go() -> None:
    assert len(README.text.splitlines()) <= 320
