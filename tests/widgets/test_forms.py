"""Forms without a page: what is saved, what is sent, once, against the embedded simulator."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import steer_nb
from steer_nb.simulator import CallFunction, Fail, Say, scenario
from steer_nb.widgets.forms import ContinuationForm, pending_forms
from steer_nb.widgets.text import short_id
from tests.widgets.forming import (
    continuations,
    cut,
    only,
    section,
    shown,
    status,
    until,
    waiting,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb import Lane, Session
    from steer_nb.simulator import Step, Turn

# -- one form, one continuation --------------------------------------------------------------------


def test_typed_answers_are_saved_after_a_quiet_moment(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    form = only(session)
    assert form.send.disabled
    part = section(form, "function_call_output")
    entries = len(session.trace)
    for end in range(1, 8):
        part.area.value = "18 °C, dry"[:end]
    assert "valid" in status(part)
    assert not form.send.disabled
    assert len(session.trace) == entries, "nothing is written at each key"
    until(lambda: lane.required_input[0].item)
    assert lane.required_input[0].item["output"] == "18 °C, "  # type: ignore[index]
    until(lambda: "saved" in status(part))
    part.area.value = ""
    assert form.send.disabled
    until(lambda: lane.required_input[0].state == "open")


def test_send_sends_once_what_is_shown(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    form = only(session)
    section(form, "function_call_output").area.value = "18 °C, dry"
    form.send.click()
    form.send.click()
    assert form.send.disabled
    assert lane.wait(10)
    until(lambda: form.facts.phase == "committed")
    assert len(continuations(session)) == 1
    assert "18 °C, dry" in lane.text
    response = lane.response
    assert response is not None
    assert f"committed as {short_id(response.id)}" in shown(form.widget)
    assert "snb-ok" in form._status.value
    form.send.click()
    time.sleep(0.5)
    assert len(continuations(session)) == 1


def test_text_that_a_click_overtook_is_sent_too(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    form = only(session)
    part = section(form, "function_call_output")
    part.area.value = "18"
    form.send.click()
    part.area.value = "18 °C, dry"
    until(lambda: form.facts.phase == "committed")
    assert "18 °C, dry" in lane.text


def test_two_forms_of_one_response_send_one_continuation(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    parent = lane.required_input[0].parent_id
    forms = [ContinuationForm(session, lane, parent) for _ in range(2)]
    section(forms[0], "function_call_output").area.value = "18 °C, dry"
    until(lambda: "saved" in status(section(forms[1], "function_call_output")))
    assert section(forms[1], "function_call_output").area.value == "18 °C, dry"
    clicks = [threading.Thread(target=form.send.click) for form in forms]
    for click in clicks:
        click.start()
    for click in clicks:
        click.join()
    until(lambda: all(form.facts.phase == "committed" for form in forms))
    assert len(continuations(session)) == 1
    for form in forms:
        assert "committed as" in shown(form.widget)
        assert form.send.disabled


def test_shown_again_it_is_the_same_form(weather: tuple[Session, Lane]) -> None:
    session, _ = weather
    form = only(session)
    section(form, "function_call_output").area.value = '{"half'
    assert only(session) is form


def test_what_code_fills_is_shown(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    form = only(session)
    part = section(form, "function_call_output")
    lane.fill(part.key, output={"sat": "dry"}, by="code")
    until(lambda: part.area.value == '{"sat":"dry"}')
    assert not form.send.disabled
    lane.clear(part.key)
    until(lambda: part.saved is None)
    form.send.click()
    until(lambda: form.facts.phase == "committed")


def test_a_function_runs_once_and_its_result_is_shown(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    form = only(session)
    part = section(form, "function_call_output")
    assert part.run_button.description == "Run get_weather"
    part.area.value = "half an ans"
    part.run_button.click()
    part.run_button.click()
    until(lambda: part.area.value.endswith("days"))
    until(lambda: "ran in 0.00 s, saved; you may edit it before it is sent" in status(part))
    assert part.run_button.disabled
    started = [entry for entry in session.trace if entry.note == "tool_started"]
    assert len(started) == 1
    part.area.value = "edited"
    until(lambda: lane.required_input[0].item["output"] == "edited")  # type: ignore[index]


def test_a_function_that_raises_shows_its_error(weather: tuple[Session, Lane]) -> None:
    session, _ = weather

    def broken(city: str) -> str:
        """Weather."""
        print(f"looking up at <i>{city}</i>")
        raise ValueError("no <b>sky</b>")

    tool = steer_nb.Tool(broken, name="get_weather")
    session.lane("planner", tools=[tool])
    form = only(session)
    part = section(form, "function_call_output")
    part.run_button.click()
    until(lambda: "no &lt;b&gt;sky" in status(part))
    assert part.area.value.startswith("Error: ")
    assert "snb-bad" in status(part), "what failed is not green"
    assert "printed by get_weather (not sent)" in part.ran.value
    assert "looking up at &lt;i&gt;Lisbon&lt;/i&gt;" in part.ran.value
    assert "raise ValueError(&quot;no &lt;b&gt;sky&lt;/b&gt;&quot;)" in part.ran.value
    again = ContinuationForm(session, form.lane, form.parent_id)
    assert section(again, "function_call_output").ran.value == part.ran.value
    fallback = pending_forms(session)._repr_mimebundle_()
    assert "looking up at &lt;i&gt;Lisbon" in fallback["text/html"]
    assert "looking up at <i>Lisbon" in fallback["text/plain"]
    part.area.value = "blue"
    # What is sent now is the person's: the error is no longer its story.
    until(lambda: "sky" not in status(part) and "saved" in status(part))


def test_a_steer_that_waits_is_announced(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    parent = lane.required_input[0].parent_id
    session.act(  # as another client of this connection would
        lambda: session.core.outlet.let_out(
            "steer",
            lane._settings,
            {"type": "response.steer", "previous_response_id": parent, "input": "In Celsius."},
        )
    )
    form = only(session)
    until(lambda: "1 queued steer will go in front of it" in form.foot.hint)


def test_it_goes_quiet_when_its_response_moved_on(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    form = only(session)
    lane.fill(lane.required_input[0].key, output="by code")
    lane.send_continuation()
    lane.wait(10)
    until(lambda: form.facts.phase == "committed")
    assert form.send.disabled
    assert form.cancel.disabled
    assert section(form, "function_call_output").area.disabled
    assert str(pending_forms(session)) == "No lane waits for an answer."


def test_it_goes_quiet_when_the_connection_is_gone(weather: tuple[Session, Lane]) -> None:
    session, _ = weather
    form = only(session)
    session.close()
    until(lambda: form.facts.phase == "closed")
    assert form.send.disabled
    assert "closed" in shown(form.widget)
    form.send.click()
    time.sleep(0.4)
    assert "closed" in shown(form.widget)


def test_what_was_read_last_is_shown_last(
    weather: tuple[Session, Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, lane = weather
    form = only(session)
    time.sleep(0.3)  # its own first look is over
    read, looked, go_on = form.read, threading.Event(), threading.Event()

    def slow() -> Any:
        facts = read()
        if not looked.is_set():
            looked.set()
            go_on.wait(5)
        return facts

    monkeypatch.setattr(form, "read", slow)
    early = threading.Thread(target=form.refresh)
    early.start()
    assert looked.wait(5)
    lane.fill(lane.required_input[0].key, output="by code")
    lane.send_continuation()
    lane.wait(10)
    late = threading.Thread(target=form.refresh)
    late.start()
    late.join(0.3)
    go_on.set()
    for thread in (early, late):
        thread.join(5)
    assert form.facts.phase == "committed"


def test_what_was_due_when_the_connection_was_lost_is_said(weather: tuple[Session, Lane]) -> None:
    first, _ = weather
    session = steer_nb.connect(first.simulator.base_url, journal=False, quiet=True, reconnect=False)
    lane = session.lane("planner")
    lane.create("What about Lisbon?")
    lane.wait(10)
    form = only(session)
    lane.fill(lane.required_input[0].key, output="18")
    first.simulator.stop()
    until(lambda: form.facts.phase == "closed")
    assert "The connection was lost. What you answered is kept in the trace" in shown(form.widget)
    assert form.reveal.disabled
    assert "an answer was due on planner" in str(pending_forms(session))
    assert "an answer was due" in str(pending_forms(session, "planner"))


def test_a_form_outlives_a_lost_connection(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    form = only(session)
    area = section(form, "function_call_output").area
    area.value = "18"
    cut(session)
    until(lambda: "say first how the lane goes on" in form.foot.hint)
    assert form.send.disabled
    assert only(session) is form
    area.value = "19"  # what is typed now counts
    lane.recover("continue")
    until(lambda: not form.send.disabled)
    form.send.click()
    until(lambda: form.facts.phase == "committed")
    assert len(continuations(session)) == 1
    lane.wait(10)
    assert "19" in lane.text


def test_what_the_session_refuses_is_said_and_can_be_sent_again(
    weather: tuple[Session, Lane],
) -> None:
    session, lane = weather
    form = only(session)
    section(form, "function_call_output").area.value = "18"
    session.lane("planner", conversation="conv_1")  # it cannot go together with a previous response
    form.send.click()
    until(lambda: "cannot go together with conversation" in form._status.value)
    until(lambda: not form.send.disabled)
    assert lane.required_input[0].state == "filled"
    session.lane("planner", conversation=None)
    form.send.click()
    until(lambda: form.facts.phase == "committed")


def test_what_the_service_refuses_is_said_and_can_be_sent_again(
    weather: tuple[Session, Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = weather
    form = only(session)
    section(form, "function_call_output").area.value = "18"
    parent = form.parent_id
    encode = session.core.outlet.let_out.__globals__["encode"]
    wrong = [True]

    def spoiled(request: dict[str, Any]) -> str:
        if wrong and request.get("previous_response_id") == parent:
            wrong.pop()
            request = {**request, "input": [{**request["input"][0], "call_id": "call_none"}]}
        return str(encode(request))

    monkeypatch.setitem(session.core.outlet.let_out.__globals__, "encode", spoiled)
    form.send.click()
    until(lambda: "The continuation was refused" in form._status.value)
    assert "Your answers are kept." in form._status.value
    until(lambda: not form.send.disabled)
    assert form.facts.phase == "open"


@scenario("stumbling", "Fails the first time that it has the results.")
def stumbling(turn: Turn) -> Iterator[Step]:
    if not turn.results:
        yield CallFunction("get_weather", {"city": "Lisbon"})
    elif "second" in str([one.text for one in turn.results.values()]):
        yield Say("Told.")
    else:
        yield Fail("server_error", "Something <b>broke</b>.")


def test_answers_whose_response_fails_are_offered_again_in_the_same_form() -> None:
    session, lane = waiting(stumbling)
    with session:
        form = only(session)
        area = section(form, "function_call_output").area
        area.value = "first"
        form.send.click()
        until(lambda: "came to nothing: server_error: Something" in form._status.value)
        assert "<b>broke" not in form._status.value
        assert "Your answers are kept." in form._status.value
        until(lambda: not form.send.disabled)
        assert (form.facts.phase, area.value) == ("open", "first")
        assert only(session).parent_id == form.parent_id, "a new display has it, too"
        area.value = "second"
        form.send.click()
        until(lambda: form.facts.phase == "committed")
        assert lane.wait(10) == "idle"
        assert len(continuations(session)) == 2


def test_answer_all_as_cancelled_fills_every_kind(seven: tuple[Session, Lane]) -> None:
    session, _ = seven
    form = only(session)
    section(form, "function_call_output").area.value = "kept"
    section(form, "custom_tool_call_output").mode.value = "JSON"
    section(form, "custom_tool_call_output").area.value = '{"half'
    form.cancel.click()
    until(lambda: not form.send.disabled)
    assert section(form, "function_call_output").area.value == "kept"
    assert "Cancelled by the user" in section(form, "custom_tool_call_output").area.value
    assert section(form, "mcp_approval_response").decision.value is False
    assert "7 of 7 answered" in form.foot.hint
    form.send.click()
    until(lambda: form.facts.phase == "committed")
    assert len(continuations(session)) == 1


# -- displayed -------------------------------------------------------------------------------------


def test_the_bundle_has_a_fallback_that_says_what_was_asked_and_answered(
    weather: tuple[Session, Lane],
) -> None:
    session, lane = weather
    forms = pending_forms(session)
    bundle = forms._repr_mimebundle_()
    assert set(bundle) == {
        "application/vnd.jupyter.widget-view+json",
        "text/html",
        "text/plain",
    }
    assert "get_weather" in bundle["text/html"]
    assert "not answered" in bundle["text/plain"]
    lane.fill(lane.required_input[0].key, output="18 °C")
    assert "18 °C" in forms._repr_mimebundle_()["text/html"]
    lane.send_continuation()
    lane.wait(10)
    bundle = forms._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" not in bundle
    assert "committed as resp_" in bundle["text/plain"]
    assert "18 °C" in bundle["text/html"]


def test_nothing_pending_is_one_friendly_line(weather: tuple[Session, Lane]) -> None:
    session, _ = weather
    other = session.lane("other")
    assert other.name == "other"
    nothing = pending_forms(session, "other")
    assert repr(nothing) == "Lane other waits for no answer."
    assert "waits for no answer" in nothing._repr_html_()  # type: ignore[union-attr]
    assert len(nothing) == 0
    assert len(pending_forms(session, "planner")) == 1
    with pytest.raises(steer_nb.errors.UnknownLane, match="nowhere"):
        pending_forms(session, "nowhere")
