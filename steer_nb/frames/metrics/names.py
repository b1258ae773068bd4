"""Every DataFrame that a trace can give, by one name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from steer_nb.errors import UnknownColumn, UnknownFrame
from steer_nb.frames.metrics.metrics import Metrics
from steer_nb.frames.metrics.schema import METRICS
from steer_nb.frames.metrics.summary import summary_of
from steer_nb.frames.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from steer_nb.frames.base import Frames
    from steer_nb.frames.columns import Columns

__all__ = ["FRAME_NAMES", "LaneTables", "check_made", "frame_named"]

_METRICS: Final = {f"metrics.{name}": name for name in METRICS}
FRAME_NAMES: Final = (*TABLES, "wide", "summary", *_METRICS)
"""The tables, the events joined with what they belong to, the summary, and the metrics."""


class LaneTables:
    """The rows of one lane, of each table that is about lanes; the others as they are.

    Parameters
    ----------
    frames : Frames
        Of a trace.
    lane : str
        The lane's name; the default lane is called ``(default)``.
    """

    def __init__(self, frames: Frames, lane: str) -> None:
        self._frames = frames
        self._lane = lane

    def __getitem__(self, name: str) -> pd.DataFrame:
        about_lanes = "lane_id" in TABLES[name].all
        return self._frames.table(name, lane=self._lane if about_lanes else None)


def check_made(name: str, columns: object) -> None:
    """Refuse what is none of the frames that are made of tables, or its columns.

    Raises
    ------
    UnknownFrame
        There is none of that name; the message names the ones there are.
    UnknownColumn
        Columns are asked for, and only tables have groups of them.

    Examples
    --------
    >>> check_made("summary", None)
    """
    if name not in FRAME_NAMES:
        close = difflib.get_close_matches(str(name), FRAME_NAMES, n=1, cutoff=0.5)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        msg = f"There is no frame {name!r}.{hint} Frames: {', '.join(FRAME_NAMES)}."
        raise UnknownFrame(msg)
    if columns is not None:
        msg = f"{name!r} has no groups of columns: ask for it without."
        raise UnknownColumn(msg)


def frame_named(
    frames: Frames,
    name: str,
    columns: Columns | str | Iterable[str] | None = None,
    *,
    lane: str | None = None,
) -> pd.DataFrame:
    """Give a table, the ``wide`` one, the ``summary``, or one of the metrics (``metrics.gaps`` …).

    Parameters
    ----------
    frames : Frames
        Of a trace.
    name : str
        One of `FRAME_NAMES`.
    columns : Columns, str or iterable of str, optional
        For a table: see `Frames.table`.
    lane : str, optional
        Only what belongs to that lane.

    Raises
    ------
    UnknownFrame, UnknownColumn, UnknownLane
        No such frame, column or lane; each names the ones there are.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> frames = Trace(Header(steer_nb=1, trace_id="0" * 32)).frames
    >>> list(frame_named(frames, "summary"))
    ['metric', 'value', 'unit', 'meaning']
    """
    if name in TABLES:
        return frames.table(name, columns, lane=lane)
    check_made(name, columns)
    if name == "wide":
        wide = frames.wide()
        if lane is None:
            return wide
        kept = wide["lane_id"].isin(frames.lane_ids(lane)).to_numpy(dtype=bool)
        return wide[kept].reset_index(drop=True)
    tables = frames if lane is None else LaneTables(frames, lane)
    return summary_of(tables) if name == "summary" else Metrics(tables).table(_METRICS[name])
