"""What is half typed: kept as it stands in a form or a box, until it is given, said or given up.

A draft never counts as an answer. It ends with what makes it needless: a person's own complete
value, or its text said on the lane. A value that code or a policy gave stands beside it: what a
person types is not thrown away for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.ledger.context import as_items
from steer_nb.wire.credentials import hidden_fields

if TYPE_CHECKING:
    from steer_nb.ledger import facts as f
    from steer_nb.ledger.contents import RequiredInputState
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import LaneState, ResponseState
    from steer_nb.trace.entries import Entry

__all__ = ["ask_again", "input_drafted", "recovered", "said", "text_drafted"]


def input_drafted(ledger: Ledger, fact: f.InputDrafted, _: Entry) -> ResponseState | None:
    """A form was changed and is not complete; only what changed is told."""
    parent = ledger.responses.get(fact.parent_id)
    stub = None if parent is None else parent.required.get(fact.key)
    if stub is not None and stub.is_open:
        stub.typing = fact.fields is not None
        stub.typed = {**stub.typed, **(fact.fields or {})}
    return None  # it is no part of the response: nothing came from the service


def text_drafted(ledger: Ledger, fact: f.TextDrafted, entry: Entry) -> None:
    """The text in the box below a lane was changed."""
    ledger.lane(fact.lane, entry).draft = fact.text


def said(lane: LaneState, value: Any) -> None:
    """Something is said on the lane: where that is what stood in the box, it stands there no more.

    A conversation that is repeated has it as its last item.
    """
    items = as_items(value)
    if lane.draft and items and items[-1].get("content") == lane.draft:
        lane.draft = ""


def recovered(ledger: Ledger, _: f.Recovered, __: Entry) -> None:
    """A process is gone, and with it the credentials that the trace has hidden."""
    for response in ledger.responses.values():
        for stub in response.required.values():
            if stub.item is not None and hidden_fields(stub.item):
                stub.lost = True
                ask_again(stub)


def ask_again(stub: RequiredInputState) -> None:
    """An answer whose credentials are lost is no answer any more: what is left of it is a draft."""
    if stub.lost and stub.state == "filled":
        stub.state = "open"
        stub.typed, stub.typing = {"item": stub.item}, True
        stub.item = stub.filled = stub.filled_by = None
