"""The rules of required input (protocol 5.4 and 6)."""

from __future__ import annotations

import pytest

from steer_nb.ledger import deciding, rules
from tests.support.traces import TraceBuilder, call, message, stub


def waiting(*, listed: bool, steers: int = 0) -> TraceBuilder:
    builder = TraceBuilder().connect().create("go").created("p")
    for number in range(steers):
        builder.steer("p", f"steer {number}").accepted(f"st{number}", "p")
    builder.added({**call(), "arguments": ""}).done(call()).ended("p", output=[call()])
    if listed:
        for number in range(steers):
            builder.pending(f"st{number}", "p", [stub()])
    return builder


def required(builder: TraceBuilder) -> list[tuple[str, str, dict]]:
    parent = builder.trace.ledger.responses["p"]
    return [(s.key, s.state, s.stub) for s in parent.required.values()]


def fill(builder: TraceBuilder, value: str = "18", key: str = "call_1") -> dict:
    item = {**stub(key), "output": value}
    builder.note("filled", lane=None, parent="p", key=key, item=item, by="user")
    return item


def test_the_set_is_the_same_when_pending_is_late_or_never_comes():
    never = required(waiting(listed=False))
    assert never == [("call_1", "open", stub())]
    assert required(waiting(listed=True, steers=1)) == never
    assert required(waiting(listed=True, steers=3)) == never
    assert rules.lane_word(waiting(listed=False).trace.ledger.lanes[None]) == "waiting_input"


def test_a_call_that_only_the_terminal_names():
    trace = TraceBuilder().connect().create("go").created("p").ended("p", output=[call()])
    assert required(trace) == [("call_1", "open", stub())]


def test_a_terminal_without_output_takes_the_items():
    trace = TraceBuilder().connect().create("go").created("p").done(call()).ended("p")
    assert required(trace) == [("call_1", "open", stub())]


def test_a_call_that_the_service_answered_itself_is_not_asked_for():
    shell = {
        "type": "shell_call",
        "id": "sh",
        "call_id": "c",
        "status": "completed",
        "action": {"commands": ["ls"]},
    }
    output = {"type": "shell_call_output", "id": "so", "call_id": "c", "output": []}
    trace = TraceBuilder().connect().create("go").created("p").ended("p", output=[shell, output])
    assert required(trace) == []


def test_fill_edit_send_confirm():
    trace = waiting(listed=False)
    fill(trace, "17")
    item = fill(trace, "18")
    parent = trace.trace.ledger.responses["p"]
    assert rules.may_continue(parent) is None
    assert rules.continuation_input(parent) == [item]
    trace.create([item], previous="p", key="c2")
    assert required(trace)[0][1] == "sent"
    assert "already sent" in rules.may_continue(parent)
    assert "already sent" in rules.may_fill(parent, "call_1")
    trace.created("q", previous="p")
    assert required(trace)[0][1] == "confirmed"
    assert parent.required["call_1"].continuation_response_id == "q"
    assert trace.trace.ledger.responses["q"].origin == "tool_continuation"


def test_pending_after_the_continuation_asks_for_nothing_more():
    trace = waiting(listed=False, steers=1)
    item = fill(trace)
    trace.create([item], previous="p").pending("st0", "p", [stub()])
    assert [state for _, state, _ in required(trace)] == ["sent"]
    assert rules.parent_waiting(trace.trace.ledger.lanes[None]) is None
    trace.created("q", previous="p").pending("st0", "p", [stub()])
    assert [state for _, state, _ in required(trace)] == ["confirmed"]
    assert [s.state for s in trace.trace.ledger.steers.values()] == ["committed"]


def test_an_early_continuation_answers_a_stub_known_only_from_pending():
    trace = TraceBuilder().connect().create("go").created("p").steer("p").accepted("s", "p")
    trace.ended("p").create([{**stub(), "output": "18"}], previous="p")
    trace.pending("s", "p", [stub()])
    assert [state for _, state, _ in required(trace)] == ["sent"]


def test_what_the_services_list_has_no_word_for_is_still_asked_for():
    """The official stubs have none for a local shell's call; nobody else answers it."""
    local = {"type": "local_shell_call", "id": "lsh_1", "call_id": "call_1", "status": "completed",
             "action": {"type": "exec", "command": ["ls"], "env": {}}}  # fmt: skip
    trace = TraceBuilder().connect().create("go").created("p").steer("p").accepted("s", "p")
    trace.done(local, 0).done(call("call_2"), 1)
    trace.ended("p").pending("s", "p", [stub("call_2")])
    assert [(k, s) for k, s, _ in required(trace)] == [("call_1", "open"), ("call_2", "open")]


def test_the_services_list_is_the_last_word():
    trace = TraceBuilder().connect().create("go").created("p").steer("p").accepted("s", "p")
    trace.done(call("call_1"), 0).done(call("call_2"), 1)
    trace.ended("p").pending("s", "p", [stub("call_2"), stub("call_3")])
    assert [(k, s) for k, s, _ in required(trace)] == [
        ("call_1", "cancelled"),
        ("call_2", "open"),
        ("call_3", "open"),
    ]
    source = trace.trace.ledger.responses["p"].required
    assert [s.source for s in source.values()] == [
        "response_completed",
        "response_completed",
        "steer_pending",
    ]


def test_a_refused_continuation_gives_its_answers_back():
    trace = waiting(listed=False)
    item = fill(trace)
    trace.create([item], previous="p", key="c2")
    error = {"type": "invalid_request_error", "code": "bad", "message": "no"}
    trace.event("error", status=400, error=error)
    ledger = trace.trace.ledger
    assert required(trace)[0][1] == "filled"
    assert ledger.requests["c2"].state == "failed"
    assert rules.may_continue(ledger.responses["p"]) is None
    assert rules.lane_word(ledger.lanes[None]) == "waiting_input"


def test_a_continuation_lost_with_its_socket_is_unknown_and_not_sent_again():
    trace = waiting(listed=False)
    trace.create([fill(trace)], previous="p", key="c2").close()
    ledger = trace.trace.ledger
    assert ledger.requests["c2"].state == "unknown"
    assert "may have been received" in rules.may_continue(ledger.responses["p"])
    assert required(trace)[0][1] == "sent"


def test_a_continuation_that_never_left_can_be_sent():
    trace = waiting(listed=False)
    trace.create([fill(trace)], previous="p", key="c2").note("unsent", key="c2", reason="closed")
    assert rules.may_continue(trace.trace.ledger.responses["p"]) is None


def test_values_survive_a_lost_socket():
    trace = waiting(listed=False)
    fill(trace)
    trace.close()
    assert required(trace)[0][1] == "filled"


def test_what_was_not_answered_is_stale_once_the_lane_moved_on():
    trace = waiting(listed=False)
    trace.create("something else", previous="p").created("q", previous="p")
    assert required(trace)[0][1] == "stale"
    assert "moved on" in rules.may_fill(trace.trace.ledger.responses["p"], "call_1")


def test_a_failed_parent_needs_no_answers():
    trace = TraceBuilder().connect().create("go").created("p").done(call()).ended("p", "failed")
    assert required(trace)[0][1] == "stale"


def came_to_nothing(end: str, steers: int = 0) -> TraceBuilder:
    trace = waiting(listed=False, steers=steers)
    trace.create([fill(trace)], previous="p", key="c2").created("q", previous="p")
    if end == "error":
        error = {"type": "server_error", "code": "bad", "message": "no"}
        return trace.event("error", sequence_number=9, error=error)
    return trace.ended("q", end, previous="p")


@pytest.mark.parametrize("end", ["failed", "error"])
def test_a_continuation_whose_response_fails_gives_its_answers_back(end):
    # Hard case 35: the saved answer goes out again, by a person's word, and nothing is run again.
    trace = came_to_nothing(end)
    ledger = trace.trace.ledger
    lane, parent = ledger.lanes[None], ledger.responses["p"]
    assert required(trace)[0][1] == "filled"
    assert rules.lane_word(lane) == "waiting_input"
    assert rules.parent_waiting(lane) is parent
    assert rules.may_continue(parent) is None
    assert rules.continuation_input(parent) == [{**stub(), "output": "18"}]
    assert "filled but not sent" in rules.may_create(ledger, None, "p")
    trace.create([{**stub(), "output": "19"}], previous="p", key="c3").created("r", previous="p")
    ledger = trace.ended("r", previous="p").trace.ledger
    parent = ledger.responses["p"]
    assert (parent.successor.id, required(trace)[0][1]) == ("r", "confirmed")
    assert [r.id for r in ledger.responses.values() if r.left] == ["q"]
    assert "already sent" in rules.may_continue(parent)
    assert ledger.problems == []


def test_an_answer_goes_back_to_the_call_it_is_for_only():
    # A request that continues from an older response, and fails, takes nothing from a newer one.
    trace = came_to_nothing("completed")
    trace.create("Go on.", previous="q").created("r", previous="q").ended("r", previous="q")
    trace.create([{**stub(), "output": "20"}], previous="p", key="c9").created("s", previous="p")
    trace.ended("s", "failed", previous="p")
    lane = trace.trace.ledger.lanes[None]
    assert required(trace)[0][1] == "confirmed"
    assert rules.standing(lane).id == "r"
    assert rules.parent_waiting(lane) is None
    assert rules.lane_word(lane) == "failed"


def test_steers_in_a_continuation_that_failed_stay_committed_and_are_not_lost():
    trace = came_to_nothing("failed", steers=1)
    ledger = trace.trace.ledger
    steer = next(iter(ledger.steers.values()))
    assert (steer.state, steer.successor_id) == ("committed", "q")
    assert deciding.came_to_nothing(ledger, steer)
    trace.create([{**stub(), "output": "18"}], previous="p").created("r", previous="p")
    steer = next(iter(trace.trace.ledger.steers.values()))
    assert steer.successor_id == "q", "the service took it up there, and nowhere else"


def test_an_acknowledgement_after_the_successor_failed_still_commits():
    trace = TraceBuilder().connect().create("go").created("p").steer("p", "more", key="s")
    trace.ended("p", "incomplete", reason="steered").created("q", previous="p")
    trace.ended("q", "failed", previous="p").accepted("st", "p")
    steer = trace.trace.ledger.steers["s"]
    assert (steer.state, steer.successor_id) == ("committed", "q")
    assert rules.lane_word(trace.trace.ledger.lanes[None]) == "failed"


def test_async_calls_hold_nothing_back():
    trace = TraceBuilder().connect().create("go").created("p")
    trace.done(call("call_1"), 0).done({**call("call_2"), "async": True}, 1).ended("p")
    parent = trace.trace.ledger.responses["p"]
    assert [s.key for s in rules.unanswered(parent)] == ["call_1"]
    fill(trace)
    assert rules.may_continue(trace.trace.ledger.responses["p"]) is None


def test_a_tool_run_is_kept_with_its_call():
    trace = waiting(listed=False)
    data = {"lane": None, "parent": "p", "key": "call_1"}
    trace.note("tool_started", **data, name="get_weather", by="user")
    trace.note("tool_finished", **data, ok=True, output="18", error=None, duration_s=0.3)
    run = trace.trace.ledger.responses["p"].required["call_1"].tool
    assert (run.name, run.ok, run.output, run.duration_s) == ("get_weather", True, "18", 0.3)


def test_clearing_opens_again():
    trace = waiting(listed=False)
    fill(trace)
    trace.note("cleared", lane=None, parent="p", key="call_1")
    assert required(trace)[0][1] == "open"


def test_values_for_nothing_are_problems_not_crashes():
    trace = TraceBuilder().connect().note("filled", parent="x", key="k", item={}, by="user")
    trace.note("filled").note("tool_started", parent=1).note("lane", lane=["a"]).note("from_2030")
    trace.create([{**stub("zz"), "output": ""}], previous="nowhere")
    kinds = [p.kind for p in trace.trace.ledger.problems]
    assert kinds == ["orphan_output", "bad_json", "bad_json", "bad_json"]


def test_a_stub_that_nothing_identifies_is_a_problem_and_the_others_are_asked_for():
    trace = TraceBuilder().connect().create("go").created("p").steer("p").accepted("s1", "p")
    trace.ended("p").pending("s1", "p", [{"type": "odd_output"}, stub()])
    assert [key for key, _, _ in required(trace)] == ["call_1"]
    assert [p.kind for p in trace.trace.ledger.problems] == ["odd_field"]


def test_a_result_without_a_call_id_is_sent_and_noted():
    trace = waiting(listed=False)
    trace.create([{"type": "function_call_output", "output": "?"}], previous="p", key="c")
    ledger = trace.trace.ledger
    assert ledger.requests["c"].state == "sent"
    assert [p.detail for p in ledger.problems] == [
        "p: nothing asks for a function_call_output without a key"
    ]


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda b: b, "still being written"),
        (lambda b: b.ended("p"), "asks for nothing"),
        (lambda b: b.done(call()).ended("p"), "1 answer still open for p: call_1"),
    ],
)
def test_why_not_continue(build, says):
    trace = build(TraceBuilder().connect().create("go").created("p"))
    assert says in rules.may_continue(trace.trace.ledger.responses["p"])


def test_why_not_create():
    ledger = waiting(listed=False).trace.ledger
    assert "waits for 1 answer (call_1)" in rules.may_create(ledger, None, "p")
    assert "waits for 1 answer" in rules.may_create(ledger, "fork", "p")
    assert rules.may_create(ledger, None, None) is None
    assert rules.may_create(ledger, None, "elsewhere") is None
    trace = waiting(listed=False)
    fill(trace)
    assert "filled but not sent" in rules.may_create(trace.trace.ledger, None, "p")
    steered = TraceBuilder().connect().create("go").created("p").steer("p")
    assert "still queued" in rules.may_create(steered.trace.ledger, None, "p")
    assert "still being written" in rules.may_create(steered.trace.ledger, "b", "p")


def test_why_not_steer():
    trace = TraceBuilder().connect().create("go")
    lane = trace.trace.ledger.lanes[None]
    assert "not started yet" in rules.may_steer(lane)
    trace.created("p")
    assert rules.may_steer(trace.trace.ledger.lanes[None]) is None
    trace.ended("p", output=[message("x")])
    assert "next turn" in rules.may_steer(trace.trace.ledger.lanes[None])
    assert "waits for input" in rules.may_steer(waiting(listed=False).trace.ledger.lanes[None])
    trace.close()
    assert "detached" in rules.may_steer(trace.trace.ledger.lanes[None])


def test_what_one_agent_told_another_is_no_answer_of_a_person():
    # A repeated conversation of several agents holds outputs that the service wrote itself.
    told = {"type": "multi_agent_call_output", "call_id": "call_9", "output": []}
    user = {"type": "message", "role": "user", "content": "Go on."}
    trace = TraceBuilder().connect().create([told, user], key="c1").created("p").ended("p")
    ledger = trace.trace.ledger
    assert ledger.requests["c1"].answers == ()
    assert ledger.responses["p"].origin == "create"
