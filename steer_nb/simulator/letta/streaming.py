"""A stream: the frames of a run as one client gets them, with pings where nothing comes (4, 5)."""

from __future__ import annotations

from contextlib import aclosing
from itertools import count
from typing import TYPE_CHECKING, Final

from steer_nb.simulator.letta.driving import watched
from steer_nb.simulator.letta.ending import ping
from steer_nb.simulator.letta.run import Frame, as_sse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from steer_nb.simulator.letta.run import Run
    from steer_nb.simulator.letta.service import LettaService

__all__ = ["frames_of"]

_HIDDEN: Final = ("stop_reason", "usage_statistics", "done")
"""They use a number up and do not show it (5.2)."""


async def frames_of(
    service: LettaService, run: Run, connection: int, *, after: int, pings: bool, hang: bool = False
) -> AsyncGenerator[Frame, None]:
    """Give a run's frames from behind `after`, until its last.

    What is asked for behind the last hangs, unless an option says otherwise (5.3). Only the newest
    of a background run are kept (5.2).
    """
    options = service.options
    index, seen, silent_s = after, None, 0.0
    numbers = count(1)
    fresh = not run.background

    def alive() -> Frame:
        message = ping(service, run, f"{connection}/{next(numbers)}")
        return as_sse(message, seen)

    if fresh and pings:
        yield alive()
    async with aclosing(watched(run, options.keepalive_s)) as changes:
        async for came in changes:
            if not came:
                silent_s += options.keepalive_s
                if silent_s >= options.silence_limit_s:
                    return
                if pings:
                    yield alive()
                continue
            n_given = 0
            if run.background:  # the oldest are gone
                index = max(index, run.n_stored - options.stream_entries)
            while not hang and index < run.n_stored:
                frame = run.frames[index]
                index += 1
                n_given += 1
                silent_s = 0.0
                if run.background and frame.kind not in _HIDDEN:
                    seen = index
                yield frame
            ended = run.ended and run.n_stored == len(run.frames)
            told = n_given > 0 or options.resume_past_end == "end"
            if ended and told and not hang and index >= len(run.frames):
                return
