"""In a real kernel: pictures that go on after their cell, widgets driven by a page's messages."""

from __future__ import annotations

import inspect
import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from ipykernel.zmqshell import ZMQDisplayPublisher

from tests.widgets.kernel import Button, Kernel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.kernel

START = """
import time, threading
import steer_nb
from steer_nb.client.reconnecting import Reconnect
from steer_nb.simulator import Say, Simulator, Think, scenario
from steer_nb.widgets import BoardView, LaneView, pending_forms
from steer_nb.widgets.forms import ContinuationForm
SOON = Reconnect(attempts=5, first_s=0.01, longest_s=0.05, rotate_s=None)
def start(scenario, speed=0, **options):
    global session, lane
    session = steer_nb.connect(
        simulate=Simulator(scenario, speed=speed, **options),
        journal=False, quiet=True, reconnect=SOON)
    lane = session.lane("planner")
@scenario("long", "Thinks, and says much.")
def long(turn):
    yield Think("**Planning**")
    yield Say("Many words. " * 500)
"""


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    made.run(START)
    yield made
    made.close()


PARTS = 3
"""Pictures that make up a lane's card."""


def updates(messages: list[dict[str, Any]], displays: list[str]) -> list[dict[str, Any]]:
    return [
        m
        for m in messages
        if m["msg_type"] == "update_display_data"
        and m["content"]["transient"]["display_id"] in displays
    ]


def shown(kernel: Kernel, cell: str, parts: int = PARTS) -> list[str]:
    """Display ids of the first card of a cell."""
    return pictures(kernel, cell)[:parts]


def pictures(kernel: Kernel, cell: str) -> list[str]:
    """Display ids of all that a cell shows, but for widgets."""
    return [
        str(m["content"]["transient"]["display_id"])
        for m in kernel.of(cell, "display_data")
        if "application/vnd.jupyter.widget-view+json" not in m["content"]["data"]
    ]


def boxes(kernel: Kernel, cell: str) -> list[str]:
    """Display ids of a cell's widgets."""
    return [
        str(m["content"]["transient"]["display_id"])
        for m in kernel.of(cell, "display_data")
        if "application/vnd.jupyter.widget-view+json" in m["content"]["data"]
    ]


def moments(messages: list[dict[str, Any]]) -> list[float]:
    dates = [m["header"]["date"] for m in messages]
    return [
        (d if isinstance(d, datetime) else datetime.fromisoformat(d)).timestamp() for d in dates
    ]


def rate(times: list[float]) -> float:
    """Paints in a second, over all the time: a busy machine may put two of them close together."""
    return (len(times) - 1) / (max(times) - min(times))


def last_html(kernel: Kernel, displays: list[str]) -> str:
    """What stands in these pictures now."""
    newest = {
        m["content"]["transient"]["display_id"]: m["content"]["data"]["text/html"]
        for m in kernel.messages
        if m["msg_type"] in ("display_data", "update_display_data")
        and "display_id" in m["content"]["transient"]  # ipywidgets 7 shows widgets without
    }
    return "".join(newest[display] for display in displays)


def told(html: str) -> str:
    """What a reader sees of it, but for from when it is."""
    return re.sub(r"as of [0-9:]{8}", "", re.sub(r"<style>.*?</style>|<[^>]+>", "", html))


def test_a_lane_is_painted_ten_times_a_second_and_a_last_time(kernel: Kernel) -> None:
    kernel.run("start('planner')")
    cell = kernel.run("view = LaneView(session, lane, interactive=False); view")
    display = shown(kernel, cell)
    before = len(kernel.messages)
    kernel.run(
        "end = time.monotonic() + 2.5\n"
        "while time.monotonic() < end:\n"
        "    lane.create('Plan a trip.').wait(10)\n"
    )
    # A settled lane's picture holds no running clock, so the last one is what is drawn now.
    assert caught_up(kernel, [display], told(kernel.value("view.html")))
    painted = updates(kernel.messages[before:], display)
    assert all(m["parent_header"]["msg_id"] == cell for m in painted)
    assert kernel.value("len(session.trace)") > 500
    times = moments(painted)
    # Short turns: nearly each paint sends all three pictures of the card.
    assert len(times) > 8
    assert rate(times) <= 10 + PARTS - 1  # the last paint's stand close together
    assert updates(kernel.listen(1.2), display) == [], "nothing is sent when nothing changed"


def caught_up(kernel: Kernel, displays: list[list[str]], now: str) -> bool:
    """Whether every display comes to show `now`, however slow the machine is."""
    for _ in range(240):
        if all(told(last_html(kernel, display)) == now for display in displays):
            return True
        kernel.listen(0.05)
    return False


def test_a_lane_shown_three_times_sends_no_more_than_one(kernel: Kernel) -> None:
    kernel.run("start('planner')")
    cells = [kernel.run("LaneView(session, lane, interactive=False)") for _ in range(3)]
    displays = [shown(kernel, cell) for cell in cells]
    before = len(kernel.messages)
    kernel.run(
        "end = time.monotonic() + 2.0\n"
        "while time.monotonic() < end:\n"
        "    lane.create('Plan a trip.').wait(10)\n"
    )
    now = told(kernel.value("LaneView(session, lane).html"))
    assert caught_up(kernel, displays, now)
    painted = [updates(kernel.messages[before:], display) for display in displays]
    times = sorted(time for each in painted for time in moments(each))
    assert rate(times) <= 14  # ten, and the nine that one last paint consists of
    assert all(len(each) > 3 for each in painted)


def test_all_lanes_together_are_painted_fifty_times_a_second(kernel: Kernel) -> None:
    kernel.run("start('planner')")
    cell = kernel.run(
        "from IPython.display import display\n"
        "lanes = [session.lane(f'l{i}') for i in range(12)]\n"
        "for one in lanes: display(LaneView(session, one, interactive=False))"
    )
    displays = pictures(kernel, cell)
    assert len(displays) == 12 * PARTS
    before = len(kernel.messages)
    kernel.run(
        "end = time.monotonic() + 2.0\n"
        "while time.monotonic() < end:\n"
        "    for response in [one.create('Plan a trip.') for one in lanes]: response.wait(10)\n",
    )
    for number, now in enumerate(kernel.value("[LaneView(session, one).html for one in lanes]")):
        card = displays[number * PARTS : (number + 1) * PARTS]
        assert caught_up(kernel, [card], told(now))
    painted = [
        m
        for m in kernel.messages[before:]
        if m["msg_type"] == "update_display_data"
        and m["content"]["transient"]["display_id"] in displays
    ]
    assert rate(moments(painted)) <= 50
    assert {m["content"]["transient"]["display_id"] for m in painted} >= set(displays[::PARTS])


def test_the_clock_runs_while_nothing_comes(kernel: Kernel) -> None:
    kernel.run("start('planner', speed=0.05)")
    cell = kernel.run("LaneView(session, lane, interactive=False)")
    kernel.run("lane.create('Plan a trip.')")
    painted = updates(kernel.listen(2.2), shown(kernel, cell))
    assert 3 <= len(painted) <= 22
    kernel.run("session.close()")
    head, _, tail = ([display] for display in shown(kernel, cell))
    kernel.wait_until(lambda: "session closed" in last_html(kernel, head))
    kernel.wait_until(lambda: told(last_html(kernel, tail)) == "")  # the last that is painted
    assert updates(kernel.listen(1.3), shown(kernel, cell)) == []


def test_shown_again_both_go_on_and_the_oldest_of_four_says_goodbye(kernel: Kernel) -> None:
    kernel.run("start('planner')")
    cells = [kernel.run("LaneView(session, lane, interactive=False)") for _ in range(4)]
    displays = [shown(kernel, cell) for cell in cells]
    kernel.run("lane.create('Plan a trip.').wait(10)")
    kernel.wait_until(lambda: "no longer changes" in last_html(kernel, displays[0]))
    for display in displays[1:]:
        kernel.wait_until(lambda one=display: "Plan a trip." in last_html(kernel, one))


def test_where_a_picture_says_goodbye_its_box_goes_too(kernel: Kernel) -> None:
    kernel.run("start('planner')")
    cells = [kernel.run("LaneView(session, lane)") for _ in range(4)]
    below = [boxes(kernel, cell) for cell in cells]
    kernel.wait_until(lambda: last_html(kernel, below[0]) == "")
    kernel.listen(0.3)
    gone = [len(updates(kernel.messages, box)) for box in below]
    assert gone == [1, 0, 0, 0]


def test_the_board_follows(kernel: Kernel) -> None:
    kernel.run("start('weather')")
    cell = kernel.run("BoardView(session)")
    kernel.run("lane.create('Weather?'); lane.wait(10)")
    board = shown(kernel, cell, 1)
    kernel.wait_until(lambda: "waits for you" in last_html(kernel, board))
    assert "%steer pending planner" in last_html(kernel, board)


def test_what_is_finished_is_not_sent_again_while_more_is_written(kernel: Kernel) -> None:
    kernel.run("start(long, speed=1)")
    cell = kernel.run("LaneView(session, lane, interactive=False)")
    kernel.run("lane.create('Go on.')\nwhile not lane.text: time.sleep(0.01)")
    head, done, tail = ([display] for display in shown(kernel, cell))
    kernel.wait_until(lambda: "Thought for" in last_html(kernel, done))
    heard = kernel.listen(1.5)
    assert len(updates(heard, tail)) > 5
    assert updates(heard, done) == []
    assert len(updates(heard, head)) <= 3, "its clock shows whole seconds"
    assert "Thought for" in last_html(kernel, done)
    kernel.run("session.close()")


def test_stop_leaves_the_picture_and_says_so(kernel: Kernel) -> None:
    kernel.run("start(long, speed=1)")
    cell = kernel.run("view = LaneView(session, lane); view")
    kernel.run("lane.create('Plan a trip.')\nwhile not lane.text: time.sleep(0.01)")
    kernel.wait_until(lambda: "● writing" in told(last_html(kernel, shown(kernel, cell))))
    assert "progressbar" in last_html(kernel, shown(kernel, cell))
    kernel.run("view.stop()")
    kernel.wait_until(lambda: "not watched since" in last_html(kernel, shown(kernel, cell)))
    kernel.wait_until(lambda: last_html(kernel, boxes(kernel, cell)) == "")
    stopped = last_html(kernel, shown(kernel, cell))
    assert re.search(r"■</span> not watched since \d\d:\d\d:\d\d", stopped)
    assert "● writing" in told(stopped), "how it stood then"
    assert "progressbar" not in stopped
    assert updates(kernel.listen(1.3), shown(kernel, cell)) == []
    assert kernel.value("session.closed") is False
    kernel.widgets.clear()
    again = kernel.run("view.show()")
    said = kernel.widgets[kernel.widget("AnyModel")]["said"]
    assert re.fullmatch(r"Watched again; it was not since \d\d:\d\d:\d\d\.", said)
    kernel.run("lane.steer('Shorter')")
    kernel.wait_until(lambda: "Shorter" in last_html(kernel, shown(kernel, again)))
    assert last_html(kernel, shown(kernel, cell)) == stopped
    # Two views of one lane are one, whichever was made, stopped or shown first.
    kernel.run("other = LaneView(session, lane); view.stop()")
    last = kernel.run("other.show()")
    kernel.run("lane.steer('Longer')")
    kernel.wait_until(lambda: "Longer" in last_html(kernel, shown(kernel, last)))
    kernel.run("view.stop()")
    kernel.wait_until(lambda: "not watched since" in last_html(kernel, shown(kernel, last)))
    kernel.run("session.close()")


def test_the_box_sends_and_steers(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start('planner', speed=1.0)")
    cell = kernel.run("LaneView(session, lane)")
    box = boxes(kernel, cell)
    assert last_html(kernel, box) == ""
    field = kernel.text_box()
    assert kernel.widgets[field]["verb"] == "Send"
    kernel.tell(field, "typed", "Plan a tr")
    kernel.tell(field, "say", "Plan a trip.")
    kernel.tell(field, "say", "Plan a trip.", step=0)
    kernel.wait_until(lambda: kernel.widgets[field]["verb"] == "Steer")
    kernel.wait_until(lambda: kernel.widgets[field]["value"] == "")
    kernel.tell(field, "say", "Keep it under 300 euros {x} $y")
    kernel.wait_until(lambda: kernel.widgets[field]["said"] == "Sent as a steer.")
    account = kernel.value("session.simulator.account")
    assert [e["input"] for e in account if e["kind"] == "steer"] == [
        "Keep it under 300 euros {x} $y"
    ]
    assert len([e for e in account if e["kind"] == "request"]) == 1
    kernel.run("session.close()")
    kernel.wait_until(lambda: bool(updates(kernel.messages, box)))
    closed = updates(kernel.messages, box)
    assert closed[-1]["content"]["data"] == {"text/plain": "", "text/html": ""}


def test_a_fork_is_shown_in_the_cell_of_the_box_that_made_it(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start('planner'); lane.create('Plan a trip.').wait(10)")
    cells = [kernel.run("LaneView(session, lane)") for _ in range(2)]
    field = kernel.widget("AnyModel", lane="planner")
    for number, name in ((1, "one"), (2, "two"), (1, "three")):
        said = f"Lane {name} goes on from here: see below, or %steer show {name}."
        kernel.tell(field, "fork", "half a sen", name=name, show=number)
        kernel.until(lambda _, said=said: kernel.widgets[field]["said"] == said)
    first, second = [told(last_html(kernel, pictures(kernel, cell))) for cell in cells]
    assert [len(pictures(kernel, cell)) for cell in cells] == [3 * PARTS, 2 * PARTS]
    assert [len(boxes(kernel, cell)) for cell in cells] == [3, 2]
    assert "three" in first
    assert "two" in second
    below = kernel.widget("AnyModel", lane="three")
    kernel.tell(below, "say", "Another way.")
    kernel.wait_until(lambda: kernel.widgets[below]["said"] == "Sent as the next turn.")
    kernel.run("session['three'].wait(10)")
    kernel.wait_until(lambda: "Another way." in last_html(kernel, pictures(kernel, cells[0])))
    kernel.run("session.close()")


def test_what_the_box_cannot_send_it_says_and_keeps(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start('weather'); lane.create('Weather?'); lane.wait(10)")
    kernel.run("LaneView(session, lane)")
    field = kernel.text_box()
    kernel.tell(field, "say", "and Porto?")
    kernel.wait_until(lambda: "waits for 1 answer" in kernel.widgets[field]["said"])
    assert kernel.widgets[field]["value"] == "and Porto?"
    assert kernel.widgets[field]["bad"] is True


def test_one_continuation_however_often_it_is_clicked(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start('weather'); lane.create('Weather?'); lane.wait(10)")
    first = kernel.run("pending_forms(session)")
    second = kernel.run("pending_forms(session)")
    bundles = [kernel.of(cell, "display_data")[0]["content"] for cell in (first, second)]
    assert all("get_weather" in bundle["data"]["text/html"] for bundle in bundles)
    send = kernel.button("Send continuation")
    area = kernel.widget("TextareaModel")
    assert send.disabled
    for end in (3, 6, 10):
        kernel.type(area, "18 °C, dry"[:end])
    kernel.wait_until(lambda: not send.disabled)
    # A form made by itself is another display of the same response, with buttons of its own.
    known = set(kernel.widgets)
    kernel.run(
        "own = ContinuationForm(session, lane, lane.required_input[0].parent_id); own.widget"
    )
    fresh = {comm: state for comm, state in kernel.widgets.items() if comm not in known}
    (comm,) = (comm for comm, state in fresh.items() if state.get("follows"))
    other = Button(kernel, comm, send.index)
    send.press()
    other.press()
    send.press()
    send.press()
    kernel.wait_until(lambda: "committed as resp_" in json.dumps(kernel.widgets))
    send.press()
    other.press()
    kernel.listen(0.8)
    account = kernel.value("session.simulator.account")
    assert len([entry for entry in account if entry["kind"] == "continuation"]) == 1
    assert "18 °C, dry" in kernel.value("lane.text")
    for bundle in bundles:
        final = updates(kernel.messages, [bundle["transient"]["display_id"]])[-1]["content"]["data"]
        assert "application/vnd.jupyter.widget-view+json" not in final
        assert "18 °C, dry" in final["text/html"]
        assert "committed as resp_" in final["text/plain"]


def test_a_click_while_a_cell_is_busy_sends_what_came_last(kernel: Kernel, tmp_path: Path) -> None:
    kernel.widgets.clear()
    kernel.run("start('weather'); lane.create('Weather?'); lane.wait(10)")
    kernel.run("pending_forms(session)")
    send = kernel.button("Send continuation")
    area = kernel.widget("TextareaModel")
    kernel.type(area, "18")
    kernel.wait_until(lambda: not send.disabled)
    busy = kernel.client.execute(_busy_until(tmp_path / "go on"))
    kernel.type(area, "18 °")
    send.press()
    kernel.wait_until(lambda: bool(kernel.of(busy, "execute_input")))
    (tmp_path / "go on").touch()
    kernel.end(busy)
    # Only now the page lets go of the text that it held back while the kernel was busy.
    kernel.type(area, "18 °C, dry")
    kernel.wait_until(lambda: "committed as resp_" in json.dumps(kernel.widgets))
    assert "18 °C, dry" in kernel.value("lane.text")


def _busy_until(made: Path) -> str:
    """A cell that keeps the kernel busy until there is a file."""
    return f"from pathlib import Path\nwhile not Path({str(made)!r}).exists(): time.sleep(0.01)\n"


def test_clicks_on_a_subshell_work_while_a_cell_is_busy(kernel: Kernel, tmp_path: Path) -> None:
    kernel.widgets.clear()
    kernel.run("start('weather'); lane.create('Weather?'); lane.wait(10)")
    if not kernel.open_subshell():
        pytest.skip("this kernel has no subshells")
    # Made there: the newest kernels send a widget's messages to the shell that published last.
    kernel.run("made_in = threading.current_thread().name; pending_forms(session)")
    assert kernel.value("made_in").startswith("subshell")
    send = kernel.button("Send continuation")
    area = kernel.widget("TextareaModel")
    kernel.subshell, subshell = None, kernel.subshell
    busy = kernel.client.execute(_busy_until(tmp_path / "go on") + "print('VALUE slept')")
    kernel.wait_until(lambda: bool(kernel.of(busy, "execute_input")))
    kernel.subshell = subshell
    kernel.type(area, "18 °C, dry")
    kernel.wait_until(lambda: not send.disabled)
    send.press()
    kernel.wait_until(lambda: "committed as resp_" in json.dumps(kernel.widgets))
    assert kernel.of(busy, "stream") == [], "the cell still sleeps"
    kernel.subshell = None
    (tmp_path / "go on").touch()
    kernel.end(busy)
    assert kernel.of(busy, "stream")
    assert "18 °C, dry" in kernel.value("lane.text")


def test_two_displays_pressed_on_subshells_at_once_send_one_continuation(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start('weather'); lane.create('Weather?'); lane.wait(10)")
    if not kernel.open_subshell():
        pytest.skip("this kernel has no subshells")
    subshells = [kernel.subshell]
    assert kernel.open_subshell()
    subshells.append(kernel.subshell)
    kernel.subshell = None
    kernel.run("pending_forms(session)")
    send, area = kernel.button("Send continuation"), kernel.widget("TextareaModel")
    kernel.type(area, "18 °C, dry")
    kernel.wait_until(lambda: not send.disabled)
    known = set(kernel.widgets)
    kernel.run(
        "own = ContinuationForm(session, lane, lane.required_input[0].parent_id); own.widget"
    )
    fresh = {comm: state for comm, state in kernel.widgets.items() if comm not in known}
    (comm,) = (comm for comm, state in fresh.items() if state.get("follows"))
    buttons = [send, Button(kernel, comm, send.index)]
    kernel.wait_until(lambda: not buttons[1].disabled)
    # Two pages, each with both displays, each on a subshell of its own; then the main shell, too.
    for number in range(4):
        for page, subshell in enumerate([*subshells, None]):
            kernel.subshell = subshell
            for button in buttons:
                button.press(step=0, page=f"page {page} {number}")
    kernel.subshell = None
    kernel.wait_until(lambda: "committed as resp_" in json.dumps(kernel.widgets))
    for button in buttons:
        button.press()
    kernel.listen(0.5)
    kinds = [entry["kind"] for entry in kernel.value("session.simulator.account")]
    assert kinds.count("continuation") == 1
    steps = [kernel.widgets[button.comm]["step"] for button in buttons]
    assert steps == [2, 2], "of all presses of a step one was taken"
    assert "18 °C, dry" in kernel.value("lane.text")


DISPLAYS = """
from IPython.display import HTML, Image, clear_output, display
def get_weather(city: str) -> str:
    CLEARED
    display(HTML("<b>sun</b>")); display({city: "<dry>"})
    display(Image(base64.b64decode(PNG)))
    print("printed")
    return "18"
session.lane(lane.name, tools=[get_weather])
pending_forms(session)
"""
# Older kernels, as 6.17, clear what a cell shows past all hooks.
HOOKED = "_hooks" in inspect.getsource(ZMQDisplayPublisher.clear_output)
DISPLAYS = DISPLAYS.replace("CLEARED", 'display("not this"); clear_output()' if HOOKED else "pass")
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


def test_what_a_tool_displays_stands_in_its_form_and_in_no_cell(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start('weather'); lane.create('Weather?'); lane.wait(10)")
    kernel.run(f"import base64; PNG = '{PNG}'")
    shown = kernel.run(DISPLAYS)
    cell = kernel.run("lane.run_tool(lane.required_input[0].key); print('ran')")
    kernel.wait_until(lambda: "displayed by get_weather (not sent)" in json.dumps(kernel.widgets))
    assert [m["content"]["text"] for m in kernel.of(cell, "stream")] == ["ran\n"]
    assert kernel.of(cell, "display_data") == kernel.of(cell, "clear_output") == []
    tool = kernel.value("lane.required_input[0].tool")
    kinds = [list(output) for output in tool["displayed"]]
    assert kinds == [["text/plain"], ["text/plain"], ["image/png"]]
    assert tool["displayed"][2]["image/png"] == PNG
    assert tool["printed"] == "printed\n"
    form = json.dumps(kernel.widgets)
    assert "&lt;dry&gt;" in form
    assert f"data:image/png;base64,{PNG}" in form
    record = kernel.of(shown, "display_data")[0]["content"]["transient"]["display_id"]
    kernel.wait_until(lambda: PNG in str(updates(kernel.messages, [record])))
    text = updates(kernel.messages, [record])[-1]["content"]["data"]["text/plain"]
    assert "displayed (not sent):" in text


LOSE = """
from steer_nb.client.io import io_thread
from steer_nb.simulator import AwaitSteer, RefuseSteers, Say, scenario
@scenario("kept", "Says something, and waits or refuses steers.")
def kept(turn):
    refuses = "refuse" in turn.prompt
    if refuses:
        yield RefuseSteers("response_already_completed")
    yield Say(turn.prompt)
    if "wait" in turn.prompt or refuses:
        yield AwaitSteer(10)
async def nowhere(_): pass
def cut():
    transport = session.core.line.transport
    transport.send = nowhere
    lane.steer("Keep it <short>")
    io_thread.call(lambda: transport._connection.transport.abort())
"""


def test_what_is_to_decide_is_decided_by_clicks(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run(LOSE)
    kernel.run("start(kept); lane.create('hello').wait(10); lane.wait(10)")
    cell = kernel.run("LaneView(session, lane)")
    kernel.run("lane.create('please wait')\nwhile lane.state != 'running': time.sleep(0.01)\ncut()")
    kernel.wait_until(
        lambda: _buttons(kernel) >= {"Continue", "Rebuild", "Leave", "Send again"}, 15
    )
    kernel.wait_until(lambda: "Keep it &lt;short&gt;" in last_html(kernel, shown(kernel, cell)))
    again = kernel.button("Send again")
    go_on = kernel.button("Continue")
    go_on.press()
    go_on.press()
    kernel.wait_until(lambda: "Continue from resp_" in json.dumps(kernel.widgets))
    # The steer, and the request that was cut off.
    kernel.wait_until(lambda: len(_decisions(kernel)["children"]) == 2)
    for _ in range(3):
        again.press()
    kernel.wait_until(lambda: not _decisions(kernel)["children"])
    assert kernel.value("lane.wait(10)") == "idle"
    requests = [e for e in kernel.value("session.simulator.account") if e["kind"] == "request"]
    assert len(requests) == 3
    kernel.wait_until(lambda: "sent again as create-" in last_html(kernel, shown(kernel, cell)))


def test_a_failed_steer_is_back_in_the_box_when_its_cell_has_ended(kernel: Kernel) -> None:
    kernel.widgets.clear()
    kernel.run("start(kept); LaneView(session, lane)")
    field = kernel.text_box()
    kernel.run(
        "lane.create('refuse it')\nwhile 'refuse it' not in lane.text: time.sleep(0.01)\n"
        "steer = lane.steer('Shorter')\nsteer.wait(10); time.sleep(0.5)"
    )
    assert kernel.widgets[field]["value"] == "", "while a cell runs nobody knows what is typed"
    kernel.wait_until(lambda: kernel.widgets[field]["value"] == "Shorter")
    kernel.wait_until(lambda: kernel.widgets[field]["verb"] == "Send as next turn")
    kernel.tell(field, "say", "Shorter")
    kernel.wait_until(lambda: kernel.widgets[field]["value"] == "")
    assert kernel.value("[lane.wait(10), lane.text]") == ["idle", "Shorter"]


def _decisions(kernel: Kernel) -> dict[str, Any]:
    (box,) = (s for s in kernel.widgets.values() if "snb-decide-box" in s.get("_dom_classes", ()))
    return box


def _buttons(kernel: Kernel) -> set[str]:
    shown = [state.get("buttons", ()) for state in kernel.widgets.values()]
    return {button["text"] for row in shown for button in row}


def test_no_print_and_no_error_came_from_any_callback(kernel: Kernel) -> None:
    for message in kernel.messages:
        if message["msg_type"] == "stream":
            assert message["content"]["name"] == "stdout", message["content"]["text"]
            assert message["parent_header"]["msg_type"] == "execute_request"
        assert message["msg_type"] != "error"
