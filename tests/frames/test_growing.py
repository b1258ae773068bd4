"""Frames that look into the same long arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from steer_nb.frames.base import _copies_on_write
from steer_nb.trace import Trace
from tests.support.traces import TraceBuilder


def grown(events):
    builder = TraceBuilder().connect().created("r1")
    for number in range(events):
        builder.delta(f"{number}")
    return builder


def test_no_frame_that_was_handed_out_is_changed_by_another():
    builder = grown(500)
    frames = builder.trace.frames
    handed: list[tuple[pd.DataFrame, pd.DataFrame]] = []
    for number in range(150):
        builder.delta(f"{number}").event(f"new.{number % 40}")
        frame = frames.table("events", columns="EventCore + EventDelta")
        same = frames.events
        handed.append((frame, frame.copy(deep=True)))
        handed.append((same, same.copy(deep=True)))
        if number % 3 == 0:  # whoever got it changes it, and only that one
            frame.iloc[0, :] = None
            same["seq"] = 0
            handed = handed[:-2]
        del frame, same
    for frame, before in handed:
        pd.testing.assert_frame_equal(frame, before)
    whole = Trace(builder.trace.header, builder.trace).frames
    pd.testing.assert_frame_equal(frames.events, whole.events)
    pd.testing.assert_frame_equal(
        frames.table("events", columns="EventCore + EventDelta"),
        whole.table("events", columns="EventCore + EventDelta"),
    )


@pytest.mark.parametrize("name", ["seq", "event_id", "type", "recv_at", "t_s", "known"])
def test_a_column_of_a_frame_that_is_gone_may_be_changed(name):
    builder = grown(100)
    frames = builder.trace.frames
    column = frames.events[name]
    builder.delta("more")
    frames.events  # noqa: B018
    column.iloc[3] = None
    whole = Trace(builder.trace.header, builder.trace).frames
    pd.testing.assert_frame_equal(frames.events, whole.events)


@pytest.mark.skipif(not _copies_on_write(), reason="what is handed out is a copy in this pandas")
def test_new_rows_are_written_behind_the_old_ones():
    builder = grown(1000)
    frames = builder.trace.frames
    first = frames.events
    builder.delta("more")
    second = frames.events
    assert np.shares_memory(first["t_s"].to_numpy(), second["t_s"].to_numpy())


def test_few_frames_are_kept():
    builder = grown(5000)
    frames = builder.trace.frames
    for number in range(200):
        builder.delta(str(number))
        frames.events  # noqa: B018
        assert len(frames._fold.events._made) <= 65
