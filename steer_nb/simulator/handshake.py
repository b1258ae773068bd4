"""The HTTP side of a connection: who may upgrade, and what the others are told (1.1).

Stored responses are read by plain GETs; see `steer_nb.simulator.retrieval`. Refusals are ordinary
HTTP statuses with the service's JSON error body.
"""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Response

from steer_nb.simulator.refusals import Refusal
from steer_nb.simulator.retrieval import PATH, is_retrieval, retrieve

if TYPE_CHECKING:
    from websockets.http11 import Request

    from steer_nb.simulator.service import Service

__all__ = ["PATH", "Door", "betas", "check", "process"]

_LONGEST_LINE = 8192


def check(request: Request, service: Service, api_key: str | None) -> Response | None:
    """Give the HTTP answer to a request that must not upgrade; None where it may.

    403 for anything that a browser page started: its `Origin` says so, and no page has business
    with a simulator on this machine. 404 for another path, 426 without an upgrade, 401 for a wrong
    key. A GET of a stored response is answered.
    """
    headers = request.headers
    if "Origin" in headers:
        return _answer(
            403,
            "Forbidden",
            "Requests from browser pages are refused.",
            code="origin_not_allowed",
        )
    stored = is_retrieval(request.path)
    if not stored and not _is_ours(request.path):
        return _not_found("GET", request.path)
    if not stored and "websocket" not in ",".join(headers.get_all("Upgrade")).lower():
        return _upgrade_required()
    if api_key is not None and not _authorized(headers, api_key):
        return _answer(
            401,
            "Unauthorized",
            "Incorrect API key provided.",
            code="invalid_api_key",
        )
    return _retrieved(service, request.path) if stored else None


def _retrieved(service: Service, target: str) -> Response:
    try:
        return _json(200, "OK", retrieve(service, target))
    except Refusal as refused:
        phrase = "Not Found" if refused.status == 404 else "Bad Request"
        return _answer(
            refused.status, phrase, refused.message, param=refused.param, code=refused.code
        )


def process(service: Service, api_key: str | None) -> Any:
    """Make the hook that `websockets` calls before it upgrades."""

    def process_request(connection: ServerConnection, request: Request) -> Response | None:  # noqa: ARG001
        return check(request, service, api_key)

    return process_request


def betas(request: Request | None) -> frozenset[str]:
    """Say which betas a connection asks for: in its first ``OpenAI-Beta`` header, by commas."""
    given = [] if request is None else request.headers.get_all("OpenAI-Beta")
    return frozenset(word.strip() for word in (given[0] if given else "").split(","))


class Door(ServerConnection):
    """A connection that also answers what is no GET, such as the SDK's plain HTTP requests.

    `websockets` reads GET requests only and drops the others without a word, which a person then
    sees as a network error.
    """

    _ours: bool | None = None
    _first = b""

    def data_received(self, data: bytes) -> None:
        """Take bytes from the socket; the first line says which kind of request it is."""
        if self._ours is None:
            self._first = data = self._first + data
            line, end, _ = data.partition(b"\n")
            method, _, rest = line.partition(b" ")
            if b"GET".startswith(method) or not method.isalpha():
                self._ours = True
            elif end or len(line) > _LONGEST_LINE:
                self._ours = False
                path = rest.partition(b" ")[0].decode("ascii", "replace")
                name = method.decode("ascii", "replace")
                answer = _upgrade_required() if _is_ours(path) else _not_found(name, path)
                self.transport.write(answer.serialize())
                # The rest of the request is still coming: closing now could lose the answer.
                self.loop.call_later(0.5, self.transport.abort)
        if self._ours:
            super().data_received(data)


def _is_ours(target: str) -> bool:
    return urlsplit(target).path.rstrip("/") == PATH


def _not_found(method: str, target: str) -> Response:
    message = f"Invalid URL ({method} {urlsplit(target).path}). This server has {PATH} only."
    return _answer(404, "Not Found", message)


def _upgrade_required() -> Response:
    return _answer(
        426,
        "Upgrade Required",
        f"{PATH} speaks WebSocket only: connect to it with a WebSocket client.",
        code="upgrade_required",
        Upgrade="websocket",
        Connection="Upgrade, close",
    )


def _authorized(headers: Headers, api_key: str) -> bool:
    given = headers.get_all("Authorization")
    if len(given) != 1:
        return False
    scheme, _, token = given[0].partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(
        token.strip().encode("utf-8", "surrogateescape"), api_key.encode()
    )


def _answer(
    status: int,
    phrase: str,
    message: str,
    *,
    param: str | None = None,
    code: str | None = None,
    **more: str,
) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return _json(status, phrase, {"error": error}, **more)


def _json(status: int, phrase: str, value: Any, **more: str) -> Response:
    body = json.dumps(value).encode()
    headers = Headers(
        {"Content-Type": "application/json", "Content-Length": str(len(body)), **more}
    )
    if "Connection" not in headers:
        headers["Connection"] = "close"
    return Response(status, phrase, headers, body)
