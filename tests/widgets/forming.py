"""Forms as a page would drive them, without a page."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import ipywidgets as w

import steer_nb
from steer_nb.client.io import io_thread
from steer_nb.client.reconnecting import Reconnect
from steer_nb.simulator import Simulator
from steer_nb.widgets.forms import ContinuationForm, pending_forms
from steer_nb.widgets.press import Press, PressButton

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from steer_nb import Lane, Session
    from steer_nb.simulator import Scenario

SOON = Reconnect(attempts=5, first_s=0.01, longest_s=0.05, rotate_s=None)
PNG = "data:image/png;base64,iVBORw0KGgo="


def get_weather(city: str, days: int = 1) -> str:
    """Weather forecast."""
    return f"{city}: 18 C for {days} days"


def until(true: Callable[[], Any], seconds: float = 5.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = true()
        if found:
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come about")


def waiting(scenario: str | Scenario, **lane: Any) -> tuple[Session, Lane]:
    session = steer_nb.connect(
        simulate=Simulator(scenario, speed=0),
        journal=False,
        quiet=True,
        name=str(getattr(scenario, "name", scenario)),
        reconnect=SOON,
    )
    opened = session.lane("planner", **lane)
    opened.create("What about Lisbon?")
    assert opened.wait(10) == "waiting_input"
    return session, opened


def cut(session: Session) -> None:
    """Cut the line without a word, and wait until the next one is there."""
    number = session.read(lambda ledger: len(ledger.connections))
    transport: Any = session.core.line.transport
    io_thread.call(lambda: transport._connection.transport.abort())
    session.until(
        lambda ledger: True if len(ledger.connections) > number else None, 10, lambda: "no socket"
    )


def only(session: Session) -> ContinuationForm:
    (form,) = pending_forms(session).forms
    return form


def section(form: ContinuationForm, kind: str) -> Any:
    return next(part for part in form.sections.values() if part.asked.type == kind)


def shown(widget: w.Widget) -> str:
    """All static text of a widget and those in it."""
    parts = [widget.value] if isinstance(widget, w.HTML) else []
    parts += [widget.hint, widget.said] if isinstance(widget, Press) else []
    return "\n".join(parts + [shown(child) for child in getattr(widget, "children", ())])


def status(part: Any) -> str:
    return str(part._status.value)


def continuations(session: Session) -> list[dict[str, Any]]:
    assert session.simulator is not None
    return [entry for entry in session.simulator.account if entry["kind"] == "continuation"]


def fill_all(form: ContinuationForm) -> None:
    """A valid answer of each kind."""
    section(form, "function_call_output").area.value = "on time"
    section(form, "custom_tool_call_output").area.value = "noted"
    computer = section(form, "computer_call_output")
    computer.url.value = PNG
    for _, tick in computer.checks:
        tick.value = True
    for row in section(form, "shell_call_output").rows:
        row.stdout.value = "lisbon.md"
    section(form, "apply_patch_call_output").outcome.value = "completed"
    section(form, "tool_search_output").ticked.value = ["get_weather"]
    section(form, "mcp_approval_response").decision.value = True


def buttons(widget: w.Widget) -> dict[str, PressButton]:
    """Buttons that act, by what they say."""
    rows = [one for one in everything(widget) if isinstance(one, Press)]
    return {button.description: button for row in rows for button in row.row}


def everything(widget: w.Widget) -> Iterator[w.Widget]:
    """A widget and all in it."""
    yield widget
    for child in getattr(widget, "children", ()):
        yield from everything(child)
