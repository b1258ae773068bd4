"""How soon `steer-nb simulate` listens, and how much of that is work.

    python tests/benchmarks/simulate_start.py

The aim is under a second from the command to the line with the URL: a class starts many at once.
On a busy machine the time of the processor says more than the clock.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time

ROUNDS = 7
AIM_S = 1.0


def once() -> tuple[float, float]:
    """Seconds from the command to its first line; and those that the processor worked."""
    command = [sys.executable, "-m", "steer_nb", "simulate"]
    began, before = time.perf_counter(), os.times()
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        took = time.perf_counter() - began
        process.terminate()
        process.wait(timeout=20)
    assert line.startswith("http://"), line
    after = os.times()
    worked = after.children_user + after.children_system
    return took, worked - before.children_user - before.children_system


def bare() -> float:
    """Seconds of a Python that does nothing: what no program can be faster than."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - began


def main() -> None:
    once()  # compile once, warm the file cache
    ours, worked = zip(*(once() for _ in range(ROUNDS)), strict=True)
    floor = statistics.median(bare() for _ in range(ROUNDS))
    print(f"an empty Python process        {floor * 1000:7.0f} ms   (median of {ROUNDS})")
    print(
        f"steer-nb simulate to its URL   {statistics.median(ours) * 1000:7.0f} ms   "
        f"(slowest {max(ours) * 1000:.0f} ms; the aim is {AIM_S * 1000:.0f} ms)\n"
        f"its whole work, end included   {statistics.median(worked) * 1000:7.0f} ms of a processor"
    )


if __name__ == "__main__":
    main()
