"""Sessions, lanes and their handles: the room that holds the socket and the I/O thread."""

from __future__ import annotations

from steer_nb.client.connecting import connect, recover
from steer_nb.client.handles import Response, Steer
from steer_nb.client.injects import Inject
from steer_nb.client.io import io_thread
from steer_nb.client.lane import Lane
from steer_nb.client.reconnecting import Reconnect
from steer_nb.client.registry import current_session, sessions
from steer_nb.client.replaying import Replay, replay
from steer_nb.client.required import RequiredInput
from steer_nb.client.session import Session
from steer_nb.client.settings import DEFAULT_MODEL
from steer_nb.client.tools import Tool, tool

__all__ = [
    "DEFAULT_MODEL",
    "Inject",
    "Lane",
    "Reconnect",
    "Replay",
    "RequiredInput",
    "Response",
    "Session",
    "Steer",
    "Tool",
    "connect",
    "current_session",
    "io_thread",
    "recover",
    "replay",
    "sessions",
    "tool",
]
