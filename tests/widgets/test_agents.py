"""Several agents in the lane view and in the form, which injects while the response runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import steer_nb
from steer_nb.simulator import Simulator
from steer_nb.widgets import render
from steer_nb.widgets.decidebox import handle_of
from steer_nb.widgets.decisions import Undecided, decisions_plain, to_decide
from steer_nb.widgets.forms import pending_forms
from tests.support.traces import TraceBuilder, call, stub
from tests.widgets.forming import only, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb import Lane, Session
    from steer_nb.widgets.forms import ContinuationForm

TEAM = {"multi_agent": {"enabled": True}}


@pytest.fixture
def team(request: pytest.FixtureRequest) -> Iterator[tuple[Session, Lane]]:
    """Two scouts that wait for their results, while their response is still being written."""
    options = getattr(request, "param", {})
    session = steer_nb.connect(
        simulate=Simulator("agents", speed=0, **options),
        multi_agent=True,
        journal=False,
        quiet=True,
    )
    lane = session.lane("team", **TEAM)
    lane.create("Compare the weather in Rome and Paris.")
    until(lambda: len(lane.required_input) == 2)
    yield session, lane
    session.close()


def parts(form: ContinuationForm) -> list[Any]:
    until(lambda: len(form.sections) == 2)
    return list(form.sections.values())


def injected(session: Session) -> list[str]:
    account = session.simulator.account  # type: ignore[union-attr]
    sent = [e for e in account if e["kind"] == "inject"]
    assert all(entry["fate"] == "created" for entry in sent)
    return [item["output"] for entry in sent for item in entry["input"]]


def test_the_form_injects_while_the_response_runs(team: tuple[Session, Lane]) -> None:
    session, lane = team
    form = only(session)
    rome, paris = parts(form)
    assert "function · /root/rome" in rome.widget.children[0].value
    assert "function · /root/paris" in paris.widget.children[0].value
    assert (form.send.description, form.send.disabled) == ("Inject", True)
    rome.area.value = "18 C"
    until(lambda: not form.send.disabled)  # one is enough: each agent goes on with its own
    form.send.click()
    until(lambda: rome.asked.state == "confirmed")
    until(lambda: "Injected" in form._status.value)
    assert rome.area.disabled
    assert (form.facts.phase, form.facts.head) == ("open", "waits for you: 1 answer")
    assert form.send.disabled
    paris.area.value = "12 C"
    until(lambda: not form.send.disabled)
    form.send.click()
    form.send.click()
    until(lambda: form.facts.phase == "committed")
    assert lane.wait(10) == "idle"
    assert form.done
    assert injected(session) == ["18 C", "12 C"]
    assert "injected" in form._status.value


def test_the_message_that_is_shown_is_the_inject(team: tuple[Session, Lane]) -> None:
    session, _ = team
    form = only(session)
    rome, _ = parts(form)
    rome.area.value = "18 C"
    until(lambda: rome.saved is not None)
    form.reveal.click()
    until(lambda: "response.inject" in form._message.value)
    assert "response.create" not in form._message.value


@pytest.mark.parametrize("team", [{"agents_waiting": "complete"}], indirect=True)
def test_once_it_has_ended_the_form_continues_it(team: tuple[Session, Lane]) -> None:
    session, lane = team
    form = only(session)
    until(lambda: not form.facts.injects)
    until(lambda: form.send.description == "Send continuation")
    for part in parts(form):
        assert form.send.disabled  # all of them are needed now
        part.area.value = "18 C"
    until(lambda: not form.send.disabled)
    form.send.click()
    until(lambda: form.facts.phase == "committed")
    assert lane.wait(10) == "idle"
    assert injected(session) == []


def test_the_lane_view_names_the_agent_of_each_item(team: tuple[Session, Lane]) -> None:
    session, lane = team
    card = session.read(lambda ledger: render.lane_card(ledger, ledger.lanes["team"], 1.0))
    assert "waits for you: 2 answers" in card
    assert "get_weather, get_weather" in card
    assert 'role="progressbar"' in card  # the others go on
    lane.cancel_all()
    lane.inject()
    assert lane.wait(10) == "idle"
    card = session.read(lambda ledger: render.lane_card(ledger, ledger.lanes["team"], 1.0))
    assert (
        '<p class="snb-agent"><bdi>/root/rome</bdi></p><div class="snb-md"><p dir="auto">' in card
    )
    assert "message to <bdi>/root/rome</bdi>, encrypted" in card
    assert "<b><bdi>spawn agent</bdi></b>" in card
    assert "answer injected" in card


def test_an_agent_with_a_hostile_name_is_escaped() -> None:
    builder = TraceBuilder().connect().create("go").created("p")
    hostile = {"agent_name": '<img src=x onerror="alert(1)">'}
    message = {"type": "agent_message", "id": "am", "author": "/root", "content": []}
    builder.done({**message, "recipient": "<script>", "agent": hostile})
    builder.done({**call("a"), "agent": hostile}, 1)
    ledger = builder.trace.ledger
    card = render.lane_card(ledger, ledger.lanes[None], 1.0)
    assert "<img" not in card
    assert "<script" not in card
    assert "&lt;img" in card


def test_an_inject_with_an_unknown_outcome_is_to_decide() -> None:
    create = {"type": "response.create", "input": "go", **TEAM}
    item = {**stub("a"), "output": "18"}
    builder = TraceBuilder().connect().out(create).created("p").done(call("a"))
    builder.note("filled", lane=None, parent="p", key="a", item=item, by="user")
    inject = {"type": "response.inject", "response_id": "p", "input": [item]}
    builder.out(inject, key="inject-2").ended("p").close().connect()
    builder.note("lane_recovered", lane=None, choice="continue", base="p")
    ledger = builder.trace.ledger
    decisions = to_decide(ledger, ledger.lanes[None])
    (message,) = decisions.messages
    assert (message.what, message.shown) == ("inject", "[1 answer]")
    assert "%steer again inject-2, or %steer drop inject-2" in decisions_plain(decisions)[-1]


def test_its_handle_is_an_inject(team: tuple[Session, Lane]) -> None:
    _, lane = team
    lane.cancel_all()
    sent = lane.inject()
    found = handle_of(lane, Undecided(sent.key, "inject", "[2 answers]", "outcome unknown"))
    assert found == sent


def test_nothing_waits_once_all_is_injected(team: tuple[Session, Lane]) -> None:
    session, lane = team
    lane.cancel_all()
    lane.inject().wait(10)
    lane.wait(10)
    assert len(pending_forms(session)) == 0
