"""A JupyterLab of our own and a page in it, for tests that need a browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "Card",
    "Shots",
    "change_theme",
    "chromium",
    "notebook_page",
    "reload",
    "restart",
    "run_cell",
    "save",
    "serve",
    "start_cell",
]

# Read before the tests take the person's own settings away.
_SHOTS = os.environ.get("STEER_NB_SCREENSHOTS")


_IDLE = (
    "globalThis.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status == 'idle'"
)


def chromium() -> str | None:
    """The system's own browser."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((found for name in names if (found := shutil.which(name))), None)


def _settings(folder: Path, plugin: str, name: str, values: dict[str, Any]) -> None:
    place = folder / "@jupyterlab" / plugin
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.jupyterlab-settings").write_text(json.dumps(values), encoding="utf-8")


@contextmanager
def serve(folder: Path, *, dark: bool = False, subshells: bool = True) -> Iterator[str]:
    """Serve `folder` with JupyterLab; its address.

    Without subshells a busy kernel hears nothing of its widgets, as before ipykernel 7.
    """
    settings = folder / ".settings"
    _settings(settings, "notebook-extension", "tracker", {"windowingMode": "none"})
    _settings(settings, "apputils-extension", "notification", {"fetchNews": "false"})
    theme = "JupyterLab Dark" if dark else "JupyterLab Light"
    _settings(settings, "apputils-extension", "themes", {"theme": theme})
    if not subshells:
        comms = {"commsOverSubshells": "disabled"}
        _settings(settings, "apputils-extension", "kernels-settings", comms)
    runtime = folder / ".runtime"
    environment = {
        **os.environ,
        "HOME": str(folder),
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "JUPYTERLAB_SETTINGS_DIR": str(settings),
        "JUPYTERLAB_WORKSPACES_DIR": str(folder / ".workspaces"),
    }
    command = [
        *(sys.executable, "-m", "jupyter", "lab", "--no-browser", "--ip=127.0.0.1"),
        *("--port=0", f"--ServerApp.root_dir={folder}", "--allow-root"),
        *("--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True"),
    ]
    with (folder / "lab.log").open("wb") as log:
        server = subprocess.Popen(
            command, env=environment, stdout=log, stderr=subprocess.STDOUT, cwd=folder
        )
        try:
            yield _address(runtime / f"jpserver-{server.pid}.json")
        finally:
            server.terminate()
            server.wait(15)


def _address(info: Path) -> str:
    """Where the server listens: it takes a free port itself, and writes it down."""
    end = time.monotonic() + 40
    while time.monotonic() < end:
        if info.exists() and (text := info.read_text(encoding="utf-8")):
            return str(json.loads(text)["url"]).rstrip("/")
        time.sleep(0.1)
    raise AssertionError("JupyterLab did not start")


@contextmanager
def notebook_page(address: str, folder: Path, cells: list[str]) -> Iterator[Any]:
    """A page with a new notebook of these cells, its kernel ready."""
    from playwright.sync_api import sync_playwright

    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells], metadata={"kernelspec": spec}
    )
    nbformat.write(notebook, folder / "lesson.ipynb")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 1400})
        page.goto(f"{address}/lab/tree/lesson.ipynb")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=40_000)
        page.wait_for_function(_IDLE, timeout=40_000)
        try:
            yield page
        finally:
            page.screenshot(path=folder / "last.png")
            browser.close()


def run_cell(page: Any, number: int) -> None:
    """Run the cell of that number, from 0, to its end."""
    _choose(page, number)
    page.evaluate("jupyterapp.commands.execute('notebook:run-cell')")


def start_cell(page: Any, number: int) -> None:
    """Begin to run a cell, when no other runs, and see that it runs."""
    page.wait_for_function(_IDLE)
    _choose(page, number)
    page.evaluate("() => { jupyterapp.commands.execute('notebook:run-cell'); }")
    page.locator(".jp-Notebook .jp-Cell").nth(number).get_by_text("[*]:").wait_for()


def _choose(page: Any, number: int) -> None:
    page.evaluate(
        "number => { const notebook = jupyterapp.shell.currentWidget.content;"
        " notebook.deselectAll(); notebook.activeCellIndex = number; }",
        number,
    )


def save(page: Any) -> None:
    """Save the notebook, as Ctrl+S does."""
    page.evaluate("jupyterapp.commands.execute('docmanager:save')")


def reload(page: Any) -> None:
    """Load the page anew, as F5 does; the kernel goes on."""
    page.reload()
    page.wait_for_function(_IDLE, timeout=40_000)


def restart(page: Any) -> None:
    """Restart the kernel by JupyterLab's own command, and confirm it."""
    page.evaluate("() => { jupyterapp.commands.execute('notebook:restart-kernel'); }")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Restart", exact=True).click()
    dialog.wait_for(state="detached")
    page.wait_for_function(_IDLE, timeout=40_000)


def change_theme(page: Any, *, dark: bool) -> None:
    """Change the theme under everything that is shown."""
    theme = "JupyterLab Dark" if dark else "JupyterLab Light"
    page.evaluate(
        "theme => jupyterapp.commands.execute('apputils:change-theme', {theme})",
        theme,
    )
    page.wait_for_function(
        "light => document.body.dataset.jpThemeLight == light", arg=str(not dark).lower()
    )


class Shots:
    """Pictures of a page, numbered, in a folder that git ignores.

    Parameters
    ----------
    page
        The page.
    name : str
        Names the subfolder, which is made anew.
    """

    def __init__(self, page: Any, name: str) -> None:
        root = Path(_SHOTS) if _SHOTS else Path(__file__).parents[2] / ".artifacts" / "screenshots"
        self.folder = root / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self._page = page
        self.taken = 0

    def take(self, name: str, *cells: int) -> None:
        """Take a picture of these cells, from the first to the last; of the window without any."""
        self.taken += 1
        path = self.folder / f"{self.taken:02d}-{name}.png"
        if not cells:
            self._page.screenshot(path=path, clip={"x": 0, "y": 0, "width": 1200, "height": 1000})
            return
        shown = self._page.locator(".jp-Notebook .jp-Cell")
        first, last = shown.nth(min(cells)), shown.nth(max(cells))
        first.evaluate("cell => cell.scrollIntoView({block: 'start'})")
        top, end = first.bounding_box(), last.bounding_box()
        height = end["y"] + end["height"] - top["y"]
        self._page.screenshot(path=path, clip={**top, "height": height})


class Card:
    """The card of the one lane that a cell shows: several pictures, read like one locator."""

    def __init__(self, page: Any, cell: int = 0) -> None:
        self._parts = page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".snb-part")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parts, name)

    def inner_text(self) -> str:
        return "\n".join(self._parts.all_inner_texts())
