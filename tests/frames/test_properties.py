"""What holds for every trace."""

from __future__ import annotations

import pandas as pd
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from steer_nb import frames as f
from steer_nb.trace import SCHEMA, Header, Trace
from tests.frames.letta_walks import LETTA_WALKS
from tests.frames.test_schema import empty
from tests.frames.walks import STEPS, WALKS, entries, play, walk
from tests.support.traces import TraceBuilder, message

EMPTY = {name: empty().frames.table(name, columns=f.TABLES[name].all) for name in f.TABLES}
fast = settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def every_frame(trace: Trace) -> dict[str, pd.DataFrame]:
    frames = trace.frames
    return {name: frames.table(name, columns=f.TABLES[name].all) for name in f.TABLES}


def assert_same_dtypes(frame: pd.DataFrame, like: pd.DataFrame) -> None:
    assert list(frame.columns) == list(like.columns)
    for column in frame:
        dtype, expected = frame[column].dtype, like[column].dtype
        if isinstance(expected, pd.CategoricalDtype):
            assert isinstance(dtype, pd.CategoricalDtype)
            assert list(dtype.categories)[: len(expected.categories)] == list(expected.categories)
        else:
            assert dtype == expected, column


REPEATED = walk([("created", None, "r0", None), ("call", None, 0, "c0"), ("call", None, 1, "c0")])


@fast
@given(WALKS | LETTA_WALKS)
@example(REPEATED)
def test_counts_add_up_and_keys_join(builder):
    frames = builder.trace.frames
    events, responses = frames.events, frames.responses
    assert responses["n_events"].sum() + events["response_id"].isna().sum() == len(events)
    known = set(responses["response_id"])
    assert set(events["response_id"].dropna()) <= known
    assert set(frames.items["response_id"]) <= known
    assert set(frames.required_inputs["parent_response_id"]) <= known
    assert set(frames.steers["successor_response_id"].dropna()) <= known
    assert set(events["lane_id"].dropna()) <= set(frames.lanes["lane_id"])
    assert set(responses["lane_id"]) <= set(frames.lanes["lane_id"])
    assert frames.lanes["n_responses"].sum() == len(responses)
    assert responses["n_items"].sum() == len(frames.items)
    for name, table in f.TABLES.items():
        if table.key:
            assert not frames[name][list(table.key)].duplicated().any(), name


EARLY = walk([("created", None, "r0", None), ("answer", None, "r0", "c0"), ("call", None, 0, "c0")])


@fast
@given(WALKS | LETTA_WALKS)
@example(EARLY)
def test_moments_are_in_order(builder):
    frames = builder.trace.frames
    steers = frames.steers
    both = steers.dropna(subset=["sent_s", "accepted_s"])
    assert (both["sent_s"] <= both["accepted_s"]).all()
    both = steers.dropna(subset=["sent_s", "committed_s"])
    assert (both["sent_s"] <= both["committed_s"]).all()
    both = steers.dropna(subset=["accepted_s", "committed_s"])
    took = both["committed_s"] - both["accepted_s"]
    assert (took == both["commit_latency_s"]).all()
    calls = frames.tool_calls
    assert (calls["wait_s"].dropna() >= 0).all()
    for column in ("queue_s", "duration_s", "time_to_first_chunk_s", "time_to_first_text_s"):
        assert (frames.responses[column].dropna() >= 0).all(), column


@fast
@given(WALKS | LETTA_WALKS)
def test_each_call_has_one_answer_at_most(builder):
    calls = builder.trace.frames.tool_calls
    ours = calls[calls["owner"] == "client"]
    assert not ours[["response_id", "call_key"]].duplicated().any()
    answered = ours["result_kind"] != "none"
    if (
        builder.trace.header.dialect == "letta"
    ):  # another client may have answered, nobody says when
        assert not (ours["answered_s"].notna() & ~answered).any()
    else:
        assert (ours["answered_s"].notna() == answered).all()
    assert (ours["answered_by"].notna() == answered).all()


@fast
@given(WALKS | LETTA_WALKS, st.data())
def test_reading_on_gives_the_same_as_reading_at_once(builder, data):
    whole = every_frame(builder.trace)
    wide = builder.trace.frames.wide()
    growing = Trace(builder.trace.header)
    rest = list(builder.trace)
    while rest:
        cut = data.draw(st.integers(1, len(rest)))
        for entry in rest[:cut]:
            growing.append(entry)
        del rest[:cut]
        asked = data.draw(st.lists(st.sampled_from(list(f.TABLES)), max_size=3))
        for name in asked:
            growing.frames.table(name, columns=f.TABLES[name].all)
    for name, frame in every_frame(growing).items():
        pd.testing.assert_frame_equal(frame, whole[name])
    pd.testing.assert_frame_equal(growing.frames.wide(), wide)


@settings(fast, max_examples=40)
@given(st.lists(entries(), max_size=12), st.lists(STEPS, max_size=12))
def test_nothing_that_was_recorded_raises_or_changes_a_dtype(odd, steps):
    builder = walk(steps)
    said(Trace(Header(SCHEMA, "t"), [*builder.trace, *odd]))


@settings(fast, max_examples=40)
@given(st.lists(entries(), max_size=12), LETTA_WALKS)
def test_nothing_that_a_letta_server_says_raises_or_changes_a_dtype(odd, builder):
    said(Trace(builder.trace.header, [*builder.trace, *odd]))


def said(trace: Trace) -> None:
    """Whatever a trace holds, its tables are as they are always."""
    for name, frame in every_frame(trace).items():
        assert_same_dtypes(frame, EMPTY[name])
        for column in frame.select_dtypes("string"):
            for text in frame[column].dropna():
                text.encode()
    events = trace.frames.events
    rows = sum(entry.kind != "note" or entry.note == "closed" for entry in trace)
    assert len(events) == rows
    assert trace.frames.responses["n_events"].sum() + events["response_id"].isna().sum() == rows
    assert len(trace.frames.wide()) >= rows


@fast
@given(st.lists(entries(), max_size=20), st.lists(STEPS, max_size=20), st.integers(1, 4))
def test_reading_on_among_oddities_gives_the_same(odd, steps, pace):
    mixed = []
    for entry in walk(steps).trace:
        mixed.append(entry)
        if odd and len(mixed) % 3 == 0:
            mixed.append(odd.pop())
    mixed += odd
    growing = Trace(Header(SCHEMA, "t"))
    for start in range(0, len(mixed), pace):
        for entry in mixed[start : start + pace]:
            growing.append(entry)
        every_frame(growing)
    grown = every_frame(growing)
    for name, frame in every_frame(Trace(Header(SCHEMA, "t"), mixed)).items():
        pd.testing.assert_frame_equal(grown[name], frame)


PIECES = st.lists(st.text(max_size=5), max_size=6)


@fast
@given(st.lists(PIECES, min_size=1, max_size=3))
def test_text_rebuilt_from_deltas_is_the_text_of_the_end(items):
    builder = TraceBuilder().create(lane="a").created("r1", lane="a")
    output = []
    for index, pieces in enumerate(items):
        builder.added(message("", index), index, lane="a")
        for piece in pieces:
            builder.delta(piece, index, lane="a")
        output.append(message("".join(pieces), index))
        builder.done(output[-1], index, lane="a")
    builder.ended("r1", lane="a", output=output)
    frames = builder.trace.frames
    events = frames.table("events", columns="EventCore + EventDelta")
    deltas = events[events["type"] == "response.output_text.delta"]
    rebuilt = "".join(deltas.sort_values(["output_index", "seq"])["delta_text"])
    ended = "".join(part["content"][0]["text"] for part in output)
    assert frames.responses["output_text"][0] == rebuilt == ended
    assert "".join(frames.items["text"].fillna("")) == ended
    assert frames.responses["n_deltas"][0] == len(deltas) == frames.items["n_deltas"].sum()


def test_every_step_of_a_walk_is_played():
    builder = walk([("nothing", 1)])
    assert len(builder.trace) == 1
    play(builder, ("close",))
    assert builder.trace[-1].note == "closed"
