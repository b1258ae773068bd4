"""Parquet files and datasets, scanned: what `read_parquet` gives, lazily."""

from __future__ import annotations

import shutil
from pathlib import Path

import dask
import pandas as pd
import pytest

import steer_nb
from steer_nb.errors import TraceError, UnknownColumn, UnknownLane
from steer_nb.frames import FRAME_NAMES, TABLES, Metrics, read_parquet, read_table, summary_of
from steer_nb.frames.metrics.names import LaneTables
from steer_nb.trace import TraceSet
from tests.frames.scan.folders import EVERY, PRICES, assert_same, filled, named, words


@pytest.fixture(autouse=True)
def _here():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    runs = steer_nb.load(filled(tmp_path_factory.mktemp("runs") / "runs"), progress=False)
    return TraceSet(runs[:5])


@pytest.fixture(scope="module", params=[True, False], ids=["a dataset", "single files"])
def stored(request, loaded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored") / "all"
    loaded.export.parquet(folder, tables=EVERY, partitioned=request.param)
    loaded.export.csv(folder)  # what else lies there is left alone
    return folder


@pytest.mark.parametrize("size", [1, "1 GB"])
def test_every_table_is_that_of_read_parquet(stored, size):
    back = read_parquet(stored)
    runs = steer_nb.scan(stored, partition_size=size)
    single = (stored / "events.parquet").exists()
    assert (runs.npartitions == 1) == (single or size == "1 GB")
    lazy = {name: runs.frames.table(name, EVERY[name]) for name in TABLES}
    for name, frame in zip(lazy, dask.compute(*lazy.values()), strict=True):
        assert_same(frame, back[name], name)


def test_usual_columns_and_others(stored):
    runs = steer_nb.scan(stored, partition_size=1)
    for columns in (None, ["type", "seq"], "EventDelta", ["trace_id"]):
        found = runs.frames.table("events", columns).compute()
        wanted = EVERY["events"] if columns is None else columns
        expected = read_table(stored, "events", columns=wanted)
        assert_same(found, expected[list(found)], "events")


def test_metrics_are_those_of_what_is_read_back(stored):
    back = read_parquet(stored)
    runs = steer_nb.scan(stored, partition_size=1)
    lazy = {name: runs.frame(name) for name in FRAME_NAMES if name not in TABLES}
    found = dict(zip(lazy, dask.compute(*lazy.values()), strict=True))
    assert_same(found.pop("summary"), summary_of(back), "summary")
    del found["wide"]  # see below
    for name, frame in found.items():
        assert_same(frame, Metrics(back).table(name.removeprefix("metrics.")), name)
    priced = runs.summary(prices=PRICES).compute()
    assert_same(priced, summary_of(back, prices=PRICES), "summary")


def lane_ids(runs, lane):
    try:
        return runs.frames.lane_ids(lane)
    except UnknownLane:
        return []


def test_wide_and_lanes(stored, loaded):
    runs = steer_nb.scan(stored, partition_size=1)
    wide, steers = dask.compute(runs.frames.wide(), runs.frame("metrics.steers", lane="a"))
    expected = loaded.frames.wide()
    order = ["trace_id", "seq"]  # those of a dataset are in the order of their ids
    got = wide.sort_values(order, ignore_index=True)
    expected = expected.sort_values(order, ignore_index=True)
    pd.testing.assert_frame_equal(got, expected, check_dtype=False, check_categorical=False)
    of_lane = Metrics(LaneTables(loaded.frames, "a")).steers
    assert sorted(steers["steer_key"]) == sorted(of_lane["steer_key"])
    assert len(of_lane)
    assert len(runs.frames.table("events", lane="none").compute()) == 0
    for lane in ("a", "(default)", "none"):
        found = runs.frame("wide", lane=lane).compute()
        ids = lane_ids(loaded, lane)
        assert sorted(found["event_id"]) == sorted(got["event_id"][got["lane_id"].isin(ids)])
        assert bool(len(found)) == bool(ids)


def test_nothing_but_names_is_read_before(stored, tmp_path):
    place = tmp_path / "all"
    shutil.copytree(stored, place)
    files = list(place.rglob("*.parquet"))
    for file in files:
        file.write_bytes(b"nothing yet")
    runs = steer_nb.scan(place, partition_size=1)
    lazy = [runs.frames.responses, runs.metrics.gaps, runs.summary()]
    assert all(map(repr, (runs, runs.frames, *lazy)))
    with pytest.raises(TraceError, match="no Parquet file that can be read"):
        runs.frames.responses.compute()
    shutil.copytree(stored, place, dirs_exist_ok=True)
    responses, _, summary = dask.compute(*lazy)
    assert len(responses) == len(read_table(stored, "responses"))
    assert_same(summary, summary_of(read_parquet(stored)), "summary")


def test_relative_folders_lead_to_the_same_files(stored, monkeypatch, tmp_path):
    monkeypatch.chdir(stored.parent)
    runs = steer_nb.scan(["all"], partition_size=1)
    monkeypatch.chdir(tmp_path)
    assert_same(runs.frames.steers.compute(), read_table(stored, "steers"), "steers")


def test_a_table_that_was_not_exported(loaded, tmp_path):
    loaded.export.parquet(tmp_path, tables=["steers", "lanes"])
    runs = steer_nb.scan(tmp_path)
    assert len(runs.frames.steers.compute()) == len(loaded.frames.steers)
    for ask in (lambda: runs.frames.events, lambda: runs.metrics.gaps, runs.summary):
        with pytest.raises(TraceError, match=r"no table 'events' in .*Tables: steers, lanes\."):
            ask()


def test_a_table_and_a_column_that_only_some_traces_have(loaded, tmp_path):
    first, second, *_ = loaded
    first.export.parquet(tmp_path, partitioned=True)
    tables = {"events": "EventCore + EventDelta", "lanes": None}
    second.export.parquet(tmp_path, tables=tables, partitioned=True)
    runs = steer_nb.scan(tmp_path, partition_size=1)
    assert (runs.npartitions, runs._place.n_traces) == (2, 2)
    assert len(runs.frames.responses.compute()) == len(first.frames.responses)
    columns = ["event_id", "delta_text"]
    for names in (columns, columns[1:]):
        got = runs.frames.table("events", names).compute()
        whole = TraceSet(sorted((first, second), key=lambda trace: trace.trace_id))
        expected = whole.frames.table("events", names)
        expected.loc[whole.frames.events["trace_id"] == first.trace_id, "delta_text"] = pd.NA
        assert_same(got, expected, "events")
    with pytest.raises(UnknownColumn, match=r"No file of 'events' in .* 'raw_json'.*tables="):
        runs.frames.table("events", "raw_json")


def test_ids_that_are_no_names_of_files(tmp_path):
    ids = ["../../out", "a b", "1234567890", "%2F", "ü=ö", "."]
    runs = TraceSet([named(words("x.one"), one) for one in ids])
    runs.export.parquet(tmp_path)
    scanned = steer_nb.scan(tmp_path, partition_size=1)
    assert_same(scanned.frames.events.compute(), read_table(tmp_path, "events"), "events")
    assert set(scanned.frames.traces.compute()["trace_id"]) == set(ids)


def test_it_shows_itself(stored, loaded):
    runs = steer_nb.scan(stored, partition_size="1 GB")
    what = "Parquet files"
    if not (stored / "events.parquet").exists():
        what = f"a Parquet dataset of {len(loaded)} traces"
    assert repr(runs) == f"<Scan of {stored}: {what} in 1 partition, not read yet>"
    assert set(runs.files) == {str(file) for file in Path(stored).rglob("*.parquet")}
