"""From a file to the `events` frame: speed, memory, refreshes, and the cost of an event by size.

    python tests/benchmarks/frames.py [EVENTS] [--long] [--quick]

Beside `polars.read_ndjson` to pandas, `pandas.read_json(lines=True)` and DuckDB, on the same file,
in the same run, each time in a fresh process, the peers taking turns. Those that are not installed
are left out: ``pip install polars duckdb pyarrow`` brings them. Memory is the peak above what the
process held once everything was imported, over the file's size. ``--long`` adds 10 million events
to the sizes (about 3 GB on disk); ``--quick`` measures each once.

They do not do the same: the peers parse, while ours also keeps every message, follows which
response and lane each event belongs to, and folds the state that the other tables are made of. In
our own journal each message is a text in an entry: there only polars is asked, to parse both.
"""

from __future__ import annotations

import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))
from recorded import write

if TYPE_CHECKING:
    from collections.abc import Callable

NEW = 1_000
TABLES = ("events", "responses", "items", "tool_calls", "steers", "lanes", "usage", "problems")


# -- in a process of its own ----------------------------------------------------------------------


def steer_nb_frame(path: str) -> Any:
    import steer_nb.frames
    import steer_nb.trace.readers.loading

    def run() -> Any:
        trace = steer_nb.load(path, progress=False)
        return trace, trace.frames.events

    return run


def polars_frame(path: str) -> Any:
    import polars as pl
    import pyarrow as pa

    assert pa.__version__  # `to_pandas` imports it

    def run() -> Any:
        # A schema from the first lines only would not know the fields that come later.
        frame = pl.read_ndjson(path, infer_schema_length=None)
        if "raw" in frame:  # our journal holds each message as a text
            frame = frame.with_columns(frame["raw"].str.json_decode(infer_schema_length=None))
        return frame.to_pandas()

    return run


def pandas_frame(path: str) -> Any:
    import pandas as pd

    return lambda: pd.read_json(path, lines=True)


def duckdb_frame(path: str) -> Any:
    import duckdb

    return lambda: duckdb.sql(f"SELECT * FROM read_json('{path}', sample_size=-1)").df()


METHODS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "steer_nb": ("steer_nb.load(file).frames.events", steer_nb_frame),
    "polars": ("polars.read_ndjson(file).to_pandas()", polars_frame),
    "pandas": ("pandas.read_json(file, lines=True)", pandas_frame),
    "duckdb": ("duckdb read_json(file).df()", duckdb_frame),
}


def peak() -> int:
    """The most memory that this process had, in bytes."""
    try:  # what `getrusage` says may be inherited from the process that started this one
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) << 10
    except (OSError, IndexError):
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most << 10


def one(method: str, path: str) -> dict[str, float]:
    """Build a frame once."""
    if method == "refresh":
        return refresh(path)
    run = METHODS[method][1](path)
    before = peak()
    start = time.perf_counter()
    kept = run()
    took = time.perf_counter() - start
    del kept
    return {"seconds": took, "bytes": peak() - before}


def refresh(path: str) -> dict[str, float]:
    """Build every table without the last `NEW` events, then let those come, and ask again."""
    import steer_nb
    from steer_nb.trace import Trace

    def timed(name: str) -> float:
        start = time.perf_counter()
        frames.table(name)
        return time.perf_counter() - start

    loaded = steer_nb.load(path, progress=False)
    trace = Trace(loaded.header, loaded.entries[:-NEW])
    frames = trace.frames
    first = {name: timed(name) for name in TABLES}
    for entry in loaded.entries[-NEW:]:
        trace.append(entry)
    again = {name: timed(name) for name in TABLES}
    found: dict[str, float] = {}
    for name in TABLES:
        found |= {f"{name} first": first[name], f"{name} again": again[name]}
    return found


# -- the whole ------------------------------------------------------------------------------------


def fresh(method: str, path: Path) -> dict[str, float]:
    """Run `one` in a fresh process."""
    command = [sys.executable, __file__, "--one", method, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        msg = f"{method}: {found.stderr.strip()[-2000:]}"
        raise RuntimeError(msg)
    result: dict[str, float] = json.loads(found.stdout)
    return result


def compared(path: Path, count: int, rounds: int, methods: list[str]) -> None:
    """Some methods on one file, taking turns."""
    size = path.stat().st_size
    present = [name for name in methods if find_spec(name) is not None]
    for name in set(methods) - set(present):
        print(f"{name} is not installed and left out: pip install {name}")
    path.read_bytes()  # into the page cache
    turns = [{name: fresh(name, path) for name in present} for _ in range(rounds)]
    print(f"{path.name}: {count:,} events, {size / count:.0f} bytes each, median of {rounds}")
    for name in present:
        took = statistics.median(turn[name]["seconds"] for turn in turns)
        most = statistics.median(turn[name]["bytes"] for turn in turns)
        print(
            f"  {METHODS[name][0]:38}{count / took:12,.0f} events/s, "
            f"peak memory {most / size:.2f} times the file"
        )
    for name in present[1:]:
        ratio = statistics.median(t[name]["seconds"] / t["steer_nb"]["seconds"] for t in turns)
        aim = "   (aim: at least 1)" if name == "polars" else ""
        print(f"  ratio steer_nb / {name}: {ratio:.2f}{aim}")
    most = statistics.median(turn["steer_nb"]["bytes"] for turn in turns) / size
    print(f"  ratio peak memory / file: {most:.2f}   (aim: under 2.5)")


def refreshed(path: Path, rounds: int) -> None:
    """What it costs to ask again after new events."""
    turns = [fresh("refresh", path) for _ in range(rounds)]

    def median(name: str, when: str) -> float:
        return statistics.median(turn[f"{name} {when}"] for turn in turns)

    # The first table that is asked for pays for the fold, which all others need, too.
    fold, folded_on = median("events", "first"), median("events", "again")
    print(f"{path.name}: asked again after {NEW:,} new events, against the full build")
    for name in TABLES:
        first, again = median(name, "first"), median(name, "again")
        if name != "events":
            first, again = first + fold, again + folded_on
        aim = "   (aim: under 0.05)" if name == "events" else ""
        print(
            f"  {name:10}{first * 1e3:10,.1f} ms at first, {again * 1e3:8,.1f} ms again, "
            f"ratio {again / first:.4f}{aim}"
        )


def by_size(folder: Path, sizes: list[int], rounds: int) -> None:
    """What one event costs, in recordings of different lengths."""
    print("cost of an event by the length of the file (aim: flat)")
    first: float | None = None
    for count in sizes:
        path = folder / f"{count}.jsonl"
        if not path.exists():
            write(path, count)
        path.read_bytes()
        runs = rounds if count < 10**7 else 1
        results = [fresh("steer_nb", path) for _ in range(runs)]
        cost = statistics.median(result["seconds"] for result in results) / count
        most = statistics.median(result["bytes"] for result in results) / path.stat().st_size
        first = first or cost
        print(
            f"  {count:12,} events {cost * 1e6:6.2f} us each, ratio to the first "
            f"{cost / first:.2f}, peak memory {most:.2f} times the file"
        )


def main() -> None:
    words = sys.argv[1:]
    numbers = [int(word) for word in words if word.isdecimal()]
    count = numbers[0] if numbers else 10**6
    rounds = 1 if "--quick" in words else 3
    with tempfile.TemporaryDirectory(prefix="steer-nb-frames-") as name:
        folder = Path(name)
        bare, journal = folder / f"{count}.jsonl", folder / f"{count}.journal"
        write(bare, count)
        compared(bare, count, rounds, list(METHODS))
        write(journal, count, journal=True)
        compared(journal, count, rounds, ["steer_nb", "polars"])
        journal.unlink()
        refreshed(bare, rounds)
        sizes = [size for size in (10**4, 10**5, 10**6) if size <= count]
        by_size(folder, sizes + [10**7] * ("--long" in words), rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        gc.collect()
        print(json.dumps(one(sys.argv[2], sys.argv[3])))
    else:
        main()
