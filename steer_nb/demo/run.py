"""The demo itself: from the notebook to a folder with what came out."""

from __future__ import annotations

import asyncio
import heapq
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from functools import partial
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
    from collections.abc import Callable

    from nbformat import NotebookNode

    from steer_nb.demo.report import Report

__all__ = ["DemoFailed", "demo", "missing_packages"]

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_LOOK_SECONDS = 0.05
_LAG_SECONDS = 0.4
"""How far the printed lines stay behind: what comes from the journal comes a little late."""


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
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In a container one is root as a rule. The server listens on this machine, with a token.
        command.append("--allow-root")
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

    at, current = 0, ""
    lines = _InOrder()

    def started(index: int) -> None:
        nonlocal at, current
        if index not in titles:
            return
        at, current = index, titles[index]
        title = current
        report.busy(title)
        lines.add(time.time(), lambda: report.step(title))

    def ended(index: int) -> None:
        if index in titles:
            report.done()

    teller = asyncio.create_task(_tell(directory, report, lines))
    with tempfile.TemporaryDirectory(prefix="steer-demo-") as home, _log(home) as log:
        env = kernel_environment(os.environ, package_directory(), Path(home))
        try:
            await execute(notebook, directory, env, log, started, ended)
        except CellExecutionError as error:
            what = _last_line(error, notebook.cells[at].get("outputs", []))
            msg = f"The step “{current}” failed: {what}"
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


class _InOrder:
    """Lines to print, each with its moment, given out in the order of their moments."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def add(self, at: float, show: Callable[[], None]) -> None:
        """Take a line."""
        self._count += 1
        heapq.heappush(self._waiting, (at, self._count, show))

    def show_until(self, moment: float) -> None:
        """Print what happened before `moment`."""
        while self._waiting and self._waiting[0][0] <= moment:
            heapq.heappop(self._waiting)[2]()


async def _tell(directory: Path, report: Report, lines: _InOrder) -> None:
    """Tell what the journals say, while they are written and once more at the end."""
    from steer_nb.demo.narrator import JournalTail, Narrator

    tail, narrators = JournalTail(directory / ".steer"), dict[Path, Narrator]()

    def look() -> None:
        for path, entry in tail.new():
            for sentence in narrators.setdefault(path, Narrator()).hear(entry):
                lines.add(entry.at or time.time(), partial(report.happening, sentence))

    try:
        while True:
            look()
            lines.show_until(time.time() - _LAG_SECONDS)
            await asyncio.sleep(_LOOK_SECONDS)
    finally:
        look()
        lines.show_until(math.inf)


def _last_line(error: Any, outputs: list[Any]) -> str:
    """Say what failed: the error that stands in the cell, or the one that stopped it."""
    shown = next((one for one in outputs if one.output_type == "error"), error)
    value = _ANSI.sub("", str(shown.evalue)).strip().splitlines()
    return f"{shown.ename}: {value[0]}" if value else str(shown.ename)


def _tables(directory: Path, report: Report) -> None:
    """Print the frames of the trace that the notebook saved; of its journal, if it saved none."""
    from steer_nb.trace import load_trace

    saved = sorted(directory.glob("*.jsonl")) or sorted((directory / ".steer").glob("*.jsonl"))
    if not saved:
        msg = f"The notebook left no trace in {directory}."
        raise DemoFailed(msg)
    report.tables(load_trace(saved[-1]))
