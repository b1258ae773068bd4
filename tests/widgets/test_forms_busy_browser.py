"""Buttons of forms and decisions are pressed in a real JupyterLab while the kernel is busy or gone.

Without subshells, as before ipykernel 7: a busy kernel hears nothing of its widgets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import needs_browser
from tests.widgets.forming import until
from tests.widgets.lab import reload, run_cell, save, start_cell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    needs_browser("jupyterlab"),
]

BEGIN = """
import asyncio, time, steer_nb
from pathlib import Path
from steer_nb.client.io import io_thread
from steer_nb.client.reconnecting import Reconnect
from steer_nb.simulator import Simulator
from steer_nb.widgets import LaneView, pending_forms
def get_weather(city: str) -> str:
    return "18 °C"
soon = Reconnect(attempts=5, first_s=0.01, longest_s=0.05, rotate_s=None)
session = steer_nb.connect(
    simulate=Simulator("weather", speed=0), journal=False, quiet=True, reconnect=soon)
def ask(name):
    lane = session.lane(name, tools=[get_weather])
    lane.create("Weather?")
    assert lane.wait(10) == "waiting_input"
    return pending_forms(session, name)
"""
# Until the test says that it goes on.
BUSY = "while not Path('go on').exists(): time.sleep(0.02)\nPath('go on').unlink()"
CELLS = [
    BEGIN,
    "forms = ask('one'); forms",
    "forms",
    BUSY,
    BUSY.replace("time.sleep", "await asyncio.sleep"),
    "while True: time.sleep(0.1)",
    (
        "account = session.simulator.account\n"
        "print('continued', sum(one['kind'] == 'continuation' for one in account))"
    ),
    "ask('two')",
    "ask('three')",
    (
        "lost = session.lane('lost', tools=[get_weather]); lost.create('Weather?'); lost.wait(10)\n"
        "io_thread.call(lambda: session.core.line.transport._connection.transport.abort())\n"
        "LaneView(session, lost)"
    ),
    "pending_forms(session, 'lost')",
]
ONE, AGAIN, PYTHON, AWAIT, FOREVER, COUNT, TWO, THREE, LOST, LAST = range(1, 11)
WAITS = "Waiting for the kernel: it is busy with a cell."
AFTER = "one => getComputedStyle(one, '::after').content"


class Form:
    def __init__(self, page: Any, cell: int) -> None:
        self.page = page
        self.output = page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-OutputArea")
        self.area = self.output.locator(".snb-form textarea")
        self.foot = self.output.locator(".snb-foot")
        self.area.wait_for(timeout=30_000)

    def button(self, name: str) -> Any:
        return self.output.get_by_role("button", name=name, exact=True)

    def ready(self) -> None:
        self.wait(lambda: self.button("Send continuation").get_attribute("aria-disabled"), "false")

    def wait(self, read: Any, value: Any) -> None:
        until(lambda: read() == value or self.page.wait_for_timeout(30), 20)

    def waits(self) -> None:
        self.foot.get_by_role("status").get_by_text(WAITS).wait_for(timeout=1500)

    def silent(self) -> None:
        self.wait(lambda: self.foot.get_by_role("status").inner_text(), "")

    def committed(self) -> None:
        self.output.get_by_text("committed as resp_").wait_for(timeout=20_000)


def go_on(folder: Path) -> None:
    """Let the cell that keeps the kernel busy end."""
    (folder / "go on").touch()


def continued(page: Any, number: int) -> None:
    run_cell(page, COUNT)
    page.get_by_text(f"continued {number}", exact=True).wait_for()


def test_presses_while_the_kernel_is_busy_and_after_it(lab: Lab, tmp_path: Path) -> None:
    with lab.notebook(tmp_path, CELLS, subshells=False) as page:
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        run_cell(page, 0)
        _busy_in_python(page, tmp_path)
        continued(page, 1)
        _busy_in_an_await(page, tmp_path)
        continued(page, 2)
        _stopped(page)
        continued(page, 3)
        _decided(page, tmp_path)
        _restarted(page, tmp_path)
        assert errors == []


def _busy_in_python(page: Any, folder: Path) -> None:
    run_cell(page, ONE)
    run_cell(page, AGAIN)
    form, other = Form(page, ONE), Form(page, AGAIN)
    form.area.fill("18")
    form.ready()
    form.output.get_by_text("saved; you may edit it").wait_for()
    start_cell(page, PYTHON)
    # The page holds back what is typed now; the press waits for it.
    form.area.press_sequentially(" °C, dry")
    form.waits()
    form.button("Send continuation").click()
    form.button("Send continuation").dblclick(force=True)
    other.waits()
    for name in ("Send continuation", "Show message", "Answer all as cancelled"):
        assert other.button(name).get_attribute("aria-disabled") == "true"
        other.button(name).dblclick(force=True)
    page.screenshot(path=folder / "waits.png")
    go_on(folder)
    form.committed()
    other.committed()
    assert form.output.locator(".snb-out").inner_text() == "18 °C, dry"


def _busy_in_an_await(page: Any, folder: Path) -> None:
    run_cell(page, TWO)
    form = Form(page, TWO)
    run = form.output.locator(".snb-runs")
    start_cell(page, PYTHON)
    form.button("Run get_weather").dblclick()
    run.get_by_role("status").get_by_text(WAITS).wait_for(timeout=1500)
    assert run.get_by_role("button").get_attribute("aria-disabled") == "true"
    go_on(folder)
    form.output.get_by_text("ran in").wait_for(timeout=20_000)
    assert run.get_by_role("status").inner_text() == ""
    # What ipywidgets' own controls tell a busy kernel is waited for in words, too.
    start_cell(page, PYTHON)
    form.output.get_by_role("radio", name="JSON").click()
    form.waits()
    go_on(folder)
    form.silent()
    form.output.get_by_role("radio", name="text").click()
    form.ready()
    # By keyboard: Enter and Space press, and edit no cell.
    form.button("Show message").focus()
    page.keyboard.press("Enter")
    form.output.get_by_text("response.create").wait_for()
    assert form.button("Show message").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Space")
    form.output.get_by_text("response.create").wait_for(state="detached")
    # Some kernels hear it while a cell awaits, others after it: sent it is once.
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.textContent") == "Send continuation"
    start_cell(page, AWAIT)
    form.button("Send continuation").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    go_on(folder)
    form.committed()


def _stopped(page: Any) -> None:
    run_cell(page, THREE)
    form = Form(page, THREE)
    form.area.fill("18 °C")
    form.ready()
    start_cell(page, FOREVER)
    form.button("Send continuation").dblclick()
    form.waits()
    page.evaluate("() => { jupyterapp.commands.execute('notebook:interrupt-kernel'); }")
    form.committed()


def _decided(page: Any, folder: Path) -> None:
    run_cell(page, LOST)
    decide = page.locator(".snb-decide-box")
    button = decide.get_by_role("button", name="Continue")
    button.wait_for(timeout=20_000)
    start_cell(page, PYTHON)
    button.dblclick()
    decide.get_by_role("status").get_by_text(WAITS).wait_for(timeout=1500)
    page.screenshot(path=folder / "decides.png")
    go_on(folder)
    button.wait_for(state="detached", timeout=20_000)
    page.locator(".snb-talk").get_by_text("Continue from resp_").wait_for()


def _restarted(page: Any, folder: Path) -> None:
    run_cell(page, LAST)
    form = Form(page, LAST)
    form.area.fill("18 °C")
    form.ready()
    page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    send = form.button("Send continuation")
    form.wait(lambda: send.get_attribute("aria-disabled"), "true")
    send.focus()
    page.keyboard.press("Enter")
    outer = form.output.locator(".snb-form")
    assert "This belongs to a kernel that has ended." in outer.evaluate(AFTER)
    page.wait_for_timeout(300)
    assert form.foot.get_by_role("status").inner_text() == "", "it is said once"
    assert form.area.input_value() == "18 °C", "it can be copied"
    page.screenshot(path=folder / "ended.png")


KEPT = "[one.item and one.item['output'] for one in session.lanes['one'].required_input]"
UNHEARD = """
forms = pending_forms(session, 'one')
(part,) = forms.forms[0].sections.values()
with part.area._lock_property(value='18 °C'):  # as where the page asked just before this came
    part.area.value = '18 °C'
forms
"""
LEAVES = [BEGIN, "ask('one')", BUSY, KEPT, UNHEARD]
HIDE = "document.dispatchEvent(new Event('visibilitychange'))"


def test_no_key_is_lost_when_the_page_is_left_while_the_kernel_is_busy(
    lab: Lab, tmp_path: Path
) -> None:
    with lab.notebook(tmp_path, LEAVES, subshells=False) as page:
        run_cell(page, 0)
        run_cell(page, 1)
        form = Form(page, 1)
        save(page)
        # Looked away from, and typed on: what was told first takes nothing from what came later.
        start_cell(page, 2)
        form.area.press_sequentially("18 °C")
        page.evaluate(HIDE)
        form.area.press_sequentially(", dry")
        go_on(tmp_path)
        _keeps(page, 3, "18 °C, dry")
        assert form.area.input_value() == "18 °C, dry"
        # Loaded anew before the kernel is free: ipywidgets has let one key of it out.
        start_cell(page, 2)
        form.area.press_sequentially(" and calm")
        form.output.get_by_role("radio", name="JSON").click()
        form.output.get_by_role("radio", name="text").click()
        page.reload()
        go_on(tmp_path)
        reload(page)
        form = Form(page, 1)
        form.wait(form.area.input_value, "18 °C, dry and calm")
        form.wait(form.output.get_by_role("radio", name="text").is_checked, True)
        _keeps(page, 3, "18 °C, dry and calm")
        # Its tab is closed before the kernel is free, and opened again.
        start_cell(page, 2)
        form.area.press_sequentially(", they say")
        path = page.evaluate("jupyterapp.shell.currentWidget.context.path")
        page.evaluate("void jupyterapp.shell.currentWidget.close()")
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
        page.locator(".jp-Notebook").wait_for(state="detached")
        go_on(tmp_path)
        page.evaluate("path => jupyterapp.commands.execute('docmanager:open', {path})", path)
        form = Form(page, 1)
        form.wait(form.area.input_value, "18 °C, dry and calm, they say")
        _keeps(page, 3, "18 °C, dry and calm, they say")
        # A form that is shown asks what its fields hold: the page may know less.
        run_cell(page, 4)
        form = Form(page, 4)
        form.wait(form.area.input_value, "18 °C")


def _keeps(page: Any, cell: int, answer: str) -> None:
    shown = page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-OutputArea")

    def kept() -> bool:
        run_cell(page, cell)
        page.wait_for_timeout(100)
        return repr([answer]) in shown.inner_text()

    until(kept, 20)
