"""The HTTP side of the port: who may upgrade, and what other requests get (1.1).

Stored responses are read by plain GETs (`steer_nb.simulator.retrieval`), the simulator itself is
looked at and told what to do by its control API (`steer_nb.simulator.control`). Refusals are
ordinary HTTP statuses with the service's JSON error body.
"""

from __future__ import annotations

import hmac
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from websockets.datastructures import Headers
from websockets.http11 import Response

from steer_nb.simulator import control
from steer_nb.simulator.faults import RefuseHandshake
from steer_nb.simulator.refusals import Refusal
from steer_nb.simulator.retrieval import PATH, is_retrieval, retrieve

if TYPE_CHECKING:
    from collections.abc import Callable

    from websockets.asyncio.server import ServerConnection
    from websockets.http11 import Request

    from steer_nb.simulator.service import Service

__all__ = ["PATH", "Reception", "betas", "failed"]

_KNOWN = frozenset(HTTPStatus)


class Reception:
    """Answers HTTP requests; a handshake goes through to the library.

    Parameters
    ----------
    service : Service
        What all connections share.
    api_key : str or None
        The only bearer token that is taken, if there is one.
    """

    def __init__(self, service: Service, api_key: str | None) -> None:
        self._service = service
        self._api_key = api_key
        self._n_handshakes = 0

    def process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a GET; None lets it upgrade. The hook that `websockets` calls."""
        connection.since = self._service.clock.now()  # type: ignore[attr-defined]  # it is a Door
        return self.answer("GET", request.path, request.headers)

    def answer(
        self, method: str, target: str, headers: Headers, body: bytes = b""
    ) -> Response | None:
        """Give the HTTP answer to a request; None to one that may upgrade.

        403 for anything that a browser page started: its `Origin` or `Sec-Fetch-Site` says so, and
        no page has business with a simulator on this machine. 404 for another path, 426 without an
        upgrade, 401 for a wrong key.
        """
        if "Origin" in headers or headers.get("Sec-Fetch-Site", "none") != "none":
            return _error(
                403, "Requests from browser pages are refused.", code="origin_not_allowed"
            )
        is_get = method == "GET"
        plain = self._plain(method, target, body)
        if plain is None and not _is_ours(target):
            message = (
                f"Invalid URL ({method} {urlsplit(target).path}). This server has {PATH} only."
            )
            return _error(404, message)
        upgrades = is_get and "websocket" in ",".join(headers.get_all("Upgrade")).lower()
        if plain is None and not upgrades:
            return _upgrade_required()
        if self._api_key is not None and not _authorized(headers, self._api_key):
            return _error(401, "Incorrect API key provided.", code="invalid_api_key")
        if plain is None:
            return self._refused_on_purpose()
        try:
            status, value = plain()
        except Refusal as refused:
            return _refusal(refused)
        return _json(status, value)

    def _plain(self, method: str, target: str, body: bytes) -> Callable[[], tuple[int, Any]] | None:
        """What answers a request that is no handshake."""
        if control.is_control(target):
            return lambda: control.answer(self._service, method, target, body)
        if method == "GET" and is_retrieval(target):
            return lambda: (200, retrieve(self._service, target))
        return None

    def _refused_on_purpose(self) -> Response | None:
        self._n_handshakes += 1
        for armed in self._service.faults.strike("handshake", 0, self._n_handshakes):
            if isinstance(armed.fault, RefuseHandshake):
                more = {}
                if armed.fault.retry_after is not None:
                    more["Retry-After"] = str(armed.fault.retry_after)
                return _error(armed.fault.status, "The handshake is refused on purpose.", **more)
        return None


def betas(request: Request | None) -> frozenset[str]:
    """Say which betas a connection asks for: in its first ``OpenAI-Beta`` header, by commas."""
    given = [] if request is None else request.headers.get_all("OpenAI-Beta")
    return frozenset(word.strip() for word in (given[0] if given else "").split(","))


def _is_ours(target: str) -> bool:
    return urlsplit(target).path.rstrip("/") == PATH


def _upgrade_required() -> Response:
    return _error(
        426,
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


def failed(message: str, *, status: int = 400) -> Response:
    """Answer what could not be read as a request."""
    return _error(status, message)


def _refusal(refused: Refusal) -> Response:
    more = {"Allow": ", ".join(refused.allowed)} if isinstance(refused, control.NotAllowed) else {}
    return _error(refused.status, refused.message, param=refused.param, code=refused.code, **more)


def _error(
    status: int, message: str, *, param: str | None = None, code: str | None = None, **more: str
) -> Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return _json(status, {"error": error}, **more)


def _json(status: int, value: Any, **more: str) -> Response:
    body = json.dumps(value).encode()
    headers = Headers(
        {"Content-Type": "application/json", "Content-Length": str(len(body)), **more}
    )
    if "Connection" not in headers:
        headers["Connection"] = "close"
    phrase = HTTPStatus(status).phrase if status in _KNOWN else "Error"
    return Response(status, phrase, headers, body)
