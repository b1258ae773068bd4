"""Frames of a stream, however it is cut into pieces; the reader of files is the witness."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from steer_nb.letta.reading import Frame, Frames, Head, head_of
from steer_nb.trace.readers.sse import messages

lines = st.sampled_from(
    [
        "data: {}",
        "data:1",
        "data",
        "data: ä€",
        "event: error",
        "event:",
        ": note",
        "id: 4",
        "",
        "",
        "",
    ]
)
ends = st.sampled_from(["\n", "\r\n", "\r"])


def by_file(stream: bytes) -> list[Frame]:
    """What the reader of captured streams finds in it."""
    split = re.split(rb"\r\n|\n|\r", stream)
    found = messages(enumerate(split, 1))
    return [Frame(one.data.decode("utf-8", "replace"), one.event) for one in found if one.whole]


@given(st.lists(st.tuples(lines, ends), max_size=20), st.lists(st.integers(1, 6)))
@example([("data: 1", "\r\n"), ("", "\r\n")], [8])
@example([("data: 1", "\r"), ("", "\r"), ("data: 2", "\n"), ("", "\n")], [9, 1])
def test_pieces_of_any_size_give_the_same_frames(written, sizes):
    stream = "".join(line + end for line, end in written).encode() + b"\n\n"
    frames, found, at = Frames(), [], 0
    for size in [*sizes, len(stream)]:
        found += frames.feed(stream[at : at + size])
        at += size
    assert found == by_file(stream)


def test_a_head_is_read_of_whatever_comes():
    assert head_of('{"message_type":"stop_reason","stop_reason":"end_turn"}') == Head(
        "stop_reason", None, None, "end_turn"
    )
    for odd in ("", "[]", "{", '{"seq_id":"x"}', "[" * 5000):
        assert head_of(odd) == Head()
