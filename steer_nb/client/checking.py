"""What became of the unknown: the service is asked, and what it says is recorded and proven from.

It asks and waits on a thread of its own; what it learns is a note of the trace, on the disk before
anything follows from it. What follows is the ledger's: `steer_nb.ledger.checking`.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from steer_nb.client.asking import ask
from steer_nb.client.io import io_thread
from steer_nb.client.settings import redacted
from steer_nb.errors import LaneBusy, NotConnected
from steer_nb.ledger import checking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import TypeVar

    from steer_nb.client.asking import Answer
    from steer_nb.client.core import Core
    from steer_nb.client.session import Session
    from steer_nb.ledger import LaneState, RequestState, SteerState

    T = TypeVar("T")

__all__ = ["Check", "Checker", "check"]


@dataclass(frozen=True, slots=True)
class Check:
    """What came of asking the service.

    Attributes
    ----------
    asked : tuple of str
        Ids of the responses that it was asked about.
    settled : tuple of str
        What is known now that was not before, one sentence each.
    unsettled : tuple of str
        What stays unknown, and why.

    Examples
    --------
    >>> Check(("resp_2",), ("resp_2 ended: completed.",))
    Asked about 1 response.
      settled: resp_2 ended: completed.
    """

    asked: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.settled)

    def __str__(self) -> str:
        count = len(self.asked)
        lines = [f"Asked about {count} response{'' if count == 1 else 's'}."]
        if not count:
            lines = ["Nothing was asked."]
        lines += [f"  settled: {sentence}" for sentence in self.settled]
        lines += [f"  unknown: {sentence}" for sentence in self.unsettled]
        if not self.settled and not self.unsettled:
            lines[0] += " Nothing is unknown." if not count else " All is as it was known."
        return "\n".join(lines)

    __repr__ = __str__


class Checker:
    """Asks for a session. It lives on the I/O thread, and is busy with one question at a time.

    Parameters
    ----------
    core : Core
        The session's insides.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._busy = False

    async def check(self, stream_ids: Iterable[str | None] | None = None) -> Check:
        """Ask about everything that can be settled, and record what is said.

        Parameters
        ----------
        stream_ids : iterable of (str or None), optional
            Lanes; all of them by default.

        Raises
        ------
        LaneBusy
            If the service is being asked already.
        NotConnected
            If the session was closed: its journal takes nothing any more.
        ConnectionFailed, ServerRefused, TraceError
            What was learnt until then is kept.
        """
        self.require_ready()
        self._busy = True
        try:
            return await self._check(stream_ids)
        finally:
            self._busy = False

    async def _check(self, stream_ids: Iterable[str | None] | None) -> Check:
        core = self._core
        ledger = core.ledger
        wanted = ledger.lanes if stream_ids is None else stream_ids
        lanes = [lane for name in wanted if (lane := ledger.lanes.get(name)) is not None]
        before = {name: words for lane in lanes for name, words in self._known(lane).items()}
        asked = []
        for lane in lanes:
            for question in checking.questions(ledger, lane):
                work = partial(
                    ask, core.endpoint, question.response_id, input_items=question.input_items
                )
                answer = await _in_thread(work)
                self._require_open()
                self._record(lane, question.response_id, answer)
                asked.append(question.response_id)
        settled = [
            f"{name} {words}."
            for lane in lanes
            for name, words in self._known(lane).items()
            if words and words != before.get(name)
        ]
        unsettled = [sentence for lane in lanes for sentence in checking.unsettled(ledger, lane)]
        return Check(tuple(asked), tuple(settled), tuple(unsettled))

    def require_ready(self) -> None:
        """Raise, with the reason, where the service cannot be asked now."""
        if self._busy:
            msg = f"Session {self._core.name} is asking the service already: wait for its answer."
            raise LaneBusy(msg)
        self._require_open()

    def _require_open(self) -> None:
        if self._core.over:
            msg = (
                f"Session {self._core.name} is closed, and its journal takes nothing any more. "
                "Take it up with steer_nb.recover() or %steer recover, and ask then."
            )
            raise NotConnected(msg)

    def _record(self, lane: LaneState, response_id: str, answer: Answer) -> None:
        response, items = answer.response, answer.input_items
        recorder = self._core.recorder
        recorder.note(
            "checked",
            lane=lane.stream_id,
            response_id=response_id,
            response=None if response is None else redacted(response),
            input_items=None if items is None else redacted({"input": items})["input"],
        )
        recorder.sync()

    def _known(self, lane: LaneState) -> dict[str, str]:
        """What is known of everything on a lane that may be settled, in words; empty: nothing."""
        ledger = self._core.ledger
        known: dict[str, str] = {}
        for response in lane.responses:
            known[response.id] = ""
            if response.id in ledger.gone and response.status != "truncated":
                known[response.id] = "is no longer there: the service has no such response"
            elif response.settled is not None:
                reason = response.incomplete_reason
                known[response.id] = f"ended: {response.status}{f' ({reason})' if reason else ''}"
            for steer in response.steers:
                done = f"is committed, in {steer.successor_id}{_again(steer)}"
                known[steer.key] = done if steer.state == "committed" else ""
            for inject in response.injects:
                done = f"is committed, in {inject.parent_id}"
                known[inject.key] = done if inject.state == "created" else ""
        for request in lane.requests:
            done = f"is answered by {request.response_id}{_again(request)}"
            known[request.key] = done if request.response_id is not None else ""
        return known


def _again(message: SteerState | RequestState) -> str:
    """What a person decided before it was known: then it went through twice."""
    return f", and was sent again as {message.again_key}" if message.again_key else ""


def check(session: Session, stream_ids: Iterable[str | None] | None = None) -> Check:
    """Ask, and wait for the answers; an interrupt leaves it going. See `Checker.check`."""
    checker = session.core.checker
    session.act(checker.require_ready)
    return io_thread.run(checker.check(stream_ids))


async def _in_thread(function: Callable[[], T]) -> T:
    """Await ``function()`` on a daemon thread: one that hangs must not hold up Python's end."""
    future: Future[Any] = Future()

    def run() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
            future.set_exception(error)

    threading.Thread(target=run, name="steer-nb check", daemon=True).start()
    found: T = await asyncio.wrap_future(future)
    return found
