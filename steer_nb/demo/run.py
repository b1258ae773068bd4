"""The demo itself: from the notebook to a folder with what came out."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steer_nb.demo.places import (
    NOTEBOOK,
    notebook_path,
    package_directory,
    result_directory,
)
from steer_nb.errors import SteerError

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from steer_nb.demo.report import Report

__all__ = ["DemoFailed", "demo", "missing_packages"]

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_LOOK_SECONDS = 0.05


class DemoFailed(SteerError):
    """A cell of the notebook failed; the message names it."""


def missing_packages(*, lab: bool) -> list[str]:
    """List the packages of the extra ``demo`` that are not installed."""
    needed = ["nbclient", "nbconvert", "nbformat", "rich", *(["jupyterlab"] if lab else [])]
    return [name for name in needed if find_spec(name) is None]


def demo(out: str | Path | None = None, *, lab: bool = False) -> Path:
    """Run the first lesson, or open it in JupyterLab.

    Parameters
    ----------
    out : str, Path or None
        Folder for the executed notebook, its HTML page and the trace; by default a new one under
        the current folder.
    lab : bool
        Open JupyterLab on a copy of the notebook in that folder instead.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    DemoFailed
        A cell failed, or the kernel died.
    SteerError
        There is no notebook, or no folder to write into.
    """
    source = notebook_path()
    directory = result_directory(out)
    if lab:
        return _open_lab(source, directory)
    return _execute(source, directory)


def _open_lab(source: Path, directory: Path) -> Path:
    copy = directory / source.name
    copy.write_bytes(source.read_bytes())
    command = [sys.executable, "-m", "jupyterlab", copy.name]
    code = subprocess.run(command, cwd=directory, check=False).returncode  # noqa: S603
    if code:
        msg = f"JupyterLab ended with exit code {code}; the notebook is {copy}."
        raise DemoFailed(msg)
    return directory


def _execute(source: Path, directory: Path) -> Path:
    import nbformat

    from steer_nb.demo.notebook import clean, step_titles, write_html
    from steer_nb.demo.report import Report

    notebook = nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call]
    titles = step_titles(notebook)
    report = Report(len(titles))
    report.line(f"{source.name} on the embedded simulator, results in {directory}")
    failure: DemoFailed | None = None
    with report:
        try:
            # Selector loops work with ZeroMQ on every system; Windows' default does not.
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(_perform(notebook, titles, directory, report))
        except DemoFailed as problem:
            failure = problem
    clean(notebook)
    result = directory / f"{NOTEBOOK}.ipynb"
    nbformat.write(notebook, result)  # type: ignore[no-untyped-call]
    write_html(notebook, directory / f"{NOTEBOOK}.html")
    if failure is not None:
        raise failure
    _tables(directory, report)
    report.line(f"\nThe executed notebook, its page and the trace are in {directory}")
    return directory


async def _perform(
    notebook: NotebookNode, titles: dict[int, str], directory: Path, report: Report
) -> None:
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    from steer_nb.demo.notebook import execute, kernel_environment

    current = ""

    def started(index: int) -> None:
        nonlocal current
        current = titles.get(index, "")
        report.step(current)

    teller = asyncio.create_task(_tell(directory, report))
    with tempfile.TemporaryDirectory(prefix="steer-demo-") as home, _log(home) as log:
        env = kernel_environment(os.environ, package_directory(), Path(home))
        try:
            await execute(notebook, directory, env, log, started, lambda _index: report.done())
        except CellExecutionError as error:
            msg = f"The step “{current}” failed: {_last_line(error)}"
            raise DemoFailed(msg) from error
        except CellTimeoutError as error:
            msg = f"The step “{current}” took too long."
            raise DemoFailed(msg) from error
        except DeadKernelError as error:
            log.seek(0)
            kept = directory / "kernel.log"
            kept.write_bytes(log.read())
            msg = f"The kernel died in the step “{current}”; what it said is in {kept}."
            raise DemoFailed(msg) from error
        finally:
            teller.cancel()
            await asyncio.wait([teller])


def _log(home: str) -> Any:
    return (Path(home) / "kernel.log").open("w+b")


async def _tell(directory: Path, report: Report) -> None:
    """Tell what the journals say, while they are written and once more at the end."""
    from steer_nb.demo.narrator import JournalTail, Narrator

    tail, narrators = JournalTail(directory / ".steer"), dict[Path, Narrator]()

    def look() -> None:
        for path, entry in tail.new():
            for sentence in narrators.setdefault(path, Narrator()).hear(entry):
                report.happening(sentence)

    try:
        while True:
            look()
            await asyncio.sleep(_LOOK_SECONDS)
    finally:
        look()


def _last_line(error: Any) -> str:
    value = _ANSI.sub("", str(error.evalue)).strip().splitlines()
    name = str(error.ename)
    return f"{name}: {value[0]}" if value else name


def _tables(directory: Path, report: Report) -> None:
    """Print the frames of the trace that the notebook saved; of its journal, if it saved none."""
    from steer_nb.trace import load

    saved = sorted(directory.glob("*.jsonl")) or sorted((directory / ".steer").glob("*.jsonl"))
    if not saved:
        msg = f"The notebook left no trace in {directory}."
        raise DemoFailed(msg)
    report.tables(load(saved[-1]))
