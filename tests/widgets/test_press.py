"""A row of buttons that act: a press is taken once, in however many displays it is pressed."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

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
