from __future__ import annotations

import pytest

from steer_nb.simulator import Simulator


@pytest.fixture
def simulate():
    """Start simulators that are stopped after the test; as fast as they go unless told."""
    running = []

    def start(scenario="planner", **options):
        options.setdefault("speed", 0)
        simulator = Simulator(scenario, **options).start()
        running.append(simulator)
        return simulator

    yield start
    for simulator in running:
        simulator.stop()
