"""A live trace, written as each kind of recording and read back: the tables are the same."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import steer_nb
from steer_nb.frames import TABLES
from steer_nb.simulator import Simulator
from tests.support.replayed import IDS, TIMES
from tests.trace import dumps

if TYPE_CHECKING:
    from steer_nb.trace import Trace

# What only somebody who was there knows: our own keys, and who filled in a form.
NOTES = {"event_id", "steer_key", "submit_key", "filled_by", "answered_by", "seq"}
PLACES = {"url", "close_code", "close_reason", "end_kind", "n_in", "n_out"}


@pytest.fixture(scope="module")
def weather():
    return dumps.live("weather")


@pytest.fixture(scope="module")
def steered():
    """Two lanes of which one was steered."""
    simulator = Simulator("planner", speed=20)
    with steer_nb.connect(simulate=simulator, journal=False, quiet=True) as session:
        lane = session.lane("a")
        lane.create("Plan a day.")
        session.lane("b").create("Plan another.")
        session.until(lambda _: True if lane.text else None, 30, str)
        lane.steer("Shorter.")
        session.wait(30)
    return session.trace


def same(live: Trace, read: Trace, but=(), tables=None) -> None:
    left_out = IDS | NOTES | PLACES | set(but)
    for name in tables or [t for t in TABLES if t not in ("traces", "connections", "lanes")]:
        one, other = live.frames.table(name), read.frames.table(name)
        if name == "events":  # the end of the connection is no message
            one = one[one["direction"] != "close"].reset_index(drop=True)
        kept = [c for c in one.columns if c not in left_out and not TIMES.search(c)]
        assert len(kept) > 2
        pd.testing.assert_frame_equal(one[kept], other[kept], obj=name)


def loaded(tmp_path, name: str, content: bytes) -> Trace:
    path = tmp_path / name
    path.write_bytes(content)
    return steer_nb.load(path)


@pytest.mark.parametrize("which", ["weather", "steered"])
def test_saved(tmp_path, request, which):
    live = request.getfixturevalue(which)
    read = steer_nb.load(live.save(tmp_path / "x.jsonl"))
    for name, table in TABLES.items():
        every = table.all
        pd.testing.assert_frame_equal(
            live.frames.table(name, every), read.frames.table(name, every), obj=name
        )


@pytest.mark.parametrize("which", ["weather", "steered"])
@pytest.mark.parametrize("dump", [dumps.as_lines, dumps.as_wrapped_lines, dumps.as_socket_har])
def test_messages_both_ways(tmp_path, request, which, dump):
    live = request.getfixturevalue(which)
    read = loaded(tmp_path, "x.bin", dump(live))
    same(live, read)
    assert [e.raw for e in read if e.kind != "note"] == [r for _, r in dumps.messages(live)]
    assert read.frames.lanes["stream_id"].tolist() == live.frames.lanes["stream_id"].tolist()
    times = [e.t for e in read if e.kind != "note"]
    if dump is dumps.as_lines:
        assert set(times) == {None}
    else:
        assert times == pytest.approx([e.t for e in live if e.kind != "note"], abs=0.05)


def test_what_was_typed_into_a_steer_is_read_back(tmp_path, steered):
    read = loaded(tmp_path, "x.jsonl", dumps.as_lines(steered))
    (steer,) = read.frames.steers.to_dict("records")
    assert (steer["state"], steer["input_text"]) == ("committed", "Shorter.")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("which", ["weather", "steered"])
def test_logs_of_the_official_sdk(tmp_path, request, which, indent):
    live = request.getfixturevalue(which)
    read = loaded(tmp_path, "events.log", dumps.as_sdk_log(live, indent))
    assert read.header.source == "jsonl"
    events = read.frames.events
    mine = live.frames.events[live.frames.events["direction"] == "in"]
    assert events["type"].tolist() == mine["type"].tolist()
    assert events["response_id"].tolist() == mine["response_id"].tolist()
    for name in ("status", "output_text", "input_tokens", "n_deltas", "incomplete_reason"):
        assert read.frames.responses[name].equals(live.frames.responses[name]), name
    for name in ("type", "text", "call_id", "status", "n_deltas"):
        assert read.frames.items[name].equals(live.frames.items[name]), name
    assert read.frames.usage["tokens"].equals(live.frames.usage["tokens"])
    assert not [p for p in read.problems if p.kind != "unknown_type"]


RECORDED = {
    "cassette": (lambda t: dumps.as_cassette(t), "vcr"),
    "cassette.gz": (lambda t: gzip.compress(dumps.as_cassette(t, packed="gzip")), "vcr"),
    "deflated": (lambda t: dumps.as_cassette(t, packed="deflate"), "vcr"),
    "har": (dumps.as_har, "har"),
}


@pytest.mark.parametrize("name", RECORDED)
def test_recordings_of_http(tmp_path, weather, name):
    dump, source = RECORDED[name]
    content = dump(weather)
    read = loaded(tmp_path, f"my run {name}", content)
    assert read.header.source == source
    assert read.problems == ()
    # Over HTTP a request carries `stream`, and no message a lane.
    same(weather, read, but={"bytes"})
    lanes = read.frames.lanes["stream_id"].tolist()
    assert lanes == ["my_run_cassette" if "cassette" in name else f"my_run_{name}"]
    assert read.frames.responses["depth"].tolist() == [0, 1, 2]
    assert read.frames.connections["url"].tolist() == [dumps.URL]
    saved = read.save(tmp_path / "saved.jsonl")
    assert dumps.SECRET not in (tmp_path / "saved.jsonl").read_text()
    again = steer_nb.load(saved)
    same(read, again, tables=["responses", "items", "tool_calls", "required_inputs", "usage"])
    assert again == read


def test_times_of_a_har_are_taken_and_none_invented(tmp_path, weather):
    read = loaded(tmp_path, "x.har", dumps.as_har(weather))
    sent = [e.t for e in read if e.kind == "out"]
    assert sent == pytest.approx([0, 1, 2])
    assert {e.at for e in read if e.kind == "in"} == {None}
    assert read.frames.responses["duration_s"].isna().all()


def test_answers_that_were_not_streamed(tmp_path, weather):
    read = loaded(tmp_path, "x.yaml", dumps.as_cassette(weather, stream=False))
    assert read.problems == ()
    mine, other = weather.frames.responses, read.frames.responses
    for name in ("response_id", "status", "output_text", "origin", "total_tokens", "depth"):
        assert other[name].equals(mine[name]), name
    calls = read.frames.tool_calls
    assert calls["result_text"].tolist() == ["18 °C"]
    assert calls["arguments_json"].equals(weather.frames.tool_calls["arguments_json"])
    assert set(read.frames.items["source"]) == {"terminal"}


@pytest.mark.parametrize("how", ["br", "zstd"])
def test_bodies_that_need_an_extra(tmp_path, weather, how):
    pytest.importorskip({"br": "brotli", "zstd": "zstandard"}[how])
    read = loaded(tmp_path, "x.yaml", dumps.as_cassette(weather, packed=how))
    assert read.problems == ()
    same(weather, read, but={"bytes"})


@pytest.mark.parametrize(("how", "module"), [("br", "brotli"), ("zstd", "zstandard")])
def test_a_missing_extra_is_named_and_the_rest_is_read(tmp_path, monkeypatch, how, module):
    body = {"br": b"\x1b\xff\x01\xfe\x80", "zstd": b"\x28\xb5\x2f\xfd\x00\x00"}[how]
    held = {"request": {"method": "POST", "uri": dumps.URL, "body": '{"input":"x"}'}}
    held["response"] = {"body": {"string": body}, "headers": {"Content-Encoding": [how]}}
    monkeypatch.setitem(__import__("sys").modules, module, None)
    monkeypatch.setitem(__import__("sys").modules, "compression.zstd", None)
    good = dumps.yaml.safe_load(dumps.as_cassette(dumps.live("planner")))["interactions"]
    content = dumps.yaml.safe_dump({"interactions": [held, *good]}).encode()
    read = loaded(tmp_path, "x.yaml", content)
    (problem,) = read.problems
    assert (problem.kind, problem.line) == ("missing_package", 1)
    assert 'pip install "steer-nb[' in problem.detail
    assert len(read.frames.responses) == 2


def test_one_stream_is_one_lane_named_by_its_file(tmp_path, weather):
    (_, first), *_ = dumps.exchanges(weather)
    read = loaded(tmp_path, "first try.sse", dumps.as_sse(first))
    assert read.problems == ()
    assert read.header.source == "sse"
    assert read.frames.lanes["stream_id"].tolist() == ["first_try"]
    assert [e.raw for e in read if e.kind == "in"] == first
    mine = weather.frames.responses.iloc[0]
    row = read.frames.responses.iloc[0]
    for name in ("response_id", "status", "output_text", "total_tokens", "n_deltas"):
        assert row[name] == mine[name], name
    assert json.loads(first[0])["type"] == read.frames.events["type"][0]
