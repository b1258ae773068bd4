"""Asking a service over HTTP about a stored response: ``GET /responses/{id}``, ``/input_items``.

It is the service that the socket goes to, with the same headers, proxy and certificates. Nothing is
changed by asking. It waits, so it belongs on a thread of its own.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response

from steer_nb._version import __version__
from steer_nb.client.handshake import explain
from steer_nb.errors import ConnectionFailed, ServerRefused

if TYPE_CHECKING:
    from steer_nb.client.endpoint import Endpoint
    from steer_nb.errors import SteerError

__all__ = ["Answer", "ask"]

TIMEOUT_S: Final = 10.0
"""How long a single answer may keep us waiting for its next bytes."""
WHOLE_S: Final = 60.0
"""How long all pages of one response may take."""
MOST_BYTES: Final = 64 * 2**20
MOST_PAGES: Final = 1000
_PAGE: Final = 100
_CHUNK: Final = 2**16
_NO_SUCH_PATH: Final = frozenset({404, 405, 410, 426, 501})
# Without these a picture that was sent is listed without what says which one it was.
_INCLUDE: Final = ("message.input_image.image_url", "computer_call_output.output.image_url")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service said of a response.

    Attributes
    ----------
    response : dict or None
        The response object; None where the service has no such response.
    input_items : list of dict or None
        What it was given, oldest first; None where that was not asked.
    """

    response: dict[str, Any] | None
    input_items: list[dict[str, Any]] | None = None


def ask(endpoint: Endpoint, response_id: str, *, input_items: bool = False) -> Answer:
    """Ask about one response. It waits for the network; never call it on the I/O thread.

    Parameters
    ----------
    endpoint : Endpoint
        Where the session is connected to.
    response_id : str
        Which response.
    input_items : bool
        Whether to ask for its input items, too: all pages of them.

    Raises
    ------
    ServerRefused
        If the service does not have these paths, or refused.
    ConnectionFailed
        If it did not answer, or not with what belongs there; an `AuthenticationFailed` for HTTP
        401 and 403.
    """
    conversation = _Conversation(endpoint)
    response = conversation.get(response_id)
    if response is None:
        return Answer(None)
    if response.get("id") != response_id or not isinstance(response.get("status"), str):
        why = f"what it gives for {response_id} is not that response"
        raise conversation.odd(why)
    return Answer(response, conversation.items(response_id) if input_items else None)


class _AsItIs(urllib.request.HTTPErrorProcessor):
    """Every answer is given as it is: no redirect takes a key along to another place."""

    def http_response(self, request: Any, response: Any) -> Any:  # noqa: ARG002
        return response

    https_response = http_response


class _Conversation:
    """All requests about one response."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._end = time.monotonic() + WHOLE_S
        self._left = MOST_BYTES
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler(_proxies(endpoint)),
            urllib.request.HTTPSHandler(context=ssl.create_default_context()),
            _AsItIs,
        )

    def items(self, response_id: str) -> list[dict[str, Any]] | None:
        """Give all input items, oldest first; None where the service does not list them."""
        found: list[dict[str, Any]] = []
        query = [("order", "asc"), ("limit", str(_PAGE)), *(("include[]", one) for one in _INCLUDE)]
        seen: set[str] = set()
        for _ in range(MOST_PAGES):
            after = [("after", found[-1]["id"])] if found else []
            try:
                page = self.get(response_id, "input_items", query=[*query, *after])
            except ServerRefused as error:
                if error.status in _NO_SUCH_PATH and not found:
                    return None
                raise
            data = None if page is None else page.get("data")
            if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
                why = f"the input items of {response_id} are no list"
                raise self.odd(why)
            found += data
            if not data or page is None or page.get("has_more") is not True:
                return found
            last = found[-1].get("id")
            if not isinstance(last, str) or last in seen:
                break
            seen.add(last)
        why = f"the pages of input items of {response_id} do not end"
        raise self.odd(why)

    def get(
        self, response_id: str, *path: str, query: list[tuple[str, str]] | None = None
    ) -> dict[str, Any] | None:
        """GET one path below ``/responses``; None where there is no such response."""
        endpoint = self._endpoint
        url = _url(endpoint, (response_id, *path), query or [])
        headers = {name: secret.reveal() for name, secret in endpoint.headers.items()}
        headers |= {"Accept": "application/json", "User-Agent": f"steer-nb/{__version__}"}
        request = urllib.request.Request(url, headers=headers)  # noqa: S310 - http(s), by `_url`
        try:
            with self._opener.open(request, timeout=TIMEOUT_S) as answer:
                status, body = answer.status, self._read(answer)
        except (OSError, http.client.HTTPException) as error:
            # The cause may quote what is secret, and is told in our own words.
            raise self._failed(error) from None
        value = _object(body)
        if status != 200:
            if _is_missing(status, value, response_id):
                return None
            raise self._refused(status, answer.reason, Headers(answer.headers.items()), body)
        if value is None:
            why = "it does not answer with a JSON object"
            raise self.odd(why)
        return value

    def _read(self, answer: Any) -> bytes:
        """Read a body, no longer and no larger than it may be."""
        pieces: list[bytes] = []
        while piece := answer.read1(_CHUNK):
            self._left -= len(piece)
            if self._left < 0:
                why = f"its answer is larger than {MOST_BYTES // 2**20} MiB"
                raise self.odd(why)
            if time.monotonic() > self._end:
                raise TimeoutError
            pieces.append(piece)
        return b"".join(pieces)

    def _refused(self, status: int, phrase: str, headers: Headers, body: bytes) -> SteerError:
        endpoint = self._endpoint
        if status in _NO_SUCH_PATH:
            msg = (
                f"This service does not serve GET /responses ({endpoint.host} answers HTTP "
                f"{status}): nothing was settled."
            )
            return ServerRefused(msg, status=status)
        if status in (401, 403, 429) or not 400 <= status < 500:
            return explain(InvalidStatus(Response(status, phrase, headers, body)), endpoint)
        error = (_object(body) or {}).get("error")
        said = str(error.get("message")) if isinstance(error, dict) else "no reason given"
        msg = f"{endpoint.host} refused to say (HTTP {status}: {endpoint.scrub(said)[:200]})."
        return ServerRefused(msg, status=status)

    def _failed(self, error: BaseException) -> ConnectionFailed:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if isinstance(reason, TimeoutError):
            return self.odd("it did not answer in time")
        if isinstance(reason, OSError):
            return explain(reason, self._endpoint)
        return self.odd(self._endpoint.scrub(f"it did not answer in HTTP ({reason})"))

    def odd(self, why: str) -> ConnectionFailed:
        """An answer that is of no use, or none."""
        message = f"{self._endpoint.host} was asked over HTTP, and {why}: nothing was settled."
        return ConnectionFailed(message, url=self._endpoint.shown, advice="Ask again later.")


def _is_missing(status: int, value: dict[str, Any] | None, response_id: str) -> bool:
    """Whether it is the response that is not found, and not the path."""
    error = (value or {}).get("error")
    if status != 404 or not isinstance(error, dict):
        return False
    said = str(error.get("message") or "").replace(response_id, "").lower()
    return "not found" in said and "url" not in said and "path" not in said


def _url(endpoint: Endpoint, path: tuple[str, ...], query: list[tuple[str, str]]) -> str:
    parts = urlsplit(endpoint.address.reveal())
    scheme = {"ws": "http", "wss": "https"}[parts.scheme]
    below = "/".join(quote(piece, safe="") for piece in path)
    asked = "&".join(piece for piece in (parts.query, urlencode(query)) if piece)
    return urlunsplit((scheme, parts.netloc, f"{parts.path}/{below}", asked, ""))


def _proxies(endpoint: Endpoint) -> dict[str, str]:
    """The proxy that the socket goes through, for HTTP; none to this machine itself."""
    if endpoint.loopback:
        return {}
    try:
        from websockets.proxy import get_proxy
        from websockets.uri import parse_uri
    except ImportError:  # websockets 14 knows no proxies
        return urllib.request.getproxies()
    proxy = get_proxy(parse_uri(endpoint.address.reveal()))
    if proxy is None:
        return {}
    if not proxy.startswith("http"):
        message = f"{endpoint.host} is reached through a SOCKS proxy, which cannot carry this."
        advice = "Set HTTPS_PROXY to a proxy for HTTP, or NO_PROXY for this host."
        raise ConnectionFailed(message, url=endpoint.shown, advice=advice)
    return {"http": proxy, "https": proxy}


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
