"""How long a flood of events stalls the page that shows it: the limit is 100 ms.

    python -m tests.benchmarks.page

A real JupyterLab in a real Chromium shows a lane that is written as fast as it goes. What the page
itself costs, it costs in each round; what a busy machine takes from it, seldom: the best counts.
"""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

from tests.support.browser import Browser
from tests.widgets.flooding import flood_a_page
from tests.widgets.lab import Lab

LIMIT_MS = 100


def main() -> None:
    with tempfile.TemporaryDirectory() as name, Browser() as browser:
        folder = Path(name)
        with Lab(folder / "lab", browser) as lab:
            seen = flood_a_page(lab, folder)
    best = min(seen.stalls_ms)
    stalls = ", ".join(f"{stall:.0f}" for stall in seen.stalls_ms)
    gaps = sorted(b - a for paints in seen.paints for a, b in pairwise(paints))
    print(f"{seen.n_events:,} events at {seen.rate:,.0f}/s")
    print(f"longest stall {best:.0f} ms (rounds: {stalls}), {best / LIMIT_MS:.2f} of the limit")
    print(f"median time between paints {gaps[len(gaps) // 2]:.0f} ms")


if __name__ == "__main__":
    main()
