"""Each kind of recording, in small files written here: what is read, and what is said to be odd."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sys

import pytest
import yaml

import steer_nb
from steer_nb.errors import MissingExtra, TraceError
from steer_nb.simulator import Scenario
from steer_nb.trace.readers.kinds import TITLES
from tests.support.traces import message, response
from tests.trace.dumps import SECRET, URL, as_sse


def created(response_id="r1", **fields):
    return json.dumps({"type": "response.created", "response": response(response_id, **fields)})


def delta(text="Hi", index=0):
    return json.dumps(
        {
            "type": "response.output_text.delta",
            "output_index": index,
            "content_index": 0,
            "item_id": "m",
            "delta": text,
        }
    )


def added(text=""):
    item = message(text)
    return json.dumps({"type": "response.output_item.added", "output_index": 0, "item": item})


def completed(response_id="r1", text="Hi"):
    body = response(response_id, status="completed", output=[message(text)])
    return json.dumps({"type": "response.completed", "response": body})


WHOLE = [created(), added(), delta(), completed()]


def load(tmp_path, content, name="x", **options):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return steer_nb.load(path, **options)


def rows(trace, table="responses", **options):
    return trace.frames.table(table, **options).to_dict("records")


def told(trace):
    return [(p.kind, p.line) for p in trace.problems]


def told_of(trace):
    return [problem.detail for problem in trace.problems]


def text_of(trace):
    return [(row["status"], row["output_text"]) for row in rows(trace)]


# -- streams of server-sent events -------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("names", [True, False])
def test_line_ends_and_marks(tmp_path, end, bom, names):
    trace = load(tmp_path, bom + as_sse(WHOLE, end, names=names))
    assert trace.header.source == "sse"
    assert [e.raw for e in trace if e.kind == "in"] == WHOLE
    assert text_of(trace) == [("completed", "Hi")]
    assert told(trace) == []


def test_fields_of_the_standard(tmp_path):
    place = WHOLE[0].index(",") + 2
    first, rest = WHOLE[0][:place], WHOLE[0][place:]
    lines = [
        ": a comment",
        "retry: 3000",
        "id: 1",
        "event: response.created",
        f"data: {first}",
        f"data: {rest}",  # one blank behind the colon is no part of the data
        "nonsense: x",
        "data",
        "",
        "id",
        "",
        *(f"data: {raw}\n" for raw in WHOLE[1:]),
        "data: [DONE]",
        "",
    ]
    trace = load(tmp_path, "\n".join(lines))
    events = [e.raw for e in trace if e.kind == "in"]
    assert events[0] == f"{first}\n{rest}\n"
    assert events[1:] == WHOLE[1:]
    assert told(trace) == []
    assert text_of(trace) == [("completed", "Hi")]


def test_an_event_that_only_its_field_names(tmp_path):
    lines = ["event: ping\ndata: {}\n", *(f"data: {raw}\n" for raw in WHOLE), ""]
    trace = load(tmp_path, "\n".join(lines))
    assert rows(trace, "events")[0]["type"] == "ping"
    assert [(p.kind, p.line, p.detail) for p in trace.problems] == [("unknown_type", 2, "ping")]


def test_data_that_is_no_json(tmp_path):
    content = as_sse(WHOLE[:3]) + b"data: <html>502</html>\n\n" + as_sse(WHOLE[3:])
    trace = load(tmp_path, content)
    assert told(trace) == [("bad_json", 10)]
    assert "<html>502</html>" in trace.problems[0].detail
    assert text_of(trace) == [("completed", "Hi")]


def test_headers_above_the_body(tmp_path):
    head = f"HTTP/1.1 200 OK\r\nset-cookie: id={SECRET}\r\ncontent-type: text/event-stream\r\n\r\n"
    trace = load(tmp_path, head.encode() + as_sse(WHOLE))
    assert text_of(trace) == [("completed", "Hi")]
    assert SECRET not in repr([e.raw for e in trace])


def test_a_stream_that_ends_before_its_response(tmp_path):
    trace = load(tmp_path, as_sse(WHOLE[:3]))
    (row,) = rows(trace)
    assert (row["status"], row["output_text"]) == ("truncated", "Hi")
    assert [(p.kind, p.detail) for p in trace.problems] == [
        ("truncated", "the stream ends before r1 does")
    ]


def test_no_empty_line_at_the_end_is_nothing_odd(tmp_path):
    trace = load(tmp_path, as_sse(WHOLE).rstrip())
    assert text_of(trace) == [("completed", "Hi")]
    assert told(trace) == []


def test_the_stream_of_another_service(tmp_path):
    chunk = json.dumps({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": []})
    trace = load(tmp_path, f"data: {chunk}\n\ndata: {chunk}\n\ndata: [DONE]\n\n")
    assert [(p.kind, p.line) for p in trace.problems] == [("skipped", 1)]
    assert "Chat Completions" in trace.problems[0].detail
    assert len(trace.frames.events) == 0


# -- logs of events ------------------------------------------------------------------------------


def test_lines_of_other_things_between(tmp_path):
    lines = [
        "2026-11-30 12:00:00 INFO " + WHOLE[0],
        "",
        "Traceback (most recent call last):",
        *WHOLE[1:3],
        "[1, 2]",
        "\ufeff" + WHOLE[3],
    ]
    trace = load(tmp_path, "\n".join(lines))
    assert trace.header.source == "jsonl"
    assert told(trace) == [("bad_json", 3), ("not_object", 6)]
    assert text_of(trace) == [("completed", "Hi")]


def test_what_travelled_is_kept_even_where_it_is_odd(tmp_path):
    odd = '{"type": "response.telepathy", "n": NaN, "s": "\\ud83d", "big": 9007199254740993}'
    trace = load(tmp_path, "\n".join([WHOLE[0], odd, *WHOLE[1:]]))
    assert [e.raw for e in trace if e.kind == "in"][1] == odd
    assert {line for _, line in told(trace)} == {2}


@pytest.mark.parametrize("holder", ["frame", "event", "data", "message"])
def test_lines_that_hold_an_event_with_its_time(tmp_path, holder):
    stamps = [f"2026-11-30T12:00:0{n}.500Z" for n in range(4)]
    lines = [
        f'{{"timestamp": "{at}", "n": 1, "{holder}": {raw}}}'
        for at, raw in zip(stamps, WHOLE, strict=True)
    ]
    trace = load(tmp_path, "\n".join(lines))
    assert [e.raw for e in trace if e.kind == "in"] == WHOLE
    assert [e.t for e in trace if e.kind == "in"] == [0, 1, 2, 3]
    assert trace.frames.traces["started_at"][0].isoformat() == "2026-11-30T12:00:00.500000+00:00"


def test_requests_among_events_lose_their_keys(tmp_path):
    asked = {"type": "response.create", "input": "hi", "api_key": SECRET}
    asked["tools"] = [{"type": "mcp", "server_label": "x", "authorization": SECRET}]
    trace = load(tmp_path, "\n".join([json.dumps(asked), *WHOLE]))
    assert [e.kind for e in trace][1:3] == ["out", "in"]
    assert SECRET not in repr(list(trace))
    assert rows(trace)[0]["origin"] == "create"


def test_a_large_first_event_and_one_json_array(tmp_path):
    large = json.dumps({"type": "response.created", "response": response("r1"), "x": "y" * 200_000})
    assert text_of(load(tmp_path, "\n".join([large, *WHOLE[1:]]))) == [("completed", "Hi")]
    for indent in (None, 1):
        listed = json.dumps([json.loads(raw) for raw in [large, *WHOLE[1:]]], indent=indent)
        trace = load(tmp_path, listed)
        assert trace.header.source == "json"
        assert text_of(trace) == [("completed", "Hi")]


# -- cassettes -----------------------------------------------------------------------------------


def exchange(request=None, body="", status=200, url=URL, method="POST", **headers):
    asked = {"model": "m", "input": "hi"} if request is None else request
    return {
        "request": {"method": method, "uri": url, "body": json.dumps(asked), "headers": {}},
        "response": {
            "status": {"code": status, "message": ""},
            "headers": headers,
            "body": {"string": body},
        },
    }


def cassette(*interactions):
    return yaml.safe_dump({"interactions": list(interactions), "version": 1})


def test_other_traffic_in_a_cassette_is_skipped_with_its_number(tmp_path):
    chat = {"object": "chat.completion", "choices": []}
    content = cassette(
        exchange({"model": "m", "messages": []}, json.dumps(chat), url=f"{URL}/../chat"),
        exchange(body=as_sse(WHOLE).decode()),
        exchange({"model": "e", "input": "x"}, '{"object": "list", "data": []}'),
        exchange({}, "<html>", url="https://example.com/", method="GET"),
    )
    trace = load(tmp_path, content)
    assert told(trace) == [("skipped", 1), ("skipped", 3), ("skipped", 4)]
    assert [p.detail.split(":")[0] for p in trace.problems] == ["entry 1", "entry 3", "entry 4"]
    assert "Chat Completions" in trace.problems[0].detail
    assert text_of(trace) == [("completed", "Hi")]


def test_an_error_refuses_the_request(tmp_path):
    error = {"error": {"message": "No.", "type": "invalid_request_error", "code": "bad"}}
    trace = load(tmp_path, cassette(exchange(body=json.dumps(error), status=400)))
    (found,) = trace.ledger.requests.values()
    assert (found.state, found.error_code) == ("failed", "bad")
    trace = load(tmp_path, cassette(exchange(body='{"detail": "Unauthorized"}', status=401)))
    (event,) = rows(trace, "events", columns="direction + EventError")[1:]
    assert (event["error_message"], event["error_status"]) == ("Unauthorized", 401)


def test_what_a_proxy_says_in_html_refuses_the_request(tmp_path):
    trace = load(tmp_path, cassette(exchange(body="<html>Bad gateway</html>", status=502)))
    (found,) = trace.ledger.requests.values()
    assert (found.state, found.error_message) == ("failed", "'<html>Bad gateway</html>'")


def test_the_stream_of_another_service_in_a_cassette(tmp_path):
    told = 'event: message_start\ndata: {"type":"message_start","message":{}}\n\n'
    asked = {"model": "c", "messages": []}
    one = exchange(asked, told * 3, url="https://api.example.com/v1/messages2")
    trace = load(tmp_path, cassette(one))
    (detail,) = told_of(trace)
    assert detail.startswith("entry 1: POST https://api.example.com/v1/messages2: a stream of ")
    assert "another service ('message_start'" in detail


def test_a_stored_response_that_is_read_again_stays_on_its_lane(tmp_path):
    body = response("r1", status="completed", output=[message("Hi")])
    content = cassette(
        exchange(body=json.dumps(response("r1", status="queued"))),
        exchange(None, json.dumps(body), url=f"{URL}/r1", method="GET"),
    )
    trace = load(tmp_path, content)
    assert text_of(trace) == [("completed", "Hi")]
    assert len(rows(trace, "lanes")) == 1
    assert [e.kind for e in trace if e.kind != "note"] == ["out", "in", "in"]
    assert told(trace) == []


def test_forks_have_lanes_of_their_own(tmp_path):
    first = exchange(body=as_sse([created("r1"), completed("r1")]).decode())
    after = {"model": "m", "input": "more", "previous_response_id": "r1"}

    def next_one(name):
        told = [created(name, previous="r1"), completed(name)]
        return exchange(after, as_sse(told).decode())

    trace = load(tmp_path, cassette(first, next_one("r2"), next_one("r3")), "run.yaml")
    lanes = [row["lane_id"].rsplit("/", 1)[1] for row in rows(trace)]
    assert lanes == ["run", "run", "run-2"]
    assert [row["origin"] for row in rows(trace)] == ["create", "create", "fork"]


def test_tags_of_python_are_plain_values(tmp_path):
    content = cassette(exchange(body="BODY")).replace(
        "string: BODY",
        "string: !!python/unicode 'data: {}'\n"
        "    touch: !!python/object/apply:os.system ['touch pwned']",
    )
    trace = load(tmp_path, content)
    assert not (tmp_path / "pwned").exists()
    assert {p.kind for p in trace.problems} <= {"unknown_type", "truncated"}


def test_rubys_cassettes(tmp_path):
    one = exchange(body=as_sse(WHOLE).decode())
    one["response"]["body"]["encoding"] = "UTF-8"
    one["request"]["body"] = {"encoding": "UTF-8", "string": one["request"]["body"]}
    one["recorded_at"] = "Mon, 30 Nov 2026 12:00:00 GMT"
    content = yaml.safe_dump({"http_interactions": [one], "recorded_with": "VCR 6.0.0"})
    trace = load(tmp_path, "---\n" + content)
    assert trace.header.source == "vcr"
    assert text_of(trace) == [("completed", "Hi")]


def test_cassettes_in_json(tmp_path):
    content = json.dumps({"version": 1, "interactions": [exchange(body=as_sse(WHOLE).decode())]})
    trace = load(tmp_path, content)
    assert trace.header.source == "vcr"
    assert text_of(trace) == [("completed", "Hi")]


def test_without_yaml_the_extra_is_named(tmp_path, monkeypatch):
    from steer_nb.trace.readers import cassettes

    cassettes._loader.cache_clear()
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtra, match=r'pip install "steer-nb\[yaml\]"'):
        load(tmp_path, cassette(exchange()))
    (tmp_path / "good.jsonl").write_text("\n".join(WHOLE))
    traces = steer_nb.load(tmp_path)
    assert [p.kind for p in traces.problems] == ["missing_package"]
    assert len(traces) == 1
    with pytest.raises(TraceError, match="needs the package yaml"):
        steer_nb.load(tmp_path, strict=True)


# -- HAR -----------------------------------------------------------------------------------------


def test_a_har_that_breaks_off_gives_its_whole_entries(tmp_path):
    entry = {
        "startedDateTime": "2026-11-30T12:00:00Z",
        "request": {"method": "POST", "url": URL, "postData": {"text": '{"input":"hi"}'}},
        "response": {"status": 200, "content": {"text": as_sse(WHOLE).decode()}},
    }
    content = json.dumps({"log": {"version": "1.2", "entries": [entry, entry]}})
    trace = load(tmp_path, content[:-50])
    assert told(trace) == [("truncated", None)]
    assert text_of(trace) == [("completed", "Hi")]


def test_another_websocket_in_a_har_is_skipped(tmp_path):
    entry = {
        "request": {"method": "GET", "url": "wss://example.com/chat"},
        "response": {"status": 101},
        "_webSocketMessages": [{"type": "send", "time": 1.0, "data": "hi"}],
    }
    trace = load(tmp_path, json.dumps({"log": {"entries": [entry]}}))
    assert told(trace) == [("skipped", 1)]


# -- one JSON value ------------------------------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2])
def test_a_response_object(tmp_path, indent):
    body = response("r1", status="incomplete", output=[message("Half")])
    body["incomplete_details"] = {"reason": "max_output_tokens"}
    trace = load(tmp_path, json.dumps(body, indent=indent), "answer.json")
    (row,) = rows(trace)
    assert (row["status"], row["incomplete_reason"]) == ("incomplete", "max_output_tokens")
    assert row["output_text"] == "Half"
    assert rows(trace, "lanes")[0]["stream_id"] == "answer"
    assert rows(trace, "items")[0]["source"] == "terminal"


@pytest.mark.parametrize(
    ("status", "word"),
    [("queued", "in_progress"), ("in_progress", "in_progress"), ("cancelled", "cancelled")],
)
def test_a_response_object_that_has_not_completed(tmp_path, status, word):
    (row,) = rows(load(tmp_path, json.dumps(response("r1", status=status))))
    assert row["status"] == word


# -- rollouts of the Codex CLI ---------------------------------------------------------------------


def rollout_line(second, kind, payload):
    stamp = f"2026-11-30T12:00:{second:02d}.000Z"
    return json.dumps({"timestamp": stamp, "type": kind, "payload": payload})


CALL = {
    "type": "function_call",
    "name": "shell",
    "arguments": '{"command":["ls"]}',
    "call_id": "call_1",
}
ASSISTANT = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Two files."}],
}
USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "List."}]}
USAGE = {
    "input_tokens": 100,
    "cached_input_tokens": 40,
    "output_tokens": 20,
    "reasoning_output_tokens": 5,
    "total_tokens": 120,
}
ROLLOUT = [
    rollout_line(
        0,
        "session_meta",
        {
            "id": "0199",
            "cwd": "/w",
            "cli_version": "0.65.0",
            "git": {"repository_url": f"https://me:{SECRET}@example.com/x.git"},
        },
    ),
    rollout_line(1, "response_item", {**USER, "role": "developer"}),
    rollout_line(1, "response_item", USER),
    rollout_line(1, "event_msg", {"type": "user_message", "message": "List."}),
    rollout_line(1, "turn_context", {"model": "gpt-6-codex", "cwd": "/w"}),
    rollout_line(3, "response_item", {"type": "reasoning", "summary": [], "content": None}),
    rollout_line(4, "response_item", CALL),
    rollout_line(4, "event_msg", {"type": "token_count", "info": {"last_token_usage": USAGE}}),
    rollout_line(
        6, "response_item", {"type": "function_call_output", "call_id": "call_1", "output": "a b"}
    ),
    rollout_line(8, "response_item", ASSISTANT),
    rollout_line(8, "event_msg", {"type": "agent_message", "message": "Two files."}),
    rollout_line(9, "event_msg", {"type": "token_count", "info": {"last_token_usage": USAGE}}),
    rollout_line(9, "event_msg", {"type": "task_complete"}),
]


def test_a_codex_rollout(tmp_path):
    trace = load(tmp_path, "\n".join(ROLLOUT), "rollout-2026-11-30.jsonl")
    assert (trace.header.source, trace.header.dialect) == ("codex_rollout", "codex")
    assert told(trace) == []
    first, second = rows(trace)
    assert [first["response_id"], second["response_id"]] == ["0199/1", "0199/2"]
    assert first["model"] == first["model_requested"] == "gpt-6-codex"
    assert (first["status"], second["status"]) == ("completed", "completed")
    assert (second["origin"], second["output_text"]) == ("tool_continuation", "Two files.")
    assert (first["input_tokens"], first["cached_tokens"], first["reasoning_tokens"]) == (
        100,
        40,
        5,
    )
    (call,) = rows(trace, "tool_calls")
    assert (call["name"], call["result_text"], call["wait_s"]) == ("shell", "a b", 2.0)
    assert call["answered_in_response_id"] == "0199/2"
    events = rows(trace, "events")
    assert len(events) == len(ROLLOUT)
    assert [e["direction"] for e in events].count("out") == 3
    assert events[6]["type"] == "response_item.function_call"
    assert events[6]["family"] == "item"
    assert [e.raw for e in trace if e.kind != "note"][1:] == ROLLOUT[1:]
    assert SECRET not in repr(list(trace))
    again = steer_nb.load(trace.save(tmp_path / "saved.jsonl"))
    assert again == trace
    assert again.frames.items["text"].equals(trace.frames.items["text"])


def test_a_rollout_of_the_first_form(tmp_path):
    meta = {"id": "0199", "timestamp": "2026-11-30T12:00:00Z", "instructions": None, "git": {}}
    lines = [meta, {"record_type": "state"}, USER, ASSISTANT]
    trace = load(tmp_path, "\n".join(map(json.dumps, lines)))
    assert trace.header.source == "codex_rollout"
    assert text_of(trace) == [("in_progress", "Two files.")]


def test_a_turn_that_was_aborted(tmp_path):
    aborted = rollout_line(5, "event_msg", {"type": "turn_aborted", "reason": "interrupted"})
    trace = load(tmp_path, "\n".join([*ROLLOUT[:7], aborted]))
    assert [row["status"] for row in rows(trace)] == ["cancelled"]


def test_what_is_no_stream_of_the_responses_api_is_not_served_again(tmp_path):
    trace = load(tmp_path, "\n".join(ROLLOUT))
    with pytest.raises(steer_nb.errors.ScenarioError, match="'codex'"):
        Scenario.from_trace(trace)


# -- Letta ---------------------------------------------------------------------------------------


def letta_message(kind, run="run-1", **fields):
    shared = {"id": "message-1", "otid": "o-1", "run_id": run, "message_type": kind}
    shared["date"] = "2026-11-30T00:23:04+00:00"
    return json.dumps({**shared, **fields})


def test_a_letta_stream(tmp_path):
    lines = [
        letta_message("ping", id="ping-1", otid=None),
        letta_message("assistant_message", content="Hel"),
        letta_message("assistant_message", content="lo"),
        letta_message(
            "approval_request_message",
            otid="message-1",
            tool_calls={"name": "rm", "arguments": '{"p"', "tool_call_id": "c1"},
        ),
        letta_message(
            "approval_request_message",
            otid="message-1",
            tool_calls={"name": None, "arguments": ":1}", "tool_call_id": "c1"},
        ),
        '{"message_type":"stop_reason","stop_reason":"requires_approval"}',
        '{"message_type":"usage_statistics","prompt_tokens":3,"total_tokens":5}',
    ]
    content = "".join(f"data: {line}\n\n" for line in lines) + "data: [DONE]\n\n"
    trace = load(tmp_path, content)
    assert (trace.header.source, trace.header.dialect) == ("letta", "letta")
    assert [e.raw for e in trace if e.kind == "in"] == lines
    (row,) = rows(trace)
    assert (row["response_id"], row["output_text"], row["total_tokens"]) == ("run-1", "Hello", 5)
    (call,) = rows(trace, "tool_calls")
    assert (call["name"], call["arguments_json"], call["kind"]) == ("rm", '{"p":1}', "letta")
    assert [e["type"] for e in rows(trace, "events")][:2] == ["ping", "assistant_message"]
    again = steer_nb.load(trace.save(tmp_path / "saved.jsonl"))
    assert again == trace
    assert again.frames.items["text"].equals(trace.frames.items["text"])


def test_a_letta_stream_that_breaks_off(tmp_path):
    content = f'data: {letta_message("assistant_message", content="Hel")}\n\ndata: {{"id'
    trace = load(tmp_path, content)
    assert told(trace) == [("truncated", 3)]
    assert rows(trace)[0]["output_text"] == "Hel"
    assert rows(trace)[0]["status"] == "truncated"


# -- compressed, and unknown -----------------------------------------------------------------------


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files_are_what_they_hold(tmp_path, pack):
    plain, packed = (load(tmp_path, c) for c in (as_sse(WHOLE), pack(as_sse(WHOLE))))
    assert packed == plain
    assert text_of(packed) == [("completed", "Hi")]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_compressed_file_that_breaks_off(tmp_path, pack):
    texts = [delta(f"{n} ") for n in range(9000)]
    content = pack("\n".join([*WHOLE[:2], *texts]).encode())
    trace = load(tmp_path, content[: len(content) // 2])
    kinds = {p.kind for p in trace.problems}
    assert kinds <= {"truncated", "unknown_kind"}
    assert kinds
    if pack is gzip.compress:
        assert len(trace) > 2000
        (problem,) = [p for p in trace.problems if "breaks off" in p.detail]
        assert problem.kind == "truncated"


@pytest.mark.parametrize(("ending", "module"), [(".br", "brotli"), (".zst", "zstandard")])
def test_files_that_need_an_extra(tmp_path, ending, module):
    package = pytest.importorskip(module)
    packed = (
        package.compress(as_sse(WHOLE))
        if module == "brotli"
        else package.ZstdCompressor().compress(as_sse(WHOLE))
    )
    assert text_of(load(tmp_path, packed, f"x.sse{ending}")) == [("completed", "Hi")]
    broken = load(tmp_path, packed[: len(packed) // 2], f"y.sse{ending}")
    assert broken.problems


@pytest.mark.parametrize(
    ("name", "content", "module", "extra"),
    [
        ("x.br", b"\x1b\x00", "brotli", "brotli"),
        ("x.jsonl", b"\x28\xb5\x2f\xfd\x00", "zstandard", "zstd"),
    ],
)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, name, content, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(MissingExtra, match=rf'pip install "steer-nb\[{extra}\]"'):
        load(tmp_path, content, name)


def test_utf_16_as_powershell_writes_it(tmp_path):
    for encoding in ("utf-16-le", "utf-16-be"):
        mark = "\ufeff".encode(encoding)
        trace = load(tmp_path, mark + "\r\n".join(WHOLE).encode(encoding))
        assert text_of(trace) == [("completed", "Hi")], encoding


def test_a_name_says_nothing(tmp_path):
    assert load(tmp_path, as_sse(WHOLE), "x.yaml").header.source == "sse"
    assert load(tmp_path, "\n".join(WHOLE), "x.har").header.source == "jsonl"


def test_an_unknown_kind_lists_the_known_ones(tmp_path):
    trace = load(tmp_path, "once upon a time")
    (problem,) = trace.problems
    assert problem.kind == "unknown_kind"
    for title in TITLES:
        assert title in problem.detail
    assert trace.frames.events.empty


def test_the_same_content_has_the_same_id_anywhere(tmp_path):
    one, other = load(tmp_path, as_sse(WHOLE), "a"), load(tmp_path, as_sse(WHOLE), "b")
    assert one.trace_id == other.trace_id
    assert load(tmp_path, as_sse(WHOLE[:2])).trace_id != one.trace_id


def test_a_key_in_a_broken_line_is_not_shown(tmp_path):
    broken = '{"type":"response.create","api_key":"sk-abcdefghijkl", oh'
    trace = load(tmp_path, "\n".join([*WHOLE, broken, ""]))
    (problem,) = trace.problems
    assert "sk-abcdefghijkl" not in problem.detail
    assert "(hidden)" in problem.detail
