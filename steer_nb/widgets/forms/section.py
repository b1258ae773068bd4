"""One required input in a form: what is asked, controls for exactly what fills it, one line below.

A section knows its controls and the wire's rules. When values are saved and sent is the form's.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from steer_nb.errors import InvalidInput
from steer_nb.widgets.calls import call_body, call_head
from steer_nb.widgets.controls import box, static
from steer_nb.widgets.text import clip, esc, seconds
from steer_nb.wire import fill_stub

import ipywidgets as w  # isort: skip

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane, RequiredInput

__all__ = ["Section", "Unanswered"]


class Unanswered(Exception):
    """What is still missing, in words for a person."""


class Section(ABC):
    """A stub's controls.

    Parameters
    ----------
    asked : RequiredInput
        What is asked.
    lane : Lane
        Whose tools may answer.
    changed : callable
        Called with the section after each change a person makes, on that callback's thread.
    """

    def __init__(
        self, asked: RequiredInput, lane: Lane, changed: Callable[[Section], None]
    ) -> None:
        self.asked = asked
        self.lane = lane
        self.saved = asked.item
        """The filled item as the session has it."""
        self.dirty = False
        """Whether a person changed something that is not saved yet."""
        self.valid = False
        self._changed = changed
        self._touched = False
        self._loading: int | None = None
        self._inputs: list[w.Widget] = []
        self._status = static(css="snb-status")
        self._error = ""
        body = self.build()
        self.widget = box(
            w.VBox,
            [static(self._heading()), *body, self._status],
            css="snb-stub",
        )
        if asked.item is not None:
            self.load(asked.item)
        else:
            self._check()

    # -- what each kind says ----------------------------------------------------------------

    @abstractmethod
    def build(self) -> list[w.Widget]:
        """Make the controls; those with values go through `watch`."""

    @abstractmethod
    def read(self) -> dict[str, Any]:
        """Read the controls into the wire's fields.

        Raises
        ------
        Unanswered
            If something is still missing.
        InvalidInput
            If something breaks a rule.
        """

    @abstractmethod
    def write(self, item: dict[str, Any]) -> None:
        """Put a filled item's values into the controls."""

    def body(self) -> str:
        """What is asked, as HTML."""
        return call_body(self.asked.call) if self.asked.call is not None else ""

    # -- what all share -----------------------------------------------------------------------

    @property
    def key(self) -> str:
        """What identifies the required input."""
        return self.asked.key

    def watch(self, control: w.Widget, name: str = "value") -> Any:
        """Validate whenever a person changes `control`, and disable it with the others."""
        self._inputs.append(control)
        control.observe(self._typed, names=name)
        return control

    def load(self, item: dict[str, Any]) -> None:
        """Show a value that was filled elsewhere: by code, by a tool, in another form."""
        self._loading = threading.get_ident()
        try:
            self.write(item)
        finally:
            self._loading = None
        self.saved, self.dirty, self._touched = item, False, True
        self._check()

    def fields(self) -> dict[str, Any] | None:
        """Give the wire's fields if they are valid, else None."""
        try:
            fields = self.read()
            fill_stub(self.asked.stub, self.asked.call, **fields)
        except (Unanswered, InvalidInput):
            return None
        return fields

    def item(self) -> dict[str, Any] | None:
        """Give the filled stub if the fields are valid, else None."""
        fields = self.fields()
        return None if fields is None else fill_stub(self.asked.stub, self.asked.call, **fields)

    def refresh(self, asked: RequiredInput) -> None:
        """Take the session's newest word on this required input."""
        before, self.asked = self.asked, asked
        if asked.item != self.saved and not self.dirty:
            if asked.item is not None:
                self.load(asked.item)
            else:
                self.saved = None
        if (asked.tool, asked.state, asked.filled_by) != (
            before.tool,
            before.state,
            before.filled_by,
        ):
            self._check()

    def mark_saved(self, item: dict[str, Any] | None) -> None:
        """Note what the session has now."""
        self.saved = item
        self.dirty = item != self.item() if item is not None else self.dirty
        self._check()

    def give_up(self) -> None:
        """Let go of what was typed: the next value that the session has is shown instead."""
        self.saved, self.dirty = None, False

    def complain(self, message: str) -> None:
        """Show an error of saving or of a tool under the section."""
        self._say(message, "snb-bad")

    def enable(self, enabled: bool) -> None:
        """Switch all controls."""
        for control in self._inputs:
            if control.has_trait("disabled"):
                control.disabled = not enabled

    def _heading(self) -> str:
        call = self.asked.call or self.asked.stub
        optional = " · optional" if self.asked.optional else ""
        return call_head(call, self.key, optional) + self.body()

    def _typed(self, _: object) -> None:
        # Values that are put in by `load` come back as changes on its own thread.
        if self._loading == threading.get_ident():
            return
        self.dirty = self._touched = True
        self._check()
        self._changed(self)

    def _check(self) -> None:
        try:
            fill_stub(self.asked.stub, self.asked.call, **self.read())
        except Unanswered as missing:
            self.valid = False
            self._say(str(missing), "snb-bad" if self._touched else "snb-hint")
        except InvalidInput as error:
            self.valid = False
            self._say(str(error), "snb-bad")
        else:
            self.valid = True
            self._say(self._good(), "snb-ok")

    def _good(self) -> str:
        run = self.asked.tool
        if self.dirty or self.saved is None:
            return "valid"
        ran = ""
        if run is not None and not run["running"] and self.asked.filled_by != "user":
            took = run["duration_s"]
            ran = "ran, " if took is None else f"ran in {seconds(took)}, "
            if run["ok"] is False:
                ran = f"{clip(run['error'] or 'it raised an error', 400)} — "
        if self.asked.state in ("open", "filled"):
            return f"{ran}saved; you may edit it before it is sent"
        return f"{ran}{self.asked.state}"

    def _say(self, message: str, css: str) -> None:
        html = f'<div class="{css}" role="status" dir="auto">{esc(clip(message, 600))}</div>'
        if self._status.value != html:
            self._status.value = html
