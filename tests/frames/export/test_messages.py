"""Conversations as the official SDK takes them: by its types, and by sending them."""

from __future__ import annotations

import json
from pathlib import Path

import openai
import pytest
from openai.types.chat.chat_completion_message_param import ChatCompletionMessageParam

from steer_nb import Simulator
from steer_nb.errors import ExportFailed, InvalidInput, UnknownLane
from steer_nb.simulator import SCENARIOS
from steer_nb.trace import SCHEMA, Entry, Header, Trace
from steer_nb.wire import is_answer, stub_for
from tests.frames.export.played import played
from tests.support.simulated import MODEL
from tests.support.strict import assert_input_item, faults
from tests.support.traces import TraceBuilder, call, message

SCRIPTED = sorted(set(SCENARIOS) - {"agents"})  # what agents say is of a beta with types of its own


def conversation() -> TraceBuilder:
    """Asked, called, answered, steered."""
    first = {"type": "function_call_output", "call_id": "call_1", "output": "18 °C"}
    builder = TraceBuilder().create("Weather?", lane="a").created("r1", lane="a")
    builder.done(call(), lane="a").ended("r1", lane="a", output=[call()])
    builder.create([first], previous="r1", lane="a").created("r2", previous="r1", lane="a")
    builder.steer("r2", "In Fahrenheit, please.").accepted("s1", "r2", lane="a")
    builder.done(message("It is"), lane="a")
    builder.ended("r2", "incomplete", reason="steered", lane="a", output=[message("It is")])
    builder.created("r3", previous="r2", lane="a").done(message("64 °F."), lane="a")
    return builder.ended("r3", lane="a", output=[message("64 °F.")], previous="r2")


def texts(messages: list[dict]) -> list[str]:
    return [m["content"] for m in messages if isinstance(m.get("content"), str)]


def test_everything_that_was_said_in_its_order():
    said = conversation().trace.export.messages()
    kinds = [item.get("role", item["type"]) for item in said]
    expected = ["user", "function_call", "function_call_output", "assistant", "user", "assistant"]
    assert kinds == expected
    assert said[4]["content"] == "In Fahrenheit, please."
    for item in said:
        assert_input_item(item)
    assert (said.cancelled, said.left_out) == ((), ())


def test_the_same_as_chat():
    said = conversation().trace.export.messages("a", shape="chat")
    assert [m["role"] for m in said] == [
        "user", "assistant", "tool", "assistant", "user", "assistant",
    ]  # fmt: skip
    assert said[1]["tool_calls"][0]["function"]["name"] == "get_weather"
    assert said[2] == {"role": "tool", "tool_call_id": "call_1", "content": "18 °C"}
    for one in said:
        assert not faults(one, ChatCompletionMessageParam)


@pytest.mark.parametrize("redact", [None, True, ["a"]])
@pytest.mark.parametrize("scenario", SCRIPTED)
def test_every_kind_of_item_is_as_the_sdk_types_it(scenario, redact):
    trace = played(scenario)
    for item in trace.export.messages(redact=redact):
        assert_input_item(item)
    for one in trace.export.messages(shape="chat", redact=redact):
        assert not faults(one, ChatCompletionMessageParam), one


# The SDK uses websockets in a way that newer versions of it deprecate.
@pytest.mark.filterwarnings(r"ignore:connect\(\) must be used as a context manager")
@pytest.mark.parametrize("scenario", ["planner", "seven", "gallery"])
def test_the_sdk_sends_it_and_the_simulator_goes_on(scenario):
    said = played(scenario).export.messages()
    with Simulator("planner", speed=0) as simulator:
        client = openai.OpenAI(base_url=simulator.base_url, api_key="any")
        with client, client.responses.connect() as connection:
            more = [*said, {"role": "user", "content": "And then?"}]
            connection.response.create(model=MODEL, input=more)
            kinds = []
            for event in connection:
                kinds.append(event.type)
                if event.type in ("response.completed", "error", "response.failed"):
                    break
        assert kinds[-1] == "response.completed"


def test_what_is_sent_and_not_typed_so_becomes_it():
    """As real clients send it, and as the service gives it."""
    said = [
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://x.test/a.png"}]},
        {"role": "assistant", "content": [{"type": "output_text", "text": t} for t in "ab"]},
    ]
    said.append({k: v for k, v in message("c").items() if k != "status"})
    custom = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "run"}
    custom |= {"input": "1 + 1", "status": "completed"}
    builder = TraceBuilder().create(said).created("r1").done(custom)
    items = builder.ended("r1", output=[custom]).trace.export.messages()
    for item in items:
        assert_input_item(item)
    assert items[0]["content"][0]["detail"] == "auto"
    assert items[1] == {"role": "assistant", "content": "ab"}
    assert items[2] == message("c")


def test_chat_tool_messages_stand_right_behind_their_calls():
    for scenario in SCRIPTED:
        waiting: list[str] = []
        for one in played(scenario).export.messages(shape="chat"):
            if one["role"] == "tool":
                assert one["tool_call_id"] == waiting.pop(0)
            else:
                assert not waiting, scenario
                waiting = [made["id"] for made in one.get("tool_calls", ())]
        assert not waiting


def test_chat_begins_with_the_instructions():
    said = played("planner").export.messages(shape="chat")
    assert said[0] == {"role": "developer", "content": "Be brief."}
    hidden = played("planner").export.messages(shape="chat", redact=True)
    assert hidden[0]["content"] == "[9 characters]"


def test_pictures_files_and_audio_in_chat():
    parts = [
        {"type": "input_text", "text": "Look."},
        {"type": "input_image", "image_url": "https://x.test/a.png", "detail": "low"},
        {"type": "input_image", "file_id": "file_1", "detail": "original"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:a"},
        {"type": "input_file", "file_url": "https://x.test/a.pdf"},
        {"type": "input_audio", "input_audio": {"data": "AA==", "format": "wav"}},
    ]
    builder = TraceBuilder().create([{"role": "user", "content": parts}]).created("r1")
    said = builder.ended("r1").trace.export.messages(shape="chat")
    (one,) = said
    assert not faults(one, ChatCompletionMessageParam)
    assert [p["type"] for p in one["content"]] == ["text", "image_url", "file", "input_audio"]
    assert len(said.left_out) == 2


def test_an_open_call_is_answered_as_cancelled_and_named():
    said = played("weather", finish=False).export.messages()
    assert len(said.cancelled) == 1
    calls = [item for item in said if stub_for(item)]
    answers = [item for item in said if is_answer(item)]
    assert [c["call_id"] for c in calls] == [a["call_id"] for a in answers] == [*said.cancelled]


def test_what_cannot_be_said_again_is_named():
    assert any("compaction" in one for one in played("gallery").export.messages().left_out)


def test_a_lane_has_to_be_named_where_there_are_several():
    builder = TraceBuilder()
    for lane in ("a", "b"):
        builder.create(f"I am {lane}.", lane=lane).created(f"r{lane}", lane=lane)
        builder.ended(f"r{lane}", lane=lane)
    export = builder.trace.export
    with pytest.raises(UnknownLane, match=r"name one of them\. Lanes: a, b"):
        export.messages()
    assert texts(export.messages("b")) == ["I am b."]
    with pytest.raises(UnknownLane, match="no lane 'c'"):
        export.messages("c")
    with pytest.raises(InvalidInput, match="'responses' or 'chat'"):
        export.messages("a", shape="anthropic")


def test_the_default_lane_has_a_name():
    trace = TraceBuilder().create("Hi.").created("r1").ended("r1").trace
    assert texts(trace.export.messages("(default)")) == texts(trace.export.messages()) == ["Hi."]


def test_a_conversation_that_began_elsewhere_is_not_made_up():
    trace = TraceBuilder().create(previous="r0").created("r1", previous="r0").trace
    with pytest.raises(ExportFailed, match="began before this trace"):
        trace.export.messages()


def test_the_trace_is_not_changed_by_what_is_done_with_the_list():
    trace = conversation().trace
    said = trace.export.messages()
    said[3]["content"][0]["text"] = "other"
    assert trace.export.messages()[3]["content"][0]["text"] == "It is"


def test_it_is_saved_as_json(tmp_path):
    half = Trace(Header(SCHEMA, "a" * 32))
    raw = '{"type": "response.create", "model": "m", "input": "half \\ud83d"}'
    half.append(Entry(0, None, None, "out", 1, raw=raw))
    half.append(
        Entry(1, None, None, "in", 1, raw='{"type":"response.created","response":{"id":"r"}}')
    )
    for trace in (conversation().trace, half):
        said = trace.export.messages()
        path = said.save(tmp_path / "said.json")
        assert json.loads(Path(path).read_text("utf-8")) == said
    with pytest.raises(ExportFailed, match="choose another place"):
        said.save(tmp_path / "none" / "said.json")
