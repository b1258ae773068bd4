"""Starting, stopping, and what the account says."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import subprocess
import sys
import threading

import pytest

from steer_nb.errors import InvalidInput, SimulatorFailed
from steer_nb.simulator import Simulator, serve_forever
from steer_nb.simulator.letta import LettaSimulator
from tests.support.simulated import answer, calls_of, wire


def test_addresses():
    with Simulator(speed=0) as simulator:
        assert simulator.running
        assert simulator.base_url == f"http://127.0.0.1:{simulator.port}/v1"
        assert simulator.url == f"ws://127.0.0.1:{simulator.port}/v1/responses"
        assert str(simulator.port) in repr(simulator)
        assert simulator.start() is simulator
    assert not simulator.running
    assert "not running" in repr(simulator)
    simulator.stop()


def test_no_thread_is_left_behind():
    before = threading.active_count()
    for _ in range(3):
        with Simulator(speed=0):
            assert threading.active_count() == before + 1
    assert threading.active_count() == before


async def test_stop_closes_connections_with_1001():
    simulator = Simulator("planner", speed=0.1).start()
    async with wire(simulator) as line:
        await line.create()
        await line.until("response.created")
        await asyncio.to_thread(simulator.stop)
        await line.socket.wait_closed()
        assert line.socket.protocol.close_code == 1001


async def test_starts_again_and_remembers():
    simulator = Simulator("planner", speed=0)
    with simulator:
        async with wire(simulator) as line:
            one = await line.ask()
    with simulator:
        async with wire(simulator) as line:
            two = await line.ask(previous_response_id=one["id"])
            assert two["previous_response_id"] == one["id"]
    assert len([e for e in simulator.account if e["kind"] == "connection"]) == 2


def _knock(port, stop, said):
    while not stop.is_set():
        with (
            contextlib.suppress(OSError),
            socket.create_connection(("127.0.0.1", port), 0.1) as one,
        ):
            one.sendall(said)


@pytest.mark.parametrize("made", [Simulator, LettaSimulator])
def test_who_comes_as_it_stops_is_sent_away(made, monkeypatch):
    """A socket that was accepted and has no connection yet would never be closed."""
    forgotten = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: forgotten.append(found.exc_value))
    half = b"POST /simulator/clock HTTP/1.1\r\nHost: here\r\nContent-Length: 50\r\n\r\n{"
    for _ in range(6):
        simulator, stop = made(speed=0).start(), threading.Event()
        knocking = [
            threading.Thread(target=_knock, args=(simulator.port, stop, said))
            for said in (b"", half) * 2
        ]
        for thread in knocking:
            thread.start()
        stop.wait(0.05)
        simulator.stop()
        stop.set()
        for thread in knocking:
            thread.join()
    gc.collect()
    assert forgotten == []


def test_port_in_use():
    with Simulator(speed=0) as one:
        other = Simulator(port=one.port)
        with pytest.raises(SimulatorFailed, match=f"{one.port}: it is in use"):
            other.start()
        assert not other.running
        other.stop()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_loopback_only(host):
    with pytest.raises(InvalidInput, match="allow_remote"):
        Simulator(host=host)


def test_told_otherwise():
    with (
        Simulator(host="0.0.0.0", allow_remote=True, speed=0) as simulator,
        socket.create_connection(("127.0.0.1", simulator.port), timeout=5),
    ):
        pass


def test_address_of_another_machine():
    with pytest.raises(SimulatorFailed, match="cannot listen"):
        Simulator(host="192.0.2.1", allow_remote=True).start()


async def test_account_tells_what_was_received_and_applied(simulate):
    simulator = simulate("weather")
    async with wire(simulator) as line:
        response = await line.ask("Weather in Porto?", stream_id="a")
        await line.steer(response["id"], "In Celsius.")
        await line.until("response.steer.pending")
        result = answer(calls_of(response)[0])
        await line.ask([result], previous_response_id=response["id"], stream_id="a")
        await line.refused("{")
        await line.refused({"type": "response.create", "input": 5})
    await asyncio.sleep(0.05)
    account = simulator.account
    kinds = [entry["kind"] for entry in account]
    assert kinds == [
        "connection", "request", "response", "steer", "request", "continuation", "response",
        "message", "request",
    ]  # fmt: skip
    opened, first, _, steer, second, continuation, end, message, refused = account
    assert opened["state"] == "closed"
    assert opened["code"] == 1000
    assert first["body"]["input"] == "Weather in Porto?"
    assert first["response_id"] == response["id"]
    assert first["state"] == second["state"] == "completed"
    assert (steer["fate"], steer["input"]) == ("committed", "In Celsius.")
    assert steer["successor_id"] == second["response_id"] == end["response_id"]
    assert continuation["results"] == [result]
    assert continuation["steers"] == [steer["id"]]
    assert continuation["lane"] == "a"
    assert message["error"] == "invalid_json"
    assert (refused["state"], refused["error"]) == ("refused", "invalid_type")
    account[1]["body"]["input"] = "changed"
    assert simulator.account[1]["body"]["input"] == "Weather in Porto?"


async def test_account_is_read_while_it_is_written(simulate):
    simulator = simulate("planner")
    async with wire(simulator) as line:
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(None, lambda: [len(simulator.account) for _ in range(300)])
        for n in range(20):
            await line.ask("x", stream_id=f"l{n}", generate=False)
        lengths = await reading
        assert lengths == sorted(lengths)


async def test_serve_forever_says_its_url():
    urls: asyncio.Queue[str] = asyncio.Queue()
    serving = asyncio.create_task(serve_forever("planner", speed=0, ready=urls.put_nowait))
    base = await asyncio.wait_for(urls.get(), 10)

    class Address:
        url = "ws" + base.removeprefix("http") + "/responses"

    async with wire(Address) as line:
        assert (await line.ask())["status"] == "completed"
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving


async def test_serve_forever_fails_at_once():
    with Simulator(speed=0) as one, pytest.raises(SimulatorFailed):
        await serve_forever(port=one.port)
    with pytest.raises(InvalidInput):
        await serve_forever(host="0.0.0.0")


def test_import_is_light():
    code = (
        "import sys, steer_nb.simulator\n"
        "heavy = {'pandas', 'ipywidgets', 'IPython', 'websockets', 'openai', 'numpy'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "with steer_nb.simulator.Simulator(): pass\n"
        "heavy.discard('websockets')\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout.split("\n")[:2] == ["[]", "[]"]
    assert ran.stderr == ""


def test_a_process_that_ends_with_a_running_simulator_ends_quietly():
    code = (
        "from steer_nb.simulator import Simulator\n"
        "import websockets.sync.client as client\n"
        "simulator = Simulator(speed=0.1).start()\n"
        "line = client.connect(simulator.url).__enter__()\n"
        'line.send(\'{"type": "response.create", "input": "Hi."}\')\n'
        "line.recv()\n"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60
    )
    assert (ran.returncode, ran.stderr) == (0, "")
