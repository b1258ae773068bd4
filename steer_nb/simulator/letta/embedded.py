"""The Letta simulator inside this process: its own daemon thread, its own event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.errors import ScenarioError
from steer_nb.simulator.addresses import base_url
from steer_nb.simulator.letta.faults import LETTA_FAULTS
from steer_nb.simulator.letta.options import LettaOptions
from steer_nb.simulator.letta.recorded import Recorded
from steer_nb.simulator.letta.scenario import LettaScenario
from steer_nb.simulator.letta.scenarios import SCENARIOS
from steer_nb.simulator.letta.service import LettaService
from steer_nb.simulator.scenario import get_scenario
from steer_nb.simulator.threaded import Dialect, Threaded, arm, check_speed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from os import PathLike
    from pathlib import Path

    from steer_nb.simulator.faults import Fault
    from steer_nb.simulator.pace import Clock
    from steer_nb.simulator.scenario import Scenario
    from steer_nb.trace import Trace

__all__ = ["LETTA", "LettaSimulator", "list_scenarios"]


class LettaSimulator(Threaded):
    """A server on this machine that behaves like Letta's V1 API, version 0.16.8.

    Parameters
    ----------
    scenario : str, Path or LettaScenario
        A built-in name, a file (``mine.yaml`` with ``dialect: letta``, ``mine.py``; ``run.jsonl``,
        a trace), or a scenario.
    seed : int or str
        Ids depend on it: the same seed and requests give the same messages.
    speed : float
        2 is twice as fast; 0 as fast as it goes.
    host, port : str, int
        Where to listen; port 0 takes a free one.
    api_key : str, optional
        If given, other bearer tokens are refused with HTTP 401.
    allow_remote : bool
        Allow a host that other machines can reach.
    clock : Clock, optional
        What runs and locks age by.
    faults : sequence of Fault, str or mapping
        What goes wrong on purpose, see `steer_nb.simulator.letta.faults`.
    remembers : Trace or path, optional
        A recorded trace whose server this one takes the place of: it knows its agents, its
        conversations and runs, and what waits there waits here.
    **options
        Fields of `LettaOptions`.

    Raises
    ------
    ScenarioError
        No such scenario, or one of the other dialect; or a trace that is.
    InvalidInput
        An unknown option or fault, a negative speed, or a host that is not loopback.

    Examples
    --------
    >>> import json
    >>> from urllib.request import urlopen
    >>> with LettaSimulator("files", speed=0) as simulator:
    ...     agents = json.load(urlopen(f"{simulator.base_url}/v1/agents/"))
    >>> [(agent["name"], agent["id"] == simulator.agent_id) for agent in agents]
    [('files', True)]
    """

    service: LettaService

    def __init__(
        self,
        scenario: str | Path | Scenario | None = "files",
        *,
        seed: int | str = 0,
        speed: float = 1.0,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = None,
        allow_remote: bool = False,
        clock: Clock | None = None,
        faults: Sequence[Fault | str | Mapping[str, Any]] = (),
        remembers: Trace | str | PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        check_speed(speed)
        found = get_scenario(scenario, SCENARIOS)
        if not isinstance(found, LettaScenario):
            msg = (
                f"The scenario {found.name!r} is one for the Responses API, not for Letta. "
                f"For Letta there are {', '.join(SCENARIOS)}; or a file that says dialect: letta."
            )
            raise ScenarioError(msg)
        settings = LettaOptions.of(options)
        self.service = LettaService(
            found,
            seed=seed,
            speed=speed,
            options=settings,
            clock=clock,
            remembers=None if remembers is None else Recorded.of(remembers),
        )
        arm(self.service, faults)
        super().__init__(host, port, api_key=api_key, allow_remote=allow_remote)

    @property
    def base_url(self) -> str:
        """What Letta's client takes as ``base_url``."""
        return base_url(self._host, self.port).removesuffix("/v1")

    @property
    def agent_id(self) -> str:
        """The agent that is there from the start, with all tools of the scenario."""
        return next(iter(self.service.agents))

    @property
    def advice(self) -> str:
        """How it is used, in one line."""
        return f"With letta-client: Letta(base_url={self.base_url!r}); its agent: {self.agent_id}"

    def _listen(self) -> AbstractAsyncContextManager[int]:
        from steer_nb.simulator.letta.web import listen

        return listen(self.service, host=self._host, port=self._port, api_key=self._api_key)


def list_scenarios() -> list[LettaScenario]:
    """Give the built-in scenarios: each has a `name` and a `description` of one sentence.

    Examples
    --------
    >>> [one.name for one in list_scenarios()][:2]
    ['files', 'parallel']
    """
    return list(SCENARIOS.values())


LETTA = Dialect(
    LettaSimulator,
    LettaOptions,
    LETTA_FAULTS,
    SCENARIOS,
    "Each default is what was measured on a server of version 0.16.8.",
)
"""Letta's dialect, for the command line."""
