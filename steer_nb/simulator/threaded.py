"""A server on a thread of its own: what the simulators of all dialects have in common."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from steer_nb.errors import InvalidInput
from steer_nb.simulator.addresses import check_host, control_url
from steer_nb.simulator.faults import Fault
from steer_nb.simulator.remote import Remote, SimulatorFaults

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from steer_nb.simulator.control import Service
    from steer_nb.simulator.options import OptionSet
    from steer_nb.simulator.scenario import Scenario

__all__ = ["Dialect", "Threaded", "arm", "check_speed"]


class Dialect(NamedTuple):
    """What a command needs of a dialect: its simulator, and what that can be told.

    Attributes
    ----------
    simulator : callable
        Makes a simulator.
    options, faults, scenarios
        What there is of each.
    about_options : str
        Said below a list of the options.
    """

    simulator: Callable[..., Threaded]
    options: type[OptionSet]
    faults: Mapping[str, type[Fault]]
    scenarios: Mapping[str, Scenario]
    about_options: str


class Threaded:
    """A simulator with its own daemon thread and its own event loop.

    Parameters
    ----------
    host, port : str, int
        Where to listen; port 0 takes a free one.
    api_key : str, optional
        The only bearer token that is taken.
    allow_remote : bool
        Allow a host that other machines can reach.
    """

    service: Service

    def __init__(self, host: str, port: int, *, api_key: str | None, allow_remote: bool) -> None:
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

    def _listen(self) -> AbstractAsyncContextManager[int]:
        """Serve while the block runs; gives the port."""
        raise NotImplementedError

    def __repr__(self) -> str:
        state = self.base_url if self.running else "not running"
        return f"<{type(self).__name__} {self.scenario.name!r}, {state}>"

    @property
    def base_url(self) -> str:
        """What a client takes as its ``base_url``."""
        raise NotImplementedError

    @property
    def advice(self) -> str:
        """How it is used, in one line."""
        raise NotImplementedError

    @property
    def control_url(self) -> str:
        """Where its control API is, see `steer_nb.simulator.control`."""
        return control_url(self.base_url)

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
        self._remote.loop = asyncio.get_running_loop()
        self._remote.thread = threading.current_thread()
        self._stop = asyncio.Event()
        async with self._listen() as port:
            self._bound = port
            self._started.set()
            await self._stop.wait()


def check_speed(speed: float) -> None:
    """Refuse a speed that is none.

    Raises
    ------
    InvalidInput
        It is negative.
    """
    if not speed >= 0:
        msg = f"The simulator's speed must be 0 or more, not {speed!r}."
        raise InvalidInput(msg, field="speed", value=speed, rule="0 or more")


def arm(service: Service, faults: Sequence[Fault | str | Mapping[str, Any]]) -> None:
    """Arm the faults of a service's scenario, and those that it is given.

    Raises
    ------
    InvalidInput
        They are no list, or one cannot be read.
    """
    if isinstance(faults, str | Fault | Mapping):
        msg = f"The simulator's faults are a list of faults, not {faults!r}."
        raise InvalidInput(msg, field="faults", value=faults, rule="a list of faults")
    for fault in [service.fault_kind.of(one) for one in (*service.scenario.faults, *faults)]:
        service.faults.arm(fault)
