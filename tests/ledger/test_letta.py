"""What Letta's messages state, given those before them: runs, calls that wait, answers."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from steer_nb.ledger import Ledger, rules
from steer_nb.trace import Entry, Trace
from tests.support.letta import (
    AGENT,
    PATH,
    PENDING,
    LettaBuilder,
    approval,
    denial,
    tool_call,
    tool_return,
)


def ledger_of(builder: LettaBuilder) -> Ledger:
    return builder.trace.ledger


def states(builder: LettaBuilder, run: str = "run-1") -> dict[str, str]:
    return {key: stub.state for key, stub in ledger_of(builder).responses[run].required.items()}


def word(builder: LettaBuilder, lane: str = AGENT) -> str:
    return rules.lane_word(ledger_of(builder).lanes[lane])


def asked(*, tools: tuple[str, ...] = ()) -> LettaBuilder:
    """A run that waits for two calls, as they come in token mode."""
    builder = LettaBuilder().say("Delete", tools=tools).ping("run-1")
    builder.text("run-1", "I will ").text("run-1", "ask.")
    for name, call_id in (("rm", "c1"), ("read_cell", "c2")):
        builder.piece("run-1", tool_call(call_id, name, None))
        builder.piece("run-1", tool_call(call_id, None, '{"p"'))
        builder.piece("run-1", tool_call(call_id, None, ":1}"))
    return builder.stop("requires_approval")


def test_a_run_that_waits():
    builder = asked(tools=("read_cell",))
    (response,) = ledger_of(builder).responses.values()
    assert (response.id, response.status, response.status_raw) == (
        "run-1",
        "completed",
        "requires_approval",
    )
    assert response.text == "I will ask."
    assert [item.source for item in response.items.values()] == ["done", "done", "terminal"]
    first, second = response.required.values()
    assert (first.key, first.type, first.name, first.source, first.state) == (
        "c1",
        "letta_approval",
        "rm",
        "letta_stream",
        "open",
    )
    assert (second.key, second.type, second.name) == ("c2", "letta_tool_return", "read_cell")
    assert first.call is not None
    assert first.call["arguments"] == '{"p":1}'
    assert (first.call["agent_id"], first.call["step_id"]) == (AGENT, "step-run-1")
    assert response.tokens("total_tokens") == 5
    assert word(builder) == "waiting_input"
    assert rules.parent_waiting(ledger_of(builder).lanes[AGENT]) is response


def test_a_stop_for_another_reason_asks_for_nothing():
    builder = LettaBuilder().say()
    builder.piece("run-1", tool_call("c1")).stop("cancelled", tokens=None)
    assert states(builder) == {}
    assert ledger_of(builder).responses["run-1"].status == "cancelled"


def test_answers_are_sent_and_shown():
    builder = asked()
    builder.answer(approval("c2", False, "no"), approval("c1"), key="mine")
    assert states(builder) == {"c1": "sent", "c2": "sent"}
    builder.ping("run-2")
    assert states(builder) == {"c1": "sent", "c2": "sent"}  # a successor alone is no proof
    run = ledger_of(builder).responses["run-2"]
    assert (run.previous_response_id, run.origin) == ("run-1", "approval_continuation")
    builder.returns("run-2", denial("c2"), tool_return("c1")).text("run-2", "Done.").stop()
    assert states(builder) == {"c1": "confirmed", "c2": "confirmed"}
    stub = run.lane.responses[0].required["c1"]
    assert (stub.item, stub.request_key) == (approval_sent("c1"), "mine")
    assert stub.continuation_response_id == "run-2"
    assert run.lane.responses[0].results["c1"].response_id == "run-2"
    assert word(builder) == "idle"


def approval_sent(call_id: str) -> dict[str, Any]:
    return {"type": "approval", "tool_call_id": call_id, "approve": True}


def test_answers_that_no_stream_shows_are_shown_by_the_history():
    builder = asked()
    builder.answer(approval("c1", False), approval("c2", False)).text("run-2", "Fine.").stop()
    assert states(builder) == {"c1": "sent", "c2": "sent"}
    before = len(ledger_of(builder).responses["run-2"].items)
    builder.history(
        builder.request_body("run-1", tool_call("c1"), tool_call("c2", "read_cell")),
        builder.decided_body("run-2", approval("c1", False, "n"), approval("c2", False, "n")),
        builder.returns_body("run-2", denial("c1"), denial("c2")),
        builder.body("assistant_message", "run-2", content="Fine.", otid="run-2-t"),
    )
    assert states(builder) == {"c1": "confirmed", "c2": "confirmed"}
    run = ledger_of(builder).responses["run-2"]
    assert [item.source for item in run.items.values()] == ["terminal", *["history"] * 3]
    assert len(run.items) == before + 3
    assert [item.source for item in run.ordered] == [*["history"] * 3, "terminal"]
    assert [item.type for item in run.ordered][-2:] == ["letta_tool_call_output", "message"]
    assert run.text == "Fine."
    assert not ledger_of(builder).problems


def test_a_history_alone():
    builder = LettaBuilder()
    builder.history(
        builder.body("system_message", None, content="Be kind."),
        builder.body("user_message", "run-1", content="Delete", otid="mine"),
        builder.request_body("run-1", tool_call("c1")),
        builder.decided_body("run-2", approval("c1")),
        builder.returns_body("run-2", tool_return("c1")),
        builder.body("assistant_message", "run-2", content="Done."),
        builder.body("user_message", "run-3", content="More", otid="mine-2"),
        builder.request_body("run-3", tool_call("c3")),
    )
    ledger = ledger_of(builder)
    assert list(ledger.responses) == ["run-1", "run-2", "run-3"]
    assert [r.status for r in ledger.responses.values()] == ["completed"] * 3
    assert ledger.responses["run-2"].previous_response_id == "run-1"
    assert ledger.responses["run-2"].origin == "approval_continuation"
    assert states(builder) == {"c1": "confirmed"}
    assert states(builder, "run-3") == {"c3": "open"}
    assert ledger.responses["run-3"].required["c3"].source == "letta_history"
    assert word(builder) == "waiting_input"


def test_a_history_that_ends_within_a_run_says_no_end():
    builder = LettaBuilder()
    back = builder.returns_body("run-2", tool_return("c0"))
    builder.history(builder.body("assistant_message", "run-1", content="Hi"), back)
    assert ledger_of(builder).responses["run-2"].status == "truncated"
    builder.text("run-2", "and on").stop()
    run = ledger_of(builder).responses["run-2"]
    assert (run.status, run.text, run.tokens("total_tokens")) == ("completed", "and on", 5)


def test_a_history_twice_changes_nothing():
    builder = asked()
    listed = (
        builder.body("user_message", "run-1", content="Delete", otid="mine"),
        builder.body("assistant_message", "run-1", content="I will ask.", otid="run-1-t"),
        builder.request_body("run-1", tool_call("c1"), tool_call("c2", "read_cell")),
    )
    builder.history(*listed)
    once = seen(ledger_of(builder).responses["run-1"])
    builder.history(*listed)
    assert seen(ledger_of(builder).responses["run-1"]) == once


def test_a_history_while_the_run_is_written():
    builder = LettaBuilder().say().text("run-1", "Let me ").text("run-1", "see.")
    builder.calls("run-1", tool_call("c1"))
    builder.history(
        builder.body("assistant_message", "run-0", content="Before."),
        builder.body("assistant_message", "run-1", content="Let me see.", otid="run-1-t"),
    )
    ledger = ledger_of(builder)
    lane = ledger.lanes[AGENT]
    assert lane.current is ledger.responses["run-1"]
    assert [r.id for r in lane.responses] == ["run-0", "run-1"]
    # What the stream still brings of the same text is known.
    builder.text("run-1", "see.").returns("run-1", tool_return("c1"))
    builder.text("run-1", "So.", "u").stop()
    assert ledger_of(builder).responses["run-1"].text == "Let me see.\n\nSo."
    assert ledger_of(builder).responses["run-1"].status == "completed"
    assert lane.tip is ledger.responses["run-1"]


def test_calls_that_a_server_streams_and_drops_are_not_asked_for():
    builder = asked()
    builder.history(builder.request_body("run-1", tool_call("c2", "read_cell")))
    assert states(builder) == {"c1": "cancelled", "c2": "open"}


def test_the_run_that_a_refused_message_began_leaves_what_waits():
    builder = asked().say("Hello?")
    builder.in_({"message_type": "stop_reason", "stop_reason": "error"})
    builder.error("run-2", PENDING)
    run = ledger_of(builder).responses["run-2"]
    assert (run.status, run.status_raw, run.error_code) == ("failed", "error", "internal_error")
    assert run.error_message == PENDING
    assert run.request is not None
    assert states(builder) == {"c1": "open", "c2": "open"}
    assert word(builder) == "waiting_input"
    assert ledger_of(builder).errors[-1].type == "pending_approval"


def test_answers_that_are_refused_are_kept():
    builder = asked().note("filled", parent="run-1", key="c1", item=approval("c1"), by="user")
    builder.answer(approval("c1")).ping("run-2")
    assert states(builder) == {"c1": "sent", "c2": "stale"}
    builder.in_({"message_type": "stop_reason", "stop_reason": "error"})
    builder.error("run-2", "Invalid tool call IDs. Expected '['c1', 'c2']', but received '['c1']'.")
    assert states(builder) == {"c1": "filled", "c2": "open"}
    assert ledger_of(builder).responses["run-2"].error_message.startswith("Invalid tool call IDs")
    assert word(builder) == "waiting_input"


def test_answers_that_arrived_stay_so_where_the_run_fails_later():
    builder = asked().answer(approval("c1"), approval("c2"))
    builder.returns("run-2", tool_return("c1"), tool_return("c2")).stop("llm_api_error")
    builder.error("run-2", "429")
    assert states(builder) == {"c1": "confirmed", "c2": "confirmed"}
    assert word(builder) == "failed"


def test_a_message_that_is_refused_before_it_streams():
    builder = asked().say("Hello?")
    refusal = {"code": "PENDING_APPROVAL", "message": PENDING, "pending_request_id": "m"}
    builder.body_of({"detail": refusal}, status=409)
    (error,) = ledger_of(builder).errors
    assert (error.code, error.status, error.type) == ("PENDING_APPROVAL", 409, "pending_approval")
    assert error.request is not None
    assert error.request.state == "failed"
    assert word(builder) == "waiting_input"


def test_what_a_refused_message_was_told_waits():
    builder = LettaBuilder().say("Hello?")
    ask = builder.request_body("run-1", tool_call("c1"))
    refusal = {"code": "PENDING_APPROVAL", "message": PENDING, "pending_request_id": ask["id"]}
    builder.body_of({"detail": refusal}, status=409)
    builder.body_of({"id": AGENT, "pending_approval": ask}, path=f"/v1/agents/{AGENT}")
    response = ledger_of(builder).responses["run-1"]
    assert response.status == "completed"
    assert response.required["c1"].source == "letta_409"
    assert states(builder) == {"c1": "open"}


@pytest.mark.parametrize("reason", ["end_turn", "invalid_tool_call"])
def test_an_answer_that_shows_no_run(reason):
    builder = LettaBuilder().say().stop(reason)
    (response,) = ledger_of(builder).responses.values()
    assert response.id == f"{AGENT}/run-1"
    assert response.status == ("completed" if reason == "end_turn" else "failed")
    assert response.status_raw == reason
    assert response.request is not None


# -- cancelled -------------------------------------------------------------------------------------


def test_a_cancelled_request_is_released():
    builder = asked()
    builder.post({}, path=f"{PATH}/cancel")
    builder.body_of({"run-1": "cancelled"}, path=f"{PATH}/cancel")
    assert states(builder) == {"c1": "cancelled", "c2": "cancelled"}
    assert word(builder) == "idle"
    reason = "The user cancelled the request, so the tool call was denied."
    said = (approval("c1", False, reason), approval("c2", False, reason))
    builder.history(
        builder.decided_body("run-1", *said),
        builder.returns_body("run-1", denial("c1", reason), denial("c2", reason)),
    )
    assert states(builder) == {"c1": "cancelled", "c2": "cancelled"}
    assert not ledger_of(builder).requests.get("create-9")


def test_a_cancel_that_is_refused_is_about_no_message():
    builder = asked().say("Hello?").post({}, path=f"{PATH}/cancel")
    builder.body_of({"detail": "CONFLICT: No active runs to cancel"}, f"{PATH}/cancel", 409)
    assert not ledger_of(builder).errors
    assert word(builder) == "queued"
    builder.text("run-2", "Hi").stop()
    assert word(builder) == "idle"


@pytest.mark.parametrize("mark", [{}, {"unproven": True}])
def test_what_a_client_asks_about_is_not_taken_from_the_answer(mark):
    builder = asked().note("steer_queued", lane=AGENT, key="steer-1", parent="run-1", input="More")
    path = f"{PATH}/cancel"
    builder.in_({"run-1": "cancelled"}, body=path, status=200, **mark)
    assert set(states(builder).values()) == {"open" if mark else "cancelled"}
    said = (approval("c1", False), approval("c2", False))
    builder.history(
        builder.decided_body("run-1", *said),
        builder.returns_body("run-1", denial("c1"), denial("c2")),
    )
    assert set(states(builder).values()) == {"cancelled"}
    assert ledger_of(builder).steers["steer-1"].held


def test_a_history_shows_what_was_cancelled():
    builder = LettaBuilder()
    builder.history(
        builder.request_body("run-1", tool_call("c1")),
        builder.decided_body("run-1", approval("c1", False, "cancelled")),
        builder.returns_body("run-1", denial("c1", "cancelled")),
    )
    assert states(builder) == {"c1": "cancelled"}
    assert ledger_of(builder).responses["run-1"].status == "cancelled"


def test_a_named_conversation_stays_pending_when_its_run_is_cancelled():
    builder = asked()
    cancel = f"{PATH}/cancel"
    builder.lane = "agent-2"  # the call went to the agent, not to the conversation
    builder.body_of({"run-1": "cancelled"}, path=cancel)
    assert states(builder) == {"c1": "open", "c2": "open"}


def test_messages_that_are_cleared_away_take_what_waits_along():
    builder = asked().body_of({"id": AGENT}, path=f"/v1/agents/{AGENT}/reset-messages")
    assert states(builder) == {"c1": "stale", "c2": "stale"}


# -- streams that are read again -------------------------------------------------------------------


def test_a_stream_that_is_read_again_says_nothing_twice():
    builder = LettaBuilder().say()
    builder.ping("run-1", 1).text("run-1", "a", seq_id=2).text("run-1", "b", seq_id=3)
    builder.say()  # the same once more: the service attaches to the run that it has
    builder.ping("run-1", 1)
    for number, piece in enumerate("abc", start=2):
        builder.text("run-1", piece, seq_id=number)
    builder.stop().stop()
    ledger = ledger_of(builder)
    (response,) = ledger.responses.values()
    assert (response.text, response.n_deltas, response.sequence_gap) == ("abc", 3, False)
    assert [request.state for request in ledger.requests.values()] == ["started", "started"]
    assert {request.response_id for request in ledger.requests.values()} == {"run-1"}
    assert not ledger.problems
    assert word(builder) == "idle"


def test_a_stream_that_is_resumed_elsewhere():
    builder = LettaBuilder().say().text("run-1", "a", seq_id=2)
    builder.lane = "resumed"
    builder.post({"starting_after": 2}, path="/v1/runs/run-1/stream")
    builder.text("run-1", "b", seq_id=3).stop()
    ledger = ledger_of(builder)
    assert ledger.responses["run-1"].text == "ab"
    assert ledger.responses["run-1"].status == "completed"
    assert ledger.responses["run-1"].tokens("total_tokens") == 5
    assert len(ledger.requests) == 1


def test_a_gap_is_told():
    builder = LettaBuilder().text("run-1", "a", seq_id=2).text("run-1", "b", seq_id=5)
    assert [p.kind for p in ledger_of(builder).problems] == ["sequence_gap"]


def test_runs_side_by_side():
    builder = LettaBuilder().text("run-1", "a").text("run-2", "x").text("run-1", "b")
    builder.text("run-2", "y").in_(
        {"message_type": "stop_reason", "stop_reason": "end_turn"}, run="run-1"
    )
    builder.in_({"message_type": "stop_reason", "stop_reason": "end_turn"}, run="run-2")
    found = ledger_of(builder).responses
    assert {name: (r.text, r.status) for name, r in found.items()} == {
        "run-1": ("ab", "completed"),
        "run-2": ("xy", "completed"),
    }
    assert "history" not in {i.source for r in found.values() for i in r.items.values()}


def test_pieces_of_calls_may_alternate():
    builder = LettaBuilder()
    for text in ('{"p"', ":1}"):
        for call_id in ("c1", "c2"):
            builder.piece("run-1", tool_call(call_id, "rm", text))
    builder.stop("requires_approval")
    items = ledger_of(builder).responses["run-1"].items.values()
    assert [item.arguments for item in items] == ['{"p":1}'] * 2
    assert states(builder) == {"c1": "open", "c2": "open"}


# -- runs ------------------------------------------------------------------------------------------


def run_body(status: str, reason: str | None = None) -> dict[str, Any]:
    return {"id": "run-1", "agent_id": AGENT, "status": status, "stop_reason": reason}


def test_a_run_that_goes_on_by_itself():
    builder = LettaBuilder().post({"input": "Hi"}, path=f"{PATH}/async")
    builder.body_of(run_body("created"), path=f"{PATH}/async")
    response = ledger_of(builder).responses["run-1"]
    assert (response.status, response.origin) == ("in_progress", "create")
    builder.body_of(run_body("completed", "requires_approval"), path="/v1/runs/run-1")
    assert ledger_of(builder).responses["run-1"].status_raw == "requires_approval"
    builder.history(builder.request_body("run-1", tool_call("c1")))
    assert states(builder) == {"c1": "open"}
    builder.body_of(run_body("created"), path="/v1/runs/run-9")
    assert list(ledger_of(builder).responses) == ["run-1"]


def test_the_messages_of_a_run_that_were_asked_for_apart():
    builder = LettaBuilder().post({"input": "Hi"}, path=f"{PATH}/async")
    builder.body_of(run_body("created"), path=f"{PATH}/async")
    builder.lane = "runs"
    builder.history(builder.request_body("run-1", tool_call("c1")))
    ledger = ledger_of(builder)
    assert ledger.responses["run-1"].status == "completed"
    assert states(builder) == {"c1": "open"}
    assert word(builder) == "waiting_input"
    builder.lane = AGENT
    newer = builder.body("assistant_message", "run-2", content="Hi")
    builder.history(newer, {"message_type": "telepathy"})  # a list ends also with what is unknown
    assert ledger_of(builder).responses["run-2"].status == "completed"


def test_old_clients_name_the_request_instead_of_its_call():
    builder = LettaBuilder().request("run-1", tool_call("c1")).stop("requires_approval")
    old = {"approve": True, "approval_request_id": "message-run-1-ask"}
    builder.post({"messages": [old]})
    assert states(builder) == {"c1": "sent"}
    builder.returns("run-2", tool_return("c1"))
    builder.history(builder.decided_body("run-2", approval("message-run-1-ask")))
    assert states(builder) == {"c1": "confirmed"}


def test_answers_behind_a_message_are_none():
    builder = asked()
    user = {"role": "user", "content": "Hello?"}
    builder.post({"messages": [user, {"type": "approval", "approvals": [approval("c1")]}]})
    assert states(builder) == {"c1": "open", "c2": "open"}


# -- as a whole ------------------------------------------------------------------------------------


def test_reading_on_gives_the_same_as_reading_at_once():
    builder = asked(tools=("read_cell",))
    builder.answer(approval("c1"), tool_return("c2")).returns("run-2", tool_return("c2"))
    builder.text("run-2", "Done.").stop()
    growing = Trace(builder.trace.header)
    for entry in builder.trace:
        growing.append(entry)
        growing.ledger  # noqa: B018
    assert everything(growing.ledger) == everything(ledger_of(builder))


def everything(ledger: Ledger) -> Any:
    return {name: seen(value) for name, value in ledger.responses.items()}


def seen(value: Any, depth: int = 0) -> Any:
    """All that is known of a thing, as plain values."""
    if isinstance(value, Entry):
        return value.seq
    if is_dataclass(value) and depth < 3:
        return {f.name: seen(getattr(value, f.name), depth + 1) for f in fields(value)
                if f.name not in ("lane", "last", "n_events")}  # fmt: skip
    if isinstance(value, dict):
        return {key: seen(one, depth + 1) for key, one in value.items()}
    return value if isinstance(value, str | int | None) else repr(type(value))


def test_older_files_hold_what_their_messages_say():
    """Earlier versions put the events of the Responses API beside each message."""
    said = [
        {"type": "response.created", "response": {"id": "run-1", "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0,
         "item": {"type": "message", "id": "o", "role": "assistant"}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0,
         "delta": "Hello", "item_id": "o"},
    ]  # fmt: skip
    builder = LettaBuilder()
    message = builder.body("assistant_message", "run-1", content="Hello")
    builder.in_(message, **{"as": said, "type": "assistant_message"})
    end = {"id": "run-1", "status": "completed", "output": []}
    stop = {"message_type": "stop_reason", "stop_reason": "end_turn"}
    builder.in_(stop, **{"as": [{"type": "response.completed", "response": end}],
                         "type": "stop_reason"})  # fmt: skip
    (response,) = ledger_of(builder).responses.values()
    assert (response.text, response.status) == ("Hello", "completed")
    events = builder.trace.frames.table("events", columns="type + delta_text + item_id")
    assert events["type"].tolist() == ["assistant_message", "stop_reason"]
    assert events["delta_text"].tolist()[0] == "Hello"
    assert events["item_id"].tolist()[0] == "o"


@pytest.mark.parametrize("raw", ["{", "[]", "7", "{}", '{"message_type":"telepathy"}'])
def test_odd_messages_are_told(raw):
    builder = LettaBuilder().in_(raw)
    (problem,) = ledger_of(builder).problems
    assert problem.kind in ("bad_json", "not_object", "odd_field", "unknown_type")
    assert json.dumps(problem.detail)
