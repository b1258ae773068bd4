"""Why a connection could not be made: one readable error with advice for each way to fail."""

from __future__ import annotations

import json
import re
import socket
import ssl
from typing import TYPE_CHECKING
from urllib.request import getproxies

from websockets.exceptions import (
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
    WebSocketException,
)

from steer_nb.errors import AuthenticationFailed, ConnectionFailed

if TYPE_CHECKING:
    from steer_nb.client.endpoint import Endpoint

__all__ = ["FAILURES", "explain"]

FAILURES = (OSError, WebSocketException, EOFError)
"""What opening a socket can raise; `TimeoutError` is an `OSError`."""

_SIMULATOR = "Without a service, connect(simulate=True) starts the simulator."
_KEY_LIKE = re.compile(r"\b(?:sk|sess|pk)-[\w*.-]+")
_REFUSED = re.compile(r"refused|Errno (?:111|61)\b|WinError (?:1225|10061)")
_NO_WEBSOCKET = {200, 204, 400, 405, 426, 501}
_ADVICE = {
    403: "The key is known but may not do this: check its project, its permissions and the region.",
    404: "Nothing lives at that path: the URL should end in /v1 or /v1/responses.",
    429: "Too many requests or no credit left: wait a little, or look at the account's limits.",
}


def explain(error: BaseException, endpoint: Endpoint) -> ConnectionFailed:
    """Turn what opening a socket raised into an error that a person can act upon.

    Parameters
    ----------
    error : BaseException
        One of `FAILURES`.
    endpoint : Endpoint
        Where it was to go.

    Returns
    -------
    ConnectionFailed
        With `url`, `status` and `advice`; an `AuthenticationFailed` for HTTP 401 and 403.
    """
    if isinstance(error, InvalidStatus):
        return _status(error, endpoint)
    message, advice = _network(error, endpoint)
    return ConnectionFailed(message, url=endpoint.shown, advice=advice)


def _status(error: InvalidStatus, endpoint: Endpoint) -> ConnectionFailed:
    response = error.response
    status, url = response.status_code, endpoint.shown
    said = endpoint.scrub(_said(response.body))
    said = f": {said}" if said else ""
    if status == 401:
        sent = any(name.lower() in ("authorization", "api-key") for name in endpoint.headers)
        message = f"{url} did not accept the API key (HTTP 401{said})."
        advice = "Check the key: is it complete, and does it belong to this service?"
        if not sent:
            message = f"{url} wants an API key (HTTP 401{said})."
            advice = "Pass api_key=..., or set OPENAI_API_KEY before the kernel starts."
        return AuthenticationFailed(message, url=url, status=status, advice=advice)
    if status == 403:
        message = f"{url} does not let this key in (HTTP 403{said})."
        return AuthenticationFailed(message, url=url, status=status, advice=_ADVICE[status])
    message = f"{url} refused the connection (HTTP {status}{said})."
    if 300 <= status < 400:
        target = response.headers.get("Location", "elsewhere").partition("?")[0]
        message = f"{url} sends us on to {target} (HTTP {status})."
        advice = "Redirects are not followed, for the key's sake: give the final URL."
    elif status in _NO_WEBSOCKET:
        message = f"{url} answers but speaks no WebSocket there (HTTP {status}{said})."
        advice = "Check the path; a server for plain HTTP only cannot be used for steering."
    elif status >= 500:
        advice = "The service, or a proxy before it, has a problem: try again in a minute."
    else:
        advice = _ADVICE.get(
            status, "The account, the path or a proxy in between may be the cause."
        )
    return ConnectionFailed(message, url=url, status=status, advice=advice)


def _network(error: BaseException, endpoint: Endpoint) -> tuple[str, str]:
    url, host = endpoint.shown, endpoint.host
    if isinstance(error, TimeoutError):
        return (
            f"{url} did not answer in time.",
            "Is the address right, and does a firewall or proxy let WebSockets through?",
        )
    if isinstance(error, socket.gaierror):
        return f"There is no host called {host!r} ({url}).", "Check its spelling and the network."
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"The certificate of {host} could not be verified ({_reason(error)}).",
            "Behind a company proxy, point SSL_CERT_FILE to its certificates.",
        )
    if isinstance(error, ssl.SSLError):
        return (
            f"{url} speaks no TLS there ({_reason(error)}).",
            "A server without TLS is reached with http:// or ws:// (and without a key).",
        )
    if isinstance(error, OSError) and _REFUSED.search(str(error)):
        if not endpoint.loopback and {"https", "http", "all", "socks"} & getproxies().keys():
            return f"{url} cannot be reached (connection refused).", (
                "A proxy is set here (HTTPS_PROXY and the like): is it running, is it the right "
                "one? NO_PROXY names hosts that need none."
            )
        return f"Nothing listens at {url} (connection refused).", (
            f"Is the server running, on this port? {_SIMULATOR}"
        )
    if isinstance(error, InvalidURI):
        return f"{url} is no WebSocket address.", "It should look like wss://host/v1/responses."
    if isinstance(error, InvalidMessage) and _OLD_HTTP.search(str(error.__cause__)):
        return (
            f"{url} answers in HTTP/1.0, so it speaks no WebSocket there.",
            "A simple web server seems to listen on that port: check the port and the path.",
        )
    if isinstance(error, InvalidMessage | EOFError | ConnectionResetError | BrokenPipeError):
        other = "without TLS (then use http://)" if url.startswith("wss") else "with TLS (https://)"
        return (
            f"{url} closed the connection or did not answer in HTTP.",
            f"Is it another kind of server, or one {other}?",
        )
    detail = endpoint.scrub(f"{type(error).__name__}: {error}")
    if isinstance(error, InvalidHandshake):
        return (
            f"{url} did not complete the WebSocket upgrade ({detail}).",
            "The server, or a proxy in between, does not speak WebSocket there.",
        )
    return f"{url} cannot be reached ({detail}).", "Check the address and the network."


def _reason(error: ssl.SSLError) -> str:
    # Both attributes are missing on errors that were not made by OpenSSL itself.
    return getattr(error, "verify_message", None) or getattr(error, "reason", None) or str(error)


def _said(body: bytes | bytearray | None) -> str:
    """Extract what the service said in the body of a refusal: one short line without keys."""
    if not body:
        return ""
    text = bytes(body).decode("utf-8", "replace").strip()
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        inner = value.get("error", value)
        if isinstance(inner, dict):
            inner = inner.get("message") or inner.get("code") or ""
        text = str(inner)
    elif text.startswith("<"):
        return ""  # a proxy's HTML page helps nobody in one line
    text = _KEY_LIKE.sub("(hidden)", " ".join(text.split()))
    return text if len(text) <= _LONGEST_SAID else text[:_LONGEST_SAID] + "..."


_LONGEST_SAID = 200
# `websockets` reads HTTP/1.1 only, and quotes the status line that it did not understand.
_OLD_HTTP = re.compile(r"HTTP/1\.0")
