"""Compaction: when it happens, who is told of it and how, and what is left behind it."""

from __future__ import annotations

import json

import pytest

from steer_nb.simulator import CallFunction, Fail, Say, letta
from steer_nb.simulator.letta.compacting import SystemTooLong, compact
from steer_nb.simulator.letta.stored import Stored, ToolCall
from tests.simulator.letta.conftest import kinds
from tests.simulator.letta.model import TOOLS

FULL = letta.Spend(119_000, 1_000)


@letta.scenario("full", "Fills its context, deletes, or is told that it is too long.", tools=TOOLS)
def full(turn):
    if "long" in turn.prompt and turn.summary is None:
        yield Fail("context_length_exceeded", "It is too long.")
    if "full" in turn.prompt:
        yield FULL
    if turn.results:
        yield Say("Done.")
    elif "delete" in turn.prompt:
        yield CallFunction("delete_file", {"path": "/srv/a"})
    elif "weather" in turn.prompt and not turn.called():
        yield CallFunction("get_weather", {"city": "Oslo"})
    else:
        yield Say(f"I see {len(turn.messages)} messages.")


def filled(client, place=None, many=5):
    for number in range(many):
        client.send(f"Number {number}.", place)


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("plainly", [False, True])
def test_a_stream_tells_of_it_as_it_was_asked_to(simulate, tokens, plainly):
    client = simulate(full)
    filled(client)
    found = client.send(
        "full", stream_tokens=tokens, include_compaction_messages=plainly,
        include_return_message_types=["tool_return_message"], background=True,
    )  # fmt: skip
    event = ["event_message"] if plainly else []
    summary = "summary_message" if plainly else "user_message"
    tail = ["stop_reason", "usage_statistics", "[DONE]"]
    assert kinds(found) == [*event, summary, *tail]  # whatever types were asked for
    assert [one["seq_id"] for one in found[:-3]] == list(range(1, len(found) - 2))
    told = found[len(event)]
    stats = {
        "trigger": "post_step_context_check",
        "context_tokens_before": 120_000,
        "context_tokens_after": found[-2]["context_tokens"],
        "context_window": 128_000,
        "messages_count_before": 13,
        "messages_count_after": 11,
    }
    if plainly:
        assert (found[0]["otid"], found[0]["event_type"]) == (None, "compaction")
        assert not found[0]["id"].startswith("message-")
        assert found[0]["event_data"] == {
            "trigger": "post_step_context_check",
            "context_token_estimate": 120_000,
            "context_window": 128_000,
        }
        assert told["compaction_stats"] == stats
        assert told["summary"].startswith("3 messages.\nThe user said: Number 0.")
    else:
        packed = json.loads(told["content"])
        assert packed["compaction_stats"] == stats
        assert packed["message"].startswith("Note: 2 messages from the beginning")
        assert told["otid"] is not None
    kept = next(one for one in client.history() if one["id"] == told["id"])
    assert kept["message_type"] == "user_message"
    assert json.loads(kept["content"])["type"] == "system_alert"
    assert (kept["otid"] is None) is plainly


def test_a_conversations_stream_never_tells_it_plainly(simulate):
    client = simulate(full)
    talk = client.talk()
    filled(client, talk)
    found = client.send("full", talk, include_compaction_messages=True)
    assert kinds(found)[:2] == ["assistant_message", "user_message"]
    said = client.send(
        "full", talk, include_compaction_messages=True, streaming=False, include_pings=True
    )
    assert kinds(said["messages"]) == ["assistant_message", "user_message"]
    assert said["usage"]["context_tokens"] < 1_000


def test_what_the_model_sees_becomes_less_and_the_history_does_not(simulate):
    client = simulate(full)
    filled(client)
    before = client.history()
    client.send("full")
    after = client.history()
    assert [one["id"] for one in after[: len(before)]] == [one["id"] for one in before]
    assert len(after) == len(before) + 3
    context = client.http.get(client.place).json()["message_ids"]
    assert context[1] == after[-1]["id"]  # the summary stands behind the first, and came last
    assert len(context) == 11
    assert client.send("How many?")[0]["content"] == "I see 12 messages."


def test_a_conversation_lists_by_places_that_are_counted_anew(simulate):
    client = simulate(full)
    talk = client.talk()
    filled(client, talk)
    before = [one["id"] for one in client.history(talk)]
    client.send("full", talk)
    after = [one["id"] for one in client.history(talk)]
    context = client.http.get(talk).json()["in_context_message_ids"]
    assert [one for one in after if one in context] == context
    gone = [one for one in before if one not in context]
    assert len(gone) == 3
    assert after.index(gone[0]) < after.index(context[2]) < after.index(gone[-1])


@pytest.mark.parametrize("plainly", [False, True])
def test_a_request_that_is_too_long_is_sent_again_behind_it(simulate, plainly):
    client = simulate(full)
    filled(client)
    found = client.send("long", include_compaction_messages=plainly)
    told = ["event_message", "summary_message"] if plainly else ["user_message"]
    assert kinds(found)[: len(told) + 1] == [*told, "assistant_message"]
    if plainly:
        assert found[0]["event_data"]["trigger"] == "context_window_exceeded"
        assert found[1]["compaction_stats"] is None  # nothing was counted in this run
    steps = client.http.get(f"/v1/runs/{found[0]['run_id']}/steps").json()
    assert [one["stop_reason"] for one in steps] == ["end_turn"]
    texts = [one.get("content") for one in client.history()]
    assert texts.count("long") == 1


def test_what_stays_too_long_is_an_error_at_last(simulate):
    @letta.scenario("endless", "Is always too long.")
    def endless(turn):
        yield Fail("context_length_exceeded", "It is too long.")

    client = simulate(endless)
    found = client.send("Hello.")
    assert kinds(found) == ["user_message"] * 3 + ["stop_reason", "error_message"]
    assert found[3]["stop_reason"] == "error"
    assert "CONTEXT_WINDOW_EXCEEDED" in found[4]["detail"]


def test_an_agent_that_is_told_too_much(simulate):
    client = simulate(full, context_window=100)
    made = client.http.post("/v1/agents/", json={"system": "Do. " * 200}).json()
    assert made["llm_config"]["context_window"] == 100
    found = client.send("Hello.", f"/v1/agents/{made['id']}")
    reason = "context_window_overflow_in_system_prompt"
    assert kinds(found) == ["assistant_message", "stop_reason", "error_message"]
    assert (found[1]["stop_reason"], found[2]["error_type"]) == (reason, reason)


def test_a_request_for_approval_outlives_it(simulate):
    client = simulate(full)
    filled(client, many=2)
    found = client.send("full delete", include_compaction_messages=True)
    assert [*kinds(found)[:3], found[-3]["stop_reason"]] == [
        "approval_request_message", "event_message", "summary_message", "requires_approval",
    ]  # fmt: skip
    assert client.pending()["id"] == found[0]["id"]
    (call,) = found[0]["tool_calls"]
    given = [{"type": "approval", "tool_call_id": call["tool_call_id"], "approve": True}]
    assert kinds(client.answer(given))[0] == "tool_return_message"
    assert client.pending() is None
    # Nothing but the summary is left, and the answered set is known all the same (5.6).
    settings = {"compaction_settings": {"mode": "all"}}
    assert client.http.post(f"{client.place}/summarize", json=settings).status_code == 200
    assert kinds(client.answer(given))[0] == "assistant_message"
    assert len(client.account("tool")) == 1


def test_asked_for_by_an_endpoint(simulate):
    client = simulate(full)
    talk = client.talk()
    assert client.http.post(f"{talk}/compact", json={}).status_code == 400
    assert client.http.post(f"{client.place}/summarize").status_code == 500
    for place, path in ((talk, f"{talk}/compact"), (client.place, f"{client.place}/summarize")):
        client.send("Hello.", place)
        short = client.http.post(path, json={})
        assert (short.status_code, "failed to reduce" in short.text) == (200, False)
        filled(client, place)
        many = client.http.post(path, json={"compaction_settings": {"mode": "all"}}).json()
        assert many["num_messages_after"] == 2
        assert "The user said: Number 4." in many["summary"]
    again = client.http.post(f"{client.place}/summarize").json()
    assert (again["num_messages_before"], again["num_messages_after"]) == (2, 2)
    assert again["summary"] == many["summary"]
    body = {"agent_id": client.agent_id}
    default = "/v1/conversations/default/compact"
    assert client.http.post(default, json={}).status_code == 404
    refused = client.http.post(default, json=body)
    assert (refused.status_code, "failed to reduce" in refused.text) == (400, True)
    assert client.http.post(default, json={"compaction_settings": 1, **body}).status_code == 422


def test_an_agents_own_settings_count(simulate):
    client = simulate(full)
    settings = {"compaction_settings": {"mode": "all", "clip_chars": 12}}
    shown = client.http.patch(client.place, json=settings).json()["compaction_settings"]
    assert (shown["mode"], shown["clip_chars"]) == ("all", 12)
    filled(client)
    told = client.send("full", include_compaction_messages=True)[2]
    assert told["summary"] == "12 messages.... [summary truncated to fit]"
    assert told["compaction_stats"]["messages_count_after"] == 2


def messages(*roles):
    """Make messages of these roles; calls of one step stand beside a request that waits."""
    call = (ToolCall("delete_file", "{}", "call_1"),)
    return [
        Stored(f"message-{at}", role, 0, step_id="s", content="x" * 40, calls=call)
        for at, role in enumerate(roles)
    ]


def test_calls_beside_a_request_that_waits_are_kept_with_it():
    context = messages("system", "user", "assistant", "approval")
    done = compact(context, {"mode": "all"}, 1_000)
    assert [one.role for one in done.kept] == ["system", "assistant", "approval"]
    context = messages("system", "user", "approval")
    assert [one.role for one in compact(context, {}, 1_000).kept] == ["system", "approval"]


def test_what_a_window_cannot_make_small_enough_is_summarised_whole():
    context = messages("system", *["user", "assistant"] * 6)
    assert compact(context, {}, 1_000).mode == "sliding_window"
    done = compact(context, {}, 1_000, limit=30)
    assert (done.mode, [one.role for one in done.kept]) == ("all", ["system"])
    assert done.summary.startswith("12 messages.")
    with pytest.raises(SystemTooLong, match="exceeds the context window 10"):
        compact(context, {}, 10, limit=9)
