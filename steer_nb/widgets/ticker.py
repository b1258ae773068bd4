"""A helper thread for what must block neither the kernel nor the I/O thread.

Widget callbacks come on the main thread or on a subshell's, notices of a session on the I/O thread.
Neither may wait: the first would hold up the kernel, the second every socket. Both leave work here,
under a key; what is left twice before its time is done once.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

__all__ = ["Ticker", "in_background", "ticker"]


class Ticker:
    """Runs functions after a delay, one after another, on one daemon thread.

    Examples
    --------
    >>> done = threading.Event()
    >>> Ticker().later("mine", 0.0, done.set)
    >>> done.wait(5)
    True
    """

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._jobs: dict[Hashable, tuple[float, Callable[[], object]]] = {}
        self._thread: threading.Thread | None = None

    def later(
        self, key: Hashable, delay: float, function: Callable[[], object], *, restart: bool = False
    ) -> None:
        """Call ``function()`` in `delay` seconds.

        Parameters
        ----------
        key : hashable
            Names the work. Work of that name that still waits is replaced.
        delay : float
            Seconds.
        function : callable
            What to do.
        restart : bool
            Whether the replaced work's time starts anew (after quiet), or stands (at the latest).
        """
        with self._ready:
            due = time.monotonic() + delay
            if not restart and key in self._jobs:
                due = min(due, self._jobs[key][0])
            self._jobs[key] = (due, function)
            # A fork keeps the object and loses the thread.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="steer-nb-forms", daemon=True
                )
                self._thread.start()
            self._ready.notify()

    def drop(self, key: Hashable) -> None:
        """Forget work that has not begun."""
        with self._ready:
            self._jobs.pop(key, None)

    def _run(self) -> None:
        while True:
            with self._ready:
                key, (due, function) = (
                    min(self._jobs.items(), key=lambda job: job[1][0])
                    if self._jobs
                    else (None, (None, None))
                )
                left = None if due is None else due - time.monotonic()
                if function is None or (left is not None and left > 0):
                    self._ready.wait(left)
                    continue
                del self._jobs[key]
            guarded(function)


def guarded(function: Callable[[], object]) -> None:
    """Call a function; an error is reported like any thread's, and ends nothing else."""
    try:
        function()
    except Exception:  # noqa: BLE001 - the hook shows it; the next job must still run
        threading.excepthook(
            threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread()))
        )


def in_background(function: Callable[[], object], name: str) -> None:
    """Run something that may take long (a tool, a send) on a thread of its own."""
    threading.Thread(target=guarded, args=(function,), name=f"steer-nb-{name}", daemon=True).start()


ticker = Ticker()
"""The process's own."""
