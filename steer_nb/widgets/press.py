"""The kernel's half of a row of buttons that act: what a page tells it, and what it tells the page.

A press is one message. It carries the number of its step: a step is for one press, and whatever
else was pressed in it, in how many displays and pages ever, is not taken. While a press waits for
the kernel its row says so, and takes no other. What is typed beside it, in controls of ipywidgets,
has no such words; a row can follow it and say the same of it. And it can keep it: while the kernel
is busy, a page of ipywidgets holds the newest keys back, and loses them when it is left. The row
then tells in one message what the page shows. The page that comes after it asks what that was: it
may have its state from before.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import anywidget
import ipywidgets as w
from traitlets import Dict, Int, Unicode
from traitlets import List as ListOf

from steer_nb.widgets.script import script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Press", "PressButton"]

_PAGES: Final = 16
"""Of so many views it is known what was heard from them: the newest."""

_TWICE: Final = "Something else was pressed in another display at the same time. Press again."


class PressButton:
    """One button of a row.

    Parameters
    ----------
    description : str
        What it says.
    tooltip : str
        What it is for.
    act : callable
        Does it; on the thread of the message, so it only begins it.
    css : str
        Classes to add.
    disabled : bool
        Whether it may not be pressed now.
    value : bool, optional
        For one that stays down: whether it is down.
    """

    def __init__(
        self,
        description: str,
        tooltip: str,
        act: Callable[[], object],
        *,
        css: str = "",
        disabled: bool = False,
        value: bool | None = None,
    ) -> None:
        self.act = act
        self.row: Press | None = None
        self._css = css
        self._description, self._tooltip = description, tooltip
        self._disabled, self._value = disabled, value

    @property
    def description(self) -> str:
        """What it says."""
        return self._description

    @description.setter
    def description(self, text: str) -> None:
        self._set(_description=text)

    @property
    def tooltip(self) -> str:
        """What it is for."""
        return self._tooltip

    @tooltip.setter
    def tooltip(self, text: str) -> None:
        self._set(_tooltip=text)

    @property
    def disabled(self) -> bool:
        """Whether it may not be pressed now."""
        return self._disabled

    @disabled.setter
    def disabled(self, disabled: bool) -> None:
        self._set(_disabled=disabled)

    @property
    def value(self) -> bool | None:
        """Whether it is down; None where it does not stay down."""
        return self._value

    @value.setter
    def value(self, value: bool | None) -> None:
        self._set(_value=value)

    def _set(self, **changed: object) -> None:
        if any(getattr(self, name) != value for name, value in changed.items()):
            vars(self).update(changed)
            if self.row is not None:
                self.row.changed()

    def state(self) -> dict[str, Any]:
        """Give what a page draws."""
        return {
            "text": _sendable(self._description),
            "title": _sendable(self._tooltip),
            "css": self._css,
            "disabled": self._disabled,
            "down": self._value,
        }

    def click(self) -> None:
        """Press it, as a page does that sees the row as it is now."""
        if self.row is not None:
            self.row.press(self)


class Press(anywidget.AnyWidget):
    """A row of buttons, with a line that says what is waited for.

    Parameters
    ----------
    *row : PressButton
        In their order. The first may have a hint behind it.
    css : str
        Classes to add to the row.
    **traits
        `follows`.

    Attributes
    ----------
    hint : str
        Words behind the first button.
    said : str
        Words below, while nothing is waited for.
    follows : str
        A CSS selector: the row says of what is changed in the element around it, too, that it
        waits for the kernel.
    fields : dict of str to str
        The model of each control there that is kept, and which of its traits a person changes.

    Examples
    --------
    >>> pressed = []
    >>> run = PressButton("Run", "Run it, once", lambda: pressed.append("run"))
    >>> row = Press(run)
    >>> run.click()
    >>> pressed, row.step
    (['run'], 1)
    >>> row.close()
    """

    _esm = script("common.js", "press.js")

    buttons = ListOf(Dict()).tag(sync=True)
    hint = Unicode().tag(sync=True)
    said = Unicode().tag(sync=True)
    follows = Unicode().tag(sync=True)
    fields = Dict().tag(sync=True)
    step = Int(0).tag(sync=True)
    heard = Dict().tag(sync=True)

    def __init__(self, *row: PressButton, css: str = "", **traits: Any) -> None:
        self._changing = threading.RLock()
        self._last: PressButton | None = None
        self._kept: dict[str, w.Widget] = {}
        self.row = row
        super().__init__(
            buttons=[one.state() for one in row],
            layout=w.Layout(width="auto", margin="0"),
            **traits,
        )
        for one in row:
            one.row = self
        for word in css.split():
            self.add_class(word)
        self.on_msg(self._message)

    def show(self, **traits: Any) -> None:
        """Change something, in one message for all of it. Any thread may call this."""
        # The lock: two threads within `hold_sync` would lose what one of them holds.
        with self._changing, self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def changed(self) -> None:
        """Show the buttons as they are now."""
        with self._changing:
            self.show(buttons=[one.state() for one in self.row])

    def keep(self, controls: Iterable[w.Widget]) -> None:
        """Keep what a page shows in these when it is left, and in no others. Any thread."""
        kept = {control.model_id: control for control in controls}
        fields = {model: _told(control) for model, control in kept.items()}
        with self._changing:
            if fields != self.fields:
                self._kept = kept
                self.show(fields=fields)

    def press(self, button: PressButton) -> None:
        """Take a press in the step that is now, and begin the next."""
        with self._changing:
            self._last = button
            self.show(step=self.step + 1, said="")
        button.act()

    def _message(self, _: object, content: Any, __: object) -> None:
        if not isinstance(content, dict):
            return
        page, number, which = (content.get(name) for name in ("page", "number", "button"))
        if content.get("event") == "came" and isinstance(page, str):
            now = {model: getattr(one, _told(one)) for model, one in self._kept.items()}
            self.send({"page": page, "shown": now})
        if not isinstance(page, str) or not isinstance(number, int):
            return
        pressed = None
        if content.get("event") == "press" and isinstance(which, int):
            pressed = dict(enumerate(self.row)).get(which)
        with self._changing:
            if number <= self.heard.get(page, 0):
                return  # heard already
            others = {key: heard for key, heard in self.heard.items() if key != page}
            told: dict[str, Any] = {
                "heard": {**dict(list(others.items())[1 - _PAGES :]), page: number}
            }
            taken = pressed is not None and content.get("step") == self.step
            if taken:
                self._last = pressed
                told |= {"step": self.step + 1, "said": ""}
            elif pressed is not None and pressed is not self._last:
                told["said"] = _TWICE
            self.show(**told)
            kept = self._kept
        if taken and pressed is not None:
            pressed.act()
        shown = content.get("shown")
        if content.get("event") == "left" and isinstance(shown, dict):
            for model, value in shown.items():
                if model in kept:
                    _take(kept[model], value)


def _told(control: w.Widget) -> str:
    """Which trait of a control tells what a person put there."""
    return "value" if control.trait_metadata("value", "sync") else "index"


def _take(control: w.Widget, value: object) -> None:
    """Put what a page shows into a control, as if the page's own message had arrived."""
    name = _told(control)
    now = getattr(control, name)
    if name == "index":
        fits = type(value) is int and 0 <= value < len(control.options)
    else:
        fits = type(value) is type(now)
    if isinstance(value, str):
        value = _sendable(value)
    if fits and value != now:
        # Not assigned: a page that is not gone, and where more was typed, would be told the older.
        control.set_state({name: value})


def _sendable(text: str) -> str:
    # Half a surrogate pair, as a recording may hold it, passes through no comm.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
