"""Sections for what a Letta agent waits for: a decision, or the result of a function of one's own.

Each takes the other, too: the service takes a result for a tool of its own ("I ran it myself"), and
a no to a tool of the client's (3.2 of the protocol notes on Letta).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.widgets.controls import choice, control, line, show
from steer_nb.widgets.forms.results import ResultSection
from steer_nb.widgets.forms.section import Section, Unanswered

import ipywidgets as w  # isort: skip

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LettaApprovalSection", "LettaResultSection"]

_RESULT = "result"
_DENIED = "denied"


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
        self.text.placeholder = (
            "what it gave" if chosen == _RESULT else "reason: the model is told “None” without one"
        )

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
    """The result of a function of one's own, how it went, or that it is not given."""

    def build(self) -> list[w.Widget]:
        """Make the controls of a result, and how it went."""
        built = super().build()
        self.outcome = self.watch(
            "outcome",
            choice(
                [("success", "success"), ("error", "error"), ("denied", _DENIED)],
                self.named("How it went"),
                value="success",
            ),
        )
        return [*built, line([self.outcome], css="snb-options")]

    def read(self) -> dict[str, Any]:
        """Give `output` and `status`; or `approve` and `reason`."""
        if self.outcome.value == _DENIED:
            reason = self.area.value.strip()
            return {"approve": False, **({"reason": reason} if reason else {})}
        return {**super().read(), "status": self.outcome.value}

    def write(self, item: dict[str, Any]) -> None:
        """Show a result that is there already."""
        if "tool_return" not in item:
            super().write({"output": str(item.get("reason") or "")})
            self.empty.value = False
            self.outcome.value = _DENIED
            return
        super().write({"output": item["tool_return"]})
        status = item.get("status")
        self.outcome.value = status if status in ("success", "error") else "success"


def _said(item: Mapping[str, Any]) -> str:
    given = item["tool_return"]
    parts = given if isinstance(given, list) else []
    texts = [str(part.get("text") or "") for part in parts if isinstance(part, dict)]
    return given if isinstance(given, str) else "\n".join(texts)
