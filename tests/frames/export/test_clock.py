"""Wall time, from what was recorded and nothing else."""

from __future__ import annotations

import math

import pytest

from steer_nb.frames.export.clock import Clock
from steer_nb.trace import SCHEMA, Entry, Header, Trace


def clock(started: float | None, *moments: tuple[float | None, float | None]) -> Clock:
    entries = [Entry(n, at, t, "note", note="session") for n, (at, t) in enumerate(moments)]
    return Clock(Trace(Header(SCHEMA, "a" * 32, started), entries))


def test_the_monotonic_clock_counts():
    """Somebody set the wall clock back by an hour while it was recorded."""
    set_back = clock(1000.0, (1000.0, 0.0), (-2600.0, 0.5))
    assert set_back.after(0.5) == 1_000_500_000_000


@pytest.mark.parametrize("t", [None, math.nan, math.inf, -5.8e305, 5.8e305, -2000.0])
def test_what_is_no_moment_is_none(t):
    one = clock(1000.0)
    assert one.after(t) is None
    assert one.at(Entry(0, None, t, "note")) is None


@pytest.mark.parametrize("at", [math.nan, math.inf, -1.0, 0.0, 1e-12, 1e300])
def test_nor_is_such_a_wall_time(at):
    assert clock(None).at(Entry(0, at, None, "note")) is None


@pytest.mark.parametrize("started", [None, math.nan, -math.inf, 1e300])
def test_without_a_beginning_only_wall_times_count(started):
    one = clock(started)
    assert one.after(1.0) is None
    assert one.at(Entry(0, 2.0, 1.0, "note")) == 2_000_000_000
    assert one.at(None) is None
