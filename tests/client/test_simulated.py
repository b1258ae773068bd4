"""Whole conversations with the embedded simulator, over real sockets."""

from __future__ import annotations

import json

import pytest

from steer_nb import errors, load, tool
from steer_nb.simulator import AwaitSteer, CallFunction, ErrorEvent, Fail, Say, scenario
from tests.client.stage import when
from tests.support.strict import assert_client_event


@pytest.fixture
def lane(simulate):
    def start(name, **options):
        session, simulator = simulate(name, **options)
        return session.lane("a"), simulator

    return start


def test_a_plan_is_written(lane):
    planner, _ = lane("planner")
    response = planner.create("Plan a two-day trip to Lisbon.")
    assert planner.wait(20) == "idle"
    assert response.status == "completed"
    assert "Lisbon" in response.text
    assert response.usage["total_tokens"] > 0
    assert {item["type"] for item in response.output} == {"reasoning", "message"}


def test_a_steer_is_heard_in_the_successor(simulate):
    @scenario("patient", "Waits for a steer before it goes on.")
    def patient(turn):
        if turn.steers:
            yield Say(f"As you say: {turn.steers[-1]}")
        else:
            yield Say("One moment.")
            yield AwaitSteer()
            yield Say("Never read.")

    session, _ = simulate(patient)
    lane = session.lane("a")
    lane.create("Plan a trip.")
    steer = lane.send("Keep it under 300 euros.")
    assert steer.wait(20).state == "committed"
    assert lane.wait(20) == "idle"
    assert "Keep it under 300 euros." in lane.text
    assert steer.successor == lane.response
    assert lane.responses[0].incomplete_reason == "steered"


def test_the_weather_by_hand_by_run_and_by_itself(simulate):
    asked = []

    @tool
    def get_weather(city: str, day: str = "") -> str:
        """Weather in a city."""
        asked.append(city)
        return f"23 degrees in {city}"

    session, _ = simulate("weather")
    by_hand = session.lane("by-hand")
    by_hand.create("What is the weather in Lisbon?")
    assert by_hand.wait(20) == "waiting_input"
    (needed,) = by_hand.required_input
    by_hand.fill(needed.key, output="18 degrees, typed")
    by_hand.send_continuation()
    assert by_hand.wait(20) == "idle"
    assert "18 degrees, typed" in by_hand.text
    name = needed.name

    by_run = session.lane("by-run", tools=[tool(name=name)(get_weather.function)])
    by_run.create("What is the weather in Lisbon?")
    by_run.wait(20)
    ran = by_run.run_tool(by_run.required_input[0].key)
    by_run.send_continuation()
    by_run.wait(20)
    assert ran.item["output"] in by_run.text

    alone = session.lane("alone", tools=[tool(name=name, policy="auto")(get_weather.function)])
    alone.create("What is the weather in Lisbon?")
    assert alone.wait(20) == "idle"
    assert "23 degrees" in alone.text
    assert len(alone.responses) == 2


FIELDS = {
    "function_call_output": {"output": "18"},
    "custom_tool_call_output": {"output": "done"},
    "computer_call_output": {
        "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,iVBORw0KGgo="}
    },
    "apply_patch_call_output": {"status": "completed", "output": "1 line"},
    "tool_search_output": {"tools": []},
    "mcp_approval_response": {"approve": True},
}


def fields_for(asked):
    if asked.type == "shell_call_output":
        outcome = {"type": "exit", "exit_code": 0}
        commands = asked.call["action"]["commands"]
        return {"output": [{"stdout": c, "stderr": "", "outcome": outcome} for c in commands]}
    fields = dict(FIELDS[asked.type])
    if asked.type == "computer_call_output" and asked.call.get("pending_safety_checks"):
        fields["acknowledged_safety_checks"] = asked.call["pending_safety_checks"]
    return fields


KINDS = ["seven", "custom", "computer", "shell", "patch", "tools", "approval", "weather"]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_is_asked_filled_and_continued(lane, name):
    one, _ = lane(name, journal=None)
    one.create("Please.")
    assert one.wait(20) == "waiting_input"
    asked = one.required_input
    assert len(asked) == (7 if name == "seven" else 1)
    assert all(each.call is not None for each in asked)
    for each in asked:
        one.fill(each.key, **fields_for(each))
    preview = json.loads(one.preview_continuation())
    response = one.send_continuation()
    assert response.wait(20).status == "completed"
    assert one.wait(20) in ("idle", "waiting_input")
    states = {each.state for each in one.responses[0].required_input}
    assert states == {"confirmed"}
    assert [item["type"] for item in preview["input"]] == [each.type for each in asked]
    session = one.session
    session.close()
    assert load(session.journal_path) == session.trace
    assert not [p for p in session.trace.problems if p.kind != "unknown_type"]


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_can_be_answered_as_cancelled(lane, name):
    one, _ = lane(name)
    one.create("Please.")
    one.wait(20)
    one.cancel_all()
    assert one.send_continuation().wait(20).status == "completed"


@pytest.mark.parametrize(
    ("say", "status", "code"),
    [
        ("server_error", "failed", "server_error"),
        ("max_output_tokens", "incomplete", None),
        ("content_filter", "incomplete", None),
        ("refusal", "completed", None),
    ],
)
def test_ends_of_all_sorts(lane, say, status, code):
    one, _ = lane("failures")
    response = one.create(say).wait(20)
    assert response.status == status
    assert (response.error or {}).get("code") == code
    assert (response.refusal != "") is (say == "refusal")


@pytest.mark.parametrize("say", ["insufficient_quota", "model_not_found"])
def test_refused_requests(lane, say):
    one, _ = lane("failures")
    with pytest.raises(errors.ServerRefused) as caught:
        one.create(say).wait(20)
    assert caught.value.code == say
    assert one.create("Hello.").wait(20).status == "completed"


def test_the_connections_age_limit(simulate):
    session, simulator = simulate("planner")
    simulator.advance(3700)
    when(session, lambda _: session.closed)
    with pytest.raises(errors.NotConnected, match="60 minutes"):
        session.lane().create("x")


def test_lanes_side_by_side_and_a_fork(simulate):
    session, _ = simulate("planner")
    lanes = [session.lane(f"lane-{number}") for number in range(20)]
    for one in lanes:
        one.create(f"Plan {one.name}.")
    assert set(session.wait(30).values()) == {"idle"}
    assert len({one.response.id for one in lanes}) == 20
    fork = lanes[0].fork("other")
    fork.create("Shorter.")
    assert fork.wait(20) == "idle"
    assert fork.response.previous_response_id == lanes[0].response.id


def test_the_servers_account_agrees_with_the_trace(simulate):
    @tool
    def get_weather(city: str) -> str:
        """Weather in a city."""
        return "18 degrees"

    session, simulator = simulate("weather")
    lane = session.lane("a", tools=[get_weather], instructions="Be brief.", temperature=0.5)
    lane.create(["Weather?", b"%PDF-1.7"])
    lane.wait(20)
    lane.cancel_all()
    lane.send_continuation("And tomorrow?")
    lane.wait(20)
    sent = [json.loads(entry.raw) for entry in session.trace if entry.kind == "out"]
    assert len(sent) == 2
    for message in sent:
        assert_client_event(message)
    kinds = [entry["kind"] for entry in simulator.account]
    assert kinds.count("request") + kinds.count("continuation") >= 2
    assert "message" not in kinds  # nothing that the service could not read


@pytest.mark.parametrize("end", ["failed", "error"])
@pytest.mark.parametrize("policy", ["ask", "auto"])
def test_answers_whose_response_fails_are_sent_again_and_not_computed_again(simulate, end, policy):
    runs, ends = [], iter([end])

    @tool(policy=policy)
    def get_weather(city: str) -> str:
        """Weather in a city."""
        runs.append(city)
        return "18 C"

    @scenario("stumbling", "Fails once when it has the results.")
    def stumbling(turn):
        if not turn.results:
            yield CallFunction("get_weather", {"city": "Lisbon"})
            return
        yield Say("It is")
        match next(ends, None):
            case "failed":
                yield Fail()
            case "error":
                yield ErrorEvent("credit_balance_exhausted", "No credit.", 402)
        yield Say(f"Told: {[one.text for one in turn.results.values()]}")

    session, simulator = simulate(stumbling)
    lane = session.lane("a", tools=[get_weather])
    parent = lane.create("What is the weather in Lisbon?")
    parent.wait(20)
    if policy == "ask":
        assert lane.wait(20) == "waiting_input"
        lane.run_tool(lane.required_input[0].key)
        lane.send_continuation()
    # It is not tried again by itself, neither by the client nor by a policy.
    assert lane.wait(20) == "waiting_input"
    failed = lane.response
    assert failed.status == end
    (asked,) = lane.required_input
    assert (asked.state, asked.item["output"], asked.parent_id) == ("filled", "18 C", parent.id)
    with pytest.raises(errors.LaneBusy, match="filled but not sent: send the continuation"):
        lane.create("Hello?")
    good = lane.send_continuation() if policy == "ask" else failed.send_again()
    assert lane.wait(20) == "idle"
    assert (good.status, runs) == ("completed", ["Lisbon"])
    assert "18 C" in good.text
    assert good.previous_response_id == parent.id
    with pytest.raises(errors.LaneBusy):
        failed.drop() if policy == "auto" else good.send_again()
    assert [e.get("error_message") for e in simulator.account if e.get("error_message")] == []


def test_an_error_breaks_off_the_response_and_not_the_request_behind_it(simulate):
    @scenario("broke", "Breaks off once it was steered, and then answers.")
    def broke(turn):
        yield Say("So.")
        if turn.prompt == "Begin.":
            yield AwaitSteer()
            yield ErrorEvent("credit_balance_exhausted", "No credit.", 402)

    session, _ = simulate(broke)
    lane = session.lane("a")
    first = lane.create("Begin.")
    when(session, lambda ledger: ledger.lanes["a"].current is not None)
    behind = lane.create("And you?", previous_response_id=None)
    lane.steer("Go on.")
    assert behind.wait(20).status == "completed"
    assert first.status == "error"
    assert first.error["code"] == "credit_balance_exhausted"


def test_words_whose_response_fails_can_be_sent_again(lane):
    failing, _ = lane("failures")
    response = failing.create("server_error please")
    assert failing.wait(20) == "failed"
    again = response.send_again()
    assert failing.wait(20) == "failed"
    with pytest.raises(errors.LaneBusy, match=f"already sent again, as {again.key}"):
        response.send_again()
    again.drop()
    with pytest.raises(errors.LaneBusy, match="was dropped"):
        again.send_again()
    fine = failing.create("And now?")
    assert failing.wait(20) == "idle"
    with pytest.raises(errors.LaneBusy, match="nothing to decide"):
        fine.send_again()


def test_a_steer_whose_successor_fails_can_be_sent_again(simulate):
    tries = iter([True])

    @scenario("unlucky", "Its first successor fails.")
    def unlucky(turn):
        if turn.steers and next(tries, False):
            yield Say("As you say, I")
            yield Fail()
        elif turn.steers or "short" in turn.prompt:
            yield Say("Short it is.")
        else:
            yield Say("One moment.")
            yield AwaitSteer()
            yield Say("Never read.")

    session, _ = simulate(unlucky)
    lane = session.lane("a")
    lane.create("Plan a trip.")
    steer = lane.send("Keep it short.")
    assert steer.wait(20).state == "committed"
    assert lane.wait(20) == "failed"
    again = steer.send_again()
    assert lane.wait(20) == "idle"
    assert "Short it is." in again.text
    assert again.previous_response_id == steer.response_id
