"""What a person says shall become of a message whose outcome is unknown, or that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.ledger import required

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import DecisionWord
    from steer_nb.trace.entries import Entry

__all__ = ["decide", "dropped"]


def dropped(ledger: Ledger, fact: f.Dropped, _: Entry) -> None:
    """A person does without a message whose outcome is unknown."""
    decide(ledger, fact.key, "dropped", None)


def decide(ledger: Ledger, key: str, decision: DecisionWord, again_key: str | None) -> None:
    """Keep what a person said shall become of a message."""
    steer = ledger.steers.get(key)
    if steer is not None:
        steer.decision = decision
        steer.again_key = again_key
    request = ledger.requests.get(key)
    if request is not None:
        request.decision = decision
        request.again_key = again_key
        required.answers_returned(ledger, request)  # a continuation's values can go out anew
