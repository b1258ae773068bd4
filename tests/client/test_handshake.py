from __future__ import annotations

import json
import os
import socket
import ssl
import threading
import traceback
from http import server as web

import pytest

from steer_nb import connect, errors, load
from steer_nb.client import handshake
from steer_nb.client.endpoint import of_url
from steer_nb.simulator import Simulator

KEY = "sk-secret-0123456789abcdef"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)


class Canned:
    """A server that answers every connection with the same bytes."""

    def __init__(self, answer: bytes) -> None:
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"

    def __exit__(self, *_):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                request = b""
                while b"\r\n\r\n" not in request:
                    piece = connection.recv(4096)
                    if not piece:
                        break
                    request += piece
                connection.sendall(self._answer)


def http(status: str, body: str = "", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", body]
    return "\r\n".join(lines).encode()


def said(message: str, code: str) -> str:
    return json.dumps({"error": {"message": message, "code": code}})


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (http("401 Unauthorized"), errors.AuthenticationFailed, "did not accept the API key"),
        (http("403 Forbidden"), errors.AuthenticationFailed, "permissions"),
        (http("404 Not Found"), errors.ConnectionFailed, "end in /v1 or /v1/responses"),
        (http("200 OK", "hello"), errors.ConnectionFailed, "speaks no WebSocket"),
        (http("426 Upgrade Required"), errors.ConnectionFailed, "speaks no WebSocket"),
        (http("400 Bad Request"), errors.ConnectionFailed, "speaks no WebSocket"),
        (http("429 Too Many Requests"), errors.ConnectionFailed, "limits"),
        (http("503 Unavailable", "<html>x</html>"), errors.ConnectionFailed, "a problem"),
        (http("418 Teapot"), errors.ConnectionFailed, "proxy in between"),
        (
            http("302 Found", "", "Location: https://elsewhere.example/?key=1"),
            errors.ConnectionFailed,
            "give the final URL",
        ),
        (b"", errors.ConnectionFailed, "did not answer in HTTP"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", errors.ConnectionFailed, "did not answer in HTTP"),
        (
            http("101 Switching Protocols", "", "Upgrade: websocket", "Connection: Upgrade"),
            errors.ConnectionFailed,
            "upgrade",
        ),
    ],
    ids=lambda value: value.decode()[:18].strip() if isinstance(value, bytes) else None,
)
def test_each_refusal_is_one_readable_line_with_advice(answer, kind, words):
    with Canned(answer) as url, pytest.raises(kind) as caught:
        connect(url, api_key=KEY, journal=False, quiet=True)
    message = str(caught.value)
    assert type(caught.value) is kind
    assert words in message
    assert "\n" not in message
    assert caught.value.url.startswith("ws://127.0.0.1:")
    assert caught.value.advice
    assert message.endswith(caught.value.advice)
    first = answer.split(b" ")[1:2]
    assert caught.value.status == (
        int(first[0]) if answer.startswith(b"HTTP") and first[0] != b"101" else None
    )


def test_nothing_listens():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(errors.ConnectionFailed, match="Is the server running") as caught:
        connect(f"http://localhost:{port}/v1", journal=False, quiet=True)
    assert caught.value.status is None


def test_a_missing_key_is_told_apart_from_a_wrong_one():
    with Simulator("planner", speed=0, api_key="right-key") as simulator:
        with pytest.raises(errors.AuthenticationFailed, match="wants an API key") as caught:
            connect(simulator.base_url, journal=False, quiet=True)
        assert caught.value.status == 401
        assert "OPENAI_API_KEY" in caught.value.advice
        with pytest.raises(errors.AuthenticationFailed, match="did not accept"):
            connect(simulator.base_url, api_key="wrong-key", journal=False, quiet=True)
        with connect(simulator.base_url, api_key="right-key", journal=False, quiet=True) as session:
            assert not session.closed


def test_what_the_service_says_is_passed_on_without_keys():
    body = said(f"Incorrect API key provided: {KEY[:10]}****cdef. See {KEY}", "invalid_api_key")
    with (
        Canned(http("401 Unauthorized", body)) as url,
        pytest.raises(errors.AuthenticationFailed, match="Incorrect API key") as caught,
    ):
        connect(url, api_key=KEY, journal=False, quiet=True)
    assert KEY not in str(caught.value)
    assert "sk-secret" not in str(caught.value)


def test_a_failed_attempt_is_on_record_without_the_key(tmp_path):
    with Canned(http("404 Not Found")) as url, pytest.raises(errors.ConnectionFailed):
        connect(url + "?token=verysecret", api_key=KEY, journal=tmp_path / "j", quiet=True)
    (file,) = (tmp_path / "j").glob("*.jsonl")
    assert KEY not in file.read_text("utf-8")
    assert "verysecret" not in file.read_text("utf-8")
    notes = [entry.note for entry in load(file)]
    assert notes == ["session", "connect_failed"]


def explained(error: BaseException, url: str = "https://example.org/v1") -> str:
    return str(handshake.explain(error, of_url(url, api_key=KEY)))


def test_a_proxy_that_refuses_is_not_taken_for_the_service(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    refused = ConnectionRefusedError(111, "Connection refused")
    assert "HTTPS_PROXY" in explained(refused)
    assert "HTTPS_PROXY" not in explained(refused, "ws://127.0.0.1:1/v1")


def test_a_proxys_password_is_nowhere(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "odd://me:pass-word@proxy.example:1")
    with pytest.raises(errors.ConnectionFailed) as caught:
        connect("wss://example.org/v1", api_key=KEY, journal=False, quiet=True)
    assert "pass-word" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (socket.gaierror(-2, "Name or service not known"), "no host called 'example.org'"),
        (TimeoutError("timed out"), "did not answer in time"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version"), "speaks no TLS"),
        (ssl.SSLCertVerificationError(1, "bad certificate"), "could not be verified"),
        (ConnectionResetError(104, "reset"), "closed the connection"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed"), "Nothing listens"),
        (ConnectionRefusedError(10061, "[WinError 10061] actively refused"), "Nothing listens"),
        (OSError(101, "Network is unreachable"), "cannot be reached"),
        (OSError(f"odd {KEY}"), "odd (hidden)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_network_troubles(error, words):
    message = explained(error)
    assert words in message
    assert KEY not in message


def test_https_to_a_server_without_tls():
    with Simulator("planner", speed=0) as simulator:
        url = simulator.base_url.replace("http:", "https:")
        with pytest.raises(errors.ConnectionFailed, match="without TLS"):
            connect(url, journal=False, quiet=True)


def test_an_unencrypted_attempt_with_a_key_never_leaves():
    with pytest.raises(errors.InsecureKey):
        connect("http://192.0.2.1/v1", api_key=KEY, journal=False, quiet=True)


def test_a_simple_web_server_is_recognized():
    class Quiet(web.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            """Say nothing."""

    with web.HTTPServer(("127.0.0.1", 0), Quiet) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with pytest.raises(
                errors.ConnectionFailed, match=r"HTTP/1\.0, so it speaks no WebSocket"
            ):
                connect(f"http://127.0.0.1:{server.server_port}/v1", api_key="k", journal=False)
        finally:
            server.shutdown()
            thread.join()
