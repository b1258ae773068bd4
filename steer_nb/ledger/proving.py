"""What a list of input items proves: which steers, and whose request, a response was given.

A response is given the steers queued on its parent, in the order they were submitted, then the
input of its own request (guide: "prepended in submission order"). The service lists that; whether
the list also has what was said before is nowhere documented, so both are borne. What more than one
reading explains is not proven.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger.context import as_items, said_to

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from steer_nb.ledger.fold import Ledger
    from steer_nb.ledger.state import RequestState, ResponseState, SteerState

__all__ = ["Part", "Reading", "item_key", "possible", "read_items"]

# What a service may add to an item, or leave out, without saying anything else by it.
_ADDED: Final = frozenset({"id", "status", "annotations", "logprobs", "phase"})


@dataclass(frozen=True, slots=True)
class Part:
    """Items that are in a list together, or not at all.

    Attributes
    ----------
    keys : tuple
        What each item is, by `item_key`.
    may_be_in, may_be_out : bool
        What is open; one of the two where it is known.
    """

    keys: tuple[Hashable, ...]
    may_be_in: bool = True
    may_be_out: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """What a list of input items proves.

    Attributes
    ----------
    committed : tuple of SteerState
        Steers that are in it, by every reading.
    answers : bool or None
        Whether the response answers the request that waited behind its parent; None where that was
        no question, or is not proven.
    """

    committed: tuple[SteerState, ...] = ()
    answers: bool | None = None


NOTHING: Final = Reading()


def item_key(item: dict[str, Any]) -> Hashable:
    """What an input item is, whether it was sent or is listed by the service.

    Examples
    --------
    >>> sent = {"role": "user", "content": "Shorter."}
    >>> content = [{"type": "input_text", "text": "Shorter."}]
    >>> item_key(sent) == item_key({"type": "message", "id": "m", **sent, "content": content})
    True
    """
    kind = item.get("type") or "message"
    if kind == "message":
        content = item.get("content")
        parts = [{"text": content}] if isinstance(content, str) else content
        shown = [_part(part) for part in parts] if isinstance(parts, list) else [repr(parts)]
        return (kind, item.get("role"), *shown)
    name = item.get("call_id") or item.get("approval_request_id")
    if isinstance(name, str):
        return (kind, name)  # a call has one, and an answer has one
    return (kind, _plain({key: value for key, value in item.items() if key not in _ADDED}))


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return repr(part)
    if isinstance(part.get("text"), str):
        return f"text {part['text']}"
    return _plain(
        {
            key: value
            for key, value in part.items()
            if key not in _ADDED and value is not None and (key, value) != ("detail", "auto")
        }
    )


def _plain(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def possible(parts: Sequence[Part], found: Sequence[Hashable]) -> list[tuple[bool, bool]] | None:
    """Say of each part whether it can be in `found`, and whether it can be left out.

    Parameters
    ----------
    parts : sequence of Part
        In the order in which they would stand there.
    found : sequence
        All of it has to be one of the parts.

    Returns
    -------
    list of (bool, bool), or None
        None where no choice of parts gives `found`.

    Examples
    --------
    >>> possible([Part(("a",)), Part(("b",))], ["b"])
    [(False, True), (True, False)]
    >>> possible([Part(("a",)), Part(("a",))], ["a"])
    [(True, True), (True, True)]
    >>> possible([Part(("a",))], ["b"]) is None
    True
    """
    keys = tuple(found)

    def fits(part: Part, start: int) -> bool:
        return part.may_be_in and keys[start : start + len(part.keys)] == part.keys

    # Which lengths of `found` the parts before each place can give, and from which places on the
    # rest can be given by the parts after it.
    before: list[set[int]] = [{0}]
    for part in parts:
        there = before[-1]
        taken = {n + len(part.keys) for n in there if fits(part, n)}
        before.append(taken | (there if part.may_be_out else set()))
    after: list[set[int]] = [{len(keys)}]
    for part in reversed(parts):
        there = after[-1]
        taken = {n for n in range(len(keys) + 1) if fits(part, n) and n + len(part.keys) in there}
        after.append(taken | (there if part.may_be_out else set()))
    after.reverse()
    if len(keys) not in before[-1]:
        return None
    return [
        (
            any(fits(part, n) and n + len(part.keys) in after[place + 1] for n in before[place]),
            part.may_be_out and bool(before[place] & after[place + 1]),
        )
        for place, part in enumerate(parts)
    ]


def read_items(
    ledger: Ledger,
    response: ResponseState,
    parent: ResponseState,
    waited: RequestState | None,
    items: Sequence[dict[str, Any]],
) -> Reading:
    """Say what the list of a response's input items proves.

    Parameters
    ----------
    ledger : Ledger
        What is known.
    response, parent : ResponseState
        The response that was given the items, and the one it continues, on the same lane.
    waited : RequestState or None
        The request that waited behind the parent, where it is open whether the response answers it.
    items : sequence of dict
        As the service lists them, oldest first.
    """
    steers = [steer for steer in parent.steers if steer.connection == response.connection]
    if any(steer.input is None and steer.state != "failed" for steer in steers):
        return NOTHING  # a recording of one direction: what was said is not known
    request = response.request or waited
    asked = [] if request is None else as_items(request.body.get("input"))
    own = tuple(map(item_key, asked))
    parts = [_steer_part(steer, response) for steer in steers]
    relevant = {key for part in parts for key in part.keys} | (set(own) if waited else set())
    listed = _given(ledger, parent, items, relevant)
    if listed is None:
        return NOTHING
    found = [key for key in map(item_key, listed) if key in relevant]
    behind = Part(tuple(key for key in own if key in relevant), may_be_out=False)
    answering = None if request is None else possible([*parts, behind], found)
    if waited is None:
        chosen = possible(parts, found) if request is None else answering
        return NOTHING if chosen is None else Reading(_certain(steers, chosen))
    # A response that answers the request holds its input; an automatic successor holds a steer.
    alone = possible(parts, found) if found else None
    if not behind.keys or (answering is None) == (alone is None):
        return NOTHING
    chosen = alone if answering is None else answering
    assert chosen is not None
    return Reading(_certain(steers, chosen), answers=answering is not None)


def _steer_part(steer: SteerState, response: ResponseState) -> Part:
    keys = tuple(map(item_key, as_items(steer.input)))
    if steer.state == "committed":
        here = steer.successor_id == response.id
        return Part(keys, may_be_in=here, may_be_out=not here)
    # What a response is given is fixed when it begins.
    late = steer.sent is not None and steer.sent.seq > response.started.seq
    return Part(keys, may_be_in=steer.state != "failed" and not late)


def _certain(
    steers: Iterable[SteerState], chosen: Iterable[tuple[bool, bool]]
) -> tuple[SteerState, ...]:
    return tuple(
        steer
        for steer, (inside, outside) in zip(steers, chosen, strict=False)
        if not outside and inside
    )


def _given(
    ledger: Ledger,
    parent: ResponseState,
    items: Sequence[dict[str, Any]],
    relevant: set[Hashable],
) -> list[dict[str, Any]] | None:
    """What a response itself was given; None where it cannot be told from what went before.

    What the parent wrote has its ids: where none of them is listed, nothing older is.
    """
    older: list[ResponseState] = []
    current: ResponseState | None = parent
    while current is not None and current not in older:
        older.append(current)
        current = ledger.responses.get(current.previous_response_id or "")
    written = [{item.id for item in one.items.values() if item.id is not None} for one in older]
    ids = [item.get("id") for item in items]
    if written[0] and not any(one in known for one in ids for known in written):
        return list(items)
    if older[-1].previous_response_id is not None:
        return None  # the conversation began before this trace
    said = {item_key(item) for one in older for item in said_to(one)}
    # A steer of an earlier one may have been given to the next, without proof.
    before = [steer for one in older[1:] for steer in one.steers]
    said |= {item_key(item) for steer in before for item in as_items(steer.input)}
    if said & relevant:
        return None  # the same words may be from before
    last = max((n for n, one in enumerate(ids) if one in written[0]), default=-1)
    return list(items[last + 1 :])
