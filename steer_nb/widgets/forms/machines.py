"""Sections for what a person does on a machine: a screenshot, shell commands, a patch."""

from __future__ import annotations

import base64
from typing import Any

import ipywidgets as w

from steer_nb.widgets.calls import call_body
from steer_nb.widgets.controls import box, control, line, static, uploaded
from steer_nb.widgets.forms.section import Section, Unanswered
from steer_nb.widgets.text import clip, esc, esc_strict, first_text

__all__ = ["ComputerSection", "PatchSection", "ShellSection"]

_PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_SHOWN_BYTES = 2_000_000


class ComputerSection(Section):
    """A screenshot by address or by upload; each pending safety check acknowledged by itself."""

    def body(self) -> str:
        """Show the actions; the safety checks stand at their boxes."""
        call = self.asked.call or {}
        return call_body({name: call[name] for name in call if name != "pending_safety_checks"})

    def build(self) -> list[w.Widget]:
        """Make an address field, an upload, a preview, and a box to tick for each check."""
        self.url = self.watch(
            "url",
            control(
                w.Text,
                "Address of the screenshot",
                wide=True,
                placeholder="https://… or data:image/png;base64,…",
            ),
        )
        self.upload = control(
            w.FileUpload,
            "Upload a screenshot from this computer",
            css="snb-button",
            accept="image/*",
            multiple=False,
            description="Upload",
        )
        self._inputs.append(self.upload)
        self.upload.observe(self._uploaded, names="value")
        self.preview = static()
        rows: list[w.Widget] = [line([self.url, self.upload]), self.preview]
        self.checks: list[tuple[dict[str, Any], w.Checkbox]] = []
        pending = (self.asked.call or {}).get("pending_safety_checks")
        for number, check in enumerate(pending if isinstance(pending, list) else [], 1):
            if not isinstance(check, dict):
                continue
            tick = self.watch(
                f"check {number}",
                control(
                    w.Checkbox,
                    f"Acknowledge safety check {number}",
                    description=f"acknowledge {number}",
                    indent=False,
                ),
            )
            words = [first_text([check.get(name)]) for name in ("code", "message")]
            text = ": ".join(word for word in words if word) or first_text([check.get("id")])
            shown = f'<div class="snb-wait" dir="auto">▲ {esc_strict(clip(text, 2000))}</div>'
            rows.append(line([tick, static(shown, wide=True)]))
            self.checks.append((check, tick))
        return rows

    def read(self) -> dict[str, Any]:
        """Give `output` and `acknowledged_safety_checks`."""
        url = self.url.value.strip()
        if not url:
            msg = "the screenshot is missing: give its address, or upload one"
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
        self.url.value = first_text([output.get("image_url"), output.get("file_id")])
        given = {check.get("id") for check in item.get("acknowledged_safety_checks") or ()}
        for check, tick in self.checks:
            tick.value = check.get("id") in given
        self._show()

    def _typed(self, change: object) -> None:
        self._show()
        super()._typed(change)

    def _uploaded(self, change: Any) -> None:
        found = uploaded(change["new"])
        if found is not None:
            _, kind, content = found
            data = base64.b64encode(content).decode("ascii")
            self.url.value = f"data:{kind or 'image/png'};base64,{data}"

    def _show(self) -> None:
        # Only a picture that is here already is drawn; an address is never fetched.
        url = self.url.value.strip()
        kind = url[5:].split(";", 1)[0] if url.startswith("data:") else ""
        drawn = kind in _PICTURES and ";base64," in url[:40] and len(url) < _SHOWN_BYTES
        html = f'<img class="snb-shot" alt="the screenshot" src="{esc(url)}">' if drawn else ""
        if self.preview.value != html:
            self.preview.value = html


_EXITS = [(f"exit {code}", code) for code in (0, 1, 2, 126, 127, 130)]
_TIMEOUT, _OTHER = "timed out", "other exit code"


class ShellSection(Section):
    """Each command with its own stdout, stderr, and how it ended."""

    def build(self) -> list[w.Widget]:
        """Make a row for each command."""
        action = (self.asked.call or {}).get("action")
        commands = action.get("commands") if isinstance(action, dict) else None
        self.rows: list[_Command] = []
        widgets: list[w.Widget] = []
        for number, command in enumerate(commands if isinstance(commands, list) else [None], 1):
            row = _Command(self, number)
            self.rows.append(row)
            if command is not None:
                shown = f"$ {esc_strict(clip(str(command), 16_384))}"
                widgets.append(static(f'<div class="snb-call" tabindex="0">{shown}</div>'))
            widgets.append(row.widget)
        return widgets

    def body(self) -> str:
        """Show the limits; the commands stand at their rows."""
        call = self.asked.call or {}
        action = call.get("action")
        if not isinstance(action, dict):
            return ""
        limits = {name: action[name] for name in action if name != "commands"}
        return call_body({"type": call.get("type"), "action": limits})

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
                control(
                    w.Textarea,
                    f"{name} {what}",
                    css="snb-mono",
                    wide=True,
                    rows=2,
                    placeholder=name,
                ),
            )
            for name in ("stdout", "stderr")
        )
        self.outcome = section.watch(
            f"outcome {number}",
            control(
                w.Dropdown,
                f"How command {number} ended",
                options=[*_EXITS, (_OTHER, _OTHER), (_TIMEOUT, _TIMEOUT)],
                value=0,
                layout={"width": "9.5em"},
            ),
        )
        self.code = section.watch(
            f"exit code {number}",
            control(w.IntText, f"Exit code {what}", value=0, layout={"width": "6em"}),
        )
        self.nothing = section.watch(
            f"nothing {number}",
            control(
                w.Checkbox,
                f"Command {number} wrote nothing",
                description="no output",
                indent=False,
            ),
        )
        self.outcome.observe(self._show_code, names="value")
        self._show_code()
        ending = box(w.VBox, [self.outcome, self.code, self.nothing], css="snb-outcome")
        self.widget = line([self.stdout, self.stderr, ending])

    def _show_code(self, _: object = None) -> None:
        self.code.layout.display = "" if self.outcome.value == _OTHER else "none"

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
            control(
                w.ToggleButtons,
                "What became of the patch",
                css="snb-toggle",
                options=["completed", "failed"],
                value=None,
            ),
        )
        self.log = self.watch(
            "log", control(w.Textarea, "Log", css="snb-mono", wide=True, rows=2, placeholder="log")
        )
        return [line([self.outcome, self.log])]

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
