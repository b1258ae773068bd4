"""HTTP with a Letta server: plain requests, and answers that come as a stream."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb._version import __version__
from steer_nb.errors import AuthenticationFailed, ConnectionFailed
from steer_nb.extras import extra

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from types import ModuleType

    from steer_nb.client.endpoint import Endpoint

__all__ = ["Http", "Lost", "Reply", "Streamed", "failed"]

CONNECT_S: Final = 10.0
ANSWER_S: Final = 30.0
"""How long a plain answer may keep us waiting."""
SILENCE_S: Final = 90.0
"""How long a stream may say nothing: a ping comes after 20 s of silence (4)."""
_UNAUTHORISED: Final = (401, 403)


class Lost(Exception):
    """The connection failed.

    Parameters
    ----------
    why : str
        In words.
    sent : bool
        Whether the request may have left.
    """

    def __init__(self, why: str, *, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Reply:
    """A plain answer."""

    status: int
    text: str

    @property
    def value(self) -> Any:
        """Its JSON value; None where it is none."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None


class Streamed:
    """An answer whose body comes piece by piece."""

    def __init__(self, http: Http, answer: Any) -> None:
        self._http = http
        self._answer = answer
        self._pieces: AsyncIterator[bytes] | None = None
        self._next: asyncio.Future[bytes | None] | None = None
        self.status: int = answer.status_code

    async def text(self) -> str:
        """All of a short body."""
        with self._http.losses():
            raw: bytes = await self._answer.aread()
        return raw.decode("utf-8", "replace")

    async def piece(self, patience: float | None) -> bytes | None:
        """The next piece; None at the end.

        Raises
        ------
        TimeoutError
            When nothing came for `patience` seconds; it may be asked again.
        Lost
            If the connection failed.
        """
        if self._pieces is None:
            self._pieces = self._answer.aiter_bytes()
        if self._next is None:
            self._next = asyncio.ensure_future(_next(self._pieces))
        done, _ = await asyncio.wait([self._next], timeout=patience)
        if not done:
            raise TimeoutError
        waited, self._next = self._next, None
        with self._http.losses():
            return waited.result()

    async def close(self) -> None:
        """Read no more."""
        if self._next is not None:
            self._next.cancel()
            await asyncio.wait([self._next])
            if not self._next.cancelled():
                self._next.exception()  # it was seen
        await self._answer.aclose()


class _Losses:
    """Turns what httpx raises into `Lost`."""

    def __init__(self, httpx: ModuleType, endpoint: Endpoint) -> None:
        self._httpx = httpx
        self._endpoint = endpoint

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        httpx = self._httpx
        if isinstance(error, httpx.HTTPError | httpx.StreamError | httpx.InvalidURL | OSError):
            if isinstance(error, TimeoutError):
                return  # our own patience
            before = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
            said = str(error) or type(error).__name__
            raise Lost(
                self._endpoint.scrub(said), sent=not isinstance(error, before)
            ) from None  # the cause may quote what is secret


class Http:
    """One client of httpx, for all lanes of a session. It lives on the I/O thread.

    Parameters
    ----------
    endpoint : Endpoint
        Where the server is.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: Any = None
        self._httpx: ModuleType | None = None

    async def open(self) -> None:
        """Get ready.

        Raises
        ------
        MissingExtra
            If httpx is not installed.
        """
        httpx = extra("httpx", "letta", "A Letta server needs httpx")
        endpoint, self._httpx = self._endpoint, httpx
        headers = {name: secret.reveal() for name, secret in endpoint.headers.items()}
        headers.setdefault("User-Agent", f"steer-nb/{__version__}")
        self._client = httpx.AsyncClient(
            base_url=endpoint.address.reveal(),
            headers=headers,
            timeout=httpx.Timeout(ANSWER_S, connect=CONNECT_S, read=SILENCE_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=8),
            trust_env=not endpoint.loopback,  # a proxy has no business with this machine
        )

    def losses(self) -> _Losses:
        """What turns failures of the connection into `Lost`."""
        assert self._httpx is not None
        return _Losses(self._httpx, self._endpoint)

    async def ask(
        self,
        method: str,
        path: str,
        *,
        text: str | None = None,
        query: Mapping[str, str] | None = None,
    ) -> Reply:
        """Send one request and read all of its answer.

        Raises
        ------
        Lost
            If the connection failed, or nothing came for long.
        """
        with self.losses():
            try:
                async with asyncio.timeout(ANSWER_S):
                    answer = await self._client.request(
                        method, path, content=text, params=query, headers=_headers(text)
                    )
            except TimeoutError:
                why = f"no answer within {ANSWER_S:g} seconds"
                raise Lost(why, sent=True) from None
        return Reply(answer.status_code, answer.content.decode("utf-8", "replace"))

    @asynccontextmanager
    async def stream(self, path: str, text: str) -> AsyncIterator[Streamed]:
        """POST, and read the answer as it comes.

        Raises
        ------
        Lost
            If the connection failed.
        """
        headers = {**_headers(text), "Accept": "text/event-stream"}
        request = self._client.build_request("POST", path, content=text, headers=headers)
        with self.losses():
            answer = await self._client.send(request, stream=True)
        streamed = Streamed(self, answer)
        try:
            yield streamed
        finally:
            await streamed.close()

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)


def _headers(text: str | None) -> dict[str, str]:
    return {} if text is None else {"Content-Type": "application/json"}


def failed(endpoint: Endpoint, why: str, status: int | None = None) -> ConnectionFailed:
    """Say why a server cannot be used, and what to try."""
    url = endpoint.shown
    if status in _UNAUTHORISED:
        given = "did not accept the API key" if endpoint.headers else "wants an API key"
        advice = "Check the key." if endpoint.headers else "Pass api_key=..., or set LETTA_API_KEY."
        msg = f"{url} {given} (HTTP {status})."
        return AuthenticationFailed(msg, url=url, status=status, advice=advice)
    advice = "Is the Letta server running there? steer-nb simulate --dialect letta starts one."
    return ConnectionFailed(f"{url} cannot be reached: {why}.", url=url, advice=advice)
