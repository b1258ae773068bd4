"""Following one stream: each frame is recorded as it came, and its end is told from its loss.

Every ending of chapter 4.1 of the protocol notes: ``[DONE]``; an error, with or without ``[DONE]``
behind it; a stop and the end of the body, or two seconds of silence behind it; and all else is a
loss.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from steer_nb.letta.http import Lost
from steer_nb.letta.reading import DONE, Frame, Frames, head_of
from steer_nb.wire.letta import decode, read_refusal

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from steer_nb.client.recorder import Recorder
    from steer_nb.letta.http import Streamed

__all__ = ["Following", "Progress"]

QUIET_S: Final = 2.0
"""Silence behind a stop that is as good as an end: some bodies are never closed (4.1)."""
STALLED_S: Final = 5.0
"""After so much of nothing but pings on a stream that is read on, its run is looked at (5.3)."""


@dataclass(slots=True)
class Progress:
    """How far a run's stream was read, over all the connections that it came on.

    Attributes
    ----------
    run_id : str or None
        The run, once a frame named it.
    seq : int
        The last visible number; 0 where there is none yet, or the run is in the foreground.
    stop : str or None
        Why it stopped.
    fault : str or None
        What the server refused it for, a word of `FAULT_KINDS`, or ``other``.
    """

    run_id: str | None = None
    seq: int = 0
    stop: str | None = None
    fault: str | None = None

    @property
    def over(self) -> bool:
        """Whether its end was seen: nothing of it is worth to be read on for."""
        return self.stop is not None or self.fault is not None


class Following:
    """Reads one stream after another of one run.

    Parameters
    ----------
    recorder : Recorder
        Takes what comes.
    lane : str or None
        Whose lane it is.
    before_pause : callable
        Awaited before the stop of a run that waits for approval is recorded: what really waits is
        asked of the server first, since streamed calls can be phantoms (9.1).
    """

    def __init__(
        self, recorder: Recorder, lane: str | None, before_pause: Callable[[], Awaitable[None]]
    ) -> None:
        self._recorder = recorder
        self._lane = lane
        self._before_pause = before_pause
        self.progress = Progress()

    async def read(
        self, answer: Streamed, stalled: Callable[[], Awaitable[bool]] | None = None
    ) -> None:
        """Read a stream to its end.

        Parameters
        ----------
        answer : Streamed
            The stream.
        stalled : callable, optional
            Asked where only pings come for a while: whether there is nothing more to be waited for.

        Raises
        ------
        Lost
            If it broke off.
        """
        frames, progress = Frames(), self.progress
        loop = asyncio.get_running_loop()
        moved = loop.time()
        while True:
            patience = QUIET_S if progress.over else STALLED_S if stalled is not None else None
            try:
                piece = await answer.piece(patience)
            except TimeoutError:
                piece = b""
                if progress.over:
                    return
            if piece is None:
                break
            for frame in frames.feed(piece):
                if frame.data.strip() == DONE:
                    return
                if await self._take(frame):
                    moved = loop.time()
            late = loop.time() - moved > STALLED_S
            if stalled is not None and late and not progress.over:
                if await stalled():
                    return
                moved = loop.time()
        if not progress.over:
            why = "the stream ended before its run did"
            raise Lost(why, sent=True)

    async def _take(self, frame: Frame) -> bool:
        """Record a frame; whether it was more than a ping."""
        head, progress = head_of(frame.data), self.progress
        progress.run_id = head.run_id or progress.run_id
        progress.seq = max(progress.seq, head.seq_id or 0)
        if head.message_type == "stop_reason":
            if head.stop_reason == "requires_approval" and progress.stop is None:
                await self._before_pause()
            progress.stop = head.stop_reason or "unknown"
        elif frame.event == "error" or head.message_type == "error_message":
            told = read_refusal(decode(frame.data).message.to_dict())
            progress.fault = told.kind or "other"
        named = {} if head.run_id or progress.run_id is None else {"run": progress.run_id}
        self._recorder.take(frame.data, lane=self._lane, **named)
        return head.message_type != "ping"
