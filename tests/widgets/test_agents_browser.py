"""A person in a real JupyterLab answers the agents of one response while it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.browser import needs_browser
from tests.widgets.lab import Card, run_cell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CELLS = [
    "%load_ext steer_nb\n%steer connect --simulate agents --speed 0 --multi-agent --no-journal",
    '%steer open team --set multi_agent={"enabled":true}',
    "%steer send team Compare the weather in Rome and Paris.",
    "%steer pending",
]


@needs_browser("jupyterlab")
def test_a_person_injects_while_the_response_runs(lab: Lab, tmp_path: Path) -> None:
    with lab.notebook(tmp_path, CELLS) as page:
        for number in (0, 1, 2):
            run_cell(page, number)
        card = Card(page, 1)
        card.get_by_text("waits for you: 2 answers").first.wait_for(timeout=30_000)
        run_cell(page, 3)
        form = page.locator(".snb-form")
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
        page.get_by_text("s, confirmed").first.wait_for()  # the form has given way to its last word
        assert card.get_by_text("Rome: “18 C and sunny”").count() == 1
