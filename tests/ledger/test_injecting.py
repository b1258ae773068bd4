"""The rules of injects: FIFO answers, nothing lost, nothing twice."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steer_nb.ledger import Ledger, checking, recovery, rules
from tests.support.traces import TraceBuilder, call, response, stub

AGENT = {"agent_name": "/root/rome"}


def running(*keys: str) -> TraceBuilder:
    """A multi-agent response that is written, whose agents made these calls."""
    create = {
        "type": "response.create",
        "model": "m",
        "input": "go",
        "multi_agent": {"enabled": True},
    }
    builder = TraceBuilder().connect().out(create, key="create-1").created("p")
    for index, key in enumerate(keys):
        builder.done({**call(key), "agent": AGENT}, index)
    return builder


def fill(builder: TraceBuilder, key: str, value: str = "18") -> dict[str, Any]:
    item = {**stub(key), "output": value}
    builder.note("filled", lane=None, parent="p", key=key, item=item, by="user")
    return item


def inject(builder: TraceBuilder, *items: dict[str, Any], key: str = "inject-2") -> TraceBuilder:
    return builder.out(
        {"type": "response.inject", "response_id": "p", "input": list(items)}, key=key
    )


def created(builder: TraceBuilder) -> TraceBuilder:
    return builder.event("response.inject.created", response_id="p")


def failed(
    builder: TraceBuilder, *items: dict[str, Any], code: str = "response_already_completed"
) -> TraceBuilder:
    error = {"code": code, "message": f"simulated {code}"}
    return builder.event("response.inject.failed", response_id="p", input=list(items), error=error)


def states(builder: TraceBuilder) -> dict[str, str]:
    return {k: s.state for k, s in builder.trace.ledger.responses["p"].required.items()}


def word(builder: TraceBuilder) -> str:
    return rules.lane_word(builder.trace.ledger.lanes[None])


def test_a_waiting_agent_can_be_answered_while_the_response_runs():
    builder = running("a", "b")
    parent = builder.trace.ledger.responses["p"]
    assert word(builder) == "waiting_input"
    assert parent.required["a"].agent_name == "/root/rome"
    assert rules.may_inject(parent) == "nothing of what the agents of p wait for is filled."
    item = fill(builder, "a")
    parent = builder.trace.ledger.responses["p"]
    assert rules.may_inject(parent) is None
    assert rules.continuation_input(parent) == [item]
    assert "inject what its agents wait for" in rules.may_continue(parent)
    inject(builder, item)
    assert states(builder) == {"a": "sent", "b": "open"}
    assert word(builder) == "waiting_input"  # for the other one
    created(builder)
    stub_state = builder.trace.ledger.responses["p"].required["a"]
    assert (stub_state.state, stub_state.continuation_response_id) == ("confirmed", "p")
    assert stub_state.injected


def test_a_lane_whose_agents_have_all_their_answers_runs():
    builder = running("a")
    inject(builder, fill(builder, "a"))
    assert word(builder) == "running"
    created(builder).ended("p")
    assert word(builder) == "idle"
    # What was injected is part of the response: nothing that follows has to answer it again.
    ledger = builder.trace.ledger
    assert rules.demanded(ledger.responses["p"]) == []
    assert rules.may_create(ledger, None, "p") is None


def test_answers_come_in_the_order_of_the_injects():
    builder = running("a", "b")
    inject(builder, fill(builder, "a"), key="inject-2")
    inject(builder, fill(builder, "b"), key="inject-3")
    created(builder)
    assert states(builder) == {"a": "confirmed", "b": "sent"}
    created(builder)
    assert states(builder) == {"a": "confirmed", "b": "confirmed"}


def test_a_failure_is_told_by_the_items_that_come_back():
    builder = running("a", "b")
    inject(builder, fill(builder, "a"), key="inject-2")
    second = fill(builder, "b")
    inject(builder, second, key="inject-3")
    failed(builder, second)
    assert states(builder) == {"a": "sent", "b": "filled"}
    injects = builder.trace.ledger.injects
    assert (injects["inject-3"].state, injects["inject-2"].state) == ("failed", "sent")
    assert injects["inject-3"].error_code == "response_already_completed"


def test_too_late_for_the_response_its_answers_go_out_with_the_continuation():
    builder = running("a")
    item = fill(builder, "a")
    inject(builder, item).ended("p", output=[{**call("a"), "agent": AGENT}])
    # The acknowledgement is still to come, so nothing may follow yet.
    assert word(builder) == "queued"
    parent = builder.trace.ledger.responses["p"]
    assert "not acknowledged yet" in rules.may_continue(parent)
    assert "not acknowledged yet" in rules.may_create(builder.trace.ledger, None, "p", ["a"])
    failed(builder, item)
    assert word(builder) == "waiting_input"
    parent = builder.trace.ledger.responses["p"]
    assert rules.may_continue(parent) is None
    assert "has ended" in rules.may_inject(parent)
    builder.create([item], previous="p", key="create-3").created("q", previous="p").ended("q")
    assert states(builder) == {"a": "confirmed"}
    stub_state = builder.trace.ledger.responses["p"].required["a"]
    assert (stub_state.continuation_response_id, stub_state.injected) == ("q", False)


def test_an_acknowledgement_after_the_end_settles_the_lane():
    builder = running("a")
    inject(builder, fill(builder, "a")).ended("p")
    assert word(builder) == "queued"
    created(builder)
    assert word(builder) == "idle"


def test_a_lost_connection_leaves_the_outcome_unknown():
    builder = running("a")
    inject(builder, fill(builder, "a")).close()
    ledger = builder.trace.ledger
    assert ledger.injects["inject-2"].undecided
    assert states(builder) == {"a": "sent"}  # it may have been received: it is not open again
    offer = recovery.offer(ledger, ledger.lanes[None])
    assert any("inject-2" in said for said in offer.truth)
    # The repeated conversation holds the answer, so there is nothing left to decide.
    builder.connect().note("lane_recovered", lane=None, choice="rebuild", base="p")
    ledger = builder.trace.ledger
    assert not ledger.injects["inject-2"].undecided
    repeated = rules.repeated(ledger, ledger.lanes[None])
    assert [i for i in repeated if i["type"] == "function_call_output"] == [
        {**stub("a"), "output": "18"}
    ]


def test_an_agent_that_went_on_proves_that_it_has_its_answer():
    for item, proves in (
        ({"type": "reasoning", "id": "rs", "summary": []}, True),
        ({"type": "agent_message", "id": "am", "content": []}, True),
        (call("b"), False),  # a call more of the same turn
    ):
        builder = running("a")
        inject(builder, fill(builder, "a"))
        builder.added({**item, "agent": AGENT}, 1)
        builder.added({"type": "reasoning", "id": "x", "agent": {"agent_name": "/root"}}, 2)
        builder.close()
        ledger = builder.trace.ledger
        assert ledger.injects["inject-2"].state == ("created" if proves else "unknown")
        assert ledger.responses["p"].required["a"].injected is proves
    assert states(builder)["a"] == "sent"


@pytest.mark.parametrize("went_on", [True, False])
def test_asked_the_service_may_prove_it(went_on: bool):
    builder = running("a")
    inject(builder, fill(builder, "a")).close()
    assert builder.trace.ledger.injects["inject-2"].undecided
    output = [{**call("a"), "agent": AGENT}]
    if went_on:
        output.append({"type": "reasoning", "id": "rs", "summary": [], "agent": AGENT})
    body = response("p", status="completed", output=output)
    builder.note("checked", lane=None, response_id="p", response=body, input_items=None)
    ledger = builder.trace.ledger
    assert ledger.responses["p"].status == "completed"
    assert ledger.injects["inject-2"].undecided is not went_on
    said = checking.unsettled(ledger, ledger.lanes[None])
    assert any("inject-2 stays unknown" in one for one in said) is not went_on


def lost_after_the_end() -> TraceBuilder:
    builder = running("a")
    inject(builder, fill(builder, "a")).ended("p").close().connect()
    return builder.note("lane_recovered", lane=None, choice="continue", base="p")


def test_unknown_after_the_end_a_person_decides_first():
    builder = lost_after_the_end()
    ledger = builder.trace.ledger
    parent = ledger.responses["p"]
    assert states(builder) == {"a": "sent"}
    assert "unknown outcome" in rules.may_continue(parent)
    assert "unknown outcome" in rules.may_create(ledger, None, "p", ["a"])
    # Sent again, by a person's word: with the continuation.
    inject_state = ledger.injects["inject-2"]
    assert rules.may_continue(parent, again=inject_state) is None
    assert rules.continuation_input(parent, again=inject_state) == [{**stub("a"), "output": "18"}]
    builder.note("dropped", key="inject-2")
    assert states(builder) == {"a": "filled"}
    assert rules.may_continue(builder.trace.ledger.responses["p"]) is None


def test_sent_again_it_is_carried_once():
    builder = lost_after_the_end()
    body = {
        "type": "response.create",
        "previous_response_id": "p",
        "input": [{**stub("a"), "output": "18"}],
    }
    data = {"key": "create-3", "lane": None, "again": "inject-2"}
    builder.add("out", raw=json.dumps(body), data=data)
    ledger = builder.trace.ledger
    assert ledger.injects["inject-2"].again_key == "create-3"
    assert ledger.responses["p"].required["a"].request_key == "create-3"


def test_an_error_event_without_a_number_refuses_the_inject_and_not_the_response():
    builder = running("a")
    inject(builder, fill(builder, "a"))
    builder.event("error", status=400, error={"type": "t", "code": "invalid_value", "message": "m"})
    ledger = builder.trace.ledger
    assert ledger.responses["p"].is_live
    assert ledger.injects["inject-2"].state == "failed"
    assert states(builder) == {"a": "filled"}


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("websocket_connection_limit_reached", 400),
        ("invalid_stream_id", 400),
        ("usage_limit_reached", 429),
        ("server_error", 500),
    ],
)
def test_an_error_that_says_nothing_of_a_message_gives_no_answer_back(code: str, status: int):
    builder = running("a")
    inject(builder, fill(builder, "a"))
    builder.event("error", status=status, error={"type": "t", "code": code, "message": "m"})
    assert builder.trace.ledger.injects["inject-2"].state != "failed"
    assert states(builder) == {"a": "sent"}


def test_an_error_that_may_be_about_a_request_is_about_the_request():
    builder = running("a")
    inject(builder, fill(builder, "a"))
    builder.create("else", lane="other", key="create-3")
    builder.event("error", lane="other", status=400, error={"type": "t", "message": "m"})
    ledger = builder.trace.ledger
    assert ledger.requests["create-3"].state == "failed"
    assert ledger.injects["inject-2"].live


def test_an_error_with_a_number_breaks_the_response_and_leaves_nothing_to_decide():
    builder = running("a")
    inject(builder, fill(builder, "a"))
    builder.event("error", sequence_number=9, error={"type": "t", "code": "c", "message": "m"})
    ledger = builder.trace.ledger
    assert ledger.responses["p"].status == "error"
    assert not ledger.injects["inject-2"].live
    assert not ledger.injects["inject-2"].undecided


def test_one_that_never_left_gives_its_answers_back():
    builder = running("a")
    inject(builder, fill(builder, "a")).note("unsent", key="inject-2", reason="no socket")
    assert states(builder) == {"a": "filled"}
    assert builder.trace.ledger.injects["inject-2"].error_code == "not_sent"


def test_acknowledgements_of_what_was_not_recorded_are_kept():
    builder = created(running("a"))
    (inject_state,) = builder.trace.ledger.injects.values()
    assert (inject_state.state, inject_state.sent) == ("created", None)


def test_a_single_agent_takes_no_answers_while_it_writes():
    builder = TraceBuilder().connect().create("go").created("p").done(call("a"))
    fill(builder, "a")
    parent = builder.trace.ledger.responses["p"]
    assert "single agent" in rules.may_inject(parent)
    assert word(builder) == "running"


def test_several_agents_cannot_be_steered():
    lane = running().trace.ledger.lanes[None]
    assert "only a single agent can be steered" in rules.may_steer(lane)


@pytest.mark.parametrize("kind", ["added", "done"])
def test_the_agent_of_an_item_is_known_from_the_event_too(kind: str):
    builder = running()
    item = {"type": "reasoning", "id": "rs", "summary": []}
    builder.event(f"response.output_item.{kind}", output_index=0, item=item, agent=AGENT)
    assert builder.trace.ledger.responses["p"].items[0].agent_name == "/root/rome"


def test_what_agents_tell_each_other_is_not_the_answer():
    builder = running()
    text = {"type": "text", "text": "Rome is warm."}
    message = {"type": "agent_message", "id": "am", "author": "/root/rome", "recipient": "/root"}
    builder.done({**message, "content": [text], "agent": AGENT})
    parent = builder.trace.ledger.responses["p"]
    assert parent.text == ""
    assert parent.items[0].joined("message") == "Rome is warm."


STEPS = ("call", "fill", "inject", "created", "failed", "end", "lose")


@settings(max_examples=150, deadline=None)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=25))
def test_no_value_is_lost_and_none_is_under_way_twice(steps: list[str]):
    builder = running("k0")
    keys, injects = ["k0"], 0
    for step in steps:
        parent = builder.trace.ledger.responses["p"]
        if step == "call" and parent.is_live:
            keys.append(f"k{len(keys)}")
            builder.done({**call(keys[-1]), "agent": AGENT}, len(keys) - 1)
        elif step == "fill":
            open_keys = [s.key for s in parent.waiting_for if s.state == "open"]
            if open_keys:
                fill(builder, open_keys[0], f"value of {open_keys[0]}")
        elif step == "inject" and rules.may_inject(parent) is None:
            injects += 1
            inject(builder, *rules.continuation_input(parent), key=f"inject-{injects}")
        elif step == "created" and parent.live_injects:
            created(builder)
        elif step == "failed" and parent.live_injects:
            failed(builder, *parent.live_injects[0].answers)
        elif step == "end" and parent.is_live:
            builder.ended("p")
        elif step == "lose" and builder.trace.ledger.connections[1].closed is None:
            builder.close()
        parent = builder.trace.ledger.responses["p"]
        for one in parent.required.values():
            if one.state != "open":
                assert one.item == {**stub(one.key), "output": f"value of {one.key}"}
            carriers = [
                i.key
                for i in parent.injects
                if (i.live or i.undecided) and any(a["call_id"] == one.key for a in i.answers)
            ]
            assert len(carriers) <= 1
            assert (one.state == "sent") == bool(carriers)
    # Folded once more, from the entries alone, it is the same.
    again = Ledger(builder.trace.entries)
    assert {k: (i.state, i.answers) for k, i in again.injects.items()} == {
        k: (i.state, i.answers) for k, i in builder.trace.ledger.injects.items()
    }
