"""How large the pictures of 100,000 events are, and how long they take to make and to draw.

    python -m tests.benchmarks.plots [EVENTS]

For each chart: rows of its largest layer and of all, bytes of its JSON, seconds to make it, to turn
it into the PNG that is displayed beside it, and to draw it in a real Chromium; and how long the
page stands still at most while a pointer wanders over it. Printed, not judged.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.frames.plots.traces import big
from tests.support.browser import chromium

if TYPE_CHECKING:
    from steer_nb.trace import Trace

CHARTS: dict[str, dict[str, Any]] = {
    "timeline": {},
    "timeline of a lane": {"lane": "lane-1"},
    "tokens": {},
    "tokens a second": {"per_second": True},
    "gaps": {},
    "gaps by response": {"by_response": True},
    "latencies": {},
}
DRAWN = "document.querySelector('canvas.marks, svg.marks') !== null"
STALLS = """() => {
    window.longest = 0;
    new PerformanceObserver(list => {
        for (const entry of list.getEntries()) window.longest = Math.max(longest, entry.duration);
    }).observe({entryTypes: ['longtask']});
}"""


def main(events: int) -> None:
    from playwright.sync_api import sync_playwright

    trace = big(events)
    start = time.perf_counter()
    for name in trace.frames:
        trace.frames.table(name)
    took = time.perf_counter() - start
    sizes = f"{len(trace.frames.events):,} events, {len(trace.frames.responses):,} responses"
    print(f"{sizes}; all tables in {took:.1f} s")
    head = ("chart", "rows", "of all", "kB", "make s", "png s", "draw s", "stall ms")
    print(f"{head[0]:<20}" + "".join(f"{word:>9}" for word in head[1:]))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        for name, settings in CHARTS.items():
            measured = measure(trace, name, settings, Path(folder), browser)
            print(
                f"{name:<20}"
                + "".join(f"{value:>9,.{0 if value > 20 else 2}f}" for value in measured)
            )
        browser.close()


def measure(
    trace: Trace, name: str, settings: dict[str, Any], folder: Path, browser: Any
) -> list[float]:
    start = time.perf_counter()
    chart = getattr(trace.plot, name.split()[0])(**settings)
    made = time.perf_counter() - start
    text = json.dumps(chart.to_dict())
    layers = [len(rows) for rows in json.loads(text)["datasets"].values()]
    start = time.perf_counter()
    chart._repr_mimebundle_()
    png = time.perf_counter() - start
    trace.plot.save(folder / "chart.html", chart)
    page = browser.new_page(viewport={"width": 1000, "height": 1200})
    page.goto("about:blank")
    start = time.perf_counter()
    page.goto((folder / "chart.html").as_uri(), wait_until="domcontentloaded")
    page.wait_for_function(DRAWN)
    drawn = time.perf_counter() - start
    page.evaluate(STALLS)
    for x in range(100, 700, 5):
        page.mouse.move(x, 60 + x // 10)
    stall = page.evaluate("window.longest")
    page.close()
    return [max(layers), sum(layers), len(text) / 1000, made, png, drawn, stall]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
