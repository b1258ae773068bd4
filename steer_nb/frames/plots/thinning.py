"""Fewer bars and marks than happened, where a screen could not tell them apart anyway."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["LAST_FIRST", "MOST_BARS", "MOST_LANES", "thin_steps", "thin_timeline"]

MOST_BARS: Final = 1_500
"""Bars of one kind, and marks of one kind, that are drawn; a chart's layers hold no more rows."""
MOST_LANES: Final = 60
"""Lanes that are drawn, unless one is asked for by its name."""

LAST_FIRST: Final = (
    "failed",
    "truncated",
    "cancelled",
    "incomplete",
    "in progress",
    "steered",
    "completed",
)
"""States of responses, the one that must not be lost first."""


def thin_timeline(
    frame: pd.DataFrame,
    most: int = MOST_BARS,
    lanes: int = MOST_LANES,
) -> tuple[pd.DataFrame, list[str]]:
    """Make a timeline small enough to be drawn, and say what was done to it.

    Items are left out first; then bars and marks of one lane that lie next to each other become
    one, which says how many it stands for and takes the state that is the least usual.

    Parameters
    ----------
    frame : DataFrame
        Of `timeline_frame`.
    most : int
        Rows of each kind to keep.
    lanes : int
        Lanes to keep: those of most responses.

    Returns
    -------
    frame : DataFrame
        The same columns.
    notes : list of str
        What a person should know; empty where nothing was left out.

    Examples
    --------
    >>> from steer_nb.frames.plots import timeline_frame
    >>> from steer_nb.trace import Header, Trace
    >>> frame, notes = thin_timeline(timeline_frame(Trace(Header(1, "0" * 32)).frames))
    >>> len(frame), notes
    (0, [])
    """
    notes: list[str] = []
    every = frame["lane"].nunique()
    if every > lanes:
        busy = frame.loc[frame["kind"] == "response", "lane"].value_counts().index[:lanes]
        frame = frame[frame["lane"].isin(busy)]
        notes.append(f"the {lanes} busiest of {every:,} lanes")
    parts = []
    for kind, part in frame.groupby("kind", observed=True, sort=False):
        if len(part) <= most:
            parts.append(part)
        elif kind in ("item", "request"):
            if kind == "item":
                notes.append(f"without {len(part):,} items")
        else:
            merged = _merged(part, most)
            parts.append(merged)
            notes.append(f"{len(part):,} {_PLURAL[str(kind)]} drawn as {len(merged):,}")
    if not parts:
        return frame, notes
    return pd.concat(parts).sort_index(), notes


_PLURAL: Final = {
    "response": "responses",
    "call": "calls",
    "steer": "steers",
    "pending": "pendings",
    "continuation": "continuations",
    "inject": "injects",
    "fork": "forks",
    "close": "lost connections",
}


def _merged(part: pd.DataFrame, most: int) -> pd.DataFrame:
    """One row for all of a lane (and level, and for marks state) that begin in one stretch."""
    marks = part["kind"].iloc[0] not in ("response", "call")
    apart = ["lane", "state"] if marks else ["lane", "level"]
    rows = part[apart].drop_duplicates().shape[0]
    start, end = part["start_s"].min(), part["end_s"].fillna(part["start_s"]).max()
    stretches = max(1, most // rows)
    width = (end - start) / stretches or 1.0
    place = ((part["start_s"] - start) / width).astype("int64").clip(upper=stretches - 1)
    keys = [part[name].astype(object).fillna("") for name in apart]
    groups = part.groupby([*keys, place], sort=False)
    ranks = {state: float(at) for at, state in enumerate(LAST_FIRST)}
    ranked = part["state"].map(ranks).astype("float64").fillna(float(len(LAST_FIRST)))
    first = ranked.groupby([*keys, place], sort=False).idxmin()
    merged = part.loc[first.to_numpy()].copy()
    counted = groups["state"].size().to_numpy()
    merged["start_s"] = groups["start_s"].min().to_numpy()
    merged["end_s"] = groups["end_s"].max().to_numpy()
    merged["ongoing"] = groups["ongoing"].any().to_numpy()
    merged["n"] = counted
    merged["tokens"] = groups["tokens"].sum(min_count=1).to_numpy()
    said = _counts(part, [*keys, place])
    alone = counted == 1
    merged["text"] = merged["text"].where(alone, pd.Series(said, index=merged.index))
    for name in ("id", "response_id", "name", "agent_name"):
        merged[name] = merged[name].where(alone)
    return merged


def _counts(part: pd.DataFrame, keys: list[Any]) -> list[str]:
    """For each group how many there are of each state: ``17 completed, 2 failed``."""
    sizes = part.groupby([*keys, part["state"].astype(object)], sort=False).size()
    said: dict[Any, list[str]] = {}
    for key, n in zip(sizes.index.to_list(), sizes.to_list(), strict=True):
        said.setdefault(key[:-1], []).append(f"{n:,} {key[-1]}")
    order = part.groupby(keys, sort=False).ngroup()
    names: Iterable[Any] = zip(*(key[~order.duplicated()] for key in keys), strict=True)
    return [", ".join(said[tuple(name)]) for name in names]


def thin_steps(times: pd.Series[Any], most: int) -> np.ndarray[Any, Any]:
    """Choose the steps of growing sums to draw: the last one of each stretch of time.

    What only grows loses nothing by that: at each stretch's end the sum is the true one.

    Parameters
    ----------
    times : Series of float
        In order.
    most : int
        How many to keep.

    Returns
    -------
    array of bool
        Which to keep: the first and the last are among them.

    Examples
    --------
    >>> import pandas as pd
    >>> thin_steps(pd.Series([0.0, 0.1, 0.2, 9.0]), 3).tolist()
    [True, False, True, True]
    """
    keep = np.ones(len(times), dtype=bool)
    if len(times) <= most:
        return keep
    values = times.to_numpy("float64")
    span = values[-1] - values[0] or 1.0
    stretch = np.floor((values - values[0]) / span * (most - 2)).astype("int64")
    keep[:-1] = stretch[1:] != stretch[:-1]
    keep[0] = True
    return keep
