"""The fold as a whole: lanes, items, errors, odd recordings, and properties of any history."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steer_nb.ledger import Ledger, rules
from steer_nb.ledger.responses import _EVENTS as HANDLED
from steer_nb.ledger.steering import RANK
from steer_nb.trace import PROBLEM_KINDS, SCHEMA, Entry, Header, Trace
from steer_nb.wire import PROBLEMS, decode
from tests.soak.memory import weigh
from tests.support.traces import TraceBuilder, call, message, stub

CORPUS = Path(__file__).parents[3] / "shared" / "traces"


def test_lanes_interleave_without_mixing():
    trace = TraceBuilder().connect()
    for lane in ("a", "b", None):
        trace.create("go", lane=lane).created(f"r{lane}", lane=lane).added(message(""), lane=lane)
    for piece in "123":
        for lane in ("a", "b", None):
            trace.delta(f"{lane}{piece} ", lane=lane)
    ledger = trace.trace.ledger
    assert {r.id: r.text for r in ledger.responses.values()} == {
        "ra": "a1 a2 a3 ",
        "rb": "b1 b2 b3 ",
        "rNone": "None1 None2 None3 ",
    }
    assert ledger.lanes[None].name == "(default)"
    assert ledger.lanes["a"].name == "a"


def test_requests_of_a_lane_are_answered_in_order():
    trace = TraceBuilder().connect()
    trace.create("1", lane="a", key="c1").create("2", lane="a", key="c2")
    trace.created("r1", lane="a").ended("r1", lane="a").created("r2", lane="a")
    ledger = trace.trace.ledger
    assert ledger.responses["r1"].request is ledger.requests["c1"]
    assert ledger.responses["r2"].request is ledger.requests["c2"]


def test_a_refused_request_fails_its_lane_only():
    trace = TraceBuilder().connect().create("1", lane="a").create("2", lane="b", key="c2")
    error = {"type": "x", "code": "previous_response_not_found", "message": "gone", "param": "p"}
    trace.created("r1", lane="a").event("error", lane="b", status=400, error=error)
    ledger = trace.trace.ledger
    assert rules.lane_word(ledger.lanes["a"]) == "running"
    assert rules.lane_word(ledger.lanes["b"]) == "failed"
    assert ledger.requests["c2"].error_code == "previous_response_not_found"
    trace.create("again", lane="b")
    assert rules.lane_word(trace.trace.ledger.lanes["b"]) == "queued"


def test_an_error_of_the_connection_fails_no_lane():
    trace = TraceBuilder().connect().create("1").created("r1")
    error = {"code": "websocket_connection_limit_reached", "message": "60 minutes"}
    trace.event("error", status=400, error=error)
    ledger = trace.trace.ledger
    assert rules.lane_word(ledger.lanes[None]) == "running"
    assert [(e.code, e.lane, e.status) for e in ledger.errors] == [
        ("websocket_connection_limit_reached", None, 400)
    ]


def test_an_error_without_a_lane_answers_the_one_request_in_flight():
    refusal = {"code": "unknown_parameter", "message": "stream_id", "param": "stream_id"}
    trace = TraceBuilder().connect().create("1").created("r1").ended("r1")
    trace.create("2", lane="a", key="c").event("error", status=400, error=refusal)
    ledger = trace.trace.ledger
    assert (ledger.requests["c"].state, ledger.requests["c"].error_code) == (
        "failed",
        "unknown_parameter",
    )
    assert rules.lane_word(ledger.lanes["a"]) == "failed"


@pytest.mark.parametrize(
    "busy",
    [
        lambda b: b.create("2", lane="a", key="c").create("3", lane="b"),
        lambda b: b.create("2", lane="a", key="c").create("3", lane="b").created("r", lane="b"),
        lambda b: b.create("2", lane="a", key="c").create("3", lane="a"),
    ],
)
def test_an_error_without_a_lane_is_not_guessed_at(busy):
    trace = busy(TraceBuilder().connect())
    trace.event("error", status=400, error={"code": "unknown_parameter", "message": "?"})
    assert trace.trace.ledger.requests["c"].state == "sent"
    assert trace.trace.ledger.errors[0].request is None


def test_error_and_then_failed_is_one_failure():
    trace = TraceBuilder().connect().create("1").created("r1")
    trace.event("error", sequence_number=2, code="server_error", message="boom").ended(
        "r1", "failed"
    )
    response = trace.trace.ledger.responses["r1"]
    assert (response.status, response.error_code, response.n_terminals) == (
        "failed",
        "server_error",
        1,
    )
    assert trace.trace.ledger.problems == []


def test_a_second_terminal_counts_once_and_is_noted():
    trace = TraceBuilder().connect().create("1").created("r1").ended("r1")
    trace.event("response.done", response={"id": "r1", "status": "completed", "output": []})
    ledger = trace.trace.ledger
    assert ledger.responses["r1"].status == "completed"
    assert [p.kind for p in ledger.problems] == ["duplicate_terminal", "unknown_type"]


def test_response_done_alone_is_an_end():
    trace = TraceBuilder().connect().create("1").created("r1")
    trace.event("response.done", response={"id": "r1", "status": "incomplete", "output": []})
    assert trace.trace.ledger.responses["r1"].status == "incomplete"


def test_a_null_item_keeps_its_place():
    trace = TraceBuilder().connect().create("1").created("r1")
    trace.event("response.output_item.added", output_index=0, item=None)
    trace.added(message("", 1), 1).delta("x", 1).ended("r1", output=[message("x", 1)])
    response = trace.trace.ledger.responses["r1"]
    assert sorted(response.items) == [0, 1]
    assert response.text == "x"


def test_a_delta_before_its_item_is_kept_and_noted():
    trace = TraceBuilder().connect().create("1").created("r1").delta("early", 3)
    ledger = trace.trace.ledger
    assert ledger.responses["r1"].text == "early"
    assert [p.kind for p in ledger.problems] == ["missing_index"]


def test_ids_that_change_with_every_event_are_one_response():
    trace = TraceBuilder().connect().create("1").created("r1").added(message(""))
    trace.delta("a").ended("r999", output=[message("a")])
    ledger = trace.trace.ledger
    assert list(ledger.responses) == ["r1"]
    assert ledger.responses["r1"].id_unstable
    assert ledger.responses["r1"].status == "completed"


def test_a_resumed_stream_begins_in_the_middle():
    trace = TraceBuilder().connect()
    trace.event("response.queued", response={"id": "r1", "status": "queued"}).delta("x").ended("r1")
    assert trace.trace.ledger.responses["r1"].status == "completed"


def test_reopening_a_lane_after_a_lost_socket():
    trace = TraceBuilder().connect().create("1", lane="a").created("r1", lane="a").close()
    assert rules.lane_word(trace.trace.ledger.lanes["a"]) == "detached"
    trace.connect().create("2", lane="a").created("r2", lane="a")
    ledger = trace.trace.ledger
    assert rules.lane_word(ledger.lanes["a"]) == "running"
    assert ledger.connections[1].close_code == 1006
    assert ledger.connections[2].n_in == 1


def test_a_failed_response_is_not_what_a_chain_hangs_on():
    trace = TraceBuilder().connect().create("1").created("r1").ended("r1")
    trace.create("2", previous="r1").created("r2", previous="r1").ended("r2", "failed")
    tip = rules.chain_tip(trace.trace.ledger.lanes[None])
    assert tip is not None
    assert tip.id == "r1"


def test_settings_and_forks_of_lanes():
    trace = TraceBuilder().connect().note("lane", lane="a", settings={"model": "x"})
    trace.note("lane", lane="b", settings={"model": "y"}, forked_from="r1")
    trace.note("lane_closed", lane="a")
    ledger = trace.trace.ledger
    assert ledger.lanes["a"].settings == {"model": "x"}
    assert ledger.lanes["b"].forked_from == "r1"
    assert rules.lane_word(ledger.lanes["a"]) == "detached"


# -- any history of one steered turn ---------------------------------------------------------------

FATES = ("committed", "refused", "failed_later")


@st.composite
def turns(draw: st.DrawFn) -> tuple[TraceBuilder, list[str], bool]:
    """One parent, some steers with known fates, the acknowledgements wherever they may come."""
    fates = draw(st.lists(st.sampled_from(FATES), min_size=1, max_size=4))
    asks = draw(st.booleans())
    builder = TraceBuilder().connect().create("go", lane="a", key="c").created("p", lane="a")
    for number in range(len(fates)):
        builder.steer("p", f"input {number}", key=f"s{number}")
    commits = "committed" in fates
    # What the service still has to say, each thread of it in order.
    acks = [
        [("ack", n)] + ([("later", n)] if fate == "failed_later" else [])
        for n, fate in enumerate(fates)
    ]
    ending = ["end"]
    if asks:
        ending += ["pending"] * draw(st.booleans()) + ["continue"]
        ending += ["successor"]
    elif commits:
        ending += ["successor"]
    script: list[object] = []
    threads = [list(t) for t in [ending, *acks]]
    while any(threads):
        thread = draw(st.sampled_from([t for t in threads if t]))
        script.append(thread.pop(0))
    # Acceptances are acknowledged in the order of submission.
    order = iter([n for n, fate in enumerate(fates) if fate != "refused"])
    seen: set[int] = set()
    for step in script:
        if step == "end":
            steered = commits and not asks
            output = [call()] if asks else [message("x")]
            for index, item in enumerate(output):
                builder.done(item, index, lane="a")
            if steered:
                builder.ended("p", "incomplete", lane="a", reason="steered", output=output)
            else:
                builder.ended("p", lane="a", output=output)
        elif step == "pending":
            for n in sorted(seen):
                builder.pending(f"st{n}", "p", [stub()], lane="a")
        elif step == "continue":
            item = {**stub(), "output": "18"}
            builder.note("filled", lane="a", parent="p", key="call_1", item=item, by="user")
            builder.create([item], lane="a", previous="p", key="c2")
        elif step == "successor":
            builder.created("q", lane="a", previous="p")
        else:
            what, n = step
            if what == "later":
                builder.failed("p", f"input {n}", "successor_creation_failed", steer_id=f"st{n}")
            elif fates[n] == "refused":
                builder.failed("p", f"input {n}", "response_already_completed")
            else:
                n = next(order)
                builder.accepted(f"st{n}", "p", lane="a")
                if fates[n] == "committed":
                    seen.add(n)
    return builder, fates, asks


@given(turns())
@settings(max_examples=150, deadline=None)
def test_states_only_move_forward_in_any_order_of_arrival(turn):
    builder, _, _ = turn
    ledger = Ledger()
    before: dict[str, str] = {}
    for entry in builder.trace:
        ledger.apply(entry)
        for key, steer in ledger.steers.items():
            if key in before:
                assert steer.state == before[key] or RANK[steer.state] > RANK[before[key]]
            before[key] = steer.state
            assert steer.state != "committed" or steer.successor_id in ledger.responses
            assert steer.state != "unknown"


@given(turns(), st.data())
@settings(max_examples=150, deadline=None)
def test_a_cut_anywhere_leaves_nothing_half_known(turn, data):
    builder, _, _ = turn
    entries = builder.trace.entries
    cut = data.draw(st.integers(4, len(entries)))
    ledger = Ledger(entries[:cut])
    decided = {k for k, s in ledger.steers.items() if s.state in ("committed", "failed")}
    seq = len(entries)
    closed = Entry(
        seq, 0.0, 99.0, "note", 1, note="closed", data={"code": 1006, "reason": "", "by": "network"}
    )
    ledger.apply(closed)
    for key, steer in ledger.steers.items():
        assert (steer.state in ("committed", "failed")) == (key in decided)
        assert steer.state in ("committed", "failed", "unknown")
    for request in ledger.requests.values():
        assert request.state in ("started", "failed", "unknown")
    assert rules.lane_settled(ledger.lanes["a"])


@given(turns())
@settings(max_examples=60, deadline=None)
def test_one_continuation_and_one_answer(turn):
    builder, _, asks = turn
    parent = builder.trace.ledger.responses["p"]
    assert [s.state for s in parent.required.values()] == (["confirmed"] if asks else [])
    if asks:
        assert rules.may_continue(parent) is not None


@given(turns())
@settings(max_examples=60, deadline=None)
def test_owned_entries_add_up_and_folding_again_is_the_same(turn):
    builder, _, _ = turn
    ledger = Ledger()
    owners = [ledger.apply(entry) for entry in builder.trace]
    for response in ledger.responses.values():
        assert response.n_events == sum(owner is response for owner in owners)
    again = Ledger(builder.trace)
    assert [s.state for s in again.steers.values()] == [s.state for s in ledger.steers.values()]


ODD = st.sampled_from([None, 0, 1, -1, "x", "p", [], [[]], {}, {"id": "p"}, True, 1.5, 10**30])
TYPES = ["function_call", "shell_call", "function_call_output", "new_output", [], None]
ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(TYPES), "call_id": ODD},
    optional=dict.fromkeys(("id", "name", "environment", "content", "async"), ODD),
)
ITEMS = st.lists(ITEM, min_size=1, max_size=2) | ODD
RESPONSE = st.fixed_dictionaries(
    {"id": st.sampled_from(["p", "q"]), "output": ITEMS},
    optional=dict.fromkeys(("previous_response_id", "status", "usage", "error", "model"), ODD),
)
STEER = st.fixed_dictionaries({"id": st.just("s"), "previous_response_id": st.just("p")})
EVENT = {
    "response": RESPONSE | ODD,
    "item": ITEM | ODD,
    "required_input": ITEMS,
    "steer": STEER | ODD,
    **dict.fromkeys(("item_id", "output_index", "delta", "error", "arguments", "text"), ODD),
    **dict.fromkeys(("stream_id", "sequence_number"), ODD),
}
REQUEST = {"type": st.just("response.create"), "previous_response_id": st.just("p")}
EVENTS = st.sampled_from([*sorted(HANDLED), "x.y"]).flatmap(
    lambda kind: st.fixed_dictionaries({"type": st.just(kind), **EVENT})
)
MESSAGES = EVENTS | st.fixed_dictionaries({**REQUEST, "input": ITEMS})


@given(st.lists(MESSAGES, max_size=25))
@settings(max_examples=300, deadline=None)
def test_no_history_makes_the_fold_raise(messages):
    builder = TraceBuilder().connect().create("go").created("p")
    for each in messages:
        if each["type"] == "response.create":
            builder.out(each)
        else:
            builder.in_(each)
    ledger = builder.trace.ledger
    for lane in ledger.lanes.values():
        rules.lane_word(lane)
        for response in lane.responses:
            rules.may_continue(response)


# -- recordings ------------------------------------------------------------------------------------


def recordings() -> list[Path]:
    return sorted((CORPUS / "synthetic").glob("*.ndjson"))


def read_recording(path: Path) -> Trace:
    trace = Trace(Header(steer_nb=SCHEMA, trace_id="0" * 32, source="jsonl"))
    trace.append(Entry(0, None, 0.0, "note", 1, note="connected", data={"url": "wss://x"}))
    for seq, line in enumerate(path.read_text("utf-8").split("\n")[1:], start=1):
        if not line:
            continue
        row = json.loads(line)
        if row["dir"] == "close":
            data = {"code": row["code"], "reason": row["reason"], "by": "network"}
            trace.append(Entry(seq, None, row["t"], "note", 1, note="closed", data=data))
        else:
            raw = row.get("raw") or json.dumps(row["frame"])
            trace.append(Entry(seq, None, row["t"], row["dir"], 1, raw=raw))
    return trace


RIGHT = {
    "01_steer_incomplete_then_successor": (["incomplete", "completed"], ["committed"]),
    "02_steer_after_normal_completion": (["completed", "completed"], ["committed"]),
    "03_pending_all_seven_required_inputs": (["completed", "completed"], ["committed"]),
    "04_two_pending_one_parent": (["completed", "completed"], ["committed", "committed"]),
    "05_steer_failed_every_code": (["completed"], ["failed"] * 8),
    "06_steer_loses_race_with_completion": (["completed"], ["failed"]),
    "07_steer_outcome_unknown_on_close": (["truncated"], ["unknown"]),
    "08_three_lanes_interleaved_one_errors": (["error", "completed", "completed"], []),
    "09_connection_and_lane_limits": ([], []),
    "10_previous_response_not_found_after_reconnect": ([], []),
    "11_unknown_types_and_odd_shapes": (["completed"], []),
    "14_failed_with_error_and_refusal": (["failed", "completed"], []),
}


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recordings are not beside this checkout")
@pytest.mark.parametrize("name", RIGHT)
def test_right_values_of_recordings(name):
    ledger = read_recording(CORPUS / "synthetic" / f"{name}.frames.ndjson").ledger
    responses, steers = RIGHT[name]
    assert [r.status for r in ledger.responses.values()] == responses
    assert [s.state for s in ledger.steers.values()] == steers


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recordings are not beside this checkout")
def test_every_event_stream_of_others_folds():
    files = sorted(CORPUS.glob("vercel-ai/**/*.chunks.txt"))
    assert files
    for path in files:
        trace = Trace(Header(steer_nb=SCHEMA, trace_id="0" * 32, source="jsonl"))
        for seq, line in enumerate(path.read_text("utf-8").split("\n")):
            if line.strip():
                trace.append(Entry(seq, None, None, "in", 1, raw=line))
        ledger = trace.ledger
        # One recording has a broken first line: then nothing says which response it is of.
        assert ledger.responses or ledger.problems[0].kind == "bad_json", path
        assert not any(r.is_live for r in ledger.responses.values()), path
        for response in ledger.responses.values():
            end = decode((response.ended or response.started).raw)
            body = (end.object("response") or {}).get("output") or []
            said = "".join(
                part["text"]
                for item in body
                if item.get("type") == "message"
                for part in item.get("content", [])
                if part.get("type") == "output_text"
            )
            if said and not response.id_unstable:
                assert response.text == said, path


def test_a_finished_text_is_held_once_beside_the_trace():
    text = "word " * 20_000
    trace = TraceBuilder().connect().create("go").created("r1").added(message(""))
    for start in range(0, len(text), 5):
        trace.delta(text[start : start + 5])
    trace.done(message(text)).ended("r1", output=[message(text)])
    ledger = trace.trace.ledger
    assert ledger.responses["r1"].text == text
    seen: set[int] = set()
    weigh([trace.trace.entries], seen)
    assert weigh([vars(ledger)], seen) < 1.3 * len(text)


def test_every_problem_of_the_wire_is_a_kind_of_the_table():
    assert set(PROBLEMS) <= set(PROBLEM_KINDS)
    trace = TraceBuilder().connect().note("problem", kind="journal", detail="disk full")
    trace.note("problem", kind="truncated", detail="x")
    assert [(p.kind, p.detail) for p in trace.trace.ledger.problems] == [
        ("local", "journal: disk full"),
        ("truncated", "x"),
    ]
