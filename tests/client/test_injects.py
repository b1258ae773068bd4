"""Answers that go into a response while its agents wait: once, kept when refused, never lost."""

from __future__ import annotations

import json

import pytest

from steer_nb import connect, errors, load, recover, tool
from steer_nb.client.reconnecting import Reconnect
from steer_nb.ledger import Ledger
from steer_nb.simulator import Simulator
from tests.client.stage import error, when
from tests.support.strict import assert_beta_client_event
from tests.support.traces import call, response
from tests.widgets.forming import cut, until

SOON = Reconnect(attempts=3, first_s=0.01, longest_s=0.02, rotate_s=None)
TEAM = {"multi_agent": {"enabled": True}}
ROME, PARIS = ({"agent": {"agent_name": f"/root/{name}"}} for name in ("rome", "paris"))


@pytest.fixture
def team():
    """Connect to the scenario with agents; both ends end with the test."""
    running = []

    def start(*, tools=(), **options):
        simulator = Simulator("agents", **{"speed": 0, **options}).start()
        session = connect(
            simulator.base_url, multi_agent=True, journal=False, tools=tools, quiet=True
        )
        running.append((session, simulator))
        return session.lane("team", **TEAM), simulator

    yield start
    for session, simulator in running:
        session.close()
        simulator.stop()


@pytest.fixture
def session(stage):
    session = connect(stage.base_url, multi_agent=True, quiet=True, reconnect=SOON)
    stage.journal = session.journal_path
    yield session
    session.close()


def injected(simulator, fate="created"):
    found = [e for e in simulator.account if e["kind"] == "inject" and e["fate"] == fate]
    return [item["output"] for entry in found for item in entry["input"]]


def begin(stage, lane, *calls):
    """A response of several agents, begun by hand, in which these calls wait."""
    handle = lane.create("go")
    request = stage.expect("response.create")
    assert_beta_client_event(request)
    stage.send({"type": "response.created", "stream_id": "team", "response": response("p")})
    for index, item in enumerate(calls):
        event = {"type": "response.output_item.done", "output_index": index, "item": item}
        stage.send({**event, "stream_id": "team", "agent": item["agent"]})
    when(lane.session, lambda ledger: len(ledger.responses["p"].required) == len(calls))
    return handle


def ended(stage, *output, response_id="p", previous=None):
    body = response(response_id, previous=previous, status="completed", output=list(output))
    stage.send({"type": "response.completed", "stream_id": "team", "response": body})


def created(stage):
    stage.send({"type": "response.inject.created", "response_id": "p", "stream_id": "team"})


def failed(stage, *items, code="response_already_completed"):
    told = {"code": code, "message": "Too late."}
    event = {"type": "response.inject.failed", "response_id": "p", "stream_id": "team"}
    stage.send({**event, "input": list(items), "error": told})


# -- against the simulator -------------------------------------------------------------------------


def test_agents_are_answered_one_by_one_while_the_response_runs(team):
    lane, simulator = team()
    handle = lane.create("Compare the weather in Rome and Paris.")
    asked = []
    while lane.wait(30) == "waiting_input":
        for needed in lane.required_input:
            asked.append(needed.agent_name)
            lane.fill(needed.key, output=f"{len(asked)} C")
        sent = lane.inject()
        assert handle.status == "in_progress"
        assert sent.wait(10).state == "created"
        assert (sent.response, sent.lane, sent.error) == (handle, lane, None)
    assert (lane.state, handle.status) == ("idle", "completed")
    assert asked == ["/root/rome", "/root/paris"]
    assert "Rome: “1 C”. Paris: “2 C”." in handle.text
    assert injected(simulator) == ["1 C", "2 C"]
    assert lane.required_input == ()
    # The answers are part of the response; the next turn needs none of them.
    assert lane.create("And in winter?").wait(30).status == "completed"


def test_what_is_open_can_follow_and_each_answer_goes_out_once(team):
    lane, simulator = team()
    lane.create("Compare the weather in Rome and Paris.")
    when(lane.session, lambda ledger: len(asked_on(ledger.lanes["team"])) == 2)
    first, second = lane.required_input
    lane.fill(first.key, output="1 C")
    lane.inject().wait(10)
    with pytest.raises(errors.NothingToContinue, match="wait for is filled"):
        lane.inject()
    with pytest.raises(errors.InvalidInput, match="already sent and used"):
        lane.fill(first.key, output="other")
    lane.fill(second.key, output="2 C")
    lane.inject()
    assert lane.wait(30) == "idle"
    assert injected(simulator) == ["1 C", "2 C"]


def asked_on(lane):
    return {} if lane.current is None else lane.current.required


def test_send_continuation_injects_while_the_response_runs_and_continues_when_it_ended(team):
    lane, _ = team()
    lane.create("Compare the weather in Rome and Paris.")
    while lane.wait(30) == "waiting_input":
        for needed in lane.required_input:
            lane.fill(needed.key, output="18 C")
        assert json.loads(lane.preview_continuation())["type"] == "response.inject"
        with pytest.raises(errors.InvalidInput, match="an inject carries only answers"):
            lane.send_continuation("and be quick")
        assert repr(lane.send_continuation()).startswith("<Inject ")

    lane, simulator = team(agents_waiting="complete")
    handle = lane.create("Compare the weather in Rome and Paris.")
    handle.wait(30)
    assert lane.wait(30) == "waiting_input"
    for needed in lane.required_input:
        lane.fill(needed.key, output="18 C")
    with pytest.raises(errors.NothingToContinue, match="has ended"):
        lane.inject()
    assert json.loads(lane.preview_continuation())["type"] == "response.create"
    assert lane.send_continuation().wait(30).status == "completed"
    assert injected(simulator) == []


def test_functions_with_policy_auto_inject_by_themselves_once(team):
    ran = []

    def get_weather(city: str) -> str:
        ran.append(city)
        return f"{city} is fine"

    lane, simulator = team(tools=[tool(get_weather, policy="auto")])
    handle = lane.create("Compare the weather in Rome and Paris.")
    assert lane.wait(30) == "idle"
    assert handle.status == "completed"
    assert sorted(ran) == ["Paris", "Rome"]
    assert sorted(injected(simulator)) == ["Paris is fine", "Rome is fine"]


def test_what_was_injected_late_is_acknowledged_after_the_end(team):
    lane, _ = team(inject_acknowledge="after_terminal")
    handle = lane.create("Compare the weather in Rome and Paris.")
    sent = []
    while lane.wait(30) == "waiting_input":
        for needed in lane.required_input:
            lane.fill(needed.key, output="18 C")
        sent.append(lane.inject())
    assert handle.status == "completed"
    assert [one.state for one in sent] == ["created"] * len(sent)


async def test_an_inject_can_be_awaited(team):
    lane, _ = team()
    lane.create("Compare the weather in Rome and Paris.")
    assert await lane.settled() == "waiting_input"
    lane.cancel_all()
    sent = await lane.inject()
    assert sent.state == "created"
    assert sent.input[0]["type"] == "function_call_output"


def test_the_usage_of_a_response_with_injects_counts_once(team):
    lane, _ = team()
    handle = lane.create("Compare the weather in Rome and Paris.")
    while lane.wait(30) == "waiting_input":
        for needed in lane.required_input:
            lane.fill(needed.key, output="18 C")
        lane.inject()
    frames = lane.session.trace.frames
    assert len(frames.responses) == 1
    assert frames.usage["tokens"].sum() == handle.usage["total_tokens"]
    rows = frames.required_inputs
    assert list(rows["agent_name"]) == ["/root/rome", "/root/paris"]
    assert list(rows["sent_as"]) == ["inject", "inject"]
    assert set(rows["continuation_response_id"]) == {handle.id}
    calls = frames.tool_calls[frames.tool_calls["owner"] == "client"]
    assert set(calls["answered_in_response_id"]) == {handle.id}
    assert list(calls["answered_by"]) == ["user", "user"]
    events = frames.events
    assert set(events[events["direction"] == "out"]["type"]) == {
        "response.create",
        "response.inject",
    }
    assert {"/root", "/root/rome", "/root/paris"} == set(events["agent_name"].dropna())
    items = frames.items.set_index("type")
    assert items.loc["agent_message", "encrypted"].all()
    assert len(frames.problems) == 0


def test_asked_over_http_the_service_proves_what_was_injected(team):
    lane, simulator = team(connection_lost="go_on", inject_acknowledge="after_terminal")
    session = lane.session
    handle = lane.create("Compare the weather in Rome and Paris.")
    when(session, lambda ledger: len(asked_on(ledger.lanes["team"])) == 2)
    rome, paris = lane.required_input
    lane.fill(rome.key, output="18 C")
    sent = lane.inject()
    until(lambda: injected(simulator))
    cut(session)
    until(lambda: (lane.check(), handle.status)[1] == "completed")
    # The scout in Rome went on, so it has its answer; the one in Paris still waits for its own.
    assert sent.state == "created"
    lane.recover("continue")
    assert [one.key for one in lane.required_input] == [paris.key]
    lane.fill(paris.key, output="12 C")
    assert lane.send_continuation().wait(30).status == "completed"
    assert injected(simulator) == ["18 C"]


# -- what is refused here --------------------------------------------------------------------------


def test_several_agents_need_a_connection_that_asked_for_them(stage):
    with connect(stage.base_url, journal=False, quiet=True) as session:
        for ask in (
            lambda: session.lane("team", **TEAM),
            lambda: session.lane("other").create("go", **TEAM),
        ):
            with pytest.raises(errors.InvalidInput, match="%steer connect --multi-agent"):
                ask()
        assert stage.nothing_came()
        session.lane("off", multi_agent={"enabled": False}).create("go")
        stage.expect("response.create")


def test_the_header_joins_what_is_there(stage):
    headers = {"openai-beta": "responses_websockets=2026-02-06"}
    with connect(stage.base_url, headers=headers, multi_agent=True, journal=False, quiet=True):
        sent = {name.lower(): value for name, value in stage.headers[0].items()}
    assert sent["openai-beta"] == "responses_websockets=2026-02-06, responses_multi_agent=v1"


def test_what_an_inject_cannot_do_is_said(stage, session):
    lane = session.lane("team", **TEAM)
    with pytest.raises(errors.NothingToContinue, match="nothing was sent on it yet"):
        lane.inject()
    begin(stage, lane, {**call("a"), **ROME})
    with pytest.raises(errors.LaneBusy, match="only a single agent can be steered"):
        lane.steer("Shorter.")
    with pytest.raises(errors.LaneBusy, match="waits for 1 answer"):
        lane.send("And then?")
    lane.fill("a", output="18")
    with pytest.raises(errors.LaneBusy, match="filled but not sent"):
        lane.send("And then?")
    assert stage.nothing_came()


# -- against a server driven by hand ---------------------------------------------------------------


def test_an_inject_is_on_the_disk_before_it_leaves(stage, session):
    lane = session.lane("team", **TEAM)
    begin(stage, lane, {**call("a"), **ROME})
    lane.fill("a", output="18")
    sent = lane.inject()
    message, disk = stage.expect_with_disk("response.inject")
    assert_beta_client_event(message)
    assert set(message) == {"type", "response_id", "input"}
    assert any(json.loads(line["raw"]) == message for line in disk if line.get("kind") == "out")
    assert sent.state == "sent"
    assert lane.in_flight[-1] == f"{sent.key} is sent and not acknowledged"
    created(stage)
    assert sent.wait(10).state == "created"


def test_too_late_the_answers_stay_and_go_out_with_the_continuation(stage, session):
    lane = session.lane("team", **TEAM)
    item = {**call("a"), **ROME}
    begin(stage, lane, item)
    lane.fill("a", output="18")
    sent = lane.inject()
    request = stage.expect("response.inject")
    ended(stage, item)
    when(session, lambda ledger: not ledger.responses["p"].is_live)
    with pytest.raises(errors.NothingToContinue, match="not acknowledged yet"):
        lane.send_continuation()
    failed(stage, *request["input"])
    assert sent.wait(10).state == "failed"
    assert sent.error == {"code": "response_already_completed", "message": "Too late."}
    with pytest.raises(errors.LaneBusy, match="go out with the continuation"):
        sent.send_again()
    assert lane.wait(10) == "waiting_input"
    assert [needed.state for needed in lane.required_input] == ["filled"]
    lane.send_continuation()
    following = stage.expect("response.create")
    assert (following["previous_response_id"], following["input"]) == ("p", request["input"])


def test_a_function_that_was_too_late_continues_by_itself_once(stage, session):
    def get_weather(city: str) -> str:
        return f"{city} is fine"

    lane = session.lane("team", tools=[tool(get_weather, policy="auto")], **TEAM)
    item = {**call("a"), **ROME}
    begin(stage, lane, item)
    request = stage.expect("response.inject")
    ended(stage, item)
    failed(stage, *request["input"])
    following = stage.expect("response.create")
    assert following["input"] == request["input"]
    assert lane.state == "queued"
    assert stage.nothing_came()


def test_a_function_whose_inject_was_refused_waits_for_a_person(stage, session):
    def get_weather(city: str) -> str:
        return f"{city} is fine"

    lane = session.lane("team", tools=[tool(get_weather, policy="auto")], **TEAM)
    begin(stage, lane, {**call("a"), **ROME})
    stage.expect("response.inject")
    stage.send(error("invalid_value"))
    assert lane.wait(10) == "waiting_input"
    assert lane.required_input[0].state == "filled"
    assert stage.nothing_came()
    lane.inject()  # by a person's word
    stage.expect("response.inject")


def test_cut_between_inject_and_acknowledgement(stage, session):
    """The outcome is unknown: nothing goes out again by itself, and nothing is lost."""
    lane = session.lane("team", **TEAM)
    begin(stage, lane, {**call("a"), **ROME}, {**call("b"), **PARIS})
    lane.fill("a", output="18")
    sent = lane.inject()
    request = stage.expect("response.inject")
    stage.drop()
    when(session, lambda ledger: len(ledger.connections) == 2)
    assert sent.wait(10).state == "unknown"
    assert lane.state == "detached"
    assert sent.key in session.status()["to_decide"]
    assert f"the outcome of {sent.key} is unknown" in lane.in_flight
    with pytest.raises(errors.LaneBusy, match="Say how it goes on"):
        sent.send_again()
    assert stage.nothing_came()
    lane.recover("rebuild")
    assert sent.key not in session.status()["to_decide"]
    lane.create("Go on.")
    repeated = stage.expect("response.create")
    assert repeated["multi_agent"] == TEAM["multi_agent"]
    answers = [i for i in repeated["input"] if i["type"] == "function_call_output"]
    assert answers[0] == request["input"][0]
    assert [answer["call_id"] for answer in answers] == ["a", "b"]  # the other one is cancelled


@pytest.mark.parametrize("decision", ["send_again", "drop"])
def test_cut_after_the_end_a_person_decides(stage, session, decision):
    lane = session.lane("team", **TEAM)
    item = {**call("a"), **ROME}
    begin(stage, lane, item)
    lane.fill("a", output="18")
    sent = lane.inject()
    request = stage.expect("response.inject")
    ended(stage, item)
    when(session, lambda ledger: not ledger.responses["p"].is_live)
    stage.drop()
    when(session, lambda ledger: len(ledger.connections) == 2)
    lane.recover("continue")
    with pytest.raises(errors.NothingToContinue, match="unknown outcome"):
        lane.send_continuation()
    if decision == "drop":
        sent.drop()
        assert lane.required_input[0].state == "filled"
        lane.send_continuation()
    else:
        sent.send_again()
        with pytest.raises(errors.LaneBusy, match="already sent again"):
            sent.send_again()
    following = stage.expect("response.create")
    assert (following["previous_response_id"], following["input"]) == ("p", request["input"])
    assert stage.nothing_came()


def test_recovered_from_its_journal_it_is_as_it_was(stage, session):
    """A kernel that died between inject and acknowledgement."""
    lane = session.lane("team", **TEAM)
    begin(stage, lane, {**call("a"), **ROME})
    lane.fill("a", output="18")
    sent = lane.inject()
    stage.expect("response.inject")
    session.close()
    path = session.journal_path
    live = {k: (i.state, i.answers) for k, i in Ledger(load(path)).injects.items()}
    assert live == {sent.key: ("unknown", ({**call_stub("a"), "output": "18"},))}
    again = recover(path, quiet=True, reconnect=False)
    assert again.status()["to_decide"] == ["lane team", sent.key]
    header = {name.lower(): value for name, value in stage.headers[-1].items()}
    assert header["openai-beta"] == "responses_multi_agent=v1"
    again["team"].recover("rebuild").create("Go on.")
    repeated = stage.expect("response.create")
    answers = [i for i in repeated["input"] if i["type"] == "function_call_output"]
    assert answers == [{**call_stub("a"), "output": "18"}]
    again.close()


def call_stub(key):
    return {"type": "function_call_output", "call_id": key, "name": "get_weather"}
