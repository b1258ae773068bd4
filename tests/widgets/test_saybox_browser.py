"""A person talks to a lane in a real JupyterLab: by keyboard, while its kernel is busy or gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import needs_browser
from tests.widgets.forming import until
from tests.widgets.lab import Card, run_cell, start_cell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    needs_browser("jupyterlab"),
]

BEGIN = """
%load_ext steer_nb
import asyncio, time, steer_nb
from pathlib import Path
from steer_nb.simulator import Say, Simulator, scenario
from steer_nb.widgets import LaneView, pending_forms
@scenario("echo", "Repeats what it is told.")
def echo(turn):
    yield Say(f"I heard: {turn.prompt}")
session = steer_nb.connect(simulate=Simulator(echo, speed=0), journal=False, quiet=True)
lane = session.lane("planner")
view = LaneView(session, lane)
view
"""
TOLD = """
import json
print('told', [json.loads(entry.raw)['input'] for entry in session.trace if entry.kind == 'out'])
"""

LONG = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz" * 4
WORDS = f"Bitte kürzer, \U0001f642 {LONG}\nاجعلها أقصر من فضلك"  # noqa: RUF001 - Arabic

OVERFLOWS = """() => [...document.querySelectorAll('.snb-say, .snb-say *')].filter(one =>
    one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1 &&
    getComputedStyle(one).display != 'inline').map(one => one.outerHTML.slice(0, 200))"""


def heard(page: Any, *texts: str) -> Any:
    """The lane's picture shows the answer to each, and to each once."""
    card = Card(page)
    for text in texts:
        card.get_by_text(f"I heard: {text}").wait_for(timeout=20_000)
        assert card.get_by_text(f"I heard: {text}").count() == 1
    return card


def arranged(page: Any, notebook: str) -> None:
    """JupyterLab has arranged itself anew, as its `one` notebook shows, and that was painted."""
    page.wait_for_function(f"[document.querySelector('.jp-Notebook')].every(one => {notebook})")
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def test_a_person_talks_by_keyboard_alone(lab: Lab, tmp_path: Path) -> None:
    cells = [BEGIN, "print(sorted(session.lanes), session['other'].state)", "view.show()"]
    with lab.notebook(tmp_path, cells) as page:
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        run_cell(page, 0)
        area = page.get_by_role("textbox", name="What to say to planner")
        area.wait_for(timeout=20_000)
        talking = page.locator(".snb-talk").first
        send = talking.get_by_role("button", name="Send", exact=True)
        area.focus()
        page.keyboard.type("Plan two days")
        page.keyboard.press("Enter")
        page.keyboard.type("with a child")
        height = area.bounding_box()["height"]
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        assert area.bounding_box()["height"] > height, "it grows"
        page.keyboard.press("Backspace")
        page.keyboard.press("Backspace")
        assert area.input_value() == "Plan two days\nwith a child"
        page.keyboard.press("Control+Enter")
        status = talking.get_by_role("status")
        status.get_by_text("Sent as the next turn.").wait_for()
        heard(page, "Plan two days")
        assert area.input_value() == ""
        assert page.locator(".jp-InputPrompt").first.inner_text() == "[1]:", "no cell was run"
        page.keyboard.type("again")
        page.keyboard.press("Tab")
        assert focused(page) == "Send"
        page.keyboard.press("Enter")
        heard(page, "again")
        assert focused(page) == "Send", "the focus stays"
        _narrow(page, area)
        _fork(page, send, status)
        area.focus()
        page.keyboard.press("Escape")
        assert page.evaluate("document.activeElement.closest('.snb-talk')") is None
        assert page.evaluate("document.activeElement.closest('.jp-Notebook') !== null")
        talking.get_by_role("button", name="Stop watching").focus()
        page.keyboard.press("Space")
        area.wait_for(state="detached")
        heard(page, "again")
        assert "Lane planner: not watched since" in page.evaluate(
            "document.activeElement.getAttribute('aria-label')"
        )
        _again(page, area)
        assert errors == []


def _narrow(page: Any, area: Any) -> None:
    """Long words, two directions, little room: nothing is cut off."""
    area.fill(WORDS)
    assert page.evaluate(OVERFLOWS) == []
    page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
    page.set_viewport_size({"width": 420, "height": 1400})
    arranged(page, "one.clientWidth < 420")
    assert page.evaluate(OVERFLOWS) == []
    assert area.bounding_box()["width"] > 150
    page.set_viewport_size({"width": 1200, "height": 1400})
    arranged(page, "one.clientWidth > 800")
    card, box = page.locator(".snb-end .snb-card").first, page.locator(".snb-say").first
    above, below = card.bounding_box(), box.bounding_box()
    assert (above["x"], above["width"]) == (below["x"], below["width"])
    assert abs(above["y"] + above["height"] - below["y"]) < 1, "the box is the card's foot"
    area.fill("")


def _fork(page: Any, send: Any, status: Any) -> None:
    send.focus()
    page.keyboard.press("Tab")
    assert focused(page) == "Fork"
    fork = page.get_by_role("button", name="Fork", exact=True).first
    assert fork.get_attribute("aria-expanded") == "false"
    page.keyboard.press("Enter")
    assert fork.get_attribute("aria-expanded") == "true"
    name = page.get_by_role("textbox", name="Name of the new lane").first
    page.keyboard.type("oth")
    assert name.input_value() == "oth"
    page.keyboard.press("Escape")
    assert focused(page) == "Fork"
    page.keyboard.press("Enter")
    page.keyboard.type("er")
    page.keyboard.press("Enter")
    status.get_by_text("Lane other goes on from here: see below, or %steer show other.").wait_for()
    name.wait_for(state="hidden")
    assert focused(page) == "Fork"
    # In the same cell, though that ended long ago, and with a box of its own.
    cell = page.locator(".jp-Notebook .jp-Cell").first
    beside = cell.get_by_role("textbox", name="What to say to other")
    beside.fill("and now")
    beside.press("Control+Enter")
    heard(page, "and now")
    assert cell.locator(".snb-top").count() == 2
    page.keyboard.press("Escape")
    fork.click()
    name.fill("other")
    name.press("Enter")
    status.get_by_text("Lane other is open and has a conversation of its own.").wait_for()
    name.fill("third")
    name.press("Enter")
    cell.get_by_role("textbox", name="What to say to third").wait_for()
    tops = cell.locator(".snb-name").all_inner_texts()
    assert tops == ["planner", "other", "third"]
    name.wait_for(state="hidden")
    run_cell(page, 1)
    page.get_by_text("['other', 'planner', 'third'] idle").wait_for()


def _again(page: Any, area: Any) -> None:
    """Who stopped watching a lane can begin again."""
    run_cell(page, 2)
    area.wait_for()
    box = page.locator(".jp-Notebook .jp-Cell").nth(2).locator(".snb-talk")
    box.get_by_role("status").get_by_text("Watched again; it was not since").wait_for()
    area.fill("still there?")
    area.press("Control+Enter")
    Card(page, 2).get_by_text("I heard: still there?").wait_for()
    page.locator(".snb-top").first.get_by_text("not watched since").wait_for()


# Busy until the test says that it goes on.
HELD = "while not Path('go on').exists(): time.sleep(0.02)\nPath('go on').unlink()"
BUSY = [
    BEGIN,
    "LaneView(session, lane)",
    HELD,
    HELD.replace("time.sleep", "await asyncio.sleep"),
    "while True: time.sleep(0.1)",
    TOLD,
    (
        "def get_weather(city: str) -> str: return '18'\n"
        "w = steer_nb.connect(simulate='weather', journal=False, quiet=True, name='w')\n"
        "asker = w.lane('asker'); asker.create('Weather?'); asker.wait(10); pending_forms(w)"
    ),
]
ENDED = "This belongs to a kernel that has ended. Run its cell again."
APART = "Not connected to its kernel. Reload the page; if this stays, run the cell again."
AFTER = "one => getComputedStyle(one, '::after').content"


def test_presses_while_the_kernel_is_busy_and_after_it(lab: Lab, tmp_path: Path) -> None:
    with lab.notebook(tmp_path, BUSY, subshells=False) as page:
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        run_cell(page, 0)
        run_cell(page, 1)
        go_on = tmp_path / "go on"
        boxes = page.locator(".snb-talk")
        boxes.nth(1).wait_for(timeout=20_000)
        area, other = (boxes.nth(n).locator("textarea") for n in range(2))
        send, second = (boxes.nth(n).locator("button[type=submit]").first for n in range(2))

        # Busy in Python: it says so at once, and however often it is pressed, it goes out once.
        area.fill("first")
        until(lambda: other.input_value() == "first" or page.wait_for_timeout(50), 10)
        start_cell(page, 2)
        area.press("Control+Enter")
        boxes.nth(0).get_by_text("Waiting for the kernel").wait_for(timeout=1500)
        for button in (send, second):
            assert button.get_attribute("aria-disabled") == "true"
            button.dblclick(force=True)
        area.press("Control+Enter")
        other.press("Control+Enter")
        assert area.input_value() == "first"
        go_on.touch()
        heard(page, "first")
        boxes.nth(0).get_by_text("Sent as the next turn.").wait_for()
        assert (area.input_value(), other.input_value()) == ("", "")

        # What is typed after the press stays.
        start_cell(page, 2)
        area.fill("second")
        send.click()
        area.press_sequentially(" and more")
        go_on.touch()
        heard(page, "second")
        page.wait_for_timeout(700)
        assert area.input_value() == "second and more"

        # Busy in an await.
        area.fill("third")
        start_cell(page, 3)
        send.dblclick()
        go_on.touch()
        heard(page, "third")

        # After Stop.
        start_cell(page, 4)
        area.fill("fourth")
        send.dblclick()
        boxes.nth(0).get_by_text("Waiting for the kernel").wait_for(timeout=1500)
        page.evaluate("() => { jupyterapp.commands.execute('notebook:interrupt-kernel'); }")
        heard(page, "fourth")
        area.fill("fifth")
        area.press("Control+Enter")
        heard(page, "fifth")
        run_cell(page, 5)
        page.get_by_text("told ['first', 'second', 'third', 'fourth', 'fifth']").wait_for()

        # After a restart.
        run_cell(page, 6)
        form = page.locator(".snb-form")
        form.wait_for(timeout=20_000)
        page.evaluate("jupyterapp.commands.execute('docmanager:save')")
        page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
        boxes.nth(0).get_by_text(ENDED).wait_for(timeout=20_000)
        area.fill("to nobody")
        area.press("Control+Enter")
        assert send.get_attribute("aria-disabled") == "true"
        assert area.input_value() == "to nobody", "it can be copied"
        assert "This belongs to a kernel that has ended." in form.evaluate(AFTER)
        assert form.evaluate("one => getComputedStyle(one, '::before').content") == "none"
        assert errors == []

        # After a reload too, where the model is gone with its kernel.
        page.reload()
        lost = page.get_by_text("Error displaying widget: model not found")
        lost.first.wait_for(timeout=40_000)
        assert [APART in one.evaluate(AFTER) for one in lost.all()] == [True, True, False]
        assert lost.first.evaluate("one => getComputedStyle(one).fontSize") == "0px"
