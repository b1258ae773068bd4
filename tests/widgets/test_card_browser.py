"""What card.js puts back and what it does not, in a page of its own: no kernel, no notebook."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.widgets import box as box_module
from tests.support.browser import chromium

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.browser import Browser

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        importlib.util.find_spec("playwright") is None, reason="needs the package playwright"
    ),
    pytest.mark.skipif(chromium() is None, reason="needs a Chromium on the PATH"),
]

SOURCE = Path(box_module.__file__).with_name("card.js").read_text("utf-8")

# An output area as a notebook has one: three hosts, whose whole content each picture replaces.
PAGE = """
window.cards = [0, 1].map(() => {
  const area = document.createElement("div");
  area.className = "jp-OutputArea";
  document.body.append(area);
  const paint = (host, name, html) => {
    host.innerHTML = `<style>.x{}</style><div class="snb-part snb-${name}" data-snb-key="${name}"
      style="width:400px">${html}</div>`;
  };
  const hosts = ["top", "middle", "end"].map((name) => {
    const host = document.createElement("div");
    area.append(host);
    paint(host, name, "");
    return host;
  });
  const box = document.createElement("div");
  box.textContent = "the box";
  area.append(box);
  const held = hold(box);
  const [top, middle, end] = ["top", "middle", "end"].map(
    (name, n) => (html) => paint(hosts[n], name, html));
  return { area, held, top, middle, end };
});
window.chosen = () => getSelection().toString();
window.choose = (element, from, to) => {
  const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  text.nextNode();
  getSelection().setBaseAndExtent(text.currentNode, from, text.currentNode, to);
};
"""
LONG = "It goes on with words, of which there are many, and none of them is said twice: "
NUMBERS = " ".join(str(number) for number in range(300))


class Page:
    """Two cards, painted by hand."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.page.set_content("<!doctype html><body></body>")
        self.page.add_script_tag(content=SOURCE + PAGE)
        self.wait()

    def wait(self) -> None:
        """Let the page tell what was done in it: it does so with its next picture."""
        self.page.evaluate(
            "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 30)))"
        )

    def paint(self, part: str, html: str, card: int = 0) -> None:
        self.page.evaluate(f"html => window.cards[{card}].{part}(html)", html)

    def do(self, what: str, where: str = "body") -> Any:
        found = self.page.evaluate(f"where => ({what})(document.querySelector(where))", where)
        self.wait()
        return found

    def chosen(self) -> str:
        return str(self.page.evaluate("chosen()"))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.page() as made:
        yield Page(made)


def item(key: str, html: str) -> str:
    return f'<div class="snb-item" data-snb-key="{key}">{html}</div>'


def fold(key: str, words: str, state: str = "") -> str:
    return item(key, f"<details {state}><summary>Thought</summary>{words}</details>")


def test_folds_stay_as_a_person_left_them(page: Page) -> None:
    page.paint("end", fold("1.0", "a") + fold("1.1", "b", "open"))
    page.do("fold => fold.open = true", "[data-snb-key='1.0'] details")
    page.do("fold => fold.open = false", "[data-snb-key='1.1'] details")
    state = "body => [...body.querySelectorAll('details')].map(fold => fold.open)"
    page.paint("end", fold("1.0", "a b") + fold("1.1", "b c", "open"))
    assert page.do(state) == [True, False]
    page.paint("middle", fold("1.0", "a b"))
    page.paint("end", fold("1.1", "b c d", "open"))
    assert page.do(state) == [True, False], "finished"
    page.paint("end", "", card=1)
    page.paint("end", fold("1.0", "a b"), card=1)
    assert page.do(state) == [True, False, False], "another card"


def test_a_selection_stays_with_its_words_or_is_given_up(page: Page) -> None:
    page.paint("end", item("1.0", f"<p>{LONG}{NUMBERS}</p>"))
    page.do("p => choose(p, 90, 110)", "p")
    words = page.chosen()
    page.paint("end", item("1.0", f"<p>{LONG}{NUMBERS} and more</p>"))
    page.wait()
    assert page.chosen() == words, "it grew"
    page.paint("end", item("1.0", f"<p>{(LONG + NUMBERS)[30:]}</p>"))
    page.wait()
    assert page.chosen() == words, "its beginning was left out"
    page.paint("middle", item("1.0", f"<p>Before. {LONG}{NUMBERS}</p>"))
    page.paint("end", "")
    page.wait()
    assert page.chosen() == words, "it is finished, and shown from its beginning"
    page.paint("middle", item("1.0", f"<p>Before. {LONG[:60]}?{NUMBERS}</p>"))
    page.wait()
    assert page.chosen() == "", "what stands before it is something else"


@pytest.mark.parametrize("soon", ["setTimeout(again)", "setTimeout(again, 20)", "again()"])
def test_a_drag_goes_on_however_soon_the_words_are_painted_anew(page: Page, soon: str) -> None:
    lines = item("1.0", "".join(f"<p>Line {n} says where to go.</p>" for n in range(4)))
    page.paint("end", lines)
    page.do(
        f"body => {{ window.again = () => cards[0].end({lines!r});"
        f" body.addEventListener('mousedown', () => {{ {soon}; }}, {{once: true}}); }}"
    )
    box = page.page.locator("p").nth(1).bounding_box()
    across, down = box["x"] + 20, box["y"] + box["height"] / 2
    page.page.mouse.move(across, down)
    page.page.mouse.down()
    page.page.wait_for_timeout(60)
    for step in range(1, 4):
        page.page.mouse.move(across + 30 * step, down)
        page.do("again")
    page.page.mouse.up()
    page.wait()
    assert page.chosen() in "Line 1 says where to go."
    assert len(page.chosen()) > 8
    page.do("again")
    assert len(page.chosen()) > 8
    page.page.mouse.click(across, down)
    page.wait()
    assert page.chosen() == ""


def test_nothing_is_taken_from_a_person_who_does_something_else(page: Page) -> None:
    page.paint("end", item("1.0", f"<a href='#x'>x</a><p>{LONG}</p>"))
    page.do("p => choose(p, 0, 20)", "p")
    page.do("link => link.focus()", "[data-snb-key='1.0'] a")
    page.do("body => { const p = document.createElement('p'); p.id = 'other';"
            " p.tabIndex = 0; p.textContent = 'elsewhere'; body.append(p); }")  # fmt: skip
    page.do("p => { p.focus(); choose(p, 0, 4); }", "#other")
    page.paint("end", item("1.0", f"<a href='#x'>x</a><p>{LONG} more</p>"))
    page.wait()
    assert page.chosen() == "else"
    assert page.do("() => document.activeElement.id") == "other"


def test_focus_goes_along_and_waits_a_moment(page: Page) -> None:
    page.paint("end", fold("1.0", "a") + fold("1.1", "b"))
    page.do("one => one.focus()", "[data-snb-key='1.1'] summary")
    page.paint("end", fold("1.0", "a"))
    page.wait()
    page.paint("middle", fold("1.1", "b"))
    where = "() => document.activeElement.closest('[data-snb-key]')?.dataset.snbKey"
    assert page.do(where) == "1.1"
    page.paint("middle", "")
    page.page.wait_for_timeout(1200)
    page.paint("middle", fold("1.1", "b"))
    assert page.do(where) is None, "after a while nobody expects it"


def test_boxes_stay_where_they_were_scrolled_to(page: Page) -> None:
    style = "style='max-height:80px;overflow:auto;white-space:pre'"
    code = [f"<pre {style}>{n} {'x' * 300}\n{NUMBERS}\n{'y' * n}\n\n\n\n\n\n</pre>" for n in (3, 4)]
    page.paint("end", item("1.0", "".join(code)))
    page.do("pre => pre.scrollTo(70, 20)", "pre + pre")
    page.paint("end", item("1.0", "".join(code) + "more"))
    places = "body => [...body.querySelectorAll('pre')].map(p => [p.scrollLeft, p.scrollTop])"
    assert page.do(places) == [[0, 0], [70, 20]]
    page.paint("end", item("1.0", code[1] + "more"))
    assert page.do(places) == [[70, 20]], "the first was left out"
    page.paint("end", item("1.0", code[0] + "more"))
    assert page.do(places) == [[0, 0]], "another"


def test_a_card_that_is_gone_is_no_longer_watched(page: Page) -> None:
    page.paint("end", fold("1.0", "a"))
    page.do("fold => fold.open = true", "details")
    page.do("() => cards[0].held.release()")
    page.paint("end", fold("1.0", "a"))
    assert page.do("fold => fold.open", "details") is False
