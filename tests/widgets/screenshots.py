"""Take the README's pictures anew, light and dark, from a real JupyterLab page.

    python -m tests.widgets.screenshots

Not a test: run it when the look has changed, and look at what it wrote.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.support.browser import Browser
from tests.widgets.lab import Lab, run_cell
from tests.widgets.person import named

IMAGES = Path(__file__).parents[2] / "notebooks" / "images"

CELLS = [
    "%load_ext steer_nb\n%steer connect --simulate planner\n%steer open planner",
    "%%steer planner\nPlan a two-day trip to Lisbon.",
    "%steer send planner Keep it under 300 euros.",
    (
        "def get_weather(city: str) -> str:\n    return f'18 °C and sunny in {city}'\n\n"
        "%steer open trip --tools get_weather"
    ),
    "%%steer trip\nWhat will the weather be in Lisbon?",
    "%steer pending",
    (
        "steers = %steer frame steers\n"
        'steers[["input_text", "state", "ack_latency_s", "commit_latency_s", "deltas_after_send"]]'
    ),
]

ASKING = """
from steer_nb.simulator import AskApproval, CallFunction, CallShell, scenario

@scenario("asking", "Asks for three things at once.")
def asking(turn):
    yield CallFunction("get_weather", {"city": "Lisbon", "days": 2})
    yield CallShell("ls trips/", timeout_ms=10_000)
    yield AskApproval("calendar", "delete_event", {"event_id": "evt_55"})
"""

FORM = [
    "%load_ext steer_nb\n%steer connect --simulate asking.py --speed 0 --no-journal",
    (
        "def get_weather(city: str, days: int) -> str:\n"
        "    return f'18 °C and sunny in {city} for {days} days'"
    ),
    "%steer open trip --tools get_weather",
    "%%steer trip --wait\nGet the trip ready.",
    "%steer pending",
]

TIDY = """
.jp-Toolbar, .jp-Cell-inputHeader, .lm-TabBar, .jp-SideBar, #jp-top-panel, #jp-bottom-panel,
#jp-main-statusbar, .jp-Notebook-footer { display: none !important; }
"""


def take(lab: Lab, *, dark: bool) -> None:
    with tempfile.TemporaryDirectory() as name, lab.notebook(Path(name), CELLS, dark=dark) as page:
        page.set_viewport_size({"width": 1000, "height": 2070})
        page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
        run_cell(page, 0)
        page.locator(".jp-OutputArea").get_by_text("○ idle").first.wait_for()
        run_cell(page, 1)
        page.get_by_text("Here is a plan for Lisbon").first.wait_for(timeout=20_000)
        run_cell(page, 2)
        page.locator(".jp-OutputArea").get_by_text("committed").first.wait_for(timeout=20_000)
        page.locator(".jp-OutputArea").get_by_text("○ idle").first.wait_for(timeout=20_000)
        run_cell(page, 3)
        run_cell(page, 4)
        page.locator(".jp-OutputArea").get_by_text("waits for you").first.wait_for()
        run_cell(page, 5)
        page.get_by_role("button", name="Run get_weather").first.click(timeout=20_000)
        page.get_by_text("ran in").first.wait_for(timeout=20_000)
        run_cell(page, 6)
        page.get_by_text("deltas_after_send").last.wait_for(timeout=20_000)
        _keep(page, page.locator(".jp-Notebook").first, "steered-lane", dark=dark)


def take_form(lab: Lab, *, dark: bool) -> None:
    """One form for all that a response asks for, half filled in."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "asking.py").write_text(ASKING, encoding="utf-8")
        with lab.notebook(folder, FORM, dark=dark) as page:
            page.set_viewport_size({"width": 1000, "height": 2400})
            page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
            for number in range(len(FORM)):
                run_cell(page, number)
            output = page.locator(".jp-Notebook .jp-Cell").last.locator(".jp-OutputArea-child")
            output.get_by_role("button", name="Run get_weather").click(timeout=20_000)
            output.get_by_text("ran in").wait_for(timeout=20_000)
            named(output, "textbox", "stdout of command 1").fill("lisbon.md\nporto.md")
            output.get_by_text("2 of 3 answered").wait_for()
            _keep(page, output.locator(".jp-OutputArea-output").last, "form", dark=dark)


def _keep(page: Any, what: Any, name: str, *, dark: bool) -> None:
    page.add_style_tag(content=TIDY)
    page.wait_for_timeout(700)
    IMAGES.mkdir(exist_ok=True)
    target = IMAGES / f"{name}-{'dark' if dark else 'light'}.png"
    what.screenshot(path=target)
    print(target)


if __name__ == "__main__":
    home = tempfile.TemporaryDirectory()
    with home, Browser() as browser, Lab(Path(home.name), browser) as own:
        for is_dark in (False, True):
            take(own, dark=is_dark)
            take_form(own, dark=is_dark)
