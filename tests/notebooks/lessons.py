"""The lessons: where they are, how they are played in a test, and how they are committed.

``python -m tests.notebooks.lessons`` cleans them for a commit; with ``--pictures`` it runs those
first that keep a picture, and puts it in.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import nbformat
from nbclient import NotebookClient

from tests.notebooks.taught import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["FOLDER", "LESSONS", "PICTURE", "check", "clean", "play", "play_all", "printed"]

FOLDER: Final = Path(__file__).parents[2] / "notebooks"
LESSONS: Final = sorted(FOLDER.glob("*.ipynb"))

PICTURE: Final = "picture"
"""Tag of a cell whose picture is committed: on a page that runs nothing it is the point."""

SOLUTION: Final = "solution"
"""Tag of a cell that a test makes of a solution."""

PACE: Final = float(os.environ.get("STEER_NB_LESSON_PACE", "3"))
"""How much faster than for a reader the simulators of the lessons play, and their sleeps are."""

# In the kernel, after its own start: what a kernel warns about itself is not ours.
STRICT: Final = """
import warnings
warnings.simplefilter("error")
# ipywidgets 7 makes its comms the way that ipykernel 6 calls deprecated.
warnings.filterwarnings("ignore", "The `ipykernel.comm.Comm` class", DeprecationWarning)
warnings.filterwarnings("ignore", "Deprecated in traitlets 4.1", DeprecationWarning)
"""

_SOLUTION: Final = re.compile(r"<details>.*?```python\n(.*?)```.*?</details>", re.DOTALL)
_CONNECT: Final = re.compile(r"^%steer connect .*--simulate.*$", re.MULTILINE)
_SPEED: Final = re.compile(r"(?<=--speed )[\d.]+")
_SLEEP: Final = re.compile(r"(?<=time\.sleep\()[\d.]+")


def with_solutions(cells: Iterable[Any]) -> list[Any]:
    """The cells, and behind each exercise the solution that is folded away: it has to run, too."""
    made = []
    for cell in cells:
        made.append(cell)
        codes = _SOLUTION.findall(cell.source if cell.cell_type == "markdown" else "")
        made += [nbformat.v4.new_code_cell(code, metadata={"tags": [SOLUTION]}) for code in codes]
    return made


def faster(source: str, pace: float) -> str:
    """A cell's code with its simulator and its sleeps so much faster."""

    def paced(line: re.Match[str]) -> str:
        return line[0] if "--speed" in line[0] else f"{line[0]} --speed 1"

    source = _CONNECT.sub(paced, source)
    source = _SPEED.sub(lambda found: f"{float(found[0]) * pace:g}", source)
    return _SLEEP.sub(lambda found: f"{float(found[0]) / pace:g}", source)


async def play(path: Path, folder: Path, *, pace: float = PACE) -> Any:
    """Run a lesson and its solutions in a kernel of its own, and give what it became.

    Parameters
    ----------
    path : Path
        The lesson.
    folder : Path
        Where the kernel runs; it gets the recordings, and all files that the lesson makes.
    pace : float
        See `PACE`.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.cells = with_solutions(notebook.cells)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.source = faster(cell.source, pace)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STRICT))
    (folder / "recordings").symlink_to(FOLDER / "recordings", target_is_directory=True)
    client = NotebookClient(
        notebook,
        timeout=60,
        kernel_name="python3",
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(folder)}},
    )
    with (folder / "kernel.log").open("wb") as log:
        await client.async_execute(env=dict(os.environ), stderr=log)
    return notebook


async def play_all(paths: Sequence[Path], folder: Path, *, at_once: int = 2) -> dict[Path, Any]:
    """Play lessons, some at once since they wait more than they work; give each, or why not."""
    places = asyncio.Semaphore(at_once)

    async def one(path: Path) -> Any:
        async with places:
            (folder / path.stem).mkdir()
            return await play(path, folder / path.stem)

    played = await asyncio.gather(*map(one, paths), return_exceptions=True)
    return dict(zip(paths, played, strict=True))


def check(path: Path, notebook: Any) -> None:
    """Hold a lesson that was played to what it says."""
    if isinstance(notebook, BaseException):
        raise notebook
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    told = {cell.id: printed(cell) for cell in cells}
    solutions = [printed(cell) for cell in cells if SOLUTION in cell.metadata.get("tags", ())]
    CHECKS[path.stem](told, "\n".join(solutions))


def printed(cell: Any) -> str:
    """What a cell printed, and what stands for what it displayed where only text can."""
    said = ""
    for output in cell.outputs:
        if output.output_type == "stream":
            said += output.text  # a kernel may send what was printed in several pieces
        elif text := output.get("data", {}).get("text/plain"):
            said = f"{said.rstrip()}\n{text}\n".lstrip("\n")
    return said


def clean(notebook: Any) -> None:
    """Take out what running a notebook leaves in it, but for the pictures that are the point."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for left in ("execution", "collapsed", "scrolled", "ExecuteTime", "jupyter"):
            cell.metadata.pop(left, None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [
                made
                for output in (cell.outputs if PICTURE in cell.metadata.get("tags", ()) else ())
                if (made := _picture(output)) is not None
            ]


def _picture(output: Any) -> Any:
    data = output.get("data", {})
    if "image/png" not in data:
        return None
    kept = {kind: data[kind] for kind in ("image/png", "text/plain") if kind in data}
    return nbformat.v4.new_output("display_data", kept)


async def draw(path: Path, notebook: Any, folder: Path) -> None:
    """Run a lesson at a reader's pace and take its pictures over."""
    made = {cell.id: cell for cell in (await play(path, folder, pace=1)).cells}
    for cell in notebook.cells:
        if PICTURE in cell.metadata.get("tags", ()):
            cell.outputs = made[cell.id].outputs


def main() -> None:
    for path in LESSONS:
        notebook = nbformat.read(path, as_version=4)
        tags = {tag for cell in notebook.cells for tag in cell.metadata.get("tags", ())}
        if PICTURE in tags and "--pictures" in sys.argv:
            with tempfile.TemporaryDirectory() as folder:
                asyncio.run(draw(path, notebook, Path(folder)))
        clean(notebook)
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()
