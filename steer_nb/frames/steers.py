"""Rows of the steers and required_inputs tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steer_nb.frames.arrays import json_text
from steer_nb.frames.keeping import keep
from steer_nb.frames.responses import seconds
from steer_nb.frames.results import content_text

if TYPE_CHECKING:
    from steer_nb.frames.fold import Fold
    from steer_nb.ledger import RequiredInputState, ResponseState, SteerState
    from steer_nb.trace.entries import Entry

__all__ = ["required_rows", "said_in", "steer_rows"]

Row = dict[str, Any]


def steer_rows(fold: Fold) -> list[Row]:
    """One row for each steer, in the order they were sent."""
    return [
        keep(fold.steers, steer.key, _fate(steer), partial(_steer, fold, steer))
        for steer in fold.ledger.steers.values()
    ]


def _fate(steer: SteerState) -> tuple[Any, ...]:
    """Everything of a steer that can change."""
    parent = steer.parent
    return (
        steer.state,
        steer.steer_id,
        steer.accepted,
        steer.pending,
        steer.committed,
        steer.failed,
        steer.failure_code,
        steer.successor_id,
        None if parent is None else (parent.status, parent.incomplete_reason),
        steer.deltas_after_send,
        steer.characters_after_send,
    )


def _steer(fold: Fold, steer: SteerState) -> Row:
    lane = steer.lane
    text, parts = said_in(steer.input)
    return {
        "steer_key": steer.key,
        "trace_id": fold.trace_id,
        "lane_id": None if lane is None else fold.lane_id(steer.connection, lane.stream_id),
        "steer_id": steer.steer_id,
        "parent_response_id": steer.parent_id or None,
        "input_text": text,
        "input_json": None if steer.input is None else json_text(steer.input),
        "n_parts": parts,
        "state": steer.state,
        "failure_code": steer.failure_code,
        "failure_message": steer.failure_message,
        "successor_response_id": steer.successor_id,
        "successor_kind": steer.successor_kind,
        "parent_outcome": _outcome(steer.parent),
        "order_in_parent": steer.order_in_parent,
        "recovered_input": steer.state == "failed" and steer.failure_input is not None,
        "sent_s": _at(steer.sent),
        "accepted_s": _at(steer.accepted),
        "pending_s": _at(steer.pending),
        "committed_s": _at(steer.committed),
        "failed_s": _at(steer.failed),
        "ack_latency_s": seconds(steer.sent, steer.accepted),
        "commit_latency_s": seconds(steer.accepted, steer.committed),
        "deltas_after_send": None if steer.sent is None else steer.deltas_after_send,
        "characters_after_send": None if steer.sent is None else steer.characters_after_send,
    }


def _at(entry: Entry | None) -> float | None:
    return None if entry is None else entry.t


def said_in(value: object) -> tuple[str | None, int | None]:
    """The text of a steer's input, and of how many parts it is."""
    if isinstance(value, str):
        return value, 1
    if not isinstance(value, list):
        return None, None
    texts: list[str] = []
    parts = 0
    for message in value:
        content = message.get("content") if isinstance(message, dict) else None
        parts += len(content) if isinstance(content, list) else 1
        text = content_text(content)
        if text is not None:
            texts.append(text)
    return "\n".join(texts) if texts else None, parts


def _outcome(parent: ResponseState | None) -> str | None:
    if parent is None or parent.is_live:
        return None
    if parent.status == "completed":
        return "completed"
    steered = parent.status == "incomplete" and parent.incomplete_reason == "steered"
    return "incomplete_steered" if steered else "other"


def required_rows(fold: Fold) -> list[Row]:
    """One row for each required input, in the order its response asked for it."""
    rows: list[Row] = []
    for response in fold.ledger.responses.values():
        if not response.required:
            continue
        made = fold.memo[response.id].setdefault("required", {})
        waiting = sum(_waits(steer) for steer in response.steers)
        for key, state in response.required.items():
            now = (waiting, *_progress(state))
            rows.append(keep(made, key, now, partial(_required, fold, response, state, waiting)))
    return rows


def _progress(state: RequiredInputState) -> tuple[Any, ...]:
    """Everything of a required input that can change without an event of its response."""
    return (
        state.state,
        state.item,
        state.filled,
        state.filled_by,
        state.sent,
        None if state.tool is None else state.tool.duration_s,
        state.request_key,
        state.continuation_response_id,
    )


def _required(fold: Fold, response: ResponseState, state: RequiredInputState, waiting: int) -> Row:
    item = state.item or {}
    approve, reason = item.get("approve"), item.get("reason")
    by = state.filled_by
    call = state.call or {}
    if state.item is not None and by not in ("user", "code", "policy"):
        by = "unknown"
    return {
        "trace_id": fold.trace_id,
        "parent_response_id": response.id,
        "stub_key": state.key,
        "lane_id": fold.lane_id_of(response),
        "stub_type": state.type or None,
        "name": state.name,
        "server_label": state.server_label,
        "agent_name": state.agent_name,
        "source": state.source,
        "n_steers_waiting": waiting,
        "first_seen_s": state.first_seen.t,
        "filled_s": _at(state.filled),
        "sent_s": _at(state.sent),
        "tool_s": None if state.tool is None else state.tool.duration_s,
        "value_json": None if state.item is None else json_text(state.item),
        "approve": approve if isinstance(approve, bool) else None,
        "reason": reason if isinstance(reason, str) else None,
        "state": state.state,
        "filled_by": by if state.item is not None else None,
        "continuation_response_id": state.continuation_response_id,
        "submit_key": state.request_key,
        "sent_as": _sent_as(fold, state),
        **{name: _word(call.get(name)) for name in _LETTA},
    }


# Where a call stands at Letta; its dialect puts these into the item.
_LETTA: Final = ("agent_id", "run_id", "step_id", "message_id", "otid")


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _sent_as(fold: Fold, state: RequiredInputState) -> str | None:
    if state.request_key is None:
        return None
    return "inject" if state.request_key in fold.ledger.injects else "continuation"


def _waits(steer: SteerState) -> bool:
    """Whether a steer waits, or waited, for what its parent asks for."""
    return steer.live or steer.pending is not None or steer.successor_kind == "explicit"
