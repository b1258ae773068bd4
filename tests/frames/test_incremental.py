"""Asking again: what is new is read, what is there is kept, and what was given away is apart."""

from __future__ import annotations

import sys
import threading
import time

import pandas as pd
import pytest

from steer_nb.frames import TABLES, keeping
from steer_nb.trace import Trace
from tests.frames.test_schema import full
from tests.support.traces import TraceBuilder, call, message, stub


def long_trace(responses: int, deltas: int = 56) -> Trace:
    builder = TraceBuilder(step=0.001).connect()
    for number in range(responses):
        name = f"resp_{number}"
        text = [f"word {n} " for n in range(deltas)]
        builder.create(lane="a", key=f"create-{number}").created(name, lane="a")
        builder.added(message(""), lane="a")
        for piece in text:
            builder.delta(piece, lane="a")
        item = message("".join(text))
        builder.done(item, lane="a").ended(name, lane="a", output=[item])
    return builder.trace


def cpu(function) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def test_a_refresh_costs_a_small_part_of_the_first_time():
    whole = long_trace(400)
    trace = Trace(whole.header)
    for entry in whole.entries[:-100]:
        trace.append(entry)
    first = cpu(lambda: trace.frames.events)
    again = []
    for start in range(-100, 0, 20):
        for entry in whole.entries[start : start + 20 or None]:
            trace.append(entry)
        again.append(cpu(lambda: trace.frames.events))
    assert min(again) < first / 10, (first, again)
    assert len(trace.frames.events) == len(whole.frames.events)


def test_old_entries_are_not_read_again(monkeypatch):
    trace = long_trace(3)
    frames = trace.frames
    for name in frames:
        frames.table(name, columns=TABLES[name].all)
    read: list[int] = []
    ledger = frames._fold.ledger
    apply, apply_run = ledger.apply, ledger.apply_run

    def counted(entry, event=None):
        read.append(entry.seq)
        return apply(entry, event)

    def counted_run(run):
        read.extend(range(run.first.seq, run.last.seq + 1))
        return apply_run(run)

    monkeypatch.setattr(ledger, "apply", counted)
    monkeypatch.setattr(ledger, "apply_run", counted_run)
    more = TraceBuilder(step=0.001)
    more.trace, more.connection = trace, 1
    before = len(trace)
    more.create(lane="a", key="create-9").created("new", lane="a")
    more.added(message(""), lane="a").delta("h", lane="a").delta("i", lane="a")
    for name in frames:
        frames[name]
        frames[name]
    assert read == list(range(before, before + 5))
    assert frames.responses["response_id"].iloc[-1] == "new"


@pytest.mark.parametrize("name", TABLES)
def test_changing_a_frame_does_not_change_the_next(name):
    trace = full()
    before = trace.frames[name].copy(deep=True)
    mine = trace.frames[name]
    for place in range(mine.shape[1]):
        mine.iloc[0, place] = None
    mine.iloc[:, 0] = mine.iloc[::-1, 0].array
    mine[mine.columns[2]] = 0
    mine["more"] = 1
    mine.attrs["dropped"] = 99
    mine.attrs["more"] = []
    pd.testing.assert_frame_equal(trace.frames[name], before)
    assert trace.frames[name].attrs["dropped"] == 0
    assert "more" not in trace.frames[name].attrs
    more = TraceBuilder()
    more.trace, more.connection = trace, 1
    more.create(lane="zzz")
    after = trace.frames[name].iloc[: len(before)]
    if name not in ("lanes", "connections", "traces"):  # those go on counting
        pd.testing.assert_frame_equal(after, before)
    assert after.iloc[:, 1].tolist() == before.iloc[:, 1].tolist()


def test_changing_a_frame_where_copy_on_write_is_an_option():
    if int(pd.__version__.split(".")[0]) >= 3:
        pytest.skip("Copy-on-Write is no option here, but always on")
    with pd.option_context("mode.copy_on_write", True):
        trace = full()
        before = trace.frames.events.copy(deep=True)
        mine = trace.frames.events
        for place in range(mine.shape[1]):
            mine.iloc[0, place] = None
        pd.testing.assert_frame_equal(trace.frames.events, before)


def test_a_frame_that_was_given_away_stays_as_it_was():
    trace = long_trace(2, deltas=3)
    old = trace.frames.events
    kept = old.copy(deep=True)
    more = TraceBuilder()
    more.trace = trace
    for number in range(50):
        more.event(f"new.{number}")
    new = trace.frames.events
    assert len(new) == len(old) + 50
    new.loc[:, "seq"] = 0
    pd.testing.assert_frame_equal(old, kept)


def test_asking_again_with_nothing_new_copies_nothing_much():
    trace = long_trace(20)
    first = trace.frames.events
    second = trace.frames.events
    assert first is not second
    pd.testing.assert_frame_equal(first, second)


@pytest.mark.parametrize("name", [name for name in TABLES if name not in ("events", "traces")])
def test_old_rows_are_not_made_again(name, monkeypatch):
    made = []
    make = keeping.frame_of

    def counted(columns, values):
        frame = make(columns, values)
        made.append(len(frame))
        return frame

    builder = TraceBuilder().connect()
    for number in range(60):
        turn(builder, number)
    frames = builder.trace.frames
    assert len(frames.table(name)) in (1, 60, 120, 180)
    monkeypatch.setattr(keeping, "frame_of", counted)
    frames.table(name)
    assert made == []
    turn(builder, 60)
    frame = frames.table(name)
    assert sum(made) <= 6, made
    pd.testing.assert_frame_equal(frame, Trace(builder.trace.header, builder.trace).frames[name])


def turn(builder, number):
    """A turn with everything: a steer, a call, an answer, usage, an event nobody knows."""
    name, previous = f"resp_{number}", f"resp_{number - 1}" if number else None
    given = [{**stub(f"call_{number - 1}"), "output": "x"}] if number else "hi"
    builder.create(given, previous=previous, lane="a", key=f"create-{number}")
    builder.created(name, previous=previous, lane="a").event("new.kind", lane="a")
    builder.added(message(""), lane="a").delta("hi", lane="a").done(message("hi"), lane="a")
    builder.steer(name, "more", key=f"steer-{number}").done(call(f"call_{number}"), 1, lane="a")
    usage = {"input_tokens": 3, "output_tokens": 1}
    builder.ended(name, lane="a", output=[message("hi"), call(f"call_{number}")], usage=usage)


def test_words_of_rows_that_changed_do_not_stay():
    trace = TraceBuilder().create().created("r1").added({"type": "hologram", "id": "i0"}).trace
    assert "hologram" in trace.frames.items["type"].cat.categories
    builder = TraceBuilder()
    builder.trace = trace
    builder.added(message("", 1), 1)
    assert "hologram" in trace.frames.items["type"].cat.categories
    builder.done(message("so"), 0)
    frame = trace.frames.items
    assert "hologram" not in frame["type"].cat.categories
    pd.testing.assert_frame_equal(frame, Trace(trace.header, trace).frames.items)


def test_new_words_come_behind_the_old_ones():
    builder = TraceBuilder().event("x.one").event("response.created")
    frames = builder.trace.frames
    known = len(TABLES["events"].all["type"].dtype.categories)
    assert list(frames.events["type"].cat.categories)[known:] == ["x.one"]
    builder.event("x.two").event("x.one")
    assert frames.events["type"].tolist() == ["x.one", "response.created", "x.two", "x.one"]
    assert list(frames.events["type"].cat.categories)[known:] == ["x.one", "x.two"]
    assert list(Trace(builder.trace.header, builder.trace).frames.events["type"].cat.categories)[
        known:
    ] == ["x.one", "x.two"]


def test_reading_while_another_thread_records():
    whole = long_trace(30)
    trace = Trace(whole.header)
    failures: list[BaseException] = []

    def record() -> None:
        for entry in whole.entries:
            trace.append(entry)

    def ask() -> None:
        try:
            last = 0
            while last < len(whole.frames_expected):  # type: ignore[attr-defined]
                now = len(trace.frames.events)
                assert now >= last
                last = now
                trace.frames.responses, trace.frames.items  # noqa: B018
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            failures.append(error)

    whole.frames_expected = whole.frames.events  # type: ignore[attr-defined]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=target) for target in (ask, ask, record)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=20)
    finally:
        sys.setswitchinterval(interval)
    assert not failures
    for name in whole.frames:
        pd.testing.assert_frame_equal(trace.frames[name], whole.frames[name])
