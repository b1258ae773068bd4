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
from urllib.request import Request, urlopen

import nbformat

from tests.support.servers import end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.browser import Browser

__all__ = [
    "IDLE",
    "Card",
    "Lab",
    "Shots",
    "change_theme",
    "reload",
    "restart",
    "run_cell",
    "save",
    "start_cell",
]

# Read before the tests take the person's own settings away.
_SHOTS = os.environ.get("STEER_NB_SCREENSHOTS")


IDLE = (
    "globalThis.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status == 'idle'"
)


def _settings(folder: Path, plugin: str, name: str, values: dict[str, Any]) -> None:
    place = folder / "@jupyterlab" / plugin
    place.mkdir(parents=True, exist_ok=True)
    (place / f"{name}.jupyterlab-settings").write_text(json.dumps(values), encoding="utf-8")


class Lab:
    """A JupyterLab that begins when a notebook is asked for, and anew when it has died.

    Each notebook has its own folder, kernel, workspace and settings, and a page in a context of
    its own. The server, its home and its environment are the same for all: what needs others has a
    server of its own.

    Parameters
    ----------
    home : Path
        A folder of its own, made where it is not there.
    browser : Browser
        Shows the pages.
    """

    def __init__(self, home: Path, browser: Browser) -> None:
        self.address = ""
        self._home = home
        self._environment = {
            **os.environ,
            "HOME": str(home),
            "JUPYTER_RUNTIME_DIR": str(home / ".runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(home / ".settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / ".workspaces"),
        }
        self._browser = browser
        self._server: subprocess.Popen[bytes] | None = None
        self._notebooks = 0

    def __enter__(self) -> Lab:
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            end(self._server)

    @contextmanager
    def notebook(
        self, folder: Path, cells: list[str], *, dark: bool = False, subshells: bool = True
    ) -> Iterator[Any]:
        """Show a page with a new notebook of these cells in `folder`, its kernel ready.

        Without subshells a busy kernel hears nothing of its widgets, as before ipykernel 7.
        """
        self._notebooks += 1
        name = f"{self._notebooks}"
        self._set(dark=dark, subshells=subshells)
        self._serve()
        (self._home / "served" / name).symlink_to(folder, target_is_directory=True)
        spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell) for cell in cells], metadata={"kernelspec": spec}
        )
        nbformat.write(notebook, folder / "lesson.ipynb")
        try:
            with self._browser.page(viewport={"width": 1200, "height": 1400}) as page:
                page.goto(f"{self.address}/lab/workspaces/{name}/tree/{name}/lesson.ipynb")
                page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=40_000)
                page.wait_for_function(IDLE, timeout=40_000)
                try:
                    yield page
                finally:
                    for number, one in enumerate(page.context.pages):  # and what a test opened
                        one.screenshot(path=folder / f"last{number or ''}.png")
        finally:
            self._shut_down_kernels()

    def _set(self, *, dark: bool, subshells: bool) -> None:
        """Forget the settings that were changed, and make these."""
        settings = self._home / ".settings"
        shutil.rmtree(settings, ignore_errors=True)
        _settings(settings, "notebook-extension", "tracker", {"windowingMode": "none"})
        _settings(settings, "apputils-extension", "notification", {"fetchNews": "false"})
        theme = "JupyterLab Dark" if dark else "JupyterLab Light"
        _settings(settings, "apputils-extension", "themes", {"theme": theme})
        if not subshells:
            comms = {"commsOverSubshells": "disabled"}
            _settings(settings, "apputils-extension", "kernels-settings", comms)

    def _serve(self) -> None:
        if self._server is not None and self._server.poll() is None:
            return
        served = self._home / "served"
        served.mkdir(parents=True, exist_ok=True)
        command = [
            *(sys.executable, "-m", "jupyter", "lab", "--no-browser", "--ip=127.0.0.1"),
            *("--port=0", f"--ServerApp.root_dir={served}", "--allow-root"),
            *("--IdentityProvider.token=", "--ServerApp.disable_check_xsrf=True"),
            "--LabApp.expose_app_in_browser=True",
        ]
        with (self._home / "lab.log").open("ab") as log:
            self._server = subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=subprocess.STDOUT, cwd=served
            )
        self.address = _address(self._home / ".runtime" / f"jpserver-{self._server.pid}.json")

    def _shut_down_kernels(self) -> None:
        if self._server is None or self._server.poll() is not None:
            return
        for kernel in self._ask("GET", "kernels"):
            self._ask("DELETE", f"kernels/{kernel['id']}")

    def _ask(self, method: str, what: str) -> Any:
        with urlopen(Request(f"{self.address}/api/{what}", method=method), timeout=20) as answer:
            return json.loads(answer.read() or b"null")


def _address(info: Path) -> str:
    """Where the server listens: it takes a free port itself, and writes it down."""
    end = time.monotonic() + 40
    while time.monotonic() < end:
        if info.exists() and (text := info.read_text(encoding="utf-8")):
            return str(json.loads(text)["url"]).rstrip("/")
        time.sleep(0.1)
    raise AssertionError("JupyterLab did not start")


def run_cell(page: Any, number: int) -> None:
    """Run the cell of that number, from 0, to its end."""
    _choose(page, number)
    page.evaluate("jupyterapp.commands.execute('notebook:run-cell')")


def start_cell(page: Any, number: int) -> None:
    """Begin to run a cell, when no other runs, and see that it runs."""
    page.wait_for_function(IDLE)
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
    page.wait_for_function(IDLE, timeout=40_000)


def restart(page: Any) -> None:
    """Restart the kernel by JupyterLab's own command, and confirm it."""
    page.evaluate("() => { jupyterapp.commands.execute('notebook:restart-kernel'); }")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Restart", exact=True).click()
    dialog.wait_for(state="detached")
    page.wait_for_function(IDLE, timeout=40_000)


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
