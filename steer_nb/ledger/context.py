"""The whole conversation behind a response, as the input of a new one.

After a lost connection a response may no longer be there to continue from. The trace still has
everything that was said; from it the conversation is put together again (guide: "start a new chain
with the full context", `previous_response_id` null).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb.wire import cancelled_fields, fill_stub, is_answer, stub_for, stub_key

if TYPE_CHECKING:
    from steer_nb.ledger.contents import ItemState
    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import ResponseState

__all__ = ["Context", "as_items", "rebuild", "said_to"]

# Items that only their own response can hold, or that say nothing without the service's memory.
_LEFT_OUT: Final = frozenset({"mcp_list_tools", "compaction"})
# Calls of the service's own, and the items in which it says what they gave.
_ANSWERED_BY: Final = {
    "multi_agent_call": "multi_agent_call_output",
    "shell_call": "shell_call_output",
    "tool_search_call": "tool_search_output",
}
# What the service adds to items on their way out and takes no more on their way in.
_OUTPUT_ONLY: Final = frozenset({"created_by", "parsed_arguments"})


@dataclass(frozen=True, slots=True)
class Context:
    """A conversation as input items.

    Attributes
    ----------
    items : tuple of dict
        Input items, oldest first. Every call in them has exactly one answer.
    cancelled : tuple of str
        Keys of the calls that nobody had answered, and that are answered as cancelled.
    left_out : tuple of str
        What is not in it, in words.
    """

    items: tuple[dict[str, Any], ...]
    cancelled: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def rebuild(ledger: Ledger, response_id: str) -> Context | None:
    """Put together what was said up to the end of a response.

    Parameters
    ----------
    ledger : Ledger
        What is known.
    response_id : str
        The last response of the conversation.

    Returns
    -------
    Context or None
        None where the conversation began before this trace: then it cannot be rebuilt whole.
    """
    chain = _chain(ledger, response_id)
    if chain is None:
        return None
    items: list[dict[str, Any]] = []
    cancelled: list[str] = []
    left_out: list[str] = []
    for number, response in enumerate(chain):
        said = said_to(response)
        items += said
        items += _output_of(response, left_out)
        later = said_to(chain[number + 1]) if number + 1 < len(chain) else []
        answered = {stub_key(item) for item in later if is_answer(item)}
        for stub in response.required.values():
            if stub.key in answered or stub.call is None:
                continue
            if stub.item is not None:  # filled, and perhaps never received: it is not lost
                items.append(stub.item)
            else:
                fields = cancelled_fields(stub.stub, stub.call)
                items.append(fill_stub(stub.stub, stub.call, **fields))
                cancelled.append(stub.key)
    return Context(tuple(items), tuple(cancelled), tuple(left_out))


def _chain(ledger: Ledger, response_id: str) -> list[ResponseState] | None:
    chain: list[ResponseState] = []
    current = ledger.responses.get(response_id)
    while current is not None:
        if current in chain:
            return None  # a service that names a response as its own ancestor
        chain.append(current)
        if current.previous_response_id is None:
            # Without its request, or the steers that made it, what was asked is not known.
            return chain[::-1] if current.request is not None else None
        current = ledger.responses.get(current.previous_response_id)
    return None


def said_to(response: ResponseState) -> list[dict[str, Any]]:
    """What was said to a response: steers queued on its parent first, in their order."""
    items: list[dict[str, Any]] = []
    previous = response.previous_response_id
    for parent in response.lane.responses:
        if parent.id == previous:
            steers = [s for s in parent.steers if s.successor_id == response.id]
            for steer in sorted(steers, key=lambda s: s.order_in_parent):
                items += as_items(steer.input)
    if response.request is not None:
        items += as_items(response.request.body.get("input"))
    return items


def as_items(value: Any) -> list[dict[str, Any]]:
    """Input as a list of items: a text is one message of the user."""
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return []


def _output_of(response: ResponseState, left_out: list[str]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for item in response.ordered:
        if item.source == "added" or not item.data:
            if item.text:
                left_out.append(f"the unfinished text of {response.id}")
            continue
        if not _can_go_back(item, response):
            left_out.append(f"{item.type} of {response.id}")
            continue
        items.append({k: v for k, v in item.data.items() if k not in _OUTPUT_ONLY})
    return items


def _can_go_back(item: ItemState, response: ResponseState) -> bool:
    if item.type == "reasoning":
        # Without its encrypted content it is a reference to what the service may not have.
        return bool(item.data.get("encrypted_content"))
    if item.type in _LEFT_OUT or not item.type:
        return False
    stub = stub_for(item.data)
    if stub is None and item.type in _ANSWERED_BY:  # else cut off before the service ran it
        outputs = (i for i in response.items.values() if i.type == _ANSWERED_BY[item.type])
        return any(output.call_id == item.call_id for output in outputs)
    # A call that the ledger does not track would stay without an answer, and be refused.
    return stub is None or stub_key(stub) in response.required
