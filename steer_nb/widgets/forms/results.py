"""Sections whose answer is text or JSON: functions, custom tools, local shell, unknown kinds."""

from __future__ import annotations

import json
import threading
from typing import Any

import ipywidgets as w

from steer_nb.errors import InvalidInput
from steer_nb.widgets.calls import json_text
from steer_nb.widgets.controls import button, control, line
from steer_nb.widgets.forms.section import Section, Unanswered
from steer_nb.widgets.text import clip, esc_strict, plain
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
        msg = f"{field} is no JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        raise InvalidInput(msg, field=field, value=text, rule=rule) from error
    except RecursionError as error:
        msg = f"{field} is nested too deeply."
        raise InvalidInput(msg, field=field, rule="it must be JSON of sane depth") from error
    check_value(value, path=field)
    return value


class ResultSection(Section):
    """A function's or a custom tool's result: text, or JSON that is checked as it is typed."""

    def build(self) -> list[w.Widget]:
        """Make a Run button where there is a function for it, a text area, and two switches."""
        self.area = self.watch(
            "text",
            control(
                w.Textarea,
                f"Result of {plain(clip(self.asked.name or self.asked.type, 60))}",
                css="snb-mono",
                wide=True,
                rows=2,
                placeholder="result",
            ),
        )
        row: list[w.Widget] = [self.area]
        self.run_button: w.Button | None = None
        self.running = threading.Lock()
        tool = self.lane.tools.get(self.asked.name or "")
        callable_here = self.asked.type == "function_call_output" and tool is not None
        if callable_here and tool is not None and tool.policy != "never":
            text = f"Run {plain(clip(tool.name, 40))}"
            self.run_button = button(text, f"Run {tool.name} here, once, and keep its result")
            row.insert(0, self.run_button)
        self.mode = self.watch(
            "mode",
            control(
                w.ToggleButtons,
                "How to read the result",
                css="snb-toggle",
                options=["text", "JSON"],
                value="text",
            ),
        )
        self.empty = self.watch(
            "empty",
            control(w.Checkbox, "The result is empty", description="empty result", indent=False),
        )
        return [line(row), line([self.mode, self.empty], css="snb-options")]

    def read(self) -> dict[str, Any]:
        """Give `output`."""
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

    def write(self, item: dict[str, Any]) -> None:
        """Show a result that is there already."""
        output = item.get("output")
        if isinstance(output, str):
            if self.mode.value == "JSON" and not _is_json(output):
                self.mode.value = "text"
            self.area.value = plain(output) if _unsafe(output) else output
            self.empty.value = output == ""
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
        return f'<div class="snb-call" tabindex="0">{esc_strict(clip(shown, 16_384))}</div>'

    def build(self) -> list[w.Widget]:
        """Make one text area for the fields to add to the stub."""
        self.area = self.watch(
            "text",
            control(
                w.Textarea,
                "Fields to add to the stub, as a JSON object",
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


def _unsafe(text: str) -> bool:
    """Whether a comm message could not carry it: half a surrogate pair."""
    return any("\ud800" <= letter <= "\udfff" for letter in text)
