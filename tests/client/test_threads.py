"""Many callers at once, interrupted ones, and ones inside a running loop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import time

import pytest

from steer_nb import errors
from steer_nb.client import io_thread
from tests.client.stage import created, delta, ended, function_call, when


def at_once(count, function):
    """Call `function` from many threads at once; what each returned or raised."""
    barrier = threading.Barrier(count)
    results = []

    def call(number):
        barrier.wait()
        try:
            results.append(function(number))
        except errors.SteerError as error:
            results.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(results) == count
    return results


def waiting(stage, session):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), ended("resp_1", function_call("call_1"), lane="a"))
    assert lane.wait(10) == "waiting_input"
    return lane


def test_filling_and_sending_from_many_threads_gives_one_continuation(stage, session):
    lane = waiting(stage, session)

    def fill_and_send(number):
        lane.fill("call_1", output=str(number))
        return lane.send_continuation()

    results = at_once(8, fill_and_send)
    sent = [result for result in results if not isinstance(result, errors.SteerError)]
    assert len(sent) == 1
    assert {type(r) for r in results if isinstance(r, errors.SteerError)} <= {
        errors.NothingToContinue,
        errors.InvalidInput,
    }
    (item,) = stage.expect("response.create")["input"]
    assert item["output"] in set("01234567")
    session.read(lambda _: None)
    assert stage.nothing_came()


def test_lanes_are_used_from_many_threads(stage, session):
    responses = at_once(16, lambda number: session.lane(f"lane-{number}").create(str(number)))
    seen = {}
    for _ in range(16):
        message = stage.expect("response.create")
        seen[message["stream_id"]] = message["input"]
    assert seen == {f"lane-{number}": str(number) for number in range(16)}
    assert len({response.key for response in responses}) == 16
    keys = [e.data["key"] for e in session.trace if e.kind == "out"]
    assert keys == [f"create-{number}" for number in range(1, 17)]


def test_the_same_lane_opened_by_many_is_one_lane(session):
    lanes = at_once(8, lambda _: session.lane("a"))
    assert len(set(map(id, lanes))) == 1


@pytest.mark.skipif(os.name != "posix", reason="signals to oneself are sent otherwise there")
@pytest.mark.parametrize("what", ["lane", "response", "steer", "session"])
def test_an_interrupt_ends_the_wait_and_nothing_else(stage, session, what):
    lane = session.lane("a")
    response = lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    steer = lane.steer("y")
    stage.expect()
    waiter = {"lane": lane, "response": response, "steer": steer, "session": session}[what]

    def interrupt():
        session.read(lambda _: None)  # the wait has begun, or begins now
        os.kill(os.getpid(), signal.SIGINT)

    begun = time.monotonic()
    threading.Timer(0.05, interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        waiter.wait(30)
    assert time.monotonic() - begun < 5
    assert not session.closed
    assert response.status == "in_progress"
    stage.send(ended("resp_1", lane="a"), created("resp_2", "resp_1", "a"))
    stage.send(ended("resp_2", lane="a"))
    when(session, lambda g: g.responses.get("resp_2"))
    session.act(lambda: None)


async def test_an_awaiting_task_that_is_cancelled_leaves_the_work_alone(stage, session):
    lane = session.lane("a")
    response = lane.create("x")
    stage.expect()
    tasks = [asyncio.ensure_future(thing) for thing in (_await(response), lane.settled())]
    await asyncio.sleep(0.01)
    for task in tasks:
        task.cancel()
    ends = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(end) for end in ends] == [asyncio.CancelledError] * 2
    stage.send(created("resp_1", lane="a"), ended("resp_1", lane="a"))
    assert (await response).status == "completed"


async def _await(thing):
    return await thing


async def test_a_running_loop_goes_on_while_one_awaits(stage, session):
    lane = session.lane("a")
    response = lane.create("x")
    stage.expect()
    beats = []

    async def beat():
        while True:
            beats.append(1)
            await asyncio.sleep(0.001)

    task = asyncio.create_task(beat())
    await asyncio.sleep(0.02)
    stage.send(created("resp_1", lane="a"), ended("resp_1", lane="a"))
    await response
    task.cancel()
    assert len(beats) > 2


def test_events_arrive_while_the_main_thread_computes(stage, session):
    lane = session.lane("a")
    response = lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), delta("Hello", "a"))
    end = time.monotonic() + 10
    while not any("Hello" in (e.raw or "") for e in session.trace.entries[-1:]):
        assert time.monotonic() < end  # a busy main thread: no call, no await
    assert response.text == "Hello"


# -- subscribers ---------------------------------------------------------------------------------


def test_subscribers_are_called_on_the_io_thread_and_may_read(stage, session):
    seen = []
    called = threading.Event()

    def callback():
        seen.append((io_thread.on_thread, session.read(lambda g: len(g.responses))))
        if seen[-1][1]:
            called.set()

    stop = session.subscribe(callback)
    session.lane("a").create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    assert called.wait(10)
    assert all(on_thread for on_thread, _ in seen)
    stop()
    stop()
    count = len(seen)
    stage.send(ended("resp_1", lane="a"))
    session.lane("a").wait(10)
    assert len(seen) == count


def test_a_subscriber_may_not_wait_and_one_that_raises_is_called_no_more(stage, session):
    calls = []

    def waits():
        calls.append("waits")
        session.lane("a").wait()

    session.subscribe(waits)
    stage.send(created("resp_1"))
    when(session, lambda g: g.responses.get("resp_1"))
    when(session, lambda g: g.problems)
    stage.send(ended("resp_1"))
    session.lane().wait(10)
    assert calls == ["waits"]
    (problem,) = session.trace.problems
    assert problem.detail.startswith("callback: a subscriber raised")
    assert "I/O thread" in problem.detail


def test_a_flood_is_told_in_batches(stage, session):
    calls = []
    session.subscribe(lambda: calls.append(1))
    lane = session.lane("a")
    response = lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    stage.send(*(delta("x", "a") for _ in range(500)))
    stage.send(ended("resp_1", lane="a"))
    assert response.wait(10).text == "x" * 500
    assert len(calls) <= len(session.trace)


def test_a_wait_that_begins_amid_the_text_of_another_lane_ends_at_once(stage, session):
    session.lane("b").create("x")
    stage.expect()
    stage.send(created("resp_1", lane="b"))
    when(session, lambda g: g.responses["resp_1"])

    def between():
        session.core.recorder.receive(json.dumps(delta("more text", lane="b")))
        return session.core.watchers.watch(lambda _: "here")

    assert session.act(between).result(5) == "here"
