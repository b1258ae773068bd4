"""The fold: from trace entries to lanes, responses, steers and required input. Pure."""

from __future__ import annotations

from steer_nb.ledger import recovery, rules
from steer_nb.ledger.contents import CallResult, ItemState, RequiredInputState, ToolRun
from steer_nb.ledger.dialects import Dialect, dialect_named
from steer_nb.ledger.fold import Ledger
from steer_nb.ledger.messages import event_of, foreign_type
from steer_nb.ledger.runs import Run, run_at
from steer_nb.ledger.state import (
    DEFAULT_LANE,
    ConnectionState,
    InjectState,
    LaneState,
    RequestState,
    ResponseState,
    ServerErrorState,
    SteerState,
)

__all__ = [
    "DEFAULT_LANE",
    "CallResult",
    "ConnectionState",
    "Dialect",
    "InjectState",
    "ItemState",
    "LaneState",
    "Ledger",
    "RequestState",
    "RequiredInputState",
    "ResponseState",
    "Run",
    "ServerErrorState",
    "SteerState",
    "ToolRun",
    "dialect_named",
    "event_of",
    "foreign_type",
    "recovery",
    "rules",
    "run_at",
]
