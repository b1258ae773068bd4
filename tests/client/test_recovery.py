"""After a lost connection: connect again, say what is true, do nothing that nobody asked for."""

from __future__ import annotations

import threading
import time

import pytest

from steer_nb import connect, errors, tool
from steer_nb.client.handles import Response
from steer_nb.client.reconnecting import Reconnect
from steer_nb.client.sending import Overrides
from steer_nb.errors import InvalidInput, LaneBusy, NotConnected, NothingToContinue
from steer_nb.ledger import Ledger
from steer_nb.simulator import Simulator
from tests.support.traces import call, message, response

SOON = Reconnect(attempts=3, first_s=0.01, longest_s=0.02, rotate_s=None)


@pytest.fixture
def session(stage):
    session = connect(stage.base_url, quiet=True, journal=False, reconnect=SOON)
    yield session
    session.close()


def created(stage, response_id, *, previous=None, lane="a"):
    stage.send(
        {
            "type": "response.created",
            "stream_id": lane,
            "response": response(response_id, previous=previous),
        }
    )


def ended(stage, response_id, output, *, previous=None, lane="a", status="completed"):
    for index, item in enumerate(output):
        stage.send(
            {
                "type": "response.output_item.done",
                "stream_id": lane,
                "output_index": index,
                "item": item,
            }
        )
    body = response(response_id, previous=previous, status=status, output=output)
    stage.send({"type": f"response.{status}", "stream_id": lane, "response": body})


def lose(stage, session):
    """Cut the line, and wait until the next one is there."""
    number = session.read(lambda ledger: len(ledger.connections))
    stage.drop()
    session.until(
        lambda ledger: True if len(ledger.connections) > number else None, 10, lambda: "no socket"
    )


def notes(session, name):
    return [entry.data for entry in session.trace if entry.note == name]


def test_a_lost_line_is_made_anew_and_said(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [message("hi")])
    lane.wait(10)
    lose(stage, session)
    assert not session.closed
    (trying,) = notes(session, "reconnecting")
    assert (trying["attempt"], trying["attempts"]) == (1, 3)
    assert 0.0075 <= trying["delay_s"] <= 0.01
    assert session.status()["connected"]
    assert session.status()["to_decide"] == ["lane a"]
    assert len(session.trace.frames.connections) == 2


def test_a_session_that_goes_on_never_looks_closed(stage, session, monkeypatch):
    """Other threads may look in the middle of a loss, and in the middle of what follows."""
    seen = []
    for owner, name in (
        (session.core.recorder, "note"),
        (session.core.line, "again"),
        (session.core.reconnector, "lost"),
        (session.core.reconnector, "connected"),
    ):
        plain = getattr(owner, name)

        def spy(*args, name=name, plain=plain, **kwargs):
            seen.append((name, session.closed))
            return plain(*args, **kwargs)

        monkeypatch.setattr(owner, name, spy)
    lose(stage, session)
    assert {name for name, _ in seen} == {"note", "again", "lost", "connected"}
    assert not any(closed for _, closed in seen)
    session.close()
    assert session.closed


def test_nothing_is_continued_silently(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [message("hi")])
    lane.wait(10)
    lose(stage, session)
    assert lane.state == "detached"
    with pytest.raises(LaneBusy, match="continue, rebuild or leave"):
        lane.create("more")
    offer = lane.recovery
    assert [choice.word for choice in offer.choices] == ["continue", "rebuild", "leave"]
    assert "r1 ended: completed." in offer.truth
    lane.recover("continue")
    assert lane.recovery is None
    lane.create("more")
    request = stage.expect()
    assert (request["previous_response_id"], request["input"]) == ("r1", "more")


def test_rebuild_repeats_the_conversation_with_every_call_answered(stage, session):
    lane = session.lane("a", store=False)
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    reasoning = {"type": "reasoning", "id": "rs", "summary": []}
    ended(stage, "r1", [reasoning, message("hi", 1), call("call_1"), call("call_2")])
    lane.wait(10)
    lane.fill("call_1", output="18")
    lose(stage, session)
    offer = lane.recovery
    assert [choice.word for choice in offer.choices] == ["rebuild", "leave"], "it was not stored"
    assert "It waits for 2 answers; 1 is filled, and saved." in offer.truth
    says = offer.choices[0].says
    assert "answered as cancelled: 1" in says
    assert "without reasoning of r1" in says
    lane.recover("rebuild")
    assert lane.state == "idle"
    lane.create("go on")
    request = stage.expect()
    assert "previous_response_id" not in request
    kinds = [(item["type"], item.get("call_id"), item.get("output")) for item in request["input"]]
    assert kinds == [
        ("message", None, None),
        ("message", None, None),
        ("function_call", "call_1", None),
        ("function_call", "call_2", None),
        ("function_call_output", "call_1", "18"),
        ("function_call_output", "call_2", "Cancelled by the user; it was not run."),
        ("message", None, None),
    ]
    assert request["input"][-1]["content"] == "go on"
    # The next turn hangs on the new chain, and repeats nothing.
    created(stage, "r2")
    ended(stage, "r2", [message("ok")])
    lane.wait(10)
    lane.create("and then")
    request = stage.expect()
    assert (request["previous_response_id"], request["input"]) == ("r2", "and then")


def test_leave_begins_anew(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [message("hi")])
    lane.wait(10)
    lose(stage, session)
    lane.recover("leave").create("fresh")
    request = stage.expect()
    assert "previous_response_id" not in request
    assert request["input"] == "fresh"


def test_what_was_filled_is_sent_after_a_reconnect(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [call("call_1")])
    lane.wait(10)
    lane.fill("call_1", output="18")
    lose(stage, session)
    with pytest.raises(LaneBusy, match=r"lost its connection|gone with its connection"):
        lane.send_continuation()
    lane.recover("continue")
    assert lane.state == "waiting_input"
    lane.send_continuation()
    request = stage.expect()
    assert request["previous_response_id"] == "r1"
    assert request["input"][0]["output"] == "18"


def test_an_unknown_steer_is_sent_again_only_by_a_persons_word(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    steer = lane.steer("keep it short")
    stage.expect()
    lose(stage, session)
    assert steer.state == "unknown"
    assert session.status()["to_decide"] == ["lane a", steer.key]
    assert any("1 steer has an unknown outcome" in line for line in lane.recovery.truth)
    lane.recover("leave")
    again = steer.send_again()
    request = stage.expect()
    assert request["type"] == "response.create"
    assert request["input"] == "keep it short"
    with pytest.raises(LaneBusy, match=f"already sent again, as {again.key}"):
        steer.send_again()
    assert session.status()["to_decide"] == []


def test_an_unknown_steer_goes_into_what_is_being_written_now(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    steer = lane.steer("keep it short")
    stage.expect()
    lose(stage, session)
    lane.recover("leave").create("again")
    stage.expect()
    created(stage, "r2")
    session.until(lambda ledger: ledger.responses.get("r2"), 10, lambda: "no r2")
    steer.send_again()
    request = stage.expect()
    assert (request["type"], request["previous_response_id"]) == ("response.steer", "r2")


def test_a_dropped_steer_stays_unknown_and_is_decided(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    steer = lane.steer("keep it short")
    stage.expect()
    lose(stage, session)
    steer.drop()
    assert steer.state == "unknown"
    with pytest.raises(LaneBusy, match="was dropped"):
        steer.drop()
    with pytest.raises(LaneBusy, match="was dropped"):
        steer.send_again()


def test_a_lost_continuation_is_unknown_and_can_go_again_by_word(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [call("call_1")])
    lane.wait(10)
    lane.fill("call_1", output="18")
    lost = lane.send_continuation()
    first = stage.expect()
    lose(stage, session)
    assert lost.status == "unknown"
    lane.recover("continue")
    with pytest.raises(NothingToContinue, match="may have been received"):
        lane.send_continuation()
    again = lost.send_again()
    second = stage.expect()
    assert second == first
    created(stage, "r2", previous="r1")
    ended(stage, "r2", [message("ok")], previous="r1")
    assert again.wait(10).status == "completed"
    states = session.read(
        lambda ledger: [s.state for s in ledger.responses["r1"].required.values()]
    )
    assert states == ["confirmed"]


def test_a_lost_continuation_can_be_dropped_and_sent_otherwise(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [call("call_1")])
    lane.wait(10)
    lane.fill("call_1", output="18")
    lost = lane.send_continuation()
    stage.expect()
    lose(stage, session)
    lane.recover("continue")
    lost.drop()
    lane.fill("call_1", output="19")
    lane.send_continuation()
    assert stage.expect()["input"][0]["output"] == "19"


def test_a_request_without_any_event_is_unknown(stage, session):
    lane = session.lane("a")
    request = lane.create("hello")
    stage.expect()
    lose(stage, session)
    assert request.status == "unknown"
    assert "may have been received" in " ".join(lane.recovery.truth)
    assert [choice.word for choice in lane.recovery.choices] == ["leave"]
    lane.recover("leave")
    request.send_again()
    assert stage.expect()["input"] == "hello"


def test_a_response_that_the_service_forgot_leads_to_the_same_offer_once(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [message("hi")])
    lane.wait(10)
    second = lane.create("more")
    stage.expect()
    error = {
        "type": "invalid_request_error",
        "code": "previous_response_not_found",
        "message": "Previous response with id 'r1' not found.",
        "param": "previous_response_id",
    }
    stage.send({"type": "error", "status": 400, "stream_id": "a", "error": error})
    assert lane.wait(10) == "detached"
    offer = lane.recovery
    assert [choice.word for choice in offer.choices] == ["rebuild", "leave"]
    assert "no longer has the response" in offer.truth[0]
    lane.recover()
    second.send_again()
    request = stage.expect()
    assert "previous_response_id" not in request
    assert [item.get("content", "")[:5] for item in request["input"] if item["role"] == "user"] == [
        "hello",
        "more",
    ]


@pytest.mark.parametrize("code", [1000, 1002, 1007, 1008, 1009])
def test_other_closes_are_not_tried_again(stage, session, code):
    session.lane("a").create("hello")
    stage.expect()
    stage.close(code, "no")
    session.until(lambda ledger: ledger.connections[1].closed, 10, lambda: "still open")
    assert not session.reconnecting
    assert session.closed
    assert notes(session, "reconnecting") == []
    if code == 1009:
        with pytest.raises(NotConnected, match=r"largest message was create-1 with [\d,]+ bytes"):
            session.lane("a").create("again")


def test_it_gives_up_after_its_attempts_and_says_so():
    simulator = Simulator("planner", speed=0).start()
    session = connect(simulator.base_url, quiet=True, journal=False, reconnect=SOON)
    done = threading.Event()
    session.subscribe(lambda: done.set() if notes(session, "gave_up") else None)
    simulator.stop()
    assert done.wait(10)
    assert session.closed
    assert [n["attempt"] for n in notes(session, "reconnecting")] == [1, 2, 3]
    with pytest.raises(NotConnected, match="could not connect again: Nothing listens"):
        session.lane("b").create("x")
    session.close()


def test_a_refused_key_is_not_tried_again():
    patient = Reconnect(attempts=200, first_s=0.02, longest_s=0.05)
    first = Simulator("planner", speed=0, api_key="right").start()
    session = connect(first.base_url, api_key="right", quiet=True, journal=False, reconnect=patient)
    done = threading.Event()
    session.subscribe(lambda: done.set() if notes(session, "gave_up") else None)
    first.stop()
    with Simulator("planner", speed=0, api_key="other", port=first.port):
        assert done.wait(10)
        tried = [note["error"] for note in notes(session, "connect_failed")]
        assert "HTTP 401" in tried[-1]
        assert not any("HTTP 401" in error for error in tried[:-1])
        assert session.closed
    session.close()


def test_the_60_minutes_begin_a_new_connection_at_once():
    with Simulator("planner", speed=0) as simulator:
        session = connect(simulator.base_url, quiet=True, journal=False, reconnect=SOON)
        lane = session.lane("a")
        lane.create("hello").wait(10)
        lane.wait(10)
        simulator.advance(3601)
        session.until(
            lambda ledger: True if len(ledger.connections) > 1 else None, 10, lambda: "no second"
        )
        assert notes(session, "reconnecting")[0]["delay_s"] == 0
        kinds = session.trace.frames.connections["end_kind"].tolist()
        assert kinds[0] == "limit"
        lane.recover("continue").create("more").wait(10)
        session.close()


def test_a_connection_past_its_60_minutes_that_stays_open_is_replaced(monkeypatch):
    """The guide says to reconnect, not that the service closes; and lanes may never be all idle."""
    monkeypatch.setattr("steer_nb.client.reconnecting.LIMIT_SECONDS", 0.2)
    with Simulator("seven", speed=2, limit_close_code=None) as simulator:
        session = connect(simulator.base_url, quiet=True, journal=False, reconnect=SOON)
        waiting, writing = session.lane("a"), session.lane("b")
        waiting.create("Do the audit.").wait(10)
        assert waiting.wait(10) == "waiting_input"
        response = writing.create("Do the audit.")
        session.until(lambda ledger: ledger.lanes["b"].current, 10, lambda: "it did not begin")
        simulator.advance(3601)
        session.until(lambda ledger: ledger.errors or None, 10, lambda: "no limit")
        with pytest.raises(NotConnected, match=r"60 minutes are over; nothing was sent\. It is"):
            session.lane("a").steer("x")
        session.until(lambda ledger: ledger.connections.get(2), 10, lambda: "no second")
        assert response.status == "completed"  # it was let end
        assert [n["reason"] for n in notes(session, "closed")] == ["the limit was reached"]
        for lane in (waiting, writing):
            lane.recover("continue")
            assert len(lane.required_input) == 7  # and nothing that waits is lost
        session.close()


def test_a_request_that_came_too_late_for_the_60_minutes_is_unknown_and_offered(monkeypatch):
    monkeypatch.setattr("steer_nb.client.reconnecting.LIMIT_SECONDS", 0.2)
    with Simulator("planner", speed=0, limit_close_code=None) as simulator:
        session = connect(simulator.base_url, quiet=True, journal=False, reconnect=SOON)
        lane = session.lane("a")

        def at_the_limit():
            simulator.service.clock._offset += 3601  # the service knows, and has not said so
            return session.core.sender.create(lane._settings, "x", Overrides({}))

        handle = Response(session, session.act(at_the_limit))
        session.until(lambda ledger: ledger.connections.get(2), 10, lambda: "no second")
        assert handle.status == "unknown"
        lane.recover()
        assert handle.send_again().wait(10).status == "completed"
        session.close()


def test_what_a_tool_found_after_the_60_minutes_goes_out_on_the_next_connection(stage):
    go = threading.Event()

    @tool(policy="auto")
    def get_weather(city: str) -> str:
        """Weather."""
        assert go.wait(10)
        return "18"

    session = connect(stage.base_url, quiet=True, journal=False, reconnect=SOON)
    lane = session.lane("a", tools=[get_weather])
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [call("call_1", arguments='{"city":"Lisbon"}')])
    stage.send({"type": "error", "error": {"code": "websocket_connection_limit_reached"}})
    session.until(lambda ledger: ledger.errors or None, 10, lambda: "no limit")
    go.set()
    lane.wait(10)
    assert [stub.state for stub in lane.required_input] == ["filled"]
    stage.close(1001, "limit")
    session.until(lambda ledger: ledger.connections.get(2), 10, lambda: "no second")
    lane.recover("continue")
    assert stage.expect()["input"][0]["output"] == "18"
    session.close()


def test_without_reconnecting_the_60_minutes_are_said(stage):
    session = connect(stage.base_url, quiet=True, journal=False, reconnect=False)
    stage.send({"type": "error", "error": {"code": "websocket_connection_limit_reached"}})
    session.until(lambda ledger: ledger.errors or None, 10, lambda: "no limit")
    with pytest.raises(NotConnected, match=r"nothing was sent\. Connect again"):
        session.lane("a").create("x")
    session.close()


def test_a_line_that_is_lost_after_the_60_minutes_of_another_is_lost_and_no_more(stage, session):
    stage.send({"type": "error", "error": {"code": "websocket_connection_limit_reached"}})
    stage.close(1001, "limit")
    session.until(lambda ledger: ledger.connections.get(2), 10, lambda: "no second")
    session.lane("a").create("hello")
    stage.expect()  # the server has met the new connection, too
    lose(stage, session)
    assert [note["by"] for note in notes(session, "closed")] == ["limit", "network"]
    first, second = notes(session, "reconnecting")
    assert first["delay_s"] == 0 < second["delay_s"]
    assert "60 minutes" in first["reason"]
    assert "it was lost" in second["reason"]


def test_an_idle_connection_is_rotated_before_the_limit():
    policy = Reconnect(attempts=3, first_s=0.01, rotate_s=0.05)
    with Simulator("planner", speed=0) as simulator:
        session = connect(simulator.base_url, quiet=True, journal=False, reconnect=policy)
        session.until(
            lambda ledger: True if len(ledger.connections) > 2 else None, 10, lambda: "no rotation"
        )
        closed = notes(session, "closed")[0]
        assert (closed["by"], closed["reason"]) == ("client", "rotated before the limit")
        session.close()


def test_a_busy_connection_is_not_rotated(stage):
    policy = Reconnect(rotate_s=0.05)
    session = connect(stage.base_url, quiet=True, journal=False, reconnect=policy)
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    with pytest.raises(errors.WaitTimeout):
        lane.wait(0.4)
    assert len(session.trace.frames.connections) == 1
    ended(stage, "r1", [message("hi")])
    session.until(
        lambda ledger: True if len(ledger.connections) > 1 else None, 10, lambda: "no rotation"
    )
    session.close()


def test_a_closed_lane_that_still_gets_its_response_is_not_rotated(stage):
    policy = Reconnect(rotate_s=0.05)
    session = connect(stage.base_url, quiet=True, journal=False, reconnect=policy)
    lane = session.lane("a")
    response = lane.create("hello")
    stage.expect()
    created(stage, "r1")
    session.until(lambda ledger: ledger.responses.get("r1"), 10, lambda: "it did not begin")
    lane.close()
    with pytest.raises(errors.WaitTimeout):
        session.until(lambda ledger: ledger.connections.get(2), 0.4, lambda: "not rotated")
    ended(stage, "r1", [message("hi")])
    session.until(lambda ledger: ledger.connections.get(2), 10, lambda: "no rotation")
    assert (response.status, response.text) == ("completed", "hi")
    session.close()


def test_what_is_said_while_a_connection_is_replaced_is_refused_before_it_is_sent(stage):
    policy = Reconnect(rotate_s=3600)
    session = connect(stage.base_url, quiet=True, journal=False, reconnect=policy)
    lane = session.lane("a")
    stage.pause_reading()  # the goodbye is not answered
    session.act(session.core.reconnector._due)
    while session.read(lambda _: not session.core.line.leaving):
        time.sleep(0.001)
    with pytest.raises(NotConnected, match=r"is replacing its connection.*try again"):
        lane.create("hello")
    session.until(lambda ledger: ledger.connections.get(2), 10, lambda: "no second")
    assert [entry for entry in session.trace if entry.kind == "out"] == []
    session.close()


def test_what_is_said_just_before_a_connection_is_replaced_holds_it(stage):
    policy = Reconnect(rotate_s=3600)
    session = connect(stage.base_url, quiet=True, journal=False, reconnect=policy)
    lane = session.lane("a")

    def due_and_said():
        session.core.reconnector._due()
        return session.core.sender.create(lane._settings, "hello", Overrides({}))

    response = Response(session, session.act(due_and_said))
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [message("hi")])
    assert response.wait(10).status == "completed"
    session.until(lambda ledger: ledger.connections.get(2), 10, lambda: "no rotation")
    session.close()


def test_closing_ends_the_attempts(stage):
    slow = Reconnect(attempts=5, first_s=60)
    session = connect(stage.base_url, quiet=True, journal=False, reconnect=slow)
    stage.drop()
    session.until(lambda ledger: ledger.reconnecting, 10, lambda: "nothing tried")
    with pytest.raises(NotConnected, match="connecting again"):
        session.lane("a").create("x")
    session.close()
    assert session.closed


def test_a_word_that_is_not_offered_is_refused(stage, session):
    lane = session.lane("a")
    with pytest.raises(LaneBusy, match="needs no recovery"):
        lane.recover()
    lane.create("hello")
    stage.expect()
    lose(stage, session)
    with pytest.raises(InvalidInput, match="Offered: 'leave'"):
        lane.recover("continue")
    with pytest.raises(InvalidInput, match="below 0"):
        Reconnect(attempts=-1)


def cut_off_continuation(stage, session, lane, *, items=()):
    """A continuation whose response began and was cut off."""
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [call("call_1")])
    lane.wait(10)
    lane.fill("call_1", output="18")
    sent = lane.send_continuation("and be brief")
    first = stage.expect()
    created(stage, "r2", previous="r1")
    for index, item in enumerate(items):
        done = {"type": "response.output_item.done", "output_index": index, "item": item}
        stage.send({**done, "stream_id": "a"})
    session.until(
        lambda ledger: (
            True
            if "r2" in ledger.responses and len(ledger.responses["r2"].items) == len(items)
            else None
        ),
        10,
        lambda: "no r2",
    )
    return sent, first


def test_the_answers_of_a_continuation_that_was_cut_off_can_go_again(stage, session):
    lane = session.lane("a")
    sent, first = cut_off_continuation(stage, session, lane)
    lose(stage, session)
    assert lane.recovery.choices[0].says == (
        "continue from r1, which the service has stored, with its answers; it leaves r2: what was "
        "said to it can be sent again"
    )
    lane.recover("continue")
    assert lane.state == "waiting_input", "the service still waits for the answers of r1"
    assert lane.required_input[0].item["output"] == "18"
    again = sent.send_again()
    assert stage.expect() == first, "with the words that went along"
    created(stage, "r3", previous="r1")
    ended(stage, "r3", [message("ok")], previous="r1")
    assert again.wait(10).status == "completed"
    assert lane.wait(10) == "idle"
    r1 = session.read(lambda ledger: ledger.responses["r1"])
    assert r1.successor.id == "r3"
    assert [stub.state for stub in r1.required.values()] == ["confirmed"]
    with pytest.raises(LaneBusy, match="already sent again"):
        sent.send_again()


def test_words_that_were_cut_off_can_go_again(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [message("hi")])
    lane.wait(10)
    more = lane.create("more")
    stage.expect()
    created(stage, "r2", previous="r1")
    session.until(lambda ledger: ledger.responses.get("r2"), 10, lambda: "no r2")
    lose(stage, session)
    lane.recover("continue")
    more.send_again()
    request = stage.expect()
    assert (request["previous_response_id"], request["input"]) == ("r1", "more")


def test_what_was_filled_for_a_response_that_was_cut_off_is_repeated_first(stage, session):
    lane = session.lane("a")
    cut_off_continuation(stage, session, lane, items=[call("call_2")])
    lane.fill("call_2", output="19")
    lose(stage, session)
    assert [choice.word for choice in lane.recovery.choices] == ["rebuild", "continue", "leave"]
    lane.recover().create("go on")
    outputs = [item.get("output") for item in stage.expect()["input"]]
    assert [output for output in outputs if output] == ["18", "19"]


def test_a_repeated_conversation_takes_the_answers_along_once(stage, session):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [call("call_1")])
    lane.wait(10)
    lane.fill("call_1", output="18")
    lost = lane.send_continuation()
    stage.expect()
    lose(stage, session)
    lane.recover("rebuild")
    lost.send_again()
    request = stage.expect()
    assert [item.get("output") for item in request["input"] if item.get("output")] == ["18"]
    with pytest.raises(NothingToContinue):
        lane.send_continuation()
    states = session.read(
        lambda ledger: [s.state for s in ledger.responses["r1"].required.values()]
    )
    assert states == ["stale"]


def test_an_automatic_continuation_is_not_sent_again_by_itself(stage):
    @tool(policy="auto")
    def get_weather(city: str) -> str:
        """Weather."""
        return "18"

    session = connect(stage.base_url, quiet=True, journal=False, reconnect=SOON)
    lane = session.lane("a", tools=[get_weather])
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [call("call_1", arguments='{"city":"Lisbon"}')])
    stage.expect()
    created(stage, "r2", previous="r1")
    session.until(lambda ledger: ledger.responses.get("r2"), 10, lambda: "no r2")
    lose(stage, session)
    lane.recover("continue")
    assert lane.state == "waiting_input"
    assert stage.nothing_came()
    lane.send_continuation()
    assert stage.expect()["input"][0]["output"] == "18"
    session.close()


@pytest.mark.parametrize("word", ["continue", "rebuild"])
def test_a_request_that_repeated_the_conversation_goes_again_without_doing_so_twice(
    stage, session, word
):
    lane = session.lane("a")
    lane.create("hello")
    stage.expect()
    created(stage, "r1")
    ended(stage, "r1", [call("call_1")])
    lane.wait(10)
    lane.fill("call_1", output="18")
    lane.send_continuation()
    stage.expect()
    created(stage, "r2", previous="r1")
    ended(stage, "r2", [message("18 it is")], previous="r1")
    lane.wait(10)
    lose(stage, session)
    lane.recover("rebuild")
    lost = lane.create("more")
    first = stage.expect()
    lose(stage, session)
    lane.recover(word)
    lost.send_again()
    request = stage.expect()
    if word == "rebuild":
        assert request["input"] == first["input"]
        assert "previous_response_id" not in request
    else:
        assert request["input"] == [{"type": "message", "role": "user", "content": "more"}]
        assert request["previous_response_id"] == "r2"
    states = session.read(lambda ledger: list(ledger.requests.values()))
    again = Ledger(session.trace).requests
    for state in states:
        assert again[state.key].own_input == state.own_input
    assert [state.repeated for state in states] == [0, 0, 4, 4 if word == "rebuild" else 0]
    assert [len(state.answers) for state in states] == [0, 1, 0, 0]
