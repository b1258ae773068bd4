"""Whether a replayed session is the recorded one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pandas as pd

import steer_nb

if TYPE_CHECKING:
    from collections.abc import Collection

    from steer_nb.trace import Trace

TABLES = ("responses", "items", "tool_calls", "steers", "required_inputs")
# What has to differ: the trace's own id, which begins the ids of its lanes and connections, and
# times. `created_at` is the service's word, and recorded.
IDS = {"trace_id", "lane_id", "connection_id"}
TIMES = re.compile(r"^(?!created_at$).*_at$|_s$")


def again(trace: Trace, speed: float = 0, **options: Any) -> Trace:
    """Replay a trace to its end and give the trace of that."""
    playing = steer_nb.replay(trace, speed=speed, quiet=True, **options)
    try:
        playing.wait(timeout=60)
        assert playing.state == "ended", playing
    finally:
        playing.session.close()
    return playing.session.trace


def assert_same_tables(recorded: Trace, replayed: Trace, but: Collection[str] = ()) -> None:
    """Fail unless the tables of two traces are equal, but for what has to differ."""
    for name in TABLES:
        one, other = recorded.frames.table(name), replayed.frames.table(name)
        kept = [c for c in one.columns if c not in IDS | {*but} and not TIMES.search(c)]
        assert kept
        pd.testing.assert_frame_equal(one[kept], other[kept], obj=name)


def assert_same_events(recorded: Trace, replayed: Trace) -> None:
    """Fail unless the very same messages came; lanes may interleave otherwise."""
    one, other = (
        sorted(entry.raw or "" for entry in trace if entry.kind == "in")
        for trace in (recorded, replayed)
    )
    assert one == other
