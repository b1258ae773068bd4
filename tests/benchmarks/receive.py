"""What it costs to receive an event: decoded, recorded to the journal and folded.

    python tests/benchmarks/receive.py [EVENTS]

Against a bare `websockets` loop that throws every message away, and against the official SDK's own
iteration, from the same server in the same run. The aim is at least half the speed of the bare
loop.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from websockets.asyncio.client import connect

import steer_nb

sys.path.insert(0, str(Path(__file__).parent))
from flood import LANE

ROUNDS = 5


async def bare(port: int) -> float:
    """Receive everything and keep nothing."""
    url = f"ws://127.0.0.1:{port}/v1/responses"
    async with connect(url, max_size=None, compression=None) as socket:
        await socket.send("go")
        start = time.perf_counter()
        async for message in socket:
            if message.startswith('{"type": "response.completed"'):
                return time.perf_counter() - start
    msg = "the server closed early"
    raise RuntimeError(msg)


def ours(port: int, directory: str) -> float:
    """Receive, decode, write to the journal, fold."""
    url = f"ws://127.0.0.1:{port}/v1/responses"
    with steer_nb.connect(url, api_key="none", journal=directory, quiet=True) as session:
        lane = session.lane(LANE)
        start = time.perf_counter()
        response = lane.create("go")
        response.wait(timeout=120)
        return time.perf_counter() - start


def official(port: int) -> float | None:
    """Iterate over the official SDK's connection; None where it is not installed."""
    try:
        from openai import OpenAI
    except ImportError:
        return None
    client = OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none")
    with client.responses.connect() as connection:
        connection.response.create(model="gpt-6-astra", input="go", stream_id=LANE)
        start = time.perf_counter()
        for event in connection:
            if event.type == "response.completed":
                return time.perf_counter() - start
    msg = "the server closed early"
    raise RuntimeError(msg)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    flood = Path(__file__).with_name("flood.py")
    server = subprocess.Popen(
        [sys.executable, str(flood), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    port = int(server.stdout.readline())
    try:
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(bare(port))  # warm
            ours(port, directory)
            pairs = [(asyncio.run(bare(port)), ours(port, directory)) for _ in range(ROUNDS)]
        sdk = official(port)
    finally:
        server.terminate()
        server.wait()
    plain = statistics.median(pair[0] for pair in pairs)
    full = statistics.median(pair[1] for pair in pairs)
    ratio = statistics.median(pair[0] / pair[1] for pair in pairs)
    print(f"{count:,} events, median of {ROUNDS} pairs on loopback")
    print(f"{'bare websockets loop, thrown away':48}{count / plain:12,.0f} events/s")
    print(f"{'steer_nb: decoded, in the journal, folded':48}{count / full:12,.0f} events/s")
    if sdk is not None:
        print(f"{'official SDK, iterated and thrown away (once)':48}{count / sdk:12,.0f} events/s")
        print(f"ratio official SDK / bare: {plain / sdk:.2f}")
    print(f"ratio steer_nb / bare: {ratio:.2f}   (aim: at least 0.5)")


if __name__ == "__main__":
    main()
