"""Words in pictures: short, and plain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from steer_nb.errors import UnknownLane
from steer_nb.frames.columns import TEXT
from steer_nb.ledger import DEFAULT_LANE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from steer_nb.frames.metrics.measures import Tables

__all__ = ["MOST_CHARACTERS", "cut", "each", "lane_names", "only_lane"]

MOST_CHARACTERS: Final = 300
"""A text that one sees by pointing at something is cut there."""


def cut(texts: pd.Series[Any], most: int = MOST_CHARACTERS) -> pd.Series[Any]:
    r"""Cut texts short; what is left is one line, and a whole one where it fits.

    Examples
    --------
    >>> cut(pd.Series(["one\ntwo", "a long text"]), 8).to_list()
    ['one two', 'a long …']
    """
    if texts.notna().sum() == 0:
        return texts.astype(TEXT)
    head = texts.astype(TEXT).str.slice(0, most + 1).str.replace(r"\s+", " ", regex=True)
    long = texts.astype(TEXT).str.len().fillna(0) > most
    return head.where(~long, head.str.slice(0, most - 1) + "…").astype(TEXT)


def lane_names(tables: Tables) -> pd.Series[Any]:
    """Give each lane's name by its `lane_id`; a name holds over all connections of its trace.

    Where there are several traces, the names say of which.
    """
    lanes = tables["lanes"]
    names = lanes["stream_id"].astype(object).where(lanes["stream_id"].notna(), DEFAULT_LANE)
    if lanes["trace_id"].nunique() > 1:
        names = lanes["trace_id"].str.slice(0, 8).astype(object) + " · " + names
    return pd.Series(names.to_numpy(), index=lanes["lane_id"].astype(object), dtype=object)


def only_lane(frame: pd.DataFrame, lane: str | None, names: pd.Series[Any]) -> pd.DataFrame:
    """Keep the rows of one lane.

    Raises
    ------
    UnknownLane
        There is none of that name.
    """
    if lane is None:
        return frame
    if not (names == lane).any():
        known = ", ".join(dict.fromkeys(names)) or "none"
        msg = f"This trace has no lane {lane!r}. Lanes: {known}."
        raise UnknownLane(msg)
    return frame[(frame["lane"] == lane).fillna(value=False).astype(bool)].reset_index(drop=True)


def each(frame: pd.DataFrame) -> Iterable[Any]:
    """Give the rows one by one, by the names of their columns; what is missing is None."""
    frame = frame.astype(object)
    return frame.where(frame.notna(), None).itertuples(index=False)
