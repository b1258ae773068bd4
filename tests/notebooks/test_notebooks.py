"""Each notebook of the repository is a test: it runs from top to bottom, warnings are errors."""

from __future__ import annotations

import asyncio
import copy
import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from tests.notebooks.lessons import FOLDER, LESSONS, PICTURE, check, clean, play_all
from tests.notebooks.taught import CHECKS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

WORDS_A_MINUTE = 180
SECONDS_A_CELL = 8
"""So long a reader looks at a cell and what came of it, beside reading the text."""


def source_of(notebook: Any, kind: str) -> str:
    return "\n".join(cell.source for cell in notebook.cells if cell.cell_type == kind)


@pytest.fixture(scope="module")
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[Path, Any]:
    """The lessons that are to be run, or why they could not; two at a time, since they wait."""
    chosen = [
        item.callspec.params["path"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.originalname == "test_it_runs"
    ]

    folder = tmp_path_factory.mktemp("lessons")
    with ThreadPoolExecutor(1) as pool:  # in this thread a browser's event loop may run
        return pool.submit(asyncio.run, play_all(chosen, folder)).result()


def test_the_six_lessons_are_there() -> None:
    names = [path.stem for path in LESSONS]
    assert [name[:2] for name in names[:6]] == ["01", "02", "03", "04", "05", "06"]
    assert names[6:] == ["letta_approvals"]
    assert set(CHECKS) == set(names)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
class TestNotebook:
    def test_it_is_committed_clean(self, path: Path) -> None:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        assert notebook.metadata.kernelspec.name == "python3"
        assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
        cleaned = copy.deepcopy(notebook)
        clean(cleaned)
        assert notebook == cleaned, "clean it: python -m tests.notebooks.lessons"
        for cell in notebook.cells:
            tags = cell.metadata.get("tags", [])
            assert set(tags) <= {PICTURE}
            if PICTURE in tags:
                [picture] = cell.outputs
                assert len(picture.data["image/png"]) < 200_000

    def test_it_needs_no_key(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert "--simulate" in text or "%steer load recordings/" in text
        assert not re.search(r"sk-\w{8}", text)

    def test_it_is_a_lesson(self, path: Path) -> None:
        notebook = nbformat.read(path, as_version=4)
        text = source_of(notebook, "markdown")
        first, *_, last = notebook.cells
        assert first.source.startswith("# ")
        assert last.source.startswith("## Where to go from here")
        assert text.count("**Guess first") + text.count("Guess first.") >= 1
        assert text.count("## Your turn\n") == 1
        assert "\n<summary><b>One solution</b></summary>\n" in text
        ids = [cell.id for cell in notebook.cells]
        assert ids.index("exercise-about") < ids.index("exercise-yours") < ids.index("solution")
        for cell in notebook.cells:
            assert cell.cell_type == "code" or len(cell.source.split()) < 190, cell.id

    def test_it_is_read_in_ten_minutes(self, path: Path) -> None:
        notebook = nbformat.read(path, as_version=4)
        words = len(source_of(notebook, "markdown").split())
        cells = sum(cell.cell_type == "code" for cell in notebook.cells)
        assert words / WORDS_A_MINUTE + cells * SECONDS_A_CELL / 60 < 10

    def test_its_links_lead_somewhere(self, path: Path) -> None:
        text = source_of(nbformat.read(path, as_version=4), "markdown")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert target.startswith("https://") or (FOLDER / target).is_file(), target

    @pytest.mark.kernel
    @pytest.mark.slow
    def test_it_runs(self, path: Path, played: Mapping[Path, Any]) -> None:
        check(path, played[path])
