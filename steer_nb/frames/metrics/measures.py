"""Latencies, speeds, gaps and waits, each a function of tables alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
import pandas as pd

from steer_nb.errors import InvalidInput
from steer_nb.frames.columns import FLOAT
from steer_nb.frames.metrics.schema import ChunkGaps, ResponseMetrics, SteerMetrics, WaitMetrics

if TYPE_CHECKING:
    from steer_nb.frames.columns import Columns

__all__ = [
    "STALL_S",
    "Tables",
    "checked_stall",
    "chunk_gaps",
    "response_metrics",
    "shaped",
    "steer_metrics",
    "wait_metrics",
]

STALL_S: Final = 1.0
"""A gap between two chunks of at least so many seconds is a stall, where nothing else is said."""

_CHUNKS: Final = ("text", "reasoning", "tool_args")
"""Families of events whose deltas are what a reader waits for."""


class Tables(Protocol):
    """Tables by name: the frames of a trace, or a dict of DataFrames that was made of them."""

    def __getitem__(self, name: str, /) -> pd.DataFrame:
        """Give a table with at least its default columns."""


def shaped(columns: Columns, values: dict[str, Any], index: pd.Index[Any]) -> pd.DataFrame:
    """Put values into the declared columns and dtypes; numbers that are none become null."""
    made = {}
    for column in columns:
        value = values.get(column.name)
        if not isinstance(value, pd.Series):
            value = pd.Series(value, index=index, dtype=object)
        if column.dtype == FLOAT:
            value = value.astype("Float64").astype(FLOAT) if value.dtype == object else value
            value = value.astype(FLOAT).replace([np.inf, -np.inf], np.nan)
        made[column.name] = value if value.dtype == column.dtype else value.astype(column.dtype)
    return pd.DataFrame(made, index=index).reset_index(drop=True)


def checked_stall(stall_s: float) -> float:
    """Give the seconds from which on a gap is a stall.

    Raises
    ------
    InvalidInput
        They are no number above 0.
    """
    if isinstance(stall_s, bool) or not isinstance(stall_s, int | float) or not stall_s > 0:
        msg = f"stall_s is {stall_s!r}: it must be a number of seconds above 0."
        raise InvalidInput(msg, field="stall_s", value=stall_s, rule="seconds above 0")
    return float(stall_s)


def chunk_gaps(tables: Tables, *, stall_s: float = STALL_S) -> pd.DataFrame:
    """Seconds between the chunks of each response.

    A chunk is a delta of text, reasoning or arguments: what a reader sees grow. Gaps are counted
    within one response; the time before its first chunk is none. Where several agents write one
    response, their chunks count together.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with `events`.
    stall_s : float, default 1.0
        Seconds from which on a gap is a stall.

    Returns
    -------
    DataFrame
        One row for each chunk but a response's first; the columns of `ChunkGaps`. Chunks without a
        time have none.

    Raises
    ------
    InvalidInput
        `stall_s` is no number above 0.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> list(chunk_gaps(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames))[-2:]
    ['gap_s', 'stall']
    """
    stall_s = checked_stall(stall_s)
    events = tables["events"]
    words = events["type"].cat.categories
    deltas = words[words.str.endswith(".delta")]
    chosen = (
        (events["direction"] == "in")
        & events["family"].isin(_CHUNKS)
        & events["type"].isin(deltas)
        & events["response_id"].notna()
        & events["t_s"].notna()
    )
    chunks = events.loc[chosen, ["trace_id", "response_id", "lane_id", "seq", "t_s"]]
    chunks = chunks.sort_values(["trace_id", "seq"], kind="stable")
    gaps = chunks.groupby(["trace_id", "response_id"], sort=False, observed=True)["t_s"].diff()
    known = gaps.notna()
    found = chunks[known].assign(gap_s=gaps[known])
    values: dict[str, Any] = {str(name): found[name] for name in found}
    values["stall"] = found["gap_s"] >= stall_s
    return shaped(ChunkGaps, values, found.index)


def response_metrics(tables: Tables, *, stall_s: float = STALL_S) -> pd.DataFrame:
    """Latency, speed and smoothness of each response.

    - Time to first chunk: from its request to its first delta; to first text: to its first output
      text. Null where no request was seen, as for a successor that came by itself.
    - Tokens a second: the output tokens that the service counts (reasoning among them), over the
      time from the response's creation to its end.
    - Gaps: between its chunks, see `chunk_gaps`.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with `events` and `responses`.
    stall_s : float, default 1.0
        Seconds from which on a gap is a stall.

    Returns
    -------
    DataFrame
        One row for each response, as in `responses`; the columns of `ResponseMetrics`.

    Raises
    ------
    InvalidInput
        `stall_s` is no number above 0.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> response_metrics(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames).shape
    (0, 18)
    """
    responses = tables["responses"]
    key = ["trace_id", "response_id"]
    gaps = chunk_gaps(tables, stall_s=stall_s)
    groups = gaps.groupby(key, sort=False)["gap_s"]
    found = pd.DataFrame(
        {
            "n_gaps": groups.size(),
            "chunk_gap_median_s": groups.median(),
            "chunk_gap_p95_s": groups.quantile(0.95),
            "chunk_gap_max_s": groups.max(),
            "n_stalls": gaps.groupby(key, sort=False)["stall"].sum(),
            "stalled_s": gaps["gap_s"]
            .where(gaps["stall"].astype(bool), 0.0)
            .groupby([gaps[name] for name in key], sort=False)
            .sum(),
        }
    )
    place = pd.MultiIndex.from_frame(responses[key])
    found = found.reindex(place)
    found.index = responses.index
    duration = responses["duration_s"]
    characters = responses["output_text"].str.len().fillna(0).astype("Int64")
    seconds = duration.where(duration > 0)
    values: dict[str, Any] = {
        name: responses[name] for name in ResponseMetrics.names if name in responses
    }
    values |= {str(name): found[name] for name in found if name in ResponseMetrics}
    timed = responses["n_deltas"].where(responses["n_deltas"] == 0)  # without any: no gap, no stall
    values["n_chunks"] = responses["n_deltas"]
    values["n_stalls"] = found["n_stalls"].astype("Int64").fillna(timed)
    values["stalled_s"] = found["stalled_s"].fillna(timed.astype("Float64").astype(FLOAT))
    values["output_characters"] = characters
    values["tokens_per_s"] = responses["output_tokens"].astype("Float64").astype(FLOAT) / seconds
    values["characters_per_s"] = characters.astype(FLOAT) / seconds
    return shaped(ResponseMetrics, values, responses.index)


def steer_metrics(tables: Tables) -> pd.DataFrame:
    """How fast each steer was taken and took effect, and how much was still written meanwhile.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with `steers`.

    Returns
    -------
    DataFrame
        One row for each steer; the columns of `SteerMetrics`.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> steer_metrics(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames).shape
    (0, 10)
    """
    steers = tables["steers"]
    values: dict[str, Any] = {name: steers[name] for name in SteerMetrics.names if name in steers}
    values["turn_latency_s"] = steers["committed_s"] - steers["sent_s"]
    return shaped(SteerMetrics, values, steers.index)


def wait_metrics(tables: Tables) -> pd.DataFrame:
    """How long people and functions took to answer what responses asked for.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with `required_inputs`.

    Returns
    -------
    DataFrame
        One row for each required input; the columns of `WaitMetrics`.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> wait_metrics(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames).shape
    (0, 11)
    """
    asked = tables["required_inputs"]
    taken = asked["filled_s"] - asked["first_seen_s"] - asked["tool_s"].fillna(0.0)
    values: dict[str, Any] = {name: asked[name] for name in WaitMetrics.names if name in asked}
    # A function that ran by policy before a person looked can only shorten it to nothing.
    values["person_s"] = taken.clip(lower=0.0).where(asked["filled_by"] == "user")
    values["held_s"] = asked["sent_s"] - asked["filled_s"]
    values["answer_s"] = asked["sent_s"] - asked["first_seen_s"]
    return shaped(WaitMetrics, values, asked.index)
