"""Scenarios for Letta: the built-in ones, files, and what a script may not do."""

from __future__ import annotations

import pytest

from steer_nb.errors import ScenarioError
from steer_nb.simulator import SCENARIOS, CallFunction, RunCode, Say, Simulator, letta
from tests.simulator.letta.conftest import kinds

CLEANER = """
dialect: letta
description: Deletes what you say, if you agree.
faults: [{fault: stall, seconds: 0.001}]
tools:
  - name: delete_file
    description: Delete a file.
    returns: "deleted {path} of {nobody}"
    requires_approval: true
    seconds: 2
    parameters: {type: object, properties: {path: {type: string}}, required: [path]}
  - {name: look, returns: nothing there, fails: true}
rules:
  - when: {said: look}
    play: [{call: look}]
  - when: {result: look}
    play: {say: "I saw: {result}"}
  - when: {steered: true}
    play: {say: "Done, and you said {steer}"}
  - when: {result_says: denied}
    play: {say: "Then not."}
turns:
  - - think: It cannot be undone.
    - say: "I want to delete {prompt}."
    - call: delete_file
      arguments: {path: "{prompt}"}
otherwise:
  - pause: 1
  - say: That was all.
"""


def text_of(found):
    return "".join(one.get("content") or "" for one in found if isinstance(one, dict))


@pytest.fixture
def cleaner(simulate, tmp_path):
    file = tmp_path / "cleaner.yaml"
    file.write_text(CLEANER)
    return simulate(str(file))


def test_a_written_scenario(cleaner):
    found = cleaner.send("/srv/a")
    assert kinds(found)[:3] == [
        "reasoning_message",
        "assistant_message",
        "approval_request_message",
    ]
    assert text_of(found) == "I want to delete /srv/a."
    (call,) = cleaner.pending()["tool_calls"]
    given = [{"type": "approval", "tool_call_id": call["tool_call_id"], "approve": True}]
    body = cleaner.body()
    body["messages"] = [
        {"type": "approval", "approvals": given},
        {"role": "user", "content": "thanks."},
    ]
    found = cleaner.read(cleaner.http.post(f"{cleaner.place}/messages", json=body))
    assert found[0]["tool_return"] == "deleted /srv/a of {nobody}"
    assert text_of(found) == "Done, and you said thanks."
    found = cleaner.send("Please look.")
    assert [one["status"] for one in found if "status" in one] == ["error"]
    assert text_of(found) == "I saw: nothing there"
    assert text_of(cleaner.send("What else?")) == "That was all."
    (tool, _) = cleaner.http.get(f"{cleaner.place}/tools").json()
    assert tool["json_schema"]["parameters"]["required"] == ["path"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("dialect: letta", "needs 'turns' or 'rules'"),
        ("{dialect: lotta, turns: [say: x]}", "one of responses, letta"),
        ("{dialect: letta, turns: [search_web: x]}", "no step 'search_web'; it has say, think"),
        ("{dialect: letta, turns: [say: x], agents: {}}", "no key 'agents'"),
        ("{dialect: letta, turns: [say: x], tools: {}}", "must be a list"),
        ("{dialect: letta, turns: [say: x], tools: [{returns: x}]}", "needs 'name'"),
        ("{dialect: letta, turns: [say: x], tools: [{name: a, fails: true}]}", "says how"),
        ("{dialect: letta, turns: [say: x], tools: [{name: a}, {name: a}]}", "two tools"),
        ("{dialect: letta, turns: [say: x], tools: [{nome: a}]}", "Did you mean 'name'"),
        ("{dialect: letta, turns: [say: x], faults: [{fault: reorder}]}", "no fault 'reorder'"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path, text, says):
    file = tmp_path / "wrong.yaml"
    file.write_text(text)
    with pytest.raises(ScenarioError, match=r"wrong.yaml, line 1") as wrong:
        letta.LettaSimulator(file)
    assert says in str(wrong.value)


def test_a_file_of_python(simulate, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from steer_nb.simulator import Say, letta\n"
        "@letta.scenario('mine', 'Mine.')\n"
        "def mine(turn):\n"
        "    yield Say(f'{turn.number}: {turn.prompt}')\n"
    )
    client = simulate(str(file))
    assert text_of(client.send("Hello.")) == "1: Hello."
    assert text_of(client.send("Again.")) == "2: Again."


def test_each_dialect_has_its_own(tmp_path):
    file = tmp_path / "cleaner.yaml"
    file.write_text(CLEANER)
    with pytest.raises(ScenarioError, match="is one for the Responses API"):
        letta.LettaSimulator(SCENARIOS["planner"])
    with pytest.raises(ScenarioError, match="is one for Letta"):
        Simulator(file)


@pytest.mark.parametrize("name", list(letta.SCENARIOS))
def test_built_in_ones_never_run_dry(simulate, name):
    client = simulate(name, speed=0)
    for text in ("Which files are there?", "Please delete /srv/a.txt.", "rate", "Hello."):
        found = client.send(text)
        if client.pending() is not None:
            found = client.approve()
        assert "stop_reason" in kinds(found)
    if name != "failing":
        assert kinds(found)[-1] == "[DONE]"


def test_a_script_that_goes_wrong_fails_its_run(simulate):
    def odd():
        yield Say("Hello.")
        yield RunCode("1 + 1")

    def late():
        yield CallFunction("get_weather", {})
        yield Say("Too late.")

    def broken():
        yield Say("Almost.")
        msg = "a bug"
        raise RuntimeError(msg)

    for script, says in ((odd, "yields RunCode"), (late, "behind a call"), (broken, "a bug")):
        made = letta.scenario("odd", "Odd.")(lambda turn, script=script: (yield from script()))
        found = simulate(made).send()
        assert kinds(found)[-2:] == ["error_message", "[DONE]"]
        assert says in found[-2]["detail"]


def test_a_tool_that_fails_is_the_models_affair(simulate):
    def divide(a: int) -> str:
        return str(1 // a)

    @letta.scenario("maths", "Divides.", tools=[divide])
    def maths(turn):
        if turn.results:
            yield Say(next(iter(turn.results.values())).text)
        else:
            yield CallFunction("divide", turn.prompt)

    client = simulate(maths)
    for arguments, says in (('{"a": 0}', "ZeroDivisionError"), ("{", "JSONDecodeError")):
        found = client.send(arguments)
        (told,) = [one for one in found if "tool_returns" in one]
        assert (told["status"], says in told["tool_return"]) == ("error", True)
    assert text_of(client.send('{"a": 1}')) == "1"


def test_hidden_thoughts_and_costs(simulate):
    @letta.scenario("quiet", "Hides its thoughts.")
    def quiet(turn):
        yield letta.Spend(70, 7)
        yield letta.Hide("sealed")
        yield Say("Hello.")

    client = simulate(quiet)
    for tokens in (False, True):
        found = client.send(stream_tokens=tokens)
        assert found[0]["message_type"] == "hidden_reasoning_message"
        assert (found[0]["state"], found[0]["hidden_reasoning"]) == ("redacted", "sealed")
        assert (found[-2]["prompt_tokens"], found[-2]["completion_tokens"]) == (70, 7)


def test_what_a_scenario_cannot_be():
    with pytest.raises(ScenarioError, match="yields steps"):
        letta.scenario("x", "X.")(lambda turn: None)
    with pytest.raises(ScenarioError, match="one name"):
        letta.scenario("x", "X.", tools=[letta.ServerTool("a"), letta.ServerTool("a")])
    with pytest.raises(ScenarioError, match="needs a name"):
        letta.ServerTool.of(lambda: "x")
