"""What is half typed: folded from its notes, ended by what makes it needless."""

from __future__ import annotations

from typing import Any

import pytest

from steer_nb import load
from steer_nb.ledger import LaneState, Ledger, RequiredInputState, rules
from tests.ledger.test_required import fill, waiting
from tests.support.traces import TraceBuilder, stub


def draft(builder: TraceBuilder, fields: dict[str, Any] | None, key: str = "call_1") -> None:
    builder.note("draft", lane=None, parent="p", key=key, fields=fields)


def asked(builder: TraceBuilder, key: str = "call_1") -> RequiredInputState:
    return Ledger(builder.trace).responses["p"].required[key]


def lane(builder: TraceBuilder, name: str | None = "a") -> LaneState:
    return Ledger(builder.trace).lanes[name]


# -- a form ----------------------------------------------------------------------------------------


def test_a_draft_is_no_answer():
    builder = waiting(listed=False)
    draft(builder, {"text": "{half", "mode": "JSON"})
    found = asked(builder)
    assert found.draft == {"text": "{half", "mode": "JSON"}
    assert (found.state, found.item) == ("open", None)
    parent = Ledger(builder.trace).responses["p"]
    assert rules.unanswered(parent) == [parent.required["call_1"]]
    assert "1 answer still open" in str(rules.may_continue(parent))


def test_a_note_tells_only_what_changed():
    builder = waiting(listed=False)
    draft(builder, {"text": "{half", "mode": "JSON"})
    draft(builder, {"text": "{half of"})
    assert asked(builder).draft == {"text": "{half of", "mode": "JSON"}


def test_a_draft_that_was_given_up_is_gone_and_may_come_again():
    builder = waiting(listed=False)
    draft(builder, {"text": "{half", "mode": "JSON"})
    draft(builder, None)
    assert asked(builder).draft is None
    draft(builder, {"text": "text"})
    assert asked(builder).draft == {"text": "text", "mode": "JSON"}


def test_a_persons_answer_is_what_the_draft_became():
    builder = waiting(listed=False)
    draft(builder, {"text": "18"})
    fill(builder)
    assert asked(builder).draft is None
    builder.note("cleared", lane=None, parent="p", key="call_1")
    assert asked(builder).draft is None
    draft(builder, {})  # as it was, but no answer any more
    assert asked(builder).draft == {"text": "18"}


@pytest.mark.parametrize("by", ["code", "policy"])
def test_what_code_gives_stands_beside_what_a_person_types(by: str):
    builder = waiting(listed=False)
    draft(builder, {"text": "{half"})
    item = {**stub(), "output": "18"}
    builder.note("filled", lane=None, parent="p", key="call_1", item=item, by=by)
    found = asked(builder)
    assert found.draft == {"text": "{half"}
    assert (found.state, found.item) == ("filled", item)
    # Taken back, it takes nothing with it.
    builder.note("cleared", lane=None, parent="p", key="call_1")
    assert asked(builder).draft == {"text": "{half"}
    builder.note("filled", lane=None, parent="p", key="call_1", item=item, by=by)
    builder.create([item], previous="p", key="create-2")
    assert asked(builder).draft is None
    # Refused, it can be edited again, and so can what was typed.
    builder.event("error", error={"code": "bad", "message": "no"})
    assert asked(builder).draft == {"text": "{half"}


def test_a_draft_ends_with_what_asked_for_it():
    builder = waiting(listed=False)
    draft(builder, {"text": "{half"})
    builder.create("something else", previous="p").created("q", previous="p")
    assert asked(builder).state == "stale"
    assert asked(builder).draft is None
    draft(builder, {"text": "{half of it"})  # it came too late
    assert asked(builder).draft is None


def test_a_draft_survives_a_lost_connection_until_the_lane_is_left():
    builder = waiting(listed=False)
    draft(builder, {"text": "{half"})
    builder.close().connect()
    builder.note("recovered", name="default", url="ws://x")
    assert asked(builder).draft == {"text": "{half"}
    builder.note("lane_recovered", lane=None, choice="continue", base="p")
    assert asked(builder).draft == {"text": "{half"}
    builder.close().connect()
    builder.note("lane_recovered", lane=None, choice="leave", base=None)
    assert asked(builder).draft is None


def test_live_and_loaded_are_equal(tmp_path):
    builder = waiting(listed=True, steers=1)
    live = Ledger()
    draft(builder, {"text": "{half", "mode": "JSON"})
    builder.note("draft", lane="a", text="half a sentence")
    draft(builder, {"text": "{half of"})
    for entry in builder.trace:
        live.apply(entry)
    again = load(builder.trace.save(tmp_path / "run.jsonl")).ledger
    for ledger in (live, again):
        found = ledger.responses["p"].required["call_1"]
        assert found.draft == {"text": "{half of", "mode": "JSON"}
        assert ledger.lanes["a"].draft == "half a sentence"
        assert not ledger.problems
    assert live.version == again.version


@pytest.mark.parametrize(
    "data",
    [
        {"lane": None, "parent": "p", "key": "call_1"},
        {"lane": None, "parent": "p", "key": "call_1", "fields": 5},
        {"lane": None, "parent": None, "key": "call_1", "fields": {}},
        {"lane": None, "text": None},
        {"lane": 7, "text": "x"},
    ],
)
def test_a_damaged_note_is_told_and_stops_nothing(data: dict[str, Any]):
    builder = waiting(listed=False).note("draft", **data)
    assert asked(builder).draft is None
    (problem,) = Ledger(builder.trace).problems
    assert "draft" in problem.detail


def test_a_draft_of_what_nobody_asks_for_is_nothing():
    builder = waiting(listed=False)
    draft(builder, {"text": "x"}, key="call_9")
    builder.note("draft", lane=None, parent="nowhere", key="call_1", fields={"text": "x"})
    assert asked(builder).draft is None
    assert not Ledger(builder.trace).problems


# -- credentials -----------------------------------------------------------------------------------

TOOL = {"type": "mcp", "server_label": "files", "authorization": "(hidden)"}
SEARCH = {
    "type": "tool_search_call",
    "id": "ts_1",
    "call_id": "call_1",
    "execution": "client",
    "arguments": {},
    "status": "completed",
}


def searched() -> tuple[TraceBuilder, dict[str, Any]]:
    """An answer to a tool search whose credentials the trace has hidden."""
    builder = TraceBuilder().connect().create("go").created("p").ended("p", output=[SEARCH])
    item = {"type": "tool_search_output", "call_id": "call_1", "tools": [TOOL]}
    builder.note("filled", lane=None, parent="p", key="call_1", item=item, by="user")
    return builder, item


def recovered(builder: TraceBuilder) -> TraceBuilder:
    builder.note("recovered", name="default", url="ws://x").close()
    return builder.connect()


def test_an_answer_without_its_credentials_is_asked_for_again():
    builder, item = searched()
    assert asked(builder).state == "filled"
    recovered(builder)
    found = asked(builder)
    assert (found.state, found.item, found.filled) == ("open", None, None)
    assert found.draft == {"item": item}
    builder.note("lane_recovered", lane=None, choice="continue", base="p")
    assert rules.unanswered(Ledger(builder.trace).responses["p"])
    builder.note("filled", lane=None, parent="p", key="call_1", item=item, by="user")
    assert asked(builder).state == "filled", "this process knows them"
    assert asked(builder).draft is None


@pytest.mark.parametrize("decided", ["continue", "dropped"])
def test_so_it_is_when_it_was_sent_and_its_outcome_is_unknown(decided: str):
    builder, item = searched()
    builder.create([item], previous="p", key="create-2")
    recovered(builder)
    assert asked(builder).state == "sent"
    if decided == "continue":
        builder.note("lane_recovered", lane=None, choice="continue", base="p")
        assert asked(builder).state == "sent", "it may have been received"
    builder.note("dropped", key="create-2")
    assert asked(builder).state == "open"
    assert asked(builder).draft == {"item": item}


def test_so_it_is_when_it_was_used_and_what_used_it_was_cut_off():
    builder, item = searched()
    builder.create([item], previous="p", key="create-2").created("q", previous="p")
    recovered(builder)
    assert asked(builder).state == "confirmed"
    builder.note("lane_recovered", lane=None, choice="continue", base="p")
    assert asked(builder).state == "open"
    assert asked(builder).draft == {"item": item}


def test_a_response_that_failed_gives_a_draft_back_too():
    builder = waiting(listed=False)
    draft(builder, {"text": "{half"})
    item = {**stub(), "output": "18"}
    builder.note("filled", lane=None, parent="p", key="call_1", item=item, by="code")
    builder.create([item], previous="p").created("q", previous="p")
    assert asked(builder).draft is None
    builder.ended("q", "failed", previous="p")
    assert asked(builder).state == "filled"
    assert asked(builder).draft == {"text": "{half"}


def test_a_lost_connection_alone_loses_no_credentials():
    builder, _ = searched()
    builder.close().connect().note("lane_recovered", lane=None, choice="continue", base="p")
    assert asked(builder).state == "filled"


def test_an_answer_without_credentials_is_as_it_was():
    builder = waiting(listed=False)
    fill(builder)
    recovered(builder)
    assert asked(builder).state == "filled"


# -- the box below a lane --------------------------------------------------------------------------


def said(text: str = "Keep it short") -> TraceBuilder:
    builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
    return builder.note("draft", lane="a", text=text)


def test_a_text_is_kept_until_it_is_emptied():
    builder = said("half a sen")
    assert lane(builder).draft == "half a sen"
    builder.note("draft", lane="a", text="half a sentence")
    assert lane(builder).draft == "half a sentence"
    builder.note("draft", lane="a", text="")
    assert lane(builder).draft == ""


def test_a_text_that_was_said_is_no_draft():
    assert lane(said().steer("p", "Keep it short")).draft == ""
    ended = said().ended("p", lane="a")
    assert lane(ended.create("Keep it short", lane="a", previous="p")).draft == ""


def test_a_repeated_conversation_ends_with_it():
    items = [{"role": "user", "content": "go"}, {"role": "user", "content": "Keep it short"}]
    assert lane(said().ended("p", lane="a").create(items, lane="a")).draft == ""


def test_another_text_is_not_it():
    assert lane(said().steer("p", "Go on")).draft == "Keep it short"
    assert lane(said().create("Keep it", lane="a")).draft == "Keep it short"
    assert lane(said().create("Keep it short", lane="b")).draft == "Keep it short"


def test_it_survives_its_lane_and_its_connection():
    builder = said("half a sen").close().connect().note("recovered", name="n", url="u")
    builder.note("lane_recovered", lane="a", choice="leave", base=None)
    assert lane(builder).draft == "half a sen"
    builder.note("lane_closed", lane="a").note("lane", lane="a", settings={"model": "m"})
    assert lane(builder).draft == "half a sen"


def test_the_default_lane_has_one_too():
    builder = TraceBuilder().connect().note("draft", lane=None, text="half")
    assert lane(builder, None).draft == "half"
