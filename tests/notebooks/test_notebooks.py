"""Each notebook of the repository is a test: it runs from top to bottom, warnings are errors."""

from __future__ import annotations

import os
import re
from pathlib import Path

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
