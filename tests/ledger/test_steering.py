"""The rules of steering (protocol 5.4), one by one."""

from __future__ import annotations

import pytest

from steer_nb.ledger import rules
from tests.support.traces import TraceBuilder, call, message, stub


def running(lane: str | None = None) -> TraceBuilder:
    return TraceBuilder().connect().create("go", lane=lane).created("p", lane=lane)


def states(builder: TraceBuilder) -> list[str]:
    return [steer.state for steer in builder.trace.ledger.steers.values()]


def test_accepted_is_not_applied():
    trace = running().steer("p", key="s1").accepted("st1", "p")
    assert states(trace) == ["accepted"]
    steer = trace.trace.ledger.steers["s1"]
    assert steer.steer_id == "st1"
    assert steer.successor_id is None


def test_committed_by_the_automatic_successor():
    trace = running("a").steer("p", key="s1").accepted("st1", "p", lane="a").delta("x", lane="a")
    trace.ended("p", "incomplete", lane="a", reason="steered")
    assert states(trace) == ["accepted"]
    assert rules.lane_word(trace.trace.ledger.lanes["a"]) == "queued"
    trace.created("q", previous="p", lane="a")
    ledger = trace.trace.ledger
    steer = ledger.steers["s1"]
    assert (steer.state, steer.successor_id, steer.successor_kind) == ("committed", "q", "auto")
    assert ledger.responses["q"].origin == "steer_auto"
    assert ledger.responses["p"].successor is ledger.responses["q"]


def test_a_response_that_completes_first_still_has_a_successor():
    trace = running().steer("p", key="s1").ended("p").accepted("st1", "p")
    parent = trace.trace.ledger.responses["p"]
    assert rules.turn_open(parent)
    assert rules.lane_word(parent.lane) == "queued"
    trace.created("q", previous="p").ended("q", previous="p")
    ledger = trace.trace.ledger
    assert not rules.turn_open(parent)
    assert ledger.steers["s1"].state == "committed"
    assert rules.lane_word(parent.lane) == "idle"


def test_an_end_is_not_the_end_while_a_steer_is_unacknowledged():
    trace = running().steer("p", key="s1").ended("p")
    assert rules.turn_open(trace.trace.ledger.responses["p"])
    assert not rules.lane_settled(trace.trace.ledger.lanes[None])
    trace.failed("p", "more", "response_already_completed")
    assert rules.lane_settled(trace.trace.ledger.lanes[None])


def test_commit_may_come_before_accepted():
    trace = running().steer("p", key="s1").ended("p", "incomplete", reason="steered")
    trace.created("q", previous="p")
    commit = trace.trace.entries[-1]
    assert states(trace) == ["committed"]
    trace.accepted("st1", "p")
    steer = trace.trace.ledger.steers["s1"]
    assert (steer.state, steer.steer_id, steer.committed) == ("committed", "st1", commit)
    assert steer.accepted is trace.trace.entries[-1]


def test_of_two_unacknowledged_steers_neither_is_guessed():
    trace = running().steer("p", "one", key="s1").steer("p", "two", key="s2")
    trace.ended("p", "incomplete", reason="steered").created("q", previous="p")
    commit = trace.trace.entries[-1]
    assert states(trace) == ["sent", "sent"]
    trace.accepted("st1", "p").failed("p", "two", "response_not_active")
    assert states(trace) == ["committed", "failed"]
    assert trace.trace.ledger.steers["s1"].committed is commit


def test_a_refusal_after_the_successor_is_a_refusal():
    trace = running().steer("p", "one", key="s1").accepted("st1", "p").steer("p", "two", key="s2")
    trace.ended("p", "incomplete", reason="steered").created("q", previous="p")
    assert states(trace) == ["committed", "sent"]
    trace.failed("p", "two", "response_already_completed")
    steer = trace.trace.ledger.steers["s2"]
    assert (steer.state, steer.failure_code) == ("failed", "response_already_completed")
    assert steer.failure_input == "two"


def test_failure_after_acceptance_keeps_its_id():
    trace = running().steer("p", key="s1").accepted("st1", "p").ended("p", "failed")
    trace.failed("p", "more", "successor_creation_failed", steer_id="st1")
    assert states(trace) == ["failed"]
    assert rules.lane_word(trace.trace.ledger.lanes[None]) == "failed"


def test_failures_are_matched_by_the_input_that_comes_back():
    trace = running().steer("p", "one", key="s1").steer("p", "two", key="s2")
    trace.failed("p", "two", "invalid_input").accepted("st1", "p")
    ledger = trace.trace.ledger
    assert (ledger.steers["s1"].state, ledger.steers["s2"].state) == ("accepted", "failed")


def test_a_failure_with_an_id_that_was_never_accepted():
    trace = running().steer("p", key="s1")
    trace.failed("p", "more", "too_many_pending_steers", steer_id="st9")
    steer = trace.trace.ledger.steers["s1"]
    assert (steer.state, steer.steer_id) == ("failed", "st9")


def test_states_only_move_forward():
    trace = running().steer("p", key="s1").accepted("st1", "p").ended("p")
    trace.pending("st1", "p", []).accepted("st1", "p")
    assert states(trace) == ["pending"]
    trace.created("q", previous="p").pending("st1", "p", []).accepted("st1", "p")
    assert states(trace) == ["committed"]
    trace.failed("p", "more", "successor_creation_failed", steer_id="st1")
    assert states(trace) == ["committed"]
    assert [p.kind for p in trace.trace.ledger.problems] == ["orphan_output"]


@pytest.mark.parametrize("acknowledged", [False, True])
def test_a_lost_socket_leaves_the_outcome_unknown(acknowledged):
    trace = running().steer("p", key="s1")
    if acknowledged:
        trace.accepted("st1", "p")
    trace.close(1011, "keepalive ping timeout")
    ledger = trace.trace.ledger
    assert states(trace) == ["unknown"]
    assert ledger.responses["p"].status == "truncated"
    assert rules.lane_word(ledger.lanes[None]) == "detached"
    trace.connect().create("again").created("z")
    assert states(trace) == ["unknown"]


def test_a_committed_steer_survives_a_lost_socket():
    trace = running().steer("p", key="s1").accepted("st1", "p")
    trace.ended("p", "incomplete", reason="steered").created("q", previous="p").close()
    assert states(trace) == ["committed"]


def test_an_error_that_breaks_the_response_leaves_its_steers_unknown():
    trace = running("a").steer("p", key="s1").accepted("st1", "p", lane="a")
    error = {"type": "x", "code": "credit_balance_exhausted", "message": "no credit"}
    trace.event("error", lane="a", status=402, error=error)
    ledger = trace.trace.ledger
    assert states(trace) == ["unknown"]
    assert ledger.responses["p"].status == "error"
    assert rules.lane_word(ledger.lanes["a"]) == "failed"


@pytest.mark.parametrize("reason", ["steered", None])
def test_an_error_in_place_of_the_successor_leaves_its_steers_unknown(reason):
    trace = running(lane="a").steer("p").accepted("st1", "p", lane="a")
    status = "completed" if reason is None else "incomplete"
    trace.ended("p", status, reason=reason, lane="a")
    error = {"code": "credit_balance_exhausted", "message": "No credit."}
    trace.event("error", lane="a", status=402, error=error)
    assert states(trace) == ["unknown"]
    assert rules.lane_word(trace.trace.ledger.lanes["a"]) == "failed"
    # It is no proof: should the successor come all the same, it is one.
    trace.created("q", previous="p", lane="a")
    assert states(trace) == ["committed"]
    assert rules.lane_word(trace.trace.ledger.lanes["a"]) == "running"


def test_a_steer_on_another_lane_is_not_committed_by_a_fork():
    trace = running("a").steer("p", key="s1").accepted("st1", "p", lane="a")
    trace.ended("p", lane="a").create("fork", lane="b", previous="p")
    trace.created("f", lane="b", previous="p")
    assert states(trace) == ["accepted"]
    assert trace.trace.ledger.responses["f"].origin == "fork"
    trace.created("q", lane="a", previous="p")
    assert states(trace) == ["committed"]


def test_the_automatic_successor_comes_before_a_queued_request():
    trace = running().create("next", previous="p", key="c2")
    trace.steer("p", key="s1").accepted("st1", "p").ended("p", "incomplete", reason="steered")
    trace.created("q", previous="p").ended("q", previous="p").created("n", previous="p")
    ledger = trace.trace.ledger
    assert ledger.responses["q"].origin == "steer_auto"
    assert ledger.responses["n"].request is ledger.requests["c2"]
    assert ledger.responses["n"].origin == "create"
    assert ledger.steers["s1"].successor_id == "q"


def test_several_steers_have_one_successor():
    trace = running().steer("p", "1", key="s1").steer("p", "2", key="s2")
    trace.accepted("st1", "p").accepted("st2", "p").ended("p", "incomplete", reason="steered")
    trace.created("q", previous="p")
    steers = trace.trace.ledger.steers.values()
    assert [(s.state, s.successor_id, s.order_in_parent) for s in steers] == [
        ("committed", "q", 0),
        ("committed", "q", 1),
    ]


def twice_steered() -> TraceBuilder:
    trace = running().steer("p", key="s1").steer("p", key="s2")
    trace.accepted("st1", "p").accepted("st2", "p").ended("p", "incomplete", reason="steered")
    return trace.created("q", previous="p")


def homes(builder: TraceBuilder) -> list[str | None]:
    return [steer.successor_id for steer in builder.trace.ledger.steers.values()]


def test_where_each_steer_has_a_successor_the_next_one_has_what_the_first_has_not():
    trace = twice_steered()
    assert homes(trace) == ["q", "q"]
    trace.ended("q", "incomplete", reason="steered", previous="p")
    assert rules.lane_word(trace.trace.ledger.lanes[None]) == "queued"
    trace.created("r", previous="q")
    assert homes(trace) == ["q", "r"]
    assert states(trace) == ["committed", "committed"]
    ledger = trace.trace.ledger
    assert ledger.responses["r"].origin == "steer_auto"
    assert ledger.steers["s2"].committed is ledger.responses["r"].started
    trace.ended("r", previous="q")
    assert rules.lane_word(trace.trace.ledger.lanes[None]) == "idle"


@pytest.mark.parametrize("acknowledged", [True, False])
def test_what_its_own_steers_explain_passes_nothing_on(acknowledged):
    trace = twice_steered().steer("q", key="s3")
    if acknowledged:
        trace.accepted("st3", "q")
    trace.ended("q", "incomplete", reason="steered", previous="p").created("r", previous="q")
    if not acknowledged:
        trace.accepted("st3", "q")
    assert homes(trace) == ["q", "q", "r"]


def test_a_refused_steer_explains_nothing():
    trace = twice_steered().steer("q", key="s3").failed("q", "more", "too_many_pending_steers")
    trace.ended("q", "incomplete", reason="steered", previous="p").created("r", previous="q")
    assert homes(trace) == ["q", "r", None]


@pytest.mark.parametrize("end", ["lost", "error"])
def test_a_response_that_another_ones_steer_cut_may_have_no_successor(end):
    trace = twice_steered().ended("q", "incomplete", reason="steered", previous="p")
    if end == "lost":
        trace.close()
    else:
        error = {"type": "server_error", "code": "server_error", "message": "Sorry."}
        trace.event("error", status=500, error=error)
    lane = trace.trace.ledger.lanes[None]
    assert rules.lane_word(lane) == ("detached" if end == "lost" else "failed")
    assert not rules.turn_open(lane.tip)


def test_a_steer_whose_own_successor_cannot_be_created_failed():
    trace = twice_steered().ended("q", "incomplete", reason="steered", previous="p")
    trace.failed("p", "more", "successor_creation_failed", steer_id="st2")
    ledger = trace.trace.ledger
    assert states(trace) == ["committed", "failed"]
    assert homes(trace) == ["q", None]
    assert rules.lane_word(ledger.lanes[None]) == "idle"
    assert ledger.problems == []


@pytest.mark.parametrize(("ended", "steer_id"), [(True, "st1"), (False, "st2")])
def test_the_steer_that_a_successor_certainly_has_cannot_fail(ended, steer_id):
    trace = twice_steered()
    if ended:
        trace.ended("q", "incomplete", reason="steered", previous="p")
    trace.failed("p", "more", "successor_creation_failed", steer_id=steer_id)
    assert states(trace) == ["committed", "committed"]
    assert [problem.kind for problem in trace.trace.ledger.problems] == ["orphan_output"]


def test_a_request_behind_several_successors_is_not_answered_by_the_second():
    trace = twice_steered().create("other", key="c2").ended("q", previous="p")
    trace.created("r", previous="q")
    ledger = trace.trace.ledger
    assert ledger.responses["r"].request is None
    trace.ended("r", previous="q").created("s")
    assert trace.trace.ledger.requests["c2"].response_id == "s"


def test_deltas_after_send_counts_what_still_had_to_be_read():
    trace = running().added(message("")).delta("a").steer("p", key="s1").delta("b").delta("c")
    trace.accepted("st1", "p").ended("p", "incomplete", reason="steered")
    assert trace.trace.ledger.steers["s1"].deltas_after_send == 2


def test_a_steer_that_never_left_is_failed_not_unknown():
    trace = running().steer("p", key="s1").note("unsent", key="s1", reason="socket closed").close()
    steer = trace.trace.ledger.steers["s1"]
    assert (steer.state, steer.failure_code) == ("failed", "not_sent")


def test_acknowledgements_of_steers_that_the_recording_did_not_see():
    trace = TraceBuilder().connect().created("p").accepted("st1", "p").ended("p")
    trace.created("q", previous="p")
    (steer,) = trace.trace.ledger.steers.values()
    assert (steer.state, steer.sent, steer.input) == ("committed", None, None)


def test_pending_with_a_continuation_commits_explicitly():
    trace = running().steer("p", key="s1").accepted("st1", "p").done(call())
    trace.ended("p", output=[call()]).pending("st1", "p", [stub()])
    assert states(trace) == ["pending"]
    assert rules.lane_word(trace.trace.ledger.lanes[None]) == "waiting_input"
    trace.create([{**stub(), "output": "18"}], previous="p", key="c2").created("q", previous="p")
    ledger = trace.trace.ledger
    steer = ledger.steers["s1"]
    assert (steer.state, steer.successor_kind) == ("committed", "explicit")
    assert ledger.responses["q"].origin == "steer_explicit"


def waits_behind() -> TraceBuilder:
    """A steer is queued, and a request that continues the same response waits behind it."""
    trace = running().create("next", previous="p", key="c2").steer("p", key="s1")
    return trace.accepted("st1", "p").ended("p", "incomplete", reason="steered")


def test_which_of_two_successors_has_the_steer_is_proven_when_both_began():
    # The order of the two is documented nowhere (chapter 5.8 e).
    trace = waits_behind().created("q", previous="p")
    assert states(trace) == ["accepted"]
    assert trace.trace.ledger.responses["q"].origin == "steer_auto"
    trace.ended("q", previous="p").created("r", previous="p")
    steer = trace.trace.ledger.steers["s1"]
    assert (steer.state, steer.successor_id) == ("committed", "q")
    assert trace.trace.ledger.requests["c2"].response_id == "r"


def test_a_steer_whose_successor_is_not_proven_is_unknown_when_the_line_is_lost():
    trace = waits_behind().created("q", previous="p").close()
    assert states(trace) == ["unknown"]
    assert trace.trace.ledger.requests["c2"].state == "unknown"


def test_a_refused_request_proves_the_successor_before_it():
    trace = waits_behind().created("q", previous="p").ended("q", previous="p")
    error = {"type": "invalid_request_error", "code": "x", "message": "No.", "param": None}
    trace.event("error", error=error)
    assert states(trace) == ["committed"]
