"""A kernel is gone, in a real JupyterLab: what was asked and half typed is still there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.simulator import Simulator
from steer_nb.trace import load
from tests.support.browser import needs_browser
from tests.widgets.forming import until
from tests.widgets.lab import IDLE, reload, run_cell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    needs_browser("jupyterlab"),
]

CELLS = [
    "%load_ext steer_nb\n%steer connect URL\n%steer open trip",
    "%%steer trip --wait\nWhat about Lisbon?",
    "%steer pending",
    "%load_ext steer_nb\n%steer recover",
    "%steer show trip",
    "%steer resume trip continue",
]
HALF = '{"sat": "<b>dry</b>", "t'
GONE = "This belongs to a kernel that has ended"
AFTER = "one => getComputedStyle(one, '::after').content"


def save(page: Any) -> None:
    page.evaluate("jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!jupyterapp.shell.currentWidget.context.model.dirty")


def test_a_form_is_seen_or_its_record_and_what_is_half_typed_survives(
    lab: Lab, tmp_path: Path
) -> None:
    with Simulator("weather", speed=0) as simulator:
        cells = [cell.replace("URL", simulator.base_url) for cell in CELLS]
        with lab.notebook(tmp_path, cells) as page:
            for number in range(3):
                run_cell(page, number)
            output = page.locator(".jp-Notebook .jp-Cell").nth(2).locator(".jp-OutputArea")
            form, record = output.locator(".snb-form"), output.locator(".snb-kept")
            area, field = form.locator("textarea"), page.locator(".snb-say textarea").last
            form.wait_for(timeout=30_000)

            def form_alone() -> None:
                form.wait_for()
                assert (form.count(), record.count()) == (1, 1)
                record.wait_for(state="hidden")
                assert "get_weather" in output.inner_text()
                assert GONE not in output.inner_text()

            form_alone()
            form.get_by_role("radio", name="JSON").click()
            area.press_sequentially(HALF)
            form.get_by_text("draft, not complete: output is no").wait_for()
            # The record follows, in the notebook that would be saved now.
            until(lambda: HALF in record.text_content() or page.wait_for_timeout(100), 10)
            form_alone()
            save(page)
            page.screenshot(path=tmp_path / "living.png")
            # Nobody waits after the last key until the box has told of it.
            field.press_sequentially("half a sen")
            reload(page)
            form_alone()
            form.get_by_text("draft, not complete: output is no").wait_for()
            assert (area.input_value(), field.input_value()) == (HALF, "half a sen")
            # It is the same box, and what is typed now is kept, too.
            field.press("End")
            field.press_sequentially("tence")
            (journal,) = (tmp_path / ".steer").glob("*.jsonl")
            until(lambda: load(journal).ledger.lanes["trip"].draft == "half a sentence", 20)

            # Restarted: the form that stands there says so itself.
            page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
            page.wait_for_function(IDLE, timeout=40_000)
            page.locator(".snb-form.jupyter-widgets-disconnected").wait_for()
            assert GONE in form.evaluate(AFTER)
            assert "%steer recover, then %steer pending" in form.evaluate(AFTER)
            record.wait_for(state="hidden")

            # And after a reload the record stands in its place.
            save(page)
            reload(page)
            lost = output.get_by_text("Error displaying widget: model not found")
            lost.wait_for(state="attached", timeout=20_000)
            assert lost.is_hidden()
            record.get_by_text(GONE).wait_for()
            assert form.count() == 0
            said = output.inner_text()
            for words in ("get_weather", HALF, "draft, not complete", "%steer recover"):
                assert said.count(words) == 1, (words, said)
            page.screenshot(path=tmp_path / "gone.png")

            # It goes on as it says, and what is over is a record alone.
            for number in (3, 2, 4):
                run_cell(page, number)
            form_alone()
            page.get_by_text("Half typed, and kept: 1 answer on trip (%steer pending)").wait_for()
            field.wait_for()
            assert page.locator(".snb-say textarea").count() == 2, "recovered, and shown again"
            for box in page.locator(".snb-say textarea").all():
                assert box.input_value() == "half a sentence"
            form.get_by_text("draft, not complete: output is no").wait_for()
            assert area.input_value() == HALF
            assert form.get_by_text("0 of 1 answered").count() == 1
            # Two displays of the box are one.
            field.fill("another sentence")
            page.wait_for_function(
                "[...document.querySelectorAll('.snb-say textarea')]"
                ".every(box => box.value == 'another sentence')"
            )
            run_cell(page, 5)
            area.fill('{"sat": "dry"}')
            form.get_by_role("button", name="Send continuation").click()
            output.get_by_text("committed as resp_").wait_for(timeout=20_000)
            form.wait_for(state="detached")
            assert GONE not in output.inner_text()
            page.screenshot(path=tmp_path / "over.png")
