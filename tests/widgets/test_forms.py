"""Forms without a page: every control driven as a page would, against the embedded simulator."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pytest

import steer_nb
from steer_nb.simulator import Simulator
from steer_nb.widgets.forms import ContinuationForm, pending_forms
from tests.widgets.test_hostile import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steer_nb import Lane, Session

PNG = "data:image/png;base64,iVBORw0KGgo="


def get_weather(city: str, days: int = 1) -> str:
    """Weather forecast."""
    return f"{city}: 18 C for {days} days"


def until(true: Callable[[], Any], seconds: float = 5.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = true()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come about")


def waiting(scenario: str, **lane: Any) -> tuple[Session, Lane]:
    session = steer_nb.connect(
        simulate=Simulator(scenario, speed=0), journal=False, quiet=True, name=scenario
    )
    opened = session.lane("planner", **lane)
    opened.create("What about Lisbon?")
    assert opened.wait(10) == "waiting_input"
    return session, opened


@pytest.fixture
def weather() -> Iterator[tuple[Session, Lane]]:
    session, lane = waiting("weather", tools=[get_weather])
    yield session, lane
    session.close()


@pytest.fixture
def seven() -> Iterator[tuple[Session, Lane]]:
    session, lane = waiting("seven", tools=[get_weather])
    yield session, lane
    session.close()


def only(session: Session) -> ContinuationForm:
    (form,) = pending_forms(session).forms
    return form


def section(form: ContinuationForm, kind: str) -> Any:
    return next(part for part in form.sections.values() if part.asked.type == kind)


def shown(widget: w.Widget) -> str:
    """All static text of a widget and those in it."""
    parts = [widget.value] if isinstance(widget, w.HTML) else []
    return "\n".join(parts + [shown(child) for child in getattr(widget, "children", ())])


def status(part: Any) -> str:
    return str(part._status.value)


def continuations(session: Session) -> list[dict[str, Any]]:
    assert session.simulator is not None
    return [entry for entry in session.simulator.account if entry["kind"] == "continuation"]


def fill_all(form: ContinuationForm) -> None:
    """A valid answer of each kind."""
    section(form, "function_call_output").area.value = "on time"
    section(form, "custom_tool_call_output").area.value = "noted"
    computer = section(form, "computer_call_output")
    computer.url.value = PNG
    for _, tick in computer.checks:
        tick.value = True
    for row in section(form, "shell_call_output").rows:
        row.stdout.value = "lisbon.md"
    section(form, "apply_patch_call_output").outcome.value = "completed"
    section(form, "tool_search_output").ticked.value = ("get_weather",)
    section(form, "mcp_approval_response").decision.value = True


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
    assert f"committed as {response.id}" in shown(form.widget)
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
        raise ValueError("no <b>sky</b>")

    tool = steer_nb.Tool(broken, name="get_weather")
    session.lane("planner", tools=[tool])
    form = only(session)
    part = section(form, "function_call_output")
    part.run_button.click()
    until(lambda: "no &lt;b&gt;sky" in status(part))
    assert part.area.value.startswith("Error: ")


def test_a_steer_that_waits_is_announced(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    parent = lane.required_input[0].parent_id
    session.act(  # as another client of this connection would
        lambda: session.core.sender._let_out(
            "steer-9",
            lane._settings,
            {"type": "response.steer", "previous_response_id": parent, "input": "In Celsius."},
        )
    )
    form = only(session)
    until(lambda: "1 queued steer will go in front of it" in form._why.value)


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
    encode = session.core.sender.continuation.__globals__["encode"]
    wrong = [True]

    def spoiled(request: dict[str, Any]) -> str:
        if wrong and request.get("previous_response_id") == parent:
            wrong.pop()
            request = {**request, "input": [{**request["input"][0], "call_id": "call_none"}]}
        return str(encode(request))

    monkeypatch.setitem(session.core.sender.continuation.__globals__, "encode", spoiled)
    form.send.click()
    until(lambda: "The continuation was refused" in form._status.value)
    assert "Your answers are kept." in form._status.value
    until(lambda: not form.send.disabled)
    assert form.facts.phase == "open"


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
    assert "7 of 7 answered" in form._why.value
    form.send.click()
    until(lambda: form.facts.phase == "committed")
    assert len(continuations(session)) == 1


# -- each kind -------------------------------------------------------------------------------------


def test_all_seven_kinds_go_out_as_they_were_filled(seven: tuple[Session, Lane]) -> None:
    session, lane = seven
    form = only(session)
    assert "0 of 7 answered" in form._why.value
    fill_all(form)
    assert "7 of 7 answered" in form._why.value
    form.reveal.value = True
    until(lambda: "response.create" in form._message.value)
    until(lambda: all("saved" in status(part) for part in form.sections.values()))
    preview = lane.preview_continuation()
    form.send.click()
    until(lambda: form.facts.phase == "committed")
    sent = [entry.raw for entry in session.trace if entry.kind == "out"][-1]
    assert sent == preview
    answers = {item["type"]: item for item in json.loads(sent or "")["input"]}
    assert len(answers) == 7
    assert answers["shell_call_output"]["output"][0]["outcome"] == {"type": "exit", "exit_code": 0}
    assert answers["tool_search_output"]["tools"][0]["name"] == "get_weather"
    assert answers["mcp_approval_response"]["approve"] is True


@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output"])
def test_results_as_text_and_json(seven: tuple[Session, Lane], kind: str) -> None:
    part = section(only(seven[0]), kind)
    assert not part.valid
    part.empty.value = True
    assert part.fields() == {"output": ""}
    part.mode.value = "JSON"
    part.area.value = '{"a": 1,}'
    assert "output is no JSON" in status(part)
    assert "line 1, column" in status(part)
    part.area.value = '{"a": [1, NaN]}'
    assert "output" in status(part)
    assert "output.a[1] is nan" in status(part)
    assert "snb-bad" in status(part)
    part.area.value = '{"a": [1, null]}'
    assert part.item()["output"] == '{"a":[1,null]}'


def test_a_computer_answer_needs_every_check(seven: tuple[Session, Lane]) -> None:
    part = section(only(seven[0]), "computer_call_output")
    part.url.value = "not a picture"
    for _, tick in part.checks:
        assert not part.valid
        tick.value = True
    assert not part.valid
    part.url.value = PNG
    assert part.valid
    assert "<img" in part.preview.value
    part.checks[0][1].value = False
    assert "safety check 1 is not acknowledged" in status(part)
    part.checks[0][1].value = True
    part.url.value = 'https://example.org/"><script>'
    assert part.preview.value == ""


@pytest.mark.parametrize(
    "value",
    [
        ({"name": "a.png", "type": "image/png", "content": memoryview(b"abc")},),
        {"a.png": {"metadata": {"name": "a.png", "type": "image/png"}, "content": b"abc"}},
    ],
)
def test_an_uploaded_screenshot_becomes_a_data_url(seven: tuple[Session, Lane], value: Any) -> None:
    part = section(only(seven[0]), "computer_call_output")
    part._uploaded({"new": value})
    assert part.url.value == "data:image/png;base64,YWJj"


def test_each_command_has_its_own_outcome(seven: tuple[Session, Lane]) -> None:
    part = section(only(seven[0]), "shell_call_output")
    first, second = part.rows
    assert "stdout of command 1 is still empty: type it, or tick “no output”" in status(part)
    first.nothing.value = True
    assert "command 2" in status(part)
    second.stderr.value = "not found"
    second.outcome.value = "other exit code"
    second.code.value = 3
    first.outcome.value = "timed out"
    assert part.item()["output"] == [
        {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
        {"stdout": "", "stderr": "not found", "outcome": {"type": "exit", "exit_code": 3}},
    ]
    item = part.item()
    part.load(item)
    assert part.item() == item


def test_patches_and_approvals(seven: tuple[Session, Lane]) -> None:
    form = only(seven[0])
    patch = section(form, "apply_patch_call_output")
    assert "<ins>" in shown(patch.widget)
    patch.outcome.value = "failed"
    patch.log.value = "hunk 1 did not apply"
    assert patch.item()["status"] == "failed"
    approval = section(form, "mcp_approval_response")
    approval.decision.value = False
    approval.reason.value = "not mine"
    assert approval.fields() == {"approve": False, "reason": "not mine"}
    approval.decision.value = True
    assert approval.fields() == {"approve": True}
    for part in (patch, approval):
        item = part.item()
        part.load(item)
        assert part.item() == item


def test_tools_are_ticked_or_pasted(seven: tuple[Session, Lane]) -> None:
    part = section(only(seven[0]), "tool_search_output")
    part.area.value = "{}"
    assert "tools must be a JSON list" in status(part)
    part.area.value = '[{"type": "function"}]'
    assert "tools[0].name" in status(part)
    part.area.value = '[{"type": "web_search"}]'
    part.ticked.value = ("get_weather",)
    item = part.item()
    assert [tool["type"] for tool in item["tools"]] == ["function", "web_search"]
    part.load(item)
    assert part.item() == item
    part.ticked.value = ()
    part.area.value = ""
    assert not part.valid
    part.none.value = True
    assert part.fields() == {"tools": []}


# -- kinds that the simulator does not send --------------------------------------------------------


def asked(stub: dict[str, Any], call: dict[str, Any] | None = None) -> Any:
    return steer_nb.RequiredInput(
        key="call_1",
        type=stub["type"],
        stub=stub,
        call=call,
        state="open",
        item=None,
        name=None,
        server_label=None,
        source="steer_pending",
        optional=False,
        parent_id="resp_1",
        lane="planner",
        filled_by=None,
        tool=None,
    )


class Bare:
    def __init__(self) -> None:
        self.tools: dict[str, Any] = {}


def alone(stub: dict[str, Any], call: dict[str, Any] | None = None) -> Any:
    from steer_nb.widgets.forms.kinds import make_section

    return make_section(asked(stub, call), Bare(), lambda _: None)  # type: ignore[arg-type]


def test_an_unknown_kind_is_filled_as_raw_json() -> None:
    part = alone({"type": "telepathy_output", "call_id": "call_1", "hint": "<i>"})
    assert "telepathy_output" in shown(part.widget)
    assert "&lt;i&gt;" in shown(part.widget)
    part.area.value = "[]"
    assert "JSON object" in status(part)
    part.area.value = '{"thought": Infinity}'
    assert "thought" in status(part)
    part.area.value = '{"thought": "sea"}'
    assert part.item()["thought"] == "sea"
    part.load(part.item())
    assert json.loads(part.area.value) == {"thought": "sea"}


def test_a_local_shell_call_takes_text() -> None:
    call = {
        "type": "local_shell_call",
        "id": "l",
        "call_id": "call_1",
        "action": {"command": ["ls"]},
    }
    part = alone({"type": "local_shell_call_output", "id": "call_1"}, call)
    assert "$ ls" in shown(part.widget)
    part.area.value = "lisbon.md"
    assert part.item()["output"] == "lisbon.md"


def test_a_shell_stub_without_its_call_still_has_a_row() -> None:
    part = alone({"type": "shell_call_output", "call_id": "call_1"})
    part.rows[0].stdout.value = "x"
    assert part.valid


@pytest.mark.parametrize("name", HOSTILE)
def test_forms_draw_hostile_calls_as_text(name: str) -> None:
    from steer_nb.widgets import render
    from steer_nb.wire import stub_for
    from tests.widgets.story import SEVEN
    from tests.widgets.test_hostile import check, poisoned

    text = HOSTILE[name]
    for call in (poisoned(call, text) for call in SEVEN):
        stub = stub_for(call)
        assert stub is not None
        part = alone(stub, call)
        check(render.frame(shown(part.widget).replace("\n", " "), "x"))
        for widget in everything(part.widget):
            for trait in ("description", "placeholder"):
                value = getattr(widget, trait, "") or ""
                assert "<" not in value
    part = alone({"type": "x" + text, "call_id": "call_1", text: text})
    check(render.frame(shown(part.widget).replace("\n", " "), "x"))


def everything(widget: w.Widget) -> Iterator[w.Widget]:
    yield widget
    for child in getattr(widget, "children", ()):
        yield from everything(child)


def test_every_control_has_a_name(seven: tuple[Session, Lane]) -> None:
    for widget in everything(only(seven[0]).widget):
        if isinstance(widget, (w.Box, w.HTML)):
            continue
        hint = "tooltip" if widget.has_trait("tooltip") else "description_tooltip"
        name = getattr(widget, hint) or getattr(widget, "description", "")
        assert name, type(widget)


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
