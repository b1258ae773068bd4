"""Where a Letta server is, and with which key."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final
from urllib.parse import urlunsplit

from steer_nb.client.endpoint import (
    Endpoint,
    Secret,
    checked_headers,
    is_loopback,
    refuse_unencrypted,
    shown_url,
    split_url,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LETTA_URL", "letta_endpoint"]

LETTA_URL: Final = "https://api.letta.com"
"""The hosted service; the official SDK's default (chapter 0)."""

_SCHEMES: Final = {"ws": "http", "wss": "https"}


def letta_endpoint(
    url: str | None = None,
    api_key: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Endpoint:
    """Build the endpoint of a Letta server, filled up from LETTA_BASE_URL and LETTA_API_KEY.

    Parameters
    ----------
    url : str, optional
        ``http`` or ``https``, with or without ``/v1`` at its end.
    api_key : str, optional
        Goes as a bearer token; an empty one counts as none.
    headers : mapping, optional
        More headers; one named Authorization replaces the key.

    Raises
    ------
    InvalidInput
        If it is no URL, or a header or the key cannot travel.
    InsecureKey
        If a credential would go unencrypted to another machine.

    Examples
    --------
    >>> letta_endpoint("http://127.0.0.1:8283/v1/", api_key="").shown
    'http://127.0.0.1:8283'
    """
    given = url or os.environ.get("LETTA_BASE_URL", "").strip() or LETTA_URL
    key = os.environ.get("LETTA_API_KEY", "").strip() if api_key is None else api_key.strip()
    parts = split_url(given)
    scheme = _SCHEMES.get(parts.scheme.lower(), parts.scheme.lower())
    path = parts.path.rstrip("/").removesuffix("/v1")
    address = urlunsplit((scheme, parts.netloc.rpartition("@")[2], path, "", ""))
    host = parts.hostname or ""
    endpoint = Endpoint(
        address=Secret(address),
        shown=shown_url(address),
        host=host,
        loopback=is_loopback(host),
        headers=checked_headers(parts, key, headers or {}),
    )
    if scheme == "http":
        refuse_unencrypted(endpoint)
    return endpoint
