"""A lane read in a real JupyterLab: hostile words, a flood of them, folds that stay open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from steer_nb.simulator import CallFunction, Fail, Refuse, Say, Simulator, Think, scenario
from tests.support.browser import needs_browser
from tests.support.writing import Lines, Writes
from tests.widgets.flooding import WORDS, flood_a_page
from tests.widgets.lab import run_cell, save

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

CORPUS = [
    "<script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=1">',
    "<img src=//foreign.example/a.png>",
    "<svg onload=window.pwned=1><a xlink:href=javascript:window.pwned=1>x</a></svg>",
    "<style>@import url(http://foreign.example/a.css);*{display:none}</style>",
    "</style></div></pre></details><iframe src=http://foreign.example/></iframe>",
    "<object data=http://foreign.example/></object><link rel=stylesheet href=//foreign.example>",
    '![a picture](http://foreign.example/a.png) ![x](x "\' onerror=window.pwned=1")',
    "![<svg/onload=window.pwned=1>](data:image/svg+xml,<svg/onload=window.pwned=1>)",
    "[click](javascript:window.pwned=1) [click](JAVASCRIPT&colon;window.pwned=1)",
    '<javascript:window.pwned=1> <http://foreign.example/"onmouseover=window.pwned=1>',
    "[ok](http://foreign.example/?a=%22><img/src=x/onerror=window.pwned=1>)",
    '[ok](http://foreign.example/ "x\\" onfocus=window.pwned=1 autofocus=\\"")',
    "[ref]: javascript:window.pwned=1\n\n[ref] ![ref]",
    "```<script>window.pwned=1</script>\n<script>window.pwned=1</script>\n```",
    "| <script>window.pwned=1</script> |\n|---|\n| <img src=x onerror=window.pwned=1> |",
    "# <svg/onload=window.pwned=1>\n\n> <details open ontoggle=window.pwned=1>",
    "\x1b[2J\x1b]0;pwned\x07\x1b]8;;http://foreign.example\x07 \x00\x9b31m",
    "approve \u202eyneD\u202c \u2066x\u2069 \u200b\ufeff",
    "$\\href{javascript:window.pwned=1}{x}$ \\(x\\) $$\\unicode{x}$$",
    "{{constructor.constructor('window.pwned=1')()}}",
    "half \ud83d of \ude00",
]
TEXT = "\n\n".join(CORPUS)
MARK = '<img src=x onerror="window.pwned=1">'


@scenario("hostile", "A model that writes what no page may run.")
def hostile(turn: Turn) -> Iterator[Step]:
    if "fail" in turn.prompt:
        yield Say(TEXT)
        yield Fail(message=TEXT)
    elif "refuse" in turn.prompt:
        yield Refuse(TEXT)
    elif "line" in turn.prompt:
        yield Say("x" * 5_000_000 + MARK)
    elif "call" in turn.prompt:
        yield Think(TEXT)
        yield CallFunction(MARK, {text: text for text in CORPUS})
        yield CallFunction("get_weather", TEXT)
    else:
        yield Think(TEXT)
        yield Say(TEXT)


HOSTILE = [
    (
        "import steer_nb\n%load_ext steer_nb\nsession = steer_nb.connect('URL', journal=False)\n"
        "from IPython.display import display\nfrom steer_nb.widgets import BoardView, LaneView\n"
        "names = ['plain', 'fails', 'refuses', 'calls', 'n' * 120]\n"
        "lanes = [session.lane(name) for name in names]\n"
        "for lane in lanes: display(LaneView(session, lane))\n"
        "display(BoardView(session))"
    ),
    (
        f"words = ['say', 'fail', 'refuse', 'call', 'line']\nmark = {MARK!r}\n"
        "for lane, word in zip(lanes, words): lane.create(f'{word} {mark}')\n"
        "session.wait(60)"
    ),
    "%steer pending",
    "lanes[0].response",
]


def test_hostile_words_are_text_and_nothing_else(lab: Lab, tmp_path: Path) -> None:
    foreign: list[str] = []
    with Simulator(hostile, speed=0) as simulator:
        cells = [cell.replace("URL", simulator.base_url) for cell in HOSTILE]
        with lab.notebook(tmp_path, cells) as page:
            page.on("dialog", lambda dialog: foreign.extend(_said(dialog)))
            page.on("popup", lambda popup: foreign.append(f"popup {popup.url}"))
            page.on("request", lambda request: foreign.extend(_foreign(request.url)))
            run_cell(page, 0)
            page.locator(".snb-board").wait_for(timeout=30_000)
            run_cell(page, 1)
            page.locator(".snb-board").get_by_text("waits for you").wait_for(timeout=60_000)
            page.get_by_text("Refused:").wait_for(timeout=30_000)
            page.get_by_text("Failed:").first.wait_for(timeout=30_000)
            page.get_by_text("M characters are not shown here").wait_for(timeout=60_000)
            run_cell(page, 2)
            page.locator(".snb-form").first.wait_for(timeout=30_000)
            run_cell(page, 3)
            page.get_by_text("completed", exact=False).last.wait_for(timeout=30_000)
            folds = page.locator(".steer-nb summary").all()
            for fold in [
                one for one in folds if one.is_visible()
            ]:  # not in a record that stands by
                fold.click()
            page.wait_for_timeout(500)
            _only_ours(page)
            cards = page.locator(".jp-OutputArea .snb-scroll")
            assert all(box["height"] < 700 for box in map(_box, cards.all())), "each is bounded"
            # The same once more, as it is saved: no kernel draws it now.
            save(page)
            page.reload()
            page.locator(".snb-board").first.wait_for(timeout=40_000)
            page.wait_for_timeout(500)
            _only_ours(page)
            assert foreign == []


def _said(dialog: Any) -> list[str]:
    dialog.accept()
    # JupyterLab asks before a page is left whose pictures changed since it was saved.
    return [] if dialog.type == "beforeunload" else [f"dialog {dialog.message}"]


def _box(locator: Any) -> dict[str, float]:
    return dict(locator.bounding_box())


def _foreign(url: str) -> list[str]:
    parts = urlsplit(url)
    ours = parts.hostname in ("127.0.0.1", "localhost") or parts.scheme in ("data", "blob")
    return [] if ours else [url]


def _only_ours(page: Any) -> None:
    assert page.evaluate("window.pwned") is None
    inside = ".jp-OutputArea-output :is(.steer-nb, .snb-widget)"
    kinds = "script, img, svg, iframe, object, embed, link, video, audio, base, meta, math"
    ours = "form:not(.snb-talk > form)"  # the box below a lane is one
    for kind in (*kinds.split(", "), ours, "mjx-container", "[autofocus]", "[srcdoc]"):
        assert page.locator(f"{inside} {kind}").count() == 0, kind
    handlers = page.evaluate(
        "inside => [...document.querySelectorAll(inside + ' *')].flatMap(element =>"
        " [...element.attributes].map(a => a.name).filter(name => name.startsWith('on')))",
        inside,
    )
    assert handlers == []
    links = page.evaluate(
        "inside => [...document.querySelectorAll(inside + ' a')].map(a => [a.protocol, a.rel])",
        inside,
    )
    assert links, "those to the web are links"
    assert {protocol for protocol, _ in links} <= {"http:", "https:", "mailto:"}
    assert all("noopener" in rel for _, rel in links)
    text = "\n".join(page.locator(".jp-OutputArea").all_inner_texts())
    for word in ("<script>window.pwned=1</script>", "onerror=", "javascript:window.pwned=1"):
        assert word in text
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_a_flood_is_painted_seldom_and_costs_the_page_a_bounded_size(
    lab: Lab, tmp_path: Path
) -> None:
    """How long it stalls the page is printed by ``tests/benchmarks/page.py``."""
    told = flood_a_page(lab, tmp_path)
    assert told.n_events > WORDS, "none was lost"
    for paints in told.paints:
        assert len(paints) > 5
        often = (len(paints) - 3) / (paints[-1] - paints[0]) * 1000
        assert often <= 10, "the last one is three"
    assert told.size < 10_000, "a page holds the end of it only"


class Long:
    """Says much, then thinks and says more until enough of it was seen."""

    def __init__(self) -> None:
        self.more = Lines("Some *more* words, {n} times. ")

    def script(self, turn: Turn) -> Iterator[Step]:
        if "first" in turn.prompt:
            lines = (f"Line {number} of the first answer.\n\n" for number in range(60))
            yield Writes("".join(lines))
            return
        yield Think("**Planning the days**\n\nTwo of them, in Lisbon.")
        yield Writes(self.more)


RESTS = """async box => {
  for (let still = 0, before = 0; box.isConnected && still < 5; before = box.scrollTop) {
    await new Promise(requestAnimationFrame);
    still = before && box.scrollTop == before ? still + 1 : 0;
  }
  return box.scrollTop;
}"""
READING = [
    (
        "import steer_nb\nfrom steer_nb.widgets import LaneView\n"
        "session = steer_nb.connect('URL', journal=False, quiet=True)\n"
        "lane = session.lane('planner')\n"
        "LaneView(session, lane)"
    ),
    "lane.create('The first.')",
    "lane.create('And more.')",
]


def test_what_is_unfolded_selected_and_scrolled_stays_while_more_is_written(
    lab: Lab,
    tmp_path: Path,
) -> None:
    long = Long()
    telling = scenario("long", "Writes for as long as it is looked at.")(long.script)
    with Simulator(telling, speed=1) as simulator:
        cells = [cell.replace("URL", simulator.base_url) for cell in READING]
        with lab.notebook(tmp_path, cells) as page:
            run_cell(page, 0)
            page.locator(".snb-say textarea").wait_for(timeout=30_000)
            run_cell(page, 1)
            page.locator(".snb-head").get_by_text("idle").wait_for(timeout=30_000)
            done, live = page.locator(".snb-middle"), page.locator(".snb-live")
            # The cell's own result may show it, too: the response as it was when the cell ended.
            done.get_by_text("Line 59 of the first answer.").wait_for(timeout=30_000)
            run_cell(page, 2)
            live.get_by_text("Some more words").wait_for(timeout=30_000)
            done.locator("summary").click()
            scroll = done.locator(".snb-scroll")
            assert scroll.evaluate("box => box.scrollHeight > box.clientHeight")
            assert scroll.evaluate("box => box.scrollTop") == 0, "the newest is in view"
            scroll.focus()
            page.keyboard.press("PageUp")
            moved = scroll.evaluate(RESTS)
            assert moved < 0, "by keyboard"
            page.evaluate(
                "() => { const line = [...document.querySelectorAll('.snb-middle p')]"
                ".find(p => p.innerText.startsWith('Line 50'));"
                " getSelection().selectAllChildren(line); }"
            )
            for _ in range(4):  # it streams
                live.get_by_text(f"words, {long.more.last + 1} times").first.wait_for()
            assert done.locator("details").evaluate("fold => fold.open")
            assert done.get_by_text("Two of them, in Lisbon.").is_visible()
            assert page.evaluate("getSelection().toString()") == "Line 50 of the first answer."
            assert scroll.evaluate("box => box.scrollTop") == moved
            # One card: the three pictures touch.
            boxes = page.locator(".snb-part").evaluate_all(
                "parts => parts.map(part => part.getBoundingClientRect())"
                ".filter(box => box.height > 0).map(box => [box.top, box.bottom])"
            )
            tops, ends = [top for top, _ in boxes], [end for _, end in boxes]
            assert tops[1:] == pytest.approx(ends[:-1], abs=1)
