"""Where a process cannot have a network of its own: refuses connections to anywhere but here."""

import socket

_connect, _connect_ex = socket.socket.connect, socket.socket.connect_ex


def _refuse(place: object) -> None:
    if isinstance(place, tuple) and place[0] not in ("127.0.0.1", "::1", "localhost", ""):
        msg = f"there is no network here: {place!r}"
        raise OSError(msg)


def connect(self: socket.socket, address: object) -> None:
    """Connect, if that is this machine."""
    _refuse(address)
    return _connect(self, address)


def connect_ex(self: socket.socket, address: object) -> int:
    """Connect, if that is this machine."""
    _refuse(address)
    return _connect_ex(self, address)


socket.socket.connect, socket.socket.connect_ex = connect, connect_ex
