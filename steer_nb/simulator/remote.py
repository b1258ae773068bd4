"""A running simulator's faults, from any thread: the server's own thread does what is asked."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from steer_nb.errors import SimulatorFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from steer_nb.simulator.control import Service
    from steer_nb.simulator.faults import Fault

__all__ = ["Remote", "SimulatorFaults"]

_PATIENCE_S = 10.0


class Remote:
    """Runs something on the server's thread, or here while there is none.

    Parameters
    ----------
    service : Service
        Belongs to that thread.

    Attributes
    ----------
    loop, thread : AbstractEventLoop and Thread, or None
        Those of the server, while it runs.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.loop: asyncio.AbstractEventLoop | None = None
        self.thread: threading.Thread | None = None

    def do(self, what: Callable[[], Any]) -> Any:
        """Run it and give its result; what it raises is raised here.

        Raises
        ------
        SimulatorFailed
            The simulator ends at this very moment.
        """
        loop = self.loop
        if loop is None or self.thread is threading.current_thread():
            return what()

        async def run() -> Any:
            return what()

        running = run()
        try:
            return asyncio.run_coroutine_threadsafe(running, loop).result(_PATIENCE_S)
        except (RuntimeError, CancelledError, TimeoutError) as error:
            running.close()
            msg = "The simulator was stopped meanwhile."
            raise SimulatorFailed(msg) from error


class SimulatorFaults:
    """The armed faults of a simulator; see `steer_nb.simulator.faults`.

    Iterating gives each as a mapping: its `id`, its word under ``fault``, its fields, and how often
    it `struck`.

    Examples
    --------
    >>> from steer_nb.simulator import Drop, Simulator
    >>> simulator = Simulator("weather", speed=0)
    >>> simulator.faults.add(Drop(at=5, code=1011), "stall at=2 seconds=0.5")
    ['fault_1', 'fault_2']
    >>> simulator.faults.remove("fault_2")
    >>> list(simulator.faults)
    [{'id': 'fault_1', 'fault': 'drop', 'at': 5, 'code': 1011, 'struck': 0}]
    """

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def __repr__(self) -> str:
        armed = list(self)
        return f"<{len(armed)} faults: {armed}>" if armed else "<no faults>"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        faults = self._remote.service.faults
        return iter(self._remote.do(lambda: [one.as_json() for one in faults]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def add(self, *faults: Fault | str | Mapping[str, Any]) -> list[str]:
        """Arm faults; gives their ids. All are armed, or none.

        Parameters
        ----------
        *faults : Fault, str or mapping
            See `Fault.of`.

        Raises
        ------
        InvalidInput
            One of them cannot be read.
        """
        read = [self._remote.service.fault_kind.of(fault) for fault in faults]
        arm = self._remote.service.faults.arm
        ids: list[str] = self._remote.do(lambda: [arm(fault).id for fault in read])
        return ids

    def remove(self, fault_id: str) -> None:
        """Take one away; what it holds back goes on.

        Raises
        ------
        InvalidInput
            No fault has that id.
        """
        self._remote.do(lambda: self._remote.service.faults.remove(fault_id))

    def clear(self) -> None:
        """Take all away."""
        self._remote.do(self._remote.service.faults.clear)
