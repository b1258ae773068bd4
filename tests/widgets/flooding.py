"""A lane that is written as fast as it goes, in a real page: what that costs the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.simulator import Say, Simulator, Think, scenario
from tests.widgets.lab import run_cell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from steer_nb.simulator import Step, Turn
    from tests.widgets.lab import Lab

__all__ = ["WORDS", "Flooded", "flood_a_page"]

WORDS = 30_000


@scenario("flood", "Writes as fast as it can.")
def flood(turn: Turn) -> Iterator[Step]:
    yield Think("**Planning**\n\nIt will be much.")
    ends = dict.fromkeys(range(0, WORDS, 60), "\n\n")
    yield Say("".join(f"*word{n}* {ends.get(n, '')}" for n in range(WORDS)))


FLOOD = [
    (
        "import steer_nb\nfrom steer_nb.widgets import LaneView\n"
        "session = steer_nb.connect('URL', journal=False, quiet=True)\n"
        "lane = session.lane('flood')\n"
        "LaneView(session, lane)"
    ),
    "response = lane.create('Go.')",
    (
        "times = [e.t for e in session.trace if e.kind == 'in']\n"
        "times = times[-len(times) // ROUNDS:]\n"
        "print('RATE', len(times) / (times[-1] - times[0]), len(times))"
    ),
]
SHOWN = """() => [...document.querySelectorAll(".jp-OutputArea-output")]
  .filter(host => host.querySelector(".snb-part")).length == 3"""
WATCH = """() => {
  window.stalls = []; window.paints = [];
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) window.stalls.push(entry.duration);
  }).observe({type: "longtask"});
  const hosts = [...document.querySelectorAll(".jp-OutputArea-output")]
    .filter(host => host.querySelector(".snb-part"));
  for (const host of hosts)
    new MutationObserver(() => window.paints.push(performance.now()))
      .observe(host, {childList: true});
  return hosts.length;
}"""


@dataclass(frozen=True)
class Flooded:
    """What was seen.

    Attributes
    ----------
    stalls_ms : list of float
        The longest block of the page's thread in each round.
    paints : list of list of float
        When the page was painted in each round, in milliseconds.
    size : int
        Elements of ours in the page.
    rate : float
        Events a second that the kernel took in.
    n_events : int
        How many of them in one round.
    """

    stalls_ms: list[float]
    paints: list[list[float]]
    size: int
    rate: float
    n_events: int


def flood_a_page(lab: Lab, folder: Path, rounds: int = 3) -> Flooded:
    """Let a model write, several times, and watch the page."""
    with Simulator(flood, speed=0) as simulator:
        places = {"URL": simulator.base_url, "ROUNDS": str(rounds)}
        cells = FLOOD
        for name, value in places.items():
            cells = [cell.replace(name, value) for cell in cells]
        with lab.notebook(folder, cells) as page:
            run_cell(page, 0)
            page.get_by_text("Nothing has been sent on this lane yet.").wait_for(timeout=30_000)
            page.wait_for_function(SHOWN)
            assert page.evaluate(WATCH) == 3
            seen = [_flooded(page) for _ in range(rounds)]
            size = page.evaluate("document.querySelectorAll('.steer-nb *').length")
            run_cell(page, 2)
            said = page.get_by_text("RATE ")
            said.last.wait_for(timeout=20_000)
            _, rate, events = said.last.inner_text().split()
    stalls, paints = zip(*seen, strict=True)
    return Flooded(list(stalls), list(paints), size, float(rate), int(events))


def _flooded(page: Any) -> tuple[float, list[float]]:
    """Let the model write, and return the page's longest stall and when it was painted."""
    page.evaluate("window.stalls.length = window.paints.length = 0")
    run_cell(page, 1)
    page.locator(".snb-head").get_by_text("writing").wait_for(timeout=30_000)
    page.locator(".snb-head").get_by_text("idle").wait_for(timeout=60_000)
    page.locator(".snb-middle").get_by_text(f"word{WORDS - 1}").last.wait_for()
    page.wait_for_timeout(500)
    stalls, paints = page.evaluate("[window.stalls, window.paints]")
    return max(stalls, default=0), paints
