"""What carry.js asks for and where it puts it, in a page of its own: no kernel, no notebook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.widgets import box as box_module
from steer_nb.widgets import render
from steer_nb.widgets.script import script
from tests.support.browser import needs_browser
from tests.widgets.test_hostile import ALLOWED, ATTRIBUTES, HOSTILE, hostile_story

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.browser import Browser

pytestmark = [
    pytest.mark.browser,
    needs_browser(),
]

CARRY = Path(box_module.__file__).with_name("carry.js").read_text("utf-8")

# A card as a notebook shows it, and a box below it; the kernel is played by the test.
PAGE = """
window.told = [];
window.begin = (parts) => {
  const area = document.createElement("div");
  area.className = "jp-OutputArea";
  const hosts = parts.map((html) => {
    const host = document.createElement("div");
    host.append(...safe(html));
    area.append(host);
    return host;
  });
  const el = document.createElement("div");
  el.append("the box");
  area.append(el);
  document.body.replaceChildren(area);
  const card = hold(el, { name: "abc", came: (...what) => carried.came(...what) });
  const carried = carry({ el, page: "me", card, tell: (one) => told.push(one),
    late: () => {}, over: () => told.push({ event: "over" }) });
  const show = (n, html) => hosts[n].replaceChildren(...safe(html));
  return { el, card, carried, show };
};
"""


def part(n: int, number: int, words: str = "words") -> str:
    name, mark = ("top", "middle", "end")[n], f' data-snb-card="abc" data-snb-show="{n + 3}"'
    return (
        f'<div class="steer-nb snb-part snb-{name}" data-snb-key="{name}"'
        f' data-snb-paint="{number}"{mark if n == 0 else ""}>{words}</div>'
    )


class Page:
    def __init__(self, page: Any) -> None:
        self.page = page
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.clock.install(time=0)
        self.page.clock.pause_at(1000)  # it goes on where a test says so, and not by itself
        self.page.set_content("<!doctype html><body></body>")
        source = script("common.js", "turn.js", "card.js", "carry.js") + PAGE
        self.page.add_script_tag(content=f"(() => {{{source}; window.safe = safe;}})()")

    def begin(self, *numbers: int) -> None:
        parts = [part(n, number) for n, number in enumerate(numbers)]
        self.page.evaluate("parts => { window.view = begin(parts); view.carried.begin(); }", parts)

    def show(self, n: int, number: int) -> None:
        """Paint as a front end does."""
        self.page.evaluate("([n, html]) => view.show(n, html)", [n, part(n, number)])

    def hear(self, *paint: int, pages: tuple[str, ...] = ("me",), **more: Any) -> None:
        told = {"pages": pages, "paint": paint, "pictures": None, "over": False, **more}
        self.page.evaluate("told => view.carried.hear(told)", told)

    def told(self, milliseconds: int = 700) -> list[list[Any]]:
        """What the page has told after a while."""
        self.page.clock.run_for(milliseconds)
        found = self.page.evaluate("told.splice(0)")
        return [[one["event"], *one.get("seen", [])] for one in found]

    def text(self) -> str:
        return str(self.page.evaluate("document.body.innerText"))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.page() as shown:
        made = Page(shown)
        yield made
        assert made.errors == []


def test_who_is_reached_by_a_display_never_asks(page: Page) -> None:
    page.begin(1, 1, 1)
    page.show(2, 2)
    page.hear(1, 1, 3)
    assert page.told() == []
    page.begin(1, 1, 1)
    assert page.told() == [["look", 1, 1, 1]]
    page.hear(1, 1, 2)
    page.show(2, 2)
    assert page.told() == []
    page.hear(1, 1, 3, pictures={"2": part(2, 3, "sent")})
    assert page.told() == []
    assert "sent" not in page.text()


def test_who_is_told_of_newer_ones_that_do_not_come_asks_and_puts_them(page: Page) -> None:
    page.begin(1, 1, 1)
    assert page.told() == [["look", 1, 1, 1]]
    page.hear(1, 1, 2, pages=("another",))
    assert page.told() == []
    page.hear(2, 1, 2)
    assert page.told() == [["watch", 1, 1, 1]]
    assert not page.page.evaluate("view.carried.late()")
    assert page.told(2000) == []
    assert page.page.evaluate("view.carried.late()"), "it says that it waits for the kernel"
    page.hear(2, 1, 2, pictures={"0": part(0, 2, "head"), "2": part(2, 2, "tail")})
    assert page.told() == []
    assert page.text().split() == ["head", "words", "tail", "the", "box"]
    assert not page.page.evaluate("view.carried.late()")
    assert page.page.evaluate("view.card.number()") == 3
    # An older one is no news; what is left out of the pictures stays.
    page.hear(2, 1, 2, pictures={"2": part(2, 1, "older")})
    assert "tail" in page.text()
    # What it was sent is acknowledged now and then; others' pictures make the forgotten ask anew.
    page.hear(2, 1, 3, pictures={"2": part(2, 3, "three")})
    assert page.told(5000) == []
    page.hear(2, 1, 4, pictures={"2": part(2, 4, "four")})
    assert page.told() == [["watch", 2, 1, 4]]
    page.hear(2, 1, 5, pages=("another",), pictures={"2": part(2, 5, "five")})
    assert page.told() == [["watch", 2, 1, 5]]
    # A front end that draws its old picture anew.
    page.show(2, 1)
    assert page.told() == [["watch", 2, 1, 1]]
    # And one whose displays arrive again.
    page.show(2, 9)
    assert page.told() == [["leave", 2, 1, 9]]
    page.hear(2, 1, 10)
    assert page.told() == []


def test_without_a_card_it_makes_a_place_above_the_box(page: Page) -> None:
    page.begin()
    assert page.told() == [["look", 0, 0, 0]]
    page.hear(1, 1, 1)
    assert page.told() == [["watch", 0, 0, 0]]
    page.hear(1, 1, 1, pictures={str(n): part(n, 1, f"part{n}") for n in range(3)})
    assert page.text().split() == ["part0", "part1", "part2", "the", "box"]
    page.hear(1, 1, 2, pictures={"2": part(2, 2, "<details><summary>a</summary>b</details>")})
    page.page.evaluate("document.querySelector('details').open = true")
    page.page.wait_for_timeout(50)
    page.hear(1, 1, 3, pictures={"2": part(2, 3, "<details><summary>a</summary>c</details>")})
    assert page.page.evaluate("document.querySelector('details').open"), "card.js keeps it"
    page.hear(1, 1, 3, over=True)
    assert page.told() == [["over"]]
    page.page.evaluate("view.carried.release()")
    assert page.told() == [["leave", 1, 1, 3]]


def test_what_the_kernel_draws_passes_whole(page: Page) -> None:
    listed = re.findall(r"^const (?:ELEMENTS|ATTRIBUTES) = ([^;]*);", CARRY, re.MULTILINE)
    names = [set("".join(re.findall(r'"([^"]*)"', words)).split()) for words in listed]
    assert names == [ALLOWED, ATTRIBUTES]
    for name in HOSTILE:
        story = hostile_story(HOSTILE[name])
        html = render.lane_card(story.ledger, story.lane, 1.0)
        same = page.page.evaluate(
            """html => {
              const made = document.createElement("div");
              made.append(...safe(html));
              const plain = document.createElement("template");
              plain.innerHTML = html;
              return made.innerHTML === plain.innerHTML;
            }""",
            html,
        )
        assert same, name


RAW = [
    *HOSTILE.values(),
    "<img src=x onerror=window.pwned=1><svg onload=window.pwned=1><script>window.pwned=1</script>",
    "<svg><style><img src=x onerror=window.pwned=1></style></svg>",
    "<template><img src=x onerror=window.pwned=1></template>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe><object data='data:text/html,x'>",
    "<details open ontoggle=window.pwned=1><summary>x</summary></details>",
    "<p onclick=window.pwned=1 onmouseover=window.pwned=1 tabindex=0 onfocus=window.pwned=1>x</p>",
    "<a href=' javascript:window.pwned=1'>x</a><a href='java\tscript:window.pwned=1'>x</a>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=1></style></table></math>",
    "<body onload=window.pwned=1><link rel=stylesheet href=//x><base href=//x><meta http-equiv=x>",
]


def test_nothing_runs_even_if_it_came_raw(page: Page) -> None:
    wanted: list[str] = []
    page.page.on("request", lambda request: wanted.append(request.url))
    for raw in RAW:
        page.begin()
        page.page.evaluate("view.carried.begin()")
        page.hear(1, 1, 1)
        page.page.clock.run_for(550)
        page.hear(1, 1, 1, pictures={"0": part(0, 1, raw), "1": raw, "2": f"{raw}{part(2, 1)}"})
        left = page.page.evaluate(
            """() => [...document.querySelectorAll(".snb-room *")].flatMap((one) =>
              [one.localName, ...one.getAttributeNames(), ...one.matches("a[href]") ?
                [one.protocol] : []])"""
        )
        assert set(left) <= ALLOWED | ATTRIBUTES | {"https:", "http:", "mailto:"}, raw
        for event in ("click", "mouseover", "focus", "toggle", "error", "load"):
            page.page.evaluate(
                "event => document.querySelectorAll('.snb-room *').forEach("
                "one => one.dispatchEvent(new Event(event)))",
                event,
            )
    page.page.wait_for_timeout(200)
    assert page.page.evaluate("window.pwned") is None
    assert wanted == []
