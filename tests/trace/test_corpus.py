"""The recordings of others beside the checkout: every one loads, and the odd ones rightly."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import steer_nb
from steer_nb.frames import TABLES
from steer_nb.trace import Trace, TraceSet
from steer_nb.wire import TERMINAL_TYPES, decode

SHARED = Path(__file__).resolve().parents[3] / "shared"
TRACES, LETTA = SHARED / "traces", SHARED / "letta-captures"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not TRACES.is_dir(), reason=f"no recordings at {TRACES}"),
]

FILES = sorted(f for f in TRACES.rglob("*") if f.is_file())
TEXTS = {"LICENSE", "README.md", "INDEX.md"}
LETTA_FILES = sorted(f for f in LETTA.rglob("*") if f.is_file())


@pytest.fixture(scope="module", autouse=True)
def _unloaded():
    yield
    load.cache_clear()


@cache
def load(path: Path) -> Trace:
    return steer_nb.load(path)


def named(name: str) -> Trace:
    (path,) = TRACES.rglob(name)
    return load(path)


def rows(trace: Trace | TraceSet, table: str = "responses", **options) -> list[dict]:
    return trace.frames.table(table, **options).to_dict("records")


def short(path: Path) -> str:
    return str(path.relative_to(SHARED))


@pytest.mark.parametrize("path", FILES, ids=short)
def test_every_file_loads_and_its_counts_add_up(path):
    trace = load(path)
    problems = rows(trace, "problems")
    for problem in problems:
        assert problem["file"] == str(path)
        assert problem["kind"] in steer_nb.trace.PROBLEM_KINDS
        assert problem["detail"]
    if path.name in TEXTS:
        assert [p["kind"] for p in problems] == ["unknown_kind"]
        assert len(trace) == 0
        return
    assert "unknown_kind" not in {p["kind"] for p in problems}
    assert len(trace) or {p["kind"] for p in problems} == {"skipped"}
    events, responses = trace.frames.events, trace.frames.responses
    assert responses["n_events"].sum() + events["response_id"].isna().sum() == len(events)
    assert set(responses["lane_id"]) <= set(trace.frames.lanes["lane_id"])
    assert set(events["connection_id"].dropna()) <= set(trace.frames.connections["connection_id"])
    for table in TABLES:
        assert not trace.frames.table(table, TABLES[table].all)["trace_id"].isna().any()
    assert trace.header.source in ("vcr", "json", "jsonl", "sse")


# Whoever recorded these left deltas out, and kept the end whole.
SHORTENED = {
    "openai-phase.1.chunks.txt",
    "openai-shell-container.1.chunks.txt",
    "11_unknown_types_and_odd_shapes.frames.ndjson",  # a delta of an item that is none
}


@pytest.mark.parametrize("path", FILES, ids=short)
def test_the_text_of_the_deltas_is_that_of_the_end(path):
    trace = load(path)
    events = trace.frames.table("events", columns="EventCore + EventDelta")
    deltas = events[events["type"] == "response.output_text.delta"]
    told = {row["response_id"]: row for row in rows(trace)}
    for entry in trace:
        event = decode(entry.raw or "") if entry.kind == "in" else None
        if event is None or event.type not in TERMINAL_TYPES:
            continue
        end = event.object("response") or {}
        parts = [p for item in end.get("output") or [] for p in item.get("content") or []]
        text = "".join(p["text"] for p in parts if p.get("type") == "output_text")
        row = told.get(end.get("id"))
        if row is None:  # the end has another id than the beginning
            (row,) = [r for r in told.values() if r["id_unstable"]]
        if end.get("output"):
            assert row["output_text"] == text
        mine = deltas[deltas["response_id"] == row["response_id"]]
        mine = mine.sort_values(["output_index", "content_index", "seq"])
        if len(mine) and path.name not in SHORTENED:
            assert row["output_text"] == "".join(mine["delta_text"])


def test_the_folder_is_one_set_and_says_what_it_left_out(capsys):
    traces = steer_nb.load(TRACES, progress=False)
    assert isinstance(traces, TraceSet)
    left_out = {Path(p.file).name for p in traces.file_problems if p.kind == "unknown_kind"}
    assert left_out == {"LICENSE", "README.md"}
    assert len(traces) == len([f for f in FILES if f.name not in TEXTS])
    assert len({trace.trace_id for trace in traces}) == len(traces)
    events, responses = traces.frames.events, traces.frames.responses
    assert len(events) == sum(len(trace.frames.events) for trace in traces)
    assert responses["n_events"].sum() + events["response_id"].isna().sum() == len(events)
    assert not traces.frames.responses.duplicated(["trace_id", "response_id"]).any()
    assert traces.frames.lanes["lane_id"].is_unique
    assert len(traces.frames.wide()) == len(events)
    assert traces.frames.traces["file"].tolist() == list(traces.files)
    assert len(traces.frames.problems) == len(traces.problems)
    assert capsys.readouterr() == ("", "")


def test_most_events_are_deltas():
    events = steer_nb.load(str(TRACES / "vercel-ai/**/*.chunks.txt"), progress=False).frames.events
    share = events["type"].astype("string").str.endswith(".delta", na=False).mean()
    assert round(share, 2) == 0.86


def test_two_types_that_the_sdk_does_not_know_are_kept_and_counted():
    traces = steer_nb.load(str(TRACES / "vercel-ai/**/*.chunks.txt"), progress=False)
    events = traces.frames.events
    unknown = events[~events["known"].astype("boolean")]
    assert unknown["type"].astype("string").value_counts().to_dict() == {
        "response.apply_patch_call_operation_diff.delta": 32,
        "response.apply_patch_call_operation_diff.done": 1,
    }
    assert events.attrs["unknown"] == 33
    problems = traces.frames.problems
    found = problems[problems["kind"] == "unknown_type"]
    assert len(found) == 33
    assert found["line"].notna().all()
    assert named("openai-apply-patch-tool.1.chunks.txt").problems[0].line == 4


def test_a_delta_that_is_an_object():
    events = rows(named("openai-shell-skills.1.chunks.txt"), "events", columns="type + EventDelta")
    found = [e for e in events if e["type"] == "response.shell_call_output_content.delta"]
    assert found
    for event in found:
        assert set(json.loads(event["delta_json"])) <= {"stdout", "stderr"}
        assert not isinstance(event["delta_text"], str)
    calls = rows(named("openai-shell-skills.1.chunks.txt"), "tool_calls")
    assert calls[0]["result_text"].startswith("/home/oai/skills/")


@pytest.mark.parametrize(
    ("name", "n_events", "ends_with"),
    [
        ("openai-shell-tool.1.chunks.txt", [12, 170], None),
        ("openai-reasoning-encrypted-content.1.chunks.txt", [56, 19, 19, 16], "**570**."),
    ],
)
def test_several_responses_in_a_file(name, n_events, ends_with):
    found = rows(named(name))
    assert [row["n_events"] for row in found] == n_events
    assert {row["status"] for row in found} == {"completed"}
    assert len({row["lane_id"] for row in found}) == 1
    if ends_with is not None:
        assert found[-1]["output_text"].endswith(ends_with)


def test_a_sequence_that_skips():
    trace = named("openai-phase.1.chunks.txt")
    (row,) = rows(trace)
    assert row["sequence_gap"] is True
    (problem,) = trace.problems
    assert (problem.kind, problem.line) == ("sequence_gap", 7)


def test_numbers_that_are_missing():
    events = named("parallel-tool-call-wrapper.1.chunks.txt").frames.events
    assert events["sequence_number"].isna().all()
    assert events["output_index"].notna().all()


def test_ids_that_change_on_every_event():
    trace = named("github-copilot-id-rotation.1.chunks.txt")
    (row,) = rows(trace)
    assert row["id_unstable"] is True
    assert row["n_events"] == len(trace.frames.events) == 69
    assert row["output_text"].startswith("There are **3**")
    assert [(p.kind, p.line) for p in trace.problems] == [("id_unstable", 2)]


def test_an_item_whose_identity_changes_is_one_item():
    trace = named("openai-client-tool-search.1.chunks.txt")
    (item,) = rows(trace, "items")
    added, done = (
        json.loads(entry.raw)["item"]
        for entry in trace
        if entry.raw and "output_item." in json.loads(entry.raw)["type"]
    )
    assert added["id"] != done["id"] or added.get("call_id") != done.get("call_id")
    assert (item["item_id"], item["call_id"]) == (done["id"], done["call_id"])
    (asked,) = rows(trace, "required_inputs")
    assert (asked["stub_type"], asked["stub_key"]) == ("tool_search_output", done["call_id"])


def test_first_and_last_lines_that_are_no_json():
    trace = named("parallel-tool-call-wrapper.1.chunks.txt")
    assert [(p.kind, p.line) for p in trace.problems] == [("bad_json", 1), ("bad_json", 6)]
    assert "resp_parallel" in trace.problems[0].detail
    assert len(trace.frames.events) == 4
    assert trace.frames.events.attrs["dropped"] == 2
    with pytest.raises(steer_nb.errors.TraceError, match="line 1: Expecting") as caught:
        steer_nb.load(trace.file, strict=True)
    assert (caught.value.path, caught.value.line) == (trace.file, 1)


def test_an_error_and_then_the_failure_are_one():
    trace = named("openai-error.1.chunks.txt")
    (row,) = rows(trace)
    assert (row["status"], row["error_code"]) == ("failed", "insufficient_quota")
    assert row["n_events"] == 4
    assert trace.problems == ()


def test_an_error_instead_of_an_answer():
    (event,) = rows(named("openai-error.1.json"), "events", columns="type + EventError")
    assert (event["type"], event["error_code"]) == ("error", "insufficient_quota")
    (event,) = rows(
        named("reasoning-model-temperature-error.json"), "events", columns="type + EventError"
    )
    assert (event["error_param"], event["error_type"]) == ("temperature", "invalid_request_error")


def test_an_approval_and_its_continuation():
    (asked,) = rows(named("openai-mcp-tool-approval.1.chunks.txt"), "required_inputs")
    assert (asked["stub_type"], asked["state"]) == ("mcp_approval_response", "open")
    (call,) = [
        call
        for call in rows(named("openai-mcp-tool-approval.1.chunks.txt"), "tool_calls")
        if call["kind"] == "mcp_approval"
    ]
    assert (call["owner"], call["result_kind"]) == ("client", "none")
    later = named("openai-mcp-tool-approval.2.chunks.txt")
    assert not rows(later, "required_inputs")
    assert rows(later)[0]["output_text"].startswith("I wasn\u2019t able to create the short")


def test_events_of_more_than_100_kib():
    traces = steer_nb.load(str(TRACES / "langchain-openai/**/*image*.gz"), progress=False)
    events = traces.frames.events
    large = events[(events["bytes"] > 100 * 1024) & (events["direction"] == "in")]
    assert len(large)
    raw = traces.frames.table("events", columns="EventCore + EventRaw")["raw_json"]
    assert raw.str.len().max() > 100 * 1024


def test_a_stream_with_crlf_comments_and_data_over_several_lines():
    trace = named("15_sse_crlf_comments_multidata.sse")
    events = rows(trace, "events", columns="type + EventDelta")
    assert [e["type"] for e in events] == [
        "response.created",
        "response.output_text.delta",
        "ping",
        "response.completed",
    ]
    assert events[1]["delta_text"].startswith("no space after colon")
    (row,) = rows(trace)
    assert (row["response_id"], row["status"]) == ("resp_s", "completed")
    assert rows(trace, "lanes")[0]["stream_id"] == "15_sse_crlf_comments_multidata"
    assert {p.kind for p in trace.problems} == {"missing_index", "unknown_type"}


def test_a_stream_that_breaks_off_within_a_character():
    trace = named("17_sse_truncated_mid_utf8.sse")
    (problem,) = trace.problems
    assert (problem.kind, problem.line) == ("truncated", 1)
    assert len(trace.frames.events) == 0


@pytest.mark.parametrize("path", sorted(TRACES.glob("synthetic/*.ndjson")), ids=short)
def test_scripts_of_steering(path):
    trace = load(path)
    script = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line][1:]
    found = [entry for entry in trace if entry.kind != "note" or entry.note == "closed"]
    assert [e.t for e in found] == [row["t"] for row in script]
    for entry, row in zip(found, script, strict=True):
        if row["dir"] == "close":
            assert (entry.data["code"], entry.data["reason"]) == (row["code"], row["reason"])
        else:
            assert entry.kind == row["dir"]
            assert (
                entry.raw == row["raw"] if "raw" in row else json.loads(entry.raw) == row["frame"]
            )
    for problem in trace.problems:
        assert 2 <= problem.line <= len(script) + 1


def test_a_steer_of_a_script_is_committed():
    trace = named("01_steer_incomplete_then_successor.frames.ndjson")
    (steer,) = rows(trace, "steers")
    assert (steer["state"], steer["successor_kind"]) == ("committed", "auto")
    assert steer["ack_latency_s"] == pytest.approx(0.03)


def test_cassettes_hold_requests_and_whole_chains():
    trace = named("test_agent_loop_streaming.yaml.gz")
    first, second = rows(trace)
    assert first["status"] == second["status"] == "completed"
    # Nothing is stored there: the second request repeats the conversation, and so says what it is.
    assert second["previous_response_id"] == first["response_id"]
    assert second["origin"] == "tool_continuation"
    (call,) = rows(trace, "tool_calls")
    assert (call["result_text"], call["orphan"]) == ("It's sunny.", False)
    assert call["answered_in_response_id"] == second["response_id"]
    (asked,) = rows(trace, "required_inputs")
    assert asked["state"] == "confirmed"
    assert len(rows(trace, "lanes")) == 1
    assert len([e for e in trace if e.kind == "out"]) == 2
    for entry in trace:
        assert "**REDACTED**" not in (entry.raw or "")


def test_traffic_of_other_services_is_skipped_and_said():
    trace = named("test_streaming_tool_call_v1_v2_parity.yaml.gz")
    assert {p.kind for p in trace.problems} == {"skipped"}
    assert "Chat Completions" in trace.problems[0].detail
    assert trace.problems[0].detail.startswith("entry 1: ")
    assert len(trace) == 0


# -- Letta -----------------------------------------------------------------------------------------


@pytest.mark.skipif(not LETTA.is_dir(), reason=f"no captures at {LETTA}")
@pytest.mark.parametrize("path", LETTA_FILES, ids=short)
def test_every_capture_of_letta_loads(path):
    trace = load(path)
    if path.name in ("INDEX.md", "openapi_subset.json") or not path.stat().st_size:
        assert [p.kind for p in trace.problems] == ["unknown_kind"]
        return
    events, responses = trace.frames.events, trace.frames.responses
    assert responses["n_events"].sum() + events["response_id"].isna().sum() == len(events)
    events = events[events["direction"] != "close"]
    assert events["type"].notna().all()
    assert {p.kind for p in trace.problems} <= {"duplicate_terminal", "truncated"}
    if "truncated" in {p.kind for p in trace.problems}:  # the client went away, or only pings came
        assert path.name[:3] in ("6a_", "71_", "02c")
    if b'"message_type"' in path.read_bytes():
        assert trace.header.source == trace.header.dialect == "letta"
        assert events["known"].all()
    deltas = trace.frames.table("events", columns="response_id + output_index + type + EventDelta")
    deltas = deltas[deltas["type"] == "assistant_message"]
    if path.suffix == ".sse":
        for row in rows(trace):
            mine = deltas[deltas["response_id"] == row["response_id"]]
            said = mine["delta_text"].fillna("").groupby(mine["output_index"]).agg("".join)
            assert row["output_text"] == "\n\n".join(said)


def letta(name: str) -> Trace:
    if not LETTA.is_dir():
        pytest.skip(f"no captures at {LETTA}")
    return load(LETTA / name)


def test_a_letta_run_is_a_response():
    trace = letta("05_autotool_stream_tokens.sse")
    (run,) = rows(trace)
    assert run["response_id"].startswith("run-")
    assert run["status"] == "completed"
    assert run["output_text"] == "I will look up the weather.\n\nIt is sunny in Oslo."
    assert run["total_tokens"] == 240
    (call,) = rows(trace, "tool_calls")
    assert (call["kind"], call["name"], call["owner"]) == ("letta", "get_weather", "server")
    assert (call["arguments_json"], call["result_text"]) == ('{"city": "Oslo"}', "sunny in Oslo")
    assert call["result_kind"] == "value"


def test_a_letta_approval_asks_for_a_call_of_the_server():
    trace = letta("25_parallel2_req_tokens.sse")
    calls = rows(trace, "tool_calls")
    assert [(c["owner"], c["result_kind"]) for c in calls] == [("server", "none")] * 2
    assert [json.loads(c["arguments_text"])["path"] for c in calls] == ["/srv/a.txt", "/srv/b.txt"]


def test_times_of_chunks_are_taken():
    events = rows(letta("02_plain_stream_steps.meta.json"), "events")
    assert [e["direction"] for e in events][:2] == ["out", "in"]
    assert [e["t_s"] for e in events[1:3]] == [0.038, 0.086]
    assert events[2]["type"] == "assistant_message"
    assert rows(letta("02_plain_stream_steps.meta.json"), "lanes")[0]["stream_id"].startswith(
        "agent-"
    )


def test_a_letta_history_is_items():
    trace = letta("16_history_after_deny.json")
    items = rows(trace, "items")
    assert [i["role"] for i in items if i["type"] == "message"] == [
        "user",
        "assistant",
        "assistant",
    ]
    assert items[0]["text"]
    assert [i["type"] for i in items][2:5] == [
        "letta_approval_call",
        "letta_approval_response",
        "letta_tool_call_output",
    ]
    assert len(rows(trace)) == 2


def test_runs_of_a_history_that_interleave():
    trace = letta("c1_double_approve_agents_history.json")
    found = {row["response_id"]: row for row in rows(trace)}
    assert len(found) == 3
    assert {row["status"] for row in found.values()} == {"completed"}
    assert [row["n_items"] for row in found.values()] == [2, 3, 3]
    assert not trace.problems


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("50_user_while_pending_json.json", "PENDING_APPROVAL"),
        ("22_partial_approval_stream_error.sse", "internal_error"),
        ("8c_llm_500_json.json", "llm_error"),
    ],
)
def test_letta_errors(name, code):
    events = rows(letta(name), "events", columns="type + EventError")
    (found,) = [
        e for e in events if isinstance(e["error_message"], str) and e["error_code"] == code
    ]
    assert found["error_message"]


def test_a_letta_run_that_failed_before_it_wrote_anything():
    (row,) = rows(letta("22_partial_approval_stream_error.sse"))
    assert row["response_id"] == "run-0d065761-1e28-4f3c-b090-78a0bcf01b47"
    assert (row["status"], row["error_code"]) == ("failed", "internal_error")
    assert row["error_message"].startswith("Invalid tool call IDs.")


def test_a_letta_run_that_was_cancelled():
    (row,) = rows(letta("88_cancel_midstream_fg.sse"))
    assert row["status"] == "cancelled"
    assert row["output_text"].startswith("word0 word1")
