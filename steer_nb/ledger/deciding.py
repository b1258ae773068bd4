"""What a person says shall become of a message whose outcome is unknown, or that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.ledger import required
from steer_nb.ledger.state import RequestState

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import DecisionWord, SteerState
    from steer_nb.trace.entries import Entry

__all__ = ["came_to_nothing", "decide", "dropped"]


def came_to_nothing(ledger: Ledger, message: SteerState | RequestState) -> bool:
    """Whether the response that took it up failed, or was left for one before it."""
    if isinstance(message, RequestState):
        return message.left
    successor = ledger.responses.get(message.successor_id or "")
    return successor is not None and successor.left


def dropped(ledger: Ledger, fact: f.Dropped, _: Entry) -> None:
    """A person does without a message whose outcome is unknown."""
    decide(ledger, fact.key, "dropped", None)


def decide(ledger: Ledger, key: str, decision: DecisionWord, again_key: str | None) -> None:
    """Keep what a person said shall become of a message."""
    steer = ledger.steers.get(key)
    if steer is not None:
        steer.decision = decision
        steer.again_key = again_key
    request = ledger.requests.get(key) or ledger.injects.get(key)
    if request is not None:
        request.decision = decision
        request.again_key = again_key
        required.answers_returned(ledger, request)  # its values can go out anew
