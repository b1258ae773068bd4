"""What Binder is told, as far as it can be read; `.ci/binder` does it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest

from tests.notebooks.lessons import FOLDER, LESSONS

BINDER = FOLDER.parent / "binder"


def test_the_index_leads_to_every_lesson() -> None:
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .+\]\(([^)]+)\) \|.*\| (\d+) \|$", text, re.MULTILINE)
    assert [name for name, _ in rows] == [path.name for path in LESSONS]
    assert all(int(minutes) < 10 for _, minutes in rows)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (FOLDER / target).is_file(), target


def test_each_lesson_says_of_its_length_what_the_index_says() -> None:
    text = (FOLDER / "index.md").read_text(encoding="utf-8")
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    for name, minutes in re.findall(r"\]\((\S+ipynb)\) \|.*\| (\d+) \|$", text, re.MULTILINE):
        [said] = re.findall(r"(\w+) minutes", (FOLDER / name).read_text(encoding="utf-8"))
        assert said == words[int(minutes)], name


def test_jupyterlab_opens_on_the_index_and_draws_it() -> None:
    config = json.loads((BINDER / "jupyter_server_config.json").read_text())
    for app in ("ServerApp", "LabApp", "JupyterNotebookApp"):
        place = config[app]["default_url"].removeprefix("/lab/tree/")
        assert (FOLDER.parent / place).is_file()
    overrides = json.loads((BINDER / "overrides.json").read_text())
    viewers = overrides["@jupyterlab/docmanager-extension:plugin"]["defaultViewers"]
    assert viewers == {"markdown": "Markdown Preview"}


def test_postbuild_can_be_run_and_copies_what_is_there() -> None:
    script = BINDER / "postBuild"
    assert os.access(script, os.X_OK)
    copied = re.findall(r"^cp (binder/\S+)", script.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(copied) == 2
    assert all((FOLDER.parent / name).is_file() for name in copied)


@pytest.mark.parametrize(
    "module", re.findall(r"python -m (tests\S+)", (FOLDER.parent / ".ci/binder").read_text())
)
def test_what_binder_runs_asks_for_nothing_that_only_developers_have(module: str) -> None:
    only_theirs = ("pytest", "playwright", "hypothesis", "openai", "letta_client")
    program = f"""
import importlib, sys
sys.modules.update(dict.fromkeys({only_theirs}))  # whoever imports one of them is refused
importlib.import_module({module!r})
"""
    subprocess.run([sys.executable, "-c", program], cwd=FOLDER.parent, check=True)
