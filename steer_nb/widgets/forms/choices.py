"""Sections where a person chooses: an approval, tools that were searched for."""

from __future__ import annotations

from typing import Any

import ipywidgets as w

from steer_nb.errors import InvalidInput
from steer_nb.widgets.calls import json_text
from steer_nb.widgets.controls import Chosen, box, choice, control, line, show, static
from steer_nb.widgets.forms.results import parse_json
from steer_nb.widgets.forms.section import Section, Unanswered
from steer_nb.widgets.text import clip, esc
from steer_nb.wire.credentials import HIDDEN, hidden_fields

__all__ = ["ApprovalSection", "ToolSearchSection"]


class ApprovalSection(Section):
    """Approve or deny one call of one MCP server; a reason is offered when denying."""

    def build(self) -> list[w.Widget]:
        """Make the two decisions; the reason comes with the second."""
        self.decision = self.watch(
            "decision",
            choice(
                [("Approve", True), ("Deny", False)],
                self.named("Whether this call may be made"),
                value=None,
            ),
        )
        self.reason = self.watch(
            "reason",
            control(
                w.Text,
                self.named("Reason for denying"),
                wide=True,
                placeholder="reason, if you want to give one",
            ),
        )
        self.decision.observe(self._offer_reason, names="value")
        self._offer_reason()
        return [line([self.decision, self.reason])]

    def _offer_reason(self, _: object = None) -> None:
        show(self.reason, shown=self.decision.value is False)

    def read(self) -> dict[str, Any]:
        """Give `approve` and, when denying, `reason`."""
        if self.decision.value is None:
            msg = "approve or deny this call"
            raise Unanswered(msg)
        reason = self.reason.value.strip()
        if self.decision.value is False and reason:
            return {"approve": False, "reason": reason}
        return {"approve": self.decision.value}

    def write(self, item: dict[str, Any]) -> None:
        """Show the decision that was made."""
        approve = item.get("approve")
        self.decision.value = approve if isinstance(approve, bool) else None
        self.reason.value = str(item.get("reason") or "")


class ToolSearchSection(Section):
    """Tools for what the model searched: ticked among the lane's own, or pasted as JSON."""

    _known = False
    """Whether the session knows the credentials that the trace has hidden: it was filled here."""

    def build(self) -> list[w.Widget]:
        """Make a box to tick for each function of the lane, and a text area."""
        self.known = {tool.name: dict(tool.definition) for tool in self.lane.tools.values()}
        rows: list[w.Widget] = []
        self.ticked: Chosen | None = None
        if self.known:
            boxes = {}
            for name in sorted(self.known):
                boxes[name] = control(
                    w.Checkbox,
                    self.named(f"Offer the function {name}"),
                    description=name,
                    indent=False,
                )
                about = clip(" ".join(str(self.known[name].get("description") or "").split()), 120)
                said = static(f'<span class="snb-hint">{esc(about)}</span>', wide=True)
                rows.append(line([boxes[name], said], css="snb-tick snb-wrap"))
            self._inputs.extend(boxes.values())
            self.ticked = self.watch("ticked", Chosen(boxes))
        self.area = self.watch(
            "text",
            control(
                w.Textarea,
                self.named("Tools to offer, as a JSON list"),
                css="snb-mono",
                wide=True,
                rows=3,
                placeholder='[{"type": "function", "name": "…", "parameters": {…}}]',
            ),
        )
        self.none = self.watch(
            "none",
            control(
                w.Checkbox, self.named("No tool fits"), description="no tool fits", indent=False
            ),
        )
        named = [static('<span class="snb-hint">functions of this lane</span>')] if rows else []
        group = box(w.VBox, [*named, *rows], css="snb-ticks")
        return [group, line([self.area]), line([self.none], css="snb-options")]

    def read(self) -> dict[str, Any]:
        """Give `tools`."""
        tools = [self.known[name] for name in self.ticked.value] if self.ticked is not None else []
        if self.area.value.strip():
            pasted = parse_json(self.area.value, "tools")
            if not isinstance(pasted, list):
                msg = "tools must be a JSON list of tool objects."
                raise InvalidInput(msg, field="tools", value=pasted, rule="a JSON list")
            tools = [*tools, *pasted]
        if not tools and not self.none.value:
            which = "tick some or paste" if self.ticked is not None else "paste"
            msg = f"no tools are given: {which} a JSON list, or tick “no tool fits”"
            raise Unanswered(msg)
        self._known = self._known or self.asked.item is not None
        hidden = hidden_fields({"tools": tools})
        if hidden and not self._known:
            rule = "credentials are in no file, so after a recovery they are typed again"
            msg = f"{hidden[0]} is {HIDDEN!r}: {rule}."
            raise InvalidInput(msg, field=hidden[0], value=HIDDEN, rule=rule)
        return {"tools": tools}

    def write(self, item: dict[str, Any]) -> None:
        """Tick what is known of the tools that were given, and show the rest as JSON."""
        tools = [tool for tool in item.get("tools") or () if isinstance(tool, dict)]
        own = [tool["name"] for tool in tools if tool == self.known.get(str(tool.get("name")))]
        if self.ticked is not None:
            self.ticked.value = own
        rest = [tool for tool in tools if tool.get("name") not in own]
        self.area.value = json_text(rest, indent=2) if rest else ""
        self.none.value = not tools
