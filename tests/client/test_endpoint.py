from __future__ import annotations

import asyncio
import pickle

import openai
import pytest

from steer_nb.client.endpoint import (
    Secret,
    from_environment,
    is_loopback,
    of_client,
    of_url,
    shown_url,
)
from steer_nb.errors import InsecureKey, InvalidInput

KEY = "sk-test-1234567890"


def bearer(endpoint):
    return endpoint.headers["Authorization"].reveal()


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("https://api.openai.com/v1", "wss://api.openai.com/v1/responses"),
        ("https://api.openai.com/v1/", "wss://api.openai.com/v1/responses"),
        ("https://api.openai.com", "wss://api.openai.com/v1/responses"),
        ("wss://api.openai.com/v1/responses", "wss://api.openai.com/v1/responses"),
        ("wss://api.openai.com/v1/responses/", "wss://api.openai.com/v1/responses"),
        ("http://127.0.0.1:8000/v1", "ws://127.0.0.1:8000/v1/responses"),
        ("ws://localhost:8000", "ws://localhost:8000/v1/responses"),
        (" HTTP://localhost/v1 ", "ws://localhost/v1/responses"),
        ("http://[::1]:9/v1", "ws://[::1]:9/v1/responses"),
        ("https://gateway.example/openai/v1", "wss://gateway.example/openai/v1/responses"),
    ],
)
def test_urls(given, shown):
    assert of_url(given).shown == shown
    assert of_url(given).address.reveal() == shown


@pytest.mark.parametrize(
    "wrong", ["", "api.openai.com/v1", "127.0.0.1:8000", "ftp://x/v1", "https://", "http://x:y/"]
)
def test_what_is_no_url_is_refused_with_an_example(wrong):
    with pytest.raises(InvalidInput, match="such as https://api") as caught:
        of_url(wrong)
    assert caught.value.field == "url"


def test_a_wrong_url_is_shown_without_its_password():
    with pytest.raises(InvalidInput) as caught:
        of_url("ftp://me:hunter2@example.org/x?token=abcdef")
    assert "hunter2" not in str(caught.value)
    assert "abcdef" not in str(caught.value)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "::1", "a.localhost"])
def test_this_machine(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["api.openai.com", "10.0.0.1", "0.0.0.0", "localhost.example", "", "127.0.0.1.nip.io"]
)
def test_other_machines(host):
    assert not is_loopback(host)


@pytest.mark.parametrize("url", ["wss://example.org/v1", "https://example.org", "http://[::1]/v1"])
def test_a_key_goes_to_tls_and_to_this_machine(url):
    assert bearer(of_url(url, api_key=KEY)) == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("http://example.org/v1", {"api_key": KEY}),
        ("ws://10.0.0.1/v1", {"api_key": KEY}),
        ("http://me:pass@example.org/v1", {}),
        ("http://example.org/v1", {"headers": {"api-key": KEY}}),
        ("http://example.org/v1?api-key=abc", {}),
        ("http://example.org/v1", {"query": {"token": "abc"}}),
    ],
)
def test_no_credential_travels_unencrypted(url, options):
    with pytest.raises(InsecureKey, match="would travel unencrypted to"):
        of_url(url, **options)


def test_without_a_key_plain_sockets_are_fine():
    assert of_url("http://example.org/v1", api_key="").headers == {}
    assert of_url("http://example.org/v1", headers={"OpenAI-Beta": "x"}).shown


def test_nothing_shows_a_secret():
    endpoint = of_url(
        "https://me:hunter2@example.org/v1?token=verysecret",
        headers={"X-Api-Key": "another-secret"},
    )
    assert endpoint.shown == "wss://example.org/v1/responses?..."
    for secret in ("hunter2", "verysecret", "another-secret", "bWU6aHVudGVyMg"):
        assert secret not in repr(endpoint)
        assert secret not in str(endpoint)
    assert "verysecret" not in endpoint.scrub("wss://example.org?token=verysecret failed")
    assert "another-secret" not in endpoint.scrub("header another-secret")
    assert endpoint.address.reveal().endswith("?token=verysecret")
    with pytest.raises(TypeError):
        pickle.dumps(Secret("x"))


def test_scrubbing_hides_the_key_without_its_scheme_too():
    endpoint = of_url("https://example.org/v1", api_key=KEY, headers={"OpenAI-Beta": "x=v1"})
    assert endpoint.scrub(f"bad key {KEY}, x=v1") == "bad key (hidden), x=v1"


def test_a_name_and_password_in_the_url_become_a_header():
    endpoint = of_url("https://me:p%40ss@example.org/v1")
    assert bearer(endpoint) == "Basic bWU6cEBzcw=="
    assert "me" not in endpoint.address.reveal().partition("example")[0]
    assert bearer(of_url("https://me:pass@example.org/v1", api_key=KEY)) == f"Bearer {KEY}"


def test_a_header_of_ones_own_replaces_the_key():
    endpoint = of_url("https://example.org", api_key=KEY, headers={"authorization": "Other abc"})
    assert {name: value.reveal() for name, value in endpoint.headers.items()} == {
        "authorization": "Other abc"
    }


@pytest.mark.parametrize("key", ["sk-ab\ncd", "sk-\u2026", "sk-\x00"])
def test_a_key_that_cannot_be_sent_is_named_but_not_shown(key):
    with pytest.raises(InvalidInput, match="API key") as caught:
        of_url("https://example.org", api_key=key)
    assert key not in str(caught.value)


def test_a_line_break_around_a_key_is_taken_off():
    assert bearer(of_url("https://example.org", api_key=f" {KEY}\n")) == f"Bearer {KEY}"


def test_shown_url_keeps_what_tells_services_apart():
    assert shown_url("wss://u:p@h:1/v1/responses?a=1#f") == "wss://h:1/v1/responses?..."


# -- environment ---------------------------------------------------------------------------------


def test_nothing_set_means_nowhere():
    assert from_environment() is None
    assert from_environment(None, "") is None


def test_a_key_alone_means_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY + "\n")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    endpoint = from_environment()
    assert endpoint.shown == "wss://api.openai.com/v1/responses"
    assert bearer(endpoint) == f"Bearer {KEY}"
    assert endpoint.headers["OpenAI-Organization"].reveal() == "org-1"


def test_a_base_url_alone_is_connected_to_without_a_key(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://example.org/v1")
    assert from_environment().headers == {}
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(InsecureKey):
        from_environment()
    assert from_environment(None, "").headers == {}


def test_what_is_given_wins(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://elsewhere.example/v1")
    endpoint = from_environment("https://example.org/v1", KEY, {"X-A": "1"})
    assert endpoint.host == "example.org"
    assert bearer(endpoint) == f"Bearer {KEY}"


# -- client objects ------------------------------------------------------------------------------


def test_an_official_client_gives_url_key_headers_and_query():
    client = openai.OpenAI(
        api_key=KEY,
        base_url="https://example.org/v1",
        organization="org-1",
        default_headers={"X-Mine": "yes"},
        default_query={"api-version": "1"},
    )
    endpoint = of_client(client)
    sent = {name: value.reveal() for name, value in endpoint.headers.items()}
    assert sent == {
        "Authorization": f"Bearer {KEY}",
        "OpenAI-Organization": "org-1",
        "X-Mine": "yes",
    }
    assert endpoint.address.reveal() == "wss://example.org/v1/responses?api-version=1"


def test_its_websocket_url_comes_first_and_follows_the_sdks_rule():
    client = openai.OpenAI(api_key=KEY, websocket_base_url="wss://sockets.example/x")
    assert of_client(client).shown == "wss://sockets.example/x/responses"
    bare = openai.OpenAI(api_key=KEY, base_url="https://example.org")
    assert of_client(bare).shown == "wss://example.org/responses"


def test_a_client_that_asks_for_its_key_is_asked():
    assert bearer(of_client(openai.OpenAI(api_key=lambda: "sk-fresh"))) == "Bearer sk-fresh"


def test_an_async_client_that_asks_for_its_key_is_asked_also_in_a_running_loop():
    async def provide():
        await asyncio.sleep(0)
        return "sk-async"

    async def cell():
        return of_client(openai.AsyncOpenAI(api_key=provide))

    assert bearer(asyncio.run(cell())) == "Bearer sk-async"


def test_its_own_authorization_header_wins_as_in_the_sdk():
    client = openai.OpenAI(api_key=KEY, default_headers={"Authorization": "Other token"})
    assert bearer(of_client(client)) == "Other token"


def test_headers_given_beside_it_are_added_and_another_key_replaces_its_own():
    client = openai.OpenAI(api_key=KEY)
    endpoint = of_client(client, api_key="sk-other", headers={"OpenAI-Beta": "b"})
    assert bearer(endpoint) == "Bearer sk-other"
    assert endpoint.headers["OpenAI-Beta"].reveal() == "b"


def test_another_object_is_refused_with_what_is_needed():
    with pytest.raises(InvalidInput, match="no base_url"):
        of_client(object())
    with pytest.raises(InvalidInput, match="the class OpenAI has no base_url"):
        of_client(openai.OpenAI)


def test_anything_with_the_same_attributes_will_do():
    class Client:
        base_url = "http://127.0.0.1:1/v1/"
        api_key = KEY

    assert of_client(Client()).shown == "ws://127.0.0.1:1/v1/responses"
