"""Static HTML of the objects a person holds: what a cell shows that ends in one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.widgets import render
from steer_nb.widgets.calls import answer_box, call_body, call_head
from steer_nb.widgets.steers import steer_line
from steer_nb.widgets.text import clip, count, esc

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane, RequiredInput, Response, Session, Steer
    from steer_nb.ledger import Ledger
    from steer_nb.trace import Trace

__all__ = ["html_for"]


def html_for(thing: object) -> str:
    """Draw a session, lane, response, steer, required input or trace as it is now.

    Parameters
    ----------
    thing : Session, Lane, Response, Steer, RequiredInput or Trace
        What to draw.

    Returns
    -------
    str
        An HTML fragment with its own style, everything foreign escaped.

    Raises
    ------
    TypeError
        For anything else.
    """
    for kind in type(thing).__mro__:
        draw = _DRAWERS.get((kind.__module__.split(".")[0], kind.__name__))
        if draw is not None:
            return draw(thing)
    msg = f"There is no picture of a {type(thing).__name__}."
    raise TypeError(msg)


def _session(session: Session) -> str:
    now = session.now()
    state = "closed" if session.closed else "connected"
    if session.reconnecting:
        state = "connecting again"
    return _titled(
        f"Session {session.name}: {state}, {session.url}",
        session.read(lambda ledger: render.board(ledger, now)),
    )


def _lane(lane: Lane) -> str:
    def draw(ledger: Ledger) -> str:
        state = ledger.lanes.get(lane.stream_id)
        if state is None:
            return render.frame('<p class="snb-soft">Nothing happened here yet.</p>', lane.name)
        return render.lane_card(ledger, state, now)

    now = lane.session.now()
    return lane.session.read(draw)


def _response(response: Response) -> str:
    def draw(ledger: Ledger) -> str:
        request = ledger.requests.get(response.key)
        known = request.response_id if request is not None else response.key
        state = ledger.responses.get(known or "")
        if state is None:
            return _titled(f"Response {response.key}: {words}", "")
        return render.response_card(state, now)

    session = response.lane.session
    now, words = session.now(), response.status
    return session.read(draw)


def _steer(steer: Steer) -> str:
    return steer.lane.session.read(
        lambda ledger: render.frame(steer_line(ledger.steers[steer.key]), f"Steer {steer.key}")
    )


def _required(asked: RequiredInput) -> str:
    call = asked.call or asked.stub
    answer = "" if asked.item is None else answer_box(asked.item)
    inner = (
        f"{call_head(call, asked.key, f' · {esc(asked.state)}')}"
        f"{call_body(call) if asked.call else ''}{answer}"
    )
    return render.frame(inner, f"Required input {asked.key}")


def _trace(trace: Trace) -> str:
    ledger = trace.ledger
    last = next((entry.t for entry in reversed(trace.entries) if entry.t is not None), 0.0)
    parts = [
        count(len(trace), "entry", "entries"),
        count(len(ledger.connections), "connection"),
        count(len(ledger.responses), "response"),
        count(len(ledger.steers), "steer"),
        count(len(trace.problems), "problem"),
    ]
    title = f"Trace {trace.trace_id[:8]}: {', '.join(parts)}"
    return _titled(title, render.board(ledger, last))


def _titled(title: str, below: str) -> str:
    return render.frame(f'<p class="snb-note">{esc(clip(title, 400))}</p>', title) + below


_DRAWERS: dict[tuple[str, str], Callable[[Any], str]] = {
    ("steer_nb", "Session"): _session,
    ("steer_nb", "Lane"): _lane,
    ("steer_nb", "Response"): _response,
    ("steer_nb", "Steer"): _steer,
    ("steer_nb", "RequiredInput"): _required,
    ("steer_nb", "Trace"): _trace,
}
