"""A person before a page: what they type into each form, what they see, what a server got of it."""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

from tests.widgets.axe import Axe
from tests.widgets.lab import Shots, change_theme

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "EDITED",
    "KEY",
    "LOG",
    "NOTE",
    "STATUS",
    "Person",
    "Viewer",
    "account",
    "commands",
    "fill_by_hand",
    "named",
    "picture_of_a_page",
    "received",
    "upload",
]

KEY = "sk-proj-this-one-stands-nowhere-0123456789"
"""Stands in the environment only."""

STATUS = "atlas is on time"
EDITED = "atlas is on time, and dry"
NOTE = "Noted: “the audit began”.\nSecond line."
LISTED = "lisbon.md\nporto.md"
FAILED = "fatal: not a git repository"
LOG = "1 file changed, 1 insertion(+), 1 deletion(-)"


def account(control: str, kind: str) -> list[dict[str, Any]]:
    """What the server received and applied, by its own account."""
    asked = Request(f"{control}/account?kind={kind}", headers={"Authorization": f"Bearer {KEY}"})
    with urlopen(asked, timeout=10) as answer:
        entries: list[dict[str, Any]] = json.load(answer)["entries"]
    return entries


class Viewer:
    """Who sits before the page: what they see is kept as pictures and looked at by axe."""

    def __init__(self, page: Any, name: str) -> None:
        self.page = page
        self.shots = Shots(page, name)
        self.axe = Axe(page)

    def see(self, name: str, *cells: int, dark: bool = False) -> None:
        """Look at a state; in the dark as well."""
        self.shots.take(name, *cells)
        self.axe.look(name, *cells)
        if dark:
            change_theme(self.page, dark=True)
            self.shots.take(f"{name}-dark", *cells)
            self.axe.look(f"{name}, dark", *cells)
            change_theme(self.page, dark=False)

    def say(self, lane: str, words: str) -> None:
        box = self.page.get_by_role("textbox", name=f"What to say to {lane}").last
        box.fill(words)
        box.press("Control+Enter")

    def below(self, cell: int) -> Any:
        """What a cell shows, and not what stands by for a page without its kernel."""
        shown = self.page.locator(".jp-Notebook .jp-Cell").nth(cell)
        return shown.locator(".jp-OutputArea-output").locator("visible=true")


class Person(Viewer):
    """A person who knows the server, and has a picture to upload."""

    def __init__(self, page: Any, control: str, picture: Path) -> None:
        super().__init__(page, "story")
        self.control, self.picture = control, picture


def named(form: Any, role: str, name: str) -> Any:
    """A control by what a person is told of it: its name, or the hint where one points at it."""
    told, every = re.compile(f"^\\W*{re.escape(name)}"), form.get_by_role(role)
    return every.and_(form.get_by_title(told)).or_(form.get_by_role(role, name=told))


def fill_by_hand(person: Person, form: Any) -> Iterator[str]:
    """Fill one form after the other, as a person does; what was filled."""
    form.get_by_role("button", name="Run get_project_status").click()
    form.get_by_text("ran in").wait_for(timeout=20_000)
    form.get_by_text("saved; you may edit it before it is sent").wait_for()
    result = named(form, "textbox", "Result of get_project_status")
    assert result.input_value() == STATUS
    result.fill(EDITED)
    yield "function"
    named(form, "textbox", "Result of note").press_sequentially(NOTE)
    yield "custom"
    upload(person, form)
    form.get_by_role("checkbox", name="acknowledge the safety check").check()
    yield "computer"
    commands(form)
    yield "shell"
    form.get_by_role("radio", name="completed").check()
    named(form, "textbox", "Log").press_sequentially(LOG)
    yield "patch"
    form.get_by_role("checkbox", name="get_project_status").check()
    yield "tool search"
    form.get_by_role("radio", name="Approve").check()
    yield "approval"


def upload(person: Person, form: Any) -> None:
    with person.page.expect_file_chooser() as chooser:
        named(form, "button", "Upload a screenshot").click()
    chooser.value.set_files(person.picture)
    form.get_by_alt_text("the screenshot: image/png").wait_for()


def commands(form: Any) -> None:
    named(form, "textbox", "stdout of command 1").press_sequentially(LISTED)
    named(form, "textbox", "stderr of command 2").press_sequentially(FAILED)
    named(form, "combobox", "How command 2 ended").select_option(label="other exit code")
    named(form, "spinbutton", "Exit code of command 2").fill("128")
    named(form, "spinbutton", "Exit code of command 2").press("Tab")


def received(person: Person, times: int, status: str) -> None:
    """What the server got is what was typed, each answer once."""
    got = account(person.control, "continuation")
    assert len(got) == times
    answers = {item["type"]: item for item in got[-1]["results"]}
    assert len(answers) == len(got[-1]["results"]) == 7
    assert answers["function_call_output"]["output"] == status
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


def picture_of_a_page(path: Path) -> Path:
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
