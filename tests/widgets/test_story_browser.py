"""One person's whole story in a real JupyterLab: two lanes, a steer, seven forms, a lost kernel."""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import nbformat
import pytest

from tests.support.browser import needs_browser
from tests.widgets.lab import Card, Lab, reload, restart, run_cell, save
from tests.widgets.person import (
    EDITED,
    KEY,
    LOG,
    NOTE,
    STATUS,
    Person,
    account,
    commands,
    fill_by_hand,
    named,
    picture_of_a_page,
    received,
    upload,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.browser import Browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.kernel,
    pytest.mark.slow,
    needs_browser("jupyterlab", "PIL"),
]

# The built-in scripts, on one server; a plan is written until somebody steers it, in messages of
# which a steer lets the last one end.
SCENARIO = """
from itertools import count

from steer_nb.simulator import Pause, Say, scenario
from steer_nb.simulator.scenarios.calls import seven
from steer_nb.simulator.scenarios.planner import planner

@scenario("story", "Plans a trip until it is steered, and audits everything.")
def story(turn):
    if "audit" in turn.prompt.lower() or turn.results:
        yield from seven.script(turn)
        return
    yield from planner.script(turn)
    if not (turn.steers or turn.said):
        for number in count(1):
            yield Say(f"Idea {number}: a walk that begins where the last one ended.\\n\\n")
            yield Pause(2)
"""

CELLS = [
    "%load_ext steer_nb\n%steer connect URL",
    "%steer open lisbon",
    "%steer open porto",
    "%%steer lisbon\nPlan a two-day trip to Lisbon.",
    "%steer send porto Keep it under 300 euros",
    "%steer lanes",
    (
        "def get_project_status(project: str, deep: bool = False) -> str:\n"
        '    """How a project stands."""\n'
        '    return f"{project} is on time"'
    ),
    "%steer open audit --tools get_project_status",
    "%%steer audit --wait\nDo an audit of everything.",
    "%steer pending",
    "%steer show porto",
    "%%steer audit --wait\nNow audit it again.",
    "%steer pending",
    "%load_ext steer_nb\n%steer recover --tools get_project_status",
    "%steer pending",
    "%steer frame steers",
]
HOSTILE = "<img src=x onerror=window.pwned=1> costs $5 and $6 <script>window.pwned=1</script>"
PORTO = f"Plan a weekend in Porto. {HOSTILE}"


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """``steer-nb simulate`` in a process of its own: its address, and that of its control API."""
    script = folder / "story.py"
    script.write_text(SCENARIO, encoding="utf-8")
    command = [sys.executable, "-m", "steer_nb", "simulate", "--scenario", str(script)]
    server = subprocess.Popen(
        [*command, "--speed", "2", "--api-key", KEY], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    try:
        url = server.stdout.readline().strip()
        server.stdout.readline()
        yield url, server.stdout.readline().removeprefix("Control API: ").strip()
    finally:
        server.terminate()
        server.wait(15)
        server.stdout.close()


def test_a_person_from_the_first_cell_to_the_recovered_kernel(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    picture = picture_of_a_page(tmp_path / "screen.png")
    own = Lab(tmp_path / "lab", browser)  # with its key in the environment
    with served(tmp_path) as (url, control), own as lab:
        cells = [cell.replace("URL", url) for cell in CELLS]
        with lab.notebook(tmp_path, cells) as page:
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.set_viewport_size({"width": 1200, "height": 4000})
            page.set_default_timeout(20_000)
            person = Person(page, control, picture)
            _opens(person)
            _steers(person)
            _answers(person)
            _reloads(person)
            _leaves_half_filled(person)
            _recovers(person)
            _saves(person, tmp_path)
            assert errors == []
            assert page.evaluate("window.pwned") is None
            assert person.axe.looked > 20
            assert person.axe.found == []


def _opens(person: Person) -> None:
    page = person.page
    person.shots.take("notebook-opened")
    run_cell(page, 0)
    page.get_by_text("Connected to").first.wait_for(timeout=30_000)
    person.see("connected", 0)
    for cell in (1, 2):
        run_cell(page, cell)
        Card(page, cell).get_by_text("Nothing has been sent on this lane yet.").wait_for()
    person.see("two-lanes-opened", 0, 2)


def _steers(person: Person) -> None:
    """One lane is steered while the other writes."""
    page = person.page
    lisbon, porto = Card(page, 1), Card(page, 2)
    run_cell(page, 3)
    page.get_by_placeholder("Say something to porto …").wait_for()
    person.say("porto", PORTO)
    for card in (lisbon, porto):
        card.get_by_text("Here is a plan for").wait_for(timeout=20_000)
        card.get_by_text("writing").wait_for()
        assert card.get_by_role("progressbar").count() == 1
    for card in (lisbon, porto):
        card.get_by_text("Idea 1:").wait_for()
    before = [_ideas(card) for card in (lisbon, porto)]
    person.see("both-lanes-write", 1, 3, dark=True)
    for card, number in zip((lisbon, porto), before, strict=True):
        card.get_by_text(f"Idea {number + 1}:").wait_for()  # both stream
    # By mouse, and the button says which of the two it will do.
    page.get_by_placeholder("Steer lisbon …").fill("Keep it under 300 euros")
    person.below(1).get_by_role("button", name="Steer").click()
    lisbon.get_by_text("You steered:").wait_for()
    person.see("steered", 1, 3)
    lisbon.get_by_text("committed").wait_for(timeout=20_000)
    assert porto.get_by_role("progressbar").count() == 1, "the other goes on"
    person.see("steer-committed", 1, 3, dark=True)
    run_cell(page, 4)
    porto.get_by_text("committed").wait_for(timeout=20_000)
    for card in (lisbon, porto):
        card.get_by_text("idle").wait_for(timeout=30_000)
        assert "“Keep it under 300 euros”" in card.inner_text()
        assert card.get_by_role("progressbar").count() == 0
    # What was written is text: no picture, no script, no formula.
    assert HOSTILE.partition("window.pwned=1<")[0] in porto.inner_text()
    assert porto.locator("img, script, mjx-container").count() == 0
    person.see("both-lanes-done", 1, 4)
    steers = [(one["lane"], one["fate"]) for one in account(person.control, "steer")]
    assert steers == [("lisbon", "committed"), ("porto", "committed")]
    run_cell(page, 5)
    page.get_by_role("table", name="All lanes").wait_for()
    person.see("board", 5, dark=True)


def _ideas(card: Card) -> int:
    """How many were begun."""
    return card.inner_text().count("Idea ")


def _answers(person: Person) -> None:
    page = person.page
    run_cell(page, 6)
    run_cell(page, 7)
    run_cell(page, 8)
    audit = Card(page, 7)
    audit.get_by_text("waits for you: 7 answers").first.wait_for(timeout=30_000)
    run_cell(page, 9)
    form = person.below(9)
    form.get_by_text("waits for you: 7 answers").wait_for()
    person.see("seven-forms", 9, dark=True)
    send = form.get_by_role("button", name="Send continuation")
    for number, kind in enumerate(fill_by_hand(person, form), 1):
        form.get_by_text(f"{number} of 7 answered").wait_for()
        assert number == 7 or send.is_disabled()
        person.shots.take(f"filled-{kind.replace(' ', '-')}", 9)
    form.get_by_role("button", name="Show message").click()
    form.get_by_text('"type":"response.create"').wait_for()
    form.get_by_text(f'"output":"{EDITED}"').wait_for()
    person.see("all-filled", 9, dark=True)
    send.dblclick()  # once is enough, twice is the same
    form.get_by_text("committed as resp_").first.wait_for(timeout=20_000)
    audit.get_by_text(EDITED).first.wait_for(timeout=20_000)
    person.shots.take("successor-writes", 7, 9)
    audit.get_by_text("idle").wait_for(timeout=60_000)
    assert audit.inner_text().count(EDITED) >= 2, "in the call and in the answer"
    assert page.locator(".snb-form").count() == 0, "a record stands where the form was"
    person.see("successor-done", 7, 9, dark=True)
    received(person, 1, EDITED)


def _reloads(person: Person) -> None:
    """What was shown is shown again, and the box below a lane still sends."""
    page = person.page
    before = [Card(page, cell).inner_text() for cell in (1, 2, 7)]
    save(page)
    reload(page)
    Card(page, 7).first.wait_for(timeout=30_000)
    assert [Card(page, cell).inner_text() for cell in (1, 2, 7)] == before
    person.below(9).get_by_text("committed as resp_").first.wait_for()
    assert page.get_by_role("button", name="Send continuation").count() == 0
    person.see("reloaded", 1, 3)
    run_cell(page, 10)
    porto = Card(page, 10)
    porto.first.wait_for()
    person.say("porto", "One more day, please.")
    porto.get_by_text("“One more day, please.”").wait_for()
    porto.get_by_text("idle").wait_for()
    person.shots.take("lane-goes-on", 10)


HALF = '{"sta'


def _leaves_half_filled(person: Person) -> None:
    """Another response asks for the same; a part of it is answered, and the kernel goes."""
    page = person.page
    run_cell(page, 11)
    run_cell(page, 12)
    form = person.below(12)
    form.get_by_text("waits for you: 7 answers").wait_for()
    form.get_by_role("radio", name="JSON").first.check()
    named(form, "textbox", "Result of get_project_status").press_sequentially(HALF)
    upload(person, form)
    named(form, "textbox", "Log").press_sequentially(LOG)
    form.get_by_role("radio", name="Approve").check()
    form.get_by_text("1 of 7 answered").wait_for()
    form.get_by_text("draft, not complete").nth(2).wait_for()
    person.see("half-filled", 11, 12)
    save(page)
    restart(page)
    form.get_by_text("draft, not complete").first.wait_for()
    person.see("kernel-restarted", 12)


def _recovers(person: Person) -> None:
    page = person.page
    run_cell(page, 6)
    run_cell(page, 13)
    shown = person.below(13)
    shown.get_by_text("How does audit go on?").wait_for(timeout=30_000)
    person.see("recovered", 13, dark=True)
    shown.get_by_role("button", name="Continue").last.click()
    shown.get_by_text("How does audit go on?").wait_for(state="hidden")
    run_cell(page, 14)
    form = person.below(14)
    form.get_by_text("1 of 7 answered").wait_for()
    result = named(form, "textbox", "Result of get_project_status")
    assert result.input_value() == HALF
    form.get_by_alt_text("the screenshot: image/png").wait_for()
    assert named(form, "textbox", "Log").input_value() == LOG
    assert form.get_by_role("radio", name="Approve").is_checked()
    assert not form.get_by_role("checkbox", name="acknowledge the safety check").is_checked()
    person.see("draft-is-there", 14)
    form.get_by_role("radio", name="text").first.check()
    result.fill(STATUS)
    named(form, "textbox", "Result of note").press_sequentially(NOTE)
    form.get_by_role("checkbox", name="acknowledge the safety check").check()
    commands(form)
    form.get_by_role("radio", name="completed").check()
    form.get_by_role("checkbox", name="get_project_status").check()
    form.get_by_text("7 of 7 answered").wait_for()
    form.get_by_role("button", name="Send continuation").click()
    form.get_by_text("committed as resp_").first.wait_for()
    audit = Card(page, 13)
    audit.get_by_text("idle").first.wait_for(timeout=60_000)
    person.see("recovered-successor", 14, dark=True)
    received(person, 2, STATUS)
    run_cell(page, 15)
    person.below(15).get_by_text("committed").nth(1).wait_for()
    person.shots.take("frame", 15)


def _saves(person: Person, folder: Path) -> None:
    save(person.page)
    text = (folder / "lesson.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    assert "widgets" not in notebook.metadata
    for path in folder.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
