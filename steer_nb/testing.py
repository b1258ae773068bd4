"""A pytest plugin with one fixture: a simulator for the tests of any client.

It comes with the package; there is nothing to switch on. A test that takes `responses_simulator`
gets a server of its own on a free port of this machine, which is stopped after the test. Other
tests pay nothing for it.

Examples
--------
In a test file of yours::

    @pytest.mark.responses_simulator("weather")
    def test_my_agent(responses_simulator):
        answer = my_agent.ask("Weather in Porto?", base_url=responses_simulator.base_url)
        assert "18" in answer
        assert [e["fate"] for e in responses_simulator.account if e["kind"] == "steer"] == []
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

# Nothing else is imported up here: every run of pytest, anywhere, loads this module.
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from steer_nb.simulator import Simulator

__all__ = ["responses_simulator"]

_MARKER = "responses_simulator"
_SCENARIO, _SPEED = f"{_MARKER}_scenario", f"{_MARKER}_speed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Tell pytest of the settings that stand in a project's own configuration."""
    parser.addini(_SCENARIO, "scenario of the fixture responses_simulator", default="planner")
    parser.addini(_SPEED, "speed of the fixture responses_simulator; 0: no waiting", default="0")


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest of the marker."""
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(scenario, *, speed, seed, api_key, **options): what the simulator of the "
        f"fixture {_MARKER} plays, and what it does differently",
    )


@pytest.fixture
def responses_simulator(request: pytest.FixtureRequest) -> Iterator[Simulator]:
    """Run a simulator of the Responses API for one test.

    The marker of the same name says which scenario it plays, and takes whatever
    `steer_nb.simulator.Simulator` takes: ``@pytest.mark.responses_simulator("weather", speed=2,
    lane_limit=4)``. Marks of a class or module hold for their tests; the nearest one wins, word by
    word. Without any, the settings ``responses_simulator_scenario`` (planner) and
    ``responses_simulator_speed`` (0, as fast as it goes) of the project hold. A scenario's file is
    looked for beside the test, or beside the project's configuration.

    Yields
    ------
    Simulator
        Running. A client takes its `base_url` (a bare WebSocket client its `url`); `account` lists
        what the server received and applied, oldest first; `advance` puts its clock forward;
        `faults` and `drop` let things go wrong on purpose, as does ``faults=`` in the marker. The
        fixture itself never fails a test that has run.
    """
    from steer_nb.errors import SteerError
    from steer_nb.simulator import Simulator

    try:
        simulator = Simulator(**_asked(request)).start()
    except (SteerError, TypeError) as problem:
        pytest.fail(f"The simulator of {request.node.nodeid}: {problem}", pytrace=False)
    try:
        yield simulator
    finally:
        simulator.stop()


def _asked(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Put together what the project's settings and the test's marks say."""
    config = request.config
    root = config.inipath.parent if config.inipath else config.rootpath
    speed = str(config.getini(_SPEED))
    try:
        asked: dict[str, Any] = {"speed": float(speed)}
    except ValueError:
        msg = f"the setting {_SPEED} must be a number, 0 or more, not {speed!r}."
        raise TypeError(msg) from None
    asked["scenario"] = _beside(root, config.getini(_SCENARIO))
    for mark in reversed(list(request.node.iter_markers(_MARKER))):
        if len(mark.args) > 1:
            msg = f"the mark takes one scenario, not {len(mark.args)}; the rest goes by name."
            raise TypeError(msg)
        asked.update(mark.kwargs)
        if mark.args:
            asked["scenario"] = mark.args[0]
        asked["scenario"] = _beside(request.path.parent, asked["scenario"])
    return asked


def _beside(folder: Path, scenario: Any) -> Any:
    """Find a scenario's file (``mine.py``, ``mine.py:parrot``) from `folder`; others stay."""
    if not isinstance(scenario, str):
        return scenario
    for file in (scenario, scenario.rpartition(":")[0]):
        if file and (folder / file).is_file():
            return str(folder / scenario)
    return scenario
