"""Whatever a file holds, loading it raises nothing; what stands before a cut is there."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import steer_nb
from steer_nb.errors import MissingExtra
from steer_nb.extras import extra
from steer_nb.frames import TABLES
from steer_nb.trace import PROBLEM_KINDS
from steer_nb.trace.readers.sse import messages
from tests.trace import dumps
from tests.trace.test_kinds import ROLLOUT, WHOLE, letta_message

if TYPE_CHECKING:
    from pathlib import Path

quick = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def trace():
    return dumps.live("weather")


class Kinds(dict[str, bytes]):
    """Too long to be shown."""

    def __repr__(self) -> str:
        return "kinds"


@pytest.fixture(scope="module")
def kinds(trace, tmp_path_factory):
    """A good file of each kind."""
    saved = tmp_path_factory.mktemp("kinds") / "x.jsonl"
    trace.save(saved)
    (_, first), *_ = dumps.exchanges(trace)
    letta = [letta_message("assistant_message", content=f"word{n} ") for n in range(9)]
    letta.append('{"message_type":"stop_reason","stop_reason":"end_turn"}')
    return Kinds(
        {
            "journal": saved.read_bytes(),
            "lines": dumps.as_lines(trace),
            "wrapped": dumps.as_wrapped_lines(trace),
            "sdk": dumps.as_sdk_log(trace, 2),
            "sse": dumps.as_sse(first),
            "cassette": dumps.as_cassette(trace),
            "har": dumps.as_har(trace),
            "socket": dumps.as_socket_har(trace),
            "rollout": "\n".join(ROLLOUT).encode(),
            "letta": "".join(f"data: {one}\n\n" for one in letta).encode(),
            "gzip": gzip.compress(dumps.as_lines(trace)),
        }
    )


NAMES = ["journal", "lines", "wrapped", "sdk", "sse", "cassette", "har", "socket", "rollout",
         "letta", "gzip"]  # fmt: skip
KINDS = [*NAMES, "nothing"]


def load(tmp_path: Path, content: bytes):
    path = tmp_path / "x"
    path.write_bytes(content)
    return steer_nb.load(path)


def check(trace) -> None:
    """Tables can be made, counts add up, and each problem says where."""
    for name in ("items", "tool_calls", "lanes", "connections", "problems", "traces"):
        trace.frames.table(name, TABLES[name].all)
    events, responses = trace.frames.events, trace.frames.responses
    assert responses["n_events"].sum() + events["response_id"].isna().sum() == len(events)
    for problem in trace.problems:
        assert problem.kind in PROBLEM_KINDS
        assert problem.detail
        if trace.header.source != "live":
            assert problem.file == trace.file


@given(content=st.binary(max_size=300))
@quick
def test_any_bytes(tmp_path, content):
    trace = load(tmp_path, content)
    check(trace)
    assert trace.problems or len(trace) or b"steer_nb" in content


BEGINNINGS = [
    b'{"steer_nb":1,"trace_id":"x"}\n',
    b"data: ",
    b"event: x\ndata: ",
    b"HTTP/1.1 200 OK\r\n\r\ndata: ",
    b'{"type":"response.created","response":',
    b'{"type":"response.created"}\n{"t":',
    b"interactions:\n- request:\n    body: ",
    b"requests:\n- ",
    b"http_interactions:\n- recorded_at: ",
    b'{"log":{"entries":[{"request":{"method":"POST"},',
    b'{"request":{"path":"/v1/runs"},"body":',
    b'{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":',
    b'{"object":"response","output":[',
    b'[{"message_type":"assistant_message","content":',
    b'data: {"message_type":"tool_call_message","tool_calls":',
    b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd",
    b"BZh9",
    b"\xff\xfe",
]
ENDINGS = [b"", b"}", b"}}\n", b"}]}\n", b"}]}}}", b"\n\n", b"]", b'"}\n']
VALUES = [
    b"null",
    b"1e999",
    b"NaN",
    b"[]",
    b"{}",
    b'"\\ud800"',
    b"[[[[",
    b"{{",
    b"-",
    b"!!binary x",
]


@given(
    begin=st.sampled_from(BEGINNINGS),
    middle=st.lists(st.sampled_from(VALUES) | st.binary(max_size=30), max_size=5),
    end=st.sampled_from(ENDINGS),
)
@settings(quick, max_examples=120)
def test_bytes_that_begin_as_a_kind_does(tmp_path, begin, middle, end):
    if begin == b"\x28\xb5\x2f\xfd":
        try:
            extra("zstandard", "zstd", "A test needs zstandard")
        except MissingExtra:
            return
    check(load(tmp_path, begin + b",".join(middle) + end))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type", "request", "response", "body", "string", "status", "headers", "url",
                    "output", "item", "id", "call_id", "messages", "message_type", "tool_calls",
                    "payload", "content", "error", "input", "chunks", "t", "dir", "frame", "raw",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip
SHAPES = [
    lambda v: {"log": {"entries": [v, {"request": v, "response": v}]}},
    lambda v: {"interactions": [v, {"request": v, "response": v}]},
    lambda v: {
        "request": {"path": "/v1/agents/a/messages", "method": "POST", "body": v},
        "body": v,
    },
    lambda v: {"request": {"url": "https://x/v1/responses", "body": {"input": v}}, "body": v},
    lambda v: {"request": {"url": "/x"}, "chunks": [[0.1, "data: {}\n"], v], "body": v},
    lambda v: {"object": "response", "id": v, "output": v, "status": v, "usage": v},
    lambda v: {"error": {"message": v, "code": v}},
    lambda v: {"messages": [{"message_type": "tool_return_message", "tool_returns": v}, v]},
    lambda v: [{"message_type": "tool_call_message", "tool_call": v, "run_id": v}, v],
    lambda v: [{"type": "response.created", "response": v}, v],
    lambda v: {"timestamp": v, "type": "response_item", "payload": {"type": "message", "role": v}},
    lambda v: {"timestamp": v, "type": "event_msg", "payload": {"type": "token_count", "info": v}},
    lambda v: {"t": v, "dir": "in", "frame": {"type": "response.created", "response": v}},
    lambda v: {"type": "response.create", "input": v, "tools": v, "previous_response_id": v},
]


@given(shape=st.sampled_from(SHAPES), value=json_values)
@settings(quick, max_examples=120)
def test_any_json_in_the_shape_of_a_kind(tmp_path, shape, value):
    check(load(tmp_path, json.dumps(shape(value)).encode()))


def units_before(name: str, content: bytes, cut: int) -> int:
    """How many messages stand before a cut for certain."""
    if name in ("lines", "wrapped"):
        return content[:cut].count(b"\n")
    if name == "sse":
        return content[:cut].count(b"\n\n")
    return 0


@given(share=st.integers(0, 2**20))
@pytest.mark.parametrize("name", NAMES)
@settings(quick, max_examples=12)
def test_a_good_file_cut_anywhere(tmp_path, kinds, name, share):
    content = kinds[name]
    cut = 1 + share * (len(content) - 2) // 2**20
    whole, part = load(tmp_path, content), load(tmp_path, content[:cut])
    check(part)
    assert whole.problems == ()
    told = [problem.kind for problem in part.file_problems]
    if part.header.source != whole.header.source:  # too little is left to tell its kind
        assert cut < 5000
        assert told in (["unknown_kind"], ["truncated"])
        return
    before, kept = ([e.raw for e in one if e.kind != "note"] for one in (whole, part))
    assert kept == before[: len(kept)]
    assert len(kept) >= units_before(name, content, cut)
    assert len(told) <= 1
    clean = content[cut - 1 : cut + 1].strip() in (b"", b"}") or b"\n" in content[cut - 1 : cut + 1]
    if len(kept) < len(before) and (
        name in ("sse", "letta", "cassette", "har", "socket") or not clean
    ):
        assert told == ["truncated"]


@given(
    events=st.lists(st.lists(st.text(st.characters(exclude_characters="\r\n"), max_size=9),
                             min_size=1, max_size=3), max_size=5),
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    size=st.integers(1, 7),
)  # fmt: skip
@settings(quick, max_examples=200)
def test_a_stream_in_pieces_of_any_size(tmp_path, events, end, size):
    """The lines of a stream are the same however its bytes come in, and so are its messages."""
    import steer_nb.trace.readers.source as source

    content = b"".join(
        b"".join(b"data: " + line.encode("utf-8", "replace") + end for line in event) + end
        for event in events
    )
    path = tmp_path / "s"
    path.write_bytes(content)
    head, chunk = source.HEAD, source.CHUNK
    source.HEAD, source.CHUNK = 1, size
    try:
        with source.Source(path) as opened:
            found = [m.data for m in messages(opened.lines(any_end=True))]
    finally:
        source.HEAD, source.CHUNK = head, chunk
    assert found == ["\n".join(event).encode("utf-8", "replace") for event in events]


def test_a_good_file_is_whole(tmp_path, kinds):
    for name, content in kinds.items():
        assert len(load(tmp_path, content)) > len(WHOLE) / 2, name
