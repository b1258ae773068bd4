"""A person fills forms in a real JupyterLab: two displays at once, any kind, variables, a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.simulator import Simulator
from steer_nb.trace import load
from tests.client.stage import Stage, accepted, created, ended, pending
from tests.support.browser import needs_browser
from tests.widgets.forming import until
from tests.widgets.lab import run_cell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

READY = (
    "globalThis.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel?.status == 'idle'"
)

needs_browser = [
    needs_browser("jupyterlab", "PIL", "matplotlib"),
]


def marked(test: Any) -> Any:
    for mark in needs_browser:
        test = mark(test)
    return test


CONNECT = """
import steer_nb
from steer_nb.widgets import pending_forms
from steer_nb.widgets.forms import ContinuationForm
session = steer_nb.connect("URL", quiet=True)
"""


@marked
def test_two_displays_clicked_at_once_send_one_continuation(lab: Lab, tmp_path: Path) -> None:
    with Simulator("weather", speed=0) as simulator:
        cells = [
            CONNECT.replace("URL", simulator.base_url),
            "lane = session.lane('trip'); lane.create('Weather?'); lane.wait(10)",
            "forms = pending_forms(session); forms",
            "forms",
            "own = ContinuationForm(session, lane, forms.forms[0].parent_id); own.widget",
        ]
        with lab.notebook(tmp_path, cells) as page:
            for number in range(5):
                run_cell(page, number)
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
                "[...document.querySelectorAll('.snb-go')]"
                ".every(button => button.ariaDisabled == 'false')"
            )
            page.evaluate(
                "[1, 2, 3].forEach(() => document.querySelectorAll('.snb-go')"
                ".forEach(button => button.click()))"
            )
            page.get_by_text("committed as resp_").first.wait_for(timeout=20_000)
            page.evaluate("document.querySelectorAll('.snb-go').forEach(button => button.click())")
            page.get_by_text("committed as resp_").nth(2).wait_for(timeout=20_000)
            kinds = [entry["kind"] for entry in simulator.account]
            assert kinds.count("continuation") == 1
            assert kinds.count("request") == 2, "and nothing was refused"


STUB = {"type": "telepathy_call_output", "call_id": "call_t", "hint": "<b>think</b>"}


@marked
def test_a_kind_that_nobody_knows_is_filled_by_hand(lab: Lab, tmp_path: Path) -> None:
    with Stage() as stage:
        cells = [
            CONNECT.replace("URL", stage.base_url),
            "lane = session.lane('a'); lane.create('Go')",
            "lane.steer('And now?')",
            "lane.wait(10); pending_forms(session)",
        ]
        with lab.notebook(tmp_path, cells) as page:
            run_cell(page, 0)
            run_cell(page, 1)
            stage.expect("response.create")
            stage.send(created("resp_1", lane="a"))
            run_cell(page, 2)
            stage.expect("response.steer")
            stage.send(accepted("steer_1", "resp_1"))
            stage.send(ended("resp_1", lane="a"))
            stage.send(pending("steer_1", "resp_1", STUB))
            run_cell(page, 3)
            form = page.locator(".snb-form")
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
            page.get_by_text("committed as resp_2").first.wait_for()
            assert stage.nothing_came()


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
SEVEN = [
    "%load_ext steer_nb",
    TOOL,
    "%steer connect URL",
    "%steer open audit --tools get_project_status",
    "%%steer audit --wait\nDo an audit",
    "%steer pending",
    "import steer_nb\n%load_ext steer_nb\n%steer recover",
    "%steer resume audit continue\n%steer pending",
]


@marked
def test_a_run_and_picked_variables_survive_a_reload_and_a_restart(
    lab: Lab, tmp_path: Path
) -> None:
    with Simulator("seven", speed=0) as simulator:
        cells = [cell.replace("URL", simulator.base_url) for cell in SEVEN]
        with lab.notebook(tmp_path, cells, dark=True) as page:
            for number in range(6):
                run_cell(page, number)
            form = page.locator(".snb-form").last
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
            (journal,) = (tmp_path / ".steer").glob("*.jsonl")
            until(lambda: _filled(journal) == 4, 20)
            page.evaluate("jupyterapp.commands.execute('docmanager:save')")
            page.reload()
            page.wait_for_function(READY, timeout=40_000)
            _kept(form)
            page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
            page.wait_for_function(READY, timeout=40_000)
            page.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
            for number in (6, 7):
                run_cell(page, number)
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
