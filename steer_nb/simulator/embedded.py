"""The simulator inside this process: its own daemon thread, its own event loop."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from steer_nb.errors import InvalidInput
from steer_nb.simulator.addresses import base_url, check_host, control_url, websocket_url
from steer_nb.simulator.faults import Fault
from steer_nb.simulator.options import Options
from steer_nb.simulator.remote import Remote, SimulatorFaults
from steer_nb.simulator.scenario import get_scenario
from steer_nb.simulator.scenarios import SCENARIOS
from steer_nb.simulator.service import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from steer_nb.simulator.pace import Clock
    from steer_nb.simulator.scenario import Scenario

__all__ = ["Simulator", "list_scenarios", "serve_forever"]


class Simulator:
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
        self._remote = Remote(self.service)
        self.faults = SimulatorFaults(self._remote)
        self._host = check_host(host, allow_remote=allow_remote)
        self._port = port
        self._api_key = api_key
        self._thread: threading.Thread | None = None
        self._stop: asyncio.Event | None = None
        self._started = threading.Event()
        self._failures: list[Exception] = []
        self._bound: int | None = None

    def __repr__(self) -> str:
        state = self.base_url if self.running else "not running"
        return f"<Simulator {self.scenario.name!r}, {state}>"

    @property
    def scenario(self) -> Scenario:
        """What it plays."""
        return self.service.scenario

    @property
    def running(self) -> bool:
        """Whether it listens."""
        return self._thread is not None and self._thread.is_alive() and self._bound is not None

    @property
    def port(self) -> int:
        """The port that it listens on, or listened on last."""
        return self._port if self._bound is None else self._bound

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as ``base_url``."""
        return base_url(self._host, self.port)

    @property
    def url(self) -> str:
        """The WebSocket address itself."""
        return websocket_url(self.base_url)

    @property
    def control_url(self) -> str:
        """Where its control API is, see `steer_nb.simulator.control`."""
        return control_url(self.base_url)

    @property
    def account(self) -> list[dict[str, Any]]:
        """A copy of the server's account of what it received and applied, oldest first."""
        return self.service.account.entries()

    def advance(self, seconds: float) -> None:
        """Put the clock forward that connections age by (the limit of 60 minutes)."""
        self._remote.do(lambda: self.service.clock.advance(seconds))

    def drop(
        self, code: int | None = None, *, reason: str = "simulated", connection: int | None = None
    ) -> list[int]:
        """Lose all open connections at once, or one; gives their numbers.

        Parameters
        ----------
        code : int, optional
            Close code; without one no close frame is sent.
        reason : str
            What the close frame says.
        connection : int, optional
            Only this one, as the account numbers it.

        Raises
        ------
        InvalidInput
            It is not open, or the code is none.
        """
        what = partial(self.service.drop, code, reason=reason, connection=connection)
        dropped: list[int] = self._remote.do(what)
        return dropped

    def start(self) -> Self:
        """Start listening; returns when connections are accepted.

        Raises
        ------
        SimulatorFailed
            The port is taken.
        """
        if self.running:
            return self
        self._started.clear()
        self._failures.clear()
        self._thread = threading.Thread(target=self._main, name="steer-nb simulator", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._failures:
            self._thread.join()
            self._thread = None
            raise self._failures[0]
        atexit.register(self.stop)
        return self

    def stop(self) -> None:
        """Close all connections (code 1001) and the port. Stopping twice is no error."""
        atexit.unregister(self.stop)
        thread, loop, stop = self._thread, self._remote.loop, self._stop
        if thread is None or loop is None or stop is None:
            return
        if thread.is_alive():
            loop.call_soon_threadsafe(stop.set)
        if thread is not threading.current_thread():
            thread.join(timeout=10)
        self._thread = self._stop = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def _main(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 - raised by start(), on the caller's thread
            self._failures.append(error)
        finally:
            self._remote.loop = None
            self._started.set()

    async def _serve(self) -> None:
        from steer_nb.simulator.server import listen

        self._remote.loop = asyncio.get_running_loop()
        self._remote.thread = threading.current_thread()
        self._stop = asyncio.Event()
        async with listen(
            self.service, host=self._host, port=self._port, api_key=self._api_key
        ) as port:
            self._bound = port
            self._started.set()
            await self._stop.wait()


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
    if not speed >= 0:
        msg = f"The simulator's speed must be 0 or more, not {speed!r}."
        raise InvalidInput(msg, field="speed", value=speed, rule="0 or more")
    service = Service(
        get_scenario(scenario, SCENARIOS),
        seed=seed,
        speed=speed,
        options=Options.of(options),
        clock=clock,
    )
    if isinstance(faults, str | Fault | Mapping):
        msg = f"The simulator's faults are a list of faults, not {faults!r}."
        raise InvalidInput(msg, field="faults", value=faults, rule="a list of faults")
    for fault in [Fault.of(one) for one in (*service.scenario.faults, *faults)]:
        service.faults.arm(fault)
    return service


def list_scenarios() -> list[Scenario]:
    """Give the built-in scenarios: each has a `name` and a `description` of one sentence.

    Examples
    --------
    >>> [one.name for one in list_scenarios()][:2]
    ['planner', 'weather']
    """
    return list(SCENARIOS.values())
