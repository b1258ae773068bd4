"""How a run ends: its status, and the tail of its stream (4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.simulator.letta.naming import id_of
from steer_nb.simulator.letta.stored import base

if TYPE_CHECKING:
    from steer_nb.simulator.letta.effects import World
    from steer_nb.simulator.letta.run import Run
    from steer_nb.simulator.letta.trouble import Trouble

__all__ = ["close", "finish", "ping"]


def ping(world: World, run: Run, place: object) -> dict[str, Any]:
    """Make a ping."""
    return base("ping", id_of(world.ids, "ping", run.id, place), None, world.now(), run_id=run.id)


def finish(world: World, run: Run, stop_reason: str, trouble: Trouble | None = None) -> None:
    """End a run: its status, and the tail of its stream (4.1)."""
    run.trouble = trouble
    run.stop(stop_reason, world.now())
    run.agent.last_stop_reason = stop_reason
    run.add({"message_type": "stop_reason", "stop_reason": stop_reason})
    if trouble is not None:
        run.add(trouble.frame(run.id, midstream=run.n_shown > 0))
    elif stop_reason != "cancelled":
        run.add(run.usage.to_dict())
    close(run, failed=trouble is not None)


def close(run: Run, *, failed: bool) -> None:
    """Let nothing more come of a run whose stream has ended."""
    if failed:
        closes = not run.background and run.n_shown == 0
    else:
        closes = run.background or run.stop_reason != "cancelled"
    if closes:
        run.add_done()
    for step in run.steps:
        if step.status == "pending":
            step.status = "cancelled" if run.cancelled else "failed"
    run.ended = True
    run.store()
