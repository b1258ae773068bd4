"""A saved copy of a recording keeps what was odd about that: equal frames, problems too."""

from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steer_nb
from steer_nb.frames import TABLES
from steer_nb.trace.origin import Places
from tests.trace import dumps
from tests.trace.dumps import as_sse
from tests.trace.test_kinds import WHOLE, completed, created, delta

if TYPE_CHECKING:
    from steer_nb.trace import Trace

ODD = json.dumps({"type": "response.odd", "output_index": "one"})
TORN = b'\n{"seq":99,"kind":"in","raw":"{'


def gapped(number, event):
    return json.dumps({**json.loads(event), "sequence_number": number})


FILES = {
    "stream.sse": as_sse(
        [*WHOLE, "{broken", ODD, gapped(3, created("r2")), gapped(9, delta())], names=False
    ),
    "lines.jsonl": "\n".join([*WHOLE, "", "{broken", ODD, completed("r3")[:-4]]).encode(),
    "list.json": json.dumps([*map(json.loads, WHOLE), 3, json.loads(ODD)]).encode(),
    "unknown.bin": b"\x00\x01 nothing known",
}


@pytest.fixture(scope="module")
def cassette():
    content = dumps.as_cassette(dumps.live())
    return content.replace(b"output_index", b"output_Index", 3)


@pytest.fixture(params=[*FILES, "cassette.yaml", "journal.jsonl"])
def path(request, tmp_path, cassette):
    path = tmp_path / request.param
    if request.param == "journal.jsonl":
        dumps.live().save(path)
        path.write_bytes(path.read_bytes().rstrip() + TORN)
    else:
        path.write_bytes(FILES.get(request.param, cassette))
    return path


def same(one: Trace, other: Trace) -> None:
    assert one == other
    assert one.problems == other.problems
    for name in TABLES:
        kept, again = one.frames.table(name), other.frames.table(name)
        pd.testing.assert_frame_equal(kept, again, obj=name)
        assert kept.attrs["dropped"] == again.attrs["dropped"]


def test_a_saved_copy_has_the_same_frames(tmp_path, path):
    first = steer_nb.load(path)
    assert first.problems, "or there would be nothing to keep"
    assert {problem.file for problem in first.problems} == {str(path)}
    again = steer_nb.load(first.save(tmp_path / "copy.jsonl"))
    assert again.file == str(tmp_path / "copy.jsonl")
    assert again.recording == str(path)
    same(first, again)
    same(first, pickle.loads(pickle.dumps(again)))
    third = steer_nb.load(again.save(tmp_path / "copy of the copy.jsonl"))
    same(first, third)
    assert third.recording == str(path)


def test_what_is_odd_about_the_copy_itself_names_the_copy(tmp_path):
    path = tmp_path / "stream.sse"
    path.write_bytes(FILES["stream.sse"])
    first = steer_nb.load(path)
    copy = tmp_path / "copy.jsonl"
    first.save(copy)
    copy.write_bytes(copy.read_bytes() + TORN.strip())
    again = steer_nb.load(copy)
    torn = [problem for problem in again.problems if problem.file == str(copy)]
    assert [(p.kind, p.line) for p in torn] == [("truncated", len(first) + 3)]
    rest = [problem for problem in again.problems if problem.file != str(copy)]
    assert tuple(rest) == first.problems
    same(again, steer_nb.load(again.save(tmp_path / "third.jsonl")))


def test_a_trace_of_our_own_is_saved_as_ever(tmp_path):
    live = dumps.live()
    path = tmp_path / "run.jsonl"
    live.save(path)
    assert len(path.read_bytes().splitlines()) == len(live) + 1
    again = steer_nb.load(path)
    assert (again.recording, again.problems) == (None, ())


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 3))))
def test_places(added):
    places, expected = Places("line"), []
    for first, count in added:
        places.add(first, count)
        expected += range(first, first + count)
    assert list(places) == expected
    assert list(Places("line", places.runs, len(places))) == expected
    assert len(places.runs) <= len(expected)


def test_places_of_a_stream_need_little_room():
    places = Places("line")
    for number in range(10_000):
        places.add(number * 3 + 2)
    assert places.runs == [(0, 2, 3)]
