"""From a file to the `events` frame: speed, memory, refreshes, and the cost of an event by size.

    python tests/benchmarks/frames.py [EVENTS] [--rounds N] [--long] [--quick] [--no-others]

Beside `polars.read_ndjson` to pandas, `pandas.read_json(lines=True)` and DuckDB, on the same file,
in the same run, each time in a process of its own; ``pip install "steer-nb[bench]"`` brings them,
and one that is not installed is left out with a word. Memory is the peak above what the process
held once everything was imported, over the file's size. ``--long`` adds 10 million events to the
sizes (about 3 GB on disk, 8 GB of memory); ``--quick`` measures each once; ``--no-others`` leaves
out what takes long: pandas, DuckDB and the refreshes.

**How to read it.** A machine that does other things, too, makes every single time longer, and never
shorter. So the contenders run in pairs, in turns that change sides, and what is compared is the
best time of each; the median of the pairs stands beside it, and the CPU time, which other work
changes least. steer_nb uses one core, polars all there are: ``wall`` is what a person waits, CPU
what it costs. Where both figures of a ratio agree, believe them.

**What is compared.** The peers parse; ours also keeps every message, follows which response and
lane each event belongs to, and folds the state that all other tables are made of.
``polars.read_ndjson(file).to_pandas()`` is what people type; its nested columns become dicts.
``polars, same columns`` gives the very columns of `trace.frames.events`: it reads lines, since it
needs the length of each, decodes them by a schema that it is told, and fills ids forward lane by
lane. Before anything is measured its values are compared with ours on a short recording; it is told
the trace's id and the words for families, and dtypes are its own. In our own journal each message
is a text in an entry: there polars is asked to parse both.
"""

from __future__ import annotations

import gc
import json
import os
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


def polars_columns(path: str) -> Any:
    """The columns of `EventCore`, from bare events, as polars makes them."""
    import polars as pl
    import pyarrow as pa

    from steer_nb.frames import EventCore
    from steer_nb.wire import SERVER_EVENT_TYPES
    from steer_nb.wire.catalogue import EXTRA_FAMILY, FAMILY

    assert pa.__version__
    families = {**EXTRA_FAMILY, **FAMILY}
    text, number = pl.String, pl.Int64
    agent = pl.Struct({"agent_name": text})
    fields: dict[str, Any] = {"type": text, "sequence_number": number, "stream_id": text}
    fields |= {"item_id": text, "output_index": number, "content_index": number, "agent": agent}
    fields |= {"response": pl.Struct({"id": text}), "item": pl.Struct({"id": text})}
    trace_id = identity(path)

    def run() -> Any:
        lines = pl.read_lines(path, name="raw")
        event = pl.col("raw").str.json_decode(pl.Struct(fields))
        frame = lines.select(pl.col("raw").str.len_bytes().cast(number).alias("bytes"), event=event)
        frame = frame.unnest("event").with_row_index("seq", offset=1)
        connection = f"{trace_id}/1"
        return frame.select(
            event_id=pl.format("{}/{}", pl.lit(trace_id), "seq"),
            trace_id=pl.lit(trace_id),
            connection_id=pl.lit(connection),
            lane_id=pl.format("{}/{}", pl.lit(connection), pl.col("stream_id").fill_null(DEFAULT)),
            seq=pl.col("seq").cast(number),
            recv_at=pl.lit(None, pl.Datetime("us", "UTC")),
            t_s=pl.lit(None, pl.Float64),
            direction=pl.lit("in").cast(pl.Categorical),
            type=pl.col("type").cast(pl.Categorical),
            family=pl.col("type").replace_strict(families, default="unknown").cast(pl.Categorical),
            known=pl.col("type").is_in(list(SERVER_EVENT_TYPES)),
            sequence_number="sequence_number",
            response_id=pl.col("response").struct["id"].forward_fill().over("stream_id"),
            item_id=pl.coalesce("item_id", pl.col("item").struct["id"]),
            output_index="output_index",
            content_index="content_index",
            agent_name=pl.col("agent").struct["agent_name"],
            bytes="bytes",
        ).to_pandas()[list(EventCore.names)]

    return run


DEFAULT = "(default)"


def identity(path: str) -> str:
    """The id that steer_nb gives to a recording: the digest of its content."""
    import hashlib

    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:32]


def pandas_frame(path: str) -> Any:
    import pandas as pd

    return lambda: pd.read_json(path, lines=True)


def duckdb_frame(path: str) -> Any:
    import duckdb

    return lambda: duckdb.sql(f"SELECT * FROM read_json('{path}', sample_size=-1)").df()


METHODS: dict[str, tuple[str, str, Callable[[str], Any]]] = {
    "steer_nb": ("steer_nb", "steer_nb.load(file).frames.events", steer_nb_frame),
    "polars": ("polars", "polars.read_ndjson(file).to_pandas()", polars_frame),
    "polars_columns": ("polars", "polars, same columns", polars_columns),
    "pandas": ("pandas", "pandas.read_json(file, lines=True)", pandas_frame),
    "duckdb": ("duckdb", "duckdb read_json(file).df()", duckdb_frame),
}
"""By name: the package it needs, what a person types, and how to do it."""


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
    if method == "same":
        return same(path)
    run = METHODS[method][2](path)
    before = peak()
    start, worked = time.perf_counter(), time.process_time()
    kept = run()
    took, worked = time.perf_counter() - start, time.process_time() - worked
    del kept
    return {"wall": took, "cpu": worked, "bytes": peak() - before}


def same(path: str) -> dict[str, float]:
    """Fail where polars' columns have other values than ours."""
    import pandas as pd

    ours = steer_nb_frame(path)()[1]
    theirs = polars_columns(path)()
    assert list(ours) == list(theirs), (list(ours), list(theirs))
    for name in ours:
        one, other = ours[name].astype(object), theirs[name].astype(object)
        one, other = one.where(one.notna(), None), other.where(other.notna(), None)
        pd.testing.assert_series_equal(one, other, check_dtype=False)
    return {"rows": len(ours)}


def refresh(path: str) -> dict[str, float]:
    """Build every table without the last `NEW` events, then let those come, and ask again."""
    import steer_nb
    from steer_nb.trace import Trace

    def timed(name: str) -> float:
        start = time.process_time()
        frames.table(name)
        return time.process_time() - start

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


def present(methods: list[str]) -> list[str]:
    """Those of some methods whose packages are there; a word for each that is not."""
    needed = {METHODS[name][0] for name in methods}
    missing = {package for package in needed if find_spec(package) is None}
    if "polars" in needed and find_spec("pyarrow") is None:
        missing.add("polars")  # its `to_pandas` needs it
    for package in sorted(missing):
        print(f'{package} is left out, since it is not installed: pip install "steer-nb[bench]"')
    return [name for name in methods if METHODS[name][0] not in missing]


def loaded() -> str:
    """How busy the machine is, in words."""
    try:
        return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    except OSError:
        return f"{os.cpu_count()} cores"


def compared(path: Path, count: int, rounds: int, methods: list[str]) -> None:
    """Some methods on one file, taking turns: forwards, then backwards."""
    size = path.stat().st_size
    methods = present(methods)
    path.read_bytes()  # into the page cache
    turns: list[dict[str, dict[str, float]]] = []
    for turn in range(rounds):
        order = methods if turn % 2 == 0 else methods[::-1]
        turns.append({name: fresh(name, path) for name in order})
    print(f"\n{path.name}: {count:,} events, {size / count:.0f} bytes each, ", end="")
    print(f"best of {rounds}; {loaded()}")
    for name in methods:
        best = {what: min(turn[name][what] for turn in turns) for what in ("wall", "cpu")}
        worst = max(turn[name]["wall"] for turn in turns)
        most = statistics.median(turn[name]["bytes"] for turn in turns)
        print(
            f"  {METHODS[name][1]:38} wall {best['wall']:6.2f} s (worst {worst:6.2f}), "
            f"CPU {best['cpu']:6.2f} s, {count / best['wall']:9,.0f} events/s, "
            f"peak memory {most / size:.2f} times the file"
        )
    for name in methods[1:]:
        best, pairs = {}, {}
        for what in ("wall", "cpu"):
            times = [(turn[name][what], turn["steer_nb"][what]) for turn in turns]
            best[what] = min(t for t, _ in times) / min(t for _, t in times)
            pairs[what] = statistics.median(theirs / ours for theirs, ours in times)
        aim = "   (aim of wall: at least 1)" if name == "polars" else ""
        print(
            f"  time of {METHODS[name][1]} / steer_nb: wall {best['wall']:.2f} "
            f"(pairs {pairs['wall']:.2f}), CPU {best['cpu']:.2f} (pairs {pairs['cpu']:.2f}){aim}"
        )
    most = statistics.median(turn["steer_nb"]["bytes"] for turn in turns) / size
    print(f"  ratio peak memory / file: {most:.2f}   (aim: under 2.5)", flush=True)


def refreshed(path: Path, rounds: int) -> None:
    """What it costs to ask again after new events."""
    turns = [fresh("refresh", path) for _ in range(rounds)]

    def best(name: str, when: str) -> float:
        return min(turn[f"{name} {when}"] for turn in turns)

    # The first table that is asked for pays for the fold, which all others need, too.
    fold, folded_on = best("events", "first"), best("events", "again")
    print(f"\n{path.name}: asked again after {NEW:,} new events, against the full build (CPU)")
    for name in TABLES:
        first, again = best(name, "first"), best(name, "again")
        if name != "events":
            first, again = first + fold, again + folded_on
        aim = "   (aim: under 0.05)" if name == "events" else ""
        print(
            f"  {name:10}{first * 1e3:10,.1f} ms at first, {again * 1e3:8,.1f} ms again, "
            f"ratio {again / first:.4f}{aim}",
            flush=True,
        )


def by_size(folder: Path, sizes: list[int], rounds: int) -> None:
    """What one event costs, in recordings of different lengths."""
    print(f"\ncost of an event by the length of the file (aim: flat); {loaded()}")
    first: float | None = None
    for count in sizes:
        path = folder / f"{count}.jsonl"
        if not path.exists():
            write(path, count)
        path.read_bytes()
        runs = rounds if count < 10**7 else 1
        results = [fresh("steer_nb", path) for _ in range(runs)]
        cost = min(result["cpu"] for result in results) / count
        wall = min(result["wall"] for result in results) / count
        most = statistics.median(result["bytes"] for result in results)
        first = first or cost
        print(
            f"  {count:12,} events: CPU {cost * 1e6:6.2f} us each, wall {wall * 1e6:6.2f} us; "
            f"ratio of CPU to the first {cost / first:.2f}, peak memory {most / 1e6:,.0f} MB, "
            f"{most / path.stat().st_size:.2f} times the file",
            flush=True,
        )


def main() -> None:
    words = sys.argv[1:]
    count = int(words[0]) if words and words[0].isdecimal() else 10**6
    rounds = int(words[words.index("--rounds") + 1]) if "--rounds" in words else 5
    rounds = 1 if "--quick" in words else rounds
    with tempfile.TemporaryDirectory(prefix="steer-nb-frames-") as name:
        folder = Path(name)
        short, journal = folder / "short.jsonl", folder / f"{count}.journal"
        bare = folder / f"{count}.jsonl"
        write(short, min(count, 20_000))
        methods = present(["polars", "polars_columns"])
        if methods:
            rows = fresh("same", short)["rows"]
            print(f"polars, same columns: equal to steer_nb's in {rows:,} rows")
        write(bare, count)
        compared(bare, count, rounds, ["steer_nb", *methods])
        if "--no-others" not in words:
            compared(bare, count, min(rounds, 2), ["steer_nb", "pandas", "duckdb"])
        write(journal, count, journal=True)
        compared(journal, count, rounds, ["steer_nb", *methods[:1]])
        journal.unlink()
        if "--no-others" not in words:
            refreshed(bare, min(rounds, 3))
        sizes = [size for size in (10**4, 10**5, 10**6) if size <= count]
        by_size(folder, sizes + [10**7] * ("--long" in words), rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        gc.collect()
        print(json.dumps(one(sys.argv[2], sys.argv[3])))
    else:
        main()
