"""Rows of the responses and usage tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.frames.arrays import whole
from steer_nb.frames.calls import call_kind

if TYPE_CHECKING:
    from steer_nb.frames.fold import Fold
    from steer_nb.ledger import ResponseState
    from steer_nb.trace.entries import Entry

__all__ = ["response_rows", "seconds", "tokens_of", "usage_rows"]

Row = dict[str, Any]


def response_rows(fold: Fold) -> list[Row]:
    """One row for each response, in the order they were created."""
    chains: dict[str, tuple[str, int]] = {}
    return [_row(fold, r, chains) for r in fold.ledger.responses.values()]


def _row(fold: Fold, response: ResponseState, chains: dict[str, tuple[str, int]]) -> Row:
    root, depth = _chain(fold, response, chains)
    memo = fold.memo[response.id]
    # All that can change without an event of its own: the connection is lost, or its parent is
    # seen later than itself.
    fixed = (response.status, root, depth, response.origin)
    if memo.get("fixed") != fixed:
        memo["fixed"] = fixed
        memo["row"] = _new_row(fold, response, root, depth)
    row: Row = memo["row"]
    return row


def _new_row(fold: Fold, response: ResponseState, root: str, depth: int) -> Row:
    request = response.request
    sent = None if request is None else request.sent
    started = response.started
    return {
        "response_id": response.id,
        "trace_id": fold.trace_id,
        "lane_id": fold.lane_id_of(response),
        "connection_id": fold.connection_id(response.connection),
        "previous_response_id": response.previous_response_id,
        "origin": response.origin,
        "root_response_id": root,
        "depth": depth,
        "model": response.model,
        "model_requested": None if request is None else _text(request.body.get("model")),
        "status": response.status,
        "status_raw": response.status_raw,
        "incomplete_reason": response.incomplete_reason,
        "error_code": response.error_code,
        "error_message": response.error_message,
        "service_tier": response.service_tier,
        "reasoning_effort": response.reasoning_effort,
        "store": response.store,
        "sequence_gap": response.sequence_gap,
        "id_unstable": response.id_unstable,
        "n_events": fold.n_events[response.id],
        "n_deltas": response.n_deltas,
        "n_items": len(response.items),
        "n_tool_calls": sum(call_kind(i.type) is not None for i in response.items.values()),
        "n_steers": len(response.steers),
        "request_sent_at": None if sent is None else sent.at,
        "created_at": response.created_at,
        "recv_created_at": None if response.listed else started.at,
        "first_item_s": None if response.first_item is None else response.first_item.t,
        "time_to_first_chunk_s": seconds(sent, response.first_chunk),
        "time_to_first_text_s": seconds(sent, response.first_text),
        "duration_s": None if response.listed else seconds(started, response.ended),
        "queue_s": seconds(sent, started),
        "output_text": _text_of(response),
        "refusal_text": response.refusal or None,
        **tokens_of(response),
    }


def _text_of(response: ResponseState) -> str:
    """All output text. Once the service has ended it, only of items that it named.

    A delta for an item that was never added nor done is kept as an event and as an item, but it is
    no part of the output that the service stands for.
    """
    if response.n_terminals:
        named = [
            item.text
            for item in response.ordered
            if item.added is not None or item.done is not None
        ]
        if named:
            return response.joined(named)
    return response.text


def seconds(start: Entry | None, end: Entry | None) -> float | None:
    """Seconds between two moments; None where one of them has no time."""
    if start is None or end is None or start.t is None or end.t is None:
        return None
    return end.t - start.t


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _chain(
    fold: Fold, response: ResponseState, chains: dict[str, tuple[str, int]]
) -> tuple[str, int]:
    """The first response of the chain that this trace holds, and how many lie between."""
    path: list[str] = []
    seen: set[str] = set()
    current: ResponseState | None = response
    top: tuple[str, int] | None = None
    while current is not None and current.id not in seen:
        top = chains.get(current.id)
        if top is not None:
            break
        seen.add(current.id)
        path.append(current.id)
        current = fold.ledger.responses.get(current.previous_response_id or "")
    root, depth = (path[-1], -1) if top is None else top
    for response_id in reversed(path):
        depth += 1
        chains[response_id] = (root, depth)
    return chains[response.id]


def tokens_of(response: ResponseState) -> dict[str, int | None]:
    """The counts of a response's usage, by the names of their columns."""
    usage = response.usage or {}
    read = _details(usage, "input_tokens_details")
    written = _details(usage, "output_tokens_details")
    return {
        "input_tokens": whole(usage.get("input_tokens")),
        "cached_tokens": whole(read.get("cached_tokens")),
        "cache_write_tokens": whole(read.get("cache_write_tokens")),
        "output_tokens": whole(usage.get("output_tokens")),
        "reasoning_tokens": whole(written.get("reasoning_tokens")),
        "total_tokens": whole(usage.get("total_tokens")),
    }


def _details(usage: dict[str, Any], name: str) -> dict[str, Any]:
    found = usage.get(name)
    return found if isinstance(found, dict) else {}


def usage_rows(fold: Fold) -> list[Row]:
    """Tokens by kind: the shares of one kind add up to what the service counts for it."""
    rows: list[Row] = []
    for response in fold.ledger.responses.values():
        memo = fold.memo[response.id]
        found: list[Row] | None = memo.get("usage")
        if found is None:
            found = memo["usage"] = _usage(fold, response)
        rows.extend(found)
    return rows


def _usage(fold: Fold, response: ResponseState) -> list[Row]:
    tokens = tokens_of(response)
    read = {"cache_read": tokens["cached_tokens"], "cache_write": tokens["cache_write_tokens"]}
    written = {"reasoning": tokens["reasoning_tokens"]}
    head = {
        "response_id": response.id,
        "trace_id": fold.trace_id,
        "lane_id": fold.lane_id_of(response),
    }
    return [
        {**head, "kind": kind, "detail": detail, "tokens": count}
        for kind, total, shares in (
            ("input", tokens["input_tokens"], read),
            ("output", tokens["output_tokens"], written),
        )
        if total is not None
        for detail, count in _split(total, shares).items()
    ]


def _split(total: int, shares: dict[str, int | None]) -> dict[str, int]:
    """Take the shares out of a total; what is left is plain."""
    parts: dict[str, int] = {}
    rest = total
    for detail, count in shares.items():
        if count is not None and 0 <= count <= rest:  # else it is no share of this total
            parts[detail] = count
            rest -= count
    return {"plain": rest, **parts}
