"""Letta V1 agents behind the same `Session` and `Lane`: HTTP, streams, and what is kept here.

``steer_nb.connect(letta=URL)`` makes such a session. A lane is a conversation, a response is a run,
and each call that waits is one required input: a decision, or the result of one's own function.

Source: the protocol notes on Letta (server 0.16.8); chapter 9.1 is what is demanded of a client.
"""

from __future__ import annotations

from steer_nb.letta.place import LETTA_URL, letta_endpoint
from steer_nb.letta.service import Letta

__all__ = ["LETTA_URL", "Letta", "letta_endpoint"]
