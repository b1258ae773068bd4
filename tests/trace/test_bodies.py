"""Whole answers, many in a file: as the official SDK dumps them, as the Batch API writes them."""

from __future__ import annotations

import json

import pytest
from openai.types.responses import Response

import steer_nb
from steer_nb.errors import TraceError
from tests.trace import dumps


@pytest.fixture(scope="module")
def live():
    return dumps.live("weather")


@pytest.fixture(scope="module")
def answers(live):
    """What the requests would have given without a stream, as the SDK's own models."""
    return [Response.model_validate(dumps.whole(events)) for _, events in dumps.exchanges(live)]


def loaded(tmp_path, content, name="answers.jsonl", **options):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return steer_nb.load(path, **options)


def batch_line(number, answer=None, *, status=200, body=None, error=None, custom_id=None):
    """One line of a batch's output or error file."""
    said = body if answer is None else json.loads(answer.model_dump_json())
    got = {"status_code": status, "request_id": f"req_{number}", "body": said}
    line = {"id": f"batch_req_{number}", "custom_id": custom_id or f"task-{number}"}
    return json.dumps({**line, "response": None if said is None else got, "error": error})


def told(trace):
    return [(problem.kind, problem.line) for problem in trace.problems]


WRITTEN = {
    "lines": lambda answers: "".join(f"{one.model_dump_json()}\n" for one in answers),
    "no last end": lambda answers: "\n".join(one.model_dump_json() for one in answers),
    "indented": lambda answers: "".join(f"{one.model_dump_json(indent=2)}\n" for one in answers),
    "to_json": lambda answers: "\n".join(one.to_json() for one in answers),
    "list": lambda answers: json.dumps([one.model_dump(mode="json") for one in answers]),
    "page": lambda answers: json.dumps(
        {"object": "list", "data": [one.model_dump(mode="json") for one in answers]}, indent=1
    ),
    "batch": lambda answers: "\n".join(batch_line(n, one) for n, one in enumerate(answers)),
}
TOTALS = ["input_tokens", "output_tokens", "total_tokens", "cached_tokens", "reasoning_tokens"]


@pytest.mark.parametrize("form", WRITTEN)
def test_each_answer_is_a_response_with_its_items(tmp_path, live, answers, form):
    trace = loaded(tmp_path, WRITTEN[form](answers))
    assert trace.problems == ()
    found, played = trace.frames.responses, live.frames.responses
    assert found["response_id"].tolist() == [one.id for one in answers]
    for name in ("status", "output_text", "model", "n_items", "n_tool_calls", *TOTALS):
        assert found[name].equals(played[name]), name
    assert found["output_text"].fillna("").tolist() == [one.output_text for one in answers]
    items, calls = trace.frames.items, trace.frames.tool_calls
    listed = [item for one in answers for item in one.output]
    assert items["item_id"].tolist() == [item.id for item in listed]
    asked = [item for item in listed if item.type == "function_call"]
    assert asked
    assert calls["call_key"].tolist() == [item.call_id for item in asked]
    assert calls["arguments_text"].tolist() == [item.arguments for item in asked]
    usage = trace.frames.usage
    assert usage["tokens"].sum() == live.frames.usage["tokens"].sum() > 0
    assert trace.header.source == ("json" if form in ("list", "page") else "jsonl")


def test_a_chain_stays_on_its_lane(tmp_path, answers):
    assert answers[1].previous_response_id == answers[0].id
    alone = answers[0].model_copy(update={"id": "resp_alone", "previous_response_id": None})
    trace = loaded(tmp_path, WRITTEN["lines"]([answers[0], alone, *answers[1:]]))
    lanes = trace.frames.responses.set_index("response_id")["lane_id"].str.rsplit("/").str[-1]
    assert lanes[[one.id for one in answers]].unique().tolist() == ["answers"]
    assert lanes["resp_alone"] == "answers-2"


def test_a_response_that_was_asked_for_twice_is_one(tmp_path, answers):
    early = answers[0].model_copy(update={"status": "in_progress", "output": [], "usage": None})
    trace = loaded(tmp_path, WRITTEN["lines"]([early, answers[0]]))
    assert trace.frames.responses["status"].tolist() == ["completed"]
    assert len(trace.frames.lanes) == 1


def test_lines_of_a_batch_have_lanes_of_their_own(tmp_path, answers):
    lines = [
        batch_line(1, answers[0], custom_id="Lisbon, day 1"),
        batch_line(2, answers[1], custom_id="Lisbon/day 1"),
        batch_line(3, answers[2], custom_id="…"),
    ]
    trace = loaded(tmp_path, "\n".join(lines), "batch_output.jsonl")
    assert trace.frames.lanes["stream_id"].tolist() == ["Lisbon_day_1", "Lisbon_day_1-2", "_"]
    assert [entry.data["custom_id"] for entry in trace if entry.kind == "in"][2] == "…"
    assert [entry.data["request_id"] for entry in trace if entry.kind == "in"][2] == "req_3"
    raw = trace.entries[1].raw
    assert answers[0].model_dump(mode="json") == json.loads(raw)["response"]


def test_what_failed_in_a_batch(tmp_path, answers):
    refused = {"message": "No such model.", "type": "invalid_request_error", "param": "model",
               "code": "model_not_found"}  # fmt: skip
    error = {"code": "server_error", "message": "Sorry."}
    changed = {"id": "resp_b", "status": "failed", "output": [], "error": error}
    broken = Response.model_validate({**answers[0].model_dump(mode="json"), **changed})
    lines = [
        batch_line(1, status=400, body={"error": refused}),
        batch_line(2, error={"code": "batch_expired", "message": "It could not be run in time."}),
        batch_line(3, answers[0]),
        batch_line(4, broken),
        batch_line(5, status=502, body="<html>Bad gateway, sk-abcdefgh1234"),
    ]
    trace = loaded(tmp_path, "\n".join(lines) + "\n")
    assert told(trace) == [("failed", 1), ("failed", 2), ("failed", 5)]
    assert (
        trace.problems[0].detail == "the request 'task-1' failed with status 400: 'No such model.'"
    )
    assert not any("sk-abc" in problem.detail for problem in trace.problems)
    assert not any("sk-abc" in entry.raw for entry in trace if entry.raw)
    frame = trace.frames.responses
    assert frame["status"].tolist() == ["completed", "failed"]
    assert frame["error_code"].tolist()[1] == "server_error"
    events = trace.frames.table("events", "EventCore + EventError")
    failed = events[events["type"] == "error"]
    assert failed["error_code"].fillna("").tolist() == ["model_not_found", "batch_expired", ""]
    assert failed["error_status"].fillna(0).tolist() == [400, 0, 502]
    assert failed["lane_id"].str.rsplit("/").str[-1].tolist() == ["task-1", "task-2", "task-5"]
    with pytest.raises(TraceError, match=r"line 1: .*task-1.*failed"):
        loaded(tmp_path, "\n".join(lines), strict=True)


def test_a_file_of_failures_only(tmp_path):
    error = {"code": "batch_cancelled", "message": "It was cancelled."}
    trace = loaded(tmp_path, batch_line(1, error=error))
    assert told(trace) == [("failed", 1)]


def test_answers_of_other_services_and_odd_lines(tmp_path, answers):
    chat = {"id": "chatcmpl-1", "object": "chat.completion", "choices": []}
    lines = [
        batch_line(1, body=chat),
        answers[0].model_dump_json(),
        json.dumps(chat),
        "[1]",
        '{"hello": 1}',
        "not json",
        '{"object":"response","id":"nan","status":"completed","temperature":NaN}',
        answers[1].model_dump_json()[:-30],
    ]
    trace = loaded(tmp_path, "\n".join(lines))
    lines = [("skipped", 1), ("skipped", 3), ("not_object", 4), ("skipped", 5), ("bad_json", 6)]
    assert told(trace)[:6] == [*lines, ("truncated", 8)]
    assert "Chat Completions" in trace.problems[0].detail
    assert trace.frames.responses["response_id"].tolist() == [answers[0].id, "nan"]


def test_one_response_alone_is_a_document_as_before(tmp_path, answers):
    for indent in (None, 2):
        trace = loaded(tmp_path, answers[0].model_dump_json(indent=indent))
        assert trace.header.source == "json"
        assert trace.frames.responses["response_id"].tolist() == [answers[0].id]


@pytest.mark.parametrize("form", ["lines", "indented", "batch"])
def test_answers_with_large_pictures(tmp_path, answers, form):
    picture = {"id": "ig_1", "type": "image_generation_call", "status": "completed"}
    changed = {"output": [{**picture, "result": "iVBORw0KGgo" * 150_000}]}
    large = Response.model_validate({**answers[0].model_dump(mode="json"), **changed})
    trace = loaded(tmp_path, WRITTEN[form]([large, answers[1]]))
    assert trace.problems == ()
    assert trace.frames.items["type"].tolist()[0] == "image_generation_call"
    assert len(trace.frames.responses) == 2
