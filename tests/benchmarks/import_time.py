"""What `import steer_nb` costs, against `import asyncio`, each in a fresh process.

    python tests/benchmarks/import_time.py

The aim is under 150 ms in all: a `%load_ext` must not be felt.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

PEER = "import asyncio"
OURS = "import steer_nb"
ROUNDS = 15


def once(code: str) -> float:
    """Seconds of a whole process that runs `code`."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def inside(code: str) -> float:
    """Seconds of the import statement itself, measured in its own process."""
    script = f"import time; a = time.perf_counter()\n{code}\nprint(time.perf_counter() - a)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main() -> None:
    for code in (PEER, OURS):  # compile once, warm the file cache
        once(code)
    pairs = [(once(PEER), once(OURS), inside(PEER), inside(OURS)) for _ in range(ROUNDS)]
    columns = zip(*pairs, strict=True)
    peer, ours, peer_in, ours_in = (statistics.median(column) for column in columns)
    print(f"{'':24}whole process   the import itself   (median of {ROUNDS})")
    print(f"{PEER:24}{peer * 1000:10.1f} ms {peer_in * 1000:16.1f} ms")
    print(f"{OURS:24}{ours * 1000:10.1f} ms {ours_in * 1000:16.1f} ms")
    print(f"ratio ours / peer, whole process: {ours / peer:.2f}")
    print(f"ours in all: {ours * 1000:.1f} ms of the 150 ms that are the aim")


if __name__ == "__main__":
    main()
