"""One's own functions: run once for a call, saved before they are sent."""

from __future__ import annotations

import threading

import pytest

from steer_nb import errors, load, tool
from tests.client.stage import created, done, ended, error, function_call, when


class Weather:
    """A tool that waits until it is let go, and counts its runs."""

    def __init__(self, policy="ask", result="18 C", name="get_weather"):
        self.runs = []
        self.go = threading.Event()
        self.go.set()
        self.began = threading.Event()
        self.result = result

        def get_weather(city: str):
            """Weather."""
            self.runs.append((city, threading.current_thread()))
            self.began.set()
            assert self.go.wait(10)
            if isinstance(self.result, BaseException):
                raise self.result
            return self.result

        self.tool = tool(policy=policy, name=name)(get_weather)


def ask(stage, lane, *items, response_id="resp_1", previous=None):
    if previous is None:
        lane.create("x")
        stage.expect("response.create")
    stage.send(created(response_id, previous, lane="a"))
    stage.send(*(done(item, index, "a") for index, item in enumerate(items)))
    stage.send(ended(response_id, *items, lane="a"))


def notes(session, *names):
    return [entry.note for entry in session.trace if entry.note in names]


# -- ask -----------------------------------------------------------------------------------------


def test_asked_to_run_it_runs_on_a_worker_thread_and_fills(stage, session):
    weather = Weather()
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    assert lane.wait(10) == "waiting_input"
    assert weather.runs == []
    filled = lane.run_tool("call_1")
    ((city, thread),) = weather.runs
    assert city == "Lisbon"
    assert thread.daemon
    assert thread not in (threading.main_thread(), session_thread(session))
    assert (filled.state, filled.filled_by, filled.item["output"]) == ("filled", "code", "18 C")
    assert filled.tool["ok"]
    assert (filled.tool["name"], filled.tool["by"]) == ("get_weather", "code")
    assert filled.tool["duration_s"] >= 0
    assert not filled.tool["running"]
    assert "tool ran" in repr(filled)
    assert stage.nothing_came()
    lane.send_continuation()
    assert stage.expect()["input"][0]["output"] == "18 C"


def session_thread(session):
    return session.read(lambda _: threading.current_thread())


def test_a_second_run_gives_the_saved_result_back(stage, session):
    weather = Weather()
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    first = lane.run_tool("call_1")
    weather.result = "another"
    lane.clear("call_1")
    again = lane.run_tool("call_1")
    assert again.tool == first.tool
    lane.fill("call_1", output="18 C")
    lane.send_continuation()
    assert lane.run_tool("call_1").state == "sent"
    assert len(weather.runs) == 1


def test_two_clicks_at_once_are_one_run(stage, session):
    weather = Weather()
    weather.go.clear()
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(lane.run_tool("call_1"))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    assert weather.began.wait(10)
    assert lane.required_input[0].tool["running"]
    assert "tool running" in repr(lane.required_input[0])
    weather.go.set()
    for thread in threads:
        thread.join(10)
    assert len(weather.runs) == 1
    assert len(results) == 4
    assert {result.item["output"] for result in results} == {"18 C"}
    assert notes(session, "tool_started", "tool_finished", "filled") == [
        "tool_started",
        "tool_finished",
        "filled",
    ]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (ZeroDivisionError("no wind"), "Error: get_weather raised ZeroDivisionError: no wind"),
        (SystemExit(3), "Error: get_weather raised SystemExit: 3"),
        (float("nan"), "Error: get_weather returned what cannot be sent: result is nan"),
        ("\ud83d half", "? half"),
    ],
    ids=["raises", "exits", "nan", "half a character"],
)
def test_what_goes_wrong_becomes_a_text_that_can_be_edited(stage, session, result, words):
    weather = Weather(result=result)
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    filled = lane.run_tool("call_1")
    assert filled.item["output"].startswith(words)
    assert filled.tool["ok"] is words.startswith("?")
    assert stage.nothing_came()
    lane.fill("call_1", output="18 C, I looked out of the window")
    lane.send_continuation()
    assert stage.expect()["input"][0]["output"].startswith("18 C")


class Unspeakable(Exception):
    def __str__(self):
        raise self


def test_an_exception_that_cannot_be_shown_ends_the_run_too(stage, session):
    lane = session.lane("a", tools=[Weather(result=Unspeakable()).tool])
    ask(stage, lane, function_call("call_1"))
    assert lane.wait(10) == "waiting_input"
    assert lane.run_tool("call_1").tool["error"] == "get_weather raised Unspeakable"


def test_arguments_that_do_not_fit_are_an_error_result_and_the_function_is_not_called(
    stage, session
):
    weather = Weather()
    lane = session.lane("a", tools=[weather.tool])
    ask(
        stage,
        lane,
        function_call("call_1", arguments='{"town":"Lisbon"}'),
        function_call("call_2", arguments="{"),
    )
    lane.wait(10)
    assert "unknown field `town`" in lane.run_tool("call_1").item["output"]
    assert "are no JSON" in lane.run_tool("call_2").item["output"]
    assert weather.runs == []


def test_a_result_that_is_too_long_is_an_error_result(stage, session):
    weather = Weather(result="x" * (10_485_760 + 1))
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    filled = lane.run_tool("call_1")
    assert filled.item["output"].startswith("Error: ")
    assert filled.tool["ok"] is False


def test_what_a_person_typed_meanwhile_is_kept(stage, session):
    weather = Weather()
    weather.go.clear()
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    thread = threading.Thread(target=lane.run_tool, args=("call_1",))
    thread.start()
    assert weather.began.wait(10)
    lane.fill("call_1", output="typed")
    weather.go.set()
    thread.join(10)
    (asked,) = lane.required_input
    assert asked.item["output"] == "typed"
    assert asked.tool["output"] == "18 C"


@pytest.mark.parametrize(
    ("tools", "kind", "words"),
    [
        ([], function_call("call_1"), "no function for get_weather .*functions: none"),
        ([Weather(policy="never").tool], function_call("call_1"), "policy 'never'"),
        ([Weather(name="other").tool], function_call("call_1"), "its functions: other"),
        (
            [Weather().tool],
            {"type": "custom_tool_call", "call_id": "call_1", "name": "get_weather", "input": "x"},
            "no function for get_weather",
        ),
    ],
)
def test_what_cannot_run_says_why(stage, session, tools, kind, words):
    lane = session.lane("a", tools=tools)
    ask(stage, lane, kind)
    lane.wait(10)
    with pytest.raises(errors.ToolFailed, match=words):
        lane.run_tool("call_1")
    assert lane.required_input[0].state == "open"


def test_a_filled_call_is_not_run_over(stage, session):
    weather = Weather()
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    lane.fill("call_1", output="typed")
    with pytest.raises(errors.ToolFailed, match="filled already"):
        lane.run_tool("call_1")
    assert weather.runs == []


def test_a_run_whose_end_was_never_seen_is_not_begun_again(stage, session):
    weather = Weather()
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    place = {"lane": "a", "parent": "resp_1", "key": "call_1"}
    session.act(
        lambda: session.core.recorder.note("tool_started", **place, name="get_weather", by="code")
    )
    with pytest.raises(errors.ToolFailed, match="its end was not seen"):
        lane.run_tool("call_1")
    assert weather.runs == []


def test_a_tool_that_one_request_brought_is_known_for_its_calls(stage, session):
    weather = Weather()
    lane = session.lane("a")
    lane.create("x", tools=[weather.tool])
    stage.expect()
    stage.send(created("resp_1", lane="a"), ended("resp_1", function_call("call_1"), lane="a"))
    lane.wait(10)
    assert lane.run_tool("call_1").item["output"] == "18 C"
    assert lane.tools == {}


# -- auto ----------------------------------------------------------------------------------------


def test_auto_runs_by_itself_and_sends_the_continuation(stage, session):
    weather = Weather(policy="auto")
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"), function_call("call_2", arguments='{"city":"Porto"}'))
    sent = stage.expect("response.create")
    assert sent["previous_response_id"] == "resp_1"
    assert [item["call_id"] for item in sent["input"]] == ["call_1", "call_2"]
    assert [tool["name"] for tool in sent["tools"]] == ["get_weather"]
    assert sorted(city for city, _ in weather.runs) == ["Lisbon", "Porto"]
    assert {asked.filled_by for asked in lane.responses[0].required_input} == {"policy"}
    stage.send(created("resp_2", "resp_1", "a"), ended("resp_2", lane="a"))
    assert lane.wait(10) == "idle"
    assert stage.nothing_came()


def test_auto_begins_when_the_call_is_complete_not_when_the_response_is(stage, session):
    weather = Weather(policy="auto")
    lane = session.lane("a", tools=[weather.tool])
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), done(function_call("call_1"), 0, "a"))
    assert weather.began.wait(10)
    when(session, lambda g: g.responses["resp_1"].required["call_1"].state == "filled")
    assert stage.nothing_came()
    stage.send(ended("resp_1", function_call("call_1"), lane="a"))
    stage.expect("response.create")
    assert len(weather.runs) == 1


def test_while_it_runs_the_lane_is_not_settled(stage, session):
    weather = Weather(policy="auto")
    weather.go.clear()
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    assert weather.began.wait(10)
    with pytest.raises(errors.WaitTimeout, match="a tool is running"):
        lane.wait(0.05)
    weather.go.set()
    stage.expect("response.create")
    stage.send(created("resp_2", "resp_1", "a"), ended("resp_2", lane="a"))
    assert lane.wait(10) == "idle"


def test_auto_with_an_error_sends_the_error_so_that_the_model_can_react(stage, session):
    weather = Weather(policy="auto", result=OSError("no network"))
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    output = stage.expect("response.create")["input"][0]["output"]
    assert output == "Error: get_weather raised OSError: no network"


def test_auto_beside_what_a_person_answers_waits_for_the_person(stage, session):
    weather = Weather(policy="auto")
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"), function_call("call_2", name="book"))
    assert lane.wait(10) == "waiting_input"
    assert [(asked.key, asked.state) for asked in lane.required_input] == [
        ("call_1", "filled"),
        ("call_2", "open"),
    ]
    lane.fill("call_2", output="booked")
    session.read(lambda _: None)
    assert stage.nothing_came()
    lane.send_continuation()
    assert len(stage.expect("response.create")["input"]) == 2


def test_a_refused_automatic_continuation_is_left_to_the_person(stage, session):
    weather = Weather(policy="auto")
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    stage.expect("response.create")
    stage.send(error("server_error", "a"))
    assert lane.wait(10) == "waiting_input"
    assert stage.nothing_came()
    lane.send_continuation()
    stage.expect("response.create")
    assert len(weather.runs) == 1


def test_ask_and_never_are_not_run_by_themselves(stage, session):
    tools = [Weather(name="a"), Weather(policy="never", name="b")]
    lane = session.lane("a", tools=[one.tool for one in tools])
    ask(stage, lane, function_call("call_1", name="a"), function_call("call_2", name="b"))
    assert lane.wait(10) == "waiting_input"
    assert [one.runs for one in tools] == [[], []]


def test_a_chain_of_automatic_turns_needs_nobody(stage, session):
    weather = Weather(policy="auto")
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    for turn in range(2, 5):
        stage.expect("response.create")
        ask(
            stage,
            lane,
            function_call("call_1", arguments='{"city":"Faro"}'),
            response_id=f"resp_{turn}",
            previous=f"resp_{turn - 1}",
        )
    stage.expect("response.create")
    assert len(weather.runs) == 4


# -- saved first ---------------------------------------------------------------------------------


def test_start_and_result_are_on_the_disk_before_the_result_is_sent(stage, session):
    on_disk_when_run = []

    @tool(policy="auto")
    def get_weather(city: str):
        on_disk_when_run.extend(entry.note for entry in load(session.journal_path))
        return "18 C"

    lane = session.lane("a", tools=[get_weather])
    ask(stage, lane, function_call("call_1"))
    _, disk = stage.expect_with_disk("response.create")
    assert "tool_started" in on_disk_when_run
    kinds = [line.get("note") or line.get("kind") for line in disk[1:]]
    ours = ("tool_started", "tool_finished", "filled", "out")
    assert [kind for kind in kinds if kind in ours] == ["out", *ours]


def test_a_result_that_comes_after_closing_is_saved_too(stage, session):
    weather = Weather()
    weather.go.clear()
    lane = session.lane("a", tools=[weather.tool])
    ask(stage, lane, function_call("call_1"))
    lane.wait(10)
    thread = threading.Thread(target=lane.run_tool, args=("call_1",))
    thread.start()
    assert weather.began.wait(10)
    session.close()
    weather.go.set()
    thread.join(10)
    saved = load(session.journal_path)
    assert [e.data["output"] for e in saved if e.note == "tool_finished"] == ["18 C"]
    assert saved == session.trace
    assert session.core.recorder.journal is None
