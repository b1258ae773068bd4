"""Folders of recordings of many kinds, with all that can be odd about several files together."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

import pandas as pd
from msgspec.structs import replace

import steer_nb
from steer_nb.frames import TABLES
from steer_nb.trace import Trace
from tests.frames.export.played import played
from tests.support.traces import TraceBuilder
from tests.trace.dumps import as_cassette, as_har, as_sse
from tests.trace.test_kinds import WHOLE, completed, created

if TYPE_CHECKING:
    from pathlib import Path

EVERY = {name: table.all for name, table in TABLES.items()}
PRICES = {"gpt-6-astra": {"input": 1.25, "output": 10.0}}


def named(trace: Trace, trace_id: str, entries: Any = None) -> Trace:
    """The trace, or some of its entries, under another id."""
    header = replace(trace.header, trace_id=trace_id)
    return Trace(header, trace.entries if entries is None else entries)


def words(*types: str) -> Trace:
    """Events of types that nobody knows."""
    builder = TraceBuilder().connect()
    for one in types:
        builder.event(one)
    return builder.trace


def filled(folder: Path) -> Path:
    """Put files into a folder whose names are not in the order of their traces' ids."""
    (folder / "deep").mkdir(parents=True)
    seven, planner = played("seven"), played("planner", steer=True)
    seven.save(folder / "a_seven.jsonl")
    named(planner, "0" * 32).save(folder / "b_planner.jsonl")
    packed = folder / "c_packed.jsonl.gz"
    named(words("x.one", "x.two"), "f" * 32).save(folder / "plain")
    packed.write_bytes(gzip.compress((folder / "plain").read_bytes()))
    (folder / "plain").unlink()
    named(words("x.three", "x.one"), "e" * 32).save(folder / "d_words.jsonl")
    (folder / "deep" / "e.sse").write_bytes(as_sse([created("r9"), completed("r9")]))
    (folder / "deep" / "f.yaml").write_bytes(as_cassette(played("weather")))
    (folder / "deep" / "g.har").write_bytes(as_har(played("weather")))
    (folder / "h_lines").write_text("\n".join(WHOLE), encoding="utf-8")
    # Of one trace: its beginning, all of it, a part of it again, and another one of that id.
    half = len(planner) // 2
    named(planner, "a" * 32, planner.entries[:half]).save(folder / "i_begun.jsonl")
    named(planner, "a" * 32).save(folder / "n_whole.jsonl")
    named(planner, "a" * 32, planner.entries[: half // 2]).save(folder / "p_begun.jsonl")
    named(seven, "a" * 32).save(folder / "q_other.jsonl")
    # The same content twice, and what was made of it, saved.
    (folder / "r.sse").write_bytes((folder / "deep" / "e.sse").read_bytes())
    steer_nb.load(folder / "h_lines").save(folder / "s_saved.jsonl")
    # What is no recording, or not all of one.
    (folder / "j_notes.txt").write_text("Not a trace.", encoding="utf-8")
    (folder / "o_notes.txt").write_text("Not a trace.", encoding="utf-8")
    (folder / "k_empty").write_bytes(b"")
    torn = gzip.compress((folder / "a_seven.jsonl").read_bytes())
    (folder / "l_torn.gz").write_bytes(torn[:-20])
    named(seven, "b" * 32).save(folder / "l_torn.jsonl")
    (folder / "l_torn.jsonl").write_bytes((folder / "l_torn.jsonl").read_bytes()[:-20])
    (folder / "m_odd.jsonl").write_text(
        "\n".join([*WHOLE, "{no json", completed("r2")]), encoding="utf-8"
    )
    (folder / ".hidden").write_text("\n".join(WHOLE), encoding="utf-8")
    return folder


def assert_same(got: pd.DataFrame, expected: pd.DataFrame, name: str) -> None:
    """Compare values, dtypes and words exactly; partitions count their rows anew."""
    if name == "metrics.gaps":
        order = ["trace_id", "seq"]
        got, expected = got.sort_values(order), expected.sort_values(order)
        expected = expected.reset_index(drop=True)
    got = got.reset_index(drop=True)
    pd.testing.assert_frame_equal(got, expected, check_exact=True, obj=name)
