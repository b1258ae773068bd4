from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from steer_nb.simulator import Simulator
from tests.proof.sdk import CONNECTIONS, KEY, LANES, Stage
from tests.support.tap import Tap

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    # The SDK 3.57 opens its synchronous connection in a way that websockets 17 warns about.
    ignore = pytest.mark.filterwarnings(
        r"ignore:connect\(\) must be used as a context manager:DeprecationWarning"
    )
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(ignore)


@pytest.fixture(params=[*CONNECTIONS, *LANES])
def form(request):
    """Name the form of the SDK. What one of them cannot do has a test that says so."""
    return request.param


@pytest.fixture
def stage(form):
    """Start simulators for the SDK in one of its forms; all that passed is checked at the end."""
    stages = []
    with contextlib.ExitStack() as stack:

        def start(scenario="planner", **options):
            options = {"speed": 0, "api_key": KEY, **options}
            simulator = stack.enter_context(Simulator(scenario, **options))
            tap = stack.enter_context(Tap(simulator))
            stages.append(Stage(form, simulator, tap))
            return stages[-1]

        yield start
    for one in stages:
        one.check()
