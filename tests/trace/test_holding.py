"""Entries that are held as lines are the entries that they would be as objects; they take less."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steer_nb import load
from steer_nb.trace import Entry, Header, Trace, holding
from steer_nb.trace.holding import Entries, Lines
from tests.benchmarks.recorded import write

RAWS = ["{}", '{"type":"error"}', '{"delta":"é"}', '{"delta":"東京\u2028"}', '{"delta":"x\\ud83d"}']


@st.composite
def both(draw):
    """The same entries, as they may be held, and as a list."""
    entries, plain = Entries(), []
    for _ in range(draw(st.integers(0, 5))):
        raws = draw(st.lists(st.sampled_from(RAWS), min_size=1, max_size=6))
        some = [Entry(n, None, None, "in", 2, raw) for n, raw in enumerate(raws, len(plain))]
        if draw(st.booleans()):
            moments = draw(st.sets(st.sampled_from(range(len(raws)))))
            entries.hold(Lines(len(plain), 2, [raw.encode() for raw in raws], sorted(moments)))
        else:
            some[0] = Entry(len(plain), 1.0, 0.5, "note", note="a", data={"b": 1})
            entries.extend(some)
        plain += some
    return entries, plain


numbers = st.one_of(st.none(), st.integers(-30, 30))
often = settings(max_examples=60, deadline=None)


@often
@given(both(), numbers, numbers, numbers.filter(lambda step: step != 0))
def test_a_list_in_all_that_is_read(held, start, stop, step):
    entries, plain = held
    assert len(entries) == len(plain)
    assert list(entries) == plain
    assert entries == plain
    assert plain == entries
    assert entries[start:stop:step] == plain[start:stop:step]
    assert [entries[n] for n in range(-len(plain), len(plain))] == plain * 2
    assert list(reversed(entries)) == plain[::-1]
    assert entries + plain == plain + entries == plain + plain
    assert entries != [*plain, Entry(0, None, None, "in")]
    assert repr(entries) == repr(plain)
    for one in plain:
        assert one in entries
        assert entries.index(one) == plain.index(one)
    for outside in (len(plain), -len(plain) - 1):
        with pytest.raises(IndexError):
            entries[outside]
    assert pickle.loads(pickle.dumps(entries)) == copy.deepcopy(entries) == entries
    assert Trace(Header(1, "t"), entries) == Trace(Header(1, "t"), plain)


@often
@given(both(), st.integers(0, 40), st.integers(0, 40), st.integers(1, 4))
def test_batches_say_what_the_entries_say(held, start, stop, at_once):
    entries, plain = held
    start, stop = min(start, len(plain)), min(stop, len(plain))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(holding, "_AT_ONCE", at_once)
        batches = list(entries.batches(start, stop))
        assert [*itertools.chain(*entries.between(start, stop))] == plain[start:stop]
        assert entries == plain
    found = [zip(b.entries, b.seqs, b.at, b.t, b.raws, b.sizes, strict=True) for b in batches]
    expected = [
        (e, e.seq, e.at, e.t, e.raw, None if e.raw is None else len(e.raw.encode()))
        for e in plain[start:stop]
    ]
    assert [*itertools.chain(*found)] == expected
    assert all(
        {(e.kind, e.data, e.connection) for e in b.entries} == {("in", None, 2)}
        for b in batches
        if b.bare
    )


@often
@given(both(), st.data())
def test_a_list_in_all_that_is_changed(held, data):
    entries, plain = held
    shared = entries.copy()
    before = plain[:]
    new = Entry(99, None, None, "in", 1, "{}")
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(plain)))
        match data.draw(st.integers(0, 5)):
            case 0:
                entries.insert(place, new)
                plain.insert(place, new)
            case 1:
                entries[place:] = [new, new]
                plain[place:] = [new, new]
            case 2 if place < len(plain):
                entries[place] = new
                plain[place] = new
            case 3 if place < len(plain):
                del entries[place]
                del plain[place]
            case 4:
                entries += entries
                plain += plain
            case _:
                entries.append(new)
                plain.append(new)
        assert entries == plain
    assert shared == before


def test_who_goes_through_them_sees_what_comes_meanwhile():
    entries = Entries()
    entries.hold(Lines(0, 1, [b"{}"]))
    seen = []
    for entry in entries:
        seen.append(entry.seq)
        if len(entries) < 4:
            entries.append(Entry(len(entries), None, None, "in"))
    assert seen == [0, 1, 2, 3]


def measured(path):
    """How much is held, and at most at once, for a file and its events, in times of its size."""
    gc.collect()
    tracemalloc.start()
    try:
        trace = load(path, progress=False)
        events = trace.frames.events
        gc.collect()
        held, most = (size / path.stat().st_size for size in tracemalloc.get_traced_memory())
    finally:
        tracemalloc.stop()
    return held, most, trace, events


def test_what_a_long_recording_takes(tmp_path):
    path = tmp_path / "run.jsonl"
    write(path, 20_000)
    assert len(load(path, progress=False).frames.events)  # what is made once in a process
    held, most, trace, events = measured(path)
    # Counted in bytes that were asked for, so that it is the same in every run. With an object
    # and a text for each entry it is 2.6, and what lives at most 3.5.
    assert len(events) == len(trace) - 1 == 20_000
    assert held < 2.2, held
    assert most < 2.5, most


def test_folds_hold_on_to_nothing_twice(tmp_path):
    path = tmp_path / "run.jsonl"
    write(path, 2_000)
    trace = load(path, progress=False)
    for response in trace.ledger.responses.values():
        moments = [response.started, response.in_progress, response.ended]
        moments += [one for item in response.items.values() for one in (item.added, item.done)]
        for entry in filter(None, moments):
            assert trace.entries[entry.seq] is entry


def test_a_saved_copy_is_the_same_whatever_it_was_saved_from(tmp_path):
    path, held, plain = (tmp_path / name for name in ("run.jsonl", "held.jsonl", "plain.jsonl"))
    write(path, 3_000)
    trace = load(path, progress=False)
    trace.save(held)
    trace.entries[:] = list(trace.entries)
    trace.save(plain)
    assert held.read_bytes() == plain.read_bytes()
    assert load(held) == pickle.loads(pickle.dumps(load(path, progress=False))) == trace
