"""How pictures look: colours that are told apart by colour-blind people, on white and on black.

No colour is the only sign of anything: what went wrong has a shape of its own, too, what goes on
has a dashed border, and the hover says all in words.
"""

from __future__ import annotations

from typing import Any, Final

__all__ = ["CALLS", "CONFIG", "GREY", "INK", "ITEMS", "MARKS", "RESPONSES", "TOKENS"]

INK: Final = "#7d8590"
"""Text and axes: the grey that is read on a white page and on a dark one."""
GREY: Final = "#9aa2ad"

_CROSS: Final = "M-1,-.6L-.6,-1L0,-.4L.6,-1L1,-.6L.4,0L1,.6L.6,1L0,.4L-.6,1L-1,.6L-.4,0Z"
_FORK: Final = "M-.2,1L-.2,.2L-1,-.7L-.6,-1L0,-.3L.6,-1L1,-.7L.2,.2L.2,1Z"
_BAR: Final = "M-.25,-1L.25,-1L.25,1L-.25,1Z"

RESPONSES: Final[dict[str, tuple[str, str]]] = {
    "completed": ("#2a9d78", "square"),
    "steered": ("#8fc9b3", "triangle-right"),
    "incomplete": ("#c79a1e", "triangle-up"),
    "in progress": ("#2a9d78", "circle"),
    "failed": ("#d1495b", _CROSS),
    "truncated": ("#e07a3f", "diamond"),
    "cancelled": ("#7d8590", _BAR),
}
"""Colour and shape of each state of a response."""

ITEMS: Final = {
    "text": "#5fb597",
    "reasoning": "#a7aeb8",
    "call": "#d9962b",
    "other": "#c3c8cf",
}
CALLS: Final = {
    "person": "#d9962b",
    "client": "#e6bd7b",
    "program": "#c583b8",
    "service": "#4a90c4",
}

MARKS: Final[dict[str, tuple[str, str]]] = {
    "steer": ("#7466e0", "triangle-down"),
    "steer failed": ("#d1495b", _CROSS),
    "steer unknown": ("#e07a3f", "diamond"),
    "pending": ("#d9962b", "square"),
    "continuation": ("#3b82c4", "triangle-right"),
    "inject": ("#3b82c4", "triangle-up"),
    "fork": ("#3b82c4", _FORK),
    "connection lost": ("#d1495b", _BAR),
    "connection renewed": ("#9aa2ad", _BAR),
}
"""Colour and shape of each kind of mark."""

TOKENS: Final = {
    "cached input": "#bcd3e8",
    "input": "#6ea3d0",
    "cache writes": "#3b6ea5",
    "output": "#2a9d78",
    "reasoning": "#a7aeb8",
}

_FONT: Final = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"

CONFIG: Final[dict[str, Any]] = {
    "background": "transparent",
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "domainColor": GREY,
        "tickColor": GREY,
        "gridColor": GREY,
        "gridWidth": 0.7,
        "gridDash": [1, 5],
        "labelFontSize": 11,
        "titleFontSize": 11,
    },
    "legend": {
        "orient": "bottom",
        "direction": "vertical",
        "columns": 1,
        "labelColor": INK,
        "titleColor": INK,
        "titleFontWeight": "normal",
        "titleFontSize": 11,
        "labelFontSize": 11,
        "rowPadding": 1,
        "offset": 10,
    },
    "title": {
        "anchor": "start",
        "frame": "group",
        "color": INK,
        "subtitleColor": INK,
        "fontSize": 12,
        "fontWeight": "normal",
        "subtitleFontSize": 11,
        "offset": 12,
    },
}
"""Vega-Lite's `config` of every chart."""
