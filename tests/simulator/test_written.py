"""Scenarios in YAML: what they can say, and what is said about each mistake."""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steer_nb import simulator
from steer_nb.errors import ScenarioError
from steer_nb.simulator import agents, load_scenario, steps
from steer_nb.simulator.scenario import get_scenario
from steer_nb.simulator.scenarios import SCENARIOS
from steer_nb.simulator.written import CONDITIONS, PLACEHOLDERS, STEPS, nodes
from steer_nb.simulator.written import __doc__ as reference
from steer_nb.simulator.written.filling import fill
from tests.simulator.scripts import started
from tests.simulator.test_every_event import IN_YAML
from tests.support.simulated import answer, calls_of, text_of, wire

TRIP = """\
name: trip
description: Plans a trip, and looks up the weather.
rules:
  - when: {steered: true}
    play:
      - say: "You said: {steer}."
  - when: {result: get_weather}
    play:
      - say: "It is {result.get_weather} on {lane}."
  - when: {said: [weather, forecast], tool: get_weather}
    unless: {said: never}
    play:
      - think: [I look it up., "For {prompt}"]
      - call: get_weather
        arguments: {city: Lisbon, days: 2, units: null, note: "{prompt}"}
turns:
  - - say: First.
    - await_steer: 5
    - say: Second.
  - say: "The second turn."
otherwise:
  say: "Turn {turn} of {model}."
"""
WEATHER = {"type": "function", "name": "get_weather", "parameters": {}}


@pytest.fixture
def written(tmp_path):
    def write(text: str | bytes, name: str = "mine.yaml"):
        path = tmp_path / name
        if isinstance(text, str):
            path.write_text(text, encoding="utf-8", newline="")
        else:
            path.write_bytes(text)
        return path

    return write


async def test_a_whole_conversation(simulate, written):
    async with wire(simulate(written(TRIP))) as line:
        tools = [WEATHER]
        asked = await line.ask("What is the FORECAST?", stream_id="a", tools=tools)
        (call,) = calls_of(asked)
        thought = next(item for item in asked["output"] if item["type"] == "reasoning")
        assert [part["text"] for part in thought["summary"]] == [
            "I look it up.",
            "For What is the FORECAST?",
        ]
        assert call["arguments"] == (
            '{"city":"Lisbon","days":2,"units":null,"note":"What is the FORECAST?"}'
        )
        more = {"previous_response_id": asked["id"], "stream_id": "a"}
        told = await line.ask([answer(call)], **more)
        assert text_of(told) == "It is 18 °C and dry on a."
        third = await line.ask("And?", previous_response_id=told["id"], stream_id="a")
        assert text_of(third) == "Turn 3 of gpt-6-astra."


async def test_turns_in_order_and_a_steer(simulate, written):
    async with wire(simulate(written(TRIP))) as line:
        first = await started(line, "Is the weather nice?")  # no tool is offered
        await line.steer(first, "Only {prompt} museums")
        assert (await line.end())["incomplete_details"] == {"reason": "steered"}
        successor = await line.end()
        assert text_of(successor) == "You said: Only {prompt} museums."
    alone = TRIP.replace("await_steer: 5", "await_steer: 0.2")  # nobody steers, and it goes on
    async with wire(simulate(written(alone))) as line:
        new = await line.ask("Never mind the weather: never!", tools=[WEATHER])
        assert text_of(new) == "First.Second."
        second = await line.ask("Go on.", previous_response_id=new["id"])
        assert text_of(second) == "The second turn."


async def test_every_step_plays_what_the_sdk_knows(simulate, written):
    """All steps of the table, with `test_every_event`; each event is checked by the SDK's types."""
    text = """
rules:
  - when: {said: reject}
    play:
      - reject: model_not_found
        message: There is no such model.
        status: 404
        param: model
  - {when: {said: failure}, play: [{say: So.}, {fail: rate_limit_exceeded, message: Later.}]}
  - {when: {said: stop}, play: [{say: So.}, {incomplete: content_filter}]}
  - {when: {said: broke}, play: [{say: So}, {error: no_money, message: Pay., status: 402}]}
  - {when: {matches: "^bye+$"}, play: [{disconnect: 3001, reason: as asked}]}
turns:
  - - think: Hm.
    - say: [One., Two.]
      phase: commentary
    - refuse: Not that.
    - search_web: trams
      sources: https://example.org
      seconds: 0
    - search_files: [fares]
    - run_code: print(1)
      logs: "1"
    - call_mcp: list_events
      server: calendar
      arguments: {day: 1}
      output: none
    - pause: 0.01
    - await_steer: 0
      count: 2
    - refuse_steers: response_not_active
      message: Not now.
    - refuse_steers: false
    - fail_successor
    - fault: duplicate
      type: response.incomplete
    - call: f
      async: true
      namespace: n
    - custom: note
      input: "{prompt}"
    - computer
    - computer: {type: click, button: left, x: 1, y: 2}
      safety_checks: {code: domain, message: Look.}
    - shell: [ls, "echo {prompt}"]
      timeout_ms: 100
    - patch: a.txt
      operation: delete_file
    - search_tools: calendar
    - ask_approval: delete_event
      server: calendar
      arguments: {event: 1}
"""
    assert set(re.findall(r"[a-z_]+", text + IN_YAML)) >= set(STEPS)
    async with wire(simulate(written(text))) as line:
        response = await line.ask("this")
        kinds = [item["type"] for item in response["output"]]
        assert kinds == [
            "reasoning", "message", "message", "web_search_call", "file_search_call",
            "code_interpreter_call", "mcp_call", "function_call", "custom_tool_call",
            "computer_call", "computer_call", "shell_call", "apply_patch_call",
            "tool_search_call", "mcp_approval_request",
        ]  # fmt: skip
        assert response["output"][8]["input"] == "this"
        assert response["output"][11]["action"]["commands"] == ["ls", "echo this"]
        assert (await line.ask("A failure."))["error"]["message"] == "Later."
        assert (await line.ask("Stop!"))["incomplete_details"]["reason"] == "content_filter"
        await line.create("reject")
        assert (await line.until("error"))["error"]["code"] == "model_not_found"
        await line.create("We are broke")
        assert (await line.until("error"))["status"] == 402
        await line.create("BYEEE")
        with pytest.raises(Exception, match="as asked"):
            await line.until("error")


def test_every_python_step_can_be_written():
    """A step that is added for Python gets its word here, too, or this says so."""
    written = inspect.getsource(sys.modules["steer_nb.simulator.written.words"])
    exported = {name: getattr(simulator, name) for name in simulator.__all__}
    found = {
        name
        for name, thing in exported.items()
        if inspect.isclass(thing) and issubclass(thing, steps.Step)
    } - {"Step"}
    assert len(found) > 30
    for name in found:
        assert f".{name}" in written, name


def test_every_step_is_exported():
    for module in {sys.modules[word.make.__module__] for word in STEPS.values()}:
        for part in (value for value in vars(module).values() if inspect.ismodule(value)):
            for name, thing in vars(part).items():
                step = inspect.isclass(thing) and issubclass(thing, steps.Step)
                if step and dataclasses.is_dataclass(thing) and not name.startswith("_"):
                    made_by_the_team = thing in (
                        agents.HostedCall,
                        agents.HostedOutput,
                        agents.AgentMessage,
                    )
                    assert made_by_the_team or name in simulator.__all__, name


def test_the_reference_tells_everything():
    for table in (STEPS, CONDITIONS):
        for name, one in table.items():
            assert f"``{name}``" in reference
            assert one.help in reference
    for name in PLACEHOLDERS:
        assert f"``{{{name}}}``" in reference
    assert not re.search(r"<\w+>", reference)


def test_yaml_1_2_words_and_texts_as_written(written):
    text = """
description: 1.10
turns:
  - say: yes
  - say: 2026-01-01
  - call: f
    arguments: {a: yes, b: 12:30, c: 0o17, d: 1e3, e: -.5, f: True, g: ~, h: "1", i: 1_0, j: [1]}
  - say: |
      Two
      lines
"""
    one = load_scenario(written(text))
    assert one.description == "1.10"
    says = [turn[0].values for turn in one.script.turns]
    assert says[0] == {"value": ["yes"]}
    assert says[1] == {"value": ["2026-01-01"]}
    assert says[2]["arguments"] == {
        "a": "yes", "b": "12:30", "c": "0o17", "d": 1000.0, "e": -0.5, "f": True, "g": None,
        "h": "1", "i": "1_0", "j": [1],
    }  # fmt: skip
    assert says[3] == {"value": ["Two\nlines\n"]}


def test_names_come_from_the_file_or_its_name(written):
    assert get_scenario(written("turns: [say: Hi.]"), SCENARIOS).name == "mine"
    assert get_scenario(str(written("turns: [say: Hi.]", "x.YML")), SCENARIOS).name == "x"
    assert get_scenario(written(TRIP), SCENARIOS).name == "trip"


def test_placeholders_evaluate_nothing():
    class Says:
        prompt = "{steer} {prompt} {0.__class__}"
        steers = ("A {result}",)

    text = '{prompt}|{steer}|{{prompt}}|{"a": 1}|{}|{0}|{prompt!r}|{prompt.x}|{ prompt }'
    with pytest.raises(KeyError):
        fill("{prompt.x}", Says)  # refused when the file is read
    assert fill(text.replace("{prompt.x}", ""), Says) == (
        '{steer} {prompt} {0.__class__}|A {result}|{prompt}|{"a": 1}|{}|{0}|{prompt!r}||{ prompt }'
    )


BROKEN = {
    "empty": ("", 1, "the file is empty"),
    "only a comment": ("# nothing\n", 1, "the file is empty"),
    "null": ("~\n", 1, "the file is empty"),
    "a list": ("- say: Hi.\n", 1, "a scenario is a mapping"),
    "no turns": ("name: a\n", 1, "needs 'turns' or 'rules'"),
    "empty turns": ("name: a\nturns: []\n", 2, "'turns' is an empty list"),
    "turns is a mapping": ("turns:\n  say: Hi.\n", 2, "'turns' must be a list, not a mapping"),
    "unknown key": ("turn:\n  - say: Hi.\n", 1, "no key 'turn'. Did you mean 'turns'?"),
    "duplicate key": ("turns:\n  - say: a\nturns:\n  - say: b\n", 3, "twice; the first is in"),
    "duplicate option": ("turns:\n- call: f\n  call: g\n", 3, "'call' stands here twice"),
    "alias": ("x: &a [1]\nturns: *a\n", 1, "anchors (&a) are not taken"),
    "lone alias": ("turns: *a\n", 1, "aliases (*a) are not taken"),
    "bomb": ("a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", 1, "anchors"),
    "tag": ("turns: !!python/object/apply:os.system [ls]\n", 1, "tags ("),
    "own tag": ("turns:\n  - say: !env HOME\n", 2, "tags (!env)"),
    "two documents": ("turns: [say: a]\n---\nturns: [say: b]\n", 2, "a second document"),
    "tab": ("turns:\n\t- say: Hi.\n", 2, "not with tabs"),
    "colon in a text": ("turns:\n  - say: Note: this\n", 2, "goes in quotes"),
    "open quote": ('turns:\n  - say: "Hi.\n', 3, "this is no YAML"),
    "open bracket": ("turns: [say: a\n", 2, "this is no YAML"),
    "percent": ("turns:\n  - say: %d\n", 2, "goes in quotes"),
    "too deep": ("turns: " + "[" * 60 + "]" * 60, 1, "nested too deeply"),
    "very deep": ("turns: " + "[" * 100_000, 1, "nested too deeply"),
    "control character": ("turns:\n  - say: a\x07b\n", 2, "U+0007 may not stand"),
    "key is a list": ("? [a]\n: 1\n", 1, "a key is a word, not a list"),
    "unknown step": ("turns:\n  - - say: a\n    - cal: f\n", 3, "Did you mean 'call'?"),
    "other word": ("turns:\n  - wait: 3\n", 2, "Did you mean 'pause'?"),
    "unknown bare step": ("turns:\n  - fial\n", 2, "'fial' is no step. Did you mean 'fail'?"),
    "text alone": ("turns:\n  - Hello there.\n", 2, "write 'say:' before it"),
    "bare step that needs": ("turns:\n  - say\n", 2, "'say' needs a value, a text"),
    "number as step": ("turns:\n  - 3\n", 2, "a step is a mapping"),
    "empty step": ("turns:\n  - {}\n", 2, "this step is empty"),
    "empty turn": ("turns:\n  - []\n", 2, "this list of steps is empty"),
    "list in a turn": ("turns:\n  - - - say: a\n", 2, "a step is a mapping"),
    "forgotten dash": ("turns:\n- say: a\n  think: b\n", 3, "each step begins with a dash"),
    "option alone": ("turns:\n- arguments: {}\n", 2, "is an option, and no step"),
    "unknown option": ("turns:\n- call: f\n  argument: {}\n", 3, "Did you mean 'arguments'?"),
    "no options": ("turns:\n- pause: 1\n  phase: x\n", 3, "it takes no options"),
    "missing option": ("turns:\n- custom: f\n", 2, "'custom' needs 'input', a text"),
    "nothing to say": ("turns:\n- say:\n", 2, "nothing stands here"),
    "say a mapping": ("turns:\n- say: {a: 1}\n", 2, "must be a text, not a mapping"),
    "unquoted placeholder": ("turns:\n- say: {prompt}\n", 2, 'write "{prompt}", with quotes'),
    "say nothing at all": ("turns:\n- say: []\n", 2, "the list is empty"),
    "nested list": ("turns:\n- say: [a, [b]]\n", 2, "not a list"),
    "phase": ("turns:\n- say: a\n  phase: final_anser\n", 3, "Did you mean 'final_answer'?"),
    "flag": ("turns:\n- call: f\n  async: yes\n", 3, "true or false, not 'yes'"),
    "number": ("turns:\n- pause: soon\n", 2, "a number, 0 or more, not 'soon'"),
    "negative": ("turns:\n- pause: -1\n", 2, "a number, 0 or more, not -1"),
    "infinite": ("turns:\n- pause: 1e999\n", 2, "a number, 0 or more"),
    "true as number": ("turns:\n- pause: true\n", 2, "a number, 0 or more"),
    "count": ("turns:\n- await_steer: 1\n  count: 0\n", 3, "1 or more, not 0"),
    "whole": ("turns:\n- shell: ls\n  timeout_ms: 1.5\n", 3, "a whole number"),
    "arguments": ("turns:\n- call: f\n  arguments: [1]\n", 3, "not a list"),
    "action": ("turns:\n- computer: click\n", 2, "a mapping with 'type', not 'click'"),
    "action without type": ("turns:\n- computer: [{x: 1}]\n", 2, "an action needs 'type'"),
    "reason": ("turns:\n- incomplete: steered\n", 2, "one of max_output_tokens"),
    "close code": ("turns:\n- disconnect: 1006\n", 2, "a close code that may be sent"),
    "close flag": ("turns:\n- disconnect: false\n", 2, "a close code that may be sent"),
    "after the end": ("turns:\n- - fail\n  - say: a\n", 3, "never played: 'fail' before it"),
    "late reject": (
        "turns:\n- - say: a\n  - reject: no\n    message: No.\n",
        3,
        "'reject' must be the first step",
    ),
    "late queue": (
        "turns:\n- - say: a\n  - queue\n",
        3,
        "'queue' must be the first step: later the response is in progress",
    ),
    "base64": ("turns:\n- speak: a\n  audio: abc\n", 3, "this must be base64"),
    "annotation": ("turns:\n- say: a\n  annotations: x\n", 3, "with 'type', not 'x'"),
    "kind of annotation": (
        "turns:\n- say: a\n  annotations:\n  - type: url_citaton\n",
        4,
        "Did you mean 'url_citation'?",
    ),
    "annotation without url": (
        "turns:\n- say: a\n  annotations: {type: url_citation, title: T}\n",
        3,
        "a url_citation needs 'url'",
    ),
    "place of an annotation": (
        "turns:\n- say: a\n  annotations:\n    type: file_path\n    file_id: f\n    index: -1\n",
        6,
        "0 or more, not -1",
    ),
    "field of an annotation": (
        "turns:\n- say: a\n  annotations:\n    type: file_path\n    file_id: f\n    url: u\n",
        6,
        "a file_path has no 'url'",
    ),
    "open command": ("turns:\n- local_shell: echo 'a\n", 2, "this is no command"),
    "empty command": ('turns:\n- local_shell: ""\n', 2, "this must be a command"),
    "environment": ("turns:\n- local_shell: ls\n  env: [A]\n", 3, "a mapping of texts"),
    "tool without a name": (
        "turns:\n- list_mcp_tools: a\n  tools: [{description: b}]\n",
        3,
        "a tool needs 'name'",
    ),
    "no tools": ("turns:\n- find_tools: a\n  tools: []\n", 3, "the list is empty"),
    "error beside a step": ("turns:\n- think: a\n  error: b\n", 3, "begins with a dash"),
    "agents is a list": ("turns: [say: a]\nagents: [a]\n", 2, "'agents' must be a mapping"),
    "name of an agent": ("turns: [say: a]\nagents:\n  a/b: {say: a}\n", 3, "a name has letters"),
    "key of an agent": (
        "turns: [say: a]\nagents:\n  a:\n    turns: [say: a]\n    rule: []\n",
        5,
        "the agent 'a' has no key 'rule'. Did you mean 'rules'?",
    ),
    "step of an agent": ("turns: [say: a]\nagents:\n  a:\n  - sya: b\n", 4, "no step 'sya'"),
    "agent that queues": ("turns: [say: a]\nagents:\n  a: queue\n", 3, "an agent cannot play"),
    "no agents": ("turns:\n- spawn: a\n  task: b\n", 2, "This file has no 'agents'."),
    "unknown agent": (
        "turns:\n- spawn: skout\n  task: b\nagents:\n  scout: {say: a}\n",
        2,
        "no agent 'skout'. Did you mean 'scout'? This file has scout.",
    ),
    "agent without end": (
        "turns: [say: a]\nagents:\n  a: {spawn: b, task: c}\n  b: {spawn: a, task: c}\n",
        3,
        "the agent 'b' would spawn itself",
    ),
    "spawn without task": ("turns:\n- spawn: a\nagents: {a: {say: b}}\n", 2, "needs 'task'"),
    "wait for nothing": ("turns:\n- wait_agents: 3\n", 2, "this takes no value"),
    "placeholder": ("turns:\n- say: |\n    Hi {promt}\n", 2, "Did you mean {prompt}?"),
    "placeholder in JSON": (
        "turns:\n- call: f\n  arguments:\n    a: [1, '{user}']\n",
        4,
        "no placeholder {user}",
    ),
    "attribute": ("turns:\n- say: '{prompt.__class__}'\n", 2, "no placeholder {prompt.__class__}"),
    "rules": ("rules: {}\n", 1, "'rules' must be a list"),
    "rule": ("rules:\n- say: a\n", 2, "a rule has no key 'say'"),
    "rule is a text": ("rules:\n- always\n", 2, "a rule is a mapping"),
    "rule without play": ("rules:\n- when: {said: a}\n", 2, "needs 'play'"),
    "rule without when": ("rules:\n- play: [say: a]\n", 2, "needs 'when' or 'unless'"),
    "when": ("rules:\n- when: said\n  play: [say: a]\n", 2, "conditions are a mapping"),
    "empty when": ("rules:\n- when: {}\n  play: [say: a]\n", 2, "no condition stands here"),
    "condition": ("rules:\n- when:\n    sayd: a\n  play: [say: a]\n", 3, "Did you mean 'said'?"),
    "pattern": ("rules:\n- when: {matches: '('}\n  play: [say: a]\n", 2, "no regular expression"),
    "turn": ("rules:\n- when: {turn: first}\n  play: [say: a]\n", 2, "a whole number, 1 or more"),
    "name": ("name: [a]\nturns: [say: a]\n", 1, "must be a text, not a list"),
    "bytes": (b"turns:\n- say: \xff\n", 2, "the byte 0xff is no UTF-8"),
}


@pytest.mark.parametrize(("text", "line", "says"), BROKEN.values(), ids=BROKEN)
def test_mistakes_name_their_line(written, text, line, says):
    path = written(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line {line}, column "), message
    assert says in message
    assert "\n" not in message
    assert (caught.value.path, caught.value.line) == (str(path), line)
    assert caught.value.column is not None


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, len(TRIP)),
    st.integers(0, 12),
    st.text("\t\n\"'!%&*-:?@[]{}|>#~ ,aé\x85\u2028\x00", max_size=6),
)
def test_whatever_stands_there_is_read_or_refused(tmp_path_factory, at, length, text):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes((TRIP[:at] + text + TRIP[at + length :]).encode())
    refused = None
    try:
        load_scenario(path)
    except ScenarioError as error:
        refused = error
    if refused is not None:
        assert refused.line is not None
        assert refused.line <= len(path.read_text("utf-8").splitlines()) + 1
        assert "\n" not in str(refused)


def test_columns_point_at_the_word(written):
    with pytest.raises(ScenarioError, match="line 2, column 14: 'say' has no option 'phrase'"):
        load_scenario(written("turns:\n  - {say: a, phrase: commentary}\n"))


def test_files_that_cannot_be_read(tmp_path, written):
    with pytest.raises(ScenarioError, match="There is no scenario file"):
        load_scenario(tmp_path / "none.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(ScenarioError, match="There is no scenario file"):
        get_scenario(str(tmp_path / "folder.yaml"), SCENARIOS)
    big = written("# " + "x" * nodes.LARGEST)
    with pytest.raises(ScenarioError, match="larger than 1 MiB"):
        load_scenario(big)


def test_without_pyyaml_it_says_what_to_install(written, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ScenarioError, match=r'pip install "steer-nb\[yaml\]"'):
        load_scenario(written(TRIP))
