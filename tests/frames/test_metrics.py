"""Metrics: each value by hand from a trace whose every entry has a known time."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from steer_nb.errors import InvalidInput, UnknownColumn, UnknownFrame, UnknownLane
from steer_nb.frames import FRAME_NAMES, METRICS, Metrics, Prices, chunk_gaps, response_metrics
from steer_nb.trace import Header, Trace, load
from tests.frames.walks import STEPS, walk
from tests.support.traces import TraceBuilder, call, message, stub

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 40, "cache_write_tokens": 10},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 12},
    "total_tokens": 130,
}
EMPTY = Trace(Header(steer_nb=1, trace_id="0" * 32))


def steered() -> TraceBuilder:
    """One second an entry: asked at 1, steered at 6, its successor at 10."""
    return (
        TraceBuilder(step=1.0)
        .connect()  # 0
        .create(lane="a", key="create-1")  # 1
        .created("r1", lane="a")  # 2
        .added(message(""), lane="a")  # 3
        .delta("one ", lane="a")  # 4
        .delta("two ", lane="a")  # 5
        .steer("r1", "shorter", key="steer-1")  # 6
        .delta("three", lane="a")  # 7
        .accepted("s1", "r1", lane="a")  # 8
        .ended("r1", "incomplete", reason="steered", lane="a", usage=USAGE)  # 9
        .created("r2", previous="r1", lane="a")  # 10
        .added(message(""), lane="a")  # 11
        .delta("next", lane="a")  # 12
        .ended("r2", lane="a", previous="r1", output=[message("next")], usage=USAGE)  # 13
    )


def asked() -> TraceBuilder:
    """A call at 3, a function of ours for half a second, a person's answer at 7, sent at 8."""
    run = {"lane": None, "parent": "r1", "key": "call_1", "name": "get_weather"}
    filled = {**stub(), "output": "18"}
    return (
        TraceBuilder(step=1.0)
        .connect()  # 0
        .create(key="create-1")  # 1
        .created("r1")  # 2
        .done(call())  # 3
        .ended("r1", output=[call()])  # 4
        .note("tool_started", **run, by="user")  # 5
        .note("tool_finished", **run, ok=True, output="18", duration_s=0.5)  # 6
        .note("filled", lane=None, parent="r1", key="call_1", item=filled, by="user")  # 7
        .create([filled], previous="r1", key="create-2")  # 8
        .created("r2", previous="r1")  # 9
    )


def metric(trace: Trace, name: str, **options: object) -> float:
    summary = trace.summary(**options).set_index("metric")
    return summary["value"][name]


class TestResponses:
    def test_values(self):
        first, second = steered().trace.metrics.responses.to_dict("records")
        assert (first["time_to_first_chunk_s"], first["time_to_first_text_s"]) == (3.0, 3.0)
        assert first["duration_s"] == 7.0
        assert first["tokens_per_s"] == pytest.approx(30 / 7)
        assert first["output_characters"] == len("one two three")
        assert first["characters_per_s"] == pytest.approx(13 / 7)
        assert first["n_chunks"] == 3
        assert (first["chunk_gap_median_s"], first["chunk_gap_max_s"]) == (1.5, 2.0)
        assert first["chunk_gap_p95_s"] == pytest.approx(1.95)
        assert (first["n_stalls"], first["stalled_s"]) == (2, 3.0)
        # Its successor was asked for by nobody here, and one chunk has no gap.
        assert pd.isna(second["time_to_first_chunk_s"])
        assert pd.isna(second["chunk_gap_median_s"])
        assert pd.isna(second["n_stalls"])

    def test_a_stall_is_as_long_as_one_says(self):
        frames = steered().trace.frames
        assert response_metrics(frames, stall_s=1.5)["n_stalls"].tolist()[:1] == [1]
        assert chunk_gaps(frames, stall_s=2.1)["stall"].sum() == 0
        assert metric(steered().trace, "stalls", stall_s=1.5) == 1

    @pytest.mark.parametrize("stall_s", [0, -1.0, float("nan"), True, "1", None])
    def test_a_stall_that_is_none(self, stall_s):
        with pytest.raises(InvalidInput, match=r"stall_s is .*seconds above 0"):
            response_metrics(EMPTY.frames, stall_s=stall_s)

    def test_a_response_without_chunks_has_no_stall(self):
        trace = TraceBuilder(step=1.0).create().created("r1").ended("r1").trace
        (row,) = trace.metrics.responses.to_dict("records")
        assert (row["n_chunks"], row["n_stalls"], row["stalled_s"]) == (0, 0, 0.0)
        assert pd.isna(row["tokens_per_s"])

    def test_gaps_are_within_a_response_and_not_between_lanes(self):
        builder = TraceBuilder(step=1.0)
        for lane in ("a", "b"):
            builder.create(lane=lane).created(f"r{lane}", lane=lane).added(message(""), lane=lane)
        for lane in ("a", "b", "b", "a"):
            builder.delta("x", lane=lane)
        gaps = builder.trace.metrics.gaps.set_index("response_id")["gap_s"]
        assert gaps.to_dict() == {"ra": 3.0, "rb": 1.0}

    def test_without_times_there_are_no_gaps_and_no_latencies(self):
        trace = steered().trace
        untimed = Trace(trace.header, [replace(entry, t=None, at=None) for entry in trace])
        assert len(untimed.metrics.gaps) == 0
        assert untimed.metrics.responses["duration_s"].isna().all()
        assert pd.isna(metric(untimed, "span"))


class TestSteersAndWaits:
    def test_a_steer(self):
        (row,) = steered().trace.metrics.steers.to_dict("records")
        latencies = ("ack_latency_s", "commit_latency_s", "turn_latency_s")
        assert [row[name] for name in latencies] == [2.0, 2.0, 4.0]
        assert (row["deltas_after_send"], row["characters_after_send"]) == (1, len("three"))

    def test_people_and_functions(self):
        (row,) = asked().trace.metrics.waits.to_dict("records")
        seen = 3.0  # from here on it can be answered
        assert row["tool_s"] == 0.5
        assert row["person_s"] == 7.0 - seen - 0.5
        assert (row["held_s"], row["answer_s"]) == (1.0, 8.0 - seen)
        assert metric(asked().trace, "people's time") == row["person_s"]
        assert metric(asked().trace, "functions' time") == 0.5

    def test_what_a_policy_answered_took_no_person(self):
        builder = TraceBuilder(step=1.0).connect().create(key="c").created("r1").done(call())
        filled = {**stub(), "output": "18"}
        builder.ended("r1", output=[call()])
        builder.note("filled", lane=None, parent="r1", key="call_1", item=filled, by="policy")
        (row,) = builder.trace.metrics.waits.to_dict("records")
        assert (row["filled_by"], pd.isna(row["person_s"])) == ("policy", True)


class TestUsage:
    def test_parents_and_successors_are_summed_once_each(self):
        (row,) = steered().trace.metrics.usage().to_dict("records")
        assert (row["n_responses"], row["input_tokens"], row["total_tokens"]) == (2, 200, 260)
        assert (row["cached_tokens"], row["reasoning_tokens"]) == (80, 24)
        assert pd.isna(row["cost"])

    def test_a_terminal_that_comes_twice_counts_once(self):
        builder = steered().ended("r2", lane="a", previous="r1", usage=USAGE)
        assert builder.trace.metrics.usage()["total_tokens"].tolist() == [260]

    def test_a_response_of_two_traces_counts_once(self):
        one, other = steered().trace.frames, steered().trace.frames
        both = {name: pd.concat([one[name], other[name]]) for name in one}
        assert Metrics(both).usage()["total_tokens"].tolist() == [260]

    def test_cost(self):
        prices = {"m": {"input": 2.0, "cached_input": 0.5, "cache_write": 4.0, "output": 10.0}}
        cost = 2 * (50 * 2.0 + 40 * 0.5 + 10 * 4.0 + 30 * 10.0) / 1e6
        trace = steered().trace
        (row,) = trace.metrics.usage(prices).to_dict("records")
        assert row["cost"] == pytest.approx(cost)
        assert metric(trace, "cost", prices=prices) == pytest.approx(cost)
        assert metric(trace, "cost", prices=pd.DataFrame(prices).T) == pytest.approx(cost)
        assert "cost" not in set(trace.summary()["metric"])

    def test_an_unknown_model_costs_nothing_known(self):
        assert pd.isna(metric(steered().trace, "cost", prices={"other": {"input": 1, "output": 1}}))

    def test_a_snapshot_has_the_price_of_its_model_or_its_own(self):
        prices = Prices(
            {
                "gpt-6": {"input": 1, "output": 1},
                "gpt-6-2026-01-01": {"input": 2, "output": 2},
            }
        )
        assert prices.cost("gpt-6-2026-05-05", input=1_000_000) == 1.0
        assert prices.cost("gpt-6-2026-01-01", input=1_000_000) == 2.0
        assert prices.cost("gpt-6-mini", input=1_000_000) is None
        assert prices.cost(None, input=1) is None

    @pytest.mark.parametrize(
        ("table", "said"),
        [
            ([1], "prices must be a mapping by model"),
            ({1: {}}, "a model is named by text, not by 1"),
            ({"m": 3}, r"prices\['m'\] must be a mapping"),
            ({"m": {"input": 1}}, r"prices\['m'\] has no 'output'"),
            ({"m": {"input": 1, "output": 1, "put": 1}}, "unknown kind 'put'. Kinds: input"),
            ({"m": {"input": 1, "output": -1}}, r"prices\['m'\]\['output'\] is -1"),
            ({"m": {"input": float("inf"), "output": 1}}, r"\['input'\] is inf"),
            ({"m": {"input": "1", "output": 1}}, r"\['input'\] is '1'"),
            ({"m": {"input": True, "output": 1}}, r"\['input'\] is True"),
        ],
    )
    def test_a_table_that_is_none(self, table, said):
        with pytest.raises(InvalidInput, match=said):
            EMPTY.summary(prices=table)


class TestSummary:
    def test_one_screen(self):
        summary = steered().trace.summary()
        assert list(summary) == ["metric", "value", "unit", "meaning"]
        assert len(summary) <= 40
        assert summary["metric"].is_unique
        assert list(EMPTY.summary()["metric"]) == list(summary["metric"])
        assert max(map(len, str(summary.to_string()).splitlines())) <= 160

    def test_values(self):
        values = steered().trace.summary().set_index("metric")["value"]
        assert values["responses"] == 2
        assert (values["completed"], values["steered"], values["failed"]) == (1, 1, 0)
        assert values["tokens a second"] == pytest.approx(60 / 10)
        assert values["text after a steer, median"] == 5
        assert values["span"] == 12.0  # from the request at 1

    def test_of_one_lane(self):
        trace = steered().create(lane="b").created("r9", lane="b").trace
        assert metric(trace, "responses") == 3
        of_b = trace.frame("summary", lane="b").set_index("metric")["value"]
        assert (of_b["responses"], of_b["steers"], of_b["lanes"]) == (1, 0, 1)
        with pytest.raises(UnknownLane, match="no lane 'c'"):
            trace.frame("summary", lane="c")


class TestNames:
    @pytest.mark.parametrize("name", FRAME_NAMES)
    def test_each_is_given(self, name):
        for trace in (EMPTY, steered().trace, asked().trace):
            assert isinstance(trace.frame(name), pd.DataFrame)

    def test_mistakes(self):
        with pytest.raises(UnknownFrame, match=r"Did you mean 'metrics\.gaps'"):
            EMPTY.frame("metrics.gap")
        with pytest.raises(UnknownColumn, match="no groups"):
            EMPTY.frame("summary", "EventCore")
        with pytest.raises(UnknownFrame, match="Metrics: responses, gaps"):
            EMPTY.metrics.table("nothing")


class TestDiff:
    def test_the_same_twice(self):
        diff = steered().trace.diff(steered().trace)
        assert diff.same
        assert "The same was said and done in 2 responses" in repr(diff)
        assert (diff.summary["change"].dropna() == 0).all()
        assert "Neither trace has a response" in repr(EMPTY.diff(EMPTY))
        assert EMPTY.diff(EMPTY).same

    def test_another_text_and_one_response_more(self):
        other = (
            TraceBuilder(step=2.0)
            .connect()
            .create(lane="a", key="create-1")
            .created("x1", lane="a")
            .added(message(""), lane="a")
            .delta("<b>another</b>", lane="a")
            .ended("x1", lane="a", output=[message("<b>another</b>")])
        )
        diff = steered().trace.diff(other.trace)
        assert not diff.same
        first, second = diff.responses["differs"]
        assert first == "status, incomplete_reason, output_text"
        assert second == "only in this"
        assert diff.steers[["this", "other", "change"]].to_numpy().tolist() == [[1, 0, -1]]
        changes = diff.summary.set_index("metric")
        assert changes["change"]["responses"] == -1
        assert changes["change_pct"]["responses"] == -50
        html = diff._repr_html_()
        assert "2 of 2 responses differ" in html
        assert "<b>another" not in html
        back = other.trace.diff(steered().trace)
        assert back.responses["differs"][1] == "only in the other"

    def test_calls_are_compared_by_kind_name_and_outcome(self):
        open_call = TraceBuilder().create().created("r1").done(call()).ended("r1", output=[call()])
        diff = asked().trace.diff(open_call.trace)
        assert not diff.same
        counts = diff.calls.set_index("result_kind")[["this", "other"]].to_dict("index")
        assert counts == {"value": {"this": 1, "other": 0}, "none": {"this": 0, "other": 1}}


@settings(deadline=None, max_examples=15)
@given(st.lists(STEPS, max_size=30))
def test_whatever_happened_has_metrics_of_the_declared_dtypes(steps):
    trace = walk(steps).trace
    for name, columns in METRICS.items():
        frame = trace.metrics.table(name)
        assert list(frame) == list(columns.names)
        for column in columns:
            if not column.open:
                assert frame[column.name].dtype == column.dtype, column.name
    assert len(trace.metrics.responses) == len(trace.frames.responses)
    assert trace.diff(trace).same
    gaps = trace.metrics.gaps["gap_s"]
    assert (gaps >= 0).all()
    numbers = trace.summary()["value"].dropna()
    assert numbers.abs().ne(float("inf")).all()


def test_a_saved_copy_has_the_same(tmp_path):
    trace = steered().trace
    copy = load(trace.save(tmp_path / "run.jsonl"))
    pd.testing.assert_frame_equal(trace.summary(), copy.summary())
    for name in METRICS:
        pd.testing.assert_frame_equal(trace.metrics.table(name), copy.metrics.table(name))
