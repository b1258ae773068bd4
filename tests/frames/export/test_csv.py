"""Tables as CSV."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steer_nb import frames as f
from steer_nb.errors import ExportFailed, InvalidInput
from tests.frames.test_schema import empty, full
from tests.support.traces import TraceBuilder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("make", [empty, full])
def test_a_folder_has_a_file_for_each_table(make, tmp_path):
    trace = make()
    written = trace.export.csv(tmp_path / "out")
    assert [Path(path).stem for path in written] == list(f.TABLES)
    for path in written:
        frame = trace.frames[Path(path).stem]
        found = rows(Path(path))
        assert len(found) == len(frame)
        header = Path(path).read_bytes().decode().split("\r\n")[0]
        assert header.split(",") == list(frame)


def test_one_table_in_one_file(tmp_path):
    (path,) = full().export.csv(tmp_path / "steers.csv", tables="steers")
    assert path == str(tmp_path / "steers.csv")
    assert rows(Path(path))[0]["input_text"] == "shorter"
    with pytest.raises(InvalidInput, match="tables='steers'"):
        full().export.csv(tmp_path / "all.csv")


def test_times_are_utc_in_iso_form(tmp_path):
    full().export.csv(tmp_path, tables="connections")
    opened = rows(tmp_path / "connections.csv")[0]["opened_at"]
    assert opened == "2023-11-14T22:13:20.000000Z"
    assert pd.Timestamp(opened) == full().frames.connections["opened_at"][0]


@settings(deadline=None, max_examples=15)
@given(st.text(max_size=8) | st.sampled_from(['a"b', "a,b", "a\r\nb", "\r", "=1+1", "\ud83d"]))
def test_texts_survive(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("csv")
    trace = TraceBuilder().create().created("r1").steer("r1", text).trace
    trace.export.csv(folder, tables="steers")
    expected = trace.frames.steers["input_text"][0]
    assert rows(folder / "steers.csv")[0]["input_text"] == expected


def test_the_summary_and_metrics_are_tables_too(tmp_path):
    full().export.csv(tmp_path, tables=["summary", "metrics.steers"])
    assert len(rows(tmp_path / "metrics.steers.csv")) == 1
    assert rows(tmp_path / "summary.csv")[0]["metric"]


def test_a_place_that_cannot_be_written(tmp_path):
    with pytest.raises(ExportFailed, match="No such file"):
        full().export.csv(tmp_path / "none" / "steers.csv", tables="steers")
