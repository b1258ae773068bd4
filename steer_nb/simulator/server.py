"""The listening socket: one `Service` behind a real WebSocket server."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from websockets.asyncio.server import serve as websocket_serve
from websockets.protocol import State

from steer_nb.simulator.addresses import cannot_listen
from steer_nb.simulator.connection import Connection
from steer_nb.simulator.door import Door
from steer_nb.simulator.handshake import Reception
from steer_nb.simulator.stopping import TURNS, accept_no_more

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from websockets.asyncio.server import ServerConnection

    from steer_nb.simulator.service import Service

__all__ = ["listen"]

# The library tells of every refused handshake and half-open socket; the account is what we look at.
logger = logging.getLogger("steer_nb.simulator.websockets")
logger.setLevel(logging.CRITICAL)

_GRACE_S: Final = 0.5
"""Seconds that who is just connecting when the server stops has to finish that, and be refused."""


@asynccontextmanager
async def listen(
    service: Service, *, host: str, port: int, api_key: str | None
) -> AsyncIterator[int]:
    """Serve while the block runs; gives the port.

    Raises
    ------
    SimulatorFailed
        The port is taken, or the address is not this machine's.
    """

    async def handle(socket: ServerConnection) -> None:
        await Connection(service, cast("Door", socket), service.next_connection()).serve()

    reception, doors = Reception(service, api_key), set[Door]()
    door = partial(Door, reception=reception, doors=doors)
    try:
        server = await websocket_serve(
            handle,
            host,
            port,
            create_connection=cast("type[ServerConnection]", door),
            process_request=reception.process_request,
            server_header=None,
            max_size=service.options.max_message_bytes,
            ping_interval=20,
            ping_timeout=60,
            close_timeout=2,
            logger=logger,
        )
    except OSError as error:
        raise cannot_listen(host, port, error) from error
    try:
        yield next(iter(server.sockets)).getsockname()[1]
    finally:
        await accept_no_more(server.sockets)
        server.close()
        closed = asyncio.ensure_future(server.wait_closed())
        await asyncio.wait([closed], timeout=_GRACE_S)
        for stranger in [door for door in doors if door.state is State.CONNECTING]:
            stranger.transport.abort()  # the library would wait for what it wants, for long
        await closed
        await service.end()
        for left in tuple(doors):  # the library knows nothing of who has not said what it wants
            left.transport.abort()
        for _ in range(TURNS):
            await asyncio.sleep(0)
