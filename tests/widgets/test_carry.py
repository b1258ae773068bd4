"""To whom a card is sent that its displays do not reach, what, and for how long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steer_nb.widgets import carry
from steer_nb.widgets.carry import Carrier, Numbers
from tests.widgets.forming import until


class Sending:
    """A carrier, what it sent, and the card that it carries."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.carrier = Carrier(self.told.append)
        self.numbers = Numbers()
        self.drawn = 0
        self.woken = 0
        self.carrier.wake = self._wake
        self.paint("head", "done", "tail")

    def _wake(self) -> None:
        self.woken += 1

    def paint(self, *looks: str) -> int:
        def draw() -> list[str]:
            self.drawn += 1
            return [f"<p>{look}</p>" for look in looks]

        return self.carrier.paint(self.numbers.count(looks), draw)

    def hear(self, event: str, page: str, *seen: object) -> None:
        assert self.carrier.hear(event, page, list(seen))

    def take(self) -> list[dict[str, Any]]:
        taken, self.told[:] = list(self.told), []
        return taken


@pytest.fixture
def sending() -> Sending:
    return Sending()


def note(paint: list[int], *pages: str, over: bool = False) -> dict[str, Any]:
    return {"pages": list(pages), "paint": paint, "pictures": None, "over": over}


def test_nothing_is_sent_or_drawn_where_nobody_looks(sending: Sending) -> None:
    assert [sending.paint("head", "done", f"tail {n}") for n in range(50)] == [0] * 50
    assert (sending.take(), sending.drawn) == ([], 0)
    sending.carrier.end()
    assert sending.take() == []


def test_who_sees_the_newest_is_told_once_that_there_is_more(sending: Sending) -> None:
    sending.hear("look", "a", 1, 1, 1)
    assert sending.take() == []
    assert sending.paint("head", "done", "tail") == 0
    assert sending.paint("head", "done", "tail 2") == 1
    assert sending.paint("head", "done", "tail 3") == 0
    assert sending.take() == [note([1, 1, 2], "a")]
    assert sending.drawn == 0


def test_who_sees_something_older_asks_and_is_sent_what_is_new(sending: Sending) -> None:
    sending.paint("head 2", "done", "tail")
    sending.hear("look", "a", 1, 1, 1)
    assert sending.take() == [note([2, 1, 1], "a")]
    sending.hear("watch", "a", 1, 1, 1)
    until(lambda: sending.woken)
    assert sending.take() == [], "at the pace of the pictures"
    assert sending.paint("head 2", "done", "tail") == 1
    (first,) = sending.take()
    assert first["pictures"] == {"0": "<p>head 2</p>"}
    assert sending.paint("head 2", "done", "tail 2") == 1
    sending.hear("watch", "b")  # it has none
    assert sending.paint("head 2", "done", "tail 3") == 1
    last, joined = sending.take()
    assert (last["pages"], list(last["pictures"])) == (["a"], ["2"])
    assert (joined["pages"], list(joined["pictures"])) == (["a", "b"], ["0", "1", "2"])
    for page in ("a", "b"):
        sending.hear("leave", page, 2, 1, 3)
    assert sending.paint("head 3", "done 3", "tail 4") == 0


def test_a_page_that_says_nothing_more_is_forgotten_and_may_come_back(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(carry.time, "monotonic", lambda: now[0])
    quiet = [True]
    monkeypatch.setattr(carry.cells, "quiet", lambda _: quiet[0])
    sending.hear("watch", "a", 1, 1, 1)
    now[0] = 1000.0
    assert sending.paint("head", "done", "idle for long") == 1, "there was nothing to say"
    now[0] += 19
    sending.hear("watch", "a", 1, 1, 2)
    assert sending.paint("head", "done", "one more") == 1
    now[0] += 21
    quiet[0] = False
    assert sending.paint("head", "done", "two more") == 1, "it may not be heard while a cell runs"
    quiet[0] = True
    assert sending.paint("head", "done", "three more") == 0
    sending.hear("watch", "a", 1, 1, 4)
    assert sending.paint("head", "done", "three more") == 1
    quiet[0] = False
    now[0] += 601
    assert sending.paint("head", "done", "four more") == 0, "nor for ever"


def test_the_end_arrives_too_and_whoever_asks_later_has_the_last(sending: Sending) -> None:
    sending.hear("watch", "a", 1, 1, 1)
    sending.hear("look", "b", 1, 1, 1)
    sending.paint("head", "done", "the last")
    sending.take()
    sending.hear("look", "b", 1, 1, 2)
    sending.carrier.end()
    sending.carrier.end()
    assert sending.take() == [note([1, 1, 2], "a", "b", over=True)]
    sending.hear("look", "c", 1, 1, 1)
    assert sending.take() == [note([1, 1, 2], "c", over=True)]
    sending.hear("watch", "c", 1, 1, 1)
    (last,) = sending.take()
    assert last["pictures"] == {"2": "<p>the last</p>"}
    assert last["over"] is True


@pytest.mark.parametrize("seen", [None, "x", [1], [1, 1, "1"], [1, 1, 1, 1], {"0": 1}, [None] * 3])
def test_who_says_nothing_sensible_sees_nothing(sending: Sending, seen: object) -> None:
    assert sending.carrier.hear("watch", "a", seen)
    sending.paint("head", "done", "tail")
    (all_of_it,) = sending.take()
    assert list(all_of_it["pictures"]) == ["0", "1", "2"]
    json.dumps(all_of_it)


def test_only_the_newest_pages_are_sent_to(sending: Sending) -> None:
    for number in range(100):
        sending.hear("watch", f"page {number}", 1, 1, 1)
        sending.hear("look", f"other {number}", 1, 1, 1)
    sending.paint("head", "done", "tail 2")
    told, sent = sending.take()
    assert told["pages"] == [f"other {number}" for number in range(84, 100)]
    assert sent["pages"] == [f"page {number}" for number in range(84, 100)]


def test_what_is_not_about_the_card_is_left_to_others(sending: Sending) -> None:
    assert not sending.carrier.hear("typed", "a", [1, 1, 1])
    assert not sending.carrier.hear(None, "a", None)
