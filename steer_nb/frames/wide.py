"""The events joined with what they belong to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from steer_nb.frames.columns import Columns
from steer_nb.frames.schema import TABLES, resolve
from steer_nb.frames.schema_stream import EventCore, EventDelta

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

__all__ = ["JOINED", "WideColumns", "wide_of"]

# Columns taken from each table, under names that say where they are from.
_LANE: Final = {"stream_id": "stream_id"}
_RESPONSE: Final = {
    "previous_response_id": "previous_response_id",
    "root_response_id": "root_response_id",
    "depth": "response_depth",
    "origin": "response_origin",
    "model": "response_model",
    "status": "response_status",
}
_ITEM: Final = {
    "type": "item_type",
    "role": "item_role",
    "name": "item_name",
    "call_id": "call_id",
}
JOINED: Final = (
    ("lanes", ("lane_id",), _LANE),
    ("responses", ("response_id",), _RESPONSE),
    ("items", ("response_id", "output_index"), _ITEM),
)
"""What is joined to the events: a table, by which columns, and the names that others of it get."""

WideColumns: Final = Columns(
    "WideColumns",
    "wide",
    (
        *EventCore,
        *EventDelta,
        *(
            replace(TABLES[table].all[name], name=new)
            for table, _, names in JOINED
            for name, new in names.items()
        ),
    ),
)


def wide_of(get: Callable[[str, Columns], pd.DataFrame], *, several: bool = False) -> pd.DataFrame:
    """Join lanes, responses and items to the events.

    Parameters
    ----------
    get : callable
        Gives a table by name, with those columns.
    several : bool
        Whether they are of several traces, whose responses may have the same ids.
    """
    frame = get("events", EventCore + EventDelta)
    for table, keys, names in JOINED:
        if several and keys[0] == "response_id":
            keys = ("trace_id", *keys)
        more = get(table, resolve(TABLES[table], (*keys, *names))).rename(columns=names)
        frame = frame.merge(more, on=list(keys), how="left")
    return frame
