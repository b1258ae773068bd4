"""Altair's charts, with a display that every front end knows, and that needs no network.

Altair's own display is a page that fetches its scripts from a network when it is looked at. These
charts bring the specification itself, for front ends that draw it (JupyterLab, VS Code), and beside
it a picture for all others: a static export, a viewer, a mail. Altair 6 names its specification
with a type that no front end knows yet; what these charts use is known to Vega-Lite 5, too, and so
that is what they are called.

Whoever chooses a renderer (``altair.renderers.enable(...)``) gets that one.
"""

from __future__ import annotations

import base64
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import altair as alt
from altair.utils.schemapi import debug_mode

from steer_nb.errors import InvalidInput, TraceError
from steer_nb.extras import extra
from steer_nb.frames.plots.look import CONFIG

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["MIME", "LayerChart", "check", "layered", "rows", "save", "titled"]

MIME: Final = "application/vnd.vegalite.v5+json"
_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.20.1.json"
_FORMATS: Final = (".png", ".svg", ".html", ".json")
_SHARP: Final = 144


class _Shown:
    """What is ours about a chart: its look, where nothing else was chosen, and its display."""

    def to_dict(self, *args: Any, **kwds: Any) -> dict[str, Any]:
        spec: dict[str, Any] = super().to_dict(*args, **kwds)  # type: ignore[misc]
        if "$schema" in spec:  # a part of another chart takes that one's look
            spec["config"] = _over(CONFIG, spec.get("config", {}))
        return spec

    def _repr_mimebundle_(self, *args: Any, **kwds: Any) -> Any:
        if alt.renderers.active != "default":
            return super()._repr_mimebundle_(*args, **kwds)  # type: ignore[misc]
        spec = self.to_dict(context={"pre_transform": False})
        bundle: dict[str, Any] = {
            MIME: {**spec, "$schema": _SCHEMA},
            "text/plain": f"<{spec.get('description', 'a chart')}>",
        }
        if _has_converter():
            bundle["image/png"] = base64.b64encode(_png(spec)).decode("ascii")
        return bundle

    def __or__(self, other: Any) -> HConcatChart:
        return HConcatChart(hconcat=[cast("Any", self), other])

    def __and__(self, other: Any) -> VConcatChart:
        return VConcatChart(vconcat=[cast("Any", self), other])


class LayerChart(_Shown, alt.LayerChart):
    """An `altair.LayerChart` like any other, but for how it looks and is displayed."""


class HConcatChart(_Shown, alt.HConcatChart):
    """Charts side by side: what ``chart | other`` gives."""


class VConcatChart(_Shown, alt.VConcatChart):
    """Charts below each other: what ``chart & other`` gives."""


def _over(under: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    """Lay what was chosen over what there is, in depth."""
    merged = dict(under)
    for key, value in chosen.items():
        below = merged.get(key)
        both = isinstance(value, dict) and isinstance(below, dict)
        merged[key] = _over(cast("dict[str, Any]", below), value) if both else value
    return merged


def layered(*layers: alt.Chart, **properties: Any) -> LayerChart:
    """Put layers above each other."""
    return LayerChart(layer=list(layers), **properties)


def rows(*values: dict[str, Any]) -> alt.InlineData:
    """Make rows the data of a layer; what is missing takes no room.

    Altair would check them cell by cell, and again for each layer: that takes seconds.
    """
    with debug_mode(False):
        return alt.InlineData(values=list(values))


def titled(title: str, notes: list[str]) -> alt.TitleParams:
    """Give a chart's title, and below it what one should know."""
    return alt.TitleParams(title, subtitle=[" · ".join(notes)] if notes else alt.Undefined)


def noted(chart: alt.LayerChart, note: str) -> alt.LayerChart:
    """Say one thing more below a chart's title, and where it is told instead of shown."""
    title: Any = chart.title
    if title is alt.Undefined:  # axes say enough; and nothing is drawn below an empty title
        chart.title = alt.TitleParams(note, fontSize=11, fontWeight="normal")
    else:
        before = [] if title.subtitle is alt.Undefined else list(title.subtitle)
        chart.title = titled(title.text, [*before, note])
    chart.description = f"{chart.description}; {note}"
    return chart


def _has_converter() -> bool:
    return importlib.util.find_spec("vl_convert") is not None


def _converter() -> Any:
    return extra("vl_convert", "plot", "A picture in a file needs vl-convert-python")


def _png(spec: dict[str, Any]) -> bytes:
    picture: bytes = _converter().vegalite_to_png(
        json.dumps(spec), vl_version=_vl_version(), ppi=_SHARP
    )
    return picture


def _vl_version() -> str:
    """The Vega-Lite of this Altair, or the newest that an older converter knows."""
    wanted = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    known = _converter().get_vegalite_versions()
    return str(wanted if wanted in known else known[-1])


def check(path: str | PathLike[str]) -> tuple[Path, str]:
    """Give the path and its kind; refuse what is no kind of picture, before anything is drawn."""
    place = Path(path).expanduser()
    kind = place.suffix.lower()
    if kind not in _FORMATS:
        rule = f"its name must end in {', '.join(_FORMATS)}"
        msg = f"{place} is no kind of picture: {rule}."
        raise InvalidInput(msg, field="path", value=str(place), rule=rule)
    return place, kind


def save(chart: Any, path: str | PathLike[str]) -> str:
    """Write a chart to a file, without a browser and without a network.

    Parameters
    ----------
    chart : altair.Chart
        Any chart.
    path : str or path-like
        Where to: ``.png``, ``.svg``, ``.html`` (all scripts are in it), or ``.json``.

    Returns
    -------
    str
        The path written.

    Raises
    ------
    InvalidInput
        The file's name ends otherwise.
    MissingExtra
        The converter is not installed.
    TraceError
        The file cannot be written.
    """
    path, kind = check(path)
    try:
        if kind == ".json":
            path.write_text(json.dumps(chart.to_dict()), encoding="utf-8")
        elif kind == ".html":
            text = _converter().vegalite_to_html(
                json.dumps(chart.to_dict()), vl_version=_vl_version(), bundle=True
            )
            path.write_text(text, encoding="utf-8")
        elif kind == ".svg":
            text = _converter().vegalite_to_svg(
                json.dumps(chart.to_dict()), vl_version=_vl_version()
            )
            path.write_text(text, encoding="utf-8")
        else:
            path.write_bytes(_png(chart.to_dict()))
    except OSError as error:
        msg = f"{path} cannot be written ({error.strerror or error})."
        raise TraceError(msg, path=str(path)) from error
    return str(path)
