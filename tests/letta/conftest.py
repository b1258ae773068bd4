from __future__ import annotations

import pandas as pd
import pytest

import steer_nb
from steer_nb.client import registry
from steer_nb.simulator.letta import LettaSimulator

FRAMES = (
    "events", "responses", "items", "tool_calls", "steers", "required_inputs", "lanes",
    "connections", "usage", "problems",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _no_sessions_left(monkeypatch):
    """Every test begins without sessions, and leaves none open."""
    monkeypatch.setattr(registry, "_sessions", {})
    yield
    for session in registry.sessions().values():
        session.close()


@pytest.fixture
def serve(tmp_path):
    """Start simulators and connect to them; what was recorded is held against its file."""
    running = []

    def start(scenario="files", *, tools=(), journal=False, reconnect=None, faults=(), **options):
        options.setdefault("speed", 0)
        simulator = LettaSimulator(scenario, faults=faults, **options).start()
        running.append(simulator)
        patience = steer_nb.Reconnect(attempts=3, first_s=0.01, longest_s=0.05)
        session = steer_nb.connect(
            letta=simulator.base_url,
            api_key="",
            journal=journal,
            tools=tools,
            quiet=True,
            reconnect=patience if reconnect is None else reconnect,
        )
        return session, simulator

    yield start
    try:
        for number, session in enumerate(registry.sessions().values()):
            session.close()
            same_when_loaded(session, tmp_path / f"trace-{number}.jsonl")
    finally:
        for simulator in running:
            simulator.stop()


def same_when_loaded(session, path):
    """The frames of a live trace are those of its file."""
    live = session.trace
    loaded = steer_nb.load(live.save(path))
    assert loaded.header.dialect == "letta"
    for name in FRAMES:
        pd.testing.assert_frame_equal(live.frame(name), loaded.frame(name), obj=name)
