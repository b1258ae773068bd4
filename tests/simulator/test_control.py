"""The control API: what a program in any language sees of a simulator, and can tell it."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import time

import pytest
from websockets.exceptions import ConnectionClosed

from steer_nb.simulator import SCENARIOS, Drop, Options
from tests.support.simulated import wire

KEY = "sk-test-4711"


def call(simulator, method, path="", body=None, **headers):
    """Send a request below the control API's address; gives the status and the JSON answer."""
    status, _, answer = request(simulator, method, f"/simulator{path}", body, **headers)
    return status, json.loads(answer)


def request(simulator, method, path, body=None, **headers):
    line = http.client.HTTPConnection("127.0.0.1", simulator.port, timeout=10)
    try:
        text = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        line.request(method, path, text, headers)
        answer = line.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        line.close()


def good(simulator, method, path="", body=None, **headers):
    status, answer = call(simulator, method, path, body, **headers)
    assert status in (200, 201), answer
    return answer


def bad(simulator, method, path="", body=None, **headers):
    status, answer = call(simulator, method, path, body, **headers)
    assert set(answer) == {"error"}
    assert set(answer["error"]) == {"message", "type", "param", "code"}
    assert "\n" not in answer["error"]["message"]
    return status, answer["error"]


async def on_thread(*given, **more):
    return await asyncio.to_thread(*given, **more)


# -- what it tells ------------------------------------------------------------------------


async def test_overview(simulate):
    simulator = simulate("weather", seed=7, lane_limit=4, faults=["drop at=99"])
    async with wire(simulator) as w:
        await w.ask(stream_id="main")
        answer = await on_thread(good, simulator, "GET")
    assert answer["scenario"] == "weather"
    assert answer["seed"] == 7
    assert answer["speed"] == 0
    assert answer["options"]["lane_limit"] == 4
    assert set(answer["options"]) == set(Options.__dataclass_fields__)
    (connection,) = answer["connections"]
    assert connection == {"connection": 1, "lanes": ["main"], "sent": len(w.events), "received": 1}
    (fault,) = answer["faults"]
    assert fault["fault"] == "drop"


@pytest.mark.parametrize("name", sorted(SCENARIOS))
async def test_the_account_is_the_one_in_python(simulate, name):
    simulator = simulate(name)
    async with wire(simulator) as w:
        await w.create("What is the weather? \ud83d é 中")
        for bad_message in ("{", b"\xff\x00", '{"type": "response.nothing"}'):
            await w.send(bad_message)
        await w.until("response.completed", "response.incomplete", "response.failed")
        answer, account = await on_thread(
            lambda: (good(simulator, "GET", "/account"), simulator.account)
        )
    assert answer["entries"] == account
    assert answer["n_entries"] == len(account) >= 5


async def test_a_part_of_the_account(simulate):
    simulator = simulate("weather")
    async with wire(simulator) as w, wire(simulator) as other:
        await w.ask()
        before = (await on_thread(good, simulator, "GET", "/account"))["n_entries"]
        await other.ask()
        ask = lambda query: good(simulator, "GET", f"/account?{query}")["entries"]  # noqa: E731
        assert [e["connection"] for e in await on_thread(ask, "kind=request")] == [1, 2]
        assert {e["kind"] for e in await on_thread(ask, "kind=request&connection=2")} == {"request"}
        assert await on_thread(ask, f"after={before}") == simulator.account[before:]
        assert await on_thread(ask, "after=99999") == []
        assert await on_thread(ask, "kind=nothing") == []


async def test_the_account_says_how_much_passed(simulate):
    simulator = simulate("weather")
    async with wire(simulator) as w:
        await w.ask()
        await w.ask()
    async with asyncio.timeout(5):
        while (entry := simulator.account[0])["state"] == "open":
            await asyncio.sleep(0.01)
    assert entry["sent"] == len(w.events)
    assert entry["received"] == 2


# -- faults -------------------------------------------------------------------------------


async def test_faults_while_it_runs(simulate):
    simulator = simulate("weather")
    async with wire(simulator) as w:
        await w.ask()
        armed = await on_thread(
            good, simulator, "POST", "/faults", [{"fault": "drop", "at": 3}, "stall seconds=0"]
        )
        assert [one["id"] for one in armed["faults"]] == ["fault_1", "fault_2"]
        await w.create("Hello.")
        with pytest.raises(ConnectionClosed):
            await w.until("never")
    listed = await on_thread(good, simulator, "GET", "/faults")
    assert [one["struck"] for one in listed["faults"]] == [1, 1]
    assert listed["faults"] == list(simulator.faults)
    assert (await on_thread(good, simulator, "GET", "/faults/fault_2"))["fault"] == "stall"
    left = await on_thread(good, simulator, "DELETE", "/faults/fault_1")
    assert [one["id"] for one in left["faults"]] == ["fault_2"]
    assert (await on_thread(good, simulator, "DELETE", "/faults"))["faults"] == []
    assert len(simulator.faults) == 0
    (one,) = (await on_thread(good, simulator, "POST", "/faults", "drop"))["faults"]
    assert one["id"] == "fault_3"  # ids are not used again


async def test_a_list_of_faults_is_armed_wholly_or_not_at_all(simulate):
    simulator = simulate()
    status, error = await on_thread(bad, simulator, "POST", "/faults", ["drop", "dorp"])
    assert status == 400
    assert error["param"] == "fault"
    assert "Did you mean 'drop'?" in error["message"]
    assert list(simulator.faults) == []


async def test_drop(simulate):
    simulator = simulate("weather")
    async with wire(simulator) as w, wire(simulator) as other:
        await w.ask()
        await other.ask()
        answer = await on_thread(good, simulator, "POST", "/drop", {"code": 1012, "connection": 1})
        assert answer == {"dropped": [1]}
        await w.socket.wait_closed()
        assert w.socket.protocol.close_code == 1012
        assert await on_thread(good, simulator, "POST", "/drop") == {"dropped": [2]}
        await other.socket.wait_closed()
        assert other.socket.protocol.close_code == 1006
        status, error = await on_thread(bad, simulator, "POST", "/drop", {"connection": 1})
        assert (status, error["param"]) == (400, "connection")
        assert "open are: none" in error["message"]


async def test_clock(simulate):
    simulator = simulate("weather")
    async with wire(simulator) as w:
        before = (await on_thread(good, simulator, "GET"))["clock"]
        answer = await on_thread(good, simulator, "POST", "/clock", {"advance": 3600})
        assert answer["clock"] >= before + 3600
        event = await w.recv()
        assert event["error"]["code"] == "websocket_connection_limit_reached"


# -- wrong requests -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", "/nothing", None, 404, "The control API has /simulator, /simulator/account"),
        ("GET", "/account/1", None, 404, "Invalid URL (/simulator/account/1)"),
        ("GET", "/faults/fault_9", None, 404, "no fault with the id 'fault_9'"),
        ("DELETE", "/faults/fault_9", None, 404, "armed are: none"),
        ("DELETE", "", None, 405, "/simulator takes GET, not DELETE"),
        ("PUT", "/faults", b"{}", 405, "takes GET and POST and DELETE, not PUT"),
        ("GET", "/drop", None, 405, "takes POST, not GET"),
        ("GET", "/account?after=-1", None, 400, "expected a whole number, 0 or more"),
        ("GET", "/account?after=x", None, 400, "but got 'x'"),
        ("GET", "/account?kin=steer", None, 400, "Unknown query parameter: 'kin'. It has after"),
        ("POST", "/faults?at=5", "drop", 400, "Unknown query parameter: 'at'. It has none"),
        ("POST", "/faults", b"", 400, "could not be read as JSON"),
        ("POST", "/faults", b"{", 400, "could not be read as JSON"),
        ("POST", "/faults", b"\xff\xfe\x00", 400, "could not be read as JSON"),
        ("POST", "/faults", {"fault": "drop", "att": 3}, 400, "Did you mean 'at'?"),
        ("POST", "/faults", [3], 400, "a text such as 'drop at=5', or a mapping, not 3"),
        ("POST", "/drop", [], 400, "must be a JSON object"),
        ("POST", "/drop", {"code": "x"}, 400, "'code': it must be a whole number"),
        ("POST", "/drop", {"code": 99999}, 400, "at most 65535"),
        ("POST", "/drop", {"lane": 1}, 400, "Unknown parameter: 'lane'"),
        ("POST", "/clock", {}, 400, "Missing required parameter: 'advance'"),
        ("POST", "/clock", {"advance": -1}, 400, "0 or more"),
        ("POST", "/clock", {"advance": True}, 400, "a number"),
    ],
)
def test_mistakes(simulate, method, path, body, status, says):
    found, error = bad(simulate(), method, path, body)
    assert found == status
    assert says in error["message"]


def test_the_methods_that_a_path_takes(simulate):
    status, headers, _ = request(simulate(), "PATCH", "/simulator/faults", b"{}")
    assert (status, headers["Allow"]) == (405, "GET, POST, DELETE")


def test_head(simulate):
    status, headers, body = request(simulate(), "HEAD", "/simulator")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 100


@pytest.mark.parametrize("path", ["/simulators", "/simulatorx/account", "/v1/simulator"])
def test_it_has_one_place(simulate, path):
    assert request(simulate(), "GET", path)[0] == 404
    assert request(simulate(), "POST", path, b"{}")[0] == 404


# -- who may ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("GET", "/account"), ("POST", "/faults"), ("DELETE", "/faults")],
)
def test_key(simulate, method, path):
    simulator = simulate(api_key=KEY)
    body = "stall" if method == "POST" else None
    for given in ({}, {"Authorization": "Bearer no"}):
        status, error = bad(simulator, method, path, body, **given)
        assert (status, error["code"]) == (401, "invalid_api_key")
    assert list(simulator.faults) == []
    answer = good(simulator, method, path, body, Authorization=f"Bearer {KEY}")
    assert KEY not in json.dumps(answer)


@pytest.mark.parametrize(
    "header",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_browser_pages_may_not(simulate, method, header):
    """Nor may a page whose name was made to lead to this machine: its GETs have no Origin."""
    simulator = simulate()
    status, error = bad(
        simulator, method, "/faults", "drop" if method == "POST" else None, **header
    )
    assert (status, error["code"]) == (403, "origin_not_allowed")
    assert list(simulator.faults) == []


def test_a_person_may_look_with_a_browser(simulate):
    assert good(simulate(), "GET", "", None, **{"Sec-Fetch-Site": "none"})["scenario"] == "planner"


# -- how requests come in -----------------------------------------------------------------

ORDER = b'{"fault": "drop", "at": 5}'
PLAIN = b"POST /simulator/faults HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (
    len(ORDER),
    ORDER,
)
CHUNKED = (
    b"POST /simulator/faults HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (10, ORDER[:10], len(ORDER) - 10, ORDER[10:])
)


def read_all(raw):
    found = b""
    while piece := raw.recv(65_536):
        found += piece
    return found


@pytest.mark.parametrize("size", [1, 7, 10_000])
@pytest.mark.parametrize("whole", [PLAIN, CHUNKED])
def test_requests_in_pieces(simulate, whole, size):
    simulator = simulate()
    with socket.create_connection(("127.0.0.1", simulator.port), timeout=5) as raw:
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(whole), size):
            raw.sendall(whole[start : start + size])
            if size == 7:
                time.sleep(0.001)
        assert read_all(raw).startswith(b"HTTP/1.1 201 Created\r\n")
    (fault,) = simulator.faults
    assert fault["at"] == 5


def test_a_client_that_waits_for_a_go_on(simulate):
    simulator = simulate()
    with socket.create_connection(("127.0.0.1", simulator.port), timeout=5) as raw:
        head, _, body = PLAIN.partition(b"\r\n\r\n")
        raw.sendall(head + b"\r\nExpect: 100-continue\r\n\r\n")
        assert raw.recv(4096).startswith(b"HTTP/1.1 100 ")
        raw.sendall(body)
        assert read_all(raw).startswith(b"HTTP/1.1 201 ")


def test_a_body_too_large(simulate):
    simulator = simulate()
    status, error = bad(simulator, "POST", "/faults", b'"' + b"x" * (2**20 + 10) + b'"')
    assert status == 413
    assert "1048576 bytes" in error["message"]
    assert list(simulator.faults) == []


@pytest.mark.parametrize(
    "noise",
    [
        b"POST /simulator/faults HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /simulator/faults HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        b"POST \xff HTTP/1.1\r\n\r\n",
        b"POST /simulator/faults\r\n\r\n",
        b"POST " + b"x" * 200_000,
        b"POST /simulator/faults HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n[",
    ],
)
def test_noise_is_borne(simulate, noise):
    simulator = simulate()
    with socket.create_connection(("127.0.0.1", simulator.port), timeout=5) as raw:
        raw.sendall(noise)
        raw.shutdown(socket.SHUT_WR)
        answer = read_all(raw)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert good(simulator, "GET")["faults"] == []


# -- from Python --------------------------------------------------------------------------


async def test_faults_from_any_thread(simulate):
    simulator = simulate("weather")
    ids = await asyncio.gather(
        *(asyncio.to_thread(simulator.faults.add, Drop(at=1000 + n)) for n in range(50))
    )
    assert sorted(one for (one,) in ids) == sorted(f"fault_{n}" for n in range(1, 51))
    assert len(simulator.faults) == 50
    assert "50 faults" in repr(simulator.faults)
    await asyncio.to_thread(simulator.faults.clear)
    assert repr(simulator.faults) == "<no faults>"


def test_faults_outlive_a_stop(simulate):
    """A simulator that is stopped and started again is the same one."""
    simulator = simulate("weather", faults=["drop at=9"])
    simulator.stop()
    assert len(simulator.faults) == 1
    simulator.faults.add("stall seconds=0")
    simulator.start()
    assert [one["id"] for one in good(simulator, "GET", "/faults")["faults"]] == [
        "fault_1",
        "fault_2",
    ]
