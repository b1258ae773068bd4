"""Many recordings: `scan` with processes of Dask beside `load` in one process.

    python tests/benchmarks/scan.py [MEGABYTES] [PROCESSES]

Journals of about ten megabytes each are written to a folder, 200 MB by default. Then each way gives
the number of events by type, the metrics of all responses and the summary, a few times in turns: in
one process from what `load` gives, and by a cluster of processes (2 by default), which is started
before. What is printed are seconds and their ratio; the results are compared first.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import dask
import pandas as pd
from distributed import Client, LocalCluster
from msgspec.structs import replace

import steer_nb
from steer_nb.trace import Entry, Header, Trace

ROUNDS = 3
EVENTS = 45_000


def journal() -> Trace:
    """One long answer in many pieces, with their times."""
    trace = Trace(Header(steer_nb=1, trace_id="", started_at=0.0))
    name = "resp_1"
    created = f'{{"type":"response.created","response":{{"id":"{name}","status":"in_progress"}}}}'
    usage = '{"input_tokens":9,"output_tokens":9,"total_tokens":18}'
    ended = (
        f'{{"type":"response.completed","response":{{"id":"{name}","status":"completed",'
        f'"output":[],"usage":{usage}}}}}'
    )
    piece = (
        '{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_1",'
        '"output_index":0,"content_index":0,"delta":"word %d ","logprobs":[],"obfuscation":"%s"}'
    )
    raws = [created, *(piece % (at, at, "x" * (at % 16)) for at in range(EVENTS)), ended]
    for seq, raw in enumerate(raws):
        trace.append(Entry(seq, seq / 100, seq / 100, "in", 1, raw=raw))
    return trace


def loaded(folder: Path) -> list[pd.DataFrame]:
    runs = steer_nb.load(folder, progress=False)
    events = runs.frames.events
    return [
        events.groupby("type", observed=True).size().sort_index().to_frame("n"),
        runs.metrics.responses,
        runs.summary(),
    ]


def scanned(folder: Path) -> list[pd.DataFrame]:
    runs = steer_nb.scan(folder)
    events = runs.frames.table("events", "type")
    sizes = events.groupby("type", observed=True).size()
    found: Any = dask.compute(sizes, runs.metrics.responses, runs.summary())
    types, *others = found
    return [types.sort_index().to_frame("n"), *others]


def written(folder: Path, megabytes: int) -> tuple[int, int]:
    """Write journals until there are so many bytes; how many files and bytes that are."""
    trace, number, size = journal(), 0, 0
    while size < megabytes * 1_000_000:
        trace.header = replace(trace.header, trace_id=f"{number:032x}")
        path = folder / f"{number:04}.jsonl"
        trace.save(path)
        size += path.stat().st_size
        number += 1
    return number, size


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    ways = {"load": loaded, "scan": scanned}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    options = {"n_workers": processes, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as space:
        folder = Path(name)
        number, size = written(folder, megabytes)
        print(f"{number} journals, {size / 1e6:.0f} MB")
        with LocalCluster(local_directory=space, **options) as cluster, Client(cluster) as client:
            client.run(import_module, "steer_nb.frames.scan")
            for _ in range(ROUNDS):
                results = []
                for way, run in ways.items():
                    start = time.perf_counter()
                    results.append(run(folder))
                    seconds[way].append(time.perf_counter() - start)
                for one, other in zip(*results, strict=True):
                    other = other.reset_index(drop=True)
                    pd.testing.assert_frame_equal(one.reset_index(drop=True), other)
    for way, took in seconds.items():
        print(f"{way}: {statistics.median(took):.1f} s ({', '.join(f'{t:.1f}' for t in took)})")
    ratio = statistics.median(seconds["load"]) / statistics.median(seconds["scan"])
    print(f"scan with {processes} processes is {ratio:.2f} times as fast as load in one")


if __name__ == "__main__":
    main()
