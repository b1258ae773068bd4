"""All pictures on one real JupyterLab page, a hostile text under the pointer, and no network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.frames.plots.traces import HOSTILE, story
from tests.support.browser import needs_browser
from tests.widgets.lab import run_cell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    needs_browser("jupyterlab", "altair"),
]

CELLS = [
    "import steer_nb\ntrace = steer_nb.load('run.jsonl')\ntrace.plot.timeline()",
    "trace.plot.tokens()",
    "trace.plot.gaps()",
    "trace.plot.latencies()",
]
CANVAS = ".jp-RenderedVegaCommon5 canvas.marks, .jp-RenderedVegaCommon5 svg.marks"


def test_all_pictures_draw_in_lab_and_hostile_text_stays_text(lab: Lab, tmp_path: Path) -> None:
    story(said=HOSTILE).save(tmp_path / "run.jsonl")
    asked: list[str] = []
    with lab.notebook(tmp_path, CELLS, dark=True) as page:
        page.on("request", lambda request: asked.append(request.url))
        for number in range(len(CELLS)):
            run_cell(page, number)
        cells = page.locator(".jp-Notebook .jp-Cell")
        for number in range(len(CELLS)):
            cells.nth(number).locator(CANVAS).first.wait_for(timeout=40_000)
        text = tooltip(page, cells.first.locator(CANVAS).first)
        assert "<img src=x onerror=" in text, "shown as it was written"
        assert page.locator("#vg-tooltip-element img").count() == 0
        assert page.evaluate("window.pwned") is None
        outside = [url for url in asked if not url.startswith((lab.address, "data:", "blob:"))]
        assert outside == []


def tooltip(page: Any, canvas: Any) -> str:
    """Point along the first lane's first response until its text is shown."""
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    shown = page.locator("#vg-tooltip-element.visible")
    seen = []
    for x in [*range(150, 290, 20)] * 5:  # a slow page shows it when the pointer went on
        page.mouse.move(box["x"] + x, box["y"] + 53)
        page.wait_for_timeout(100)
        seen.append(shown.inner_text() if shown.count() else None)
        if seen[-1] and "response, steered" in seen[-1]:
            return str(seen[-1])
    raise AssertionError(f"no hover was shown in {box}: {seen}")
