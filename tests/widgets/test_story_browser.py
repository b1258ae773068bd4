"""One person's whole story in a real JupyterLab: two lanes, a steer, seven forms, a lost kernel."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

import nbformat
import pytest

from tests.widgets.axe import Axe
from tests.widgets.lab import (
    Card,
    Shots,
    change_theme,
    chromium,
    notebook_page,
    reload,
    restart,
    run_cell,
    save,
    serve,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEEDS = [
    name for name in ("playwright", "jupyterlab", "PIL") if importlib.util.find_spec(name) is None
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.kernel,
    pytest.mark.slow,
    pytest.mark.skipif(bool(NEEDS), reason=f"needs {', '.join(NEEDS)}"),
    pytest.mark.skipif(chromium() is None, reason="needs a Chromium on the PATH"),
]

KEY = "sk-proj-this-one-stands-nowhere-0123456789"

# The built-in scripts, on one server; a plan is written until somebody steers it.
SCENARIO = """
from steer_nb.simulator import AwaitSteer, Say, scenario
from steer_nb.simulator.scenarios.calls import seven
from steer_nb.simulator.scenarios.planner import planner

@scenario("story", "Plans a trip until it is steered, and audits everything.")
def story(turn):
    if "audit" in turn.prompt.lower() or turn.results:
        yield from seven.script(turn)
        return
    yield from planner.script(turn)
    if not (turn.steers or turn.said):
        yield AwaitSteer(90)
        yield Say("Shall I book it?")
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


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """``steer-nb simulate`` in a process of its own: its address, and that of its control API."""
    script = folder / "story.py"
    script.write_text(SCENARIO, encoding="utf-8")
    command = [sys.executable, "-m", "steer_nb", "simulate", "--scenario", str(script)]
    server = subprocess.Popen(
        [*command, "--speed", "0.6", "--api-key", KEY], stdout=subprocess.PIPE, text=True
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


def account(control: str, kind: str) -> list[dict[str, Any]]:
    """What the server received and applied, by its own account."""
    asked = Request(f"{control}/account?kind={kind}", headers={"Authorization": f"Bearer {KEY}"})
    with urlopen(asked, timeout=10) as answer:
        entries: list[dict[str, Any]] = json.load(answer)["entries"]
    return entries


class Person:
    """Who sits before the page: what they see is kept as pictures and looked at by axe."""

    def __init__(self, page: Any, control: str, picture: Path) -> None:
        self.page, self.control, self.picture = page, control, picture
        self.shots = Shots(page, "story")
        self.axe = Axe(page)

    def see(self, name: str, *cells: int, dark: bool = False) -> None:
        """Look at a state; in the dark as well."""
        self.shots.take(name, *cells)
        self.axe.look(name)
        if dark:
            change_theme(self.page, dark=True)
            self.shots.take(f"{name}-dark", *cells)
            self.axe.look(f"{name}, dark")
            change_theme(self.page, dark=False)

    def say(self, lane: str, words: str) -> None:
        box = self.page.get_by_role("textbox", name=f"What to say to {lane}").last
        box.fill(words)
        box.press("Control+Enter")

    def below(self, cell: int) -> Any:
        """What a cell shows."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".jp-OutputArea")


def test_a_person_from_the_first_cell_to_the_recovered_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    picture = _picture(tmp_path / "screen.png")
    with served(tmp_path) as (url, control), serve(tmp_path) as address:
        cells = [cell.replace("URL", url) for cell in CELLS]
        with notebook_page(address, tmp_path, cells) as page:
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
    person.say("porto", "Plan a weekend in Porto.")
    for card in (lisbon, porto):
        card.get_by_text("Here is a plan for").wait_for(timeout=20_000)
        assert card.get_by_role("progressbar").count() == 1
    before = [len(card.inner_text()) for card in (lisbon, porto)]
    person.see("both-lanes-write", 1, 3, dark=True)
    for card, length in zip((lisbon, porto), before, strict=True):
        assert len(card.inner_text()) > length, "both stream"
    person.say("lisbon", "Keep it under 300 euros")
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
    person.see("both-lanes-done", 1, 4)
    steers = [(one["lane"], one["fate"]) for one in account(person.control, "steer")]
    assert steers == [("lisbon", "committed"), ("porto", "committed")]
    run_cell(page, 5)
    page.get_by_role("table", name="All lanes").wait_for()
    person.see("board", 5, dark=True)


STATUS = "atlas is on time"
NOTE = "Noted: “the audit began”.\nSecond line."
LISTED = "lisbon.md\nporto.md"
FAILED = "fatal: not a git repository"
LOG = "1 file changed, 1 insertion(+), 1 deletion(-)"


def _named(form: Any, role: str, name: str) -> Any:
    """A control by what a person is told of it: its name, or the hint where one points at it."""
    told, every = re.compile(f"^\\W*{re.escape(name)}"), form.get_by_role(role)
    return every.and_(form.get_by_title(told)).or_(form.get_by_role(role, name=told))


def _by_hand(person: Person, form: Any) -> Iterator[str]:
    """Fill one form after the other, as a person does; what was filled."""
    form.get_by_role("button", name="Run get_project_status").click()
    form.get_by_text("ran in").wait_for(timeout=20_000)
    assert _named(form, "textbox", "Result of get_project_status").input_value() == STATUS
    yield "function"
    _named(form, "textbox", "Result of note").press_sequentially(NOTE)
    yield "custom"
    _upload(person, form)
    form.get_by_role("checkbox", name="acknowledge the safety check").check()
    yield "computer"
    _commands(form)
    yield "shell"
    form.get_by_role("radio", name="completed").check()
    _named(form, "textbox", "Log").press_sequentially(LOG)
    yield "patch"
    form.get_by_role("checkbox", name="get_project_status").check()
    yield "tool search"
    form.get_by_role("radio", name="Approve").check()
    yield "approval"


def _upload(person: Person, form: Any) -> None:
    with person.page.expect_file_chooser() as chooser:
        _named(form, "button", "Upload a screenshot").click()
    chooser.value.set_files(person.picture)
    form.get_by_alt_text("the screenshot: image/png").wait_for()


def _commands(form: Any) -> None:
    _named(form, "textbox", "stdout of command 1").press_sequentially(LISTED)
    _named(form, "textbox", "stderr of command 2").press_sequentially(FAILED)
    _named(form, "combobox", "How command 2 ended").select_option(label="other exit code")
    _named(form, "spinbutton", "Exit code of command 2").fill("128")
    _named(form, "spinbutton", "Exit code of command 2").press("Tab")


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
    for number, kind in enumerate(_by_hand(person, form), 1):
        form.get_by_text(f"{number} of 7 answered").wait_for()
        assert send.is_enabled() == (number == 7)
        person.shots.take(f"filled-{kind.replace(' ', '-')}", 9)
    form.get_by_role("button", name="Show message").click()
    form.get_by_text('"type":"response.create"').wait_for()
    person.see("all-filled", 9, dark=True)
    send.click()
    form.get_by_text("committed as resp_").first.wait_for(timeout=20_000)
    audit.get_by_text(STATUS).first.wait_for(timeout=20_000)
    person.shots.take("successor-writes", 7, 9)
    audit.get_by_text("idle").wait_for(timeout=60_000)
    person.see("successor-done", 7, 9, dark=True)
    _received(person, 1)


def _received(person: Person, times: int) -> None:
    """What the server got is what was typed, each answer once."""
    got = account(person.control, "continuation")
    assert len(got) == times
    answers = {item["type"]: item for item in got[-1]["results"]}
    assert len(answers) == len(got[-1]["results"]) == 7
    assert answers["function_call_output"]["output"] == STATUS
    assert answers["custom_tool_call_output"]["output"] == NOTE
    shot = answers["computer_call_output"]
    assert shot["output"]["image_url"] == _address(person.picture)
    assert [check["code"] for check in shot["acknowledged_safety_checks"]] == ["sensitive_domain"]
    assert answers["shell_call_output"]["output"] == [
        {"stdout": LISTED, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "", "stderr": FAILED, "outcome": {"type": "exit", "exit_code": 128}},
    ]
    patch = answers["apply_patch_call_output"]
    assert (patch["status"], patch["output"]) == ("completed", LOG)
    (tool,) = answers["tool_search_output"]["tools"]
    assert tool["name"] == "get_project_status"
    assert answers["mcp_approval_response"]["approve"] is True


def _picture(path: Path) -> Path:
    from PIL import Image, ImageDraw

    shot = Image.new("RGB", (480, 270), "white")
    draw = ImageDraw.Draw(shot)
    draw.rectangle((0, 0, 480, 36), fill="#2c5f7c")
    draw.text((12, 10), "Bookings - Hotel Graca", fill="white")
    draw.rectangle((300, 200, 440, 240), fill="#4cc38a")
    draw.text((330, 212), "Book now", fill="black")
    shot.save(path)
    return path


def _address(picture: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(picture.read_bytes()).decode()


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
    _named(form, "textbox", "Result of get_project_status").press_sequentially(HALF)
    _upload(person, form)
    _named(form, "textbox", "Log").press_sequentially(LOG)
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
    result = _named(form, "textbox", "Result of get_project_status")
    assert result.input_value() == HALF
    form.get_by_alt_text("the screenshot: image/png").wait_for()
    assert _named(form, "textbox", "Log").input_value() == LOG
    assert form.get_by_role("radio", name="Approve").is_checked()
    assert not form.get_by_role("checkbox", name="acknowledge the safety check").is_checked()
    person.see("draft-is-there", 14)
    form.get_by_role("radio", name="text").first.check()
    result.fill(STATUS)
    _named(form, "textbox", "Result of note").press_sequentially(NOTE)
    form.get_by_role("checkbox", name="acknowledge the safety check").check()
    _commands(form)
    form.get_by_role("radio", name="completed").check()
    form.get_by_role("checkbox", name="get_project_status").check()
    form.get_by_text("7 of 7 answered").wait_for()
    form.get_by_role("button", name="Send continuation").click()
    form.get_by_text("committed as resp_").first.wait_for()
    audit = Card(page, 13)
    audit.get_by_text("idle").first.wait_for(timeout=60_000)
    person.see("recovered-successor", 14, dark=True)
    _received(person, 2)
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
