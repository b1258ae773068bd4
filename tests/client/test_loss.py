"""What a lost connection leaves behind, and what a closed one does."""

from __future__ import annotations

import json
import threading

import pytest

from steer_nb import connect, errors, load
from steer_nb.client import transport as transport_module
from steer_nb.client.endpoint import of_url
from steer_nb.client.service import Responses
from steer_nb.client.session import Session
from steer_nb.client.transport import NotWritten, SocketClosed
from steer_nb.simulator import Simulator
from tests.client.stage import accepted, created, delta, done, ended, error, function_call, when


def lost(session):
    when(session, lambda ledger: session.closed)


def test_a_dropped_line_leaves_everything_unknown_and_nothing_lost(stage, session):
    lane, other = session.lane("a"), session.lane("b")
    running = lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), delta("Half", "a"))
    steer = lane.steer("y")
    stage.expect()
    waiting = other.create("z")
    stage.expect()
    stage.drop()
    assert steer.wait(10).state == "unknown"
    assert running.wait(10).status == "truncated"
    assert running.text == "Half"
    assert waiting.wait(10).status == "unknown"
    assert lane.wait(10) == other.wait(10) == "detached"
    assert session.closed
    (note,) = [entry.data for entry in session.trace if entry.note == "closed"]
    assert (note["code"], note["by"]) == (1006, "network")
    for send in (lambda: lane.create("x"), lambda: lane.steer("x"), lambda: lane.send("x")):
        with pytest.raises(errors.NotConnected, match=r"it was lost \(1006.*connect"):
            send()
    with pytest.raises(errors.NotConnected):
        session.lane("new")
    assert session.lane("a") is lane  # what there is can still be looked at
    assert not session.status()["connected"]
    assert "closed" in repr(session)


def test_answers_can_still_be_saved_after_a_loss_but_not_sent(stage, session):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), ended("resp_1", function_call("call_1"), lane="a"))
    lane.wait(10)
    stage.drop()
    lost(session)
    assert lane.fill("call_1", output="18").state == "filled"
    with pytest.raises(errors.NotConnected):
        lane.send_continuation()
    assert json.loads(lane.preview_continuation())["input"][0]["output"] == "18"
    assert [e.note for e in load(session.journal_path)][-1] == "filled"


def test_a_continuation_whose_answer_never_came_is_not_sent_again(stage, session):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"), ended("resp_1", function_call("call_1"), lane="a"))
    lane.wait(10)
    lane.fill("call_1", output="18")
    response = lane.send_continuation()
    stage.expect()
    stage.drop()
    assert response.wait(10).status == "unknown"
    assert lane.responses[0].required_input[0].state == "sent"
    assert lane.required_input == ()


@pytest.mark.parametrize(
    ("code", "reason", "words"),
    [
        (1001, "going away", r"the service closed it \(1001 going away\)"),
        (1011, "", r"the service closed it \(1011\)"),
        (
            1009,
            "too big",
            r"was create-1 with \d+ bytes, most of it in input \(\d+ bytes\).*: send less",
        ),
    ],
)
def test_how_the_service_closed_is_said(stage, session, code, reason, words):
    lane = session.lane("a")
    lane.create("x" * 50)
    stage.expect()
    stage.close(code, reason)
    lost(session)
    with pytest.raises(errors.NotConnected, match=words):
        lane.create("y")
    (note,) = [entry.data for entry in session.trace if entry.note == "closed"]
    assert note == {"code": code, "reason": reason, "by": "server"}


def test_the_60_minutes_are_told_apart(stage, session):
    stage.send(error("websocket_connection_limit_reached"))
    stage.close(1001, "limit")
    lost(session)
    with pytest.raises(errors.NotConnected, match="after its 60 minutes"):
        session.lane().create("x")
    assert [e.data["by"] for e in session.trace if e.note == "closed"] == ["limit"]


def test_closing_says_1000_and_is_done_once(stage, session):
    lane = session.lane("a")
    response = lane.create("x")
    stage.expect()
    threads = [threading.Thread(target=session.close) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    session.close()
    assert stage.closing() == (1000, "session closed")
    assert [e.data for e in session.trace if e.note == "closed"] == [
        {"code": 1000, "reason": "session closed", "by": "client"}
    ]
    assert response.wait(10).status == "unknown"
    with pytest.raises(errors.NotConnected, match="Session default is closed"):
        lane.create("y")
    assert load(session.journal_path) == session.trace


def test_a_context_manager_closes_also_after_an_error(stage):
    with pytest.raises(ZeroDivisionError), connect(stage.base_url, quiet=True) as session:
        raise ZeroDivisionError
    assert session.closed
    assert stage.closing()[0] == 1000


def test_a_server_that_does_not_answer_a_close_does_not_hang(stage, session, monkeypatch):
    monkeypatch.setattr("steer_nb.client.socket_line._CLOSE_SECONDS", 0.1)
    stage.pause_reading()
    session.close()
    assert session.closed


def test_events_that_come_while_it_closes_are_kept(stage):
    with Simulator("planner", speed=0) as simulator:
        session = connect(simulator.base_url, quiet=True, reconnect=False)
        lane = session.lane("a")
        lane.create("x")
        when(session, lambda g: g.responses)
        session.close()
        assert load(session.journal_path) == session.trace


# -- a transport of one's own --------------------------------------------------------------------


class Paper:
    """A transport without a network: the test decides what becomes of each message."""

    def __init__(self, *, written=True):
        self.written = written
        self.sent = []
        self.gone = None

    async def connect(self, endpoint):
        import asyncio

        self.gone = asyncio.Event()
        self.events = asyncio.Queue()

    async def send(self, text):
        if not self.written:
            raise NotWritten
        self.sent.append(json.loads(text))

    async def recv(self):
        event = await self.events.get()
        if isinstance(event, Exception):
            raise event
        return event

    async def close(self, code, reason):
        self.events.put_nowait(SocketClosed(code, reason, "client"))


def on_paper(**options):
    paper = Paper(**options)
    session = Session("paper", of_url("http://127.0.0.1:1"), Responses(lambda: paper))
    session.open(None)
    return session, paper


def test_what_certainly_never_left_is_unsent_and_can_be_sent_again():
    session, _ = on_paper(written=False)
    lane = session.lane("a")
    response = lane.create("x")
    with pytest.raises(errors.NotConnected, match=r"create-1 never left.*send it anew"):
        response.wait(10)
    assert response.status == "unsent"
    assert [e.data["key"] for e in session.trace if e.note == "unsent"] == ["create-1"]
    assert lane.create("x").key == "create-2"
    session.close()


def test_a_steer_that_never_left_has_failed_not_unknown():
    session, paper = on_paper()
    lane = session.lane("a")
    lane.create("x")
    session.act(lambda: paper.events.put_nowait(json.dumps(created("resp_1", lane="a"))))
    when(session, lambda g: g.responses.get("resp_1"))
    paper.written = False
    steer = lane.steer("y")
    assert steer.wait(10).state == "failed"
    assert steer.failure_code == "not_sent"
    session.close()


def test_a_binary_message_is_kept_and_counted_as_odd():
    session, paper = on_paper()
    session.act(lambda: paper.events.put_nowait(json.dumps(created("resp_1")).encode() + b"\xff"))
    session.act(lambda: paper.events.put_nowait(json.dumps(created("resp_2")).encode()))
    when(session, lambda g: g.responses.get("resp_2"))
    kinds = [problem.kind for problem in session.trace.problems]
    assert kinds.count("bad_json") >= 2
    session.close()


def test_a_fault_in_the_fold_does_not_end_the_reading(monkeypatch):
    session, paper = on_paper()
    fold = session.core.recorder._apply

    def faulty(entry):
        if entry.kind == "in" and "resp_bad" in entry.raw:
            raise KeyError("resp_bad")
        return fold(entry)

    monkeypatch.setattr(session.core.recorder, "_apply", faulty)
    for name in ("resp_bad", "resp_good"):
        event = json.dumps(created(name))
        session.act(lambda event=event: paper.events.put_nowait(event))
    when(session, lambda g: g.responses.get("resp_good"))
    assert ("local", "internal: KeyError('resp_bad')") in [
        (problem.kind, problem.detail) for problem in session.trace.problems
    ]
    session.close()


def test_garbage_from_the_service_is_recorded_and_harmless(stage, session):
    stage.send("not json", "[1,2]", '{"type":5}', '{"type":"response.created"}', "")
    stage.send({"type": "response.from.the.future", "response_id": "resp_x"})
    stage.send(created("resp_1"), done(function_call("call_1")), ended("resp_1"))
    when(session, lambda g: g.responses.get("resp_1"))
    assert session.lane().wait(10) in ("idle", "waiting_input")
    raws = [entry.raw for entry in session.trace if entry.kind == "in"]
    assert raws[:5] == ["not json", "[1,2]", '{"type":5}', '{"type":"response.created"}', ""]


def test_a_large_message_comes_through(stage, session):
    lane = session.lane("a")
    response = lane.create("x")
    stage.expect()
    big = "x" * (3 * 2**20)
    stage.send(created("resp_1", lane="a"), delta(big, "a"), ended("resp_1", lane="a"))
    assert response.wait(10).text == big
    assert transport_module._MAX_SIZE > 2**27


def test_accepted_then_lost_is_unknown_not_failed(stage, session):
    lane = session.lane("a")
    lane.create("x")
    stage.expect()
    stage.send(created("resp_1", lane="a"))
    steer = lane.steer("y")
    stage.expect()
    stage.send(accepted("s_1", "resp_1"))
    when(session, lambda g: g.steers["steer-2"].steer_id)
    stage.close(1012, "restart")
    assert steer.wait(10).state == "unknown"
