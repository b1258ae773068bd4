"""Folding the pieces of a text in runs gives what folding them one by one gives."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import msgspec
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steer_nb.frames import TABLES
from steer_nb.frames import fold as frames_fold
from steer_nb.ledger import Ledger, event_of, run_at
from steer_nb.ledger.responses import _DELTAS
from steer_nb.trace import SCHEMA, Entry, Header, Trace
from steer_nb.wire import decode
from tests.frames.walks import LANES, STEPS, TEXT, entries, play
from tests.support.traces import TraceBuilder

often = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])

_SAME: Any = {}
_ODD = [
    *[{"output_index": value} for value in (1, None, "0", 0.0)],
    *[{"content_index": value} for value in (1, None)],
    *[{"summary_index": 1}, {"command_index": 1}, {"item_id": "other"}, {"item_id": None}],
    *[{"delta": {"stdout": "x"}}, {"delta": None}, {"delta": "\ud83d"}],
    *[{"agent": {"agent_name": "/root/a"}}, {"agent": 3}, {"stream_id": "b"}],
    {"type": "response.output_text.done"},
]


@st.composite
def bursts(draw: Any) -> list[dict[str, Any]]:
    """Messages that nearly all add to one text."""
    lane = draw(LANES)
    same = {"type": draw(st.sampled_from(sorted(_DELTAS))), "item_id": "msg_0"}
    same |= {"output_index": draw(st.integers(0, 1)), "content_index": 0}
    same |= {} if lane is None else {"stream_id": lane}
    number = draw(st.none() | st.integers(0, 9))
    found = []
    for odd in draw(st.lists(st.sampled_from([_SAME] * 16 + _ODD), max_size=12)):
        message = {**same, "delta": draw(TEXT), **odd}
        if number is not None:
            message["sequence_number"] = number
            number += draw(st.sampled_from([1] * 8 + [0, 2]))
        found.append(message)
    return found


@st.composite
def traces(draw: Any) -> Trace:
    """Walks with bursts of text, on several connections, and with anything at all between them."""
    builder = TraceBuilder().connect()
    for step in draw(st.lists(STEPS | bursts() | bursts() | entries(), max_size=16)):
        if isinstance(step, Entry):
            builder.trace.append(msgspec.structs.replace(step, seq=len(builder.trace)))
        elif isinstance(step, tuple):
            play(builder, step)
        else:
            for message in step:
                known = draw(st.sampled_from([None] * 20 + [{"lane": "a"}]))
                kind = draw(st.sampled_from(["in"] * 30 + ["out"]))
                builder.add(kind, raw=json.dumps(message), data=known)
    return builder.trace


def picture(value: Any, seen: dict[int, int]) -> Any:
    """Everything that a ledger holds, as values that can be compared; it refers to itself."""
    if isinstance(value, Entry):
        return ("entry", value.seq)
    if dataclasses.is_dataclass(value) or isinstance(value, Ledger):
        if id(value) in seen:
            return ("seen", seen[id(value)])
        seen[id(value)] = len(seen)
        names = (
            vars(value)
            if isinstance(value, Ledger)
            else [f.name for f in dataclasses.fields(value)]
        )
        fields = {name: getattr(value, name) for name in names}
        if "parts" in fields:  # how many pieces a text is kept in says nothing
            fields["parts"] = {key: "".join(pieces) for key, pieces in fields["parts"].items()}
        return (type(value).__name__, picture(fields, seen))
    if isinstance(value, dict):
        return [(key, picture(inner, seen)) for key, inner in value.items()]
    if isinstance(value, list | tuple):
        return [picture(inner, seen) for inner in value]
    return repr(value)


def folded(trace: Trace) -> Ledger:
    """Fold in runs, wherever there is one."""
    ledger = Ledger()
    events = [decode("") if entry.kind == "note" else event_of(entry) for entry in trace]
    place = 0
    while place < len(trace):
        run = run_at(trace.entries, events, place)
        if run is None:
            ledger.apply(trace[place], events[place])
            place += 1
        else:
            ledger.apply_run(run)
            place += run.count
    return ledger


@often
@given(traces())
def test_the_ledger_is_the_same(trace):
    assert picture(folded(trace), {}) == picture(Ledger(trace), {})


def assert_same_tables(trace: Trace) -> None:
    """Compare every table in full, folded in runs and singly."""
    in_runs = Trace(Header(SCHEMA, "t"), trace).frames
    found = {name: in_runs.table(name, columns=TABLES[name].all) for name in TABLES}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames_fold, "run_at", lambda *_: None)
        singly = Trace(Header(SCHEMA, "t"), trace).frames
        for name, frame in found.items():
            expected = singly.table(name, columns=TABLES[name].all)
            pd.testing.assert_frame_equal(frame, expected)


@often
@given(traces())
def test_every_table_is_the_same(trace):
    assert_same_tables(trace)


@pytest.mark.parametrize("kind", sorted(_DELTAS))
def test_one_that_differs_ends_a_run(kind):
    same = {"type": kind, "item_id": "msg_0", "output_index": 0, "content_index": 0}
    builder = TraceBuilder().connect().created("r").created("s", lane="b")
    for number, odd in enumerate([{}, *_ODD]):
        for more in ({}, {}, odd, odd, {}):
            builder.in_({**same, "delta": f"{number}.", **more})
    assert_same_tables(builder.trace)
    assert picture(folded(builder.trace), {}) == picture(Ledger(builder.trace), {})


def test_runs_are_found():
    builder = TraceBuilder().connect().created("r")
    for text in "abc":
        builder.delta(text)
    builder.delta("d", lane="b").delta("e", lane="b")
    entries = builder.trace.entries
    events = [decode("") if entry.kind == "note" else event_of(entry) for entry in entries]
    lengths = [run and run.count for run in (run_at(entries, events, n) for n in (0, 1, 2, 5))]
    assert lengths == [None, None, 3, 2]
