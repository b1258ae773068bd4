"""Tokens, gaps and latencies as short tables: what their charts are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from steer_nb.frames.metrics.measures import STALL_S, chunk_gaps, response_metrics, shaped
from steer_nb.frames.metrics.usage import counted_once
from steer_nb.frames.plots.schema import GapBins, LatencyTimes, TokenSteps
from steer_nb.frames.plots.texts import cut, lane_names, only_lane
from steer_nb.frames.plots.thinning import thin_steps
from steer_nb.frames.plots.timeline import response_bars

if TYPE_CHECKING:
    from steer_nb.frames.metrics.measures import Tables

__all__ = ["gap_bins", "gap_spans", "latency_times", "token_rates", "token_steps"]

_MOST_STEPS: Final = 900
_MOST_DOTS: Final = 2_000
_PER_DECADE: Final = 8
_SMALLEST_S: Final = 1e-4
"""Gaps below it are counted with it: clocks and networks say no more, and a log scale has no 0."""


def _ended(tables: Tables, lane: str | None) -> pd.DataFrame:
    """Responses as the timeline has them: with a lane, a start and an end."""
    return response_bars(tables, lane).set_index(["trace_id", "response_id"])


def token_steps(tables: Tables, lane: str | None = None, most: int = _MOST_STEPS) -> pd.DataFrame:
    """Add up tokens by kind, each response counted once and when it ended.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with all of its tables.
    lane : str, optional
        Only that lane.
    most : int
        Steps to keep; the sums at those are true.

    Returns
    -------
    DataFrame
        The columns of `TokenSteps`, one row for each step and kind.

    Raises
    ------
    UnknownLane
        There is no lane of that name.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> token_steps(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames).shape
    (0, 3)
    """
    ended = _ended(tables, lane)
    used = counted_once(tables["responses"]).set_index(["trace_id", "response_id"])
    used = used[used.index.isin(ended.index)]
    times = ended["end_s"].reindex(used.index)
    known = {
        name: used[name].fillna(0).astype("int64")
        for name in (
            "input_tokens",
            "cached_tokens",
            "cache_write_tokens",
            "output_tokens",
            "reasoning_tokens",
        )
    }
    cached, written = known["cached_tokens"], known["cache_write_tokens"]
    plain = (known["input_tokens"] - cached - written).clip(lower=0)
    table = pd.DataFrame(
        {
            "t_s": times,
            "cached input": cached,
            "input": plain,
            "cache writes": written,
            "output": (known["output_tokens"] - known["reasoning_tokens"]).clip(lower=0),
            "reasoning": known["reasoning_tokens"],
        }
    )
    table = table.assign(t_s=table["t_s"].round(4)).sort_values("t_s", kind="stable")
    kinds = [str(word) for word in TokenSteps["kind"].dtype.categories]
    table[kinds] = table[kinds].cumsum()
    table = table.drop_duplicates("t_s", keep="last").reset_index(drop=True)
    table = table[thin_steps(table["t_s"], most)]
    if len(table):
        start = pd.DataFrame({"t_s": [0.0]} | {kind: [0] for kind in kinds})
        table = pd.concat([start, table], ignore_index=True)
        table = table.drop_duplicates("t_s", keep="last")
    long = table.melt("t_s", kinds, "kind", "tokens")
    return shaped(TokenSteps, {str(name): long[name] for name in long}, long.index)


def token_rates(
    tables: Tables, lane: str | None = None, most: int = 1_500
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Give each response's output tokens a second, over the time that it was written.

    Of more than `most`, the fastest and the slowest of each stretch of time are kept.

    Returns
    -------
    rates : DataFrame
        `lane`, `start_s`, `end_s`, `state`, `id`, `tokens`, `tokens_per_s`.
    facts : dict
        Of all responses: `n`, and `tokens_per_s`, all their tokens over all their seconds.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> rates, facts = token_rates(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames)
    >>> rates.shape, facts["n"]
    ((0, 7), 0.0)
    """
    frame = _ended(tables, lane)
    speeds = response_metrics(tables).set_index(["trace_id", "response_id"])["tokens_per_s"]
    frame = frame.assign(tokens_per_s=speeds[~speeds.index.duplicated()].reindex(frame.index))
    names = ["lane", "start_s", "end_s", "state", "id", "tokens", "tokens_per_s"]
    frame = frame.loc[frame["tokens_per_s"].notna(), names].reset_index(drop=True)
    seconds = float((frame["end_s"] - frame["start_s"]).sum())
    facts = {"n": float(len(frame))}
    facts["tokens_per_s"] = float(frame["tokens"].sum()) / seconds if seconds else float("nan")
    kept = frame[_extremes(frame["start_s"], frame["tokens_per_s"], most)]
    return kept.reset_index(drop=True), facts


def _extremes(times: pd.Series[Any], values: pd.Series[Any], most: int) -> np.ndarray[Any, Any]:
    """Choose the least and the largest value of each stretch of time."""
    if len(values) <= most:
        return np.ones(len(values), dtype=bool)
    start, span = times.min(), (times.max() - times.min()) or 1.0
    stretch = ((times - start) / span * (most // 2 - 1)).astype("int64")
    groups = values.groupby(stretch)
    return np.asarray(values.index.isin([*groups.idxmin(), *groups.idxmax()]), dtype=bool)


def gap_bins(
    tables: Tables, lane: str | None = None, *, stall_s: float = STALL_S
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Count the gaps between chunks by their length, in steps that grow by the same factor.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with `events` and `lanes`.
    lane : str, optional
        Only that lane.
    stall_s : float, default 1.0
        Seconds from which on a gap is a stall; a bin ends there.

    Returns
    -------
    bins : DataFrame
        The columns of `GapBins`; bins without gaps are left out.
    facts : dict
        `n`, `median_s`, `p95_s`, `longest_s`, `n_stalls`.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> gap_bins(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames)[1]["n"]
    0.0
    """
    gaps = _gaps(tables, lane, stall_s)
    seconds = gaps["gap_s"].clip(lower=0.0).to_numpy("float64")
    facts = {"n": float(len(seconds)), "n_stalls": float(gaps["stall"].sum())}
    if not len(seconds):
        return shaped(GapBins, {}, pd.RangeIndex(0)), facts
    facts |= {
        "median_s": float(np.median(seconds)),
        "p95_s": float(np.quantile(seconds, 0.95)),
        "longest_s": float(seconds.max()),
    }
    # Counted in steps from the stall, so that one edge lies exactly there.
    steps = np.log10(np.maximum(seconds, _SMALLEST_S) / stall_s) * _PER_DECADE
    place = np.floor(steps).astype("int64")
    place = np.where(seconds >= stall_s, np.maximum(place, 0), np.minimum(place, -1))
    found, counts = np.unique(place, return_counts=True)
    values = {
        "from_s": pd.Series(stall_s * 10.0 ** (found / _PER_DECADE)),
        "to_s": pd.Series(stall_s * 10.0 ** ((found + 1) / _PER_DECADE)),
        "n": pd.Series(counts),
        "stall": pd.Series(found >= 0),
    }
    return shaped(GapBins, values, pd.RangeIndex(len(found))), facts


def gap_spans(
    tables: Tables, lane: str | None = None, *, stall_s: float = STALL_S, most: int = 1_500
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Give the gaps of each response: the median, 95 of 100, and the longest.

    Of more than `most` responses, those with the longest and the shortest longest gap of each
    stretch of time are kept.

    Returns
    -------
    spans : DataFrame
        `lane`, `start_s`, `id`, `median_s`, `p95_s`, `longest_s`, `stalls`.
    facts : dict
        Of all responses: `n`.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> gap_spans(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames)[0].shape
    (0, 7)
    """
    measured = response_metrics(tables, stall_s=stall_s)
    measured = measured.drop_duplicates(["trace_id", "response_id"])
    measured = measured.set_index(["trace_id", "response_id"])
    frame = _ended(tables, lane)
    chosen = {
        "median_s": "chunk_gap_median_s",
        "p95_s": "chunk_gap_p95_s",
        "longest_s": "chunk_gap_max_s",
    }
    for name, column in chosen.items():
        frame[name] = measured[column].reindex(frame.index).clip(lower=_SMALLEST_S)
    frame["stalls"] = measured["n_stalls"].reindex(frame.index)
    names = ["lane", "start_s", "id", *chosen, "stalls"]
    frame = frame.loc[frame["median_s"].notna(), names].reset_index(drop=True)
    kept = frame[_extremes(frame["start_s"], frame["longest_s"], most)]
    return kept.reset_index(drop=True), {"n": float(len(frame))}


def _gaps(tables: Tables, lane: str | None, stall_s: float) -> pd.DataFrame:
    gaps = chunk_gaps(tables, stall_s=stall_s)
    names = lane_names(tables)
    if lane is None:
        return gaps
    return only_lane(gaps.assign(lane=gaps["lane_id"].astype(object).map(names)), lane, names)


def latency_times(
    tables: Tables, lane: str | None = None, most: int = _MOST_DOTS
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Give two spans for each steer: until it was accepted, and from there until committed.

    Of more than `most` spans, the shortest and the longest of each stretch of time are kept.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with `steers` and `lanes`.
    lane : str, optional
        Only that lane.
    most : int
        Spans of one kind to keep.

    Returns
    -------
    times : DataFrame
        The columns of `LatencyTimes`, as they were sent. A successor may come before the steer is
        accepted: such a span ends before it begins.
    facts : dict
        Of all steers: `n`, and the median seconds from sent to `accepted` and to `committed`.

    Raises
    ------
    UnknownLane
        There is no lane of that name.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> latency_times(Trace(Header(steer_nb=1, trace_id="0" * 32)).frames)[0].shape
    (0, 8)
    """
    steers = tables["steers"]
    names = lane_names(tables)
    steers = steers[steers["sent_s"].notna()].sort_values("sent_s", kind="stable")
    steers = steers.assign(lane=steers["lane_id"].astype(object).map(names))
    steers = only_lane(steers, lane, names).reset_index(drop=True)
    accepted = (steers["accepted_s"] - steers["sent_s"]).astype("float64")
    committed = (steers["committed_s"] - steers["sent_s"]).astype("float64")
    parts = []
    for what, start, end in (
        ("accepted", accepted * 0.0, accepted),
        ("committed", accepted.fillna(0.0), committed),
    ):
        known = end.notna()
        kept = known.copy()
        kept[known] = _extremes(steers.loc[known, "sent_s"], end[known], most)
        chosen = steers[kept]
        parts.append(
            pd.DataFrame(
                {
                    "lane": chosen["lane"].astype(object),
                    "steer": chosen["steer_key"].astype(object),
                    "sent_s": chosen["sent_s"],
                    "state": chosen["state"].astype(object),
                    "what": what,
                    "from_s": start[kept],
                    "to_s": end[kept],
                    "text": cut(chosen["input_text"]).astype(object),
                }
            )
        )
    frame = pd.concat(parts, ignore_index=True)
    frame = frame.sort_values(["sent_s", "steer"], kind="stable", ignore_index=True)
    facts = {"n": float((accepted.notna() | committed.notna()).sum())}
    facts |= {"accepted": float(accepted.median()), "committed": float(committed.median())}
    return shaped(LatencyTimes, {str(name): frame[name] for name in frame}, frame.index), facts
