"""By keyboard alone, in a real JupyterLab, through words in several scripts, wide and narrow."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import needs_browser
from tests.widgets.lab import Card, Shots, change_theme, run_cell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.widgets.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.kernel,
    pytest.mark.slow,
    needs_browser("jupyterlab"),
]

LONG = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 4
GERMAN = "Straßenbahnhaltestellenverzeichnis und Übernachtungsmöglichkeiten in Größenwahn"
ARABIC = "اجعل الرحلة أقصر من فضلك، وبأقل من ثلاثمئة يورو"
EMOJI = "🚋👨‍👩‍👧‍👦🏳️‍🌈🇵🇹" * 20
assert len(LONG) > 300

SCENARIO = f"""
from steer_nb.simulator import AskApproval, AwaitSteer, CallFunction, Say, Think, scenario

LONG, GERMAN, ARABIC, EMOJI = {LONG!r}, {GERMAN!r}, {ARABIC!r}, {EMOJI!r}
WORDS = f"{{GERMAN}}\\n\\n{{ARABIC}}\\n\\n{{EMOJI}}\\n\\n{{LONG}}\\n\\n"

@scenario("scripts", "Writes in several scripts, then asks in them.")
def scripts(turn):
    if turn.results:
        yield Say("Danke. " + WORDS)
    elif turn.steers:
        yield Think(GERMAN, ARABIC)
        table = f"| {{GERMAN}} | {{ARABIC}} |\\n|---|---|\\n| {{LONG}} | {{EMOJI}} |"
        yield Say(f"# {{GERMAN}}\\n\\n{{table}}")
        yield CallFunction("get_weather", {{"city": ARABIC, "Straße": LONG}})
        yield AskApproval(GERMAN, LONG, {{"event": EMOJI, LONG: ARABIC}})
    else:
        yield Say(WORDS)
        yield AwaitSteer(60)
        yield Say(f"```\\n{{LONG}}\\n```\\n- {{LONG}}\\n- {{ARABIC}}")
"""

CELLS = [
    "%load_ext steer_nb\n%steer connect --simulate scripts.py --speed 0 --no-journal",
    "def get_weather(city: str, Straße: str) -> str:\n    return '18 °C ' + city",
    "%steer open Reiseplanung --tools get_weather",
    "%steer pending",
    "%steer lanes",
]

# What has the focus, where it is, and how that is seen. A box that scrolls may bring a stop in it
# to its middle: of such a stop, in which box it is, where that is, and how far it is from its top.
_STOP = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const rooms = [...document.querySelectorAll('.snb-scroll')];
  const room = one.closest('.snb-scroll'), own = one.getBoundingClientRect();
  const box = (room ?? one).getBoundingClientRect();
  const from = document.querySelector('.jp-Notebook .jp-Cell').getBoundingClientRect().top;
  const label = one.labels?.length ? [...one.labels].map(each => each.textContent).join(' ') : '';
  return {
    name: (one.getAttribute('aria-label') || label || one.textContent || '').trim(),
    ours: one.closest('.jp-OutputArea-output') !== null,
    seen: style.outlineStyle != 'none' && parseFloat(style.outlineWidth) > 0,
    left: box.left, top: box.top - from, bottom: box.bottom - from, room: rooms.indexOf(room),
    within: room && room !== one ? own.top - box.top + room.scrollTop + room.scrollHeight : 0,
    html: one.outerHTML.slice(0, 200),
  };
}"""

# Outputs wider than their room, and anything in them that is cut off or sticks out.
_WIDE = """() => {
  const found = [];
  for (const output of document.querySelectorAll('.jp-OutputArea-output')) {
    if (output.scrollWidth > output.clientWidth) found.push(output.outerHTML.slice(0, 300));
    for (const one of output.querySelectorAll('.steer-nb, .steer-nb *')) {
      const style = getComputedStyle(one);
      if (one.clientWidth > 1 && one.scrollWidth > one.clientWidth + 1
          && style.display != 'inline' && !['auto', 'scroll'].includes(style.overflowX)
          && style.textOverflow != 'ellipsis')
        found.push(`${one.scrollWidth} > ${one.clientWidth}: ${one.outerHTML.slice(0, 300)}`);
    }
  }
  return found;
}"""


class Keys:
    """A person without a mouse: where they come by, and that they see where they are."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.stops: list[dict[str, Any]] = []

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, name: str, *, back: bool = False) -> None:
        """Go on by Tab until the focus is there; each stop of ours is seen."""
        for _ in range(40):
            self.press("Shift+Tab" if back else "Tab")
            stop = self.page.evaluate(_STOP)
            if not stop["ours"]:
                continue
            assert stop["seen"], f"the focus is not seen: {stop['html']}"
            self.stops.append(stop)
            if stop["name"].startswith(name):
                return
        raise AssertionError(f"{name!r} is not reached: {[s['name'] for s in self.stops[-40:]]}")

    def run(self) -> None:
        """Run the chosen cell and stay there."""
        self.press("Control+Enter")


def _in_reading_order(stops: list[dict[str, Any]]) -> None:
    """Each stop is below the one before, or beside it."""
    for before, after in pairwise(stops):
        if before["room"] == after["room"] >= 0:
            assert after["within"] >= before["within"], (before, after)
            continue
        below = after["top"] >= before["top"] - 4
        beside = after["left"] > before["left"] and after["bottom"] > before["top"]
        assert below or beside, (before, after)


def test_any_script_is_read_and_answered_by_keyboard_alone(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "scripts.py").write_text(SCENARIO, encoding="utf-8")
    with lab.notebook(tmp_path, CELLS) as page:
        page.set_viewport_size({"width": 1200, "height": 2400})
        page.set_default_timeout(20_000)
        page.evaluate("jupyterapp.commands.execute('application:toggle-left-area')")
        run_cell(page, 0)  # puts the focus on the cell; from here on there are keys only
        keys, card = Keys(page), Card(page, 2)
        page.get_by_text("Connected to").first.wait_for()
        keys.press("ArrowDown")
        keys.run()
        keys.press("ArrowDown")
        keys.run()
        card.get_by_text("Nothing has been sent").wait_for()
        page.get_by_role("textbox", name="What to say to Reiseplanung").wait_for()
        _talks(keys, card)
        form = _opens_the_form(keys)
        shots = Shots(page, "scripts")
        _has_room(page, shots)
        _answers(keys, form)
        card.get_by_text("18 °C").last.wait_for()
        _unfolds(keys, card)


def _talks(keys: Keys, card: Any) -> None:
    """Send, and steer what then runs."""
    keys.tab_to("What to say to Reiseplanung")
    keys.page.keyboard.type(f"{GERMAN} {ARABIC}")
    keys.press("Control+Enter")
    card.get_by_text("writing").wait_for()
    keys.page.get_by_placeholder("Steer Reiseplanung").wait_for()
    keys.page.keyboard.type(ARABIC)
    keys.tab_to("Steer")
    keys.press("Enter")
    card.get_by_text("committed").wait_for()
    card.get_by_text("waits for you: 2 answers").first.wait_for()
    keys.tab_to("Fork")
    keys.tab_to("What to say", back=True)
    keys.press("Escape")


def _opens_the_form(keys: Keys) -> Any:
    keys.press("ArrowDown", "ArrowDown")
    keys.run()
    keys.page.get_by_role("table", name="All lanes").wait_for()
    keys.press("ArrowUp")
    keys.run()
    output = keys.page.locator(".jp-Notebook .jp-Cell").nth(3).locator(".jp-OutputArea-output")
    form = output.locator("visible=true")
    form.get_by_text("waits for you: 2 answers").wait_for()
    return form


def _arranged(page: Any, width: int) -> None:
    """JupyterLab has arranged itself anew for a window so wide, and that was painted."""
    page.wait_for_function(
        "width => { const one = document.querySelector('.jp-Notebook').getBoundingClientRect();"
        " return one.right <= width && one.right > width - 80; }",
        arg=width,
    )
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def _has_room(page: Any, shots: Shots) -> None:
    """Card, form and board are as wide as their room, however narrow and long."""
    found = {}
    for width in (1200, 380):
        page.set_viewport_size({"width": width, "height": 2400})
        for dark in (False, True):
            change_theme(page, dark=dark)
            _arranged(page, width)
            name = f"{width}-{'dark' if dark else 'light'}"
            shots.take(name, 2, 4)
            if wide := page.evaluate(_WIDE):
                found[name] = wide
    page.set_viewport_size({"width": 500, "height": 2400})
    _arranged(page, 500)
    if wide := page.evaluate(_WIDE):
        found["500"] = wide
    counted = page.locator(".snb-foot .snb-hint").first.bounding_box()
    assert counted["height"] < 40, "words are not written letter by letter"
    change_theme(page, dark=False)
    page.set_viewport_size({"width": 1200, "height": 2400})
    _arranged(page, 1200)
    assert found == {}


def _answers(keys: Keys, form: Any) -> None:
    """Run the function, approve the call, send."""
    keys.stops.clear()
    keys.tab_to("as JSON")
    keys.press("Enter")
    assert form.locator("details").first.evaluate("fold => fold.open")
    keys.tab_to("Run get_weather")
    keys.press("Space")
    form.get_by_text("ran in").wait_for()
    keys.tab_to("Result of get_weather")
    assert keys.page.evaluate("document.activeElement.value") == f"18 °C {ARABIC}"
    keys.tab_to("Approve")
    keys.press("Space")
    form.get_by_text("2 of 2 answered").wait_for()
    keys.tab_to("Send continuation")
    _in_reading_order(keys.stops)
    keys.press("Enter")
    form.get_by_text("committed as resp_").first.wait_for()
    # The form is gone, and its record goes on from there: the focus is not lost.
    keys.page.wait_for_function(
        "document.activeElement.getAttribute('aria-label') == 'What was asked and answered'"
    )


def _unfolds(keys: Keys, card: Any) -> None:
    """Back in the lane's card: its folds open by a key."""
    keys.press("Escape", "ArrowUp")
    keys.tab_to("Thought for")
    fold = card.locator("details").first
    assert not fold.evaluate("fold => fold.open")
    keys.press("Space")
    assert fold.evaluate("fold => fold.open")
