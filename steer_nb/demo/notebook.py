"""Finding, executing and writing the notebook."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError
from traitlets import Type

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from pathlib import Path

    from nbformat import NotebookNode

__all__ = ["clean", "execute", "kernel_environment", "step_titles", "write_html"]

_SECRET = re.compile(r"(^OPENAI_)|(API_KEY|TOKEN|SECRET|PASSWORD)$")
_CODE = re.compile(r"^\s*[^\s#]", re.MULTILINE)
_WIDGET = re.compile(r"application/vnd\.jupyter\.widget-")


class _ThisPython(KernelSpecManager):  # type: ignore[misc, unused-ignore]
    """Knows one kernel: the Python that runs this, whatever is registered under its name."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002
        return KernelSpec(resource_dir="", **get_kernel_dict())


class _Manager(AsyncKernelManager):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(kernel_spec_manager=_ThisPython(), **kwargs)


class _Client(NotebookClient):
    """Leaves Ctrl-C to asyncio, which ends things in order."""

    kernel_manager_class = Type(default_value=_Manager, klass=_Manager)

    @asynccontextmanager
    async def async_setup_kernel(self, **kwargs: Any) -> AsyncGenerator[None, None]:
        self.create_kernel_manager()
        try:
            await self.async_start_new_kernel(**kwargs)
            await self.async_start_new_kernel_client()
            yield
        finally:
            if self.km is not None:
                await self._async_cleanup_kernel()

    async def _async_check_alive(self) -> None:
        # Once a second it is asked whether the kernel lives, also after Ctrl-C put it away.
        if self.kc is None:
            msg = "The kernel was put away."
            raise DeadKernelError(msg)
        await super()._async_check_alive()


def step_titles(notebook: NotebookNode) -> dict[int, str]:
    """Give each cell that does something a title: its first comment, or the heading above it.

    Parameters
    ----------
    notebook : NotebookNode
        Of format 4.

    Returns
    -------
    dict
        Title by cell index; without text, and the empty cells of exercises.
    """
    titles: dict[int, str] = {}
    heading = ""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            found = re.findall(r"^#+\s*(.+?)\s*$", cell.source, re.MULTILINE)
            heading = found[-1] if found else heading
        elif cell.cell_type == "code" and _CODE.search(cell.source):
            first = cell.source.strip().splitlines()[0]
            own = first.lstrip("# ") if first.startswith("#") else ""
            titles[index] = own or heading or first
            heading = ""
    return titles


def kernel_environment(environ: Mapping[str, str], package: Path, home: Path) -> dict[str, str]:
    """Make the kernel's environment: no keys, no profile of the person's, this very package.

    Parameters
    ----------
    environ : mapping
        The environment to start from.
    package : Path
        The folder of the package.
    home : Path
        An empty folder for IPython's files.
    """
    env = {name: value for name, value in environ.items() if not _SECRET.search(name.upper())}
    env["IPYTHONDIR"] = str(home)
    env["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    if (package.parent / "notebooks").is_dir():  # a checkout: it may not be installed at all
        known = env.get("PYTHONPATH")
        env["PYTHONPATH"] = os.pathsep.join([str(package.parent), *([known] if known else [])])
    return env


async def execute(
    notebook: NotebookNode,
    directory: Path,
    env: Mapping[str, str],
    log: Any,
    on_start: Callable[[int], None],
    on_end: Callable[[int], None],
) -> None:
    """Execute all cells in a kernel of this Python; outputs land in `notebook`.

    Parameters
    ----------
    notebook : NotebookNode
        What to execute.
    directory : Path
        The kernel's working directory.
    env : mapping
        The kernel's environment.
    log : file
        Where the kernel's own stderr goes.
    on_start, on_end : callable
        Told the index of each cell.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        A cell failed; the outputs until then are in `notebook`.
    """

    def started(cell_index: int, **_: Any) -> None:
        on_start(cell_index)

    def executed(cell_index: int, **_: Any) -> None:
        on_end(cell_index)

    client = _Client(
        notebook,
        timeout=120,
        kernel_name="python3",
        resources={"metadata": {"path": str(directory)}},
        store_widget_state=False,
        on_cell_execute=started,
        on_cell_executed=executed,
    )
    try:
        await client.async_execute(env=dict(env), stderr=log)
    except DeadKernelError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():  # nbclient takes Ctrl-C for a death
            raise asyncio.CancelledError from None
        raise


def clean(notebook: NotebookNode) -> None:
    """Take out what is of no use without the kernel: widgets and what is empty without them."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if _shows_something(output)]


def _shows_something(output: NotebookNode) -> bool:
    data = output.get("data")
    if data is None:
        return True
    for kind in [kind for kind in data if _WIDGET.match(kind)]:
        del data[kind]
    return any(data.values())


def write_html(notebook: NotebookNode, path: Path) -> None:
    """Write the notebook as one page of HTML."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter()  # type: ignore[no-untyped-call]
    body, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": path.stem}})
    path.write_text(body, encoding="utf-8")
