"""Random traces: sessions that could have happened, and messages that nobody should send."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from steer_nb.trace import Entry
from steer_nb.wire import FAMILY, STUB_KINDS
from tests.support.traces import TraceBuilder, call, message, stub

TEXT = st.text(max_size=4) | st.sampled_from(["é", "\ud83d", "\ude00", "😀", "\u2028", '"', "\0"])
LANES = st.sampled_from([None, "a", "b"])


def _id(prefix: str) -> Any:
    return st.integers(0, 3).map(lambda number: f"{prefix}{number}")


STEPS = st.one_of(
    st.tuples(st.just("create"), LANES, _id("r") | st.none()),
    st.tuples(st.just("created"), LANES, _id("r"), _id("r") | st.none()),
    st.tuples(st.just("added"), LANES, st.integers(0, 2)),
    st.tuples(st.just("delta"), LANES, st.integers(0, 2), TEXT),
    st.tuples(st.just("done"), LANES, st.integers(0, 2), TEXT),
    st.tuples(st.just("call"), LANES, st.integers(0, 2), _id("c")),
    st.tuples(
        st.just("ended"),
        LANES,
        _id("r"),
        st.sampled_from(["completed", "incomplete", "failed"]),
        st.sampled_from([None, "steered", "max_output_tokens"]),
    ),
    st.tuples(st.just("steer"), _id("r"), TEXT),
    st.tuples(st.just("accepted"), LANES, _id("s"), _id("r")),
    st.tuples(st.just("pending"), LANES, _id("s"), _id("r"), _id("c")),
    st.tuples(st.just("failed"), _id("r"), _id("s") | st.none(), TEXT),
    st.tuples(st.just("fill"), LANES, _id("r"), _id("c"), st.sampled_from(["user", "policy"])),
    st.tuples(st.just("answer"), LANES, _id("r"), _id("c")),
    st.tuples(st.just("error"), LANES, st.none() | st.integers(0, 9)),
    st.tuples(st.just("lane"), LANES),
    st.tuples(st.just("connect")),
    st.tuples(st.just("close")),
)


def play(builder: TraceBuilder, step: tuple[Any, ...]) -> None:
    """Write down one step."""
    match step:
        case ("create", lane, previous):
            builder.create(lane=lane, previous=previous)
        case ("created", lane, response_id, previous):
            builder.created(response_id, previous=previous, lane=lane)
        case ("added", lane, index):
            builder.added(message("", index), index, lane=lane)
        case ("delta", lane, index, text):
            builder.delta(text, index, lane=lane)
        case ("done", lane, index, text):
            builder.done(message(text, index), index, lane=lane)
        case ("call", lane, index, key):
            builder.done(call(key), index, lane=lane)
        case ("ended", lane, response_id, status, reason):
            builder.ended(response_id, status, reason=reason, lane=lane, usage={"input_tokens": 3})
        case ("steer", parent, text):
            builder.steer(parent, text)
        case ("accepted", lane, steer_id, parent):
            builder.accepted(steer_id, parent, lane=lane)
        case ("pending", lane, steer_id, parent, key):
            builder.pending(steer_id, parent, [stub(key)], lane=lane)
        case ("failed", parent, steer_id, text):
            builder.failed(parent, text, "invalid_input", steer_id=steer_id)
        case ("fill", lane, parent, key, by):
            filled = {**stub(key), "output": "x"}
            builder.note("filled", lane=lane, parent=parent, key=key, item=filled, by=by)
        case ("answer", lane, parent, key):
            builder.create([{**stub(key), "output": "x"}], previous=parent, lane=lane)
        case ("error", lane, number):
            error = {"code": "x", "message": "no"}
            more = {} if number is None else {"sequence_number": number}
            builder.event("error", lane=lane, error=error, **more)
        case ("lane", lane):
            builder.note("lane", lane=lane, settings={})
        case ("connect",):
            builder.connect()
        case ("close",):
            builder.close()


def walk(steps: list[tuple[Any, ...]]) -> TraceBuilder:
    builder = TraceBuilder().connect()
    for step in steps:
        play(builder, step)
    return builder


WALKS = st.lists(STEPS, max_size=40).map(walk)

# -- anything at all -------------------------------------------------------------------------------

_KEYS = """
    type id call_id item item_id response response_id output output_index content content_index
    delta text steer previous_response_id input error code message param status stream_id
    sequence_number required_input arguments action usage input_tokens input_tokens_details
    cached_tokens created_at model name summary role approve reason stdout outcome reasoning effort
    incomplete_details store environment pending_safety_checks
"""
KEYS = st.sampled_from(_KEYS.split())
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=True)
    | TEXT
    | st.sampled_from(["r1", "c1", "s1", "function_call", "mcp_call", "shell_call", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=8,
)
TYPES = st.sampled_from(
    [*FAMILY, "response.done", "response.create", "response.steer", *STUB_KINDS, "x", ""]
)
BODIES = st.dictionaries(KEYS, VALUES, max_size=8)
MESSAGES = st.one_of(
    st.builds(lambda kind, body: json.dumps({**body, "type": kind}), TYPES, BODIES),
    BODIES.map(json.dumps),
    st.text(max_size=10),
)
_NOTES = """
    connected closed lane lane_closed filled cleared tool_started tool_finished unsent problem
    session from_the_future
"""
_NOTE_KEYS = "lane parent key item by code url limit_s ok output settings forked_from"
NOTES = st.sampled_from(_NOTES.split())
NOTE_KEYS = st.sampled_from(_NOTE_KEYS.split())
NOTE_DATA = st.dictionaries(NOTE_KEYS, VALUES, max_size=6)
TIMES = st.none() | st.floats(allow_nan=True) | st.floats(0, 2e9)


@st.composite
def entries(draw: Any) -> Entry:
    kind = draw(st.sampled_from(["in", "in", "in", "out", "note"]))
    where = (draw(st.integers(0, 99)), draw(TIMES), draw(TIMES), kind, draw(st.integers(0, 2)))
    if kind == "note":
        return Entry(*where, note=draw(NOTES), data=draw(st.none() | NOTE_DATA))
    return Entry(*where, raw=draw(MESSAGES))
