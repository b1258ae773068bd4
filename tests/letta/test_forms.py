"""The form below a cell for what a Letta agent waits for: real widgets, a real session."""

from __future__ import annotations

import re
import time

import pytest

from steer_nb import tool
from steer_nb.widgets import LaneView
from steer_nb.widgets.forms.form import ContinuationForm
from steer_nb.widgets.forms.letta import LettaApprovalSection, LettaResultSection
from steer_nb.widgets.forms.static import forms_text
from tests.letta.stage import PATIENCE, runs_of
from tests.widgets.talking import press
from tests.widgets.test_decisions import Shown


def until(what, said=""):
    end = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < end, said
        time.sleep(0.02)


@tool
def weather(city: str) -> str:
    """Tell the weather."""
    return "18 °C"


@pytest.fixture
def form(serve):
    """The form of an agent that waits for a result and two decisions."""
    session, simulator = serve("parallel", tools=[weather])
    lane = session.lane("a", agent=simulator.agent_id)
    response = lane.create("Go")
    assert lane.wait(PATIENCE) == "waiting_input"
    form = ContinuationForm(session, lane, response.id)
    form.simulator = simulator
    return form


def test_each_kind_has_its_section(form):
    kinds = [(type(one), one.asked.name) for one in form.sections.values()]
    assert sorted(kinds, key=str) == [
        (LettaApprovalSection, "delete_file"),
        (LettaApprovalSection, "delete_file"),
        (LettaResultSection, "weather"),
    ]
    assert form.cancel.description == "Deny all"
    assert form.send.disabled


def test_answers_typed_in_the_form_are_sent_once(form):
    form.lane.send("And be quick.")
    result, yes, no = sorted(form.sections.values(), key=lambda one: one.asked.name != "weather")
    result.area.value = "18 °C"
    yes.decision.value = True
    no.decision.value = False
    no.text.value = "keep it"
    assert form.send.disabled is False
    until(lambda: "1 text queued here will go behind it" in form.foot.hint, form.foot.hint)
    form.send.act()
    form.send.act()  # twice, as a person in a hurry
    until(lambda: form.facts.phase == "committed")
    assert form.lane.wait(PATIENCE) == "idle"
    assert len([one for one in runs_of(form.simulator) if one["name"] == "delete_file"]) == 1
    items = {one.key: one.item for one in form.lane.responses[0].required_input}
    assert items[result.key] == {
        "type": "tool", "tool_call_id": result.key, "tool_return": "18 °C", "status": "success",
    }  # fmt: skip
    assert items[no.key]["reason"] == "keep it"
    assert form.send.disabled


def test_deny_all_releases_the_agent(form):
    form.cancel.act()
    until(lambda: not form.send.disabled)
    until(lambda: "Filled as denied" in form._status.value, form._status.value)
    assert {one.item()["approve"] for one in form.sections.values()} == {False}
    form.send.act()
    until(lambda: form.facts.phase == "committed")
    assert form.lane.wait(PATIENCE) == "idle"
    assert [one["name"] for one in runs_of(form.simulator)] == ["list_files"]


def test_a_result_says_what_was_written_beside_it(form):
    result = next(one for one in form.sections.values() if one.asked.name == "weather")
    result.area.value, result.outcome.value = "no data", "error"
    result.stdout.value, result.stderr.value = "asked\ntwice", "timeout"
    told = {"tool_return": "no data", "status": "error", "stdout": ["asked\ntwice"]}
    assert told.items() <= result.item().items()
    assert result.item()["stderr"] == ["timeout"]
    # A no has a reason of its own: what was given is not sent as one, and is there again.
    result.outcome.value = "denied"
    result.reason.value = "not today"
    call = {"type": "approval", "tool_call_id": result.key}
    assert result.item() == {**call, "approve": False, "reason": "not today"}
    shown = [result.reason, result.row, result.streams]
    assert [one.layout.display for one in shown] == ["", "none", "none"]
    result.outcome.value = "error"
    assert result.item()["tool_return"] == "no data"
    assert [one.layout.display for one in shown] == ["none", "", ""]


def test_each_call_says_what_it_waits_for(form):
    heads = {one.asked.name: one._heading() for one in form.sections.values()}
    assert "function of yours" in heads["weather"]
    assert "asks for approval" in heads["delete_file"]
    for text in (forms_text([form.read()]), LaneView(form.lane.session, form.lane).html):
        assert text.count("function of yours") == 1
        assert text.count("asks for approval") == 2


def test_what_was_filled_elsewhere_is_shown(form):
    result, first, second = sorted(
        form.sections.values(), key=lambda one: one.asked.name != "weather"
    )
    form.lane.fill(result.key, output="no data", status="error", stdout=["a", "b"])
    form.lane.fill(first.key, output="I did it myself")
    form.lane.fill(second.key, approve=False, reason="no")
    until(lambda: second.decision.value is False)
    until(lambda: first.decision.value == "result")
    until(lambda: result.outcome.value == "error")
    assert (result.area.value, first.text.value, second.text.value) == (
        "no data", "I did it myself", "no",
    )  # fmt: skip
    assert result.stdout.value == "a\nb"
    assert all(one.valid for one in form.sections.values())
    form.lane.fill(result.key, approve=False, reason="not mine")
    until(lambda: (result.outcome.value, result.reason.value) == ("denied", "not mine"))


def test_nothing_is_drawn_twice_and_each_result_names_its_call(form):
    form.lane.send("And be quick.")
    for section in form.sections.values():
        if section.asked.name == "weather":
            form.lane.fill(section.key, output="18 °C")
        else:
            form.lane.fill(section.key, approve=False, reason="no")
    form.lane.send_continuation("Thank you.")
    assert form.lane.wait(PATIENCE) == "idle"
    view = LaneView(form.lane.session, form.lane).html
    answer = view.partition("You steered:")[2]
    assert answer.count("And be quick.") == 2  # what was queued, and what the agent made of it
    assert "<b>You:</b> <bdi>Thank you.</bdi>" in answer
    heads = re.findall(r"<b><bdi>(\w+)</bdi></b> <span[^>]*>(result|call for you)", view)
    assert sorted(name for name, kind in heads if kind == "result") == [
        "delete_file", "delete_file", "list_files", "weather",
    ]  # fmt: skip
    items = form.lane.session.trace.frames.items
    assert items[items.type == "letta_tool_call_output"].name.isna().all()  # one message of four


def test_an_answer_that_the_history_repeats_is_not_drawn_again(serve):
    session, simulator = serve("files", tools=[weather])
    lane = session.lane("a", agent=simulator.agent_id)
    lane.create("Lisbon?")
    assert lane.wait(PATIENCE) == "waiting_input"
    lane.fill(lane.required_input[0].key, output="dry, and warm")
    lane.send_continuation()
    assert lane.wait(PATIENCE) == "idle"
    kinds = set(session.trace.frames.items.type)
    assert {"letta_approval_response", "letta_tool_call_output"} <= kinds
    # Below its call, as the result that the server kept, and in what the agent says.
    assert LaneView(session, lane).html.count("dry, and warm") == 3


def test_the_record_of_a_form_tells_of_a_call_what_it_was_given(form):
    text = forms_text([form.read()])
    assert "message_id" not in text
    assert '"/srv/old.log"' in text


def test_a_conversation_of_an_agent_offers_no_fork(form):
    assert Shown(form.lane).box.field.forks is False


def test_the_box_below_a_lane_says_what_becomes_of_text(form):
    shown = Shown(form.lane)
    assert shown.box.field.verb == "Queue"
    press(shown.box, text="And be quick.")
    until(lambda: "Queued here" in shown.box.field.said, shown.box.field.said)
    assert [steer.state for steer in form.lane.steers] == ["queued_here"]
    form.lane.cancel_all()
    form.lane.send_continuation()
    assert form.lane.wait(PATIENCE) == "idle"
    until(lambda: shown.box.field.verb == "Send", shown.box.field.verb)
    until(lambda: shown.box.field.said == "", shown.box.field.said)  # it is queued no more
