"""Every answer to the questions that the documents leave open (5.8) can be had."""

from __future__ import annotations

import pytest

import steer_nb
from steer_nb.simulator import (
    AwaitSteer,
    CallFunction,
    Fail,
    FailSuccessor,
    Say,
    Scenario,
    Think,
    list_options,
    scenario,
)
from tests.simulator.scripts import fails, limited, started, three, waits
from tests.support.simulated import answer, calls_of, text_of, wire


async def test_a_waiting_parent_may_refuse(simulate):
    async with wire(simulate("weather", steer_waiting="refuse")) as line:
        ended = await line.ask("Weather in Porto?")
        await line.steer(ended["id"])
        assert (await line.recv())["error"]["code"] == "response_already_completed"


async def test_b_completed_parent_may_accept(simulate):
    async with wire(simulate("planner", steer_completed="accept")) as line:
        ended = await line.ask("Plan Rome.")
        await line.steer(ended["id"], "Shorter.")
        assert (await line.recv())["type"] == "response.steer.accepted"
        successor = await line.end()
        assert successor["previous_response_id"] == ended["id"]
        assert "“Shorter.”" in text_of(successor)
        await line.steer(ended["id"], "Again.")
        assert (await line.recv())["error"]["code"] == "response_already_completed"


@pytest.mark.parametrize("answer_", ["successor", "fail"])
async def test_c_limited_parent(simulate, answer_):
    async with wire(simulate(limited, steer_limited=answer_)) as line:
        await line.steer(await started(line), "Go on.")
        assert (await line.end())["incomplete_details"] == {"reason": "max_output_tokens"}
        if answer_ == "successor":
            assert text_of(await line.end()) == "Heard: Go on."
        else:
            failed = await line.recv()
            assert failed["error"]["code"] == "successor_creation_failed"


@pytest.mark.parametrize("answer_", ["fail", "successor"])
async def test_d_failed_parent(simulate, answer_):
    async with wire(simulate(fails, steer_failed=answer_)) as line:
        parent = await started(line)
        await line.steer(parent, "One.")
        await line.until("response.steer.accepted")
        ended = await line.end()
        assert ended["status"] == "failed"
        assert ended["error"]["code"] == "server_error"
        if answer_ == "successor":
            assert text_of(await line.end()) == "Heard: One."
        else:
            failed = await line.recv()
            assert failed["error"]["code"] == "successor_creation_failed"
            assert failed["steer"]["id"]


@pytest.mark.parametrize("order", ["first", "tail"])
async def test_e_successor_and_a_queued_create(simulate, order):
    async with wire(simulate(waits, successor_order=order)) as line:
        parent = await started(line)
        await line.create("Unrelated.", generate=False)
        await line.steer(parent, "Now.")
        await line.end()
        one = (await line.until("response.created"))["response"]["previous_response_id"]
        two = (await line.until("response.created"))["response"]["previous_response_id"]
        assert [one, two] == ([parent, None] if order == "first" else [None, parent])
        await line.end()


def parents(line):
    return [event["response"]["previous_response_id"] for event in line.of("response.created")]


@pytest.mark.parametrize("successors", ["one", "each"])
@pytest.mark.parametrize("acknowledge", ["at_once", "after_terminal", "after_successor"])
async def test_f_several_steers(simulate, successors, acknowledge):
    simulator = simulate(three, several_steers=successors, acknowledge=acknowledge)
    async with wire(simulator) as line:
        parent = await started(line, metadata={"k": "v"})
        for word in ("one", "two", "three"):
            await line.steer(parent, word)
        ended = [await line.end() for _ in range(2 if successors == "one" else 4)]
        await line.silence()
        texts = [text_of(response) for response in ended]
        reasons = [response["incomplete_details"] for response in ended]
        assert {str(response["metadata"]) for response in ended} == {"{'k': 'v'}"}
        # each continues from the one before it, and is cut for what still waits
        assert parents(line) == [None, *(response["id"] for response in ended[:-1])]
        assert reasons == [*[{"reason": "steered"}] * (len(ended) - 1), None]
        accepted = line.of("response.steer.accepted")
        assert len({event["steer"]["id"] for event in accepted}) == len(accepted) == 3
        assert {event["steer"]["previous_response_id"] for event in accepted} == {parent}
        if successors == "one":
            assert texts == ["Begun.", "one / two / three: Done."]
        else:
            assert texts == ["Begun.", "one: ", "two: ", "three: Done."]
    steers = [entry for entry in simulator.account if entry["kind"] == "steer"]
    assert {entry["fate"] for entry in steers} == {"committed"}
    assert len({entry["successor_id"] for entry in steers}) == len(ended) - 1


async def test_f_what_still_waits_goes_with_the_next_continuation(simulate):
    """A successor that calls makes the rest wait; a continuation carries all of it (rule 8)."""

    @scenario("late", "Calls a function once it was steered.")
    def late(turn):
        if turn.results:
            yield Say(" / ".join([*turn.steers, *(r.text for r in turn.results.values())]))
        elif turn.steers:
            yield CallFunction("look")
        else:
            yield Say("Begun.")
            yield AwaitSteer(10, count=3)
            yield Say("never said")

    async with wire(simulate(late, several_steers="each")) as line:
        parent = await started(line)
        for word in ("one", "two", "three"):
            await line.steer(parent, word)
        await line.end()
        successor = await line.end()
        assert successor["previous_response_id"] == parent
        waiting = [await line.recv(), await line.recv()]
        (call,) = calls_of(successor)
        for event in waiting:
            assert event["type"] == "response.steer.pending"
            assert event["steer"]["previous_response_id"] == parent
            assert event["required_input"][0]["call_id"] == call["call_id"]
        text = text_of(await line.ask([answer(call)], previous_response_id=successor["id"]))
        assert text == "two / three / 18 °C and dry"


async def test_f_what_still_waits_is_given_back_under_its_own_target(simulate):
    @scenario("broken", "Fails once it was steered.")
    def broken(turn):
        if turn.steers:
            yield Fail()
        else:
            yield Say("Begun.")
            yield AwaitSteer(10, count=2)
            yield Say("never said")

    async with wire(simulate(broken, several_steers="each")) as line:
        parent = await started(line)
        for word in ("one", "two"):
            await line.steer(parent, word)
        await line.end()
        assert (await line.end())["status"] == "failed"
        failed = await line.recv()
        assert failed["error"]["code"] == "successor_creation_failed"
        assert failed["steer"]["previous_response_id"] == parent
        assert failed["steer"]["input"] == "two"


@pytest.mark.parametrize("answer_", ["keep", "fail"])
async def test_g_continuation_without_results(simulate, answer_):
    async with wire(simulate("weather", missing_output=answer_)) as line:
        ended = await line.ask("Weather in Porto?")
        (call,) = calls_of(ended)
        await line.steer(ended["id"], "In Celsius.")
        await line.until("response.steer.pending")
        await line.create("Never mind.", previous_response_id=ended["id"])
        error = await line.recv()
        message = f"No tool output found for function call {call['call_id']}."
        assert error["error"]["message"] == message
        if answer_ == "fail":
            failed = await line.recv()
            assert failed["error"]["code"] == "successor_creation_failed"
            return
        text = text_of(await line.ask([answer(call)], previous_response_id=ended["id"]))
        assert "“In Celsius.”" in text
        assert len(line.of("response.steer.pending")) == 1


async def test_g_stranded_steers_fail(simulate):
    """With store false the refused create evicts the parent: nothing can continue it."""
    async with wire(simulate("weather")) as line:
        ended = await line.ask("Weather in Porto?", store=False)
        await line.steer(ended["id"], "In Celsius.")
        await line.until("response.steer.pending")
        await line.create("Never mind.", previous_response_id=ended["id"], store=False)
        assert (await line.recv())["type"] == "error"
        failed = await line.recv()
        assert failed["error"]["code"] == "successor_creation_failed"
        await line.create([answer(calls_of(ended)[0])], previous_response_id=ended["id"])
        assert (await line.recv())["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize("answer_", ["error", "fork"])
async def test_h_continuation_on_another_lane(simulate, answer_):
    async with wire(simulate("weather", wrong_lane=answer_)) as line:
        ended = await line.ask("Weather in Porto?", stream_id="a")
        (call,) = calls_of(ended)
        await line.steer(ended["id"], "In Celsius.")
        await line.until("response.steer.pending")
        await line.create([answer(call)], previous_response_id=ended["id"], stream_id="b")
        if answer_ == "error":
            error = await line.recv()
            assert error["error"]["param"] == "stream_id"
            assert error["stream_id"] == "b"
        else:
            assert "Celsius" not in text_of(await line.end())
        await line.create([answer(call)], previous_response_id=ended["id"], stream_id="a")
        assert "“In Celsius.”" in text_of(await line.end())


async def test_j_acknowledged_after_the_terminal(simulate):
    async with wire(simulate(waits, acknowledge="after_terminal")) as line:
        await line.steer(await started(line))
        await line.end()
        assert (await line.recv())["type"] == "response.steer.accepted"
        assert (await line.recv())["type"] == "response.created"
        await line.end()


async def test_j_committed_before_it_is_acknowledged(simulate):
    async with wire(simulate(waits, acknowledge="after_successor")) as line:
        await line.steer(await started(line))
        await line.end()
        assert (await line.recv())["type"] == "response.created"
        assert (await line.recv())["type"] == "response.steer.accepted"
        await line.end()


async def test_i_a_steer_of_nothing_has_the_number_that_was_chosen(simulate):
    for number in (0, 7):
        async with wire(simulate("planner", unknown_target_sequence=number)) as line:
            await line.steer("resp_nobody")
            failed = await line.recv()
            assert failed["error"]["code"] == "response_not_found"
            assert failed["sequence_number"] == number


def test_every_letter_has_an_option_save_k():
    letters = {one.question for one in list_options() if one.question.isalpha()}
    assert letters == set("abcdefghij")


async def test_k_a_successor_does_not_name_its_steers(simulate):
    """The types of the SDK have no field for it, and every event is held against them."""
    async with wire(simulate(waits)) as line:
        await line.steer(await started(line))
        steer_id = (await line.until("response.steer.accepted"))["steer"]["id"]
        created = await line.until("response.created")
        await line.end()
        assert steer_id not in str(created)


async def test_accepted_before_it_fails_even_when_acknowledged_late(simulate):
    @scenario("refuse", "Its successor fails.")
    def refuses(turn):
        yield FailSuccessor()
        yield Say("Only.")
        yield AwaitSteer(5)

    async with wire(simulate(refuses, acknowledge="after_successor")) as line:
        await line.steer(await started(line))
        await line.end()
        assert (await line.recv())["type"] == "response.steer.accepted"
        assert (await line.recv())["type"] == "response.steer.failed"


async def test_cut_between_calls(simulate):
    @scenario("two", "Two calls with a pause between.")
    def two(turn):
        yield CallFunction("one")
        yield AwaitSteer(5)
        yield CallFunction("two")

    for option, n_calls in ((False, 2), (True, 1)):
        async with wire(simulate(two, cut_between_calls=option)) as line:
            await line.steer(await started(line))
            ended = await line.end()
            assert ended["status"] == "completed"
            assert len(calls_of(ended)) == n_calls
            pending = await line.recv()
            assert len(pending["required_input"]) == n_calls


@pytest.mark.parametrize("async_calls", ["free", "block"])
async def test_asynchronous_calls(simulate, async_calls):
    @scenario("async", "Calls without waiting.")
    def calls(turn):
        if turn.results:
            yield Say("Got " + " ".join(r.text for r in turn.results.values()))
        elif turn.steers or turn.said:
            yield Say("Still waiting.")
        else:
            yield CallFunction("slow_report", asynchronous=True)
            yield Say("Meanwhile.")
            yield AwaitSteer(5)

    async with wire(simulate(calls, async_calls=async_calls)) as line:
        parent = await started(line)
        await line.steer(parent, "Anything?")
        ended = await line.end()
        (call,) = calls_of(ended)
        assert call["async"] is True
        if async_calls == "block":
            pending = await line.recv()
            assert pending["required_input"][0]["call_id"] == call["call_id"]
            return
        successor = await line.end()
        assert text_of(successor) == "Still waiting."
        late = await line.ask([answer(call)], previous_response_id=successor["id"])
        assert text_of(late) == "Got 18 °C and dry"


@scenario("thinks", "Thinks for long, or says what it heard.")
def thinks(turn):
    if turn.steers:
        yield Say("Heard: " + " / ".join(turn.steers))
        return
    yield Think("word " * 2000, "More.")
    yield Say("Done.")


@pytest.mark.parametrize("answer_", ["finish", "interrupt"])
async def test_54_a_reasoning_summary_may_be_broken_off(simulate, answer_):
    async with wire(simulate(thinks, steered_reasoning=answer_)) as line:
        parent = await started(line)
        await line.until("response.reasoning_summary_text.delta")
        await line.steer(parent, "Stop.")
        ended = await line.end()
        assert ended["incomplete_details"] == {"reason": "steered"}
        parts = line.of("response.reasoning_summary_part.done")
        summary = ended["output"][0]["summary"]
        assert [part["part"] for part in parts] == summary
        said = "".join(e["delta"] for e in line.of("response.reasoning_summary_text.delta"))
        assert said == "".join(part["text"] for part in summary)
        if answer_ == "finish":
            assert [part.get("status") for part in parts] == [None, None]
            assert said == "word " * 2000 + "More."
        else:
            assert [part.get("status") for part in parts] == ["incomplete"]
            assert len(said) < len("word " * 2000)
        assert text_of(await line.end()) == "Heard: Stop."


@scenario("held", "Waits for a steer where it is told to.")
def held(turn):
    if turn.steers:
        yield Say("Heard: " + " / ".join(turn.steers))
        return
    yield Say("First.")
    if turn.prompt == "Hold.":
        yield AwaitSteer(5)
    yield Say("Second.")


@pytest.mark.parametrize("answer_", ["silent", "event"])
async def test_3_a_create_that_waits_in_its_lane(simulate, answer_):
    async with wire(simulate(held, lane_queued=answer_)) as line:
        first = await started(line, "Hold.", stream_id="a")
        await line.create("Next.", stream_id="a", previous_response_id=first)
        if answer_ == "silent":
            await line.steer(first, "Now.")
            await line.end()
            await line.end()
            await line.end()
            assert line.of("response.queued") == []
            return
        queued = await line.until("response.queued")
        assert (queued["sequence_number"], queued["stream_id"]) == (0, "a")
        response = queued["response"]
        assert (response["status"], response["output"]) == ("queued", [])
        assert response["previous_response_id"] == first
        await line.steer(first, "Now.")
        assert (await line.end())["id"] == first
        successor = await line.end()
        assert successor["id"] != response["id"]
        created = await line.until("response.created")
        assert created["sequence_number"] == 1
        assert created["response"]["id"] == response["id"]
        assert (await line.end())["id"] == response["id"]


async def test_3_a_create_that_waits_for_a_place_or_is_refused_later(simulate):
    async with wire(simulate(held, lane_queued="event", in_flight_limit=1)) as line:
        first = await started(line, "Hold.", stream_id="a")
        await line.create("Elsewhere.", stream_id="b")
        assert (await line.until("response.queued"))["stream_id"] == "b"
        await line.create("Nowhere.", stream_id="a", previous_response_id="resp_unknown")
        assert (await line.until("response.queued"))["stream_id"] == "a"
        await line.create("Wrong.", stream_id="a", color="red")  # refused in its turn, not queued
        await line.steer(first, "Now.")
        errors = [await line.until("error") for _ in range(2)]
        codes = [error["error"]["code"] for error in errors]
        assert codes == ["previous_response_not_found", "unknown_parameter"]
        assert len(line.of("response.queued")) == 2


def test_3_our_client_waits_for_the_response_to_begin(simulate):
    """What is queued is not what is being written, and commits nothing yet."""
    simulator = simulate(held, lane_queued="event")
    with steer_nb.connect(simulator.base_url, journal=False, quiet=True) as session:
        lane = session.lane("a")
        one, two = lane.create("Hold."), lane.create("Two.")
        steer = lane.steer("Now.")
        three = two.wait(timeout=30)
        assert steer.wait(timeout=30).state == "committed"
        trace = session.trace
    assert one.text == "First."
    assert three.text == "First.Second."
    ledger = trace.ledger
    assert [response.origin for response in ledger.lanes["a"].responses][1] == "steer_auto"
    assert ledger.problems == []
    assert (trace.frames.events["type"] == "response.queued").sum() == 1
    with steer_nb.connect(simulate=Scenario.from_trace(trace), journal=False, quiet=True) as again:
        lane = again.lane("a")
        lane.create("Hold.")
        lane.steer("Now.")
        lane.wait(timeout=30)
        assert lane.create("Two.").wait(timeout=30).text == "First.Second."
        assert (again.trace.frames.events["type"] == "response.queued").sum() == 1
