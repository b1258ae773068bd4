"""A lane that is read while it is written, in a real JupyterLab, and how little room it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.simulator import Simulator, scenario
from steer_nb.widgets import render
from tests.support.browser import needs_browser
from tests.support.writing import Lines, Thinks, Writes
from tests.widgets.lab import run_cell
from tests.widgets.story import Story

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from steer_nb.simulator import Step, Turn
    from tests.support.browser import Browser
    from tests.widgets.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    needs_browser("jupyterlab"),
]

WIDE = "x" * 300
ARABIC = "اجعلها أقصر من فضلك"
VERY = "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz"
ROOMS = (320, 380, 520, 700, 750, 800, 1000)

OVER = """() => [...document.querySelectorAll(
  'html, .snb-card, .snb-head, .snb-need, .snb-board, .snb-board *, .snb-scroll')].filter(one =>
    one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 1 &&
    getComputedStyle(one).display != 'inline').map(one => one.outerHTML.slice(0, 200))"""


def crowded() -> str:
    """A board and a card, as static HTML, with words that need much room."""
    story = Story("n" * 120)
    story.create(0.0, f"Bitte {VERY} \U0001f642 {ARABIC}")
    story.created(0.1, "resp_1")
    story.item(0.2, 0, {"type": "message", "id": "m"})
    table = f"|{f'{VERY}|' * 12}\n|{'---|' * 12}\n|{'1 234|' * 12}"
    text = f"{VERY * 3} \U0001f642\n\n```\n{WIDE}\n```\n\n{table}\n\n{ARABIC}"
    story.event(0.3, "response.output_text.delta", item_id="m", output_index=0, delta=text)
    call = {"type": "function_call", "name": VERY, "call_id": "call_1", "arguments": "{}"}
    for name in ("planner", "kaputt", VERY.encode("ascii", "ignore").decode()):
        story.lane_name = name
        story.create(1.0, VERY)
        story.created(1.1, f"resp_{name}")
        if name == "kaputt":
            error = {"code": "server_error", "message": VERY}
            story.ended(1.2, f"resp_{name}", "failed", error=error)
        else:
            story.ended(1.2, f"resp_{name}", output=[call], usage={"total_tokens": 1_234_567})
    cards = [render.lane_card(story.ledger, lane, 9.0) for lane in story.ledger.lanes.values()]
    return "<br>".join([render.board(story.ledger, 9.0), *cards])


def test_nothing_is_wider_than_its_room(browser: Browser, tmp_path: Path) -> None:
    with browser.page(color_scheme="dark") as page:
        page.set_content(f"<!doctype html><body>{crowded()}</body>")
        for width in ROOMS:
            page.set_viewport_size({"width": width, "height": 2400})
            assert page.evaluate(OVER) == [], width
            stacked = page.locator(".snb-board tbody tr").first.evaluate(
                "row => getComputedStyle(row).display"
            )
            assert stacked == ("flex" if width < 750 else "table-row")
            page.screenshot(path=tmp_path / f"{width}.png")


STORY = "\n\n".join(
    [
        "The plan for Lisbon, with *all* that is asked for.",
        f"```python\nline = '{WIDE}'\n```",
        f"|{'<b>Alfama</b>|' * 40}\n|{'---|' * 40}\n|{'18 °C|' * 40}",
        "",
    ]
)
LINE = "Line {n} says where to go and when. اجعلها أقصر 🙂\n\n"


class Reader:
    """Thinks, writes, and writes a second time, each until enough of it was seen."""

    def __init__(self) -> None:
        self.thought = Lines("Where they go, and how. ")
        self.few = Lines(LINE, first=1, slowly=8)  # the box fills up later
        self.many = Lines(LINE, first=1000)
        self.more = Lines("That is all. ")

    def script(self, turn: Turn) -> Iterator[Step]:
        yield Thinks(self.thought)
        lines = "".join(LINE.format(n=number) for number in range(100, 130))
        yield Writes(STORY + LINE.format(n=0), self.few, lines, self.many, "The last line.")
        yield Writes(self.more)


HOLDING = [
    (
        "import steer_nb\n%load_ext steer_nb\n"
        "session = steer_nb.connect('URL', journal=False, quiet=True)\n"
        "lane = session.lane('planner')\n"
        "lane"
    ),
    "lane",
    "lane.create('Plan.')",
    "%steer show planner",
]


class Reading:
    """One of several cards of a lane in a page that is painted all the time.

    Each question is one step in the page: an element that is found in one step is gone in the next.
    """

    LIVE, DONE = ".snb-live", ".snb-middle .snb-scroll"

    def __init__(self, page: Any, cell: int) -> None:
        self.page = page
        self._cell = cell
        self._parts = page.locator(".jp-Notebook .jp-Cell").nth(cell)

    def ask(self, where: str, question: str) -> Any:
        """Call a function of the page with the element that stands there now.

        Between two pictures there may be none for a moment.
        """
        found = f"document.querySelectorAll('.jp-Notebook .jp-Cell')[{self._cell}]"
        return self.page.evaluate(
            f"async where => {{ const find = () => {found}.querySelector(where);"
            " for (let n = 0; n < 200 && find() === null; n++)"
            " await new Promise(done => setTimeout(done, 5));"
            f" return ({question})(find()); }}",
            where,
        )

    def see(self, words: str, where: str = LIVE) -> None:
        self._parts.locator(where).get_by_text(words).first.wait_for(timeout=60_000)

    def later(self) -> None:
        """Wait until what is being written was painted three times more."""
        for _ in range(3):
            self.ask(
                ".snb-end",
                "async part => { while (part.isConnected)"
                " await new Promise(done => setTimeout(done, 10)); }",
            )

    def finished(self, words: str) -> None:
        self.see(words, self.DONE)
        self._parts.locator(self.LIVE).get_by_text(words).first.wait_for(state="detached")

    def opened(self, where: str) -> bool:
        return bool(self.ask(f"{where} details", "fold => fold.open"))

    def up(self, where: str) -> float:
        """How far a box is scrolled up from its end."""
        return float(self.ask(where, "box => -box.scrollTop"))

    def aside(self, where: str) -> list[float]:
        """How far the code and the table are scrolled."""
        return [self.ask(f"{where} {kind}", "box => box.scrollLeft") for kind in ("pre", "table")]

    def turn_aside(self, kind: str) -> None:
        """Scroll a box to the side with the wheel."""
        where = f"{self.LIVE} {kind}"
        while not self.ask(where, "box => box.scrollLeft"):
            self.page.mouse.move(*self._middle(where))
            self.page.mouse.wheel(150, 0)
            self.page.wait_for_timeout(400)

    def drag(self, where: str) -> None:
        """Select words as a person does: slowly, while they are painted anew, and move."""
        across, down = self._begin(where)
        self.page.mouse.move(across, down)
        self.page.mouse.down()
        for step in range(1, 6):
            self.page.wait_for_timeout(60)
            across, down = self._begin(where)
            self.page.mouse.move(across + 30 * step, down)
        self.page.mouse.up()

    def _middle(self, where: str) -> list[float]:
        left, top, width, height = self.ask(where, BOX)
        return [left + min(width, 300) / 2, top + height / 2]

    def _begin(self, where: str) -> list[float]:
        left, top, _, height = self.ask(where, BOX)
        return [left + 3, top + height / 2]

    def top_line(self, where: str) -> list[Any]:
        """Which line stands at the upper edge of a box, and where."""
        return list(self.ask(where, TOP))


BOX = """one => { const box = one.getBoundingClientRect();
  return [box.left, box.top, box.width, box.height]; }"""
TOP = """box => {
  const edge = box.getBoundingClientRect().top;
  const lines = [...box.querySelectorAll("p")];
  const line = lines.find(p => p.innerText && p.getBoundingClientRect().bottom > edge + 1);
  return [line.innerText, line.getBoundingClientRect().top - edge];
}"""
FOCUS = """() => { const one = document.activeElement;
  return [one.localName, one.matches(':focus-visible'), one.closest('.snb-middle') !== null]; }"""


def test_what_a_reader_does_in_what_is_being_written_stays(lab: Lab, tmp_path: Path) -> None:
    live, done = Reading.LIVE, Reading.DONE
    reader = Reader()
    telling = scenario("reader", "Writes for as long as it is looked at.")(reader.script)
    with Simulator(telling, speed=1) as simulator:
        cells = [cell.replace("URL", simulator.base_url) for cell in HOLDING]
        with lab.notebook(tmp_path, cells) as page:
            errors: list[str] = []
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
            run_cell(page, 0)
            run_cell(page, 1)
            page.locator(".snb-say textarea").nth(1).wait_for(timeout=30_000)
            one, other = Reading(page, 0), Reading(page, 1)
            run_cell(page, 2)
            # A fold, by keyboard, in a thought that goes on.
            one.see("Thinking for")
            one.ask(f"{live} summary", "fold => fold.focus()")
            page.keyboard.press("Enter")
            one.later()
            assert one.opened(live)
            assert page.evaluate(FOCUS) == ["summary", True, False]
            reader.thought.enough()
            one.finished("Thought for")
            assert page.evaluate(FOCUS) == ["summary", True, True]
            assert one.opened(done)
            assert not other.opened(done), "another card"
            page.keyboard.press("Enter")
            # Words, by mouse, while they are followed by others; code and a table, by wheel.
            one.see("Line 1 says")
            one.drag(f"{live} table + p")  # before the box is full, and moves the lines
            words = page.evaluate("getSelection().toString()")
            assert one.up(live) == 0
            one.turn_aside("pre")
            one.turn_aside("table")
            aside = one.aside(live)
            one.later()
            assert words in "Line 0 says where to go and when."
            assert len(words) > 10
            assert page.evaluate("getSelection().toString()") == words
            assert min(aside) > 0
            assert one.aside(live) == aside
            # Who is at the end follows; who reads further up stays there.
            reader.few.enough()
            one.see("Line 1000 says")
            assert one.up(live) == 0, "it follows"
            one.ask(live, "box => box.focus()")
            page.keyboard.press("PageUp")
            line = one.top_line(live)
            one.later()
            assert one.top_line(live) == line
            assert one.up(live) > 200
            assert other.up(live) == 0
            # And all of it when it is finished.
            reader.many.enough()
            one.finished("The last line.")
            assert one.top_line(done)[0] == line[0]
            assert one.top_line(done)[1] == pytest.approx(line[1], abs=1)
            assert page.evaluate(FOCUS)[2], "who reads on does so by keyboard"
            assert page.evaluate("getSelection().toString()") == words
            assert one.aside(done) == aside
            assert other.aside(done) == [0, 0]
            assert not one.opened(done), "it was closed"
            assert other.up(done) == 0
            one.see("That is all.")
            assert one.up(live) == 0, "what is written next is followed"
            assert errors == []
