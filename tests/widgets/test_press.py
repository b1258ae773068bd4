"""A row of buttons that act: a press is taken once, in however many displays it is pressed."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pytest

from steer_nb.widgets.press import Press, PressButton

if TYPE_CHECKING:
    from collections.abc import Iterator

numbers = count(1)


@pytest.fixture
def pressed() -> list[str]:
    return []


@pytest.fixture
def row(pressed: list[str]) -> Iterator[Press]:
    made = Press(
        PressButton("Send", "Send it", lambda: pressed.append("send"), css="snb-go"),
        PressButton("Show", "Show it", lambda: pressed.append("show"), value=False),
    )
    yield made
    made.close()


def tell(row: Press, **content: Any) -> None:
    message = {"event": "press", "page": "a", "number": next(numbers), "step": row.step, **content}
    row._handle_custom_msg(message, [])


def test_a_step_is_for_one_press(row: Press, pressed: list[str]) -> None:
    tell(row, button=0)
    tell(row, button=0, step=0, page="another")
    assert (pressed, row.step, row.said) == (["send"], 1, ""), "the same wish twice needs no word"
    tell(row, button=1, step=0)
    assert pressed == ["send"]
    assert "pressed in another display at the same time. Press again." in row.said
    tell(row, button=1)
    assert (pressed, row.step, row.said) == (["send", "show"], 2, "")


def test_a_message_that_comes_twice_is_heard_once(row: Press, pressed: list[str]) -> None:
    tell(row, button=0, number=100_000)
    tell(row, button=0, number=100_000)
    tell(row, event="changed", number=100_001)
    assert pressed == ["send"]
    assert row.heard == {"a": 100_001}, "what is changed beside it is heard, and nothing done"


def test_what_is_no_message_of_ours_is_nothing(row: Press, pressed: list[str]) -> None:
    for content in (
        {"button": 7},
        {"button": -1},
        {"button": "0"},
        {"button": None},
        {"button": [0]},
        {"button": 0, "number": "1"},
        {"button": 0, "page": 3},
        {"button": 0, "step": None},
        {"button": 0, "event": "click"},
    ):
        tell(row, **content)
    row._handle_custom_msg("press", [])
    assert (pressed, row.step) == ([], 0)


def test_pages_are_told_what_buttons_say(row: Press) -> None:
    send, show = row.row
    send.disabled = True
    send.description, send.tooltip = "Inject\ud83d", "\udc00 once"
    show.value = True
    assert row.buttons == [
        {"text": "Inject�", "title": "� once", "css": "snb-go", "disabled": True, "down": None},
        {"text": "Show", "title": "Show it", "css": "", "disabled": False, "down": True},
    ]


def test_so_many_pages_are_remembered(row: Press) -> None:
    for page in range(40):
        tell(row, event="changed", page=str(page))
    assert list(row.heard) == [str(page) for page in range(24, 40)]


# -- what a page shows when it is left -------------------------------------------------------------


def controls() -> dict[str, Any]:
    return {
        "text": w.Textarea(),
        "tick": w.Checkbox(),
        "number": w.IntText(),
        "choice": w.RadioButtons(options=[("Approve", True), ("Deny", False)], value=None),
        "menu": w.Dropdown(options=["a", "b"]),
    }


def test_what_a_page_shows_when_it_is_left_is_taken(row: Press) -> None:
    kept = controls()
    row.keep(kept.values())
    text, choice = kept["text"], kept["choice"]
    assert (row.fields[text.model_id], row.fields[choice.model_id]) == ("value", "index")
    seen: list[Any] = []
    for one in kept.values():
        one.observe(lambda change: seen.append(change["new"]), names="value")
    values = {"text": "18\ud83d", "tick": True, "number": 137, "choice": 1, "menu": 1}
    shown = {kept[name].model_id: value for name, value in values.items()}
    tell(row, event="left", number=200_000, shown=shown)
    assert seen == ["18\ufffd", True, 137, False, "b"]
    tell(row, event="left", number=200_001, shown=shown)
    tell(row, event="left", number=199_999, shown={text.model_id: "1"})
    assert text.value == "18\ufffd", "what is older comes too late"
    assert len(seen) == 5, "what stands there already is no change"


def test_a_page_is_not_told_what_it_told_itself(
    row: Press, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It may show more by then, if it was only looked away from.
    area = w.Textarea()
    row.keep([area])
    sent: list[Any] = []
    monkeypatch.setattr(type(area), "_send", lambda _, msg, **__: sent.append(msg["method"]))
    tell(row, event="left", shown={area.model_id: "half a sen"})
    assert area.value == "half a sen"
    assert "update" not in sent, "an echo alone: a page that typed on passes over it"


def test_only_what_is_kept_and_fits_is_taken(row: Press) -> None:
    kept, other = controls(), w.Text()
    row.keep(kept.values())
    before = {name: one.value for name, one in kept.items()}
    odd = (None, 1.5, -1, 2, "0", [], {"value": "x"}, True, 7, "x")
    fits = {"text": str, "tick": bool, "number": int}
    for name, one in kept.items():
        for value in odd:
            if type(value) is not fits.get(name):
                tell(row, event="left", shown={one.model_id: value})
    tell(row, event="left", shown={other.model_id: "x", "unknown": "x", "": None})
    for shown in (None, "text", [kept["text"].model_id], 3):
        tell(row, event="left", shown=shown)
    tell(row, event="changed", shown={kept["text"].model_id: "x"})
    row.keep([other])
    tell(row, event="left", shown={kept["text"].model_id: "x"})
    assert {name: one.value for name, one in kept.items()} == before
    assert other.value == ""


def test_a_page_that_comes_is_told_what_is_there(
    row: Press, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = controls()
    row.keep(kept.values())
    kept["text"].value = "half a sen"
    sent: list[Any] = []
    monkeypatch.setattr(row, "send", sent.append)
    row._handle_custom_msg({"event": "came", "page": ["b"]}, [])
    row._handle_custom_msg({"event": "came", "page": "b"}, [])
    values = {"text": "half a sen", "tick": False, "number": 0, "choice": None, "menu": 0}
    shown = {kept[name].model_id: value for name, value in values.items()}
    assert sent == [{"page": "b", "shown": shown}]
    assert row.heard == {}
