"""The same seed gives the same messages, whatever else runs beside."""

from __future__ import annotations

import base64

import pytest

from steer_nb.simulator import SCENARIOS, Say, Simulator, scenario
from steer_nb.simulator.place import batched, chunks
from tests.support.simulated import answer, calls_of, wire


async def run(scenario, seed, *, lanes=("a",), speed=0, **options):
    """Ask, answer and steer on some lanes; give each lane's events."""
    with Simulator(scenario, seed=seed, speed=speed, **options) as simulator:
        async with wire(simulator) as line:
            for name in lanes:
                await line.create("Begin.", stream_id=name)
            ended = {}
            while len(ended) < len(lanes):
                response = await line.end()
                ended[line.events[-1]["stream_id"]] = response
            for response in ended.values():
                if calls_of(response):
                    await line.steer(response["id"], "Shorter.")
                    await line.until("response.steer.pending")
            for name, response in ended.items():
                await line.create(
                    [answer(call) for call in calls_of(response)] or "Go on.",
                    previous_response_id=response["id"],
                    stream_id=name,
                )
            for _ in lanes:
                await line.end()
            return {name: [e for e in line.events if e["stream_id"] == name] for name in lanes}


@pytest.mark.parametrize("name", list(SCENARIOS))
async def test_same_seed_same_messages(name):
    one, two = await run(name, 7), await run(name, 7)
    assert one == two
    other = await run(name, 8)
    assert other != one
    assert [event["type"] for event in other["a"]] == [event["type"] for event in one["a"]]


async def test_lanes_do_not_change_each_other():
    alone = await run("weather", 7)
    beside = await run("weather", 7, lanes=("b", "a", "c"))
    assert beside["a"] == alone["a"]


async def test_a_script_may_use_chance(simulate):
    @scenario("dice", "Throws a die.")
    def dice(turn):
        yield Say(str(turn.random.randint(1, 10**9)))

    assert await run(dice, "x") == await run(dice, "x")


@pytest.mark.parametrize("text", ["", " ", "a", "  a  b\n\nc ", "día 1: 東京 へ", "a\u2028b"])
def test_chunks_join_to_the_text(text):
    assert "".join(chunks(text)) == text
    assert "".join(chunks(text, 2)) == text


@pytest.mark.parametrize("most", [0, 1, 2, 3, 7, 8, 9])
@pytest.mark.parametrize("number", [0, 1, 2, 3, 7, 8])
def test_batches_hold_every_piece_once_and_none_is_empty(most, number):
    pieces = [str(one) for one in range(number)]
    batches = batched(pieces, most)
    assert [piece for batch in batches for piece in batch] == pieces
    assert len(batches) == min(most or number, number)
    assert all(batches)
    sizes = [len(batch) for batch in batches]
    assert not sizes or max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("name", list(SCENARIOS))
async def test_texts_are_the_same_in_fewer_deltas(name):
    fine, coarse = (await run(name, 7))["a"], (await run(name, 7, most_deltas=2))["a"]

    def rest(events):
        left = [event for event in events if "delta" not in event]
        return [{**event, "sequence_number": None} for event in left]

    def pieces(event):
        if event["type"] == "response.audio.delta":
            return {"sound": base64.b64decode(event["delta"]).decode("latin-1")}
        return event["delta"] if isinstance(event["delta"], dict) else {"text": event["delta"]}

    def texts(events):
        joined = {}
        for event in events:
            if "delta" in event:
                names = ("response_id", "item_id", "output_index", "command_index")
                indexes = ("content_index", "summary_index")
                place = (event["type"], *(event.get(one) for one in (*names, *indexes)))
                for stream, text in pieces(event).items():
                    joined.setdefault((*place, stream), []).append(text)
        return joined

    assert rest(coarse) == rest(fine)
    many, few = texts(fine), texts(coarse)
    assert {place: "".join(one) for place, one in few.items()} == {
        place: "".join(one) for place, one in many.items()
    }
    assert {place: len(one) for place, one in few.items()} == {
        place: min(len(one), 2) for place, one in many.items()
    }
    assert max(map(len, many.values())) > 2
