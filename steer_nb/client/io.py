"""The one I/O thread: a daemon thread with an event loop of its own, shared by all sessions.

A kernel that computes for a minute would miss the keepalive of a socket on its own loop and lose
the connection; a socket on this thread stays alive. Nothing here needs a loop of the caller's, and
a loop that already runs there is no hindrance.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from steer_nb.errors import NotConnected

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future
    from typing import Any

__all__ = ["TICK", "IOThread", "io_thread", "tick", "wait"]

T = TypeVar("T")
P = ParamSpec("P")

TICK = 0.2
"""Seconds between two looks at a wait: how long a Stop button may go unnoticed at most."""

_EXIT_SECONDS = 1.0


class IOThread:
    """A daemon thread that runs an event loop, started when first used.

    After `os.fork` the child gets a thread of its own; the parent's sockets stay with the parent.
    """

    def __init__(self) -> None:
        self._reset()
        self._left_behind: list[object] = []
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._exit_hooks: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._ended = False

    def _forked(self) -> None:
        # The parent's loop must not be closed here: it shares its selector with the parent.
        self._left_behind.append(self._loop)
        self._reset()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The thread's event loop; starts the thread if it does not run yet."""
        loop = self._loop
        return loop if loop is not None else self._start()

    @property
    def on_thread(self) -> bool:
        """Whether the caller already runs on the I/O thread."""
        return threading.current_thread() is self._thread

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is not None:
                return self._loop
            if self._ended:
                msg = "The I/O thread has ended because Python is shutting down."
                raise NotConnected(msg)
            loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._run, args=(loop,), name="steer-nb-io", daemon=True
            )
            self._thread.start()
            self._loop = loop
            return loop

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            asyncio.set_event_loop(None)
            loop.close()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `coroutine` on the I/O thread; its future can be waited for from any thread."""
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        except (NotConnected, RuntimeError):
            coroutine.close()
            raise

    def call(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function` on the I/O thread and return its result.

        Raises
        ------
        RuntimeError
            On the I/O thread itself, which would wait for itself for ever.
        """
        self._check_thread()
        future: Future[T] = concurrent.futures.Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - it belongs to the asking thread
                future.set_exception(error)

        self.loop.call_soon_threadsafe(run)
        try:
            return wait(future)
        except BaseException:
            future.cancel()  # interrupted before it began: it must not happen later
            raise

    def post(self, function: Callable[..., object], *args: object) -> None:
        """Run `function` on the I/O thread soon, without waiting for it."""
        self.loop.call_soon_threadsafe(function, *args)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run `coroutine` on the I/O thread and return its result; see `call`."""
        try:
            self._check_thread()
        except RuntimeError:
            coroutine.close()
            raise
        return wait(self.submit(coroutine))

    def _check_thread(self) -> None:
        if self.on_thread:
            msg = (
                "This was called on steer_nb's I/O thread (from a subscribe() callback?), which "
                "would wait for itself. Hand the work to another thread; read() is allowed here."
            )
            raise RuntimeError(msg)

    def at_exit(self, hook: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
        """Run ``hook()`` on the I/O thread when Python ends; returns what takes it back."""
        self._exit_hooks.append(hook)

        def forget() -> None:
            with contextlib.suppress(ValueError):
                self._exit_hooks.remove(hook)

        return forget

    def shutdown(self) -> None:
        """Run the exit hooks, stop the loop and end the thread. `atexit` calls it."""
        with self._lock:
            self._ended = True
            loop, thread = self._loop, self._thread
        if loop is None or thread is None or not thread.is_alive():
            return

        async def finish() -> None:
            hooks, self._exit_hooks = self._exit_hooks, []
            ends = [asyncio.ensure_future(hook()) for hook in hooks]
            if ends:  # a server that does not answer must not hold Python back
                await asyncio.wait(ends, timeout=_EXIT_SECONDS)
            rest = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

        future = asyncio.run_coroutine_threadsafe(finish(), loop)
        with contextlib.suppress(concurrent.futures.TimeoutError):
            future.result(2 * _EXIT_SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(_EXIT_SECONDS)


def wait(future: Future[T], timeout: float | None = None) -> T:
    """Wait for `future` in slices, so that an interrupt is noticed at once on every platform.

    Parameters
    ----------
    future : concurrent.futures.Future
        What to wait for; it goes on when the wait ends early.
    timeout : float, optional
        Seconds.

    Raises
    ------
    TimeoutError
        When `timeout` is over and the future is not done.
    """
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        left = TICK if end is None else min(TICK, end - time.monotonic())
        try:
            return future.result(max(left, 0.0))
        except concurrent.futures.TimeoutError:
            if future.done():
                return future.result()  # the work itself may have raised a TimeoutError
            if end is not None and time.monotonic() >= end:
                raise


async def tick(future: Future[T]) -> T:
    """Await `future` on any asyncio loop, in ticks, without ever cancelling the work behind it.

    The kernel's Stop button cancels the awaiting task; an idle kernel loop would notice that only
    at the next message, a ticking one within `TICK` seconds.
    """
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()

    def done() -> None:
        if not woken.done():
            woken.set_result(None)

    def wake(_: object) -> None:
        # A loop that was closed meanwhile has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(done)

    future.add_done_callback(wake)
    while not future.done():
        await asyncio.wait([woken], timeout=TICK)
    return future.result()


io_thread = IOThread()
"""The process's I/O thread."""

atexit.register(io_thread.shutdown)
