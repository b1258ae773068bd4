"""Steer running model responses from a notebook.

Lanes on one WebSocket of OpenAI's Responses API, forms for the input a response waits for, one
continuation for each, and every event in a pandas DataFrame. Without an API key the embedded
simulator answers.

Examples
--------
>>> import steer_nb
>>> session = steer_nb.connect(simulate="weather", journal=False, quiet=True)
>>> lane = session.lane("trip")
>>> response = lane.create("What is the weather in Lisbon?")
>>> lane.wait(timeout=30)
'waiting_input'
>>> session.close()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from steer_nb._version import __version__

if TYPE_CHECKING:
    from typing import Any

    from steer_nb.client import (
        Inject,
        Lane,
        Reconnect,
        Replay,
        RequiredInput,
        Response,
        Session,
        Steer,
        Tool,
        connect,
        current_session,
        recover,
        replay,
        sessions,
        tool,
    )
    from steer_nb.frames.scan import scan
    from steer_nb.nested import allow_nested_loops
    from steer_nb.simulator import Simulator
    from steer_nb.trace import Trace, TraceSet, load

__all__ = [
    "Inject",
    "Lane",
    "Reconnect",
    "Replay",
    "RequiredInput",
    "Response",
    "Session",
    "Simulator",
    "Steer",
    "Tool",
    "Trace",
    "TraceSet",
    "__version__",
    "allow_nested_loops",
    "connect",
    "current_session",
    "load",
    "load_ipython_extension",
    "recover",
    "replay",
    "scan",
    "sessions",
    "tool",
    "unload_ipython_extension",
]

# Importing the package costs next to nothing; each public name loads its room on first use.
_HOME = {
    "Inject": "steer_nb.client",
    "Lane": "steer_nb.client",
    "Reconnect": "steer_nb.client",
    "Replay": "steer_nb.client",
    "RequiredInput": "steer_nb.client",
    "Response": "steer_nb.client",
    "Session": "steer_nb.client",
    "Simulator": "steer_nb.simulator",
    "Steer": "steer_nb.client",
    "Tool": "steer_nb.client",
    "Trace": "steer_nb.trace",
    "TraceSet": "steer_nb.trace",
    "allow_nested_loops": "steer_nb.nested",
    "connect": "steer_nb.client",
    "current_session": "steer_nb.client",
    "load": "steer_nb.trace",
    "recover": "steer_nb.client",
    "replay": "steer_nb.client",
    "scan": "steer_nb.frames.scan",
    "sessions": "steer_nb.client",
    "tool": "steer_nb.client",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    msg = f"module 'steer_nb' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)


def load_ipython_extension(ipython: Any) -> None:
    """Register `%steer` and `%%steer`: what ``%load_ext steer_nb`` calls."""
    from steer_nb.magics import register

    register(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """Take the magics away again: what ``%unload_ext steer_nb`` calls."""
    from steer_nb.magics import unregister

    unregister(ipython)
