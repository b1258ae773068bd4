"""The first lesson, executed without a person: what ``steer-nb demo`` does.

A real kernel runs the notebook against the embedded simulator over a loopback WebSocket. What is
printed meanwhile is read from the session's journal, so it tells what really happened.
"""

from __future__ import annotations

from steer_nb.demo.run import DemoFailed, demo

__all__ = ["DemoFailed", "demo"]
