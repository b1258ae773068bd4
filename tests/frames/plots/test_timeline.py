"""What the timeline shows, as a table: no Altair is needed for it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from steer_nb.errors import UnknownLane
from steer_nb.frames import TABLES
from steer_nb.frames.plots import (
    TimelineCore,
    gap_bins,
    gap_spans,
    latency_times,
    thin_timeline,
    timeline_frame,
    token_rates,
    token_steps,
)
from steer_nb.trace import Trace, load
from tests.frames.plots.traces import HOSTILE, Clocked, big, story, usage
from tests.support.traces import message

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def told() -> Trace:
    return story()


@pytest.fixture(scope="module")
def frame(told: Trace) -> pd.DataFrame:
    return timeline_frame(told.frames)


@pytest.fixture(scope="module")
def crowd() -> Trace:
    return big(20_000)


def of(frame: pd.DataFrame, kind: str, lane: str = "planner") -> list[tuple[Any, ...]]:
    chosen = frame[(frame["kind"] == kind) & (frame["lane"] == lane)]
    return [(row.state, round(row.start_s, 3), round(row.end_s, 3)) for row in chosen.itertuples()]


def test_responses_reach_from_creation_to_end_and_the_last_to_now(frame: pd.DataFrame) -> None:
    assert of(frame, "response") == [
        ("steered", 0.5, 4.0),
        ("completed", 4.02, 7.0),
        ("completed", 10.7, 12.7),
        ("in progress", 14.6, 16.0),
    ]
    assert of(frame, "response", "🌍_critic") == [("truncated", 9.2, 13.0)]
    assert of(frame, "response", "مخطط_الرحلة") == [("failed", 6.2, 8.1)]
    ongoing = frame[frame["ongoing"]]
    assert set(ongoing["response_id"]) == {"resp_plan4"}


def test_requests_wait_for_their_response(frame: pd.DataFrame) -> None:
    assert of(frame, "request") == [
        ("request", 0.1, 0.5),
        ("request", 10.4, 10.7),
        ("request", 14.3, 14.6),
    ]


def test_items_and_calls_are_told_apart(frame: pd.DataFrame) -> None:
    items = [state for state, *_ in of(frame, "item")]
    assert items[:5] == ["reasoning", "text", "text", "call", "call"]
    assert of(frame, "call") == [("person", 6.55, 10.4), ("program", 6.85, 10.4)]
    levels = frame.loc[frame["kind"] == "call", "level"]
    assert list(levels) == [0, 1], "neither hides the other"


def test_steers_of_every_fate(frame: pd.DataFrame) -> None:
    assert of(frame, "steer") == [
        ("committed", 3.1, 4.02),
        ("failed", 4.5, 4.55),
        ("committed", 6.8, 10.7),
    ]
    assert of(frame, "steer", "🌍_critic") == [("unknown", 11.0, 13.0)]
    marks = frame[frame["kind"].isin(["pending", "continuation", "fork", "close"])]
    assert [
        (row.kind, row.lane, round(row.start_s, 2))
        for row in marks.itertuples()
        if row.lane in ("planner", "🌍_critic")
    ] == [
        ("pending", "planner", 7.02),
        ("continuation", "planner", 10.4),
        ("close", "planner", 13.0),
        ("fork", "🌍_critic", 9.0),
        ("close", "🌍_critic", 13.0),
    ]


def test_several_connections_of_a_lane_are_one_row(frame: pd.DataFrame) -> None:
    assert list(dict.fromkeys(frame["lane"])) == [
        "planner",
        "Übergrößenträger",
        "مخطط_الرحلة",
        "🌍_critic",
    ]
    assert frame.loc[frame["lane"] == "planner", "lane_id"].nunique() == 2


def test_a_connection_that_was_replaced_is_marked_as_that() -> None:
    t = Clocked().connect()
    t.at(1).create(lane="a", key="create-1").created("r1", lane="a").ended("r1", lane="a")
    t.create(lane="b", key="create-2").created("r2", lane="b").ended("r2", lane="b")
    t.at(2).close(1000, "", "client").at(3).connect()
    t.at(4).create(lane="a", key="create-3").created("r3", lane="a")
    found = timeline_frame(t.trace.frames)
    closes = found[found["kind"] == "close"]
    assert list(zip(closes["lane"], closes["state"], strict=True)) == [("a", "client")]


def test_one_lane_and_no_such_lane(told: Trace, frame: pd.DataFrame) -> None:
    one = timeline_frame(told.frames, "planner")
    assert set(one["lane"]) == {"planner"}
    assert len(one) == (frame["lane"] == "planner").sum()
    with pytest.raises(UnknownLane, match=r"no lane 'nobody'\. Lanes: planner, Über"):
        timeline_frame(told.frames, "nobody")


def test_columns_and_dtypes_are_the_same_when_empty(frame: pd.DataFrame) -> None:
    empty = timeline_frame(Trace(Clocked().trace.header).frames)
    for found in (frame, empty):
        assert list(found) == list(TimelineCore.names)
        for column in TimelineCore:
            assert found[column.name].dtype == column.dtype, column.name


def test_tables_alone_are_enough_and_a_file_gives_the_same(
    told: Trace, frame: pd.DataFrame, tmp_path: Path
) -> None:
    tables = {name: told.frames[name] for name in TABLES}
    pd.testing.assert_frame_equal(timeline_frame(tables), frame)
    told.save(tmp_path / "run.jsonl")
    pd.testing.assert_frame_equal(timeline_frame(load(tmp_path / "run.jsonl").frames), frame)


def test_two_traces_have_rows_of_their_own(told: Trace) -> None:
    t = Clocked(trace_id="f" * 32, start=1_700_009_000.0).connect()
    t.at(1).create(lane="planner", key="create-1").created("resp_other", lane="planner")
    both = {
        name: pd.concat([told.frames[name], t.trace.frames[name]], ignore_index=True)
        for name in TABLES
    }
    both["events"] = both["events"].astype(dict(told.frames.events.dtypes))
    found = timeline_frame(both)
    names = set(found["lane"])
    assert {"01234567 · planner", "ffffffff · planner"} <= names
    assert len(found) == len(timeline_frame(told.frames)) + len(timeline_frame(t.trace.frames))


def test_texts_are_cut_and_stay_text() -> None:
    long = story(said=HOSTILE + "word " * 200)
    found = timeline_frame(long.frames)
    texts = found["text"].dropna()
    assert texts.str.len().max() == 300
    assert texts.str.contains("<img src=x", regex=False).any()


def test_now_is_the_last_entry_even_where_that_is_a_note() -> None:
    t = Clocked().connect().at(1).create(lane="a", key="create-1").created("r", lane="a")
    t.at(9).note("draft", lane="a", text="half typed")
    found = timeline_frame(t.trace.frames)
    response = found[found["kind"] == "response"].iloc[0]
    assert (response["end_s"], bool(response["ongoing"])) == (9.0, True)


# -- fewer rows ----------------------------------------------------------------------------------


def test_what_fits_is_left_alone(frame: pd.DataFrame) -> None:
    thin, notes = thin_timeline(frame)
    assert notes == []
    pd.testing.assert_frame_equal(thin, frame)


def test_many_responses_become_fewer_and_none_is_lost(crowd: Trace) -> None:
    frame = timeline_frame(crowd.frames)
    thin, notes = thin_timeline(frame, most=100)
    responses, before = (f[f["kind"] == "response"] for f in (thin, frame))
    assert len(responses) <= 100
    assert responses["n"].sum() == len(before)
    assert responses["tokens"].sum() == before["tokens"].sum()
    assert responses["start_s"].min() == before["start_s"].min()
    assert responses["end_s"].max() == before["end_s"].max()
    assert (responses["state"] == "failed").any(), "the unusual is what one looks for"
    failed = responses.loc[responses["n"] > 1, "text"].str.extract(r"(\d+) failed")[0].dropna()
    alone = ((responses["n"] == 1) & (responses["state"] == "failed")).sum()
    assert failed.astype(int).sum() + alone == (before["state"] == "failed").sum()
    assert not (thin["kind"] == "item").any()
    assert f"without {(frame['kind'] == 'item').sum():,} items" in notes
    assert f"{len(before):,} responses drawn as {len(responses):,}" in notes


def test_merged_texts_say_what_they_stand_for(crowd: Trace) -> None:
    frame = timeline_frame(crowd.frames)
    thin, _ = thin_timeline(frame, most=60)
    for row in thin[thin["n"] > 1].itertuples():
        counts = [int(part.split()[0].replace(",", "")) for part in row.text.split(", ")]
        assert sum(counts) == row.n


def test_the_busiest_lanes_of_very_many() -> None:
    t = Clocked().connect()
    for number in range(70):
        t.at(number / 10).create(lane=f"l{number}", key=f"create-{number}")
        t.created(f"r{number}", lane=f"l{number}").ended(f"r{number}", lane=f"l{number}")
    thin, notes = thin_timeline(timeline_frame(t.trace.frames))
    assert thin["lane"].nunique() == 60
    assert notes == ["the 60 busiest of 70 lanes"]


# -- tokens, gaps, latencies ---------------------------------------------------------------------


def test_tokens_add_up_to_what_is_billed(told: Trace, crowd: Trace) -> None:
    for trace in (told, crowd):
        steps = token_steps(trace.frames)
        last = steps.groupby("kind", observed=True)["tokens"].last()
        totals = trace.frames.responses[["input_tokens", "output_tokens"]].sum()
        assert last[["input", "cached input", "cache writes"]].sum() == totals["input_tokens"]
        assert last[["output", "reasoning"]].sum() == totals["output_tokens"]
        assert not steps.duplicated(["t_s", "kind"]).any(), "two at one time would be added"
        assert steps.groupby("kind", observed=True)["tokens"].is_monotonic_increasing.all()


def test_thinned_tokens_are_true_where_they_are(crowd: Trace) -> None:
    whole, thin = token_steps(crowd.frames, most=10**6), token_steps(crowd.frames, most=40)
    assert len(thin) <= 41 * 5 < len(whole)
    merged = thin.merge(whole, on=["t_s", "kind"], suffixes=("", "_whole"))
    assert len(merged) == len(thin)
    assert (merged["tokens"] == merged["tokens_whole"]).all()


def test_a_response_of_two_traces_counts_once() -> None:
    def trace(trace_id: str) -> Trace:
        t = Clocked(trace_id=trace_id).connect().at(1).create(lane="a", key="create-1")
        t.created("r", lane="a").at(2).ended("r", lane="a", usage=usage(10, 0, 5))
        return t.trace

    frames = [trace(letter * 32).frames for letter in "ab"]
    both = {name: pd.concat([one[name] for one in frames], ignore_index=True) for name in TABLES}
    steps = token_steps(both)
    assert steps.groupby("kind", observed=True)["tokens"].last().sum() == 15


def test_gaps_are_all_counted_and_stalls_apart(told: Trace) -> None:
    bins, facts = gap_bins(told.frames)
    gaps = told.metrics.gaps
    assert bins["n"].sum() == facts["n"] == len(gaps)
    assert bins.loc[bins["stall"], "n"].sum() == facts["n_stalls"] == gaps["stall"].sum() == 1
    assert (bins["from_s"] < bins["to_s"]).all()
    for limit in (0.05, 0.0737, 3.0):
        bins, facts = gap_bins(told.frames, stall_s=limit)
        assert bins.loc[bins["stall"], "n"].sum() == facts["n_stalls"]
    one, _ = gap_bins(told.frames, "planner")
    assert 0 < one["n"].sum() < len(gaps)


def test_gaps_of_no_length_have_a_place_on_a_log_scale() -> None:
    t = Clocked().connect().at(1).create(lane="a", key="create-1").created("r", lane="a")
    t.added(message(""), lane="a").delta("a", lane="a").delta("b", lane="a").delta("c", lane="a")
    bins, facts = gap_bins(t.trace.frames)
    assert (len(bins), facts["n"], facts["longest_s"]) == (1, 2, 0.0)
    assert bins["from_s"].iloc[0] > 0


def test_extremes_survive_thinning(crowd: Trace) -> None:
    spans, facts = gap_spans(crowd.frames, most=40)
    longest = crowd.metrics.responses["chunk_gap_max_s"].max()
    assert len(spans) <= 40 < facts["n"]
    assert spans["longest_s"].max() == pytest.approx(longest)
    rates, facts = token_rates(crowd.frames, most=40)
    speeds = crowd.metrics.responses["tokens_per_s"]
    assert len(rates) <= 40 < facts["n"]
    assert rates["tokens_per_s"].agg(["min", "max"]).to_list() == [speeds.min(), speeds.max()]


def test_latencies_of_steers(told: Trace) -> None:
    times, facts = latency_times(told.frames)
    rows = [(r.steer, r.what, round(r.from_s, 3), round(r.to_s, 3)) for r in times.itertuples()]
    assert rows == [
        ("steer-3", "accepted", 0.0, 0.04),
        ("steer-3", "committed", 0.04, 0.92),
        ("steer-5", "accepted", 0.0, 0.04),
        ("steer-5", "committed", 0.04, 3.9),
    ]
    assert facts["n"] == 2


def test_tables_of_pictures_load_no_altair() -> None:
    code = (
        "import sys\nfrom steer_nb.trace import Header, Trace\n"
        "trace = Trace(Header(steer_nb=1, trace_id='0' * 32))\n"
        "from steer_nb.frames import timeline_frame\ntimeline_frame(trace.frames)\n"
        "repr(trace.plot)\nprint('altair' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
