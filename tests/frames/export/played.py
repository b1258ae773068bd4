"""Traces of real sessions on the simulator, each played once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from steer_nb import Simulator, connect
from steer_nb.wire import cancelled_fields

if TYPE_CHECKING:
    from steer_nb.trace import Trace

TOOLS = [{"type": "function", "name": "get_weather", "parameters": {"type": "object"}}]


@functools.cache
def played(scenario: str, *, steer: bool = False, finish: bool = True) -> Trace:
    """Play a scenario on the lane ``a``, and answer everything that it asks for."""
    simulator = Simulator(scenario, speed=0)
    several = {"multi_agent": {"enabled": True}} if scenario == "agents" else {}
    options = {"simulate": simulator, "multi_agent": bool(several), "quiet": True}
    with connect(journal=False, **options) as session:
        lane = session.lane("a", instructions="Be brief.", tools=TOOLS, **several)
        lane.create("What is there?")
        if steer:
            lane.steer("Shorter, please.")
        while lane.wait(20) == "waiting_input" and finish:
            for needed in lane.required_input:
                lane.fill(needed.key, **cancelled_fields({"type": needed.type}, needed.call))
            if lane.state == "running":
                lane.inject()
            else:
                lane.send_continuation()
        return session.trace
