"""What is done with a part, and with something of all parts: the functions that workers run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.frames.metrics.difference import Side, side_of
from steer_nb.frames.metrics.metrics import Metrics
from steer_nb.frames.metrics.summary import Essence, essence_of, put_together, summary_from
from steer_nb.frames.metrics.usage import usage_totals, used_of
from steer_nb.frames.scan.parts import tables_of
from steer_nb.frames.sets import joined_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from steer_nb.frames.metrics.prices import Prices
    from steer_nb.frames.scan.parts import Part, Recorded

__all__ = [
    "essence",
    "found",
    "left_out",
    "metric",
    "side",
    "summary",
    "table",
    "usage",
    "used",
    "wide",
]


def _alone(frame: pd.DataFrame) -> pd.DataFrame:
    frame.attrs = {}  # they would be said of one part, and stand on all
    return frame


def table(name: str, columns: tuple[str, ...], lane: str | None, part: Part) -> pd.DataFrame:
    """Give a table."""
    return _alone(part.table(name, columns, lane=lane))


def left_out(columns: tuple[str, ...], part: Recorded) -> pd.DataFrame:
    """Give what was odd about files that became no trace."""
    return _alone(part.left_out(columns))


def found(columns: tuple[str, ...], part: Recorded) -> pd.DataFrame:
    """Give what was odd in traces."""
    return _alone(part.found(columns))


def wide(lane: str | None, part: Part) -> pd.DataFrame:
    """Give the events joined with what they belong to."""
    frame = part.wide()
    if lane is not None:
        kept = frame["lane_id"].isin(part.lane_ids(lane)).to_numpy(dtype=bool)
        frame = frame[kept].reset_index(drop=True)
    return _alone(frame)


def metric(name: str, lane: str | None, part: Part) -> pd.DataFrame:
    """Give a table of metrics, each of whose rows is of one trace."""
    return _alone(Metrics(tables_of(part, lane)).table(name))


def used(lane: str | None, part: Part) -> pd.DataFrame:
    """Take what totals of tokens are made of."""
    return used_of(tables_of(part, lane))


def usage(prices: Prices | None, parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Add up tokens; a response that stands in several parts counts once."""
    return usage_totals({"responses": joined_all(list(parts))}, prices=prices)


def essence(stall_s: float, lane: str | None, part: Part) -> Essence:
    """Take what a summary is made of."""
    return essence_of(tables_of(part, lane), stall_s=stall_s)


def summary(prices: Prices | None, parts: Sequence[Essence]) -> pd.DataFrame:
    """Give the summary of all parts."""
    return summary_from(put_together(parts), prices=prices)


def side(stall_s: float, part: Part) -> Side:
    """Take what a comparison looks at."""
    return side_of(tables_of(part), stall_s=stall_s)
