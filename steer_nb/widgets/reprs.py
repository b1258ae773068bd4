"""Static HTML of the objects a person holds: what a cell shows that ends in one of them.

It has to read well where no style sheet is: on GitHub, in a diff, in a mail. So what goes on is one
line that says how to watch it, lists are lists, and every word has a space or a line of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.widgets import render
from steer_nb.widgets.calls import answer_box, call_body, call_head
from steer_nb.widgets.steers import steer_line
from steer_nb.widgets.style import STYLE
from steer_nb.widgets.text import (
    clip,
    clock,
    count,
    esc,
    esc_strict,
    plain,
    short_id,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Inject, Lane, RequiredInput, Response, Session, Steer
    from steer_nb.ledger import Ledger
    from steer_nb.ledger.recovery import Offer
    from steer_nb.ledger.state import LaneState
    from steer_nb.trace import Trace, TraceSet

__all__ = ["html_for"]


def html_for(thing: object) -> str:
    """Draw one of the objects that a person holds, as it is now.

    Parameters
    ----------
    thing : Session, Lane, Response, Steer, Inject, RequiredInput, Trace, TraceSet or Offer
        What to draw. What goes on is one line; what ended is a card.

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
    now, status = session.now(), session.status()
    state = "closed" if session.closed else "connected"
    if session.reconnecting:
        state = "connecting again"
    scenario = status["simulator"]
    where = f"the simulator ({scenario}), {session.url}" if scenario else session.url
    # An agent of a Letta server has a model of its own.
    facts = [state, where, *([f"model {status['model']}"] if status["model"] else ())]
    head = _title("Session", session.name, *facts)
    if not session.lanes:
        # No style sheet for two lines: this is what each cell that connects would save.
        return head + _hint("No lane is open yet:", "%steer open NAME", "session.lane(name)")
    return _joined(
        f"Session {session.name}: {state}",
        head,
        session.read(lambda ledger: render.board(ledger, now)),
    )


def _lane(lane: Lane) -> str:
    def draw(ledger: Ledger) -> str:
        state = ledger.lanes.get(lane.stream_id)
        if state is None:
            soft = '<p class="snb-soft">Nothing has been sent on it yet.</p>'
            return render.frame(_title("Lane", lane.name, "idle") + soft, f"Lane {lane.name}")
        card = render.lane_card(ledger, state, now)
        if _settled(state) or state.closed is not None:
            return card
        return _joined(f"Lane {lane.name}", card, _as_it_was(now, _watch(lane)))

    now = lane.session.now()
    return lane.session.read(draw)


def _settled(state: LaneState) -> bool:
    return state.current is None and not state.queue


def _watch(lane: Lane) -> str:
    name = lane.name if " " not in lane.name else "NAME"
    return _hint("", f"%steer show {clip(name, 80)}", "steer_nb.widgets.LaneView(session, lane)")


def _as_it_was(now: float, how: str) -> str:
    return f'<p class="snb-note">This is how it stood at {clock(now)}, and it goes on.</p>{how}'


def _response(response: Response) -> str:
    def draw(ledger: Ledger) -> str:
        request = ledger.requests.get(response.key)
        known = request.response_id if request is not None else response.key
        state = ledger.responses.get(known or "")
        if state is None or state.is_live:
            return ""
        return render.response_card(state, now)

    session = response.lane.session
    now = session.now()
    return session.read(draw) or _line(response, _going(response, "await response"))


def _steer(steer: Steer) -> str:
    def draw(ledger: Ledger) -> str:
        state = ledger.steers[steer.key]
        facts = [f"of {short_id(state.parent_id)}", "" if state.lane is None else state.lane.name]
        if state.successor_id:
            facts.append(f"in {short_id(state.successor_id)}")
        title = _title("Steer", short_id(state.steer_id or state.key), state.state, *facts)
        if state.live:  # without a style sheet: a moment later it says something else
            return f"{title}{steer_line(state)}<p>{_going(steer, 'await steer')}</p>"
        return render.frame(title + steer_line(state), f"Steer {steer.key}: {state.state}")

    return steer.lane.session.read(draw)


def _inject(inject: Inject) -> str:
    if inject.state == "sent":
        return _line(inject, _going(inject, "await inject"))

    def draw(ledger: Ledger) -> str:
        state = ledger.injects[inject.key]
        facts = [count(len(state.answers), "answer"), f"into {short_id(state.parent_id)}"]
        if state.lane is not None:
            facts.append(state.lane.name)
        title = _title("Inject", state.key, state.state, *facts)
        if state.error_message:
            why = ": ".join(part for part in (state.error_code, state.error_message) if part)
            title += f'<div class="snb-error">{esc(clip(why, 400))}</div>'
        asked = {} if state.parent is None else state.parent.required
        drawn = []
        for item in state.answers[:_MOST]:
            key = str(item.get("call_id") or item.get("approval_request_id") or "")
            call = asked[key].call if key in asked else None
            drawn.append(call_head(call or item, key) + answer_box(item))
        rest = len(state.answers) - _MOST
        more = f'<p class="snb-note">… and {count(rest, "more answer")}</p>' if rest > 0 else ""
        return render.frame("".join([title, *drawn, more]), f"Inject {state.key}: {state.state}")

    return inject.lane.session.read(draw)


def _required(asked: RequiredInput) -> str:
    call = asked.call or asked.stub
    facts = [asked.state, f"lane {asked.lane}", f"asked by {short_id(asked.parent_id)}"]
    if asked.agent_name:
        facts.append(asked.agent_name)
    if asked.optional:
        facts.append("may be left open")
    if asked.draft is not None:
        facts.append("half typed in its form")
    notes = ""
    if asked.tool is not None:
        ran = "runs" if asked.tool["running"] else "ran" if asked.tool["ok"] else "raised"
        notes = f'<p class="snb-note">Your function {esc_strict(asked.tool["name"])} {ran}.</p>'
    answer = "" if asked.item is None else answer_box(asked.item)
    head = call_head(call, asked.key, asks=asked.type)
    inner = (
        f"{_title('Required input', short_id(asked.key), *facts)}{head}"
        f"{call_body(call) if asked.call else ''}{notes}{answer}"
    )
    if asked.state == "open":
        inner += _hint("", "%steer pending", "lane.fill(key, output=...)")
    return render.frame(inner, f"Required input {asked.key}")


def _trace(trace: Trace) -> str:
    ledger = trace.ledger
    last = _seconds(trace)
    facts = [
        clock(last),
        count(len(trace), "entry", "entries"),
        count(len(ledger.connections), "connection"),
        count(len(ledger.responses), "response"),
        count(len(ledger.steers), "steer"),
        count(len(trace.problems), "problem"),
    ]
    if trace.file is not None:
        facts.insert(0, trace.file)
    head = _title("Trace", trace.trace_id[:8], *facts)
    if not ledger.lanes:
        soft = '<p class="snb-soft">Nothing happened in it.</p>'
        return render.frame(head + soft, f"Trace {trace.trace_id[:8]}")
    return _joined(f"Trace {trace.trace_id[:8]}", head, render.board(ledger, last))


def _trace_set(traces: TraceSet) -> str:
    # No trace is folded for it: of thousands of files that would take long.
    shown, left_out = traces.traces[:_MOST], traces.file_problems[:_MOST]
    facts = [
        count(len(traces), "trace"),
        count(sum(map(len, traces)), "entry", "entries"),
        count(len(traces.file_problems), "problem of a file", "problems of files"),
    ]
    rows = "".join(
        f'<tr><th scope="row"><bdi>{esc_strict(trace.trace_id[:8])}</bdi></th>'
        f"<td>{esc(clip(trace.file or '', 200))}</td><td>{esc(clip(trace.header.source, 40))}</td>"
        f"<td>{count(len(trace), 'entry', 'entries')}</td>"
        f"<td>{clock(lasted) if (lasted := _seconds(trace)) else 'no times'}</td></tr>"
        for trace in shown
    )
    odd = "".join(
        f"<li>{esc(clip(one.file or '', 200))}: {esc(shortened(clip(one.detail, 300)))}</li>"
        for one in left_out
    )
    parts = [_title("Traces", traces.where, *facts)]
    if rows:
        head = "".join(
            f'<th scope="col">{name}</th>'
            for name in ("Trace", "File", "Source", "Entries", "Lasted")
        )
        parts.append(
            f'<table class="snb-board" aria-label="Traces"><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )
    parts.append(_rest(len(traces) - len(shown), "trace"))
    if odd:
        parts.append(f"<ul>{odd}</ul>")
    parts.append(_rest(len(traces.file_problems) - len(left_out), "problem"))
    parts.append(
        '<p class="snb-soft"><code>.frames.traces</code> has all of them, '
        "<code>.frames.problems</code> what was odd</p>"
    )
    return render.frame("".join(parts), f"{count(len(traces), 'trace')}")


def _rest(number: int, what: str) -> str:
    return f'<p class="snb-note">… and {count(number, f"more {what}")}</p>' if number > 0 else ""


def _seconds(trace: Trace) -> float:
    """When the last thing of a trace happened that has a time."""
    return next((entry.t for entry in reversed(trace.entries) if entry.t is not None), 0.0)


def _offer(offer: Offer) -> str:
    said = "".join(f"<li>{esc(shortened(clip(one, 400)))}</li>" for one in offer.truth)
    rows = "".join(
        '<tr><th scope="row"><code style="white-space:nowrap">'
        f'recover("{esc_strict(choice.word)}")</code></th>'
        f"<td>{esc(shortened(clip(choice.says, 400)))}</td></tr>"
        for choice in offer.choices
    )
    title = _title("Lane", offer.lane, "its connection was lost")
    table = f'<table class="snb-board" aria-label="How it can go on"><tbody>{rows}</tbody></table>'
    return render.frame(f"{title}<ul>{said}</ul>{table}", f"Recovery of {offer.lane}")


# -- what they have in common ----------------------------------------------------------------------

_MOST = 20


def _title(kind: str, name: str, *facts: str) -> str:
    """What it is, in bold, and what is true of it."""
    known = "".join(f" · {esc(clip(fact, 300))}" for fact in facts if fact)
    return f"<p><b>{kind} <bdi>{esc_strict(clip(name, 120))}</bdi></b>{known}</p>"


def _hint(before: str, magic: str, python: str) -> str:
    """What to type for it."""
    said = f"{esc(before)} " if before else ""
    return (
        f'<p class="snb-soft">{said}<code>{esc_strict(magic)}</code> or '
        f"<code>{esc_strict(python)}</code></p>"
    )


def _going(handle: Response | Steer | Inject, wait: str) -> str:
    name = handle.lane.name
    show = f"%steer show {clip(name, 80) if ' ' not in name else 'NAME'}"
    return f"<code>{wait}</code> or <code>{esc_strict(show)}</code>"


def _line(handle: Response | Steer | Inject, how: str) -> str:
    """One line for what goes on: a picture that is out of date a moment later would be too much."""
    said = repr(handle).removeprefix("<").removesuffix(">")
    kind, _, rest = said.partition(" ")
    return f"<p><b>{kind}</b> {esc_strict(clip(plain(rest), 400))} · {how}</p>"


def _joined(label: str, *parts: str) -> str:
    """Pictures below each other, with one style sheet for all of them."""
    return render.frame("".join(part.removeprefix(STYLE) for part in parts), label)


_DRAWERS: dict[tuple[str, str], Callable[[Any], str]] = {
    ("steer_nb", "Session"): _session,
    ("steer_nb", "Lane"): _lane,
    ("steer_nb", "Response"): _response,
    ("steer_nb", "Steer"): _steer,
    ("steer_nb", "Inject"): _inject,
    ("steer_nb", "RequiredInput"): _required,
    ("steer_nb", "Trace"): _trace,
    ("steer_nb", "TraceSet"): _trace_set,
    ("steer_nb", "Offer"): _offer,
}
