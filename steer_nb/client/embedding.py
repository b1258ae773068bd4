"""Starting the simulator that a session speaks with, and that ends with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.errors import ScenarioError

if TYPE_CHECKING:
    from steer_nb.simulator import Simulator
    from steer_nb.simulator.letta import LettaSimulator

__all__ = ["described", "start_letta", "start_simulator"]


def described(simulator: Simulator | LettaSimulator) -> str:
    """Say what it plays."""
    plays = " of a Letta server" if simulator.scenario.dialect == "letta" else ""
    return f"the embedded simulator{plays} (scenario {simulator.scenario.name})"


def start_simulator(wanted: Any = True, **options: Any) -> Simulator:
    """Start what is to be simulated: a `Simulator`, a scenario, or the first one.

    Raises
    ------
    ScenarioError
        No such scenario, or one of the other dialect.
    """
    from steer_nb.simulator import Simulator

    if _plays_letta(wanted):
        what = f"{wanted!r} plays a Letta server"
        msg = f"{what}: connect with letta=True as well, or %steer connect --letta --simulate."
        raise ScenarioError(msg)
    if isinstance(wanted, Simulator):
        return wanted.start()
    scenario = "planner" if wanted is None or isinstance(wanted, bool) else wanted
    return Simulator(scenario, **options).start()


def _plays_letta(wanted: Any) -> bool:
    if not isinstance(wanted, str):
        return getattr(getattr(wanted, "scenario", wanted), "dialect", None) == "letta"
    from steer_nb.simulator import SCENARIOS

    if wanted in SCENARIOS:
        return False
    from steer_nb.simulator.letta.scenarios import SCENARIOS as OF_LETTA

    return wanted in OF_LETTA


def start_letta(wanted: Any = True, **options: Any) -> LettaSimulator:
    """Start what plays a Letta server: a `LettaSimulator`, a scenario, or the first one.

    Raises
    ------
    ScenarioError
        No such scenario, or one of the other dialect.
    """
    from steer_nb.simulator.letta import LettaSimulator

    if isinstance(wanted, LettaSimulator):
        return wanted.start()
    return LettaSimulator(None if isinstance(wanted, bool) else wanted, **options).start()
