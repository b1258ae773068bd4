"""Where a Letta server is: URLs, keys, and what of it is shown."""

from __future__ import annotations

import pytest

from steer_nb import errors
from steer_nb.letta import LETTA_URL, letta_endpoint


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch):
    for name in ("LETTA_BASE_URL", "LETTA_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (None, LETTA_URL),
        ("http://127.0.0.1:8283", "http://127.0.0.1:8283"),
        ("http://127.0.0.1:8283/v1/", "http://127.0.0.1:8283"),
        ("https://letta.example.org/below/v1", "https://letta.example.org/below"),
        ("https://me:pass@letta.example.org", "https://letta.example.org"),
    ],
)
def test_urls(url, shown):
    assert letta_endpoint(url).shown == shown


def test_the_environment_fills_up(monkeypatch):
    monkeypatch.setenv("LETTA_BASE_URL", "https://letta.example.org")
    monkeypatch.setenv("LETTA_API_KEY", "sk-let-secret")
    endpoint = letta_endpoint()
    assert endpoint.shown == "https://letta.example.org"
    assert endpoint.headers["Authorization"].reveal() == "Bearer sk-let-secret"
    assert "secret" not in repr(endpoint)
    assert not letta_endpoint(api_key="").headers


def test_a_key_goes_only_where_nobody_reads_along():
    with pytest.raises(errors.InsecureKey, match=r"unencrypted to letta\.example\.org"):
        letta_endpoint("http://letta.example.org", api_key="sk-let-secret")
    assert letta_endpoint("http://letta.example.org", api_key="").host == "letta.example.org"
    assert letta_endpoint("http://localhost:8283", api_key="sk-let-secret").loopback


@pytest.mark.parametrize("url", ["letta.example.org", "ftp://x", "http://"])
def test_what_is_no_url(url):
    with pytest.raises(errors.InvalidInput, match="no URL"):
        letta_endpoint(url)
