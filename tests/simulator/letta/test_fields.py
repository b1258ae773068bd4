"""Fields of requests, agents and tools that change what is kept or who speaks."""

from __future__ import annotations

import pytest

from steer_nb.simulator import CallFunction, Say, letta
from tests.simulator.letta.conftest import kinds

LONG = "x" * 200_000


def shout(many: int) -> str:
    """Say a lot."""
    return "y" * many


@letta.scenario("shouting", "Says who it is, or shouts.", tools=[shout])
def shouting(turn):
    if turn.results:
        (result,) = turn.results.values()
        yield Say(f"It gave {len(result.text)}.")
    elif "read" in turn.prompt:
        yield CallFunction("read_cell", {"cell": 1})
    elif turn.prompt.isdecimal():
        yield CallFunction("shout", {"many": int(turn.prompt)})
    else:
        skills = [one["name"] for one in turn.settings["client_skills"]]
        said = [turn.settings["model"], turn.messages[0].content[:12], *skills]
        yield Say(" | ".join(said))


# What a tool gave


@pytest.mark.parametrize(
    ("many", "limit", "note"),
    [
        (50_000, 50_000, ""),
        (50_001, 50_000, "(50095 > 50000)]"),
        (11, 10, "(99 > 10)]"),
    ],
)
def test_a_long_return_of_a_server_tool_is_cut(simulate, many, limit, note):
    client = simulate(shouting)
    (tool,) = client.http.get("/v1/tools/").json()
    place = f"/v1/tools/{tool['id']}"
    assert tool["return_char_limit"] == 50_000
    changed = client.http.patch(place, json={"return_char_limit": limit}).json()
    assert changed["return_char_limit"] == limit
    told = client.send(str(many))[1]
    assert told["tool_return"] == told["tool_returns"][0]["tool_return"]
    why = "... [NOTE: function output was truncated since it exceeded the character limit "
    assert told["tool_return"] == "y" * min(many, limit) + (note and why + note)
    assert client.history()[3]["tool_returns"] == told["tool_returns"]
    assert client.send("Who?")[0]["content"]  # and the agent goes on


def test_a_search_of_memories_is_noted_and_not_cut():
    told = letta.tools.cut_return("conversation_search", "12345", 3)
    assert told.startswith("12345... [NOTE: function output was truncated")


@pytest.mark.parametrize("limit", [0, 1_000_001, "ten", True])
def test_a_limit_that_is_none(simulate, limit):
    client = simulate(shouting)
    body = {"source_code": "def f(): ...", "return_char_limit": limit}
    assert client.http.post("/v1/tools/", json=body).status_code == 422


@pytest.mark.parametrize(
    ("window", "cap", "kind"), [(None, 102_400, "approval"), (6_000, 5_000, "tool_return")]
)
def test_a_long_result_of_a_client_is_cut(simulate, window, cap, kind):
    client = simulate(shouting)
    agent = client.http.post("/v1/agents/", json={"context_window_limit": window}).json()["id"]
    place = f"/v1/agents/{agent}"
    found = client.send("read", place, client_tools=[{"name": "read_cell"}])
    (call,) = found[0]["tool_calls"]
    result = {
        "type": "tool", "tool_call_id": call["tool_call_id"], "tool_return": LONG,
        "status": "success", "stdout": ["z" * 6_000],
    }  # fmt: skip
    name = "approvals" if kind == "approval" else "tool_returns"
    told = client.answer([], place, messages=[{"type": kind, name: [result]}])[0]
    kept = "x" * cap + f"... [truncated {200_000 - cap} chars]"
    assert told["tool_return"] == kept
    assert told["tool_returns"][0]["stdout"] == ["z" * 6_000]
    response = client.history(place)[3]
    assert response["approvals"][0]["tool_return"] == kept
    assert client.history(place)[-1]["content"] == f"It gave {len(kept)}."


def test_a_result_in_parts_is_not_cut(simulate):
    client = simulate(shouting)
    found = client.send("read", client_tools=[{"name": "read_cell"}])
    parts = [{"type": "text", "text": LONG}]
    given = {"type": "tool", "tool_call_id": found[0]["tool_calls"][0]["tool_call_id"],
             "tool_return": parts, "status": "success"}  # fmt: skip
    assert client.answer([given])[0]["tool_return"] == LONG


# Who speaks


def test_another_model_for_one_request(simulate):
    client = simulate(shouting)
    found = client.send("Who?", override_model="openai/gpt-4.1")
    assert found[0]["content"].startswith("openai/gpt-4.1 | You are")
    (step,) = client.http.get(f"/v1/runs/{found[0]['run_id']}/steps").json()
    assert (step["model"], step["model_handle"]) == ("gpt-4.1", "openai/gpt-4.1")
    run = client.http.get(f"/v1/runs/{found[0]['run_id']}").json()
    assert "model" not in run
    assert "model" not in run["request_config"]
    assert client.http.get(client.place).json()["model"] == "simulator/stand-in"
    assert client.send("Who?")[0]["content"].startswith("simulator/stand-in")


def test_another_model_for_a_conversation(simulate):
    client = simulate(shouting)
    query = {"agent_id": client.agent_id}
    made = client.http.post("/v1/conversations/", params=query, json={"model": "a/b"}).json()
    place = f"/v1/conversations/{made['id']}"
    assert made["model"] == "a/b"
    assert client.send("Who?", place)[0]["content"].startswith("a/b")
    assert client.send("Who?", place, override_model="c/d")[0]["content"].startswith("c/d")
    client.http.patch(place, json={"model": None})
    assert client.send("Who?", place)[0]["content"].startswith("simulator/")
    wrong = client.http.patch(place, json={"model": "gpt"})
    assert (wrong.status_code, "provider/model-name" in wrong.text) == (400, True)


def test_a_model_that_there_is_not(simulate):
    client = simulate(shouting, models=("a/b",))
    assert client.send("Who?", override_model="a/b")[0]["content"].startswith("a/b")
    refused = client.send("Who?", override_model="x/y")
    assert refused.status_code == 404
    assert refused.json()["detail"].startswith("NOT_FOUND: Handle x/y not found")
    assert len(client.account("run")) == 1


@pytest.mark.parametrize(("model", "pieces"), [("anthropic/claude", True), ("groq/llama", False)])
def test_a_provider_without_tokens_gives_whole_steps(simulate, model, pieces):
    client = simulate(shouting)
    found = client.send("Who?", stream_tokens=True, override_model=model)
    assert (kinds(found).count("assistant_message") > 1) is pieces
    assert found[-2]["cached_input_tokens"] == (None if pieces else 0)


def test_other_words_to_begin_with_for_one_request(simulate):
    client = simulate(shouting)
    skills = [{"name": "sums"}]
    said = client.send("Who?", override_system="Be a pirate.", client_skills=skills)
    assert said[0]["content"].endswith("| Be a pirate. | sums")
    assert client.history()[0]["content"].startswith("You are a helpful agent")
    assert "pirate" not in client.send("Who?")[0]["content"]


def test_follow_ups_of_a_repeated_approval_take_the_place_of_the_keep_alive(simulate):
    client = simulate("files")
    client.send("Please delete /srv/a.txt.")
    (call,) = client.pending()["tool_calls"]
    given = [{"type": "approval", "tool_call_id": call["tool_call_id"], "approve": True}]
    client.answer(given)
    more = {"role": "user", "content": "And now?"}
    client.answer(given, messages=[{"type": "approval", "approvals": given}, more])
    assert client.history()[-2]["content"] == "And now?"
    client.answer(given)
    assert "keep-alive" in client.history()[-2]["content"]
