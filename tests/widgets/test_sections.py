"""Each kind of required input in a form: what fills it, and what does not."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pytest

import steer_nb
from steer_nb.widgets.press import Press
from tests.widgets.forming import PNG, everything, fill_all, only, section, shown, status, until
from tests.widgets.test_hostile import HOSTILE

if TYPE_CHECKING:
    from steer_nb import Lane, Session

# -- each kind -------------------------------------------------------------------------------------


def test_all_seven_kinds_go_out_as_they_were_filled(seven: tuple[Session, Lane]) -> None:
    session, lane = seven
    form = only(session)
    assert "0 of 7 answered" in form.foot.hint
    fill_all(form)
    assert "7 of 7 answered" in form.foot.hint
    form.reveal.click()
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
    part.area.value = '{"a": "never ended'
    assert "output is no JSON: Unterminated string starting at line 1, column 7." in status(part)
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
    assert part.shot.value == "data:image/png;base64,YWJj"
    assert part.url.value == "", "no text of it stands in the field"
    assert "image/png, 3 bytes · uploaded: a.png" in part.preview.value
    assert part.given.layout.display == ""
    assert part.ways.layout.display == "none"
    part.remove.click()
    assert part.preview.value == ""
    assert part.ways.layout.display == ""


def test_each_command_has_its_own_outcome(seven: tuple[Session, Lane]) -> None:
    part = section(only(seven[0]), "shell_call_output")
    first, second = part.rows
    assert status(part) == "", "nothing was touched"
    assert "stdout of command 1 is still empty: type it, or tick “no output”" in part.missing
    assert "timeout 10 s" in shown(part.widget)  # the call's time limit
    assert "command 2 of 2" in shown(part.widget)
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
    assert approval.reason.layout.display == "none"
    approval.decision.value = False
    assert approval.reason.layout.display == ""
    approval.reason.value = "not mine"
    assert approval.fields() == {"approve": False, "reason": "not mine"}
    approval.decision.value = True
    assert approval.reason.layout.display == "none", "nobody types what is not sent"
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
    part.ticked.value = ["get_weather"]
    item = part.item()
    assert [tool["type"] for tool in item["tools"]] == ["function", "web_search"]
    part.load(item)
    assert part.item() == item
    part.ticked.value = []
    part.area.value = ""
    assert not part.valid
    part.none.value = True
    assert part.fields() == {"tools": []}


def test_every_function_of_the_session_is_offered_under_where_it_comes_from(
    seven: tuple[Session, Lane],
) -> None:
    session, lane = seven
    part = section(only(session), "tool_search_output")
    assert list(part.known) == ["get_weather"]

    def find_hotel(city: str) -> str:
        """Find a hotel."""
        return city

    def get_weather(city: str) -> str:
        """Weather of another kind."""
        return city

    session.lane("hotels", tools=[find_hotel, get_weather])
    session.lane("twin", tools=[find_hotel])
    lane.fill(section(only(session), "custom_tool_call_output").key, output="x")
    offered = ["get_weather", "find_hotel", "get_weather (lane hotels)"]
    until(lambda: list(part.ticked.boxes) == offered)  # drawn on a thread of its own
    assert list(part.known) == offered
    words = shown(part.widget)
    assert words.index("functions of this lane") < words.index("functions of lane hotels")
    assert words.count("Find a hotel.") == 1
    part.ticked.boxes["find_hotel"].value = True
    part.ticked.boxes["get_weather (lane hotels)"].value = True
    (hotel, weather) = part.item()["tools"]
    assert (hotel["name"], weather["description"]) == ("find_hotel", "Weather of another kind.")
    item = part.item()
    part.ticked.boxes["get_weather"].value = True
    assert "two functions called get_weather are ticked" in status(part)
    assert not part.valid
    part.load(item)
    assert part.ticked.value == ["find_hotel", "get_weather (lane hotels)"]
    assert part.area.value == ""


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
    """A lane without functions, in a session without others."""

    def __init__(self) -> None:
        self.name = "planner"
        self.tools: dict[str, Any] = {}
        self.session = SimpleNamespace(lanes={}, core=SimpleNamespace(functions={}))


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


def test_every_control_has_a_name_that_is_read_out(seven: tuple[Session, Lane]) -> None:
    for widget in everything(only(seven[0]).widget):
        if isinstance(widget, (w.Box, w.HTML)):
            continue
        if isinstance(widget, Press):
            assert all(button.description and button.tooltip for button in widget.row)
            continue
        hint = "tooltip" if widget.has_trait("tooltip") else "description_tooltip"
        assert getattr(widget, hint, "") or widget.description, type(widget)
        # Browsers take an empty label for the name of a field, whatever its hint is.
        if not isinstance(widget, w.RadioButtons):
            assert widget.description, type(widget)
