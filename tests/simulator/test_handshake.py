"""The HTTP side: who may connect, and what the others are told."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time

import openai
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from steer_nb.simulator import Simulator
from tests.support.simulated import wire

KEY = "sk-test-4711"


def get(simulator, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", simulator.port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, json.loads(answer.read())
    finally:
        connection.close()


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/chat/completions", "/responses", "/v1/responses/x/y"]
)
def test_other_paths(simulate, path):
    status, headers, body = get(simulate(), path)
    assert status == 404
    assert headers["Content-Type"] == "application/json"
    assert body["error"]["type"] == "invalid_request_error"
    assert path.rstrip("/") in body["error"]["message"]


def test_plain_http_requests(simulate):
    """What a stock client gets that does not know about WebSocket mode."""
    simulator = simulate()
    with openai.OpenAI(base_url=simulator.base_url, api_key="k", max_retries=0) as client:
        with pytest.raises(openai.APIStatusError) as caught:
            client.responses.create(model="gpt-6-astra", input="x" * 200_000)
        assert caught.value.status_code == 426
        assert "WebSocket" in caught.value.message
        with pytest.raises(openai.NotFoundError, match="POST /v1/chat/completions"):
            client.chat.completions.create(model="gpt-6-astra", messages=[])
        with pytest.raises(openai.NotFoundError, match="GET /v1/models"):
            client.models.list()
        with pytest.raises(openai.NotFoundError, match="DELETE /v1/files/f"):
            client.files.delete("f")


def test_noise_is_borne(simulate):
    simulator = simulate()
    for noise in (b"", b"\r\n\r\n", b"\x16\x03\x01\x02", b"GET", b"GET / HTTP/9\r\n\r\n", b"FOO"):
        with socket.create_connection(("127.0.0.1", simulator.port), timeout=5) as line:
            line.sendall(noise)
    assert get(simulator, "/")[0] == 404


@pytest.mark.parametrize("cut", [1, 3, 5])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_requests_that_come_in_pieces(simulate, method, cut):
    simulator = simulate()
    request = f"{method} /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode()
    with socket.create_connection(("127.0.0.1", simulator.port), timeout=5) as raw:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        raw.sendall(request[:cut])
        time.sleep(0.05)
        raw.sendall(request[cut:])
        assert raw.recv(4096).startswith(b"HTTP/1.1 426 ")


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses/", "/v1/responses?a=b"])
def test_without_upgrade(simulate, path):
    status, headers, body = get(simulate(), path)
    assert status == 426
    assert headers["Upgrade"] == "websocket"
    assert body["error"]["code"] == "upgrade_required"


async def refused(simulator, **headers):
    with pytest.raises(InvalidStatus) as caught:
        async with connect(simulator.url, additional_headers=headers):
            pass
    response = caught.value.response
    return response.status_code, json.loads(response.body)["error"]


async def test_wrong_path_over_websocket(simulate):
    simulator = simulate()
    with pytest.raises(InvalidStatus) as caught:
        async with connect(simulator.url + "/x"):
            pass
    assert caught.value.response.status_code == 404


async def test_key(simulate):
    simulator = simulate(api_key=KEY)
    for given in ({}, {"Authorization": "Bearer no"}, {"Authorization": f"Basic {KEY}"}):
        status, error = await refused(simulator, **given)
        assert status == 401
        assert error["code"] == "invalid_api_key"
        assert KEY not in str(error)
    async with wire(simulator, additional_headers={"Authorization": f"Bearer {KEY}"}) as line:
        assert (await line.ask())["status"] == "completed"
    assert KEY not in repr(simulator)
    assert KEY not in str(simulator.account)


async def test_any_key_without_one_configured(simulate):
    async with wire(simulate(), additional_headers={"Authorization": "Bearer x"}) as line:
        assert (await line.ask())["status"] == "completed"


@pytest.mark.parametrize("origin", ["http://evil.example", "http://127.0.0.1:8888", "null"])
async def test_browser_pages(simulate, origin):
    status, error = await refused(simulate(), Origin=origin)
    assert status == 403
    assert error["code"] == "origin_not_allowed"


@pytest.mark.parametrize("compression", ["deflate", None])
async def test_compression(simulate, compression):
    async with wire(simulate(), compression=compression) as line:
        assert (await line.ask())["status"] == "completed"


async def test_large_messages(simulate):
    async with wire(simulate()) as line:
        big = "x" * (20 * 2**20)
        picture = {"type": "input_image", "image_url": f"data:image/png;base64,{big}"}
        response = await line.ask([{"role": "user", "content": [picture]}])
        assert response["status"] == "completed"


async def test_too_large_messages_close(simulate):
    async with wire(simulate(max_message_bytes=1000)) as line:
        await line.create("x" * 2000)
        await line.socket.wait_closed()
        assert line.socket.protocol.close_code == 1009


async def test_query_and_beta_headers_are_borne(simulate):
    simulator = simulate()
    headers = {"OpenAI-Beta": "responses_websockets=2026-02-06", "OpenAI-Project": "p"}
    async with connect(simulator.url + "?api-version=1", additional_headers=headers) as socket:
        assert socket.response.status_code == 101


ZEROMQ = b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f"
"""How a client of ZeroMQ begins: a Jupyter server goes on calling at the port of a dead kernel."""


@pytest.mark.parametrize("noise", [ZEROMQ, b"\x16\x03\x01\x02\x00\x01"], ids=["zeromq", "tls"])
def test_who_speaks_something_else_is_sent_away(simulate, noise):
    simulator = simulate("planner")
    with socket.create_connection(("127.0.0.1", simulator.port), timeout=10) as line:
        line.sendall(noise)
        with contextlib.suppress(ConnectionResetError):
            assert line.recv(1) == b""


def test_who_says_nothing_does_not_hold_it_back_when_it_stops():
    simulator = Simulator("planner", speed=0).start()
    thread = simulator._thread
    with socket.create_connection(("127.0.0.1", simulator.port)):
        stopping = threading.Thread(target=simulator.stop)
        stopping.start()
        thread.join(5)
        assert not thread.is_alive()
        stopping.join()
