from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from steer_nb.client.io import TICK, IOThread, tick, wait


@pytest.fixture
def io():
    thread = IOThread()
    yield thread
    thread.shutdown()


def test_it_starts_when_first_used_and_only_once(io):
    assert io._thread is None
    names = {io.call(lambda: threading.current_thread().name) for _ in range(3)}
    assert names == {"steer-nb-io"}
    assert io._thread.daemon


def test_two_threads_that_come_first_get_one_loop(io):
    barrier = threading.Barrier(8)
    loops = []

    def first():
        barrier.wait()
        loops.append(io.loop)

    threads = [threading.Thread(target=first) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, loops))) == 1


def test_an_error_comes_back_to_the_caller(io):
    with pytest.raises(ZeroDivisionError):
        io.call(lambda: 1 / 0)


def test_on_the_thread_itself_call_and_run_refuse_instead_of_hanging(io):
    async def nothing():
        return None

    def inside():
        with pytest.raises(RuntimeError, match="would wait for itself"):
            io.call(lambda: None)
        with pytest.raises(RuntimeError, match="would wait for itself"):
            io.run(nothing())
        return io.on_thread

    assert io.call(inside)
    assert not io.on_thread


def test_run_works_inside_a_running_loop(io):
    async def answer():
        await asyncio.sleep(0)
        return 42

    async def cell():
        return io.run(answer())

    assert asyncio.run(cell()) == 42


def test_after_shutdown_it_says_why_it_does_not_work(io):
    io.call(lambda: None)
    io.shutdown()
    other = IOThread()
    other.shutdown()  # never used: nothing to end
    with pytest.raises(Exception, match="shutting down"):
        other.call(lambda: None)


def test_exit_hooks_run_on_the_thread_and_can_be_taken_back(io):
    ran = []

    async def hook(name):
        ran.append((name, io.on_thread))

    io.call(lambda: None)
    io.at_exit(lambda: hook("kept"))
    forget = io.at_exit(lambda: hook("forgotten"))
    forget()
    forget()
    io.shutdown()
    assert ran == [("kept", True)]


def test_a_wait_ends_in_time_and_leaves_the_work_alone():
    future = concurrent.futures.Future()
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        wait(future, 0.05)
    assert time.monotonic() - began < 2
    assert not future.cancelled()
    future.set_result(1)
    assert wait(future, 0) == 1


def test_a_timeout_of_the_work_itself_is_told_apart_from_the_wait():
    future = concurrent.futures.Future()
    future.set_exception(TimeoutError("the work's own"))
    with pytest.raises(TimeoutError, match="own"):
        wait(future, 5)


@pytest.mark.skipif(os.name != "posix", reason="signals to oneself are sent otherwise there")
def test_an_interrupt_ends_a_wait_at_once():
    future = concurrent.futures.Future()
    began = threading.Event()

    def interrupt():
        began.wait()
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    start = time.monotonic()
    began.set()
    with pytest.raises(KeyboardInterrupt):
        wait(future, 30)
    assert time.monotonic() - start < 5
    assert not future.cancelled()


async def test_a_ticking_wait_that_is_cancelled_leaves_the_work_alone():
    future = concurrent.futures.Future()
    task = asyncio.create_task(tick(future))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not future.cancelled()
    future.set_result("late")
    assert await tick(future) == "late"


async def test_a_ticking_wait_wakes_when_the_work_is_done(io):
    async def work():
        await asyncio.sleep(0.01)
        return threading.current_thread().name

    began = time.monotonic()
    assert await tick(io.submit(work())) == "steer-nb-io"
    assert time.monotonic() - began < TICK * 20


def test_work_that_ends_after_its_loop_was_closed_disturbs_nobody():
    future = concurrent.futures.Future()

    async def give_up():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await tick(future)

    asyncio.run(give_up())
    future.set_result(None)  # would log an error if the callback raised


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_gets_a_thread_of_its_own():
    code = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # forking a process with threads is the point
from steer_nb.client.io import io_thread
name = io_thread.call(lambda: os.getpid())
assert name == os.getpid()
child = os.fork()
if child == 0:
    os._exit(0 if io_thread.call(os.getpid) == os.getpid() else 1)
_, status = os.waitpid(child, 0)
assert io_thread.call(os.getpid) == os.getpid()
sys.exit(os.waitstatus_to_exitcode(status))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
