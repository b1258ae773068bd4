"""One person answers a Letta agent in a real JupyterLab: in forms, after a reload, recovered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.simulator import CallFunction, Say, Think
from steer_nb.simulator.letta import LettaSimulator, ServerTool, scenario
from tests.support.browser import needs_browser
from tests.widgets.lab import Card, reload, restart, run_cell, save
from tests.widgets.person import Viewer, named

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from steer_nb.simulator import Step
    from steer_nb.simulator.letta.turn import LettaTurn
    from tests.widgets.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.kernel,
    pytest.mark.slow,
    needs_browser("jupyterlab"),
]

HOSTILE = "<img src=x onerror=window.pwned=1> costs $5 and $6 <script>window.pwned=1</script>"
PURGE = "purge<img src=x onerror=window.pwned=1>"
LONG = f"{HOSTILE} {'so long ' * 400}"
REASON = "I need <b>that</b> file"
SAID = f"And be quick. {HOSTILE}"


def list_files(folder: str) -> str:
    """List the files in a folder."""
    return f"{folder}: report.md, old.log {HOSTILE}"


def delete_file(path: str, why: str) -> str:
    """Delete a file."""
    return f"deleted {path} {HOSTILE}"


TOOLS = [
    list_files,
    ServerTool.of(delete_file, requires_approval=True),
    ServerTool(PURGE, requires_approval=True),
]


@scenario("desk", "Calls all at once: what runs, two that are gated, and yours.", tools=TOOLS)
def desk(turn: LettaTurn) -> Iterator[Step]:
    if turn.results:
        told = [f"{one.name} gave: {one.text}" for one in turn.results.values()]
        yield Say("\n\n".join([*told, *(f"You added: {text}" for text in turn.steers)]))
        return
    yield Think("They have to agree.")
    yield Say("I tidy up.")
    yield CallFunction("list_files", {"folder": "/srv"})
    yield CallFunction("who_needs", {"path": "/srv/old.log"})
    yield CallFunction("delete_file", {"path": "/srv/old.log", "why": LONG})
    yield CallFunction(PURGE, {"<b>all</b>": [HOSTILE, {"deep": True}]})


CELLS = [
    "%load_ext steer_nb\n%steer connect --letta URL",
    (
        "def who_needs(path: str) -> str:\n"
        '    """Say who still needs a file."""\n'
        '    print("asked for", path)\n'
        '    return "Ana"'
    ),
    "%steer open desk --agent AGENT --tools who_needs",
    "%%steer desk --wait\nTidy up.",
    "%steer pending",
    "%steer pending",
    "%%steer desk --wait\nOnce more.",
    "%steer pending",
    "%%steer desk --wait\nAnd again.",
    "%steer pending",
    "%load_ext steer_nb\n%steer recover --tools who_needs",
    "%steer pending",
]
HALF = "half a rea"


EDITED = "Ana, <b>until noon</b>"
WROTE = "looked\ntwice"


def runs(simulator: LettaSimulator) -> list[dict[str, Any]]:
    """What the server began for answers, by its own account."""
    return [one for one in simulator.account if one["kind"] == "run" and one["answers"]]


def ran(simulator: LettaSimulator) -> list[str]:
    return [one["name"] for one in simulator.account if one["kind"] == "tool"]


def test_a_person_answers_an_agent_in_forms(lab: Lab, tmp_path: Path) -> None:
    with LettaSimulator(desk, speed=0) as simulator:
        places = {"URL": simulator.base_url, "AGENT": simulator.agent_id}
        cells = CELLS
        for name, value in places.items():
            cells = [cell.replace(name, value) for cell in cells]
        with lab.notebook(tmp_path, cells) as page:
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.set_viewport_size({"width": 1200, "height": 3000})
            page.set_default_timeout(20_000)
            person = Viewer(page, "letta")
            _is_asked(person)
            _answers(person, simulator)
            _denies_all(person, simulator)
            _leaves_half_filled(person)
            _recovers(person, simulator)
            assert errors == []
            assert page.evaluate("window.pwned") is None
            assert page.locator(".jp-OutputArea :is(img, script, mjx-container)").count() == 0
            assert person.axe.looked > 5
            assert person.axe.found == []


def _is_asked(person: Viewer) -> None:
    page = person.page
    for cell in range(6):
        run_cell(page, cell)
    for cell in (4, 5):
        form = person.below(cell)
        form.get_by_text("waits for you: 3 answers").wait_for(timeout=30_000)
        assert form.get_by_text("function of yours").count() == 1
        assert form.get_by_text("asks for approval").count() == 2
        assert form.get_by_text("list_files").count() == 0, "it asks nobody"
    # What goes out behind the answers can be said now.
    card = Card(page, 2)
    person.say("desk", SAID)
    card.get_by_text("queued here").wait_for()
    person.below(2).get_by_text("Queued here: it goes out next.").wait_for()
    person.see("asks-and-queues", 2, 5, dark=True)


def _answers(person: Viewer, simulator: LettaSimulator) -> None:
    page, card = person.page, Card(person.page, 2)
    form, beside = person.below(4), person.below(5)
    form.get_by_text("1 text queued here will go behind it").wait_for()
    form.get_by_role("button", name="Run who_needs").click()
    form.get_by_text("ran in").wait_for()
    result = named(form, "textbox", "Result of who_needs")
    assert result.input_value() == "Ana"
    # A no has a reason of its own: what was given stays, and is not sent as one.
    form.get_by_role("radio", name="denied").check()
    result.wait_for(state="hidden")
    named(form, "textbox", "Reason for denying").wait_for()
    form.get_by_role("radio", name="error").check()
    assert result.input_value() == "Ana"
    result.fill(EDITED)
    named(form, "textbox", "stdout").fill(WROTE)
    named(form, "textbox", "stderr").fill(HOSTILE)
    form.get_by_role("radio", name="Deny").first.check()
    named(form, "textbox", "Reason, or result").first.fill(REASON)
    form.get_by_role("radio", name="Approve").last.check()
    for one in (form, beside):
        one.get_by_text("3 of 3 answered").wait_for()
    assert named(beside, "textbox", "stdout").input_value() == WROTE
    form.get_by_role("button", name="Show message").click()
    form.get_by_text('"approvals"').wait_for()
    person.see("filled", 4, dark=True)
    page.evaluate(
        "[1, 2, 3].forEach(() => document.querySelectorAll('.snb-go')"
        ".forEach(button => button.click()))"
    )
    for one in (form, beside):
        one.get_by_text("committed as run-").wait_for()
    card.get_by_text("idle").wait_for()
    assert page.locator(".snb-form").count() == 0, "a record stands where the form was"
    (run,) = runs(simulator)
    assert run["said"] == [SAID]
    told, no, yes = run["answers"]
    told.pop("tool_call_id")
    assert told == {
        "type": "tool",
        "tool_return": EDITED,
        "status": "error",
        "stdout": [WROTE],
        "stderr": [HOSTILE],
    }
    assert (no["approve"], no["reason"], yes["approve"]) == (False, REASON, True)
    assert sorted(ran(simulator)) == ["list_files", PURGE]
    shown = card.inner_text()
    for text in (EDITED, f"User reason: {REASON}", f"You added: {HOSTILE.partition('<')[0]}"):
        assert text in shown
    person.below(2).get_by_text("Queued here: it goes out next.").wait_for(state="hidden")
    person.see("answered", 2, 5)


def _denies_all(person: Viewer, simulator: LettaSimulator) -> None:
    page = person.page
    run_cell(page, 6)
    run_cell(page, 7)
    form = person.below(7)
    form.get_by_text("0 of 3 answered").wait_for()
    form.get_by_role("button", name="Deny all").click()
    form.get_by_text("Filled as denied; look it over, then send.").wait_for()
    person.shots.take("denied", 7)
    form.get_by_role("button", name="Send continuation").dblclick()
    form.get_by_text("committed as run-").wait_for()
    Card(page, 2).get_by_text("idle").wait_for()
    assert [one["approve"] for one in runs(simulator)[1]["answers"]] == [False] * 3
    assert sorted(ran(simulator)) == ["list_files", "list_files", PURGE]


def _leaves_half_filled(person: Viewer) -> None:
    """What is half filled is there after a reload, and stands in a record without its kernel."""
    page = person.page
    run_cell(page, 8)
    run_cell(page, 9)
    form = person.below(9)
    form.get_by_role("radio", name="Deny").first.check()
    named(form, "textbox", "Reason, or result").first.press_sequentially(HALF)
    named(form, "textbox", "stdout").press_sequentially(WROTE)
    form.get_by_text("draft, not complete").wait_for()
    form.get_by_text("saved; you may edit it").wait_for()
    person.say("desk", "Thank you.")
    form.get_by_text("1 text queued here will go behind it").wait_for()
    save(page)
    reload(page)
    form.get_by_text("1 of 3 answered · 1 text queued here will go behind it").wait_for()
    assert named(form, "textbox", "Reason, or result").first.input_value() == HALF
    person.shots.take("reloaded", 2, 9)
    save(page)
    restart(page)
    form.get_by_text("draft, not complete").wait_for()
    person.see("kernel-restarted", 9)


def _recovers(person: Viewer, simulator: LettaSimulator) -> None:
    page = person.page
    run_cell(page, 1)
    run_cell(page, 10)
    run_cell(page, 11)
    form = person.below(11)
    form.get_by_text("1 of 3 answered").wait_for(timeout=30_000)
    assert named(form, "textbox", "stdout").input_value() == WROTE
    reason = named(form, "textbox", "Reason, or result").first
    assert reason.input_value() == HALF
    form.get_by_text("1 text queued here will go behind it").wait_for()
    person.see("recovered", 10, 11)
    named(form, "textbox", "Result of who_needs").fill("Ana")
    reason.fill(REASON)
    form.get_by_role("radio", name="Give the result").last.check()
    form.get_by_placeholder("what it gave").fill("did it by hand")
    form.get_by_text("3 of 3 answered").wait_for()
    form.get_by_role("button", name="Send continuation").dblclick()
    form.get_by_text("committed as run-").wait_for()
    run = runs(simulator)[-1]
    assert len(runs(simulator)) == 3
    assert run["said"] == ["Thank you."]
    told, no, mine = run["answers"]
    assert (told["tool_return"], told["status"], told["stdout"]) == ("Ana", "success", [WROTE])
    assert (no["approve"], no["reason"]) == (False, REASON)
    assert (mine["type"], mine["tool_return"]) == ("tool", "did it by hand")
    assert ran(simulator).count(PURGE) == 1
    person.shots.take("recovered-answered", 11)
