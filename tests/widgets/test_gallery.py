"""Every kind of item in the lane view: drawn, in words, whatever stands in it."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest

import steer_nb
from steer_nb.ledger import Ledger
from steer_nb.simulator import (
    CallLocalShell,
    CallMcp,
    Compact,
    FindTools,
    GenerateImage,
    ListMcpTools,
    RunCode,
    RunProgram,
    RunShell,
    Say,
    Simulator,
    Speak,
    Think,
    scenario,
)
from steer_nb.widgets import render
from steer_nb.widgets.reading import Reader
from steer_nb.widgets.transcript import transcript
from tests.widgets.forming import until
from tests.widgets.test_hostile import HOSTILE, check

if TYPE_CHECKING:
    from steer_nb import Trace
    from steer_nb.simulator import Scenario

TEAM = {"multi_agent": {"enabled": True}}


def played(which: str | Scenario, **settings: object) -> Trace:
    simulator = Simulator(which, speed=0)
    options = {"multi_agent": bool(settings), "journal": False, "quiet": True}
    with steer_nb.connect(simulate=simulator, **options) as session:
        lane = session.lane("a", **settings)
        response = lane.create("Show me everything.")
        while not settings and lane.wait(timeout=30) == "waiting_input":
            lane.cancel_all()
            lane.send_continuation()
        if settings:
            until(lambda: len(lane.required_input) == 8)
            lane.cancel_all()
            lane.inject()
            response.wait(timeout=30)
        return session.trace


def card(ledger: Ledger) -> str:
    return render.lane_card(ledger, ledger.lanes["a"], 1000.0, cap=10**6)


def drawn(ledger: Ledger) -> str:
    told = transcript(ledger.lanes["a"], 1000.0, 10**6, Reader())
    assert told.hidden.characters == told.unseen.characters == 0
    return "\n".join((*told.done, *told.live))


def words(text: str) -> str:
    text = re.sub(r"</?bdi>", "", text)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


@pytest.mark.parametrize("settings", [{}, TEAM], ids=["alone", "several"])
def test_each_kind_is_drawn_in_words(settings):
    trace = played("gallery", **settings)
    said = words(drawn(trace.ledger))
    for part in (
        "A gallery. First words, then tools, then what the visitor has to do.",
        "Welcome to the gallery. This sentence is spoken as well.",
        "Sources: Trams of Lisbon https://example.org/trams, fares.pdf",
        "Refused: What the driver said",
        "tools: find_events",
        "list_events, delete_event",
        "▲ The server does not answer.",
        "▲ No such event.",
        "→ 9.6",
        "text(await tools.count({line: 28})) ",
        " 41 ",
        "cat: fares.csv: No such file exit 1",
        "A hill with the evening sun above it. → picture, ",
        "the conversation in fewer tokens, encrypted",
        "$ ls -a directory trips",
    ):
        assert part in said, part
    assert "encrypted_content" not in said
    assert (", interrupted" in said) is (not settings)
    assert len(trace.frames.problems) == 0
    items = trace.frames.items
    assert items["type"].notna().all()
    assert items.set_index("type").loc["image_generation_call", "content_json"]
    thoughts = items[items["type"] == "reasoning"].iloc[0]
    assert thoughts["text"].startswith("A gallery.")


@scenario("hostile", "Says its worst in every place.")
def hostile(turn):
    bad = HOSTILE[turn.prompt]
    if turn.results:
        yield Say("That was it.")
        return
    cite = {"type": "url_citation", "url": bad, "title": bad}
    yield Think(bad, content=bad, interrupted=True)
    yield Say(bad, annotations=[cite, {"type": "file_path", "file_id": bad}])
    yield Speak(bad)
    yield FindTools({"query": bad}, [bad])
    yield ListMcpTools(bad, [bad])
    yield ListMcpTools(bad, error=bad)
    yield CallMcp(bad, bad, bad, bad)
    yield CallMcp(bad, bad, bad, error=bad)
    yield CallMcp(bad, bad, error={"type": "http_error", "code": 500, "message": bad})
    yield RunCode(bad, bad)
    yield RunProgram(bad, bad)
    yield RunShell(bad, stdout=bad, stderr=bad)
    yield GenerateImage(bad, size=bad)
    yield GenerateImage(bad, error=bad)
    yield Compact()
    yield CallLocalShell(bad, env={bad: bad}, working_directory=bad)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in ("word", "surrogate")])
def test_nothing_hostile_is_drawn_raw_at_any_moment(name):
    simulator = Simulator(hostile, speed=0, most_deltas=3)
    with steer_nb.connect(simulate=simulator, journal=False, quiet=True) as session:
        lane = session.lane("a")
        lane.create(name)
        assert lane.wait(timeout=30) == "waiting_input"
        trace = session.trace
    ledger = Ledger()
    for number, entry in enumerate(trace):
        ledger.apply(entry)
        if "a" in ledger.lanes and number % 5 == 0:
            check(card(ledger))
    page = card(ledger)
    check(page)
    bad = HOSTILE[name]
    if html.escape(bad) != bad:
        assert bad not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]", page)


def test_what_a_hosted_shell_writes_is_seen_while_it_runs():
    trace = played("gallery")
    ledger, seen = Ledger(), ""
    for entry in trace:
        ledger.apply(entry)
        if entry.kind == "in" and "shell_call_output_content.done" in (entry.raw or ""):
            seen = words(drawn(ledger))
            break
    assert seen.endswith("41 trips.csv")
