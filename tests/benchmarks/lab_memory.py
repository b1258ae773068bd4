"""Memory of a JupyterLab with two lessons open, against the 1 GiB of a small hub.

``python -m tests.benchmarks.lab_memory [PYTHON]`` starts the JupyterLab of that Python, else of
this one, opens two lessons in Chromium, runs all their cells, and prints the proportional set size
of the server, its kernels and all that they started. The browser is the reader's own and not
counted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support.browser import Browser
from tests.support.memory import mib, tree_of
from tests.support.servers import end

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LESSONS = ("04_lanes_and_forks", "05_reading_traces")
"""Both draw pictures, which is what takes most."""

LIMIT_MIB = 1024

_DONE = """() => {
    const panel = globalThis.jupyterapp?.shell?.currentWidget;
    if (panel?.sessionContext?.session?.kernel?.status != 'idle') return false;
    const cells = panel.content.widgets.filter(cell => cell.model.type == 'code');
    return cells.every(cell => cell.model.executionCount || !cell.model.sharedModel.source.trim());
}"""
_IDLE = "globalThis.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status"


def main() -> None:
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    with tempfile.TemporaryDirectory() as home:
        served = Path(home) / "served"
        shutil.copytree(NOTEBOOKS, served / "notebooks")
        environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            "HOME": home,
            "JUPYTER_RUNTIME_DIR": str(Path(home) / "runtime"),
        }
        if python == sys.executable:
            environment["PYTHONPATH"] = str(NOTEBOOKS.parent)
        command = [
            *(python, "-m", "jupyter", "lab", "--no-browser", "--ip=127.0.0.1", "--port=0"),
            *("--allow-root", "--IdentityProvider.token=", f"--ServerApp.root_dir={served}"),
            "--LabApp.expose_app_in_browser=True",
        ]
        with (Path(home) / "lab.log").open("wb") as log:
            server = subprocess.Popen(
                command, env=environment, cwd=served, stdout=log, stderr=subprocess.STDOUT
            )
        try:
            _measure(server, Path(home) / "runtime" / f"jpserver-{server.pid}.json")
        finally:
            end(server)


def _measure(server: subprocess.Popen[bytes], info: Path) -> None:
    address = _address(info)
    print(f"server alone: {mib([server.pid]):4.0f} MiB")
    with Browser() as browser, browser.page() as page:
        for number, lesson in enumerate(LESSONS, 1):
            page.goto(f"{address}/lab/workspaces/{number}/tree/notebooks/{lesson}.ipynb")
            page.wait_for_function(f"{_IDLE} == 'idle'", timeout=90_000)
            page.evaluate("() => { jupyterapp.commands.execute('notebook:run-all-cells'); }")
            page.wait_for_timeout(1000)
            page.wait_for_function(_DONE, timeout=180_000)
            taken = mib(tree_of(server.pid))
            print(f"with {number} lesson{'s' if number > 1 else ' '}: {taken:4.0f} MiB  ({lesson})")
    verdict = "below" if taken < LIMIT_MIB else "ABOVE"
    print(
        f"{len(tree_of(server.pid))} processes, {taken:.0f} MiB of PSS: {verdict} {LIMIT_MIB} MiB"
    )


def _address(info: Path) -> str:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if info.exists() and (text := info.read_text(encoding="utf-8")):
            found: dict[str, Any] = json.loads(text)
            return str(found["url"]).rstrip("/")
        time.sleep(0.1)
    msg = "JupyterLab did not start"
    raise SystemExit(msg)


if __name__ == "__main__":
    main()
