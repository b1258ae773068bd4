"""The comparison itself: what differs from a recording does not pass."""

from __future__ import annotations

import copy

import pytest

from tests.simulator.letta.recordings import Likeness, distances, frames_in

ONE, TWO = "12345678-1234-4234-9234-1234567890d8", "12345678-1234-4234-9234-123456789080"
OTHER, MORE = "87654321-1234-4234-9234-1234567890d8", "87654321-1234-4234-9234-123456789080"


def message(own, otid, **more):
    kept = {"id": f"message-{own}", "otid": otid, "name": None, "date": "2026-11-30T00:00:00+00:00"}
    return {**kept, "content": "Hello.", "tool_call_id": "call_fake0001_0", **more}


THEIRS = message(ONE, TWO)
OURS = message(OTHER, MORE, date="2027-01-01T01:02:03+00:00", tool_call_id=f"call_{'0' * 24}")


def test_ids_and_times_may_differ():
    like = Likeness()
    like.check([THEIRS, THEIRS], [OURS, OURS])
    assert like.translate(f"x {ONE}") == f"x {OTHER}"


@pytest.mark.parametrize(
    "changed",
    [
        {"content": "Hello"},
        {"name": "x"},
        {"date": "yesterday"},
        {"date": "2026-11-30T00:00:00Z"},
        {"date": "2026-11-30T00:00:00.5+00:00"},
        {"otid": OURS["id"]},
        {"otid": MORE[:-2] + "81"},
        {"more": None},
        {"tool_call_id": "call_1"},
    ],
    ids=str,
)
def test_all_else_may_not(changed):
    with pytest.raises(AssertionError):
        Likeness().check(THEIRS, {**OURS, **changed})


def test_a_field_too_few_or_elsewhere_does_not_pass():
    fewer = copy.copy(OURS)
    del fewer["name"]
    turned = dict(reversed(OURS.items()))
    for wrong in (fewer, turned):
        with pytest.raises(AssertionError):
            Likeness().check(THEIRS, wrong)


def test_what_was_equal_must_be_equal():
    like = Likeness()
    like.check(THEIRS, OURS)
    with pytest.raises(AssertionError):
        like.check(THEIRS, {**OURS, "id": f"message-{ONE}"})
    with pytest.raises(AssertionError):
        like.check(message(MORE, MORE), OURS)


def test_neighbouring_ids_are_seen():
    text = "".join(
        f'data: {{"id":"message-{ONE[:-2]}{end}"}}\n\n' for end in ("d8", "d7", "d7", "00")
    )
    assert distances(frames_in(text)) == [-1, 0, None]
