"""Rows of the tables about where things happen: lanes, connections, traces, and what was odd."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.frames.schema import SCHEMA_VERSION
from steer_nb.ledger import rules

if TYPE_CHECKING:
    from steer_nb.frames.fold import Fold, LaneUse
    from steer_nb.ledger import ConnectionState, ResponseState

__all__ = ["connection_rows", "lane_rows", "problem_rows", "trace_rows"]

Row = dict[str, Any]

# The service ends a connection after an hour (chapter 1.3), unless the connection says otherwise.
_LIMIT_S: Final = 3600.0


def lane_rows(fold: Fold) -> list[Row]:
    """One row for each lane on each connection, in the order they were first used."""
    responses: dict[tuple[int, str | None], list[ResponseState]] = {}
    for response in fold.ledger.responses.values():
        place = (response.connection, response.lane.stream_id)
        responses.setdefault(place, []).append(response)
    # A lane that was opened before there was any connection is a place only until it is used.
    connected = {stream_id for number, stream_id in fold.lane_uses if number}
    return [
        _lane(fold, use, responses.get(place, []))
        for place, use in fold.lane_uses.items()
        if use.connection or use.stream_id not in connected
    ]


def _lane(fold: Fold, use: LaneUse, responses: list[ResponseState]) -> Row:
    lane = fold.ledger.lanes.get(use.stream_id)
    here = lane is not None and lane.connection == use.connection
    source = _fork(fold, use, responses)
    parent = fold.ledger.responses.get(source or "")
    state = "idle"
    if lane is not None:
        state = rules.lane_word(lane) if here else "detached"
    return {
        "lane_id": fold.lane_id(use.connection, use.stream_id),
        "trace_id": fold.trace_id,
        "connection_id": fold.connection_id(use.connection),
        "stream_id": use.stream_id,
        "opened_at": use.first.at,
        "last_event_at": use.last.at,
        "n_responses": len(responses),
        "n_steers": sum(len(response.steers) for response in responses),
        "n_pending": sum(len(response.waiting_for) for response in responses),
        "tip_response_id": responses[-1].id if responses else None,
        "forked_from_response_id": source,
        "forked_from_lane_id": None if parent is None else fold.lane_id_of(parent),
        "state": state,
        "stream_id_echoed": _echoed(use),
    }


def _echoed(use: LaneUse) -> bool | None:
    """Whether an event named the lane; None where no event could have."""
    if use.stream_id is None or not (use.asked or use.echoed):
        return None
    return use.echoed


def _fork(fold: Fold, use: LaneUse, responses: list[ResponseState]) -> str | None:
    """The response of another lane that this one started from."""
    if responses:
        first = responses[0]
        return first.previous_response_id if first.origin == "fork" else None
    lane = fold.ledger.lanes.get(use.stream_id)
    return lane.forked_from if lane is not None and not lane.responses else None


def connection_rows(fold: Fold) -> list[Row]:
    """One row for each socket."""
    return [_connection(fold, state) for state in fold.ledger.connections.values()]


def _connection(fold: Fold, state: ConnectionState) -> Row:
    opened, closed = state.opened, state.closed
    recorded = opened.note == "connected"
    limit = (opened.data or {}).get("limit_s") if recorded else None
    if not isinstance(limit, int | float) or isinstance(limit, bool):
        limit = _LIMIT_S
    return {
        "connection_id": fold.connection_id(state.number),
        "trace_id": fold.trace_id,
        "url": state.url or None,
        "opened_at": opened.at if recorded else None,
        "closed_at": None if closed is None else closed.at,
        "close_code": state.close_code,
        "close_reason": state.close_reason or None,
        "n_in": state.n_in,
        "n_out": state.n_out,
        "bytes_in": fold.bytes_in[state.number],
        "expires_at": opened.at + limit if recorded and opened.at is not None else None,
        "end_kind": state.end_kind,
    }


def problem_rows(fold: Fold) -> list[Row]:
    """What was odd: in the file first, then in the messages."""
    trace = fold.trace
    rows = fold.problems
    known = len(rows) - len(trace.file_problems)
    new = fold.ledger.problems[known:] if rows else (*trace.file_problems, *fold.ledger.problems)
    rows.extend(
        {
            "file": problem.file,
            "line": problem.line,
            "event_id": None if problem.seq is None else f"{fold.trace_id}/{problem.seq}",
            "trace_id": fold.trace_id,
            "kind": problem.kind,
            "detail": problem.detail,
        }
        for problem in map(trace.located, new)
    )
    return list(rows)


def trace_rows(fold: Fold) -> list[Row]:
    """The one row of the trace itself."""
    trace, header = fold.trace, fold.trace.header
    return [
        {
            "trace_id": fold.trace_id,
            "source": header.source or None,
            # A trace is the same wherever it is saved; attrs["file"] says where it was.
            "file": None if header.source == "live" else trace.recording or trace.file,
            "started_at": header.started_at,
            "ended_at": None if fold.last is None else fold.last.at,
            "n_events": len(fold.events),
            "n_problems": len(fold.trace.file_problems) + len(fold.ledger.problems),
            "recorder_version": header.version or None,
            "schema_version": SCHEMA_VERSION,
        }
    ]
