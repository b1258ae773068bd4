"""What makes a message large (hard case 15)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from steer_nb.wire import encode, largest_parts

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


def test_the_largest_items_are_named_with_their_bytes():
    picture = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 9000}
    message = {
        "type": "response.create",
        "instructions": "Be brief.",
        "input": [
            {"type": "function_call_output", "call_id": "c", "output": [picture]},
            {"type": "message", "role": "user", "content": "ä" * 2000},
            {"type": "message", "role": "user", "content": "short"},
        ],
    }
    assert largest_parts(message) == [
        ("input[0].output[0].image_url", 9024),
        ("input[1].content", 4002),
    ]
    assert largest_parts(message, 1) == [("input[0].output[0].image_url", 9024)]
    assert largest_parts({}) == []


@settings(deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=5), values, min_size=1))
def test_no_part_is_larger_than_the_whole_and_the_largest_comes_first(message):
    sizes = [size for _, size in largest_parts(message)]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) <= len(encode(message).encode())
