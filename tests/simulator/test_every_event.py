"""Every event type and output item of the official unions can be had, from Python and from YAML.

What there is to produce is read from the SDK: a new version with a new type fails here, by name.
"""

from __future__ import annotations

import pytest
from openai.types.beta.beta_response_output_item import BetaResponseOutputItem
from openai.types.responses.response_output_item import ResponseOutputItem

from steer_nb.simulator import (
    AskApproval,
    AwaitSteer,
    CallApplyPatch,
    CallComputer,
    CallCustom,
    CallFunction,
    CallLocalShell,
    CallMcp,
    CallShell,
    Compact,
    ErrorEvent,
    Fail,
    FindTools,
    GenerateImage,
    Incomplete,
    ListMcpTools,
    Queue,
    Refuse,
    RunCode,
    RunProgram,
    RunShell,
    Say,
    SearchFiles,
    SearchTools,
    SearchWeb,
    SendMessage,
    Spawn,
    Speak,
    Think,
    WaitAgents,
    scenario,
)
from steer_nb.wire import stub_for
from tests.proof.checks import check_accumulator, responses_in
from tests.support.simulated import answer, calls_of, text_of, wire
from tests.support.strict import server_event_classes, type_words

NEVER_SENT = {
    "function_call_output",
    "custom_tool_call_output",
    "computer_call_output",
    "apply_patch_call_output",
    "local_shell_call_output",
    "mcp_approval_response",
    "additional_tools",
}
"""Items of the unions that only a client sends; lists of a conversation's items repeat them."""

SPANS = [
    {"type": "url_citation", "url": "https://example.org", "title": "T", "start_index": 0,
     "end_index": 3},
    {"type": "file_citation", "file_id": "file_1", "filename": "a.txt"},
    {"type": "container_file_citation", "container_id": "c", "file_id": "f", "filename": "b.csv"},
    {"type": "file_path", "file_id": "file_2", "index": 0},
]  # fmt: skip


def scout(turn):
    if turn.results:
        yield Say(next(iter(turn.results.values())).text)
    else:
        yield CallFunction("get_weather", {"city": turn.prompt})


@scenario("python", "Plays everything once.")
def in_python(turn):
    if turn.results:
        yield Say("Heard: " + " / ".join(one.text for one in turn.results.values()))
    elif "wait" in turn.prompt:
        yield CallFunction("get_weather", {"city": "Lisbon"})
        yield AwaitSteer(5)
    elif "fail" in turn.prompt:
        yield Fail()
    elif "stop" in turn.prompt:
        yield Incomplete()
    elif "broke" in turn.prompt:
        yield ErrorEvent("no_money", "Pay.", 402)
    elif "team" in turn.prompt:
        yield Spawn("lisbon", "Lisbon", scout)
        yield SendMessage("lisbon", "Hurry.")
        yield WaitAgents()
        yield Say("They say: " + turn.reports["lisbon"])
    else:
        yield Queue(0)
        yield Think("First.", "And then", content=("One.", "Two."), interrupted=True)
        yield Say("One of", "two parts.", annotations=SPANS)
        yield Speak("Out loud.")
        yield Refuse("Not that.")
        yield SearchWeb("trams", ["https://example.org"])
        yield SearchFiles(["fares"])
        yield FindTools({"query": "calendar"}, ["find_events"])
        yield ListMcpTools("calendar", ["list_events"])
        yield ListMcpTools("museum", error="It does not answer.")
        yield CallMcp("calendar", "list_events", {"day": 1}, "none")
        yield CallMcp("calendar", "delete_event", {"id": 1}, error="No such event.")
        yield RunCode("print(1)", "1")
        yield RunProgram("text(1)", "1")
        yield RunShell("ls", "rm x", stdout="a.txt\n", stderr=("", "no x\n"), exit_code=1)
        yield GenerateImage("A hill.", partial_images=2)
        yield GenerateImage("Something else.", error="It was blocked.")
        yield Compact(0)
        yield CallFunction("get_weather", {"city": "Lisbon"})
        yield CallCustom("note", "Remember.")
        yield CallComputer([{"type": "screenshot"}])
        yield CallShell("ls")
        yield CallLocalShell("ls", "-a", env={"A": "b"})
        yield CallApplyPatch("a.txt", "@@\n+1\n")
        yield SearchTools({"query": "calendar"})
        yield AskApproval("calendar", "delete_event", {"id": 1})


IN_YAML = """
rules:
  - {when: {result: true}, play: {say: "Heard: {results}"}}
  - {when: {said: wait}, play: [{call: get_weather, arguments: {city: Lisbon}}, {await_steer: 5}]}
  - {when: {said: fail}, play: fail}
  - {when: {said: stop}, play: incomplete}
  - {when: {said: broke}, play: {error: no_money, message: Pay., status: 402}}
  - when: {said: team, multi_agent: true}
    play:
      - spawn: scout
        as: lisbon
        task: Lisbon
      - send_message: Hurry.
        to: lisbon
      - wait_agents
      - say: "They say: {report.lisbon}"
otherwise:
  - queue: 0
  - think: [First., And then]
    content: [One., Two.]
    interrupted: true
  - say: [One of, two parts.]
    annotations:
      - {type: url_citation, url: "https://example.org", title: T, start_index: 0, end_index: 3}
      - {type: file_citation, file_id: file_1, filename: a.txt}
      - {type: container_file_citation, container_id: c, file_id: f, filename: b.csv}
      - {type: file_path, file_id: file_2, index: 0}
  - speak: Out loud.
  - refuse: Not that.
  - search_web: trams
    sources: https://example.org
  - search_files: fares
  - find_tools: calendar
    tools: find_events
  - list_mcp_tools: calendar
    tools: [list_events]
  - list_mcp_tools: museum
    error: It does not answer.
  - call_mcp: list_events
    server: calendar
    arguments: {day: 1}
    output: none
  - call_mcp: delete_event
    server: calendar
    arguments: {id: 1}
    error: No such event.
  - run_code: print(1)
    logs: 1
  - run_program: text(1)
    result: 1
  - run_shell: [ls, rm x]
    stdout: "a.txt\\n"
    stderr: ["", "no x\\n"]
    exit_code: 1
  - generate_image: A hill.
    partial_images: 2
  - generate_image: Something else.
    error: It was blocked.
  - compact: 0
  - call: get_weather
    arguments: {city: Lisbon}
  - custom: note
    input: Remember.
  - computer: {type: screenshot}
  - shell: ls
  - local_shell: ls -a
    env: {A: b}
  - patch: a.txt
    diff: "@@\\n+1\\n"
  - search_tools: calendar
  - ask_approval: delete_event
    server: calendar
    arguments: {id: 1}
agents:
  scout:
    turns:
      - call: get_weather
        arguments: {city: "{prompt}"}
      - say: "{result}"
"""

TEAM = {"multi_agent": {"enabled": True}}


@pytest.fixture(params=["python", "yaml"])
def script(request, tmp_path):
    if request.param == "python":
        return in_python
    path = tmp_path / "everything.yaml"
    path.write_text(IN_YAML, encoding="utf-8")
    return path


async def alone(line):
    """All that one agent can play, and what comes of steers."""
    everything = await line.ask("everything")
    results = [answer(call) for call in calls_of(everything)]
    told = await line.ask(results, previous_response_id=everything["id"])
    assert text_of(told).startswith("Heard: 18 °C and dry")
    await line.create("wait")
    asked = (await line.until("response.created"))["response"]["id"]
    await line.until("response.function_call_arguments.done")
    await line.steer(asked, "Soon.")
    call = calls_of(await line.end())[0]
    await line.until("response.steer.pending")
    await line.ask([answer(call)], previous_response_id=asked)
    await line.steer(asked, "Too late.")
    await line.until("response.steer.failed")
    assert (await line.ask("fail"))["status"] == "failed"
    assert (await line.ask("stop"))["status"] == "incomplete"
    await line.create("broke")
    await line.until("error")
    return everything


async def several(line):
    """All that several agents can play, and what comes of injects."""
    await line.create("team", **TEAM)
    created = await line.until("response.created")
    team = await answered(line, created["response"]["id"], 1)
    assert text_of(team).endswith("They say: 18 °C and dry")
    await line.create("everything", **TEAM)
    created = await line.until("response.created")
    everything = await answered(line, created["response"]["id"], 8)
    await line.inject("resp_nowhere", answer({"type": "function_call", "call_id": "c"}))
    await line.until("response.inject.failed")
    return team["output"] + everything["output"]


async def answered(line, response_id, number):
    """Answer so many calls of a response that runs, and give it as it ends."""
    while number:
        item = (await line.until("response.output_item.done"))["item"]
        if stub_for(item) is not None:
            await line.inject(response_id, answer(item))
            number -= 1
    return await line.end()


async def test_every_type_of_the_union_comes(simulate, script):
    async with wire(simulate(script)) as line:
        everything = await alone(line)
    wanted = set(server_event_classes())
    assert wanted - {event["type"] for event in line.events} == set()
    made = {item["type"] for item in everything["output"]}
    assert type_words(ResponseOutputItem) - made == NEVER_SENT
    for events in responses_in(line.events):
        check_accumulator(events)


async def test_every_type_of_the_beta_comes(simulate, script):
    async with wire(simulate(script), beta=True) as line:
        await alone(line)
        output = await several(line)
    wanted = set(server_event_classes(beta=True))
    assert wanted - {event["type"] for event in line.events} == set()
    made = {item["type"] for item in output}
    assert type_words(BetaResponseOutputItem) - made == NEVER_SENT
    by_agents = {event["type"] for event in line.events if "agent" in event}
    assert wanted - by_agents == {
        "error",
        "response.failed",
        "response.incomplete",
        "response.inject.created",
        "response.inject.failed",
        "response.steer.accepted",
        "response.steer.failed",
        "response.steer.pending",
    }


async def test_both_ways_to_write_say_the_same(simulate, tmp_path):
    path = tmp_path / "everything.yaml"
    path.write_text(IN_YAML, encoding="utf-8")
    played = []
    for one in (in_python, path):
        async with wire(simulate(one, seed=3)) as line:
            await line.ask("everything")
            played.append(line.events)
    assert played[0] == played[1]


async def test_the_whole_conversation_can_be_sent_again(simulate, script):
    """As after a lost connection: the service's own calls and outputs among the client's."""
    async with wire(simulate(script)) as line:
        everything = await line.ask("everything")
        results = [answer(call) for call in calls_of(everything)]
        again = [{"role": "user", "content": "wait"}, *everything["output"], *results]
        assert text_of(await line.ask(again)).startswith("Heard: 18 °C and dry")


@pytest.mark.parametrize("wanted", [None, True, False])
async def test_deltas_are_padded_unless_that_is_turned_off(simulate, wanted):
    """As recorded from the service: the one delta that is no text has no padding."""
    options = {} if wanted is None else {"stream_options": {"include_obfuscation": wanted}}
    async with wire(simulate(in_python)) as line:
        await line.ask("everything", **options)
    deltas = [event for event in line.events if "delta" in event]
    kinds = {event["type"] for event in deltas}
    padded = {event["type"] for event in deltas if "obfuscation" in event}
    assert kinds == {word for word in server_event_classes() if word.endswith(".delta")}
    shell = {"response.shell_call_output_content.delta"}
    assert padded == (set() if wanted is False else kinds - shell)
