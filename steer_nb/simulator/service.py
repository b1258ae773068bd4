"""What all connections of one simulator share."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, ClassVar

from steer_nb.errors import InvalidInput
from steer_nb.simulator.account import Account
from steer_nb.simulator.chain import Store
from steer_nb.simulator.faults import Drop, Fault, Faults
from steer_nb.simulator.ids import Ids
from steer_nb.simulator.pace import EPOCH, Clock, Pace
from steer_nb.simulator.playback import Player

if TYPE_CHECKING:
    from steer_nb.simulator.connection import Connection
    from steer_nb.simulator.options import Options
    from steer_nb.simulator.scenario import Scenario

__all__ = ["Service"]


class Service:
    """The model behind the socket: its script, its seed, its memory, its account."""

    fault_kind: ClassVar[type[Fault]] = Fault

    def __init__(
        self,
        scenario: Scenario,
        *,
        seed: int | str,
        speed: float,
        options: Options,
        clock: Clock | None = None,
    ) -> None:
        self.scenario = scenario
        self.speed = speed
        self.options = options
        recording = scenario.recording
        # Ids of its own: what a recording holds was perhaps made with this very seed.
        self.ids = Ids(seed if recording is None else f"{seed}/{recording.trace_id}")
        self.player = None if recording is None else Player(recording, self.ids)
        self.clock = clock or Clock()
        self.account = Account()
        self.faults = Faults(self.account)
        self.store = Store(options.stored_responses)
        self.connections: dict[int, Connection] = {}
        self._n_connections = 0
        self._left: set[asyncio.Task[None]] = set()

    def next_connection(self) -> int:
        """Number the connections, from 1: ids depend on it."""
        self._n_connections += 1
        return self._n_connections

    def overview(self) -> list[dict[str, Any]]:
        """Describe the open connections."""
        return [
            {
                "connection": one.number,
                "lanes": [name for name in one.lanes if name is not None],
                "sent": one.line.n_sent,
                "received": one.line.n_received,
            }
            for one in self.connections.values()
        ]

    def drop(
        self,
        code: int | None = None,
        *,
        reason: str = "simulated",
        connection: int | None = None,
    ) -> list[int]:
        """Lose connections at once, as the fault `Drop` does; gives their numbers.

        Raises
        ------
        InvalidInput
            The code is no close code, or `connection` is not open.
        """
        fault = Drop(code=code, reason=reason, connection=connection)
        if connection is not None and connection not in self.connections:
            known = ", ".join(map(str, self.connections)) or "none"
            msg = f"Connection {connection} is not open; open are: {known}."
            raise InvalidInput(msg, field="connection", value=connection, rule="an open one")
        dropped = [one for one in self.connections if connection in (None, one)]
        for one in dropped:
            self.account.add("fault", connection=one, fault="drop", way="at_once")
            self.connections[one].line.cut(fault.code, fault.reason)
        return dropped

    def adopt(self, task: asyncio.Task[None]) -> None:
        """Keep what goes on although its connection is gone."""
        self._left.add(task)
        task.add_done_callback(self._left.discard)

    async def end(self) -> None:
        """Stop what still goes on: the server ends."""
        left = tuple(self._left)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def pace(self) -> Pace:
        """Make the rhythm for one response."""
        return Pace(self.speed, self.options.breath_s)

    def stamp(self, n_responses: int) -> float:
        """Say when a response was created: in wall time, or at speed 0 the same in every run."""
        return EPOCH + n_responses if self.speed <= 0 else int(time.time())
