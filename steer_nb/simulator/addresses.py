"""Where a simulator listens, and how that is written."""

from __future__ import annotations

import errno
import ipaddress
from typing import Final

from steer_nb.errors import InvalidInput, SimulatorFailed

__all__ = [
    "CONTROL_PATH",
    "base_url",
    "cannot_listen",
    "check_host",
    "control_url",
    "url_host",
    "websocket_url",
]

CONTROL_PATH: Final = "/simulator"


def check_host(host: str, *, allow_remote: bool = False) -> str:
    """Refuse an address that other machines can reach, unless told otherwise.

    Raises
    ------
    InvalidInput
        The address is no loopback address.

    Examples
    --------
    >>> check_host("127.0.0.1")
    '127.0.0.1'
    """
    if allow_remote or host == "localhost":
        return host
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        msg = (
            f"The simulator would listen on {host!r}, where other machines can reach it: "
            "use 127.0.0.1, or say allow_remote=True if that is what you want."
        )
        raise InvalidInput(msg, field="host", value=host, rule="a loopback address")
    return host


def url_host(host: str) -> str:
    """Write a host as URLs do: IPv6 addresses in brackets.

    Examples
    --------
    >>> url_host("::1")
    '[::1]'
    """
    return f"[{host}]" if ":" in host else host


def cannot_listen(host: str, port: int, error: OSError) -> SimulatorFailed:
    """Say why an address cannot be listened on.

    Examples
    --------
    >>> str(cannot_listen("127.0.0.1", 80, PermissionError(errno.EACCES, "Permission denied")))
    'The simulator cannot listen on 127.0.0.1:80: this user may not. Choose another port, or 0.'
    """
    where = f"{url_host(host)}:{port}"
    if error.errno in (errno.EADDRINUSE, errno.EACCES):
        why = "it is in use" if error.errno == errno.EADDRINUSE else "this user may not"
        msg = f"The simulator cannot listen on {where}: {why}. Choose another port, or 0."
    else:
        msg = f"The simulator cannot listen on {where}: {error.strerror or error}."
    return SimulatorFailed(msg)


def base_url(host: str, port: int) -> str:
    """Write the address as an OpenAI client's ``base_url``.

    Examples
    --------
    >>> base_url("127.0.0.1", 8080)
    'http://127.0.0.1:8080/v1'
    """
    return f"http://{url_host(host)}:{port}/v1"


def control_url(base: str) -> str:
    """Give the address of the control API that belongs to a base URL.

    Examples
    --------
    >>> control_url("http://127.0.0.1:8080/v1")
    'http://127.0.0.1:8080/simulator'
    """
    return base.removesuffix("/v1") + CONTROL_PATH


def websocket_url(base: str) -> str:
    """Give the WebSocket address that belongs to a base URL, by the SDK's rule (1.1).

    Examples
    --------
    >>> websocket_url("http://127.0.0.1:8080/v1")
    'ws://127.0.0.1:8080/v1/responses'
    """
    return "ws" + base.removeprefix("http").rstrip("/") + "/responses"
