"""Rows of the items table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.frames.arrays import json_text
from steer_nb.frames.responses import seconds
from steer_nb.frames.results import content_text

if TYPE_CHECKING:
    from steer_nb.frames.fold import Fold
    from steer_nb.ledger import ItemState, ResponseState

__all__ = ["item_rows"]

Row = dict[str, Any]


def item_rows(fold: Fold) -> list[Row]:
    """One row for each output item, by response and place."""
    rows: list[Row] = []
    for response in fold.ledger.responses.values():
        memo = fold.memo[response.id]
        found: list[Row] | None = memo.get("items")
        if found is None:
            found = memo["items"] = [_row(fold, response, item) for item in response.ordered]
        rows.extend(found)
    return rows


def _row(fold: Fold, response: ResponseState, item: ItemState) -> Row:
    data = item.data
    return {
        "response_id": response.id,
        "output_index": item.output_index,
        "trace_id": fold.trace_id,
        "lane_id": fold.lane_id_of(response),
        "item_id": item.id,
        "type": item.type or None,
        "role": word(data, "role"),
        "status": item.status,
        "phase": word(data, "phase"),
        "name": item.name,
        "call_id": item.call_id,
        "agent_name": item.agent_name,
        "text": next((item.joined(name) for name in _TEXTS if _has(item, name)), _said(data)),
        "summary_text": item.summary_text if _has(item, "summary") else None,
        "n_deltas": item.n_deltas,
        "n_annotations": item.n_annotations,
        "added_s": None if item.added is None else item.added.t,
        "done_s": None if item.done is None else item.done.t,
        "duration_s": seconds(item.added, item.done),
        "source": item.source,
        "bytes": fold.item_bytes[response.id, item.output_index],
        "encrypted": _encrypted(data),
        "content_json": json_text(data) if data else None,
    }


# What agents say to each other, and what the service's own actions gave, is no output text.
_TEXTS: Final = ("text", "message", "output", "reasoning")


def _said(data: dict[str, Any]) -> str | None:
    """The text of what was said to a model, or given back, where a recording has it as items."""
    if data.get("type") == "letta_tool_call_output":
        return content_text(data.get("output"))
    said = data.get("type") == "message" and data.get("role") in ("user", "system", "developer")
    return content_text(data.get("content")) if said else None


def _encrypted(data: dict[str, Any]) -> bool:
    content = data.get("content")
    parts = [data, *(content if isinstance(content, list) else ())]
    return any(isinstance(p, dict) and isinstance(p.get("encrypted_content"), str) for p in parts)


def _has(item: ItemState, channel: str) -> bool:
    return any(key[0] == channel for key in item.parts)


def word(data: dict[str, Any], name: str) -> str | None:
    """Return a field of an item, if it is text."""
    value = data.get(name)
    return value if isinstance(value, str) else None
