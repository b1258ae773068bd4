"""The way of a session to the I/O thread, where everything of it lives."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from steer_nb.client.io import io_thread, tick, wait
from steer_nb.errors import NotConnected, WaitTimeout

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future
    from typing import TypeVar

    from steer_nb.client.core import Core
    from steer_nb.ledger import Ledger

    T = TypeVar("T")

__all__ = ["Reach"]


class Reach:
    """Reading, acting and waiting from any thread.

    Parameters
    ----------
    core : Core
        What is reached.

    Attributes
    ----------
    name : str
        What it is called.
    """

    def __init__(self, core: Core) -> None:
        self.name = core.name
        self.core = core
        self._process = os.getpid()

    @property
    def _is_forked(self) -> bool:
        """Whether this is a copy in a child process; the sockets stay with the parent."""
        return os.getpid() != self._process

    def read(self, function: Callable[[Ledger], T]) -> T:
        """Return ``function(ledger)``, run where the ledger lives.

        Copy out what is needed: the ledger's objects change, and belong to the I/O thread. It may
        be called in a `subscribe` callback.
        """
        if io_thread.on_thread:
            return function(self.core.ledger)
        return io_thread.call(function, self.core.ledger)

    def act(self, function: Callable[[], T]) -> T:
        """Return ``function()``, run on the I/O thread: what changes something goes this way."""
        if self._is_forked:
            msg = (
                f"Session {self.name} belongs to process {self._process}; a forked process has to "
                "connect by itself."
            )
            raise NotConnected(msg)
        return io_thread.call(function)

    def watch(self, predicate: Callable[[Ledger], T | None]) -> Future[T]:
        """Return a future for the first value of `predicate` that is not None."""
        return self.act(lambda: self.core.watchers.watch(predicate))

    def until(
        self,
        predicate: Callable[[Ledger], T | None],
        timeout: float | None,
        going_on: Callable[[], str],
    ) -> T:
        """Wait for the first value of `predicate` that is not None.

        Raises
        ------
        WaitTimeout
            With what `going_on` says.
        """
        future = self.watch(predicate)
        try:
            return wait(future, timeout)
        except TimeoutError:
            if future.done() and not future.cancelled():
                raise
            msg = f"{going_on()} after {timeout:g} seconds. It goes on; wait again for its end."
            raise WaitTimeout(msg) from None
        finally:
            future.cancel()

    async def until_async(self, predicate: Callable[[Ledger], T | None]) -> T:
        """Await the first value of `predicate` that is not None, in ticks."""
        future = self.watch(predicate)
        try:
            return await tick(future)
        finally:
            future.cancel()

    def subscribe(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback()`` on the I/O thread after each batch of entries was folded.

        It must be quick; `read` may be called in it. One that raises is not called again.

        Returns
        -------
        callable
            Ends the subscription.
        """
        self.act(lambda: self.core.watchers.subscribe(callback))

        def unsubscribe() -> None:
            if io_thread.on_thread:
                self.core.watchers.unsubscribe(callback)
            else:
                self.act(lambda: self.core.watchers.unsubscribe(callback))

        return unsubscribe
