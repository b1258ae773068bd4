"""ipywidgets as this package uses them: from 7.7.1 to 8.x, each control with a name.

Only here are the differences between the versions known. What came from the wire is shown through
`static`, escaped. It is part of a `description` only where that names a control to those who hear
the page read; version 7 reads those as HTML, so that words alone are left of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

import ipywidgets as w
from traitlets import HasTraits, Unicode
from traitlets import List as ListOf

from steer_nb.widgets.style import NO_MATH, STYLE

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "Chosen",
    "Held",
    "box",
    "button",
    "choice",
    "control",
    "forget_upload",
    "line",
    "show",
    "static",
    "styled",
    "upload",
    "uploaded",
    "view_bundle",
]

W = TypeVar("W", bound=w.DOMWidget)

_UNNAMED: Final = (w.Text, w.Textarea, w.IntText, w.Dropdown)
"""Their label is empty and stands for the name: browsers then take no hint for it."""

WIDE = {"width": "auto", "flex": "1 1 0", "min_width": "0"}


def control(kind: type[W], name: str, *, css: str = "", wide: bool = False, **traits: Any) -> W:
    """Make a control whose purpose is said to those who point at it or hear it read.

    Parameters
    ----------
    kind : type
        An ipywidgets class.
    name : str
        What it is for.
    css : str
        Classes to add.
    wide : bool
        Whether it takes the room that is left in its row.
    **traits
        As the class takes them.
    """
    layout = {**(WIDE if wide else {"width": "auto"}), **traits.pop("layout", {})}
    # Version 7 has `description_tooltip` on most, version 8 `tooltip` on all.
    hint = "tooltip" if kind.class_traits().get("tooltip") else "description_tooltip"
    if kind.class_traits().get(hint):
        traits.setdefault(hint, name)
    if issubclass(kind, _UNNAMED):
        traits.setdefault("description", re.sub(r"[<>&$\\]", " ", name))
        css = f"snb-named {css}"
    made: W = kind(layout=w.Layout(**layout), **traits)
    for word in css.split():
        made.add_class(word)
    return made


def button(text: str, name: str, *, css: str = "", **traits: Any) -> w.Button:
    """Make a button."""
    return control(w.Button, name, css=f"snb-button {css}", description=text, **traits)


def choice(options: list[Any], name: str, *, css: str = "", **traits: Any) -> w.RadioButtons:
    """Let a person choose one of a few.

    Radio buttons: of those that ipywidgets has, they alone tell a screen reader which is chosen.
    """
    return control(w.RadioButtons, name, css=f"snb-choice {css}", options=options, **traits)


class Held(HasTraits):
    """A value that a form has and no control of the page holds as text, such as a picture."""

    value = Unicode()


class Chosen(HasTraits):
    """Which of a few a person ticked, in their order; what is none of them is left out.

    Each has a box of its own: a list for several is hard to use by keyboard, and in the dark.
    """

    value: Any = ListOf(Unicode())

    def __init__(self, boxes: dict[str, w.Checkbox]) -> None:
        super().__init__()
        self.boxes: dict[str, w.Checkbox] = {}
        self._showing = False
        for name, tick in boxes.items():
            self.add(name, tick)
        self.observe(self._show, names="value")

    def add(self, name: str, tick: w.Checkbox) -> None:
        """Offer one more."""
        self.boxes = {**self.boxes, name: tick}  # others may be looking through the old ones
        tick.observe(self._ticked, names="value")

    def _ticked(self, _: object = None) -> None:
        if not self._showing:
            self.value = [name for name, tick in self.boxes.items() if tick.value]

    def _show(self, change: Any) -> None:
        self._showing = True
        try:
            for name, tick in self.boxes.items():
                tick.value = name in change["new"]
        finally:
            self._showing = False
        self._ticked()


def show(widget: w.DOMWidget, *, shown: bool) -> None:
    """Show a control, or take it out of the page and of the order of the keyboard."""
    widget.layout.display = "" if shown else "none"


def static(html: str = "", *, css: str = "", wide: bool = False) -> w.HTML:
    """Show HTML of our own making; everything foreign in it is escaped already."""
    made = w.HTML(value=html, layout=w.Layout(**(WIDE if wide else {"width": "auto"}), margin="0"))
    for word in f"snb-static {NO_MATH} {css}".split():
        made.add_class(word)
    return made


def line(children: Iterable[w.Widget], *, css: str = "") -> w.HBox:
    """Put controls beside each other."""
    return box(w.HBox, children, css=f"snb-row {css}")


def box(kind: type[W], children: Iterable[w.Widget], *, css: str = "") -> W:
    """Put controls into a box of the given class."""
    made: W = kind(children=tuple(children), layout=w.Layout(width="auto", margin="0"))
    for word in css.split():
        made.add_class(word)
    return made


def styled(children: Iterable[w.Widget], *, css: str = "") -> w.VBox:
    """Make the outermost box of something: it brings the style sheet along."""
    sheet = w.HTML(value=STYLE, layout=w.Layout(display="none"))
    return box(w.VBox, (sheet, *children), css=f"steer-nb snb-widget {css}")


def view_bundle(widget: w.Widget) -> dict[str, Any]:
    """Content by MIME type that shows a live widget."""
    return {
        "application/vnd.jupyter.widget-view+json": {
            "version_major": 2,
            "version_minor": 0,
            "model_id": widget.model_id,
        }
    }


def upload(text: str, name: str, **traits: Any) -> w.FileUpload:
    """Make a button that takes one file."""
    css = "snb-button snb-upload"
    return control(w.FileUpload, name, css=css, multiple=False, description=text, **traits)


def forget_upload(taken: w.FileUpload) -> None:
    """Let go of a file that was read: it is kept elsewhere, and may be given once more."""
    if isinstance(taken.value, dict):  # version 7 counts by itself
        taken.value.clear()
        taken._counter = 0
    else:
        taken.value = ()


def uploaded(value: Any) -> tuple[str, str, bytes] | None:
    """Read name, media type and content of the file in a `FileUpload`'s value, in both versions."""
    files: list[Any]
    if isinstance(value, dict):  # version 7: by name
        files = [{"name": name, **part.get("metadata", {}), **part} for name, part in value.items()]
    else:
        files = list(value)
    if not files:
        return None
    newest = files[-1]
    return str(newest.get("name", "")), str(newest.get("type", "")), bytes(newest["content"])
