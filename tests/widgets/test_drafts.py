"""What is half typed survives: shown again, in a second display, after the kernel's end."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import steer_nb
from steer_nb.simulator import Simulator
from steer_nb.trace import load
from steer_nb.widgets import drafting
from steer_nb.widgets.drafting import Keeper
from steer_nb.widgets.forms import ContinuationForm, pending_forms
from tests.widgets.forming import PNG, continuations, get_weather, only, section, status, until
from tests.widgets.talking import press, types
from tests.widgets.test_decisions import Shown, go, patient, refused, sent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb import Lane, Session

KEY = "sk-very-secret"
MCP = {"type": "mcp", "server_label": "files", "server_url": "https://files.example"}


MOMENT_S = 0.05


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is typed is kept a moment after the last key: in a test nobody types on."""
    monkeypatch.setattr(drafting, "QUIET_S", MOMENT_S)


@pytest.fixture
def simulator() -> Iterator[Simulator]:
    with Simulator("seven", speed=0) as made:
        yield made


@pytest.fixture
def journalled(simulator: Simulator) -> Iterator[Session]:
    """A session with a journal, one lane of which waits for seven answers."""
    session = steer_nb.connect(simulator.base_url, quiet=True, tools=[get_weather])
    lane = session.lane("planner")
    lane.create("What about Lisbon?")
    assert lane.wait(10) == "waiting_input"
    yield session
    session.close()


@pytest.fixture
def box_session() -> Iterator[Session]:
    with (
        Simulator(patient, speed=0) as simulator,
        steer_nb.connect(simulator.base_url, quiet=True) as made,
    ):
        yield made


def recovered(session: Session) -> Session:
    """The same session in another process, as far as it can tell."""
    session.close()
    return steer_nb.recover(
        url=session.url.replace("ws:", "http:"), quiet=True, tools=[get_weather]
    )


def never_quiet(patch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, nobody pauses."""
    patch.setattr(drafting, "QUIET_S", 600.0)
    patch.setattr(drafting, "_LATEST_S", 600.0)


def notes(session: Session, name: str = "draft") -> list[dict[str, Any]]:
    return [entry.data for entry in session.trace if entry.note == name and entry.data]


# -- forms -----------------------------------------------------------------------------------------


def half_typed(form: ContinuationForm) -> None:
    """Half an answer of each kind."""
    section(form, "function_call_output").mode.value = "JSON"
    section(form, "function_call_output").area.value = '{"sat": "dry'
    section(form, "custom_tool_call_output").mode.value = "JSON"
    computer = section(form, "computer_call_output")
    computer.url.value = PNG
    section(form, "shell_call_output").rows[0].stdout.value = "lisbon.md"
    section(form, "shell_call_output").rows[0].outcome.value = 2
    section(form, "apply_patch_call_output").log.value = "hunk 1"
    tools = section(form, "tool_search_output")
    tools.ticked.value = ["get_weather"]
    tools.area.value = '[{"type": "web'
    section(form, "mcp_approval_response").reason.value = "not mine"


def check_half_typed(form: ContinuationForm) -> None:
    assert section(form, "function_call_output").mode.value == "JSON"
    assert section(form, "function_call_output").area.value == '{"sat": "dry'
    assert section(form, "custom_tool_call_output").mode.value == "JSON"
    computer = section(form, "computer_call_output")
    assert (computer.url.value, computer.shot.value) == ("", PNG)
    assert "snb-shot" in computer.preview.value
    assert section(form, "shell_call_output").rows[0].stdout.value == "lisbon.md"
    assert section(form, "shell_call_output").rows[0].outcome.value == 2
    assert section(form, "apply_patch_call_output").log.value == "hunk 1"
    tools = section(form, "tool_search_output")
    assert tools.ticked.value == ["get_weather"]
    assert tools.area.value == '[{"type": "web'
    assert section(form, "mcp_approval_response").reason.value == "not mine"
    for part in form.sections.values():
        assert not part.valid
        assert "draft, not complete: " in status(part), part.asked.type
    assert "0 of 7 answered" in form.foot.hint
    assert form.send.disabled


def test_half_an_answer_of_each_kind_survives_the_kernel(journalled: Session) -> None:
    form = only(journalled)
    half_typed(form)
    until(lambda: all(part.kept is not None and not part.dirty for part in form.sections.values()))
    check_half_typed(form)
    with recovered(journalled) as session:
        check_half_typed(only(session))
        assert notes(session) == notes(journalled), "showing it writes nothing"
        text = str(pending_forms(session))
        assert text.count("draft, not complete: ") == 7
        assert "output is no JSON" in text
        assert "draft, not complete: approve or deny this call" in text
        html = pending_forms(session)._repr_mimebundle_()["text/html"]
        assert "draft, not complete: approve or deny this call" in html
        # What is half typed can be completed, and sent.
        lane = session["planner"].recover("continue")
        form = only(session)
        section(form, "function_call_output").area.value = '{"sat": "dry"}'
        form.cancel.click()
        until(lambda: not form.send.disabled)
        assert all(needed.draft is None for needed in lane.required_input)
        assert section(form, "function_call_output").item()["output"] == '{"sat":"dry"}'
        assert "Cancelled by the user" in section(form, "apply_patch_call_output").log.value
        form.send.click()
        until(lambda: form.facts.phase == "committed")
    ledger = load(session.journal_path).ledger  # type: ignore[arg-type]
    assert not any(s.draft for r in ledger.responses.values() for s in r.required.values())


def test_what_was_typed_a_moment_before_the_end_is_kept(
    journalled: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_quiet(monkeypatch)
    section(only(journalled), "function_call_output").mode.value = "JSON"
    section(only(journalled), "function_call_output").area.value = '{"half'
    with recovered(journalled) as session:  # at once
        assert section(only(session), "function_call_output").area.value == '{"half'


def left(form: ContinuationForm, shown: dict[Any, Any]) -> None:
    """A page tells what it shows when it is left while the kernel is busy."""
    values = {control.model_id: value for control, value in shown.items()}
    assert values.keys() <= form.foot.fields.keys()
    message = {"event": "left", "page": "a", "number": 1, "shown": values}
    form.foot._handle_custom_msg(message, [])


def test_what_a_page_shows_when_it_is_left_is_kept(journalled: Session) -> None:
    form = only(journalled)
    function, approval = (
        section(form, kind) for kind in ("function_call_output", "mcp_approval_response")
    )
    row = section(form, "shell_call_output").rows[1]
    computer, search = section(form, "computer_call_output"), section(form, "tool_search_output")
    for control in (computer.upload, computer.picker.widget):
        assert control.model_id not in form.foot.fields, "those do something when they are changed"

    def find_hotel(city: str) -> str:
        return city

    journalled.lane("hotels", tools=[find_hotel])  # offered in this form, too, from now on
    journalled["planner"].fill(section(form, "custom_tool_call_output").key, output="x")
    until(lambda: "find_hotel" in search.ticked.boxes)
    tick = search.ticked.boxes["find_hotel"]
    until(lambda: tick.model_id in form.foot.fields)
    left(
        form,
        {
            function.area: "18 °C, dr",
            approval.decision: 1,
            approval.reason: "not n",
            row.stderr: "fatal: no",
            row.outcome: len(row.outcome.options) - 2,
            row.code: 12,
            tick: True,
        },
    )
    assert [part.valid for part in (function, approval, search)] == [True] * 3
    assert search.read()["tools"][0]["name"] == "find_hotel"
    with recovered(journalled) as session:
        form = only(session)
        assert section(form, "function_call_output").area.value == "18 °C, dr"
        answer = section(form, "mcp_approval_response").read()
        assert answer == {"approve": False, "reason": "not n"}
        row = section(form, "shell_call_output").rows[1]
        assert row.read()["outcome"] == {"type": "exit", "exit_code": 12}


def test_nothing_is_written_for_each_key_nor_twice(
    weather: tuple[Session, Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, lane = weather
    part = section(only(session), "function_call_output")
    with monkeypatch.context() as patch:
        never_quiet(patch)
        part.mode.value = "JSON"
        for end in range(1, 13):
            part.area.value = '{"sat": "dry"'[:end]
        assert notes(session) == []
    part.area.value = '{"sat": "dry"'
    until(lambda: part.kept is not None)
    (note,) = notes(session)
    typed = {"text": '{"sat": "dry"', "mode": "JSON", "empty": False, "parts": ""}
    assert note["fields"] == typed
    part.area.value = '{"sat"'
    part.area.value = '{"sat": "dry"'
    until(lambda: not part.dirty)
    assert len(notes(session)) == 1
    assert lane.required_input[0].draft == note["fields"]
    part.area.value = '{"sat": "dry"}'
    until(lambda: "saved" in status(part))
    assert lane.required_input[0].state == "filled"
    assert lane.required_input[0].draft is None


def test_who_types_without_a_pause_is_kept_too(
    weather: tuple[Session, Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    never_quiet(monkeypatch)
    monkeypatch.setattr(drafting, "_LATEST_S", 0.5)
    session, _ = weather
    part = section(only(session), "function_call_output")
    part.mode.value = "JSON"
    text, end = "{", time.monotonic() + 15
    while not notes(session):
        assert time.monotonic() < end
        text += "x"
        part.area.value = text
        time.sleep(0.05)


def test_an_answer_that_is_edited_becomes_a_draft_and_an_answer_again(
    weather: tuple[Session, Lane],
) -> None:
    session, lane = weather
    form = only(session)
    part = section(form, "function_call_output")
    part.mode.value = "JSON"
    part.area.value = "{}"
    until(lambda: lane.required_input[0].state == "filled")
    part.area.value = "{}}"
    until(lambda: lane.required_input[0].state == "open")
    assert lane.required_input[0].draft["text"] == "{}}"  # type: ignore[index]
    names = [entry.note for entry in session.trace][-2:]
    assert names == ["draft", "cleared"], "in no moment the disk has neither"
    part.area.value = "{}"
    until(lambda: lane.required_input[0].state == "filled")


def test_what_was_emptied_is_no_draft(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    part = section(only(session), "function_call_output")
    part.mode.value = "JSON"
    part.area.value = "{"
    until(lambda: lane.required_input[0].draft)
    part.mode.value = "text"
    part.area.value = ""
    until(lambda: lane.required_input[0].draft is None)
    until(lambda: "draft" not in status(part))


def test_two_displays_stay_in_step_unless_one_is_being_edited(
    weather: tuple[Session, Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, lane = weather
    parent = lane.required_input[0].parent_id
    forms = [ContinuationForm(session, lane, parent) for _ in range(2)]
    first, second = (section(form, "function_call_output") for form in forms)
    with monkeypatch.context() as patch:
        never_quiet(patch)
        first.mode.value = "JSON"
    first.area.value = '{"half'
    until(lambda: second.area.value == '{"half' and second.mode.value == "JSON")
    until(lambda: "draft, not complete" in status(second))
    assert len(notes(session)) == 1, "what is only shown is not written"
    # Somebody types in both: nobody's text is replaced while it is not kept.
    with monkeypatch.context() as patch:
        never_quiet(patch)
        second.area.value = '{"second'
        first.area.value = '{"firs'
        forms[1].refresh()
        forms[0].refresh()
        assert (first.area.value, second.area.value) == ('{"firs', '{"second')
    first.area.value = '{"first'
    until(lambda: second.area.value == '{"second' and not first.dirty)
    second.area.value = '{"second '
    until(lambda: first.area.value == second.area.value)
    assert lane.required_input[0].draft["text"] == first.area.value  # type: ignore[index]
    # Emptied, and completed.
    first.mode.value = "text"
    first.area.value = ""
    until(lambda: second.area.value == "" and second.mode.value == "text")
    first.area.value = "18"
    until(lambda: second.area.value == "18" and "saved" in status(second))


def test_an_older_picture_does_not_bring_back_older_text(
    weather: tuple[Session, Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = weather
    form = only(session)
    part = section(form, "function_call_output")
    part.mode.value = "JSON"
    part.area.value = '{"old'
    until(lambda: part.kept and not part.dirty)
    old = form.read()
    part.area.value = '{"new'
    until(lambda: part.kept["text"] == '{"new' and not part.dirty)
    form._show(old)
    assert part.area.value == '{"new'


def test_what_is_typed_while_it_is_kept_is_kept_too(
    weather: tuple[Session, Lane], monkeypatch: pytest.MonkeyPatch
) -> None:
    session, lane = weather
    part = section(only(session), "function_call_output")
    part.mode.value = "JSON"
    part.area.value = '{"half'
    real, more = lane.session.act, ['{"half of', '{"half of it']

    def slow(function: Any) -> Any:
        if more:
            part.area.value = more.pop(0)
        return real(function)

    monkeypatch.setattr(session, "act", slow)
    until(lambda: (lane.required_input[0].draft or {}).get("text") == '{"half of it')


def test_what_code_gives_does_not_replace_what_is_typed(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    form = only(session)
    part = section(form, "function_call_output")
    part.mode.value = "JSON"
    part.area.value = '{"half'
    until(lambda: part.kept and not part.dirty)
    lane.fill(part.key, output="by code", by="code")
    until(lambda: form.facts.asked[0].state == "filled")
    assert part.area.value == '{"half'
    again = ContinuationForm(session, lane, form.parent_id)
    assert section(again, "function_call_output").area.value == '{"half'
    # It gives way when a person says so.
    form.cancel.click()
    until(lambda: part.area.value == "by code")
    assert lane.required_input[0].draft is None


def test_a_function_that_is_run_takes_the_place_of_a_draft(weather: tuple[Session, Lane]) -> None:
    session, lane = weather
    part = section(only(session), "function_call_output")
    part.mode.value = "JSON"
    part.area.value = '{"half'
    until(lambda: part.kept and not part.dirty)
    part.run_button.click()
    until(lambda: part.area.value.endswith("days"))
    assert lane.required_input[0].draft is None
    until(lambda: part.valid)


def test_what_was_half_typed_stays_to_be_read_when_the_conversation_went_on(
    weather: tuple[Session, Lane],
) -> None:
    session, lane = weather
    form = only(session)
    part = section(form, "function_call_output")
    part.mode.value = "JSON"
    part.area.value = '{"half'
    until(lambda: part.kept and not part.dirty)
    lane.fill(part.key, output="by code", by="code")
    lane.send_continuation()
    lane.wait(10)
    until(lambda: form.facts.phase == "committed")
    assert part.area.value == "by code", "what was sent is shown"
    assert len(continuations(session)) == 1


def test_a_recording_may_hold_any_value(journalled: Session) -> None:
    lane, form = journalled["planner"], only(journalled)
    for needed in lane.required_input:
        names = [*section(form, needed.type)._fields, "no such"]
        odd: dict[str, Any] = {name: [7] for name in names}
        fields = {**odd, "text": "\ud800 half"}
        place = {"lane": "planner", "parent": needed.parent_id, "key": needed.key}
        journalled.act(
            lambda place=place, fields=fields: journalled.core.recorder.note(  # type: ignore[misc]
                "draft", **place, fields=fields
            )
        )
    until(lambda: all(part.kept is not None for part in form.sections.values()))
    form = ContinuationForm(journalled, lane, form.parent_id)
    assert section(form, "function_call_output").area.value == "? half"
    assert section(form, "function_call_output").mode.value == "text"
    assert section(form, "mcp_approval_response").decision.value is None
    assert section(form, "tool_search_output").ticked.value == []


# -- credentials -----------------------------------------------------------------------------------


def test_a_key_that_is_being_typed_is_not_kept_and_it_says_so(journalled: Session) -> None:
    part = section(only(journalled), "tool_search_output")
    part.ticked.value = ["get_weather"]
    part.area.value = f'[{{"type": "mcp", "authorization": "{KEY}'
    until(lambda: "Not kept until it is complete, as it may hold credentials" in status(part))
    assert KEY not in status(part)
    assert part.area.value.endswith(KEY), "what is typed stays where it is typed"
    with recovered(journalled) as session:
        part = section(only(session), "tool_search_output")
        assert part.ticked.value == ["get_weather"]
        assert KEY not in part.area.value
        assert KEY not in session.journal_path.read_text("utf-8")  # type: ignore[union-attr]


def test_an_answer_with_credentials_is_given_again_after_a_recovery(journalled: Session) -> None:
    part = section(only(journalled), "tool_search_output")
    part.ticked.value = ["get_weather"]
    part.area.value = json.dumps([{**MCP, "authorization": KEY}])
    until(lambda: "saved" in status(part))
    with recovered(journalled) as session:
        lane = session["planner"].recover("continue")
        form = only(session)
        part = section(form, "tool_search_output")
        # The rest is there, and it says exactly what is missing.
        assert part.ticked.value == ["get_weather"]
        assert json.loads(part.area.value) == [{**MCP, "authorization": "(hidden)"}]
        said = status(part).replace("&#x27;", "'")
        assert "draft, not complete: tools[1].authorization is '(hidden)'" in said
        assert "after a recovery they are typed again" in said
        assert "tools[1].authorization is '(hidden)'" in str(pending_forms(session))
        form.cancel.click()
        until(lambda: not form.send.disabled)
        lane.clear(part.key)
        part.area.value = json.dumps([{**MCP, "authorization": "(hidden)"}])
        time.sleep(4 * MOMENT_S)
        assert not any("(hidden)" in str(n.item) for n in lane.required_input)
        part.area.value = json.dumps([{**MCP, "authorization": KEY}])
        until(lambda: "saved" in status(part))
        until(lambda: not form.send.disabled)
        form.send.click()
        until(lambda: form.facts.phase == "committed")
        assert KEY not in session.journal_path.read_text("utf-8")  # type: ignore[union-attr]


def test_what_the_session_refuses_is_kept_as_a_draft(journalled: Session) -> None:
    form = only(journalled)
    part = section(form, "tool_search_output")
    part.area.value = json.dumps([{**MCP, "authorization": KEY}])
    until(lambda: "(hidden)" in part.area.value)  # what is shown is what the trace has
    part.area.value = json.dumps([{**MCP, "authorization": "(hidden)", "allowed_tools": ["f"]}])
    until(lambda: "allowed_tools" in str(part.asked.item))
    elsewhere = {**MCP, "authorization": "(hidden)", "server_url": "https://elsewhere.example"}
    part.area.value = json.dumps([elsewhere])
    until(lambda: "given again" in status(part))
    needed = next(n for n in journalled["planner"].required_input if n.key == part.key)
    assert needed.state == "open"
    assert "elsewhere" in needed.draft["text"]  # type: ignore[index]


# -- the box below a lane --------------------------------------------------------------------------


def test_half_a_sentence_survives_the_kernel(
    box_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = box_session.lane("planner")
    lane.create("Hello.").wait(10)
    lane.wait(10)
    box = Shown(lane).box
    with monkeypatch.context() as patch:
        never_quiet(patch)
        for end in range(1, 11):
            types(box, "half a sen."[:end])
        assert notes(box_session) == []
    types(box, "half a sen.")
    until(lambda: lane.draft)
    assert notes(box_session) == [{"lane": "planner", "text": "half a sen."}]
    never_quiet(monkeypatch)
    types(box, "half a sentence")
    with recovered(box_session) as session:  # at once
        assert session["planner"].draft == "half a sentence"
        again = Shown(session["planner"]).box
        assert again.field.value == "half a sentence"
        monkeypatch.setattr(drafting, "QUIET_S", MOMENT_S)
        time.sleep(4 * MOMENT_S)
        assert notes(session) == notes(box_session)
        session["planner"].recover("continue")
        press(again)
        until(lambda: session["planner"].text == "half a sentence")
        until(lambda: again.field.value == "")
        assert session["planner"].draft == ""
        time.sleep(4 * MOMENT_S)
        assert session["planner"].draft == ""
    assert load(session.journal_path).ledger.lanes["planner"].draft == ""  # type: ignore[arg-type]


def test_what_is_sent_at_once_is_no_draft_afterwards(box_session: Session) -> None:
    lane = box_session.lane("planner")
    box = Shown(lane).box
    for text in ("Hello.", "Again.", "Once more."):
        types(box, text)
        press(box)
        until(lambda: box.field.value == "" and not box.field.busy)
        assert lane.wait(10) == "idle"
    time.sleep(4 * MOMENT_S)
    assert lane.draft == ""
    assert sent(box_session) == ["Hello.", "Again.", "Once more."]
    # A crash at any place leaves a draft, or what was sent, and never both nor neither.
    ledger = load(box_session.journal_path).ledger  # type: ignore[arg-type]
    assert ledger.lanes["planner"].draft == ""


def test_what_was_refused_stays_a_draft(box_session: Session) -> None:
    lane = box_session.lane("planner")
    box = Shown(lane).box
    lane.close()
    types(box, "Too late")
    press(box)
    until(lambda: "closed" in box.field.said)
    assert box.field.value == "Too late"
    until(lambda: lane.draft == "Too late")


def test_what_is_typed_while_it_is_sent_is_kept(box_session: Session) -> None:
    lane = box_session.lane("planner")
    box = Shown(lane).box
    go_on, real = threading.Event(), type(lane).send

    def slow(*arguments: Any) -> Any:
        handle = real(lane, *arguments)
        go_on.wait(5)
        return handle

    lane.send = slow  # type: ignore[method-assign]
    types(box, "First.")
    press(box)
    until(lambda: sent(box_session) == ["First."])
    assert lane.draft == "", "it is on its way"
    time.sleep(4 * MOMENT_S)
    assert lane.draft == "", "and not written again while it stands in the field"
    types(box, "First. And")
    until(lambda: lane.draft == "First. And")
    go_on.set()
    until(lambda: not box.field.busy)
    assert box.field.value == "First. And"
    assert lane.draft == "First. And"


def test_two_boxes_stay_in_step_unless_one_is_being_edited(box_session: Session) -> None:
    lane = box_session.lane("planner")
    first, second = Shown(lane).box, Shown(lane).box
    types(first, "half a sen")
    until(lambda: second.field.value == "half a sen")
    types(second, "half a sentence")
    until(lambda: first.field.value == "half a sentence")
    press(first)
    until(lambda: first.field.value == "" and second.field.value == "")
    # What one types is not replaced by what the other has.
    types(second, "second")
    types(first, "first")
    until(lambda: lane.draft in ("first", "second") and not first._keeper.pending)
    until(lambda: first.field.value == second.field.value == lane.draft)


def test_older_text_never_replaces_newer(
    box_session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane = box_session.lane("planner")
    box = Shown(lane).box
    types(box, "old")
    until(lambda: lane.draft == "old" and not box._keeper.pending)
    reading, go_on, real = threading.Event(), threading.Event(), type(lane).draft

    def slow(self: Lane) -> str:
        found = real.fget(self)  # type: ignore[attr-defined]
        reading.set()
        go_on.wait(5)
        return str(found)

    monkeypatch.setattr(type(lane), "draft", property(slow))
    follow = threading.Thread(target=box._follow)
    follow.start()
    assert reading.wait(5)
    types(box, "new")
    keep = threading.Thread(target=box._keeper.now)
    keep.start()
    keep.join(0.3)
    go_on.set()
    follow.join(5)
    keep.join(5)
    assert box.field.value == "new"
    assert lane.draft == "new"


# -- drafts and steers that failed -----------------------------------------------------------------


def test_a_failed_steer_in_the_field_is_no_draft(box_session: Session) -> None:
    lane, box = refused(box_session)
    lane.steer("Keep it short")
    until(lambda: box.box.field.value == "Keep it short")
    time.sleep(4 * MOMENT_S)
    assert lane.draft == "", "the steer itself is in the trace"
    go(box_session)
    with recovered(box_session) as session:
        again = Shown(session["planner"])
        until(lambda: again.box.field.value == "Keep it short")
        assert not {"Send again", "Send as next turn"} & set(again.buttons()), "once is enough"


def test_what_was_typed_comes_before_a_failed_steer_after_a_recovery(box_session: Session) -> None:
    lane, box = refused(box_session)
    types(box.box, "half a sen")
    until(lambda: lane.draft)
    lane.steer("Keep it short")
    until(lambda: "Send as next turn" in box.buttons())
    go(box_session)
    with recovered(box_session) as session:
        again = Shown(session["planner"])
        until(lambda: "Send as next turn" in again.buttons())
        assert again.box.field.value == "half a sen"
        session["planner"].recover("continue")
        again.click("Send as next turn")
        until(lambda: session["planner"].text == "Keep it short")
        until(lambda: "Send as next turn" not in again.buttons())
        assert again.box.field.value == "half a sen"
        assert session["planner"].draft == "half a sen"


def test_a_failed_steer_that_is_being_changed_is_a_draft(box_session: Session) -> None:
    lane, box = refused(box_session)
    lane.steer("Keep it short")
    until(lambda: box.box.field.value == "Keep it short")
    types(box.box, "Keep it shorter, pl")
    until(lambda: lane.draft == "Keep it shorter, pl")
    go(box_session)
    with recovered(box_session) as session:
        again = Shown(session["planner"])
        assert again.box.field.value == "Keep it shorter, pl"
        until(lambda: "Send as next turn" in again.buttons())
        assert again.box.field.value == "Keep it shorter, pl"


def test_a_draft_of_another_display_sets_a_failed_steer_aside(box_session: Session) -> None:
    lane, box = refused(box_session)
    other = Shown(lane)
    lane.steer("Keep it short")
    for one in (box, other):
        until(lambda one=one: one.box.field.value == "Keep it short")
    types(other.box, "Something else")
    until(lambda: box.box.field.value == "Something else")
    until(lambda: "Send as next turn" in box.buttons())
    assert "Keep it short" in str(box.buttons()["Send as next turn"].tooltip)


# -- the keeper ------------------------------------------------------------------------------------


def test_what_is_big_is_written_seldom() -> None:
    written: list[float] = []

    def keep() -> int:
        written.append(time.monotonic())
        return 6_000_000

    keeper = Keeper(keep)
    end = time.monotonic() + 15
    while len(written) < 2:
        assert time.monotonic() < end
        keeper.touched()
        time.sleep(2 * MOMENT_S)
    assert written[1] - written[0] >= 1.4
    keeper.forget()
    before = len(written)
    keeper.touched()
    keeper.now()
    assert len(written) == before + 1, "before the end it is written at once"
    keeper.now()
    assert len(written) == before + 1
