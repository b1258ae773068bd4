"""A lane: requests of one `stream_id` run one after another (chapter 3)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from steer_nb.simulator.chain import Record
    from steer_nb.simulator.connection import Connection

__all__ = ["Create", "Lane", "Successor"]


@dataclass(eq=False)
class Create:
    """A `response.create` that waits for its turn; `entry` is its line in the account.

    `index` is its response's number in the lane, where `response.queued` gave out its id already.
    """

    body: dict[str, Any]
    entry: dict[str, Any]
    index: int | None = None


@dataclass(eq=False)
class Successor:
    """An automatic successor that is due."""

    parent: Record


class Lane:
    """One lane of one connection.

    Attributes
    ----------
    latest : Record or None
        The newest response of the lane.
    cached : Record or None
        Its place in the connection-local cache: the newest response that can be continued (2.3).
    """

    def __init__(self, connection: Connection, stream_id: str | None) -> None:
        self.connection = connection
        self.stream_id = stream_id
        self.latest: Record | None = None
        self.cached: Record | None = None
        self.n_responses = 0
        self._queue: deque[Create | Successor] = deque()
        self._task: asyncio.Task[None] | None = None

    def put_create(self, job: Create) -> None:
        """Queue a request."""
        waits = self._task is not None or self.connection.slots.locked()
        if waits and self.connection.options.lane_queued == "event":
            self.connection.engine.announce(self, job)
        self._queue.append(job)
        self._wake()

    def put_successor(self, parent: Record) -> None:
        """Queue an automatic successor: before what waits, unless told otherwise (5.8 e)."""
        if self.connection.options.successor_order == "first":
            self._queue.appendleft(Successor(parent))
        else:
            self._queue.append(Successor(parent))
        self._wake()

    def continuation_queued(self, response_id: str) -> bool:
        """Whether a create that continues this response has been received already."""
        return any(
            isinstance(job, Create)
            and job.body.get("previous_response_id") == response_id
            and job.body.get("generate") is not False
            for job in self._queue
        )

    def next_index(self) -> int:
        """Number the lane's responses: ids depend on it."""
        self.n_responses += 1
        return self.n_responses - 1

    def leave(self) -> asyncio.Task[None] | None:
        """Drop what waits, as the connection is gone; gives the task of what goes on without it."""
        self._queue.clear()
        writing = self.latest
        if writing is None or not writing.live or not self.connection.goes_on(writing):
            return None
        return self._task

    def _wake(self) -> None:
        if self._task is None:
            self._task = self.connection.spawn(self._run())

    async def _run(self) -> None:
        while self._queue:
            # At most so many responses of a connection run at once; the rest wait, without an
            # error (1.3). A job stays in the queue until it has its slot.
            async with self.connection.slots:
                job = self._queue.popleft()
                await self.connection.run(self, job)
        self._task = None
