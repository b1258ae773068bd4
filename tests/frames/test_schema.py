"""The columns are those of the schema, with the same dtypes whatever a trace holds."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from steer_nb import frames as f
from steer_nb.errors import SteerError, UnknownColumn, UnknownFrame, UnknownLane
from steer_nb.trace import SCHEMA, Header, Trace
from tests.support.traces import TraceBuilder, call, message, stub

# s text, i Int64, f float, b boolean, t UTC time, c category.
LAW = {
    "traces": """trace_id s, source c, file s, started_at t, ended_at t, n_events i, n_problems i,
        recorder_version s, schema_version s""",
    "connections": """connection_id s, trace_id s, url s, opened_at t, closed_at t, close_code i,
        close_reason s, n_in i, n_out i, bytes_in i, expires_at t, end_kind c""",
    "lanes": """lane_id s, trace_id s, connection_id s, stream_id s, opened_at t, last_event_at t,
        n_responses i, n_steers i, n_pending i, tip_response_id s, forked_from_response_id s,
        forked_from_lane_id s, state c, stream_id_echoed b""",
    "events": """event_id s, trace_id s, connection_id s, lane_id s, seq i, recv_at t, t_s f,
        direction c, type c, family c, known b, sequence_number i, response_id s, item_id s,
        output_index i, content_index i, agent_name s, bytes i""",
    "responses": """response_id s, trace_id s, lane_id s, connection_id s, previous_response_id s,
        origin c, root_response_id s, depth i, model s, model_requested s, status c, status_raw s,
        incomplete_reason s, error_code s, error_message s, request_sent_at t, created_at t,
        recv_created_at t, first_item_s f, time_to_first_chunk_s f, time_to_first_text_s f,
        duration_s f, queue_s f, n_events i, n_deltas i, n_items i, n_tool_calls i, n_steers i,
        output_text s, refusal_text s, input_tokens i, cached_tokens i, cache_write_tokens i,
        output_tokens i, reasoning_tokens i, total_tokens i, service_tier s, reasoning_effort s,
        store b, sequence_gap b, id_unstable b""",
    "items": """response_id s, output_index i, trace_id s, lane_id s, item_id s, type c, role s,
        status c, phase s, name s, call_id s, agent_name s, text s,
        summary_text s, n_deltas i, n_annotations i, added_s f, done_s f, duration_s f,
        source c, bytes i, encrypted b, content_json s""",
    "tool_calls": """response_id s, call_key s, trace_id s, lane_id s, item_id s, agent_name s,
        kind c, owner c, name s, server_label s, arguments_text s, arguments_json s,
        arguments_valid b,
        requested_s f, answered_s f, wait_s f, result_text s, result_kind c,
        answered_in_response_id s, answered_by c, orphan b""",
    "steers": """steer_key s, trace_id s, lane_id s, steer_id s, parent_response_id s,
        input_text s, input_json s, n_parts i, sent_s f, accepted_s f, pending_s f, committed_s f,
        failed_s f, state c, failure_code s, failure_message s, successor_response_id s,
        successor_kind c, parent_outcome c, ack_latency_s f, commit_latency_s f,
        deltas_after_send i, characters_after_send i, order_in_parent i, recovered_input b""",
    "required_inputs": """trace_id s, parent_response_id s, lane_id s, stub_type c, stub_key s,
        name s, server_label s, agent_name s, source c, n_steers_waiting i,
        first_seen_s f, filled_s f, sent_s f, tool_s f, value_json s, approve b, reason s, state c,
        filled_by c, continuation_response_id s,
        submit_key s, sent_as c""",
    "usage": "response_id s, kind c, detail c, tokens i",
    "problems": "file s, line i, event_id s, kind c, detail s",
}
GROUPS = {
    "EventDelta": "delta_text s, delta_len i, done_text s, delta_json s",
    "EventError": """error_code s, error_message s, error_param s, error_type s,
        error_status i""",
    "EventRaw": "raw_json s",
    "RequiredInputLetta": "agent_id s, run_id s, step_id s, message_id s, otid s",
}
DTYPES = {
    "s": pd.StringDtype("python"),
    "i": pd.Int64Dtype(),
    "f": np.dtype("float64"),
    "b": pd.BooleanDtype(),
    "t": pd.DatetimeTZDtype("us", "UTC"),
}
WORDS = {
    ("events", "direction"): ["in", "out", "close"],
    ("events", "family"): [
        "lifecycle", "item", "text", "reasoning", "tool_args", "tool_status", "annotation",
        "steer", "error", "control", "unknown",
    ],
    ("lanes", "state"): ["idle", "queued", "running", "waiting_input", "detached", "failed"],
    ("responses", "origin"): [
        "create", "steer_auto", "steer_explicit", "tool_continuation", "approval_continuation",
        "fork", "unknown",
    ],
    ("responses", "status"): [
        "in_progress", "completed", "incomplete", "failed", "error", "cancelled", "truncated",
    ],
    ("items", "source"): ["added", "done", "terminal", "history"],
    ("tool_calls", "owner"): ["client", "server"],
    ("tool_calls", "result_kind"): ["value", "error", "denied", "cancelled", "none"],
    ("steers", "state"): [
        "queued_here", "sent", "accepted", "pending", "committed", "failed", "unknown",
    ],
    ("steers", "successor_kind"): ["auto", "explicit"],
    ("steers", "parent_outcome"): ["incomplete_steered", "completed", "other"],
    ("required_inputs", "state"): [
        "open", "filled", "sending", "sent", "confirmed", "stale", "cancelled",
    ],
    ("required_inputs", "sent_as"): ["continuation", "inject"],
    ("usage", "kind"): ["input", "output"],
    ("usage", "detail"): ["plain", "cache_read", "cache_write", "reasoning"],
}  # fmt: skip


def parsed(text: str) -> dict[str, str]:
    return dict(column.split() for column in text.split(","))


def empty() -> Trace:
    return Trace(Header(SCHEMA, "0" * 32))


def full() -> Trace:
    """A trace with at least one row in every table."""
    return (
        TraceBuilder()
        .connect()
        .create("go", lane="a", key="create-1")
        .created("r1", lane="a")
        .added(call(arguments=""), lane="a")
        .steer("r1", "shorter", key="steer-1")
        .done(call(), lane="a")
        .accepted("s1", "r1", lane="a")
        .ended(
            "r1",
            lane="a",
            output=[call()],
            usage={"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        )
        .pending("s1", "r1", [stub()], lane="a")
        .create([{**stub(), "output": "18"}], lane="a", previous="r1", key="create-2")
        .created("r2", previous="r1", lane="a")
        .added(message(""), lane="a")
        .delta("Hi", lane="a")
        .in_("not JSON")
        .close()
        .trace
    )


@pytest.mark.parametrize("make", [empty, full])
@pytest.mark.parametrize("name", LAW)
def test_every_column_is_there_with_its_dtype(name, make):
    frame = make().frames[name]
    assert make is empty or len(frame) > 0
    if make is empty and name != "traces":
        assert len(frame) == 0
    law = parsed(LAW[name])
    assert set(law) <= set(frame.columns)
    assert set(frame.columns) - set(law) <= {"trace_id", "lane_id"}
    for column, letter in law.items():
        dtype = frame[column].dtype
        if letter == "c":
            assert isinstance(dtype, pd.CategoricalDtype), column
            assert not dtype.ordered
        else:
            assert dtype == DTYPES[letter], column
            assert type(dtype) is type(DTYPES[letter])


@pytest.mark.parametrize("make", [empty, full])
@pytest.mark.parametrize("name", GROUPS)
def test_further_groups_add_their_columns(name, make):
    group = f.GROUPS[name]
    default = f.TABLES[group.table].default
    frame = make().frames.table(group.table, columns=default + group)
    law = parsed(GROUPS[name])
    assert list(frame.columns) == [*default.names, *law]
    for column, letter in law.items():
        assert frame[column].dtype == DTYPES[letter]


@pytest.mark.parametrize("name", LAW)
def test_full_and_empty_frames_agree(name):
    before, after = empty().frames[name], full().frames[name]
    assert before.dtypes.to_dict() == after.dtypes.to_dict()
    assert list(before.columns) == list(f.TABLES[name].default.names)


@pytest.mark.parametrize(("table", "column"), WORDS)
def test_word_lists_are_closed_and_in_fixed_order(table, column):
    for trace in (empty(), full()):
        dtype = trace.frames[table][column].dtype
        assert list(dtype.categories) == WORDS[table, column]


def test_default_events_are_narrow_and_the_rest_is_asked_for():
    assert f.TABLES["events"].default.names == f.EventCore.names
    every = f.EventCore + f.EventDelta + f.EventError + f.EventRaw
    assert full().frames.table("events", columns=every).shape[1] == len(every) == 28


def test_no_cell_holds_an_object():
    frames = full().frames
    for name in frames:
        frame = frames.table(name, columns=f.TABLES[name].all)
        for column in frame:
            assert frame[column].dtype != np.dtype(object), (name, column)
            if isinstance(frame[column].dtype, pd.StringDtype):
                assert all(type(v) is str for v in frame[column].dropna()), (name, column)


def test_every_row_is_keyed():
    frames = full().frames
    for name, table in f.TABLES.items():
        assert "trace_id" in table.all
        key = frames[name][list(table.key)]
        assert not table.key or (not key.isna().any().any() and not key.duplicated().any()), name


def test_attrs_say_what_is_missing_and_what_is_new():
    trace = full()
    attrs = trace.frames.events.attrs
    assert attrs["schema_version"] == f.SCHEMA_VERSION
    assert (attrs["dropped"], attrs["unknown"]) == (0, 1)
    assert attrs["table"] == "events"
    assert empty().frames.steers.attrs["dropped"] == 0


def test_groups_are_values():
    both = f.EventCore + f.EventDelta
    assert both.names == f.EventCore.names + f.EventDelta.names
    assert (both + f.EventDelta).names == both.names
    assert "seq" in f.EventCore
    assert f.EventCore["seq"].doc
    assert "delta_text" in repr(both)
    assert "<td><code>delta_text</code></td>" in both._repr_html_()
    with pytest.raises(TypeError, match="only groups of one table"):
        f.EventCore + f.SteerCore
    with pytest.raises(TypeError):
        f.EventCore + 1
    with pytest.raises(KeyError, match="no column 'nope'"):
        f.EventCore["nope"]


def test_columns_are_chosen_by_group_by_name_or_by_text():
    frames = full().frames
    assert list(frames.table("events", columns=["seq", "raw_json"])) == ["seq", "raw_json"]
    chosen = frames.table("events", columns="EventCore + EventRaw")
    assert list(chosen) == [*f.EventCore.names, "raw_json"]
    assert list(frames.table("steers", columns="steer_key+state")) == ["steer_key", "state"]
    assert list(frames.table("steers", columns="steer_key+steer_key")) == ["steer_key"]


def test_unknown_names_are_told_with_the_nearest():
    frames = empty().frames
    with pytest.raises(UnknownFrame, match=r"'respnses'\. Did you mean 'responses'\? Frames: ev"):
        frames["respnses"]
    with pytest.raises(UnknownFrame, match="There is no frame 3"):
        frames[3]
    for odd in (5, [5], ["state", None]):
        with pytest.raises(UnknownColumn, match="names of groups and columns, not"):
            empty().frames.table("steers", columns=odd)
    assert list(empty().frames.table("steers", columns=(n for n in ("state",)))) == ["state"]
    with pytest.raises(UnknownColumn, match=r"no column 'stat'\. Did you mean 'state'\?"):
        frames.table("steers", columns=["stat"])
    with pytest.raises(UnknownColumn, match="'EventDelta'"):
        frames.table("events", columns="EventDleta")
    with pytest.raises(UnknownColumn, match="a group of 'events', not of 'steers'"):
        frames.table("steers", columns=f.EventCore)
    with pytest.raises(UnknownColumn, match="a group of 'events', not of 'steers'"):
        frames.table("steers", columns="EventCore")
    with pytest.raises(KeyError):
        frames["nope"]
    with pytest.raises(SteerError):
        frames["nope"]


def test_columns_of_ones_own_are_checked():
    mine = f.Columns("Mine", "events", (f.EventCore["seq"], f.Column("zzz", f.EventCore, "")))
    with pytest.raises(UnknownColumn, match="no column 'zzz'"):
        empty().frames.table("events", columns=mine)


def test_one_lane():
    trace = (
        TraceBuilder()
        .connect()
        .create(lane="a")
        .create()
        .created("r1", lane="a")
        .created("r2")
        .trace
    )
    frames = trace.frames
    assert list(frames.table("responses", lane="a")["response_id"]) == ["r1"]
    assert list(frames.table("responses", lane="(default)")["response_id"]) == ["r2"]
    only = frames.table("events", columns=["seq"], lane="a")
    assert list(only["seq"]) == [1, 3]
    assert list(only.index) == [0, 1]
    with pytest.raises(UnknownLane, match=r"no lane 'b'\. Lanes: a, \(default\)"):
        frames.table("responses", lane="b")
    with pytest.raises(UnknownLane, match="not about lanes"):
        frames.table("traces", lane="a")


def test_frames_are_listed_shown_and_iterated():
    frames = full().frames
    assert list(frames) == list(frames.names) == list(f.TABLES)
    assert len(frames) == 11
    assert "steers" in frames
    assert "nope" not in frames
    text = repr(frames)
    assert "14 x 18" in text
    for name in frames:
        assert name in text
        assert getattr(frames, name).equals(frames[name])
    page = frames._repr_html_()
    assert "<code>required_inputs</code>" in page
    assert page.count("<tr>") == 12


def test_text_from_the_wire_is_escaped_in_html():
    trace = Trace(Header(SCHEMA, "<b>evil</b>"))
    assert "<b>" not in trace.frames._repr_html_()


def test_importing_pandas_waits_until_frames_are_asked_for():
    code = (
        "import sys\n"
        "from steer_nb.trace import Header, Trace\n"
        "trace = Trace(Header(1, '0'))\n"
        "trace.ledger\n"
        "assert 'pandas' not in sys.modules\n"
        "trace.frames.events\n"
        "assert 'pandas' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
