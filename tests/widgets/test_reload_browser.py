"""A lane that is read on after a reload, and in a second tab, in a real JupyterLab."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.simulator import Simulator, Think, scenario
from tests.support.browser import needs_browser
from tests.support.writing import Lines, Writes
from tests.widgets.lab import Card, reload, run_cell, save
from tests.widgets.test_hostile import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from steer_nb.simulator import Step, Turn
    from tests.widgets.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    needs_browser("jupyterlab"),
]

CORPUS = "\n\n".join(text for name, text in HOSTILE.items() if name not in ("word", "surrogate"))
LINE = "Line {n} says where to go, and when, and why not today.\n\n"
LINES = "".join(LINE.format(n=number) for number in range(30))


class Reader:
    """Thinks, and writes until enough of it was read; a second turn is short."""

    def __init__(self) -> None:
        self.more = Lines(LINE, first=30)

    def script(self, turn: Turn) -> Iterator[Step]:
        if "Again" in turn.prompt:
            yield Writes(f"Once more. {CORPUS}\n\nThe second end.")
            return
        yield Think("Where they go, and how.")
        yield Writes(f"{CORPUS}\n\n{LINES}", self.more, "The end.")

    def see_next(self, card: Card) -> None:
        """See a line that was not begun yet."""
        coming = f"Line {self.more.last + 1} says"
        card.get_by_text(coming).first.wait_for(timeout=40_000)


CELLS = [
    (
        "import steer_nb\n%load_ext steer_nb\n"
        "session = steer_nb.connect('URL', journal=False, quiet=True)\n"
        "lane = session.lane('planner')\n"
        "lane"
    ),
    "lane.create('Plan.')",
    "lane.create('Again.')",
]
UP = "() => Math.max(...[...document.querySelectorAll('.snb-scroll')].map(box => -box.scrollTop))"
FOLDS = "() => [...document.querySelectorAll('.snb-part details')].map(fold => fold.open)"


class Frames:
    """The messages to and from the kernels of a page about its card, with when they came."""

    def __init__(self, page: Any) -> None:
        self.pictures: list[float] = []
        self.notes = 0
        self.told: list[str] = []
        page.on("websocket", self._opened)

    def _opened(self, socket: Any) -> None:
        socket.on("framereceived", lambda frame: self._received(_text(frame)))
        socket.on("framesent", lambda frame: self._sent(_text(frame)))

    def _received(self, text: str) -> None:
        if re.search(r'"pictures": ?null', text):
            self.notes += 1
        elif re.search(r'"pictures": ?\{', text):
            self.pictures.append(time.monotonic())

    def _sent(self, text: str) -> None:
        self.told += re.findall(r'"event": ?"(look|watch|leave)"', text)


def _text(frame: str | bytes) -> str:
    return frame if isinstance(frame, str) else frame.decode("utf-8", "replace")


def test_a_lane_is_read_on_after_a_reload_and_in_a_second_tab(lab: Lab, tmp_path: Path) -> None:
    reader = Reader()
    telling = scenario("reader", "Writes for as long as it is read.")(reader.script)
    with Simulator(telling, speed=1) as simulator:
        cells = [cell.replace("URL", simulator.base_url) for cell in CELLS]
        with lab.notebook(tmp_path, cells) as page:
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            frames = Frames(page)
            card, area = Card(page, 0), page.locator(".snb-say textarea")
            run_cell(page, 0)
            area.wait_for(timeout=30_000)
            run_cell(page, 1)
            reader.see_next(card)
            assert (frames.pictures, frames.told) == ([], []), "displays arrive"
            save(page)
            reload(page)
            area.wait_for(timeout=30_000)
            reader.see_next(card)
            assert frames.told == ["look", "watch"]
            # What a reader does stays, as it does where displays arrive. Done in the page, not by a
            # locator: what that finds may be replaced by the next picture before it is asked.
            page.evaluate("document.querySelector('.snb-part details').open = true")
            reader.see_next(card)
            page.evaluate("document.querySelector('.snb-live').focus()")
            page.keyboard.press("PageUp")
            page.wait_for_function(f"({UP})() > 200")

            other = page.context.browser.new_page(viewport={"width": 1200, "height": 1400})
            other.on("pageerror", lambda error: errors.append(str(error)))
            beside = Card(other, 0)
            other.goto(page.url)
            other.locator(".snb-say textarea").wait_for(timeout=40_000)
            for one in (beside, card):
                reader.see_next(one)
            assert True in page.evaluate(FOLDS)
            assert page.evaluate(UP) > 200, "in what is written, or in what is finished by now"
            for _ in range(600):
                if len(frames.pictures) > 20:
                    break
                page.wait_for_timeout(50)  # which takes in what came
            reader.more.enough()
            for one in (card, beside):
                one.get_by_text("The end.").first.wait_for(timeout=60_000)
                one.get_by_text("idle").first.wait_for(timeout=20_000)
            assert card.all_text_contents() == beside.all_text_contents()
            page.screenshot(path=tmp_path / "reloaded.png")
            times = frames.pictures
            assert len(times) > 20
            assert (len(times) - 1) / (times[-1] - times[0]) <= 10
            assert frames.told.count("watch") <= 2 + (times[-1] - times[0]) / 5, "a light heartbeat"
            _goes_on(page, other, area)
            assert errors == []
            for one in (page, other):
                assert one.evaluate("window.pwned") is None


def _goes_on(page: Any, other: Any, area: Any) -> None:
    """A page that runs a cell again has its displays back; the other goes on as before."""
    beside = Card(other, 0)
    area.fill("Again.")
    area.press("Control+Enter")
    for one in (Card(page, 0), beside):
        one.get_by_text("The second end.").first.wait_for(timeout=30_000)
        one.get_by_text("idle").first.wait_for(timeout=20_000)
    # The fork's displays would be dropped by this page: it stands in the box.
    page.get_by_role("button", name="Fork", exact=True).click()
    name = page.get_by_role("textbox", name="Name of the new lane").first
    name.fill("other")
    name.press("Enter")
    say = page.get_by_role("textbox", name="What to say to other")
    say.wait_for()
    say.fill("Again and again.")
    say.press("Control+Enter")
    room = page.locator(".snb-room")
    room.get_by_text("Again and again.").first.wait_for()
    room.get_by_text("The second end.").last.wait_for(timeout=30_000)
    # Stopped: the last picture arrives, in both pages, and the boxes go.
    page.get_by_role("button", name="Stop watching").first.click()
    for one, card in ((page, Card(page, 0)), (other, beside)):
        card.get_by_text("not watched since").first.wait_for()
        one.get_by_role("textbox", name="What to say to planner").wait_for(state="hidden")
    # And who loads it later sees the same.
    save(page)
    reload(page)
    Card(page, 0).get_by_text("not watched since").first.wait_for(timeout=30_000)
