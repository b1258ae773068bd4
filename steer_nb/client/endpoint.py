"""Where to connect and with which credentials: the rules for URLs and keys.

A key goes only to ``wss://`` or to this machine, and appears nowhere: not in a repr, a log, an
error or a trace.
"""

from __future__ import annotations

import base64
import inspect
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlencode, urlsplit, urlunsplit

from steer_nb.client.io import io_thread
from steer_nb.errors import InsecureKey, InvalidInput

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "OPENAI_URL",
    "Endpoint",
    "Secret",
    "checked_headers",
    "from_environment",
    "is_loopback",
    "of_client",
    "of_url",
    "refuse_unencrypted",
    "shown_url",
    "split_url",
]

OPENAI_URL = "https://api.openai.com/v1"
"""Where OpenAI's API lives; the WebSocket is at ``/responses`` below it [O, chapter 1.1]."""

_SCHEMES = {"http": "ws", "https": "wss", "ws": "ws", "wss": "wss"}
_SECRET_NAME = re.compile(
    r"auth|key|token|secret|cookie|password|signature|credential", re.IGNORECASE
)
_SHORTEST_SECRET = 4
_LOGIN = re.compile(r"//[^/@\s]+@")
# What the official client sends with HTTP requests and has no meaning in an upgrade.
_NOT_FOR_SOCKETS = re.compile(r"(accept|content-type|user-agent|x-stainless-.*)\Z", re.IGNORECASE)


class Secret:
    """A value that never shows itself.

    Examples
    --------
    >>> Secret("sk-1234")
    Secret(...)
    >>> str(Secret("sk-1234"))
    'Secret(...)'
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value itself, for the one place that sends it."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(...)"

    def __reduce__(self) -> tuple[Any, ...]:
        msg = "A secret is not to be pickled."
        raise TypeError(msg)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One place to connect to.

    Attributes
    ----------
    shown : str
        The URL without credentials and query: what may be shown and recorded.
    host : str
        Host name for messages.
    loopback : bool
        Whether it is this machine.
    """

    address: Secret
    shown: str
    host: str
    loopback: bool
    headers: Mapping[str, Secret] = field(default_factory=dict)

    @property
    def betas(self) -> tuple[str, ...]:
        """The betas that the upgrade request asks for."""
        found = [s.reveal() for name, s in self.headers.items() if name.lower() == "openai-beta"]
        return tuple(word.strip() for value in found for word in value.split(",") if word.strip())

    def with_beta(self, beta: str) -> Endpoint:
        """The same place, asking for one beta more.

        They share one header: a service may read only the first of that name.
        """
        if beta in self.betas:
            return self
        headers = {n: s for n, s in self.headers.items() if n.lower() != "openai-beta"}
        headers["OpenAI-Beta"] = Secret(", ".join((*self.betas, beta)))
        return replace(self, headers=headers)

    def scrub(self, text: str) -> str:
        """`text` without any secret of this endpoint, and without a proxy's name and password."""
        pieces = [urlsplit(self.address.reveal()).query]
        for name, secret in self.headers.items():
            if _SECRET_NAME.search(name):
                pieces.append(secret.reveal().partition(" ")[2])
                pieces.append(secret.reveal())
        for piece in pieces:
            if len(piece) >= _SHORTEST_SECRET:
                text = text.replace(piece, "(hidden)")
        return _LOGIN.sub("//(hidden)@", text)


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, by name or address.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("api.openai.com")
    (True, True, False)
    """
    host = host.rstrip(".").lower()
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def shown_url(url: str) -> str:
    """`url` as it may be shown: without user name, password, query and fragment.

    Examples
    --------
    >>> shown_url("wss://me:pass@example.org/v1/responses?token=1")
    'wss://example.org/v1/responses?...'
    """
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, place, parts.path, "", "")) + ("?..." if parts.query else "")


def of_url(
    url: str,
    *,
    api_key: str | None = None,
    headers: Mapping[str, str] | None = None,
    query: Mapping[str, object] | None = None,
    bare_path: str = "/v1",
) -> Endpoint:
    """Build the endpoint for a base URL or a full WebSocket URL.

    Parameters
    ----------
    url : str
        ``http``, ``https``, ``ws`` or ``wss``, with or without ``/responses`` at its end.
    api_key : str, optional
        Goes as a bearer token; an empty one counts as none.
    headers : mapping, optional
        More headers; one named Authorization replaces the key.
    query : mapping, optional
        Query parameters to add.
    bare_path : str
        The path of a URL that has none.

    Raises
    ------
    InvalidInput
        If it is no URL, or a header or the key cannot travel in an HTTP header.
    InsecureKey
        If a credential would go unencrypted to another machine.

    Examples
    --------
    >>> of_url("http://127.0.0.1:8123/v1/").shown
    'ws://127.0.0.1:8123/v1/responses'
    """
    parts = split_url(url)
    host = parts.hostname or ""
    path = parts.path.rstrip("/") or bare_path
    if not path.endswith("/responses"):
        path += "/responses"
    extra = urlencode({name: str(value) for name, value in (query or {}).items()})
    full_query = "&".join(piece for piece in (parts.query, extra) if piece)
    place = parts.netloc.rpartition("@")[2]
    scheme = _SCHEMES[parts.scheme.lower()]
    address = urlunsplit((scheme, place, path, full_query, ""))
    sent = checked_headers(parts, api_key, headers or {})
    endpoint = Endpoint(
        address=Secret(address),
        shown=shown_url(address),
        host=host,
        loopback=is_loopback(host),
        headers=sent,
    )
    if scheme == "ws":
        refuse_unencrypted(endpoint, full_query)
    return endpoint


def refuse_unencrypted(endpoint: Endpoint, query: str = "") -> None:
    """Refuse to send a credential to another machine for everybody on the way to read.

    Raises
    ------
    InsecureKey
        Names the header or the parameter.
    """
    names = [name for name in endpoint.headers if _SECRET_NAME.search(name)]
    names += [name for name in re.findall(r"(?:^|&)([^=&]+)", query) if _SECRET_NAME.search(name)]
    if names and not endpoint.loopback:
        msg = (
            f"{names[0]} would travel unencrypted to {endpoint.host} ({endpoint.shown}). Use "
            "https:// or wss://, or pass api_key='' to connect without a key."
        )
        raise InsecureKey(msg)


def from_environment(
    url: str | None = None,
    api_key: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Endpoint | None:
    """Build the endpoint of what is given, filled up from OPENAI_API_KEY and OPENAI_BASE_URL.

    Returns
    -------
    Endpoint or None
        None if neither a URL nor a key is given or set: then there is nowhere to connect to.
    """
    key = os.environ.get("OPENAI_API_KEY", "").strip() if api_key is None else api_key.strip()
    place = url if url is not None else os.environ.get("OPENAI_BASE_URL", "").strip()
    if not key and not place:
        return None
    own = {} if url is not None else _ORGANIZATION
    sent = {
        header: value
        for header, variable in own.items()
        if (value := os.environ.get(variable, "").strip())
    }
    return of_url(place or OPENAI_URL, api_key=key, headers={**sent, **(headers or {})})


_ORGANIZATION = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}


def of_client(
    client: Any, *, api_key: str | None = None, headers: Mapping[str, str] | None = None
) -> Endpoint:
    """Build the endpoint of an official client object, ``openai.OpenAI()`` or its async twin.

    Only attributes are read; the package itself is not needed. The URL rule is the SDK's own:
    `websocket_base_url` if set, else `base_url` with its scheme changed, then ``/responses``
    [S, chapter 1.1].

    Raises
    ------
    InvalidInput
        If the object has no `base_url`.
    """
    base = getattr(client, "websocket_base_url", None) or getattr(client, "base_url", None)
    if base is None or isinstance(client, type):
        kind = f"class {client.__name__}" if isinstance(client, type) else type(client).__name__
        msg = f"client= takes an openai.OpenAI() object; the {kind} has no base_url."
        raise InvalidInput(msg, field="client", rule="needs base_url and api_key")
    key = api_key
    if key is None:
        # A client may ask a function of its owner for a fresh key, and its async twin awaits it.
        provider = getattr(client, "_api_key_provider", None)
        key = provider() if callable(provider) else getattr(client, "api_key", None)
        if inspect.isawaitable(key):
            key = io_thread.run(_await(key))
    own = getattr(client, "default_headers", None)
    # The SDK marks headers to leave out with an object of its own: only texts are sent.
    merged = {
        name: value
        for name, value in (own.items() if isinstance(own, Mapping) else ())
        if isinstance(value, str) and not _NOT_FOR_SOCKETS.match(name)
    }
    query = getattr(client, "default_query", None)
    return of_url(
        str(base),
        api_key=key if isinstance(key, str) else None,
        headers={**merged, **(headers or {})},
        query=query if isinstance(query, Mapping) else None,
        bare_path="",
    )


async def _await(awaitable: Any) -> Any:
    return await awaitable


def split_url(url: str) -> SplitResult:
    """Take a URL apart.

    Raises
    ------
    InvalidInput
        If it is none that one can connect to.
    """
    rule = "http, https, ws or wss, such as https://api.openai.com/v1"
    try:
        parts = urlsplit(url.strip())
        valid = parts.scheme.lower() in _SCHEMES and bool(parts.hostname)
        _ = parts.port  # raises on a port that is no number
    except ValueError:
        valid = False
    if not valid:
        shown = re.sub(r"//[^/]*@", "//", url.strip()).partition("?")[0]
        msg = f"{shown!r} is no URL to connect to; it must begin with {rule}."
        raise InvalidInput(msg, field="url", value=shown, rule=rule)
    return parts


def checked_headers(
    parts: SplitResult, api_key: str | None, headers: Mapping[str, str]
) -> dict[str, Secret]:
    """The headers to send, the key among them.

    Raises
    ------
    InvalidInput
        If one cannot travel in an HTTP header.
    """
    result: dict[str, Secret] = {}
    if api_key and api_key.strip():
        result["Authorization"] = Secret(f"Bearer {api_key.strip()}")
    elif parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        result["Authorization"] = Secret("Basic " + base64.b64encode(pair.encode()).decode())
    for name, value in headers.items():
        for known in [known for known in result if known.lower() == name.lower()]:
            del result[known]
        result[name] = Secret(str(value).strip())
    for name, secret in result.items():
        value = secret.reveal()
        if (
            not value.isascii()
            or not value.isprintable()
            or not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name, re.ASCII)
        ):
            what = "The API key" if name == "Authorization" else f"The header {name!r}"
            rule = "printable ASCII only"
            msg = f"{what} cannot be sent: {rule}. Was it copied with a line break or a quote?"
            raise InvalidInput(msg, field=name, rule=rule)
    return result
