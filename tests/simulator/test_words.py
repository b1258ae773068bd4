"""What the built-in scenarios say, read as a learner reads it."""

from __future__ import annotations

import re

import pytest

from steer_nb.simulator import SCENARIOS
from steer_nb.wire import cancelled_fields, fill_stub, stub_for
from tests.support.simulated import ENDS, answer, calls_of, text_of, wire

WEATHER = [{"type": "function", "name": "get_weather", "parameters": None, "strict": None}]
PROMPTS = ("Start in Oslo.", "Is that all?", "Do it again, please!", "Thanks")


async def steered(line, prompt, *steers, **fields):
    """Ask, steer at once, and give the successor, which every steer ends in.

    On a busy machine the response may be over before a steer arrives; then it is asked anew.
    """
    for _ in range(20):
        await line.create(prompt, **fields)
        target = (await line.until("response.created"))["response"]["id"]
        seen = len(line.events)
        for text in steers:
            await line.steer(target, text)
        await line.end()
        fates = ("response.steer.accepted", "response.steer.failed")
        while sum(event["type"] in fates for event in line.events[seen:]) < len(steers):
            await line.until(*fates)
        if any(event["type"] == "response.steer.accepted" for event in line.events[seen:]):
            break
    else:
        raise AssertionError("no steer was ever in time")
    # The fate of a later steer may come behind the successor's end.
    first, *successors = [one["response"] for one in line.events[seen:] if one["type"] in ENDS]
    if calls_of(first):
        results = [answer(call) for call in calls_of(first)]
        return await line.ask(results, previous_response_id=first["id"], **fields)
    return successors[0] if successors else await line.end()


@pytest.mark.parametrize("name", SCENARIOS)
async def test_sentences_end_once(simulate, name):
    async with wire(simulate(name)) as line:
        texts, previous = [], None
        for prompt in PROMPTS:
            response = await line.ask(prompt, previous_response_id=previous)
            while calls := calls_of(response):
                texts.append(text_of(response))
                results = [answer(call) for call in calls]
                response = await line.ask(results, previous_response_id=response["id"])
            texts.append(text_of(response))
            previous = response["id"]
        response = await steered(line, "Begin in Rome.", "Keep it under 300 euros.", "Why?")
        texts.append(text_of(response))
    for text in texts:
        assert not re.search(r"[.!?…]”[.!?]|[.!?]{2}|  | \.", text), text
        assert not re.search(r"\b1 \w+s\b", text), text
        quotes = re.findall("“[^”]*”", text)
        assert len(quotes) == len(set(quotes)) or name == "failures", text


@pytest.mark.parametrize("name", ["planner", "weather"])
async def test_the_place_is_the_one_named_last(simulate, name):
    async with wire(simulate(name, breath_s=0.01)) as line:
        response = await steered(line, "Go to Oslo.", "No, to Rome.", "Answer in English!")
        said = text_of(response) + str(calls_of(response))
        assert "Rome" in said
        assert not re.search(r'for English|"English"', said)
    async with wire(simulate(name)) as line:
        response = await line.ask("What about a day in Bergen?")
        while calls := calls_of(response):
            results = [answer(call) for call in calls]
            response = await line.ask(results, previous_response_id=response["id"])
        response = await line.ask("Do it again.", previous_response_id=response["id"])
        assert "Bergen" in text_of(response) + str(calls_of(response))
        assert "Lisbon" not in text_of(response) + str(calls_of(response))


@pytest.mark.parametrize("amount", ["300 euros", "€300", "1.200 EUR", "$ 80", "80 dollars"])
async def test_the_plan_takes_up_an_amount(simulate, amount):
    async with wire(simulate("planner", breath_s=0.01)) as line:
        response = await steered(line, "Plan a trip.", f"Keep it under {amount}, please")
        assert f"Within {amount}, a guesthouse" in text_of(response)


async def test_a_next_turn_changes_the_plan(simulate):
    async with wire(simulate("planner")) as line:
        response = await line.ask("Plan a trip to Oslo.")
        response = await line.ask("Make it cheaper", previous_response_id=response["id"])
        text = text_of(response)
        assert text.startswith("You said: “Make it cheaper”. Here is the plan for Oslo with that")


async def test_a_steer_before_the_weather_is_looked_up_keeps_the_question(simulate):
    async with wire(simulate("planner", breath_s=0.01)) as line:
        response = await steered(line, "How is the weather in Oslo?", "In Rome!", tools=WEATHER)
        assert "Rome" in text_of(response) + str(calls_of(response))


@pytest.mark.parametrize("name", ["seven", "shell", "computer", "tools", "approval", "patch"])
async def test_only_a_whole_word_asks_again(simulate, name):
    async with wire(simulate(name)) as line:
        response = await line.ask("Begin.")
        while calls := calls_of(response):
            results = [answer(call) for call in calls]
            response = await line.ask(results, previous_response_id=response["id"])
        prompt = "Is that all? I had brunch, exchanged foolish words and am against it."
        response = await line.ask(prompt, previous_response_id=response["id"])
        assert not calls_of(response)
        assert "Say “again”, and I ask once more." in text_of(response)
        assert calls_of(await line.ask("Again!", previous_response_id=response["id"]))


@pytest.mark.parametrize(
    "name", [name for name in SCENARIOS if name not in ("planner", "failures")]
)
async def test_cancelled_results_read_well(simulate, name):
    async with wire(simulate(name)) as line:
        response = await line.ask("Begin.")
        results = []
        for call in calls_of(response):
            stub = stub_for(call)
            results.append(fill_stub(stub, call, **cancelled_fields(stub, call)))
        text = text_of(await line.ask(results, previous_response_id=response["id"]))
        assert "”.”" not in text
        assert ".”." not in text
        assert text


async def test_failures_says_what_it_can(simulate):
    async with wire(simulate("failures")) as line:
        text = text_of(await line.ask("Hello"))
        assert text.startswith("You said: “Hello”. Name a failure, and I do it.\nOf a steer: ")
        assert "Of the connection: disconnect." in text
