"""A recorded trace, served to clients that do what the recording did, or something else."""

from __future__ import annotations

import json
import time

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

import steer_nb
from steer_nb.errors import ScenarioError, TraceError
from steer_nb.simulator import AwaitSteer, Scenario, Simulator, scenario
from steer_nb.simulator.scenario import get_scenario
from steer_nb.simulator.scenarios import SCENARIOS
from tests.frames.recordings import names, recording
from tests.simulator.scripts import started, waits
from tests.support.replayed import assert_same_tables
from tests.support.simulated import answer, calls_of, text_of, wire
from tests.support.traces import TraceBuilder, message


def recorded(play, which, **options):
    simulator = Simulator(which, speed=0, **options)
    with steer_nb.connect(simulate=simulator, journal=False, quiet=True) as session:
        play(session)
    return session.trace


@scenario("wait", "Waits for a steer, but for that which nobody steers only a second.")
def waits_less(turn):
    for step in waits(turn):
        alone = isinstance(step, AwaitSteer) and turn.prompt == "Other."
        yield AwaitSteer(1) if alone else step


@pytest.fixture(scope="module")
def steered():
    """Two lanes: one response that is steered and what follows; one plain response."""

    def play(session):
        lane = session.lane("a")
        lane.create("Go.")
        session.until(lambda ledger: True if "First." in lane.text else None, 30, str)
        lane.steer("Shorter.")
        lane.wait(30)
        lane.create("Thanks.")
        session.until(lambda ledger: True if len(lane.responses) == 3 else None, 30, str)
        lane.steer("Again.")
        session.lane("b").create("Other.")
        session.wait(30)

    return recorded(play, waits_less)


@pytest.fixture(scope="module")
def called():
    def play(session):
        lane = session.lane("a")
        lane.create("What is the weather in Lisbon?")
        lane.wait(30)
        lane.fill(lane.required_input[0].key, output="recorded: sunny")
        lane.send_continuation().wait(30)
        lane.create("Thanks.").wait(30)

    return recorded(play, "weather")


def ids_of(trace):
    return [response.id for response in trace.ledger.responses.values()]


async def test_the_recorded_steer_and_its_successor(simulate, steered):
    first, second, *_ = steered.ledger.responses.values()
    async with wire(simulate(Scenario.from_trace(steered))) as line:
        parent = await started(line, "Something else.", stream_id="a")
        assert parent == first.id
        await line.steer(parent, "Not what was recorded.")
        ended = await line.end()
        assert ended["incomplete_details"] == {"reason": "steered"}
        accepted = line.of("response.steer.accepted")[0]
        assert accepted["steer"] == {
            "id": first.steers[0].steer_id,
            "previous_response_id": first.id,
        }
        successor = await line.end()
        assert (successor["id"], successor["previous_response_id"]) == (second.id, first.id)
        assert text_of(successor) == "Heard: Shorter."
        numbers = [e["sequence_number"] for e in line.events]
        half = numbers.index(0, 1)
        assert numbers == [*range(half), *range(len(numbers) - half)]


async def test_a_client_that_does_not_steer_gets_an_end_without_it(simulate, steered):
    simulator = simulate(Scenario.from_trace(steered), replay_patience_s=0.05)
    async with wire(simulator) as line:
        response = await line.ask("Go.", stream_id="a")
        assert (response["status"], response["incomplete_details"]) == ("completed", None)
        assert text_of(response) == "First."
        # the successor was nobody's: what is asked for next is the next answer to a request
        following = await line.ask("Next.", stream_id="a", previous_response_id=response["id"])
        assert following["id"] == ids_of(steered)[2]
        assert not line.of("response.steer.accepted")


async def test_a_steer_that_the_recording_does_not_have(simulate, steered):
    # the recording pauses a second between the two messages
    async with wire(simulate(Scenario.from_trace(steered), speed=1)) as line:
        plain = await started(line, stream_id="b")
        await line.steer(plain, "Nobody recorded this.")
        parent = await line.end()
        assert (parent["status"], text_of(parent)) == ("completed", "First.Second.")
        assert line.of("response.steer.accepted")[0]["steer"]["previous_response_id"] == plain
        successor = await line.end()
        assert successor["previous_response_id"] == plain
        assert text_of(successor) == "The recording holds no answer to this steer."


async def test_each_connection_begins_anew_with_ids_of_its_own(steered, simulate):
    seen = []
    for _ in range(2):
        simulator = simulate(Scenario.from_trace(steered), replay_patience_s=0)
        for number in range(3):
            async with wire(simulator) as line:
                response = await line.ask(stream_id="b")
                items = [item["id"] for item in response["output"]]
                seen.append((number, response["id"], *items))
    assert seen[:3] == seen[3:], "the same seed gives the same ids"
    assert seen[0][1] == steered.ledger.lanes["b"].responses[0].id
    assert len({one for row in seen[:3] for one in row[1:]}) == 3 * (len(seen[0]) - 1)


async def test_lanes_by_name_else_in_turn_and_the_end_of_the_recording(simulate, steered):
    a, b = (steered.ledger.lanes[name].responses[0].id for name in "ab")
    async with wire(simulate(Scenario.from_trace(steered), replay_patience_s=0)) as line:
        assert (await line.ask(stream_id="b"))["id"] == b
        assert (await line.ask())["id"] == a  # the default lane takes the one nobody used
        assert all("stream_id" not in e for e in line.events[-3:])
        for lane in ("b", "c"):
            rest = await line.ask(stream_id=lane)
            assert text_of(rest) == "The recording holds no further response on this lane."
        assert rest["id"] not in ids_of(steered)


async def test_a_continuation_gets_the_recorded_one(simulate, called):
    ids = ids_of(called)
    simulator = simulate(Scenario.from_trace(called))
    for known in (True, False):
        async with wire(simulator) as line:
            asked = await line.ask(stream_id="a")
            assert (asked["id"] == ids[0]) is known
            (call,) = calls_of(asked)
            with pytest.raises(AssertionError, match="No tool output found"):
                await refuse(line, "Never mind.", previous_response_id=asked["id"], stream_id="a")
            wrong = [{"type": "function_call_output", "call_id": "call_x", "output": ""}]
            with pytest.raises(AssertionError, match="No tool call found"):
                await refuse(line, wrong, previous_response_id=asked["id"], stream_id="a")
            more = {"previous_response_id": asked["id"], "stream_id": "a"}
            told = await line.ask([answer(call, output="rain")], **more)
            assert "recorded: sunny" in text_of(told)
            assert told["previous_response_id"] == asked["id"]


async def refuse(line, *args, **fields):
    await line.create(*args, **fields)
    event = await line.recv()
    assert event["type"] != "error", event["error"]["message"]


async def test_queued_steers_wait_for_required_input_as_ever(simulate, called):
    async with wire(simulate(Scenario.from_trace(called))) as line:
        asked = await line.ask(stream_id="a")
        await line.steer(asked["id"], "And tomorrow?")
        pending = await line.until("response.steer.pending")
        assert pending["required_input"][0]["call_id"] == calls_of(asked)[0]["call_id"]
        more = {"previous_response_id": asked["id"], "stream_id": "a"}
        assert "sunny" in text_of(await line.ask([answer(calls_of(asked)[0])], **more))


def build():
    trace = TraceBuilder().connect().create("hi", key="create-1").created("resp_1")
    return trace.added(message("", 0)).delta("Hello")


async def raw_events(simulator, count):
    async with connect(simulator.url) as socket:
        await socket.send(json.dumps({"type": "response.create", "input": "hi", "model": "m"}))
        return [await socket.recv() for _ in range(count)]


async def test_odd_messages_go_out_as_they_are(simulate):
    odd = ["{not json", '{"no":"type"}', '"text"', "[1, 2]"]
    builder = build().in_({"type": "response.dream.started", "sequence_number": 77, "depth": 3})
    for one in odd:
        builder.in_(one)
    builder.done(message("Hello", 0)).ended("resp_1").in_({"type": "rate_limits", "left": 9})
    got = await raw_events(simulate(Scenario.from_trace(builder.trace)), 11)
    assert [one for one in got if one in odd] == odd
    dream = next(json.loads(one) for one in got if "dream" in one)
    assert dream == {"type": "response.dream.started", "sequence_number": 1, "depth": 3}
    assert json.loads(got[-1])["left"] == 9


async def test_a_recording_that_stops_ends_failed_and_says_so(simulate):
    got = await raw_events(simulate(Scenario.from_trace(build().trace)), 4)
    end = json.loads(got[-1])
    assert end["type"] == "response.failed"
    assert end["response"]["error"]["message"] == "The recording ends here."


async def test_recorded_refusals(simulate):
    builder = TraceBuilder().connect().create("hi", lane="x", key="create-1")
    error = {
        "type": "server_error",
        "code": "overloaded",
        "message": "Busy.",
        "headers": {"a": "b"},
    }
    builder.in_({"type": "error", "status": 503, "stream_id": "x", "error": error})
    builder.create("hi", lane="x", key="create-2").created("resp_1", lane="x")
    builder.ended("resp_1", lane="x")
    async with connect(simulate(Scenario.from_trace(builder.trace)).url) as socket:
        create = {"type": "response.create", "input": "hi", "model": "m", "stream_id": "y"}
        for _ in range(2):
            await socket.send(json.dumps(create))
        event = json.loads(await socket.recv())
        assert event == {"type": "error", "status": 503, "error": error, "stream_id": "y"}
        assert json.loads(await socket.recv())["response"]["id"] == "resp_1"


async def test_a_lost_connection_is_lost_and_the_next_one_gets_the_rest(simulate):
    builder = build().close(1011, "gone", by="server").connect()
    builder.create("again", key="create-2").created("resp_2").ended("resp_2")
    simulator = simulate(Scenario.from_trace(builder.trace))
    create = json.dumps({"type": "response.create", "input": "hi", "model": "m"})

    async def first(count=1):
        async with connect(simulator.url) as socket:
            await socket.send(create)
            got = [json.loads(await socket.recv()) for _ in range(count)]
            if count > 1:
                with pytest.raises(ConnectionClosed) as lost:
                    await socket.recv()
                assert (lost.value.rcvd.code, lost.value.rcvd.reason) == (1011, "gone")
            return got[0]["response"]["id"]

    assert await first(3) == "resp_1"
    assert await first() == "resp_2"
    assert (await first()).startswith("resp_")  # from the beginning, under another name


async def test_recorded_timing_and_none(simulate):
    trace = build().done(message("Hello", 0)).ended("resp_1").trace  # 0.1 s between two entries
    began = time.monotonic()
    await raw_events(simulate(Scenario.from_trace(trace), speed=1), 5)
    assert time.monotonic() - began >= 0.45
    slow = TraceBuilder(step=60).connect().create("hi").created("resp_1").ended("resp_1").trace
    began = time.monotonic()
    await raw_events(simulate(Scenario.from_trace(slow), speed=0), 2)
    await raw_events(simulate(Scenario.from_trace(slow), speed=3000), 2)
    assert time.monotonic() - began < 30


def test_by_file_name_and_what_is_no_recording(tmp_path, called):
    path = tmp_path / "run.jsonl"
    called.save(path)
    for which in (path, str(path)):
        found = get_scenario(which, SCENARIOS)
        assert (found.name, found.description) == ("run", "Serves 3 recorded responses again.")
    assert Simulator(str(path)).scenario.name == "run"
    with pytest.raises(TraceError, match="cannot be read"):
        Scenario.from_trace(tmp_path / "none.jsonl")
    empty = TraceBuilder().connect().create("hi").trace
    empty.save(path)
    with pytest.raises(ScenarioError, match=r"run\.jsonl holds no events of a service"):
        get_scenario(path, SCENARIOS)
    path.write_text("turns: []", encoding="utf-8")
    with pytest.raises(TraceError, match="is no steer_nb trace"):
        get_scenario(path, SCENARIOS)


@pytest.mark.corpus
@pytest.mark.parametrize("name", names())
def test_recordings_of_others_can_be_replayed(name):
    trace = recording(name)
    playing = steer_nb.replay(trace, speed=0, quiet=True)
    try:
        assert playing.wait(timeout=60).state == "ended"
        # They are written with blanks, and some count their events wrongly.
        but = ["bytes", "sequence_gap"]
        if name.startswith("05"):
            but.append("failure_message")  # of a steer to a response that never was
        assert_same_tables(trace, playing.session.trace, but=but)
    finally:
        playing.session.close()
