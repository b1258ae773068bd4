"""Sections whose answer is text or JSON: functions, custom tools, local shell, unknown kinds."""

from __future__ import annotations

import json
import threading
from typing import Any

import ipywidgets as w

from steer_nb.client.runner import FUNCTION_RESULTS
from steer_nb.errors import InvalidInput, SteerError
from steer_nb.widgets.answers import answer_box
from steer_nb.widgets.arguments import json_text, scrolling
from steer_nb.widgets.controls import Held, button, choice, control, line, show, static
from steer_nb.widgets.forms.ran import ran_html
from steer_nb.widgets.forms.section import Section, Unanswered
from steer_nb.widgets.forms.variables import VariablePicker, as_output
from steer_nb.widgets.press import Press, PressButton
from steer_nb.widgets.text import clip, esc, esc_strict, plain
from steer_nb.wire import check_value

__all__ = ["ResultSection", "UnknownSection", "parse_json"]


def parse_json(text: str, field: str) -> Any:
    """Read JSON as a person typed it.

    Raises
    ------
    InvalidInput
        Where it is none, with line and column; NaN and Infinity with their path.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        rule = "it must be JSON"
        what = error.msg.removesuffix(" at")  # as "Unterminated string starting at" ends
        msg = f"{field} is no JSON: {what} at line {error.lineno}, column {error.colno}."
        raise InvalidInput(msg, field=field, value=text, rule=rule) from error
    except RecursionError as error:
        msg = f"{field} is nested too deeply."
        raise InvalidInput(msg, field=field, rule="it must be JSON of sane depth") from error
    check_value(value, path=field)
    return value


class ResultSection(Section):
    """A function's or a custom tool's result: text, JSON that is checked, or a variable's value."""

    def build(self) -> list[w.Widget]:
        """Make a text area, a menu of variables, and Run where there is a function."""
        name = plain(clip(self.asked.name or self.asked.type, 60))
        self.area = self.watch(
            "text",
            control(
                w.Textarea,
                self.named(f"Result of {name}"),
                css="snb-mono",
                wide=True,
                rows=2,
                placeholder="result",
            ),
        )
        self.row = line([*self._run_control(), self.area], css="snb-wrap")
        self.ran = static(css="snb-ran")
        self.parts = self.watch("parts", Held())
        self.preview = static(wide=True)
        self.remove = button("Remove", self.named("Remove what was taken from a variable"))
        self.remove.on_click(self._removed)
        self.given = line([self.preview, self.remove], css="snb-given")
        self.mode = self.watch(
            "mode",
            choice(["text", "JSON"], self.named("How to read the result"), value="text"),
        )
        self.empty = self.watch(
            "empty",
            control(
                w.Checkbox,
                self.named("The result is empty"),
                description="empty result",
                indent=False,
            ),
        )
        self.picker = VariablePicker(self.named("Take the result from a variable"), self._picked)
        self.taken = static(css="snb-taken")
        self._inputs += [self.remove, self.picker.widget]
        self.options = line(
            [self.mode, self.empty, self.picker.widget, self.taken], css="snb-options"
        )
        self._show()
        return [self.ran, self.row, self.given, self.options]

    def _run_control(self) -> list[w.Widget]:
        self.run_button: PressButton | None = None
        self.running = threading.Lock()
        tool = self.lane.tools.get(self.asked.name or "")
        if self.asked.type not in FUNCTION_RESULTS or tool is None or tool.policy == "never":
            return []
        text = f"Run {plain(clip(tool.name, 40))}"
        what = self.named(f"Run {tool.name} here, once, and keep its result")
        self.run_button = PressButton(text, what, lambda: None)  # the form says what it does
        return [Press(self.run_button, css="snb-runs")]

    def read(self) -> dict[str, Any]:
        """Give `output`."""
        if self.parts.value:
            return {"output": parse_json(self.parts.value, "output")}
        text = self.area.value
        if not text:
            if self.empty.value:
                return {"output": ""}
            msg = "the result is still empty: type it, or tick “empty result”"
            raise Unanswered(msg)
        if self.mode.value == "JSON":
            value = parse_json(text, "output")
            # A string of one's own is the text inside; everything else is sent as JSON.
            return {"output": value}
        return {"output": text}

    def _picked(self, name: str, value: object) -> None:
        try:
            output = as_output(value)
            if self.asked.type == "local_shell_call_output" and not isinstance(output, str):
                output = json_text(output, indent=None)
        except SteerError as error:
            self.complain(f"{name}: {error}")
            return
        with self._put():
            if isinstance(output, str):
                self.mode.value = "text"  # text that looks like JSON is text all the same
            self.write({"output": output})
        said = f"{name} as it is now; pick it again after it changes"
        self.taken.value = f'<span class="snb-hint">{esc(said)}</span>'
        self._typed({})

    def _removed(self, _: object) -> None:
        self.parts.value = ""

    def _typed(self, change: Any) -> None:
        if change and not self.loading:
            self.taken.value = ""  # what stands there is the person's own again
        super()._typed(change)

    def _check(self) -> None:
        self._show()
        super()._check()

    def _show(self) -> None:
        """Show the text, or what was taken of a variable and is none; and what a run left."""
        held = self.parts.value
        show(self.area, shown=not held)
        show(self.given, shown=bool(held))
        for control_ in (self.mode, self.empty):
            show(control_, shown=not held)
        html = ""
        if held:
            output = json.loads(held) if _is_json(held) else held  # a recording may hold anything
            html = answer_box({"type": self.asked.type, "output": output}, pictures=True)
        for target, value in ((self.preview, html), (self.ran, ran_html(self.asked.tool))):
            if target.value != value:
                target.value = value

    def write(self, item: dict[str, Any]) -> None:
        """Show a result that is there already."""
        output = item.get("output")
        self.taken.value = ""
        self.parts.value = ""
        self.empty.value = output == ""
        if isinstance(output, str):
            if self.mode.value == "JSON" and not _is_json(output):
                self.mode.value = "text"
            self.area.value = plain(output) if _unsafe(output) else output
        elif _are_parts(output):
            self.parts.value = json_text(output, indent=None)
            self.area.value = ""
        else:
            self.mode.value = "JSON"
            self.area.value = json_text(output, indent=2)

    def refresh(self, asked: Any) -> None:
        """Take the newest word; a function that began here is not begun again."""
        super().refresh(asked)
        if self.run_button is not None:
            self.run_button.disabled = self._closed or asked.tool is not None
            if asked.tool is not None and asked.tool["running"]:
                self.complain(f"{asked.tool['name']} is running …")

    _closed = False

    def enable(self, enabled: bool) -> None:
        """Switch all controls."""
        super().enable(enabled)
        self._closed = not enabled
        if self.run_button is not None:
            self.run_button.disabled = self._closed or self.asked.tool is not None


class UnknownSection(Section):
    """A kind that nobody knew when this was written: raw JSON against the stub."""

    def body(self) -> str:
        """Show stub and call as they came."""
        call = self.asked.call
        shown = json_text(self.asked.stub) if call is None else json_text([self.asked.stub, call])
        return scrolling(esc_strict(clip(shown, 16_384)))

    def build(self) -> list[w.Widget]:
        """Make one text area for the fields to add to the stub."""
        self.area = self.watch(
            "text",
            control(
                w.Textarea,
                self.named("Fields to add to the stub, as a JSON object"),
                css="snb-mono",
                wide=True,
                rows=3,
                placeholder='{"output": "…"}',
            ),
        )
        return [line([self.area])]

    def read(self) -> dict[str, Any]:
        """Give the fields of the object."""
        if not self.area.value.strip():
            msg = "this kind is not known: type the fields that fill it as a JSON object"
            raise Unanswered(msg)
        value = parse_json(self.area.value, "fields")
        if not isinstance(value, dict) or not value:
            msg = 'fields must be a JSON object with at least one field, such as {"output": "…"}.'
            raise InvalidInput(msg, field="fields", value=value, rule="a JSON object")
        return value

    def write(self, item: dict[str, Any]) -> None:
        """Show what was added to the stub."""
        added = {name: value for name, value in item.items() if name not in self.asked.stub}
        self.area.value = json_text(added, indent=2)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _are_parts(output: object) -> bool:
    """Whether it is content that no text field shows: pictures and files with their data."""
    parts = output if isinstance(output, list) else []
    return any(
        isinstance(part, dict) and part.get("type") in ("input_image", "input_file")
        for part in parts
    )


def _unsafe(text: str) -> bool:
    """Whether a comm message could not carry it: half a surrogate pair."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)
