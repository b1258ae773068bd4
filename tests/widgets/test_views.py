"""Views and pictures outside a kernel, and what paces them."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import steer_nb
from steer_nb.simulator import Simulator
from steer_nb.widgets import BoardView, LaneView, html_for
from steer_nb.widgets import view as view_module
from steer_nb.widgets.drawing import Showing
from steer_nb.widgets.painter import PER_SECOND, Pacer, Picture, _Slots
from steer_nb.widgets.ticker import Ticker
from tests.widgets.forming import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb import Session


@pytest.fixture
def session() -> Iterator[Session]:
    with steer_nb.connect(
        simulate=Simulator("weather", speed=0), journal=False, quiet=True
    ) as made:
        lane = made.lane("planner")
        lane.create("Weather in <Lisbon>?")
        lane.wait(10)
        yield made


def test_without_a_kernel_a_view_is_static_text_and_html(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    view = LaneView(session, session["planner"])
    assert repr(view) == "<LaneView of planner>"
    assert str(view).startswith("planner  ◐ waits for you: 1 answer")
    assert "Weather in &lt;Lisbon&gt;?" in view._repr_html_()
    view.show()
    assert capsys.readouterr().out.startswith("planner  ◐ waits for you")
    board = BoardView(session)
    assert "planner" in str(board)
    assert repr(board) == "<BoardView of default>"
    board.stop()


def test_a_view_that_cannot_be_drawn_says_so(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = LaneView(session, session["planner"])

    class Kept(Picture):
        def update(self, bundle: dict[str, str], key: object = None) -> bool:
            seen.append(bundle["text/html"])
            return True

    seen: list[str] = []
    stage = view._stage
    stage.showings = (Showing(1, (Kept(), Kept(), Kept())),)

    def broken(*_: object, **__: object) -> None:
        raise ValueError("<odd>")

    monkeypatch.setattr(stage, "_draw", broken)
    stage.refresh()
    assert "ValueError: &lt;odd&gt;" in seen[0]
    assert seen[1:] == ["", ""], "nothing old stands below it"


def test_where_no_box_keeps_it_alive_a_picture_says_from_when_it_is(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lane, board = LaneView(session, session["planner"])._stage, BoardView(session)._stage
    clock = ["14:03:22"]
    monkeypatch.setattr(view_module, "_clock", lambda: clock[0])
    alone, below, all_lanes = (
        lane.drawing().bundles(1, dated=True),
        lane.drawing().bundles(1),
        board.drawing().bundles(1),
    )
    assert ["as of 14:03:22" in bundle["text/html"] for bundle, _ in alone] == [True, False, False]
    assert not any("as of" in bundle["text/html"] for bundle, _ in below)
    assert "as of 14:03:22" in all_lanes[0][0]["text/html"]
    numbers = lane.drawing().numbers
    clock[0] = "14:03:23"
    again = [*lane.drawing().bundles(1, dated=True), *board.drawing().bundles(1)]
    same = [key for _, key in again] == [key for _, key in (*alone, *all_lanes)]
    assert same, "the time alone is no reason to send anything"
    assert lane.drawing().numbers == numbers
    assert "as of" not in board.drawing("14:03:22").whole(), "it says since when nobody watches"


def test_every_object_has_a_picture(session: Session) -> None:
    lane = session["planner"]
    asked = lane.required_input[0]
    assert "planner" in html_for(session)
    assert "connected" in html_for(session)
    assert "get_weather" in html_for(lane)
    assert lane.response is not None
    assert "completed" in html_for(lane.response)
    assert "get_weather" in html_for(asked)
    assert "open" in html_for(asked)
    assert "Trace " in html_for(session.trace)
    lane.fill(asked.key, output="<b>18 °C</b>")
    assert "&lt;b&gt;18" in html_for(lane.required_input[0])
    with pytest.raises(TypeError, match="no picture of a dict"):
        html_for({})


def test_a_steer_has_a_picture() -> None:
    with steer_nb.connect(simulate=Simulator("planner"), journal=False, quiet=True) as session:
        lane = session.lane("planner")
        lane.create("Plan.")
        steer = lane.steer("Keep <it> short")
        until(lambda: steer.state in ("accepted", "committed"))
        assert "Keep &lt;it&gt; short" in html_for(steer)
        assert "sent " in html_for(steer)


async def test_changes_are_painted_soon_seldom_and_a_last_time() -> None:
    state, painted = [0], []

    def paint() -> None:
        painted.append((time.monotonic(), state[0]))

    pacer = Pacer(paint)
    end = time.monotonic() + 0.55
    while time.monotonic() < end:
        state[0] += 1
        pacer.wake()
        await asyncio.sleep(0)
    await asyncio.sleep(0.2)
    assert 4 <= len(painted) <= 7
    assert painted[-1][1] == state[0]
    assert all(b[0] - a[0] >= 0.99 / PER_SECOND for a, b in pairwise(painted))
    count = len(painted)
    await asyncio.sleep(0.3)
    assert len(painted) == count
    pacer.wake()
    pacer.stop()
    pacer.wake()
    await asyncio.sleep(0.2)
    assert len(painted) == count


async def test_a_running_clock_is_painted_without_changes() -> None:
    painted: list[float] = []

    def paint() -> float | None:
        painted.append(time.monotonic())
        return 0.1 if len(painted) < 3 else None

    pacer = Pacer(paint)
    pacer.wake()
    await asyncio.sleep(0.7)
    assert len(painted) == 3


def test_moments_are_shared_fairly() -> None:
    slots = _Slots(50)
    taken = [slots.take(100.0, 1) for _ in range(51)]
    assert taken[0] == 100.0
    assert taken[50] == pytest.approx(101.0)
    assert slots.take(200.0, 1) == 200.0


def test_what_is_left_twice_is_done_once_and_errors_end_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failures: list[str] = []
    monkeypatch.setattr(
        threading, "excepthook", lambda about: failures.append(repr(about.exc_value))
    )
    done: list[str] = []
    ticker = Ticker()
    ticker.later("a", 0.05, lambda: done.append("old"))
    ticker.later("a", 0.05, lambda: done.append("new"))
    ticker.later("b", 0.01, lambda: 1 / 0)
    ticker.later("c", 0.02, lambda: done.append("dropped"))
    ticker.drop("c")
    until(lambda: done)
    assert done == ["new"]
    assert failures == ["ZeroDivisionError('division by zero')"]
    # After quiet: each new call begins the wait anew. At the latest: the first one's time stands.
    start = time.monotonic()
    for _ in range(10):
        ticker.later("quiet", 0.1, lambda: done.append("quiet"), restart=True)
        ticker.later("soon", 0.1, lambda: done.append("soon"))
        time.sleep(0.03)
    until(lambda: "quiet" in done)
    assert time.monotonic() - start > 0.3
    assert done[1] == "soon"
    assert done.count("quiet") == 1
