"""The lanes, connections, problems and traces tables; and a trace that was saved and read back."""

from __future__ import annotations

import pandas as pd
import pytest

from steer_nb.trace import SCHEMA, Entry, Header, Trace, load
from tests.frames.test_responses import rows
from tests.frames.test_schema import full
from tests.support.traces import TRACE_ID, TraceBuilder, call, stub


def at(seconds: float) -> pd.Timestamp:
    return pd.Timestamp(round((1_700_000_000 + seconds) * 1e6), unit="us", tz="UTC")


def test_lanes_on_two_connections():
    trace = (
        TraceBuilder(step=1.0)
        .connect()  # 0
        .note("lane", lane="a", settings={"model": "m"})  # 1
        .create(lane="a")  # 2
        .created("r1", lane="a")  # 3
        .steer("r1")  # 4
        .close()  # 5
        .connect()  # 6
        .create(lane="a")  # 7
        .created("r2", lane="a")  # 8
        .done(call(), lane="a")  # 9
        .ended("r2", lane="a", output=[call()])  # 10
        .create()  # 11
        .trace
    )
    first, second, third = rows(trace, "lanes")
    assert (first["lane_id"], first["stream_id"]) == (f"{TRACE_ID}/1/a", "a")
    assert (first["state"], first["n_responses"], first["n_steers"]) == ("detached", 1, 1)
    assert (first["opened_at"], first["last_event_at"]) == (at(1), at(4))
    assert (second["lane_id"], second["connection_id"]) == (f"{TRACE_ID}/2/a", f"{TRACE_ID}/2")
    assert (second["state"], second["n_pending"]) == ("waiting_input", 1)
    assert (second["tip_response_id"], second["stream_id_echoed"]) == ("r2", True)
    assert (second["opened_at"], second["last_event_at"]) == (at(7), at(10))
    assert (third["lane_id"], third["stream_id"]) == (f"{TRACE_ID}/2/(default)", None)
    assert (third["state"], third["stream_id_echoed"]) == ("queued", None)
    assert third["tip_response_id"] is None
    for frame in ("events", "responses", "items", "tool_calls", "steers", "required_inputs"):
        used = set(trace.frames[frame]["lane_id"].dropna())
        assert used <= {first["lane_id"], second["lane_id"], third["lane_id"]}, frame


def test_forks():
    trace = (
        TraceBuilder()
        .create(lane="a")
        .created("r1", lane="a")
        .ended("r1", lane="a")
        .note("lane", lane="b", settings={}, forked_from="r1")
        .trace
    )
    expected = ("r1", f"{TRACE_ID}/0/a")
    row = rows(trace, "lanes")[1]
    assert (row["forked_from_response_id"], row["forked_from_lane_id"]) == expected
    assert (row["state"], row["n_responses"]) == ("idle", 0)
    started = TraceBuilder()
    for entry in trace:
        started.trace.append(entry)
    started.create(lane="b", previous="r1").created("r2", previous="r1", lane="b")
    row = rows(started.trace, "lanes")[1]
    assert (row["forked_from_response_id"], row["forked_from_lane_id"]) == expected
    assert row["state"] == "running"
    assert rows(started.trace, "lanes")[0]["forked_from_response_id"] is None


def test_whether_the_service_repeats_a_lanes_name():
    trace = (
        TraceBuilder()
        .connect()
        .note("lane", lane="unused", settings={})
        .create(lane="told")
        .create(lane="refused")
        .event("error", lane="refused", error={"code": "x", "message": "no"})
        .create(lane="ignored")
        .created("r1")  # a gateway that takes lane names and does not give them back
        .trace
    )
    echoed = {row["stream_id"]: row["stream_id_echoed"] for row in rows(trace, "lanes")}
    assert echoed.pop(None) is None
    assert echoed == {"unused": None, "told": False, "refused": True, "ignored": False}


def test_lines_that_could_not_be_read_are_counted(tmp_path):
    path = tmp_path / "run.jsonl"
    full().save(path)
    with path.open("a", encoding="utf-8") as file:
        file.write('{"neither":\n["an", "entry"]\n{"torn')
    frames = load(path).frames
    assert frames.events.attrs["dropped"] == 3
    assert frames.steers.attrs["dropped"] == 3
    assert full().frames.events.attrs["dropped"] == 0


def test_a_lane_that_was_opened_before_the_connection():
    early = TraceBuilder().note("lane", lane="a", settings={})
    assert [r["connection_id"] for r in rows(early.trace, "lanes")] == [None]
    early.connect().create(lane="a")
    assert [r["connection_id"] for r in rows(early.trace, "lanes")] == [f"{TRACE_ID}/1"]


def test_connections():
    trace = (
        TraceBuilder(step=1.0)
        .connect("ws://127.0.0.1:1/v1/responses")
        .create()
        .in_('{"type":"x","é":1}')
        .close(1011, "keepalive ping timeout", "network")
        .connect()
        .trace
    )
    first, second = rows(trace, "connections")
    assert first == {
        "connection_id": f"{TRACE_ID}/1",
        "trace_id": TRACE_ID,
        "url": "ws://127.0.0.1:1/v1/responses",
        "opened_at": at(0),
        "closed_at": at(3),
        "close_code": 1011,
        "close_reason": "keepalive ping timeout",
        "n_in": 1,
        "n_out": 1,
        "bytes_in": 19,
        "expires_at": at(3600),
        "end_kind": "network",
    }
    assert (second["n_in"], second["closed_at"], second["end_kind"]) == (0, None, None)


def test_a_connection_whose_beginning_was_not_recorded():
    entries = [Entry(0, 5.0, 5.0, "note", 1, note="closed", data={"code": 1000, "by": "server"})]
    (row,) = rows(Trace(Header(SCHEMA, "t"), entries), "connections")
    assert (row["opened_at"], row["expires_at"], row["url"]) == (None, None, None)
    assert (row["close_code"], row["end_kind"]) == (1000, "server")


def test_problems_point_at_their_event():
    trace = TraceBuilder().in_("nope").event("x.y").trace
    first, second = rows(trace, "problems")
    assert (first["kind"], first["event_id"]) == ("bad_json", f"{TRACE_ID}/0")
    assert (second["kind"], second["detail"]) == ("unknown_type", "x.y")
    assert set(trace.frames.problems["event_id"]) <= set(trace.frames.events["event_id"])


def test_the_trace_itself():
    (row,) = rows(full(), "traces")
    assert (row["trace_id"], row["source"], row["file"]) == (TRACE_ID, "live", None)
    assert row["started_at"] == at(0)
    assert row["ended_at"] == at(1.4)
    assert (row["n_events"], row["n_problems"]) == (14, 1)
    (empty,) = rows(Trace(Header(SCHEMA, "t", version="9.9")), "traces")
    assert (empty["started_at"], empty["ended_at"], empty["n_events"]) == (None, None, 0)
    assert empty["recorder_version"] == "9.9"


def test_a_saved_trace_gives_equal_frames(tmp_path):
    trace = full()
    path = trace.save(tmp_path / "run.jsonl")
    loaded = load(path)
    for name in trace.frames:
        pd.testing.assert_frame_equal(trace.frames[name], loaded.frames[name])
    pd.testing.assert_frame_equal(trace.frames.wide(), loaded.frames.wide())
    assert loaded.frames.traces.attrs["file"] == str(path)
    assert "file" not in trace.frames.traces.attrs


def test_a_torn_file_says_where(tmp_path):
    path = tmp_path / "run.jsonl"
    full().save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 20])
    loaded = load(path)
    first = rows(loaded, "problems")[0]
    assert (first["file"], first["line"]) == (str(path), 16)
    assert first["kind"] == "truncated"
    assert first["event_id"] is None
    assert len(loaded.frames.events) == 13


@pytest.mark.parametrize("limit", [None, True, "x"])
def test_a_connection_lasts_an_hour_unless_it_says_otherwise(limit):
    trace = TraceBuilder().note("connected", connection=1, url="ws://x", limit_s=limit).trace
    assert rows(trace, "connections")[0]["expires_at"] == at(3600)
    short = TraceBuilder().note("connected", connection=1, url="ws://x", limit_s=60.5).trace
    assert rows(short, "connections")[0]["expires_at"] == at(60.5)


def test_required_input_holds_a_lane():
    builder = TraceBuilder().connect().create().created("r1").done(call())
    builder.ended("r1", output=[call()])
    assert rows(builder.trace, "lanes")[0]["n_pending"] == 1
    builder.create([{**stub(), "output": "x"}], previous="r1").created("r2", previous="r1")
    assert rows(builder.trace, "lanes")[0]["n_pending"] == 0
