"""Tables of Letta sessions: what waits, what was decided, what came of it."""

from __future__ import annotations

import json

import msgspec
import pandas as pd
import pytest

import steer_nb
from steer_nb.frames import TABLES
from steer_nb.frames.plots.ordering import in_order
from steer_nb.frames.plots.timeline import timeline_frame
from steer_nb.trace import Trace, TraceSet
from tests.frames.test_responses import rows
from tests.support.letta import (
    AGENT,
    PENDING,
    LettaBuilder,
    approval,
    denial,
    tool_call,
    tool_return,
)

ASKED = "stub_key + stub_type + source + state + approve + reason + value_json + filled_by"


def asked(*, lane: str = AGENT, trace_id: str = "a" * 32) -> LettaBuilder:
    builder = LettaBuilder(lane, trace_id=trace_id).say("Delete", tools=("read_cell",))
    builder.text("run-1", "I ").text("run-1", "ask.").calls("run-1", tool_call("c0", "look"))
    builder.request("run-1", tool_call("c1"), tool_call("c2", "read_cell", "{"))
    return builder.stop("requires_approval")


def answered(builder: LettaBuilder) -> LettaBuilder:
    builder.answer(approval("c1", False, "wrong file"), tool_return("c2", "x = 1"), key="mine")
    builder.returns(
        "run-2",
        tool_return("c2", "x = 1"),
        denial("c1", "wrong file"),
        tool_return("c0", "sunny", stdout=["looked\n"]),
    )
    return builder.text("run-2", "Fine.").stop()


def test_what_waits():
    trace = asked().trace
    columns = f"{ASKED} + name + RequiredInputLetta + parent_response_id"
    one, two = trace.frames.table("required_inputs", columns=columns).to_dict("records")
    assert (one["stub_key"], one["stub_type"], one["source"], one["state"]) == (
        "c1",
        "letta_approval",
        "letta_stream",
        "open",
    )
    assert (two["stub_key"], two["stub_type"], two["name"]) == (
        "c2",
        "letta_tool_return",
        "read_cell",
    )
    assert pd.isna(one["value_json"])
    assert pd.isna(one["filled_by"])
    for row in (one, two):
        assert row["parent_response_id"] == row["run_id"] == "run-1"
        assert (row["agent_id"], row["step_id"]) == (AGENT, "step-run-1")
        assert row["message_id"] == row["otid"] == "message-run-1-ask"
    look, rm, read = rows(trace, "tool_calls")
    assert [c["owner"] for c in (look, rm, read)] == ["server", "server", "client"]
    assert {c["result_kind"] for c in (look, rm, read)} == {"none"}
    assert (rm["arguments_json"], rm["arguments_valid"]) == ('{"p":1}', True)
    assert (read["arguments_text"], read["arguments_valid"]) == ("{", False)
    (lane,) = rows(trace, "lanes")
    assert (lane["state"], lane["n_pending"], lane["stream_id"]) == ("waiting_input", 2, AGENT)


def test_what_was_decided_and_what_came_of_it():
    trace = answered(asked()).trace
    one, two = rows(trace, "required_inputs")
    assert (one["approve"], one["reason"], one["state"]) == (False, "wrong file", "confirmed")
    assert json.loads(one["value_json"]) == {
        "type": "approval",
        "tool_call_id": "c1",
        "approve": False,
        "reason": "wrong file",
    }
    assert json.loads(two["value_json"])["tool_return"] == "x = 1"
    for row in (one, two):
        assert (row["continuation_response_id"], row["submit_key"]) == ("run-2", "mine")
        assert (row["filled_by"], row["sent_as"]) == ("unknown", "continuation")
    look, rm, read = rows(trace, "tool_calls")
    # The call that was not gated ran with the continuation, though the gated one was denied.
    assert (look["result_kind"], look["result_text"]) == ("value", "sunny")
    assert (rm["result_kind"], read["result_kind"]) == ("denied", "value")
    assert rm["result_text"] == "Error: request to call tool denied. User reason: wrong file"
    assert read["result_text"] == "x = 1"
    assert {c["answered_in_response_id"] for c in (look, rm, read)} == {"run-2"}
    assert [c["owner"] for c in (look, rm, read)] == ["server", "server", "client"]
    assert (rm["answered_by"], read["answered_by"]) == ("unknown", "unknown")
    assert pd.isna(look["answered_by"])
    assert read["wait_s"] == pytest.approx(read["answered_s"] - read["requested_s"])
    assert pd.isna(rm["requested_s"])  # it never ran
    assert rm["answered_s"] == read["answered_s"]
    first, second = rows(trace)
    assert (second["previous_response_id"], second["depth"]) == ("run-1", 1)
    assert (first["origin"], second["origin"]) == ("create", "tool_continuation")
    assert (first["status_raw"], second["status_raw"]) == ("requires_approval", "end_turn")
    assert [r["total_tokens"] for r in (first, second)] == [5, 5]
    assert trace.frames.usage["tokens"].sum() == 10


def test_who_filled_it_is_known_live():
    builder = asked().note("filled", parent="run-1", key="c1", item=approval("c1"), by="user")
    builder.answer(approval("c1"), tool_return("c2"))
    assert [c["result_kind"] for c in rows(builder.trace, "tool_calls")] == ["none"] * 2 + ["value"]
    (decided,) = (r for r in rows(builder.trace, "required_inputs") if r["stub_key"] == "c1")
    builder.returns("run-2", tool_return("c2"), tool_return("c1"))
    rm = rows(builder.trace, "tool_calls")[1]
    # An approval asks for permission; what runs, and gives the result, is the server.
    assert (rm["owner"], rm["answered_by"], rm["result_kind"]) == ("server", None, "value")
    assert decided["filled_by"] == "user"
    assert rm["requested_s"] == decided["sent_s"]
    assert rm["wait_s"] == pytest.approx(rm["answered_s"] - decided["sent_s"])


def test_a_result_that_stands_for_a_tool_of_the_server_is_the_clients():
    builder = asked().answer(tool_return("c1", "I did it"), tool_return("c2"))
    builder.returns("run-2", tool_return("c1", "I did it"), tool_return("c2"))
    rm = rows(builder.trace, "tool_calls")[1]
    assert (rm["owner"], rm["answered_by"], rm["result_text"]) == ("client", "unknown", "I did it")


def test_the_timeline_tells_the_wait_for_an_approval_from_the_run_of_the_tool():
    builder = asked().note("filled", parent="run-1", key="c1", item=approval("c1"), by="user")
    builder.answer(approval("c1"), tool_return("c2"))
    builder.returns("run-2", tool_return("c2"), tool_return("c1")).stop()
    spans = timeline_frame(builder.trace.frames)
    spans = spans[(spans["kind"] == "call") & (spans["id"] == "c1")]
    assert spans["state"].tolist() == ["person", "service"]
    person, service = spans.to_dict("records")
    assert person["end_s"] == service["start_s"] < service["end_s"]


def test_a_recording_without_times_tells_the_wait_for_an_approval_in_its_order():
    builder = LettaBuilder().say("Delete").text("run-1", "I ask.").request("run-1", tool_call("c1"))
    builder.stop("requires_approval").answer(approval("c1"))
    trace = builder.returns("run-2", tool_return("c1")).text("run-2", "Done.").stop().trace
    bare = [msgspec.structs.replace(entry, at=None, t=None) for entry in trace]
    tables = in_order(Trace(trace.header, bare).frames)
    spans = timeline_frame(tables)
    (span,) = spans[spans["kind"] == "call"].to_dict("records")
    assert (span["id"], span["state"], span["ongoing"]) == ("c1", "client", False)
    assert span["end_s"] > span["start_s"]


def test_events_of_letta():
    trace = answered(asked()).error("run-3", PENDING).in_('{"message_type":"telepathy"}').trace
    events = trace.frames.table("events", columns="EventCore + EventDelta + EventError")
    kinds = dict(zip(events["type"], events["family"], strict=True))
    assert kinds == {
        "request": "lifecycle",
        "assistant_message": "text",
        "tool_call_message": "tool_args",
        "approval_request_message": "tool_args",
        "tool_return_message": "item",
        "stop_reason": "lifecycle",
        "usage_statistics": "lifecycle",
        "error_message": "error",
        "telepathy": "unknown",
    }
    assert events["known"].tolist() == [True] * (len(events) - 1) + [False]
    texts = events[(events["type"] == "assistant_message") & (events["response_id"] == "run-1")]
    assert texts["delta_text"].tolist() == ["I ", "ask."]
    assert texts["item_id"].tolist() == ["run-1-t"] * 2
    assert texts["output_index"].tolist() == [0, 0]
    failed = events[events["type"] == "error_message"]
    assert failed["error_message"].tolist() == [PENDING]
    assert failed["error_code"].tolist() == ["internal_error"]
    assert trace.frames.events.attrs["unknown"] == 1


def test_items_say_where_they_were():
    builder = asked().history(
        LettaBuilder.body("user_message", "run-1", content="Delete", otid="mine"),
        LettaBuilder.body("assistant_message", "run-1", content="I ask.", otid="run-1-t"),
    )
    items = builder.trace.frames.items
    assert items["source"].tolist() == ["history", "done", "done", "done", "terminal"]
    assert items["output_index"].tolist() == [4, 0, 1, 2, 3]  # their names stay as they came
    assert items["text"].tolist()[1] == "I ask."
    assert items["role"].tolist()[0] == "user"
    content = [json.loads(text) for text in items["content_json"][1:]]
    assert content[0]["step_id"] == "step-run-1"
    assert content[0]["message_id"] == "message-run-1"


def listed() -> LettaBuilder:
    """A history that is about several runs, one of which is being written."""
    builder = LettaBuilder().ping("run-2").say()
    user = ("user_message", "run-1")
    builder.history(
        *(builder.body(*user, content="x", otid=f"o-{number}") for number in range(3)),
        builder.body("user_message", "run-2", content="y", otid="o-4"),
    )
    return builder.text("run-2", "Hi").stop()


def several() -> LettaBuilder:
    """An answer that is about several runs."""
    builder = asked().text("run-2", "Hi")
    cancel = {"run-1": "cancelled", "run-2": "cancelled"}
    return builder.body_of(cancel, path=f"/v1/agents/{AGENT}/messages/cancel")


@pytest.mark.parametrize("make", [asked, lambda: answered(asked()), listed, several])
def test_reading_on_entry_by_entry_gives_the_same(make):
    trace = make().trace
    growing = Trace(trace.header)
    for entry in trace:
        growing.append(entry)
        for name in growing.frames:
            growing.frames[name]
    for name, table in TABLES.items():
        expected = trace.frames.table(name, columns=table.all)
        pd.testing.assert_frame_equal(growing.frames.table(name, columns=table.all), expected)


# -- several files ---------------------------------------------------------------------------------


def parts() -> list[Trace]:
    """One conversation in three files: two streams without requests, and the history."""
    one = LettaBuilder("one", trace_id="1" * 32).text("run-1", "I ").text("run-1", "ask.")
    one.request("run-1", tool_call("c1")).stop("requires_approval")
    two = LettaBuilder("two", trace_id="2" * 32).text("run-2", "Fi").text("run-2", "ne.").stop()
    three = LettaBuilder(trace_id="3" * 32)
    three.history(
        three.body("user_message", "run-1", content="Delete", otid="mine"),
        three.body("assistant_message", "run-1", content="I ask.", otid="run-1-t"),
        three.request_body("run-1", tool_call("c1")),
        three.decided_body("run-2", approval("c1", False, "no")),
        three.returns_body("run-2", denial("c1")),
        three.body("assistant_message", "run-2", content="Fine.", otid="run-2-t"),
    )
    return [one.trace, two.trace, three.trace]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_files_of_one_conversation_show_each_thing_once(order):
    traces = [parts()[number] for number in order]
    together = TraceSet(traces)
    frames = together.frames
    runs = frames.responses.set_index("response_id")
    assert sorted(runs.index) == ["run-1", "run-2"]
    assert runs["output_text"].to_dict() == {"run-1": "I ask.", "run-2": "Fine."}
    assert runs["total_tokens"].to_dict() == {"run-1": 5, "run-2": 5}
    assert runs["trace_id"].to_dict() == {"run-1": "1" * 32, "run-2": "2" * 32}
    assert runs.loc["run-2", "previous_response_id"] == "run-1"
    assert runs["n_items"].to_dict() == {"run-1": 3, "run-2": 3}
    assert len(frames.items) == 6
    assert (
        sorted(frames.items["source"])
        == ["done", "history", "history", "history"] + ["terminal"] * 2
    )
    (call,) = rows(together, "tool_calls")
    assert (call["result_kind"], call["answered_in_response_id"]) == ("denied", "run-2")
    (stub,) = rows(together, "required_inputs")
    assert (stub["state"], stub["approve"], stub["reason"]) == ("confirmed", False, "no")
    assert stub["lane_id"] == f"{'1' * 32}/1/one"
    assert len(frames.usage) == 4
    # Files stay files: their events and connections, and a row of the lane for each.
    events = frames.events
    assert len(events) == sum(len(trace.frames.events) for trace in traces)
    assert runs["n_events"].sum() + events["response_id"].isna().sum() == len(events)
    assert set(events["lane_id"]) == set(frames.lanes["lane_id"])
    lanes = frames.lanes.set_index("trace_id")
    counted = frames.responses["lane_id"].value_counts()
    assert lanes["n_responses"].to_dict() == {"1" * 32: 1, "2" * 32: 1, "3" * 32: 0}
    assert lanes.set_index("lane_id")["n_responses"].replace(0, pd.NA).dropna().eq(counted).all()
    assert lanes["stream_id"].to_dict() == {"1" * 32: "one", "2" * 32: "two", "3" * 32: AGENT}
    assert lanes["tip_response_id"].dropna().tolist() == [
        {"1": "run-1", "2": "run-2"}[trace_id[0]] for trace_id in lanes.index if trace_id[0] < "3"
    ]
    # The first file alone waits for an answer, which is in another one.
    assert traces[order.index(0)].frames.lanes["n_pending"].tolist() == [1]
    assert lanes["n_pending"].sum() == 0
    assert sorted(lanes["state"]) == ["detached", "detached", "idle"]
    places = events.dropna(subset=["output_index"]).merge(
        frames.items, on=["response_id", "output_index"], suffixes=("", "_item")
    )
    assert len(places) == events["output_index"].notna().sum()
    assert (places["item_id"].fillna("") == places["item_id_item"].fillna("")).all()
    assert len(frames.wide()) == len(events)


def test_files_of_other_conversations_stay_apart():
    other = LettaBuilder("four", trace_id="4" * 32).text("run-9", "Hi").stop().trace
    alone = TraceSet([other]).frames.responses
    frames = TraceSet([*parts(), other]).frames
    last = frames.responses[frames.responses["trace_id"] == "4" * 32].reset_index(drop=True)
    pd.testing.assert_frame_equal(last, alone)
    assert len(frames.responses) == 3


def test_a_stream_that_goes_on_in_the_next_file_is_joined_by_its_step():
    one = LettaBuilder("one", trace_id="1" * 32).request("run-1", tool_call("c1"))
    one.stop("requires_approval")
    two = LettaBuilder("two", trace_id="2" * 32)
    two.returns("run-2", tool_return("c1"), step_id="step-run-1").stop()
    (call,) = rows(TraceSet([one.trace, two.trace]), "tool_calls")
    assert (call["result_text"], call["answered_in_response_id"]) == ("done", "run-2")
    assert pd.isna(call["wait_s"])  # the two files have no clock in common
    apart = LettaBuilder("two", trace_id="2" * 32).returns("run-2", tool_return("c1")).stop()
    (call,) = rows(TraceSet([one.trace, apart.trace]), "tool_calls")
    assert call["result_kind"] == "none"  # the same name of a call says nothing


def test_a_set_that_grows_is_joined_anew():
    one, two, three = parts()
    short = Trace(three.header, three.entries[:4])
    together = TraceSet([one, two, short])
    assert rows(together, "required_inputs")[0]["state"] == "open"
    for entry in three.entries[4:]:
        short.append(entry)
    assert rows(together, "required_inputs")[0]["state"] == "confirmed"


def test_a_scan_takes_every_file_alone(tmp_path):
    """Which files stand in one partition must make no difference."""
    pytest.importorskip("dask")
    for number, trace in enumerate(parts()):
        trace.save(tmp_path / f"{number}.jsonl")
    cut, whole = (
        steer_nb.scan(tmp_path, partition_size=size).frames.responses.compute()
        for size in (1, "32 MiB")
    )
    assert cut["response_id"].tolist() == ["run-1", "run-2", "run-1", "run-2"]
    pd.testing.assert_frame_equal(cut.reset_index(drop=True), whole)
    assert len(steer_nb.load(tmp_path).frames.responses) == 2
