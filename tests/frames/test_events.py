"""The events table: what each row says, and what it is worth asking twice."""

from __future__ import annotations

import pandas as pd
import pytest

from steer_nb.frames import GROUPS
from steer_nb.trace import SCHEMA, Entry, Header, Trace
from tests.support.traces import TRACE_ID, TraceBuilder, call, message

ALL = "EventCore + EventDelta + EventError + EventRaw"


def one(trace: Trace, columns: str = ALL) -> dict:
    """The last row, as a dict."""
    return trace.frames.table("events", columns=columns).iloc[-1].to_dict()


def test_a_delta_has_the_ids_it_does_not_carry():
    trace = TraceBuilder().connect().create().created("r1").added(message("")).delta("Hé").trace
    row = one(trace)
    assert row["event_id"] == f"{TRACE_ID}/4"
    assert row["connection_id"] == f"{TRACE_ID}/1"
    assert row["lane_id"] == f"{TRACE_ID}/1/(default)"
    assert (row["seq"], row["t_s"], row["direction"]) == (4, 0.4, "in")
    assert row["recv_at"] == pd.Timestamp("2023-11-14T22:13:20.4Z")
    assert (row["type"], row["family"]) == ("response.output_text.delta", "text")
    assert row["known"] is True
    assert (row["response_id"], row["item_id"]) == ("r1", "msg_0")
    assert (row["output_index"], row["content_index"]) == (0, 0)
    assert (row["delta_text"], row["delta_len"]) == ("Hé", 2)
    assert row["raw_json"] == trace[-1].raw
    assert row["bytes"] == len(trace[-1].raw)
    for column in ("sequence_number", "done_text", "delta_json", "error_code", "error_status"):
        assert pd.isna(row[column]), column


def test_bytes_are_those_of_the_wire():
    raw = '{"type":"x","text":"é🙂"}'
    assert one(TraceBuilder().in_(raw).trace)["bytes"] == len(raw.encode()) == len(raw) + 4


def test_items_without_an_id_of_their_own_get_it_from_their_place():
    trace = (
        TraceBuilder()
        .create()
        .created("r1")
        .added({"type": "shell_call", "id": "sh_1", "call_id": "c"}, 3)
        .event("response.shell_call_command.delta", output_index=3, command_index=0, delta="ls")
        .trace
    )
    assert list(trace.frames.events["item_id"].astype(object).fillna("")) == [
        "",
        "",
        "sh_1",
        "sh_1",
    ]


def test_requests_and_closes_are_rows_and_notes_are_not():
    trace = (
        TraceBuilder()
        .note("session", name="x")
        .connect()
        .note("lane", lane="a", settings={})
        .create(lane="a")
        .created("r1", lane="a")
        .steer("r1")
        .close()
        .trace
    )
    events = trace.frames.events
    assert list(events["direction"]) == ["out", "in", "out", "close"]
    assert list(events["type"].astype(object).fillna("-")) == [
        "response.create",
        "response.created",
        "response.steer",
        "-",
    ]
    assert list(events["family"]) == ["lifecycle", "lifecycle", "steer", "control"]
    assert list(events["known"][:3]) == [True, True, True]
    assert events["known"].isna().iloc[3]
    # A steer goes to a response, and so to its lane; the request has no response yet.
    assert list(events["response_id"].astype(object).fillna("-")) == ["-", "r1", "r1", "-"]
    assert list(events["lane_id"].notna()) == [True, True, True, False]
    assert events["seq"].is_monotonic_increasing


def test_times_that_were_not_recorded_are_null():
    entries = [
        Entry(0, None, None, "out", 1, raw='{"type":"response.create"}'),
        Entry(1, None, None, "in", 1, raw='{"type":"response.created","response":{"id":"r"}}'),
        Entry(2, None, None, "in", 1, raw='{"type":"response.completed","response":{"id":"r"}}'),
        Entry(3, None, None, "note", 1, note="closed", data={"code": 1000, "by": "server"}),
    ]
    frames = Trace(Header(SCHEMA, "t", None), entries).frames
    for name in frames:
        frame = frames[name]
        for column in frame:
            if column.endswith(("_at", "_s")):
                assert frame[column].isna().all(), (name, column)


def test_unknown_types_are_kept_and_counted():
    trace = TraceBuilder().event("response.telepathy.delta", output_index=1, delta="?").trace
    row = one(trace)
    assert (row["type"], row["family"], row["known"]) == (
        "response.telepathy.delta",
        "unknown",
        False,
    )
    assert row["delta_text"] == "?"
    assert trace.frames.events.attrs["unknown"] == 1
    words = trace.frames.events["type"].cat.categories
    assert list(words[:-1]) == list(GROUPS["EventCore"]["type"].dtype.categories)


def test_invalid_json_is_a_row():
    row = one(TraceBuilder().in_('{"type":').in_("3").in_("").trace)
    assert pd.isna(row["type"])
    assert (row["family"], row["known"], row["bytes"]) == ("unknown", False, 0)


def test_a_delta_that_is_no_text_is_json():
    delta = {"stdout": "a", "n": [1, None, float("nan")]}
    row = one(TraceBuilder().event("response.shell_call_output_content.delta", delta=delta).trace)
    assert row["delta_json"] == '{"stdout":"a","n":[1,null,null]}'
    assert pd.isna(row["delta_text"])
    assert pd.isna(row["delta_len"])


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("response.output_text.done", "text"),
        ("response.refusal.done", "refusal"),
        ("response.function_call_arguments.done", "arguments"),
        ("response.custom_tool_call_input.done", "input"),
        ("response.code_interpreter_call_code.done", "code"),
        ("response.shell_call_command.done", "command"),
    ],
)
def test_done_events_carry_the_whole_text(kind, field):
    assert one(TraceBuilder().event(kind, **{field: "whole"}).trace)["done_text"] == "whole"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (
            {
                "type": "error",
                "status": 400,
                "error": {"type": "t", "code": "c", "message": "m", "param": "p"},
            },
            ("c", "m", "p", "t", 400),
        ),
        ({"type": "error", "code": "c", "message": "m", "param": "p"}, ("c", "m", "p", None, None)),
        (
            {"type": "response.failed", "response": {"error": {"code": "c", "message": "m"}}},
            ("c", "m", None, None, None),
        ),
        (
            {"type": "response.steer.failed", "steer": {}, "error": {"code": "c", "message": "m"}},
            ("c", "m", None, None, None),
        ),
        (
            {"type": "response.completed", "response": {"error": None}},
            (None, None, None, None, None),
        ),
        ({"type": "response.output_text.delta", "delta": "x"}, (None,) * 5),
    ],
)
def test_errors_of_every_shape_land_in_the_same_columns(event, expected):
    row = TraceBuilder().in_(event).trace.frames.table("events", columns="EventError").iloc[-1]
    assert tuple(None if pd.isna(value) else value for value in row) == expected


def test_errors_of_nobody_have_no_lane():
    trace = (
        TraceBuilder()
        .connect()
        .create(lane="a")
        .in_({"type": "error", "error": {"code": "websocket_connection_limit_reached"}})
        .in_({"type": "error", "stream_id": "a", "error": {"code": "x", "message": "no"}})
        .create()
        .in_({"type": "error", "error": {"code": "previous_response_not_found", "message": "no"}})
        .trace
    )
    lanes = trace.frames.events["lane_id"].astype(object).fillna("-")
    a, default = f"{TRACE_ID}/1/a", f"{TRACE_ID}/1/(default)"
    assert list(lanes) == [a, "-", a, default, default]


def test_numbers_beyond_64_bits_are_null_and_stay_in_the_raw_text():
    trace = (
        TraceBuilder()
        .in_('{"type":"x","sequence_number":9007199254740993}')
        .in_('{"type":"x","sequence_number":99999999999999999999999}')
        .in_('{"type":"x","sequence_number":-5}')
        .trace
    )
    numbers = trace.frames.events["sequence_number"]
    assert numbers.isna().tolist() == [False, True, False]
    assert numbers.dropna().tolist() == [9007199254740993, -5]
    raw = trace.frames.table("events", columns="raw_json")["raw_json"]
    assert "99999999999999999999999" in raw[1]


def test_only_unpaired_halves_of_characters_are_replaced():
    trace = (
        TraceBuilder()
        .create()
        .created("r1")
        .added(message(""))
        .delta("a\ud83d")
        .delta("\ude00b")
        .delta("\ud83d\ude00")
        .delta("\ud83d")
        .trace
    )
    deltas = trace.frames.table("events", columns="delta_text")["delta_text"].dropna()
    assert deltas.tolist() == ["a�", "�b", "😀", "�"]
    # Joined first, cleaned then: the character that was cut in two is whole again.
    assert trace.frames.responses["output_text"][0] == "a😀b😀�"
    assert trace.frames.items["text"][0] == "a😀b😀�"
    for name in trace.frames:
        frame = trace.frames[name]
        for column in frame.select_dtypes("string"):
            for text in frame[column].dropna():
                text.encode()


def test_odd_words_in_word_columns_are_cleaned_too():
    trace = TraceBuilder().event("x.\ud83d").event("x.\ude00").trace
    assert trace.frames.events["type"].tolist() == ["x.�", "x.�"]


def test_times_no_calendar_has_are_null():
    entries = [
        Entry(seq, at, 0.0, "in", raw="{}") for seq, at in enumerate((1e300, -1e300, 0.0, 1.5e9))
    ]
    at = Trace(Header(SCHEMA, "t"), entries).frames.events["recv_at"]
    assert at.isna().tolist() == [True, True, False, False]
    assert at[2] == pd.Timestamp(0, tz="UTC")


def test_wide_joins_what_an_event_belongs_to():
    trace = (
        TraceBuilder()
        .connect()
        .create(lane="a")
        .created("r1", lane="a")
        .done(call(), lane="a")
        .ended("r1", lane="a", output=[call()])
        .in_("nonsense")
        .trace
    )
    wide = trace.frames.wide()
    assert len(wide) == len(trace.frames.events)
    assert wide["event_id"].tolist() == trace.frames.events["event_id"].tolist()
    row = wide.iloc[2]
    assert (row["stream_id"], row["response_status"], row["response_origin"]) == (
        "a",
        "completed",
        "create",
    )
    assert (row["item_type"], row["item_name"], row["call_id"]) == (
        "function_call",
        "get_weather",
        "call_1",
    )
    assert wide.iloc[-1][["stream_id", "response_status", "item_type"]].isna().all()
    empty = Trace(Header(SCHEMA, "t")).frames.wide()
    assert empty.dtypes.to_dict() == wide.dtypes.to_dict()
    assert len(empty) == 0
    assert wide.attrs["table"] == "wide"
