"""The built-in scenarios, and scenarios from files and cells."""

from __future__ import annotations

import re
from random import Random

import pytest

from steer_nb.errors import InvalidInput, ScenarioError
from steer_nb.simulator import (
    SCENARIOS,
    AwaitSteer,
    Disconnect,
    ErrorEvent,
    Options,
    Say,
    Simulator,
    Think,
    list_options,
    list_scenarios,
    load_scenario,
    scenario,
)
from steer_nb.simulator.ids import Ids
from steer_nb.simulator.scenarios.failures import FAILURES
from steer_nb.simulator.steps import Item, Place
from tests.support.simulated import answer, calls_of, text_of, wire

ASKING = ["weather", "seven", "custom", "computer", "shell", "patch", "tools", "approval"]


def test_each_is_described_in_one_sentence():
    names = [
        "planner",
        "weather",
        "seven",
        "custom",
        "computer",
        "shell",
        "patch",
        "tools",
        "approval",
        "failures",
        "agents",
        "gallery",
    ]
    assert list(SCENARIOS) == names
    for one in list_scenarios():
        assert re.fullmatch(r"[A-Z][^.!?]*[.]", one.description), one.description
        assert len(one.description) < 120


@pytest.mark.parametrize("name", list(SCENARIOS))
async def test_any_number_of_turns(simulate, name):
    """A turn that calls is answered; a plain one says back what it was told."""
    async with wire(simulate(name)) as line:
        previous, quoted = None, 0
        for n in range(5):
            given = f"word{n} of the user"
            response = await line.ask(given, previous_response_id=previous)
            while calls := calls_of(response):
                results = [answer(call) for call in calls]
                response = await line.ask(results, previous_response_id=response["id"])
            assert response["status"] == "completed"
            assert text_of(response)
            quoted += f"“{given}”" in text_of(response)
            previous = response["id"]
        assert quoted >= 4 or name == "planner"


@pytest.mark.parametrize("name", ASKING)
async def test_results_are_visible_in_the_answer(simulate, name):
    expected = {
        "function_call": "“18 °C and dry”",
        "custom_tool_call": "“three hotels”",
        "computer_call": "a screenshot (image/png, 12 characters) and acknowledged 1 safety check.",
        "shell_call": "“ls trips/” ended with code 3: “ran ls trips/”.",
        "apply_patch_call": "The patch was applied: “1 line”.",
        "tool_search_call": "You named these tools: find_events.",
        "mcp_approval_request": "You approved delete_event.",
    }
    async with wire(simulate(name)) as line:
        response = await line.ask("Begin.")
        calls = calls_of(response)
        assert len(calls) == (7 if name == "seven" else 1)
        await line.steer(response["id"], "Hurry up.")
        await line.until("response.steer.pending")
        results = [answer(call) for call in calls]
        extra = {"role": "user", "content": "By the way."}
        text = text_of(await line.ask([*results, extra], previous_response_id=response["id"]))
        assert "“Hurry up.”" in text
        assert "“By the way.”" in text
        for call in calls:
            assert expected[call["type"]] in text


@pytest.mark.parametrize("name", ["approval", "seven"])
async def test_denied_is_not_approved(simulate, name):
    texts = []
    for approve, reason in ((True, None), (False, "Not that one.")):
        async with wire(simulate(name)) as line:
            response = await line.ask("Begin.")
            results = [
                answer(call, approve=approve, **({"reason": reason} if reason else {}))
                if call["type"] == "mcp_approval_request"
                else answer(call)
                for call in calls_of(response)
            ]
            texts.append(text_of(await line.ask(results, previous_response_id=response["id"])))
    assert "You approved delete_event." in texts[0]
    assert "You denied delete_event: “Not that one.”" in texts[1]
    if name == "approval":
        assert "is deleted" in texts[0]
        assert "delete nothing" in texts[1]


async def test_failed_patch_is_not_a_completed_one(simulate):
    async with wire(simulate("patch")) as line:
        response = await line.ask("Begin.")
        result = answer(calls_of(response)[0], status="failed", output="no such file")
        text = text_of(await line.ask([result], previous_response_id=response["id"]))
        assert "The patch failed: “no such file”." in text
        assert "stays as it was" in text


async def test_tool_search_leads_to_a_call(simulate):
    async with wire(simulate("tools")) as line:
        response = await line.ask("What is on?")
        response = await line.ask(
            [answer(calls_of(response)[0])], previous_response_id=response["id"]
        )
        (call,) = calls_of(response)
        assert (call["name"], call["arguments"]) == ("find_events", '{"day":"example"}')
        none = answer(calls_of(await line.ask("search again"))[0], tools=[])
        ended = await line.ask([none], previous_response_id=line.events[-1]["response"]["id"])
        assert "You named no tools." in text_of(ended)


@pytest.mark.parametrize(
    ("prompt", "city"),
    [
        ("What is the weather in New York today?", "New York"),
        ("Wetter bitte", "Lisbon"),
        ("Weather for São Paulo?", "São Paulo"),
    ],
)
async def test_weather_takes_the_city_from_the_prompt(simulate, prompt, city):
    async with wire(simulate("weather")) as line:
        (call,) = calls_of(await line.ask(prompt))
        assert call["arguments"] == f'{{"city":"{city}"}}'


def test_planner_takes_about_five_seconds():
    class Turn:
        tools = steers = results = said = asked = ()
        prompt = "Plan a two-day trip to Lisbon."
        input_texts = (prompt,)

    total, items = 0.0, 0
    for index, step in enumerate(SCENARIOS["planner"](Turn())):
        assert isinstance(step, Item)
        items += 1
        place = Place(Ids(0), "resp", index, Random(index))
        total += sum(beat.seconds for beat in step.play(place))
    assert 4 < total < 6.5
    assert items >= 5  # so that a steer takes effect soon


# The failures scenario


async def test_failures_reach_every_kind(simulate):
    reached = {}
    simulator = simulate("failures")
    for name in FAILURES:
        async with wire(simulator) as line:
            await line.create(f"Please show {name}", stream_id="a")
            if name == "disconnect":
                await line.socket.wait_closed()
                reached[name] = str(line.socket.protocol.close_code)
                continue
            event = await line.recv()
            if event["type"] == "error":
                assert event["stream_id"] == "a"
                reached[name] = event["error"]["code"]
                continue
            if name.startswith(("response_", "invalid_i", "steering", "too_many", "successor")):
                continue  # test_steering has those
            event = await line.until("error", "response.completed", "response.failed",
                                     "response.incomplete")  # fmt: skip
            if event["type"] == "error":
                reached[name] = event["error"]["code"]
            elif event["type"] == "response.failed":
                reached[name] = event["response"]["error"]["code"]
            elif event["type"] == "response.incomplete":
                reached[name] = event["response"]["incomplete_details"]["reason"]
            else:
                reached[name] = event["response"]["output"][-1]["type"]
    assert reached == {
        "server_error": "server_error",
        "rate_limit_exceeded": "rate_limit_exceeded",
        "invalid_prompt": "invalid_prompt",
        "max_output_tokens": "max_output_tokens",
        "max_messages": "max_messages",
        "content_filter": "content_filter",
        "previous_response_not_found": "previous_response_not_found",
        "websocket_connection_limit_reached": "websocket_connection_limit_reached",
        "insufficient_quota": "insufficient_quota",
        "model_not_found": "model_not_found",
        "credit_balance_exhausted": "credit_balance_exhausted",
        "refusal": "message",
        "missing_output": "function_call",
        "disconnect": "1011",
    }


async def test_error_after_an_accepted_steer_leaves_it_open(simulate):
    """Seen live (5.6): the account was empty, and the steer was never resolved."""

    @scenario("broke", "Loses its credit after a steer.")
    def broke(turn):
        yield Say("Almost")
        yield AwaitSteer(5)
        yield ErrorEvent("credit_balance_exhausted", "No credit.", 402, "insufficient_quota")

    async with wire(simulate(broke)) as line:
        await line.create(stream_id="a")
        created = await line.until("response.created")
        await line.steer(created["response"]["id"])
        error = await line.until("error")
        assert error["status"] == 402
        await line.silence()
        assert line.of("response.steer.accepted")
        assert not line.of("response.steer.failed")


async def test_a_scenario_that_raises_fails_its_response(simulate, caplog):
    @scenario("broken", "Raises.")
    def broken(turn):
        yield Say("Before.")
        raise ZeroDivisionError(turn.prompt)

    async with wire(simulate(broken)) as line:
        response = await line.ask("oops")
        assert response["status"] == "failed"
        assert "ZeroDivisionError: oops" in response["error"]["message"]
        assert "scenario failed" in caplog.text


async def test_a_scenario_that_yields_nonsense_fails_its_response(simulate):
    @scenario("odd", "Yields text.")
    def odd(turn):
        yield "hello"

    async with wire(simulate(odd)) as line:
        assert "cannot yield 'hello'" in (await line.ask())["error"]["message"]


async def test_disconnect_mid_response(simulate):
    @scenario("drop", "Drops the line.")
    def drop(turn):
        yield Think("Hm.")
        yield Disconnect(1012, "restart")

    async with wire(simulate(drop)) as line:
        await line.create()
        await line.until("response.output_item.done")
        await line.socket.wait_closed()
        assert (line.socket.protocol.close_code, line.socket.protocol.close_reason) == (
            1012,
            "restart",
        )


# Finding and loading


def test_unknown_names_list_what_there_is():
    with pytest.raises(
        ScenarioError, match=r"'wether'.*Did you mean 'weather'\?.*planner, weather"
    ):
        Simulator("wether")


def test_a_plain_function_is_no_scenario():
    with pytest.raises(ScenarioError, match="yields steps"):

        @scenario("plain", "Returns.")
        def plain(turn):
            return []


FILE = """
from steer_nb.simulator import Say, scenario

@scenario("parrot", "Says what you say.")
def parrot(turn):
    yield Say(turn.prompt)
"""
SECOND = """
@scenario("shout", "Shouts.")
def shout(turn):
    yield Say(turn.prompt.upper())
"""


async def test_from_a_file(simulate, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    for which in (path, str(path)):
        async with wire(simulate(which)) as line:
            assert text_of(await line.ask("Polly")) == "Polly"
    path.write_text(FILE + SECOND, encoding="utf-8")
    async with wire(simulate(f"{path}:shout")) as line:
        assert text_of(await line.ask("Polly")) == "POLLY"
    assert load_scenario(path, "parrot").description == "Says what you say."


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (FILE + SECOND, r"several.*mine\.py:NAME.*parrot, shout"),
        ("x = 1", "defines no scenario"),
        ("def f(:\n", "line 1"),
        ("\n\n1 / 0", "line 3.*ZeroDivisionError"),
        (None, "no scenario file"),
    ],
)
def test_bad_files(tmp_path, text, match):
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=match):
        load_scenario(path)


def test_unknown_name_in_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(FILE, encoding="utf-8")
    with pytest.raises(ScenarioError, match="'shout'; it defines parrot"):
        Simulator(f"{path}:shout")


# Options


def test_options_are_checked():
    with pytest.raises(InvalidInput, match="Did you mean 'steer_waiting'"):
        Simulator(steer_wating="accept")
    with pytest.raises(InvalidInput, match="must be one of 'accept', 'refuse', not 'maybe'"):
        Simulator(steer_waiting="maybe")
    with pytest.raises(InvalidInput, match="speed"):
        Simulator(speed=-1)
    with pytest.raises(InvalidInput, match="speed"):
        Simulator(speed=float("nan"))


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("in_flight_limit", "16", "a whole number, 0 or more"),
        ("lane_limit", -1, "a whole number, 0 or more"),
        ("max_pending_steers", True, "a whole number, 0 or more"),
        ("connection_limit_s", "1h", "a number, 0 or more"),
        ("done_event", "no", "True or False"),
        ("steerable_models", ["gpt-6"], "a tuple of texts"),
        ("default_model", 6, "a text, or None"),
    ],
)
def test_option_values_are_checked_before_anything_runs(option, value, rule):
    with pytest.raises(InvalidInput, match=f"{option} must be {rule}, not"):
        Simulator(**{option: value})


def test_option_values_that_fit():
    Simulator(limit_close_code=None, default_model=None, connection_limit_s=60, breath_s=0.5)
    Simulator(steerable_models=(), done_event=True, unknown_target_sequence=3)


def test_every_option_is_explained():
    listed = list_options()
    assert [one.name for one in listed] == list(Options.__dataclass_fields__)
    assert all(one.help.endswith(".") for one in listed)
    questions = {one.question for one in listed}
    assert {"a", "b", "c", "d", "e", "g", "h", "i", "j", "5.7"} <= questions
