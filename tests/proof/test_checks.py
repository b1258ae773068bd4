"""The proof itself is proven: what is wrong on the wire does not pass its checks."""

from __future__ import annotations

import copy

import pytest

from steer_nb.simulator import CallCustom, CallFunction, Say, Think, scenario
from tests.proof.checks import check_events, check_numbers, check_tap
from tests.proof.sdk import on_a_connection
from tests.simulator.scripts import waits

pytestmark = on_a_connection


@scenario("much", "Does a little of much.")
def much(turn):
    yield Think("First I think.")
    yield Say("Then I say something.")
    yield CallFunction("get_weather", {"city": "Lisbon"})
    yield CallCustom("search", "hotels in Porto")


@pytest.fixture
async def scene(stage):
    scene = stage(much)
    async with scene.connect() as line:
        await line.ask()
    return scene


def test_what_is_right_passes(scene):
    assert check_tap(scene.tap, refused=[]) == len(scene.tap.links[0].received) > 30


def index(events, kind):
    return next(place for place, event in enumerate(events) if event["type"] == kind)


def drop(kind):
    return lambda events: events.pop(index(events, kind))


def change(kind, **fields):
    return lambda events: events[index(events, kind)].update(fields)


def change_output(events):
    events[-1]["response"]["output"][0]["id"] = "another"


@pytest.mark.parametrize(
    "harm",
    [
        drop("response.output_item.added"),
        drop("response.output_text.delta"),
        drop("response.function_call_arguments.delta"),
        drop("response.custom_tool_call_input.delta"),
        drop("response.reasoning_summary_text.delta"),
        change("response.output_text.delta", delta="x"),
        change("response.output_text.delta", delta=None),
        change("response.output_text.done", surprise=1),
        change("response.created", sequence_number="0"),
        change("response.output_item.done", output_index=40),
        change("response.in_progress", type="response.going"),
        change_output,
    ],
)
def test_what_is_wrong_fails(scene, harm):
    events = copy.deepcopy(scene.tap.links[0].received)
    check_events(events)
    harm(events)
    with pytest.raises((AssertionError, ValueError, RuntimeError)):
        check_events(events)


@pytest.mark.parametrize(
    "harm",
    [
        drop("response.in_progress"),
        drop("response.incomplete"),
        drop("response.steer.accepted"),
        change("response.created", sequence_number="0"),
        change("response.output_text.delta", sequence_number=2),
        lambda events: events.insert(4, events[4]),
        lambda events: events.insert(4, events.pop(5)),
    ],
)
async def test_a_lost_and_a_doubled_event_fail(stage, harm):
    scene = stage(waits)
    async with scene.connect() as line:
        parent = await line.started("Plan.")
        await line.steer(parent.id)
        await line.end()
        await line.end()
        await line.steer(parent.id)  # the answer to this one counts, too
        await line.refusal("response_not_active")
    events = copy.deepcopy(scene.tap.links[0].received)
    check_numbers(events)
    harm(events)
    with pytest.raises(AssertionError):
        check_numbers(events)


async def test_a_refusal_that_nobody_expected_fails(stage):
    scene = stage()
    async with scene.connect() as line:
        await line.create(background=True)
        await line.refusal("unsupported_parameter")
    with pytest.raises(AssertionError):
        check_tap(scene.tap, refused=[])
    check_tap(scene.tap, refused=["unsupported_parameter"])


async def test_a_request_that_is_not_the_sdks_fails(stage):
    scene = stage(unknown_parameters="ignore")
    async with scene.connect() as line:
        await line.send_raw('{"type":"response.create","input":"Hi.","surprise":1}')
        await line.end()
    with pytest.raises(AssertionError, match="surprise"):
        check_tap(scene.tap, refused=[])
