"""The box below a lane: what it takes from a page, what it does once, what it leaves in a file."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

import steer_nb
from steer_nb.simulator import Simulator
from steer_nb.widgets import LaneView
from steer_nb.widgets.box import Box
from steer_nb.widgets.press import Press
from steer_nb.widgets.saybox import SayBox
from tests.widgets.forming import until
from tests.widgets.talking import press, types
from tests.widgets.test_decisions import Shown, patient, sent
from tests.widgets.test_hostile import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb import Lane, Session


@pytest.fixture
def session() -> Iterator[Session]:
    with steer_nb.connect(
        simulate=Simulator(patient, speed=0), journal=False, quiet=True, api_key="sk-not-shown"
    ) as made:
        yield made


@pytest.fixture
def lane(session: Session) -> Lane:
    return session.lane("planner")


# -- one action for each press ---------------------------------------------------------------------


def acted() -> tuple[Box, list[tuple[str, str, str]]]:
    done: list[tuple[str, str, str]] = []
    box = Box("planner", lambda action, name, number: done.append((action, name, box.value)))
    return box, done


def tell(box: Box, **content: Any) -> None:
    box._handle_custom_msg(content, [])


def test_a_press_carries_its_text_and_is_taken_once() -> None:
    box, done = acted()
    tell(box, event="typed", text="Hel", page="a", number=1)
    tell(box, event="say", text="Hello\nthere", page="a", number=2, step=0)
    assert (box.busy, box.step, box.heard) == (True, 1, {"a": 2})
    tell(box, event="say", text="Hello\nthere", page="a", number=2, step=0)  # the same message
    tell(box, event="say", text="Hello\nthere", page="b", number=1, step=0)  # another display
    tell(box, event="say", text="Hello\nthere", page="b", number=2, step=1)  # while it is sent
    box.answer("Sent.", sent="Hello\nthere")
    tell(box, event="say", text="Hello\nthere", page="c", number=1, step=0)  # and afterwards
    assert done == [("say", "", "Hello\nthere")]
    assert (box.value, box.said, box.bad, box.busy) == ("", "Sent.", False, False)
    tell(box, event="say", text="Hello\nthere", page="c", number=2, step=1)
    assert len(done) == 2, "to say the same again is another step"


def test_another_text_pressed_at_the_same_time_is_kept_and_it_says_so() -> None:
    box, done = acted()
    tell(box, event="say", text="one", page="a", number=1, step=0)
    tell(box, event="say", text="two", page="b", number=1, step=0)
    box.answer("Sent.", sent="one")
    assert len(done) == 1
    assert box.value == "two"
    tell(box, event="say", text="three", page="c", number=1, step=0)
    assert box.value == "three"
    assert "Press again" in box.said
    assert box.bad


def test_presses_from_many_threads_are_one() -> None:
    box, done = acted()
    start = threading.Barrier(8)

    def pressed(page: str) -> None:
        start.wait(5)
        tell(box, event="say", text="x", page=page, number=1, step=0)

    threads = [threading.Thread(target=pressed, args=(str(n),)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert len(done) == 1
    assert len(box.heard) == 8


@pytest.mark.parametrize(
    "content",
    [
        None,
        {},
        {"event": "say"},
        {"event": "say", "text": 7, "page": "a", "number": 1, "step": 0},
        {"event": "say", "text": "x", "page": ["a"], "number": 1, "step": 0},
        {"event": "say", "text": "x", "page": "a", "number": None, "step": 0},
        {"event": "close", "text": "x", "page": "a", "number": 1, "step": 0},
        {"event": "say", "text": "x", "page": "a", "number": 1, "step": 7},
    ],
)
def test_what_is_no_press_does_nothing(content: Any) -> None:
    box, done = acted()
    box._handle_custom_msg(content, [])
    assert (done, box.busy, box.step) == ([], False, 0)


def test_only_the_newest_pages_are_remembered() -> None:
    box, _ = acted()
    for number in range(100):
        tell(box, event="typed", text="x", page=f"page {number}", number=1)
    assert list(box.heard)[-1] == "page 99"
    assert len(box.heard) == 16


def test_half_a_surrogate_pair_passes_through_the_comm() -> None:
    box, _ = acted()
    tell(box, event="typed", text="\ud83d half", page="a", number=1)
    assert json.dumps(box.get_state(["value"]), ensure_ascii=False).encode()


# -- what a person does ----------------------------------------------------------------------------


def test_lines_go_out_as_they_were_typed(session: Session, lane: Lane) -> None:
    box = Shown(lane).box
    text = "  First {line}\n\nلشبونة 🙂  "
    press(box, text=text)
    until(lambda: box.field.said == "Sent as the next turn.")
    assert sent(session) == [text]
    assert box.field.value == ""


def test_nothing_typed_is_nothing_sent(session: Session, lane: Lane) -> None:
    box = Shown(lane).box
    press(box, text=" \n ")
    until(lambda: box.field.said == "Type something first.")
    assert sent(session) == []


def test_a_fork_is_made_once_and_says_how_it_is_shown(session: Session, lane: Lane) -> None:
    box = Shown(lane).box
    press(box, "fork", name="other")
    until(lambda: box.field.bad and not box.field.busy)
    assert "other" not in session.lanes, "there is nothing yet to continue from"
    lane.create("Hello.").wait(10)
    types(box, "half a sen")
    for name in ("", "  "):
        press(box, "fork", name=name)
        until(lambda: "name first" in box.field.said)
    press(box, "fork", name="other-one")
    press(box, "fork", name="other-one")
    until(lambda: not box.field.busy)
    assert box.field.said == "Lane other-one goes on from here. %steer show other-one shows it."
    assert box.field.value == "half a sen"
    other = session["other-one"]
    assert other.create("Again.").wait(10).previous_response_id == lane.responses[-1].id
    press(box, "fork", name="other-one")
    until(lambda: "other-one is open and has a conversation of its own" in box.field.said)
    press(box, "fork", name="planner")
    until(lambda: "planner is open and has a conversation of its own" in box.field.said)
    press(box, "fork", name="<b>")
    until(lambda: "<b>" in box.field.said)


def test_stop_watching_stops_the_view_and_nothing_else(session: Session, lane: Lane) -> None:
    stopped: list[str] = []
    box = SayBox(lane, lambda: stopped.append("stopped"))
    press(box, "stop")
    until(lambda: stopped)
    assert lane.state == "idle"
    assert not session.closed


def test_an_error_of_ours_leaves_the_box_usable(
    lane: Lane, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", reported.append)

    def broken() -> None:
        msg = "no such thing"
        raise RuntimeError(msg)

    box = SayBox(lane, broken)
    press(box, "stop")
    until(lambda: box.field.bad and not box.field.busy)
    assert "see the kernel's log" in box.field.said
    until(lambda: reported)


# -- what is left in a file ------------------------------------------------------------------------


def test_nothing_secret_and_nothing_foreign_is_in_its_state(lane: Lane) -> None:
    box = Shown(lane).box
    state = box.field.get_state()
    ours = {key for key in state if not key.startswith("_")} - {"layout", "tabbable", "tooltip"}
    assert ours == {
        "lane", "verb", "value", "said", "bad", "busy", "step", "heard", "card", "forks",
            "cancels",
    }  # fmt: skip
    assert "sk-not-shown" not in json.dumps({key: str(value) for key, value in state.items()})


def test_without_a_page_it_says_what_was_said_last(session: Session, lane: Lane) -> None:
    box = Shown(lane).box
    assert box._without_a_page() == {"text/html": "", "text/plain": ""}
    lane.create("Hello.").wait(10)
    lane.create(HOSTILE["image"]).wait(10)
    bundle = box._without_a_page()
    assert bundle["text/plain"].startswith("Last said to planner when this was shown: “")
    assert "<script" not in bundle["text/html"]
    assert "<img" not in bundle["text/html"]


@pytest.mark.parametrize(("widget", "reads"), [(Box, 1), (Press, 0)])
def test_the_page_writes_text_and_no_markup(widget: type, reads: int) -> None:
    source = widget._esm if isinstance(widget._esm, str) else widget._esm.read_text("utf-8")
    # In one place the kernel's own HTML is read, in a document that runs nothing; what may be in it
    # is listed there, and tried in a page: see test_carry_browser.py.
    assert source.count("DOMParser") == reads
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in source
    for word in ("fetch(", "XMLHttpRequest", "import", "http:", "https:", "Function("):
        assert word not in source
    assert "save_changes" not in source, (
        "what is typed goes out in messages, which keep their order"
    )


def test_it_is_loaded_only_when_it_is_shown() -> None:
    import subprocess
    import sys

    code = (
        "import sys, steer_nb, steer_nb.widgets.view\n"
        "print(sorted({'anywidget', 'ipywidgets'} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_the_view_lets_itself_be_stopped(session: Session, lane: Lane) -> None:
    view = LaneView(session, lane)
    box = SayBox(lane, view.stop)
    press(box, "stop")
    until(lambda: not box.field.busy)
    assert not session.closed
