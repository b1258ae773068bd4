"""How many events a second one simulator process sustains, over 1, 16 and 200 connections.

    python tests/benchmarks/load.py [EVENTS]

Beside a bare `websockets` server, in a process of its own, too, and in the same run: one that
echoes the same messages, each received and sent back, and one that sends them only. The reader is
the same for all: raw sockets, from which bytes are taken and thrown away, so that the server is
what is measured. EVENTS is how many there are in all, shared by the connections.
"""

from __future__ import annotations

import asyncio
import json
import logging
import selectors
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.frames import Frame, Opcode

CONNECTIONS = (1, 16, 200)
ROUNDS = 3
END = b'"type":"response.completed"'


def create(words: int) -> str:
    """One request, whose response has about as many events as words."""
    return json.dumps({"type": "response.create", "input": str(words)})


async def record(port: int, words: int) -> list[str]:
    """One response of the simulator: the messages that the bare servers send."""
    messages: list[str] = []
    url = f"ws://127.0.0.1:{port}/v1/responses"
    async with connect(url, max_size=None, compression=None) as line:
        await line.send(create(words))
        while not messages or END.decode() not in messages[-1]:
            messages.append(str(await line.recv()))
    return messages


def masked(text: str) -> bytes:
    """A client's message, as bytes of the wire."""
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=True)


def opened(port: int) -> socket.socket:
    """A connection that has been upgraded."""
    line = socket.create_connection(("127.0.0.1", port))
    line.sendall(
        b"GET /v1/responses HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += line.recv(1)
    assert b" 101 " in head.split(b"\r\n")[0], head
    return line


def measure(port: int, lines: int, request: bytes) -> float:
    """Send `request` on so many connections, and read each to its `response.completed`."""
    open_lines = [opened(port) for _ in range(lines)]
    selector = selectors.DefaultSelector()
    for line in open_lines:
        selector.register(line, selectors.EVENT_READ, bytearray())
    start = time.perf_counter()
    # A long request is written while the answer is read: an echo would block both otherwise.
    writers = [threading.Thread(target=line.sendall, args=(request,)) for line in open_lines]
    for writer in writers:
        writer.start()
    left = lines
    while left:
        for key, _ in selector.select():
            data = key.fileobj.recv(1 << 18)  # type: ignore[union-attr]
            assert data, "the server closed early"
            tail: bytearray = key.data
            tail += data
            if END in tail:
                selector.unregister(key.fileobj)
                left -= 1
            else:
                del tail[: -len(END)]
    took = time.perf_counter() - start
    for writer in writers:
        writer.join()
    for line in open_lines:
        line.close()
    return took


async def bare() -> None:
    """Serve: echo what comes, or, told ``go``, send what was read from standard input."""
    # The reader hangs up without a word, once it has seen enough.
    logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
    messages = json.loads(sys.stdin.readline())

    async def handle(line: ServerConnection) -> None:
        async for message in line:
            if message == "go":
                for text in messages:
                    await line.send(text)
            else:
                await line.send(message)

    options = {"max_size": None, "compression": None, "ping_interval": None}
    async with serve(handle, "127.0.0.1", 0, **options) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)


def started(*words: str, told: str = "") -> tuple[subprocess.Popen[str], int]:
    """Start a server; its first line names its port."""
    process = subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(told)
    process.stdin.flush()
    address = process.stdout.readline().strip()
    return process, int(address.rpartition(":")[2].partition("/")[0])


def main() -> None:
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    scenario = Path(__file__).with_name("words.py")
    print(f"{'connections':>11} {'simulator':>14} {'bare echo':>14} {'bare send':>14}   ratio")
    for lines in CONNECTIONS:
        words = max(100, total // lines)
        program = ["-m", "steer_nb", "simulate", "--speed", "0", "--scenario", str(scenario)]
        simulator, port = started(*program)
        messages = asyncio.run(record(port, words))
        told = json.dumps(messages) + "\n"
        plain, bare_port = started(__file__, "--bare", told=told)
        try:
            echo = b"".join(map(masked, messages))
            rounds = [
                (
                    measure(port, lines, masked(create(words))),
                    measure(bare_port, lines, echo),
                    measure(bare_port, lines, masked("go")),
                )
                for _ in range(ROUNDS)
            ]
        finally:
            for process in (simulator, plain):
                process.terminate()
                process.wait()
        events = len(messages) * lines
        ours, echoed, sent = (statistics.median(times) for times in zip(*rounds, strict=True))
        print(
            f"{lines:11} {events / ours:12,.0f}/s {events / echoed:12,.0f}/s "
            f"{events / sent:12,.0f}/s   {echoed / ours:.2f} of the echo, "
            f"{sent / ours:.2f} of the sender"
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["--bare"]:
        asyncio.run(bare())
    else:
        main()
