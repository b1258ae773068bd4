"""The line of a session: what it sends and receives on, whatever that is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.errors import NotConnected

if TYPE_CHECKING:
    from steer_nb.client.core import Core

__all__ = ["AGAIN", "Line"]

AGAIN = "Connect again with steer_nb.connect() or %steer connect; nothing is sent twice by itself."


class Line:
    """What all lines have in common. It lives on the I/O thread.

    Parameters
    ----------
    core : Core
        The session's insides.

    Attributes
    ----------
    connected : bool
        Whether it is open.
    gone : bool
        Whether it is not, and no other will be tried: of one piece, for other threads to read.
    ended : str or None
        Why it is not.
    names_used : set of str
        Lane names that went out on this connection; some services count them.
    limit_s : float or None
        How long the service lets a connection live.
    """

    limit_s: float | None = None

    def __init__(self, core: Core) -> None:
        self._core = core
        self.names_used: set[str] = set()
        self.connected = False
        self.gone = True
        self.ended: str | None = None

    @property
    def limit_reached(self) -> bool:
        """Whether the service said that this connection is too old."""
        return False

    @property
    def takes_messages(self) -> bool:
        """Whether something can be sent."""
        return self.connected

    def works_on(self, stream_id: str | None) -> bool:  # noqa: ARG002 - a socket tells all
        """Whether something goes on for a lane that the ledger does not show."""
        return False

    def require(self) -> None:
        """Raise `NotConnected`, with the reason, unless something can be sent."""
        if not self.takes_messages:
            raise NotConnected(self.ended or f"Session {self._core.name} is not connected. {AGAIN}")

    async def open(self) -> None:
        """Connect and begin to read; raises what went wrong."""
        raise NotImplementedError

    async def again(self) -> None:
        """Connect anew, after the connection was lost; raises what went wrong."""
        raise NotImplementedError

    def post(self, key: str, text: str) -> None:
        """Let a recorded and synced message out; returns at once."""
        raise NotImplementedError

    async def rotate(self, reason: str) -> None:
        """End this connection, on which nothing goes on; nothing is sent on it any more."""
        raise NotImplementedError

    async def close(self, code: int, reason: str) -> None:
        """Close it for good. Closing again does nothing."""
        raise NotImplementedError
