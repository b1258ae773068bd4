"""When a lane is settled, and what to say of it while it is not. Runs on the I/O thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.ledger import recovery, rules

if TYPE_CHECKING:
    from steer_nb.client.core import Core
    from steer_nb.client.settings import LaneSettings
    from steer_nb.ledger.state import LaneState, LaneWord

__all__ = [
    "all_going_on",
    "all_idle",
    "all_in_flight",
    "all_settled",
    "going_on",
    "in_flight",
    "settled_word",
    "status",
]


def settled_word(core: Core, lane: LaneSettings) -> LaneWord | None:
    """Return the lane's state once nothing more happens in it by itself; None before that."""
    state = core.ledger.lanes.get(lane.stream_id)
    if state is None:
        return "idle"
    if core.line.works_on(lane.stream_id):
        return None
    if not rules.lane_settled(state) or core.runner.busy(state):
        return None
    return rules.lane_word(state)


def all_settled(core: Core) -> dict[str, str] | None:
    """Return every open lane's state once all are settled; None before that."""
    words: dict[str, str] = {}
    for lane in core.lanes.values():
        if lane.open:
            word = settled_word(core, lane)
            if word is None:
                return None
            words[lane.name] = word
    return words


def all_idle(core: Core) -> bool:
    """Whether nothing goes on in any lane, and none waits for a person."""
    return all(
        rules.lane_word(state) in ("idle", "failed", "detached")
        and not _still_gets(state)
        and not core.runner.busy(state)
        for state in core.ledger.lanes.values()
    )


def _still_gets(state: LaneState) -> bool:
    """Whether more comes by itself on a lane, also on one that was closed here meanwhile."""
    if state.current is not None or state.queue:
        return True
    due = state.tip is not None and rules.turn_open(state.tip)
    return due and rules.parent_waiting(state) is None


def going_on(core: Core, lane: LaneSettings) -> str:
    """Say in words what the lane does now."""
    state = core.ledger.lanes.get(lane.stream_id)
    if state is None:
        return f"Lane {lane.name} is idle"
    parts = []
    if state.current is not None:
        size = len(state.current.text)
        parts.append(f"{state.current.id} in progress, {size} characters so far")
    if state.queue:
        parts.append(f"{state.queue[0].key} not started")
    live = [steer for response in state.responses[-2:] for steer in response.live_steers]
    parts += [f"steer {s.steer_id or s.key} {s.state.replace('_', ' ')}" for s in live]
    injects = [inject for response in state.responses[-2:] for inject in response.live_injects]
    parts += [f"{inject.key} not acknowledged" for inject in injects]
    if core.runner.busy(state):
        parts.append("a tool is running")
    word = rules.lane_word(state).replace("_", " ")
    details = f" ({'; '.join(parts)})" if parts else ""
    return f"Lane {lane.name} is {word}{details}"


def all_going_on(core: Core) -> str:
    """Say in words what all lanes that are not settled do."""
    busy = [lane for lane in core.lanes.values() if lane.open and settled_word(core, lane) is None]
    return "; ".join(going_on(core, lane) for lane in busy) or "Nothing is going on"


def in_flight(core: Core, lane: LaneSettings) -> list[str]:
    """Say what closing the lane now would leave behind, one phrase each."""
    state = core.ledger.lanes.get(lane.stream_id)
    if state is None:
        return []
    said = []
    if state.current is not None:
        size = len(state.current.text)
        said.append(f"{state.current.id} is being written, {size} characters so far")
    said += [f"{request.key} is sent and has not begun" for request in state.queue]
    steers = [steer for response in state.responses for steer in response.steers]
    said += [
        f"steer {steer.steer_id or steer.key} is {steer.state.replace('_', ' ')} and not committed"
        for steer in steers
        if steer.live
    ]
    injects = [inject for response in state.responses for inject in response.injects]
    said += [f"{inject.key} is sent and not acknowledged" for inject in injects if inject.live]
    running = core.runner.busy(state)
    if running:
        said.append("a tool is running")
    waiting = rules.answerable(state)
    filled = 0 if waiting is None else sum(s.state == "filled" for s in waiting.waiting_for)
    if filled:
        said.append(f"{filled} {'answer is' if filled == 1 else 'answers are'} filled and not sent")
    unknown = [steer.key for steer in steers if steer.undecided]
    unknown += [request.key for request in state.requests if request.undecided]
    unknown += [inject.key for inject in injects if inject.undecided]
    said += [f"the outcome of {key} is unknown" for key in unknown]
    return said


def all_in_flight(core: Core) -> list[str]:
    """Say the same of every open lane, each phrase with the lane's name."""
    lanes = [lane for lane in core.lanes.values() if lane.open]
    return [f"{lane.name}: {phrase}" for lane in lanes for phrase in in_flight(core, lane)]


def status(core: Core) -> dict[str, Any]:
    """Collect what there is to know about a session's connection, as plain values."""
    ledger, recorder = core.ledger, core.recorder
    connection = ledger.connections.get(recorder.connection)
    opened = None if connection is None else connection.opened.t
    limit = core.line.limit_s
    age = recorder.now() - opened if opened is not None and core.line.connected else None
    words = {
        lane.name: rules.lane_word(ledger.lanes[lane.stream_id])
        if lane.stream_id in ledger.lanes
        else "idle"
        for lane in core.lanes.values()
        if lane.open
    }
    return {
        "name": core.name,
        "url": core.endpoint.shown,
        "connected": core.line.connected,
        "ended": core.line.ended,
        "model": core.defaults.get("model"),
        "age_s": age,
        "left_s": None if age is None or limit is None else limit - age,
        "rotate_s": core.reconnector.policy.rotate_s,
        "reconnecting": _trying(core),
        "to_decide": _to_decide(core),
        "lanes": words,
        "in_flight": sum(lane.current is not None for lane in ledger.lanes.values()),
        "queued": sum(len(lane.queue) for lane in ledger.lanes.values()),
        "events": sum(one.n_in for one in ledger.connections.values()),
        "requests": sum(one.n_out for one in ledger.connections.values()),
        "problems": len(ledger.problems),
    }


def _trying(core: Core) -> str | None:
    trying = core.ledger.reconnecting
    return None if trying is None else f"attempt {trying.attempt} of {trying.attempts}"


def _to_decide(core: Core) -> list[str]:
    """Name what only a person can decide: lanes to recover, messages with an unknown outcome."""
    ledger = core.ledger
    lanes = [o.lane for lane in ledger.lanes.values() if (o := recovery.offer(ledger, lane))]
    steers = [steer.key for steer in ledger.steers.values() if steer.undecided]
    requests = [request.key for request in ledger.requests.values() if request.undecided]
    injects = [inject.key for inject in ledger.injects.values() if inject.undecided]
    return [*(f"lane {name}" for name in lanes), *steers, *requests, *injects]
