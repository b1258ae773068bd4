"""Sections where a person chooses: an approval, tools that were searched for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ipywidgets as w

from steer_nb.errors import InvalidInput
from steer_nb.widgets.calls import json_text
from steer_nb.widgets.controls import Chosen, box, choice, control, line, show, static
from steer_nb.widgets.forms.results import parse_json
from steer_nb.widgets.forms.section import Section, Unanswered
from steer_nb.widgets.text import clip, esc, plain
from steer_nb.wire.credentials import HIDDEN, hidden_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.client import Lane, RequiredInput
    from steer_nb.client.tools import Tool

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
    """Tools for what the model searched: ticked among the session's functions, or pasted as JSON.

    Offered are the functions of this lane, those that `connect` was given, and every other lane's.
    What is registered while the form is open is offered, too.
    """

    _known = False
    """Whether the session knows the credentials that the trace has hidden: it was filled here."""

    def build(self) -> list[w.Widget]:
        """Make a box to tick for each function, and a text area."""
        self.known: dict[str, dict[str, Any]] = {}
        self.ticked = self.watch("ticked", Chosen({}))
        self._groups: dict[str, w.VBox] = {}
        self._offered = box(w.VBox, [], css="snb-ticks")
        self._offer()
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
        return [self._offered, line([self.area]), line([self.none], css="snb-options")]

    def _offer(self) -> None:
        """Offer what is registered and not offered yet, under where it comes from."""
        for where, tool in _registered(self.lane):
            definition = dict(tool.definition)
            if definition in self.known.values():
                continue
            key = tool.name if tool.name not in self.known else f"{tool.name} ({where})"
            if key in self.known:
                continue  # registered anew by the same lane: what is ticked stays what it was
            self.known[key] = definition
            tick = control(
                w.Checkbox,
                self.named(f"Offer the function {plain(key)}"),
                description=tool.name,
                indent=False,
            )
            self._inputs.append(tick)
            self.ticked.add(key, tick)
            about = clip(" ".join(str(definition.get("description") or "").split()), 120)
            said = static(f'<span class="snb-hint">{esc(about)}</span>', wide=True)
            self._group(where).children += (line([tick, said], css="snb-tick snb-wrap"),)

    def _group(self, where: str) -> w.VBox:
        if where not in self._groups:
            head = static(f'<span class="snb-hint" dir="auto">functions of {esc(where)}</span>')
            self._groups[where] = box(w.VBox, [head], css="snb-ticks")
            self._offered.children += (self._groups[where],)
        return self._groups[where]

    def refresh(self, asked: RequiredInput) -> None:
        """Take the newest word, and offer what was registered in the meantime."""
        self._offer()
        super().refresh(asked)

    def read(self) -> dict[str, Any]:
        """Give `tools`."""
        tools = [self.known[key] for key in self.ticked.value]
        names = [tool["name"] for tool in tools]
        double = next((name for name in names if names.count(name) > 1), None)
        if double is not None:
            rule = "a tool is known by its name"
            msg = f"two functions called {double} are ticked, and {rule}: tick one of them."
            raise InvalidInput(msg, field="tools", value=double, rule=rule)
        if self.area.value.strip():
            pasted = parse_json(self.area.value, "tools")
            if not isinstance(pasted, list):
                msg = "tools must be a JSON list of tool objects."
                raise InvalidInput(msg, field="tools", value=pasted, rule="a JSON list")
            tools = [*tools, *pasted]
        if not tools and not self.none.value:
            which = "tick some or paste" if self.known else "paste"
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
        self.ticked.value = [key for key, known in self.known.items() if known in tools]
        rest = [tool for tool in tools if tool not in self.known.values()]
        self.area.value = json_text(rest, indent=2) if rest else ""
        self.none.value = not tools


def _registered(lane: Lane) -> Iterator[tuple[str, Tool]]:
    """Each function that the session has, with words for where: this lane's own come first."""
    session = lane.session
    others = {name: dict(other.tools) for name, other in session.lanes.items() if name != lane.name}
    places = {"this lane": lane.tools, "this session": dict(session.core.functions)}
    places |= {f"lane {clip(name, 60)}": tools for name, tools in others.items()}
    for where, tools in places.items():
        for _, tool in sorted(tools.items()):
            yield where, tool
