"""A session put together again from the journal of a process that is gone.

The trace says everything but two things: the Python functions, and the credentials, which are in no
file. Both are given anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.client.settings import LaneSettings
from steer_nb.wire.credentials import hidden_fields, with_credentials

if TYPE_CHECKING:
    from steer_nb.client.core import Core
    from steer_nb.ledger import LaneState
    from steer_nb.trace import Trace

__all__ = ["about", "restore"]


def about(trace: Trace) -> dict[str, Any]:
    """What the newest session of a trace was: its ``name``, ``url``, ``simulator``, ``model``."""
    for entry in reversed(trace.entries):
        if entry.note in ("session", "recovered"):
            return dict(entry.data or {})
    return {}


def restore(core: Core) -> None:
    """Say that the old connection is gone, and open the lanes again. Runs on the I/O thread."""
    recorder = core.recorder
    connection = core.ledger.connections.get(recorder.connection)
    if connection is not None and connection.closed is None:
        # Nothing may be assumed of what was in flight when the process ended.
        recorder.note("closed", code=None, reason="the process ended", by="network")
    for state in core.ledger.lanes.values():
        core.lanes[state.stream_id] = _settings(core, state)


def _settings(core: Core, state: LaneState) -> LaneSettings:
    fields = dict(state.settings) or dict(core.defaults)
    if hidden_fields(fields):
        fields = with_credentials(fields, core.defaults)
    names = {tool.get("name") for tool in fields.get("tools") or () if isinstance(tool, dict)}
    settings = LaneSettings(
        state.stream_id,
        fields=fields,
        tools={name: tool for name, tool in core.functions.items() if name in names},
        open=state.closed is None and (bool(state.settings) or bool(state.requests)),
    )
    if state.forked_from is not None and not state.responses:
        settings.base = state.forked_from
    if hidden_fields(fields):
        core.recorder.note(
            "problem",
            kind="credentials",
            detail=f"lane {settings.name}: the credentials of its MCP tools are in no journal; "
            "give its tools again with session.lane(name, tools=[...])",
        )
    return settings
