"""What the service says over HTTP after a loss, and exactly what that proves."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steer_nb.ledger import Ledger, checking, recovery, rules
from steer_nb.ledger.proving import Part, item_key, possible
from steer_nb.trace import load
from tests.support.traces import TraceBuilder, call, listed, message, response, stub


def asked(builder: TraceBuilder, lane: str | None = "a") -> dict[str, bool]:
    ledger = builder.trace.ledger
    return {q.response_id: q.input_items for q in checking.questions(ledger, ledger.lanes[lane])}


def worth(builder: TraceBuilder, lane: str | None = "a") -> bool:
    ledger = builder.trace.ledger
    return checking.worth_asking(ledger, ledger.lanes[lane])


def offer(builder: TraceBuilder) -> recovery.Offer:
    ledger = builder.trace.ledger
    return recovery.offer(ledger, ledger.lanes["a"])


def words(builder: TraceBuilder) -> list[str]:
    return [choice.word for choice in offer(builder).choices]


def unsettled(builder: TraceBuilder) -> list[str]:
    ledger = builder.trace.ledger
    return checking.unsettled(ledger, ledger.lanes["a"])


def cut_off(*items: dict) -> TraceBuilder:
    """A lane with an answer, and a second one that was being written when the line was cut."""
    builder = TraceBuilder().connect().note("lane", lane="a", settings={})
    builder.create("one", lane="a", key="c1").created("r1", lane="a")
    builder.done(message("first"), lane="a").ended("r1", lane="a", output=[message("first")])
    builder.create("two", lane="a", previous="r1", key="c2").created("r2", previous="r1", lane="a")
    for index, item in enumerate(items):
        builder.done(item, index, lane="a")
    begun = {**message("", len(items)), "id": "msg_new", "status": "in_progress", "content": []}
    builder.added(begun, len(items), lane="a")
    return builder.delta("ha", len(items), lane="a")


# -- a response that was cut off -----------------------------------------------------------------


def test_a_response_takes_its_real_end():
    builder = cut_off().close().connect()
    assert asked(builder) == {"r1": False, "r2": False}
    assert worth(builder)
    assert words(builder)[0] == "continue"
    assert offer(builder).choices[0].base == "r1"
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    whole = {**message("hallo"), "id": "msg_new"}
    body = {**response("r2", previous="r1", status="completed", output=[whole])}
    body = {**body, "usage": usage}
    builder.note("checked", lane="a", response_id="r2", response=body, input_items=None)
    ledger = builder.trace.ledger
    r2 = ledger.responses["r2"]
    assert (r2.status, r2.text, r2.tokens("total_tokens")) == ("completed", "hallo", 7)
    assert r2.ended.note == "closed", "here it ended when it was cut off"
    assert r2.settled.note == "checked"
    found = offer(builder)
    assert "r2 was cut off, and ended there: completed, says the service." in found.truth
    assert found.choices[0].base == "r2"
    assert "leaves" not in found.choices[0].says, "nothing is left out"
    builder.note("lane_recovered", lane="a", choice="continue", base="r2")
    lane = builder.trace.ledger.lanes["a"]
    assert rules.lane_word(lane) == "idle"
    assert rules.chain_tip(lane).id == "r2"
    assert asked(builder) == {}
    assert not worth(builder)


def test_what_it_asks_for_is_asked():
    builder = cut_off().close().connect()
    builder.checked("r2", "completed", lane="a", previous="r1", output=[call("call_9")])
    assert "It waits for 1 answer." in offer(builder).truth
    builder.note("lane_recovered", lane="a", choice="continue", base="r2")
    lane = builder.trace.ledger.lanes["a"]
    assert rules.lane_word(lane) == "waiting_input"
    assert [s.key for s in lane.tip.waiting_for] == ["call_9"]
    assert not builder.trace.ledger.problems


def test_a_call_that_came_before_the_cut_is_not_asked_for_twice():
    builder = cut_off(call("call_1")).close().connect()
    item = {**stub("call_1"), "output": "18"}
    builder.note("filled", lane="a", parent="r2", key="call_1", item=item, by="user")
    builder.checked("r2", "completed", lane="a", previous="r1", output=[call("call_1")])
    r2 = builder.trace.ledger.responses["r2"]
    assert [(s.key, s.state, s.item) for s in r2.required.values()] == [("call_1", "filled", item)]
    assert len(r2.items) == 2, "the unfinished text beside it is kept"


def test_incomplete_says_why():
    builder = cut_off().close().connect()
    body = response("r2", previous="r1", status="incomplete", output=[message("half")])
    body["incomplete_details"] = {"reason": "max_output_tokens"}
    builder.note("checked", lane="a", response_id="r2", response=body, input_items=None)
    r2 = builder.trace.ledger.responses["r2"]
    assert (r2.status, r2.incomplete_reason) == ("incomplete", "max_output_tokens")
    assert offer(builder).choices[0].base == "r2"


def test_still_being_written_is_said_and_can_be_asked_again():
    builder = cut_off().close().connect()
    builder.checked("r2", "in_progress", lane="a", previous="r1")
    assert builder.trace.ledger.responses["r2"].status == "truncated"
    said = "r2 is still being written, says the service: ask again later."
    assert said in offer(builder).truth
    assert unsettled(builder) == [said]
    assert "whether it ended is unknown" not in " ".join(offer(builder).truth)
    assert worth(builder)
    builder.checked("r2", "completed", lane="a", previous="r1", output=[message("hallo")])
    assert offer(builder).choices[0].base == "r2"
    assert unsettled(builder) == []


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_response_that_came_to_nothing_is_left_for_the_one_before(status):
    builder = cut_off().close().connect()
    builder.checked("r2", status, lane="a", previous="r1", output=[call("call_9")])
    found = offer(builder)
    assert f"r2 was cut off, and ended there: {status}, says the service." in found.truth
    assert found.choices[0].base == "r1"
    assert "it leaves r2: what was said to it can be sent again" in found.choices[0].says
    assert found.choice("rebuild").base == "r1"
    assert builder.trace.ledger.requests["c2"].left, "what was said to it can be sent again"
    assert not builder.trace.ledger.responses["r2"].waiting_for
    builder.note("lane_recovered", lane="a", choice="continue", base="r1")
    assert builder.trace.ledger.requests["c2"].left


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_answers_to_a_response_that_came_to_nothing_are_needed_again(status):
    def lost(*notes: dict) -> TraceBuilder:
        builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
        builder.done(call("c1"), lane="a").ended("p", lane="a", output=[call("c1")])
        answer = {**stub("c1"), "output": "18"}
        builder.create([answer], lane="a", previous="p", key="k")
        builder.created("q", previous="p", lane="a").close().connect()
        for data in notes:
            builder.note("lane_recovered", lane="a", **data)
        return builder.checked("q", status, lane="a", previous="p")

    builder = lost()
    p = builder.trace.ledger.responses["p"]
    assert [(s.state, s.item["output"]) for s in p.waiting_for] == [("filled", "18")]
    assert "continue from p, which the service has stored, with its answers" in (
        offer(builder).choices[0].says
    )
    for notes in (
        [{"choice": "rebuild", "base": "q"}],
        [{"choice": "leave", "base": None}],
    ):
        ledger = lost(*notes).trace.ledger
        assert rules.lane_word(ledger.lanes["a"]) == "idle"
        assert not ledger.responses["p"].waiting_for, "that was left"
        assert not ledger.requests["k"].left
    continued = lost({"choice": "continue", "base": "p"})
    lane = continued.trace.ledger.lanes["a"]
    assert rules.lane_word(lane) == "waiting_input"
    assert [s.state for s in lane.tip.waiting_for] == ["filled"]


def test_what_the_service_does_not_have_is_gone():
    builder = cut_off().close().connect()
    builder.checked("r2", lane="a")
    ledger = builder.trace.ledger
    assert ledger.gone == {"r2"}
    assert ledger.responses["r2"].status == "truncated"
    assert "The service was asked, and has no r2." in offer(builder).truth
    assert offer(builder).choices[0].base == "r1"
    builder.checked("r1", lane="a")
    assert words(builder) == ["rebuild", "leave"]
    builder.checked("r1", "completed", lane="a", output=[message("first")])
    assert words(builder)[0] == "continue", "it is there after all"


def test_a_person_who_went_on_is_not_asked_again():
    for choice, base in (("continue", "r1"), ("rebuild", "r2"), ("leave", None)):
        builder = cut_off().close().connect()
        builder.note("lane_recovered", lane="a", choice=choice, base=base)
        assert not worth(builder)
        assert asked(builder) == {"r2": False}, "its end may be asked for all the same"
        builder.checked("r2", "completed", lane="a", previous="r1", output=[call("call_9")])
        lane = builder.trace.ledger.lanes["a"]
        assert builder.trace.ledger.responses["r2"].status == "completed"
        assert rules.lane_word(lane) == "idle", choice
        tip = rules.chain_tip(lane)
        assert (None if tip is None else tip.id) == ("r1" if choice == "continue" else None)


def test_not_stored_is_not_asked_and_says_why():
    builder = TraceBuilder().connect()
    builder.out({"type": "response.create", "store": False, "input": "x", "stream_id": "a"})
    builder.created("r1", lane="a").delta("ha", lane="a").close().connect()
    assert asked(builder) == {}
    assert not worth(builder)
    said = "r1 was not stored (store is false), so the service cannot be asked about it."
    assert said in offer(builder).truth
    assert unsettled(builder) == [said]


def test_a_successor_is_stored_as_its_parent_is():
    builder = TraceBuilder().connect()
    builder.out({"type": "response.create", "store": False, "input": "x", "stream_id": "a"})
    builder.created("p", lane="a").steer("p", "more").accepted("s1", "p", lane="a")
    builder.ended("p", "incomplete", lane="a", reason="steered", output=[message("half")])
    builder.created("q", previous="p", lane="a").close().connect()
    assert asked(builder) == {}


def test_a_response_that_ended_is_not_changed():
    builder = cut_off().close().connect()
    builder.checked("r1", "completed", lane="a", output=[message("something else")])
    r1 = builder.trace.ledger.responses["r1"]
    assert (r1.text, r1.settled) == ("first", None)
    assert not builder.trace.ledger.problems


def test_a_note_about_nothing_and_a_damaged_one_are_borne():
    builder = cut_off().close().connect()
    builder.checked("nobody", "completed", lane="a")
    builder.note("checked", lane="a", response_id="r2", response={"id": "r2"}, input_items=None)
    builder.note("checked", lane="a", response_id="r2", response=7, input_items=None)
    ledger = builder.trace.ledger
    assert [p.kind for p in ledger.problems] == ["odd_field", "bad_json", "bad_json"]
    assert ledger.responses["r2"].status == "truncated"


# -- steers --------------------------------------------------------------------------------------


def two_steers(first: str = "shorter", second: str = "in euros") -> TraceBuilder:
    """Two steers without acknowledgement, a successor, and the line cut: chapter 5.8 j."""
    builder = TraceBuilder().connect().create("go", lane="a", key="c1").created("p", lane="a")
    builder.done({**message("half"), "id": "msg_p"}, lane="a")
    builder.steer("p", first, key="s1").steer("p", second, key="s2")
    output = [{**message("half"), "id": "msg_p"}]
    builder.ended("p", "incomplete", lane="a", reason="steered", output=output)
    return builder.created("q", previous="p", lane="a").close().connect()


def states(builder: TraceBuilder) -> list[str]:
    return [steer.state for steer in builder.trace.ledger.steers.values()]


def look(builder: TraceBuilder, *items: object, previous: str | None = "p") -> TraceBuilder:
    given_items = [listed(item, n) for n, item in enumerate(items)]
    return builder.checked("q", "in_progress", lane="a", previous=previous, items=given_items)


def test_steers_are_committed_where_the_service_lists_them():
    builder = two_steers()
    assert states(builder) == ["unknown", "unknown"]
    assert asked(builder) == {"p": False, "q": True}
    look(builder, "shorter", "in euros")
    ledger = builder.trace.ledger
    assert states(builder) == ["committed", "committed"]
    for steer in ledger.steers.values():
        assert (steer.successor_id, steer.successor_kind) == ("q", "auto")
        assert steer.committed is ledger.responses["q"].started
    assert ledger.responses["q"].origin == "steer_auto"
    assert unsettled(builder) == ["q is still being written, says the service: ask again later."]
    assert not [s for s in offer(builder).truth if "steer" in s]


def test_one_of_two():
    builder = look(two_steers(), "in euros")
    assert states(builder) == ["unknown", "committed"]
    said = "s1 was looked for in q, and nothing proves that it is in there."
    assert said in offer(builder).truth
    assert "s1 stays unknown: nothing proves that q holds it." in unsettled(builder)


def test_not_found_stays_unknown():
    builder = look(two_steers())
    assert states(builder) == ["unknown", "unknown"]
    assert worth(builder), "of q itself the end is not known"
    builder.checked("q", "completed", lane="a", previous="p")
    assert not worth(builder), "what it was given does not change"


def test_a_wrong_parent_proves_nothing():
    for previous in ("another", None):
        builder = look(two_steers(), "shorter", "in euros", previous=previous)
        assert states(builder) == ["unknown", "unknown"]


def test_equal_texts_are_told_apart_by_their_number_only():
    assert states(look(two_steers("more", "more"), "more", "more")) == ["committed"] * 2
    assert states(look(two_steers("more", "more"), "more")) == ["unknown"] * 2
    assert states(look(two_steers("more", "more"), "more", "more", "more")) == ["unknown"] * 2


def test_another_order_than_that_of_submission_proves_nothing():
    assert states(look(two_steers(), "in euros", "shorter")) == ["unknown"] * 2


def test_what_nobody_here_sent_is_no_hindrance():
    developer = {"type": "message", "role": "developer", "content": "Be kind."}
    builder = look(two_steers(), developer, "shorter", "in euros")
    assert states(builder) == ["committed"] * 2


def test_a_steer_of_several_messages_is_there_whole_or_not():
    messages = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert states(look(two_steers(messages, "c"), "a", "b", "c")) == ["committed"] * 2
    assert states(look(two_steers(messages, "c"), "a", "c")) == ["unknown"] * 2


def test_a_picture_is_known_by_its_address():
    def said(url: str) -> list[dict]:
        part = {"type": "input_image", "image_url": url}
        return [{"role": "user", "content": [part]}]

    def shown(url: str) -> dict:
        part = {"type": "input_image", "image_url": url, "detail": "auto", "file_id": None}
        return {"type": "message", "role": "user", "content": [part]}

    builder = look(two_steers(said("https://a"), said("https://b")), shown("https://b"))
    assert states(builder) == ["unknown", "committed"]
    hidden = look(two_steers(said("https://a"), said("https://b")), shown(None))
    assert states(hidden) == ["unknown", "unknown"]


def test_the_text_of_the_first_request_is_not_taken_for_a_steer():
    """A service may list all that led to a response: what the parent wrote shows that."""
    mine = {**message("half"), "id": "msg_p"}
    history = [listed("go", 7), mine]
    builder = two_steers("go", "in euros")
    builder.checked("q", "in_progress", lane="a", previous="p", items=history)
    assert states(builder) == ["unknown", "unknown"]
    builder.checked(
        "q", "in_progress", lane="a", previous="p", items=[*history, listed("go"), listed("x")]
    )
    assert states(builder) == ["unknown", "unknown"], "in which order it lists is not known"
    fresh = two_steers()
    fresh.checked(
        "q", "in_progress", lane="a", previous="p", items=[*history, listed("shorter", 1)]
    )
    assert states(fresh) == ["committed", "unknown"]


def test_a_steer_of_an_earlier_response_may_be_what_is_listed():
    """Without ids of what was written, nothing tells where what was said before ends."""
    builder = TraceBuilder().connect().create("go", lane="a").created("o", lane="a")
    builder.steer("o", "more").steer("o", "else").created("p", previous="o", lane="a")
    builder.steer("p", "more").steer("p", "less").created("q", previous="p", lane="a")
    builder.close().connect()
    look(builder, "more")
    assert states(builder) == ["unknown"] * 4
    look(builder, "less")
    assert states(builder) == ["unknown"] * 4, "whether 'more' is one of p or q is open"


def test_a_conversation_from_before_the_trace():
    def began(items: list[dict]) -> list[str]:
        builder = TraceBuilder().connect().create("go", lane="a", previous="old")
        builder.created("p", lane="a", previous="old").steer("p", "x").steer("p", "y")
        builder.created("q", previous="p", lane="a").close().connect()
        builder.checked("q", "in_progress", lane="a", previous="p", items=items)
        return states(builder)

    assert began([listed("x"), listed("y", 1)]) == ["unknown", "unknown"], "it may be from before"


def test_steering_stays_on_its_connection():
    """The same words said again on the next connection are another message."""
    builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
    builder.done({**message("half"), "id": "msg_p"}, lane="a")
    builder.steer("p", "shorter", key="s1")
    builder.ended("p", lane="a", output=[{**message("half"), "id": "msg_p"}]).close().connect()
    assert asked(builder) == {"p": False}
    builder.note("lane_recovered", lane="a", choice="continue", base="p")
    builder.create("shorter", lane="a", previous="p").created("q", previous="p", lane="a")
    builder.ended("q", lane="a", previous="p").close().connect()
    look(builder, "shorter")
    assert states(builder) == ["unknown"]
    assert "s1 stays unknown: no response is known that could hold it." in unsettled(builder)


def test_nothing_is_proven_while_the_connection_lives():
    builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
    builder.done({**message("half"), "id": "msg_p"}, lane="a")
    builder.steer("p", "shorter").steer("p", "in euros")
    builder.ended("p", "incomplete", lane="a", reason="steered", output=[message("half")])
    builder.created("q", previous="p", lane="a")
    look(builder, "shorter", "in euros")
    assert states(builder) == ["sent", "sent"]


def test_a_steer_that_was_sent_after_its_beginning_is_not_in_it():
    builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
    builder.done({**message("half"), "id": "msg_p"}, lane="a")
    builder.steer("p", "more").accepted("st", "p", lane="a")
    builder.ended("p", "incomplete", lane="a", reason="steered", output=[message("half")])
    builder.created("q", previous="p", lane="a").steer("p", "more").close().connect()
    assert states(builder) == ["committed", "unknown"]
    look(builder, "more", "more")
    assert states(builder) == ["committed", "unknown"]


def explicit(*said: object, steers: tuple[str, ...] = ("shorter", "in euros")) -> TraceBuilder:
    """A continuation that may have taken steers along: none of them is acknowledged."""
    builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
    builder.done(call("c1"), lane="a").ended("p", lane="a", output=[call("c1")])
    for text in steers:
        builder.steer("p", text)
    answer = {**stub("c1"), "output": "18"}
    builder.create([answer, *said], lane="a", previous="p", key="k")
    return builder.created("q", previous="p", lane="a").close().connect()


def test_the_requests_own_words_are_counted():
    answer = {**stub("c1"), "output": "18"}
    said = {"role": "user", "content": "shorter"}
    builder = look(explicit(said), answer, "shorter")
    assert states(builder) == ["unknown", "unknown"], "that is the request's own"
    builder = look(explicit(said), "shorter", "in euros", answer, "shorter")
    assert states(builder) == ["committed", "committed"]
    ledger = builder.trace.ledger
    assert ledger.responses["q"].origin == "steer_explicit"
    assert {s.successor_kind for s in ledger.steers.values()} == {"explicit"}


# -- a request that waited behind a steered response -----------------------------------------------


def disputed(ask: object = "next") -> TraceBuilder:
    """Whether q is the automatic successor or answers the request is open (chapter 5.8 e)."""
    builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
    builder.done({**message("half"), "id": "msg_p"}, lane="a")
    builder.steer("p", "shorter", key="s1").accepted("st", "p", lane="a")
    builder.create(ask, lane="a", previous="p", key="k")
    output = [{**message("half"), "id": "msg_p"}]
    builder.ended("p", "incomplete", lane="a", reason="steered", output=output)
    builder.created("q", previous="p", lane="a").close().connect()
    assert builder.trace.ledger.responses["p"].disputed
    return builder


def test_it_was_the_successor():
    builder = disputed()
    assert asked(builder) == {"p": False, "q": True}
    look(builder, "shorter")
    ledger = builder.trace.ledger
    assert states(builder) == ["committed"]
    assert not ledger.responses["p"].disputed
    assert ledger.requests["k"].state == "unknown"
    assert "k stays unknown: nothing was heard of it, so there is no id to ask for." in unsettled(
        builder
    )


def test_it_answers_the_request():
    builder = look(disputed(), "next")
    ledger = builder.trace.ledger
    q = ledger.responses["q"]
    assert states(builder) == ["unknown"]
    assert not ledger.responses["p"].disputed
    assert (ledger.requests["k"].state, ledger.requests["k"].response_id) == ("started", "q")
    assert q.request is ledger.requests["k"]
    assert q.origin == "create"
    assert ledger.steers["s1"].looked_in == "q"


def test_it_may_be_both_or_neither():
    both = look(disputed(), "shorter", "next")
    assert both.trace.ledger.requests["k"].state == "started", "with the steer in front of it"
    assert states(both) == ["committed"]
    for items in ((), ("something",)):
        builder = look(disputed(), *items)
        assert builder.trace.ledger.responses["p"].disputed
        assert states(builder) == ["unknown"]
    same = look(disputed("shorter"), "shorter")
    assert same.trace.ledger.responses["p"].disputed, "the words of both are the same"
    assert same.trace.ledger.requests["k"].state == "unknown"


def test_a_continuation_that_was_answered_confirms_its_values():
    builder = TraceBuilder().connect().create("go", lane="a").created("p", lane="a")
    builder.done(call("c1"), lane="a").steer("p", "shorter").accepted("st", "p", lane="a")
    answer = {**stub("c1"), "output": "18"}
    builder.create([answer], lane="a", previous="p", key="k")
    builder.ended("p", lane="a", output=[call("c1")])
    builder.created("q", previous="p", lane="a").close().connect()
    p = builder.trace.ledger.responses["p"]
    look(builder, "shorter", answer)
    p = builder.trace.ledger.responses["p"]
    assert p.required["c1"].state == "confirmed"
    assert p.required["c1"].continuation_response_id == "q"


# -- everywhere ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: cut_off().close().connect().checked("r2", "completed", lane="a", previous="r1"),
        lambda: look(two_steers(), "shorter", "in euros"),
        lambda: look(disputed(), "next"),
    ],
)
def test_loaded_and_live_are_the_same(make, tmp_path):
    builder = make()
    trace = load(builder.trace.save(tmp_path / "t.jsonl"))
    live = Ledger()
    frames = builder.trace.frames
    for entry in builder.trace:
        live.apply(entry)
    for table in ("responses", "steers", "required_inputs", "items", "lanes", "usage", "problems"):
        loaded = trace.frames.table(table)
        assert loaded.equals(frames.table(table)), table
    assert [s.state for s in live.steers.values()] == [
        s.state for s in trace.ledger.steers.values()
    ]


def test_frames_that_were_asked_for_before_show_what_was_settled():
    builder = two_steers()
    frames = builder.trace.frames
    assert list(frames.steers["state"]) == ["unknown", "unknown"]
    assert list(frames.responses["status"]) == ["incomplete", "truncated"]
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    body = {**response("q", previous="p", status="completed", output=[message("ok")])}
    builder.note(
        "checked",
        lane="a",
        response_id="q",
        response={**body, "usage": usage},
        input_items=[listed("shorter"), listed("in euros", 1)],
    )
    assert list(frames.steers["state"]) == ["committed", "committed"]
    assert list(frames.responses["status"]) == ["incomplete", "completed"]
    assert list(frames.responses["output_text"]) == ["half", "ok"]
    assert list(frames.usage["tokens"]) == [3, 4]
    whole = load_again(builder)
    for table in frames.names:
        assert whole.table(table).equals(frames.table(table)), table


def load_again(builder: TraceBuilder):
    from steer_nb.trace import Trace

    return Trace(builder.trace.header, list(builder.trace)).frames


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("ab"), max_size=2),
            st.sampled_from([(True, True), (True, False), (False, True)]),
        ),
        max_size=5,
    ),
    st.lists(st.sampled_from("ab"), max_size=6),
)
def test_what_is_possible_is_what_some_choice_gives(parts, found):
    """The quick way against trying every choice."""
    made = [Part(tuple(keys), *may) for keys, may in parts]
    fits = []
    for choice in itertools.product([True, False], repeat=len(made)):
        allowed = all(
            part.may_be_in if inside else part.may_be_out
            for part, inside in zip(made, choice, strict=True)
        )
        keys = [k for part, inside in zip(made, choice, strict=True) if inside for k in part.keys]
        if allowed and keys == found:
            fits.append(choice)
    expected = None if not fits else [(any(c), not all(c)) for c in zip(*fits, strict=True)]
    assert possible(made, found) == (expected if made or expected is None else [])


def test_keys_of_answers_and_odd_items():
    sent = {**stub("c1"), "output": "18"}
    assert item_key(sent) == item_key({**sent, "id": "x", "status": "completed"})
    assert item_key({"type": "weird", "v": 1}) == item_key({"type": "weird", "v": 1, "id": "i"})
    assert item_key({"role": "user", "content": None}) != item_key({"role": "user", "content": ""})
    assert item_key({"role": "user", "content": [1]}) != item_key({"role": "user", "content": "1"})
