"""The simulator inside this process: its own daemon thread, its own event loop."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from steer_nb.errors import ScenarioError
from steer_nb.simulator.addresses import base_url, check_host, websocket_url
from steer_nb.simulator.faults import FAULTS
from steer_nb.simulator.options import Options
from steer_nb.simulator.scenario import get_scenario
from steer_nb.simulator.scenarios import SCENARIOS
from steer_nb.simulator.service import Service
from steer_nb.simulator.threaded import Dialect, Threaded, arm, check_speed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from steer_nb.simulator.faults import Fault
    from steer_nb.simulator.pace import Clock
    from steer_nb.simulator.scenario import Scenario

__all__ = ["RESPONSES", "Simulator", "list_scenarios", "serve_forever"]


class Simulator(Threaded):
    """A WebSocket server on this machine that behaves like the Responses API.

    Parameters
    ----------
    scenario : str, Path or Scenario
        A built-in name, a file (``mine.yaml``, ``mine.py``, ``mine.py:NAME``), a recorded trace
        (``run.jsonl``), or a scenario.
    seed : int or str
        Ids, pauses and padding depend on it: the same seed gives the same messages.
    speed : float
        2 is twice as fast; 0 as fast as it goes.
    host, port : str, int
        Where to listen; port 0 takes a free one.
    api_key : str, optional
        If given, other bearer tokens are refused with HTTP 401.
    allow_remote : bool
        Allow a host that other machines can reach.
    clock : Clock, optional
        What connections age by.
    faults : sequence of Fault, str or mapping
        What goes wrong on purpose, see `steer_nb.simulator.faults`.
    **options
        Fields of `Options`: limits, and answers to questions that the documents leave open.

    Raises
    ------
    ScenarioError
        No such scenario.
    InvalidInput
        An unknown option or fault, a negative speed, or a host that is not loopback.

    Examples
    --------
    >>> with Simulator("weather", speed=0, faults=["drop at=5"]) as simulator:
    ...     simulator.base_url.startswith("http://127.0.0.1:")
    True
    >>> simulator.account
    []
    >>> list(simulator.faults)
    [{'id': 'fault_1', 'fault': 'drop', 'at': 5, 'struck': 0}]
    """

    service: Service

    def __init__(
        self,
        scenario: str | Path | Scenario | None = "planner",
        *,
        seed: int | str = 0,
        speed: float = 1.0,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = None,
        allow_remote: bool = False,
        clock: Clock | None = None,
        faults: Sequence[Fault | str | Mapping[str, Any]] = (),
        **options: Any,
    ) -> None:
        self.service = make_service(
            scenario, seed=seed, speed=speed, options=options, clock=clock, faults=faults
        )
        super().__init__(host, port, api_key=api_key, allow_remote=allow_remote)

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as ``base_url``."""
        return base_url(self._host, self.port)

    @property
    def url(self) -> str:
        """The WebSocket address itself."""
        return websocket_url(self.base_url)

    @property
    def advice(self) -> str:
        """How it is used, in one line."""
        return f"In a notebook: %steer connect {self.base_url}"

    def _listen(self) -> AbstractAsyncContextManager[int]:
        from steer_nb.simulator.server import listen

        return listen(self.service, host=self._host, port=self._port, api_key=self._api_key)


async def serve_forever(
    scenario: str | Path | Scenario | None = "planner",
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    seed: int | str = 0,
    speed: float = 1.0,
    api_key: str | None = None,
    allow_remote: bool = False,
    ready: Callable[[str], None] | None = None,
    faults: Sequence[Fault | str | Mapping[str, Any]] = (),
    **options: Any,
) -> None:
    """Serve on the running event loop until cancelled, for programs that have one of their own.

    Parameters
    ----------
    ready : callable, optional
        Called once with the base URL (``http://127.0.0.1:PORT/v1``) when connections are accepted.
    scenario, host, port, seed, speed, api_key, allow_remote, faults, **options
        As for `Simulator`.

    Raises
    ------
    ScenarioError
        No such scenario.
    InvalidInput
        An unknown option, a negative speed, or a host that is not loopback.
    SimulatorFailed
        The port is taken.
    """
    from steer_nb.simulator.server import listen

    service = make_service(scenario, seed=seed, speed=speed, options=options, faults=faults)
    host = check_host(host, allow_remote=allow_remote)
    async with listen(service, host=host, port=port, api_key=api_key) as bound:
        if ready is not None:
            ready(base_url(host, bound))
        await asyncio.get_running_loop().create_future()


def make_service(
    scenario: str | Path | Scenario | None,
    *,
    seed: int | str,
    speed: float,
    options: dict[str, Any],
    clock: Clock | None = None,
    faults: Sequence[Fault | str | Mapping[str, Any]] = (),
) -> Service:
    """Check what a simulator is told and put it together.

    Raises
    ------
    ScenarioError, InvalidInput
        As `Simulator` says.
    """
    check_speed(speed)
    found = get_scenario(scenario, SCENARIOS)
    if found.dialect != "responses":
        msg = f"The scenario {found.name!r} is one for Letta: play it with --dialect letta."
        raise ScenarioError(msg)
    service = Service(
        found,
        seed=seed,
        speed=speed,
        options=Options.of(options),
        clock=clock,
    )
    arm(service, faults)
    return service


def list_scenarios() -> list[Scenario]:
    """Give the built-in scenarios: each has a `name` and a `description` of one sentence.

    Examples
    --------
    >>> [one.name for one in list_scenarios()][:2]
    ['planner', 'weather']
    """
    return list(SCENARIOS.values())


RESPONSES = Dialect(
    Simulator,
    Options,
    FAULTS,
    SCENARIOS,
    "The letters are questions that the documents leave open; each default is the documented\n"
    "or likeliest answer. To question k, whether a successor's response.created lists the\n"
    "steers that it carries, there is no option: no schema has a field that could.",
)
"""The dialect of the Responses API, for the command line."""
