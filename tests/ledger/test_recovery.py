"""What is offered after a loss, and the conversation put together again from the trace."""

from __future__ import annotations

import pytest

import steer_nb
from steer_nb.ledger import recovery
from steer_nb.ledger.context import rebuild
from steer_nb.simulator import SCENARIOS, Simulator
from steer_nb.wire import STUB_KINDS, is_answer, stub_for, stub_key
from tests.support.strict import assert_input_item
from tests.support.traces import TraceBuilder, call, message, stub


def turn(builder: TraceBuilder, number: int, output: list, *, previous: str | None = None):
    builder.create(f"say {number}", lane="a", previous=previous)
    builder.created(f"r{number}", lane="a", previous=previous)
    for index, item in enumerate(output):
        builder.done(item, index, lane="a")
    return builder.ended(f"r{number}", lane="a", output=output, previous=previous)


def said(items: tuple[dict, ...]) -> list[str]:
    """What the items are, in short."""
    words = []
    for item in items:
        content = item.get("content")
        if isinstance(content, list):
            content = content[0]["text"]
        words.append(content or item.get("output") or item["type"])
    return words


def test_a_chain_is_repeated_from_its_root():
    builder = turn(TraceBuilder().connect(), 1, [message("one")])
    turn(builder, 2, [message("two")], previous="r1")
    context = rebuild(builder.trace.ledger, "r2")
    assert said(context.items) == ["say 1", "one", "say 2", "two"]
    assert (context.cancelled, context.left_out) == ((), ())


def test_only_up_to_the_response_that_is_asked_for():
    builder = turn(TraceBuilder().connect(), 1, [message("one")])
    turn(builder, 2, [message("two")], previous="r1")
    assert said(rebuild(builder.trace.ledger, "r1").items) == ["say 1", "one"]


def test_steers_stand_where_they_were_applied():
    builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
    builder.steer("p", "first").steer("p", "second")
    builder.accepted("s1", "p", lane="a").accepted("s2", "p", lane="a")
    builder.done(message("half"), lane="a")
    builder.ended("p", "incomplete", lane="a", reason="steered", output=[message("half")])
    builder.created("q", lane="a", previous="p")
    builder.ended("q", lane="a", output=[message("whole")], previous="p")
    context = rebuild(builder.trace.ledger, "q")
    assert said(context.items) == ["go", "half", "first", "second", "whole"]


def test_a_steer_that_was_not_applied_is_not_repeated():
    builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
    builder.steer("p", "lost").delta("ha", lane="a").close()
    context = rebuild(builder.trace.ledger, "p")
    assert said(context.items) == ["go"]
    assert context.left_out == ("the unfinished text of p",)


def test_every_call_has_one_answer():
    builder = turn(TraceBuilder().connect(), 1, [call("c1"), call("c2"), call("c3")])
    item = {**stub("c1"), "output": "sent"}
    builder.note("filled", lane="a", parent="r1", key="c1", item=item, by="user")
    builder.note(
        "filled", lane="a", parent="r1", key="c2", item={**stub("c2"), "output": "kept"}, by="user"
    )
    context = rebuild(builder.trace.ledger, "r1")
    assert said(context.items)[4:] == ["sent", "kept", "Cancelled by the user; it was not run."]
    assert context.cancelled == ("c3",)


def test_an_answer_in_the_next_request_is_not_given_twice():
    builder = turn(TraceBuilder().connect(), 1, [call("c1")])
    builder.create([{**stub("c1"), "output": "18"}], lane="a", previous="r1")
    builder.created("r2", lane="a", previous="r1")
    builder.ended("r2", lane="a", previous="r1", output=[message("ok")])
    context = rebuild(builder.trace.ledger, "r2")
    assert said(context.items) == ["say 1", "function_call", "18", "ok"]


def test_a_conversation_that_began_elsewhere_cannot_be_repeated():
    builder = turn(TraceBuilder().connect(), 2, [message("two")], previous="r1")
    ledger = builder.close().trace.ledger
    assert rebuild(ledger, "r2") is None
    offer = recovery.offer(ledger, ledger.lanes["a"])
    assert [choice.word for choice in offer.choices] == ["continue", "leave"]
    assert "began before this trace" in offer.truth[-1]


def test_a_fork_is_repeated_with_what_it_hangs_on():
    builder = turn(TraceBuilder().connect(), 1, [message("one")])
    builder.create("fork", lane="b", previous="r1").created("f", lane="b", previous="r1")
    builder.ended("f", lane="b", previous="r1", output=[message("other")])
    context = rebuild(builder.trace.ledger, "f")
    assert said(context.items) == ["say 1", "one", "fork", "other"]


def test_no_offer_without_a_loss():
    builder = turn(TraceBuilder().connect(), 1, [message("one")])
    ledger = builder.trace.ledger
    assert recovery.offer(ledger, ledger.lanes["a"]) is None


def test_what_was_not_stored_is_not_continued():
    builder = TraceBuilder().connect()
    builder.out({"type": "response.create", "store": False, "input": "x", "stream_id": "a"})
    builder.created("r1", lane="a").ended("r1", lane="a", output=[message("one")]).close()
    ledger = builder.trace.ledger
    words = [c.word for c in recovery.offer(ledger, ledger.lanes["a"]).choices]
    assert words == ["rebuild", "leave"]


@pytest.mark.parametrize("name", [name for name in SCENARIOS if name != "failures"])
def test_a_rebuilt_conversation_is_valid_input_for_every_scenario(name):
    """Strictly as the SDK has input items, and with exactly one answer for each call."""
    with Simulator(name, speed=0) as simulator:
        session = steer_nb.connect(simulator.base_url, journal=False, quiet=True)
        with session:
            lane = session.lane("a")
            lane.create("Please begin.")
            for _ in range(4):
                if lane.wait(20) != "waiting_input":
                    break
                lane.cancel_all()
                lane.send_continuation()
            ledger = session.trace.ledger
            for response in ledger.responses.values():
                context = rebuild(ledger, response.id)
                answers: list[str] = []
                calls: list[str] = []
                hosted = {
                    item["call_id"]
                    for item in context.items
                    if item["type"] == "shell_call" and stub_for(item) is None
                }
                for item in context.items:
                    assert_input_item(item)
                    if item.get("call_id") in hosted:
                        continue
                    if item["type"] in STUB_KINDS and is_answer(item):
                        answers.append(stub_key(item))
                    elif asked := stub_for(item):
                        calls.append(stub_key(asked))
                assert sorted(answers) == sorted(calls)
                assert len(set(calls)) == len(calls)


def test_answers_whose_response_failed_are_in_what_is_true_and_in_what_is_offered():
    builder = turn(TraceBuilder().connect(), 1, [call("call_1")])
    item = {**stub("call_1"), "output": "18"}
    builder.note("filled", lane="a", parent="r1", key="call_1", item=item, by="user")
    builder.create([item], lane="a", previous="r1").created("r2", lane="a", previous="r1")
    builder.ended("r2", "failed", lane="a", previous="r1").close()
    ledger = builder.trace.ledger
    offer = recovery.offer(ledger, ledger.lanes["a"])
    assert offer.truth[1:] == (
        "r2 ended: failed.",
        "r1 waits for 1 answer; 1 is filled, and saved.",
    )
    best = offer.choices[0]
    assert (best.word, best.base) == ("continue", "r1")
    assert best.says.endswith("with its answers")
    assert said(rebuild(ledger, "r1").items) == ["say 1", "function_call", "18"]
