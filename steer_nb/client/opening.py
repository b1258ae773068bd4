"""Opening lanes and forks: what a lane carries, and which response it continues from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from steer_nb.client.settings import LaneSettings, check_beta, redacted
from steer_nb.errors import LaneBusy, NothingToContinue, RequiredInputOpen, UnknownLane
from steer_nb.ledger import DEFAULT_LANE, rules
from steer_nb.wire import check_stream_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steer_nb.client.core import Core
    from steer_nb.client.tools import Tool

__all__ = ["Opening", "fork_base", "place"]


@dataclass(slots=True)
class Opening:
    """A wish for a lane, checked on the asking thread: its name and its settings.

    Raises
    ------
    InvalidLane, InvalidInput
        If the service would refuse the name or a setting.
    """

    name: str | None
    settings: Mapping[str, Any]
    prepare: Callable[[Mapping[str, Any]], tuple[dict[str, Any], dict[str, Tool] | None]]
    source: LaneSettings | None = None
    base: str | None = None
    stream_id: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    functions: dict[str, Tool] | None = None
    anew: bool = True
    """Whether an open lane that has a conversation may leave that, and go on from `base`."""

    def __post_init__(self) -> None:
        if self.name is not None and self.name != DEFAULT_LANE:
            self.stream_id = check_stream_id(self.name)
        self.fields, self.functions = self.prepare(self.settings)


def place(core: Core, opening: Opening) -> LaneSettings:
    """Open the lane, or change the open one's settings. Runs on the I/O thread.

    Raises
    ------
    InvalidLane
        If it would be one name too many.
    InvalidInput
        If it asks for a beta that the connection did not ask for.
    NotConnected
        If it is not open yet, and the connection is gone.
    LaneBusy
        If it is to be another lane, and one of that name has a conversation of its own.
    """
    stream_id, base, source = opening.stream_id, opening.base, opening.source
    check_beta(opening.fields, asked=core.multi_agent)
    kept = core.lanes.get(stream_id)
    fresh = kept is None or not kept.open
    state = core.ledger.lanes.get(stream_id)
    if not fresh and not opening.anew and state is not None and (state.requests or state.responses):
        msg = (
            f"Lane {state.name} is open and has a conversation of its own. Give the fork another "
            f"name, or close {state.name} first."
        )
        raise LaneBusy(msg)
    if fresh:
        core.line.require()
        others = {one.stream_id for one in core.lanes.values() if one.open and one.stream_id}
        core.outlet.check_name(stream_id, others)
    if kept is None:
        kept = core.lanes[stream_id] = LaneSettings(stream_id)
    if not kept.fields:
        kept.fields, kept.tools = dict(core.defaults), dict(core.functions)
    if not fresh and not opening.fields and base is None:
        return kept
    if source is not None:
        kept.fields = dict(source.fields)
        kept.tools = {**source.called, **source.tools}
    kept.fields.update(opening.fields)
    kept.fields = {name: value for name, value in kept.fields.items() if value is not None}
    if opening.functions is not None:
        kept.tools = opening.functions
    if base is not None:
        kept.base, kept.n_before_base = base, 0 if state is None else len(state.responses)
    kept.open = True
    core.recorder.note("lane", lane=stream_id, settings=redacted(kept.fields), forked_from=base)
    return kept


def close(core: Core, lane: LaneSettings) -> None:
    """Close a lane here; the service knows no closing. Runs on the I/O thread."""
    if lane.open:
        lane.open = False
        core.recorder.note("lane_closed", lane=lane.stream_id)


def fork_base(
    core: Core, source: LaneSettings | None, response_id: str | None
) -> tuple[str, LaneSettings | None]:
    """Find the response that a fork continues from, and the lane whose settings it takes over.

    Raises
    ------
    LaneBusy, RequiredInputOpen, NothingToContinue, UnknownLane
        If it cannot be continued, with the reason.
    """
    ledger = core.ledger
    if response_id is None:
        state = None if source is None else ledger.lanes.get(source.stream_id)
        response = None if state is None else rules.chain_tip(state)
        if response is None:
            name = "?" if source is None else source.name
            msg = f"Lane {name} has no response yet that a fork could continue from."
            raise NothingToContinue(msg)
    else:
        response = ledger.responses.get(response_id)
        if response is None:
            if source is None and not response_id.startswith("resp"):
                msg = f"There is no lane and no response {response_id!r} to fork from."
                raise UnknownLane(msg)
            # Stored by the service, perhaps, from another session: it will say.
            return response_id, source
    if response.is_live:
        msg = f"{response.id} is still being written; a fork starts from a response that has ended."
        raise LaneBusy(msg)
    open_keys = tuple(stub.key for stub in rules.unanswered(response))
    if open_keys and response.status == "completed":
        msg = (
            f"{response.id} waits for {', '.join(open_keys)}; a fork could not answer that. Send "
            "its continuation first, or fork from an earlier response."
        )
        raise RequiredInputOpen(msg, keys=open_keys)
    demanded = tuple(stub.key for stub in rules.demanded(response))
    if demanded:
        msg = (
            f"{response.id} asked for {', '.join(demanded)}, and a fork from it could not answer "
            "that: the answers belong to its own continuation. Fork from what came after it."
        )
        raise RequiredInputOpen(msg, keys=demanded)
    return response.id, source or core.lanes.get(response.lane.stream_id)
