"""Random sessions with a Letta server: ones that could have happened, and ones that could not."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.support.letta import (
    AGENT,
    PATH,
    PENDING,
    LettaBuilder,
    approval,
    denial,
    tool_call,
    tool_return,
)

TEXT = st.text(max_size=4) | st.sampled_from(["é", "\ud83d", "😀", '"'])
RUNS = st.integers(1, 3).map(lambda number: f"run-{number}")
CALLS = st.integers(0, 3).map(lambda number: f"c{number}")
LANES = st.sampled_from([AGENT, AGENT, "conv-2"])
REASONS = st.sampled_from(["end_turn", "requires_approval", "requires_approval", "cancelled",
                           "error", "a_new_one"])  # fmt: skip
DECISIONS = st.lists(
    st.one_of(
        st.builds(approval, CALLS, st.booleans(), st.none() | TEXT),
        st.builds(tool_return, CALLS, TEXT, st.sampled_from(["success", "error"])),
    ),
    min_size=1,
    max_size=2,
)
RESULTS = st.lists(
    st.builds(tool_return, CALLS, TEXT) | st.builds(denial, CALLS), min_size=1, max_size=2
)
ASKED = st.lists(st.builds(tool_call, CALLS), min_size=1, max_size=2)
LISTED = st.lists(
    st.one_of(
        st.tuples(st.just("user"), RUNS, TEXT),
        st.tuples(st.just("text"), RUNS, TEXT),
        st.tuples(st.just("request"), RUNS, ASKED),
        st.tuples(st.just("decided"), RUNS, DECISIONS),
        st.tuples(st.just("returns"), RUNS, RESULTS),
        st.tuples(st.just("summary"), RUNS, TEXT),
    ),
    min_size=1,
    max_size=5,
)
LETTA_STEPS = st.one_of(
    st.tuples(st.just("say"), LANES, TEXT),
    st.tuples(st.just("answer"), LANES, DECISIONS),
    st.tuples(st.just("ping"), LANES, RUNS),
    st.tuples(st.just("text"), LANES, RUNS, TEXT, st.none() | st.integers(1, 9)),
    st.tuples(st.just("text"), LANES, RUNS, TEXT, st.none()),
    st.tuples(st.just("piece"), LANES, RUNS, CALLS, TEXT),
    st.tuples(st.just("request"), LANES, RUNS, ASKED),
    st.tuples(st.just("calls"), LANES, RUNS, ASKED),
    st.tuples(st.just("returns"), LANES, RUNS, RESULTS),
    st.tuples(st.just("stop"), LANES, REASONS),
    st.tuples(st.just("stop"), LANES, REASONS),
    st.tuples(st.just("error"), LANES, RUNS),
    st.tuples(st.just("refused"), LANES),
    st.tuples(st.just("cancelled"), LANES, RUNS),
    st.tuples(st.just("history"), LANES, LISTED),
    st.tuples(st.just("pending"), LANES, RUNS, ASKED),
    st.tuples(st.just("fill"), RUNS, CALLS),
    st.tuples(st.just("odd"), LANES, st.sampled_from(["{", "{}", '{"message_type":"x"}'])),
)


def play(builder: LettaBuilder, step: tuple[Any, ...]) -> None:
    """Write down one step."""
    if step[0] != "fill":
        builder.lane = step[1]
    match step:
        case ("say", _, text):
            builder.say(text, tools=("rm",) if len(text) > 2 else ())
        case ("answer", _, decisions):
            builder.answer(*decisions)
        case ("ping", _, run):
            builder.ping(run)
        case ("text", _, run, text, number):
            builder.text(run, text, seq_id=number)
        case ("piece", _, run, call_id, text):
            builder.piece(run, tool_call(call_id, None, text))
        case ("request", _, run, calls):
            builder.request(run, *calls)
        case ("calls", _, run, calls):
            builder.calls(run, *calls)
        case ("returns", _, run, returns):
            builder.returns(run, *returns)
        case ("stop", _, reason):
            builder.stop(reason)
        case ("error", _, run):
            builder.error(run, PENDING)
        case ("refused", _):
            builder.body_of({"detail": PENDING}, status=409)
        case ("cancelled", _, run):
            builder.body_of({run: "cancelled"}, path=f"{PATH}/cancel")
        case ("history", _, listed):
            builder.history(*(body_of(builder, *one) for one in listed))
        case ("pending", _, run, calls):
            builder.body_of({"pending_approval": builder.request_body(run, *calls)})
        case ("fill", run, call_id):
            builder.note("filled", parent=run, key=call_id, item=approval(call_id), by="user")
        case ("odd", _, raw):
            builder.in_(raw)


def body_of(builder: LettaBuilder, kind: str, run: str, value: Any) -> dict[str, Any]:
    """One message of a history."""
    if kind == "user":
        return builder.body("user_message", run, content=value, otid=f"{run}-u")
    if kind == "text":
        return builder.body("assistant_message", run, content=value, otid=f"{run}-t")
    if kind == "request":
        return builder.request_body(run, *value)
    if kind == "decided":
        return builder.decided_body(run, *value)
    if kind == "returns":
        return builder.returns_body(run, *value)
    return builder.body("summary_message", run, summary=value, otid=f"{run}-s")


def letta_walk(steps: list[tuple[Any, ...]]) -> LettaBuilder:
    builder = LettaBuilder()
    for step in steps:
        play(builder, step)
    return builder


LETTA_WALKS = st.lists(LETTA_STEPS, max_size=30).map(letta_walk)
