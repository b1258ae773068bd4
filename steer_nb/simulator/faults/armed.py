"""The faults that are armed, and whom they strike."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from steer_nb.errors import InvalidInput
from steer_nb.simulator.faults.fault import Facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.account import Account
    from steer_nb.simulator.faults.fault import Fault, Way

__all__ = ["Armed", "Faults", "facts_of"]


class Armed:
    """A fault that is armed.

    Attributes
    ----------
    id : str
        Names it for as long as the simulator lives.
    fault : Fault
        What it does.
    connection : int or None
        The only connection that it strikes, where it was armed by the script of a response.
    struck : int
        How many it struck.
    lifted : asyncio.Event
        Set when it is taken away: what it holds back goes on.
    """

    def __init__(self, id: str, fault: Fault, connection: int | None) -> None:  # noqa: A002 - the wire's word
        self.id = id
        self.fault = fault
        self.connection = connection
        self.struck = 0
        self.lifted = asyncio.Event()
        self._seen: Counter[int] = Counter()

    @property
    def spent(self) -> bool:
        """Whether it strikes no more."""
        return self.fault.times is not None and self.struck >= self.fault.times

    def strikes(self, way: Way, connection: int, facts: Facts) -> bool:
        """Count what passes, and say whether the fault strikes it."""
        if self.spent or self.connection not in (None, connection):
            return False
        if not self.fault.fits(way, connection, facts):
            return False
        self._seen[connection] += 1
        if self._seen[connection] < self.fault.at:
            return False
        self.struck += 1
        return True

    def as_json(self) -> dict[str, Any]:
        """Give its id, the fault, and how often it struck."""
        only = {} if self.connection is None else {"connection": self.connection}
        return {"id": self.id, **self.fault.as_json(), **only, "struck": self.struck}


class Faults:
    """All armed faults of one simulator. Only on the server's thread.

    Parameters
    ----------
    account : Account
        Each strike is an entry in it, of the kind ``fault``.

    Attributes
    ----------
    armed : dict
        By id; those that strike no more, too.
    """

    def __init__(self, account: Account) -> None:
        self._account = account
        self.armed: dict[str, Armed] = {}
        self._n_armed = 0

    def __iter__(self) -> Iterator[Armed]:
        return iter(tuple(self.armed.values()))

    def arm(self, fault: Fault, connection: int | None = None) -> Armed:
        """Arm a fault; its messages are counted from now on."""
        self._n_armed += 1
        armed = Armed(f"fault_{self._n_armed}", fault, connection)
        self.armed[armed.id] = armed
        return armed

    def remove(self, fault_id: str) -> None:
        """Take a fault away; what it holds back goes on.

        Raises
        ------
        InvalidInput
            No fault has that id.
        """
        armed = self.armed.pop(fault_id, None)
        if armed is None:
            known = ", ".join(self.armed) or "none"
            msg = f"There is no fault with the id {fault_id!r}; armed are: {known}."
            raise InvalidInput(msg, field="id", value=fault_id, rule="the id of an armed fault")
        armed.lifted.set()

    def clear(self) -> None:
        """Take all faults away."""
        for fault_id in tuple(self.armed):
            self.remove(fault_id)

    def strike(
        self,
        way: Way,
        connection: int,
        number: int,
        message: str | bytes | None = None,
        facts: Facts | None = None,
    ) -> list[Armed]:
        """Say which faults strike what passes, in the order in which they were armed.

        Parameters
        ----------
        way : str
            What passes: ``out``, ``in``, ``ping`` or ``handshake``.
        connection : int
            Whose it is; 0 for a handshake, which has none yet.
        number : int
            Which it is of its connection and way, from 1: for the account.
        message : str or bytes, optional
            The message.
        facts : Facts, optional
            What is known of it already; else they are read from the message.
        """
        if not self.armed:
            return []
        if facts is None:
            facts = Facts() if message is None else facts_of(message)
        struck = [one for one in self if one.strikes(way, connection, facts)]
        for one in struck:
            self._account.add(
                "fault",
                connection=connection or None,
                id=one.id,
                fault=one.fault.word,
                way=way,
                number=number,
                type=facts.type,
                lane=facts.stream_id,
            )
        return struck


def facts_of(message: str | bytes) -> Facts:
    """Read a message's type and lane, as far as it has them.

    Examples
    --------
    >>> facts_of('{"type": "response.created", "stream_id": "main"}')
    Facts(type='response.created', stream_id='main')
    >>> facts_of("{")
    Facts(type=None, stream_id=None)
    """
    try:
        event = json.loads(message)
    except ValueError:
        return Facts()
    if not isinstance(event, dict):
        return Facts()
    kind, lane = event.get("type"), event.get("stream_id")
    return Facts(kind if isinstance(kind, str) else None, lane if isinstance(lane, str) else None)
