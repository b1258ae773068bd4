"""The timeline as an Altair chart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import altair as alt

from steer_nb.frames.plots.charts import LayerChart, layered, rows, titled
from steer_nb.frames.plots.layout import Axis, Places, Unit
from steer_nb.frames.plots.look import CALLS, GREY, INK, ITEMS, MARKS, RESPONSES
from steer_nb.frames.plots.texts import each
from steer_nb.frames.plots.thinning import thin_timeline
from steer_nb.wire.naming import short_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pandas as pd

__all__ = ["draw_timeline"]

_FEW_ROWS: Final = 800
_SHORT: Final = 80
"""Characters of a hover's text where there are many."""
_NARROW: Final = 12
"""Lanes from which on rows are low, and hold responses only."""


def draw_timeline(frame: pd.DataFrame, *, unit: Unit, width: int) -> LayerChart:
    """Draw what `timeline_frame` listed.

    Parameters
    ----------
    frame : DataFrame
        Of `timeline_frame`.
    unit : str
        What the axis shows: ``seconds``, the time of day in ``UTC``, or the places of ``messages``
        in a recording that has no times.
    width : int
        Pixels of the time axis.
    """
    frame, notes = thin_timeline(frame)
    lanes = list(dict.fromkeys(frame["lane"]))
    low = len(lanes) > _NARROW
    if low and (frame["kind"] == "item").any():
        n = int((frame["kind"] == "item").sum())
        frame = frame[frame["kind"] != "item"]
        notes.append(f"without {n:,} items")
    if (frame["n"] > 1).any() or low:
        notes.append("ask for one lane to see more")
    places = Places(frame, lanes, low=low)
    x = Axis(frame, unit)
    said = _said(frame, lanes, unit)
    bars = {str(kind): part for kind, part in frame.groupby("kind", observed=True)}
    none = frame.iloc[:0]
    responses = bars.get("response", none)
    layers = [
        _floor(places),
        _bars(bars.get("request", none), places, places.request, x, {"request": GREY}),
        _bars(responses, places, places.response, x, {k: v[0] for k, v in RESPONSES.items()}),
        _ends(responses, places, x),
        _bars(bars.get("item", none), places, places.item, x, ITEMS, "items"),
        _bars(bars.get("call", none), places, places.call, x, CALLS, "calls wait for"),
        _breaks(bars.get("close", none), places, x),
        _links(frame, places, x),
        _marks(frame, places, x),
    ]
    drawn = [layer for layer in layers if layer is not None]
    if len(drawn) > 1:
        drawn[1] = drawn[1].add_params(_zoom())
    chart: LayerChart = layered(
        *drawn,
        width=width,
        height=places.height,
        title=titled(said, notes),
        description=f"Timeline: {said}",
    ).resolve_scale(color="independent", shape="independent", stroke="independent")
    return chart


def _said(frame: pd.DataFrame, lanes: list[str], unit: Unit) -> str:
    """The picture in one line: its title, and what is told where it cannot be seen."""
    if not len(frame):
        return "Nothing has happened in this trace."
    counts = frame.groupby("kind", observed=True)["n"].sum()
    told = [_many(len(lanes), "lane") if len(lanes) > 1 else lanes[0]]
    told += [_many(int(counts[kind]), kind) for kind in ("response", "steer") if kind in counts]
    span = frame[["start_s", "end_s"]].max().max() - frame["start_s"].min()
    long = f"{span + 1:,.0f} messages" if unit == "messages" else f"{span:,.1f} s"
    return f"{', '.join(told)} in {long}"


def _many(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _y(places: Places, name: str) -> alt.Y:
    scale = alt.Scale(domain=[0, places.height], reverse=True, nice=False, zero=False)
    return alt.Y(name, type="quantitative", scale=scale, axis=None)


def _long(value: float, unit: Unit) -> str:
    return f"{value:,.0f} messages" if unit == "messages" else f"{value:.3f} s"


def _hover(row: Any, seconds: float | None, most: int, unit: Unit) -> dict[str, Any]:
    """What one reads by pointing at it: words only, and only those that are known."""
    known = {
        "what": row.kind if row.state == row.kind else f"{row.kind}, {row.state}",
        "lane": row.lane,
        "stands for": f"{row.n:,}" if row.n > 1 else None,
        "id": row.id,
        "response": None if row.kind in ("response", "request") else row.response_id,
        "name": None if row.name == row.state else row.name,
        "agent": row.agent_name,
        "model": row.model,
        "tokens": None if row.tokens is None else int(row.tokens),
        "at": _long(row.start_s, unit),
        "took": None if seconds is None else _long(seconds, unit) + " so far" * bool(row.ongoing),
        "text": row.text,
    }
    found = {key: value for key, value in known.items() if value is not None}
    for key in ("id", "response"):
        if key in found:
            found[key] = short_id(str(found[key]))
    if len(found.get("text", "")) > most:
        found["text"] = found["text"][: most - 1] + "…"
    return found


def _zoom() -> alt.Parameter:
    """Drag to move; a wheel alone scrolls the page, as ever."""
    return alt.selection_interval(
        bind="scales", encodings=["x"], zoom="wheel![event.ctrlKey || event.altKey]"
    )


def _floor(places: Places) -> alt.Chart:
    """The names of lanes."""
    names = [{"lane": lane, "y": places.middle(lane)} for lane in places.top]
    chart: alt.Chart = (
        alt.Chart(rows(*names))
        .mark_text(
            clip=False, align="right", dx=-8, limit=200, color=INK, fontSize=12, fontWeight=600
        )
        .encode(x=alt.value(0), y=_y(places, "y"), text=alt.Text("lane", type="nominal"))
    )
    return chart


def _bars(
    frame: pd.DataFrame,
    places: Places,
    place: Callable[[str, int], tuple[int, int]],
    x: Axis,
    colors: dict[str, str],
    legend: str | None = None,
) -> alt.Chart | None:
    """One layer of bars: waiting for a person is hollow, and so is what goes on, and dashed."""
    if not len(frame):
        return None
    most = 300 if len(frame) <= _FEW_ROWS else _SHORT
    values = []
    for row in each(frame):
        top, bottom = place(row.lane, row.level or 0)
        values.append(
            {
                "x": x.at(row, row.start_s),
                "x2": x.at(row, row.end_s),
                "y": top,
                "y2": bottom,
                "state": row.state,
                "hover": _hover(row, row.end_s - row.start_s, most, x.unit),
            }
            | ({"open": 1} if row.ongoing else {})
            | ({"hollow": 1} if row.state == "person" else {})
        )
    domain = [state for state in colors if (frame["state"] == state).any()]
    domain += [state for state in dict.fromkeys(frame["state"]) if state not in colors]
    scale = alt.Scale(domain=domain, range=[colors.get(state, GREY) for state in domain])
    told = None if legend is None else _legend(legend, symbolType="square")
    color = alt.Color(
        "state",
        type="nominal",
        scale=scale,
        legend=told,
    )
    chart: alt.Chart = (
        alt.Chart(rows(*values))
        .mark_rect(
            clip=True,
            strokeWidth=1,
            x2Offset=-2,  # what touches is kept apart by it, and what took no time has a width
            fillOpacity={"expr": "datum.open || datum.hollow ? 0 : 1"},
            strokeDash={"expr": "datum.open ? [3, 2] : [1, 0]"},
        )
        .encode(
            x=x.channel(),
            x2="x2",
            y=_y(places, "y"),
            y2="y2",
            color=color,
            tooltip=_shown(),
            stroke=alt.Stroke("state", type="nominal", scale=scale, legend=told),
        )
    )
    return chart


def _legend(title: str, **more: Any) -> alt.Legend:
    return alt.Legend(title=title, symbolSize=70, symbolStrokeWidth=0, symbolOpacity=1, **more)


def _shown() -> alt.TooltipValue:
    """Show the hover of a row: an object, which becomes a table of its keys, each plain text.

    It is an encoding and no property of the mark: else Vega-Lite before 5.9 takes no notice of a
    pointer in layers without the zoom.
    """
    return alt.TooltipValue(alt.ExprRef("datum.hover"))


def _word(row: Any) -> str:
    """What kind of mark it is, in the words of the legend."""
    if row.kind == "steer" and row.state in ("failed", "unknown"):
        return f"steer {row.state}"
    if row.kind == "close":
        return "connection renewed" if row.state == "client" else "connection lost"
    return str(row.kind)


def _links(frame: pd.DataFrame, places: Places, x: Axis) -> alt.Chart | None:
    """From where a steer was sent to where it was committed, failed, or got lost."""
    steers = frame[(frame["kind"] == "steer") & (frame["n"] == 1)]
    if not len(steers):
        return None
    values = [
        {
            "x": x.at(row, row.start_s),
            "x2": x.at(row, row.end_s),
            "y": places.mark(row.lane),
            "mark": _word(row),
        }
        | ({"open": 1} if row.state != "committed" else {})
        for row in each(steers)
    ]
    domain = list(MARKS)
    scale = alt.Scale(domain=domain, range=[MARKS[mark][0] for mark in domain])
    chart: alt.Chart = (
        alt.Chart(rows(*values))
        .mark_rule(
            clip=True,
            strokeWidth=1.5,
            strokeDash={"expr": "datum.open ? [2, 2] : [1, 0]"},
        )
        .encode(
            x=x.channel(),
            x2="x2",
            y=_y(places, "y"),
            color=alt.Color("mark", type="nominal", scale=scale, legend=None),
        )
    )
    return chart


def _breaks(frame: pd.DataFrame, places: Places, x: Axis) -> alt.Chart | None:
    """Where a lane's connection ended: a line through the whole row."""
    if not len(frame):
        return None
    values = [
        {
            "x": x.at(row, row.start_s),
            "y": places.top[row.lane],
            "y2": places.bottom[row.lane],
            "mark": _word(row),
        }
        for row in each(frame)
    ]
    domain = ["connection lost", "connection renewed"]
    scale = alt.Scale(domain=domain, range=[MARKS[mark][0] for mark in domain])
    chart: alt.Chart = (
        alt.Chart(rows(*values))
        .mark_rule(clip=True, strokeDash=[3, 3])
        .encode(
            x=x.channel(),
            y=_y(places, "y"),
            y2="y2",
            color=alt.Color("mark", type="nominal", scale=scale, legend=None),
        )
    )
    return chart


def _looks(
    field: str, looks: Mapping[str, tuple[str, str]], domain: list[str], title: str
) -> dict[str, Any]:
    """Tell words apart by colour and by shape, in one legend of those that are there."""
    colors, shapes = zip(*(looks[word] for word in domain), strict=True)
    legend = _legend(title)
    return {
        "color": alt.Color(
            field,
            type="nominal",
            scale=alt.Scale(domain=domain, range=list(colors)),
            legend=legend,
        ),
        "shape": alt.Shape(
            field,
            type="nominal",
            scale=alt.Scale(domain=domain, range=list(shapes)),
            legend=legend,
        ),
    }


def _ends(frame: pd.DataFrame, places: Places, x: Axis) -> alt.Chart | None:
    """How responses ended: a shape at the end of each bar, and the legend of both."""
    if not len(frame):
        return None
    domain = [state for state in RESPONSES if (frame["state"] == state).any()]
    shown = frame[~frame["state"].isin(["completed", "in progress"])]
    values = [
        {"x": x.at(row, row.end_s), "y": places.middle(row.lane), "state": row.state}
        for row in each(shown)
    ]
    chart: alt.Chart = (
        alt.Chart(rows(*values))
        .mark_point(clip=True, filled=True, size=42, opacity=1, stroke="white", strokeWidth=0.7)
        .encode(
            x=x.channel(),
            y=_y(places, "y"),
            **_looks("state", RESPONSES, domain, "responses"),
        )
    )
    return chart


_MARKED: Final = ("steer", "pending", "continuation", "inject", "fork", "close")


def _marks(frame: pd.DataFrame, places: Places, x: Axis) -> alt.Chart | None:
    frame = frame[frame["kind"].isin(_MARKED)]
    if not len(frame):
        return None
    most = 300 if len(frame) <= _FEW_ROWS else _SHORT
    values = []
    for row in each(frame):
        took = row.end_s - row.start_s if row.kind == "steer" else None
        values.append(
            {
                "x": x.at(row, row.start_s),
                "y": places.mark(row.lane),
                "mark": _word(row),
                "hover": _hover(row, took, most, x.unit),
            }
        )
    found = {value["mark"] for value in values}
    domain = [mark for mark in MARKS if mark in found]
    chart: alt.Chart = (
        alt.Chart(rows(*values))
        .mark_point(clip=True, filled=True, size=places.mark_size, opacity=1)
        .encode(
            x=x.channel(),
            y=_y(places, "y"),
            tooltip=_shown(),
            **_looks("mark", MARKS, domain, "marks"),
        )
    )
    return chart
