from __future__ import annotations

import pytest

from steer_nb import connect
from steer_nb.client import registry
from steer_nb.simulator import Simulator
from tests.client.stage import Stage


@pytest.fixture(autouse=True)
def _no_sessions_left(monkeypatch):
    """Every test begins without sessions, and leaves none open."""
    monkeypatch.setattr(registry, "_sessions", {})
    yield
    for session in registry.sessions().values():
        session.close()


@pytest.fixture
def stage():
    with Stage() as stage:
        yield stage


@pytest.fixture
def session(stage):
    """A session with the stage, and a journal that the stage can look into."""
    session = connect(stage.base_url, quiet=True, reconnect=False)
    stage.journal = session.journal_path
    yield session
    session.close()


@pytest.fixture
def simulate():
    """Connect to simulators as fast as they go; both end with the test."""
    running = []

    def start(scenario, *, journal=False, tools=(), name="default", **options):
        options.setdefault("speed", 0)
        simulator = Simulator(scenario, **options).start()
        session = connect(
            simulator.base_url, journal=journal, tools=tools, name=name, quiet=True, reconnect=False
        )
        running.append((session, simulator))
        return session, simulator

    yield start
    for session, simulator in running:
        session.close()
        simulator.stop()
