"""A person in a real JupyterLab: decides after a lost connection, asks the service."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import needs_browser
from tests.widgets.forming import until
from tests.widgets.lab import Card, run_cell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow, needs_browser("jupyterlab")]

LOSING = [
    """
import asyncio, steer_nb
from pathlib import Path
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
soon = steer_nb.Reconnect(first_s=0.01)
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
connect = type(transport).connect
async def patiently(self, endpoint):
    while not Path("go on").exists(): await asyncio.sleep(0.02)
    await connect(self, endpoint)
type(transport).connect = patiently
lane.steer("Keep it <b>short</b>")
io_thread.call(lambda: transport._connection.transport.abort())
""",
    "lane.create('wait and refuse')",
    "lane.steer('Shorter, please')",
]

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
    simulate=Simulator(going_on, connection_lost="go_on"),
    journal=False, quiet=True, name="asking")
lane = session.lane("planner")
LaneView(session, lane)
""",
    """
lane.create("Hello.")
while "Before the loss." not in lane.text: time.sleep(0.01)
io_thread.call(lambda: session.core.line.transport._connection.transport.abort())
""",
]
ASK = len(LOSING)


class Place:
    """One notebook for all tests here, each of which has cells and a session of its own."""

    def __init__(self, page: Any, folder: Path) -> None:
        self.page, self.folder = page, folder

    def cell(self, number: int) -> Any:
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)


@pytest.fixture(scope="module")
def place(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("persons")
    with lab.notebook(folder, LOSING + ASKING) as page:
        yield Place(page, folder)


def test_a_person_decides_after_a_lost_connection(place: Place) -> None:
    page, cell = place.page, place.cell(0)
    run_cell(page, 0)
    field = cell.locator(".snb-say textarea")
    field.wait_for(timeout=20_000)
    # What is being typed stays, whatever becomes of the lane and its connection meanwhile.
    field.press_sequentially("half a sentence")
    run_cell(page, 1)
    card = Card(page)
    card.get_by_text("I heard: Please wait.").wait_for(timeout=20_000)
    run_cell(page, 2)
    card.get_by_text("connecting again (attempt 1 of 5)").wait_for()
    (place.folder / "go on").touch()
    box = cell.locator(".snb-decide-box")
    box.get_by_text("How does planner go on?").wait_for()
    box.get_by_text("“Keep it <b>short</b>”").wait_for()
    way = cell.locator(".snb-decide .snb-way")
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


def test_a_person_asks_the_service_what_became_of_it(place: Place) -> None:
    from playwright.sync_api import Error

    page, cell = place.page, place.cell(ASK)
    run_cell(page, ASK)
    cell.locator(".snb-say textarea").wait_for(timeout=20_000)
    run_cell(page, ASK + 1)
    card = Card(page, ASK)
    box = cell.locator(".snb-decide-box")
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
