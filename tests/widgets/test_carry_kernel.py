"""In a real kernel: a card sent to a page that its displays do not reach, and to no other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.widgets.kernel import Kernel
from tests.widgets.test_kernel import (
    START,
    boxes,
    last_html,
    moments,
    pictures,
    rate,
    shown,
    told,
    updates,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.kernel

TURNS = """
end = time.monotonic() + {}
while time.monotonic() < end:
    lane.create('Plan a trip.').wait(10)
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    made.run(START)
    yield made
    made.close()


def sent(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What boxes sent that is no state."""
    return [
        m
        for m in messages
        if m["msg_type"] == "comm_msg" and m["content"]["data"].get("method") == "custom"
    ]


def contents(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [m["content"]["data"]["content"] for m in sent(messages)]


def page(kernel: Kernel, box: str, event: str, *seen: int, name: str = "p") -> None:
    content = {"event": event, "page": name, "seen": list(seen)}
    kernel._comm(box, {"method": "custom", "content": content})


def card(kernel: Kernel, messages: list[dict[str, Any]]) -> str:
    """What a page has that put all it was sent."""
    places: dict[str, str] = {}
    for content in contents(messages):
        places |= content["pictures"] or {}
    return told("".join(places[number] for number in sorted(places)))


def test_not_one_message_is_sent_where_displays_arrive(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start('planner')")
    cell = kernel.run("view = LaneView(session, lane); view")
    before = len(kernel.messages)
    kernel.run(TURNS.format(1.0))
    kernel.run("view.stop()")
    kernel.listen(0.3)
    heard = kernel.messages[before:]
    assert len(updates(heard, shown(kernel, cell))) > 5
    assert sent(heard) == []
    kernel.run("session.close()")


def test_who_asks_is_sent_the_same_pictures_at_the_same_pace_to_the_end(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start('planner')")
    cell = kernel.run("view = LaneView(session, lane); view")
    box = kernel.widget("AnyModel", lane="planner")
    kernel.run("lane.create('Plan a trip.').wait(10)")
    kernel.listen(0.4)
    # As a page that was reloaded: it sees what was saved, and is told that there is more.
    before = len(kernel.messages)
    page(kernel, box, "look", 1, 1, 1)
    kernel.wait_until(lambda: bool(sent(kernel.messages[before:])))
    (told_it,) = contents(kernel.messages[before:])
    assert (told_it["pages"], told_it["pictures"]) == (["p"], None)
    assert max(told_it["paint"]) > 1
    page(kernel, box, "watch", 1, 1, 1)
    kernel.wait_until(lambda: len(sent(kernel.messages[before:])) > 1)
    assert card(kernel, kernel.messages[before:]) == told(last_html(kernel, shown(kernel, cell)))
    # While it goes on, as many messages in all as for the displays alone.
    start = len(kernel.messages)
    kernel.run(TURNS.format(2.0))
    kernel.listen(0.6)  # the last paints
    kernel.wait_until(
        lambda: (
            card(kernel, kernel.messages[before:]) == told(last_html(kernel, shown(kernel, cell)))
        )
    )
    heard = kernel.messages[start:]
    carried = sent(heard)
    assert len(carried) > 3
    assert rate(moments(carried)) <= 10
    assert rate(sorted(moments(carried + updates(heard, shown(kernel, cell))))) <= 10 + 3
    # The last picture arrives too, and who comes later has it.
    kernel.run("view.stop()")
    kernel.wait_until(lambda: "not watched since" in card(kernel, kernel.messages[before:]))
    kernel.wait_until(lambda: contents(kernel.messages)[-1]["over"] is True)
    kernel.wait_until(lambda: last_html(kernel, boxes(kernel, cell)) == "")
    late = len(kernel.messages)
    page(kernel, box, "watch", name="late")
    kernel.wait_until(lambda: bool(sent(kernel.messages[late:])))
    assert "not watched since" in card(kernel, kernel.messages[late:])
    kernel.run("lane.create('Plan a trip.').wait(10)")
    assert len(sent(kernel.messages[late:])) == 1
    kernel.run("session.close()")


def test_a_fork_of_a_page_that_no_display_reaches_stands_within_the_box(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start('planner'); lane.create('Plan a trip.').wait(10)")
    cell = kernel.run("LaneView(session, lane)")
    field = kernel.widget("AnyModel", lane="planner")
    kernel.tell(field, "fork", "", name="other", show=0)
    kernel.wait_until(lambda: "Lane other goes on" in str(kernel.widgets[field]["said"]))
    below = kernel.widget("AnyModel", lane="other")
    kernel.listen(0.3)
    assert (len(pictures(kernel, cell)), len(boxes(kernel, cell))) == (3, 1), "none of its own"
    before = len(kernel.messages)
    page(kernel, below, "look")
    kernel.wait_until(lambda: bool(sent(kernel.messages[before:])))
    page(kernel, below, "watch")
    kernel.tell(below, "say", "Another way.")
    kernel.run("session['other'].wait(10)")
    kernel.wait_until(lambda: "Another way." in card(kernel, kernel.messages[before:]))
    kernel.run("session.close()")
    kernel.wait_until(lambda: "session closed" in card(kernel, kernel.messages[before:]))


def test_no_print_and_no_error_came_from_any_callback(kernel: Kernel) -> None:
    kernel.listen(0.2)
    assert [m for m in kernel.messages if m["msg_type"] in ("stream", "error")] == []
