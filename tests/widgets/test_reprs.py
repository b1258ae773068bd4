"""The objects a person holds, as a cell's result: in text, in HTML, and where no style sheet is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.formatters import DisplayFormatter

import steer_nb
from steer_nb.client import Inject, Response
from steer_nb.client.reconnecting import Reconnect
from steer_nb.simulator import Simulator
from steer_nb.trace import Header, Problem, Trace, TraceSet
from steer_nb.widgets.style import STYLE
from tests.support.github import glued, look
from tests.widgets.forming import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from steer_nb import Session

LONG = re.compile(r"[a-z]{1,8}_[0-9a-f]{32}")


@pytest.fixture
def connect() -> Iterator[Callable[..., Session]]:
    made: list[Session] = []

    def start(scenario: Any, **options: Any) -> Session:
        kept = {"journal": False, "quiet": True, "name": f"s{len(made)}"}
        made.append(steer_nb.connect(simulate=scenario, **{**kept, **options}))
        return made[-1]

    yield start
    for session in made:
        session.close()


def shown(thing: object) -> tuple[str, str]:
    """What a shell that knows nothing of us shows: text and HTML."""
    bundle, _ = DisplayFormatter().format(thing)
    return bundle["text/plain"], bundle["text/html"]


def read(thing: object, *words: str) -> str:
    """Look at it on GitHub: it says `words`, in order and apart, with no endless id."""
    text, html = shown(thing)
    there = look(html)
    at = 0
    for word in words:
        at = there.find(word, at)
        assert at >= 0, (word, there)
    assert glued(html) == []
    assert html.count(STYLE) <= 1
    assert LONG.search(text) is None, text
    assert LONG.search(there) is None or isinstance(thing, Response), there
    return text


def test_a_session_with_and_without_lanes(connect: Any) -> None:
    session = connect(Simulator("planner", speed=0))
    text = read(session, "Session s0", "connected", "ws://127.0.0.1", "No lane is open yet")
    assert text.startswith("<Session s0: connected, ")
    assert STYLE not in shown(session)[1]
    for number in range(10):
        session.lane(f"lane-{number}").create("Plan.").wait(20)
    session.wait(20)
    text = read(session, "connected", "lane | state | now", "lane-0 | ○ idle")
    assert text.endswith("lane-7 and 2 more>")
    session.close()
    assert "closed" in read(session, "Session s0", "closed", "lane-0")


def test_what_goes_on_is_useful_too(connect: Any) -> None:
    session = connect(Simulator("planner", speed=0.5))
    lane = session.lane("planner")
    assert read(lane, "planner ○ idle", "Nothing has been sent").startswith("<Lane planner")
    response = lane.create("Plan a trip.")
    until(lambda: "Here is a plan" in response.text)
    text = read(response, "in progress: 'Here is a plan", "await response", "%steer show planner")
    assert text.startswith("<Response resp_")
    assert STYLE not in shown(response)[1]
    steer = lane.steer(["Keep it short", b"GIF89a"])
    until(lambda: steer.state == "accepted")
    text = read(steer, "accepted", "You steered: Keep it short", "await steer")
    assert text.endswith(", accepted: 'Keep it short' and 1 image>")
    text = read(lane, "planner ● writing gpt-6-astra", "You: Plan a trip.", "it goes on")
    assert "in progress, " in text
    assert read(session, "planner | ● writing")


def test_what_ended(connect: Any) -> None:
    session = connect(Simulator("planner", speed=0))
    lane = session.lane("planner")
    response = lane.create("Plan a trip.").wait(20)
    lane.wait(20)
    text = read(response, "✓ completed gpt-6-astra", "You: Plan a trip.", "Day 1")
    assert re.fullmatch(r"<Response resp_..….. on planner, completed: '.{40,}\.\.\.'>", text)
    assert "1 response>" in read(lane, "planner ○ idle gpt-6-astra", "Day 1")
    with pytest.raises(steer_nb.errors.ServerRefused):
        lane.create("x", previous_response_id="resp_none").wait(20)
    refused = lane.response
    assert "refused (previous_response_not_found)" in read(refused, "refused", "await")


def test_what_is_asked_says_what_was_answered(connect: Any) -> None:
    session = connect(Simulator("seven", speed=0))
    lane = session.lane("audit")
    response = lane.create("Audit it.").wait(20)
    words = {
        "function_call_output": ("get_project_status", "atlas"),
        "custom_tool_call_output": ("note", "the audit started"),
        "computer_call_output": ("computer", "screenshot"),
        "shell_call_output": ("shell", "git status --short"),
        "apply_patch_call_output": ("apply patch", "budget = 300"),
        "tool_search_output": ("tool search", "calendar"),
        "mcp_approval_response": ("delete_event", "evt_55"),
    }
    for asked in lane.required_input:
        text, html = shown(asked)
        title = look(html).split("\n")[0]
        assert title.startswith("Required input ")
        assert "open · lane audit · asked by resp_" in title
        for word in words[asked.type]:
            assert word in look(html)
        assert "lane.fill(key, output=...)" in look(html)
        assert LONG.search(text) is None
        assert asked.type in text
    assert shown(response)[0].endswith(
        ", completed, asks for get_project_status, note, computer_call_output and 4 more>"
    )
    lane.fill(lane.required_input[0].key, output="18 °C")
    lane.fill(lane.required_input[6].key, approve=False)
    first, *_, last = lane.required_input
    assert "filled with '18 °C'" in shown(first)[0]
    assert "18 °C" in look(shown(first)[1])
    assert "filled with denied" in shown(last)[0]
    assert "denied" in look(shown(last)[1])
    assert "is waiting input for get_project_status, note, computer_call_output …" in shown(lane)[0]


def test_an_inject(connect: Any) -> None:
    session = connect(Simulator("agents", speed=0), multi_agent=True)
    lane = session.lane("team", multi_agent={"enabled": True})
    lane.create("Compare Lisbon and Porto.")
    assert lane.wait(20) == "waiting_input"
    (asked, *_) = lane.required_input
    lane.fill(asked.key, output="18 °C and sunny")
    inject = lane.inject()
    assert isinstance(inject, Inject)
    inject.wait(20)
    text, html = shown(inject)
    assert re.fullmatch(r"<Inject inject-\d of 1 answer into resp_..….., created>", text)
    there = look(html)
    assert re.match(r"Inject inject-\d · created · 1 answer · into resp_..….. · team\n", there)
    assert asked.name in there
    assert "18 °C and sunny" in there


def test_a_lane_that_lost_its_connection(connect: Any) -> None:
    simulator = Simulator("planner", speed=0)
    session = connect(simulator, reconnect=Reconnect(attempts=3, first_s=0.01, rotate_s=None))
    lane = session.lane("trip")
    lane.create("Plan.").wait(20)
    lane.wait(20)
    number = session.read(lambda ledger: len(ledger.connections))
    simulator.drop()
    until(lambda: session.read(lambda ledger: len(ledger.connections)) > number)
    until(lambda: not session.reconnecting)
    text = read(
        lane.recovery,
        "Lane trip · its connection was lost",
        "The connection is gone",
        'recover("continue") | ',
        'recover("leave") | leave it: what you say next begins a new conversation',
    )
    assert text.split("\n")[0].startswith("Lane trip: The connection is gone")
    assert '  recover("rebuild")   begin a new chain' in text
    assert "is detached" in read(lane, "trip ▲ connection lost", "%steer resume trip")


def test_a_trace_live_and_from_a_file(connect: Any, tmp_path: Path) -> None:
    session = connect(Simulator("planner", speed=0))
    session.lane("trip").create("Plan.").wait(20)
    session.wait(20)
    text = read(session.trace, "Trace ", " · 1 connection · 1 response · ", "trip | ○ idle")
    assert re.fullmatch(r"<Trace \w{8}: \d+ events, 1 request, \d+ notes, \d+\.\d s>", text)
    session.trace.save(tmp_path / "run.jsonl")
    loaded = steer_nb.load(tmp_path / "run.jsonl")
    assert f" from {tmp_path}/run.jsonl: " in read(loaded, "run.jsonl", "trip | ○ idle")


def test_a_set_of_traces(connect: Any, tmp_path: Path) -> None:
    session = connect(Simulator("planner", speed=0))
    session.lane("trip").create("Plan.").wait(20)
    session.wait(20)
    session.trace.save(tmp_path / "run.jsonl")
    (tmp_path / "notes.bin").write_bytes(b"\x00")
    (tmp_path / "untimed.jsonl").write_text('{"type":"response.created","response":{"id":"r"}}\n')
    runs = steer_nb.load(tmp_path)
    there = look(runs._repr_html_()).split("\n")
    assert (
        there[0]
        == f"Traces {tmp_path} · 2 traces · {len(runs[0]) + 2} entries · 1 problem of a file"
    )
    (row,) = (line for line in there if "run.jsonl" in line and "notes" not in line)
    assert row.startswith(f"{runs[0].trace_id[:8]} | {tmp_path}/run.jsonl | live | ")
    assert any("untimed.jsonl | jsonl | 2 entries | no times" in line for line in there)
    assert any(line.startswith(f"{tmp_path}/notes.bin: is no steer_nb trace") for line in there)
    assert ".frames.traces has all of them" in there[-1]


def test_a_set_of_thousands_of_hostile_files() -> None:
    name = "<script>alert(1)</script>" * 50
    traces = []
    for number in range(3000):
        traces.append(Trace(Header(1, f"{number:032x}", source=name)))
        traces[-1].file = f"{number} {name}"
    lost = [Problem("unreadable", name, file=name)] * 3000
    drawn = TraceSet(traces, lost, where=name)._repr_html_()
    assert len(drawn) < 60_000
    assert "<script" not in drawn
    there = look(drawn)
    assert "3 000 traces" in there.replace("\u202f", " ")
    assert "… and 2 980 more traces" in there.replace("\u202f", " ")
    assert all(trace._ledger is None for trace in traces), "none was folded for it"
    assert "0 traces" in look(TraceSet([])._repr_html_())


def test_hostile_text_stays_text(connect: Any) -> None:
    session = connect(Simulator("planner", speed=0.5))
    lane = session.lane("planner")
    response = lane.create("<script>alert(1)</script>\x1b[31m")
    until(lambda: response.text != "")
    steer = lane.steer("<img src=x onerror=alert(1)>\u202e")
    for thing in (lane, response, steer, session, session.trace):
        text, html = shown(thing)
        assert "<script" not in html.replace(STYLE, "")
        assert "<img" not in html
        assert "\x1b" not in text + html
        assert "\u202e" not in text
