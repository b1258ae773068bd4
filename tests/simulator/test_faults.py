"""Faults on purpose: what a client meets, and what the account says of it."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus

from steer_nb.errors import InvalidInput
from steer_nb.simulator import (
    Arm,
    AwaitSteer,
    Drop,
    Duplicate,
    Enlarge,
    Fault,
    IgnorePings,
    Insert,
    RefuseHandshake,
    Relabel,
    Reorder,
    Say,
    Stall,
    scenario,
)
from steer_nb.simulator.faults import FAULTS
from tests.support.simulated import text_of, wire

TALK = ["It is raining.", "It will stop."]


@scenario("talk", "Says two sentences.")
def talk(turn):
    for sentence in TALK:
        yield Say(sentence)


@scenario("patient", "Waits for a steer.")
def patient(turn):
    yield Say("Begun.")
    if not turn.steers:
        yield AwaitSteer(5)
        yield Say("Never said.")


async def received(w):
    """Everything up to the end of the connection, unchecked; and how it ended."""
    events = []
    try:
        while True:
            async with asyncio.timeout(10):
                events.append(json.loads(await w.socket.recv()))
    except ConnectionClosed as closed:
        return events, closed.rcvd.code if closed.rcvd else None


async def whole_run(simulate, **options):
    async with wire(simulate(talk, **options)) as w:
        await w.ask()
        return w.events


def struck(simulator):
    return [entry for entry in simulator.account if entry["kind"] == "fault"]


# -- drop ---------------------------------------------------------------------------------


@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_drop_at_every_message_to_the_client(simulate, side):
    """What comes before it arrives, nothing after it does; and the next connection works."""
    events = await whole_run(simulate)
    for number in range(1, len(events) + 1):
        simulator = simulate(talk, faults=[Drop(at=number, side=side, code=1012)])
        async with wire(simulator) as w:
            await w.create("Hello.")
            got, code = await received(w)
        assert got == events[: number if side == "after" else number - 1]
        assert code == 1012
        (entry,) = struck(simulator)
        assert entry["fault"] == "drop"
        assert entry["number"] == number
        assert entry["type"] == events[number - 1]["type"]
        async with wire(simulator) as again:
            assert (await again.ask())["status"] == "completed"


@pytest.mark.parametrize("side", ["before", "after"])
async def test_a_drop_at_a_message_from_the_client(simulate, side):
    simulator = simulate(patient, faults=[Drop(direction="in", at=2, side=side)])
    async with wire(simulator) as w:
        await w.create("Hello.")
        created = await w.until("response.created")
        await w.until("response.output_item.done")
        await w.steer(created["response"]["id"], "Shorter.")
        _, code = await received(w)
    assert code is None
    steers = [entry for entry in simulator.account if entry["kind"] == "steer"]
    assert len(steers) == (1 if side == "after" else 0)
    (entry,) = struck(simulator)
    assert (entry["way"], entry["number"], entry["type"]) == ("in", 2, "response.steer")


async def test_what_was_taken_in_is_not_answered_after_a_drop(simulate):
    """The unknown outcome: the server has it, and the client cannot know."""
    simulator = simulate(talk, faults=[Drop(direction="in")])
    async with wire(simulator) as w:
        await w.create("Hello.")
        got, _ = await received(w)
    assert got == []
    requests = [entry for entry in simulator.account if entry["kind"] == "request"]
    assert len(requests) == 1
    assert requests[0]["state"] in ("queued", "started")


@pytest.mark.parametrize("code", [1000, 1001, 1002, 1007, 1008, 1009, 1011, 1012, 1013, 3000, 4999])
async def test_close_codes_that_may_be_sent(simulate, code):
    async with wire(simulate(talk, faults=[Drop(code=code, reason="so")])) as w:
        await w.create("Hello.")
        events, given = await received(w)
        assert len(events) == 1
        assert given == code
        assert w.socket.protocol.close_rcvd.reason == "so"


@pytest.mark.parametrize("code", [None, 1006, 1015])
async def test_no_close_frame(simulate, code):
    async with wire(simulate(talk, faults=[Drop(code=code)])) as w:
        await w.create("Hello.")
        events, given = await received(w)
        assert len(events) == 1
        assert given is None
        assert w.socket.protocol.close_code == 1006


async def test_a_close_frame_without_a_code(simulate):
    async with wire(simulate(talk, faults=[Drop(code=1005)])) as w:
        await w.create("Hello.")
        await received(w)
        assert w.socket.protocol.close_rcvd.code == 1005


@pytest.mark.parametrize("code", [0, 999, 1004, 1016, 2999, 5000, 65535])
async def test_close_codes_that_may_not_be_sent(simulate, code):
    """A client sees a broken protocol, as it would from such a server."""
    async with wire(simulate(talk, faults=[Drop(code=code)])) as w:
        await w.create("Hello.")
        events, _ = await received(w)
        assert len(events) == 1
        assert w.socket.protocol.close_code in (1002, 1006)
        assert "invalid status code" in str(w.socket.protocol.parser_exc)


async def test_a_dropped_response_is_cancelled_at_once(simulate):
    """Not when the other side has closed, too: what it may still write would depend on that."""
    simulator = simulate("planner", faults=[Drop(type="response.output_text.delta", at=3)])
    async with wire(simulator) as w:
        await w.create("Plan a day.")
        await received(w)
    (response,) = [e["body"] for e in simulator.account if e["kind"] == "request"]
    assert response["input"] == "Plan a day."
    assert not [entry for entry in simulator.account if entry["kind"] == "response"]


async def test_drop_at_once(simulate):
    simulator = simulate(patient)
    async with wire(simulator) as one, wire(simulator) as two:
        for w in (one, two):
            await w.create("Hello.")
            await w.until("response.output_item.done")
        assert await asyncio.to_thread(simulator.drop, 1011, connection=2) == [2]
        assert (await received(two))[1] == 1011
        with pytest.raises(InvalidInput, match="Connection 2 is not open; open are: 1"):
            simulator.drop(connection=2)
        assert await asyncio.to_thread(simulator.drop) == [1]
        assert (await received(one))[1] is None
    assert simulator.drop() == []


# -- stall --------------------------------------------------------------------------------


async def test_a_stall_holds_everything_behind_it_back(simulate):
    simulator = simulate(talk, faults=[Stall(type="response.output_text.delta", at=2)])
    async with wire(simulator) as w:
        await w.create("Hello.")
        await w.until("response.output_text.delta")
        await w.silence(0.3)
        await asyncio.to_thread(simulator.faults.clear)
        assert text_of(await w.end()) == "".join(TALK)


async def test_a_stall_of_some_seconds(simulate):
    async with wire(simulate(talk, faults=[Stall(at=3, seconds=0.3)])) as w:
        began = time.monotonic()
        await w.create("Hello.")
        await w.until("response.in_progress")
        await w.recv()
        assert time.monotonic() - began >= 0.3
        assert (await w.end())["status"] == "completed"


async def test_a_slow_writer(simulate):
    async with wire(simulate(talk, faults=[Stall(seconds=0.01, times=None)])) as w:
        began = time.monotonic()
        await w.ask()
        assert time.monotonic() - began >= 0.01 * len(w.events)


async def test_a_slow_reader(simulate):
    simulator = simulate(talk, faults=[Stall(direction="in", seconds=0.1, times=None)])
    async with wire(simulator) as w:
        began = time.monotonic()
        for name in ("a", "b", "c"):
            await w.create("Hello.", stream_id=name)
        for _ in range(3):
            await w.end()
        assert time.monotonic() - began >= 0.3


async def test_stalled_reads_stall_the_client_writes(simulate):
    """Nothing is read from the socket: a large upload blocks, and pings are not answered."""
    simulator = simulate(talk, faults=[Stall(direction="in")])
    async with wire(simulator, compression=None) as w:
        await w.create("Hello.")
        upload = asyncio.create_task(w.create("x" * 30 * 2**20, stream_id="big"))
        pong = await w.socket.ping()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.5):
                await asyncio.shield(pong)
        assert not upload.done()
        await asyncio.to_thread(simulator.faults.remove, "fault_1")
        await upload
        assert {(await w.end())["status"], (await w.end())["status"]} == {"completed"}


@pytest.mark.parametrize("direction", ["in", "out"])
async def test_a_stalled_connection_can_be_left(simulate, direction):
    """By the client, and by a simulator that is stopped."""
    simulator = simulate(talk, faults=[Stall(direction=direction, times=None)])
    async with wire(simulator, close_timeout=0.2) as w:
        await w.create("Hello.")
        await w.silence(0.1)
    async with wire(simulator, close_timeout=0.2) as w:
        await w.create("Hello.")
        await w.silence(0.1)
        began = time.monotonic()
        await asyncio.to_thread(simulator.stop)
        assert time.monotonic() - began < 8


# -- what is sent besides -----------------------------------------------------------------


async def test_a_terminal_twice(simulate):
    async with wire(simulate(talk, faults=[Duplicate()])) as w:
        first = await w.ask()
        assert await w.recv() == w.events[-2]
        second = await w.ask("And now?", previous_response_id=first["id"])
        assert second["previous_response_id"] == first["id"]
        await w.silence()


async def test_a_terminal_again_as_done(simulate):
    simulator = simulate(talk, faults=[Duplicate(as_type="response.done", times=None)])
    async with wire(simulator) as w:
        for _ in range(2):
            await w.create("Hello.")
            await w.end()
            extra = json.loads(await w.socket.recv())
            assert extra == w.events[-1] | {"type": "response.done"}


async def test_an_event_of_an_unknown_type(simulate):
    fault = Insert(type="response.in_progress", times=None)
    async with wire(simulate(talk, faults=[fault])) as w:
        await w.create("Hello.", stream_id="a")
        await w.until("response.in_progress")
        extra = json.loads(await w.socket.recv())
        assert extra["type"] == "response.simulated"
        assert extra["stream_id"] == "a"
        assert (await w.end())["status"] == "completed"


@pytest.mark.parametrize("side", ["before", "after"])
async def test_an_event_of_ones_own(simulate, side):
    event = {"type": "codex.rate_limits", "used": 0.5, "stream_id": "z"}
    async with wire(simulate(talk, faults=[Insert(event=event, side=side)])) as w:
        await w.create("Hello.")
        messages = [json.loads(await w.socket.recv()) for _ in range(2)]
        assert messages.index(event) == (0 if side == "before" else 1)


@pytest.mark.parametrize("to", ["b", None])
async def test_the_wrong_lane(simulate, to):
    fault = Relabel(stream_id="a", at=2, times=2, to=to)
    async with wire(simulate(talk, faults=[fault])) as w:
        await w.create("Hello.", stream_id="a")
        await w.end()
        lanes = [event.get("stream_id") for event in w.events]
        assert lanes == ["a", to, to, *["a"] * (len(lanes) - 3)]


async def test_a_message_too_large(simulate):
    simulator = simulate(talk, faults=[Enlarge(type="response.output_text.delta", size=2**20 + 1)])
    async with wire(simulator) as w:
        final = await w.ask()
        assert text_of(final) == "".join(TALK)
        sizes = [len(json.dumps(event, separators=(",", ":"))) for event in w.events]
        assert sum(size > 2**20 for size in sizes) == 1
    simulator.faults.add(Enlarge(at=2))
    async with wire(simulator, max_size=2**20) as w:
        await w.create("Hello.")
        events, _ = await received(w)
        assert len(events) == 1
        assert w.socket.protocol.close_sent.code == 1009


# -- order --------------------------------------------------------------------------------


async def test_events_of_other_lanes_overtake(simulate):
    """The only order that changes is the one between lanes."""
    simulator = simulate(talk, faults=[Reorder(stream_id="a", behind=5)])
    async with wire(simulator) as w:
        for name in ("a", "b"):
            await w.create("Hello.", stream_id=name)
        for _ in range(2):
            await w.end()
        for name in ("a", "b"):
            own = [event["sequence_number"] for event in w.events if event["stream_id"] == name]
            assert own == list(range(len(own)))
        # b began after a, and is ahead now
        assert [event["stream_id"] for event in w.events[:6]] == ["b", "b", "b", "b", "b", "a"]


async def test_alone_an_event_keeps_its_place(simulate):
    events = await whole_run(simulate, faults=[Reorder(times=None, behind=3)])
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


async def test_an_acknowledgement_comes_late(simulate):
    fault = Reorder(type="response.steer.accepted", behind=4)
    async with wire(simulate(patient, faults=[fault])) as w:
        await w.create("Hello.")
        created = await w.until("response.created")
        await w.until("response.output_item.done")
        await w.steer(created["response"]["id"], "Shorter.")
        await w.end()
        await w.end()
        kinds = [event["type"] for event in w.events]
        end = kinds.index("response.incomplete")
        assert kinds.index("response.steer.accepted") > end
        assert w.events[end]["response"]["incomplete_details"] == {"reason": "steered"}


async def test_a_drop_takes_nothing_that_was_held_back(simulate):
    """What was written before the drop arrives, also what another fault had put aside."""
    faults = [Reorder(at=2, behind=9), Drop(at=2)]
    async with wire(simulate(talk, faults=faults)) as w:
        await w.create("Hello.")
        events, _ = await received(w)
    assert [event["type"] for event in events] == ["response.created", "response.in_progress"]


# -- pings and handshakes -----------------------------------------------------------------


async def test_pings_without_an_answer(simulate):
    simulator = simulate(talk, faults=[IgnorePings(times=2)])
    async with wire(simulator, ping_interval=None) as w:
        for _ in range(2):
            pong = await w.socket.ping()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await asyncio.shield(pong)
        assert (await w.ask())["status"] == "completed"  # the rest goes on
        await (await w.socket.ping())
    assert [entry["way"] for entry in struck(simulator)] == ["ping", "ping"]


async def test_a_client_gives_up_on_silence(simulate):
    simulator = simulate(patient, faults=[IgnorePings()])
    async with wire(simulator, ping_interval=0.1, ping_timeout=0.2) as w:
        _, _ = await received(w)
        assert w.socket.protocol.close_sent.code == 1011


async def test_refused_handshakes(simulate):
    simulator = simulate(talk, faults=[RefuseHandshake(status=429, retry_after=7, at=2, times=2)])
    async with wire(simulator) as w:
        assert (await w.ask())["status"] == "completed"
    for _ in range(2):
        with pytest.raises(InvalidStatus) as caught:
            async with wire(simulator, open_timeout=5):
                pass
        response = caught.value.response
        assert response.status_code == 429
        assert response.headers["Retry-After"] == "7"
        assert json.loads(response.body)["error"]["message"]
    async with wire(simulator) as w:
        assert (await w.ask())["status"] == "completed"
    assert [entry["way"] for entry in struck(simulator)] == ["handshake", "handshake"]


# -- when ---------------------------------------------------------------------------------


async def test_filters_and_counts(simulate):
    fault = Insert(type="response.output_text.d*, response.created", stream_id="", at=2, times=2)
    simulator = simulate(talk, faults=[fault])
    async with wire(simulator) as w:
        await w.ask(stream_id="named")
        await w.create("Hello.")
        seen = []
        while not seen or seen[-1] != "response.completed":
            seen.append(json.loads(await w.socket.recv())["type"])
    places = [index for index, kind in enumerate(seen) if kind == "response.simulated"]
    assert len(places) == 2
    fitting = [
        index
        for index, kind in enumerate(seen)
        if kind == "response.created" or kind.startswith("response.output_text.d")
    ]
    assert [index - 1 for index in places] == fitting[1:3]


async def test_messages_are_counted_from_arming_on_each_connection(simulate):
    simulator = simulate(talk)
    async with wire(simulator) as one, wire(simulator) as two:
        await one.ask()
        await asyncio.to_thread(simulator.faults.add, Drop(at=3, times=2))
        for w in (one, two):
            await w.create("Again.")
            assert len((await received(w))[0]) == 3
    async with wire(simulator) as third:
        assert (await third.ask())["status"] == "completed"


async def test_only_one_connection(simulate):
    simulator = simulate(talk, faults=[Drop(connection=2)])
    async with wire(simulator) as one, wire(simulator) as two:
        assert (await one.ask())["status"] == "completed"
        await two.create("Hello.")
        assert len((await received(two))[0]) == 1


async def test_a_script_arms_a_fault(simulate):
    @scenario("arming", "Arms a fault in its middle.")
    def arming(turn):
        yield Say("One.")
        yield Arm("drop at=2 code=1013")
        yield Say("Two.")

    simulator = simulate(arming)
    async with wire(simulator) as w:
        await w.create("Hello.")
        events, code = await received(w)
        assert code == 1013
        assert [event["type"] for event in events[-2:]] == [
            "response.output_item.added",
            "response.content_part.added",
        ]
        assert events[-1]["output_index"] == 1
    (entry,) = simulator.faults
    assert entry == {
        "id": "fault_1",
        "fault": "drop",
        "at": 2,
        "code": 1013,
        "connection": 1,
        "struck": 1,
    }


async def test_a_scenario_with_faults(simulate):
    @scenario("bad line", "Drops at the third message.", faults=["drop at=3"])
    def bad_line(turn):
        yield Say("Hello.")

    simulator = simulate(bad_line, faults=[Duplicate()])
    assert [one["fault"] for one in simulator.faults] == ["drop", "duplicate"]
    async with wire(simulator) as w:
        await w.create("Hello.")
        assert len((await received(w))[0]) == 3


YAML = """
faults:
  - fault: stall
    at: 2
    seconds: 0.1
  - {fault: duplicate, as_type: response.done}
turns:
  - - say: One.
    - fault: insert
      event: {type: codex.rate_limits}
    - say: Two.
"""


async def test_faults_in_a_file(simulate, tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(YAML, encoding="utf-8")
    simulator = simulate(str(file))
    async with wire(simulator) as w:
        await w.create("Hello.")
        kinds = []
        while not kinds or kinds[-1] != "response.done":
            kinds.append(json.loads(await w.socket.recv())["type"])
    assert kinds.count("codex.rate_limits") == 1
    assert kinds.index("codex.rate_limits") > kinds.index("response.output_item.done")
    assert [entry["fault"] for entry in struck(simulator)] == ["stall", "insert", "duplicate"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("faults: []\nturns: [say: Hi.]", 1, "list of faults is empty"),
        ("faults: drop\nturns: [say: Hi.]", 1, "a fault is a mapping"),
        ("faults:\n  - at: 3\nturns: [say: Hi.]", 2, "This names no fault"),
        ("faults:\n  - fault: drop\n    att: 3\nturns: [say: Hi.]", 3, "Did you mean 'at'?"),
        ("turns:\n  - - say: Hi.\n    - fault: dorp", 3, "Did you mean 'drop'?"),
        ("turns:\n  - - fault: drop\n      at: no", 3, "at must be a whole number"),
        ("turns:\n  - - fault: drop\n      at: 0", 3, "from 1, not 0"),
        ("turns:\n  - - fault", 2, "needs a value"),
    ],
)
def test_mistakes_in_a_file(simulate, tmp_path, text, line, says):
    from steer_nb.errors import ScenarioError

    file = tmp_path / "bad.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ScenarioError, match=says) as caught:
        simulate(str(file))
    assert caught.value.line == line


# -- how they are written -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "This names no fault. Faults are drop, stall"),
        ("dorp", "There is no fault 'dorp'. Did you mean 'drop'?"),
        ("drop 5", "Fault drop: write NAME=VALUE, not '5'"),
        ("drop at=5 at=6", "at is given twice"),
        ("drop at=x", "at must be a whole number, 0 or more, not 'x'"),
        ("drop side=left", "side must be one of 'before', 'after'"),
        ("drop code=70000", "code must be a close code, at most 65535"),
        (f"drop reason={'x' * 124}", "reason must be at most 123 bytes long"),
        ("drop 'at=5", "cannot be read"),
        ("stall seconds=nan", "seconds must be a number, 0 or more"),
        ("enlarge size=99999999999", "size must be at most"),
        ("insert event=[1]", "event must be a mapping"),
        ("refuse_handshake status=101", "an HTTP status from 400 to 599"),
        ("ignore_pings type=x", "Fault ignore_pings has no 'type'"),
        ({"at": 5}, "This names no fault"),
        (7, "a text such as 'drop at=5', or a mapping, not 7"),
    ],
)
def test_mistakes(written, says):
    with pytest.raises(InvalidInput) as caught:
        Fault.of(written)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_faults_are_a_list(simulate):
    with pytest.raises(InvalidInput, match="a list of faults"):
        simulate(talk, faults="drop")


_WORDS = st.text("abc.*-_ '\"\\é", max_size=8)
_VALUES = {
    "at": st.integers(1, 99),
    "times": st.none() | st.integers(1, 99),
    "connection": st.none() | st.integers(1, 99),
    "direction": st.sampled_from(["in", "out"]),
    "side": st.sampled_from(["before", "after"]),
    "code": st.none() | st.integers(0, 65_535),
    "behind": st.integers(1, 9),
    "size": st.integers(0, 2**30),
    "seconds": st.none() | st.floats(0, 1e9),
    "status": st.integers(400, 599),
    "retry_after": st.none() | st.integers(0, 99),
    "event": st.none() | st.dictionaries(_WORDS, _WORDS | st.integers(), max_size=3),
    "type": st.none() | _WORDS,
    "stream_id": st.none() | _WORDS,
    "as_type": st.none() | _WORDS,
    "to": st.none() | _WORDS,
    "reason": _WORDS,
}


@st.composite
def faults(draw):
    kind = FAULTS[draw(st.sampled_from(sorted(FAULTS)))]
    fields = [one.name for one in dataclasses.fields(kind)]
    return kind(**{name: draw(_VALUES[name]) for name in fields if draw(st.booleans())})


@given(faults())
def test_both_ways_of_writing_say_the_same(fault):
    assert Fault.of(json.loads(json.dumps(fault.as_json()))) == fault
    assert Fault.of(str(fault)) == fault
    assert eval(repr(fault), vars(__import__("steer_nb.simulator.faults", fromlist="x"))) == fault


async def test_without_faults_nothing_is_different(simulate):
    events = await whole_run(simulate)
    assert all(a["sequence_number"] < b["sequence_number"] for a, b in pairwise(events))
    assert [event["type"] for event in events] == [
        event["type"] for event in await whole_run(simulate, faults=[Drop(at=10_000)])
    ]
