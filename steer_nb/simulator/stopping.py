"""The end of a listening socket: who came in the same moment is let in, and then sent away."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["TURNS", "accept_no_more"]

TURNS: Final = 4
"""Of the loop: an accepted socket gets a transport, that is made known, and its callbacks run."""


async def accept_no_more(sockets: Iterable[Any]) -> None:
    """Accept nothing more, and wait until what was accepted has a transport.

    asyncio accepts a socket in one turn of its loop, and makes its transport in the next: a server
    that is closed in between forgets the socket without closing it (CPython before 3.12).

    Parameters
    ----------
    sockets : iterable of socket
        Those that listen.
    """
    loop = asyncio.get_running_loop()
    for socket in sockets:
        try:
            loop.remove_reader(socket.fileno())
        except NotImplementedError:  # Windows, where a loop accepts in another way
            return
    for _ in range(TURNS):
        await asyncio.sleep(0)
