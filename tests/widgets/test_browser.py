"""A person in a real JupyterLab: decides after a loss, asks the service, types half a thing."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from steer_nb.simulator import Simulator
from steer_nb.trace import load
from tests.support.browser import needs_browser
from tests.widgets.forming import until
from tests.widgets.lab import Card, run_cell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LOSING = [
    """
import steer_nb
from steer_nb.client.io import io_thread
from steer_nb.simulator import AwaitSteer, RefuseSteers, Say, Simulator, scenario
from steer_nb.widgets import LaneView
@scenario("losing", "Waits when it is told to, and refuses steers when it is told to.")
def losing(turn):
    if "refuse" in turn.prompt:
        yield RefuseSteers("response_already_completed")
    yield Say(f"I heard: {turn.prompt}")
    if "wait" in turn.prompt:
        yield AwaitSteer(8)
# Long enough for a busy machine to see it.
soon = steer_nb.Reconnect(first_s=4)
session = steer_nb.connect(
    simulate=Simulator(losing, speed=0), journal=False, quiet=True, reconnect=soon)
lane = session.lane("planner")
LaneView(session, lane)
""",
    "lane.create('Hello.').wait(10); lane.wait(10); lane.create('Please wait.')",
    """
async def nowhere(_): pass
transport = session.core.line.transport
transport.send = nowhere
lane.steer("Keep it <b>short</b>")
io_thread.call(lambda: transport._connection.transport.abort())
""",
    "lane.create('wait and refuse')",
    "lane.steer('Shorter, please')",
]


@needs_browser("jupyterlab")
def test_a_person_decides_after_a_lost_connection(lab: Lab, tmp_path: Path) -> None:
    with lab.notebook(tmp_path, LOSING) as page:
        run_cell(page, 0)
        field = page.locator(".snb-say textarea")
        field.wait_for(timeout=20_000)
        # What is being typed stays, whatever becomes of the lane and its connection meanwhile.
        field.press_sequentially("half a sentence")
        run_cell(page, 1)
        card = Card(page)
        card.get_by_text("I heard: Please wait.").wait_for(timeout=20_000)
        run_cell(page, 2)
        card.get_by_text("connecting again (attempt 1 of 5)").wait_for()
        box = page.locator(".snb-decide-box")
        box.get_by_text("How does planner go on?").wait_for()
        box.get_by_text("“Keep it <b>short</b>”").wait_for()
        way = page.locator(".snb-decide .snb-way")
        assert way.count() > 3
        way.first.wait_for(state="hidden")  # what can be done is offered once: by the buttons
        card.get_by_text('lane.recover("continue")').wait_for()
        assert field.input_value() == "half a sentence"
        box.get_by_role("button", name="Continue").dblclick()
        card.get_by_text("idle").wait_for()
        # The steer's own button; the request that was cut off has another.
        box.get_by_role("button", name="Send again").first.dblclick()
        card.get_by_text("I heard: Keep it <b>short</b>").wait_for()
        card.get_by_text("sent again as create-").wait_for()
        box.wait_for(state="hidden")
        assert card.get_by_text("I heard: Keep it").count() == 1
        # A steer that failed waits beside the field until the field is free for the next.
        run_cell(page, 3)
        card.get_by_text("I heard: wait and refuse").wait_for()
        run_cell(page, 4)
        box.get_by_text("“Shorter, please”").wait_for()
        assert field.input_value() == "half a sentence"
        card.get_by_text("idle").wait_for(timeout=20_000)
        box.get_by_role("button", name="Send as next turn").click()
        card.get_by_text("I heard: Shorter, please").wait_for()
        field.press("Control+Enter")
        card.get_by_text("I heard: half a sentence").wait_for()
        assert page.evaluate("window.pwned") is None


ASKING = [
    """
import time, steer_nb
from steer_nb.client.io import io_thread
from steer_nb.simulator import Pause, Say, Simulator, scenario
from steer_nb.widgets import LaneView
@scenario("going-on", "Goes on while nobody listens.")
def going_on(turn):
    yield Say("Before the loss.")
    yield Pause(1)
    yield Say("After the loss.")
session = steer_nb.connect(
    simulate=Simulator(going_on, connection_lost="go_on"), journal=False, quiet=True)
lane = session.lane("planner")
LaneView(session, lane)
""",
    """
lane.create("Hello.")
while "Before the loss." not in lane.text: time.sleep(0.01)
io_thread.call(lambda: session.core.line.transport._connection.transport.abort())
""",
]


@needs_browser("jupyterlab")
def test_a_person_asks_the_service_what_became_of_it(lab: Lab, tmp_path: Path) -> None:
    from playwright.sync_api import Error

    with lab.notebook(tmp_path, ASKING) as page:
        run_cell(page, 0)
        page.locator(".snb-say textarea").wait_for(timeout=20_000)
        run_cell(page, 1)
        card = Card(page)
        box = page.locator(".snb-decide-box")
        ask = box.get_by_role("button", name="Ask the service")
        ask.wait_for(timeout=20_000)
        assert "After the loss." not in card.inner_text()

        def told() -> bool:
            with contextlib.suppress(Error):  # it goes as soon as the service has told
                ask.dblclick(timeout=1000)
            page.wait_for_timeout(300)
            return "After the loss." in card.inner_text()

        until(told, 20)
        ask.wait_for(state="hidden")
        # Said where it stays: below the lane a click that comes too late says something else.
        card.get_by_text("ended there: completed, says the service").wait_for()
        box.get_by_role("button", name="Continue").click()
        card.get_by_text("idle").wait_for()


DRAFTING = [
    "%load_ext steer_nb\n%steer connect URL",
    "%steer open trip",
    "%%steer trip --wait\nWhat about Lisbon?",
    "%steer pending",
    "%load_ext steer_nb\n%steer recover",
    "%steer pending",
    "%steer show trip",
]
READY = (
    "globalThis.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status == 'idle'"
)
HALF = '{"sat": "<b>dry</b>", "t'


@needs_browser("jupyterlab")
def test_what_is_half_typed_survives_a_reload_and_a_restart(lab: Lab, tmp_path: Path) -> None:
    with Simulator("weather", speed=0) as simulator:
        cells = [cell.replace("URL", simulator.base_url) for cell in DRAFTING]
        with lab.notebook(tmp_path, cells) as page:
            for number in range(4):
                run_cell(page, number)
            area = page.locator(".snb-form textarea").last
            field = page.locator(".snb-say textarea").last
            area.wait_for(timeout=30_000)
            page.locator(".snb-form").get_by_role("radio", name="JSON").click()
            area.press_sequentially(HALF)
            said = page.locator(".snb-form").last.get_by_text("draft, not complete: output is no")
            said.wait_for()
            page.evaluate("jupyterapp.commands.execute('docmanager:save')")
            # Nobody waits after the last key until the box has told of it.
            field.press_sequentially("half a sen")
            page.reload()
            page.wait_for_function(READY, timeout=40_000)
            said.wait_for(timeout=20_000)
            assert (area.input_value(), field.input_value()) == (HALF, "half a sen")
            # It is the same form, and what is typed now is kept, too.
            field.press("End")
            field.press_sequentially("tence")
            (journal,) = (tmp_path / ".steer").glob("*.jsonl")
            until(lambda: load(journal).ledger.lanes["trip"].draft == "half a sentence", 20)
            page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
            page.wait_for_function(READY, timeout=40_000)
            page.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
            for number in (4, 5, 6):
                run_cell(page, number)
            said.wait_for(timeout=30_000)
            page.get_by_text("Half typed, and kept: 1 answer on trip (%steer pending)").wait_for()
            field.wait_for()
            assert page.locator(".snb-say textarea").count() == 2, "recovered, and shown again"
            for box in page.locator(".snb-say textarea").all():
                assert box.input_value() == "half a sentence"
            assert area.input_value() == HALF
            assert page.locator(".snb-form").get_by_text("0 of 1 answered").count() == 1
            # Two displays of the box are one.
            field.fill("another sentence")
            page.wait_for_function(
                "[...document.querySelectorAll('.snb-say textarea')]"
                ".every(box => box.value == 'another sentence')"
            )
