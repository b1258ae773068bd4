"""What card.js puts back and what it does not, in a page of its own: no kernel, no notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from steer_nb.widgets.script import script
from tests.support.browser import chromium, needs_browser

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.browser import Browser

pytestmark = [
    pytest.mark.browser,
    needs_browser(),
]

SOURCE = script("turn.js", "card.js")

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


@pytest.fixture(scope="module")
def shown(browser: Browser) -> Iterator[Any]:
    with browser.page() as made:
        yield made


@pytest.fixture
def page(shown: Any) -> Page:
    """A document and a window of its own."""
    shown.goto("about:blank")
    return Page(shown)


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


# Painted anew all the time, as while a model writes; and that stops.
STREAM = """lines => {
  document.head.innerHTML = `<style>.snb-scroll{display:flex;flex-direction:column-reverse;
    height:300px;overflow-y:auto} pre{width:300px;overflow:auto} body{height:3000px}</style>`;
  const words = `<pre>${"x".repeat(300)}</pre>`;
  const again = () => cards[0].end(`<div class="snb-scroll" data-snb-key="live" tabindex="0">
    <div data-snb-key="1.0">${lines}${words}</div></div>`);
  again();
  window.stream = (on) => {
    clearInterval(window.painting);
    if (on) window.painting = setInterval(again, 5);
  };
}"""
LINES = "".join(f"<p>Line {n} says where to go.</p>" for n in range(200))


class Stream:
    """A box of many lines, read from its end, in whose middle the mouse is."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.page.evaluate(STREAM, LINES)
        self.place = page.page.locator(".snb-scroll").bounding_box()
        page.page.mouse.move(self.place["x"] + 100, self.place["y"] + 150)
        page.wait()

    def paint(self, *, on: bool) -> None:
        self.page.do(f"() => stream({'true' if on else 'false'})")

    @property
    def up(self) -> int:
        return int(self.ask("Math.round(-box.scrollTop)"))

    def ask(self, what: str) -> Any:
        """Ask the box that is there: one that a locator has found may be gone when it is asked."""
        code = f"() => {{ const box = document.querySelector('.snb-scroll'); return {what}; }}"
        return self.page.page.evaluate(code)


def test_a_wheel_moves_what_is_painted_as_far_as_it_was_turned(page: Page) -> None:
    stream = Stream(page)
    stream.paint(on=True)
    for turns in (1, 2, 3, 4):
        for _ in range(10):
            page.page.mouse.wheel(0, -20)
        page.wait()
        assert stream.up == 200 * turns
    for _ in range(5):
        page.page.mouse.wheel(0, 60)
    page.wait()
    assert stream.up == 500, "and back"
    stream.paint(on=False)
    page.page.wait_for_timeout(1100)
    page.page.mouse.wheel(0, -100)
    page.page.wait_for_function("() => document.querySelector('.snb-scroll').scrollTop == -600")


def test_a_wheel_moves_the_page_where_the_box_is_at_its_end(page: Page) -> None:
    stream = Stream(page)
    stream.paint(on=True)
    page.page.mouse.wheel(0, -50)
    page.wait()
    assert stream.up == 50
    turned = "new WheelEvent('wheel', {deltaY: 80, bubbles: true, cancelable: true})"
    left = f"[1, 2].map(() => box.dispatchEvent({turned}))"
    assert stream.ask(left) == [False, False], "not with the turn that brings it there"
    page.page.wait_for_timeout(250)
    page.page.mouse.wheel(0, 80)
    page.wait()
    assert (stream.up, page.do("() => scrollY")) == (0, 80)


def test_a_wheel_turns_what_is_under_it_aside(page: Page) -> None:
    stream = Stream(page)
    code = page.page.locator("pre").bounding_box()
    page.page.mouse.move(code["x"] + 20, code["y"] + 5)
    stream.paint(on=True)
    for _ in range(5):
        page.page.mouse.wheel(10, 0)
    page.wait()
    assert page.do("code => code.scrollLeft", "pre") == 50
    page.page.mouse.wheel(0, -30)
    page.wait()
    assert stream.up == 30, "and up what is around it"


def test_keys_move_what_is_painted_by_whole_pages(page: Page) -> None:
    stream = Stream(page)
    stream.paint(on=True)
    stream.ask("box.focus()")
    for key, up in [("Shift+Space", 260), ("PageUp", 520), ("Space", 260), ("PageDown", 0)]:
        page.page.keyboard.press(key)
        page.wait()
        assert stream.up == up, key


def test_a_bar_that_is_dragged_stays_in_hand(page: Page) -> None:
    kind = page.page.context.browser.browser_type
    shown = {"args": ["--no-sandbox"], "ignore_default_args": ["--hide-scrollbars"]}
    with kind.launch(executable_path=chromium(), **shown) as barred:
        stream = Stream(Page(barred.new_page()))
        mouse, place = stream.page.page.mouse, stream.place
        across, down = place["x"] + place["width"] - 6, place["y"] + place["height"] - 26
        assert stream.ask("box.clientWidth") < place["width"] - 6
        stream.paint(on=True)
        mouse.move(across, down)
        mouse.down()
        ups = []
        for step in range(1, 6):
            mouse.move(across, down - 20 * step)
            stream.page.wait()
            ups.append(stream.up)
        assert ups[-1] > 1500
        assert ups == sorted(ups)
        mouse.up()
        mouse.move(across, down)
        stream.page.wait()
        assert stream.up == ups[-1], "let go"
        assert stream.page.chosen() == ""


def test_a_card_that_is_gone_is_no_longer_watched(page: Page) -> None:
    page.paint("end", fold("1.0", "a"))
    page.do("fold => fold.open = true", "details")
    page.do("() => cards[0].held.release()")
    page.paint("end", fold("1.0", "a"))
    assert page.do("fold => fold.open", "details") is False
