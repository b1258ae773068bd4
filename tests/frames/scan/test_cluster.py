"""Scanned by several processes: a real cluster of Dask on this machine."""

from __future__ import annotations

import os

import dask
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import steer_nb
from steer_nb.errors import TraceError
from steer_nb.frames import FRAME_NAMES, TABLES, read_parquet, summary_of
from tests.frames.scan.folders import EVERY, PRICES, assert_same, filled
from tests.frames.scan.workers import alive, dies_once

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    space = str(tmp_path_factory.mktemp("dask"))
    with (
        LocalCluster(dashboard_address="127.0.0.1:0", local_directory=space, **options) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("scan") / "runs")


def test_two_processes_find_what_one_finds(client, folder):
    loaded = steer_nb.load(folder, progress=False)
    runs = steer_nb.scan(folder, partition_size=60_000)
    assert runs.npartitions >= 4
    lazy = {name: runs.frames.table(name, columns) for name, columns in EVERY.items()}
    lazy |= {name: runs.frame(name) for name in FRAME_NAMES if name not in TABLES}
    lazy |= {"wide": runs.frames.wide(), "priced": runs.metrics.usage(PRICES)}
    found = dict(zip(lazy, dask.compute(*lazy.values()), strict=True))
    for name, columns in EVERY.items():
        assert_same(found.pop(name), loaded.frames.table(name, columns), name)
    assert_same(found.pop("wide"), loaded.frames.wide(), "wide")
    assert_same(found.pop("priced"), loaded.metrics.usage(PRICES), "usage")
    for name, frame in found.items():
        assert_same(frame, loaded.frame(name), name)
    assert client.run(lambda: alive(None)["alive"][0]) == dict.fromkeys(client.run(int), 0)


def test_a_dataset(client, folder, tmp_path):
    steer_nb.load(folder, progress=False).export.parquet(tmp_path)
    back = read_parquet(tmp_path)
    runs = steer_nb.scan(tmp_path, partition_size=200_000)
    assert runs.npartitions > 2
    events, summary = dask.compute(runs.frames.events, runs.summary())
    assert_same(events, back["events"], "events")
    assert_same(summary, summary_of(back), "summary")


def test_text_survives_a_shuffle_between_processes(client, folder):
    loaded = steer_nb.load(folder, progress=False)
    frames = steer_nb.scan(folder, partition_size=20_000).frames
    keys = ["trace_id", "response_id"]
    joined = frames.items.merge(frames.responses[[*keys, "model"]], on=keys).compute()
    responses = loaded.frames.responses[[*keys, "model"]]
    expected = loaded.frames.items.merge(responses, on=keys)
    order = [*keys, "output_index"]
    pd.testing.assert_frame_equal(
        joined.sort_values(order, ignore_index=True), expected.sort_values(order, ignore_index=True)
    )


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_worker_that_dies_is_made_up_for(client, folder, tmp_path):
    loaded = steer_nb.load(folder, progress=False)
    mark = tmp_path / "died"
    frame = steer_nb.scan(folder, partition_size=20_000).frames.responses
    found = frame.map_partitions(dies_once, str(mark), meta=frame._meta).compute()
    assert mark.exists()
    assert_same(found, loaded.frames.responses, "responses")


def test_what_is_odd_is_raised_here_as_it_was_there(client, folder):
    runs = steer_nb.scan(str(folder / "*odd*"), strict=True)
    with pytest.raises(TraceError, match="line 5") as raised:
        runs.frames.events.compute()
    assert raised.value.path == str(folder / "m_odd.jsonl")
    assert raised.value.line == 5
