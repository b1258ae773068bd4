"""One required input in a form: what is asked, controls for exactly what fills it, one line below.

A section knows its controls and the wire's rules. When values are saved and sent is the form's.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from traitlets import TraitError

from steer_nb.client.drafts import keepable
from steer_nb.errors import InvalidInput
from steer_nb.widgets.calls import call_body, call_head, call_title
from steer_nb.widgets.controls import Chosen, box, static
from steer_nb.widgets.text import clip, esc, plain, seconds, short_id
from steer_nb.wire import fill_stub

import ipywidgets as w  # isort: skip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        """Whether a person changed something that is not saved yet, not even as a draft."""
        self.kept: dict[str, Any] | None = None
        """The draft as the session has it."""
        self.as_of = 0
        """The ledger's version from which on its word on this section is newer than its own."""
        self.valid = False
        self.missing = ""
        """Why it is not complete, in words."""
        self._changed = changed
        self._touched = False
        self._loading: int | None = None
        self._inputs: list[Any] = []
        self._fields: dict[str, Any] = {}
        self._status = static(css="snb-status")
        self._error = ""
        body = self.build()
        self.widget = box(
            w.VBox,
            [static(self._heading()), *body, self._status],
            css="snb-stub",
        )
        self._pristine = self._values()
        if asked.draft is not None:
            self.load_draft(asked.draft)
        elif asked.item is not None:
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
        return call_body(self.asked.call, table=True) if self.asked.call is not None else ""

    # -- what all share -----------------------------------------------------------------------

    @property
    def key(self) -> str:
        """What identifies the required input."""
        return self.asked.key

    def named(self, what: str) -> str:
        """What a control is for, and of which call: several may ask for the same."""
        call = self.asked.call or self.asked.stub
        return f"{what}, {plain(clip(call_title(call), 40))} {plain(short_id(self.key))}"

    def watch(self, field: str, control: Any) -> Any:
        """Validate whenever a person changes `control`, and disable it with the others.

        Its value is part of a draft, under the name `field`: recordings hold it.
        """
        self._inputs.append(control)
        self._fields[field] = control
        control.observe(self._typed, names="value")
        return control

    def controls(self) -> Iterator[w.Widget]:
        """Give the controls of the page whose values are part of a draft."""
        for control in tuple(self._fields.values()):
            if isinstance(control, Chosen):
                yield from control.boxes.values()
            elif isinstance(control, w.Widget):  # and no picture that is held here
                yield control

    def load(self, item: dict[str, Any]) -> None:
        """Show a value that was filled elsewhere: by code, by a tool, in another form."""
        with self._put():
            self.write(item)
        self.saved, self.kept, self.dirty, self._touched = item, None, False, True
        self._check()

    def load_draft(self, draft: dict[str, Any]) -> None:
        """Show what was typed before, or in another form, and is not complete.

        An answer that has to be given again comes whole, as ``item``.
        """
        with self._put():
            if isinstance(draft.get("item"), dict):
                self.write(draft["item"])
            self._set(draft)
        self.saved, self.kept, self.dirty, self._touched = None, draft, False, True
        self._check()

    @contextmanager
    def _put(self) -> Iterator[None]:
        self._loading = threading.get_ident()
        try:
            yield
        finally:
            self._loading = None

    @property
    def loading(self) -> bool:
        """Whether a change that comes now is one that `load` makes, on its own thread."""
        return self._loading == threading.get_ident()

    def _set(self, values: dict[str, Any]) -> None:
        for field, control in self._fields.items():
            value = values.get(field, control.value)
            if isinstance(value, str):  # a page's message cannot hold half a character
                value = value.encode("utf-8", "replace").decode("utf-8")
            if isinstance(value, list) and isinstance(control, Chosen):
                # Functions that are there no more cannot be ticked.
                value = [one for one in value if one in control.boxes]
            # A recording may hold anything; what this control cannot show is not shown.
            with suppress(TraitError):
                control.value = value

    def _values(self) -> dict[str, Any]:
        return {field: control.value for field, control in self._fields.items()}

    def draft(self) -> dict[str, Any] | None:
        """What stands in the controls, as plain values; None where nobody put anything there."""
        values = self._values()
        return None if values == self._pristine else values

    @property
    def size(self) -> int:
        """About how many characters saving it writes."""
        return sum(len(value) for value in self._values().values() if isinstance(value, str))

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
        if self.dirty:
            pass  # what is being typed here stays; it is newer
        elif asked.draft is not None:
            if asked.draft != self.kept:
                self.load_draft(asked.draft)
        elif asked.item is not None:
            if asked.item != self.saved or self.kept is not None:
                self.load(asked.item)
        elif self.kept is not None and asked.state == "open":
            self._empty()  # given up elsewhere
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
        self.saved, self.kept = item, None
        self._check()

    def mark_kept(self, kept: dict[str, Any] | None) -> None:
        """Note what the session has now as the draft."""
        self.saved, self.kept = None, kept
        self._check()

    def give_up(self) -> None:
        """Let go of what was typed: the next value that the session has is shown instead."""
        self.saved, self.kept, self.dirty = None, None, False

    def _empty(self) -> None:
        with self._put():
            self._set(self._pristine)
        self.give_up()
        self._touched = False
        self._check()

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
        head = call_head(call, self.key, optional, asks=self.asked.type, heading=True)
        return head + self.body()

    def _typed(self, _: object) -> None:
        if self.loading:
            return
        self.dirty = self._touched = True
        self._check()
        self._changed(self)

    def _check(self) -> None:
        try:
            fill_stub(self.asked.stub, self.asked.call, **self.read())
        except Unanswered as missing:
            self._incomplete(str(missing))
        except InvalidInput as error:
            self._incomplete(str(error))
        else:
            self.valid, self.missing = True, ""
            self._say(*self._good())

    def _incomplete(self, why: str) -> None:
        self.valid, self.missing = False, why
        if not self._touched:
            self._say("", "snb-hint")  # the form's last line counts what is missing
            return
        said = why if self.kept is None else f"draft, not complete: {why}"
        values = self._values()
        left_out = values.keys() - keepable(self.asked.type, values).keys()
        if left_out:
            said = (
                f"{said.rstrip('.')}. Not kept until it is complete, as it may hold credentials "
                f"or is very long: {', '.join(sorted(left_out))}."
            )
        self._say(said, "snb-bad")

    def _good(self) -> tuple[str, str]:
        """What to say of a valid answer, and how it is marked."""
        run = self.asked.tool
        if self.dirty or self.saved is None:
            return "valid", "snb-ok"
        ran, css = "", "snb-ok"
        if run is not None and not run["running"] and self.asked.filled_by != "user":
            took = run["duration_s"]
            ran = "ran, " if took is None else f"ran in {seconds(took)}, "
            if run["ok"] is False:
                ran, css = f"{clip(run['error'] or 'it raised an error', 400)} — ", "snb-bad"
        if self.asked.state in ("open", "filled"):
            return f"{ran}saved; you may edit it before it is sent", css
        return f"{ran}{self.asked.state}", css

    def _say(self, message: str, css: str) -> None:
        html = f'<div class="{css}" role="status" dir="auto">{esc(clip(message, 600))}</div>'
        html = html if message else ""
        if self._status.value != html:
            self._status.value = html
