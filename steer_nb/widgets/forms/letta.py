"""Sections for what a Letta agent waits for: a decision, or the result of a function of one's own.

Each takes the other, too: the service takes a result for a tool of its own ("I ran it myself"), and
a no to a tool of the client's (3.2 of the protocol notes on Letta).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.widgets.controls import box, choice, control, line, show, static
from steer_nb.widgets.forms.results import ResultSection
from steer_nb.widgets.forms.section import Section, Unanswered

import ipywidgets as w  # isort: skip

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LettaApprovalSection", "LettaResultSection"]

_RESULT = "result"
_DENIED = "denied"
_STREAMS = ("stdout", "stderr")
_REASON = "reason: the model is told “None” without one"


class LettaApprovalSection(Section):
    """Approve or deny one call of a tool of the service, or say what it gave."""

    def build(self) -> list[w.Widget]:
        """Make the decisions; the text is a reason, or a result."""
        self.decision = self.watch(
            "decision",
            choice(
                [("Approve", True), ("Deny", False), ("Give the result", _RESULT)],
                self.named("Whether this call may be made"),
                value=None,
            ),
        )
        self.text = self.watch(
            "text", control(w.Text, self.named("Reason, or result"), wide=True, placeholder="")
        )
        self.decision.observe(self._offer, names="value")
        self._offer()
        return [line([self.decision, self.text])]

    def _offer(self, _: object = None) -> None:
        chosen = self.decision.value
        show(self.text, shown=chosen in (False, _RESULT) and chosen is not None)
        self.text.placeholder = "what it gave" if chosen == _RESULT else _REASON

    def read(self) -> dict[str, Any]:
        """Give `approve` and, when denying, `reason`; or `output`."""
        chosen, text = self.decision.value, self.text.value
        if chosen is None:
            msg = "approve or deny this call"
            raise Unanswered(msg)
        if chosen == _RESULT:
            if not text:
                msg = "the result is still empty"
                raise Unanswered(msg)
            return {"output": text}
        if chosen is False and text.strip():
            return {"approve": False, "reason": text.strip()}
        return {"approve": chosen}

    def write(self, item: dict[str, Any]) -> None:
        """Show the decision that was made."""
        approve = item.get("approve")
        if "tool_return" in item:
            self.decision.value = _RESULT
            self.text.value = _said(item)
            return
        self.decision.value = approve if isinstance(approve, bool) else None
        self.text.value = str(item.get("reason") or "")


class LettaResultSection(ResultSection):
    """The result of a function of one's own and what it wrote, how it went, or a no."""

    def build(self) -> list[w.Widget]:
        """Make the controls of a result, of what was written beside it, and how it went."""
        self.outcome = self.watch(
            "outcome",
            choice(
                [("success", "success"), ("error", "error"), ("denied", _DENIED)],
                self.named("How it went"),
                value="success",
            ),
        )
        self.reason = self.watch(
            "reason",
            control(w.Text, self.named("Reason for denying"), wide=True, placeholder=_REASON),
        )
        self.stdout, self.stderr = (
            self.watch(
                name,
                control(
                    w.Textarea,
                    self.named(f"{name}, if there is any"),
                    css="snb-mono",
                    rows=1,
                    placeholder="if there is any",
                ),
            )
            for name in _STREAMS
        )
        streams = [
            box(w.VBox, [static(f'<span class="snb-hint">{name}</span>'), area], css="snb-stream")
            for name, area in zip(_STREAMS, (self.stdout, self.stderr), strict=True)
        ]
        self.streams = line(streams, css="snb-streams snb-wrap")
        went = line([self.outcome, self.reason], css="snb-options")
        return [*super().build(), went, self.streams]

    def _show(self) -> None:
        super()._show()
        denied = self.outcome.value == _DENIED
        show(self.reason, shown=denied)
        for part in (self.row, self.options, self.streams):
            show(part, shown=not denied)
        if denied:
            show(self.given, shown=False)

    def read(self) -> dict[str, Any]:
        """Give `output`, `status`, `stdout` and `stderr`; or `approve` and `reason`."""
        if self.outcome.value == _DENIED:
            reason = self.reason.value.strip()
            return {"approve": False, **({"reason": reason} if reason else {})}
        streams = {name: getattr(self, name).value for name in _STREAMS}
        written = {name: text for name, text in streams.items() if text}
        return {**super().read(), "status": self.outcome.value, **written}

    def write(self, item: dict[str, Any]) -> None:
        """Show a result or a no that is there already."""
        if "tool_return" not in item:
            self.reason.value = str(item.get("reason") or "")
            self.outcome.value = _DENIED
            return
        super().write({"output": item["tool_return"]})
        status = item.get("status")
        self.outcome.value = status if status in ("success", "error") else "success"
        for name in _STREAMS:
            getattr(self, name).value = "\n".join(map(str, item.get(name) or ()))


def _said(item: Mapping[str, Any]) -> str:
    given = item["tool_return"]
    parts = given if isinstance(given, list) else []
    texts = [str(part.get("text") or "") for part in parts if isinstance(part, dict)]
    return given if isinstance(given, str) else "\n".join(texts)
