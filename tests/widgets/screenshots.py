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

TRIP = """
from steer_nb.simulator import CallFunction, Say, scenario

@scenario("trip", "Writes a plan, and asks for the weather where it is steered.")
def trip(turn):
    if turn.steers:
        yield Say("Within 300 euros: a guesthouse in Graça, the tram, a picnic from the market. ")
        yield Say("Before I choose the days, I need the weather.")
        yield CallFunction("get_weather", {"city": "Lisbon", "days": 2})
        return
    yield Say("Day 1. Start in Alfama before nine, while its lanes are still empty. Take tram 28 "
              "up the hill, and walk down from the viewpoint. ")
    yield Say("Lunch at the market hall, then the tile museum, which closes at six. Keep an hour "
              "for the river bank.")
    yield Say("Day 2. A taxi to the palace in the hills, and dinner in the old town.")
"""

CELLS = [
    (
        "%load_ext steer_nb\n\ndef get_weather(city: str, days: int) -> str:\n"
        "    return f'18 °C and sunny in {city} for {days} days'"
    ),
    ("%steer connect --simulate trip.py --no-journal\n%steer open planner --tools get_weather"),
    "%%steer planner\nPlan a two-day trip to Lisbon.",
    "%steer send planner Keep it under 300 euros.",
    "%steer pending",
    ('steers = %steer frame steers\nsteers[["input_text", "state", "commit_latency_s"]]'),
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


# The notebook in two columns, so that the README shows all of it at once.
COLUMNS = """
.jp-WindowedPanel-viewport { columns: 2; column-gap: 4px; }
.jp-Cell { break-inside: avoid; }
.jp-Cell:nth-child(3) { break-before: column; }
.jp-InputPrompt, .jp-OutputPrompt, .jp-Collapser { display: none !important; }
"""


def take(lab: Lab, *, dark: bool) -> None:
    """One lane that was steered, the form for what it then asks, and its steers as a frame."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "trip.py").write_text(TRIP, encoding="utf-8")
        with lab.notebook(folder, CELLS, dark=dark) as page:
            page.set_viewport_size({"width": 1180, "height": 950})
            page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
            page.add_style_tag(content=COLUMNS)
            run_cell(page, 0)
            run_cell(page, 1)
            page.locator(".jp-OutputArea").get_by_text("○ idle").first.wait_for()
            run_cell(page, 2)
            page.get_by_text("Start in Alfama").first.wait_for(timeout=20_000)
            run_cell(page, 3)
            page.locator(".jp-OutputArea").get_by_text("waits for you").first.wait_for()
            run_cell(page, 4)
            page.get_by_role("button", name="Run get_weather").first.click(timeout=20_000)
            page.get_by_text("ran in").first.wait_for(timeout=20_000)
            run_cell(page, 5)
            page.get_by_text("commit_latency_s").last.wait_for(timeout=20_000)
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
