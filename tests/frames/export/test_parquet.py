"""Tables there and back: single files, and datasets of many traces."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from steer_nb import frames as f
from steer_nb.errors import (
    ExportFailed,
    InvalidInput,
    MissingExtra,
    TraceError,
    UnknownColumn,
    UnknownFrame,
)
from steer_nb.frames.export.tables import columns_of
from steer_nb.trace import SCHEMA, Header, Problem, Trace, TraceSet
from tests.frames.export.played import played
from tests.frames.letta_walks import LETTA_WALKS
from tests.frames.test_schema import empty, full
from tests.frames.walks import WALKS
from tests.support.traces import TraceBuilder

EVERY = {name: table.all for name, table in f.TABLES.items()}
METRICS = [name for name in f.FRAME_NAMES if name not in f.TABLES]


def other(trace: Trace, trace_id: str) -> Trace:
    """The same entries under another id."""
    return Trace(Header(SCHEMA, trace_id, 0.0), trace.entries)


@pytest.mark.parametrize("partitioned", [False, True])
@pytest.mark.parametrize("make", [empty, full, lambda: played("seven")])
def test_tables_come_back_as_they_were(make, partitioned, tmp_path):
    trace = make()
    written = trace.export.parquet(tmp_path / "out", tables=EVERY, partitioned=partitioned)
    assert len(written) == len(f.TABLES)
    back = f.read_parquet(tmp_path / "out")
    assert list(back) == list(f.TABLES)
    for name, frame in back.items():
        expected = trace.frames.table(name, columns=EVERY[name])
        pd.testing.assert_frame_equal(frame, expected)
        assert frame.attrs == expected.attrs


def test_metrics_come_back_as_they_were(tmp_path):
    trace = played("planner")
    trace.export.parquet(tmp_path, tables=METRICS)
    back = f.read_parquet(tmp_path)
    assert set(back) == set(METRICS)
    for name, frame in back.items():
        pd.testing.assert_frame_equal(frame, trace.frame(name))


def test_what_was_read_gives_the_same_metrics(tmp_path):
    trace = played("planner")
    trace.export.parquet(tmp_path)
    pd.testing.assert_frame_equal(f.summary_of(f.read_parquet(tmp_path)), trace.summary())


@settings(deadline=None, max_examples=5)
@given(WALKS | LETTA_WALKS)
def test_any_trace_comes_back(tmp_path_factory, builder):
    folder = tmp_path_factory.mktemp("walk")
    builder.trace.export.parquet(folder, tables=EVERY)
    for name, frame in f.read_parquet(folder).items():
        expected = builder.trace.frames.table(name, columns=EVERY[name])
        pd.testing.assert_frame_equal(frame, expected)


def test_files_say_what_they_are(tmp_path):
    trace = full()
    trace.export.parquet(tmp_path)
    for name in f.TABLES:
        schema = pq.read_schema(tmp_path / f"{name}.parquet")
        assert schema.metadata[b"steer_nb.table"] == name.encode()
        assert schema.metadata[b"steer_nb.schema_version"] == f.SCHEMA_VERSION.encode()
        assert schema.metadata[b"trace_id"] == trace.trace_id.encode()
        for field in schema:
            column = columns_of(name)[field.name]
            text = str(column.dtype) in ("string", "category")
            assert (field.type == pa.large_string()) == text, column.name


def test_pandas_alone_reads_numbers_and_flags_as_they_were(tmp_path):
    played("seven").export.parquet(tmp_path)
    frame = pd.read_parquet(tmp_path / "items.parquet")
    assert str(frame["n_deltas"].dtype) == "Int64"
    assert str(frame["encrypted"].dtype) == "boolean"


def test_words_from_the_future_come_back(tmp_path):
    trace = TraceBuilder().event("x.one").event("x.two").event("x.one").trace
    trace.export.parquet(tmp_path)
    pd.testing.assert_frame_equal(f.read_table(tmp_path, "events"), trace.frames.events)


def test_only_some_tables_and_columns(tmp_path):
    trace = full()
    trace.export.parquet(tmp_path, tables={"events": "EventCore + EventDelta", "steers": None})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.parquet", "steers.parquet"]
    assert f.read_table(tmp_path, "events").columns[-1] == "delta_json"
    chosen = f.read_table(tmp_path, "events", columns=["type", "seq"])
    assert list(chosen) == ["seq", "type"]  # in the order of the table
    trace.export.parquet(tmp_path / "one.parquet", tables="steers")
    assert len(pd.read_parquet(tmp_path / "one.parquet")) == 1


@pytest.mark.parametrize(
    ("tables", "error"),
    [
        ("steer", UnknownFrame),
        (["metrics.nothing"], UnknownFrame),
        ({"steers": "nothing"}, UnknownColumn),
        (7, InvalidInput),
        ([7], InvalidInput),
    ],
)
def test_wrong_tables_are_named_before_anything_is_written(tables, error, tmp_path):
    with pytest.raises(error):
        full().export.parquet(tmp_path / "out", tables=tables)
    assert not (tmp_path / "out").exists()


def test_one_file_is_one_table(tmp_path):
    with pytest.raises(InvalidInput, match="name it"):
        full().export.parquet(tmp_path / "all.parquet")


class TestDataset:
    def test_traces_are_added_without_touching_others(self, tmp_path):
        first, second = full(), other(full(), "b" * 32)
        one = [Path(p) for p in first.export.parquet(tmp_path, partitioned=True)]
        before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in one}
        second.export.parquet(tmp_path, partitioned=True)
        assert {p: (p.stat().st_ino, p.stat().st_mtime_ns) for p in one} == before
        back = f.read_parquet(tmp_path)
        for name, frame in back.items():
            ids = {first.trace_id, second.trace_id}
            assert set(frame["trace_id"]) == ids, name
            expected = pd.concat([first.frames[name], second.frames[name]], ignore_index=True)
            assert len(frame) == len(expected)
            assert list(frame) == list(first.frames[name])
            assert frame.dtypes.astype(str).equals(first.frames[name].dtypes.astype(str))

    def test_it_is_filtered_by_trace_and_columns(self, tmp_path):
        for letter in "abc":
            other(full(), letter * 32).export.parquet(tmp_path, partitioned=True)
        frame = f.read_table(tmp_path, "events", columns="seq + trace_id", traces="b" * 32)
        assert list(frame) == ["trace_id", "seq"]
        assert set(frame["trace_id"]) == {"b" * 32}
        two = f.read_parquet(tmp_path, tables="steers", traces=["a" * 32, "c" * 32])
        assert list(two["steers"]["trace_id"]) == ["a" * 32, "c" * 32]
        assert len(f.read_table(tmp_path, "steers", traces="nobody")) == 0

    def test_any_reader_of_datasets_reads_it(self, tmp_path):
        for letter in "ab":
            other(full(), letter * 32).export.parquet(tmp_path, partitioned=True)
        source = pa.dataset.dataset(tmp_path / "steers", format="parquet", partitioning="hive")
        assert source.to_table().column("trace_id").to_pylist() == ["a" * 32, "b" * 32]

    def test_a_trace_that_is_written_again_replaces_itself(self, tmp_path):
        trace = full()
        trace.export.parquet(tmp_path, partitioned=True)
        trace.export.parquet(tmp_path, partitioned=True)
        assert len(f.read_table(tmp_path, "steers")) == 1

    @pytest.mark.parametrize("trace_id", ["../../out", "a b", "1234567890", "%2F", "ü=ö", "."])
    def test_an_odd_id_stays_in_its_folder(self, trace_id, tmp_path):
        trace = other(full(), trace_id)
        folder = tmp_path / "deep" / "out"
        for path in trace.export.parquet(folder, partitioned=True):
            assert folder.resolve() in Path(path).resolve().parents
        assert list(f.read_table(folder, "steers")["trace_id"]) == [trace_id]
        assert list(tmp_path.iterdir()) == [tmp_path / "deep"]

    def test_a_column_that_one_part_has_not_is_null_there(self, tmp_path):
        full().export.parquet(tmp_path, tables={"steers": ["steer_key"]}, partitioned=True)
        other(full(), "f" * 32).export.parquet(tmp_path, tables="steers", partitioned=True)
        frame = f.read_table(tmp_path, "steers")
        assert list(frame["state"].isna()) == [True, False]

    def test_numbers_that_floats_cannot_hold_survive(self, tmp_path):
        builder = TraceBuilder().event("x", sequence_number=2**53 + 1).event("x")
        builder.trace.export.parquet(tmp_path, partitioned=True)
        assert f.read_table(tmp_path, "events")["sequence_number"][0] == 2**53 + 1

    def test_attrs_of_many_are_those_of_all_together(self, tmp_path):
        odd = TraceBuilder().event("x.new").trace
        for trace in (odd, other(odd, "c" * 32)):
            trace.export.parquet(tmp_path, partitioned=True)
        attrs = f.read_table(tmp_path, "events").attrs
        assert attrs == {"table": "events", "schema_version": "1", "dropped": 0, "unknown": 2}


class TestSets:
    def test_a_set_of_traces_is_a_dataset(self, tmp_path):
        runs = TraceSet([full(), other(full(), "b" * 32)])
        assert len(runs.export.parquet(tmp_path)) == 2 * len(f.TABLES)
        for name, frame in f.read_parquet(tmp_path).items():
            pd.testing.assert_frame_equal(frame, runs.frames.table(name))
        pd.testing.assert_frame_equal(f.summary_of(f.read_parquet(tmp_path)), runs.summary())

    def test_problems_of_files_that_became_no_trace_are_kept(self, tmp_path):
        lost = [
            Problem("unknown_kind", "is no trace", file="runs/a.bin"),
            Problem("same_trace", "left out", line=3, file="runs/b.jsonl"),
        ]
        runs = TraceSet([full(), other(full(), "f" * 32)], lost, where="runs")
        written = runs.export.parquet(tmp_path)
        assert len(written) == 2 * len(f.TABLES) + 1
        for name, frame in f.read_parquet(tmp_path).items():
            pd.testing.assert_frame_equal(frame, runs.frames.table(name))
        assert f.read_table(tmp_path, "problems")["file"].tolist()[:2] == [p.file for p in lost]
        one = f.read_table(tmp_path, "problems", traces="f" * 32)
        assert not one["file"].isin(["runs/a.bin"]).any()
        source = pa.dataset.dataset(tmp_path / "problems", format="parquet", partitioning="hive")
        assert source.to_table()["trace_id"].null_count == 2
        TraceSet([], lost[:1], where="other runs").export.parquet(tmp_path)
        assert f.read_table(tmp_path, "problems")["trace_id"].isna().sum() == 3
        TraceSet([full()], [], where="runs").export.parquet(tmp_path)  # loaded anew, and all well
        assert f.read_table(tmp_path, "problems")["trace_id"].isna().sum() == 1

    def test_problems_of_no_trace_only_where_they_are_asked_for(self, tmp_path):
        runs = TraceSet([full()], [Problem("unknown_kind", "is no trace", file="a")], where="a")
        assert len(runs.export.parquet(tmp_path, tables="steers")) == 1
        kept = runs.export.parquet(tmp_path, tables={"problems": ["kind", "detail"]}, redact=True)
        assert len(kept) == 2
        first = f.read_table(tmp_path, "problems").iloc[0]
        assert (first["kind"], first["detail"]) == ("unknown_kind", "[11 characters]")

    def test_or_one_file_for_each_table(self, tmp_path):
        runs = TraceSet([full(), other(full(), "b" * 32)])
        runs.export.parquet(tmp_path, partitioned=False, redact=["shorter"])
        frame = f.read_table(tmp_path, "steers", traces="b" * 32)
        assert list(frame["input_text"]) == ["[redacted]"]
        assert frame.attrs["n_traces"] == 2
        assert b"trace_id" not in pq.read_schema(tmp_path / "steers.parquet").metadata
        assert len(f.read_table(tmp_path, "steers")) == 2


class TestFailures:
    def test_an_old_file_stays_until_the_new_one_is_complete(self, tmp_path, monkeypatch):
        full().export.parquet(tmp_path, tables="steers")
        old = (tmp_path / "steers.parquet").read_bytes()

        def fails(table, where):
            Path(where).write_bytes(b"PAR1 half")
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(pq, "write_table", fails)
        with pytest.raises(ExportFailed, match="No space left"):
            played("seven").export.parquet(tmp_path, tables="steers")
        assert (tmp_path / "steers.parquet").read_bytes() == old
        assert [path.name for path in tmp_path.iterdir()] == ["steers.parquet"]

    def test_a_file_in_the_place_of_a_folder(self, tmp_path):
        (tmp_path / "out").write_text("")
        with pytest.raises(ExportFailed, match="choose another place"):
            full().export.parquet(tmp_path / "out")

    def test_a_version_from_the_future(self, tmp_path):
        full().export.parquet(tmp_path, tables="steers")
        path = tmp_path / "steers.parquet"
        table = pq.read_table(path)
        newer = {**table.schema.metadata, b"steer_nb.schema_version": b"9"}
        pq.write_table(table.replace_schema_metadata(newer), path)
        with pytest.raises(TraceError, match=r"newer steer_nb \(columns of version 9.*up to 1"):
            f.read_parquet(tmp_path)

    def test_a_file_of_somebody_else(self, tmp_path):
        pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "steers.parquet")
        with pytest.raises(TraceError, match="not written by steer_nb"):
            f.read_table(tmp_path, "steers")
        (tmp_path / "steers.parquet").write_bytes(b"nothing")
        with pytest.raises(TraceError, match="no Parquet file"):
            f.read_table(tmp_path, "steers")

    def test_nothing_there(self, tmp_path):
        with pytest.raises(TraceError, match="no tables"):
            f.read_parquet(tmp_path)
        with pytest.raises(TraceError, match="no table 'steers'"):
            f.read_parquet(tmp_path, tables="steers")
        with pytest.raises(UnknownFrame):
            f.read_table(tmp_path, "steer")

    def test_a_table_that_is_there_twice(self, tmp_path):
        full().export.parquet(tmp_path, tables="steers")
        full().export.parquet(tmp_path, tables="steers", partitioned=True)
        with pytest.raises(TraceError, match="twice"):
            f.read_table(tmp_path, "steers")

    def test_without_pyarrow_the_extra_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtra, match=r'pip install "steer-nb\[parquet\]"'):
            full().export.parquet(tmp_path / "out")
        assert not (tmp_path / "out").exists()
        with pytest.raises(MissingExtra, match="parquet"):
            f.read_parquet(tmp_path)
