"""The worked examples of CONTRIBUTING.md, done as they stand in a copy of the tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.pages import ROOT, Page
from tests.test_architecture import ROOMS, TOP

if TYPE_CHECKING:
    from pathlib import Path

CONTRIBUTING = Page(ROOT / "CONTRIBUTING.md")
EXAMPLES = re.findall(r"^## Example: .+$", CONTRIBUTING.text, re.MULTILINE)
SCREEN = 75
"""Lines of one example at most."""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its tests, with every example applied."""
    copy = tmp_path_factory.mktemp("copy")
    for name in ("steer_nb", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for title in EXAMPLES:
        example = CONTRIBUTING.section(title)
        for change in example.blocks("diff"):
            subprocess.run(
                ["git", "apply", "-C1", "-"],
                cwd=copy,
                input=change,
                text=True,
                check=True,
                env={**os.environ, "GIT_CEILING_DIRECTORIES": str(copy.parent)},
            )
        for code in example.blocks("python"):
            place, _, text = code.partition("\n")
            (copy / place.removeprefix("# ")).write_text(text, encoding="utf-8")
    return copy


def test_there_are_examples_of_at_most_a_screen() -> None:
    assert len(EXAMPLES) == 4
    for title in EXAMPLES:
        assert len(CONTRIBUTING.section(title).text.splitlines()) <= SCREEN, title


def test_each_passes_its_check(copy: Path) -> None:
    """All in one process: what it costs is mostly to start."""
    asked: list[str] = []
    for title in EXAMPLES:
        (line,) = CONTRIBUTING.section(title).blocks("sh")
        word, *words = shlex.split(line.replace("\\\n", " "))
        assert word == "pytest"
        asked += words
    run(copy, asked)


def test_what_they_add_is_as_tidy_as_the_rest(copy: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", "."],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def run(copy: Path, words: list[str]) -> None:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *words],
        cwd=copy,
        env={k: v for k, v in environment.items() if not k.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_its_rooms_are_those_there_are_from_the_ground_up() -> None:
    section = CONTRIBUTING.section("## The rooms and their rules").text
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    named = [name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert [name for name in named if name in ROOMS] == ROOMS
    assert set(named) - set(ROOMS) <= TOP


def test_its_links_exist() -> None:
    for target in CONTRIBUTING.targets():
        assert (ROOT / target).exists(), target


def test_its_scripts_exist() -> None:
    named = re.findall(r"`python (-m )?([\w./]+)", CONTRIBUTING.text)
    assert len(named) > 8
    for as_module, name in named:
        if name == "build":
            continue
        place = ROOT / (name.replace(".", "/") if as_module else name)
        assert place.is_file() or place.with_suffix(".py").exists() or place.is_dir(), name
