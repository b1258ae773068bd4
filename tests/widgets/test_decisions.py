"""After a lost connection: what a person sees of it, and the buttons that decide."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

import steer_nb
from steer_nb.errors import ServerRefused, TraceError
from steer_nb.simulator import AwaitSteer, Fail, RefuseSteers, Reject, Say, Simulator, scenario
from steer_nb.trace import Header, Trace, load
from steer_nb.widgets import LaneView, html_for, render
from steer_nb.widgets.decisions import to_decide
from steer_nb.widgets.saybox import SayBox
from steer_nb.widgets.text import shortened
from tests.widgets.forming import SOON, buttons, cut, shown, until
from tests.widgets.story import Story, mock_planner
from tests.widgets.talking import press, types
from tests.widgets.test_hostile import HOSTILE, check
from tests.widgets.test_render import card, told

if TYPE_CHECKING:
    from collections.abc import Iterator

    import ipywidgets as w

    from steer_nb import Lane, Session
    from steer_nb.ledger.state import RequestState
    from steer_nb.simulator import Step, Turn
    from steer_nb.widgets.press import PressButton


# -- pure ------------------------------------------------------------------------------------------


def lost_planner() -> Story:
    """The lane of the mock, its connection lost and made anew."""
    story = mock_planner()
    story.lost(8.0)
    story.reconnected(9.0)
    return story


def test_attempts_to_connect_again_are_seen_on_card_and_board() -> None:
    story = mock_planner()
    story.lost(8.0)
    story.note(8.1, "reconnecting", attempt=2, attempts=5, delay_s=1.0, reason="<b>no</b> route")
    for html in (card(story), render.board(story.ledger, 9.0)):
        text = told(html)
        assert "◔ connecting again (attempt 2 of 5) <b>no</b> route · next try in 1.00 s" in text
    assert "attempt 2 of 5" in told(render.board(story.ledger, 9.0))
    text = render.lane_plain(story.ledger, story.lane, 9.0)
    assert "◔ connecting again (attempt 2 of 5): <b>no</b> route" in text
    assert "connecting again (attempt 2 of 5)" in render.board_plain(story.ledger)
    # Nothing can be done now, so nothing is offered.
    assert "%steer resume" not in told(card(story))
    assert not to_decide(story.ledger, story.lane)


def test_a_lane_that_sent_nothing_connects_again_too_and_is_idle_then() -> None:
    story = Story()
    story.note(0.5, "lane", lane="planner")
    story.lost(1.0)
    story.note(1.1, "reconnecting", attempt=1, attempts=5, delay_s=0, reason="gone")
    assert "◔ connecting again" in told(card(story))
    story.reconnected(2.0)
    assert "○ idle" in told(card(story))


def test_giving_up_says_why_and_what_to_do() -> None:
    story = mock_planner()
    story.lost(8.0)
    story.note(8.1, "reconnecting", attempt=5, attempts=5, delay_s=1.0, reason="x")
    story.note(9.0, "gave_up", reason="Nothing listens at ws://127.0.0.1:1")
    text = told(card(story))
    assert "▲ gave up connecting again Nothing listens at ws://127.0.0.1:1" in text
    assert "%steer recover takes it up from its journal" in text
    assert "%steer resume" not in text
    assert "resp_2 was being written" in text
    assert "gave up" in told(render.board(story.ledger, 9.0))
    assert "gave up" in render.lane_plain(story.ledger, story.lane, 9.0)


def test_a_detached_lane_says_what_is_true_and_what_to_type() -> None:
    story = lost_planner()
    text = told(card(story))
    assert "resp_2 was being written; what came is kept, and whether it ended is unknown." in text
    assert "%steer resume planner continue" in text
    assert "continue from resp_1, which the service has stored" in text
    assert "%steer resume planner rebuild" in text
    assert "%steer resume planner leave" in text
    assert 'In Python: lane.recover("continue")' in text
    key = next(s.key for s in story.ledger.steers.values() if s.undecided)
    assert "“We are two adults and a child” · outcome unknown: send again or drop" in text
    assert f"%steer again {key}" in text
    assert f"%steer drop {key}" in text
    assert "outcome unknown: the connection was lost; send again or drop" in text
    lines = render.lane_plain(story.ledger, story.lane, 9.0)
    assert "%steer resume planner continue: continue from resp_1" in lines
    assert f"%steer again {key}, or %steer drop {key}" in lines


def test_the_service_can_be_asked_and_what_it_said_is_seen() -> None:
    story = lost_planner()
    text = told(card(story))
    assert "check ask the service what became of it" in text
    assert "%steer check planner" in text
    lines = render.lane_plain(story.ledger, story.lane, 9.0)
    assert "%steer check planner: ask the service what became of it" in lines
    body = {"id": "resp_2", "status": "in_progress", "previous_response_id": "resp_1"}
    story.note(
        9.2, "checked", lane="planner", response_id="resp_2", response=body, input_items=None
    )
    text = told(card(story))
    assert "resp_2 is still being written, says the service: ask again later." in text
    assert "%steer check planner" in text
    story.note(
        9.4,
        "checked",
        lane="planner",
        response_id="resp_2",
        response={**body, "status": "completed", "output": []},
        input_items=None,
    )
    text = told(card(story))
    assert "resp_2 was cut off, and ended there: completed, says the service." in text
    assert "continue from resp_2, which the service has stored" in text
    assert "%steer check" not in text


def test_a_lane_without_unknown_messages_asks_only_how_it_goes_on() -> None:
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    story.ended(0.3, "resp_1")
    story.lost(1.0)
    story.reconnected(2.0)
    assert "to decide: continue, rebuild or leave" in told(render.board(story.ledger, 3.0))
    assert "▲ connection lost" in told(card(story))
    story.note(3.0, "lane_recovered", lane="planner", choice="continue", base="resp_1")
    assert "○ idle" in told(card(story))
    assert "%steer resume" not in told(card(story))


def test_what_was_decided_is_said_and_offered_no_more() -> None:
    story = lost_planner()
    request = story.create(9.5, "next").data["key"]
    story.lost(10.0)
    story.reconnected(11.0)
    key = next(s.key for s in story.ledger.steers.values() if s.undecided)
    assert len(to_decide(story.ledger, story.lane).messages) == 2
    story.note(11.5, "dropped", key=key)
    story.note(11.6, "dropped", key=request)
    text = told(card(story))
    assert "outcome unknown: the connection was lost → dropped" in text
    assert text.count("→ dropped") == 2
    assert "send again or drop" not in text
    assert "▲ connection lost" in text


def test_what_was_sent_again_names_the_new_message() -> None:
    story = lost_planner()
    key = next(s.key for s in story.ledger.steers.values() if s.undecided)
    again = story.create(9.5, "We are two adults and a child", again=key).data["key"]
    text = told(card(story))
    assert f"outcome unknown: the connection was lost → sent again as {again}" in text
    assert to_decide(story.ledger, story.lane).messages == ()


def test_an_idle_lane_still_tells_what_is_to_decide() -> None:
    story = lost_planner()
    story.note(9.5, "lane_recovered", lane="planner", choice="leave", base=None)
    assert "1 steer to decide on" in told(render.board(story.ledger, 10.0))
    assert "%steer again" in told(card(story))
    assert "%steer resume" not in told(card(story))


def test_a_lost_continuation_is_counted_by_its_answers() -> None:
    story = Story()
    story.create(0.1, "x")
    story.created(0.2, "resp_1")
    call = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "f", "arguments": "{}"}
    story.item(0.3, 0, call, done=0.3)
    story.ended(0.4, "resp_1", output=[call])
    answer = {"type": "function_call_output", "call_id": "c1", "output": "18"}
    story.create(0.5, [answer], previous_response_id="resp_1")
    story.lost(1.0)
    story.reconnected(2.0)
    (message,) = to_decide(story.ledger, story.lane).messages
    assert (message.what, message.text) == ("continuation", "[1 answer]")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_text_here_too(name: str) -> None:
    text = HOSTILE[name]
    story = Story()
    story.create(0.1, text)
    story.created(0.2, "resp_1")
    story.steer(0.3, "resp_1", text)
    story.lost(1.0)
    story.note(1.1, "reconnecting", attempt=1, attempts=5, delay_s=0.5, reason=text)
    check(card(story))
    check(render.board(story.ledger, 2.0))
    story.note(1.2, "gave_up", reason=text)
    check(card(story))
    story.reconnected(2.0)
    check(card(story))
    assert to_decide(story.ledger, story.lane).messages


def test_a_loaded_trace_shows_the_same(tmp_path: Any) -> None:
    story = lost_planner()
    trace = Trace(Header(steer_nb=1, trace_id="t" * 32, started_at=1.8e9), story.entries)
    path = trace.save(tmp_path / "run.jsonl")
    ledger = load(path).ledger
    lane = ledger.lanes["planner"]
    assert told(render.lane_card(ledger, lane, story.now)) == told(card(story))


def test_a_failed_steer_is_given_back_until_it_is_decided() -> None:
    story = mock_planner()
    about = {"id": "steer_2", "previous_response_id": "resp_2", "input": "x"}
    error = {"type": "e", "code": "response_already_completed", "message": "Too late."}
    story.event(7.5, "response.steer.failed", steer=about, error=error)
    (back,) = to_decide(story.ledger, story.lane).returned
    assert (back.text, back.verb) == ("We are two adults and a child", "Send as next turn")
    assert back.why == "response_already_completed: Too late."
    assert back.fresh
    assert back.whole
    assert not to_decide(story.ledger, story.lane), "nothing has to be decided"
    story.create(8.0, "something else")
    (back,) = to_decide(story.ledger, story.lane).returned
    assert not back.fresh
    story.note(8.5, "dropped", key=back.key)
    assert to_decide(story.ledger, story.lane).returned == ()
    assert "Too late. → dropped" in told(card(story))


def test_a_request_that_never_left_is_given_back_until_it_is_decided() -> None:
    story = Story()
    story.note(0.5, "lane", lane="planner")
    sent = story.create(1.0, "Plan a trip.")
    story.note(1.1, "unsent", key=sent.data["key"], reason="the disk is full")
    (back,) = to_decide(story.ledger, story.lane).returned
    assert (back.what, back.text, back.why) == (
        "request",
        "Plan a trip.",
        "not_sent: the disk is full",
    )
    assert back.fresh
    assert back.whole
    story.note(2.0, "dropped", key=back.key)
    assert to_decide(story.ledger, story.lane).returned == ()


# -- the buttons -----------------------------------------------------------------------------------


@scenario("patient-box", "Waits for a steer when it is told to wait, and repeats what it was told.")
def patient(turn: Turn) -> Iterator[Step]:
    if turn.steers:
        yield Say(f"Steered: {turn.steers[-1]}")
        return
    if turn.prompt.startswith("refuse "):
        yield RefuseSteers(turn.prompt.removeprefix("refuse "))
        yield Say("First.")
        yield AwaitSteer(1, count=2)  # the one that is refused counts
        return
    if turn.prompt.startswith("refused"):
        yield Reject("invalid_prompt", "The prompt was flagged.")
        return
    yield Say(turn.prompt)
    if turn.prompt.startswith("fail"):
        yield Fail("server_error", "Oops.")
    if "wait" in turn.prompt:
        yield AwaitSteer(20)


@pytest.fixture
def session() -> Iterator[Session]:
    with steer_nb.connect(
        simulate=Simulator(patient, speed=0), journal=False, quiet=True, reconnect=SOON
    ) as made:
        yield made


class Shown:
    """A text box that follows its lane, as a view makes it do."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.box = SayBox(lane)
        self._unsubscribe = lane.session.subscribe(self._look)
        lane.session.read(lambda _: self._look())

    def _look(self) -> None:
        view = LaneView(self.lane.session, self.lane)._stage.drawing()
        self.box.refresh(view.verb, view.decisions, view.draft, cancels=view.cancels)

    @property
    def decide(self) -> w.Widget:
        return self.box.decide.widget

    def buttons(self) -> dict[str, PressButton]:
        return buttons(self.decide)

    def click(self, name: str) -> None:
        until(lambda: name in self.buttons())
        self.buttons()[name].click()

    @property
    def status(self) -> str:
        return str(self.box.field.said)


def broken_off(session: Session) -> tuple[Lane, Shown]:
    """A lane whose response and steer were cut."""
    lane = session.lane("planner")
    lane.create("Hello.").wait(10)
    lane.wait(10)
    shown = Shown(lane)
    lane.create("Please wait.")
    until(lambda: lane.state == "running")
    return lane, shown


def test_the_box_appears_with_each_choice_and_vanishes(session: Session) -> None:
    lane, box = broken_off(session)
    assert box.decide.layout.display == "none"
    cut(session)
    until(lambda: len(box.buttons()) == 4)
    assert box.decide.layout.display is None
    assert list(box.buttons()) == ["Ask the service", "Continue", "Rebuild", "Leave"]
    offer = lane.recovery
    for choice in offer.choices:
        assert box.buttons()[choice.word.capitalize()].tooltip == choice.says
        assert shortened(choice.says) in shown(box.decide)
    box.click("Continue")
    until(lambda: lane.recovery is None)
    until(lambda: "Continue from resp_" in box.status)
    until(lambda: not box.box.field.busy)
    until(lambda: list(box.buttons()) == ["Send again", "Drop"])
    assert "Request: " in shown(box.decide)
    assert "its response was cut off" in shown(box.decide)
    assert lane.create("More.").wait(10).status == "completed"
    until(lambda: box.decide.layout.display == "none")


def test_many_clicks_in_many_displays_are_one_action(session: Session) -> None:
    lane, box = broken_off(session)
    other = Shown(lane)
    session.core.line.transport.send = _nowhere  # type: ignore[method-assign]
    lane.steer("Keep <it> short & sweet")
    cut(session)
    for one in (box, other):
        until(lambda one=one: "Send again" in one.buttons())
        assert "Keep &lt;it&gt; short &amp; sweet" in shown(one.decide)
    box.click("Leave")
    until(lambda: "Leave" not in box.buttons())
    until(lambda: "Leave" not in other.buttons())
    # As fast as a person clicks, in two displays at once.
    clicks = [one.buttons()["Send again"].click for one in (box, other, box)]
    threads = [threading.Thread(target=click) for click in clicks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    until(lambda: not box.buttons() and not other.buttons())
    lane.wait(10)
    assert sent(session).count("Keep <it> short & sweet") == 2, "the lost one, and one more"
    until(lambda: any("was already sent again" in one.status for one in (box, other)))


def test_an_unknown_message_is_dropped(session: Session) -> None:
    lane, box = broken_off(session)
    session.core.line.transport.send = _nowhere  # type: ignore[method-assign]
    steer = lane.steer("Never mind")
    cut(session)
    box.click("Drop")
    until(lambda: "Drop" not in box.buttons())
    until(lambda: "is dropped: it is not sent again." in box.status)
    assert session.status()["to_decide"] == ["lane planner"]
    assert "→ dropped" in html_for(steer) or "dropped" in html_for(steer)


def test_what_the_client_refuses_is_said_kindly(session: Session) -> None:
    lane, box = broken_off(session)
    session.core.line.transport.send = _nowhere  # type: ignore[method-assign]
    lane.steer("Never mind")
    cut(session)
    box.click("Send again")  # before it is said how the lane goes on
    until(lambda: "Say how it goes on" in box.status or "goes on" in box.status)
    assert box.box.field.bad
    until(lambda: not box.buttons()["Send again"].disabled)


def test_the_service_is_asked_by_a_click(session: Session) -> None:
    lane, box = broken_off(session)
    session.core.line.transport.send = _nowhere  # type: ignore[method-assign]
    steer = lane.steer("Keep <it> short")
    cut(session)
    until(lambda: "Ask the service" in box.buttons())
    assert next(iter(box.buttons())) == "Ask the service"
    second = lane.responses[-1]
    before = sent(session)

    def asked() -> bool:
        if second.status == "truncated" and not box.buttons()["Ask the service"].disabled:
            box.click("Ask the service")
        return second.status == "cancelled"

    until(asked)
    until(lambda: f"{second.id} ended: cancelled." in box.status)
    assert f"{steer.key} stays unknown: no response is known that could hold it." in box.status
    # Nothing more can be learnt by asking.
    until(lambda: "Ask the service" not in box.buttons())
    assert list(box.buttons()) == ["Continue", "Rebuild", "Leave", "Send again", "Drop"]
    assert sent(session) == before
    until(lambda: not box.buttons()["Continue"].disabled)
    box.click("Continue")
    until(lambda: lane.recovery is None)


def test_clicks_in_two_displays_ask_once(session: Session, monkeypatch: Any) -> None:
    from steer_nb.client import asking

    lane, box = broken_off(session)
    other = Shown(lane)
    cut(session)
    go, asking_now = threading.Event(), []
    real = asking.ask

    def slow(*args: Any, **more: Any) -> Any:
        asking_now.append(args[1])
        assert go.wait(10)
        return real(*args, **more)

    monkeypatch.setattr("steer_nb.client.checking.ask", slow)
    for one in (box, other):
        until(lambda one=one: "Ask the service" in one.buttons())
    box.click("Ask the service")
    until(lambda: asking_now)
    assert box.buttons()["Ask the service"].disabled
    box.click("Ask the service")
    threading.Thread(target=other.buttons()["Ask the service"].click).start()
    until(lambda: "is asking the service already" in other.status)
    assert len(asking_now) == 1
    assert lane.recovery is not None, "the I/O thread is free"
    go.set()
    until(lambda: not any(one.disabled for one in box.buttons().values()))


def test_it_is_not_offered_where_it_cannot_help(session: Session) -> None:
    lane = session.lane("planner", store=False)
    box = Shown(lane)
    lane.create("Please wait.")
    until(lambda: lane.state == "running")
    cut(session)
    until(lambda: "Leave" in box.buttons())
    assert "Ask the service" not in box.buttons()
    view = LaneView(session, lane)
    assert "was not stored (store is false), so the service cannot be asked about it" in str(view)


async def _nowhere(_: str) -> None:
    """A socket whose other end is gone, and does not say so."""


def sent(session: Session) -> list[Any]:
    return [
        json.loads(entry.raw).get("input")
        for entry in session.trace
        if entry.kind == "out" and entry.raw
    ]


# -- steers that failed ----------------------------------------------------------------------------


def refused(session: Session, code: str = "response_already_completed") -> tuple[Lane, Shown]:
    """A lane whose response is being written and takes no steers."""
    lane = session.lane("planner")
    shown = Shown(lane)
    lane.create(f"refuse {code}")
    until(lambda: lane.state == "running" and lane.text)
    return lane, shown


def test_a_failed_steers_text_is_back_in_the_empty_box(session: Session) -> None:
    lane, box = refused(session)
    steer = lane.steer("Keep it <short>")
    until(lambda: box.box.field.value == "Keep it <short>")
    assert "Your steer failed, and is back in the box. response_already_completed" in box.status
    assert box.box.field.verb == "Steer"
    assert not box.buttons(), "it stands in the field, and not beside it"
    go(session)
    until(lambda: box.box.field.verb == "Send as next turn")
    press(box.box)
    until(lambda: lane.text == "Keep it <short>")
    until(lambda: box.box.field.value == "")
    assert "Sent as the next turn." in box.status
    until(lambda: box.box.field.verb == "Send")
    decision = session.read(lambda ledger: ledger.steers[steer.key].decision)
    assert decision == "sent_again"


def test_other_failures_are_sent_again(session: Session) -> None:
    lane, box = refused(session, "too_many_pending_steers")
    lane.steer("Keep it short")
    until(lambda: box.box.field.value)
    go(session)
    until(lambda: box.box.field.verb == "Send again")


def test_what_is_being_typed_is_never_overwritten(session: Session) -> None:
    lane, box = refused(session)
    types(box.box, "half a sen")
    lane.steer("Keep it short")
    until(lambda: "Send as next turn" in box.buttons())
    assert box.box.field.value == "half a sen"
    assert "“Keep it short”" in shown(box.decide)
    assert "response_already_completed" in shown(box.decide)
    go(session)
    box.click("Send as next turn")
    until(lambda: lane.text == "Keep it short")
    until(lambda: not box.buttons())
    assert box.box.field.value == "half a sen"


def test_a_text_that_was_changed_goes_out_changed_and_once(session: Session) -> None:
    lane, box = refused(session)
    steer = lane.steer("Keep it short")
    until(lambda: box.box.field.value)
    go(session)
    types(box.box, "Keep it shorter")
    assert until(lambda: box.box.field.verb == "Send")
    press(box.box)
    until(lambda: lane.text == "Keep it shorter")
    until(lambda: not box.box.field.busy and not box.box.field.value)
    assert not box.buttons()
    assert session.read(lambda ledger: ledger.steers[steer.key].decision) == "dropped"
    assert sent(session).count("Keep it short") == 1


def test_a_text_that_was_taken_out_stands_beside_and_can_be_dropped(session: Session) -> None:
    lane, box = refused(session)
    lane.steer("Keep it short")
    until(lambda: box.box.field.value)
    types(box.box, "")
    box.click("Drop")
    until(lambda: not box.buttons())
    assert box.box.field.value == ""


def test_words_whose_response_failed_are_back_in_the_box(session: Session) -> None:
    lane = session.lane("planner")
    box = Shown(lane)
    request = lane.create("fail once")
    until(lambda: box.box.field.value == "fail once")
    assert "Your request failed, and is back in the box. server_error: Oops" in box.status
    until(lambda: box.box.field.verb == "Send again")
    press(box.box)
    until(lambda: session.read(lambda ledger: ledger.requests[request.key].decision))
    until(lambda: box.box.field.value == "fail once" and not box.box.field.busy)
    types(box.box, "something else")
    press(box.box)
    until(lambda: lane.text == "something else")
    until(lambda: not box.box.field.value)
    assert sent(session) == ["fail once", "fail once", "something else"]


def test_what_was_said_after_a_failed_response_takes_its_place(session: Session) -> None:
    lane = session.lane("planner")
    lane.create("fail once").wait(10)
    box = Shown(lane)
    until(lambda: box.box.field.value == "fail once")
    types(box.box, "")
    until(lambda: "Send again" in box.buttons())
    lane.create("Hello.").wait(10)
    until(lambda: not box.buttons())


@pytest.mark.parametrize("value", ["a\rb", [{"role": "user", "content": "a message"}]])
def test_what_the_field_cannot_hold_stands_beside_it(session: Session, value: Any) -> None:
    lane, box = refused(session)
    lane.steer(value)
    until(lambda: "Send as next turn" in box.buttons())
    assert box.box.field.value == ""


def test_all_lines_of_a_failed_steer_are_back_in_the_box(session: Session) -> None:
    lane, box = refused(session)
    lane.steer("two\nlines")
    until(lambda: box.box.field.value == "two\nlines")
    assert not box.buttons()


def test_a_request_that_was_refused_is_back_in_the_box(session: Session) -> None:
    lane = session.lane("planner")
    box = Shown(lane)
    lane.create("refused")
    until(lambda: box.box.field.value == "refused")
    assert "Your request failed, and is back in the box. invalid_prompt" in box.status
    until(lambda: box.box.field.verb == "Send again")
    press(box.box)
    until(lambda: sent(session) == ["refused", "refused"])
    until(lambda: box.box.field.value == "refused" and not box.box.field.busy)
    types(box.box, "Hello.")
    press(box.box)
    until(lambda: lane.text == "Hello.")
    until(lambda: not box.box.field.value and not box.buttons())


def disk_is_full() -> None:
    raise TraceError("The disk is full.")


def test_what_could_not_be_sent_stays_in_the_box_and_is_sent_once(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = session.lane("planner")
    box = Shown(lane)

    with monkeypatch.context() as patch:
        patch.setattr(session.core.recorder, "sync", disk_is_full)
        types(box.box, "Hello.")
        press(box.box)
        until(lambda: not box.box.field.busy)  # its draft could not be kept before
        assert "The disk is full." in box.status
    until(lambda: box.box.field.verb == "Send again")
    assert box.box.field.value == "Hello."
    assert not box.buttons(), "not offered twice"
    press(box.box)
    until(lambda: lane.text == "Hello.")
    until(lambda: not box.box.field.value and not box.buttons())
    requests = lane.session.read(lambda ledger: list(ledger.lanes[lane.stream_id].requests))
    assert [(one.state, one.decision) for one in requests] == [
        ("unsent", "sent_again"),
        ("started", None),
    ]


def test_what_is_offered_before_the_sender_hears_of_it_stays_offered(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = session.lane("planner")
    box = Shown(lane)

    def slowly(lane: Lane, text: str) -> Any:
        try:
            return send(lane, text)
        except TraceError:
            until(lambda: box.box.field.verb == "Send again")
            raise

    def asked() -> list[RequestState]:
        return session.read(lambda ledger: list(ledger.lanes[lane.stream_id].requests))

    def held() -> str | None:
        return box.box._held.key if box.box._held is not None else None

    send = type(lane).send
    for _ in range(2):  # what failed first, and what was sent again and failed
        with monkeypatch.context() as patch:
            patch.setattr(session.core.recorder, "sync", disk_is_full)
            patch.setattr(type(lane), "send", slowly)
            types(box.box, "Hello.")
            press(box.box)
            until(lambda: not box.box.field.busy)  # its draft could not be kept before
            assert "The disk is full." in box.status
        until(lambda: held() == asked()[-1].key)
        assert box.box.field.verb == "Send again"
        assert not box.buttons()
    press(box.box)
    until(lambda: lane.text == "Hello.")
    until(lambda: not box.box.field.value and not box.buttons())
    *failed, last = asked()
    assert last.state == "started"
    assert [one.decision for one in failed] == ["sent_again", "sent_again"]


def test_what_failed_last_takes_the_place_of_what_failed_before(session: Session) -> None:
    lane = session.lane("planner")
    box = Shown(lane)
    lane.create("fail once")
    until(lambda: box.box.field.value == "fail once")
    lane.create("refused")
    until(lambda: box.box.field.value == "refused")
    until(lambda: box.box.field.verb == "Send again")
    # A person's words are left alone.
    types(box.box, "refused, but chan")
    lane.create("refused too")
    until(lambda: any("refused too" in str(one.tooltip) for one in box.buttons().values()))
    assert box.box.field.value == "refused, but chan"
    # A box that is shown later offers what nothing followed.
    other = session.lane("other")
    other.create("fail once").wait(10)
    with pytest.raises(ServerRefused):
        other.create("refused").wait(10)
    later = Shown(other)
    until(lambda: later.box.field.value == "refused")
    assert not later.buttons(), "who said something after a failure goes on with that"


def test_a_box_that_is_shown_later_gives_back_only_what_nothing_followed(session: Session) -> None:
    lane, _ = refused(session)
    steer = lane.steer("Keep it short")
    until(lambda: steer.state == "failed")
    go(session)
    assert Shown(lane)
    later = Shown(lane)
    until(lambda: later.box.field.value == "Keep it short")
    lane.create("Something else.").wait(10)
    assert lane.wait(10) == "idle"
    latest = Shown(lane)
    until(lambda: latest.box._decisions is not None and latest.box._decisions.returned)
    assert latest.box.field.value == ""
    assert not latest.buttons()


def go(session: Session) -> None:
    """Let the response end."""
    session.wait(10)
