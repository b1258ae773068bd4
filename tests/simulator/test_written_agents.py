"""Several agents in a YAML scenario."""

from __future__ import annotations

import pytest

from tests.simulator.test_every_event import TEAM, answered
from tests.support.simulated import answer, calls_of, text_of, wire

PAIR = """
turns:
  - - spawn: scout
      as: lisbon
      task: Lisbon
    - spawn: scout
      as: porto
      task: Porto
    - send_message: Hurry.
      to: /root/porto
    - say: "They are on their way, says {agent}."
    - wait_agents
    - say: "{report.lisbon} / {report.porto} / {report.nobody}"
  - say: "Last: {report}"
agents:
  scout:
    - say: "I go to {prompt}."
    - call: get_weather
      arguments: {city: "{prompt}"}
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "mine.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


async def started(line, **fields):
    await line.create(**{**TEAM, **fields})
    return (await line.until("response.created"))["response"]["id"]


async def test_agents_of_a_file_play_at_the_same_time(simulate, written):
    async with wire(simulate(written(PAIR)), beta=True) as line:
        final = await answered(line, await started(line), 2)
    texts = {}
    for item in final["output"]:
        if item["type"] == "message":
            said = texts.setdefault(item["agent"]["agent_name"], [])
            said.append(item["content"][0]["text"])
    told = 'get_weather(city="{}") gave: “18 °C and dry”.'
    assert texts == {
        "/root": [
            "They are on their way, says /root.",
            f"{told.format('Lisbon')} / {told.format('Porto')} / ",
        ],
        "/root/lisbon": ["I go to Lisbon.", told.format("Lisbon")],
        "/root/porto": ["I go to Porto.", told.format("Porto")],
    }


async def test_one_agent_alone_is_told_what_is_missing(simulate, written):
    async with wire(simulate(written(PAIR))) as line:
        failed = await line.ask()
    message = "Spawn needs a request with multi_agent, enabled: true"
    assert failed["error"] == {"code": "server_error", "message": message}


async def test_an_agent_has_turns_and_rules_of_its_own(simulate, written):
    text = """
turns:
  - - {spawn: worker, task: Begin.}
    - wait_agents
    - say: "{report.worker}"
agents:
  worker:
    rules:
      - when: {result: second}
        play: {say: "Turn {turn}: {result.second}"}
    turns:
      - call: first
      - call: second
      - say: Never.
"""
    async with wire(simulate(written(text)), beta=True) as line:
        final = await answered(line, await started(line), 2)
    assert text_of(final).endswith("Turn 3: 18 °C and dry")
    assert [item["name"] for item in calls_of(final)] == ["first", "second"]


async def test_agents_spawn_agents(simulate, written):
    text = """
turns:
  - - {spawn: chief, task: All of it.}
    - wait_agents
    - say: "{reports}"
agents:
  chief:
    - {spawn: hand, as: left, task: "{prompt}"}
    - {spawn: hand, as: right, task: The rest.}
    - wait_agents
    - say: "{report.left} and {report.right}"
  hand: {say: "{agent} does {prompt}"}
"""
    async with wire(simulate(written(text)), beta=True) as line:
        await started(line)
        final = await line.end()
    done = "/root/chief/left does All of it. and /root/chief/right does The rest."
    assert text_of(final).endswith(f"chief: {done}")


async def test_what_the_root_is_told_is_another_turn(simulate, written):
    """As for one agent, whether an answer is injected or comes with a continuation."""
    text = """
turns:
  - {call: first}
  - {say: "Second turn: {result}"}
  - {say: Third turn.}
"""
    async with wire(simulate(written(text)), beta=True) as line:
        injected = await answered(line, await started(line), 1)
        assert text_of(injected) == "Second turn: 18 °C and dry"
        third = await line.ask("Go on.", previous_response_id=injected["id"], **TEAM)
        assert text_of(third) == "Third turn."
    async with wire(simulate(written(text))) as line:
        asked = await line.ask()
        told = await line.ask([answer(calls_of(asked)[0])], previous_response_id=asked["id"])
        assert text_of(told) == "Second turn: 18 °C and dry"
        third = await line.ask("Go on.", previous_response_id=told["id"])
        assert text_of(third) == "Third turn."


async def test_whether_there_are_agents_is_a_condition(simulate, written):
    text = """
rules:
  - {when: {multi_agent: true}, play: {say: Several.}}
  - {when: {multi_agent: false}, play: {say: One.}}
"""
    async with wire(simulate(written(text)), beta=True) as line:
        assert text_of(await line.ask(**TEAM)) == "Several."
        assert text_of(await line.ask()) == "One."
