"""Every table survives Parquet and back, empty ones too."""

from __future__ import annotations

import io

import pandas as pd
import pytest
from hypothesis import given, settings

from steer_nb import frames as f
from steer_nb.errors import UnknownFrame
from steer_nb.frames.wide import WideColumns
from steer_nb.trace import TraceSet
from tests.frames.test_schema import empty, full
from tests.frames.walks import WALKS
from tests.support.traces import TraceBuilder


def there_and_back(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    file = io.BytesIO()
    frame.to_parquet(file)
    return f.conform(pd.read_parquet(file), name)


@pytest.mark.parametrize("make", [empty, full])
@pytest.mark.parametrize("name", f.TABLES)
def test_tables_survive_parquet(name, make):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow (the extra 'parquet')")
    frame = make().frames.table(name, columns=f.TABLES[name].all)
    back = there_and_back(frame, name)
    pd.testing.assert_frame_equal(back, frame)
    assert back.attrs == frame.attrs


def test_wide_survives_parquet():
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow (the extra 'parquet')")
    frame = full().frames.wide()
    assert len(there_and_back(frame, "events")) == len(frame)


def test_wide_has_the_columns_that_are_declared():
    for trace in (full(), empty()):
        frame = trace.frames.wide()
        assert list(frame) == list(WideColumns.names)
        for column in WideColumns:
            same = frame[column.name].dtype == column.dtype
            assert same or column.open, column.name


def test_wide_is_exported_and_read_back_like_any_table(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow (the extra 'parquet')")
    runs = TraceSet([full(), empty()])
    for source in (full(), runs):
        folder = tmp_path / type(source).__name__
        source.export.parquet(folder, tables=["wide", "steers"])
        back = f.read_parquet(folder)["wide"]
        pd.testing.assert_frame_equal(back, source.frame("wide"), check_like=True)
        source.export.csv(folder / "wide.csv", tables="wide", redact=True)
    hidden = full().frames.wide()["delta_text"].dropna()
    written = (tmp_path / "Trace" / "wide.csv").read_text("utf-8")
    assert len(hidden)
    assert all(f"[{len(text)} character" in written for text in hidden)
    lane = full().frames.lanes["stream_id"].dropna().iloc[0]
    kept = full().frame("wide", lane=lane)
    assert set(kept["stream_id"]) == {lane}
    assert 0 < len(kept) < len(full().frames.events)


def test_words_from_the_future_survive_parquet():
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow (the extra 'parquet')")
    frame = TraceBuilder().event("x.one").event("x.two").event("x.one").trace.frames.events
    pd.testing.assert_frame_equal(there_and_back(frame, "events"), frame)


@settings(deadline=None, max_examples=10)
@given(WALKS)
def test_any_trace_survives_parquet(builder):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow (the extra 'parquet')")
    for name in f.TABLES:
        frame = builder.trace.frames.table(name, columns=f.TABLES[name].all)
        pd.testing.assert_frame_equal(there_and_back(frame, name), frame)


@pytest.mark.parametrize("name", f.TABLES)
def test_tables_survive_any_format_that_keeps_values(name):
    frame = full().frames[name]
    plain = frame.astype(
        {c: object for c in frame if str(frame[c].dtype) in ("category", "string")}
    )
    pd.testing.assert_frame_equal(f.conform(plain, name), frame)


def test_columns_that_are_not_declared_stay():
    frame = full().frames.steers.assign(mine=1)
    assert f.conform(frame, "steers")["mine"].tolist() == [1]
    with pytest.raises(UnknownFrame):
        f.conform(frame, "steer")
