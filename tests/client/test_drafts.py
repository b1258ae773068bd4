"""What is half typed is on the disk, without what nobody may read there; credentials come anew."""

from __future__ import annotations

import json

import pytest

import steer_nb
from steer_nb.client.drafts import keep_fields, keep_text, keepable
from steer_nb.errors import InvalidInput, RequiredInputOpen
from tests.client.stage import approval, created, ended, function_call
from tests.client.test_recovery import SOON, lose

KEY = "sk-very-secret"
SEARCH = {"type": "tool_search_call", "id": "ts_1", "call_id": "call_1", "execution": "client"}
PLACE = {"type": "mcp", "server_label": "files", "server_url": "https://files.example"}


def asking(stage, session, *calls):
    """A lane that waits for answers to calls."""
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), ended("resp_1", *calls, lane="a"))
    assert lane.wait(10) == "waiting_input"
    return lane


def searching(stage, session):
    return asking(stage, session, {**SEARCH, "arguments": {}})


def drafts(session):
    """The notes of drafts as they are on the disk."""
    lines = session.journal_path.read_text("utf-8").splitlines()[1:]
    return [entry["data"] for entry in map(json.loads, lines) if entry.get("note") == "draft"]


# -- written, once, and only what changed ----------------------------------------------------------


def test_what_is_typed_in_a_form_is_on_the_disk_at_the_return(stage, session):
    lane = asking(stage, session, function_call("call_1"))
    kept = keep_fields(lane, "resp_1", "call_1", {"text": "{half", "mode": "JSON"})
    assert kept == {"text": "{half", "mode": "JSON"}
    place = {"lane": "a", "parent": "resp_1", "key": "call_1"}
    assert drafts(session) == [{**place, "fields": kept}]
    keep_fields(lane, "resp_1", "call_1", {"text": "{half", "mode": "JSON"})
    assert len(drafts(session)) == 1, "the same is not written again"
    keep_fields(lane, "resp_1", "call_1", {"text": "{half of", "mode": "JSON"})
    assert drafts(session)[1:] == [{**place, "fields": {"text": "{half of"}}]
    (needed,) = lane.required_input
    assert needed.draft == {"text": "{half of", "mode": "JSON"}
    assert needed.state == "open"
    assert "half typed" in repr(needed)
    with pytest.raises(RequiredInputOpen):
        lane.send_continuation()
    keep_fields(lane, "resp_1", "call_1", None)
    keep_fields(lane, "resp_1", "call_1", None)
    assert drafts(session)[2:] == [{**place, "fields": None}]
    assert lane.required_input[0].draft is None


def test_a_big_picture_is_written_once(stage, session):
    lane = asking(stage, session, function_call("call_1"))
    picture = "data:image/png;base64," + "A" * 5_000_000
    for ticked in (False, True, False, True):
        keep_fields(lane, "resp_1", "call_1", {"url": picture, "check 1": ticked})
    assert session.journal_path.stat().st_size < 5_100_000
    assert lane.required_input[0].draft == {"url": picture, "check 1": True}


def test_a_draft_in_the_place_of_an_answer_takes_it_back(stage, session):
    lane = asking(stage, session, function_call("call_1"))
    lane.fill("call_1", output="18")
    keep_fields(lane, "resp_1", "call_1", {"text": ""}, instead=True)
    assert lane.required_input[0].state == "open"
    # What code gives while a person types stands beside it.
    lane.fill("call_1", output="by code", by="code")
    keep_fields(lane, "resp_1", "call_1", {"text": "{"})
    assert lane.required_input[0].state == "filled"
    assert lane.required_input[0].draft == {"text": "{"}


def test_what_comes_too_late_is_not_written(stage, session):
    lane = asking(stage, session, function_call("call_1"))
    lane.fill("call_1", output="18")
    lane.send_continuation()
    stage.expect()
    assert keep_fields(lane, "resp_1", "call_1", {"text": "19"}) is None
    assert keep_fields(lane, "resp_9", "call_1", {"text": "19"}) is None
    assert drafts(session) == []


def test_what_is_typed_below_a_lane_is_kept_until_it_is_said(stage, session):
    lane = session.lane("a")
    assert lane.draft == ""
    keep_text(lane, "half a sen")
    keep_text(lane, "half a sen")
    assert drafts(session) == [{"lane": "a", "text": "half a sen"}]
    assert lane.draft == "half a sen"
    lane.send("half a sen")
    stage.expect()
    assert lane.draft == ""
    assert steer_nb.load(session.journal_path).ledger.lanes["a"].draft == ""


def test_what_is_half_typed_is_said_at_the_recovery(stage, session, capsys):
    lane = asking(stage, session, function_call("call_1"), approval("mcpr_1"))
    keep_fields(lane, "resp_1", "call_1", {"text": "{half"})
    keep_text(lane, "half a sen")
    session.close()
    with steer_nb.recover(url=stage.base_url) as again:
        said = capsys.readouterr().out
        assert "Half typed, and kept: 1 answer on a (%steer pending)" in said
        assert "a text for a (%steer show a)" in said
        assert again["a"].draft == "half a sen"
        assert again["a"].required_input[0].draft == {"text": "{half"}
        assert again["a"].required_input[1].draft is None
        live = again.trace
    assert steer_nb.load(session.journal_path) == live


# -- credentials -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f'[{{"type": "mcp", "authorization": "{KEY}"',
        f'[{{"type": "mcp", "headers": {{"X": "{KEY}',
        f'[{{"type": "mcp", "\\u0061uthorization": "{KEY}"',
        f'[{{"type": "mcp", "Authorization": "{KEY}"}}]',
        f'[[{{"type": "mcp", "authorization": "{KEY}"}}]]',
        f'{{"type": "mcp", "authorization": "{KEY}"}}',
        f'[{{"type": "mcp", "authorization": "{KEY}"}}] ]',
    ],
)
@pytest.mark.parametrize("kind", ["tool_search_output", "telepathy_output"])
def test_text_that_may_hold_a_key_is_not_kept(kind, text):
    assert keepable(kind, {"text": text, "none": True}) == {"none": True}


@pytest.mark.parametrize(
    "text",
    [
        f'[{{"type": "mcp", "authorization": "{KEY}"}}]',
        f'[{{"type": "mcp", "headers": {{"X-Key": "{KEY}"}}}}]',
        f'[{{"type": "mcp", "headers": "{KEY}"}}]',
        f'[{{"authorization": "{KEY}", "authorization": ""}}]',
        f'{{"tools": [{{"authorization": "{KEY}"}}]}}',
    ],
)
def test_json_that_holds_a_key_is_kept_without_it(text):
    kept = keepable("tool_search_output", {"text": text})["text"]
    assert KEY not in kept
    json.loads(kept)


def test_other_answers_may_say_what_they_like():
    fields = {"text": '{"headers": {"Server": "nginx"'}
    assert keepable("function_call_output", fields) == fields
    fields = {"text": '[{"type": "function", "name": "f"', "none": False}
    assert keepable("tool_search_output", fields) == fields


def test_what_no_service_takes_is_not_kept():
    assert keepable("computer_call_output", {"url": "x" * 21_000_000, "check 1": True}) == {
        "check 1": True
    }


def test_no_key_of_a_draft_reaches_the_disk(stage, session):
    lane = searching(stage, session)
    text = json.dumps([{**PLACE, "authorization": KEY}])
    for end in range(1, len(text) + 1):
        keep_fields(lane, "resp_1", "call_1", {"text": text[:end]})
    assert KEY not in session.journal_path.read_text("utf-8")
    assert KEY[:9] not in session.journal_path.read_text("utf-8")
    assert KEY not in repr(list(session.trace))
    kept = json.loads(lane.required_input[0].draft["text"])
    assert kept == [{**PLACE, "authorization": "(hidden)"}]


def test_an_answer_is_changed_without_giving_its_key_again(stage, session):
    lane = searching(stage, session)
    lane.fill("call_1", tools=[{**PLACE, "authorization": KEY, "headers": {"X": KEY}}])
    (shown,) = lane.required_input[0].item["tools"]
    lane.fill("call_1", tools=[{**shown, "allowed_tools": ["read"]}])
    lane.send_continuation()
    (tool,) = stage.expect()["input"][0]["tools"]
    wanted = {"authorization": KEY, "headers": {"X": KEY}, "allowed_tools": ["read"]}
    assert tool == {**PLACE, **wanted}


def test_a_key_does_not_go_to_another_server(stage, session):
    lane = searching(stage, session)
    lane.fill("call_1", tools=[{**PLACE, "authorization": KEY}])
    (shown,) = lane.required_input[0].item["tools"]
    with pytest.raises(InvalidInput, match=r"tools\[0\]\.authorization is '\(hidden\)'"):
        lane.fill("call_1", tools=[{**shown, "server_url": "https://elsewhere.example"}])


def test_after_a_recovery_an_answer_with_credentials_is_given_again(stage, session):
    lane = searching(stage, session)
    lane.fill("call_1", tools=[{**PLACE, "authorization": KEY}])
    session.close()
    with steer_nb.recover(url=stage.base_url, quiet=True) as again:
        lane = again["a"].recover("continue")
        (needed,) = lane.required_input
        assert needed.state == "open"
        (shown,) = needed.draft["item"]["tools"]
        with pytest.raises(RequiredInputOpen, match="call_1"):
            lane.send_continuation()
        with pytest.raises(InvalidInput, match="given again") as refused:
            lane.fill("call_1", tools=[shown])
        assert refused.value.field == "tools[0].authorization"
        assert stage.nothing_came()
        lane.fill("call_1", tools=[{**shown, "authorization": KEY}])
        lane.send_continuation()
        assert stage.expect()["input"][0]["tools"] == [{**PLACE, "authorization": KEY}]


def test_after_a_recovery_tools_without_their_credentials_are_not_sent(stage, session):
    lane = session.lane("a", tools=[{**PLACE, "authorization": KEY, "headers": {"X": KEY}}])
    lane.create("x")
    assert stage.expect()["tools"][0]["authorization"] == KEY
    stage.send(created("resp_1", lane="a"), ended("resp_1", function_call("call_1"), lane="a"))
    lane.wait(10)
    session.close()
    with steer_nb.recover(url=stage.base_url, quiet=True) as again:
        lane = again["a"].recover("continue")
        lane.fill("call_1", output="18")
        for send in (lane.send_continuation, lambda: lane.create("y", previous_response_id=None)):
            with pytest.raises(InvalidInput) as refused:
                send()
            assert refused.value.field == "tools[0].authorization"
            assert "\n" not in str(refused.value)
            assert "session.lane('a', tools=[...])" in str(refused.value)
        assert stage.nothing_came()
        assert lane.required_input[0].state == "filled", "nothing of it is lost"
        again.lane("a", tools=[{**PLACE, "authorization": KEY}])
        lane.send_continuation()
        assert stage.expect()["tools"][0]["authorization"] == KEY


def test_a_continuation_that_goes_again_has_its_key_while_the_process_lives(stage):
    with steer_nb.connect(stage.base_url, quiet=True, reconnect=SOON) as session:
        lane = searching(stage, session)
        lane.fill("call_1", tools=[{**PLACE, "authorization": KEY}])
        sent = lane.send_continuation()
        stage.expect()
        lose(stage, session)
        lane.recover("continue")
        sent.send_again()
        assert stage.expect()["input"][0]["tools"] == [{**PLACE, "authorization": KEY}]
        assert KEY not in session.journal_path.read_text("utf-8")
        lose(stage, session)
    with steer_nb.recover(url=stage.base_url, quiet=True) as again:
        lane = again["a"].recover("continue")
        (key,) = [k for k in again.status()["to_decide"] if k.startswith("create")]
        lost = steer_nb.Response(again, key)
        with pytest.raises(InvalidInput, match=f"drop {key}, then %steer pending"):
            lost.send_again()
        assert stage.nothing_came()
        lost.drop()
        lane.fill("call_1", tools=[{**PLACE, "authorization": KEY}])
        lane.send_continuation()
        assert stage.expect()["input"][0]["tools"] == [{**PLACE, "authorization": KEY}]


def test_a_conversation_that_holds_lost_credentials_is_not_repeated(stage, session):
    lane = searching(stage, session)
    lane.fill("call_1", tools=[{**PLACE, "authorization": KEY}])
    lane.send_continuation()
    stage.expect()
    stage.send(created("resp_2", "resp_1", lane="a"), ended("resp_2", lane="a", previous="resp_1"))
    lane.wait(10)
    session.close()
    with steer_nb.recover(url=stage.base_url, quiet=True) as again:
        lane = again["a"].recover("rebuild")
        with pytest.raises(InvalidInput, match="previous_response_id=None"):
            lane.create("more")
        assert stage.nothing_came()
        lane.create("more", previous_response_id=None)
        assert stage.expect()["input"] == "more"


def test_credentials_that_are_given_at_the_recovery_are_matched_by_their_server(stage, session):
    tools = [{**PLACE, "authorization": KEY}, {**PLACE, "server_label": "b", "authorization": KEY}]
    session.lane("a", tools=tools)
    session.close()
    with steer_nb.recover(url=stage.base_url, quiet=True, tools=tools[:1]) as again:
        with pytest.raises(InvalidInput) as refused:
            again["a"].create("x")
        assert refused.value.field == "tools[1].authorization"
        (problem,) = again.trace.ledger.problems
        assert "credentials of its MCP tools are in no journal" in problem.detail
    with steer_nb.recover(url=stage.base_url, quiet=True, tools=tools) as again:
        again["a"].create("x")
        assert stage.expect()["tools"] == tools
        assert KEY not in again.journal_path.read_text("utf-8")
