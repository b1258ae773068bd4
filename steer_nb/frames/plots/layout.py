"""Where things lie in the timeline: rows in pixels from the top, times along its axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import altair as alt

from steer_nb.errors import InvalidInput
from steer_nb.frames.plots.texts import each

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Axis", "Places", "Unit"]

Unit = Literal["seconds", "UTC", "messages"]


class Places:
    """Where each lane's bars lie, in pixels from the top."""

    def __init__(self, frame: pd.DataFrame, lanes: list[str], *, low: bool) -> None:
        self.top: dict[str, int] = {}
        self.bottom: dict[str, int] = {}
        self.mark_size = 26 if low else 70
        self._mark, self._bar, self._item, self._call = (6, 7, 0, 3) if low else (15, 14, 6, 6)
        gap = 5 if low else 13
        levels = frame[frame["kind"] == "call"].groupby("lane")["level"].max()
        items = set(frame.loc[frame["kind"] == "item", "lane"])
        at = 2
        for lane in lanes:
            self.top[lane] = at
            at += self._mark + self._bar + (self._item + 2 if lane in items else 0)
            if lane in levels:
                at += (int(levels[lane]) + 1) * (self._call + 2) + 2
            self.bottom[lane] = at
            at += gap
        self.height = max(at, 40)

    def response(self, lane: str, _: int = 0) -> tuple[int, int]:
        """Give top and bottom of a response."""
        top = self.top[lane] + self._mark
        return top, top + self._bar

    def request(self, lane: str, _: int = 0) -> tuple[int, int]:
        """Give top and bottom of the wait for a response: a thin line before it."""
        top, bottom = self.response(lane)
        return (top + bottom) // 2 - 1, (top + bottom) // 2 + 1

    def item(self, lane: str, _: int = 0) -> tuple[int, int]:
        """Give top and bottom of an item: below its response."""
        top = self.response(lane)[1] + 2
        return top, top + self._item

    def call(self, lane: str, level: int = 0) -> tuple[int, int]:
        """Give top and bottom of a call: below the items."""
        top = self.item(lane)[1] + 3 + level * (self._call + 2)
        return top, top + self._call

    def mark(self, lane: str) -> float:
        """Give the middle of a mark: above the response."""
        return self.top[lane] + self._mark / 2

    def middle(self, lane: str) -> float:
        """Give the middle of a response."""
        return self.top[lane] + self._mark + self._bar / 2


_AXES: Final[dict[Unit, str]] = {
    "seconds": "seconds since the trace began",
    "UTC": "UTC",
    "messages": "messages in their order: this recording holds no times",
}


class Axis:
    """Times as numbers, and what the axis says."""

    def __init__(self, frame: pd.DataFrame, unit: Unit) -> None:
        self.unit = unit
        self._wall = wall = unit == "UTC"
        if wall and frame["began_at"].isna().any():
            msg = (
                "wall=True shows the time of day, and this trace does not say when it began: "
                "ask without it."
            )
            raise InvalidInput(msg, field="wall", value=wall, rule="a trace that knows its start")
        self._began = _milliseconds(frame) if wall else {}
        starts = [self.at(row, row.start_s) for row in each(frame)]
        ends = [self.at(row, row.end_s) for row in each(frame) if row.end_s is not None]
        low, high = min(starts, default=0.0), max(starts + ends, default=1.0)
        if not wall and low < 0.3 * high:
            low = 0.0
        self._domain = [low, high + (0.012 * (high - low) or 1.0)]

    def at(self, row: Any, seconds: float) -> float:
        """Give what is drawn for so many seconds."""
        if self._wall:
            return round(self._began[row.trace_id] + 1000.0 * seconds, 1)
        return round(seconds, 4)

    def channel(self, name: str = "x", **more: Any) -> alt.X:
        """Give the horizontal channel of a layer."""
        if self._wall:
            scale = alt.Scale(type="utc", domain=self._domain, nice=False)
        else:
            scale = alt.Scale(domain=self._domain, nice=False, zero=False)
        axis = alt.Axis(title=_AXES[self.unit], tickCount=8)
        kind: Any = "temporal" if self._wall else "quantitative"
        return alt.X(name, type=kind, scale=scale, axis=axis, **more)


def _milliseconds(frame: pd.DataFrame) -> dict[str, float]:
    began = frame.drop_duplicates("trace_id").set_index("trace_id")["began_at"]
    return {str(name): float(at.timestamp() * 1000.0) for name, at in began.items()}
