"""A person fills forms in a real JupyterLab: two at once, any kind, agents, variables, a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.simulator import Simulator
from steer_nb.trace import load
from tests.client.stage import Stage, accepted, created, ended, pending
from tests.support.browser import needs_browser
from tests.widgets.forming import until
from tests.widgets.lab import IDLE, Card, reload, run_cell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    needs_browser("jupyterlab", "PIL", "matplotlib"),
]


BEGIN = """
import steer_nb
from steer_nb.widgets import pending_forms
from steer_nb.widgets.forms import ContinuationForm
%load_ext steer_nb
"""
TWICE = [
    (
        "two = steer_nb.connect('WEATHER', quiet=True, journal=False, name='two')\n"
        "lane = two.lane('trip'); lane.create('Weather?'); lane.wait(10)"
    ),
    "forms = pending_forms(two); forms",
    "forms",
    "own = ContinuationForm(two, lane, forms.forms[0].parent_id); own.widget",
]
BY_HAND = [
    (
        "staged = steer_nb.connect('STAGE', quiet=True, journal=False, name='staged')\n"
        "lane = staged.lane('a'); lane.create('Go')"
    ),
    "lane.steer('And now?')",
    "lane.wait(10); pending_forms(staged)",
]
STUB = {"type": "telepathy_call_output", "call_id": "call_t", "hint": "<b>think</b>"}
AGENTS = [
    "%steer connect --simulate agents --speed 0 --multi-agent --no-journal --name agents",
    '%steer open team --set multi_agent={"enabled":true}',
    "%steer send team Compare the weather in Rome and Paris.",
    "%steer pending team",
]
TOOL = '''
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
from PIL import Image
def get_project_status(project: str, deep: bool) -> dict:
    """Status."""
    print("asking for", project)
    raise ValueError("no <b>project</b>")
shot = Image.new("RGB", (320, 180), "teal")
fig, ax = plt.subplots()
plt.close(fig)
'''
PICKED = [
    TOOL,
    "%steer connect SEVEN\n%steer open audit --tools get_project_status",
    "%%steer audit --wait\nDo an audit",
    "%steer pending",
    "import steer_nb\n%load_ext steer_nb\n%steer recover",
    "%steer resume audit continue\n%steer pending",
]


class Place:
    """One notebook in the dark for all tests here, each with cells and a session of its own."""

    CELLS = (TWICE, BY_HAND, AGENTS, PICKED)

    def __init__(
        self, page: Any, folder: Path, weather: Simulator, stage: Stage, seven: Simulator
    ) -> None:
        self.page, self.folder = page, folder
        self.weather, self.stage, self.seven = weather, stage, seven

    @classmethod
    def first(cls, cells: list[str]) -> int:
        """The number of the first of these cells."""
        before = cls.CELLS[: cls.CELLS.index(cells)]
        return 1 + sum(map(len, before))

    def run(self, cells: list[str], *numbers: int) -> Any:
        """Run some of these cells; the last one's outputs."""
        first = self.first(cells)
        for number in numbers:
            run_cell(self.page, first + number)
        shown = self.page.locator(".jp-Notebook .jp-Cell").nth(first + numbers[-1])
        return shown.locator(".jp-OutputArea")


@pytest.fixture(scope="module")
def place(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("forms")
    with (
        Simulator("weather", speed=0) as weather,
        Stage() as stage,
        Simulator("seven", speed=0) as seven,
    ):
        urls = {"WEATHER": weather.base_url, "STAGE": stage.base_url, "SEVEN": seven.base_url}
        cells = [BEGIN, *(cell for part in Place.CELLS for cell in part)]
        for name, url in urls.items():
            cells = [cell.replace(name, url) for cell in cells]
        with lab.notebook(folder, cells, dark=True) as page:
            run_cell(page, 0)
            yield Place(page, folder, weather, stage, seven)


def test_two_displays_clicked_at_once_send_one_continuation(place: Place) -> None:
    page = place.page
    place.run(TWICE, 0, 1, 2, 3)
    buttons = page.get_by_role("button", name="Send continuation")
    buttons.nth(2).wait_for(timeout=30_000)
    page.locator(".snb-form textarea").first.fill("18 °C, dry")
    # The same form twice, and one of its own: what is typed in one is in all.
    page.wait_for_function(
        "[...document.querySelectorAll('.snb-form textarea')].length == 3 &&"
        "[...document.querySelectorAll('.snb-form textarea')]"
        ".every(area => area.value == '18 °C, dry')"
    )
    page.wait_for_function(
        "[...document.querySelectorAll('.snb-go')].every(button => button.ariaDisabled == 'false')"
    )
    page.evaluate(
        "[1, 2, 3].forEach(() => document.querySelectorAll('.snb-go')"
        ".forEach(button => button.click()))"
    )
    page.get_by_text("committed as resp_").first.wait_for(timeout=20_000)
    page.evaluate("document.querySelectorAll('.snb-go').forEach(button => button.click())")
    page.get_by_text("committed as resp_").nth(2).wait_for(timeout=20_000)
    kinds = [entry["kind"] for entry in place.weather.account]
    assert kinds.count("continuation") == 1
    assert kinds.count("request") == 2, "and nothing was refused"


def test_a_kind_that_nobody_knows_is_filled_by_hand(place: Place) -> None:
    stage = place.stage
    place.run(BY_HAND, 0)
    stage.expect("response.create")
    stage.send(created("resp_1", lane="a"))
    place.run(BY_HAND, 1)
    stage.expect("response.steer")
    stage.send(accepted("steer_1", "resp_1"))
    stage.send(ended("resp_1", lane="a"))
    stage.send(pending("steer_1", "resp_1", STUB))
    output = place.run(BY_HAND, 2)
    form = output.locator(".snb-form")
    form.get_by_text("waits for you: 1 answer").wait_for(timeout=30_000)
    assert '"hint": "<b>think</b>"' in form.inner_text()
    area = form.get_by_role("textbox", name="as a JSON object, telepathy")
    send = form.get_by_role("button", name="Send continuation")
    area.fill('{"thought": NaN}')
    form.get_by_text("fields.thought is nan").wait_for()
    area.fill('{"call_id": "call_x"}')
    form.get_by_text("it identifies what is answered").wait_for()
    assert send.is_disabled()
    area.fill('{"thought": "sea"}')
    form.get_by_text("saved; you may edit it").wait_for()
    send.click()
    request = stage.expect("response.create")
    assert request["previous_response_id"] == "resp_1"
    assert request["input"] == [{**STUB, "thought": "sea"}]
    stage.send(created("resp_2", "resp_1", lane="a"))
    output.get_by_text("committed as resp_2").first.wait_for()
    assert stage.nothing_came()


def test_a_person_injects_while_the_response_runs(place: Place) -> None:
    """A person answers the agents of one response while it is written."""
    place.run(AGENTS, 0, 1, 2)
    card = Card(place.page, place.first(AGENTS) + 1)
    card.get_by_text("waits for you: 2 answers").first.wait_for(timeout=30_000)
    output = place.run(AGENTS, 3)
    form = output.locator(".snb-form")
    form.get_by_text("function · /root/rome").wait_for(timeout=20_000)
    form.get_by_text("function · /root/paris").wait_for()
    inject = form.get_by_role("button", name="Inject")
    rome, paris = form.locator("textarea").all()
    rome.fill("18 C and sunny")
    inject.dblclick()  # once is enough, twice is the same
    form.get_by_text("Injected: the agents that waited for it go on.").wait_for()
    card.get_by_text("answer injected").wait_for()
    paris.fill("12 C and wet")
    inject.click()
    card.get_by_text("Paris: “12 C and wet”").wait_for(timeout=20_000)
    card.locator(".snb-agent", has_text="/root/rome").first.wait_for()
    card.get_by_text("idle").wait_for()
    output.get_by_text("s, confirmed").first.wait_for()  # the form has given way to its last word
    assert card.get_by_text("Rome: “18 C and sunny”").count() == 1


def test_a_run_and_picked_variables_survive_a_reload_and_a_restart(place: Place) -> None:
    page = place.page
    form = place.run(PICKED, 0, 1, 2, 3).locator(".snb-form").last
    form.get_by_role("button", name="Run get_project_status").click(timeout=30_000)
    _ran(form)
    picks = form.locator(".snb-pick select")
    picks.nth(1).select_option(label="fig · Figure")
    form.get_by_alt_text("picture: image/png").wait_for()
    picks.nth(2).select_option(label="shot · Image")
    form.get_by_text("shot, as it is now").wait_for()
    form.get_by_role("checkbox", name="acknowledge the safety check").click()
    form.get_by_role("radio", name="Deny").click()
    form.get_by_placeholder("reason, if you want").fill("not today")
    (journal,) = (place.folder / ".steer").glob("*.jsonl")
    until(lambda: _filled(journal) == 4, 20)
    page.evaluate("jupyterapp.commands.execute('docmanager:save')")
    reload(page)
    _kept(form)
    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.wait_for_function(IDLE, timeout=40_000)
    page.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    form = place.run(PICKED, 4, 5).locator(".snb-form").last
    _kept(form)
    # Approving needs no reason, and none is offered that would not be sent.
    form.get_by_role("radio", name="Approve").click()
    form.get_by_placeholder("reason, if you want").wait_for(state="hidden")


def _ran(form: Any) -> None:
    form.get_by_text("printed by get_project_status (not sent)").wait_for(timeout=30_000)
    assert "asking for atlas" in form.inner_text()
    fold = form.locator("details", has_text="ValueError: no <b>project</b>")
    fold.locator("summary").click()
    assert 'raise ValueError("no <b>project</b>")' in fold.inner_text()
    assert "tools.py" not in fold.inner_text()
    fold.locator("summary").click()
    said = form.locator(".snb-status .snb-bad", has_text="saved; you may edit it")
    assert "raised ValueError: no <b>project</b>" in said.inner_text()


def _kept(form: Any) -> None:
    _ran(form)
    form.get_by_alt_text("picture: image/png").wait_for()
    form.get_by_alt_text("the screenshot: image/png").wait_for()
    assert form.get_by_role("checkbox", name="acknowledge the safety check").is_checked()
    assert form.get_by_role("radio", name="Deny").is_checked()
    assert form.get_by_placeholder("reason, if you want").input_value() == "not today"
    assert "base64" not in form.inner_text()


def _filled(journal: Path) -> int:
    (lane,) = load(journal).ledger.lanes.values()
    assert lane.tip is not None
    return sum(stub.state == "filled" for stub in lane.tip.required.values())
