"""Whole rounds with a Letta agent: what is said, asked and answered, and what came of it there."""

from __future__ import annotations

import json

import httpx
import pytest

import steer_nb
from steer_nb import errors, tool
from tests.letta.stage import PATIENCE, asked_of, runs_of

modes = pytest.mark.parametrize("tokens", [True, False], ids=["tokens", "steps"])


@modes
def test_an_agent_answers(serve, tokens):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id, stream_tokens=tokens)
    response = lane.create("Hello").wait(PATIENCE)
    assert response.status == "completed"
    assert response.text.startswith("You said: “Hello”.")
    assert lane.wait(PATIENCE) == "idle"
    assert response.id.startswith("run-")
    assert response.usage["output_tokens"] > 0
    assert "agent-" in repr(lane)


def test_a_message_right_behind_an_end_waits_for_its_stream(serve):
    """A run ends with its stop_reason; two more frames and the end of the stream come behind it."""
    session, simulator = serve(faults=["stall type=usage_statistics seconds=0.3"])
    lane = session.lane("a", agent=simulator.agent_id)
    for number in range(3):
        assert lane.create(f"Number {number}.").wait(PATIENCE).status == "completed"
    assert lane.wait(PATIENCE) == "idle"


def test_a_lane_is_a_conversation_of_its_own(serve):
    session, simulator = serve()
    one = session.lane("one", agent=simulator.agent_id)
    two = session.lane("two", agent=simulator.agent_id)
    own = session.lane("own", agent=simulator.agent_id, conversation="default")
    for lane in (one, two, own):
        lane.create("Hello")
    assert session.wait(PATIENCE) == {"one": "idle", "two": "idle", "own": "idle"}
    names = {lane.settings["conversation"] for lane in (one, two, own)}
    assert len(names) == 3
    assert "default" in names
    with pytest.raises(errors.LaneBusy, match="Lane one is open with that conversation"):
        session.lane("again", conversation=one.settings["conversation"])
    one.close()
    other = steer_nb.connect(letta=simulator.base_url, journal=False, quiet=True, name="other")
    again = other.lane("again", conversation=one.settings["conversation"])
    assert again.settings["agent"] == simulator.agent_id
    assert again.text == one.text


@modes
@pytest.mark.parametrize("approve", [True, False])
def test_a_decision_is_sent_and_confirmed(serve, tokens, approve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id, stream_tokens=tokens)
    lane.create("delete /srv/old.log")
    assert lane.wait(PATIENCE) == "waiting_input"
    (needed,) = lane.required_input
    assert (needed.type, needed.name, needed.source) == (
        "letta_approval", "delete_file", "letta_history",
    )  # fmt: skip
    with pytest.raises(errors.RequiredInputOpen):
        lane.send_continuation()
    reason = {} if approve else {"reason": "wrong file"}
    lane.fill(needed.key, approve=approve, **reason)
    response = lane.send_continuation().wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    assert response.status == "completed"
    assert len(runs_of(simulator)) == approve
    (asked,) = lane.responses[0].required_input
    assert (asked.state, asked.item["approve"]) == ("confirmed", approve)
    row = session.trace.frames.required_inputs.iloc[0]
    assert (row.state, row.approve, row.continuation_response_id) == (
        "confirmed", approve, response.id,
    )  # fmt: skip
    calls = session.trace.frames.tool_calls
    assert list(calls.result_kind) == ["value" if approve else "denied"]


@modes
def test_parallel_calls_are_answered_in_one_request(serve, tokens):
    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        return "18 °C"

    session, simulator = serve("parallel")
    lane = session.lane("a", agent=simulator.agent_id, stream_tokens=tokens, tools=[weather])
    lane.create("Go")
    assert lane.wait(PATIENCE) == "waiting_input"
    by_name = {one.key: (one.type, one.name) for one in lane.required_input}
    assert sorted(by_name.values()) == [
        ("letta_approval", "delete_file"),
        ("letta_approval", "delete_file"),
        ("letta_tool_return", "weather"),
    ]
    mine, first, second = sorted(by_name, key=lambda key: by_name[key][1] != "weather")
    assert lane.run_tool(mine).item["tool_return"] == "18 °C"
    lane.fill(first, approve=True)
    with pytest.raises(errors.RequiredInputOpen) as caught:
        lane.send_continuation()
    assert caught.value.keys == (second,)
    lane.fill(second, approve=False, reason="keep it")
    lane.send_continuation().wait(PATIENCE)
    assert lane.wait(PATIENCE) == "idle"
    assert {one.state for one in lane.responses[0].required_input} == {"confirmed"}
    assert sorted(one["name"] for one in runs_of(simulator)) == ["delete_file", "list_files"]
    assert len(asked_of(simulator, "/messages")) == 2


@modes
def test_a_function_of_ones_own_runs_by_itself(serve, tokens):
    done = []

    @tool(policy="auto")
    def weather(city: str) -> str:
        """Tell the weather."""
        done.append(city)
        return "18 °C"

    session, simulator = serve(tools=[weather])
    lane = session.lane("a", agent=simulator.agent_id, stream_tokens=tokens)
    lane.create("weather, please")
    assert lane.wait(PATIENCE) == "idle"
    assert len(done) == 1
    assert "18 °C" in lane.text
    (asked,) = lane.responses[0].required_input
    assert (asked.state, asked.item["status"], asked.filled_by) == (
        "confirmed", "success", "policy",
    )  # fmt: skip


def test_a_function_that_raises_gives_an_error(serve):
    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        msg = "no weather today"
        raise ValueError(msg)

    session, simulator = serve(tools=[weather])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("weather, please")
    lane.wait(PATIENCE)
    needed = lane.run_tool(lane.required_input[0].key)
    assert (needed.item["type"], needed.item["status"]) == ("tool", "error")
    assert "no weather today" in needed.item["tool_return"]
    lane.fill(needed.key, output="18 °C", stdout="asked twice", status="success")
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"
    assert "18 °C" in lane.text


def test_denying_all_releases_an_agent(serve):
    session, simulator = serve("parallel")
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("Go")
    lane.wait(PATIENCE)
    assert len(lane.cancel_all()) == 2
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"
    assert [one["name"] for one in runs_of(simulator)] == ["list_files"]  # it was no question


def test_a_phantom_call_is_not_asked_for(serve):
    session, simulator = serve(faults=["phantom_call"])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    assert lane.wait(PATIENCE) == "waiting_input"
    (needed,) = lane.required_input
    calls = session.trace.frames.tool_calls
    assert list(calls.name) == ["delete_file", "delete_file"]  # what was streamed is kept
    lane.fill(needed.key, approve=True)
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"
    assert len(runs_of(simulator)) == 1


def test_a_result_may_stand_for_a_tool_of_the_server(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    key = lane.required_input[0].key
    with pytest.raises(errors.InvalidInput, match="exclude each other"):
        lane.fill(key, approve=True, output="done")
    lane.fill(key, output="I did it myself")
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"
    assert not runs_of(simulator)
    assert "I did it myself" in lane.text


def test_what_was_said_when_a_conversation_is_opened_is_there(serve):
    session, simulator = serve()
    first = session.lane("a", agent=simulator.agent_id)
    first.create("delete /srv/old.log")
    first.wait(PATIENCE)
    later = steer_nb.connect(letta=simulator.base_url, journal=False, quiet=True, name="later")
    other = later.lane("b", conversation=first.settings["conversation"])
    assert other.wait(PATIENCE) == "waiting_input"
    other.fill(other.required_input[0].key, approve=True)
    other.send_continuation()
    assert other.wait(PATIENCE) == "idle"
    assert len(runs_of(simulator)) == 1


def test_a_function_that_a_conversation_waits_for_is_known_when_it_is_opened(serve):
    def weather(city: str) -> str:
        """Tell the weather."""
        return f"18 °C in {city}"

    session, simulator = serve()
    first = session.lane("a", agent=simulator.agent_id, tools=[weather])
    first.create("weather, please")
    first.wait(PATIENCE)
    later = steer_nb.connect(letta=simulator.base_url, journal=False, quiet=True, name="later")
    talk = first.settings["conversation"]
    other = later.lane("b", conversation=talk, tools=[weather])
    assert other.wait(PATIENCE) == "waiting_input"
    (needed,) = other.required_input
    assert other.run_tool(needed.key).item["type"] == "tool"
    other.send_continuation()
    assert other.wait(PATIENCE) == "idle"
    assert "18 °C in" in other.text
    rows = later.trace.frames.required_inputs
    assert rows.stub_type.tolist() == ["letta_tool_return"]


def test_a_preview_is_what_goes_out(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id, max_steps=7)
    lane.create("delete /srv/old.log")
    lane.wait(PATIENCE)
    lane.fill(lane.required_input[0].key, approve=False)
    seen = lane.preview_continuation("And then?")
    lane.send_continuation("And then?")
    lane.wait(PATIENCE)
    sent = [entry.raw for entry in session.trace if entry.kind == "out"][-1]
    body = json.loads(sent)
    for one in body["messages"]:
        assert one.pop("otid")
    assert body == json.loads(seen)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "has no agent"),
        ({"agent": "agent-1", "streaming": False}, "streaming cannot be set here"),
        ({"agent": "agent-1", "temperature": 1}, "temperature is no setting of a Letta lane"),
        ({"agent": 3}, "the id of an agent"),
        ({"agent": "agent-1", "tools": [{"type": "web_search"}]}, "is no function"),
        ({"agent": "agent-1", "fork": "a"}, "fork"),
    ],
)
def test_settings_that_cannot_be(serve, settings, said):
    session, _ = serve()
    with pytest.raises((errors.InvalidInput, errors.UnknownLane), match=said):
        session.lane("b", **settings)


def test_an_agent_that_is_not_there(serve):
    session, _ = serve()
    with pytest.raises(errors.ServerRefused, match="HTTP 404"):
        session.lane("a", agent="agent-none")
    assert not session.lanes


def test_a_session_that_is_closed_sends_nothing(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id)
    session.close()
    with pytest.raises(errors.NotConnected, match="closed"):
        lane.create("Hello")
    assert session.closed


def test_a_lane_that_is_opened_again_goes_on(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("Hello").wait(PATIENCE)
    lane.wait(PATIENCE)
    talk = lane.settings["conversation"]
    lane.close()
    again = session.lane("a")
    assert again.settings["conversation"] == talk
    assert again.wait(PATIENCE) == "idle"
    assert len(again.responses) == 1
    again.create("And again").wait(PATIENCE)
    assert again.wait(PATIENCE) == "idle"
    assert len(again.responses) == 2
    with pytest.raises(errors.LaneBusy, match="is open with conversation"):
        session.lane("a", conversation="conv-other")
    again.close()
    place = f"{simulator.base_url}/v1/agents/"
    made = httpx.post(place, json={"name": "second"}, trust_env=False).json()
    other = session.lane("a", agent=made["id"])
    assert other.settings["conversation"] != talk
    other.create("Hello").wait(PATIENCE)
    assert other.wait(PATIENCE) == "idle"


def test_settings_can_be_changed_later(serve):
    session, simulator = serve()
    lane = session.lane("a", agent=simulator.agent_id, max_steps=3)
    assert session.lane("a", max_steps=4, stream_tokens=False) is lane
    lane.create("Hello").wait(PATIENCE)
    lane.wait(PATIENCE)
    sent = [json.loads(entry.raw) for entry in session.trace if entry.kind == "out"][-1]
    assert (sent["max_steps"], sent["stream_tokens"]) == (4, False)
