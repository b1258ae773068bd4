"""HTTP itself: what stands around the JSON, what is no request, who may not ask."""

from __future__ import annotations

import json
import socket
import threading
import warnings
from contextlib import closing
from urllib.parse import urlsplit

import pytest

from steer_nb.errors import InvalidInput, ScenarioError, SimulatorFailed
from steer_nb.simulator import Simulator, letta
from tests.simulator.letta.test_recordings import until


def raw(client):
    at = urlsplit(client.simulator.base_url)
    line = socket.create_connection((at.hostname, at.port), timeout=10)
    return closing(line)


def read_until(line, end):
    data = b""
    while end not in data:
        piece = line.recv(65536)
        assert piece, data
        data += piece
    return data


def request(path, body=b"", *more, method="GET"):
    head = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *more]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def test_one_chunk_for_each_frame(simulate):
    client = simulate()
    body = json.dumps(client.body()).encode()
    with raw(client) as line:
        line.sendall(request(f"{client.place}/messages", body, "Content-Type: application/json",
                             "X-Stainless-Package-Version: 1", method="POST"))  # fmt: skip
        text = read_until(line, b"0\r\n\r\n")
    head, _, chunks = text.partition(b"\r\n\r\n")
    assert b"content-type: text/event-stream; charset=utf-8" in head.lower()
    assert b"transfer-encoding: chunked" in head.lower()
    found = []
    while chunks:
        size, _, chunks = chunks.partition(b"\r\n")
        found.append(chunks[: int(size, 16)])
        chunks = chunks[int(size, 16) + 2 :]
    assert [one[-2:] for one in found] == [b"\n\n"] * 4 + [b""]
    assert [one.count(b"data: ") for one in found] == [1] * 4 + [0]


def test_many_requests_on_one_connection_even_at_once(simulate):
    client = simulate()
    with raw(client) as line:
        line.sendall(request("/v1/health/") + request("/v1/nothing") + request("/v1/health"))
        text = read_until(line, b"HTTP/1.1 404")
        while text.count(b"0.16.8") < 2:
            text += line.recv(65536)
    assert text.count(b'{"detail":"Not Found"}') == 1
    assert len(client.account("request")) == 3
    assert {one["connection"] for one in client.account("request")} == {1}


def test_continue_is_said(simulate):
    client = simulate()
    body = b'{"name": "x"}'
    with raw(client) as line:
        line.sendall(
            request("/v1/agents/", body, "Expect: 100-continue", method="POST")[: -len(body)]
        )
        assert b"100" in read_until(line, b"\r\n\r\n")
        line.sendall(body)
        assert b'"name":"x"' in read_until(line, b'"hidden":null}')


@pytest.mark.parametrize(
    "garbage", [b"hello\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"\x16\x03\x01\r\n"]
)
def test_what_is_no_request(simulate, garbage):
    client = simulate()
    with raw(client) as line:
        line.sendall(garbage)
        assert read_until(line, b"}").startswith(b"HTTP/1.1 400")
        assert line.recv(10) == b""
    assert client.http.get("/v1/health").status_code == 200


def test_half_a_request_and_a_client_that_leaves(simulate):
    client = simulate()
    with raw(client) as line:
        line.sendall(b"POST /v1/agents/ HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
        until(lambda: client.simulator.service.connections)
    until(lambda: not client.simulator.service.connections)
    assert client.account("request") == []


def test_a_body_too_large_and_one_that_is_no_json(simulate):
    client = simulate(max_body_bytes=100)
    large = client.http.post("/v1/agents/", content=b"x" * 200)
    assert large.status_code == 413
    broken = client.http.post(f"{client.place}/messages", content=b'{"messages": ')
    assert broken.status_code == 422
    assert "JSON decode error" in broken.json()["detail"]
    for wrong in (b"[]", b"3", b'"x"', b""):
        answer = client.http.post(f"{client.place}/messages", content=wrong)
        assert answer.status_code == 422, answer.text


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "messages"),
        ({"messages": [], "input": "x"}, "messages"),
        ({"messages": 3}, "list_type"),
        ({"messages": [3]}, "dictionary"),
        ({"messages": [{"role": "nobody", "content": "x"}]}, "'user', 'system' or 'assistant'"),
        ({"messages": [{"role": "user", "content": 3}]}, "string_type"),
        ({"messages": [{"role": "user", "content": "x"}], "max_steps": "x"}, "int_type"),
        ({"messages": [{"role": "user", "content": "x"}], "streaming": "x"}, "bool_type"),
        ({"messages": [{"type": "approval", "approvals": [{"type": "x"}]}]}, "union_tag_invalid"),
        ({"messages": [{"type": "approval", "approvals": 3}]}, "list_type"),
        ({"messages": [{"type": "tool_return", "tool_returns": [{}]}]}, "Field required"),
        ({"messages": [{"role": "user", "content": "x", "otid": 3}]}, "otid"),
    ],
)
def test_what_is_malformed_is_told(simulate, body, says):
    client = simulate()
    answer = client.http.post(f"{client.place}/messages", json=body)
    assert answer.status_code == 422
    assert says in answer.json()["detail"]
    assert answer.json()["trace_id"] == ""


def test_methods_and_paths(simulate):
    client = simulate()
    assert client.http.delete("/v1/health").json() == {"detail": "Method Not Allowed"}
    assert client.http.get("/v1/agents/agent-nobody").status_code == 404
    assert client.http.get(f"{client.place}/messages", params={"order": "up"}).status_code == 422
    assert client.http.get(f"{client.place}/messages", params={"limit": "x"}).status_code == 422
    lost = client.http.get(f"{client.place}/messages", params={"after": "message-nobody"})
    assert lost.status_code == 404


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_history_is_read_page_by_page(simulate, order):
    client = simulate()
    for _ in range(3):
        client.send()

    def ids(**query):
        told = client.http.get(f"{client.place}/messages", params={"order": order, **query}).json()
        return [one["id"] for one in told]

    whole = ids()
    old = whole if order == "asc" else whole[::-1]
    assert len(old) > 6
    # A cursor is about the time, in whichever order the list is.
    assert sorted(ids(before=old[3])) == sorted(old[:3])
    assert sorted(ids(after=old[3])) == sorted(old[4:])
    chosen = old[:2] if order == "asc" else old[3:1:-1]
    assert ids(before=old[4], limit=2) == chosen
    assert ids(before=old[0]) == []


def test_browsers_and_wrong_keys_are_refused(simulate):
    client = simulate(api_key="sk-secret")
    assert client.http.get("/v1/agents/").status_code == 401
    key = {"Authorization": "Bearer sk-secret"}
    assert client.http.get("/v1/agents/", headers=key).status_code == 200
    page = {**key, "Origin": "https://example.org"}
    assert client.http.get("/v1/agents/", headers=page).status_code == 403
    assert client.http.get("/simulator").status_code == 401
    assert client.http.get("/simulator", headers=key).json()["connections"][0]["connection"] == 1


def test_the_header_gate_can_be_left_open(simulate):
    client = simulate(sdk_header=False)
    del client.http.headers["X-Stainless-Package-Version"]
    assert client.send()[-1] == "[DONE]"


def test_several_simulators_side_by_side_and_no_thread_left():
    before = threading.active_count()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with (
            letta.LettaSimulator(speed=0) as one,
            letta.LettaSimulator("story", speed=0, seed=2) as two,
            Simulator(speed=0) as three,
        ):
            assert len({one.port, two.port, three.port}) == 3
            assert one.agent_id != two.agent_id
            assert threading.active_count() == before + 3
            assert "'files', http://127.0.0.1" in repr(one)
    assert threading.active_count() == before
    assert "not running" in repr(one)


def test_stopping_amid_streams_is_quiet(simulate, capfd, caplog):
    client = simulate("story", speed=1)
    with raw(client) as idle, raw(client) as busy:
        body = json.dumps(client.body(include_pings=True)).encode()
        busy.sendall(request(f"{client.place}/messages/stream", body, method="POST"))
        read_until(busy, b"ping")
        idle.sendall(b"GET /")
        client.simulator.stop()
    assert capfd.readouterr().err == ""
    assert [one for one in caplog.records if one.levelname in ("WARNING", "ERROR")] == []


def test_what_cannot_be_started(simulate):
    client = simulate()
    with pytest.raises(SimulatorFailed, match="in use"):
        letta.LettaSimulator(port=client.simulator.port).start()
    with pytest.raises(InvalidInput, match="other machines can reach"):
        letta.LettaSimulator(host="0.0.0.0")
    with pytest.raises(InvalidInput, match="speed"):
        letta.LettaSimulator(speed=-1)
    with pytest.raises(InvalidInput, match="Did you mean 'locks'"):
        letta.LettaSimulator(lock="none")
    with pytest.raises(ScenarioError, match="There are: files"):
        letta.LettaSimulator("planner")
