"""The essentials of a trace on one screen."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from steer_nb.frames.arrays import frame_of
from steer_nb.frames.columns import FLOAT, TEXT, Column, Columns
from steer_nb.frames.metrics.measures import (
    STALL_S,
    chunk_gaps,
    response_metrics,
    steer_metrics,
    wait_metrics,
)
from steer_nb.frames.metrics.usage import usage_totals, used_of
from steer_nb.frames.sets import joined_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steer_nb.frames.metrics.measures import Tables
    from steer_nb.frames.metrics.prices import PriceTable

__all__ = [
    "Essence",
    "SummaryColumns",
    "essence_of",
    "put_together",
    "summary_from",
    "summary_of",
]

SummaryColumns: Final = Columns(
    "Summary",
    "summary",
    (
        Column("metric", TEXT, "What was measured."),
        Column("value", FLOAT, "How much; null where nothing of the kind happened."),
        Column("unit", TEXT, "Of what: s, tokens, tokens/s, characters, or what is counted."),
        Column("meaning", TEXT, "How it is defined."),
    ),
)


_COUNTED: Final = ("events", "lanes", "connections", "problems")
_RESPONSES: Final = ["status", "incomplete_reason"]
_MEASURED: Final = [
    "time_to_first_chunk_s",
    "time_to_first_text_s",
    "tokens_per_s",
    "output_tokens",
    "duration_s",
]
_STEERS: Final = ["state", "ack_latency_s", "commit_latency_s", "characters_after_send"]
_WAITS: Final = ["filled_by", "person_s", "tool_s"]
_CALLS: Final = ["owner", "wait_s"]


@dataclass(frozen=True)
class Essence:
    """What a summary is made of: of some traces, or, put together, of all.

    Attributes
    ----------
    counts : dict of str to int
        How many rows the tables have of which no more is needed.
    spans : Series
        Seconds from the first message to the last, by trace.
    responses, measured, gaps, steers, waits, calls, used : DataFrame
        The few columns of tables and metrics that are looked at.
    """

    counts: dict[str, int]
    spans: pd.Series[Any]
    responses: pd.DataFrame
    measured: pd.DataFrame
    gaps: pd.DataFrame
    steers: pd.DataFrame
    waits: pd.DataFrame
    calls: pd.DataFrame
    used: pd.DataFrame


_FRAMES: Final = ("responses", "measured", "gaps", "steers", "waits", "calls", "used")


def essence_of(tables: Tables, *, stall_s: float = STALL_S) -> Essence:
    """Take from tables what a summary needs, which is far less than they hold.

    Raises
    ------
    InvalidInput
        `stall_s` is none.
    """
    events, responses = tables["events"], tables["responses"]
    times = events["t_s"].groupby(events["trace_id"])
    return Essence(
        {name: len(tables[name]) for name in _COUNTED},
        times.max() - times.min(),
        responses[_RESPONSES],
        response_metrics(tables, stall_s=stall_s)[_MEASURED],
        chunk_gaps(tables, stall_s=stall_s)[["gap_s", "stall"]],
        steer_metrics(tables)[_STEERS],
        wait_metrics(tables)[_WAITS],
        tables["tool_calls"][_CALLS],
        used_of(tables),
    )


def put_together(parts: Sequence[Essence]) -> Essence:
    """Put together what was taken from several traces each, in their order."""
    if len(parts) == 1:
        return parts[0]
    counts = {name: sum(part.counts[name] for part in parts) for name in _COUNTED}
    # Sorted as if they had been grouped at once: a sum of floats depends on its order.
    spans = pd.concat([part.spans for part in parts if len(part.spans)] or [parts[0].spans])
    frames = [joined_all([getattr(part, name) for part in parts]) for name in _FRAMES]
    return Essence(counts, spans.sort_index(), *frames)


@dataclass(frozen=True)
class _Parts(Essence):
    """An essence, and the totals that follow from it."""

    usage: pd.DataFrame


def summary_of(
    tables: Tables,
    *,
    prices: PriceTable | None = None,
    stall_s: float = STALL_S,
) -> pd.DataFrame:
    """Give the essentials: what happened, how fast, who waited for whom, what it cost.

    Parameters
    ----------
    tables : Tables
        ``trace.frames``, or a mapping with all of its tables.
    prices : mapping, DataFrame or Prices, optional
        See `Prices`; without them no cost is given.
    stall_s : float, default 1.0
        Seconds from which on a gap between two chunks is a stall.

    Returns
    -------
    DataFrame
        One row for each metric, always the same ones in the same order, with its value, its unit
        and its definition; the row `cost` only where prices are given.

    Raises
    ------
    InvalidInput
        `prices` or `stall_s` is none.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> summary = Trace(Header(steer_nb=1, trace_id="0" * 32)).summary()
    >>> summary.set_index("metric")["value"]["responses"]
    np.float64(0.0)
    """
    return summary_from(essence_of(tables, stall_s=stall_s), prices=prices)


def summary_from(essence: Essence, *, prices: PriceTable | None = None) -> pd.DataFrame:
    """Give the summary of what was put together; see `summary_of`.

    Raises
    ------
    InvalidInput
        `prices` is no table of prices.
    """
    usage = usage_totals({"responses": essence.used}, prices=prices)
    parts = _Parts(**{f.name: getattr(essence, f.name) for f in fields(essence)}, usage=usage)
    rows = [(name, read(parts), unit, doc) for name, unit, doc, read in _METRICS]
    if prices is not None:
        rows.append(("cost", _sum(parts.usage["cost"]), "currency of the prices", _COST))
    values = {name: [row[at] for row in rows] for at, name in enumerate(SummaryColumns.names)}
    return frame_of(SummaryColumns, values)


_COST: Final = "of all responses whose model has a price, each counted once"


def _count(frame: pd.DataFrame, **wanted: str) -> float:
    chosen = pd.Series(data=True, index=frame.index)
    for column, word in wanted.items():
        chosen &= (frame[column] == word).fillna(value=False).astype(bool)
    return float(chosen.sum())


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)


def _median(values: pd.Series[Any]) -> float | None:
    return _number(values.dropna().astype(FLOAT).median())


def _p95(values: pd.Series[Any]) -> float | None:
    return _number(values.dropna().astype(FLOAT).quantile(0.95))


def _largest(values: pd.Series[Any]) -> float | None:
    return _number(values.dropna().astype(FLOAT).max())


def _sum(values: pd.Series[Any]) -> float | None:
    known = values.dropna()
    return float(known.sum()) if len(known) else None


def _speed(parts: _Parts) -> float | None:
    """All tokens over all seconds: a short response does not count as much as a long one."""
    timed = parts.measured[parts.measured["tokens_per_s"].notna()]
    return _sum(timed["output_tokens"] / timed["duration_s"].sum()) if len(timed) else None


def _service_time(calls: pd.DataFrame) -> float | None:
    return _sum(calls.loc[calls["owner"] == "server", "wait_s"])


Metric = tuple[str, str, str, "Callable[[_Parts], float | None]"]

_METRICS: Final[tuple[Metric, ...]] = (
    ("span", "s", "from the first message to the last, of each trace", lambda p: _sum(p.spans)),
    (
        "connections",
        "connections",
        "sockets that were opened",
        lambda p: float(p.counts["connections"]),
    ),
    ("lanes", "lanes", "on each connection", lambda p: float(p.counts["lanes"])),
    ("events", "events", "messages in both directions", lambda p: float(p.counts["events"])),
    ("problems", "problems", "oddities, kept", lambda p: float(p.counts["problems"])),
    ("responses", "responses", "all of them", lambda p: float(len(p.responses))),
    (
        "completed",
        "responses",
        "that ended as completed",
        lambda p: _count(p.responses, status="completed"),
    ),
    (
        "steered",
        "responses",
        "that ended as incomplete because they were steered",
        lambda p: _count(p.responses, status="incomplete", incomplete_reason="steered"),
    ),
    (
        "failed",
        "responses",
        "that ended as failed, with an error, or with their connection",
        lambda p: sum(_count(p.responses, status=w) for w in ("failed", "error", "truncated")),
    ),
    (
        "time to first chunk, median",
        "s",
        "from a request to its response's first delta",
        lambda p: _median(p.measured["time_to_first_chunk_s"]),
    ),
    (
        "time to first text, median",
        "s",
        "from a request to its response's first output text",
        lambda p: _median(p.measured["time_to_first_text_s"]),
    ),
    (
        "time to first text, p95",
        "s",
        "95 of 100 were faster",
        lambda p: _p95(p.measured["time_to_first_text_s"]),
    ),
    (
        "tokens a second",
        "tokens/s",
        "output tokens over the time from creation to end, of all responses together",
        _speed,
    ),
    (
        "chunk gap, median",
        "s",
        "between two deltas of a response",
        lambda p: _median(p.gaps["gap_s"]),
    ),
    ("chunk gap, p95", "s", "95 of 100 were shorter", lambda p: _p95(p.gaps["gap_s"])),
    ("chunk gap, longest", "s", "of all", lambda p: _largest(p.gaps["gap_s"])),
    (
        "stalls",
        "gaps",
        "of stall_s seconds or more",
        lambda p: float(p.gaps["stall"].sum()),
    ),
    ("steers", "steers", "all of them", lambda p: float(len(p.steers))),
    (
        "steers committed",
        "steers",
        "whose successor was created",
        lambda p: _count(p.steers, state="committed"),
    ),
    ("steers failed", "steers", "that were refused", lambda p: _count(p.steers, state="failed")),
    (
        "steers unknown",
        "steers",
        "whose outcome was lost with a connection",
        lambda p: _count(p.steers, state="unknown"),
    ),
    (
        "steer acknowledged, median",
        "s",
        "from sent to accepted",
        lambda p: _median(p.steers["ack_latency_s"]),
    ),
    (
        "steer committed, median",
        "s",
        "from accepted to committed",
        lambda p: _median(p.steers["commit_latency_s"]),
    ),
    (
        "text after a steer, median",
        "characters",
        "that the steered response still wrote after it was sent",
        lambda p: _median(p.steers["characters_after_send"]),
    ),
    (
        "required inputs",
        "required inputs",
        "that responses asked for",
        lambda p: float(len(p.waits)),
    ),
    (
        "answers by people",
        "required inputs",
        "that a person filled",
        lambda p: _count(p.waits, filled_by="user"),
    ),
    (
        "a person's answer, median",
        "s",
        "from when it was asked for, without the time of functions",
        lambda p: _median(p.waits["person_s"]),
    ),
    ("people's time", "s", "of all their answers", lambda p: _sum(p.waits["person_s"])),
    ("functions' time", "s", "of all that ran here", lambda p: _sum(p.waits["tool_s"])),
    (
        "service tools' time",
        "s",
        "of all calls that the service ran",
        lambda p: _service_time(p.calls),
    ),
    (
        "input tokens",
        "tokens",
        "each response counted once",
        lambda p: _sum(p.usage["input_tokens"]),
    ),
    (
        "cached tokens",
        "tokens",
        "those of them from the prompt cache",
        lambda p: _sum(p.usage["cached_tokens"]),
    ),
    (
        "output tokens",
        "tokens",
        "each response counted once",
        lambda p: _sum(p.usage["output_tokens"]),
    ),
    (
        "reasoning tokens",
        "tokens",
        "those of them that were reasoning",
        lambda p: _sum(p.usage["reasoning_tokens"]),
    ),
)
