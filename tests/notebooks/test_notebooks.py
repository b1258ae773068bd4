"""Each notebook of the repository is a test: it runs from top to bottom, warnings are errors."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import steer_nb

NOTEBOOKS = sorted((Path(steer_nb.__file__).parent.parent / "notebooks").glob("*.ipynb"))

# In the kernel, after its own start: what a kernel warns about itself is not ours.
STRICT = """
import warnings
warnings.simplefilter("error")
# ipywidgets 7 makes its comms the way that ipykernel 6 calls deprecated.
warnings.filterwarnings("ignore", "The `ipykernel.comm.Comm` class", DeprecationWarning)
warnings.filterwarnings("ignore", "Deprecated in traitlets 4.1", DeprecationWarning)
"""


SOLUTION = re.compile(r"<details>.*?```python\n(.*?)```.*?</details>", re.DOTALL)


def with_solutions(cells: list[Any]) -> list[Any]:
    """The cells, and behind each exercise the solution that is folded away: it has to run, too."""
    made = []
    for cell in cells:
        made.append(cell)
        made += [
            nbformat.v4.new_code_cell(code, metadata={"tags": ["solution"]})
            for code in SOLUTION.findall(cell.source if cell.cell_type == "markdown" else "")
        ]
    return made


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
class TestNotebook:
    def test_it_is_committed_clean(self, path: Path) -> None:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert "widgets" not in notebook.metadata
        assert notebook.metadata.kernelspec.name == "python3"
        assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                assert cell.outputs == []
                assert cell.execution_count is None

    def test_it_needs_no_key(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert "--simulate" in text
        assert not re.search(r"sk-\w{8}", text)

    @pytest.mark.kernel
    @pytest.mark.slow
    def test_it_runs(self, path: Path, tmp_path: Path) -> None:
        notebook = nbformat.read(path, as_version=4)
        notebook.cells = with_solutions(notebook.cells)
        notebook.cells.insert(0, nbformat.v4.new_code_cell(STRICT))
        client = NotebookClient(
            notebook,
            timeout=60,
            kernel_name="python3",
            resources={"metadata": {"path": str(tmp_path)}},
        )
        with (tmp_path / "kernel.log").open("wb") as log:
            client.execute(env=dict(os.environ), stderr=log)
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert not [output for output in outputs if output.output_type == "error"]
        assert not [output for output in outputs if output.get("name") == "stderr"]
        if path.stem == "letta_approvals":
            check_what_is_taught(notebook)


def check_what_is_taught(notebook: Any) -> None:
    """What the text of the lesson on approvals says of an agent is what its cells print."""

    def printed(cell: Any) -> str:
        return "".join(output.text for output in cell.outputs if output.output_type == "stream")

    told = {cell.id: printed(cell) for cell in notebook.cells if cell.cell_type == "code"}
    assert "waiting input" in told["ask"]
    assert "Queued here for cleaner" in told["queue"]
    sent = json.loads(re.search(r"^\[.*?^\]", told["answer"], re.DOTALL | re.MULTILINE).group())
    assert [one["approve"] for one in sent[0]["approvals"]] == [True, False]
    assert sent[1]["content"] == "Then tell me what you did."
    assert "deleted /srv/old.log" in told["told"]
    assert "User reason: Ana still reads it" in told["told"]
    assert "Ana" in told["tool-run"]
    [solution] = [one for one in notebook.cells if one.metadata.get("tags") == ["solution"]]
    waits, _, afterwards = printed(solution).partition("Afterwards:")
    assert waits.count("<NA>") == 3
    assert "/srv/report.md" in afterwards
    assert afterwards.count("denied") == 2
