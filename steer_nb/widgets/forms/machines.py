"""Sections for what a person does on a machine: a screenshot, shell commands, a patch."""

from __future__ import annotations

import base64
from typing import Any, Final

import ipywidgets as w

from steer_nb.errors import SteerError
from steer_nb.widgets.answers import drawn, picture
from steer_nb.widgets.arguments import scrolling
from steer_nb.widgets.calls import call_body
from steer_nb.widgets.controls import (
    Held,
    box,
    button,
    choice,
    control,
    forget_upload,
    line,
    show,
    static,
    upload,
    uploaded,
)
from steer_nb.widgets.forms.section import Section, Unanswered
from steer_nb.widgets.forms.variables import VariablePicker, as_picture
from steer_nb.widgets.text import clip, esc, esc_strict, first_text, plain
from steer_nb.wire import describe_call

__all__ = ["ComputerSection", "PatchSection", "ShellSection"]

DRAWN: Final = 8_000_000
"""Longest address of a picture that a page is asked to draw: about 6 MB of picture."""


class ComputerSection(Section):
    """A screenshot by address, upload or variable; each safety check acknowledged by itself."""

    def body(self) -> str:
        """Show the actions; the safety checks stand at their boxes."""
        call = self.asked.call or {}
        return call_body({name: call[name] for name in call if name != "pending_safety_checks"})

    def build(self) -> list[w.Widget]:
        """Make three ways to give a picture, its preview, and a box to tick for each check."""
        self.url = self.watch(
            "url",
            control(
                w.Text,
                self.named("Address of the screenshot"),
                wide=True,
                placeholder="https://… or a file id",
            ),
        )
        self.shot = self.watch("shot", Held())
        self.upload = upload(
            "Upload", self.named("Upload a screenshot from this computer"), accept="image/*"
        )
        self.upload.observe(self._uploaded, names="value")
        self.picker = VariablePicker(
            self.named("Take the screenshot from a variable"), self._picked, pictures=True
        )
        self.remove = button("Remove", self.named("Remove this screenshot"))
        self.remove.on_click(self._removed)
        self._inputs += [self.upload, self.picker.widget, self.remove]
        self.ways = line([self.url, self.upload, self.picker.widget], css="snb-ways snb-wrap")
        self.preview = static()
        self.given = line([self.preview, self.remove], css="snb-given")
        self._come_from = ""
        self._show()
        return [self.ways, self.given, *self._checks()]

    def _checks(self) -> list[w.Widget]:
        rows: list[w.Widget] = []
        self.checks: list[tuple[dict[str, Any], w.Checkbox]] = []
        pending = (self.asked.call or {}).get("pending_safety_checks")
        checks = pending if isinstance(pending, list) else []
        for number, check in enumerate(checks, 1):
            if not isinstance(check, dict):
                continue
            words = [first_text([check.get(name)]) for name in ("code", "message")]
            text = ": ".join(word for word in words if word) or first_text([check.get("id")])
            which = "the safety check" if len(checks) == 1 else f"safety check {number}"
            tick = self.watch(
                f"check {number}",
                control(
                    w.Checkbox,
                    self.named(f"Acknowledge {which}: {plain(clip(text, 300))}"),
                    description=f"acknowledge {which}",
                    indent=False,
                ),
            )
            mark = '<span class="snb-wait" aria-hidden="true">▲</span>'
            shown = f'<div class="snb-check" dir="auto">{mark} {esc_strict(clip(text, 2000))}</div>'
            rows.append(line([tick, static(shown, wide=True)], css="snb-tick snb-wrap"))
            self.checks.append((check, tick))
        return rows

    def read(self) -> dict[str, Any]:
        """Give `output` and `acknowledged_safety_checks`."""
        url = self.shot.value or self.url.value.strip()
        if not url:
            msg = "the screenshot is missing: give its address, upload one or pick a variable"
            raise Unanswered(msg)
        for number, (_, tick) in enumerate(self.checks, 1):
            if not tick.value:
                msg = f"safety check {number} is not acknowledged; tick it if this may go ahead"
                raise Unanswered(msg)
        fields: dict[str, Any] = {"output": {"type": "computer_screenshot", "image_url": url}}
        if url.startswith("file-"):
            fields["output"] = {"type": "computer_screenshot", "file_id": url}
        if self.checks:
            fields["acknowledged_safety_checks"] = [
                {name: check[name] for name in ("id", "code", "message") if name in check}
                for check, _ in self.checks
            ]
        return fields

    def write(self, item: dict[str, Any]) -> None:
        """Show the screenshot that was given, and tick what was acknowledged."""
        output = item.get("output") or {}
        url = first_text([output.get("image_url"), output.get("file_id")])
        here = url.startswith("data:")
        self.shot.value, self.url.value = (url, "") if here else ("", url)
        self._come_from = ""
        given = {check.get("id") for check in item.get("acknowledged_safety_checks") or ()}
        for check, tick in self.checks:
            tick.value = check.get("id") in given

    def _set(self, values: dict[str, Any]) -> None:
        url = values.get("url")
        if isinstance(url, str) and url.startswith("data:"):  # an older recording
            values = {**values, "url": "", "shot": url}
        super()._set(values)

    def _typed(self, change: Any) -> None:
        # An address that holds the picture itself is no text for a field; what is typed anew
        # takes the place of a picture that was given before.
        if not self.loading and change["owner"] is self.url and change["new"].strip():
            self._come_from = ""
            url = change["new"].strip()
            with self._put():
                self.shot.value = url if url.startswith("data:") and ";base64," in url else ""
                if self.shot.value:
                    self.url.value = ""
        self._show()
        super()._typed(change)

    def _check(self) -> None:
        self._show()  # what `load` put in, too
        super()._check()

    def _uploaded(self, change: Any) -> None:
        found = uploaded(change["new"])
        if found is not None:
            name, kind, content = found
            data = base64.b64encode(content).decode("ascii")
            self._give(f"data:{kind or 'image/png'};base64,{data}", f"uploaded: {name}")
            forget_upload(self.upload)

    def _picked(self, name: str, value: object) -> None:
        try:
            url = as_picture(value)
        except SteerError as error:
            self.complain(f"{name}: {error}")
        else:
            self._give(url, f"{name}, as it is now")

    def _give(self, url: str, come_from: str) -> None:
        self._come_from = come_from
        with self._put():
            self.url.value = ""
        self.shot.value = url

    def _removed(self, _: object) -> None:
        self.shot.value = ""

    def _show(self) -> None:
        # Only a picture that is here already is drawn; an address is never fetched.
        shot = self.shot.value
        show(self.ways, shown=not shot)
        show(self.given, shown=bool(shot))
        html = ""
        if shot:
            image = drawn(shot, "the screenshot", DRAWN)
            words = [picture(shot), "" if image else "not drawn here", self._come_from]
            said = " · ".join(clip(plain(word), 120) for word in words if word)
            html = f'{image}<div class="snb-hint" dir="auto">{esc(said)}</div>'
        if self.preview.value != html:
            self.preview.value = html


_EXITS = [(f"exit {code}", code) for code in (0, 1, 2, 126, 127, 130)]
_TIMEOUT, _OTHER = "timed out", "other exit code"


class ShellSection(Section):
    """Each command with its own stdout, stderr, and how it ended."""

    def build(self) -> list[w.Widget]:
        """Make a group for each command."""
        action = (self.asked.call or {}).get("action")
        commands = action.get("commands") if isinstance(action, dict) else None
        given = commands if isinstance(commands, list) else [None]
        self.rows: list[_Command] = []
        widgets: list[w.Widget] = []
        for number, command in enumerate(given, 1):
            row = _Command(self, number)
            self.rows.append(row)
            parts: list[w.Widget] = [row.widget]
            if command is not None:
                which = f"command {number} of {len(given)}" if len(given) > 1 else "command"
                head = f'<div class="snb-hint" role="heading" aria-level="5">{which}</div>'
                shown = scrolling(f"$ {esc_strict(clip(str(command), 16_384))}")
                parts.insert(0, static(f"{head}{shown}"))
            widgets.append(box(w.VBox, parts, css="snb-command"))
        return widgets

    def body(self) -> str:
        """Show the limits; the commands stand at their rows."""
        limits = [
            f"{label} {text}"
            for label, text in describe_call(dict(self.asked.call or {}))
            if label in ("timeout", "output limit")
        ]
        said = esc_strict(" · ".join(limits))
        return f'<div class="snb-hint">{said}</div>' if limits else ""

    def read(self) -> dict[str, Any]:
        """Give `output`, one entry for each command."""
        return {"output": [row.read() for row in self.rows]}

    def write(self, item: dict[str, Any]) -> None:
        """Show what each command gave."""
        for row, output in zip(self.rows, item.get("output") or (), strict=False):
            row.write(output)


class _Command:
    """One command's result."""

    def __init__(self, section: ShellSection, number: int) -> None:
        self.number = number
        what = f"of command {number}"
        self.stdout, self.stderr = (
            section.watch(
                f"{name} {number}",
                control(w.Textarea, section.named(f"{name} {what}"), css="snb-mono", rows=2),
            )
            for name in ("stdout", "stderr")
        )
        self.outcome = section.watch(
            f"outcome {number}",
            control(
                w.Dropdown,
                section.named(f"How command {number} ended"),
                options=[*_EXITS, (_OTHER, _OTHER), (_TIMEOUT, _TIMEOUT)],
                value=0,
                layout={"width": "11em"},
            ),
        )
        self.code = section.watch(
            f"exit code {number}",
            control(
                w.IntText,
                section.named(f"Exit code {what}"),
                value=0,
                continuous_update=True,
                layout={"width": "6em"},
            ),
        )
        self.nothing = section.watch(
            f"nothing {number}",
            control(
                w.Checkbox,
                section.named(f"Command {number} wrote nothing"),
                description="no output",
                indent=False,
            ),
        )
        self.outcome.observe(self._show_code, names="value")
        self._show_code()
        streams = [
            box(w.VBox, [static(f'<span class="snb-hint">{name}</span>'), area], css="snb-stream")
            for name, area in (("stdout", self.stdout), ("stderr", self.stderr))
        ]
        ended = static('<span class="snb-hint">ended with</span>')
        ending = box(w.VBox, [ended, self.outcome, self.code, self.nothing], css="snb-outcome")
        self.widget = line([*streams, ending], css="snb-streams snb-wrap")

    def _show_code(self, _: object = None) -> None:
        show(self.code, shown=self.outcome.value == _OTHER)

    def read(self) -> dict[str, Any]:
        outcome: dict[str, Any] = {"type": "timeout"}
        if self.outcome.value != _TIMEOUT:
            code = self.code.value if self.outcome.value == _OTHER else self.outcome.value
            outcome = {"type": "exit", "exit_code": code}
        stdout, stderr = self.stdout.value, self.stderr.value
        silent = self.nothing.value or outcome["type"] == "timeout"
        if not stdout and not stderr and not silent:
            msg = f"stdout of command {self.number} is still empty: type it, or tick “no output”"
            raise Unanswered(msg)
        return {"stdout": stdout, "stderr": stderr, "outcome": outcome}

    def write(self, output: dict[str, Any]) -> None:
        self.stdout.value = str(output.get("stdout") or "")
        self.stderr.value = str(output.get("stderr") or "")
        outcome = output.get("outcome") or {}
        if outcome.get("type") == "timeout":
            self.outcome.value = _TIMEOUT
        else:
            code = outcome.get("exit_code", 0)
            known = {value for _, value in _EXITS}
            self.code.value = code
            self.outcome.value = code if code in known else _OTHER
        self.nothing.value = not self.stdout.value and not self.stderr.value


class PatchSection(Section):
    """Whether a patch was applied, and what the tool that applied it said."""

    def build(self) -> list[w.Widget]:
        """Make the two outcomes and a log."""
        self.outcome = self.watch(
            "outcome",
            choice(["completed", "failed"], self.named("What became of the patch"), value=None),
        )
        self.log = self.watch(
            "log",
            control(
                w.Textarea, self.named("Log"), css="snb-mono", wide=True, rows=2, placeholder="log"
            ),
        )
        return [line([self.outcome, self.log], css="snb-wrap")]

    def read(self) -> dict[str, Any]:
        """Give `status` and, where there is a log, `output`."""
        if self.outcome.value is None:
            msg = "say whether the patch was applied: completed or failed"
            raise Unanswered(msg)
        log = self.log.value
        return {"status": self.outcome.value, **({"output": log} if log else {})}

    def write(self, item: dict[str, Any]) -> None:
        """Show the outcome that was given."""
        status = item.get("status")
        self.outcome.value = status if status in ("completed", "failed") else None
        self.log.value = str(item.get("output") or "")
