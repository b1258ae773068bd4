"""The responses, usage and items tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from tests.support.traces import TRACE_ID, TraceBuilder, call, message, response

if TYPE_CHECKING:
    from steer_nb.trace import Trace

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
    "output_tokens": 40,
    "output_tokens_details": {"reasoning_tokens": 15},
    "total_tokens": 140,
}


def rows(trace: Trace, name: str = "responses") -> list[dict]:
    """Rows as dicts, with None for every kind of missing."""
    frame = trace.frames[name]
    return [
        {key: None if pd.isna(value) else value for key, value in row.items()}
        for row in frame.to_dict("records")
    ]


def test_a_response_from_request_to_end():
    trace = (
        TraceBuilder(step=1.0)
        .connect()  # 0
        .create("hi", lane="a", key="create-1")  # 1
        .created("r1", lane="a")  # 2
        .event("response.in_progress", lane="a", response=response("r1"))  # 3
        .added({"type": "reasoning", "id": "rs_1", "summary": []}, 0, lane="a")  # 4
        .event(
            "response.reasoning_summary_text.delta",
            lane="a",
            output_index=0,
            summary_index=0,
            delta="Hm",
        )  # 5
        .added(message(""), 1, lane="a")  # 6
        .delta("Hel", 1, lane="a")  # 7
        .delta("lo", 1, lane="a")  # 8
        .steer("r1", "more", key="steer-1")  # 9
        .done(message("Hello"), 1, lane="a")  # 10
        .ended("r1", lane="a", output=[], usage=USAGE)  # 11
        .trace
    )
    row = rows(trace)[0]
    assert row["response_id"] == "r1"
    assert row["lane_id"] == f"{TRACE_ID}/1/a"
    assert row["connection_id"] == f"{TRACE_ID}/1"
    assert (row["origin"], row["status"], row["status_raw"]) == ("create", "completed", "completed")
    assert (row["root_response_id"], row["depth"], row["previous_response_id"]) == ("r1", 0, None)
    assert (row["model"], row["model_requested"]) == ("m", "m")
    assert row["request_sent_at"] == pd.Timestamp("2023-11-14T22:13:21Z")
    assert row["recv_created_at"] == pd.Timestamp("2023-11-14T22:13:22Z")
    assert row["created_at"] == pd.Timestamp("2023-11-14T22:13:20Z")
    assert row["queue_s"] == 1.0
    assert row["first_item_s"] == 4.0
    assert row["time_to_first_chunk_s"] == 4.0
    assert row["time_to_first_text_s"] == 6.0
    assert row["duration_s"] == 9.0
    assert row["n_events"] == 10
    assert (row["n_deltas"], row["n_items"], row["n_tool_calls"], row["n_steers"]) == (3, 2, 0, 1)
    assert (row["output_text"], row["refusal_text"]) == ("Hello", None)
    tokens = ("input", "cached", "cache_write", "output", "reasoning", "total")
    assert [row[f"{name}_tokens"] for name in tokens] == [100, 60, 10, 40, 15, 140]
    assert (row["sequence_gap"], row["id_unstable"]) == (False, False)


def test_settings_that_the_service_names():
    body = response("r1") | {
        "service_tier": "flex",
        "store": False,
        "reasoning": {"effort": "high", "summary": None},
        "model": "m-2026",
    }
    row = rows(TraceBuilder().create().event("response.created", response=body).trace)[0]
    assert (row["service_tier"], row["reasoning_effort"]) == ("flex", "high")
    assert row["store"] is False
    assert (row["model"], row["model_requested"]) == ("m-2026", "m")


def test_usage_is_long_and_adds_up():
    trace = TraceBuilder().create().created("r1").ended("r1", usage=USAGE).trace
    usage = trace.frames.usage
    assert list(zip(usage["kind"], usage["detail"], usage["tokens"], strict=True)) == [
        ("input", "plain", 30),
        ("input", "cache_read", 60),
        ("input", "cache_write", 10),
        ("output", "plain", 25),
        ("output", "reasoning", 15),
    ]
    assert usage["tokens"].sum() == 140


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, []),
        ({}, []),
        ({"input_tokens": "many", "output_tokens": True}, []),
        ({"input_tokens": 5, "input_tokens_details": None}, [("input", "plain", 5)]),
        # Shares that are larger than the whole are none.
        (
            {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 9}},
            [("input", "plain", 5)],
        ),
        (
            {"output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 5}},
            [("output", "plain", 0), ("output", "reasoning", 5)],
        ),
    ],
)
def test_odd_usage(usage, expected):
    trace = TraceBuilder().create().created("r1").ended("r1", usage=usage).trace
    found = trace.frames.usage
    assert list(zip(found["kind"], found["detail"], found["tokens"], strict=True)) == expected


def test_chains_know_their_root_and_depth():
    trace = (
        TraceBuilder()
        .create(previous="gone")
        .created("r1", previous="gone")
        .ended("r1")
        .create(previous="r1")
        .created("r2", previous="r1")
        .ended("r2")
        .create(previous="r2", lane="fork")
        .created("r3", previous="r2", lane="fork")
        .create(previous="r2")
        .created("r4", previous="r2")
        .create(lane="loop", previous="r5")
        .created("r5", previous="r5", lane="loop")
        .trace
    )
    found = {r["response_id"]: (r["root_response_id"], r["depth"]) for r in rows(trace)}
    assert found == {
        "r1": ("r1", 0),
        "r2": ("r1", 1),
        "r3": ("r1", 2),
        "r4": ("r1", 2),
        "r5": ("r5", 0),
    }
    origins = {r["response_id"]: r["origin"] for r in rows(trace)}
    assert origins["r3"] == "fork"
    assert origins["r4"] == "create"


def test_an_automatic_successor_has_no_request():
    trace = (
        TraceBuilder()
        .create()
        .created("r1")
        .steer("r1")
        .accepted("s1", "r1")
        .ended("r1", "incomplete", reason="steered")
        .created("r2", previous="r1")
        .trace
    )
    first, second = rows(trace)
    assert (first["status"], first["incomplete_reason"]) == ("incomplete", "steered")
    assert second["origin"] == "steer_auto"
    for column in ("model_requested", "request_sent_at", "queue_s", "time_to_first_chunk_s"):
        assert second[column] is None


def test_one_failure_with_two_endings():
    error = {"code": "rate_limit_exceeded", "message": "slow down"}
    failed = response("r1", status="failed") | {"error": error}
    trace = (
        TraceBuilder()
        .create()
        .created("r1")
        .event("error", sequence_number=1, error=error)
        .event("response.failed", sequence_number=2, response=failed)
        .trace
    )
    (row,) = rows(trace)
    assert (row["status"], row["error_code"]) == ("failed", "rate_limit_exceeded")
    assert row["error_message"] == "slow down"
    assert row["n_events"] == 3


def test_a_lost_connection_truncates():
    trace = TraceBuilder().connect().create().created("r1").delta("a").close().trace
    (row,) = rows(trace)
    assert (row["status"], row["status_raw"]) == ("truncated", None)
    assert row["duration_s"] == pytest.approx(0.2)
    assert row["output_text"] == "a"


def test_a_running_response_has_no_duration():
    (row,) = rows(TraceBuilder().create().created("r1").trace)
    assert (row["status"], row["duration_s"], row["output_text"]) == ("in_progress", None, "")


def test_sequence_numbers_that_skip_and_ids_that_change():
    trace = (
        TraceBuilder()
        .create()
        .event("response.created", sequence_number=0, response=response("r1"))
        .event("response.in_progress", sequence_number=5, response=response("r1"))
        .event("response.completed", sequence_number=6, response=response("r1x"))
        .trace
    )
    (row,) = rows(trace)
    assert (row["response_id"], row["sequence_gap"], row["id_unstable"]) == ("r1", True, True)
    assert row["n_events"] == 3


def test_refusals():
    part = {"type": "refusal", "refusal": "I can't."}
    item = message("") | {"content": [part]}
    trace = (
        TraceBuilder()
        .create()
        .created("r1")
        .added(message(""))
        .event("response.refusal.delta", output_index=0, content_index=0, delta="I can")
        .event("response.refusal.delta", output_index=0, content_index=0, delta="'t.")
        .done(item)
        .ended("r1", output=[item])
        .trace
    )
    (row,) = rows(trace)
    assert (row["refusal_text"], row["output_text"], row["n_deltas"]) == ("I can't.", "", 2)
    assert rows(trace, "items")[0]["text"] is None


def test_items():
    item = message("Hello", 1) | {"phase": "final_answer"}
    reasoning = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "Hm."}],
        "encrypted_content": "AAAA",
    }
    trace = (
        TraceBuilder(step=1.0)
        .create(lane="a")  # 0
        .created("r1", lane="a")  # 1
        .added({"type": "reasoning", "id": "rs_1", "summary": []}, 0, lane="a")  # 2
        .done(reasoning, 0, lane="a")  # 3
        .added(message("", 1), 1, lane="a")  # 4
        .delta("Hello", 1, lane="a")  # 5
        .event(
            "response.output_text.annotation.added",
            lane="a",
            output_index=1,
            content_index=0,
            annotation_index=0,
            annotation={},
        )  # 6
        .done(item, 1, lane="a")  # 7
        .event("response.output_item.added", lane="a", output_index=2, item=None)  # 8
        .ended("r1", lane="a", output=[reasoning, item])  # 9
        .trace
    )
    first, second, third = rows(trace, "items")
    assert (first["output_index"], first["item_id"], first["type"]) == (0, "rs_1", "reasoning")
    assert (first["text"], first["summary_text"], first["encrypted"]) == (None, "Hm.", True)
    assert (first["added_s"], first["done_s"], first["duration_s"]) == (2.0, 3.0, 1.0)
    assert (second["role"], second["status"], second["phase"]) == (
        "assistant",
        "completed",
        "final_answer",
    )
    assert (second["text"], second["summary_text"], second["encrypted"]) == ("Hello", None, False)
    assert (second["n_deltas"], second["n_annotations"], second["source"]) == (1, 1, "done")
    assert second["lane_id"] == f"{TRACE_ID}/0/a"
    assert json.loads(second["content_json"]) == item
    assert second["bytes"] == sum(len(trace[seq].raw) for seq in (4, 5, 6, 7))
    # A place that was reserved with a null item stays one; nothing is shifted down.
    assert (third["output_index"], third["type"], third["content_json"]) == (2, None, None)
    assert third["source"] == "added"


def test_an_item_that_only_the_end_knows():
    trace = TraceBuilder().create().created("r1").ended("r1", output=[call()]).trace
    (row,) = rows(trace, "items")
    assert (row["source"], row["added_s"], row["done_s"]) == ("terminal", None, 0.2)
    assert (row["name"], row["call_id"], row["bytes"]) == ("get_weather", "call_1", 0)


def test_words_from_the_future_are_kept_as_words():
    item = {"type": "telepathy", "id": "tp", "status": "dreaming"}
    trace = TraceBuilder().create().created("r1").done(item).trace
    (row,) = rows(trace, "items")
    assert (row["type"], row["status"]) == ("telepathy", "dreaming")
    assert trace.frames.items["type"].cat.categories[-1] == "telepathy"
