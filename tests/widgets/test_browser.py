"""A person in a real JupyterLab: watches a lane, steers, answers in the form, sees the answer."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

from tests.widgets.lab import chromium, notebook_page, run_cell, serve

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NEEDS = [name for name in ("playwright", "jupyterlab") if importlib.util.find_spec(name) is None]

HOSTILE = "<img src=x onerror=window.pwned=1> costs $5 and $6 <script>window.pwned=1</script>"

CELLS = [
    """
import steer_nb
from steer_nb.simulator import Simulator
from steer_nb.widgets import BoardView, LaneView, pending_forms
def get_weather(city: str) -> str:
    '''Weather forecast.'''
    return f"{city}: 18 C"
# Slowly: on a busy machine a person must still be quick enough to steer.
session = steer_nb.connect(simulate=Simulator("planner", speed=0.4), journal=False, quiet=True)
lane = session.lane("planner")
LaneView(session, lane)
""",
    """
other = steer_nb.connect(simulate=Simulator("weather", speed=0), journal=False, quiet=True,
                         name="other")
asker = other.lane("asker", tools=[get_weather])
asker.create("What is the weather in Lisbon?"); asker.wait(10)
""",
    "pending_forms(other)",
    "LaneView(other, asker, interactive=False)",
    "BoardView(session)",
]


@pytest.mark.skipif(bool(NEEDS), reason=f"needs {', '.join(NEEDS)}")
@pytest.mark.skipif(chromium() is None, reason="needs a Chromium on the PATH")
def test_a_person_watches_steers_and_answers(tmp_path: Path) -> None:
    with serve(tmp_path) as address, notebook_page(address, tmp_path, CELLS) as page:
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        run_cell(page, 0)
        _watch_and_steer(page)
        for number in (1, 2, 3, 4):
            run_cell(page, number)
        _answer(page)
        assert page.evaluate("window.pwned") is None
        assert errors == []


def _watch_and_steer(page: Any) -> None:
    card = page.locator(".snb-card").first
    card.get_by_text("Nothing has been sent on this lane yet.").wait_for()
    # By keyboard alone: type, Enter.
    box = page.get_by_placeholder("Say something to planner …")
    box.fill(HOSTILE)
    box.press("Enter")
    card.get_by_text("writing").wait_for(timeout=30_000)
    assert card.get_by_role("progressbar").count() == 1
    first = card.inner_text()
    page.wait_for_timeout(700)
    assert len(card.inner_text()) > len(first), "it streams"
    # By mouse, and the button says which of the two it will do.
    page.get_by_placeholder("Steer planner …").fill("Keep it under 300 euros")
    page.get_by_role("button", name="Steer").click()
    card.get_by_text("You steered:").wait_for()
    card.get_by_text("committed").wait_for(timeout=30_000)
    card.get_by_text("idle").wait_for(timeout=60_000)
    assert "Keep it under 300 euros”" in card.inner_text()
    # What was written is text: no picture, no script, no formula.
    assert "<img src=x onerror=window.pwned=1> costs $5 and $6 <script>" in card.inner_text()
    assert card.locator("img, script, mjx-container").count() == 0
    assert card.get_by_role("progressbar").count() == 0


def _narrow(page: Any) -> None:
    """In a narrow window nothing is cut off, and words are not written letter by letter."""
    page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
    page.set_viewport_size({"width": 500, "height": 1400})
    counted = page.locator(".snb-foot .snb-why")
    assert counted.bounding_box()["height"] < 40
    clipped = (
        "() => [...document.querySelectorAll('.snb-card, .snb-form')].filter(box =>"
        " box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX != 'auto')"
        ".map(box => box.innerText)"
    )
    page.wait_for_timeout(500)  # JupyterLab arranges itself anew
    assert page.evaluate(clipped) == []
    page.set_viewport_size({"width": 1200, "height": 1400})


def _answer(page: Any) -> None:
    form = page.locator(".snb-form")
    form.get_by_text("waits for you: 1 answer").wait_for(timeout=20_000)
    _narrow(page)
    send = form.get_by_role("button", name="Send continuation")
    assert send.is_disabled()
    area = form.locator("textarea")
    assert area.get_attribute("title"), "every control has a name"
    form.get_by_role("button", name="Run get_weather").click()
    form.get_by_text("saved; you may edit it before it is sent").wait_for()
    assert area.input_value() == "Lisbon: 18 C"
    area.fill("Lisbon: 19 C, dry")
    form.get_by_role("button", name="Show message").click()
    form.get_by_text('"output":"Lisbon: 19 C, dry"').wait_for()
    send.dblclick()
    page.get_by_text("committed as resp_").first.wait_for()
    asker = page.locator(".snb-card", has_text="asker").last
    asker.get_by_text("idle").wait_for()
    assert asker.inner_text().count("Lisbon: 19 C, dry") >= 2, "in the call and in the answer"
    assert page.locator(".snb-form").count() == 0, "a record stands where the form was"
