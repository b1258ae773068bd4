"""Tokens, gaps and latencies as Altair charts."""

from __future__ import annotations

from typing import Any, Final

import altair as alt
import numpy as np
import pandas as pd

from steer_nb.frames.plots.charts import LayerChart, layered, rows, titled
from steer_nb.frames.plots.look import GREY, INK, MARKS, TOKENS
from steer_nb.frames.plots.texts import each

__all__ = [
    "draw_gap_spans",
    "draw_gaps",
    "draw_latencies",
    "draw_token_rates",
    "draw_tokens",
]

_LANES: Final = (
    "#2a9d78",
    "#7466e0",
    "#d9962b",
    "#4a90c4",
    "#d1495b",
    "#7d8590",
    "#8fc9b3",
    "#c583b8",
)
_SHAPES: Final = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")
_FEW_STEERS: Final = 24
_SECONDS: Final = "seconds since the trace began"
_STALL: Final = "#d1495b"
_ACCEPTED: Final = "#b3abf0"
_COMMITTED: Final = MARKS["steer"][0]
_LOW: Final = 190


def _x(name: str, title: str, **more: Any) -> alt.X:
    return alt.X(name, type="quantitative", axis=alt.Axis(title=title, tickCount=8), **more)


def _y(name: str, title: str, *, scale: Any = alt.Undefined) -> alt.Y:
    axis = alt.Axis(title=title, tickCount=5, domain=False, ticks=False)
    return alt.Y(name, type="quantitative", axis=axis, scale=scale)


def _legend(**more: Any) -> alt.Legend:
    return alt.Legend(title=None, direction="horizontal", columns=4, columnPadding=14, **more)


def _nothing(width: int, said: str) -> LayerChart:
    """Say in place of a picture why there is none."""
    words = alt.Chart(rows({"said": said})).mark_text(color=INK, fontSize=12, align="left")
    words = words.encode(x=alt.value(0), y=alt.value(12), text=alt.Text("said", type="nominal"))
    return layered(words, width=width, height=24, description=said)


def _log(low: float, high: float) -> alt.Scale:
    return alt.Scale(type="log", domain=[low, high], nice=False)


def _log_axis(title: str, low: float, high: float, **more: Any) -> alt.Axis:
    """An axis of times on a log scale, with as many ticks as can be read."""
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    steps = (1, 2, 5) if last - first <= 3 else (1,)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    shown = [tick for tick in ticks if low <= tick <= high]
    return alt.Axis(title=title, values=shown, labelExpr=_TIME_LABELS, **more)


def _seconds(value: float) -> str:
    """Say a short time in its own unit."""
    if 0 < value < 1e-3:
        return f"{value * 1e6:.0f} µs"
    if value < 1.0:
        return f"{value * 1e3:.3g} ms"
    return f"{value:,.3g} s"


_TIME_LABELS: Final = (
    "datum.value < 0.001 ? format(datum.value * 1000000, ',') + ' µs' : "
    "datum.value < 1 ? format(datum.value * 1000, ',') + ' ms' : format(datum.value, ',') + ' s'"
)


def draw_tokens(steps: pd.DataFrame, *, width: int) -> LayerChart:
    """Draw what `token_steps` added up: steps that lie on each other."""
    last = steps.groupby("kind", observed=True)["tokens"].last()
    kinds = [kind for kind in TOKENS if last.get(kind, 0) > 0]
    if not kinds:
        return _nothing(width, "No response of this trace tells how many tokens it used.")
    end = float(steps["t_s"].max()) * 1.03 or 1.0  # so that one sees the last step, too
    steps = pd.concat([steps, steps.groupby("kind", observed=True).tail(1).assign(t_s=end)])
    values = [
        {
            "t": round(row.t_s, 4),
            "kind": row.kind,
            "tokens": int(row.tokens),
            "at": kinds.index(row.kind),
        }
        for row in each(steps)
        if row.kind in kinds
    ]
    areas = (
        alt.Chart(rows(*values))
        .mark_area(interpolate="step-after", line=False, tooltip=True)
        .encode(
            x=_x("t", _SECONDS, scale=alt.Scale(nice=False)),
            y=_y("tokens", "tokens so far").stack("zero"),
            color=alt.Color(
                "kind",
                type="nominal",
                scale=alt.Scale(domain=kinds, range=[TOKENS[kind] for kind in kinds]),
                legend=_legend(symbolType="square"),
            ),
            order=alt.Order("at", type="quantitative"),
            tooltip=[
                alt.Tooltip("kind", type="nominal"),
                alt.Tooltip("t", type="quantitative", title="at (s)"),
                alt.Tooltip("tokens", type="quantitative", title="tokens so far", format=","),
            ],
        )
    )
    total = int(last.sum())
    told = ", ".join(f"{int(last[kind]):,} {kind}" for kind in kinds)
    return layered(
        areas,
        width=width,
        height=_LOW,
        title=titled(f"{total:,} tokens: {told}", []),
        description=f"Tokens over time: {total:,}: {told}",
    )


def draw_token_rates(rates: pd.DataFrame, facts: dict[str, float], *, width: int) -> LayerChart:
    """Draw what `token_rates` gave: one line for each response, as long as it was written."""
    if not len(rates):
        return _nothing(width, "No response of this trace tells how many tokens it wrote a second.")
    values = [
        {
            "x": round(row.start_s, 3),
            "x2": round(row.end_s, 3),
            "y": round(row.tokens_per_s, 2),
            "lane": row.lane,
            "state": row.state,
            "tokens": int(row.tokens),
        }
        for row in each(rates)
    ]
    lines = (
        alt.Chart(rows(*values))
        .mark_rule(strokeWidth=4, strokeCap="round")
        .encode(
            x=_x("x", _SECONDS, scale=alt.Scale(nice=False)),
            x2="x2",
            y=_y("y", "output tokens a second"),
            color=_lane_color(rates),
            tooltip=[
                alt.Tooltip("lane", type="nominal"),
                alt.Tooltip("state", type="nominal"),
                alt.Tooltip("y", type="quantitative", title="tokens/s", format=",.1f"),
                alt.Tooltip("tokens", type="quantitative", format=","),
            ],
        )
    )
    every = int(facts["n"])
    said = f"{facts['tokens_per_s']:,.0f} output tokens a second, of {every:,} responses together"
    return layered(
        lines,
        width=width,
        height=_LOW,
        title=titled(said, _fewer(len(rates), every, "responses", "fastest and slowest")),
        description=f"Speed: {said}",
    )


def _fewer(shown: int, every: int, what: str, which: str) -> list[str]:
    """Say that not all are drawn, and which are."""
    return [] if shown == every else [f"{shown:,} {what} are drawn: the {which} of each moment"]


def _lanes(frame: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(frame["lane"]))


def _lane_color(frame: pd.DataFrame) -> alt.Color:
    """Colours for a few lanes; one for many, which the hover tells apart."""
    lanes = _lanes(frame)
    few = len(lanes) <= len(_LANES)
    colors = list(_LANES[: len(lanes)]) if few else [_LANES[0]] * len(lanes)
    legend = _legend() if few and len(lanes) > 1 else None
    scale = alt.Scale(domain=lanes, range=colors)
    return alt.Color("lane", type="nominal", scale=scale, legend=legend)


def draw_gaps(
    bins: pd.DataFrame, facts: dict[str, float], *, stall_s: float, width: int
) -> LayerChart:
    """Draw what `gap_bins` counted; stalls are marked, however few they are."""
    if not len(bins):
        return _nothing(width, "No response of this trace has two chunks with a time.")
    values = [
        {
            "from": row.from_s,
            "to": row.to_s,
            "n": int(row.n),
            "kind": "stall" if row.stall else "gap",
            "length": f"{_seconds(row.from_s)} to {_seconds(row.to_s)}",
        }
        for row in each(bins)
    ]
    low = float(bins["from_s"].min())
    high = max(float(bins["to_s"].max()), stall_s * 1.2)
    tooltip = [
        alt.Tooltip("length", type="nominal"),
        alt.Tooltip("n", type="quantitative", title="gaps", format=","),
    ]
    x = alt.X(
        "from",
        type="quantitative",
        scale=_log(low, high),
        axis=_log_axis("between two chunks", low, high),
    )
    color = alt.Color(
        "kind",
        type="nominal",
        scale=alt.Scale(domain=["gap", "stall"], range=[_LANES[0], _STALL]),
        legend=None,
    )
    bars = (
        alt.Chart(rows(*values))
        .mark_rect(x2Offset=-1)
        .encode(x=x, x2="to", y=_y("n", "gaps"), y2=alt.datum(0), color=color, tooltip=tooltip)
    )
    stalls = [value for value in values if value["kind"] == "stall"]
    marks = (
        alt.Chart(rows(*stalls))
        .mark_point(filled=True, shape="triangle-down", size=60, opacity=1, yOffset=-7)
        .encode(x=x, y=_y("n", "gaps"), color=color, tooltip=tooltip)
    )
    rule = (
        alt.Chart(rows({"from": stall_s}))
        .mark_rule(color=_STALL, strokeDash=[3, 3])
        .encode(x=alt.X("from", type="quantitative"))
    )
    said = (
        f"{int(facts['n']):,} gaps, half of them below {_seconds(facts['median_s'])}, "
        f"95 of 100 below {_seconds(facts['p95_s'])}, the longest {_seconds(facts['longest_s'])}"
    )
    n = int(facts["n_stalls"])
    stalled = f"{n:,} stall{'' if n == 1 else 's'} of {stall_s:g} s or more"
    return layered(
        bars,
        rule,
        marks,
        width=width,
        height=_LOW,
        title=titled(said, [stalled]),
        description=f"Gaps between chunks: {said}; {stalled}",
    )


def draw_gap_spans(
    spans: pd.DataFrame, facts: dict[str, float], *, stall_s: float, width: int
) -> LayerChart:
    """Draw what `gap_spans` gave: for each response the median, 95 of 100, and the longest."""
    if not len(spans):
        return _nothing(width, "No response of this trace has two chunks with a time.")
    values = [
        {
            "x": round(row.start_s, 3),
            "median": row.median_s,
            "p95": row.p95_s,
            "longest": row.longest_s,
            "kind": "longest, a stall" if row.longest_s >= stall_s else "longest",
            "lane": row.lane,
        }
        for row in each(spans)
    ]
    low, high = float(spans["median_s"].min()) / 1.5, float(spans["longest_s"].max()) * 1.5
    scale = _log(low, high)
    axis = _log_axis("between chunks", low, high, domain=False, ticks=False)
    tooltip = [
        alt.Tooltip("lane", type="nominal"),
        *(alt.Tooltip(n, type="quantitative", format=".4f") for n in ("median", "p95", "longest")),
    ]
    base = alt.Chart(rows(*values)).encode(
        x=_x("x", f"a response's beginning, {_SECONDS}"), tooltip=tooltip
    )
    y = alt.Y("median", type="quantitative", scale=scale, axis=axis)
    kinds = [
        kind for kind in ("longest", "longest, a stall") if kind in {v["kind"] for v in values}
    ]
    colors, shapes = [GREY, _STALL][: len(kinds)], ["circle", "triangle-down"][: len(kinds)]
    if kinds == ["longest, a stall"]:
        colors, shapes = [_STALL], ["triangle-down"]
    legend = _legend()
    layers = (
        base.mark_rule(color=_LANES[0], strokeWidth=3).encode(y=y, y2="p95"),
        base.mark_point(filled=True, opacity=1, size=34).encode(
            y=alt.Y("longest", type="quantitative", scale=scale),
            color=alt.Color(
                "kind",
                type="nominal",
                scale=alt.Scale(domain=kinds, range=colors),
                legend=legend,
            ),
            shape=alt.Shape(
                "kind",
                type="nominal",
                scale=alt.Scale(domain=kinds, range=shapes),
                legend=legend,
            ),
        ),
    )
    every = int(facts["n"])
    less = _fewer(len(spans), every, "responses", "longest and shortest")
    said = f"{every:,} responses: lines from the median gap to that which 95 of 100 are below"
    return layered(
        *layers,
        width=width,
        height=_LOW,
        title=titled(said, less),
        description=f"Gaps of responses: {said}",
    )


def draw_latencies(times: pd.DataFrame, facts: dict[str, float], *, width: int) -> LayerChart:
    """Draw what `latency_times` gave: a line for each of a few steers, dots for many."""
    if not len(times):
        return _nothing(width, "No steer of this trace was accepted or committed.")
    steers = int(facts["n"])
    few = steers <= _FEW_STEERS
    found = [word for word in ("accepted", "committed") if (times["what"] == word).any()]
    told = ", ".join(f"{word} after {_seconds(facts[word])}" for word in found)
    said = f"{steers:,} steers" if steers != 1 else "1 steer"
    said = f"{said}: {told}{' (medians)' if steers > 1 else ''}"
    scale = alt.Scale(
        domain=found,
        range=[{"accepted": _ACCEPTED, "committed": _COMMITTED}[word] for word in found],
    )
    color = alt.Color("what", type="nominal", scale=scale, legend=_legend())
    draw = _latency_bars if few else _latency_dots
    shown = int(times["what"].value_counts().max())
    less = (
        [f"{shown:,} are drawn: the fastest and slowest of each moment"] if shown < steers else []
    )
    return layered(
        *draw(times, color),
        width=width,
        height=alt.Step(24) if few else _LOW,
        title=titled(said, [] if few else less),
        description=f"Latencies of steers: {said}",
    )


def _latency_rows(times: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {
            "steer": f"{row.lane} · {row.steer}",
            "sent": round(row.sent_s, 3),
            "from": round(row.from_s, 4),
            "to": round(row.to_s, 4),
            "what": row.what,
            "after": _seconds(row.to_s),
            "text": row.text or "",
        }
        for row in each(times)
    ]


def _tooltips() -> list[alt.Tooltip]:
    titles = {"steer": "steer", "text": "said", "what": "what", "after": "after it was sent"}
    return [alt.Tooltip(name, type="nominal", title=title) for name, title in titles.items()]


def _latency_bars(times: pd.DataFrame, color: alt.Color) -> tuple[alt.Chart, ...]:
    values = _latency_rows(times)
    order = list(dict.fromkeys(value["steer"] for value in values))
    axis = alt.Axis(title=None, labelLimit=220, labelPadding=6, domain=False, ticks=False)
    y = alt.Y("steer", type="nominal", sort=order, axis=axis)
    base = alt.Chart(rows(*values)).encode(y=y, color=color, tooltip=_tooltips())
    bars = base.mark_bar(height=9).encode(x=_x("from", "seconds after it was sent"), x2="to")
    ends = base.mark_point(filled=True, size=45, opacity=1).encode(
        x=alt.X("to", type="quantitative"), shape=_latency_shape()
    )
    return bars, ends


def _latency_shape() -> alt.Shape:
    scale = alt.Scale(domain=["accepted", "committed"], range=["circle", "triangle-right"])
    return alt.Shape("what", type="nominal", scale=scale, legend=None)


def _latency_dots(times: pd.DataFrame, color: alt.Color) -> tuple[alt.Chart, ...]:
    short = times.assign(text=times["text"].str.slice(0, 80), to_s=times["to_s"].clip(lower=1e-4))
    low, high = float(short["to_s"].min()) / 1.3, float(short["to_s"].max()) * 1.3
    axis = _log_axis("after it was sent", low, high, domain=False, ticks=False)
    dots = (
        alt.Chart(rows(*_latency_rows(short)))
        .mark_point(filled=True, size=22, opacity=0.75)
        .encode(
            x=_x("sent", f"sent, {_SECONDS}", scale=alt.Scale(nice=False)),
            y=alt.Y("to", type="quantitative", scale=_log(low, high), axis=axis),
            color=color,
            shape=_latency_shape(),
            tooltip=_tooltips(),
        )
    )
    return (dots,)
