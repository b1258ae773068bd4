"""A shell without a kernel, and sessions that end with their test."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import steer_nb
from steer_nb.client import registry
from steer_nb.simulator import AwaitSteer, Say, Simulator, scenario
from tests.widgets.forming import SOON, cut, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator import Step, Turn


@scenario("patient", "Says something, waits for a steer, and repeats what it was told.")
def patient(turn: Turn) -> Iterator[Step]:
    if turn.steers:
        yield Say(f"Steered: {turn.steers[-1]}")
        return
    yield Say(turn.prompt)
    if "wait" in turn.prompt:
        yield AwaitSteer(20)


@pytest.fixture(scope="module", autouse=True)
def _light_heap() -> None:
    """IPython collects garbage at each reset: let it not look at what other tests have left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def _shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.ipython_dir = str(tmp_path_factory.mktemp("ipython"))
    shell = InteractiveShell.instance(config=config)
    yield shell
    InteractiveShell.clear_instance()


@pytest.fixture
def shell(_shell: InteractiveShell) -> Iterator[InteractiveShell]:
    """A shell with the magics, and nothing connected before or after."""
    _close_all()
    _shell.reset(new_session=False)
    _shell.run_line_magic("load_ext", "steer_nb")
    yield _shell
    _close_all()
    _shell.run_line_magic("unload_ext", "steer_nb")


def _close_all() -> None:
    for session in registry.sessions().values():
        session.close()
    registry._sessions.clear()


@pytest.fixture
def session(shell: InteractiveShell) -> Any:
    """A session with a model that waits for a steer when it is told to wait."""
    return steer_nb.connect(
        simulate=steer_nb.Simulator(patient, speed=0), journal=False, quiet=True
    )


@pytest.fixture
def lost(shell: Any, capsys: Any) -> Any:
    """A lane whose response and steer were cut; the next connection is there."""
    session = steer_nb.connect(
        simulate=Simulator(patient, speed=0), journal=False, quiet=True, reconnect=SOON
    )
    lane = session.lane("trip")
    lane.create("Hello.").wait(10)
    lane.create("Please wait.")
    until(lambda: lane.state == "running")
    session.core.line.transport.send = _nowhere  # type: ignore[method-assign]
    lane.steer("Keep it short")
    cut(session)
    return session


async def _nowhere(_: str) -> None:
    """A socket whose other end is gone, and does not say so."""
