"""Draw the README's timeline anew, light and dark, from a run on the simulator.

    python -m tests.frames.plots.pictures

Not a test: run it when the look has changed, and look at what it wrote.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import steer_nb
from steer_nb import Simulator

if TYPE_CHECKING:
    from steer_nb.trace import Trace

IMAGES = Path(__file__).parents[3] / "notebooks" / "images"


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"18 °C and sunny in {city}"


def run() -> Trace:
    """One planner that is steered twice, a trip that waits for a person, and a critic's fork."""
    with steer_nb.connect(simulate=Simulator("planner", speed=1), journal=False, quiet=True) as one:
        plan = one.lane("planner")
        plan.create("Plan a two-day trip to Lisbon.")
        time.sleep(2.6)
        trip = one.lane("trip", tools=[get_weather])
        trip.create("What will the weather be in Lisbon?")
        time.sleep(0.5)
        plan.steer("Keep it under 300 euros.")
        trip.wait(30)
        time.sleep(1.3)
        plan.steer("We are two adults and a child.")
        for needed in trip.required_input:
            time.sleep(1.0)
            trip.fill(needed.key, output="18 °C and sunny")
        trip.send_continuation().wait(30)
        critic = one.lane("critic", fork="trip")
        critic.send("Is that a good idea?")
        critic.wait(30)
        plan.wait(60)
        return one.trace


def main() -> None:
    trace = run()
    chart = trace.plot.timeline()
    IMAGES.mkdir(exist_ok=True)
    for name, background in (("light", "white"), ("dark", "#111111")):
        path = IMAGES / f"timeline-{name}.png"
        trace.plot.save(path, chart.properties(background=background, padding=14))
        print(path)


if __name__ == "__main__":
    main()
